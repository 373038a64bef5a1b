// What problem and result files have in common: the version, what a potential set asks for, the names. Private to io/.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "io/hdf5_input.hpp"
#include "io/hdf5_output.hpp"
#include "io/sets.hpp"

namespace smallbatch {

/// What is written, and the newest that is read without a warning.
inline constexpr std::int32_t format_major = 1, format_minor = std::max(3, newest_spd_number);
/// "1.3" and "(1, 3)"
inline const std::string format_version = std::to_string(format_major) + "." + std::to_string(format_minor);
inline const std::string format_pair = "(" + std::to_string(format_major) + ", " + std::to_string(format_minor) + ")";

/// The attributes of a solve set, and what they can be.
inline const std::string uplo_lower = "lower", compute_log_determinant = "log_determinant";

inline std::string verification_path(const std::string& kind, const std::string& set) {
  return "/verification/" + kind + "/" + set;
}

inline ScalarType scalar_type(ElementType type) {
  return type == ElementType::float32 ? ScalarType::float32 : ScalarType::float64;
}
inline ElementType element_type(ScalarType type) {
  return type == ScalarType::float32 ? ElementType::float32 : ElementType::float64;
}
/// Refuses a file without a version or with a newer major one; a newer minor one is a warning. Returns the minor one.
std::int64_t check_format(const InputFile& file, std::vector<std::string>& warnings);

bool is_result_file(const InputFile& file);

/// Names of the sets of a kind, "/solve"; each must be a group, and fit for a message.
std::vector<std::string> set_names(const InputFile& file, const std::string& kind);

/// Throws where the dataset has another shape.
void expect_shape(const InputFile& file, const std::string& dataset, const std::vector<std::int64_t>& shape);

/// Where the problems begin among `total` things: from 0 to total, never falling. `things` is for messages.
std::vector<std::int64_t> read_offset(const InputFile& file, const std::string& dataset, std::int64_t total,
                                      const std::string& things);

/// Reads targets, shape, field, dielectric, output_unit and temperature.
void read_potential_attributes(const InputFile& file, PotentialSet& set);

/// Reads softening and cutoff, and of lattices origin and spacing as (batch, 3), all in angstrom; a unit of their own
/// wins over `unit_in_angstrom`. Throws where the values would be more bytes than a file can hold.
void read_potential_lengths(const InputFile& file, PotentialSet& set, double unit_in_angstrom);

/// Writes the attributes, and of lattices origin and spacing.
void write_potential_attributes(Hdf5Output& file, const PotentialSet& set);

/// Throws Error(usage) where T is not the set's type, naming both.
void expect_type(ScalarType asked, ScalarType stored, const std::string& set);

/// Throws Error(usage) where [first, first + count) is not within the set's batch.
void expect_range(std::int64_t first, std::int64_t count, std::int64_t batch, const std::string& set);

}  // namespace smallbatch
