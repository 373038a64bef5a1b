// The reference backend of pair energies, and the referee's answers. Both multiply charges by the referee's potentials.
// With groups, these are the potentials of group 2 at the charges of group 1. Without groups, they are the potentials
// of all other charges at each charge.
#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "core/compare.hpp"
#include "core/not_finite.hpp"
#include "core/parallel.hpp"
#include "physics/charges/pair_energy_backends.hpp"
#include "physics/charges/pair_energy_range.hpp"
#include "physics/charges/pair_energy_referee.hpp"
#include "physics/charges/potential_checks.hpp"
#include "physics/charges/reference/criterion.hpp"
#include "physics/charges/reference/sums.hpp"

namespace smallbatch {

namespace {

constexpr double largest_double = std::numeric_limits<double>::max();
constexpr std::int64_t charges_together = 256;  // charges that a thread takes at a time

/// Charges of one problem. `source` has the index of each charge in the problem; the other members are as in
/// ChargeBatch.
struct Charges {
  std::vector<std::int64_t> source;
  std::vector<double> position, charge, width;
  std::array<std::int64_t, 2> offset{};

  void add(const ChargeBatch& batch, std::int64_t first, std::int64_t i, double q) {
    source.push_back(i);
    position.insert(position.end(), batch.position + 3 * (first + i), batch.position + 3 * (first + i) + 3);
    charge.push_back(q);
    if (batch.width != nullptr) width.push_back(batch.width[first + i]);
    offset[1] = static_cast<std::int64_t>(source.size());
  }
  [[nodiscard]] const double* widths() const { return width.empty() ? nullptr : width.data(); }
  [[nodiscard]] ChargeBatch batch() const {
    return {1, offset.data(), position.data(), charge.data(), nullptr, widths()};
  }
  [[nodiscard]] bool is_wide(std::size_t i) const { return !width.empty() && width[i] >= least_width; }
  [[nodiscard]] PointBatch points() const { return {offset.data(), position.data()}; }
  [[nodiscard]] std::int64_t count() const { return offset[1]; }
};

/// Numbers of charges at the position of a charge: `alike` with the sign of this charge, `unlike` with the other sign.
struct CoincidentCharges {
  std::int64_t alike = 0, unlike = 0;
};

class ReferencePairs {
 public:
  ReferencePairs(const ChargeBatch& charges, std::int64_t problem, const PairEnergyOptions& options)
      : options_(options), in_groups_(charges.group != nullptr) {
    const std::int64_t first = charges.offset[problem];
    count_ = charges.offset[problem + 1] - first;
    const double most = options.precision == ScalarType::float32 ? 1e15 : 1e150;
    double strongest = 0;
    for (std::int64_t i = 0; i < count_; ++i) {
      const double q = charges.charge[first + i];
      strongest = std::max(strongest, std::abs(q));
      const double width = charges.width != nullptr ? charges.width[first + i] : 0;
      if (!std::isfinite(width) || width < 0) status_ = info_charges_not_finite;
      if (status_ == 0 && width > most) status_ = info_charges_out_of_range;
      for (int axis = 0; axis < 3; ++axis) {
        const double x = charges.position[3 * (first + i) + axis];
        if (!std::isfinite(x) || !std::isfinite(q)) status_ = info_charges_not_finite;
        if (status_ == 0 && !(std::abs(x - charges.position[3 * first + axis]) <= most))
          status_ = info_charges_out_of_range;
      }
    }
    if (status_ == 0 && strongest > most) status_ = info_charges_out_of_range;
    if (status_ != 0 || count_ == 0) return;
    // In double precision, charges are in units of about the strongest charge, so that no intermediate result
    // overflows.
    if (options.precision == ScalarType::float64 && strongest > 0) exponent_ = std::ilogb(strongest);
    // The referee shifts coordinates to the first target. So each group begins with an extra charge of 0 at the
    // position of the problem's first charge.
    if (in_groups_)
      for (Charges* side : {&rows_, &columns_}) side->add(charges, first, 0, 0);
    for (std::int64_t i = 0; i < count_; ++i) {
      const double q = std::scalbn(charges.charge[first + i], -exponent_);
      if (!in_groups_)
        rows_.add(charges, first, i, q);
      else if (const std::int8_t group = charges.group[first + i]; q != 0 && (group == 1 || group == 2))
        (group == 1 ? rows_ : columns_).add(charges, first, i, q);
    }
  }

  [[nodiscard]] ReferencePairEnergy answer(bool with_energy_per_charge, unsigned threads,
                                           const std::function<void()>& pause) const {
    ReferencePairEnergy answer;
    answer.info = answer.or_else = status_;
    if (status_ != 0) answer.energy = nan;
    if (with_energy_per_charge) {
      answer.energy_per_charge.assign(static_cast<std::size_t>(count_), status_ != 0 ? nan : 0);
      answer.charge_bounds.assign(static_cast<std::size_t>(count_), 0);
    }
    if (status_ != 0 || count_ == 0) return answer;
    const Charges& sources = in_groups_ ? columns_ : rows_;
    if (in_groups_ && with_energy_per_charge) add(columns_, rows_, false, threads, pause, answer);
    add(rows_, sources, true, threads, pause, answer);
    return answer;
  }

