#include <algorithm>
#include <sstream>
#include <utility>

#include "app/commands.hpp"
#include "app/cut_into_blocks.hpp"
#include "app/interruption.hpp"
#include "app/logging.hpp"
#include "app/report.hpp"
#include "app/version.hpp"
#include "io/problem_writer.hpp"
#include "physics/charge_sets.hpp"
#include "solvers/spd_families.hpp"

namespace smallbatch {

namespace {

constexpr std::int64_t block_bytes = std::int64_t{64} << 20;

void note_origin(ProblemWriter& writer, const std::string& command_line) {
  writer.provenance("program", std::string("smallbatch ") + version_text);
  writer.provenance("command_line", command_line);
}

template <class T>
void write_systems(ProblemWriter& writer, const SolveSet& set, const GenerateSpdOptions& options) {
  Progress progress("generate", static_cast<double>(set.batch));
  SpdBlock<T> block;
  for (const SystemRange& range : cut_into_blocks(set, block_bytes)) {
    stop_if_interrupted();
    block.resize(set.shape, range.count);
    block.first = range.first;
    generate_spd(options.family, set.shape, options.condition, options.seed, range.first, range.count, block.a.data(),
                 block.b.data());
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
  set.rhs_is_vector = options.shape.nrhs == 1;
  set.batch = options.batch;
  ProblemWriter writer(options.output, options.overwrite);
  writer.add(set);
  if (set.type == ScalarType::float32)
    write_systems<float>(writer, set, options);
  else
    write_systems<double>(writer, set, options);
  note_origin(writer, command_line);
  writer.commit();
  std::ostringstream text;
  text << options.output << ": solve/" << set.name << ", " << shape_words(set) << ", family "
       << spd_family_name(options.family) << ", condition " << options.condition << ", seed " << options.seed << "\n";
  return text.str();
}

std::string generate(const GenerateChargesOptions& options, const std::string& command_line) {
  PotentialSet set;
  set.name = options.set;
  set.batch = options.batch;
  set.output_unit = options.unit;
  ask(set, options.asked);
  RandomCharges wanted;  // in the box that shape and spacing span
  wanted.count = options.charges;
  for (const auto& [axis, points] :
       {std::pair{0, options.shape.nx}, std::pair{1, options.shape.ny}, std::pair{2, options.shape.nz}})
    wanted.edges[axis] = static_cast<double>(std::max<std::int64_t>(1, points - 1)) * options.spacing;
  for (std::int64_t p = 0; p <= set.batch; ++p) set.offset.push_back(p * options.charges);
  const bool on_lattice = set.targets == TargetKind::lattice;
  if (on_lattice) set.shape = options.shape;
  for (std::int64_t p = 0; on_lattice && p < set.batch; ++p) {
    set.origin.insert(set.origin.end(), {0, 0, 0});
    set.spacing.insert(set.spacing.end(), 3, options.spacing);
  }
  ProblemWriter writer(options.output, options.overwrite);
  writer.add(set);
  Progress progress("generate", static_cast<double>(set.charges()));
  for (std::int64_t p = 0; p < set.batch; ++p) {
    stop_if_interrupted();
    const ChargeSet made = random_charges(options.seed, p, wanted);
    writer.write_charges(set, set.offset[static_cast<std::size_t>(p)], made.position, made.charge);
    progress.advance(static_cast<double>(options.charges));
  }
  note_origin(writer, command_line);
  writer.commit();
  std::ostringstream text;
  text << options.output << ": potential/" << set.name << ", " << shape_words(set);
  if (on_lattice) text << ", spacing " << options.spacing << " angstrom";
  text << ", seed " << options.seed << "\n";
  return text.str();
}

}  // namespace smallbatch
