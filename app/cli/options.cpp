// The command line. One file, because its declarations stand in the order of the help. Each command is a class. Each
// option is declared in one place, with the functions of app/cli/command_declaration.hpp.
#include "app/cli/options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <initializer_list>
#include <iterator>
#include <string_view>
#include <type_traits>
#include <utility>

#include "app/cli/command_declaration.hpp"
#include "app/cli/completions.hpp"
#include "app/cli/exit_codes.hpp"
#include "app/cli/man_page.hpp"
#include "app/cli/option_texts.hpp"
#include "app/cli/output_check.hpp"
#include "app/cli/shell_text.hpp"
#include "app/cli/unknown_words.hpp"
#include "app/cli/version.hpp"
#include "core/error.hpp"
#include "core/instruction_sets.hpp"
#include "core/text_streams.hpp"
#include "io/interchange/lattice_export.hpp"
#include "io/interchange/uvh5.hpp"
#include "io/picture/visibility_picture.hpp"

namespace smallbatch {

namespace {

/// Returns the end of the program's help.
std::string closing_words() {
  std::string text = "Exit codes:\n";
  for (const auto& [code, meaning] : exit_code_meanings) {
    const std::string number = std::to_string(static_cast<int>(code));
    text += "  " + number + std::string(5 - number.size(), ' ') + meaning + "\n";
  }
  return text + "\n" + words_about_output;
}

class RunCommand final : public Command {
 public:
  explicit RunCommand(CLI::App& app)
      : Command(app, "run", "Compute every problem set of a file, verify the results and write them", "Compute") {
    examples({"run problems.h5 -o results.h5", "run problems.h5 -o results.h5 --resume",
              "run charges.h5 -o maps.h5 --precision float64 --singular skip",
              "run kernels.h5 -o weights.h5 --pivot-floor 1e-5 --verify sample=1000"});
    heading("Input");
    hdf5_input("problems", run_.problems, "Problem file (HDF5)");
    heading("Computing");
    text("--device", "auto", "auto, cpu, cuda, cuda:K, cuda:K,L,..., cuda:all or reference (Eigen)",
         [this](const std::string& device) { run_.device = parse_device(device); });
    threads(run_.threads);
    instruction_set(run_.instruction_set);
    choice("--method", run_.spd.method, choices_of({"auto", "gauss_jordan", "ldlt"}, parse_spd_method),
           "Method for solving systems");
    number("--pivot-floor", run_.spd.pivot_floor, {0, 1, false, true},
           "Raise smaller pivots to this fraction of their diagonal element, or more; 0: never", "1e-6");
    choice("--precision", run_.precision, {{"float32", ScalarType::float32}, {"float64", ScalarType::float64}},
           "Arithmetic of potentials and pair energies, and type of V (synonyms: single, double)");
    choice("--singular", run_.singular, {{"inf", Singular::infinite}, {"skip", Singular::skip}},
           "Terms at distance 0 (a charge where V is evaluated, or a pair at one position): infinite, or left out");
    text("--memory", "",
         "Memory of the blocks, such as 512MiB or 2GB (default: below 400 MiB, more with chunks or several GPUs)",
         [this](const std::string& memory) {
           if (is_given("--memory")) run_.memory = parse_memory(memory);
         })
        ->type_name("SIZE");
    text("--shard", "", "K/N: compute only share K of N of every set (smallbatch merge puts shares together)",
         [this](const std::string& share) {
           if (!is_given("--shard")) return;
           const auto found = parse_share(share);
           if (!found)
             refuse_option("--shard", share, "it is not K/N with 1 <= K <= N",
                           "Write which share of how many, such as 3/16.");
           run_.share = *found;
         });
    heading("Verification");
    text("--verify", "auto",
         "Answers that the referee checks: auto (all, or an affordable share), all, sample=N per set, none",
         [this](const std::string& mode) { run_.verify = parse_verify(mode); });
    heading("Output");
    hdf5_output(run_.results, run_.overwrite, "Result file");
    flag("--resume", run_.resume, "Continue this run where it was stopped, if it was");
    fail_on(run_.fail_on);
    flag("--dry-run", run_.dry_run, "Say what would be done; compute and write nothing");
    json_flag(run_.json);
  }

 private:
  [[nodiscard]] AnyCommand options() const override { return run_; }
  RunOptions run_;
};

class MergeCommand final : public Command {
 public:
  explicit MergeCommand(CLI::App& app)
      : Command(app, "merge", "Merge the results of all shares of a run (run --shard) into one file", "Compute") {
    examples({"run problems.h5 -o share1.h5 --shard 1/2", "run problems.h5 -o share2.h5 --shard 2/2",
              "merge share1.h5 share2.h5 -o merged.h5"});
    heading("Input");
    required("shares", merge_.shares, "Result files of all shares, in any order");
    add_check([this] {
      for (const std::string& share : merge_.shares) check_hdf5_input(share);
    });
    heading("Output");
    hdf5_output(merge_.output, merge_.overwrite, "Result file");
    fail_on(merge_.fail_on);
    json_flag(merge_.json);
  }

