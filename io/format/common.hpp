// What problem and result files have in common: the version, what a potential set asks for, the names. Private to io/.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "io/format_version.hpp"
#include "io/hdf5/input.hpp"
#include "io/hdf5/output.hpp"
#include "io/sets.hpp"

namespace smallbatch {

/// The most columns of b: places within a system are counted in 32 bits.
inline constexpr std::int64_t most_rhs = INT32_MAX / max_system_size;
/// The attributes of a solve set, and what they can be.
inline const std::string uplo_lower = "lower", uplo_upper = "upper";
inline const std::string compute_log_determinant = "log_determinant";
inline const std::string storage_dense = "dense", storage_packed = "packed_lower",
                         storage_packed_upper = "packed_upper";
/// Of a correlation set.
inline const std::string output_sum = "sum", output_mean = "mean", packing_int4 = "int4";

inline std::string verification_path(const std::string& kind, const std::string& set) {
  return "/verification/" + kind + "/" + set;
}
inline std::string work_path(const std::string& kind, const std::string& set) {
  return "/provenance/" + kind + "/" + set;
}

inline ScalarType scalar_type(ElementType type) {
  return type == ElementType::float32 ? ScalarType::float32 : ScalarType::float64;
}
inline ElementType element_type(ScalarType type) {
  return type == ScalarType::float32 ? ElementType::float32 : ElementType::float64;
}
/// "float32", "float64"
inline std::string precision_name(ScalarType type) { return type == ScalarType::float32 ? "float32" : "float64"; }
/// What DatasetInfo calls it.
inline std::string visibility_type_name(SumType type) {
  return type == SumType::complex_float32 ? "compound {r, i} of float32"
         : type == SumType::complex_int32 ? "int32"
                                          : "int64";
}

/// Refuses a file without a version or with a newer major one; a newer minor one is a warning. Returns the minor one.
std::int64_t check_format(const InputFile& file, std::vector<std::string>& warnings);

bool is_result_file(const InputFile& file);

/// Names of the sets of a kind, "/solve"; each must be a group, and fit for a message.
std::vector<std::string> set_names(const InputFile& file, const std::string& kind);

/// For such a message, of what a dataset of a correlation set has to fit.
std::string signal_text(const CorrelationSet& set);

/// Where the problems begin among `total` things: from 0 to total, never falling. `things` is for messages.
std::vector<std::int64_t> read_offset(const InputFile& file, const std::string& dataset, std::int64_t total,
                                      const std::string& things);

/// Of these systems, each from 0 to n. `remedy` is for messages.
std::vector<std::int64_t> read_sizes(const InputFile& file, const SolveSet& set, const AxisRange& systems,
                                     const std::string& remedy);
/// Looks at all of them, and counts them in systems_of_size.
void check_sizes(const InputFile& file, SolveSet& set, const std::string& remedy);

/// An attribute that is 0 or 1, or absent; `remedy` says when to set it.
bool read_flag(const InputFile& file, const std::string& group, const std::string& name, const std::string& remedy);

/// Reads dielectric, output_unit and temperature of a set, which is that group.
void read_charge_attributes(const InputFile& file, const std::string& group, ChargesOfSet& set);
/// Reads softening, cutoff, screening_length and width; has_widths is known. Refuses those that do not go together.
void read_charge_lengths(const InputFile& file, const std::string& group, ChargesOfSet& set, double unit_in_angstrom);
/// Writes all of them, and the labels.
void write_charge_attributes(Hdf5Output& file, const std::string& group, const ChargesOfSet& set);

/// The same, and targets, shape and field.
void read_potential_attributes(const InputFile& file, PotentialSet& set);

/// The same, and of lattices origin and spacing as (batch, 3), all in angstrom; a unit of their own wins over
/// `unit_in_angstrom`. Returns what rounding to angstrom took from the origins, likewise (batch, 3); nothing where they
/// are in angstrom. Throws where the values would be more bytes than a file can hold.
std::vector<double> read_potential_lengths(const InputFile& file, PotentialSet& set, double unit_in_angstrom);

/// Writes the attributes, and of lattices origin and spacing.
void write_potential_attributes(Hdf5Output& file, const PotentialSet& set);

/// Of problems and results alike: reads what is known of a correlation's channels and times; output. Expects batch.
void read_correlation_attributes(const InputFile& file, CorrelationSet& set);
/// Writes that, and integrate.
void write_correlation_attributes(Hdf5Output& file, const CorrelationSet& set);

/// Throws Error(usage) where T is not the set's type, naming both.
void expect_type(ScalarType asked, ScalarType stored, const std::string& set);

}  // namespace smallbatch
