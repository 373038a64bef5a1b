// The plan of potentials for CPUs. Problems are prepared in parallel (problem.hpp). Then pieces of their targets are
// summed in parallel (pieces.hpp). SIMD lanes hold targets (kernels.hpp).
//
// In double precision sum_double sums every target. It uses exact displacements and separates charges on the target
// from the others. In single precision sum_single sums every target, and sum_double then sums the targets near a charge
// again. On lattices, prepare_cpu_problem() lists the targets near a charge (summed_in_double.hpp). At points and
// charges, sum_single marks them.
//
// Whether a target is near a charge depends only on the problem, and the arithmetic of a lane does not depend on other
// lanes. The bits of a value therefore depend neither on the batch, nor on the planes that a call evaluates, nor on the
// number of threads. Partial sums that a cut-off skips would add exactly 0.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "core/grid_stride.hpp"
#include "core/not_finite.hpp"
#include "core/parallel.hpp"
#include "core/usable_kernels.hpp"
#include "physics/charges/cpu/pair_energy.hpp"
#include "physics/charges/cpu/pieces.hpp"
#include "physics/charges/cpu/potential.hpp"
#include "physics/charges/cpu/problem.hpp"
#include "physics/charges/cpu/value_summary.hpp"
#include "physics/charges/pair_energy_range.hpp"
#include "physics/charges/potential_backends.hpp"
#include "physics/charges/potential_checks.hpp"
#include "physics/charges/summed_in_double.hpp"
#include "physics/charges/value_range.hpp"

namespace smallbatch {

namespace {

constexpr std::int64_t tiles_per_piece = 16;

/// Findings of all threads at the points or charges of one problem.
struct Seen {
  std::atomic<std::int32_t> on_charges = 0;  ///< number of targets on charges
  std::atomic<bool> out_of_range = false;    ///< some value leaves the range of its type
};

/// Memory for one problem's values.
template <class T>
struct Values {
  T* potential;
  T* field;    ///< null: not wanted
  Seen* seen;  ///< null for lattices: prepare_cpu_problem() has set their status

  /// Stores the values of a target. Returns whether one of them became an infinity.
  bool set(std::int64_t index, double v, double ex, double ey, double ez) const {
    potential[index] = static_cast<T>(v);
    if (field == nullptr) return std::isinf(potential[index]);
    T* const e = field + 3 * index;
    e[0] = static_cast<T>(ex);
    e[1] = static_cast<T>(ey);
    e[2] = static_cast<T>(ez);
    return std::isinf(potential[index]) || std::isinf(e[0]) || std::isinf(e[1]) || std::isinf(e[2]);
  }
};

SumOptions sum_options_of(InteractionKind kind, const PotentialOptions& options, bool field) {
  // A cut-off below 2^-500 counts as 2^-500, because its square could underflow.
  return {options.softening, options.cutoff > 0 ? std::max(options.cutoff, 0x1p-500) : 0, field, kind,
          options.screening_length};
}

/// One problem while its targets are summed.
struct Summation {
  const DirectSumKernels& lanes;
  const CpuProblem& problem;
  const CpuTargets& targets;
  const PotentialOptions& options;
  SumOptions sum_options;
  double singular_distance;

  /// Lists the partial sums that may have charges within the cut-off of targets in `box`. Candidates are the sums in
  /// `from`, or all sums if `from` is null. Without a cut-off, the result stands for all sums.
  ListedSums reaching(const Box& box, const std::vector<std::int32_t>* from, std::vector<std::int32_t>& list) const {
    if (sum_options.cutoff == 0) return {};
    problem.groups.within(problem.reach, box, from, list);
    list.reserve(1);  // a null pointer would stand for all sums, even if the list is empty
    return {list.data(), static_cast<std::int64_t>(list.size())};
  }

  [[nodiscard]] std::int32_t own_of(std::int64_t index) const {
    return targets.are_charges() ? problem.own[static_cast<std::size_t>(index)] : -1;
  }

