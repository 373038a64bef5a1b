// Contiguous and compact datasets are read without HDF5. The numbers are those that HDF5 reads, for every type, byte
// order, place in the file and number of threads.
#include <gtest/gtest.h>
#include <hdf5.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "io/hdf5/input.hpp"
#include "io/problem_reader.hpp"
#include "tests/io/hdf5_file.hpp"

namespace smallbatch {
namespace {

using testing::expect_error;
using testing::RawHdf5;
using testing::Shape;

using ContiguousInput = testing::FileTest;

std::vector<double> random_numbers(std::size_t count, unsigned seed) {
  std::mt19937 engine(seed);
  std::vector<double> values(count);
  for (double& value : values) value = static_cast<double>(static_cast<int>(engine() % 201) - 100);
  return values;
}

/// Returns elements [first, first + count) of the first axis and [plane, plane + planes) of the second axis of `all`.
template <class T>
std::vector<T> box_of(const std::vector<double>& all, const Shape& shape, std::int64_t first, std::int64_t count,
                      std::int64_t plane, std::int64_t planes) {
  std::vector<T> box;
  for (std::int64_t i = first; i < first + count; ++i) {
    for (std::int64_t j = plane; j < plane + planes; ++j) {
      for (hsize_t k = 0; k < shape[2]; ++k) {
        box.push_back(
            static_cast<T>(all[(static_cast<hsize_t>(i) * shape[1] + static_cast<hsize_t>(j)) * shape[2] + k]));
      }
    }
  }
  return box;
}

template <class T>
void expect_numbers(const InputFile& input, const std::string& name, const std::vector<double>& all,
                    const Shape& shape) {
  const auto rows = static_cast<std::int64_t>(shape[0]), columns = static_cast<std::int64_t>(shape[1]);
  for (const auto& [first, count, plane, planes] : {std::array<std::int64_t, 4>{0, rows, 0, columns},
                                                    {2, 3, 0, columns},
                                                    {rows - 1, 1, 0, columns},
                                                    {1, 3, 2, 2},
                                                    {3, 1, columns - 1, 1},
                                                    {rows, 0, 0, columns}}) {
    const auto expected = box_of<T>(all, shape, first, count, plane, planes);
    std::vector<T> found(expected.size());
    input.read(name, {{first, count}, {plane, planes}}, found.data());
    EXPECT_EQ(found, expected) << name << " from " << first << ", " << plane;
  }
}

TEST_F(ContiguousInput, every_type_order_and_place_is_read_as_it_was_written) {
  const Shape shape{6, 5, 7};
  const auto numbers = random_numbers(6 * 5 * 7, 1);
  const std::array types{H5T_IEEE_F32LE, H5T_IEEE_F32BE, H5T_IEEE_F64LE, H5T_IEEE_F64BE, H5T_STD_I8LE,
                         H5T_STD_I8BE,   H5T_STD_I32LE,  H5T_STD_I32BE,  H5T_STD_I64LE,  H5T_STD_I64BE};
  for (const auto mode : {RawHdf5::Mode::create, RawHdf5::Mode::create_v110}) {
    for (const hsize_t user_block : {0, 512, 4096}) {
      {
        RawHdf5 file(path("c.h5"), mode, user_block);
        const hid_t compact = H5Pcreate(H5P_DATASET_CREATE);
        H5Pset_layout(compact, H5D_COMPACT);
        for (std::size_t i = 0; i < types.size(); ++i) {
          file.dataset("/d" + std::to_string(i), shape, numbers, types[i]);
          file.dataset("/c" + std::to_string(i), shape, numbers, types[i], compact);
        }
        H5Pclose(compact);
      }
      const InputFile input(path("c.h5"));
      for (std::size_t i = 0; i < 2 * types.size(); ++i) {
        const std::string name = (i % 2 == 0 ? "/d" : "/c") + std::to_string(i / 2);
        expect_numbers<float>(input, name, numbers, shape);
        expect_numbers<double>(input, name, numbers, shape);
        expect_numbers<std::int8_t>(input, name, numbers, shape);
        expect_numbers<std::int32_t>(input, name, numbers, shape);
        expect_numbers<std::int64_t>(input, name, numbers, shape);
      }
    }
  }
}

/// A file with 3000 systems of 32 rows. It has 13 MB, so every thread reads several pieces.
class LargeInput : public testing::FileTest {
 protected:
  LargeInput() : numbers_(random_numbers(systems * 1024, 2)), rhs_(random_numbers(systems * 32, 3)) {
    RawHdf5 file(path("p.h5"));
    file.attribute("/", "smallbatch_format", std::vector<std::int32_t>{1, 0});
    file.dataset("/solve/s/A", {systems, 32, 32}, std::vector<float>(numbers_.begin(), numbers_.end()));
    file.dataset("/solve/s/b", {systems, 32}, std::vector<float>(rhs_.begin(), rhs_.end()));
    file.dataset("/potential/p/position", {systems, 3}, std::vector<double>(rhs_.begin(), rhs_.begin() + 3 * systems));
    file.dataset("/potential/p/charge", {systems}, std::vector<double>(rhs_.begin(), rhs_.begin() + systems));
    file.dataset("/potential/p/offset", {3}, std::vector<std::int64_t>{0, 1000, systems});
    file.attribute("/potential/p", "targets", std::string("charges"));
  }

