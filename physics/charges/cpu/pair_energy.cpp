// The plan of pair energies for CPUs. With groups, U = sum_i q_i V(s_i) over the charges of group 1, where V is the
// potential of the charges of group 2. Without groups, U = 1/2 sum_i q_i V(s_i) over all charges, where V at charge i
// is the potential of all other charges.
//
// sum_potentials() computes V. It leaves out charges that lie on a target, and reports the problems with such charges.
// In these problems, coincident_signs() then counts the pairs of charges at one position.
#include "physics/charges/cpu/pair_energy.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "core/not_finite.hpp"
#include "core/parallel.hpp"
#include "core/two_difference.hpp"
#include "physics/charges/cpu/potential.hpp"
#include "physics/charges/pair_energy_backends.hpp"
#include "physics/charges/pair_energy_range.hpp"
#include "physics/charges/potential_checks.hpp"

namespace smallbatch {

namespace {

/// Status of a problem's input, and the factor that scales its charges (pair_charge_scale).
struct Inspected {
  std::int32_t info = 0;
  double scale = 1;
};

Inspected inspect(const ChargeBatch& charges, std::int64_t problem, const PairEnergyOptions& options) {
  const std::int64_t first = charges.offset[problem];
  const double largest = largest_input_of(options.precision);
  bool finite = true, in_range = true;
  double strongest = 0;
  for (std::int64_t i = first; i < charges.offset[problem + 1]; ++i) {
    finite &= std::isfinite(charges.charge[i]);
    strongest = std::max(strongest, std::abs(charges.charge[i]));
    if (charges.width != nullptr) {
      finite &= std::isfinite(charges.width[i]) && charges.width[i] >= 0;
      in_range &= charges.width[i] <= largest;
    }
    for (int axis = 0; axis < 3; ++axis) {
      finite &= std::isfinite(charges.position[3 * i + axis]);
      in_range &= std::abs(charges.position[3 * i + axis] - charges.position[3 * first + axis]) <= largest;
    }
  }
  if (!finite) return {info_charges_not_finite};
  if (!in_range || strongest > largest) return {info_charges_out_of_range};
  return {0, options.precision == ScalarType::float64 ? pair_charge_scale(strongest) : 1};
}

/// Copies of charges. Problem p has the charges offset[p] .. offset[p+1]-1, and none if its status is negative.
/// `source` holds their indices in the batch.
struct Gathered {
  std::vector<std::int64_t> offset{0}, source;
  std::vector<double> position, charge, width;

