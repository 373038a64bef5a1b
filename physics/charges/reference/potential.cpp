// The reference backend of potentials, and the referee's answers. ReferenceProblem computes both, one tile of targets
// after another.
#include <atomic>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "core/not_finite.hpp"
#include "core/parallel.hpp"
#include "physics/charges/potential_backends.hpp"
#include "physics/charges/potential_checks.hpp"
#include "physics/charges/potential_referee.hpp"
#include "physics/charges/reference/problem.hpp"

namespace smallbatch {

namespace {

constexpr std::int64_t targets_together = 8 * tile_targets;  // targets that a thread takes at a time

template <class T>
PotentialSummary summary_of(const T* potential, std::int64_t count) {
  PotentialSummary summary{infinity, -infinity, 0, 0};
  CompensatedSum sum;
  for (std::int64_t i = 0; i < count; ++i) {
    const double value = static_cast<double>(potential[i]);
    if (!std::isfinite(value)) continue;
    summary.lowest = std::min(summary.lowest, value);
    summary.highest = std::max(summary.highest, value);
    sum.add(value);
    ++summary.values;
  }
  summary.sum = sum.value();
  return summary;
}

class EigenPotential final : public PotentialOf<EigenPotential> {
 public:
  explicit EigenPotential(unsigned threads) : threads_(threads) {}

  [[nodiscard]] std::string description() const override { return "reference eigen"; }

  template <class T>
  void run(const ChargeBatch& charges, const TargetBatch& targets, const PotentialOptions& options,
           const PotentialResult<T>& result) const {
    check_potential_call(charges, targets, options);
    const LatticeBatch& lattice = targets.lattice;
    const bool on_lattice = targets.kind == TargetKind::lattice, wants_field = result.field != nullptr;
    std::int64_t done = 0;
    for (std::int64_t problem = 0; problem < charges.count; ++problem) {
      const ReferenceProblem referee(charges, targets, problem, options, scalar_type_of<T>, wants_field);
      std::atomic<bool> out_of_range = false;
      const std::int64_t begin = on_lattice ? lattice.first_plane * lattice.shape.plane_points() : 0;
      const std::int64_t count = on_lattice ? lattice.plane_count * lattice.shape.plane_points() : referee.points();
      parallel_for(count, targets_together, threads_, [&](std::int64_t first, std::int64_t last) {
        std::vector<std::int64_t> points(static_cast<std::size_t>(last - first));
        std::iota(points.begin(), points.end(), begin + first);
        std::vector<ReferencePotential> answers(points.size());
        referee.at(points, answers);
        for (std::int64_t i = first; i < last; ++i) {
          const ReferencePotential& answer = answers[static_cast<std::size_t>(i - first)];
          const T v = result.potential[done + i] = static_cast<T>(answer.potential);
          if (std::isinf(v) && !answer.singular) out_of_range = true;
          if (!wants_field) continue;
          for (std::size_t axis = 0; axis < 3; ++axis) {
            const T e = static_cast<T>(answer.field[axis]);
            result.field[3 * (done + i) + static_cast<std::int64_t>(axis)] = e;
            if (std::isinf(e)) out_of_range = true;
          }
        }
      });
      const std::int32_t info = referee.status().info;
      result.info[problem] = !on_lattice && out_of_range ? info_values_out_of_range : info;
      if (result.summary != nullptr && !on_lattice)
        result.summary[problem] = summary_of(result.potential + done, count);
      for (std::int64_t plane = 0; result.summary != nullptr && on_lattice && plane < lattice.plane_count; ++plane)
        result.summary[problem * lattice.plane_count + plane] =
            summary_of(result.potential + done + plane * lattice.shape.plane_points(), lattice.shape.plane_points());
      if (result.energy != nullptr)
        result.energy[problem] = has_values(info) ? reference_energy(charges, problem, options).energy : nan;
      done += count;
    }
  }

