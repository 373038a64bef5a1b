// Runs with an input that is cut short, changed or replaced during the run. They fail, and leave no file.
#include "app/run/pipeline.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <string>

#include "app/cli/exit_codes.hpp"
#include "core/error.hpp"
#include "io/problem_writer.hpp"
#include "tests/app/calling_sink.hpp"

namespace smallbatch {
namespace {

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

  /// Writes unit matrices, enough for several blocks.
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
  /// Calls `change` once the input was opened, before its first block is read.
  void once_at_work(std::function<void()> change) {
    auto sink = std::make_shared<testing::CallingSink>([this, change = std::move(change)](const std::string& line) {
      if (!line.starts_with("computing on")) return;
      ++changes_;
      change();
    });
    spdlog::set_default_logger(std::make_shared<spdlog::logger>("test", sink));
  }

  /// Changes a byte of the file in place, `from_end` bytes before its end.
  void change_byte(std::int64_t from_end) const {
    std::fstream file(options_.problems, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(-from_end, std::ios::end);
    const char byte = static_cast<char>(file.get() ^ 1);
    file.seekp(-from_end, std::ios::end);
    file.put(byte);
  }
  [[nodiscard]] static struct stat status_of(const std::filesystem::path& path) {
    struct stat status {};
    EXPECT_EQ(::stat(path.c_str(), &status), 0);
    return status;
  }
  void set_time(const timespec& time) const {
    const std::array<timespec, 2> times{{{0, UTIME_OMIT}, time}};
    ASSERT_EQ(::utimensat(AT_FDCWD, options_.problems.c_str(), times.data(), 0), 0);
  }
  /// Waits until a write would give the input a different time.
  void let_time_pass() const {
    const timespec then = status_of(options_.problems).st_ctim;
    timespec now = then;
    while (now.tv_sec == then.tv_sec && now.tv_nsec == then.tv_nsec) {
      std::ofstream(folder_ / "clock") << "tick";
      now = status_of(folder_ / "clock").st_ctim;
    }
    std::filesystem::remove(folder_ / "clock");
  }
  void expect_refusal(const std::string& word) const {
    try {
      run(options_, "test");
      ADD_FAILURE() << "answers were written";
    } catch (const Error& error) {
      EXPECT_EQ(exit_code_of(error.kind()), ExitCode::bad_input);
      const std::string message = error.what();
      for (const std::string& part : {std::string("p.h5"), word})
        EXPECT_NE(message.find(part), std::string::npos) << message;
    }
    EXPECT_FALSE(std::filesystem::exists(options_.results));
    for (const auto& left : std::filesystem::directory_iterator(folder_))
      EXPECT_EQ(left.path().string().find("r.h5"), std::string::npos) << left.path();
    EXPECT_EQ(changes_, 1);
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

TEST_F(RunOfAChangingFile, IsRefusedWhereItIsWrittenInPlace) {
  write_problems();
  let_time_pass();
  once_at_work([&] { change_byte(100); });
  expect_refusal("changed");
}

TEST_F(RunOfAChangingFile, IsRefusedWhereItsTimeIsPutBack) {
  write_problems();
  let_time_pass();
  once_at_work([&] {
    const timespec time = status_of(options_.problems).st_mtim;
    change_byte(100);
    set_time(time);
  });
  expect_refusal("changed");
}

/// The file is so large that its hash covers only parts of it. The changed byte is in none of them.
TEST_F(RunOfAChangingFile, IsRefusedWhereItsTimeIsPutBackAndTheHashDoesNotTell) {
  write_problems();
  std::filesystem::resize_file(options_.problems, 200 << 20);  // HDF5 ignores bytes after the end of its data
  let_time_pass();
  once_at_work([&] {
    const timespec time = status_of(options_.problems).st_mtim;
    change_byte(2 << 20);
    set_time(time);
  });
  expect_refusal("set back");
}

TEST_F(RunOfAChangingFile, IsRefusedWhereAnotherFileTakesItsName) {
  write_problems();
  std::filesystem::copy_file(options_.problems, folder_ / "other.h5");
  once_at_work([&] { std::filesystem::rename(folder_ / "other.h5", options_.problems); });
  expect_refusal("replaced");
}

/// New permissions, a new name or removal do not change the content of the open file, so the run succeeds.
TEST_F(RunOfAChangingFile, IsCompleteWhereItIsTouchedAlone) {
  using Change = std::function<void(const std::filesystem::path&)>;
  const std::array<Change, 3> changes{
      [](const auto& path) { std::filesystem::permissions(path, std::filesystem::perms::owner_read); },
      [](const auto& path) { std::filesystem::rename(path, path.string() + ".old"); },
      [](const auto& path) { std::filesystem::remove(path); }};
  for (const bool is_large : {false, true})
    for (const Change& change : changes) {
      write_problems();
      if (is_large) std::filesystem::resize_file(options_.problems, 200 << 20);
      once_at_work([&] { change(options_.problems); });
      EXPECT_TRUE(run(options_, "test").all_right());
      EXPECT_TRUE(std::filesystem::remove(options_.results));
      std::filesystem::remove(options_.problems);
    }
  EXPECT_EQ(changes_, 6);
}

}  // namespace
}  // namespace smallbatch
