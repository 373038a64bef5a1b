// The command line, through CLI11: the one file that knows it.
#include "app/options.hpp"

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <map>
#include <sstream>
#include <type_traits>

#include "app/version.hpp"
#include "core/error.hpp"

namespace smallbatch {

namespace {

constexpr const char* exit_code_help =
    "Exit codes: 0 done, and what was verified agrees; 1 written, but some systems failed or disagreed with the "
    "referee; 2 usage;\n"
    "3 bad input; 4 missing file; 5 no such GPU; 6 out of memory; 7 output exists or cannot be written; 70 internal;\n"
    "130 interrupted.\n"
    "Results and help go to stdout, everything else to stderr. NO_COLOR is respected.";

/// The whole of `text` as a number of type T, or nothing.
template <class T>
std::optional<T> parse_number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if constexpr (std::is_floating_point_v<T>)
    if (!std::isfinite(value)) return std::nullopt;
  return value;
}

[[noreturn]] void refuse(const std::string& option, const std::string& found, const std::string& expected) {
  throw Error(ErrorKind::usage, option + " cannot be '" + found + "'", "expected " + expected,
              "See smallbatch --help.");
}

DeviceRequest parse_device(const std::string& text) {
  using Kind = DeviceRequest::Kind;
  if (text == "auto") return {Kind::automatic, 0};
  if (text == "cpu") return {Kind::cpu, 0};
  if (text == "reference") return {Kind::reference, 0};
  if (text == "cuda") return {Kind::cuda, 0};
  if (text.starts_with("cuda:")) {
    const auto index = parse_number<int>(std::string_view(text).substr(5));
    if (index && *index >= 0) return {Kind::cuda, *index};
  }
  refuse("--device", text, "auto, cpu, cuda, cuda:K or reference");
}

VerifyMode parse_verify(const std::string& text) {
  using Kind = VerifyMode::Kind;
  if (text == "all") return {Kind::all, 0};
  if (text == "none") return {Kind::none, 0};
  if (text.starts_with("sample=")) {
    const auto count = parse_number<std::int64_t>(std::string_view(text).substr(7));
    if (count && *count > 0) return {Kind::sample, *count};
  }
  refuse("--verify", text, "all, none or sample=N with N > 0");
}

PotentialUnit parse_unit(const std::string& text) {
  if (const auto unit = parse_potential_unit(text)) return *unit;
  refuse("--unit", text, "volt, kT/e, kcal/mol/e or e/angstrom");
}

/// A name that can be a group of an HDF5 file.
void check_set_name(const std::string& name) {
  if (name.empty() || name == "." || name == ".." || name.find('/') != std::string::npos)
    refuse("--set", name, "a name without '/'");
}

/// "65,65,65" or "0.5" (the same for all three axes, where `one_for_all`).
template <class T>
std::array<T, 3> parse_three(const std::string& option, const std::string& text, bool one_for_all) {
  std::array<T, 3> values{};
  std::size_t found = 0;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    const auto value = parse_number<T>(part);
    if (!value || found == 3) refuse(option, text, "three numbers, as in 1,2,3");
    values[found++] = *value;
  }
  if (one_for_all && found == 1) return {values[0], values[0], values[0]};
  if (found != 3 || text.back() == ',') refuse(option, text, "three numbers, as in 1,2,3");
  return values;
}

/// Options whose text needs a second look, kept until CLI11 is done.
struct RawText {
  std::string device = "auto", verify = "all", singular = "inf", precision = "single";
  std::string method = "auto", instruction_set = "best";
  std::string type = "float32", storage = "dense", uplo = "both", compute = "solution", family = "random";
  std::string targets = "lattice";
  std::string unit = "volt", shape, spacing, origin, placement = "common", axis = "z";
};

LatticeShape shape_from(const std::string& text) {
  const auto s = parse_three<std::int64_t>("--shape", text, true);
  constexpr std::int64_t most = 1 << 20;  // of an axis: a lattice of 2^60 points is enough, and no product overflows
  for (const std::int64_t points : s)
    if (points < 1 || points > most) refuse("--shape", text, "three numbers of points, each from 1 to 1048576");
  return {s[0], s[1], s[2]};
}

