// Wrong files are refused. The message says where, what was expected and what was found. potential_refusal_test.cpp has
// the potential sets. One file, because all cases are in one table.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <hdf5.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>
#include <string>
#include <tuple>
#include <vector>

#include "io/hdf5/quiet.hpp"
#include "io/problem_reader.hpp"
#include "io/result_reader.hpp"
#include "tests/io/hdf5_file.hpp"
#include "tests/io/refusals.hpp"

namespace smallbatch {
namespace {

using testing::counted;
using testing::expect_error;
using testing::RawHdf5;
using testing::Refusal;
using testing::remove;
using testing::replace;

/// Declares a dataset in the given layout, and never writes it.
auto declare(const std::string& path, const testing::Shape& shape, const std::vector<hsize_t>& chunk, bool deflate) {
  return [=](RawHdf5& file) {
    file.remove(path);
    const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    if (!chunk.empty()) H5Pset_chunk(creation, static_cast<int>(chunk.size()), chunk.data());
    if (deflate) H5Pset_deflate(creation, 1);
    const hid_t created = file.declare(path, shape, H5T_IEEE_F32LE, creation);
    if (!chunk.empty()) {  // writes only one chunk of many
      const std::vector<char> bytes(64, 1);
      const std::vector<hsize_t> at(chunk.size(), 0);
      EXPECT_GE(H5Dwrite_chunk(created, H5P_DEFAULT, 0, at.data(), bytes.size(), bytes.data()), 0);
    }
    H5Pclose(creation);
  };
}

const std::vector<Refusal>& solve_refusals() {
  static const std::vector<Refusal> all{
      // The format.
      {"version_missing", [](RawHdf5& f) { f.remove_attribute("/", "smallbatch_format"); }, {"smallbatch_format"}},
      {"version_newer_major",
       [](RawHdf5& f) {
         f.attribute("/", "smallbatch_format", std::vector<std::int32_t>{2, 3});
       },
       {"version 1", "version 2.3"}},
      {"version_zero",
       [](RawHdf5& f) {
         f.attribute("/", "smallbatch_format", std::vector<std::int32_t>{0, 1});
       },
       {"(0, 1)"}},
      {"version_of_a_negative_minor",
       [](RawHdf5& f) {
         f.attribute("/", "smallbatch_format", std::vector<std::int32_t>{1, -1});
       },
       {"(1, -1)"}},
      {"version_of_one_number",
       [](RawHdf5& f) { f.attribute("/", "smallbatch_format", std::vector<std::int32_t>{1}); },
       {"smallbatch_format", "(1)"}},
      {"version_as_float",
       [](RawHdf5& f) {
         f.attribute("/", "smallbatch_format", std::vector<double>{1, 0.5});
       },
       {"expected integers", "float64"}},
      {"version_missing_in_h5md",
       [](RawHdf5& f) {
         f.remove_attribute("/", "smallbatch_format");
         f.group("/h5md");
       },
       {"understood as H5MD", "smallbatch import"}},
      {"version_missing_in_uvh5",
       [](RawHdf5& f) {
         f.remove_attribute("/", "smallbatch_format");
         f.group("/Header");
         f.group("/Data");
       },
       {"understood as UVH5", "smallbatch import"}},
      {"sets_of_a_misspelt_kind",
       [](RawHdf5& f) {
         f.remove("/solve/s");
         f.remove("/potential/p");
         f.group("/solves");
       },
       {"no problem set", "/solves: did you mean /solve?"}},
      {"no_sets", [](RawHdf5& f) { f.remove("/solve/s"), f.remove("/potential/p"); }, {"no problem set"}},
      {"dataset_in_place_of_a_set",
       [](RawHdf5& f) {
         f.dataset("/solve/loose", {2}, std::vector<float>{1, 2});
       },
       {"/solve/loose", "expected a group"}},
      {"dataset_in_place_of_a_lane",
       [](RawHdf5& f) {
         f.remove("/solve"), f.dataset("/solve", {2}, std::vector<float>{1, 2});
       },
       {"/solve", "expected a group"}},

      // Solve sets.
      {"a_missing", remove("/solve/s/A"), {"/solve/s", "no dataset \"A\""}},
      {"a_is_a_group",
       [](RawHdf5& f) { f.remove("/solve/s/A"), f.group("/solve/s/A"); },
       {"/solve/s/A", "expected a dataset", "a group"}},
      {"a_is_a_named_type",
       [](RawHdf5& f) {
         f.remove("/solve/s/A");
         H5Tcommit2(f.id(), "/solve/s/A", H5Tcopy(H5T_IEEE_F32LE), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
       },
       {"/solve/s/A", "expected a dataset"}},
      {"a_of_rank_1", replace("/solve/s/A", {12}, counted<float>(12)), {"/solve/s/A", "(batch, n, n)", "(12)"}},
      {"a_of_rank_4", replace("/solve/s/A", {3, 2, 2, 1}, counted<float>(12)), {"/solve/s/A", "(3, 2, 2, 1)"}},
      {"a_not_square", replace("/solve/s/A", {3, 2, 3}, counted<float>(18)), {"/solve/s/A", "(3, 2, 3)"}},
      {"a_not_triangular", replace("/solve/s/A", {3, 4}, counted<float>(12)), {"/solve/s/A", "n(n+1)/2", "(3, 4)"}},
      {"a_too_large", replace("/solve/s/A", {1, 257, 257}, counted<float>(257 * 257)), {"<= 256", "(1, 257, 257)"}},
      {"a_packed_too_large", replace("/solve/s/A", {1, 33153}, counted<float>(33153)), {"<= 256", "(1, 33153)"}},
      {"a_of_size_0", replace("/solve/s/A", {3, 0, 0}, std::vector<float>{}), {"1 <= n", "(3, 0, 0)"}},
      {"a_of_int32",
       replace("/solve/s/A", {3, 2, 2}, counted<std::int32_t>(12)),
       {"/solve/s/A", "expected float32 or float64", "found int32"}},
      {"a_of_uint8",
       replace("/solve/s/A", {3, 2, 2}, counted<std::int32_t>(12), [] { return H5T_STD_U8LE; }),
       {"/solve/s/A", "found uint8"}},
      {"a_of_float16",
       replace("/solve/s/A", {3, 2, 2}, counted<float>(12),
               [] {
                 const hid_t half = H5Tcopy(H5T_IEEE_F32LE);
                 H5Tset_fields(half, 15, 10, 5, 0, 10);
                 H5Tset_size(half, 2);
                 H5Tset_ebias(half, 15);
                 return half;
               }),
       {"/solve/s/A", "expected float32 or float64", "found float16"}},
      {"a_of_vax_float",
       replace("/solve/s/A", {3, 2, 2}, counted<float>(12), [] { return H5Tcopy(H5T_VAX_F32); }),
       {"/solve/s/A", "not IEEE"}},
      {"a_of_variable_strings",
       [](RawHdf5& f) {
         f.remove("/solve/s/A");
         const hid_t type = H5Tcopy(H5T_C_S1);
         H5Tset_size(type, H5T_VARIABLE);
         f.declare("/solve/s/A", {3, 2, 2}, type);
       },
       {"/solve/s/A", "found variable-length string"}},
      {"a_of_variable_sequences",
       [](RawHdf5& f) {
         f.remove("/solve/s/A");
         f.declare("/solve/s/A", {3, 2, 2}, H5Tvlen_create(H5T_IEEE_F32LE));
       },
       {"/solve/s/A", "found variable-length data"}},
      {"a_without_data",
       [](RawHdf5& f) {
         f.remove("/solve/s/A");
         H5Dcreate2(f.id(), "/solve/s/A", H5T_IEEE_F32LE, H5Screate(H5S_NULL), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
       },
       {"/solve/s/A", "no data"}},
      {"uplo_unknown",
       [](RawHdf5& f) { f.attribute("/solve/s", "uplo", "L"); },
       {"/solve/s@uplo", "expected \"lower\" or \"upper\"", "found \"L\""}},
      {"uplo_as_number",
       [](RawHdf5& f) { f.attribute("/solve/s", "uplo", std::vector<double>{1}); },
       {"/solve/s@uplo"}},
      {"uplo_of_the_other_packed_triangles",
       [](RawHdf5& f) {
         replace("/solve/s/A", {3, 3}, counted<float>(9))(f);
         f.attribute("/solve/s", "uplo", "lower");
         f.attribute("/solve/s", "storage", "packed_upper");
       },
       {"/solve/s@storage", "expected \"packed_lower\", found \"packed_upper\""}},
      {"storage_of_the_other_packed_triangles",
       [](RawHdf5& f) {
         replace("/solve/s/A", {3, 3}, counted<float>(9))(f);
         f.attribute("/solve/s", "uplo", "upper");
         f.attribute("/solve/s", "storage", "packed_lower");
       },
       {"/solve/s@storage", "expected \"packed_upper\", found \"packed_lower\""}},
      {"sizes_of_packed_upper_triangles",
       [](RawHdf5& f) {
         replace("/solve/s/A", {3, 3}, counted<float>(9))(f);
         f.attribute("/solve/s", "storage", "packed_upper");
         f.dataset("/solve/s/size", {3}, std::vector<std::int32_t>{1, 2, 2});
       },
       {"/solve/s/size", "packed upper triangle", "Store lower triangles"}},
      {"compute_unknown",
       [](RawHdf5& f) { f.attribute("/solve/s", "compute", "determinant"); },
       {"/solve/s@compute", "expected \"log_determinant\"", "found \"determinant\""}},
      {"b_where_the_determinant_is_wanted",
       [](RawHdf5& f) { f.attribute("/solve/s", "compute", "log_determinant"); },
       {"/solve/s/b", "compute", "Remove b"}},
      {"b_of_another_type",
       replace("/solve/s/b", {3, 2}, counted<double>(6)),
       {"/solve/s/b", "expected float32", "found float64"}},
      {"b_of_another_batch",
       replace("/solve/s/b", {4, 2}, counted<float>(8)),
       {"/solve/s/b", "expected shape (3, 2)", "found (4, 2)"}},
      {"b_of_another_n", replace("/solve/s/b", {3, 1, 2}, counted<float>(6)), {"/solve/s/b", "found (3, 1, 2)"}},
      {"b_without_columns", replace("/solve/s/b", {3, 2, 0}, std::vector<float>{}), {"/solve/s/b", "(3, 2, 0)"}},
      {"b_of_rank_1", replace("/solve/s/b", {6}, counted<float>(6)), {"/solve/s/b", "found (6)"}},
      {"b_with_too_many_columns",
       [](RawHdf5& f) {  // this empty batch needs no bytes, but its row length overflows an int
         f.remove("/solve/s/A"), f.remove("/solve/s/b");
         f.declare("/solve/s/A", {0, 2, 2}, H5T_IEEE_F32LE);
         f.declare("/solve/s/b", {0, 2, hsize_t{1} << 31}, H5T_IEEE_F32LE);
       },
       {"/solve/s/b", "(0, 2, 2147483648)"}},

      // Unknown names, which would have no effect.
      {"attribute_unknown",
       [](RawHdf5& f) { f.attribute("/solve/s", "precision", "high"); },
       {"/solve/s", "its attribute \"precision\" is unknown)", "Correct its name or remove it"}},
      {"attribute_misspelt",
       [](RawHdf5& f) { f.attribute("/solve/s", "uplow", "lower"); },
       {"/solve/s", "\"uplow\" is unknown: did you mean \"uplo\"?"}},
      {"attribute_in_capitals",
       [](RawHdf5& f) { f.attribute("/solve/s", "COMPUTE", "log_determinant"); },
       {"/solve/s", "\"COMPUTE\" is unknown: did you mean \"compute\"?"}},
      {"attribute_of_the_other_lane",
       [](RawHdf5& f) { f.attribute("/solve/s", "cutoff", std::vector<double>{1}); },
       {"/solve/s", "\"cutoff\" is unknown)"}},
      {"attribute_of_a_dataset",
       [](RawHdf5& f) { f.attribute("/solve/s/A", "uplo", "lower"); },
       {"/solve/s/A", "\"uplo\" is unknown)"}},
      {"attribute_of_all_sets",
       [](RawHdf5& f) { f.attribute("/solve", "uplo", "lower"); },
       {"/solve", "\"uplo\" is unknown)"}},
      {"attribute_scales_the_numbers",
       [](RawHdf5& f) { f.attribute("/solve/s/A", "scale_factor", std::vector<double>{2}); },
       {"/solve/s/A", "\"scale_factor\" is unknown)"}},
      {"attribute_with_a_terrible_name",
       [](RawHdf5& f) { f.attribute("/solve/s/b", "\x1B[2J" + std::string(10'000, 'x'), std::vector<double>{1}); },
       {"/solve/s/b", "\"\\x1b[2J" + std::string(60, 'x') + "...\" is unknown)"}},
      {"dataset_in_capitals",
       [](RawHdf5& f) {
         f.remove("/solve/s/b"), f.dataset("/solve/s/B", {3, 2}, counted<float>(6));
       },
       {"/solve/s", "\"B\" is unknown: did you mean \"b\"?"}},
      {"dataset_in_small_letters",
       [](RawHdf5& f) {
         f.remove("/solve/s/A"), f.dataset("/solve/s/a", {3, 2, 2}, counted<float>(12));
       },
       {"/solve/s", "\"a\" is unknown: did you mean \"A\"?"}},
      {"set_with_a_terrible_name",
       [](RawHdf5& f) {
         f.dataset("/solve/\x1B[2J/A", {1, 1, 1}, counted<float>(1));
       },
       {"/solve", "\"\\x1b[2J\" has control characters"}},

      // Data that are outside the file, or missing.
      {"soft_link",
       [](RawHdf5& f) {
         f.remove("/solve/s/b");
         H5Lcreate_soft("/solve/s/A", f.id(), "/solve/s/b", H5P_DEFAULT, H5P_DEFAULT);
       },
       {"/solve/s/b", "a soft link"}},
      {"soft_link_to_a_set",
       [](RawHdf5& f) { H5Lcreate_soft("/solve/s", f.id(), "/solve/t", H5P_DEFAULT, H5P_DEFAULT); },
       {"/solve/t", "a soft link"}},
      {"soft_link_to_a_lane",
       [](RawHdf5& f) {
         f.remove("/solve");
         H5Lcreate_soft("/potential", f.id(), "/solve", H5P_DEFAULT, H5P_DEFAULT);
       },
       {"/solve", "a soft link"}},
      {"dangling_soft_link",
       [](RawHdf5& f) {
         f.remove("/solve/s/A");
         H5Lcreate_soft("/nowhere", f.id(), "/solve/s/A", H5P_DEFAULT, H5P_DEFAULT);
       },
       {"/solve/s/A", "a soft link"}},
      {"external_link",
       [](RawHdf5& f) {
         f.remove("/solve/s/A");
         H5Lcreate_external("/etc/other.h5", "/A", f.id(), "/solve/s/A", H5P_DEFAULT, H5P_DEFAULT);
       },
       {"/solve/s/A", "an external link"}},
      {"user_defined_link",
       [](RawHdf5& f) {
         const auto never = [](const char*, hid_t, const void*, std::size_t, hid_t, hid_t) -> hid_t { return -1; };
         const H5L_class_t kind{H5L_LINK_CLASS_T_VERS,
                                static_cast<H5L_type_t>(200),
                                "test",
                                nullptr,
                                nullptr,
                                nullptr,
                                never,
                                nullptr,
                                nullptr};
         H5Lregister(&kind);
         EXPECT_GE(H5Lcreate_ud(f.id(), "/solve/t", static_cast<H5L_type_t>(200), nullptr, 0, H5P_DEFAULT, H5P_DEFAULT),
                   0);
         H5Lunregister(static_cast<H5L_type_t>(200));
       },
       {"/solve/t", "a user-defined link"}},
      {"external_storage",
       [](RawHdf5& f) {
         f.remove("/solve/s/A");
         const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
         H5Pset_external(creation, "/etc/passwd", 0, 48);
         f.declare("/solve/s/A", {3, 2, 2}, H5T_IEEE_F32LE, creation);
       },
       {"/solve/s/A", "external file"}},
      {"virtual_dataset",
       [](RawHdf5& f) {
         f.remove("/solve/s/A");
         const std::array<hsize_t, 3> dims{3, 2, 2};
         const hid_t space = H5Screate_simple(3, dims.data(), nullptr), creation = H5Pcreate(H5P_DATASET_CREATE);
         H5Pset_virtual(creation, space, "other.h5", "/A", space);
         f.declare("/solve/s/A", {3, 2, 2}, H5T_IEEE_F32LE, creation);
       },
       {"/solve/s/A", "virtual dataset"}},
      {"filter_unknown",
       [](RawHdf5& f) {
         f.remove("/solve/s/A");
         const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
         const std::array<hsize_t, 3> chunk{3, 2, 2};
         H5Pset_chunk(creation, 3, chunk.data());
         H5Pset_filter(creation, H5Z_FILTER_SCALEOFFSET, H5Z_FLAG_OPTIONAL, 0, nullptr);
         f.dataset("/solve/s/A", {3, 2, 2}, counted<float>(12), H5I_INVALID_HID, creation);
       },
       {"/solve/s/A", "filter 6", "shuffle, deflate"}},
      {"contiguous_never_written", declare("/solve/s/A", {3, 2, 2}, {}, false), {"/solve/s/A", "never written"}},
      {"contiguous_of_9e15_bytes",
       declare("/solve/s/A", {hsize_t{1} << 49, 2, 2}, {}, false),
       {"/solve/s/A", "9007199254740992 bytes"}},
      {"chunked_of_9e15_bytes",
       declare("/solve/s/A", {hsize_t{1} << 49, 2, 2}, {4, 2, 2}, false),
       {"/solve/s/A", "9007199254740992 bytes", "the file has"}},
      {"deflated_of_9e15_bytes",
       declare("/solve/s/A", {hsize_t{1} << 49, 2, 2}, {hsize_t{1} << 26, 2, 2}, true),
       {"/solve/s/A", "9007199254740992 bytes", "the file has"}},
      {"one_deflated_chunk_of_a_gigabyte",
       declare("/solve/s/A", {hsize_t{1} << 26, 2, 2}, {hsize_t{1} << 26, 2, 2}, true),
       {"/solve/s/A", "1073741824 bytes", "64 stored"}},
      {"plain_chunks_missing",
       declare("/solve/s/A", {8, 2, 2}, {4, 2, 2}, false),
       {"/solve/s/A", "2 chunks", "found 1", "Fill the dataset"}},
      {"chunks_missing", declare("/solve/s/A", {8, 2, 2}, {4, 2, 2}, true), {"/solve/s/A", "2 chunks", "found 1"}},
      {"declared_bytes_overflow",
       declare("/solve/s/A", {hsize_t{1} << 61, 2, 2}, {1024, 2, 2}, false),
       {"/solve/s/A", "more than 2^64"}},
  };
  return all;
}

class RefusedProblem : public testing::RefusedProblemTest {};

TEST_P(RefusedProblem, says_where_and_why) { expect_refused(solve_refusals()[GetParam()]); }

INSTANTIATE_TEST_SUITE_P(all, RefusedProblem, ::testing::Range(std::size_t{0}, solve_refusals().size()),
                         [](const auto& test) { return std::string(solve_refusals()[test.param].name); });

using RefusedFile = testing::FileTest;

/// Writes a set of float64 zeros.
void write_systems(const std::string& path, const testing::Shape& a, const testing::Shape& b,
                   const std::string& storage = "") {
  RawHdf5 file(path);
  file.attribute("/", "smallbatch_format", std::vector<std::int32_t>{1, 9});
  const auto zeros = [](const testing::Shape& shape) {
    return std::vector<double>(std::accumulate(shape.begin(), shape.end(), hsize_t{1}, std::multiplies<>()));
  };
  file.dataset("/solve/s/A", a, zeros(a));
  if (!b.empty()) file.dataset("/solve/s/b", b, zeros(b));
  if (!storage.empty()) file.attribute("/solve/s", "storage", storage);
}

/// With uplo only one triangle is filled. So numbers that are not symmetric do not show that A is packed.
TEST_F(RefusedFile, shapes_that_triangles_and_matrices_share_with_uplo) {
  struct Case {
    testing::Shape a, b;
  };
  for (const Case& one : {Case{{3, 3}, {3, 2}}, {{6, 6}, {6, 3}}, {{36, 36}, {36, 8}}, {{3, 3}, {}}, {{5, 36}, {}}})
    for (const std::string uplo : {"lower", "upper"}) {
      {
        RawHdf5 file(path("p.h5"));
        file.attribute("/", "smallbatch_format", std::vector<std::int32_t>{1, 9});
        file.dataset("/solve/s/A", one.a, counted<double>(one.a[0] * one.a[1]));
        if (!one.b.empty()) file.dataset("/solve/s/b", one.b, counted<double>(one.b[0] * one.b[1]));
        file.attribute("/solve/s", "uplo", uplo);
      }
      expect_error(ErrorKind::bad_input, {"/solve/s/A", "may be", "storage", "packed_" + uplo},
                   [&] { ProblemReader{path("p.h5")}; });
      RawHdf5(path("p.h5"), RawHdf5::Mode::change).attribute("/solve/s", "storage", "packed_" + uplo);
      EXPECT_EQ(ProblemReader(path("p.h5")).solve_sets().at(0).is_upper, uplo == "upper");
    }
}

/// One n x n matrix has the shape of n packed triangles of m rows if n = m(m+1)/2, with or without right-hand sides.
/// The numbers do not decide, because a matrix of zeros is symmetric.
TEST_F(RefusedFile, a_square_of_two_axes_that_may_be_one_matrix) {
  for (hsize_t m = 2, n = 3; m <= 16; ++m, n = m * (m + 1) / 2) {
    for (const testing::Shape& b : {testing::Shape{}, {n}, {n, 1}, {n, 2}, {n, m}}) {
      write_systems(path("p.h5"), {n, n}, b);
      const std::string shape = "(" + std::to_string(n) + ", " + std::to_string(n) + ")";
      expect_error(ErrorKind::bad_input,
                   {"/solve/s/A", "float64 " + shape, std::to_string(n) + " packed triangles, n = " + std::to_string(m),
                    "one dense matrix", b.empty() ? "A[None]," : "A[None] and b[None],", "storage", "packed_lower"},
                   [&] { ProblemReader{path("p.h5")}; });
      write_systems(path("p.h5"), {n, n}, b, "dense");
      expect_error(ErrorKind::bad_input,
                   {"/solve/s@storage", "A, float64 " + shape, b.empty() ? "A[None]." : "A[None] and b[None]."},
                   [&] { ProblemReader{path("p.h5")}; });
    }
  }
}

/// A row of 36 numbers may be a packed triangle with 8 rows, or a flattened 6 x 6 matrix.
TEST_F(RefusedFile, rows_that_may_be_flattened_matrices) {
  for (const auto& [numbers, n, flat] : {std::tuple{36, 8, 6}, {1225, 49, 35}}) {
    const std::string size = std::to_string(flat);
    write_systems(path("p.h5"), {5, static_cast<hsize_t>(numbers)}, {});
    expect_error(ErrorKind::bad_input,
                 {"5 packed triangles, n = " + std::to_string(n), "flattened",
                  ".reshape(-1, " + size + ", " + size + ")", "storage"},
                 [&] { ProblemReader{path("p.h5")}; });
    write_systems(path("p.h5"), {5, static_cast<hsize_t>(numbers)}, {}, "packed_lower");
    EXPECT_EQ(ProblemReader(path("p.h5")).solve_sets().at(0).shape.n, n);
    {
      RawHdf5 file(path("p.h5"), RawHdf5::Mode::change);
      file.remove_attribute("/solve/s", "storage");
      replace("/solve/s/A", {5, static_cast<hsize_t>(numbers)}, counted<double>(5 * numbers))(file);
    }
    EXPECT_EQ(ProblemReader(path("p.h5")).solve_sets().at(0).shape.n, n);
  }
}

TEST_F(RefusedFile, storage_that_a_has_not) {
  const std::vector<std::tuple<testing::Shape, std::string, std::string>> all{
      {{4, 6}, "dense", "4 packed triangles, n = 3: expected \"packed_lower\", found \"dense\""},
      {{4, 3, 3}, "packed_lower", "4 dense matrices, n = 3: expected \"dense\", found \"packed_lower\""},
      {{4, 3, 3}, "packed", "expected \"dense\", found \"packed\""},
      {{4, 3, 3}, "packed_upper", "expected \"dense\", found \"packed_upper\""},
      {{4, 6}, "packed", "expected \"packed_lower\", found \"packed\""}};
  for (const auto& [a, storage, says] : all) {
    write_systems(path("p.h5"), a, {}, storage);
    expect_error(ErrorKind::bad_input, {"/solve/s@storage", says}, [&] { ProblemReader{path("p.h5")}; });
  }
}

/// Each remedy makes the file readable.
TEST_F(RefusedFile, shapes_of_systems_have_the_remedy_that_works) {
  struct Case {
    testing::Shape a, b;
    std::vector<std::string> says;
    testing::Shape new_a, new_b;  ///< empty if no other shape is a remedy
  };
  const std::vector<Case> all{
      {{8, 8}, {}, {"packed triangles", "A[None], of shape (1, 8, 8)."}, {1, 8, 8}, {}},
      {{2, 2}, {2}, {"A[None], of shape (1, 2, 2)."}, {1, 2, 2}, {1, 2}},
      {{200, 200}, {}, {"A[None], of shape (1, 200, 200)."}, {1, 200, 200}, {}},
      {{400, 400}, {}, {"<= 256", "LAPACK"}, {}, {}},
      {{2, 257, 257}, {}, {"dense matrices of 257 x 257", "<= 256", "LAPACK"}, {}, {}},
      {{2, 33153}, {}, {"packed triangles, n = 257", "<= 256", "LAPACK"}, {}, {}},
      {{400, 400, 5}, {}, {"dense matrices of 400 x 5", "Store square matrices"}, {}, {}},
      {{3, 3, 5}, {}, {"dense matrices of 3 x 5", "moveaxis(A, -1, 0)"}, {5, 3, 3}, {}},
      {{6, 7}, {}, {"packed triangles", "A.T"}, {7, 6}, {}},
      {{5, 9}, {}, {"packed triangles", "A.reshape(-1, 3, 3)"}, {5, 3, 3}, {}},
      {{9}, {}, {"neither", "A.reshape(-1, 3, 3)"}, {1, 3, 3}, {}},
      {{6}, {}, {"neither", "A[None], of shape (1, 6)"}, {1, 6}, {}},
      {{2, 3, 4, 4}, {}, {"neither", "A.reshape(-1, 4, 4)"}, {6, 4, 4}, {}},
      {{4, 3, 5}, {}, {"dense matrices of 3 x 5", "Store square matrices"}, {}, {}},
      {{1, 3, 3}, {3}, {"1 dense matrices, n = 3", "found (3)", "b[None]"}, {1, 3, 3}, {1, 3}},
      {{1, 3, 3}, {3, 2}, {"found (3, 2)", "b[None]"}, {1, 3, 3}, {1, 3, 2}},
      {{5, 3, 3}, {3}, {"5 dense matrices, n = 3", "numpy.repeat(b[None], 5, axis=0)"}, {5, 3, 3}, {5, 3}},
      {{5, 3, 3}, {3, 2}, {"numpy.repeat(b[None], 5, axis=0)"}, {5, 3, 3}, {5, 3, 2}},
      {{5, 3, 3}, {3, 5}, {"numpy.moveaxis(b, -1, 0)"}, {5, 3, 3}, {5, 3}},
      {{5, 6}, {3, 2, 5}, {"5 packed triangles, n = 3", "numpy.moveaxis(b, -1, 0)"}, {5, 6}, {5, 3, 2}},
      {{5, 3, 3}, {5, 2, 3}, {"numpy.swapaxes(b, 1, 2)"}, {5, 3, 3}, {5, 3, 2}},
      {{5, 3, 3}, {4, 3}, {"expected shape (5, 3) or (5, 3, nrhs)", "per matrix of A"}, {}, {}}};
  for (const Case& one : all) {
    write_systems(path("p.h5"), one.a, one.b);
    expect_error(ErrorKind::bad_input, one.says, [&] { ProblemReader{path("p.h5")}; });
    if (one.new_a.empty()) continue;
    write_systems(path("p.h5"), one.new_a, one.new_b);
    EXPECT_NO_THROW(ProblemReader{path("p.h5")}) << one.says.back();
  }
}

TEST_F(RefusedFile, missing_folder_and_special_files) {
  expect_error(ErrorKind::missing_file, {"absent.h5", "no such file"}, [&] { ProblemReader{path("absent.h5")}; });
  expect_error(ErrorKind::missing_file, {folder_.string(), "a folder"}, [&] { ProblemReader{folder_.string()}; });
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  expect_error(ErrorKind::missing_file, {"pipe", "no regular file"}, [&] { ProblemReader{path("pipe")}; });
}

TEST_F(RefusedFile, no_permission) {
  testing::write_good_problems(path("p.h5"));
  ASSERT_EQ(::chmod(path("p.h5").c_str(), 0), 0);
  ASSERT_EQ(::chmod(folder_.c_str(), 0755), 0);
  const uid_t user = ::geteuid();
  if (user == 0) {
    ASSERT_EQ(::seteuid(65534), 0);  // root could read any file
  }
  expect_error(ErrorKind::missing_file, {"p.h5", "ermission"}, [&] { ProblemReader{path("p.h5")}; });
  ASSERT_EQ(::seteuid(user), 0);
}

TEST_F(RefusedFile, empty_and_foreign) {
  testing::write_bytes(path("empty.h5"), {});
  expect_error(ErrorKind::bad_input, {"empty.h5", "empty"}, [&] { ProblemReader{path("empty.h5")}; });
  testing::write_bytes(path("text.h5"), std::vector<char>(5000, 'x'));
  expect_error(ErrorKind::bad_input, {"text.h5", "not an HDF5 file"}, [&] { ProblemReader{path("text.h5")}; });
}

TEST_F(RefusedFile, truncated_anywhere) {
  for (const auto mode : {RawHdf5::Mode::create, RawHdf5::Mode::create_v110}) {
    testing::write_good_problems(path("p.h5"), mode);
    const auto bytes = testing::file_bytes(path("p.h5"));
    for (std::size_t length : {std::size_t{1}, std::size_t{8}, std::size_t{47}, std::size_t{96}, bytes.size() / 4,
                               bytes.size() / 2, bytes.size() - 100, bytes.size() - 1}) {
      testing::write_bytes(path("cut.h5"), {bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length)});
      ::testing::internal::CaptureStderr();
      expect_error(ErrorKind::bad_input,
                   {"cut.h5", length < 8     ? "not an HDF5 file"
                              : length > 200 ? "truncated"
                                             : "("},
                   [&] { ProblemReader{path("cut.h5")}; });
      EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
    }
  }
}

/// The header says that the numbers lie partly beyond the end of the file.
TEST_F(RefusedFile, data_beyond_the_end) {
  testing::write_good_problems(path("p.h5"));  // without metadata checksums, which would find the change
  std::uint64_t address = 0;
  {
    const RawHdf5 raw(path("p.h5"), RawHdf5::Mode::read);
    address = H5Dget_offset(H5Dopen2(raw.id(), "/solve/s/A", H5P_DEFAULT));
  }
  auto bytes = testing::file_bytes(path("p.h5"));
  const std::uint64_t beyond = bytes.size() - 47;  // A has 48 bytes
  std::array<char, 8> old_bytes{}, new_bytes{};
  std::memcpy(old_bytes.data(), &address, 8);
  std::memcpy(new_bytes.data(), &beyond, 8);
  const auto found = std::search(bytes.begin(), bytes.end(), old_bytes.begin(), old_bytes.end());
  ASSERT_NE(found, bytes.end());
  std::copy(new_bytes.begin(), new_bytes.end(), found);
  testing::write_bytes(path("p.h5"), bytes);
  expect_error(ErrorKind::bad_input,
               {"p.h5", "/solve/s/A", "declares 48 bytes", "the file has " + std::to_string(bytes.size()) + " bytes"},
               [&] { ProblemReader{path("p.h5")}; });
}

/// HDF5 1.10 does not check that the parts of an attribute lie within it. This file has no metadata checksums.
TEST_F(RefusedFile, an_attribute_whose_sizes_contradict_each_other) {
  testing::write_good_problems(path("p.h5"), RawHdf5::Mode::create, [](RawHdf5& file) {
    file.attribute("/potential/p", "cutoff", std::vector<double>{12});
  });
  const auto good = testing::file_bytes(path("p.h5"));
  // An attribute's message: version 1, the sizes of name, type and dataspace, and the name.
  const std::string cutoff("\x01\0\x07\0\x14\0\x18\0cutoff", 14);
  const auto found = std::search(good.begin(), good.end(), cutoff.begin(), cutoff.end()) - good.begin();
  ASSERT_LT(found, static_cast<std::ptrdiff_t>(good.size()));
  for (const auto& [at, value] : {std::pair{2, 9},
                                  {2, 200},
                                  {3, 1},
                                  {4, 25},
                                  {4, 3},
                                  {5, 1},
                                  {6, 25},
                                  {6, 16},
                                  {6, 8},
                                  {6, 0},
                                  {6, 255},
                                  {7, 1},
                                  {7, 255}}) {
    auto bytes = good;
    bytes[static_cast<std::size_t>(found + at)] = static_cast<char>(value);
    testing::write_bytes(path("p.h5"), bytes);
    expect_error(ErrorKind::bad_input, {"p.h5", "/potential/p", "sizes of an attribute contradict each other"},
                 [&] { ProblemReader{path("p.h5")}; });
  }
}

TEST_F(RefusedFile, an_attribute_whose_value_reaches_beyond_it) {
  testing::write_good_problems(path("p.h5"), RawHdf5::Mode::create,
                               [](RawHdf5& file) { file.attribute("/potential/p", "output_unit", "kcal/mol/e"); });
  auto bytes = testing::file_bytes(path("p.h5"));
  const std::array<char, 8> text_of_11_bytes{0x13, 0, 0, 0, 11, 0, 0, 0};
  const auto found = std::search(bytes.begin(), bytes.end(), text_of_11_bytes.begin(), text_of_11_bytes.end());
  ASSERT_NE(found, bytes.end());
  for (const int length : {12, 16, 17, 100}) {  // the attribute's message in the header has room for 16
    found[4] = static_cast<char>(length);
    testing::write_bytes(path("p.h5"), bytes);
    if (length > 16) {
      expect_error(ErrorKind::bad_input, {"p.h5", "/potential/p", "sizes of an attribute contradict each other"},
                   [&] { ProblemReader{path("p.h5")}; });
    } else {
      EXPECT_EQ(ProblemReader(path("p.h5")).potential_sets().at(0).output_unit, PotentialUnit::kcal_per_mol_e);
    }
  }
}

/// Text with an unknown character set or an unknown padding. No checksum covers the byte that states them.
TEST_F(RefusedFile, text_of_an_unknown_kind) {
  for (const int kind : {0x20, 0x70, 0x03, 0x0F}) {
    testing::write_good_problems(path("p.h5"), RawHdf5::Mode::create,
                                 [](RawHdf5& file) { file.attribute("/potential/p", "output_unit", "kcal/mol/e"); });
    auto bytes = testing::file_bytes(path("p.h5"));
    const std::array<char, 8> ascii{0x13, 0, 0, 0, 11, 0, 0, 0};
    const auto found = std::search(bytes.begin(), bytes.end(), ascii.begin(), ascii.end());
    ASSERT_NE(found, bytes.end());
    found[1] = static_cast<char>(kind);
    testing::write_bytes(path("p.h5"), bytes);
    expect_error(ErrorKind::bad_input, {"p.h5", "/potential/p@output_unit", "unknown kind of string"},
                 [&] { ProblemReader{path("p.h5")}; });
  }
}

TEST_F(RefusedFile, one_that_is_being_written) {
  testing::write_good_problems(path("p.h5"));
  const int file = ::open(path("p.h5").c_str(), O_RDWR);
  ASSERT_EQ(::flock(file, LOCK_EX), 0);  // like HDF5 when it opens a file for writing
  expect_error(ErrorKind::bad_input, {"p.h5", "open for writing", "Wait"}, [&] { ProblemReader{path("p.h5")}; });
  ::close(file);
  { const ProblemReader free_again(path("p.h5")); }
}

TEST_F(RefusedFile, one_whose_writer_was_killed) {
  testing::write_good_problems(path("p.h5"), RawHdf5::Mode::create_v110);
  const pid_t child = ::fork();
  if (child == 0) {
    const RawHdf5 writer(path("p.h5"), RawHdf5::Mode::change);
    ::_exit(0);
  }
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  expect_error(ErrorKind::bad_input, {"p.h5", "did not close it"}, [&] { ProblemReader{path("p.h5")}; });
}

/// A problem file is refused as a result file, and a result file as a problem file.
TEST_F(RefusedFile, problems_and_results_are_told_apart) {
  testing::write_good_problems(path("p.h5"));
  EXPECT_FALSE(is_result_file(path("p.h5")));
  expect_error(ErrorKind::bad_input, {"p.h5", "a problem file, not a result file", "smallbatch run"},
               [&] { ResultReader{path("p.h5")}; });
  {
    RawHdf5 file(path("p.h5"), RawHdf5::Mode::change);
    file.group("/provenance");
    file.attribute("/provenance", "kind", "results");
  }
  EXPECT_TRUE(is_result_file(path("p.h5")));
  expect_error(ErrorKind::bad_input, {"p.h5", "result file, expected a problem file", "were made from."},
               [&] { ProblemReader{path("p.h5")}; });
  {
    RawHdf5 file(path("p.h5"), RawHdf5::Mode::change);
    file.attribute("/provenance", "problems", "runs/ions.h5");
  }
  expect_error(ErrorKind::bad_input, {"p.h5", "result file", "were made from, runs/ions.h5."},
               [&] { ProblemReader{path("p.h5")}; });
  expect_error(ErrorKind::missing_file, {"absent.h5"}, [&] { (void)is_result_file(path("absent.h5")); });
}

TEST_F(RefusedFile, hdf5_errors_of_the_caller_are_left_as_they_were) {
  H5E_auto2_t before = nullptr, after = nullptr;
  void *data_before = nullptr, *data_after = nullptr;
  H5Eget_auto2(H5E_DEFAULT, &before, &data_before);
  ASSERT_NE(before, nullptr);
  testing::write_bytes(path("text.h5"), std::vector<char>(5000, 'x'));
  EXPECT_THROW(ProblemReader{path("text.h5")}, Error);
  H5Eget_auto2(H5E_DEFAULT, &after, &data_after);
  EXPECT_EQ(before, after);
}

/// Reads all sets of a file.
void read_all(const std::string& path) {
  const ProblemReader reader(path);
  for (const SolveSet& set : reader.solve_sets()) {
    SpdBlock<float> f;
    SpdBlock<double> d;
    if (set.type == ScalarType::float32) reader.read(set, 0, set.batch, f);
    if (set.type == ScalarType::float64) reader.read(set, 0, set.batch, d);
  }
  for (const PotentialSet& set : reader.potential_sets()) {
    PotentialBlock<double> block;
    reader.read(set, 0, set.batch, block);
  }
  for (const PairEnergySet& set : reader.pair_energy_sets()) {
    PairEnergyBlock block;
    reader.read(set, 0, set.batch, block);
  }
  for (const CorrelationSet& set : reader.correlation_sets()) {
    SignalBlock block;
    block.channels = set.batch;
    block.times = set.times;
    reader.read(set, block);
  }
}

/// A file with a flipped byte is refused, or read. There is never a crash, or an exception other than Error. Every
/// message names the file.
TEST_F(RefusedFile, flipped_bytes_are_survived) {
  testing::write_good_problems(path("p.h5"), RawHdf5::Mode::create_v110, [](RawHdf5& file) {
    file.dataset("/potential/q/position", {2, 3}, counted<float>(6));
    file.dataset("/potential/q/charge", {2}, counted<float>(2));
    file.dataset("/potential/q/group", {2}, std::vector<std::int8_t>{1, 2});
    file.dataset("/potential/q/points", {3, 3}, counted<float>(9));
    file.dataset("/potential/q/point_offset", {2}, std::vector<std::int32_t>{0, 3});
    file.attribute("/potential/q", "targets", "points");
    file.attribute("/potential/q", "field", std::vector<std::int32_t>{1});
    file.attribute("/potential/q", "cutoff", std::vector<double>{9});
    testing::add_pairs_and_signals(file);
  });
  const auto good = testing::file_bytes(path("p.h5"));
  std::uint64_t state = 20240607;
  const auto random = [&state] {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return static_cast<std::size_t>(state >> 33);
  };
  int refused = 0;
  for (int trial = 0; trial < 600; ++trial) {
    auto bytes = good;
    for (std::size_t flips = 1 + random() % 4; flips > 0; --flips) {
      bytes[random() % bytes.size()] ^= static_cast<char>(1 + random() % 255);
    }
    testing::write_bytes(path("flipped.h5"), bytes);
    try {
      read_all(path("flipped.h5"));
    } catch (const Error& error) {
      ++refused;
      EXPECT_NE(std::string(error.what()).find("flipped.h5"), std::string::npos) << error.what();
    }
  }
  EXPECT_GT(refused, 100);
}

/// HDF5 1.10 leaks objects that it could not decode. At the end of the process it prints that it cannot close itself.
TEST_F(RefusedFile, a_silenced_process_ends_without_a_word) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // runs in a new process, in which nothing has called HDF5 yet
  const pid_t child = ::fork();
  if (child == 0) {
    testing::write_good_problems(path("p.h5"), RawHdf5::Mode::create_v110);
    ::_exit(0);
  }
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  const auto bytes = testing::file_bytes(path("p.h5"));
  const auto refused = [&] {
    silence_hdf5();
    for (std::size_t i = 48; i < bytes.size(); i += 5) {
      auto flipped = bytes;
      flipped[i] ^= 0x55;
      testing::write_bytes(path("p.h5"), flipped);
      try {
        const ProblemReader reader(path("p.h5"));
      } catch (const Error&) {  // other tests check the message
      }
    }
    std::exit(0);
  };
  EXPECT_EXIT(refused(), ::testing::ExitedWithCode(0), "^$");
}

}  // namespace
}  // namespace smallbatch
