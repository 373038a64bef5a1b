#include "app/verification.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <mutex>
#include <sstream>

#include "app/interruption.hpp"
#include "core/compare.hpp"
#include "core/parallel.hpp"
#include "solvers/spd_referee.hpp"

namespace smallbatch {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Which of the indices [first, last) out of [0, total) the mode selects; sample=N selects floor(i total / N), i < N.
class Selection {
 public:
  Selection(const VerifyMode& mode, std::int64_t total, std::int64_t first, std::int64_t last)
      : all_(mode.kind == VerifyMode::Kind::all || (mode.kind == VerifyMode::Kind::sample && mode.sample >= total)),
        first_(first),
        last_(last) {
    if (all_ || mode.kind == VerifyMode::Kind::none || total == 0) return;
    const double step = static_cast<double>(total) / static_cast<double>(mode.sample);
    auto index_of = [&](std::int64_t i) { return static_cast<std::int64_t>(static_cast<double>(i) * step); };
    auto i = std::max<std::int64_t>(0, static_cast<std::int64_t>(static_cast<double>(first) / step) - 1);
    for (; i < mode.sample && index_of(i) < last; ++i)
      if (index_of(i) >= first) chosen_.push_back(index_of(i));
  }
  [[nodiscard]] std::int64_t size() const { return all_ ? last_ - first_ : static_cast<std::int64_t>(chosen_.size()); }
  [[nodiscard]] std::int64_t operator[](std::int64_t i) const {
    return all_ ? first_ + i : chosen_[static_cast<std::size_t>(i)];
  }