 private:
  [[nodiscard]] AnyCommand options() const override { return merge_; }
  MergeOptions merge_;
};

class InfoCommand final : public Command {
 public:
  explicit InfoCommand(CLI::App& app)
      : Command(app, "info", "Show what a problem or result file holds, and what running it needs", "Inspect") {
    examples({"info problems.h5", "info results.h5 --check"});
    heading("Input");
    hdf5_input("file", info_.file, "Problem or result file");
    heading("Verification");
    flag("--check", info_.check, "Compare every byte of a result file with its checksums, and name the changed places");
    heading("Output");
    json_flag(info_.json);
  }

 private:
  [[nodiscard]] AnyCommand options() const override { return info_; }
  InfoOptions info_;
};

class DevicesCommand final : public Command {
 public:
  explicit DevicesCommand(CLI::App& app)
      : Command(app, "devices", "List the GPUs and the CPU that can compute", "Inspect") {
    examples({"devices"});
    heading("Computing");
    threads(devices_.threads);
    instruction_set(devices_.instruction_set);
    heading("Output");
    json_flag(devices_.json);
  }

 private:
  [[nodiscard]] AnyCommand options() const override { return devices_; }
  DevicesOptions devices_;
};

class VerifyCommand final : public Command {
 public:
  explicit VerifyCommand(CLI::App& app)
      : Command(app, "verify", "Verify a result file again: answers with the referee, bytes with the checksums",
                "Inspect") {
    examples({"verify problems.h5 results.h5", "verify problems.h5 results.h5 --verify sample=100"});
    heading("Input");
    hdf5_input("problems", verify_.problems, "Problem file");
    hdf5_input("results", verify_.results, "Result file");
    heading("Verification");
    text("--verify", "all", "Answers that the referee checks: all, or sample=N per set",
         [this](const std::string& mode) {
           verify_.mode = parse_verify(mode);
           const bool some =
               verify_.mode.kind == VerifyMode::Kind::all || verify_.mode.kind == VerifyMode::Kind::sample;
           if (!some)
             refuse_option("--verify", mode, "verify must check some answers",
                           "Write all, or how many answers of each set, such as sample=1000.");
         });
    threads(verify_.threads);
    heading("Output");
    fail_on(verify_.fail_on);
    json_flag(verify_.json);
  }

 private:
  [[nodiscard]] AnyCommand options() const override { return verify_; }
  VerifyOptions verify_;
};

class ReportCommand final : public Command {
 public:
  explicit ReportCommand(CLI::App& app) : Command(app, "report", "Make an HTML page about a result file", "Inspect") {
    examples({"report results.h5 -o report.html", "report maps.h5 -o maps.html --problems charges.h5"});
    heading("Input");
    hdf5_input("results", report_.results, "Result file");
    optional_file("--problems", report_.problems, "Problem file; its atoms are drawn on the maps");
    add_check([this] { check_hdf5_input(report_.problems); });
    without_default("--problem", report_.shown,
                    "Name or index of a problem to draw; may be given several times (default: the one with the largest "
                    "error)")
        ->allow_extra_args(false);
    without_default("--range", report_.range, "Ends of the colours of maps, and their unit, as '5 kT/e'");
    heading("Output");
    required("-o,--output", report_.output, "HTML file; it needs no other file and no network");
    add_check([this] { check_page_output(report_.output); });
    overwrite_flag(report_.overwrite);
    json_flag(report_.json);
  }

