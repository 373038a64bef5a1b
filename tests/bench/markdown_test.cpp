// The tables, from measurements whose rates are known by hand.
#include "bench/markdown.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>

namespace smallbatch {
namespace {

/// 2e6 systems in 1 ms: 2000 million a second, 8 GB in 1 ms of a roofline of 16000 GB/s, 5000 Gflop/s.
struct Markdown : public ::testing::Test {
  Markdown() {
    ladder.title = "solve, n=4";
    ladder.unit = "systems";
    ladder.work = 2e6;
    ladder.min_bytes = 8e9;
    ladder.flops = 5e9;
    ladder.flops_convention = "2 n^3 per system";
    step.name = "mechanism";
    step.idea = "what is new";
    measured.error_over_bound = 0.25;
    measured.lowest_seconds = 0.9e-3;
    measured.median_seconds = 1e-3;
    measured.highest_seconds = 1.5e-3;
    measured.kernels = {{96, 0, 4224, 128, 20}};
    roofline.read = 16e12;
    roofline.copy = 10e12;
  }
  [[nodiscard]] std::string row(double first_rate = 0) const {
    return ladder_row(ladder, step, measured, first_rate, roofline);
  }
  Ladder ladder;
  Step step;
  Measurement measured;
  Roofline roofline;
};

std::int64_t bars(const std::string& line) { return std::count(line.begin(), line.end(), '|'); }

std::string line_of(const std::string& text, const std::string& start) {
  const std::size_t from = text.find(start);
  return text.substr(from, text.find('\n', from) - from);
}

TEST_F(Markdown, ARowHoldsTheFigures) {
  EXPECT_EQ(row(500e6),
            "| mechanism | what is new | 2000.0 | 5000 | 50.0 | 4.00 | 96 | 0 | 4224 | 128 | 20 | 0.250 | 0.900 to "
            "1.500 |\n");
}

TEST_F(Markdown, TheFirstRowIsItsOwnMeasure) { EXPECT_NE(row(0).find("| 1.00 | 96 |"), std::string::npos) << row(0); }

TEST_F(Markdown, AnInverseIsComparedWithTheCopy) {
  ladder.bound = Bound::copy;
  EXPECT_NE(row().find("| 80.0 |"), std::string::npos) << row();
  EXPECT_NE(ladder_head(ladder).find("% of the copy roofline"), std::string::npos);
  EXPECT_EQ(ladder_head(ladder).find("% of the read roofline"), std::string::npos);
}

TEST_F(Markdown, SpillsAreSaid) {
  EXPECT_EQ(row().find("spills"), std::string::npos);
  measured.kernels[0].local_bytes = 8;
  EXPECT_NE(row().find("| 8 (spills) |"), std::string::npos) << row();
}

TEST_F(Markdown, SeveralKernelsStandInTheOrderOfTheirLaunch) {
  measured.kernels.push_back({168, 0, 0, 32, 12});
  EXPECT_NE(row().find("| 96 + 168 | 0 + 0 | 4224 + 0 | 128 + 32 | 20 + 12 |"), std::string::npos) << row();
}

TEST_F(Markdown, WhatIsNotWithinItsBoundShowsNoTime) {
  for (const double error : {1.01, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    measured.error_over_bound = error;
    EXPECT_NE(row().find("wrong, not timed"), std::string::npos) << row();
    EXPECT_EQ(row().find("2000.0"), std::string::npos) << row();
    EXPECT_EQ(row().find("0.900 to"), std::string::npos) << row();
  }
}

TEST_F(Markdown, EveryLineHasTheColumnsOfTheHead) {
  for (const double flops : {0.0, 5e9}) {
    ladder.flops = flops;
    const std::string head = ladder_head(ladder);
    EXPECT_EQ(head.find("Gflop/s (2 n^3 per system)") != std::string::npos, flops > 0);
    const std::int64_t columns = bars(line_of(head, "| step"));
    EXPECT_GT(columns, 10);
    EXPECT_EQ(bars(line_of(head, "|---")), columns);
    measured.error_over_bound = 0.5;
    EXPECT_EQ(bars(row()), columns);
    measured.error_over_bound = 2;
    EXPECT_EQ(bars(row()), columns);
  }
}

TEST(MarkdownOfCalls, MicrosecondsAndTheRatio) {
  const std::vector<std::string> steps{"vendor", "gauss_jordan", "automatic"};
  std::vector<Measurement> measured(3);
  measured[0].median_seconds = 40e-6;
  measured[1].median_seconds = 8e-6;
  measured[2].median_seconds = 12e-6;
  EXPECT_EQ(calls_row(100, steps, "gauss_jordan", measured), "| 100 | 40.0 | 8.0 | 12.0 | 1.50 |\n");
  EXPECT_EQ(calls_head(steps, "gauss_jordan"),
            "| batch | vendor | gauss_jordan | automatic | automatic / gauss_jordan |\n|---|---|---|---|---|\n");
  measured[1].error_over_bound = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(calls_row(100, steps, "gauss_jordan", measured), "| 100 | 40.0 | wrong | 12.0 |  |\n");
}

}  // namespace
}  // namespace smallbatch
