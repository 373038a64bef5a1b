// Wrong sets of signals and pair energies are refused. The message says where, what was expected and what was found.
#include <gtest/gtest.h>

#include <complex>
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
using testing::Shape;

const std::string signal_path = "/correlation/c/signal", flag_path = "/correlation/c/flag";

/// Returns a change that writes a signal of zero bytes, and removes the flags and frequencies, which might not fit it.
auto signal_of(const Shape& shape, const std::function<hid_t()>& type) {
  return [=](RawHdf5& file) {
    file.remove(signal_path);
    file.remove(flag_path);
    file.remove("/correlation/c/frequency");
    const hid_t dataset = file.declare(signal_path, shape, type());
    std::size_t bytes = H5Tget_size(type());
    for (const hsize_t length : shape) bytes *= length;
    EXPECT_GE(H5Dwrite(dataset, type(), H5S_ALL, H5S_ALL, H5P_DEFAULT, std::vector<char>(bytes).data()), 0);
  };
}

auto number(const char* group, const char* name, auto value) {
  return [=](RawHdf5& file) { file.attribute(group, name, std::vector{value}); };
}
auto text(const char* object, const char* name, const char* value) {
  return [=](RawHdf5& file) { file.attribute(object, name, value); };
}

/// Returns a compound type of `bytes` bytes with members (name, offset) of type `part`.
hid_t compound(std::size_t bytes, const std::vector<std::pair<const char*, std::size_t>>& members, hid_t part) {
  const hid_t type = H5Tcreate(H5T_COMPOUND, bytes);
  for (const auto& [name, offset] : members) H5Tinsert(type, name, offset, part);
  return type;
}