  /// Sums the targets index[0] .. index[count - 1] in double precision; `count` is at most targets_per_call.
  template <class T>
  void sum_in_double(const std::int64_t* index, int count, const Values<T>& values,
                     std::vector<std::int32_t>& list) const {
    DoubleTargets tile{};
    tile.count = count;
    tile.leave_own_out = targets.are_charges();
    for (int i = 0; i < count; ++i) {
      Exact position[3];
      targets.find_position(index[i], position);
      tile.x[i] = position[0].high, tile.x_low[i] = position[0].low;
      tile.y[i] = position[1].high, tile.y_low[i] = position[1].low;
      tile.z[i] = position[2].high, tile.z_low[i] = position[2].low;
      tile.own[i] = own_of(index[i]);
      tile.spread[i] = targets.spread(index[i]);
    }
    DoubleSums sums;
    const ListedSums listed = reaching(box_around(tile.x, tile.y, tile.z, count), nullptr, list);
    lanes.sum_double(problem.double_charges(), listed, tile, sum_options, singular_distance, sums);
    std::int32_t on_charges = 0;
    bool out_of_range = false;
    const auto value = [&](double sum) { return unscaled(sum, options.unit_factor, problem.scale); };
    for (int i = 0; i < count; ++i) {
      if (sums.magnitude[i] > 0) ++on_charges;
      if (is_singular(options.singular, sums.net[i], sums.magnitude[i]))
        values.set(index[i], apply_singularity(options.singular, 0, sums.net[i], sums.magnitude[i]), nan, nan, nan);
      else if (sum_options.field)
        out_of_range |= values.set(index[i], value(sums.potential[i]), value(sums.field[0][i]), value(sums.field[1][i]),
                                   value(sums.field[2][i]));
      else
        out_of_range |= values.set(index[i], value(sums.potential[i]), 0, 0, 0);
    }
    if (values.seen == nullptr) return;
    if (on_charges > 0) values.seen->on_charges += on_charges;
    if (out_of_range) values.seen->out_of_range = true;
  }

  template <class T>
  void sum_tiles_in_double(const TargetTiles& tiles, std::int64_t first, std::int64_t last,
                           const Values<T>& values) const {
    std::vector<std::int32_t> list;
    std::int64_t index[targets_per_call];
    for (std::int64_t tile = first; tile < last; ++tile)
      sum_in_double(index, tiles.list(tile, problem.order, index), values, list);
  }

  void fill(SingleTargets& tile, const std::int64_t* index, int count) const {
    tile = {};
    tile.count = count;
    tile.first_own = std::numeric_limits<std::int32_t>::max();
    for (int i = 0; i < count; ++i) {
      Exact position[3];
      targets.find_position(index[i], position);
      tile.x[i] = static_cast<float>(position[0].high);
      tile.y[i] = static_cast<float>(position[1].high);
      tile.z[i] = static_cast<float>(position[2].high);
      tile.spread[i] = static_cast<float>(targets.spread(index[i]));
      const std::int32_t own = tile.own[i] = own_of(index[i]);
      if (own < 0) continue;
      tile.first_own = std::min<std::int64_t>(tile.first_own, own);
      tile.last_own = std::max<std::int64_t>(tile.last_own, own);
    }
  }

  /// Adds to `near` each target of index[0] .. index[count - 1] that is near a charge. On lattices, problem.near_points
  /// lists these targets; at points and charges, sums.near marks them.
  void find_near(const SingleSums& sums, const std::int64_t* index, int count, std::vector<std::int64_t>& near) const {
    if (!targets.on_lattice()) {
      for (int i = 0; i < count; ++i)
        if (sums.near[i] != 0) near.push_back(index[i]);
      return;
    }
    const auto& points = problem.near_points;  // there are few, if any
    const auto begin = std::lower_bound(points.begin(), points.end(), index[0]);
    const auto end = std::upper_bound(begin, points.end(), index[count - 1]);
    for (int i = 0; begin != end && i < count; ++i)
      if (std::binary_search(begin, end, index[i])) near.push_back(index[i]);
  }