 private:
  [[nodiscard]] AnyCommand options() const override { return report_; }
  ReportOptions report_;
};

class GenerateSpdCommand final : public Command {
 public:
  explicit GenerateSpdCommand(CLI::App& generate)
      : Command(generate, "spd", "Symmetric positive definite systems of a chosen family", "") {
    std::string families = "Families:";
    std::vector<std::pair<std::string, SpdFamily>> named;
    for (const auto& family : spd_families()) {
      families += "\n  " + std::string(family.name) + "  " + std::string(family.description);
      named.emplace_back(family.name, family.family);
    }
    examples({"generate spd -o problems.h5 --batch 10000 --n 32 --condition 1e3",
              "generate spd -o kernels.h5 --n 48 --family gaussian_kernel --condition 1e9"},
             families);
    heading("Problem");
    number("--batch", spd_.batch, {0, std::int64_t{1} << 40}, "Number of systems");
    number("--n", spd_.shape.n, {1, max_system_size}, "Rows of A");
    text("--sizes,--size", "", "Rows of each system, drawn from LEAST:MOST, such as 8:32; A has MOST rows, or --n",
         [this](auto& text) {
           if (!is_given("--sizes")) return;
           spd_.sizes = parse_sizes(text);
           spd_.shape.has_sizes = true;
           if (!is_given("--n")) spd_.shape.n = spd_.sizes[1];
           if (spd_.shape.n < spd_.sizes[1])
             refuse_option("--sizes", text, "the most is more than --n " + std::to_string(spd_.shape.n),
                           "Leave out --n, or make it as large.");
         });
    number("--nrhs", spd_.shape.nrhs, {0, 1 << 20}, "Right-hand sides; 0: the inverse is wanted");
    choice("--type", spd_.type, {{"float32", ScalarType::float32}, {"float64", ScalarType::float64}},
           "Type of the numbers");
    choice("--storage", packed_, {{"dense", Uplo::both}, {"packed_lower", Uplo::lower}, {"packed_upper", Uplo::upper}},
           "Whole matrices, or triangles packed row by row");
    choice("--uplo", uplo_, {{"both", Uplo::both}, {"lower", Uplo::lower}, {"upper", Uplo::upper}},
           "Triangles of dense matrices that are read");
    add_check([this] {
      const bool is_packed = packed_ != Uplo::both;
      if (is_packed && is_given("--uplo")) refuse_option_with("--uplo", "packed triangles (--storage)");
      if (packed_ == Uplo::upper && is_given("--sizes"))
        refuse_option_with("--sizes", "--storage packed_upper, whose rows begin at other places for each size");
      spd_.is_upper = (is_packed ? packed_ : uplo_) == Uplo::upper;
      spd_.shape.storage = is_packed             ? Storage::packed_lower
                           : uplo_ == Uplo::both ? Storage::dense
                                                 : Storage::dense_lower;
    });
    choice("--compute", spd_.shape.determinant_only, {{"solution", false}, {"log_determinant", true}},
           "Wanted answer: x (or the inverse), or only ln det A");
    add_check([this] {
      if (!spd_.shape.determinant_only) return;
      if (is_given("--nrhs")) refuse_option_with("--nrhs", "--compute log_determinant");
      spd_.shape.nrhs = 0;
    });
    choice("--family", spd_.family, named, "Family of matrices (listed below)");
    number("--condition", spd_.condition, {1, 1e300}, "Condition number, for families that let you choose it");
    number("--seed", spd_.seed, {}, "Seed; equal seeds give equal numbers");
    add_check([this] {
      const auto& family = describe_spd_family(spd_.family);
      const std::string with = "--family " + std::string(family.name);
      if (!family.takes_condition && is_given("--condition"))
        refuse_option_with("--condition", with + ", whose condition number is fixed");
      if (!family.is_random && spd_.shape.nrhs == 0 && !spd_.shape.has_sizes && is_given("--seed"))
        refuse_option_with("--seed", with + ", which has no random numbers without right-hand sides");
    });
    heading("Output");
    option("--set", spd_.set, "Name of the set");
    add_check([this] { check_set_name(spd_.set); });
    hdf5_output(spd_.output, spd_.overwrite, "Problem file");
    json_flag(spd_.json);
  }

 private:
  [[nodiscard]] AnyCommand options() const override { return spd_; }
  GenerateSpdOptions spd_;
  enum class Uplo { both, lower, upper };
  Uplo packed_ = Uplo::both, uplo_ = Uplo::both;  ///< which triangles the file stores; packed_ == both: dense
};

/// Options of the commands that make a problem file of charges.
class ChargesCommand : public Command {
 protected:
  using Command::Command;

  void unit_of_potential(PotentialUnit& unit) {
    text("--unit", potential_unit_name(unit), "Unit of V: " + potential_unit_names(),
         [&unit](const std::string& name) { unit = parse_unit(name); });
  }

