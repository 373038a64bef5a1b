// Tests the tables with measurements that have known rates.
#include "bench/table_columns.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>

namespace smallbatch {
namespace {

/// A measurement of 2e6 systems in 1 ms: 2000 million systems/s, 8000 GB/s of a roofline of 16000 GB/s, 5000 Gflop/s.
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
    measured.judgement = {0.25, 3e-7};
    measured.right = true;
    measured.lowest_seconds = 0.9e-3;
    measured.median_seconds = 1e-3;
    measured.highest_seconds = 1.5e-3;
    measured.kernels = {{96, 0, 4224, 128, 20}};
    roofline.read = 16e12;
    roofline.copy = 10e12;
    roofline.roots = 4e9;
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
    measured.judgement.error_over_bound = error;
    measured.right = false;
    EXPECT_NE(row().find("wrong, not timed"), std::string::npos) << row();
    EXPECT_EQ(row().find("2000.0"), std::string::npos) << row();
    EXPECT_EQ(row().find("0.900 to"), std::string::npos) << row();
  }
}

TEST_F(Markdown, EveryLineHasTheColumnsOfTheHead) {
  for (const double flops : {0.0, 5e9})
    for (const Bound bound : {Bound::read, Bound::special_function, Bound::none})
      for (const bool l2 : {false, true}) {
        ladder.flops = flops;
        ladder.bound = bound;
        ladder.shows_l2 = l2;
        const std::string head = ladder_head(ladder);
        EXPECT_EQ(head.find("Gflop/s (2 n^3 per system)") != std::string::npos, flops > 0);
        EXPECT_EQ(head.find("relative L2 error") != std::string::npos, l2);
        EXPECT_EQ(head.find("registers") != std::string::npos, bound != Bound::none);
        const std::int64_t columns = bars(line_of(head, "| step"));
        EXPECT_GT(columns, bound == Bound::none ? 6 : 10);
        EXPECT_EQ(bars(line_of(head, "|---")), columns);
        for (const bool right : {true, false})
          for (const bool host : {false, true}) {
            measured.right = right;
            step.host = host;
            EXPECT_EQ(bars(row()), columns);
          }
      }
}

TEST_F(Markdown, RootsAreComparedWithTheSpecialFunctionUnit) {
  ladder.bound = Bound::special_function;  // 2000 of 4000 million roots/s: one root per system
  EXPECT_NE(row().find("| 50.0 |"), std::string::npos) << row();
  EXPECT_NE(ladder_head(ladder).find("% of the special-function roofline"), std::string::npos);
}

TEST_F(Markdown, RatesComeInTheLaddersUnit) {
  ladder.unit = "pairs";
  ladder.exponent = 9;
  EXPECT_NE(ladder_head(ladder).find("| 10^9 pairs/s |"), std::string::npos);
  EXPECT_NE(row().find("| 2.00 |"), std::string::npos) << row();
  ladder.exponent = 12;
  EXPECT_NE(row().find("| 0.002 |"), std::string::npos) << row();
}

TEST_F(Markdown, ASampleCountsForItsPart) {
  step.host = true;
  step.part = 0.25;
  EXPECT_EQ(work_per_second(ladder, step, measured), 500e6);
  EXPECT_NE(row().find("| 500.0 | 1250 |  | 1.00 |"), std::string::npos) << row();
}

TEST_F(Markdown, TheL2ErrorAndTheNoteAreShown) {
  ladder.shows_l2 = true;
  ladder.note = "What is to be known.";
  EXPECT_NE(row().find("| 3.0e-07 | 0.250 | 0.900 to"), std::string::npos) << row();
  EXPECT_NE(ladder_head(ladder).find("\n\nWhat is to be known.\n\n| step"), std::string::npos);
}

TEST_F(Markdown, SizesAreComparedWithTheFirst) {
  ladder.bound = Bound::special_function;
  ladder.shows_l2 = true;
  ladder.steps = {step};
  const std::string head = sizes_head(ladder);
  const std::string line = sizes_row(ladder, measured, 4e9, roofline);
  EXPECT_EQ(line, "| solve, n=4 | 2000.0 | 0.500 | 50.0 | 8000.0 | 3.0e-07 | 0.250 | 0.900 to 1.500 |\n");
  EXPECT_EQ(bars(line), bars(line_of(head, "| problems")));
  measured.right = false;
  EXPECT_EQ(bars(sizes_row(ladder, measured, 4e9, roofline)), bars(line));
  EXPECT_NE(sizes_row(ladder, measured, 4e9, roofline).find("wrong, not timed"), std::string::npos);
}

TEST_F(Markdown, SizesHaveTheStepsAsColumns) {
  Step vendor = step, missing = step;
  vendor.name = "vendor";
  vendor.vendor = true;
  missing.name = "missing";
  const std::vector<Step> columns{step, missing, vendor};
  ladder.steps = {step, vendor};
  std::vector<Measurement> both{measured, measured};
  both[1].median_seconds = 4e-3;
  both[1].judgement.error_over_bound = 0.5;
  both[1].kernels = {{40, 8, 0, 32, 64}};
  EXPECT_EQ(steps_row(24, columns, ladder, both, roofline),
            "| 24 | 2000000 | 2000.0 | 50.0 |  |  | 500.0 | 96 | 8 (spills) | 0.500 |\n");
  const std::string head = steps_head(ladder, columns);
  EXPECT_EQ(
      head.find("| n | batch | mechanism | % of the read roofline | missing | % of the read roofline | vendor | "), 0U);
  EXPECT_EQ(bars(line_of(head, "| n")), 11);
  EXPECT_EQ(bars(line_of(head, "|---")), 11);
  both[0].right = false;
  EXPECT_EQ(bars(steps_row(24, columns, ladder, both, roofline)), 11);
  EXPECT_NE(steps_row(24, columns, ladder, both, roofline).find("| wrong, not timed |  |"), std::string::npos);
}

TEST_F(Markdown, PotentialCallsStandBesideTheLargeOnesRate) {
  EXPECT_EQ(potential_calls_row(ladder, measured, 20e9, 250e-6),
            "| solve, n=4 | 1000.0 | 750.0 | 100.0 | 10.0 | 7.5 |\n");
  const std::int64_t columns = bars(line_of(potential_calls_head(), "| problem"));
  EXPECT_EQ(columns, 7);
  EXPECT_EQ(bars(potential_calls_row(ladder, measured, 0, 0)), columns);
  measured.right = false;
  EXPECT_EQ(bars(potential_calls_row(ladder, measured, 20e9, 0)), columns);
}

TEST(MarkdownOfCalls, MicrosecondsAndTheRatio) {
  const std::vector<std::string> steps{"vendor", "gauss_jordan", "automatic"};
  std::vector<Measurement> measured(3);
  for (Measurement& m : measured) m.right = true;
  measured[0].median_seconds = 40e-6;
  measured[1].median_seconds = 8e-6;
  measured[2].median_seconds = 12e-6;
  EXPECT_EQ(calls_row(100, steps, "gauss_jordan", measured), "| 100 | 40.0 | 8.0 | 12.0 | 1.50 |\n");
  EXPECT_EQ(calls_head("batch", steps, "gauss_jordan"),
            "| batch | vendor | gauss_jordan | automatic | automatic / gauss_jordan |\n|---|---|---|---|---|\n");
  measured[1].right = false;
  EXPECT_EQ(calls_row(100, steps, "gauss_jordan", measured), "| 100 | 40.0 | wrong | 12.0 |  |\n");
}

}  // namespace
}  // namespace smallbatch
