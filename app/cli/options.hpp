// The user's request, as plain structs. The help shows the defaults of these structs.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/instruction_sets.hpp"
#include "core/potentials.hpp"
#include "core/signals.hpp"
#include "core/systems.hpp"
#include "core/units.hpp"
#include "io/interchange/raw_signal.hpp"
#include "io/share.hpp"
#include "physics/charges/charge_sets.hpp"
#include "solvers/spd_families.hpp"
#include "solvers/spd_solver.hpp"

namespace smallbatch {

struct DeviceRequest {
  enum class Kind { automatic, cpu, cuda, reference };
  Kind kind = Kind::automatic;
  // NOLINTNEXTLINE(readability-redundant-member-init): without it, g++ warns about {Kind::cpu}
  std::vector<int> indices{};  ///< with Kind::cuda: indices of the GPUs; empty: the first GPU, or with `all` every GPU
  bool all = false;
};

/// How many of the answers the referee checks.
struct VerifyMode {
  enum class Kind {
    automatic,  ///< all, or as large a share as is affordable (app/run/estimates.hpp)
    all,
    sample,
    none
  };
  Kind kind = Kind::all;
  std::int64_t sample = 0;  ///< number of systems, targets, energies or visibilities per set, evenly spread
};

/// Outcomes for which `run`, `merge` and `verify` exit with code 1. The choice matters, because workflow managers
/// delete the outputs of a command that fails.
enum class FailOn {
  errors,        ///< systems that failed, and answers that disagree with the referee
  disagreement,  ///< disagreements only; a failed system is a valid outcome
  none           ///< no outcome: the code is 0 once the results are written
};

enum class Verbosity { quiet, normal, verbose };

struct RunOptions {
  std::string problems, results;
  DeviceRequest device;
  VerifyMode verify{VerifyMode::Kind::automatic, 0};
  SpdOptions spd;  ///< method and pivot floor
  Singular singular = Singular::infinite;
  ScalarType precision = ScalarType::float32;  ///< type in which V and pair energies are computed and V is stored
  unsigned threads = 0;
  InstructionSet instruction_set = InstructionSet::best;
  Share share;               ///< the share of every set that this process runs; all by default
  std::uint64_t memory = 0;  ///< limit of the bytes of all blocks in memory; 0: the fastest choice
  FailOn fail_on = FailOn::errors;
  bool dry_run = false;
  bool overwrite = false, json = false;
  bool resume = false;  ///< go on with a run that was stopped
};

struct MergeOptions {
  std::vector<std::string> shares;
  std::string output;
  bool overwrite = false, json = false;
  FailOn fail_on = FailOn::errors;
};

struct DevicesOptions {
  unsigned threads = 0;
  InstructionSet instruction_set = InstructionSet::best;
  bool json = false;
};

struct InfoOptions {
  std::string file;
  bool check = false;
  bool json = false;
};

struct VerifyOptions {
  std::string problems, results;
  VerifyMode mode;
  unsigned threads = 0;
  FailOn fail_on = FailOn::errors;
  bool json = false;
};

struct GenerateSpdOptions {
  std::string output, set = "systems";
  std::int64_t batch = 1024;
  SpdShape shape{32, 1, Storage::dense};
  bool is_upper = false;       ///< the file stores upper triangles instead of lower ones
  std::array<int, 2> sizes{};  ///< least and largest size, if the shape has sizes
  ScalarType type = ScalarType::float32;
  SpdFamily family{};
  double condition = 100;
  std::uint64_t seed = 1;
  bool overwrite = false, json = false;
};

/// Requests that `generate charges` and `import` write into a problem file. By default, V in vacuum on a lattice is
/// wanted.
struct AskedOfCharges {
  TargetKind targets = TargetKind::lattice;  ///< lattice or charges
  bool field = false;
  double softening = 0, cutoff = 0;  ///< angstrom; 0: none
  double screening_length = 0;       ///< angstrom; 0: none
  double width = 0;                  ///< angstrom, of Gaussian charges; 0: point charges
  double dielectric = 1;
};

struct GenerateChargesOptions {
  std::string output, set = "charges";
  std::int64_t batch = 1, charges = 1000;
  LatticeShape shape{64, 64, 64};
  double spacing = 0.5;  ///< angstrom
  PotentialUnit unit = PotentialUnit::volt;
  AskedOfCharges asked;
  bool pair_energy = false;                 ///< the energy of all pairs is wanted instead of V
  bool per_charge = false, groups = false;  ///< with pair_energy: also the energy of each charge; first half of the
                                            ///< charges is group 1, second half group 2
  std::uint64_t seed = 1;
  bool overwrite = false, json = false;
};

struct GenerateSignalOptions {
  std::string output, set = "array";
  std::int64_t channels = 64, times = 1024, inputs = 32;
  SampleType type = SampleType::complex_float32;
  std::int64_t integrate = 0;  ///< samples per integration; 0: all
  bool mean = false;
  std::vector<double> delays{0, 21.3};  ///< one per source: delay from one input to the next, nanoseconds
  double noise = 1;                     ///< amplitude of the noise of each input; sources have amplitude 1
  double flagged = 0;                   ///< fraction of the samples that are flagged
  double first_frequency = 1.4e9, channel_width = 1e5;  ///< Hz
  std::uint64_t seed = 1;
  bool overwrite = false, json = false;
};

/// How lattices are laid around imported charges.
enum class LatticePlacement {
  common,  ///< one lattice around all problems
  each     ///< one lattice around each problem, all of one shape; each has its own spacing unless one is given
};

/// Description of a raw file of samples. If samples.inputs is 0, the files hold charges or visibilities.
struct SignalImport {
  RawSamples samples{SampleType::complex_int8, 1, 0, false};
  std::int64_t integrate = 0;  ///< samples; 0: all
  bool is_mean = false;
  double first_frequency = 0, channel_width = 0;  ///< Hz; unknown if the width is 0
  double sample_time = 0, start_time = 0;         ///< seconds, Julian date; 0: unknown
};

struct ImportOptions {
  std::vector<std::string> inputs;
  std::string output, set = "molecules";
  std::string group;    ///< particles group of H5MD; empty: the only group
  std::string charges;  ///< PQR file that has the charges of an H5MD trajectory; empty: the trajectory has them
  std::optional<std::array<std::int64_t, 3>> shape;
  std::optional<double> spacing;                ///< angstrom
  std::optional<std::array<double, 3>> origin;  ///< angstrom
  double margin = 5;                            ///< angstrom
  LatticePlacement placement = LatticePlacement::common;
  PotentialUnit unit = PotentialUnit::volt;
  double temperature = default_temperature_kelvin;
  AskedOfCharges asked;
  SignalImport signal;
  std::vector<std::string>
      given;  ///< names of the given options that apply to charges or signals only, and --set if given
  bool overwrite = false, json = false;
};

struct ReportOptions {
  std::string results, output;
  std::string problems;            ///< problem file with the atoms to draw on the maps; empty: none
  std::vector<std::string> shown;  ///< names or indices of the problems to draw; empty: those with the largest errors
  std::string range;               ///< ends of the colours of maps, as "5 kT/e"; empty: by the values
  bool overwrite = false, json = false;
};

struct ExportOptions {
  std::string results, output, set;  ///< set: its name; empty: the only set
  std::string problems;              ///< problem file with the atoms of a cube file
  std::int64_t index = 0;
  int axis = 2;                        ///< axis normal to the slice of a picture: 0 x, 1 y, 2 z
  std::optional<std::int64_t> slice;   ///< index of the slice along the axis; the middle by default
  std::vector<std::string> of_slices;  ///< those of --axis and --slice that are given
  bool overwrite = false, json = false;
};

/// A text to print on stdout: help, version, man page or completions.
struct PrintText {
  std::string text;
  bool is_refusal = false;  ///< the help is printed because the call names no command
};

using AnyCommand =
    std::variant<PrintText, RunOptions, MergeOptions, InfoOptions, DevicesOptions, VerifyOptions, GenerateSpdOptions,
                 GenerateChargesOptions, GenerateSignalOptions, ImportOptions, ExportOptions, ReportOptions>;

struct Invocation {
  AnyCommand command;
  Verbosity verbosity = Verbosity::normal;
  std::string log_file;      ///< empty: none
  std::string command_line;  ///< quoted for a shell; kept in the provenance of the output
};

/// Parses the command line. Throws Error(usage) with a sentence that says what to type instead.
Invocation parse_options(int argc, const char* const* argv);

}  // namespace smallbatch
