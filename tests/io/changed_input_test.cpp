// An open file that becomes shorter, changes or becomes unreadable is refused. Its numbers never become zeros.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <hdf5.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "io/hdf5/input.hpp"
#include "io/interchange/molecule.hpp"
#include "io/problem_reader.hpp"
#include "io/result_reader.hpp"
#include "io/result_writer.hpp"
#include "tests/io/hdf5_file.hpp"

namespace smallbatch {
namespace {

using testing::expect_error;
using testing::RawHdf5;

/// Returns the descriptors of this process that are open on the file.
std::vector<int> descriptors_of(const std::string& path) {
  std::vector<int> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code closed_meanwhile;
    if (std::filesystem::read_symlink(entry.path(), closed_meanwhile) == path) {
      found.push_back(std::stoi(entry.path().filename()));
    }
  }
  return found;
}

/// Makes the reader's descriptor refer to another file.
void replace_descriptor(const std::string& path, const std::string& other) {
  const std::vector<int> descriptors = descriptors_of(path);
  ASSERT_EQ(descriptors.size(), 1U);
  const int file = ::open(other.c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_GE(file, 0) << other;
  ASSERT_EQ(::dup2(file, descriptors[0]), descriptors[0]);
  ::close(file);
}

enum class Layout { contiguous, chunked, deflated };

/// File with 1000 systems of 8 rows, in chunks of 10 systems. Deflate cannot compress the numbers.
class ChangedInput : public testing::FileTest, public ::testing::WithParamInterface<Layout> {
 protected:
  void write_problems(Layout layout) {
    const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    const testing::Shape chunk{10, 8, 8};
    if (layout != Layout::contiguous) H5Pset_chunk(creation, 3, chunk.data());
    if (layout == Layout::deflated) H5Pset_deflate(creation, 1);
    std::vector<float> numbers(1000 * 64);
    std::uint32_t state = 1;
    for (float& number : numbers) number = static_cast<float>(state = state * 1664525 + 1013904223);
    RawHdf5 file(path("p.h5"));
    file.attribute("/", "smallbatch_format", std::vector<std::int32_t>{1, 0});
    file.dataset("/solve/s/A", {1000, 8, 8}, numbers, H5I_INVALID_HID, creation);
    H5Pclose(creation);
  }
  /// Sets the time of the last change of the file.
  void set_time(const timespec& time) {
    const std::array<timespec, 2> times{{{0, UTIME_OMIT}, time}};
    ASSERT_EQ(::utimensat(AT_FDCWD, path("p.h5").c_str(), times.data(), 0), 0);
  }
  void truncate_to(std::uint64_t size) { ASSERT_EQ(::truncate(path("p.h5").c_str(), static_cast<off_t>(size)), 0); }
};

TEST_P(ChangedInput, a_tail_that_is_lost_while_it_is_read_is_missed) {
  write_problems(GetParam());
  const std::uint64_t size = std::filesystem::file_size(path("p.h5"));
  const ProblemReader reader(path("p.h5"));
  const SolveSet& set = reader.solve_sets().at(0);
  SpdBlock<float> block;
  reader.read(set, 0, 100, block);
  truncate_to(size / 2);
  const auto read = [&] { reader.read(set, 100, set.batch - 100, block); };
  expect_error(ErrorKind::bad_input,
               {"p.h5", "/solve/s/A", "truncated", "expected byte " + std::to_string(size / 2),
                "found a size of " + std::to_string(size / 2) + " bytes"},
               read);
  // The file stays refused, even when the bytes are back.
  truncate_to(size);
  expect_error(ErrorKind::bad_input, {"p.h5", "truncated"}, read);
}

TEST_P(ChangedInput, what_the_file_still_holds_is_not_believed_either) {
  write_problems(GetParam());
  const std::uint64_t size = std::filesystem::file_size(path("p.h5"));
  const ProblemReader reader(path("p.h5"));
  struct stat before {};
  ASSERT_EQ(::stat(path("p.h5").c_str(), &before), 0);
  truncate_to(size - 1);
  set_time(before.st_mtim);
  SpdBlock<float> block;
  expect_error(ErrorKind::bad_input, {"p.h5", "/solve/s/A", "found a size of " + std::to_string(size - 1) + " bytes"},
               [&] { reader.read(reader.solve_sets().at(0), 0, 10, block); });
}

TEST_P(ChangedInput, bytes_written_meanwhile_are_noticed) {
  write_problems(GetParam());
  struct stat before {};
  ASSERT_EQ(::stat(path("p.h5").c_str(), &before), 0);
  for (const timespec change : {timespec{3600, 0}, timespec{0, before.st_mtim.tv_nsec > 0 ? -1 : 1}}) {
    set_time(before.st_mtim);
    const ProblemReader reader(path("p.h5"));
    SpdBlock<float> block;
    reader.read(reader.solve_sets().at(0), 0, 10, block);
    set_time({before.st_mtim.tv_sec + change.tv_sec, before.st_mtim.tv_nsec + change.tv_nsec});
    expect_error(ErrorKind::bad_input, {"p.h5", "/solve/s/A", "changed while it was read"},
                 [&] { reader.read(reader.solve_sets().at(0), 0, 10, block); });
  }
}

TEST_P(ChangedInput, the_systems_own_error_is_told) {
  write_problems(GetParam());
  for (const auto& [other, says] : {std::pair<std::string, std::string>{"/proc/self/mem", "Input/output error"},
                                    {folder_.string(), "Is a directory"}}) {
    const ProblemReader reader(path("p.h5"));
    replace_descriptor(path("p.h5"), other);
    SpdBlock<float> block;
    try {
      reader.read(reader.solve_sets().at(0), 0, 10, block);
      ADD_FAILURE() << "nothing was thrown for " << other;
    } catch (const Error& error) {
      const std::string message = error.what();
      EXPECT_EQ(error.kind(), ErrorKind::missing_file);
      for (const std::string& piece : {std::string("p.h5"), std::string("/solve/s/A"), says}) {
        EXPECT_NE(message.find(piece), std::string::npos) << message;
      }
      EXPECT_EQ(message.find("damaged"), std::string::npos) << message;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(all, ChangedInput, ::testing::Values(Layout::contiguous, Layout::chunked, Layout::deflated),
                         [](const auto& test) {
                           return std::string(test.param == Layout::contiguous ? "contiguous"
                                              : test.param == Layout::chunked  ? "chunked"
                                                                               : "deflated");
                         });

using OpenInput = testing::FileTest;

TEST_F(OpenInput, results_are_read_with_the_same_care) {
  {
    const SolveSet set{"s", ScalarType::float32, {8, 1, Storage::dense}, true, 10'000};
    ResultWriter writer(path("r.h5"), false);
    writer.add(set);
    SpdBlock<float> block;
    block.resize(set.shape, set.batch);
    writer.write(set, block);
    writer.commit();
  }
  const ResultReader reader(path("r.h5"));
  const SolveSet& set = reader.solve_sets().at(0);
  ASSERT_EQ(::truncate(path("r.h5").c_str(), 100'000), 0);
  SpdBlock<float> block;
  block.resize(set.shape, set.batch);
  expect_error(ErrorKind::bad_input, {"r.h5", "/solve/s/x", "expected byte 100000", "found a size of 100000 bytes"},
               [&] { reader.read(set, 0, set.batch, block); });
}

TEST_F(OpenInput, what_cannot_be_read_at_all_is_told_in_the_systems_words) {
  expect_error(ErrorKind::missing_file, {"/proc/self/mem", "reading byte 0 failed", "Input/output error"},
               [] { ProblemReader{"/proc/self/mem"}; });
  expect_error(ErrorKind::missing_file, {"/proc/self/mem", "Check the disk"}, [] { (void)read_pqr("/proc/self/mem"); });
}

TEST_F(OpenInput, one_descriptor_is_kept_and_not_inherited) {
  testing::write_good_problems(path("p.h5"));
  {
    const ProblemReader reader(path("p.h5"));
    const std::vector<int> descriptors = descriptors_of(path("p.h5"));
    ASSERT_EQ(descriptors.size(), 1U);
    EXPECT_NE(::fcntl(descriptors[0], F_GETFD) & FD_CLOEXEC, 0);
  }
  EXPECT_TRUE(descriptors_of(path("p.h5")).empty());
  testing::write_bytes(path("p.h5"), std::vector<char>(5000, 'x'));
  EXPECT_THROW(ProblemReader{path("p.h5")}, Error);
  EXPECT_TRUE(descriptors_of(path("p.h5")).empty());
}

TEST_F(OpenInput, two_readers_of_one_file_do_not_disturb_each_other) {
  testing::write_good_problems(path("p.h5"));
  const ProblemReader first(path("p.h5")), second(path("p.h5"));
  SpdBlock<float> one, other;
  first.read(first.solve_sets().at(0), 0, 3, one);
  second.read(second.solve_sets().at(0), 0, 3, other);
  EXPECT_EQ(one.a, other.a);
}

/// Nobody writes to the pipe, so an ordinary open() would wait for ever.
TEST_F(OpenInput, a_pipe_is_looked_at_without_waiting) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_FALSE(is_hdf5(path("pipe")));
  EXPECT_FALSE(is_hdf5(path("absent")));
  testing::write_good_problems(path("p.h5"), RawHdf5::Mode::create);
  EXPECT_TRUE(is_hdf5(path("p.h5")));
}

}  // namespace
}  // namespace smallbatch
