#include "core/systems.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

namespace smallbatch {
namespace {

TEST(SpdShape, CountsNumbers) {
  const SpdShape dense{32, 4, Storage::dense};
  EXPECT_EQ(dense.matrix_size(), 1024);
  EXPECT_EQ(dense.rhs_size(), 128);
  EXPECT_EQ(dense.solution_size(), 128);
  const SpdShape packed{32, 1, Storage::packed_lower};
  EXPECT_EQ(packed.matrix_size(), 528);
  const SpdShape inverse{5, 0, Storage::packed_lower};
  EXPECT_TRUE(inverse.wants_inverse());
  EXPECT_EQ(inverse.matrix_size(), 15);
  EXPECT_EQ(inverse.rhs_size(), 0);
  EXPECT_EQ(inverse.solution_size(), 25);
}

TEST(SpdBlock, HasRoomForItsSystems) {
  SpdBlock<float> block;
  block.resize({3, 2, Storage::dense}, 5);
  EXPECT_EQ(block.a.size(), 45U);
  EXPECT_EQ(block.b.size(), 30U);
  EXPECT_EQ(block.x.size(), 30U);
  EXPECT_EQ(block.info.size(), 5U);
  EXPECT_EQ(block.backward_error.size(), 5U);
  for (const float* first : {block.a.data(), block.b.data(), block.x.data()})
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first) % 64, 0U);
}

TEST(SpdBlock, HasSizesWhereTheyDiffer) {
  SpdBlock<double> block;
  SpdShape shape{3, 2, Storage::packed_lower};
  block.resize(shape, 5);
  EXPECT_TRUE(block.sizes.empty());
  EXPECT_EQ(block.batch().sizes, nullptr);
  shape.has_sizes = true;
  block.resize(shape, 5);
  EXPECT_EQ(block.sizes.size(), 5U);
  EXPECT_EQ(block.batch().sizes, block.sizes.data());
}

template <class T>
void expect_arrays_of_each_number() {
  for (const bool determinant_only : {false, true}) {
    SpdBlock<T> block;
    block.resize({3, determinant_only ? 0 : 2, Storage::dense, determinant_only}, 5);
    const SpdSolution<T> solution = block.solution();
    EXPECT_EQ(solution.info, block.info.data());
    std::set<const void*> arrays;
    std::set<std::string> names;
    std::int64_t bytes = sizeof(std::int32_t);
    for_each_spd_number<T>([&]<class V>(const SpdNumber<T, V>& number) {
      EXPECT_TRUE(names.insert(number.name).second) << number.name;
      const AlignedVector<V>& values = block.*number.in_block;
      const bool is_there = !number.is_about_x || !determinant_only;
      EXPECT_EQ(values.size(), is_there ? 5U : 0U) << number.name;
      EXPECT_EQ(solution.*number.in_solution, is_there ? values.data() : nullptr) << number.name;
      // Each number has a value for failed systems, and its own member of SpdValues.
      EXPECT_TRUE(std::is_integral_v<V> ? number.of_failed() == 0 : std::isnan(number.of_failed())) << number.name;
      SpdValues marked;
      marked.*number.in_values = 4711;
      int found = 0;
      for_each_spd_number<T>([&](const auto& other) { found += marked.*other.in_values == 4711 ? 1 : 0; });
      EXPECT_EQ(found, 1) << number.name;
      if (!is_there) return;
      EXPECT_TRUE(arrays.insert(values.data()).second) << number.name;
      bytes += static_cast<std::int64_t>(sizeof(V));
    });
    EXPECT_EQ(block.backward_error.size(), determinant_only ? 0U : 5U);
    EXPECT_EQ(block.rcond.size(), 5U);
    EXPECT_EQ(names.size(), spd_number_count<T>);
    EXPECT_EQ(bytes_of_numbers(scalar_type_of<T>, block.shape), bytes);
    // Every array of a solution is info, x, or the array of a number in the list.
    EXPECT_EQ(sizeof(SpdSolution<T>), (2 + names.size()) * sizeof(void*) + sizeof(std::int64_t));
    EXPECT_EQ(sizeof(SpdValues), names.size() * sizeof(double));
  }
}

TEST(SpdNumbers, EachHasArraysOfItsOwn) {
  expect_arrays_of_each_number<float>();
  expect_arrays_of_each_number<double>();
}

TEST(IsInputRefused, IsTrueWhereNothingWasComputed) {
  for (const int info :
       {info_matrix_not_finite, info_matrix_not_symmetric, info_rhs_not_finite, info_size_out_of_range})
    EXPECT_TRUE(is_input_refused(info));
  for (const int info : {0, 1, 64, info_result_not_finite, info_result_underflowed})
    EXPECT_FALSE(is_input_refused(info));
}

TEST(DescribeInfo, NamesThePivot) {
  EXPECT_EQ(describe_spd_info(0), "solved");
  EXPECT_EQ(describe_spd_info(17), "pivot 17 is not positive");
  EXPECT_EQ(describe_spd_info(info_matrix_not_symmetric), "A is not symmetric");
  EXPECT_EQ(describe_spd_info(info_size_out_of_range), "its size is not within 0 to n");
}

}  // namespace
}  // namespace smallbatch
