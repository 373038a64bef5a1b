// The outcome of a set: counted block by block, added up over shares, read from a file, put into words. One file,
// because each member of SetOutcome goes through all these steps.
#include "app/verification/outcome.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "app/verification/block_state.hpp"
#include "core/text_streams.hpp"
#include "physics/charges/pair_energy_referee.hpp"
#include "physics/charges/potential_referee.hpp"
#include "solvers/spd_referee.hpp"

namespace smallbatch {

namespace {
/// Number of problems whose numbers are read from a file at a time.
constexpr std::int64_t at_once = 1 << 16;

constexpr double roundoff(ScalarType type) { return type == ScalarType::float32 ? 0x1p-24 : 0x1p-53; }

/// Keeps the worse of two values. A NaN, once kept, stays.
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
  for (const auto& [status, indices] : share.first_failed)
    for (const std::int64_t index : indices) name_failed(status, start + index);
  for (const auto& [index, label] : share.labels) labels[start + index] = label;
  singular += share.singular;
  keep(worst_backward_error, share.worst_backward_error, std::greater<>());
  keep(smallest_rcond, share.smallest_rcond, std::less<>());
  repaired_pivots += share.repaired_pivots;
  repaired_systems += share.repaired_systems;
  largest_perturbation = std::max(largest_perturbation, share.largest_perturbation);
  verification.add(share.verification, start);
  values_checked += share.values_checked;
  if (share.potential_range) widen(potential_range, (*share.potential_range)[0], (*share.potential_range)[1]);
  if (share.energy_range) widen(energy_range, (*share.energy_range)[0], (*share.energy_range)[1]);
  compute_seconds = std::max(compute_seconds, share.compute_seconds);
  work += share.work;
  problems_hash += share.problems_hash;
  signs.add(share.signs);
}

void SetOutcome::name_failed(std::int32_t status, std::int64_t index) {
  std::vector<std::int64_t>& named = first_failed[status];
  if (named.size() < most_named) named.push_back(index);
}

bool SetOutcome::is_failed(std::int32_t status) const {
  const bool counts_places = kind == PotentialSet::kind || kind == PairEnergySet::kind;
  return counts_places ? status < 0 : status != 0;
}

void SetOutcome::count_status(std::int64_t first, std::span<const std::int32_t> info) {
  for (std::size_t k = 0; k < info.size(); ++k) {
    const std::int32_t status = info[k];
    if (status == 0) continue;
    if (!is_failed(status)) {
      singular += status;
      continue;
    }
    ++failed[status];
    name_failed(status, first + static_cast<std::int64_t>(k));
  }
}

void SetOutcome::count_statuses(const ResultReader& results, const std::string& set, std::int64_t start,
                                std::int64_t count) {
  std::vector<double> values;
  for (std::int64_t first = 0; first < count; first += at_once) {
    values.resize(static_cast<std::size_t>(std::min(at_once, count - first)));
    if (!results.read_numbers(set + "/info", first, values)) return;
    count_status(start + first, std::vector<std::int32_t>(values.begin(), values.end()));
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

void SetOutcome::count_numbers(const ResultReader& results, const SolveSet& set) {
  const std::string group = set_path(set);
  const double u = roundoff(set.type);
  std::vector<double> info, backward_error, rcond, repaired, perturbation;
  for (std::int64_t first = 0; first < set.batch; first += at_once) {
    const auto count = static_cast<std::size_t>(std::min(at_once, set.batch - first));
    const auto has = [&](const char* dataset, std::vector<double>& numbers) {
      numbers.assign(count, 0);
      return results.read_numbers(group + dataset, first, numbers);
    };
    if (!has("/info", info)) return;
    const bool has_error = has("/backward_error", backward_error), has_rcond = has("/rcond", rcond);
    if (!has("/repaired", repaired)) repaired.assign(count, 0);
    if (!has("/perturbation", perturbation)) perturbation.assign(count, 0);
    for (std::size_t s = 0; s < count; ++s) {
      if (info[s] != 0) continue;
      if (has_error) keep(worst_backward_error, backward_error[s] / u, std::greater<>());
      if (has_rcond) keep(smallest_rcond, rcond[s], std::less<>());
      if (repaired[s] == 0) continue;
      repaired_pivots += static_cast<std::int64_t>(repaired[s]);
      ++repaired_systems;
      largest_perturbation = std::max(largest_perturbation, perturbation[s]);
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

std::string SetOutcome::likely_cause() const {
  if (kind == SolveSet::kind) return smallbatch::likely_cause(signs, batch, failed, type);
  if (kind == PotentialSet::kind) return likely_cause_on_lattices(signs, singular, are_singular_left_out);
  return {};
}

bool SetOutcome::has_compared_numbers() const {
  return verification.checked > 0 && (failed_count() < batch || verification.worst_error_over_bound > 0);
}

void SetOutcome::keep_labels(const ProblemLabels& of_set) {
  const auto keep_one = [&](std::int64_t index) {
    if (const std::string label = label_of(of_set, index); !label.empty()) labels[index] = label;
  };
  for (const auto& [status, indices] : first_failed) std::ranges::for_each(indices, keep_one);
  if (verification.worst_index >= 0) keep_one(verification.worst_index);
}

namespace {
void write_counted(std::ostream& text, std::int64_t count, const char* thing) {
  text << count << " " << thing << (count == 1 ? "" : "s");
}

/// Writes the attributes that define the interaction of two charges.
void write_measure(std::ostream& text, const ChargesOfSet& set) {
  if (set.softening > 0) text << ", softening " << set.softening << " angstrom";
  if (set.cutoff > 0) text << ", cut-off " << set.cutoff << " angstrom";
  if (set.screening_length > 0) text << ", screening length " << set.screening_length << " angstrom";
  if (set.width > 0) text << ", Gaussian charges of width " << set.width << " angstrom";
  if (set.has_widths) text << ", Gaussian charges";
  if (set.dielectric != 1) text << ", dielectric " << set.dielectric;
}

/// Writes the end of a shape, after the number of systems.
void write_system(std::ostream& text, const SolveSet& set) {
  text << " " << (set.shape.has_sizes ? "up to " : "") << set.shape.n << "x" << set.shape.n
       << (set.type == ScalarType::float32 ? " float32" : " float64");
  if (set.is_upper)
    text << ", upper triangles";
  else if (set.shape.storage == Storage::dense_lower)
    text << ", lower triangles";
  if (set.shape.determinant_only) {
    text << ", log determinant";
  } else if (set.shape.wants_inverse()) {
    text << ", inverse";
  } else {
    text << ", " << set.shape.nrhs << (set.shape.nrhs == 1 ? " right-hand side" : " right-hand sides");
  }
}
}  // namespace

std::string shape_words(const SolveSet& set) {
  TextWriter text;
  text << set.batch << (set.shape.storage == Storage::packed_lower ? " packed" : " dense");
  write_system(text, set);
  return text.str();
}

std::string shape_words_of_results(const SolveSet& set) {
  TextWriter text;
  write_counted(text, set.batch, "system");
  write_system(text, set);
  return text.str();
}

std::string shape_words(const PotentialSet& set) {
  TextWriter text;
  if (set.targets == TargetKind::lattice) {
    write_counted(text, set.batch, "lattice");
    text << " " << set.shape.nx << "x" << set.shape.ny << "x" << set.shape.nz;
  } else {
    write_counted(text, set.batch, "problem");
  }
  if (set.targets == TargetKind::points) {
    text << ", ";
    write_counted(text, set.targets_before(set.batch), "point");
  }
  if (!set.offset.empty()) {  // some result files have no offsets
    text << (set.targets == TargetKind::charges ? " at " : ", ");
    write_counted(text, set.charges(), "charge");
  }
  if (set.has_field) text << ", field";
  if (set.has_groups) text << ", interaction energy";
  write_measure(text, set);
  return text.str();
}

std::string shape_words(const PairEnergySet& set) {
  TextWriter text;
  write_counted(text, set.batch, "problem");
  if (!set.offset.empty()) {  // some result files have no offsets
    text << ", ";
    write_counted(text, set.charges(), "charge");
  }
  if (set.has_groups) text << ", groups";
  if (set.per_charge) text << ", energies of charges";
  write_measure(text, set);
  return text.str();
}

std::string shape_words(const CorrelationSet& set) {
  TextWriter text;
  write_counted(text, set.batch, "channel");
  write_counted(text << ", ", set.times, "time");
  write_counted(text << ", ", set.inputs, "input");
  text << " of " << sample_type_name(set.type);
  if (set.integrations() > 1)
    write_counted(text << ", " << set.integrations() << " integrations of ", set.integrate, "sample");
  if (set.has_flags) text << ", flags";
  if (set.is_mean) text << ", means";
  return text.str();
}

namespace {
template <class Set>
SetOutcome outcome_of(const Set& set) {
  SetOutcome outcome;
  outcome.kind = Set::kind;
  outcome.name = set.name;
  outcome.shape = shape_words(set);
  outcome.batch = set.batch;
  return outcome;
}
}  // namespace

SetOutcome start_outcome(const SolveSet& set) {
  SetOutcome outcome = outcome_of(set);
  outcome.type = set.type;
  outcome.verification.criterion = spd_criterion(set.shape, set.type);
  return outcome;
}

PotentialOptions potential_options(const ChargesOfSet& set, Singular singular) {
  return {singular, set.unit_factor(), set.softening, set.cutoff, set.screening_length};
}
PairEnergyOptions pair_energy_options(const ChargesOfSet& set, Singular singular, ScalarType precision) {
  return {singular, precision, set.unit_factor(), set.softening, set.cutoff, set.screening_length};
}

SetOutcome start_outcome(const PotentialSet& set, ScalarType precision) {
  SetOutcome outcome = outcome_of(set);
  outcome.targets = set.targets;
  outcome.has_field = set.has_field;
  outcome.unit = set.output_unit;
  outcome.verification.criterion = potential_criterion(potential_options(set, Singular::infinite), precision,
                                                       set.has_field, set.has_groups, set.is_gaussian()) +
                                   "; V_min, V_max and V_mean are those of V";
  return outcome;
}

SetOutcome start_outcome(const PairEnergySet& set, const PairEnergyOptions& options) {
  SetOutcome outcome = outcome_of(set);
  outcome.unit = set.output_unit;
  outcome.verification.criterion = pair_energy_criterion(options, set.per_charge, set.is_gaussian());
  return outcome;
}

SetOutcome start_outcome(const CorrelationSet& set) {
  SetOutcome outcome = outcome_of(set);
  outcome.verification.criterion = correlation_criterion(set.type, set.is_mean);
  return outcome;
}

template <class T>
Verdicts SolveTally<T>::verify(const SpdBlock<T>& block) const {
  return smallbatch::verify(set_, block, pivot_floor_, rcond_overestimate_, mode_, threads_);
}

template <class T>
void SolveTally<T>::count(const SpdBlock<T>& block, const Verdicts& verdicts) {
  outcome.count_status(block.first, block.info);
  outcome.count_numbers(block);
  outcome.count_verdicts(block.first, verdicts);
  if (outcome.failed_count() > 0) add_signs(block, set_.batch, outcome.signs);
}

template <class T>
Verdicts PotentialTally<T>::verify(const PotentialBlock<T>& block, const PairsVerified& verified) {
  Verdicts verdicts = smallbatch::verify(set_, block, options_, mode_, threads_, values_checked_, verified);
  if (is_verified()) referee_.add(block, threads_);
  return verdicts;
}

template <class T>
void PotentialTally<T>::count(const PotentialBlock<T>& block, const Verdicts& verdicts) {
  of_set_.merge(block.first, verdicts);
  if (block.first_plane > 0) return;  // status and energy come with the first plane
  outcome.count_status(block.first, block.info);
  outcome.count_energies(block.energy);
  if (set_.targets == TargetKind::lattice) add_signs(block, outcome.signs);
}

template <class T>
void PotentialTally<T>::finish(const PotentialStatistics& statistics) {
  outcome.values_checked = values_checked_;
  if (is_verified()) verify_statistics(statistics, referee_, of_set_);
  outcome.count_statistics(statistics);
  outcome.count_verdicts(0, of_set_);
  outcome.keep_labels(set_.labels);
}

template <class T>
void PotentialTally<T>::put_verified(std::int64_t first, std::int64_t count, std::string& bytes) const {
  put(bytes, std::span(&values_checked_, 1));
  if (is_verified()) referee_.put_state(first, count, bytes);
}
template <class T>
void PotentialTally<T>::take_verified(std::int64_t first, std::int64_t count, std::string_view& bytes) {
  take(bytes, std::span(&values_checked_, 1));
  if (is_verified()) referee_.take_state(first, count, bytes);
}
template <class T>
void PotentialTally<T>::put_counted(std::int64_t first, std::int64_t count, std::string& bytes) const {
  of_set_.put_state(first, count, bytes);
}
template <class T>
void PotentialTally<T>::take_counted(std::int64_t first, std::int64_t count, std::string_view& bytes) {
  of_set_.take_state(first, count, bytes);
}

void PairEnergyTally::count(const PairEnergyBlock& block, const Verdicts& verdicts) {
  outcome.count_status(block.first, block.info);
  outcome.count_energies(block.energy);
  outcome.count_verdicts(block.first, verdicts);
  outcome.keep_labels(set_.labels);
  outcome.work += pairs(block);
}

void CorrelationTally::count(const SignalBlock& block, const Verdicts& verdicts) {
  of_set_.merge(block.first, verdicts);
  for (std::size_t c = 0; c < block.info.size(); ++c) {
    std::int32_t& kept = info_[static_cast<std::size_t>(block.first) + c];
    if (block.info[c] != 0 && (kept == 0 || block.info[c] > kept)) kept = block.info[c];
  }
}

void CorrelationTally::finish() {
  if (is_verified_) verification_.verify_info(info_, of_set_);
  outcome.count_status(0, info_);
  outcome.count_verdicts(0, of_set_);
  outcome.values_checked = verification_.visibilities_checked();
}

void CorrelationTally::put_verified(std::int64_t first, std::int64_t count, std::string& bytes) const {
  verification_.put_state(first, count, bytes);
}
void CorrelationTally::take_verified(std::int64_t first, std::int64_t count, std::string_view& bytes) {
  verification_.take_state(first, count, bytes);
}
void CorrelationTally::put_counted(std::int64_t first, std::int64_t count, std::string& bytes) const {
  put(bytes, std::span(info_).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count)));
  of_set_.put_state(first, count, bytes);
}
void CorrelationTally::take_counted(std::int64_t first, std::int64_t count, std::string_view& bytes) {
  take(bytes, std::span(info_).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count)));
  of_set_.take_state(first, count, bytes);
}

template void SetOutcome::count_numbers(const SpdBlock<float>&);
template void SetOutcome::count_numbers(const SpdBlock<double>&);
template class SolveTally<float>;
template class SolveTally<double>;
template class PotentialTally<float>;
template class PotentialTally<double>;

double pairs(const PairEnergyBlock& block) {
  double total = 0;
  for (std::size_t p = 0; p < static_cast<std::size_t>(block.count); ++p) {
    const auto charges = static_cast<double>(block.offset[p + 1] - block.offset[p]);
    const auto in_group = [&](std::int8_t group) {
      return static_cast<double>(
          std::count(block.group.begin() + block.offset[p], block.group.begin() + block.offset[p + 1], group));
    };
    total += block.group.empty() ? charges * (charges - 1) / 2 : in_group(1) * in_group(2);
  }
  return total;
}

}  // namespace smallbatch