  /// Sums the tiles first .. last-1, at most tiles_per_piece tiles.
  template <class T>
  void sum_tiles(const TargetTiles& tiles, std::int64_t first, std::int64_t last, const Values<T>& values) const {
    if (problem.all_in_double) return sum_tiles_in_double(tiles, first, last, values);
    SingleTargets tile[tiles_per_piece];
    std::int64_t index[tiles_per_piece][targets_per_call];
    Box box[tiles_per_piece], around{};
    for (std::int64_t b = 0; b < last - first; ++b) {
      const int count = tiles.list(first + b, problem.order, index[b]);
      fill(tile[b], index[b], count);
      box[b] = box_around(tile[b].x, tile[b].y, tile[b].z, count);
      around = b == 0 ? box[b] : box_around(around, box[b]);
    }
    std::vector<std::int32_t> piece_list, list;
    reaching(around, nullptr, piece_list);
    std::vector<std::int64_t> near;
    SingleSums sums;
    bool out_of_range = false;
    for (std::int64_t b = 0; b < last - first; ++b) {
      const ListedSums listed = reaching(box[b], &piece_list, list);
      lanes.sum_single(problem.single_charges(), listed, tile[b], sum_options, sums);
      const double f = options.unit_factor;
      for (int i = 0; i < tile[b].count; ++i) {
        const bool infinite = sum_options.field ? values.set(index[b][i], f * sums.potential[i], f * sums.field[0][i],
                                                             f * sums.field[1][i], f * sums.field[2][i])
                                                : values.set(index[b][i], f * sums.potential[i], 0, 0, 0);
        out_of_range |= infinite && sums.near[i] == 0;
      }
      find_near(sums, index[b], tile[b].count, near);
    }
    if (values.seen != nullptr && out_of_range) values.seen->out_of_range = true;
    for (std::size_t i = 0; i < near.size(); i += targets_per_call)
      sum_in_double(near.data() + i, static_cast<int>(std::min<std::size_t>(targets_per_call, near.size() - i)), values,
                    list);
  }
};

template <class T>
void fill_with_nan(const TargetTiles& tiles, const CpuProblem& problem, std::int64_t first, std::int64_t last,
                   const Values<T>& values) {
  std::int64_t index[targets_per_call];
  for (std::int64_t tile = first; tile < last; ++tile) {
    const int count = tiles.list(tile, problem.order, index);
    for (int i = 0; i < count; ++i) values.set(index[i], nan, nan, nan, nan);
  }
}

/// Computes V, E and info of a batch, with terms in T.
template <class T, class Stored>
void sum_values(const ChargeBatch& charges, const TargetBatch& targets, const PotentialOptions& options,
                const PotentialResult<Stored>& result, unsigned threads, const DirectSumKernels& lanes,
                const double* target_width = nullptr) {
  const bool field = result.field != nullptr, truncated = options.cutoff > 0;
  std::vector<CpuProblem> problems(static_cast<std::size_t>(charges.count));
  std::vector<Seen> seen(targets.kind == TargetKind::lattice ? 0 : problems.size());
  std::vector<CpuTargets> where;
  std::vector<std::int64_t> first_value{0};
  Pieces pieces(tiles_per_piece);
  for (std::int64_t p = 0; p < charges.count; ++p) {
    where.emplace_back(charges, targets, p, target_width);
    first_value.push_back(first_value.back() + where.back().count());
    pieces.add_problem(TargetTiles(where.back(), truncated).count());
  }
  parallel_for(charges.count, 1, threads, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t p = first; p < last; ++p) {
      problems[p] = prepare_cpu_problem<T>(charges, p, where[p], options, field);
      result.info[p] = problems[p].info;
    }
  });
  parallel_for(pieces.count(), 1, threads, [&](std::int64_t first_piece, std::int64_t last_piece) {
    for (std::int64_t i = first_piece; i < last_piece; ++i) {
      const auto [p, first, last] = pieces[i];
      const Values<Stored> values{result.potential + first_value[p],
                                  field ? result.field + 3 * first_value[p] : nullptr,
                                  seen.empty() ? nullptr : &seen[p]};
      const TargetTiles tiles(where[p], truncated);
      if (!has_values(problems[p].info)) {
        fill_with_nan(tiles, problems[p], first, last, values);
        continue;
      }
      const SumOptions sum_options = sum_options_of(interaction_kind(charges, options), options, field);
      Summation{lanes, problems[p], where[p], options, sum_options, where[p].singular_distance(options)}.sum_tiles(
          tiles, first, last, values);
    }
  });
  for (std::size_t p = 0; p < seen.size(); ++p)
    if (has_values(result.info[p]))
      result.info[p] = seen[p].out_of_range ? info_values_out_of_range : seen[p].on_charges.load();
}