template <class T>
CLI::Option* add_choice(CLI::App* app, const std::string& name, std::string& target,
                        const std::vector<std::string>& choices, const std::string& help, T group) {
  return app->add_option(name, target, help)->check(CLI::IsMember(choices))->capture_default_str()->group(group);
}

/// What a problem file of charges may ask for; `finish_asked` reads the targets and judges the numbers.
void add_asked(CLI::App* app, AskedOfCharges& asked, std::string& targets, const std::string& group) {
  add_choice(app, "--targets", targets, {"lattice", "charges"},
             "Where V is wanted: on a lattice, or at the charges, each without its own", group);
  app->add_flag("--field", asked.field, "E, too")->group(group);
  app->add_option("--softening", asked.softening, "Angstrom; 0: none")->capture_default_str()->group(group);
  app->add_option("--cutoff", asked.cutoff, "Angstrom; 0: none")->capture_default_str()->group(group);
  app->add_option("--dielectric", asked.dielectric, "Relative permittivity")->capture_default_str()->group(group);
}

/// Refuses numbers without sense, and `of_lattices`, options of a lattice, where V is wanted at the charges.
void finish_asked(const CLI::App* app, AskedOfCharges& asked, const std::string& targets,
                  const std::vector<std::string>& of_lattices) {
  for (const auto& [option, length] : {std::pair{"--softening", asked.softening}, {"--cutoff", asked.cutoff}})
    if (!(length >= 0) || !std::isfinite(length)) refuse(option, std::to_string(length), "0, or a length in angstrom");
  if (!(asked.dielectric > 0) || !std::isfinite(asked.dielectric))
    refuse("--dielectric", std::to_string(asked.dielectric), "a number above 0");
  if (targets == "lattice") return;
  asked.targets = TargetKind::charges;
  for (const std::string& option : of_lattices)
    if (app->count(option) > 0) refuse("--targets", targets, "lattice where " + option + " is given");
}

}  // namespace