const std::vector<Refusal>& correlation_refusals() {
  const char* const not_complex = "expected compound {r, i} of float32, int8 or uint8, found compound";
  static const std::vector<Refusal> all{
      // Signals.
      {"signal_missing", remove(signal_path), {"/correlation/c", "no dataset \"signal\""}},
      {"signal_of_float32",
       signal_of({2, 5, 3}, [] { return H5T_IEEE_F32LE; }),
       {signal_path, "expected compound {r, i} of float32, int8 or uint8, found float32"}},
      {"signal_of_doubles",
       signal_of({2, 5, 3}, [] { return testing::compound_of(H5T_IEEE_F64LE); }),
       {signal_path, not_complex}},
      {"signal_of_other_names",
       signal_of({2, 5, 3}, [] { return testing::compound_of(H5T_IEEE_F32LE, "re", "im"); }),
       {signal_path, not_complex}},
      {"signal_of_swapped_members",
       signal_of({2, 5, 3}, [] { return testing::compound_of(H5T_IEEE_F32LE, "i", "r"); }),
       {signal_path, not_complex}},
      {"signal_with_a_gap",
       signal_of({2, 5, 3},
                 [] {
                   return compound(12, {{"r", 0}, {"i", 8}}, H5T_IEEE_F32LE);
                 }),
       {signal_path, not_complex}},
      {"signal_with_bytes_behind",
       signal_of({2, 5, 3},
                 [] {
                   return compound(12, {{"r", 0}, {"i", 4}}, H5T_IEEE_F32LE);
                 }),
       {signal_path, not_complex}},
      {"signal_of_three",
       signal_of({2, 5, 3},
                 [] {
                   return compound(12, {{"r", 0}, {"i", 4}, {"j", 8}}, H5T_IEEE_F32LE);
                 }),
       {signal_path, not_complex}},
      {"signal_of_two_byte_orders",
       signal_of({2, 5, 3},
                 [] {
                   const hid_t type = H5Tcreate(H5T_COMPOUND, 8);
                   H5Tinsert(type, "r", 0, H5T_IEEE_F32LE);
                   H5Tinsert(type, "i", 4, H5T_IEEE_F32BE);
                   return type;
                 }),
       {signal_path, not_complex}},
      {"signal_of_shorts",
       signal_of({2, 5, 3, 2}, [] { return H5T_STD_I16LE; }),
       {signal_path, "int8 or uint8, found int16"}},
      {"signal_of_booleans",
       signal_of({2, 5, 3}, [] { return testing::boolean_type(); }),
       {signal_path, "int8 or uint8, found Boolean"}},
      {"complex_signal_of_two_axes",
       signal_of({2, 5}, [] { return testing::compound_of(H5T_IEEE_F32LE); }),
       {signal_path, "expected shape (channel, time, input)", "found (2, 5)"}},
      {"complex_signal_of_four_axes",
       signal_of({2, 5, 3, 2}, [] { return testing::compound_of(H5T_IEEE_F32LE); }),
       {signal_path, "is understood as samples", "expected shape (channel, time, input)", "found (2, 5, 3, 2)",
        "A polarisation is an input"}},
      {"int8_signal_without_parts",
       signal_of({2, 5, 3}, [] { return H5T_STD_I8LE; }),
       {signal_path, "expected shape (channel, time, input, 2)", "found (2, 5, 3)"}},
      {"int8_signal_of_three_parts",
       signal_of({2, 5, 3, 3}, [] { return H5T_STD_I8LE; }),
       {signal_path, "expected shape (channel, time, input, 2)", "found (2, 5, 3, 3)"}},
      {"bytes_without_packing",
       signal_of({2, 5, 3}, [] { return H5T_STD_U8LE; }),
       {signal_path, "uint8", "Set packing to int4"}},
      {"packing_of_floats", text("/correlation/c", "packing", "int4"), {"/correlation/c@packing", "uint8", "compound"}},
      {"packing_unknown",
       text("/correlation/c", "packing", "int2"),
       {"/correlation/c@packing", "\"int4\"", "\"int2\""}},
      {"no_inputs",
       signal_of({2, 5, 0}, [] { return testing::compound_of(H5T_IEEE_F32LE); }),
       {signal_path, "1 to 4096 inputs", "found 0"}},
      {"too_many_inputs",
       signal_of({1, 1, 4097}, [] { return testing::compound_of(H5T_IEEE_F32LE); }),
       {signal_path, "1 to 4096 inputs", "found 4097"}},
      {"flag_transposed",
       replace(flag_path, {3, 5, 2}, counted<std::uint8_t>(30)),
       {flag_path, "2 channels, 5 times, 3 inputs", "Store its transpose."}},
      {"flag_of_another_shape",
       replace(flag_path, {2, 5, 4}, counted<std::uint8_t>(40)),
       {flag_path, "expected shape (2, 5, 3)", "found (2, 5, 4)"}},
      {"flag_of_floats",
       replace(flag_path, {2, 5, 3}, counted<float>(30)),
       {flag_path, "uint8, int8 or Boolean", "found float32"}},
      {"flag_of_another_enumeration",
       [](RawHdf5& f) {
         f.remove(flag_path);
         const hid_t type = H5Tenum_create(H5T_STD_I8LE);
         const std::int8_t good = 0, bad = 1;
         H5Tenum_insert(type, "GOOD", &good);
         H5Tenum_insert(type, "BAD", &bad);
         H5Dwrite(f.declare(flag_path, {2, 5, 3}, type), type, H5S_ALL, H5S_ALL, H5P_DEFAULT,
                  std::vector<char>(30).data());
       },
       {flag_path, "uint8, int8 or Boolean", "found enumeration"}},
      {"flag_almost",
       [](RawHdf5& f) {
         f.remove(flag_path);
         f.dataset("/correlation/c/flags", {2, 5, 3}, counted<std::uint8_t>(30));
       },
       {"/correlation/c", "\"flags\"", "did you mean \"flag\"?"}},
      {"integrate_zero", number("/correlation/c", "integrate", 0), {"/correlation/c@integrate", "at least 1", "(0)"}},
      {"integrate_of_two",
       [](RawHdf5& f) {
         f.attribute("/correlation/c", "integrate", std::vector<std::int32_t>{2, 2});
       },
       {"/correlation/c@integrate", "an integer", "(2, 2)"}},
      {"integrate_of_floats",
       number("/correlation/c", "integrate", 2.5),
       {"/correlation/c@integrate", "expected integers, found float64"}},
      {"output_unknown",
       text("/correlation/c", "output", "median"),
       {"/correlation/c@output", "sum or mean", "\"median\""}},
      {"output_misspelt",
       text("/correlation/c", "outputs", "mean"),
       {"/correlation/c", "\"outputs\"", "did you mean \"output\"?"}},
      {"frequency_of_another_length",
       replace("/correlation/c/frequency", {3}, counted<double>(3)),
       {"/correlation/c/frequency", "expected shape (2)", "found (3)"}},
      {"frequency_not_a_number",
       replace("/correlation/c/frequency", {2}, std::vector<double>{1, nan}),
       {"/correlation/c/frequency[1]", "finite", "nan"}},
      {"frequency_in_megahertz",
       text("/correlation/c/frequency", "unit", "MHz"),
       {"/correlation/c/frequency@unit", "\"Hz\"", "\"MHz\""}},
      {"sample_time_negative",
       number("/correlation/c", "sample_time", -1.0),
       {"/correlation/c@sample_time", "above 0", "-1"}},
      {"start_time_not_a_number", number("/correlation/c", "start_time", nan), {"/correlation/c@start_time", "nan"}},
      {"complex_numbers_are_no_matrices",
       [](RawHdf5& f) {
         f.remove("/solve/s/A");
         f.dataset("/solve/s/A", {3, 2}, std::vector<std::complex<float>>(6));
       },
       {"/solve/s/A", "expected float32 or float64, found compound {r, i} of float32"}},
      {"booleans_are_no_groups",
       [](RawHdf5& f) {
         f.remove("/pair_energy/e/group");
         const hid_t type = testing::boolean_type();
         H5Dwrite(f.declare("/pair_energy/e/group", {5}, type), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, "\1\1\0\0\0");
       },
       {"/pair_energy/e/group", "expected int8, int32 or int64, found Boolean"}},
      // Energies of pairs.
      {"pairs_without_charges", remove("/pair_energy/e/charge"), {"/pair_energy/e", "no dataset \"charge\""}},
      {"group_of_another_length",
       replace("/pair_energy/e/group", {4}, counted<std::int8_t>(4)),
       {"/pair_energy/e/group", "expected shape (5)", "found (4)"}},
      {"offset_of_more_charges",
       replace("/pair_energy/e/offset", {3}, std::vector<std::int64_t>{0, 3, 6}),
       {"/pair_energy/e/offset", "[2] is 6", "5"}},
      {"per_charge_two", number("/pair_energy/e", "per_charge", 2), {"/pair_energy/e@per_charge", "0 or 1", "(2)"}},
      {"pairs_have_no_targets",
       text("/pair_energy/e", "targets", "charges"),
       {"/pair_energy/e", "\"targets\" is unknown"}},
      {"cutoff_of_pairs_negative", number("/pair_energy/e", "cutoff", -1.0), {"/pair_energy/e@cutoff", "0 or more"}},
      {"width_of_pairs_with_softening",
       [](RawHdf5& f) {
         f.attribute("/pair_energy/e", "softening", std::vector<double>{0.5});
         f.dataset("/pair_energy/e/width", {5}, counted<float>(5));
       },
       {"/pair_energy/e@softening", "Gaussian"}},
      {"widths_of_pairs_of_another_length",
       [](RawHdf5& f) { f.dataset("/pair_energy/e/width", {2}, counted<double>(2)); },
       {"/pair_energy/e/width", "expected shape (5), found (2)"}},
      {"unit_of_pairs_unknown",
       text("/pair_energy/e", "output_unit", "kJ/mol"),
       {"/pair_energy/e@output_unit", "kT/e"}},
      {"particles_and_charges_of_pairs",
       text("/pair_energy/e", "particles", "ions"),
       {"/pair_energy/e/position", "particles"}},
      // The groups /correlation and /pair_energy.
      {"attribute_of_a_kind", text("/correlation", "unit", "Hz"), {"/correlation", "\"unit\" is unknown"}},
      {"set_that_is_a_dataset",
       [](RawHdf5& f) { f.dataset("/pair_energy/x", {1}, counted<float>(1)); },
       {"/pair_energy/x", "expected a group (a set)"}},
  };
  return all;
}

class RefusedCorrelation : public testing::RefusedProblemTest {};

TEST_P(RefusedCorrelation, says_where_and_why) {
  expect_refused(correlation_refusals()[GetParam()], testing::add_pairs_and_signals);
}

INSTANTIATE_TEST_SUITE_P(all, RefusedCorrelation, ::testing::Range(std::size_t{0}, correlation_refusals().size()),
                         [](const auto& test) { return std::string(correlation_refusals()[test.param].name); });

using CorrelationWarning = testing::FileTest;

TEST_F(CorrelationWarning, kinds_with_almost_the_right_name_are_not_used) {
  testing::write_good_problems(path("p.h5"), RawHdf5::Mode::create, [](RawHdf5& file) {
    file.group("/correlations/x");
    file.group("/pair_energies/x");
  });
  const ProblemReader reader(path("p.h5"));
  ASSERT_EQ(reader.warnings().size(), 1U);
  EXPECT_NE(reader.warnings()[0].find("/correlations"), std::string::npos);
  EXPECT_NE(reader.warnings()[0].find("did you mean /correlation?"), std::string::npos);
}

}  // namespace
}  // namespace smallbatch