 private:
  bool all_;
  std::int64_t first_, last_;
  std::vector<std::int64_t> chosen_;
};

constexpr double roundoff(ScalarType type) { return type == ScalarType::float32 ? 0x1p-24 : 0x1p-53; }

/// A system without an answer must not look as if it had one.
template <class T>
bool looks_failed(const SpdBlock<T>& block, const T* x, std::size_t s) {
  bool failed = std::all_of(x, x + block.shape.solution_size(), [](T v) { return std::isnan(v); });
  for (const std::vector<T>* numbers :
       {&block.backward_error, &block.rcond, &block.smallest_pivot, &block.perturbation})
    failed = failed && (numbers->empty() || std::isnan((*numbers)[s]));
  return failed && (block.log_determinant.empty() || std::isnan(block.log_determinant[s])) &&
         (block.repaired.empty() || block.repaired[s] == 0);
}

/// Largest error over bound of a solved system's numbers about A.
template <class T>
double judge_numbers(const SpdBlock<T>& block, const SpdJudgement& judgement, std::size_t s) {
  if (block.rcond.empty()) return 0;
  const double rcond = block.rcond[s], pivot = block.smallest_pivot[s], log_determinant = block.log_determinant[s];
  const bool has_perturbation = !block.perturbation.empty();
  const double perturbation = has_perturbation ? block.perturbation[s] : 0;
  if (!(rcond >= 0) || !(pivot >= 0) || !std::isfinite(log_determinant) || block.repaired[s] < 0) return infinity;
  if (has_perturbation && (!(perturbation >= 0) || (perturbation == 0) != (block.repaired[s] == 0))) return infinity;
  if (judgement.info != 0) return 0;  // rounding decides whether A has these numbers
  if (judgement.undecided) {
    if (block.repaired[s] > block.shape.n) return infinity;
    return within(perturbation, 1.001 * judgement.largest_perturbation) ? 0 : infinity;  // rounded to T, to be exact
  }
  if (block.repaired[s] != judgement.repaired) return infinity;
  return std::max(
      {error_over_bound(rcond, judgement.rcond, judgement.rcond_bound),
       error_over_bound(pivot, judgement.smallest_pivot, judgement.smallest_pivot_bound),
       error_over_bound(log_determinant, judgement.log_determinant, judgement.log_determinant_bound),
       has_perturbation ? error_over_bound(perturbation, judgement.perturbation, judgement.perturbation_bound) : 0});
}

/// Error over bound of one system, by the rule at the top of verification.hpp.
template <class T>
double judge(const SolveSet& set, const SpdBlock<T>& block, double pivot_floor, std::int64_t i) {
  const SpdShape& shape = set.shape;
  const auto s = static_cast<std::size_t>(i);
  const T* x = block.x.data() + i * shape.solution_size();
  const std::int32_t info = block.info[s];
  const SpdJudgement judgement = judge_spd_solution(shape, block.a.data() + i * shape.matrix_size(),
                                                    block.b.data() + i * shape.rhs_size(), x, info, pivot_floor);
  if (!same_status(info, judgement, scalar_type_of<T>, shape.n)) return infinity;
  if (info != 0) return looks_failed(block, x, s) ? 0 : infinity;
  const double numbers = judge_numbers(block, judgement, s);
  if (shape.determinant_only) return numbers;
  // Before format 1.3 residuals were computed in double precision, whatever T is.
  const double bound = judgement.backward_error_bound + (block.perturbation.empty() ? shape.n * 0x1p-53 : 0);
  if (!within(error_over_bound(block.backward_error[s], judgement.backward_error, bound), 1)) return infinity;
  return std::max({numbers, error_over_bound(judgement.residual_ratio, 0, spd_ratio_limit),
                   error_over_bound(judgement.forward_ratio, 0, spd_ratio_limit)});
}

/// Error over bound of one number that may be a NaN by rights.
double judge(double got, double expected, double bound, bool may_be_nan) {
  if (may_be_nan && std::isnan(expected)) return std::isnan(got) ? 0 : infinity;
  return error_over_bound(got, expected, bound);
}

/// A bound that is beyond all numbers, as the referee gives it.
bool is_any_number(double bound) { return bound == std::numeric_limits<double>::max(); }

/// How far a number is beyond the range of its type, as far as its bound lets one say.
enum class Beyond { no, perhaps, yes };
template <class T>
Beyond beyond_range(double exact, double bound) {
  constexpr double largest = std::numeric_limits<T>::max();
  if (is_any_number(bound)) return Beyond::perhaps;
  if (std::abs(exact) - bound > largest || std::isinf(exact)) return Beyond::yes;
  return std::abs(exact) + bound > largest ? Beyond::perhaps : Beyond::no;
}

/// The same of one number of T: beyond T's range it is an infinity of its sign.
template <class T>
double judge_in_range(T got, double expected, double bound, Beyond& beyond) {
  const Beyond found = beyond_range<T>(expected, bound);
  beyond = std::max(beyond, found);
  const bool same_sign = std::signbit(got) == std::signbit(expected);
  if (std::isinf(got) && found != Beyond::no && same_sign) return 0;
  if (std::isinf(got) && bound - std::abs(expected) > std::numeric_limits<T>::max()) return 0;
  if (is_any_number(bound)) return std::isnan(got) ? infinity : 0;
  if (sizeof(T) == sizeof(double) && std::isinf(expected) && same_sign)  // it may be so by rounding alone
    return std::abs(got) > 0.999 * std::numeric_limits<double>::max() ? 0 : infinity;
  return error_over_bound(got, expected, bound);
}

/// Error over bound of V, and of E where the block has it, at one target. A problem without values has NaN everywhere,
/// and a target at which V is singular has no field. `beyond` becomes what the target's values say, if it is more.
template <class T>
double judge(const PotentialBlock<T>& block, std::int64_t target, bool answered, const ReferencePotential& reference,
             Beyond& beyond) {
  const auto i = static_cast<std::size_t>(target);
  const bool in_numbers = answered && !reference.singular;
  double worst = in_numbers ? judge_in_range(block.potential[i], reference.potential, reference.bound, beyond)
                            : judge(block.potential[i], reference.potential, reference.bound, !answered);
  if (block.field.empty()) return worst;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const T got = block.field[3 * i + axis];
    worst = std::max(worst, in_numbers ? judge_in_range(got, reference.field[axis], reference.field_bound, beyond)
                                       : judge(got, reference.field[axis], reference.field_bound, true));
  }
  return worst;
}

