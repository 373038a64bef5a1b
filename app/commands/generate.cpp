#include <algorithm>
#include <cmath>
#include <type_traits>
#include <utility>

#include "app/cli/interruption.hpp"
#include "app/cli/json_text.hpp"
#include "app/cli/logging.hpp"
#include "app/commands/commands.hpp"
#include "app/report/provenance.hpp"
#include "app/report/set_json.hpp"
#include "app/run/cut_into_blocks.hpp"
#include "core/text_streams.hpp"
#include "core/visible_text.hpp"
#include "io/problem_writer.hpp"
#include "physics/charges/charge_sets.hpp"
#include "physics/correlations/signal_model.hpp"
#include "physics/hashed_numbers.hpp"
#include "solvers/spd_families.hpp"

namespace smallbatch {

namespace {

constexpr std::int64_t block_bytes = std::int64_t{64} << 20;

template <class T>
void write_systems(ProblemWriter& writer, const SolveSet& set, const GenerateSpdOptions& options) {
  Progress progress("generate", static_cast<double>(set.batch));
  SpdBlock<T> block;
  for (const SystemRange& range : cut_into_blocks(set, block_bytes)) {
    stop_if_interrupted();
    block.resize(set.shape, range.count);
    block.first = range.first;
    if (set.shape.has_sizes)
      generate_sizes(options.sizes[0], options.sizes[1], options.seed, range.first, range.count, block.sizes.data());
    generate_spd(options.family, set.shape, options.condition, options.seed, range.first, range.count, block.a.data(),
                 block.b.data(), block.batch().sizes);
    writer.write(set, block);
    progress.advance(static_cast<double>(range.count));
  }
}

}  // namespace

std::string generate(const GenerateSpdOptions& options, const std::string& command_line) {
  SolveSet set;
  set.name = options.set;
  set.type = options.type;
  set.shape = options.shape;
  set.is_upper = options.is_upper;
  set.rhs_is_vector = options.shape.nrhs == 1;
  set.batch = options.batch;
  ProblemWriter writer(options.output, options.overwrite);
  writer.add(set);
  if (set.type == ScalarType::float32)
    write_systems<float>(writer, set, options);
  else
    write_systems<double>(writer, set, options);
  write_origin(writer, command_line);
  writer.commit();
  const bool has_condition = describe_spd_family(options.family).takes_condition;
  if (options.json) {
    SetJson made = json_of_made(options, set);
    made["family"] = spd_family_name(options.family);
    made["condition"] = has_condition ? SetJson(options.condition) : SetJson(nullptr);
    return json_text(made);
  }
  TextWriter text;
  text << visible_text(options.output) << ": solve/" << set.name << ", " << shape_words(set);
  if (set.shape.has_sizes) text << ", sizes " << options.sizes[0] << " to " << options.sizes[1];
  text << ", family " << spd_family_name(options.family);
  if (has_condition) text << ", condition " << options.condition;
  text << ", seed " << options.seed << "\n";
  return text.str();
}

namespace {

/// Writes a problem file with the charges of all problems of `set`. Returns the text for stdout.
template <class Set>
std::string write_problems(const Set& set, const GenerateChargesOptions& options, const std::string& command_line,
                           const std::string& spacing) {
  RandomCharges wanted;  // in the box that shape and spacing span
  wanted.count = options.charges;
  for (const auto& [axis, points] :
       {std::pair{0, options.shape.nx}, std::pair{1, options.shape.ny}, std::pair{2, options.shape.nz}})
    wanted.edges[axis] = static_cast<double>(std::max<std::int64_t>(1, points - 1)) * options.spacing;
  std::vector<std::int8_t> group(static_cast<std::size_t>(set.has_groups ? options.charges : 0), 2);
  std::fill(group.begin(), group.begin() + static_cast<std::int64_t>(group.size()) / 2, std::int8_t{1});
  ProblemWriter writer(options.output, options.overwrite);
  writer.add(set);
  Progress progress("generate", static_cast<double>(set.charges()));
  for (std::int64_t p = 0; p < set.batch; ++p) {
    stop_if_interrupted();
    const std::int64_t first = set.offset[static_cast<std::size_t>(p)];
    const ChargeSet made = random_charges(options.seed, p, wanted);
    writer.write_charges(set, first, made.position, made.charge);
    if constexpr (std::is_same_v<Set, PairEnergySet>)
      if (set.has_groups) writer.write_groups(set, first, group);
    progress.advance(static_cast<double>(options.charges));
  }
  write_origin(writer, command_line);
  writer.commit();
  if (options.json) return json_text(json_of_made(options, set));
  TextWriter text;
  text << visible_text(options.output) << ": " << Set::kind << "/" << set.name << ", " << shape_words(set) << spacing
       << ", seed " << options.seed << "\n";
  return text.str();
}

/// Flags a fraction of a block's samples at random.
void flag_some(double fraction, std::uint64_t seed, SignalBlock& block) {
  const auto most = static_cast<std::uint64_t>(std::ldexp(fraction, 32));
  for (std::int64_t c = 0; c < block.channels; ++c) {
    constexpr std::uint64_t of_flags = ~std::uint64_t{0};  // a stream that no source uses
    const HashedStream stream(seed, block.first + c, of_flags);
    for (std::int64_t k = 0; k < block.times * block.inputs; ++k)
      block.flag[static_cast<std::size_t>(c * block.times * block.inputs + k)] =
          (stream.bits(block.first_time * block.inputs + k) >> 32U) < most ? 1 : 0;
  }
}

}  // namespace

std::string generate(const GenerateChargesOptions& options, const std::string& command_line) {
  const auto fill = [&](ChargesOfSet& set) {
    set.name = options.set;
    set.batch = options.batch;
    set.output_unit = options.unit;
    for (std::int64_t p = 0; p <= set.batch; ++p) set.offset.push_back(p * options.charges);
  };
  if (options.pair_energy) {
    PairEnergySet set;
    fill(set);
    ask(set, options.asked);
    set.per_charge = options.per_charge;
    set.has_groups = options.groups;
    return write_problems(set, options, command_line, "");
  }
  PotentialSet set;
  fill(set);
  ask(set, options.asked);
  const bool on_lattice = set.targets == TargetKind::lattice;
  if (on_lattice) set.shape = options.shape;
  for (std::int64_t p = 0; on_lattice && p < set.batch; ++p) {
    set.origin.insert(set.origin.end(), {0, 0, 0});
    set.spacing.insert(set.spacing.end(), 3, options.spacing);
  }
  TextWriter spacing;
  if (on_lattice) spacing << ", spacing " << options.spacing << " angstrom";
  return write_problems(set, options, command_line, spacing.str());
}

std::string generate(const GenerateSignalOptions& options, const std::string& command_line) {
  CorrelationSet set;
  set.name = options.set;
  set.type = options.type;
  set.batch = options.channels;
  set.times = options.times;
  set.inputs = options.inputs;
  const std::int64_t all = std::max<std::int64_t>(1, options.times);
  set.integrate = options.integrate == 0 ? all : std::min(options.integrate, all);
  set.is_mean = options.mean;
  set.has_flags = options.flagged > 0;
  set.sample_time = 1 / options.channel_width;
  SignalModel model;
  for (const double delay : options.delays) model.sources.push_back({1, delay * 1e-9});
  model.noise = options.noise;
  model.first_frequency = options.first_frequency;
  model.channel_width = options.channel_width;
  model.seed = options.seed;
  // Real and imaginary parts may be stored as integers. The scale then makes their root mean square about a quarter of
  // the largest integer, so few parts are clipped.
  const double power = options.noise * options.noise + static_cast<double>(options.delays.size());
  if (set.type != SampleType::complex_float32 && power > 0)
    model.scale = (set.type == SampleType::complex_int8 ? 25 : 2) / std::sqrt(power / 2);
  for (std::int64_t c = 0; c < set.batch; ++c)
    set.frequency.push_back(model.first_frequency + static_cast<double>(c) * model.channel_width);
  ProblemWriter writer(options.output, options.overwrite);
  writer.add(set);
  Progress progress("generate", static_cast<double>(set.batch) * static_cast<double>(set.times));
  SignalBlock block;
  for (const SignalRange& range : cut_into_blocks(set, block_bytes)) {
    stop_if_interrupted();
    block.type = set.type;
    block.inputs = set.inputs;
    take_range(range, block);
    block.resize_signal(set.has_flags);
    make_signal(model, block);
    if (set.has_flags) flag_some(options.flagged, options.seed, block);
    writer.write(set, block);
    progress.advance(static_cast<double>(range.channels) * static_cast<double>(range.times));
  }
  write_origin(writer, command_line);
  writer.commit();
  if (options.json) return json_text(json_of_made(options, set));
  TextWriter text;
  text << visible_text(options.output) << ": correlation/" << set.name << ", " << shape_words(set) << ", "
       << options.delays.size() << (options.delays.size() == 1 ? " source" : " sources") << ", seed " << options.seed
       << "\n";
  return text.str();
}

}  // namespace smallbatch