  /// Declares the options of AskedOfCharges. `of_lattices` names the options that describe a lattice. These options are
  /// refused with --targets charges.
  void asked_of_charges(AskedOfCharges& asked, const std::vector<std::string>& of_lattices) {
    choice("--targets", asked.targets, {{"lattice", TargetKind::lattice}, {"charges", TargetKind::charges}},
           "Where V is wanted: on a lattice, or at each charge, from all other charges");
    flag("--field", asked.field, "Also compute the field E");
    number("--softening", asked.softening, from_0_on, "Softening length, angstrom; 0: none", "0.5");
    number("--cutoff", asked.cutoff, from_0_on, "Cut-off distance, angstrom; 0: none", "12");
    number("--screening-length", asked.screening_length, from_0_on, "Screening length, angstrom; 0: none", "8");
    number("--width", asked.width, from_0_on, "Width of Gaussian charges, angstrom; 0: point charges", "0.6");
    number("--dielectric", asked.dielectric, above_0, "Relative permittivity", "78.4");
    add_check([this, &asked, of_lattices] {
      for (const std::string& option : of_lattices)
        if (asked.targets == TargetKind::charges && is_given(option))
          refuse_option_with(option, "--targets charges, where there is no lattice");
      for (const auto& [option, length] :
           {std::pair{"--softening", asked.softening}, {"--screening-length", asked.screening_length}})
        if (asked.width > 0 && length > 0) refuse_option_with(option, "--width");
    });
  }
};

class GenerateChargesCommand final : public ChargesCommand {
 public:
  explicit GenerateChargesCommand(CLI::App& generate)
      : ChargesCommand(generate, "charges", "Random charges in the box that --shape and --spacing span", "") {
    examples({"generate charges -o charges.h5 --charges 500 --shape 33",
              "generate charges -o pairs.h5 --charges 500 --pair-energy --per-charge"});
    heading("Problem");
    number("--batch", charges_.batch, {0, std::int64_t{1} << 32}, "Number of problems");
    number("--charges", charges_.charges, {0, std::int64_t{1} << 40}, "Charges per problem; their sum is 0");
    const auto& [nx, ny, nz] = charges_.shape;
    text("--shape", std::to_string(nx) + "," + std::to_string(ny) + "," + std::to_string(nz), "Lattice points nx,ny,nz",
         [this](const std::string& shape) { charges_.shape = parse_shape(shape); });
    number("--spacing", charges_.spacing, above_0, "Distance of lattice points, angstrom");
    unit_of_potential(charges_.unit);
    asked_of_charges(charges_.asked, {});
    flag("--pair-energy", charges_.pair_energy, "Ask for the energy of all pairs instead of V");
    flag("--per-charge", charges_.per_charge, "With --pair-energy: also the energy of each charge");
    flag("--groups", charges_.groups,
         "With --pair-energy: only pairs between the first and the second half of the charges");
    add_check([this] {
      for (const char* option : {"--targets", "--field"})
        if (charges_.pair_energy && is_given(option)) refuse_option_with(option, "--pair-energy");
      for (const char* option : {"--per-charge", "--groups"})
        if (!charges_.pair_energy && is_given(option))
          throw Error(ErrorKind::usage, std::string(option) + " cannot be given alone",
                      "it applies only to pair energies", "Add --pair-energy.");
    });
    number("--seed", charges_.seed, {}, "Seed; equal seeds give equal numbers");
    heading("Output");
    option("--set", charges_.set, "Name of the set");
    add_check([this] {
      check_set_name(charges_.set);
      if (charges_.charges > 0 && charges_.batch > (std::int64_t{1} << 40) / charges_.charges)
        refuse_option("--batch", std::to_string(charges_.batch),
                      "with --charges " + std::to_string(charges_.charges) + " there are more than 2^40 charges",
                      "Ask for fewer.");
    });
    hdf5_output(charges_.output, charges_.overwrite, "Problem file");
    json_flag(charges_.json);
  }

 private:
  [[nodiscard]] AnyCommand options() const override { return charges_; }
  GenerateChargesOptions charges_;
};

class GenerateSignalCommand final : public Command {
 public:
  explicit GenerateSignalCommand(CLI::App& generate)
      : Command(generate, "signal", "Signals of some sources, received with noise by a row of inputs", "") {
    constexpr std::int64_t most = std::int64_t{1} << 40;
    examples({"generate signal -o signals.h5 --inputs 32 --channels 64 --type int8 --integrate 256"});
    heading("Problem");
    number("--channels", signal_.channels, {0, std::int64_t{1} << 32}, "Number of channels");
    number("--times", signal_.times, {0, most}, "Samples of each input in each channel");
    number("--inputs", signal_.inputs, {1, max_inputs}, "Number of inputs; each polarisation counts as one");
    choice("--type", signal_.type,
           {{"float32", SampleType::complex_float32},
            {"int8", SampleType::complex_int8},
            {"int4", SampleType::complex_int4}},
           "Type of the real and the imaginary part of a sample");
    number("--integrate", signal_.integrate, {0, most}, "Samples per integration; 0: all", "256");
    flag("--mean", signal_.mean, "Ask for means instead of sums");
    may_be_empty(text("--delays", "0,21.3", "Delay of each source from one input to the next, nanoseconds",
                      [this](const std::string& delays) { signal_.delays = parse_delays(delays); }));
    number("--noise", signal_.noise, {0, 1e6}, "Amplitude of the noise of each input; a source has 1");
    number("--flagged", signal_.flagged, {0, 1}, "Fraction of the samples that are flagged", "0.01");
    number("--first-frequency", signal_.first_frequency, {0, 1e15}, "Frequency of channel 0, Hz");
    number("--channel-width", signal_.channel_width, {1e-6, 1e12}, "Width of a channel, Hz");
    number("--seed", signal_.seed, {}, "Seed; equal seeds give equal numbers");
    heading("Output");
    option("--set", signal_.set, "Name of the set");
    add_check([this] {
      check_set_name(signal_.set);
      const std::int64_t samples = std::max<std::int64_t>(1, signal_.times) * signal_.inputs;
      if (signal_.channels > (std::int64_t{1} << 58) / samples)
        refuse_option("--channels", std::to_string(signal_.channels),
                      "with --times and --inputs there are more than 2^58 samples", "Ask for fewer.");
    });
    hdf5_output(signal_.output, signal_.overwrite, "Problem file");
    json_flag(signal_.json);
  }