/// What the stored values of a problem at points or charges say of their range: E is infinite beyond it alone, V also
/// at `singular` targets at most, as the policy has it.
template <class T>
Beyond stored_beyond_range(const PotentialBlock<T>& block, std::int64_t first, std::int64_t last,
                           std::int64_t singular) {
  const auto infinite = [](const std::vector<T>& values, std::int64_t begin, std::int64_t end) {
    return std::count_if(values.begin() + begin, values.begin() + end, [](T value) { return std::isinf(value); });
  };
  const std::int64_t potentials = infinite(block.potential, first, last);
  const std::int64_t fields = block.field.empty() ? 0 : infinite(block.field, 3 * first, 3 * last);
  if (fields > 0 || potentials > singular) return Beyond::yes;
  return potentials > 0 ? Beyond::perhaps : Beyond::no;
}

/// Whether a status is the referee's, for values that are so far beyond their range.
bool is_status(std::int32_t info, const ReferenceStatus& expected, Beyond beyond) {
  if (has_values(expected.info) && beyond != Beyond::no && info == info_values_out_of_range) return true;
  return beyond != Beyond::yes && (info == expected.info || info == expected.or_else);
}

/// Error over bound of a problem's interaction energy.
template <class T>
double judge_energy(const PotentialBlock<T>& block, const PotentialOptions& options, std::int64_t problem) {
  const double energy = block.energy[static_cast<std::size_t>(problem)];
  if (!has_values(block.info[static_cast<std::size_t>(problem)])) return std::isnan(energy) ? 0 : infinity;
  const ReferenceEnergy reference = reference_energy(block.charges(), problem, options);
  return judge(energy, reference.energy, reference.bound, true);
}

}  // namespace

void Verdicts::add(std::int64_t index, double error_over_its_bound) {
  const auto i = static_cast<std::size_t>(index);
  verdict[i] = std::max(verdict[i], within(error_over_its_bound, 1) ? Verdict::agreed : Verdict::disagreed);
  const double error = std::isnan(error_over_its_bound) ? infinity : error_over_its_bound;
  // fmax ignores the NaN that says "not checked yet"
  error_over_bound[i] = std::fmax(error_over_bound[i], static_cast<float>(error));
}

void Verdicts::merge(std::int64_t first, const Verdicts& part) {
  for (std::size_t k = 0; k < part.verdict.size(); ++k) {
    const auto i = static_cast<std::size_t>(first) + k;
    verdict[i] = std::max(verdict[i], part.verdict[k]);
    error_over_bound[i] = std::fmax(error_over_bound[i], part.error_over_bound[k]);
  }
}

std::int64_t SetOutcome::failed_count() const {
  std::int64_t total = 0;
  for (const auto& [status, number] : failed) total += number;
  return total;
}

void SetOutcome::count_status(std::span<const std::int32_t> info) {
  for (const std::int32_t status : info) {
    if (status == 0) continue;
    if (lane == "potential" && status > 0)
      singular += status;
    else
      ++failed[status];
  }
}

template <class T>
void SetOutcome::count_numbers(const SpdBlock<T>& block) {
  constexpr double u = roundoff(scalar_type_of<T>);
  // Keeps the value that is `worse`, and a NaN once it is there.
  const auto keep = [](std::optional<double>& kept, double value, auto worse) {
    if (!kept || (!std::isnan(*kept) && (std::isnan(value) || worse(value, *kept)))) kept = value;
  };
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

namespace {
void widen(std::optional<std::array<double, 2>>& range, double low, double high) {
  if (std::isnan(low) || std::isnan(high)) return;
  range = range ? std::array{std::min((*range)[0], low), std::max((*range)[1], high)} : std::array{low, high};
}
}  // namespace

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
  outcome.lane = "solve";
  outcome.name = set.name;
  outcome.shape = shape_words(set);
  outcome.batch = set.batch;
  std::string& criterion = outcome.verification.criterion;
  criterion = "same status as Eigen LLT in higher precision; ";
  if (set.shape.wants_inverse())
    criterion += "||I - A X||_1 / (n ||A||_1 ||X||_1 u) <= 30; ||X - X*|| rcond / (||X*|| u) <= 30; ";
  else if (!set.shape.determinant_only)
    criterion += "||b - A x||_1 / (||A||_1 ||x||_1 u) <= 30; ||x - x*||_inf rcond / (||x*||_inf u) <= 30; ";
  criterion +=
      "rcond within (30 + (30 + n) rcond) u, and the smallest pivot and ln det A within what errors of "
      "30 u sqrt(a_ii a_jj) in the elements of A can do; u = ";
  criterion += set.type == ScalarType::float32 ? "2^-24" : "2^-53";
  return outcome;
}

