#include "app/set_json.hpp"

#include "app/outcome.hpp"
#include "core/units.hpp"

namespace smallbatch {

SetJson set_json(const SolveSet& set) {
  return {{"kind", "solve"},
          {"name", set.name},
          {"shape", shape_words(set)},
          {"batch", set.batch},
          {"n", set.shape.n},
          {"sizes", set.shape.has_sizes},
          {"nrhs", set.shape.nrhs},
          {"storage", set.shape.storage == Storage::packed_lower ? "packed_lower" : "dense"},
          {"uplo", set.shape.storage == Storage::dense ? "both" : "lower"},
          {"compute", set.shape.determinant_only  ? "log_determinant"
                      : set.shape.wants_inverse() ? "inverse"
                                                  : "solution"},
          {"type", set.type == ScalarType::float32 ? "float32" : "float64"}};
}

SetJson set_json(const PotentialSet& set) {
  SetJson json = {{"kind", "potential"},
                  {"name", set.name},
                  {"shape", shape_words(set)},
                  {"batch", set.batch},
                  {"targets", target_kind_name(set.targets)},
                  {"field", set.has_field},
                  {"energy", set.has_groups},
                  {"softening", set.softening},
                  {"cutoff", set.cutoff},
                  {"dielectric", set.dielectric},
                  {"output_unit", potential_unit_name(set.output_unit)}};
  if (set.targets == TargetKind::lattice)
    json["lattice"] = {set.shape.nx, set.shape.ny, set.shape.nz};
  else
    json["points"] = set.targets_before(set.batch);
  if (!set.offset.empty()) json["charges"] = set.charges();
  if (!set.particles.empty()) json["particles"] = set.particles;
  return json;
}

SetJson set_json(const PairEnergySet& set) {
  SetJson json = {{"kind", "pair_energy"},        {"name", set.name},
                  {"shape", shape_words(set)},    {"batch", set.batch},
                  {"groups", set.has_groups},     {"per_charge", set.per_charge},
                  {"softening", set.softening},   {"cutoff", set.cutoff},
                  {"dielectric", set.dielectric}, {"output_unit", potential_unit_name(set.output_unit)}};
  if (!set.offset.empty()) json["charges"] = set.charges();
  if (!set.particles.empty()) json["particles"] = set.particles;
  return json;
}

SetJson set_json(const CorrelationSet& set) {
  SetJson json = {{"kind", "correlation"},
                  {"name", set.name},
                  {"shape", shape_words(set)},
                  {"batch", set.batch},
                  {"times", set.times},
                  {"inputs", set.inputs},
                  {"baselines", set.baselines()},
                  {"type", sample_type_name(set.type)},
                  {"integrate", set.integrate},
                  {"integrations", set.integrations()},
                  {"output", set.is_mean ? "mean" : "sum"},
                  {"flags", set.has_flags}};
  const ArrayLabels& labels = set.labels;
  if (!labels.telescope.empty()) json["telescope"] = labels.telescope;
  if (!labels.phase_center.empty()) json["phase_center"] = labels.phase_center;
  if (!labels.visibility_unit.empty()) json["visibility_unit"] = labels.visibility_unit;
  return json;
}

}  // namespace smallbatch