 private:
  [[nodiscard]] AnyCommand options() const override { return signal_; }
  GenerateSignalOptions signal_;
};

class ImportCommand final : public ChargesCommand {
 public:
  explicit ImportCommand(CLI::App& app)
      : ChargesCommand(app, "import", "Make a problem file from PQR, H5MD or raw samples, or a result file from UVH5",
                       "Make and convert") {
    examples({"import molecule.pqr -o molecule.h5 --shape 65 --margin 6",
              "import molecule.pqr -o atoms.h5 --targets charges --field",
              "import samples.bin -o recorded.h5 --inputs 16 --channels 8 --samples int8"});
    heading("Input");
    required("files", import_.inputs,
             "PQR files (a problem each), an H5MD file (a problem per frame), a UVH5 file, or a raw file (--inputs)");
    option("--group", import_.group, "Particles group of the H5MD file (default: the only one)");
    optional_file("--charges", import_.charges,
                  "PQR file with the charges for an H5MD file that has none; atoms in the order of their ids");
    heading("Lattice");
    text("--shape", "", "Lattice points nx,ny,nz (default: 65,65,65, or from --spacing)",
         [this](const std::string& shape) {
           if (!is_given("--shape")) return;
           const LatticeShape s = parse_shape(shape);
           import_.shape = {s.nx, s.ny, s.nz};
         });
    text("--spacing", "", "Distance of lattice points, angstrom (default: from the box and --shape)",
         [this](const std::string& spacing) {
           if (is_given("--spacing")) import_.spacing = parse_spacing(spacing);
         });
    text("--origin", "", "First lattice point x,y,z, angstrom (default: lattice centred on the charges)",
         [this](const std::string& origin) {
           if (is_given("--origin")) import_.origin = parse_origin(origin);
         });
    number("--margin", import_.margin, from_0_on,
           "Distance from the outermost charges to the edge of the lattice, angstrom");
    choice("--lattice", import_.placement, {{"common", LatticePlacement::common}, {"each", LatticePlacement::each}},
           "One lattice around all problems, or one around each (all of one shape)");
    add_check([this] {
      const bool has_extent = is_given("--shape") && is_given("--spacing");
      if (has_extent && is_given("--margin"))
        refuse_option_with("--margin", "--shape and --spacing, which give the extent already");
      if (has_extent && is_given("--origin") && is_given("--lattice"))
        refuse_option_with("--lattice", "--shape, --spacing and --origin, which give one lattice already");
    });
    heading("Signals");
    signals();
    heading("Output");
    unit_of_potential(import_.unit);
    number("--temperature", import_.temperature, above_0, "Temperature for kT/e, kelvin");
    asked_of_charges(import_.asked, {"--shape", "--spacing", "--origin", "--margin", "--lattice"});
    option("--set", import_.set, "Name of the set");
    add_check([this] {
      if (import_.signal.samples.inputs > 0 && !is_given("--set")) import_.set = "signals";
      check_set_name(import_.set);
      for (const auto& names : {of_charges_, of_signals_, std::vector<std::string>{"--set"}})
        std::ranges::copy_if(names, std::back_inserter(import_.given), [this](auto& name) { return is_given(name); });
      if (is_given("--temperature") && import_.unit != PotentialUnit::kt_per_e)
        refuse_option("--unit", potential_unit_name(import_.unit), "--temperature applies only to kT/e",
                      "Write --unit kT/e, or leave out --temperature.");
    });
    hdf5_output(import_.output, import_.overwrite, "Problem file");
    json_flag(import_.json);
  }

