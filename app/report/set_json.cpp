#include "app/report/set_json.hpp"

#include "app/verification/outcome.hpp"
#include "core/units.hpp"

namespace smallbatch {

SetJson begin_set_json(const char* kind, const std::string& name, const std::string& shape, std::int64_t batch) {
  return {{"kind", kind}, {"lane", kind}, {"name", name}, {"shape", shape}, {"batch", batch}};
}

namespace {

template <class Set>
SetJson about(const Set& set, const SetJson& more) {
  SetJson json = begin_set_json(Set::kind, set.name, shape_words(set), set.batch);
  json.update(more);
  return json;
}

/// Returns the attributes that define the interaction of two charges.
SetJson measure(const ChargesOfSet& set) {
  return {{"softening", set.softening},
          {"cutoff", set.cutoff},
          {"screening_length", set.screening_length},
          {"width", set.width},
          {"widths", set.has_widths},
          {"dielectric", set.dielectric},
          {"output_unit", potential_unit_name(set.output_unit)}};
}

}  // namespace

SetJson set_json(const SolveSet& set) {
  return about(set, {{"n", set.shape.n},
                     {"sizes", set.shape.has_sizes},
                     {"nrhs", set.shape.nrhs},
                     {"storage", set.shape.storage != Storage::packed_lower ? "dense"
                                 : set.is_upper                             ? "packed_upper"
                                                                            : "packed_lower"},
                     {"uplo", set.shape.storage == Storage::dense ? "both"
                              : set.is_upper                      ? "upper"
                                                                  : "lower"},
                     {"compute", set.shape.determinant_only  ? "log_determinant"
                                 : set.shape.wants_inverse() ? "inverse"
                                                             : "solution"},
                     {"type", set.type == ScalarType::float32 ? "float32" : "float64"}});
}

SetJson set_json(const PotentialSet& set) {
  SetJson json =
      about(set, {{"targets", target_kind_name(set.targets)}, {"field", set.has_field}, {"energy", set.has_groups}});
  json.update(measure(set));
  if (set.targets == TargetKind::lattice)
    json["lattice"] = {set.shape.nx, set.shape.ny, set.shape.nz};
  else
    json["points"] = set.targets_before(set.batch);
  if (!set.offset.empty()) json["charges"] = set.charges();
  if (!set.particles.empty()) json["particles"] = set.particles;
  return json;
}

SetJson set_json(const PairEnergySet& set) {
  SetJson json = about(set, {{"groups", set.has_groups}, {"per_charge", set.per_charge}});
  json.update(measure(set));
  if (!set.offset.empty()) json["charges"] = set.charges();
  if (!set.particles.empty()) json["particles"] = set.particles;
  return json;
}

SetJson set_json(const CorrelationSet& set) {
  SetJson json = about(set, {{"times", set.times},
                             {"inputs", set.inputs},
                             {"baselines", set.baselines()},
                             {"type", sample_type_name(set.type)},
                             {"integrate", set.integrate},
                             {"integrations", set.integrations()},
                             {"output", set.is_mean ? "mean" : "sum"},
                             {"flags", set.has_flags}});
  const ArrayLabels& labels = set.labels;
  if (!labels.telescope.empty()) json["telescope"] = labels.telescope;
  if (!labels.phase_center.empty()) json["phase_center"] = labels.phase_center;
  if (!labels.visibility_unit.empty()) json["visibility_unit"] = labels.visibility_unit;
  return json;
}

}  // namespace smallbatch