 private:
  /// Computes the energies of the charges in `rows` if answer.energy_per_charge is not empty, and the energy of the
  /// problem if `whole`.
  void add(const Charges& rows, const Charges& sources, bool whole, unsigned threads,
           const std::function<void()>& pause, ReferencePairEnergy& answer) const {
    PotentialOptions others = potential_options(options_);
    others.singular = Singular::skip;
    others.unit_factor = 1;
    const ChargeBatch batch = sources.batch();
    const TargetBatch targets = in_groups_ ? TargetBatch(rows.points()) : TargetBatch();
    const PotentialReferee referee(batch, targets, 0, others, options_.precision, false, rows.widths());
    std::vector<ReferencePotential> potential(rows.source.size());
    parallel_for(rows.count(), charges_together, threads, [&](std::int64_t first, std::int64_t last) {
      if (pause) pause();
      std::vector<std::int64_t> points(static_cast<std::size_t>(last - first));
      std::iota(points.begin(), points.end(), first);
      referee.at(points, {potential.data() + first, points.size()});
    });

    std::vector<CoincidentCharges> here(rows.source.size()), perhaps(rows.source.size());
    if (options_.softening == 0) {
      here = count_coincident(rows, sources, 1);
      perhaps = count_coincident(rows, sources, 1 + 1e-9);
      if (total(here) == total(perhaps)) perhaps = count_coincident(rows, sources, 1 - 1e-9);
    }
    const double factor = options_.precision == ScalarType::float32 ? 1 : 2;  // U's bound over V's bound
    CompensatedSum energy, bound;
    CoincidentCharges pairs;
    for (std::size_t i = 0; i < potential.size(); ++i) {
      const double q = rows.charge[i];
      if (q == 0) continue;
      energy.add(q * potential[i].potential);
      bound.add(factor * std::abs(q) * potential[i].bound);
      pairs.alike += here[i].alike;
      pairs.unlike += here[i].unlike;
      if (answer.energy_per_charge.empty()) continue;
      const auto at = static_cast<std::size_t>(rows.source[i]);
      set(0.5 * q * potential[i].potential, 0.5 * factor * std::abs(q) * potential[i].bound, here[i],
          answer.energy_per_charge[at], answer.charge_bounds[at], answer);
    }
    if (!whole) return;
    const double each = in_groups_ ? 1 : 0.5;  // without groups, the sum counts each pair twice
    const auto info_of = [&](std::int64_t met) {
      return static_cast<std::int32_t>(
          std::min<std::int64_t>(in_groups_ ? met : met / 2, std::numeric_limits<std::int32_t>::max()));
    };
    set(each * energy.value(), each * bound.value(), pairs, answer.energy, answer.bound, answer);
    if (answer.info == 0) answer.info = info_of(total(here));
    if (answer.or_else == 0) answer.or_else = info_of(total(perhaps));
  }

  /// Sets an energy and its bound from `sum` and `bound`: in the unit of the result, and with the contribution of pairs
  /// at one position.
  void set(double sum, double bound, const CoincidentCharges& pairs, double& energy, double& energy_bound,
           ReferencePairEnergy& answer) const {
    const long double unit = std::scalbn(1.0L, 2 * exponent_) * options_.unit_factor;
    const long double exact = unit * sum;
    energy = std::abs(exact) > largest_double ? std::copysign(infinity, static_cast<double>(exact))
                                              : static_cast<double>(exact);
    energy_bound = static_cast<double>(
        std::min<long double>(largest_double, std::abs(unit) * bound + 4 * std::numeric_limits<double>::denorm_min()));
    const bool yes = std::abs(exact) - std::abs(unit) * bound > largest_double;
    const bool perhaps = std::abs(exact) + std::abs(unit) * bound > 0.999L * largest_double;
    if (yes) answer.info = answer.or_else = info_values_out_of_range;
    if (perhaps && answer.or_else == 0) answer.or_else = info_values_out_of_range;
    if (options_.singular == Singular::skip) return;
    if (pairs.alike > 0 || pairs.unlike > 0) energy = 0;
    if (pairs.alike > 0) energy += options_.unit_factor * infinity;
    if (pairs.unlike > 0) energy -= options_.unit_factor * infinity;
  }

  static std::int64_t total(const std::vector<CoincidentCharges>& rows) {
    std::int64_t all = 0;
    for (const CoincidentCharges& of_row : rows) all += of_row.alike + of_row.unlike;
    return all;
  }

