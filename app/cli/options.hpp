// What the user asked for, as plain structs. The defaults here are the ones the help shows.
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
  // NOLINTNEXTLINE(readability-redundant-member-init): g++ misses it where only the kind is given
  std::vector<int> indices{};  ///< of the GPUs, with cuda; empty: one, or all
  bool all = false;
};

/// How much of the answers the referee checks.
struct VerifyMode {
  enum class Kind {
    automatic,  ///< all, or as large a share as is affordable (app/run/estimates.hpp)
    all,
    sample,
    none
  };
  Kind kind = Kind::all;
  std::int64_t sample = 0;  ///< systems, targets, energies or visibilities, per set; evenly spread
};

/// What of answers makes the exit code of run and verify 1. Workflow managers delete the outputs of who ends so.
enum class FailOn {
  errors,        ///< systems that failed, and answers that disagree with the referee
  disagreement,  ///< the latter alone: that a system has no answer is one
  none           ///< nothing: results were written
};

enum class Verbosity { quiet, normal, verbose };

struct RunOptions {
  std::string problems, results;
  DeviceRequest device;
  VerifyMode verify{VerifyMode::Kind::automatic, 0};
  SpdOptions spd;  ///< method and floor of pivots
  Singular singular = Singular::infinite;
  ScalarType precision = ScalarType::float32;  ///< of the arithmetic of potentials and pair energies, and of V
  unsigned threads = 0;
  InstructionSet instruction_set = InstructionSet::best;
  Share share;               ///< of every set, where this process does not run all of it
  std::uint64_t memory = 0;  ///< bytes of all blocks in memory; 0: what is quickest (app/run/cut_into_blocks.hpp)
  FailOn fail_on = FailOn::errors;
  bool dry_run = false;
  bool overwrite = false, json = false;
  bool resume = false;  ///< a run that did not end is gone on with
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
  bool is_upper = false;       ///< upper triangles take the place of lower ones in the file
  std::array<int, 2> sizes{};  ///< where the shape has them: the least and the most
  ScalarType type = ScalarType::float32;
  SpdFamily family{};
  double condition = 100;
  std::uint64_t seed = 1;
  bool overwrite = false, json = false;
};

/// What a made problem file asks for beside V in vacuum on a lattice.
struct AskedOfCharges {
  TargetKind targets = TargetKind::lattice;  ///< or the charges
  bool field = false;
  double softening = 0, cutoff = 0;  ///< angstrom; 0: none
  double screening_length = 0;       ///< likewise
  double width = 0;                  ///< angstrom, of Gaussian charges; 0: points
  double dielectric = 1;
};

struct GenerateChargesOptions {
  std::string output, set = "charges";
  std::int64_t batch = 1, charges = 1000;
  LatticeShape shape{64, 64, 64};
  double spacing = 0.5;  ///< angstrom
  PotentialUnit unit = PotentialUnit::volt;
  AskedOfCharges asked;
  bool pair_energy = false;                 ///< the energy of all pairs is wanted, not V
  bool per_charge = false, groups = false;  ///< with it: that of each charge, too; half of them are group 1, half 2
  std::uint64_t seed = 1;
  bool overwrite = false, json = false;
};

struct GenerateSignalOptions {
  std::string output, set = "array";
  std::int64_t channels = 64, times = 1024, inputs = 32;
  SampleType type = SampleType::complex_float32;
  std::int64_t integrate = 0;  ///< samples per integration; 0: all
  bool mean = false;
  std::vector<double> delays{0, 21.3};                  ///< of the sources, nanoseconds from an input to the next
  double noise = 1;                                     ///< of each input; sources have 1
  double flagged = 0;                                   ///< fraction of the samples
  double first_frequency = 1.4e9, channel_width = 1e5;  ///< Hz
  std::uint64_t seed = 1;
  bool overwrite = false, json = false;
};

/// How lattices are laid around imported charges.
enum class LatticePlacement {
  common,  ///< one lattice around all problems
  each     ///< one around each, all of one shape; where no spacing is asked for, each has its own
};

/// Of a file of samples; without inputs it holds charges.
struct SignalImport {
  RawSamples samples{SampleType::complex_int8, 1, 0, false};
  std::int64_t integrate = 0;  ///< samples; 0: all
  bool is_mean = false;
  double first_frequency = 0, channel_width = 0;  ///< Hz; not known where the width is 0
  double sample_time = 0, start_time = 0;         ///< seconds, Julian date; 0: not known
};

struct ImportOptions {
  std::vector<std::string> inputs;
  std::string output, set = "molecules";
  std::string group;    ///< H5MD particles group; empty: the only one
  std::string charges;  ///< PQR file with those of a trajectory that has none; empty: it has them
  std::optional<std::array<std::int64_t, 3>> shape;
  std::optional<double> spacing;                ///< angstrom
  std::optional<std::array<double, 3>> origin;  ///< angstrom
  double margin = 5;                            ///< angstrom
  LatticePlacement placement = LatticePlacement::common;
  PotentialUnit unit = PotentialUnit::volt;
  double temperature = default_temperature_kelvin;
  AskedOfCharges asked;
  SignalImport signal;
  std::vector<std::string> given;  ///< names of options of charges or signals that were given, and --set
  bool overwrite = false, json = false;
};

struct ReportOptions {
  std::string results, output;
  std::string problems;  ///< whose charges are drawn on the maps; empty: none
  bool overwrite = false, json = false;
};

struct ExportOptions {
  std::string results, output, set;  ///< an empty set means the only one
  std::string problems;              ///< for the atoms of a cube file
  std::int64_t index = 0;
  int axis = 2;                        ///< of a picture: 0 x, 1 y, 2 z
  std::optional<std::int64_t> slice;   ///< of a picture; the middle by default
  std::vector<std::string> of_slices;  ///< --axis and --slice, where they were given
  bool overwrite = false, json = false;
};

/// Nothing to do but to print this on stdout: help or version.
struct PrintText {
  std::string text;
  bool is_refusal = false;  ///< nobody asked for it: the call names no command
};

using AnyCommand =
    std::variant<PrintText, RunOptions, MergeOptions, InfoOptions, DevicesOptions, VerifyOptions, GenerateSpdOptions,
                 GenerateChargesOptions, GenerateSignalOptions, ImportOptions, ExportOptions, ReportOptions>;

struct Invocation {
  AnyCommand command;
  Verbosity verbosity = Verbosity::normal;
  std::string log_file;      ///< empty: none
  std::string command_line;  ///< as a shell reads it, for provenance
};

/// Throws Error(usage) with a sentence that says what to type instead.
Invocation parse_options(int argc, const char* const* argv);

}  // namespace smallbatch
