// The judgement of one answer, with Eigen.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "core/compare.hpp"
#include "core/not_finite.hpp"
#include "solvers/reference/lanes.hpp"
#include "solvers/reference/system.hpp"
#include "solvers/spd_referee.hpp"

namespace smallbatch {

namespace {

constexpr double unit_roundoff(ScalarType type) { return type == ScalarType::float32 ? 0x1p-24 : 0x1p-53; }

/// Returns the status of a solution that may leave the range of its type. It is the backend's status if the loss is
/// near the limit, or if the backend's solution is not certain enough.
template <class T>
std::int32_t range_status(const RefereeSystem<T>& system, const typename RefereeSystem<T>::Solution& solution, int n,
                          double rcond, std::int32_t info) {
  constexpr double u = static_cast<double>(std::numeric_limits<T>::epsilon()) / 2;
  if (info == info_result_not_finite && system.overflows(solution)) return info;
  if (info == info_result_underflowed && !system.may_underflow()) return 0;
  if (info != info_result_not_finite && rcond < n * u) return info;
  const auto loss = system.rounding_loss(solution);
  const double error = 1 / rcond;  // the most by which the backend's x may differ from x*, in units of u
  if (info == info_result_underflowed)
    return std::min(loss.found + error, loss.most) > 0.5 * spd_underflow_loss ? info : 0;
  return loss.found - error > 2 * spd_underflow_loss ? info_result_underflowed : 0;
}

}  // namespace

template <class T>
SpdJudgement judge_spd_solution(const SpdShape& shape, const T* a, const T* b, const T* x, std::int32_t info,
                                double pivot_floor) {
  const RefereeSystem<T> system(shape, a, b, pivot_floor, info == info_matrix_not_symmetric ? -1 : 1);
  constexpr double u = static_cast<double>(std::numeric_limits<T>::epsilon()) / 2;
  constexpr double e = spd_ratio_limit * u;
  SpdJudgement judgement;
  judgement.info = system.info();
  if (judgement.info < 0) return judgement;
  double relaxed = 1;
  typename RefereeSystem<T>::Solution solution;
  if (judgement.info == 0) {
    const auto conditions = system.conditions(e);
    static_cast<SpdValues&>(judgement) = system.numbers(conditions);
    judgement.bounds = system.bounds(e, conditions);
    judgement.largest_perturbation = system.largest_perturbation();
    judgement.undecided = system.undecided();
    relaxed = conditions.relaxed(e);
    if (info == 0 || info == info_result_not_finite || info == info_result_underflowed) {
      solution = system.solve();
      judgement.info = range_status(system, solution, shape.n, judgement.rcond, info);
    }
  }
  if (info == 0) {
    judgement.backward_error = system.backward_error(x);
    judgement.bounds.backward_error = 0.01 * judgement.backward_error + system.rounding_of_backward_error(x);
    const bool is_repaired = judgement.info == 0 && (judgement.repaired > 0 || judgement.undecided);
    const double error = is_repaired ? system.error_as_repaired(x) : judgement.backward_error;
    judgement.residual_ratio = error / (shape.wants_inverse() ? shape.n * u : u);
    const bool certain = !(judgement.rcond < shape.n * 0x1p-53);  // otherwise no digit of the referee's solution is
                                                                  // certain
    if (judgement.info == 0 && certain && !judgement.undecided)
      judgement.forward_ratio = system.forward_error(x, solution) * judgement.rcond / (u * relaxed);
    else
      judgement.forward_ratio = std::isnan(judgement.residual_ratio) ? nan_value : 0;
  }
  // A backend that finds x out of range has found all pivots positive.
  const std::int32_t pivot = info == info_result_not_finite || info == info_result_underflowed ? 0 : info;
  if (pivot >= 0 && pivot <= shape.n && pivot != judgement.info && judgement.info >= 0) {
    const bool must_be_repaired = judgement.info == 0 && judgement.repaired > 0 && !judgement.undecided;
    const int earlier =
        pivot == 0 || judgement.info == 0 ? std::max(pivot, judgement.info) : std::min(pivot, judgement.info);
    const bool is_made_up = info == info_result_underflowed && !system.may_underflow();
    if (!must_be_repaired && !is_made_up) judgement.disputed_rcond = system.scaled_block_rcond(earlier);
  }
  return judgement;
}

template SpdJudgement judge_spd_solution(const SpdShape&, const float*, const float*, const float*, std::int32_t,
                                         double);
template SpdJudgement judge_spd_solution(const SpdShape&, const double*, const double*, const double*, std::int32_t,
                                         double);

namespace {

/// Returns whether a system has NaN in x and, in all other numbers, the values that a failed system must have.
template <class T>
bool looks_failed(const SpdBlock<T>& block, const T* x, std::size_t s) {
  bool failed = std::all_of(x, x + block.shape.solution_size(), [](T v) { return std::isnan(v); });
  for_each_spd_number<T>([&](const auto& number) {
    const auto& values = block.*number.in_block;
    failed = failed && (values.empty() ||
                        (std::isnan(number.of_failed()) ? std::isnan(values[s]) : values[s] == number.of_failed()));
  });
  return failed;
}

/// Parameters of the judgement besides A and b.
struct Rules {
  double pivot_floor, rcond_overestimate;
};

/// Returns the largest error over bound in a solved system's numbers about A.
template <class T>
double error_of_numbers(const SpdBlock<T>& block, const SpdJudgement& judgement, const Rules& rules, std::size_t s) {
  if (block.rcond.empty()) return 0;
  const bool has_perturbation = !block.perturbation.empty();
  const double perturbation = has_perturbation ? block.perturbation[s] : 0;
  if (!(block.rcond[s] >= 0) || !(block.smallest_pivot[s] >= 0) || !std::isfinite(block.log_determinant[s]) ||
      block.repaired[s] < 0)
    return infinity;
  if (has_perturbation && (!(perturbation >= 0) || (perturbation == 0) != (block.repaired[s] == 0))) return infinity;
  if (judgement.info != 0) return 0;  // rounding decides whether A has these numbers
  if (judgement.undecided) {
    if (block.repaired[s] > block.shape.n) return infinity;
    return within(perturbation, 1.001 * judgement.largest_perturbation) ? 0 : infinity;  // the factor allows for
                                                                                         // rounding to T
  }
  double worst = 0;
  for_each_spd_number<T>([&](const auto& number) {
    const auto& values = block.*number.in_block;
    if (number.is_about_x || values.empty()) return;
    const double SpdValues::*value = number.in_values;
    const auto found = static_cast<double>(values[s]);
    double expected = judgement.*value;
    const bool estimated = block.shape.n > spd_rcond_is_exact_up_to && !block.shape.wants_inverse();
    if (value == &SpdValues::rcond && estimated && found > expected)
      expected = std::min(found, rules.rcond_overestimate * expected);
    worst = std::max(worst, error_over_bound(found, expected, judgement.bounds.*value));
  });
  return worst;
}

/// Returns the error over bound of a system according to `judgement`. It is infinite if something without a bound is
/// wrong. It is also infinite if a backward error is wrong by more than `limit` times its bound.
template <class T>
double error_by(const SpdJudgement& judgement, const SpdBlock<T>& block, const Rules& rules, std::int64_t system,
                double limit) {
  const SpdShape& shape = block.shape;
  const auto s = static_cast<std::size_t>(system);
  const std::int32_t info = block.info[s];
  if (!same_status(info, judgement, scalar_type_of<T>, shape.n)) return infinity;
  if (info != 0) return looks_failed(block, block.x.data() + system * shape.solution_size(), s) ? 0 : infinity;
  const double numbers = error_of_numbers(block, judgement, rules, s);
  if (shape.determinant_only) return numbers;
  // Before format 1.3, residuals were computed in double precision for every T.
  const double bound = judgement.bounds.backward_error + (block.perturbation.empty() ? shape.n * 0x1p-53 : 0);
  if (!within(error_over_bound(block.backward_error[s], judgement.backward_error, bound), limit)) return infinity;
  return std::max({numbers, error_over_bound(judgement.residual_ratio, 0, spd_ratio_limit),
                   error_over_bound(judgement.forward_ratio, 0, spd_ratio_limit)});
}

template <class T>
double error_of_one(const SpdBlock<T>& block, const Rules& rules, std::int64_t system) {
  const SpdShape& shape = block.shape;
  const SpdJudgement judgement = judge_spd_solution(
      shape, block.a.data() + system * shape.matrix_size(), block.b.data() + system * shape.rhs_size(),
      block.x.data() + system * shape.solution_size(), block.info[static_cast<std::size_t>(system)], rules.pivot_floor);
  return error_by(judgement, block, rules, system, 1);
}

}  // namespace

bool same_status(std::int32_t backend_info, const SpdJudgement& judgement, ScalarType type, int n) {
  if (backend_info == judgement.info) return true;
  const bool out_of_range = backend_info == info_result_not_finite || backend_info == info_result_underflowed;
  const bool about_a_pivot =
      (backend_info >= 0 && backend_info <= n && judgement.info >= 0) || (out_of_range && judgement.info > 0);
  return about_a_pivot && std::abs(judgement.disputed_rcond) < n * unit_roundoff(type);
}

namespace {

/// Returns whether an answer is 0 in the rows and columns beyond its system's size.
template <class T>
bool is_zero_beyond(const SpdShape& shape, const T* x, int size) {
  const int columns = shape.wants_inverse() ? shape.n : shape.nrhs, used = shape.wants_inverse() ? size : shape.nrhs;
  for (int i = 0; i < shape.n && !shape.determinant_only; ++i)
    for (int c = i < size ? used : 0; c < columns; ++c)
      if (x[i * std::int64_t{columns} + c] != 0) return false;
  return true;
}

/// Returns the error over bound of a system without rows, or with a size out of range.
template <class T>
double error_without_rows(const SpdBlock<T>& block, std::size_t s) {
  const T* const x = block.x.data() + s * static_cast<std::size_t>(block.shape.solution_size());
  if (block.sizes[s] != 0) return block.info[s] == info_size_out_of_range && looks_failed(block, x, s) ? 0 : infinity;
  bool right = block.info[s] == 0 && is_zero_beyond(block.shape, x, 0);
  for_each_spd_number<T>([&](const auto& number) {
    const auto& values = block.*number.in_block;
    right = right && (values.empty() || values[s] == SpdValues::of_identity().*number.in_values);
  });
  return right ? 0 : infinity;
}

/// Returns a block with n = `size` that has the leading rows and columns of `systems`.
template <class T>
SpdBlock<T> leading_blocks(const SpdBlock<T>& block, int size, std::span<const std::int64_t> systems) {
  const SpdShape& shape = block.shape;
  SpdShape own = shape;
  own.n = size;
  own.has_sizes = false;
  SpdBlock<T> leading;
  leading.resize(own, static_cast<std::int64_t>(systems.size()));
  T *a = leading.a.data(), *b = leading.b.data(), *x = leading.x.data();
  const bool packed = shape.storage == Storage::packed_lower;
  const int columns = shape.wants_inverse() ? shape.n : shape.nrhs, used = shape.wants_inverse() ? size : shape.nrhs;
  for (const std::int64_t system : systems) {
    const T* const matrix = block.a.data() + system * shape.matrix_size();
    const T* const solution = block.x.data() + system * shape.solution_size();
    for (int i = 0; i < size; ++i) {
      a = std::copy_n(matrix + row_begin(shape.storage, shape.n, i), packed ? i + 1 : size, a);
      if (!shape.determinant_only) x = std::copy_n(solution + i * std::int64_t{columns}, used, x);
    }
    b = std::copy_n(block.b.data() + system * shape.rhs_size(), own.rhs_size(), b);
  }
  const auto take = [&](const auto& from, auto& to) {
    to.resize(from.empty() ? 0 : systems.size());
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = from[static_cast<std::size_t>(systems[i])];
  };
  take(block.info, leading.info);
  for_each_spd_number<T>([&](const auto& number) { take(block.*number.in_block, leading.*number.in_block); });
  return leading;
}

/// Computes spd_errors_over_bounds() of a block with sizes, for all systems of one size at a time.
template <class T>
void errors_by_size(const RefereeLanes& referee_lanes, const SpdBlock<T>& block, const Rules& rules,
                    std::span<const std::int64_t> systems, std::span<double> errors) {
  const SpdShape& shape = block.shape;
  std::vector<std::vector<std::size_t>> of_size(static_cast<std::size_t>(shape.n) + 1);  // indices in `systems`
  for (std::size_t i = 0; i < systems.size(); ++i) {
    const auto s = static_cast<std::size_t>(systems[i]);
    const std::int32_t size = block.sizes[s];
    if (size > 0 && size <= shape.n)
      of_size[static_cast<std::size_t>(size)].push_back(i);
    else
      errors[i] = error_without_rows(block, s);
  }
  for (int size = 1; size <= shape.n; ++size) {
    const std::vector<std::size_t>& places = of_size[static_cast<std::size_t>(size)];
    if (places.empty()) continue;
    std::vector<std::int64_t> own(places.size()), all(places.size());
    for (std::size_t i = 0; i < places.size(); ++i) own[i] = systems[places[i]];
    std::iota(all.begin(), all.end(), 0);
    std::vector<double> found(places.size());
    spd_errors_over_bounds<T>(referee_lanes, leading_blocks<T>(block, size, own), rules.pivot_floor, all, found,
                              rules.rcond_overestimate);
    for (std::size_t i = 0; i < places.size(); ++i)
      errors[places[i]] =
          is_zero_beyond(shape, block.x.data() + own[i] * shape.solution_size(), size) ? found[i] : infinity;
  }
}

}  // namespace

template <class T>
void spd_errors_over_bounds(const RefereeLanes& referee_lanes, const SpdBlock<T>& block, double pivot_floor,
                            std::span<const std::int64_t> systems, std::span<double> errors,
                            double rcond_overestimate) {
  const Rules rules{pivot_floor, rcond_overestimate};
  if (block.shape.has_sizes) {
    errors_by_size(referee_lanes, block, rules, systems, errors);
    return;
  }
  constexpr double certain = 0.5;  // so far below 1 that the roundings of lanes and RefereeSystem cannot matter
  std::vector<std::int64_t> solved;
  std::vector<std::size_t> places;  // indices in `systems`
  solved.reserve(systems.size());
  places.reserve(systems.size());
  for (std::size_t i = 0; i < systems.size(); ++i)
    if (pivot_floor > 0 || block.info[static_cast<std::size_t>(systems[i])] != 0) {
      errors[i] = error_of_one(block, rules, systems[i]);
    } else {
      solved.push_back(systems[i]);
      places.push_back(i);
    }
  std::vector<LaneJudgement> judgements(solved.size());
  referee_lanes.of<T>().judge({block.shape, block.a.data(), block.b.data(), block.x.data()}, solved, judgements.data());
  for (std::size_t k = 0; k < solved.size(); ++k) {
    const auto& [is_certain, judgement] = judgements[k];
    double& error = errors[places[k]];
    error = is_certain ? error_by(judgement, block, rules, solved[k], certain) : infinity;
    if (!within(error, certain)) error = error_of_one(block, rules, solved[k]);
  }
}

template void spd_errors_over_bounds(const RefereeLanes&, const SpdBlock<float>&, double, std::span<const std::int64_t>,
                                     std::span<double>, double);
template void spd_errors_over_bounds(const RefereeLanes&, const SpdBlock<double>&, double,
                                     std::span<const std::int64_t>, std::span<double>, double);

template <class T>
void spd_errors_over_bounds(const SpdBlock<T>& block, double pivot_floor, std::span<const std::int64_t> systems,
                            std::span<double> errors, double rcond_overestimate) {
  static const RefereeLanes fastest = usable_referee_lanes().front();
  spd_errors_over_bounds(fastest, block, pivot_floor, systems, errors, rcond_overestimate);
}

template void spd_errors_over_bounds(const SpdBlock<float>&, double, std::span<const std::int64_t>, std::span<double>,
                                     double);
template void spd_errors_over_bounds(const SpdBlock<double>&, double, std::span<const std::int64_t>, std::span<double>,
                                     double);

template <class T>
double spd_error_over_bound(const SpdBlock<T>& block, double pivot_floor, std::int64_t system,
                            double rcond_overestimate) {
  double error = 0;
  spd_errors_over_bounds(block, pivot_floor, std::span(&system, 1), std::span(&error, 1), rcond_overestimate);
  return error;
}

template double spd_error_over_bound(const SpdBlock<float>&, double, std::int64_t, double);
template double spd_error_over_bound(const SpdBlock<double>&, double, std::int64_t, double);

std::string spd_criterion(const SpdShape& shape, ScalarType type) {
  const std::string limit = bound_text(spd_ratio_limit);
  std::string text = "same status as Eigen LLT in higher precision; ";
  if (shape.wants_inverse())
    text += "||I - A X||_1 / (n ||A||_1 ||X||_1 u) <= " + limit + "; ||X - X*|| rcond / (||X*|| u) <= " + limit + "; ";
  else if (!shape.determinant_only)
    text += "||b - A x||_1 / (||A||_1 ||x||_1 u) <= " + limit + "; ||x - x*||_inf rcond / (||x*||_inf u) <= " + limit +
            "; ";
  if (shape.has_sizes) text += "all of this for the leading n rows, where n is the system's size, and 0 beyond; ";
  return text + "rcond within (" + limit + " + (" + limit +
         " + n) rcond) u (cuda: or an estimate from above); smallest pivot and ln det A within the change that "
         "errors of " +
         limit + " u sqrt(a_ii a_jj) in the elements of A can cause; u = " + bound_text(unit_roundoff(type));
}

}  // namespace smallbatch