SetOutcome start_outcome(const PotentialSet& set, ScalarType precision) {
  SetOutcome outcome;
  outcome.lane = "potential";
  outcome.name = set.name;
  outcome.shape = shape_words(set);
  outcome.batch = set.batch;
  outcome.targets = set.targets;
  outcome.has_field = set.has_field;
  outcome.unit = set.output_unit;
  const bool single = precision == ScalarType::float32;
  const std::string r = set.softening > 0 ? "rho_i" : "r_i", twice = set.cutoff > 0 ? "2 f" : "f";
  std::string& criterion = outcome.verification.criterion;
  criterion =
      "|V - V*| <= " + twice + " sum_i |q_i|/" + r + (single ? " (2^-22 + 2^-23 L/" : " (2^-51 + 2^-52 L/") + r + ")";
  if (set.has_field)
    criterion += ", |E_k - E_k*| <= " + twice + " sum_i |q_i|/" + r + "^2" +
                 (single ? " (2^-20 + 2^-21 L/" : " (2^-49 + 2^-50 L/") + r + ")";
  if (set.has_groups) criterion += ", |U - U*| <= f sum |q_i q_j|/r_ij 2^-44";
  criterion += " against direct summation with Eigen in double precision";
  if (set.softening > 0) criterion += ", rho^2 = r^2 + softening^2";
  if (set.cutoff > 0) criterion += ", sums over the charges within 1.01 cut-offs";
  criterion += "; V_min, V_max and V_mean are those of V";
  return outcome;
}

template <class T>
Verdicts verify(const SolveSet& set, const SpdBlock<T>& block, double pivot_floor, const VerifyMode& mode,
                unsigned threads) {
  Verdicts verdicts(block.count);
  const Selection selected(mode, set.batch, block.first, block.first + block.count);
  parallel_for(selected.size(), 64, threads, [&](std::int64_t first, std::int64_t last) {
    stop_if_interrupted();
    for (std::int64_t i = first; i < last; ++i) {
      const std::int64_t system = selected[i] - block.first;
      verdicts.add(system, judge(set, block, pivot_floor, system));
    }
  });
  return verdicts;
}