class CpuPotential final : public PotentialOf<CpuPotential> {
 public:
  CpuPotential(unsigned threads, const DirectSumKernels& lanes) : threads_(threads), lanes_(lanes) {}

  [[nodiscard]] std::string description() const override { return std::string("cpu direct sum ") + lanes_.name; }

  template <class T>
  void run(const ChargeBatch& charges, const TargetBatch& targets, const PotentialOptions& options,
           const PotentialResult<T>& result) const {
    check_potential_call(charges, targets, options);
    sum_values<T>(charges, targets, options, result, threads_, lanes_);
    if (result.summary != nullptr) summarise(result.potential, rows_of(charges, targets), threads_, result.summary);
    if (result.energy != nullptr) sum_energies(charges, options, result.info, result.energy);
  }

 private:
  /// Offsets of the values of each summary, and their end. A summary covers a plane or a problem.
  static std::vector<std::int64_t> rows_of(const ChargeBatch& charges, const TargetBatch& targets) {
    std::vector<std::int64_t> first{0};
    if (targets.kind == TargetKind::lattice) {
      const std::int64_t values = target_count(charges, targets);
      while (first.back() < values) first.push_back(first.back() + targets.lattice.shape.plane_points());
      return first;
    }
    const std::int64_t* const offset = targets.kind == TargetKind::points ? targets.points.offset : charges.offset;
    for (std::int64_t p = 0; p < charges.count; ++p) first.push_back(offset[p + 1] - offset[0]);
    return first;
  }

  /// Computes the interaction energies of groups 1 and 2.
  void sum_energies(const ChargeBatch& charges, const PotentialOptions& options, const std::int32_t* info,
                    double* energy) const {
    std::vector<std::int32_t> of_pairs(static_cast<std::size_t>(charges.count));
    std::fill(energy, energy + charges.count, 0);
    if (charges.group != nullptr)
      sum_pair_energies(charges, interaction_energy_options(options), {energy, of_pairs.data()}, threads_, lanes_);
    for (std::int64_t p = 0; p < charges.count; ++p)
      if (!has_values(info[p])) energy[p] = std::numeric_limits<double>::quiet_NaN();
  }

  unsigned threads_;
  DirectSumKernels lanes_;
};

}  // namespace

void sum_potentials(const ChargeBatch& charges, const TargetBatch& targets, const PotentialOptions& options,
                    ScalarType precision, const PotentialResult<double>& result, unsigned threads,
                    const DirectSumKernels& lanes, const double* target_width) {
  if (precision == ScalarType::float32)
    sum_values<float>(charges, targets, options, result, threads, lanes, target_width);
  else
    sum_values<double>(charges, targets, options, result, threads, lanes, target_width);
}

std::vector<DirectSumKernels> usable_direct_sum_kernels() {
  return usable_kernels<direct_sum_kernels_baseline, direct_sum_kernels_avx2, direct_sum_kernels_avx512>();
}

std::unique_ptr<Potential> make_cpu_potential(unsigned threads, const DirectSumKernels& lanes) {
  return std::make_unique<CpuPotential>(threads, lanes);
}

}  // namespace smallbatch
