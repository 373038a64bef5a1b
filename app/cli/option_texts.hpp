// What the texts of options mean, and what is said of those that mean nothing: what was understood, what is wrong with
// it, and what to write instead. All of these throw Error(usage), but for wrong_number.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "app/cli/options.hpp"

namespace smallbatch {

/// Which numbers an option takes.
template <class T>
struct Limits {
  T least = std::numeric_limits<T>::lowest(), most = std::numeric_limits<T>::max();
  bool excludes_least = false, excludes_most = false;
};
inline constexpr Limits<double> above_0{0, std::numeric_limits<double>::max(), true};
inline constexpr Limits<double> from_0_on{0};

/// "from 1 to 128", "above 0"; empty where there are none.
template <class T>
std::string limits_text(const Limits<T>& limits);
/// What is wrong with a text that is to be such a number; empty where nothing is. It ends with what to write, as
/// `example`: "cannot be '1e6' (it is 1000000, but a whole number has digits alone). Write 1000000."
template <class T>
std::string wrong_number(const std::string& text, const Limits<T>& limits, const std::string& example);

[[noreturn]] void refuse_option(const std::string& option, const std::string& found, const std::string& why,
                                const std::string& remedy);
/// `with` what it makes no sense.
[[noreturn]] void refuse_option_with(const std::string& option, const std::string& with);
[[noreturn]] void refuse_empty_option(const std::string& option);

DeviceRequest parse_device(const std::string& text);
VerifyMode parse_verify(const std::string& text);
/// "all", "sample=100", "auto" or "none".
std::string verify_mode_name(const VerifyMode& mode);
/// A number of threads as OMP_NUM_THREADS has it, "4" or "4,2": the first; 0 where it is none.
unsigned parse_threads(const std::string& text);
/// That many by OMP_NUM_THREADS or SLURM_CPUS_PER_TASK; 0: neither says so.
unsigned threads_of_environment();
PotentialUnit parse_unit(const std::string& text);
/// Bytes: "512MiB", "2GB".
std::uint64_t parse_memory(const std::string& text);

/// "8:32".
std::array<int, 2> parse_sizes(const std::string& text);
/// "65,33,17", or "65" for all three axes.
LatticeShape parse_shape(const std::string& text);
/// Above 0.
double parse_spacing(const std::string& text);
/// "0,-1.5,2".
std::array<double, 3> parse_origin(const std::string& text);
/// "0,21.3"; empty: none.
std::vector<double> parse_delays(const std::string& text);

/// A name that can be a group of an HDF5 file.
void check_set_name(const std::string& name);

}  // namespace smallbatch
