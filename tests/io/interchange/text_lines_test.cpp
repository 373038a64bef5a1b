// Lines of untrusted files and pipes come complete and once. Files and pipes without an end are refused.
#include "io/interchange/text_lines.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "core/error.hpp"

namespace smallbatch {
namespace {

using namespace std::string_literals;

class Lines : public ::testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path_); }

  static std::vector<std::string> lines_of(const std::string& path) {
    TextLines lines(path);
    std::vector<std::string> all;
    for (std::string_view line; lines.next(line);) all.emplace_back(line);
    EXPECT_EQ(lines.line_number(), static_cast<std::int64_t>(all.size()));
    return all;
  }
  std::vector<std::string> read(const std::string& text) const {
    std::ofstream(path_, std::ios::binary) << text;
    return lines_of(path_);
  }
  template <class Read>
  static std::string refusal(const Read& read, ErrorKind kind) {
    try {
      read();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), kind) << error.what();
      return error.what();
    }
    ADD_FAILURE() << "accepted";
    return {};
  }
  static bool holds(const std::string& text, const std::string& words) { return text.find(words) != std::string::npos; }

  const std::string path_ =
      (std::filesystem::temp_directory_path() / ("smallbatch_lines_" + std::to_string(::getpid()))).string();
};

TEST_F(Lines, are_those_of_the_file) {
  EXPECT_TRUE(read("").empty());
  EXPECT_EQ(read("\n"), std::vector<std::string>{""});
  EXPECT_EQ(read("a\n\nb"), (std::vector<std::string>{"a", "", "b"}));
  EXPECT_EQ(read("a\r\nb\0c\n"s), (std::vector<std::string>{"a\r", "b\0c"s}));
  // Some lines lie across two reads.
  std::vector<std::string> all;
  std::string text;
  for (std::size_t k = 0; k < 3000; ++k) {
    all.push_back(std::string(k % 997, static_cast<char>('a' + k % 26)) + std::to_string(k));
    text += all.back() + "\n";
  }
  EXPECT_EQ(read(text), all);
  EXPECT_EQ(read(text.substr(0, text.size() - 1)), all);
}

TEST_F(Lines, have_an_end) {
  EXPECT_EQ(read(std::string(65536, 'x') + "\ny").size(), 2U);
  const std::string why = refusal([&] { read("x\n" + std::string(200000, 'x') + "\n"); }, ErrorKind::bad_input);
  EXPECT_TRUE(holds(why, path_ + ", line 2") && holds(why, "longer than 65536 bytes")) << why;
  EXPECT_TRUE(holds(refusal([] { lines_of("/dev/zero"); }, ErrorKind::bad_input), "/dev/zero, line 1"));
}

TEST_F(Lines, of_what_is_no_text_are_refused_by_its_kind) {
  for (const auto& [bytes, kind] : {std::pair{"\x1f\x8b\x08\0\0\0\0\0\0\x03"s, "gzip"},
                                    {"BZh91AY&SY"s, "bzip2"},
                                    {"\xfd\x37zXZ\0\0\4"s, "xz"},
                                    {"\x28\xb5\x2f\xfd$\1"s, "zstd"},
                                    {"PK\3\4\x14\0"s, "ZIP"},
                                    {"\x89HDF\r\n\x1a\n\0"s, "HDF5"},
                                    {"\xff\xfe"
                                     "A\0T\0O\0M\0"s,
                                     "UTF-16"},
                                    {"\xfe\xff"
                                     "\0A\0T\0O\0M"s,
                                     "UTF-16"}}) {
    const std::string why = refusal([&, &text = bytes] { read(text); }, ErrorKind::bad_input);
    EXPECT_TRUE(why.starts_with(path_ + " is ") && holds(why, kind) && why.back() == '.') << why;
  }
  EXPECT_EQ(read("BZ\nh"), (std::vector<std::string>{"BZ", "h"}));
}

/// Nobody writes to the pipe, so an ordinary open() would wait for ever.
TEST_F(Lines, of_a_pipe_that_nobody_writes_are_not_waited_for) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  const std::string why = refusal([&] { lines_of(path_); }, ErrorKind::missing_file);
  EXPECT_TRUE(holds(why, path_) && holds(why, "nobody writes to it")) << why;
}

TEST_F(Lines, of_a_pipe_come_as_they_are_written) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  std::thread writer([&] {
    std::ofstream pipe(path_);
    for (const char* piece : {"\x1f", "a\nb", "c\n", "d"})
      pipe << piece << std::flush;  // begins like a magic number, but is none
  });
  EXPECT_EQ(lines_of(path_), (std::vector<std::string>{"\x1f"
                                                       "a",
                                                       "bc", "d"}));
  writer.join();
}

TEST_F(Lines, of_a_pipe_without_end_are_refused) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  std::thread writer([&] {
    const int pipe = ::open(path_.c_str(), O_WRONLY);
    const std::string line = std::string(60000, 'x') + "\n";
    while (::write(pipe, line.data(), line.size()) > 0) continue;  // until the reader has closed the pipe
    ::close(pipe);
  });
  const auto before = ::signal(SIGPIPE, SIG_IGN);
  const std::string why = refusal([&] { lines_of(path_); }, ErrorKind::bad_input);
  writer.join();
  ::signal(SIGPIPE, before);
  EXPECT_TRUE(holds(why, path_ + " gives more than 128 MiB")) << why;
}

TEST_F(Lines, of_no_file_are_missing) {
  for (const std::string& path : {path_ + ".no", "-"s, std::filesystem::temp_directory_path().string()})
    EXPECT_TRUE(holds(refusal([&] { lines_of(path); }, ErrorKind::missing_file), path));
}

}  // namespace
}  // namespace smallbatch