  void add(const ChargeBatch& charges, std::int64_t i, double q) {
    source.push_back(i);
    position.insert(position.end(), charges.position + 3 * i, charges.position + 3 * i + 3);
    charge.push_back(q);
    if (charges.width != nullptr) width.push_back(charges.width[i]);
  }
  void end_problem() { offset.push_back(static_cast<std::int64_t>(source.size())); }
  [[nodiscard]] bool is_point(std::int64_t i) const {
    return width.empty() || width[static_cast<std::size_t>(i)] < least_width;
  }
  [[nodiscard]] std::int64_t problems() const { return static_cast<std::int64_t>(offset.size()) - 1; }
};

/// Charges that form pairs. With groups, a pair has one charge of `rows` and one of `columns`. Without groups, both
/// charges are of `rows`.
struct Sides {
  Gathered rows;     ///< group 1, or all charges
  Gathered columns;  ///< group 2; empty without groups
};

/// Gathers the charges of all problems. With groups, each side begins with an extra charge of 0 at the position of the
/// problem's first charge. The first target is the origin of coordinates, so this position is the origin, whichever
/// side holds the targets.
Sides gather(const ChargeBatch& charges, const std::vector<Inspected>& inspected) {
  Sides sides;
  for (std::int64_t p = 0; p < charges.count; ++p) {
    const std::int64_t first = charges.offset[p], last = charges.offset[p + 1];
    const auto& [info, scale] = inspected[static_cast<std::size_t>(p)];
    if (info == 0 && first < last && charges.group != nullptr)
      for (Gathered* side : {&sides.rows, &sides.columns}) side->add(charges, first, 0);
    for (std::int64_t i = first; info == 0 && i < last; ++i) {
      const double q = scale * charges.charge[i];
      if (charges.group == nullptr)
        sides.rows.add(charges, i, q);
      else if (q != 0 && (charges.group[i] == 1 || charges.group[i] == 2))
        (charges.group[i] == 1 ? sides.rows : sides.columns).add(charges, i, q);
    }
    sides.rows.end_problem();
    sides.columns.end_problem();
  }
  return sides;
}

/// Numbers of positive and of negative charges at the position of one row.
struct CoincidentSigns {
  std::int64_t above = 0, below = 0;
};

/// For each row of a problem, counts the columns at the row's position. If `own`, rows and columns are the same
/// charges, and a row does not count itself. Columns are sorted by x, so each row is compared only with columns of
/// nearly the same x.
std::vector<CoincidentSigns> coincident_signs(const Gathered& rows, const Gathered& columns, std::int64_t problem,
                                              bool own) {
  const auto p = static_cast<std::size_t>(problem);
  std::vector<std::pair<double, std::int64_t>> by_x;
  for (std::int64_t j = columns.offset[p]; j < columns.offset[p + 1]; ++j)
    if (columns.charge[j] != 0 && columns.is_point(j)) by_x.emplace_back(columns.position[3 * j], j);
  std::sort(by_x.begin(), by_x.end());
  std::vector<CoincidentSigns> coincident(static_cast<std::size_t>(rows.offset[p + 1] - rows.offset[p]));
  for (std::int64_t i = rows.offset[p]; i < rows.offset[p + 1]; ++i) {
    if (rows.charge[i] == 0 || !rows.is_point(i)) continue;
    const double* const here = rows.position.data() + 3 * i;
    constexpr double reach = 2 * singular_distance_of_points;
    auto near = std::lower_bound(by_x.begin(), by_x.end(), std::pair{here[0] - reach, std::int64_t{-1}});
    for (; near != by_x.end() && near->first <= here[0] + reach; ++near) {
      const std::int64_t j = near->second;
      if (own && i == j) continue;
      double r2 = 0;
      for (int axis = 0; axis < 3; ++axis) r2 += std::pow(here[axis] - columns.position[3 * j + axis], 2);
      if (r2 >= singular_distance_of_points * singular_distance_of_points) continue;
      CoincidentSigns& of_row = coincident[static_cast<std::size_t>(i - rows.offset[p])];
      ++(columns.charge[j] > 0 ? of_row.above : of_row.below);
    }
  }
  return coincident;
}

/// Numbers of pairs with both charges at one position: `alike` with charges of one sign, `unlike` with opposite signs.
struct CoincidentPairs {
  std::int64_t alike = 0, unlike = 0;
};

/// Returns `energy` with the contribution of the pairs at one position, or `energy` if there are none. The contribution
/// is an infinity with the sign of factor q_i q_j, and NaN if pairs of both signs occur. It replaces `energy`, which
/// may be an infinity of the other sign.
double with_coincident(double energy, const CoincidentPairs& coincident, double factor) {
  if (coincident.alike > 0 || coincident.unlike > 0) energy = 0;
  if (coincident.alike > 0) energy += factor * infinity;
  if (coincident.unlike > 0) energy -= factor * infinity;
  return energy;
}

/// A sum that keeps the rounding errors of its additions.
struct EnergySum {
  double sum = 0, lost = 0;
  void add(double term) {
    const Exact next = two_difference(sum, -term);
    sum = next.high;
    lost += next.low;
  }
  [[nodiscard]] double value() const { return sum + lost; }
};

/// Sums over pairs of rows and columns, or over pairs of rows.
class PairSums {
 public:
  PairSums(const PairEnergyOptions& options, const std::vector<Inspected>& inspected, unsigned threads,
           const DirectSumKernels& lanes)
      : options_(options), inspected_(inspected), threads_(threads), lanes_(lanes) {}