  /// For each row, counts the sources nearer than `times` the singular distance. Sources are sorted by x, so each row
  /// is compared only with sources of nearly the same x.
  [[nodiscard]] std::vector<CoincidentCharges> count_coincident(const Charges& rows, const Charges& sources,
                                                                double times) const {
    const double distance = times * singular_distance_of_points;
    std::vector<std::pair<double, std::size_t>> by_x;
    for (std::size_t j = 0; j < sources.charge.size(); ++j)
      if (sources.charge[j] != 0) by_x.emplace_back(sources.position[3 * j], j);
    std::sort(by_x.begin(), by_x.end());
    std::vector<CoincidentCharges> found(rows.charge.size());
    for (std::size_t i = 0; i < rows.charge.size(); ++i) {
      if (rows.charge[i] == 0) continue;
      const Eigen::Map<const Eigen::Array3d> here(rows.position.data() + 3 * i);
      const double reach = 2 * distance;
      auto near = std::lower_bound(by_x.begin(), by_x.end(), std::pair{here[0] - reach, std::size_t{0}});
      for (; near != by_x.end() && near->first <= here[0] + reach; ++near) {
        if (!in_groups_ && near->second == i) continue;
        if (rows.is_wide(i) || sources.is_wide(near->second)) continue;
        const Eigen::Map<const Eigen::Array3d> there(sources.position.data() + 3 * near->second);
        if ((here - there).matrix().norm() >= distance) continue;
        const bool same_sign = (rows.charge[i] > 0) == (sources.charge[near->second] > 0);
        ++(same_sign ? found[i].alike : found[i].unlike);
      }
    }
    return found;
  }

  PairEnergyOptions options_;
  bool in_groups_;
  std::int64_t count_ = 0;
  std::int32_t status_ = 0;
  int exponent_ = 0;        ///< charges are stored times 2^-exponent_
  Charges rows_, columns_;  ///< group 1 and group 2; without groups, all charges in rows_
};

class EigenPairEnergy final : public PairEnergy {
 public:
  explicit EigenPairEnergy(unsigned threads) : threads_(threads) {}

  [[nodiscard]] std::string description() const override { return "reference eigen"; }

  void evaluate(const ChargeBatch& charges, const PairEnergyOptions& options, const PairEnergyResult& result) override {
    check_potential_call(charges, TargetBatch(), potential_options(options));
    for (std::int64_t p = 0; p < charges.count; ++p) {
      const ReferencePairEnergy answer =
          reference_pair_energy(charges, p, options, result.energy_per_charge != nullptr, threads_);
      result.energy[p] = answer.energy;
      result.info[p] = answer.info;
      if (result.energy_per_charge != nullptr)
        std::copy(answer.energy_per_charge.begin(), answer.energy_per_charge.end(),
                  result.energy_per_charge + (charges.offset[p] - charges.offset[0]));
    }
  }

 private:
  unsigned threads_;
};

/// Error over bound of one energy. A NaN is right if `expected` is a NaN. Near the largest double, rounding alone may
/// turn a number into an infinity. An infinity and a number of its sign therefore agree there.
double judge(double got, double expected, double bound) {
  if (std::isnan(expected)) return std::isnan(got) ? 0 : infinity;
  if (std::isinf(got) && std::isfinite(expected) && std::signbit(got) == std::signbit(expected) &&
      std::abs(expected) + bound > 0.999 * largest_double)
    return 0;
  if (std::isinf(expected) && std::signbit(got) == std::signbit(expected) && std::abs(got) > 0.999 * largest_double)
    return 0;
  return error_over_bound(got, expected, bound);
}

}  // namespace

ReferencePairEnergy reference_pair_energy(const ChargeBatch& charges, std::int64_t problem,
                                          const PairEnergyOptions& options, bool with_energy_per_charge,
                                          unsigned threads, const std::function<void()>& pause) {
  return ReferencePairs(charges, problem, options).answer(with_energy_per_charge, threads, pause);
}

double pair_energy_error_over_bound(const PairEnergyBlock& block, std::int64_t problem,
                                    const ReferencePairEnergy& reference) {
  const auto p = static_cast<std::size_t>(problem);
  if (block.info[p] != reference.info && block.info[p] != reference.or_else) return infinity;
  double worst = judge(block.energy[p], reference.energy, reference.bound);
  for (std::size_t i = 0; !block.energy_per_charge.empty() && i < reference.energy_per_charge.size(); ++i)
    worst = std::max(worst, judge(block.energy_per_charge[static_cast<std::size_t>(block.offset[p]) + i],
                                  reference.energy_per_charge[i], reference.charge_bounds[i]));
  return worst;
}

std::string pair_energy_criterion(const PairEnergyOptions& options, bool with_energy_per_charge, bool with_widths) {
  const PotentialBounds& bounds =
      options.precision == ScalarType::float32 ? pair_energy_bounds_float : pair_energy_bounds_double;
  const double of_terms = bounds.of_terms * (options.softening > 0 ? softening_bound_factor : 1);
  const CriterionWords words(potential_options(options), with_widths, "ij");
  std::string text = "|U - U*| <= " + words.f + " sum |q_i q_j|" + words.screening + "/" + words.r + " (" +
                     bound_text(of_terms) + " + " + bound_text(bounds.of_distances) + " L/" + words.m + ")";
  if (with_energy_per_charge) text += ", and half of that for a charge's pairs";
  return text + " against direct summation with Eigen in double precision" + words.of_softening + words.of_interaction +
         words.of_cutoff;
}

std::unique_ptr<PairEnergy> make_reference_pair_energy(unsigned threads) {
  return std::make_unique<EigenPairEnergy>(threads);
}

}  // namespace smallbatch