 private:
  void signals() {
    SignalImport& signal = import_.signal;
    number("--inputs", signal.samples.inputs, {0, max_inputs}, "Inputs in a raw file; 0: the files hold charges", "16");
    number("--channels", signal.samples.channels, {1, 1 << 30}, "Channels in a raw file");
    choice("--samples", signal.samples.type,
           {{"float32", SampleType::complex_float32},
            {"int8", SampleType::complex_int8},
            {"int4", SampleType::complex_int4}},
           "Type of the real and the imaginary part; int4: the high and the low half of a byte");
    choice("--order", signal.samples.channels_first, {{"time,channel,input", false}, {"channel,time,input", true}},
           "Order of the samples in a raw file; the last index runs fastest");
    number("--integrate", signal.integrate, {0}, "Samples per integration; 0: all", "256");
    flag("--mean", signal.is_mean, "Ask for means instead of sums");
    number("--first-frequency", signal.first_frequency, {}, "Frequency of channel 0, Hz; with --channel-width",
           "1.4e9");
    number("--channel-width", signal.channel_width, from_0_on, "Width of a channel, Hz; 0: unknown", "1e5");
    number("--sample-time", signal.sample_time, from_0_on, "Time from one sample to the next, seconds; 0: unknown",
           "1e-5");
    number("--start-time", signal.start_time, from_0_on, "Start of the recording, Julian date; 0: unknown",
           "2460000.5");
    add_check([this] {
      const bool are_signals = import_.signal.samples.inputs > 0;
      if (is_given("--first-frequency") && import_.signal.channel_width == 0)
        throw Error(ErrorKind::usage, "--first-frequency cannot be given alone",
                    "without a width, the other channels have no frequency", "Add --channel-width, such as 1e5.");
      for (const std::string& name : of_signals_)
        if (!are_signals && is_given(name))
          throw Error(ErrorKind::usage, name + " cannot be given",
                      "it applies to samples, but without --inputs the files hold charges",
                      "Add --inputs, such as 16, or leave it out.");
      for (const std::string& name : of_charges_)
        if (are_signals && is_given(name)) refuse_option_with(name, "--inputs, because the file then holds samples");
    });
  }

  [[nodiscard]] AnyCommand options() const override { return import_; }
  ImportOptions import_;
  const std::vector<std::string> of_charges_{"--group",       "--charges",          "--shape",   "--spacing",
                                             "--origin",      "--margin",           "--lattice", "--unit",
                                             "--temperature", "--targets",          "--field",   "--softening",
                                             "--cutoff",      "--screening-length", "--width",   "--dielectric"};
  const std::vector<std::string> of_signals_{"--channels",      "--samples",     "--order",
                                             "--integrate",     "--mean",        "--first-frequency",
                                             "--channel-width", "--sample-time", "--start-time"};
};

class ExportCommand final : public Command {
 public:
  explicit ExportCommand(CLI::App& app)
      : Command(app, "export", "Export a map as OpenDX, cube or PNG, or visibilities as UVH5 or PNG",
                "Make and convert") {
    examples({"export maps.h5 -o map.dx", "export maps.h5 -o map.cube --problems charges.h5",
              "export maps.h5 -o slice.png --axis z"});
    heading("Input");
    hdf5_input("results", export_.results, "Result file");
    option("--set", export_.set, "Potential or correlation set (default: the only one)");
    number("--index", export_.index, {0}, "Problem within the set; for a picture of visibilities, the integration");
    optional_file("--problems", export_.problems, "Problem file; its charges become the atoms of a cube file");
    add_check([this] { check_hdf5_input(export_.problems); });
    heading("Picture");
    choice("--axis", export_.axis, {{"x", 0}, {"y", 1}, {"z", 2}}, "Axis at right angles to the slice of a map");
    limited<std::int64_t>(
        without_default("--slice", export_.slice, "Index of the slice along that axis (default: the middle)"), {0},
        "32");
    add_check([this] {
      for (const char* name : {"--axis", "--slice"})
        if (is_given(name)) export_.of_slices.emplace_back(name);
    });
    heading("Output");
    required("-o,--output", export_.output,
             "Output file; its ending chooses the format: " + map_endings("or") + " of a map; of visibilities " +
                 uvh5_ending + " or " + visibility_picture_ending);
    add_check([this] {
      check_export_output(export_.output);
      for (const auto& [name, ending] : {std::pair{"--axis", ".png"}, {"--slice", ".png"}, {"--problems", ".cube"}})
        if (is_given(name) && !export_.output.ends_with(ending))
          throw Error(ErrorKind::usage, std::string(name) + " cannot be given",
                      std::string("it applies to files ending in ") + ending + ", but the output is " + export_.output,
                      "Leave it out, or choose a name that ends in " + std::string(ending) + ".");
      if (is_given("--index") && export_.output.ends_with(uvh5_ending))
        refuse_option_with("--index", std::string(uvh5_ending) + ", which holds all integrations");
    });
    overwrite_flag(export_.overwrite);
    json_flag(export_.json);
  }

 private:
  [[nodiscard]] AnyCommand options() const override { return export_; }
  ExportOptions export_;
};

std::string ended(const std::string& text) { return text.ends_with('\n') ? text : text + '\n'; }

/// Prints the help of a command, the man page or completions.
class HelpCommand final : public Command {
 public:
  explicit HelpCommand(CLI::App& app)
      : Command(app, "help", "Show the help of a command, the man page, or completions for a shell", "Inspect"),
        app_(app) {
    examples({"help generate spd", "help --man", "help --completions bash"});
    heading("Input");
    without_default("command", commands_, "Command, such as generate spd (default: the whole program)");
    heading("Output");
    flag("--man", man_page_, "Print the man page smallbatch(1), in roff");
    choice("--completions", shell_, {{"bash", Shell::bash}, {"zsh", Shell::zsh}, {"fish", Shell::fish}},
           "Print a script that completes commands and options in this shell");
  }

