// Parts that problem files and result files have in common: the version, names, and attributes of sets. Private to io/.
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

/// Maximum number of columns of b. Indices within a system have 32 bits.
inline constexpr std::int64_t most_rhs = INT32_MAX / max_system_size;
/// Values of the attributes of a solve set.
inline const std::string uplo_lower = "lower", uplo_upper = "upper";
inline const std::string compute_log_determinant = "log_determinant";
inline const std::string storage_dense = "dense", storage_packed = "packed_lower",
                         storage_packed_upper = "packed_upper";
/// Values of the attributes of a correlation set.
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
/// Returns "float32" or "float64".
inline std::string precision_name(ScalarType type) { return type == ScalarType::float32 ? "float32" : "float64"; }
/// Returns the type as DatasetInfo::type_name names it.
inline std::string visibility_type_name(SumType type) {
  return type == SumType::complex_float32 ? "compound {r, i} of float32"
         : type == SumType::complex_int32 ? "int32"
                                          : "int64";
}

/// Returns the minor version of the file's format. Throws if the file has no version, or a newer major version. A newer
/// minor version adds a warning.
std::int64_t check_format(const InputFile& file, std::vector<std::string>& warnings);

bool is_result_file(const InputFile& file);

/// Returns the names of all sets under `kind`, for example "/solve". Throws if a set is no group, or if its name has
/// control characters.
std::vector<std::string> set_names(const InputFile& file, const std::string& kind);

/// Returns the beginning of a message about a dataset that must fit the signal of a correlation set.
std::string signal_text(const CorrelationSet& set);

/// Reads the offsets at which the problems begin among `total` charges or points. They go from 0 to `total` and never
/// fall. `things` names the charges or points in messages.
std::vector<std::int64_t> read_offset(const InputFile& file, const std::string& dataset, std::int64_t total,
                                      const std::string& things);

/// Reads the sizes of `systems`, each from 0 to n. `remedy` is for messages.
std::vector<std::int64_t> read_sizes(const InputFile& file, const SolveSet& set, const AxisRange& systems,
                                     const std::string& remedy);
/// Checks the sizes of all systems, and counts the systems of each size in systems_of_size.
void check_sizes(const InputFile& file, SolveSet& set, const std::string& remedy);

/// Reads an attribute that is 0, 1 or absent. `remedy` says when to set it.
bool read_flag(const InputFile& file, const std::string& group, const std::string& name, const std::string& remedy);

/// Reads dielectric, output_unit and temperature of the set in `group`.
void read_charge_attributes(const InputFile& file, const std::string& group, ChargesOfSet& set);
/// Reads softening, cutoff, screening_length and width. set.has_widths must be known before. Refuses lengths that
/// exclude each other.
void read_charge_lengths(const InputFile& file, const std::string& group, ChargesOfSet& set, double unit_in_angstrom);
/// Writes the attributes that read_charge_attributes() and read_charge_lengths() read, and the labels.
void write_charge_attributes(Hdf5Output& file, const std::string& group, const ChargesOfSet& set);

/// Reads targets, shape and field, and calls read_charge_attributes().
void read_potential_attributes(const InputFile& file, PotentialSet& set);

/// Calls read_charge_lengths(). For lattices it also reads the datasets origin and spacing as (batch, 3), in angstrom.
/// If such a dataset has the attribute `unit`, this unit replaces `unit_in_angstrom`. Returns the rounding errors of
/// the origins, also (batch, 3), or nothing if the file has them in angstrom. Throws if V and E would take more bytes
/// than a file can hold.
std::vector<double> read_potential_lengths(const InputFile& file, PotentialSet& set, double unit_in_angstrom);

/// Writes all attributes of a potential set. For lattices it also writes origin and spacing.
void write_potential_attributes(Hdf5Output& file, const PotentialSet& set);

/// Reads the attribute `output`, and all known facts about a correlation's channels, times and inputs. It serves
/// problem files and result files. set.batch, set.times and set.inputs must be known before.
void read_correlation_attributes(const InputFile& file, CorrelationSet& set);
/// Writes what read_correlation_attributes() reads, and the attribute `integrate`.
void write_correlation_attributes(Hdf5Output& file, const CorrelationSet& set);

/// Throws Error(usage) if `asked` is not `stored`, the type of the set. The message names both types.
void expect_type(ScalarType asked, ScalarType stored, const std::string& set);

}  // namespace smallbatch
