// Wrong potential sets are refused. The message says where, what was expected and what was found. One file, because all
// cases are in one table.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/not_finite.hpp"
#include "tests/io/hdf5_file.hpp"
#include "tests/io/refusals.hpp"

namespace smallbatch {
namespace {

using testing::counted;
using testing::RawHdf5;
using testing::Refusal;
using testing::remove;
using testing::replace;

/// Replaces the lattices by 5 points, 2 of them for the first problem.
void ask_for_points(RawHdf5& file) {
  file.attribute("/potential/p", "targets", "points");
  file.remove_attribute("/potential/p", "shape");
  file.remove("/potential/p/origin");
  file.remove("/potential/p/spacing");
  file.dataset("/potential/p/points", {5, 3}, counted<double>(15));
  file.dataset("/potential/p/point_offset", {3}, std::vector<std::int64_t>{0, 2, 5});
}

/// Replaces the lattices by points, and then makes a change.
auto points_with(const std::function<void(RawHdf5&)>& change) {
  return [=](RawHdf5& file) {
    ask_for_points(file);
    change(file);
  };
}

auto set_number(const char* name, double value) {
  return [=](RawHdf5& file) { file.attribute("/potential/p", name, std::vector<double>{value}); };
}

auto set_shape(const std::vector<std::int64_t>& shape) {
  return [=](RawHdf5& file) { file.attribute("/potential/p", "shape", shape); };
}

const std::vector<Refusal>& potential_refusals() {
  static const std::vector<Refusal> all{
      // Charges and lattices.
      {"position_missing", remove("/potential/p/position"), {"/potential/p", "no dataset \"position\""}},
      {"charge_missing", remove("/potential/p/charge"), {"/potential/p", "no dataset \"charge\""}},
      {"origin_missing", remove("/potential/p/origin"), {"/potential/p", "no dataset \"origin\""}},
      {"spacing_missing", remove("/potential/p/spacing"), {"/potential/p", "no dataset \"spacing\""}},
      {"position_of_four_columns",
       replace("/potential/p/position", {3, 4}, counted<double>(12)),
       {"/potential/p/position", "(charges, 3)", "(3, 4)"}},
      {"position_transposed",
       replace("/potential/p/position", {3, 4}, counted<double>(12)),
       {"float64 is understood as x, y, z", "Store its transpose."}},
      {"position_of_a_batch",
       replace("/potential/p/position", {2, 2, 3}, counted<double>(12)),
       {"/potential/p/position", "found (2, 2, 3)", "reshape(-1, 3), and in offset where"}},
      {"charge_as_a_column",
       replace("/potential/p/charge", {4, 1}, counted<double>(4)),
       {"position is understood as 4 charges", "found (4, 1)", "reshape(4)."}},
      {"origin_transposed",
       replace("/potential/p/origin", {3, 2}, counted<double>(6)),
       {"a batch of 2", "found (3, 2)", "Store its transpose."}},
      {"origin_as_a_row",
       replace("/potential/p/origin", {1, 3}, counted<double>(3)),
       {"found (1, 3)", "reshape(3)."}},
      {"spacing_of_one_number",
       replace("/potential/p/spacing", {}, counted<double>(1)),
       {"found ()", "for each axis, three times."}},
      {"offset_of_counts",
       replace("/potential/p/offset", {2}, std::vector<std::int64_t>{1, 3}),
       {"/potential/p/offset", "Are these counts? Store numpy.cumsum"}},
      {"position_of_integers",
       replace("/potential/p/position", {4, 3}, counted<std::int64_t>(12)),
       {"/potential/p/position", "expected float32 or float64", "found int64"}},
      {"charge_of_another_length",
       replace("/potential/p/charge", {5}, counted<double>(5)),
       {"/potential/p/charge", "expected shape (4)", "found (5)"}},
      {"charge_of_another_type",
       replace("/potential/p/charge", {4}, counted<float>(4)),
       {"/potential/p/charge", "expected float64", "found float32"}},
      {"offset_of_floats",
       replace("/potential/p/offset", {3}, std::vector<double>{0, 1, 4}),
       {"/potential/p/offset", "expected int32 or int64", "found float64"}},
      {"offset_of_uint64",
       replace("/potential/p/offset", {3}, std::vector<std::int64_t>{0, 1, 4}, [] { return H5T_STD_U64LE; }),
       {"/potential/p/offset", "found uint64"}},
      {"offset_of_rank_2",
       replace("/potential/p/offset", {3, 1}, std::vector<std::int64_t>{0, 1, 4}),
       {"/potential/p/offset", "(batch + 1)", "(3, 1)"}},
      {"offset_empty",
       replace("/potential/p/offset", {0}, std::vector<std::int64_t>{}),
       {"/potential/p/offset", "(0)"}},
      {"offset_not_from_0",
       replace("/potential/p/offset", {3}, std::vector<std::int64_t>{1, 2, 4}),
       {"/potential/p/offset", "[0] is 1", "expected 0"}},
      {"offset_falls",
       replace("/potential/p/offset", {3}, std::vector<std::int32_t>{0, 5, 4}),
       {"/potential/p/offset", "[2] is 4", "expected at least 5"}},
      {"offset_ends_early",
       replace("/potential/p/offset", {3}, std::vector<std::int64_t>{0, 1, 3}),
       {"/potential/p/offset", "[2] is 3", "expected the number of charges, 4"}},
      {"offset_ends_late",
       replace("/potential/p/offset", {3}, std::vector<std::int64_t>{0, 1, 5}),
       {"/potential/p/offset", "[2] is 5", "expected the number of charges, 4"}},
      {"origin_of_another_batch",
       replace("/potential/p/origin", {3, 3}, counted<double>(9)),
       {"/potential/p/origin", "(3) or (2, 3)", "found (3, 3)"}},
      {"origin_nan",
       replace("/potential/p/origin", {2, 3}, std::vector<double>{0, 0, 0, 0, nan, 0}),
       {"/potential/p/origin[1, 1]", "finite", "nan"}},
      {"spacing_zero",
       replace("/potential/p/spacing", {2, 3}, std::vector<double>{1, 1, 1, 1, 1, 0}),
       {"/potential/p/spacing[1, 2]", "above 0"}},
      {"spacing_negative",
       replace("/potential/p/spacing", {3}, std::vector<double>{1, -1, 1}),
       {"/potential/p/spacing[0, 1]", "above 0", "-1"}},
      {"spacing_nan",
       replace("/potential/p/spacing", {3}, std::vector<double>{nan, 1, 1}),
       {"/potential/p/spacing[0, 0]"}},
      {"spacing_infinite",
       replace("/potential/p/spacing", {3}, std::vector<double>{1, 1, infinity}),
       {"/potential/p/spacing[0, 2]", "inf"}},
      {"shape_missing",
       [](RawHdf5& f) { f.remove_attribute("/potential/p", "shape"); },
       {"/potential/p", "no attribute shape"}},
      {"shape_of_two", set_shape({4, 4}), {"/potential/p@shape", "three positive integers", "(4, 4)"}},
      {"shape_with_a_zero", set_shape({4, 0, 4}), {"/potential/p@shape", "(4, 0, 4)"}},
      {"shape_negative", set_shape({4, -2, -2}), {"/potential/p@shape", "(4, -2, -2)"}},
      {"shape_overflows", set_shape({4294967296, 4294967296, 4}), {"/potential/p@shape", "product"}},
      {"shape_times_batch_overflows",
       set_shape({std::int64_t{1} << 30, std::int64_t{1} << 29, 1}),
       {"/potential/p@shape", "2 problems"}},
      {"shape_of_floats",
       [](RawHdf5& f) {
         f.attribute("/potential/p", "shape", std::vector<double>{4, 4, 4.25});
       },
       {"/potential/p@shape", "expected integers", "float64"}},
      {"length_unit_unknown",
       [](RawHdf5& f) { f.attribute("/potential/p/position", "unit", "parsec"); },
       {"/potential/p/position@unit", "angstrom, nm, pm, bohr, m", "\"parsec\""}},
      {"charge_unit_unknown",
       [](RawHdf5& f) { f.attribute("/potential/p/charge", "unit", "mC"); },
       {"/potential/p/charge@unit", "e, C", "\"mC\""}},
      {"output_unit_unknown",
       [](RawHdf5& f) { f.attribute("/potential/p", "output_unit", "hartree"); },
       {"/potential/p@output_unit", "volt, kT/e, kcal/mol/e, kJ/mol/e, hartree/e, e/angstrom", "\"hartree\"",
        "Name \"hartree/e\": energies are then in hartree."}},
      {"output_unit_of_energies",
       [](RawHdf5& f) { f.attribute("/potential/p", "output_unit", "eV"); },
       {"expected a unit of V", "found \"eV\"", "Name \"volt\": energies are then in eV."}},
      {"length_unit_of_energies",
       [](RawHdf5& f) { f.attribute("/potential/p/position", "unit", "eV"); },
       {"expected a unit of lengths", "found \"eV\"", "Name the unit of the numbers"}},
      {"output_unit_is_a_number",
       [](RawHdf5& f) { f.attribute("/potential/p", "output_unit", std::vector<double>{1}); },
       {"/potential/p@output_unit", "expected a string", "float64"}},
      {"unit_too_long",
       [](RawHdf5& f) {
         f.attribute("/potential/p/position", "unit", std::string(5000, 'x'), RawHdf5::Text::variable_ascii);
       },
       {"/potential/p/position@unit", "4096"}},
      {"temperature_zero",
       [](RawHdf5& f) { f.attribute("/potential/p", "temperature", std::vector<double>{0}); },
       {"/potential/p@temperature", "above 0"}},
      {"temperature_nan",
       [](RawHdf5& f) { f.attribute("/potential/p", "temperature", std::vector<double>{nan}); },
       {"/potential/p@temperature", "nan"}},
      {"temperature_of_two",
       [](RawHdf5& f) {
         f.attribute("/potential/p", "temperature", std::vector<double>{1, 2});
       },
       {"/potential/p@temperature", "one number"}},
      {"particles_unknown",
       [](RawHdf5& f) {
         for (const char* name : {"position", "charge", "offset"}) f.remove(std::string("/potential/p/") + name);
         f.attribute("/potential/p", "particles", "water");
       },
       {"/particles", "\"water\""}},
      {"particles_and_positions",
       [](RawHdf5& f) { f.attribute("/potential/p", "particles", "water"); },
       {"/potential/p/position", "particles"}},
      {"particles_leads_elsewhere",
       [](RawHdf5& f) {
         for (const char* name : {"position", "charge", "offset"}) f.remove(std::string("/potential/p/") + name);
         f.attribute("/potential/p", "particles", "../solve");
       },
       {"/particles", "../solve"}},

      // Unknown names, which would have no effect.
      {"unit_in_the_plural",
       [](RawHdf5& f) { f.attribute("/potential/p/position", "units", "nm"); },
       {"/potential/p/position", "its attribute \"units\" is unknown: did you mean \"unit\"?"}},
      {"unit_of_the_set",
       [](RawHdf5& f) { f.attribute("/potential/p", "unit", "nm"); },
       {"/potential/p", "\"unit\" is unknown)"}},
      {"unit_of_offsets",
       [](RawHdf5& f) { f.attribute("/potential/p/offset", "unit", "nm"); },
       {"/potential/p/offset", "\"unit\" is unknown)"}},
      {"unit_of_charges_misspelt",
       [](RawHdf5& f) { f.attribute("/potential/p/charge", "uint", "C"); },
       {"/potential/p/charge", "did you mean \"unit\"?"}},
      {"dielectric_misspelt",
       [](RawHdf5& f) { f.attribute("/potential/p", "dielectrc", std::vector<double>{1}); },
       {"/potential/p", "\"dielectrc\" is unknown: did you mean \"dielectric\"?"}},
      {"field_with_a_capital",
       [](RawHdf5& f) { f.attribute("/potential/p", "Field", std::vector<std::int32_t>{1}); },
       {"did you mean \"field\"?"}},
      {"output_unit_in_the_plural",
       [](RawHdf5& f) { f.attribute("/potential/p", "output_units", "kT/e"); },
       {"did you mean \"output_unit\"?"}},
      {"cutoff_in_two_words",
       [](RawHdf5& f) { f.attribute("/potential/p", "cut_off", std::vector<double>{1}); },
       {"did you mean \"cutoff\"?"}},
      {"softening_swapped",
       [](RawHdf5& f) { f.attribute("/potential/p", "sofetning", std::vector<double>{1}); },
       {"did you mean \"softening\"?"}},
      {"shape_of_another_kind",
       [](RawHdf5& f) { f.attribute("/potential/p", "scale", std::vector<double>{1}); },
       {"/potential/p", "\"scale\" is unknown)"}},
      {"dataset_positions",
       [](RawHdf5& f) {
         EXPECT_GE(H5Lmove(f.id(), "/potential/p/position", f.id(), "/potential/p/positions", H5P_DEFAULT, H5P_DEFAULT), 0);
       },
       {"/potential/p", "its dataset \"positions\" is unknown: did you mean \"position\"?"}},
      {"dataset_charges",
       [](RawHdf5& f) {
         EXPECT_GE(H5Lmove(f.id(), "/potential/p/charge", f.id(), "/potential/p/charges", H5P_DEFAULT, H5P_DEFAULT), 0);
       },
       {"/potential/p", "its dataset \"charges\" is unknown: did you mean \"charge\"?"}},
      {"dataset_offsets",
       [](RawHdf5& f) {
         EXPECT_GE(H5Lmove(f.id(), "/potential/p/offset", f.id(), "/potential/p/offsets", H5P_DEFAULT, H5P_DEFAULT), 0);
       },
       {"/potential/p", "its dataset \"offsets\" is unknown: did you mean \"offset\"?"}},
      {"dataset_origin_with_a_capital",
       [](RawHdf5& f) {
         EXPECT_GE(H5Lmove(f.id(), "/potential/p/origin", f.id(), "/potential/p/Origin", H5P_DEFAULT, H5P_DEFAULT), 0);
       },
       {"/potential/p", "its dataset \"Origin\" is unknown: did you mean \"origin\"?"}},
      {"dataset_spacing_misspelt",
       [](RawHdf5& f) {
         EXPECT_GE(H5Lmove(f.id(), "/potential/p/spacing", f.id(), "/potential/p/spacng", H5P_DEFAULT, H5P_DEFAULT), 0);
       },
       {"/potential/p", "its dataset \"spacng\" is unknown: did you mean \"spacing\"?"}},
      {"dataset_groups",
       [](RawHdf5& f) { f.dataset("/potential/p/groups", {4}, counted<std::int32_t>(4)); },
       {"\"groups\" is unknown: did you mean \"group\"?"}},
      {"dataset_pointoffset",
       [](RawHdf5& f) { f.dataset("/potential/p/pointoffset", {4}, counted<std::int32_t>(4)); },
       {"\"pointoffset\" is unknown: did you mean \"point_offset\"?"}},
      {"dataset_points",
       [](RawHdf5& f) { f.dataset("/potential/p/Points", {4}, counted<std::int32_t>(4)); },
       {"\"Points\" is unknown: did you mean \"points\"?"}},

      // Points and charges as targets, fields, energies.
      {"targets_unknown",
       [](RawHdf5& f) { f.attribute("/potential/p", "targets", "atoms"); },
       {"/potential/p@targets", "lattice, points, charges", "\"atoms\""}},
      {"targets_as_number", set_number("targets", 1), {"/potential/p@targets", "expected a string", "float64"}},
      {"shape_without_a_lattice",
       [](RawHdf5& f) { f.attribute("/potential/p", "targets", "charges"); },
       {"/potential/p@shape", "asks for V at charges", "no lattice"}},
      {"origin_without_a_lattice",
       points_with([](RawHdf5& f) { f.dataset("/potential/p/origin", {3}, counted<double>(3)); }),
       {"/potential/p/origin", "asks for V at points", "no lattice"}},
      {"spacing_without_a_lattice",
       points_with([](RawHdf5& f) { f.dataset("/potential/p/spacing", {3}, counted<double>(3, 1)); }),
       {"/potential/p/spacing", "asks for V at points", "no lattice"}},
      {"points_missing", points_with(remove("/potential/p/points")), {"/potential/p", "no dataset \"points\""}},
      {"points_of_two_columns",
       points_with(replace("/potential/p/points", {5, 2}, counted<double>(10))),
       {"/potential/p/points", "(points, 3)", "(5, 2)"}},
      {"points_of_rank_1",
       points_with(replace("/potential/p/points", {15}, counted<double>(15))),
       {"/potential/p/points", "(points, 3)", "(15)"}},
      {"points_of_integers",
       points_with(replace("/potential/p/points", {5, 3}, counted<std::int32_t>(15))),
       {"/potential/p/points", "expected float32 or float64", "found int32"}},
      {"points_of_an_unknown_unit",
       points_with([](RawHdf5& f) { f.attribute("/potential/p/points", "unit", "inch"); }),
       {"/potential/p/points@unit", "angstrom, nm, pm, bohr, m", "\"inch\""}},
      {"point_offset_of_floats",
       points_with(replace("/potential/p/point_offset", {3}, std::vector<double>{0, 2, 5})),
       {"/potential/p/point_offset", "expected int32 or int64", "found float64"}},
      {"point_offset_of_another_batch",
       points_with(replace("/potential/p/point_offset", {4}, std::vector<std::int64_t>{0, 2, 4, 5})),
       {"/potential/p/point_offset", "expected shape (3) for 2 problems", "found (4)"}},
      {"point_offset_not_from_0",
       points_with(replace("/potential/p/point_offset", {3}, std::vector<std::int64_t>{1, 2, 5})),
       {"/potential/p/point_offset", "[0] is 1", "expected 0"}},
      {"point_offset_falls",
       points_with(replace("/potential/p/point_offset", {3}, std::vector<std::int64_t>{0, 6, 5})),
       {"/potential/p/point_offset", "[2] is 5", "expected at least 6"}},
      {"point_offset_ends_early",
       points_with(replace("/potential/p/point_offset", {3}, std::vector<std::int64_t>{0, 2, 4})),
       {"/potential/p/point_offset", "[2] is 4", "expected the number of points, 5"}},
      {"field_as_float", set_number("field", 0.5), {"/potential/p@field", "expected integers", "float64"}},
      {"field_is_2",
       [](RawHdf5& f) { f.attribute("/potential/p", "field", std::vector<std::int32_t>{2}); },
       {"/potential/p@field", "expected 0 or 1", "(2)"}},
      {"field_by_axis",
       [](RawHdf5& f) {
         f.attribute("/potential/p", "field", std::vector<std::int32_t>{1, 1, 1});
       },
       {"/potential/p@field", "expected 0 or 1", "(1, 1, 1)"}},
      {"softening_negative", set_number("softening", -0.5), {"/potential/p@softening", "0 or more", "-0.5"}},
      {"softening_nan", set_number("softening", nan), {"/potential/p@softening", "finite", "nan"}},
      {"softening_without_a_square",
       set_number("softening", 1e-163),
       {"/potential/p@softening", "0 or a length from 1.49167e-154 to 6.7039e+153 angstrom", "found 1e-163"}},
      {"softening_with_an_infinite_square",
       set_number("softening", 1e160),
       {"/potential/p@softening", "square is a normal float64", "found 1e+160"}},
      {"softening_that_its_unit_makes_too_small",
       [](RawHdf5& f) {
         f.attribute("/potential/p/position", "unit", "pm");
         set_number("softening", 1e-153)(f);
       },
       {"/potential/p@softening", "found 1e-153 in a unit of 0.01 angstrom"}},
      {"softening_that_its_unit_makes_nothing",
       [](RawHdf5& f) {
         f.attribute("/potential/p/position", "unit", "pm");
         set_number("softening", 5e-324)(f);
       },
       {"/potential/p@softening", "found 4.94066e-324"}},
      {"cutoff_that_its_unit_makes_none",
       [](RawHdf5& f) {
         f.attribute("/potential/p/position", "unit", "pm");
         set_number("cutoff", 5e-324)(f);
       },
       {"/potential/p@cutoff", "found 4.94066e-324 in a unit of 0.01 angstrom"}},
      {"cutoff_that_its_unit_makes_infinite",
       [](RawHdf5& f) {
         f.attribute("/potential/p/position", "unit", "m");
         set_number("cutoff", 1e300)(f);
       },
       {"/potential/p@cutoff", "found 1e+300 in a unit of 1e+10 angstrom"}},
      {"spacing_without_a_square",
       replace("/potential/p/spacing", {3}, std::vector<double>{1, 1e-142, 1}),
       {"/potential/p/spacing[0, 1]", "at least 3.28", "1e-142 angstrom"}},
      {"dielectric_too_small", set_number("dielectric", 1e-310), {"/potential/p@dielectric", "inf with 1e-310"}},
      {"temperature_too_small",
       [](RawHdf5& f) {
         f.attribute("/potential/p", "output_unit", "kT/e");
         set_number("temperature", 1e-306)(f);
       },
       {"/potential/p@temperature", "inf with 1e-306"}},
      {"temperature_and_dielectric_too_large",
       [](RawHdf5& f) {
         f.attribute("/potential/p", "output_unit", "kT/e");
         set_number("temperature", 1e200)(f);
         set_number("dielectric", 1e200)(f);
       },
       {"/potential/p@dielectric", "0 with 1e+200"}},
      {"cutoff_negative", set_number("cutoff", -12), {"/potential/p@cutoff", "0 or more", "-12"}},
      {"cutoff_infinite", set_number("cutoff", infinity), {"/potential/p@cutoff", "finite", "inf"}},
      {"cutoff_as_text",
       [](RawHdf5& f) { f.attribute("/potential/p", "cutoff", "12"); },
       {"/potential/p@cutoff", "one number", "string"}},
      {"cutoff_of_another_float",
       [](RawHdf5& f) { f.attribute("/potential/p", "cutoff", std::vector<double>{12}, H5T_VAX_F64); },
       {"/potential/p@cutoff", "one number", "float that is not IEEE"}},
      {"cutoff_of_another_exponent",
       [](RawHdf5& f) {
         const hid_t type = H5Tcopy(H5T_IEEE_F64LE);
         H5Tset_ebias(type, 1022);
         f.attribute("/potential/p", "cutoff", std::vector<double>{12}, type);
       },
       {"/potential/p@cutoff", "one number", "float that is not IEEE"}},
      {"screening_length_negative", set_number("screening_length", -8), {"@screening_length", "0 or more", "-8"}},
      {"screening_length_nan", set_number("screening_length", nan), {"@screening_length", "finite", "nan"}},
      {"screening_length_without_a_square",
       set_number("screening_length", 1e-160),
       {"/potential/p@screening_length", "square is a normal float64", "found 1e-160"}},
      {"screening_length_as_text",
       [](RawHdf5& f) { f.attribute("/potential/p", "screening_length", "8"); },
       {"/potential/p@screening_length", "one number", "string"}},
      {"screening_length_of_each_problem",
       [](RawHdf5& f) { f.attribute("/potential/p", "screening_length", std::vector<double>{8, 9}); },
       {"/potential/p@screening_length", "one number"}},
      {"screening_length_misspelt",
       set_number("screening_lenght", 8),
       {"/potential/p", "did you mean \"screening_length\"?"}},
      {"width_negative", set_number("width", -0.5), {"/potential/p@width", "0 or more", "-0.5"}},
      {"width_nan", set_number("width", nan), {"/potential/p@width", "finite", "nan"}},
      {"width_that_its_unit_makes_nothing",
       [](RawHdf5& f) {
         f.attribute("/potential/p/position", "unit", "pm");
         set_number("width", 5e-324)(f);
       },
       {"/potential/p@width", "found 4.94066e-324 in a unit of 0.01 angstrom"}},
      {"width_with_softening",
       [](RawHdf5& f) {
         set_number("width", 0.5)(f);
         set_number("softening", 0.1)(f);
       },
       {"/potential/p@softening", "Gaussian", "Remove the attribute, or the width."}},
      {"width_with_screening",
       [](RawHdf5& f) {
         set_number("width", 0.5)(f);
         set_number("screening_length", 8)(f);
       },
       {"/potential/p@screening_length", "Gaussian", "Remove the attribute, or the width."}},
      {"widths_with_softening",
       [](RawHdf5& f) {
         f.dataset("/potential/p/width", {4}, std::vector<double>(4));
         set_number("softening", 0.1)(f);
       },
       {"/potential/p@softening", "Gaussian", "Remove the attribute, or the width."}},
      {"widths_and_a_width",
       [](RawHdf5& f) {
         f.dataset("/potential/p/width", {4}, counted<double>(4));
         set_number("width", 0)(f);
       },
       {"/potential/p/width", "the attribute 'width'", "Remove the dataset or the attribute."}},
      {"widths_of_integers",
       [](RawHdf5& f) { f.dataset("/potential/p/width", {4}, counted<std::int64_t>(4)); },
       {"/potential/p/width", "expected float32 or float64, found int64"}},
      {"widths_of_another_length",
       [](RawHdf5& f) { f.dataset("/potential/p/width", {3}, counted<double>(3)); },
       {"/potential/p/width", "4 charges", "expected shape (4), found (3)"}},
      {"one_width_as_a_dataset",
       [](RawHdf5& f) { f.dataset("/potential/p/width", {}, counted<double>(1)); },
       {"/potential/p/width", "expected shape (4), found ()"}},
      {"widths_that_are_a_group",
       [](RawHdf5& f) { f.group("/potential/p/width"); },
       {"/potential/p/width", "dataset"}},
      {"widths_of_another_unit",
       [](RawHdf5& f) {
         f.dataset("/potential/p/width", {4}, counted<double>(4));
         f.attribute("/potential/p/width", "unit", "furlong");
       },
       {"/potential/p/width@unit", "furlong"}},
      {"widths_misspelt",
       [](RawHdf5& f) { f.dataset("/potential/p/widths", {4}, counted<double>(4)); },
       {"/potential/p", "did you mean \"width\"?"}},
      {"dielectric_of_63_bits",
       [](RawHdf5& f) {
         const hid_t type = H5Tcopy(H5T_STD_I64LE);
         H5Tset_precision(type, 63);
         f.attribute("/potential/p", "dielectric", std::vector<std::int64_t>{2}, type);
       },
       {"/potential/p@dielectric", "one number", "an integer with unused bits"}},
      {"field_of_31_bits",
       [](RawHdf5& f) {
         const hid_t type = H5Tcopy(H5T_STD_I32BE);
         H5Tset_precision(type, 31);
         f.attribute("/potential/p", "field", std::vector<std::int32_t>{1}, type);
       },
       {"/potential/p@field", "expected integers", "an integer with unused bits"}},
      {"field_of_another_enumeration",
       [](RawHdf5& f) {
         const hid_t bits = H5Tcopy(H5T_STD_I8LE);
         H5Tset_precision(bits, 7);
         const hid_t type = H5Tenum_create(bits);
         const std::int8_t yes = 1;
         H5Tenum_insert(type, "YES", &yes);
         const hid_t attribute = H5Acreate_by_name(f.id(), "/potential/p", "field", type, H5Screate(H5S_SCALAR),
                                                   H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
         EXPECT_GE(H5Awrite(attribute, type, &yes), 0);
       },
       {"/potential/p@field", "expected integers", "enumeration"}},
      {"field_of_a_boolean_the_other_way_round",
       [](RawHdf5& f) {
         const hid_t type = H5Tenum_create(H5T_STD_I8LE);
         const std::int8_t no = 1, yes = 0;
         H5Tenum_insert(type, "FALSE", &no);
         H5Tenum_insert(type, "TRUE", &yes);
         const hid_t attribute = H5Acreate_by_name(f.id(), "/potential/p", "field", type, H5Screate(H5S_SCALAR),
                                                   H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
         EXPECT_GE(H5Awrite(attribute, type, &yes), 0);
       },
       {"/potential/p@field", "expected integers", "enumeration"}},
      {"dielectric_zero", set_number("dielectric", 0), {"/potential/p@dielectric", "above 0", "found 0.0"}},
      {"dielectric_infinite", set_number("dielectric", infinity), {"/potential/p@dielectric", "finite", "inf"}},
      {"group_of_floats",
       [](RawHdf5& f) { f.dataset("/potential/p/group", {4}, counted<float>(4)); },
       {"/potential/p/group", "expected int8, int32 or int64", "found float32"}},
      {"group_of_another_length",
       [](RawHdf5& f) { f.dataset("/potential/p/group", {5}, counted<std::int8_t>(5)); },
       {"/potential/p/group", "expected shape (4)", "found (5)"}},
      {"shape_with_fields_overflows",
       [](RawHdf5& f) {
         set_shape({std::int64_t{1} << 30, std::int64_t{1} << 28, 1})(f);
         f.attribute("/potential/p", "field", std::vector<std::int32_t>{1});
       },
       {"/potential/p@shape", "2 problems"}},
  };
  return all;
}

class RefusedPotential : public testing::RefusedProblemTest {};

TEST_P(RefusedPotential, says_where_and_why) { expect_refused(potential_refusals()[GetParam()]); }

INSTANTIATE_TEST_SUITE_P(all, RefusedPotential, ::testing::Range(std::size_t{0}, potential_refusals().size()),
                         [](const auto& test) { return std::string(potential_refusals()[test.param].name); });

}  // namespace
}  // namespace smallbatch