 private:
  [[nodiscard]] AnyCommand options() const override {
    const bool is_of_all = man_page_ || shell_ != Shell::none;  // output that covers every command
    if (is_of_all && !commands_.empty())
      refuse_option_with(man_page_ ? "--man" : "--completions",
                         "the command " + commands_.front() + ", because it covers all commands");
    if (man_page_ && shell_ != Shell::none) refuse_option_with("--completions", "--man");
    if (man_page_) return PrintText{man_page(describe(app_))};
    if (shell_ != Shell::none) return PrintText{completions(describe(app_), shell_)};
    const CLI::App* wanted = &app_;
    std::string typed = app_.get_name();
    for (const std::string& name : commands_) {
      const auto inner = wanted->get_subcommands([&](const CLI::App* known) { return known->get_name() == name; });
      const auto has_none = [](const CLI::App* command) {
        return command->get_subcommands([](const CLI::App*) { return true; }).empty();
      };
      if (inner.empty() && has_none(wanted)) {
        const std::string outer = typed.substr(typed.find(' ') + 1);
        const auto alone = app_.get_subcommands([&](const CLI::App* known) { return known->get_name() == name; });
        throw Error(ErrorKind::usage, "help shows one command at a time", outer + " has no command '" + name + "'",
                    "Type smallbatch help " + outer + (alone.empty() ? "." : ", or smallbatch help " + name + "."));
      }
      if (inner.empty()) {
        CommandDescription outer = describe(*wanted);
        outer.name = typed;
        throw Error(ErrorKind::usage, sentence_about({{name}, {}, {name}}, outer, ""));
      }
      wanted = inner.front();
      typed += " " + name;
    }
    return PrintText{ended(wanted->get_formatter()->make_help(wanted, typed, CLI::AppFormatMode::Normal))};
  }

