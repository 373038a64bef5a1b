// A run whose input is cut short while it is at work: refused, and nothing is left behind.
#include "app/pipeline.hpp"

#include <gtest/gtest.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>
#include <stdlib.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "app/exit_codes.hpp"
#include "core/error.hpp"
#include "io/problem_writer.hpp"

namespace smallbatch {
namespace {

/// Calls back at every line of the log.
class CallingSink : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit CallingSink(std::function<void(const std::string&)> call) : call_(std::move(call)) {}

 protected:
  void sink_it_(const spdlog::details::log_msg& line) override { call_({line.payload.data(), line.payload.size()}); }
  void flush_() override {}

 private:
  std::function<void(const std::string&)> call_;
};

class RunOfAChangingFile : public ::testing::Test {
 protected:
  RunOfAChangingFile() : before_(spdlog::default_logger()) {
    std::string name = (std::filesystem::temp_directory_path() / "smallbatch-app-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    options_.problems = folder_ / "p.h5";
    options_.results = folder_ / "r.h5";
    options_.device.kind = DeviceRequest::Kind::cpu;
    options_.threads = 1;
    options_.memory = 4 << 20;
  }
  ~RunOfAChangingFile() override {
    spdlog::set_default_logger(before_);
    std::filesystem::remove_all(folder_);
  }

  /// Unit matrices, several blocks of them.
  void write_problems() const {
    const SolveSet set{"s", ScalarType::float32, {16, 1, Storage::dense}, true, 10'000};
    SpdBlock<float> block;
    block.resize(set.shape, set.batch);
    for (std::size_t i = 0; i < block.a.size(); ++i) block.a[i] = i % 256 % 17 == 0 ? 1.F : 0.F;
    for (float& value : block.b) value = 2;
    ProblemWriter writer(options_.problems, false);
    writer.add(set);
    writer.write(set, block);
    writer.commit();
  }
  /// What is done once the input was opened, before its first block is read.
  void once_at_work(std::function<void()> change) {
    auto sink = std::make_shared<CallingSink>([this, change = std::move(change)](const std::string& line) {
      if (!line.starts_with("computing on")) return;
      ++changes_;
      change();
    });
    spdlog::set_default_logger(std::make_shared<spdlog::logger>("test", sink));
  }

  std::filesystem::path folder_;
  RunOptions options_;
  int changes_ = 0;
  std::shared_ptr<spdlog::logger> before_;
};

TEST_F(RunOfAChangingFile, IsCompleteWhereNothingChanges) {
  write_problems();
  once_at_work([] {});
  EXPECT_TRUE(run(options_, "test").all_right());
  EXPECT_EQ(changes_, 1);
  EXPECT_TRUE(std::filesystem::exists(options_.results));
}

TEST_F(RunOfAChangingFile, IsRefusedWhereTheTailIsLost) {
  for (const double part : {0.3, 0.97}) {  // in A, in b
    std::filesystem::remove(options_.problems);
    write_problems();
    const auto size =
        static_cast<std::uintmax_t>(part * static_cast<double>(std::filesystem::file_size(options_.problems)));
    once_at_work([&] { std::filesystem::resize_file(options_.problems, size); });
    try {
      run(options_, "test");
      ADD_FAILURE() << "answers were written for bytes that are not there";
    } catch (const Error& error) {
      EXPECT_EQ(exit_code_of(error.kind()), ExitCode::bad_input);
      const std::string message = error.what();
      EXPECT_NE(message.find("found a size of " + std::to_string(size) + " bytes"), std::string::npos) << message;
      EXPECT_NE(message.find("p.h5"), std::string::npos) << message;
    }
    const std::filesystem::directory_iterator left(folder_);
    EXPECT_EQ(left->path(), options_.problems);
    EXPECT_EQ(std::distance(left, {}), 1);
  }
  EXPECT_EQ(changes_, 2);
}

}  // namespace
}  // namespace smallbatch