  /// Sums the pairs of `rows` and `columns`, or of `rows` alone if `one_set`. Stores the energies of the charges in
  /// `rows` if result.energy_per_charge is not null, and the energies of the problems if `whole`.
  void sum(const Gathered& rows, const Gathered& columns, bool one_set, bool whole, const ChargeBatch& charges,
           const PairEnergyResult& result) const {
    PotentialOptions others = potential_options(options_);
    others.singular = Singular::skip;
    others.unit_factor = 1;
    std::vector<double> potential(rows.source.size());
    std::vector<std::int32_t> met(static_cast<std::size_t>(rows.problems()));
    const Gathered& from = one_set ? rows : columns;
    const bool has_widths = charges.width != nullptr;
    const ChargeBatch sources{rows.problems(),
                              from.offset.data(),
                              from.position.data(),
                              from.charge.data(),
                              nullptr,
                              has_widths ? from.width.data() : nullptr};
    const TargetBatch targets =
        one_set ? TargetBatch() : TargetBatch(PointBatch{rows.offset.data(), rows.position.data()});
    sum_potentials(sources, targets, others, options_.precision, {potential.data(), met.data()}, threads_, lanes_,
                   has_widths ? rows.width.data() : nullptr);

    for (std::int64_t p = 0; p < rows.problems(); ++p) {
      const Inspected& problem = inspected_[static_cast<std::size_t>(p)];
      if (problem.info != 0) continue;
      const std::int64_t first = rows.offset[p], last = rows.offset[p + 1];
      std::vector<CoincidentSigns> coincident;
      if (met[static_cast<std::size_t>(p)] != 0 && options_.softening == 0)
        coincident = coincident_signs(rows, from, p, one_set);
      EnergySum sum;
      CoincidentPairs pairs;
      for (std::int64_t i = first; i < last; ++i) {
        const double q = rows.charge[i];
        if (q == 0) continue;
        sum.add(q * potential[i]);
        CoincidentPairs of_row;
        if (!coincident.empty()) {
          const auto [above, below] = coincident[static_cast<std::size_t>(i - first)];
          of_row = q > 0 ? CoincidentPairs{above, below} : CoincidentPairs{below, above};
          pairs.alike += of_row.alike;
          pairs.unlike += of_row.unlike;
        }
        if (result.energy_per_charge == nullptr) continue;
        const double half = unscaled_energy(q * potential[i], 0.5 * options_.unit_factor, problem.scale);
        if (std::isinf(half)) result.info[p] = info_values_out_of_range;
        result.energy_per_charge[rows.source[i] - charges.offset[0]] =
            options_.singular == Singular::skip ? half : with_coincident(half, of_row, options_.unit_factor);
      }
      if (!whole) continue;
      const double each = one_set ? 0.5 : 1;  // in one set, the sum counts each pair twice
      const double energy = unscaled_energy(each * sum.value(), options_.unit_factor, problem.scale);
      const std::int64_t met_pairs = (pairs.alike + pairs.unlike) / (one_set ? 2 : 1);
      if (std::isinf(energy)) result.info[p] = info_values_out_of_range;
      if (result.info[p] == 0)
        result.info[p] =
            static_cast<std::int32_t>(std::min<std::int64_t>(met_pairs, std::numeric_limits<std::int32_t>::max()));
      result.energy[p] =
          options_.singular == Singular::skip ? energy : with_coincident(energy, pairs, options_.unit_factor);
    }
  }

 private:
  const PairEnergyOptions& options_;
  const std::vector<Inspected>& inspected_;
  unsigned threads_;
  const DirectSumKernels& lanes_;
};

class CpuPairEnergy final : public PairEnergy {
 public:
  CpuPairEnergy(unsigned threads, const DirectSumKernels& lanes) : threads_(threads), lanes_(lanes) {}

  [[nodiscard]] std::string description() const override { return std::string("cpu pair sum ") + lanes_.name; }

  void evaluate(const ChargeBatch& charges, const PairEnergyOptions& options, const PairEnergyResult& result) override {
    check_potential_call(charges, TargetBatch(), potential_options(options));
    sum_pair_energies(charges, options, result, threads_, lanes_);
  }

 private:
  unsigned threads_;
  DirectSumKernels lanes_;
};

}  // namespace

void sum_pair_energies(const ChargeBatch& charges, const PairEnergyOptions& options, const PairEnergyResult& result,
                       unsigned threads, const DirectSumKernels& lanes) {
  std::vector<Inspected> inspected(static_cast<std::size_t>(charges.count));
  parallel_for(charges.count, 16, threads, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t p = first; p < last; ++p) inspected[static_cast<std::size_t>(p)] = inspect(charges, p, options);
  });
  for (std::int64_t p = 0; p < charges.count; ++p) {
    result.info[p] = inspected[static_cast<std::size_t>(p)].info;
    result.energy[p] = result.info[p] == 0 ? 0 : nan;
    if (result.energy_per_charge != nullptr)
      std::fill(result.energy_per_charge + (charges.offset[p] - charges.offset[0]),
                result.energy_per_charge + (charges.offset[p + 1] - charges.offset[0]), result.energy[p]);
  }
  const Sides sides = gather(charges, inspected);
  const bool in_groups = charges.group != nullptr;
  const PairSums sums(options, inspected, threads, lanes);
  if (in_groups && result.energy_per_charge != nullptr)
    sums.sum(sides.columns, sides.rows, false, false, charges, result);
  sums.sum(sides.rows, sides.columns, !in_groups, true, charges, result);
}

std::unique_ptr<PairEnergy> make_cpu_pair_energy(unsigned threads, const DirectSumKernels& lanes) {
  return std::make_unique<CpuPairEnergy>(threads, lanes);
}

}  // namespace smallbatch