  static constexpr std::int64_t systems = 3000;
  std::vector<double> numbers_, rhs_;
};

TEST_F(LargeInput, several_threads_read_one_file_at_a_time) {
  const ProblemReader reader(path("p.h5"), 3);
  const SolveSet& set = reader.solve_sets().at(0);
  const PotentialSet& charges = reader.potential_sets().at(0);
  std::vector<std::thread> threads;
  std::array<std::int64_t, 6> wrong{};
  for (std::int64_t t = 0; t < 6; ++t) {
    threads.emplace_back([&, t] {
      SpdBlock<float> block;
      PotentialBlock<double> of_charges;
      for (std::int64_t first = 37 * t; first < systems; first += 1500) {
        reader.read(set, first, systems - first, block);
        for (std::size_t i = 0; i < block.a.size(); ++i) {
          wrong[t] += block.a[i] != static_cast<float>(numbers_[static_cast<std::size_t>(first) * 1024 + i]) ? 1 : 0;
        }
        for (std::size_t i = 0; i < block.b.size(); ++i) {
          wrong[t] += block.b[i] != static_cast<float>(rhs_[static_cast<std::size_t>(first) * 32 + i]) ? 1 : 0;
        }
        reader.read(charges, 1, 1, of_charges);
        for (std::size_t i = 0; i < of_charges.charge.size(); ++i) {
          wrong[t] += of_charges.charge[i] != rhs_[1000 + i] ? 1 : 0;
        }
      }
    });
  }
  // Meanwhile this thread opens the same file.
  for (int i = 0; i < 20; ++i) EXPECT_EQ(ProblemReader(path("p.h5")).solve_sets().size(), 1U);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, (std::array<std::int64_t, 6>{}));
}

TEST_F(LargeInput, the_first_byte_that_is_missing_is_named_whichever_thread_finds_out) {
  constexpr std::int64_t size = 9'500'000;  // A begins near byte 2000
  for (const unsigned threads : {1U, 2U, 8U}) {
    std::filesystem::copy_file(path("p.h5"), path("short.h5"), std::filesystem::copy_options::overwrite_existing);
    const ProblemReader reader(path("short.h5"), threads);
    ASSERT_EQ(::truncate(path("short.h5").c_str(), size), 0);
    SpdBlock<float> block;
    expect_error(ErrorKind::bad_input,
                 {"short.h5", "/solve/s/A", "truncated", "expected byte 9500000", "found a size of 9500000 bytes"},
                 [&] { reader.read(reader.solve_sets().at(0), 0, systems, block); });
  }
}

TEST_F(LargeInput, what_is_missing_of_one_of_two_is_named) {
  constexpr std::int64_t size = 12'400'000;  // A ends near byte 12,290,000, and b follows
  for (const unsigned threads : {1U, 8U}) {
    std::filesystem::copy_file(path("p.h5"), path("short.h5"), std::filesystem::copy_options::overwrite_existing);
    const ProblemReader reader(path("short.h5"), threads);
    ASSERT_EQ(::truncate(path("short.h5").c_str(), size), 0);
    SpdBlock<float> block;
    expect_error(ErrorKind::bad_input, {"/solve/s/b", "truncated", "expected byte 12400000"},
                 [&] { reader.read(reader.solve_sets().at(0), 0, systems, block); });
  }
}

TEST_F(LargeInput, rows_of_two_are_looked_at_once_when_they_are_there) {
  for (const unsigned threads : {1U, 3U, 8U}) {
    const InputFile input(path("p.h5"), threads);
    std::vector<float> a(numbers_.size()), b(rhs_.size());
    std::vector<std::atomic<int>> seen_a(systems), seen_b(systems), wrong(2);
    const auto rows_of = [](const char* name, std::vector<float>& values, const std::vector<double>& expected,
                            std::vector<std::atomic<int>>& seen, std::atomic<int>& differ) {
      return InputFile::Rows<float>{name, values.data(), [&](std::int64_t first, std::int64_t count) {
                                      const std::size_t numbers = values.size() / systems;
                                      for (std::int64_t row = first; row < first + count; ++row) {
                                        ++seen[static_cast<std::size_t>(row)];
                                        for (std::size_t i = 0; i < numbers; ++i) {
                                          const std::size_t k = static_cast<std::size_t>(row) * numbers + i;
                                          differ += values[k] != static_cast<float>(expected[k]) ? 1 : 0;
                                        }
                                      }
                                    }};
    };
    input.read_together({{0, systems}}, {rows_of("/solve/s/A", a, numbers_, seen_a, wrong[0]),
                                         rows_of("/solve/s/b", b, rhs_, seen_b, wrong[1])});
    for (const auto* const seen : {&seen_a, &seen_b})
      EXPECT_TRUE(std::ranges::all_of(*seen, [](const auto& reads) { return reads == 1; })) << threads;
    EXPECT_EQ(wrong[0], 0);
    EXPECT_EQ(wrong[1], 0);
  }
}

}  // namespace
}  // namespace smallbatch
