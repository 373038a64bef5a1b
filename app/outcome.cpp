#include "app/outcome.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <sstream>

#include "physics/potential_referee.hpp"
#include "solvers/spd_referee.hpp"

namespace smallbatch {

namespace {
constexpr double roundoff(ScalarType type) { return type == ScalarType::float32 ? 0x1p-24 : 0x1p-53; }

/// Keeps the value that is `worse`, and a NaN once it is there.
template <class Worse>
void keep(std::optional<double>& kept, std::optional<double> value, Worse worse) {
  if (value && (!kept || (!std::isnan(*kept) && (std::isnan(*value) || worse(*value, *kept))))) kept = value;
}

void widen(std::optional<std::array<double, 2>>& range, double low, double high) {
  if (std::isnan(low) || std::isnan(high)) return;
  range = range ? std::array{std::min((*range)[0], low), std::max((*range)[1], high)} : std::array{low, high};
}
}  // namespace

std::int64_t SetOutcome::failed_count() const {
  std::int64_t total = 0;
  for (const auto& [status, number] : failed) total += number;
  return total;
}

void SetOutcome::add(const SetOutcome& share, std::int64_t start) {
  batch += share.batch;
  for (const auto& [status, number] : share.failed) failed[status] += number;
  singular += share.singular;
  keep(worst_backward_error, share.worst_backward_error, std::greater<>());
  keep(smallest_rcond, share.smallest_rcond, std::less<>());
  repaired_pivots += share.repaired_pivots;
  repaired_systems += share.repaired_systems;
  largest_perturbation = std::max(largest_perturbation, share.largest_perturbation);
  verification.add(share.verification, start);
  points_checked += share.points_checked;
  if (share.potential_range) widen(potential_range, (*share.potential_range)[0], (*share.potential_range)[1]);
  if (share.energy_range) widen(energy_range, (*share.energy_range)[0], (*share.energy_range)[1]);
  compute_seconds = std::max(compute_seconds, share.compute_seconds);
  work += share.work;
}

void SetOutcome::count_status(std::span<const std::int32_t> info) {
  for (const std::int32_t status : info) {
    if (status == 0) continue;
    if (kind == "potential" && status > 0)
      singular += status;
    else
      ++failed[status];
  }
}

template <class T>
void SetOutcome::count_numbers(const SpdBlock<T>& block) {
  constexpr double u = roundoff(scalar_type_of<T>);
  for (std::size_t s = 0; s < block.info.size(); ++s) {
    if (block.info[s] != 0) continue;
    if (!block.backward_error.empty()) keep(worst_backward_error, block.backward_error[s] / u, std::greater<>());
    if (!block.rcond.empty()) keep(smallest_rcond, block.rcond[s], std::less<>());
    if (!block.repaired.empty() && block.repaired[s] != 0) {
      repaired_pivots += block.repaired[s];
      ++repaired_systems;
      if (!block.perturbation.empty())
        largest_perturbation = std::max(largest_perturbation, static_cast<double>(block.perturbation[s]));
    }
  }
}

void SetOutcome::count_statistics(const PotentialStatistics& statistics) {
  for (std::size_t p = 0; p < statistics.lowest.size(); ++p)
    widen(potential_range, statistics.lowest[p], statistics.highest[p]);
}

void SetOutcome::count_energies(std::span<const double> energies) {
  for (const double energy : energies) widen(energy_range, energy, energy);
}

void SetOutcome::count_verdicts(std::int64_t first, const Verdicts& verdicts) {
  for (std::size_t i = 0; i < verdicts.verdict.size(); ++i) {
    if (verdicts.verdict[i] == Verdict::not_checked) continue;
    ++verification.checked;
    ++(verdicts.verdict[i] == Verdict::agreed ? verification.agreed : verification.disagreed);
    const double error = verdicts.error_over_bound[i];
    if (verification.worst_index < 0 || error > verification.worst_error_over_bound) {
      verification.worst_error_over_bound = error;
      verification.worst_index = first + static_cast<std::int64_t>(i);
    }
  }
}

std::string shape_words(const SolveSet& set) {
  std::ostringstream text;
  text << set.batch << (set.shape.storage == Storage::packed_lower ? " packed " : " dense ") << set.shape.n << "x"
       << set.shape.n << (set.type == ScalarType::float32 ? " float32" : " float64");
  if (set.shape.storage == Storage::dense_lower) text << ", lower triangles";
  if (set.shape.determinant_only) {
    text << ", log determinant";
  } else if (set.shape.wants_inverse()) {
    text << ", inverse";
  } else {
    text << ", " << set.shape.nrhs << (set.shape.nrhs == 1 ? " right-hand side" : " right-hand sides");
  }
  return text.str();
}

std::string shape_words(const PotentialSet& set) {
  std::ostringstream text;
  const auto counted = [&](std::int64_t count, const char* thing) {
    text << count << " " << thing << (count == 1 ? "" : "s");
  };
  if (set.targets == TargetKind::lattice) {
    counted(set.batch, "lattice");
    text << " " << set.shape.nx << "x" << set.shape.ny << "x" << set.shape.nz;
  } else {
    counted(set.batch, "problem");
  }
  if (set.targets == TargetKind::points) {
    text << ", ";
    counted(set.targets_before(set.batch), "point");
  }
  if (!set.offset.empty()) {  // the results do not always tell
    text << (set.targets == TargetKind::charges ? " at " : ", ");
    counted(set.charges(), "charge");
  }
  if (set.has_field) text << ", field";
  if (set.has_groups) text << ", interaction energy";
  if (set.softening > 0) text << ", softening " << set.softening << " angstrom";
  if (set.cutoff > 0) text << ", cut-off " << set.cutoff << " angstrom";
  if (set.dielectric != 1) text << ", dielectric " << set.dielectric;
  return text.str();
}

SetOutcome start_outcome(const SolveSet& set) {
  SetOutcome outcome;
  outcome.kind = "solve";
  outcome.name = set.name;
  outcome.shape = shape_words(set);
  outcome.batch = set.batch;
  outcome.verification.criterion = spd_criterion(set.shape, set.type);
  return outcome;
}

SetOutcome start_outcome(const PotentialSet& set, ScalarType precision) {
  SetOutcome outcome;
  outcome.kind = "potential";
  outcome.name = set.name;
  outcome.shape = shape_words(set);
  outcome.batch = set.batch;
  outcome.targets = set.targets;
  outcome.has_field = set.has_field;
  outcome.unit = set.output_unit;
  const PotentialOptions options{Singular::infinite, set.unit_factor(), set.softening, set.cutoff};
  outcome.verification.criterion = potential_criterion(options, precision, set.has_field, set.has_groups) +
                                   "; V_min, V_max and V_mean are those of V";
  return outcome;
}

template <class T>
Verdicts SolveTally<T>::judge(const SpdBlock<T>& block) const {
  return verify(set_, block, pivot_floor_, mode_, threads_);
}

template <class T>
void SolveTally<T>::count(const SpdBlock<T>& block, const Verdicts& verdicts) {
  outcome.count_status(block.info);
  outcome.count_numbers(block);
  outcome.count_verdicts(block.first, verdicts);
}

template <class T>
Verdicts PotentialTally<T>::judge(const PotentialBlock<T>& block, const PairsJudged& judged) {
  Verdicts verdicts = verify(set_, block, options_, mode_, threads_, outcome.points_checked, judged);
  if (is_judged()) referee_.add(block, threads_);
  return verdicts;
}

template <class T>
void PotentialTally<T>::count(const PotentialBlock<T>& block, const Verdicts& verdicts) {
  of_set_.merge(block.first, verdicts);
  if (block.first_plane > 0) return;  // status and energy come with the first plane
  outcome.count_status(block.info);
  outcome.count_energies(block.energy);
}

template <class T>
void PotentialTally<T>::finish(const PotentialStatistics& statistics) {
  if (is_judged()) verify_statistics(statistics, referee_, of_set_);
  outcome.count_statistics(statistics);
  outcome.count_verdicts(0, of_set_);
}

template void SetOutcome::count_numbers(const SpdBlock<float>&);
template void SetOutcome::count_numbers(const SpdBlock<double>&);
template class SolveTally<float>;
template class SolveTally<double>;
template class PotentialTally<float>;
template class PotentialTally<double>;

}  // namespace smallbatch