 private:
  unsigned threads_;
};

}  // namespace

std::unique_ptr<Potential> make_reference_potential(unsigned threads) {
  return std::make_unique<EigenPotential>(threads);
}

PotentialReferee::PotentialReferee(const ChargeBatch& charges, const TargetBatch& targets, std::int64_t problem,
                                   const PotentialOptions& options, ScalarType precision, bool with_field,
                                   const double* target_width)
    : problem_(std::make_unique<ReferenceProblem>(charges, targets, problem, options, precision, with_field,
                                                  target_width)) {}
PotentialReferee::~PotentialReferee() = default;
PotentialReferee::PotentialReferee(PotentialReferee&&) noexcept = default;
PotentialReferee& PotentialReferee::operator=(PotentialReferee&&) noexcept = default;

ReferenceStatus PotentialReferee::status() const { return problem_->status(); }

void PotentialReferee::at(std::span<const std::int64_t> points, std::span<ReferencePotential> out) const {
  problem_->at(points, out);
}

ReferenceStatus reference_potential(const ChargeBatch& charges, const TargetBatch& targets, std::int64_t problem,
                                    const PotentialOptions& options, ScalarType precision,
                                    std::span<const std::int64_t> points, std::span<ReferencePotential> out,
                                    unsigned threads, bool with_field) {
  const PotentialReferee referee(charges, targets, problem, options, precision, with_field);
  parallel_for(static_cast<std::int64_t>(points.size()), targets_together, threads,
               [&](std::int64_t first, std::int64_t last) {
                 const auto begin = static_cast<std::size_t>(first), count = static_cast<std::size_t>(last - first);
                 referee.at(points.subspan(begin, count), out.subspan(begin, count));
               });
  return referee.status();
}

ReferenceEnergy reference_energy(const ChargeBatch& charges, std::int64_t problem, const PotentialOptions& options,
                                 const std::function<void()>& pause) {
  const std::int64_t first = charges.offset[problem], last = charges.offset[problem + 1];
  const double softening2 = options.softening * options.softening, cutoff = options.cutoff;
  const double per_screening_length = options.screening_length > 0 ? 1 / options.screening_length : 0;
  const InteractionKind kind = interaction_kind(charges, options);
  const auto width = [&](std::int64_t i) {
    return charges.width == nullptr || charges.width[i] < least_width ? 0 : charges.width[i];
  };
  std::vector<std::int64_t> second;
  for (std::int64_t j = first; charges.group != nullptr && j < last; ++j)
    if (charges.group[j] == 2 && charges.charge[j] != 0) second.push_back(j);
  CompensatedSum energy, bound;
  constexpr std::int64_t pairs_between_pauses = 1 << 20;
  std::int64_t since_pause = 0;
  double pairs = 0;  // each term may be rounded to a subnormal number
  for (std::int64_t i = first; i < last; ++i) {
    const Eigen::Map<const Eigen::Array3d> here(charges.position + 3 * i);
    if (!here.isFinite().all() || !std::isfinite(charges.charge[i]) || !std::isfinite(width(i))) return {nan, 0};
    if (charges.group == nullptr || charges.group[i] != 1 || charges.charge[i] == 0) continue;
    for (const std::int64_t j : second) {
      if (pause && ++since_pause == pairs_between_pauses) {
        since_pause = 0;
        pause();
      }
      const double product = charges.charge[i] * charges.charge[j];
      const double r = (here - Eigen::Map<const Eigen::Array3d>(charges.position + 3 * j)).matrix().norm();
      const double width2 = width(i) * width(i) + width(j) * width(j);
      if (options.softening == 0 && width2 == 0 && r < singular_distance_of_points) {
        if (options.singular == Singular::infinite) energy.add(std::copysign(infinity, product));
        continue;
      }
      const Action<double> action =
          action_of(kind, r * r, softening2, width2, per_screening_length, least_screening(ScalarType::float64));
      const double w = cutoff > 0 ? std::max(0.0, 1 - (r / cutoff) * (r / cutoff)) : 1;
      energy.add(product / action.length * action.value * (w * w));
      if (cutoff > 0 && r >= bound_reach_in_cutoffs * cutoff) continue;
      bound.add(std::abs(product) / action.length * action.value_bound * energy_bound);
      ++pairs;
    }
  }
  const double factor = std::abs(options.unit_factor), least = std::numeric_limits<double>::denorm_min();
  return {options.unit_factor * energy.value(),
          factor * bound.value() + (pairs > 0 ? least + pairs * least * factor : 0)};
}

}  // namespace smallbatch