Invocation parse_options(int argc, const char* const* argv) {
  CLI::App app{
      "smallbatch: many small dense solves and electrostatic potentials, from HDF5 to HDF5, on a GPU or on all cores,\n"
      "every answer checked by a referee.\n\n"
      "First steps:\n"
      "  smallbatch generate spd -o problems.h5          a thousand 32x32 systems\n"
      "  smallbatch info problems.h5                     what the file holds\n"
      "  smallbatch run problems.h5 -o results.h5        solve, verify, write",
      "smallbatch"};
  app.footer(exit_code_help);
  app.require_subcommand(1);
  app.set_version_flag("--version", std::string("smallbatch ") + version_text + " (" + commit_text + ")");

  Invocation call;
  RawText raw;
  bool quiet = false, verbose = false;
  app.add_flag("-q,--quiet", quiet, "Errors alone on stderr");
  app.add_flag("-v,--verbose", verbose, "More on stderr");
  app.fallthrough();

  auto overwrite_flag = [](CLI::App* sub, bool& flag) {
    sub->add_flag("--overwrite", flag, "Replace the output where it exists")->group("Output");
  };
  auto json_flag = [](CLI::App* sub, bool& flag) {
    sub->add_flag("--json", flag, "The summary on stdout as JSON")->group("Output");
  };

  RunOptions run;
  CLI::App* run_app = app.add_subcommand("run", "Solve and evaluate every problem set of a file")->group("Work");
  run_app->add_option("problems", run.problems, "Problem file (HDF5)")->required()->group("Input");
  run_app->add_option("--device", raw.device, "auto, cpu, cuda[:K] or reference (Eigen)")
      ->capture_default_str()
      ->group("Computing");
  run_app->add_option("--threads", run.threads, "CPU threads; 0: one per core")
      ->check(CLI::Range(0U, 4096U))
      ->capture_default_str()
      ->group("Computing");
  add_choice(run_app, "--instruction-set", raw.instruction_set, {"best", "baseline", "avx2", "avx512"},
             "What the CPU computes with", "Computing")
      ->envname("SMALLBATCH_INSTRUCTION_SET");
  add_choice(run_app, "--method", raw.method, {"auto", "gauss_jordan", "ldlt", "mixed"}, "How systems are solved",
             "Computing");
  run_app
      ->add_option("--pivot-floor", run.spd.pivot_floor,
                   "Raise pivots below this fraction of their diagonal element to it or more; 0: never")
      ->capture_default_str()
      ->group("Computing");
  add_choice(run_app, "--precision", raw.precision, {"single", "double"}, "Arithmetic of potentials, and type of V",
             "Computing");
  add_choice(run_app, "--singular", raw.singular, {"inf", "skip"},
             "V at a lattice point that holds a charge: an infinity, or without that charge", "Computing");
  run_app->add_option("--block-mib", run.block_mib, "Size of the pieces that flow; three are in memory")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{65536}))
      ->capture_default_str()
      ->group("Computing");
  run_app->add_option("--verify", raw.verify, "all, sample=N (N per set) or none")
      ->capture_default_str()
      ->group("Verification");
  run_app->add_option("-o,--output", run.results, "Result file")->required()->group("Output");
  overwrite_flag(run_app, run.overwrite);
  json_flag(run_app, run.json);

  InfoOptions info;
  CLI::App* info_app =
      app.add_subcommand("info", "What a problem or result file holds, and what running it needs")->group("Look");
  info_app->add_option("file", info.file, "Problem or result file")->required()->group("Input");
  json_flag(info_app, info.json);

  VerifyOptions verify;
  CLI::App* verify_app =
      app.add_subcommand("verify", "Check a result file against its problem file again, with Eigen")->group("Look");
  verify_app->add_option("problems", verify.problems, "Problem file")->required()->group("Input");
  verify_app->add_option("results", verify.results, "Result file")->required()->group("Input");
  verify_app->add_option("--verify", raw.verify, "all or sample=N (N per set)")
      ->capture_default_str()
      ->group("Verification");
  verify_app->add_option("--threads", verify.threads, "CPU threads; 0: one per core")
      ->check(CLI::Range(0U, 4096U))
      ->capture_default_str()
      ->group("Verification");
  json_flag(verify_app, verify.json);

  CLI::App* generate_app = app.add_subcommand("generate", "Make a problem file")->group("Make and convert");
  generate_app->require_subcommand(1);
  GenerateSpdOptions spd;
  CLI::App* spd_app = generate_app->add_subcommand("spd", "Symmetric positive definite systems of a chosen family");
  std::string families = "Families:";
  std::vector<std::string> family_names;
  for (const auto& family : spd_families()) {
    families += "\n  " + std::string(family.name) + "  " + std::string(family.description);
    family_names.emplace_back(family.name);
  }
  spd_app->footer(families);
  spd_app->add_option("--batch", spd.batch, "Systems")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 40))
      ->capture_default_str()
      ->group("Problem");
  spd_app->add_option("--n", spd.shape.n, "Rows of A")
      ->check(CLI::Range(1, max_system_size))
      ->capture_default_str()
      ->group("Problem");
  spd_app->add_option("--nrhs", spd.shape.nrhs, "Right-hand sides; 0 asks for the inverse")
      ->check(CLI::Range(0, 1 << 20))
      ->capture_default_str()
      ->group("Problem");
  add_choice(spd_app, "--type", raw.type, {"float32", "float64"}, "Numbers", "Problem");
  add_choice(spd_app, "--storage", raw.storage, {"dense", "packed"}, "Whole matrices, or lower triangles by rows",
             "Problem");
  add_choice(spd_app, "--uplo", raw.uplo, {"both", "lower"}, "Triangles of dense matrices that are to be looked at",
             "Problem");
  add_choice(spd_app, "--compute", raw.compute, {"solution", "log_determinant"},
             "What is wanted: x (or the inverse), or ln det A alone", "Problem");
  add_choice(spd_app, "--family", raw.family, family_names, "Kind of matrix", "Problem");
  spd_app->add_option("--condition", spd.condition, "Condition number, where the family lets one choose")
      ->check(CLI::Range(1.0, 1e300))
      ->capture_default_str()
      ->group("Problem");
  spd_app->add_option("--seed", spd.seed, "Same seed, same numbers")->capture_default_str()->group("Problem");
  spd_app->add_option("--set", spd.set, "Name of the set")->capture_default_str()->group("Output");
  spd_app->add_option("-o,--output", spd.output, "Problem file")->required()->group("Output");
  overwrite_flag(spd_app, spd.overwrite);

  GenerateChargesOptions charges;
  CLI::App* charges_app =
      generate_app->add_subcommand("charges", "Random charges in a box that --shape and --spacing span");
  raw.shape = "64,64,64";
  charges_app->add_option("--batch", charges.batch, "Problems")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 32))
      ->capture_default_str()
      ->group("Problem");
  charges_app->add_option("--charges", charges.charges, "Charges per problem, neutral in sum")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 40))
      ->capture_default_str()
      ->group("Problem");
  charges_app->add_option("--shape", raw.shape, "Lattice points nx,ny,nz")->capture_default_str()->group("Problem");
  charges_app->add_option("--spacing", charges.spacing, "Angstrom")
      ->check(CLI::PositiveNumber)
      ->capture_default_str()
      ->group("Problem");
  charges_app->add_option("--unit", raw.unit, "Unit of V: volt, kT/e, kcal/mol/e, e/angstrom")
      ->capture_default_str()
      ->group("Problem");
  add_asked(charges_app, charges.asked, raw.targets, "Problem");
  charges_app->add_option("--seed", charges.seed, "Same seed, same numbers")->capture_default_str()->group("Problem");
  charges_app->add_option("--set", charges.set, "Name of the set")->capture_default_str()->group("Output");
  charges_app->add_option("-o,--output", charges.output, "Problem file")->required()->group("Output");
  overwrite_flag(charges_app, charges.overwrite);

  ImportOptions importing;
  std::string import_shape;
  CLI::App* import_app = app.add_subcommand("import", "Make a problem file from PQR files or an H5MD trajectory")
                             ->group("Make and convert");
  import_app->add_option("files", importing.inputs, "PQR files, a problem each; or one H5MD file, a problem per frame")
      ->required()
      ->group("Input");
  import_app->add_option("--group", importing.group, "H5MD particles group; the only one by default")->group("Input");
  import_app->add_option("--shape", import_shape, "Lattice points nx,ny,nz (default 65,65,65, or from --spacing)")
      ->group("Lattice");
  import_app->add_option("--spacing", raw.spacing, "Angstrom (default: from the box and --shape)")->group("Lattice");
  import_app->add_option("--origin", raw.origin, "Angstrom x,y,z (default: centred on the charges)")->group("Lattice");
  import_app->add_option("--margin", importing.margin, "Angstrom around the charges")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str()
      ->group("Lattice");
  add_choice(import_app, "--lattice", raw.placement, {"common", "each"},
             "One lattice around all problems, or one around each", "Lattice");
  import_app->add_option("--unit", raw.unit, "Unit of V: volt, kT/e, kcal/mol/e, e/angstrom")
      ->capture_default_str()
      ->group("Output");
  import_app->add_option("--temperature", importing.temperature, "Kelvin, for kT/e")
      ->check(CLI::PositiveNumber)
      ->capture_default_str()
      ->group("Output");
  add_asked(import_app, importing.asked, raw.targets, "Output");
  import_app->add_option("--set", importing.set, "Name of the set")->capture_default_str()->group("Output");
  import_app->add_option("-o,--output", importing.output, "Problem file")->required()->group("Output");
  overwrite_flag(import_app, importing.overwrite);

  ExportOptions exporting;
  CLI::App* export_app = app.add_subcommand("export", "Write one map of a result file as OpenDX, cube or a picture")
                             ->group("Make and convert");
  export_app->add_option("results", exporting.results, "Result file")->required()->group("Input");
  export_app->add_option("--set", exporting.set, "Potential set; the only one by default")->group("Input");
  export_app->add_option("--index", exporting.index, "Problem within the set")->capture_default_str()->group("Input");
  export_app->add_option("--problems", exporting.problems, "Problem file, whose charges become a cube file's atoms")
      ->group("Input");
  add_choice(export_app, "--axis", raw.axis, {"x", "y", "z"}, "Picture: the axis that the slice is across", "Picture");
  export_app->add_option("--slice", exporting.slice, "Picture: index along the axis (default: the middle)")
      ->group("Picture");
  export_app->add_option("-o,--output", exporting.output, "File ending in .dx, .cube or .png")
      ->required()
      ->group("Output");
  overwrite_flag(export_app, exporting.overwrite);

  for (int i = 0; i < argc; ++i) call.command_line += (i == 0 ? "" : " ") + std::string(argv[i]);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& wanted) {  // --help, --version
    std::ostringstream text, unused;
    app.exit(wanted, text, unused);
    std::string shown = text.str();
    if (shown.empty() || shown.back() != '\n') shown += '\n';
    call.command = PrintText{shown};
    return call;
  } catch (const CLI::ParseError& problem) {
    throw Error(ErrorKind::usage, std::string(problem.what()) + ". See smallbatch --help.");
  }

  call.verbosity = quiet ? Verbosity::quiet : verbose ? Verbosity::verbose : Verbosity::normal;
  if (run_app->parsed()) {
    run.device = parse_device(raw.device);
    run.verify = parse_verify(raw.verify);
    run.spd.method = *parse_spd_method(raw.method);
    run.instruction_set = *parse_instruction_set(raw.instruction_set);
    if (!(run.spd.pivot_floor >= 0 && run.spd.pivot_floor < 1))
      refuse("--pivot-floor", std::to_string(run.spd.pivot_floor), "0, or a fraction below 1");
    run.singular = raw.singular == "inf" ? Singular::infinite : Singular::skip;
    run.precision = raw.precision == "single" ? ScalarType::float32 : ScalarType::float64;
    call.command = run;
  } else if (info_app->parsed()) {
    call.command = info;
  } else if (verify_app->parsed()) {
    verify.mode = parse_verify(raw.verify);
    if (verify.mode.kind == VerifyMode::Kind::none) refuse("--verify", raw.verify, "all or sample=N with N > 0");
    call.command = verify;
  } else if (spd_app->parsed()) {
    spd.type = raw.type == "float32" ? ScalarType::float32 : ScalarType::float64;
    spd.shape.storage = raw.storage == "packed" ? Storage::packed_lower
                        : raw.uplo == "lower"   ? Storage::dense_lower
                                                : Storage::dense;
    if (raw.storage == "packed" && raw.uplo == "lower")
      refuse("--uplo", raw.uplo, "nothing with --storage packed, where triangles are lower ones");
    spd.shape.determinant_only = raw.compute == "log_determinant";
    if (spd.shape.determinant_only && spd_app->count("--nrhs") > 0)
      refuse("--nrhs", std::to_string(spd.shape.nrhs), "nothing with --compute log_determinant");
    if (spd.shape.determinant_only) spd.shape.nrhs = 0;
    spd.family = *parse_spd_family(raw.family);
    check_set_name(spd.set);
    call.command = spd;
  } else if (charges_app->parsed()) {
    charges.shape = shape_from(raw.shape);
    check_set_name(charges.set);
    if (charges.charges > 0 && charges.batch > (std::int64_t{1} << 40) / charges.charges)
      refuse("--batch", std::to_string(charges.batch), "at most 2^40 charges altogether");
    charges.unit = parse_unit(raw.unit);
    finish_asked(charges_app, charges.asked, raw.targets, {});
    call.command = charges;
  } else if (import_app->parsed()) {
    if (!import_shape.empty()) {
      const LatticeShape s = shape_from(import_shape);
      importing.shape = {s.nx, s.ny, s.nz};
    }
    if (!raw.spacing.empty()) {
      importing.spacing = parse_number<double>(raw.spacing);
      if (!importing.spacing || !(*importing.spacing > 0))
        refuse("--spacing", raw.spacing, "a length above 0 in angstrom");
    }
    if (!raw.origin.empty()) importing.origin = parse_three<double>("--origin", raw.origin, false);
    importing.placement = raw.placement == "common" ? LatticePlacement::common : LatticePlacement::each;
    importing.unit = parse_unit(raw.unit);
    check_set_name(importing.set);
    finish_asked(import_app, importing.asked, raw.targets,
                 {"--shape", "--spacing", "--origin", "--margin", "--lattice"});
    call.command = importing;
  } else {
    exporting.axis = raw.axis == "x" ? 0 : raw.axis == "y" ? 1 : 2;
    call.command = exporting;
  }
  return call;
}

}  // namespace smallbatch
