// What the texts of options mean that CLI11 cannot judge. All of these throw Error(usage), with a sentence that says
// what was expected.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "app/options.hpp"

namespace smallbatch {

[[noreturn]] void refuse_option(const std::string& option, const std::string& found, const std::string& expected);
[[noreturn]] void refuse_empty_option(const std::string& option);

DeviceRequest parse_device(const std::string& text);
VerifyMode parse_verify(const std::string& text);
/// A number of threads as OMP_NUM_THREADS has it, "4" or "4,2": the first; 0 where it is none.
unsigned parse_threads(const std::string& text);
/// That many by OMP_NUM_THREADS or SLURM_CPUS_PER_TASK; 0: neither says so.
unsigned threads_of_environment();
PotentialUnit parse_unit(const std::string& text);

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