template <class T>
Verdicts verify(const PotentialSet& set, const PotentialBlock<T>& block, const PotentialOptions& options,
                const VerifyMode& mode, unsigned threads, std::int64_t& points_checked) {
  // The block's values are one run of the set's targets, counted problem after problem.
  const std::int64_t first_target =
      set.targets_before(block.first) +
      (set.targets == TargetKind::lattice ? block.first_plane * set.shape.plane_points() : 0);
  const Selection selected(mode, set.targets_before(set.batch), first_target,
                           first_target + static_cast<std::int64_t>(block.potential.size()));
  points_checked += selected.size();

  // Runs of selected targets of one problem, short enough to notice an interruption between two. Where everything is
  // checked, so is the status of a problem without targets.
  struct Piece {
    std::int64_t problem, first, last;
  };
  std::vector<Piece> pieces;
  constexpr std::int64_t longest = 1 << 16;
  std::int64_t i = 0;
  for (std::int64_t p = 0; p < block.count; ++p) {
    const std::int64_t end = set.targets_before(block.first + p + 1);
    const bool is_empty = end == set.targets_before(block.first + p);
    if (is_empty && mode.kind == VerifyMode::Kind::all) pieces.push_back({p, i, i});
    while (i < selected.size() && selected[i] < end) {
      Piece piece{p, i, i};
      while (i < selected.size() && i - piece.first < longest && selected[i] < end) ++i;
      piece.last = i;
      pieces.push_back(piece);
    }
  }

  struct Checked {
    ReferenceStatus status;
    std::int64_t targets = 0;
    Beyond beyond = Beyond::no;
  };
  std::vector<Checked> checked(static_cast<std::size_t>(block.count));
  Verdicts verdicts(block.count);
  std::mutex verdicts_mutex;
  auto verify_piece = [&](const Piece& piece, unsigned threads_of_piece) {
    stop_if_interrupted();
    const auto size = static_cast<std::size_t>(piece.last - piece.first);
    std::vector<std::int64_t> targets(size);
    std::vector<ReferencePotential> expected(size);
    const std::int64_t before = set.targets_before(block.first + piece.problem);
    for (std::size_t k = 0; k < size; ++k) targets[k] = selected[piece.first + static_cast<std::int64_t>(k)] - before;
    const ReferenceStatus status =
        reference_potential(block.charges(), block.target_batch(), piece.problem, options, scalar_type_of<T>, targets,
                            expected, threads_of_piece, !block.field.empty());
    double worst = 0;
    Beyond beyond = Beyond::no;
    for (std::size_t k = 0; k < size; ++k)
      worst = std::max(worst,
                       judge(block, targets[k] + before - first_target, has_values(status.info), expected[k], beyond));
    const std::lock_guard lock(verdicts_mutex);
    verdicts.add(piece.problem, worst);
    Checked& sum = checked[static_cast<std::size_t>(piece.problem)];
    sum = {status, sum.targets + piece.last - piece.first, std::max(sum.beyond, beyond)};
  };

  // Few large problems are worked through by all threads, many small ones by a thread each: the referee prepares the
  // charges of a problem once for each piece.
  const unsigned workers = threads == 0 ? hardware_threads() : threads;
  const auto count = static_cast<std::int64_t>(pieces.size());
  if (count < 4 * static_cast<std::int64_t>(workers)) {
    for (const Piece& piece : pieces) verify_piece(piece, workers);
  } else {
    parallel_for(count, 1, workers, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t k = first; k < last; ++k) verify_piece(pieces[static_cast<std::size_t>(k)], 1);
    });
  }
  for (std::int64_t p = 0; p < block.count; ++p) {
    const auto problem = static_cast<std::size_t>(p);
    if (verdicts.verdict[problem] == Verdict::not_checked) continue;
    auto [status, targets, beyond] = checked[problem];
    const std::int64_t begin = set.targets_before(block.first + p) - first_target, end = begin + block.target_count(p);
    if (set.targets == TargetKind::lattice)
      beyond = Beyond::no;  // the charges have said it
    else if (targets < end - begin)
      beyond = std::max(
          beyond, stored_beyond_range(block, begin, end, options.singular == Singular::infinite ? status.info : 0));
    if (!is_status(block.info[problem], status, beyond)) verdicts.add(p, infinity);
  }
  if (!block.wants_energy) return verdicts;
  const Selection problems(mode, set.batch, block.first, block.first + block.count);
  parallel_for(problems.size(), 1, workers, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t k = first; k < last; ++k) {
      stop_if_interrupted();
      const std::int64_t problem = problems[k] - block.first;
      verdicts.add(problem, judge_energy(block, options, problem));
    }
  });
  return verdicts;
}

void verify_statistics(const PotentialStatistics& statistics, const StatisticsReferee& referee, Verdicts& of_set) {
  for (std::size_t p = 0; p < statistics.mean.size(); ++p) {
    const auto problem = static_cast<std::int64_t>(p);
    const double error = referee.judge(statistics, problem);
    if (of_set.verdict[p] != Verdict::not_checked || !within(error, 1)) of_set.add(problem, error);
  }
}

template void SetOutcome::count_numbers(const SpdBlock<float>&);
template void SetOutcome::count_numbers(const SpdBlock<double>&);
template Verdicts verify(const SolveSet&, const SpdBlock<float>&, double, const VerifyMode&, unsigned);
template Verdicts verify(const SolveSet&, const SpdBlock<double>&, double, const VerifyMode&, unsigned);
template Verdicts verify(const PotentialSet&, const PotentialBlock<float>&, const PotentialOptions&, const VerifyMode&,
                         unsigned, std::int64_t&);
template Verdicts verify(const PotentialSet&, const PotentialBlock<double>&, const PotentialOptions&, const VerifyMode&,
                         unsigned, std::int64_t&);

}  // namespace smallbatch
