// An output file appears only when it is complete. It replaces another file only if the caller allows that.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "io/integrity/output_file.hpp"
#include "io/problem_reader.hpp"
#include "io/problem_writer.hpp"
#include "io/result_writer.hpp"
#include "tests/io/hdf5_file.hpp"

namespace smallbatch {
namespace {

using testing::expect_error;

using FileSafety = testing::FileTest;

const SolveSet small_set{"s", ScalarType::float32, {4, 1, Storage::dense}, true, 3};

void write_small_set(ProblemWriter& writer) {
  SpdBlock<float> block;
  block.resize(small_set.shape, small_set.batch);
  writer.add(small_set);
  writer.write(small_set, block);
}

TEST_F(FileSafety, nothing_is_left_without_a_commit) {
  {
    ProblemWriter writer(path("p.h5"), false);
    write_small_set(writer);
    EXPECT_EQ(files_in_folder(), 1U);
    EXPECT_FALSE(std::filesystem::exists(path("p.h5")));
  }
  EXPECT_EQ(files_in_folder(), 0U);
}

TEST_F(FileSafety, a_commit_leaves_the_file_alone) {
  ProblemWriter writer(path("p.h5"), false);
  write_small_set(writer);
  writer.commit();
  EXPECT_EQ(files_in_folder(), 1U);
  EXPECT_EQ(ProblemReader(path("p.h5")).solve_sets().size(), 1U);
}

TEST_F(FileSafety, an_existing_file_is_replaced_only_on_demand) {
  testing::write_bytes(path("p.h5"), {'o', 'l', 'd'});
  expect_error(ErrorKind::output_exists, {"p.h5", "exists already"}, [&] { ProblemWriter{path("p.h5"), false}; });
  expect_error(ErrorKind::output_exists, {"p.h5", "exists already"}, [&] { ResultWriter{path("p.h5"), false}; });
  {
    ProblemWriter writer(path("p.h5"), true);
    write_small_set(writer);
    EXPECT_EQ(testing::file_bytes(path("p.h5")), (std::vector<char>{'o', 'l', 'd'}));
    writer.commit();
  }
  EXPECT_EQ(ProblemReader(path("p.h5")).solve_sets().size(), 1U);
  EXPECT_EQ(files_in_folder(), 1U);
}

TEST_F(FileSafety, a_file_that_appears_meanwhile_is_not_replaced) {
  {
    OutputFile output(path("o.txt"), false);
    testing::write_bytes(output.temporary_path(), {'n', 'e', 'w'});
    testing::write_bytes(path("o.txt"), {'o', 'l', 'd'});
    expect_error(ErrorKind::output_exists, {"o.txt", "exists already"}, [&] { output.commit(); });
  }
  EXPECT_EQ(testing::file_bytes(path("o.txt")), (std::vector<char>{'o', 'l', 'd'}));
  EXPECT_EQ(files_in_folder(), 1U);
}

TEST_F(FileSafety, a_link_keeps_pointing_to_the_replaced_file) {
  testing::write_bytes(path("real.txt"), {'o', 'l', 'd'});
  std::filesystem::create_symlink("real.txt", path("link.txt"));
  OutputFile output(path("link.txt"), true);
  testing::write_bytes(output.temporary_path(), {'n', 'e', 'w'});
  output.commit();
  EXPECT_TRUE(std::filesystem::is_symlink(path("link.txt")));
  EXPECT_EQ(testing::file_bytes(path("real.txt")), (std::vector<char>{'n', 'e', 'w'}));
}

TEST_F(FileSafety, places_that_cannot_be_written) {
  expect_error(ErrorKind::output, {"no/p.h5", "folder does not exist"}, [&] { ProblemWriter{path("no/p.h5"), false}; });
  expect_error(ErrorKind::output, {"a folder"}, [&] { ProblemWriter{folder_.string(), true}; });
  expect_error(ErrorKind::output, {"/dev/null", "no regular file"}, [&] { ProblemWriter{"/dev/null", true}; });
  expect_error(ErrorKind::usage, {"no name"}, [&] { ProblemWriter{"", true}; });
}

TEST_F(FileSafety, a_disk_too_small_is_refused_before_the_first_byte) {
  ProblemWriter writer(path("p.h5"), false);
  SolveSet huge = small_set;
  huge.shape.n = 32;
  huge.batch = std::int64_t{1} << 46;  // 2^58 bytes
  expect_error(ErrorKind::output, {"p.h5", "disk full", "needed 288230376151711744 bytes", "free "},
               [&] { writer.add(huge); });
  huge.batch = std::int64_t{1} << 52;
  ResultWriter results(path("r.h5"), false);
  expect_error(ErrorKind::output, {"r.h5", "/solve/s/x", "more bytes than a file can"}, [&] {
    huge.shape.nrhs = 32;
    huge.rhs_is_vector = false;
    results.add(huge);
  });
}

TEST_F(FileSafety, declared_sets_share_the_free_space) {
  // Each set alone would fit on the disk. Together they need 1.25 times the free space.
  const auto free_bytes = static_cast<std::int64_t>(std::filesystem::space(folder_).available);
  ProblemWriter writer(path("p.h5"), false);
  SolveSet half = small_set;
  half.batch = free_bytes / 2 / 80;  // 16 + 4 floats per system
  writer.add(half);
  SolveSet more = half;
  more.name = "t";
  more.batch = half.batch * 2 - half.batch / 2;
  expect_error(ErrorKind::output, {"p.h5", "needed ", "free "}, [&] { writer.add(more); });
}

/// Limits the size of files while this object lives, as a full disk would.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    handler_ = ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit before_{};
  sighandler_t handler_ = SIG_DFL;
};

TEST_F(FileSafety, a_disk_that_fills_up_leaves_nothing_and_is_remembered) {
  SolveSet set = small_set;
  set.batch = 40'000;  // 2.6 MB
  testing::write_bytes(path("old.h5"), {'o', 'l', 'd'});
  for (const std::string name : {"new.h5", "old.h5"}) {
    const FileSizeLimit limit(1 << 20);
    ProblemWriter writer(path(name), true);
    writer.add(set);
    SpdBlock<float> block;
    block.resize(set.shape, 10'000);
    int failures = 0;
    for (std::int64_t first = 0; first < set.batch; first += 10'000) {
      block.first = first;
      try {
        writer.write(set, block);
      } catch (const Error& error) {
        ++failures;
        EXPECT_EQ(error.kind(), ErrorKind::output);
        EXPECT_NE(std::string(error.what()).find("disk full"), std::string::npos) << error.what();
        EXPECT_NE(std::string(error.what()).find(name), std::string::npos) << error.what();
      }
    }
    EXPECT_GE(failures, 2);
    expect_error(ErrorKind::output, {name, "disk full"}, [&] { writer.provenance("key", "value"); });
    expect_error(ErrorKind::output, {name, "disk full"}, [&] { writer.commit(); });
  }
  EXPECT_EQ(files_in_folder(), 1U);
  EXPECT_EQ(testing::file_bytes(path("old.h5")), (std::vector<char>{'o', 'l', 'd'}));
}

TEST_F(FileSafety, a_disk_that_fills_up_under_several_threads_leaves_nothing) {
  const SolveSet set{"s", ScalarType::float32, {16, 16, Storage::dense}, false, 30'000};  // 31 MB of x
  {
    ResultWriter writer(path("p.h5"), false, 4);
    writer.add(set);
    const FileSizeLimit limit(10 << 20);
    SpdBlock<float> block;
    block.resize(set.shape, set.batch);
    expect_error(ErrorKind::output, {"p.h5", "disk full"}, [&] { writer.write(set, block); });
    expect_error(ErrorKind::output, {"p.h5", "disk full"}, [&] { writer.write(set, block); });
    expect_error(ErrorKind::output, {"p.h5", "disk full"}, [&] { writer.commit(); });
  }
  EXPECT_EQ(files_in_folder(), 0U);
}

TEST_F(FileSafety, a_disk_that_fills_up_at_the_very_end_leaves_nothing) {
  {
    ProblemWriter writer(path("p.h5"), false);
    write_small_set(writer);
    const FileSizeLimit limit(100);  // too small for the metadata
    expect_error(ErrorKind::output, {"p.h5", "disk full"}, [&] { writer.commit(); });
  }
  EXPECT_EQ(files_in_folder(), 0U);
  // HDF5 is still usable afterwards.
  ProblemWriter writer(path("p.h5"), false);
  write_small_set(writer);
  writer.commit();
  EXPECT_EQ(ProblemReader(path("p.h5")).solve_sets().size(), 1U);
}

TEST_F(FileSafety, what_was_declared_and_never_written_cannot_be_committed) {
  {
    ProblemWriter writer(path("p.h5"), false);
    writer.add(small_set);
    SpdBlock<float> block;
    block.resize(small_set.shape, 2);
    writer.write(small_set, block);
    expect_error(ErrorKind::internal, {"/solve/s/A", "16 elements"}, [&] { writer.commit(); });
  }
  EXPECT_EQ(files_in_folder(), 0U);
}

TEST_F(FileSafety, writing_outside_of_a_set_is_refused) {
  ProblemWriter writer(path("p.h5"), false);
  SpdBlock<float> block;
  block.resize(small_set.shape, 2);
  expect_error(ErrorKind::usage, {"/solve/s/A", "not added"}, [&] { writer.write(small_set, block); });
  writer.add(small_set);
  block.first = 2;
  expect_error(ErrorKind::usage, {"/solve/s/A", "[2, 2 + 2)", "it has 3"}, [&] { writer.write(small_set, block); });
}

TEST_F(FileSafety, a_set_is_added_once) {
  const auto refuse_second = [&](auto&& writer, auto&& add) {
    add(writer);
    expect_error(ErrorKind::usage, {"/solve/s/", "exists already"}, [&] { add(writer); });
    expect_error(ErrorKind::usage, {"exists already"}, [&] { writer.commit(); });
  };
  refuse_second(ProblemWriter(path("p.h5"), false), [](ProblemWriter& writer) { write_small_set(writer); });
  refuse_second(ResultWriter(path("r.h5"), false), [](ResultWriter& writer) { writer.add(small_set); });
  refuse_second(ResultWriter(path("r.h5"), false), [](ResultWriter& writer) {
    writer.add(small_set);
    writer.write_summary("solve", small_set.name, {});  // HDF5 may by now have all groups of the file in memory
  });
  EXPECT_EQ(files_in_folder(), 0U);
}

PotentialSet set_with_time_unit(std::size_t length) {
  PotentialSet set;
  set.name = "p";
  set.batch = 1;
  set.shape = {1, 1, 1};
  set.offset = {0, 0};
  set.origin.resize(3);
  set.spacing.resize(3, 1);
  set.labels.time = {0};
  set.labels.time_unit = std::string(length, 's');
  return set;
}

TEST_F(FileSafety, an_attribute_may_be_longer_than_a_message_of_a_header) {
  constexpr std::size_t bytes = 70'000;
  ProblemWriter writer(path("q.h5"), false);
  writer.add(set_with_time_unit(bytes));
  writer.commit();
  EXPECT_EQ(testing::RawHdf5(path("q.h5"), testing::RawHdf5::Mode::read).read_text("/potential/p/time", "unit"),
            std::string(bytes, 's'));
}

TEST_F(FileSafety, sets_that_contradict_themselves_are_refused) {
  ProblemWriter writer(path("p.h5"), false);
  PotentialSet set;
  set.name = "p";
  set.batch = 2;
  set.shape = {2, 2, 2};
  set.offset = {0, 1};
  expect_error(ErrorKind::usage, {"\"p\"", "2 problems and 2 offsets"}, [&] { writer.add(set); });
  set.offset = {0, 1, 2};
  set.origin.resize(6);
  set.spacing.resize(3, 1);
  expect_error(ErrorKind::usage, {"\"p\"", "origins and spacings"}, [&] { writer.add(set); });
  const std::vector<double> position(5), charge(2);
  expect_error(ErrorKind::usage, {"\"p\"", "5 coordinates"}, [&] { writer.write_charges(set, 0, position, charge); });
}

TEST_F(FileSafety, system_errors_are_put_into_words) {
  for (const auto& [code, words] :
       {std::pair{ENOSPC, "disk full"}, std::pair{EDQUOT, "disk full"}, std::pair{EFBIG, "disk full"},
        std::pair{ENOENT, "folder was removed"}, std::pair{EACCES, "ermission"}}) {
    expect_error(ErrorKind::output, {"out.h5", words}, [c = code] { throw output_error("out.h5", c); });
  }
  expect_error(ErrorKind::output, {"folder does not exist"},
               [] { throw output_error("no_such_folder/out.h5", ENOENT); });
}

}  // namespace
}  // namespace smallbatch