  const CLI::App& app_;
  std::vector<std::string> commands_;
  bool man_page_ = false;
  Shell shell_ = Shell::none;
};

RefusedCall refused_call(const CLI::App& app, int argc, const char* const* argv) {
  RefusedCall call{{argv + std::min(argc, 1), argv + argc}, {}, app.remaining(true)};
  for (const CLI::App* inner = &app; !inner->get_subcommands().empty();) {
    inner = inner->get_subcommands().front();
    call.commands.push_back(inner->get_name());
  }
  return call;
}

/// Names the environment variable in a message about an option's value, if the value came from there.
std::string with_environment(const CLI::App& app, const RefusedCall& call, const std::string& problem) {
  const CLI::App* command = &app;
  while (!command->get_subcommands().empty()) command = command->get_subcommands().front();
  for (const CLI::Option* option : command->get_options()) {
    const std::string name = option->get_name();
    const auto is_said = [&](const std::string& word) {
      const std::string value = word.starts_with(name + "=") ? word.substr(name.size() + 1) : word;
      return problem.starts_with(name + ": " + value + " ");
    };
    if (!option->get_envname().empty() && problem.starts_with(name + ": ") && std::ranges::none_of(call.words, is_said))
      return option->get_envname() + " as " + problem;
  }
  return problem;
}

/// Takes option values from the environment. CLI11 2.4 silently ignores a value from the environment that the option
/// refuses. This function refuses the value as it would on the command line.
void take_environment(CLI::App& app) {
  for (CLI::App* command : app.get_subcommands()) {
    for (CLI::Option* option : command->get_options()) {
      const std::string& name = option->get_envname();
      const char* value = name.empty() || option->count() > 0 ? nullptr : std::getenv(name.c_str());
      if (value == nullptr || *value == '\0') continue;
      option->add_result(value);
      option->run_callback();
    }
    take_environment(*command);
  }
}

/// Turns CLI11's "--threads: 1 required UINT:UINT in [0 - 4096] missing" into "--threads needs a value, and none
/// follows it".
std::string about_number_of_values(const std::string& problem) {
  const std::string option = problem.substr(0, problem.find(':'));
  if (problem.ends_with(" missing")) return option + " needs a value, and none follows it";
  if (problem.find("At Most 1 ") != std::string::npos) return option + " is given more than once. Give it once";
  return problem;
}

/// Turns CLI11's "Could not convert: --json = maybe" into "--json takes no value ('maybe' was given)...". Only flags
/// get here, because numbers are checked before.
std::string about_flag(const std::string& problem) {
  const std::size_t option = problem.find("--"), equals = problem.find(" = ");
  if (option == std::string::npos || equals == std::string::npos || equals < option) return problem;
  const std::string name = problem.substr(option, equals - option);
  return name + " takes no value ('" + problem.substr(equals + 3) + "' was given). Write " + name + " alone";
}

/// Refuses a log file that the command reads or writes, because log lines would damage it.
void refuse_log_file_of_command(const CLI::App& app, const std::string& file) {
  for (const CLI::App* command : app.get_subcommands()) {
    for (const CLI::Option* option : command->get_options())
      for (const std::string& path : option->get_type_name().starts_with("FILE") ? option->results() : CLI::results_t{})
        if (is_output_or_beside(file, path))
          throw Error(ErrorKind::usage, "the log file cannot be " + file,
                      "the command reads or writes it, so it would be damaged", "Name another file.");
    refuse_log_file_of_command(*command, file);
  }
}

}  // namespace

Invocation parse_options(int argc, const char* const* argv) {
  CLI::App app{
      "smallbatch: batches of small problems from file to file, on a GPU or on all CPU cores.\n"
      "Problems are symmetric positive definite systems, electrostatic potentials, pair energies of charges, and\n"
      "correlations of signals. Problem files and result files are HDF5. An independent implementation, the referee,\n"
      "checks the answers.\n\n"
      "First steps:\n"
      "  smallbatch generate spd -o problems.h5          a thousand 32x32 systems\n"
      "  smallbatch info problems.h5                     what the file holds\n"
      "  smallbatch run problems.h5 -o results.h5        solve, verify, write",
      "smallbatch"};
  app.footer(closing_words());
  app.require_subcommand(1);
  app.set_version_flag("--version", std::string("smallbatch ") + version_text + " (" + commit_text + ")");

  bool quiet = false, verbose = false;
  app.add_flag("-q,--quiet", quiet, "Print only errors on stderr, and a summary of one line on stdout");
  app.add_flag("-v,--verbose", verbose, "Print decisions and more details on stderr");
  std::string log_file;
  app.add_option("--log-file", log_file, "Append everything that goes to stderr to this file too, with the date")
      ->type_name("FILE");
  app.fallthrough();

  // The help lists the commands in this order.
  RunCommand run(app);
  MergeCommand merge(app);
  InfoCommand info(app);
  DevicesCommand devices(app);
  VerifyCommand verify(app);
  ReportCommand report(app);
  CLI::App* generate =
      app.add_subcommand("generate", "Make a problem file of random or well-known problems")->group("Make and convert");
  generate->require_subcommand(1)->footer(std::string("Example:\n  smallbatch generate spd -o problems.h5\n\n") +
                                          words_on_exit_codes);
  GenerateSpdCommand generate_spd(*generate);
  GenerateChargesCommand generate_charges(*generate);
  GenerateSignalCommand generate_signal(*generate);
  ImportCommand importing(app);
  ExportCommand exporting(app);
  HelpCommand help(app);

  Invocation call;
  for (int i = 0; i < argc; ++i) call.command_line += (i == 0 ? "" : " ") + shell_quoted(argv[i]);
  try {
    app.parse(argc, argv);
    take_environment(app);
  } catch (const CLI::Success& wanted) {  // --help, --version
    TextWriter text, unused;
    app.exit(wanted, text, unused);
    call.command = PrintText{ended(text.str())};
    return call;
  } catch (const CLI::ParseError& problem) {
    const RefusedCall refused = refused_call(app, argc, argv);
    const bool names_no_command = refused.commands.empty() || refused.commands.back() == "generate";
    if (names_no_command && refused.not_taken.empty()) {
      call.command = PrintText{ended(app.help()), true};
      return call;
    }
    std::string words;
    if (dynamic_cast<const CLI::ArgumentMismatch*>(&problem))
      words = about_number_of_values(problem.what());
    else if (dynamic_cast<const CLI::ConversionError*>(&problem))
      words = about_flag(problem.what());
    else
      words = with_environment(app, refused, problem.what());
    if (const std::size_t colon = words.find(": cannot be '"); colon < words.find(' ')) words.erase(colon, 1);
    throw Error(ErrorKind::usage, sentence_about(refused, describe(app), words));
  }

  if (quiet && verbose)
    throw Error(ErrorKind::usage, "-q cannot be given with -v", "-q asks for less output, -v for more",
                "Give only one of them.");
  if (app.count("--log-file") > 0 && log_file.empty()) refuse_empty_option("--log-file");
  call.verbosity = quiet ? Verbosity::quiet : verbose ? Verbosity::verbose : Verbosity::normal;
  call.log_file = log_file;
  refuse_log_file_of_command(app, log_file);
  for (Command* command :
       std::initializer_list<Command*>{&run, &merge, &info, &devices, &verify, &report, &generate_spd,
                                       &generate_charges, &generate_signal, &importing, &exporting, &help})
    if (command->is_called()) call.command = command->finish();
  return call;
}

}  // namespace smallbatch
