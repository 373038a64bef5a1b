// Parsers of option values. Where a value is wrong, they throw Error(usage), which says what was found, why it is wrong
// and what to write instead. Only wrong_number returns its message.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "app/cli/options.hpp"

namespace smallbatch {

/// The range of numbers that an option takes.
template <class T>
struct Limits {
  T least = std::numeric_limits<T>::lowest(), most = std::numeric_limits<T>::max();
  bool excludes_least = false, excludes_most = false;
};
inline constexpr Limits<double> above_0{0, std::numeric_limits<double>::max(), true};
inline constexpr Limits<double> from_0_on{0};

/// Returns "from 1 to 128" or "above 0". Empty without limits.
template <class T>
std::string limits_text(const Limits<T>& limits);
/// Checks that `text` is a number within `limits`. Returns what is wrong, or nothing. The message ends with what to
/// write: "cannot be '1e6' (it is 1000000, but a whole number must consist of digits). Write 1000000."
template <class T>
std::string wrong_number(const std::string& text, const Limits<T>& limits, const std::string& example);

[[noreturn]] void refuse_option(const std::string& option, const std::string& found, const std::string& why,
                                const std::string& remedy);
/// Refuses an option that has no meaning together with `with`.
[[noreturn]] void refuse_option_with(const std::string& option, const std::string& with);
[[noreturn]] void refuse_empty_option(const std::string& option);

DeviceRequest parse_device(const std::string& text);
VerifyMode parse_verify(const std::string& text);
/// Returns "all", "sample=100", "auto" or "none".
std::string verify_mode_name(const VerifyMode& mode);
/// Returns the first number of a text in the form of OMP_NUM_THREADS, "4" or "4,2". 0 if it is not a number
/// up to 4096.
unsigned parse_threads(const std::string& text);
/// Returns the number of threads that OMP_NUM_THREADS or SLURM_CPUS_PER_TASK gives; 0 if neither does.
unsigned threads_of_environment();
PotentialUnit parse_unit(const std::string& text);
/// Parses a number of bytes: "512MiB", "2GB".
std::uint64_t parse_memory(const std::string& text);

/// Parses "8:32".
std::array<int, 2> parse_sizes(const std::string& text);
/// Parses "65,33,17", or "65" for all three axes.
LatticeShape parse_shape(const std::string& text);
/// Parses a number above 0.
double parse_spacing(const std::string& text);
/// Parses "0,-1.5,2".
std::array<double, 3> parse_origin(const std::string& text);
/// Parses "0,21.3". An empty text gives no delays.
std::vector<double> parse_delays(const std::string& text);

/// Checks that the name can be that of an HDF5 group.
void check_set_name(const std::string& name);

}  // namespace smallbatch
