#include "bench/solve_ladder.hpp"

#include <utility>

#include "bench/solve_peers.hpp"
#include "bench/solve_steps.hpp"
#include "bench/solve_systems.hpp"
#include "solvers/spd_solver.cuh"

namespace smallbatch {

namespace {

/// Calls the production launch.
template <class T>
void launch_production(const Systems<T>& systems, SpdMethod method, Stored stored, cudaStream_t stream) {
  SpdOptions options;
  options.method = method;
  check(launch_spd_solve(systems.batch(), systems.solution(stored), options, systems.workspace, stream));
}

template <class T>
Step production_step(const std::shared_ptr<const Systems<T>>& systems, std::string idea, SpdMethod method,
                     Stored stored = Stored::nothing_more) {
  Step step;
  step.name = method == SpdMethod::automatic ? "automatic" : spd_method_name(method);
  if (stored == Stored::backward_error) step.name += "_judged";
  if (stored == Stored::everything) step.name += "_everything";
  step.idea = std::move(idea);
  step.launch = [systems, method, stored](cudaStream_t stream) { launch_production(*systems, method, stored, stream); };
  step.check = [systems, stored] { return Judgement{systems->worst_error(stored)}; };
  return step;
}

template <class T>
Step gauss_jordan_step(const std::shared_ptr<const Systems<T>>& systems) {
  return production_step(systems, "production: elimination above and below the pivots; status per system",
                         SpdMethod::gauss_jordan);
}
template <class T>
Step automatic_step(const std::shared_ptr<const Systems<T>>& systems) {
  return production_step(systems,
                         "production: the fastest method whose backward error is small enough for every system",
                         SpdMethod::automatic);
}
template <class T>
Step judged_step(const std::shared_ptr<const Systems<T>>& systems) {
  return production_step(systems, "production: the same, with the backward error of every system stored",
                         SpdMethod::automatic, Stored::backward_error);
}

template <class T>
std::vector<Step> production_steps(const std::shared_ptr<const Systems<T>>& systems) {
  if (systems->shape.determinant_only)
    return {production_step(systems, "production: the logarithm of the determinant, summed in double precision",
                            SpdMethod::automatic)};
  std::vector<Step> steps{
      gauss_jordan_step(systems),
      production_step(systems, "production: L D L^T, backward stable; status per system", SpdMethod::ldlt)};
  steps.push_back(automatic_step(systems));
  steps.push_back(judged_step(systems));
  return steps;
}

/// Steps for the two halves of a solution: to factor A, and to solve with the factors. Each step times one half.
template <class T>
std::vector<Step> factored_steps(const std::shared_ptr<const Systems<T>>& systems) {
  struct Factors {
    DeviceMemory memory, info_memory;
    SpdFactors<T> arrays;
  };
  const auto factors = std::make_shared<Factors>();
  const auto count = static_cast<std::size_t>(systems->count);
  const auto size = static_cast<std::size_t>(systems->shape.n) * static_cast<std::size_t>(systems->shape.n + 1) / 2;
  factors->arrays.factors = factors->memory.template reserve<T>(count * size);
  factors->arrays.info = factors->info_memory.template reserve<std::int32_t>(count);
  const auto factor = [systems, factors](cudaStream_t stream) {
    check(launch_spd_factor(systems->batch(), factors->arrays, stream));
  };
  const auto solve = [systems, factors](cudaStream_t stream) {
    SpdFactoredBatch<T> batch;
    batch.n = systems->shape.n;
    batch.nrhs = systems->shape.nrhs;
    batch.count = systems->count;
    batch.factors = factors->arrays.factors;
    batch.factors_info = factors->arrays.info;
    batch.b = systems->b;
    SpdSolution<T> solution;
    solution.x = systems->x;
    solution.info = systems->info;
    check(launch_spd_solve_factored(batch, solution, stream));
  };
  Step once, many;
  once.name = "factor";
  once.idea = "production: L D L^T alone, packed factors stored; what they solve is checked";
  once.launch = factor;
  once.finish = solve;
  many.name = "solve_factored";
  many.idea = "production: solutions by factors that were there before the clock ran";
  many.prepare = factor;
  many.launch = solve;
  return {std::move(once), std::move(many)};
}

std::string title_of(const SpdShape& shape, ScalarType type, std::int64_t batch) {
  const std::string what = shape.determinant_only  ? "determinant"
                           : shape.wants_inverse() ? "inverse"
                           : shape.nrhs == 1       ? "solve, one right-hand side"
                                                   : "solve, " + std::to_string(shape.nrhs) + " right-hand sides";
  const std::string storage = shape.storage == Storage::dense         ? "dense"
                              : shape.storage == Storage::dense_lower ? "dense, lower triangle alone"
                                                                      : "packed lower triangle";
  return what + ", n=" + std::to_string(shape.n) + ", " + storage + ", " +
         (type == ScalarType::float32 ? "float32" : "float64") + ", batch " + std::to_string(batch);
}

/// Returns a ladder without steps.
template <class T>
Ladder empty_ladder(const std::shared_ptr<const Systems<T>>& systems) {
  const SpdShape& shape = systems->shape;
  const auto batch = static_cast<double>(systems->count), n = static_cast<double>(shape.n);
  const auto answer = shape.determinant_only ? static_cast<double>(sizeof(double))
                                             : static_cast<double>(shape.solution_size()) * sizeof(T);
  Ladder ladder;
  ladder.title = title_of(shape, scalar_type_of<T>, systems->count);
  ladder.unit = "systems";
  ladder.work = batch;
  ladder.min_bytes =
      systems->numbers_of_a() * sizeof(T) + batch * (static_cast<double>(shape.rhs_size()) * sizeof(T) + answer);
  if (!shape.determinant_only) {
    ladder.flops = 2 * n * n * n * batch;
    ladder.flops_convention = "2 n^3 per system";
  }
  ladder.bound = shape.wants_inverse() ? Bound::copy : Bound::read;
  ladder.poison = [systems](cudaStream_t stream) { systems->poison(stream); };
  ladder.check = [systems] { return Judgement{systems->worst_error()}; };
  return ladder;
}

void append(std::vector<Step>& steps, std::vector<Step> more) {
  for (Step& step : more) steps.push_back(std::move(step));
}

}  // namespace

template <class T>
Ladder solve_ladder(std::int64_t batch) {
  const std::shared_ptr<const Systems<T>> systems =
      std::make_shared<Systems<T>>(SpdShape{32, 1, Storage::dense}, batch);
  Ladder ladder = empty_ladder(systems);
  ladder.title = "From naive to production: " + ladder.title;
  ladder.steps = vendor_steps(systems);
  std::vector<SolveStep<T>> between = solve_steps_by_warps<T>();
  if constexpr (scalar_type_of<T> == ScalarType::float32) {
    const std::vector<SolveStep<T>> by_blocks = solve_steps_by_blocks<T>();
    between.insert(between.begin(), by_blocks.begin(), by_blocks.end());
  }
  for (const SolveStep<T>& step : between) {
    Step row;
    row.name = step.name;
    row.idea = step.idea;
    row.launch = [systems, launch = step.launch](cudaStream_t stream) {
      launch(systems->a, systems->b, systems->x, systems->count, stream);
    };
    ladder.steps.push_back(std::move(row));
  }
  append(ladder.steps, factored_steps(systems));
  append(ladder.steps, production_steps(systems));
  return ladder;
}

template <class T>
Ladder solve_comparison(const SpdShape& shape, std::int64_t batch) {
  const std::shared_ptr<const Systems<T>> systems = std::make_shared<Systems<T>>(shape, batch);
  Ladder ladder = empty_ladder(systems);
  ladder.steps = vendor_steps(systems);
  if (shape.storage == Storage::packed_lower)
    for (Step& step : ladder.steps) step.idea += "; reads dense matrices, unpacked before the clock runs";
  append(ladder.steps, production_steps(systems));
  return ladder;
}

template <class T>
Ladder solve_of_size(const SpdShape& shape, std::int64_t batch, bool with_others) {
  const std::shared_ptr<const Systems<T>> systems = std::make_shared<Systems<T>>(shape, batch);
  Ladder ladder = empty_ladder(systems);
  ladder.min_bytes = systems->numbers_of_a() * sizeof(T);
  if (shape.wants_inverse()) ladder.min_bytes *= 2;
  ladder.steps = {automatic_step(systems), judged_step(systems),
                  production_step(systems, "production: the same, with all that a run stores of a system",
                                  SpdMethod::automatic, Stored::everything)};
  if (!with_others) return ladder;
  ladder.steps.push_back(gauss_jordan_step(systems));
  append(ladder.steps, vendor_steps(systems));
  return ladder;
}

template <class T>
Ladder solve_of_many_sizes(int n, int smallest, std::int64_t batch) {
  const std::shared_ptr<const Systems<T>> systems = std::make_shared<Systems<T>>(n, smallest, batch);
  Ladder ladder = empty_ladder(systems);
  ladder.title += ", sizes from " + std::to_string(smallest);
  ladder.note = "A system is the leading block of its matrix; numbers beyond it are NaN.";
  ladder.flops = 0;
  ladder.steps = {automatic_step(systems), judged_step(systems)};
  return ladder;
}

template <class T>
Ladder solve_call(int n, std::int64_t batch) {
  const std::shared_ptr<const Systems<T>> systems = std::make_shared<Systems<T>>(SpdShape{n, 1, Storage::dense}, batch);
  Ladder ladder = empty_ladder(systems);
  ladder.steps = vendor_steps(systems);
  append(ladder.steps, {judged_step(systems), gauss_jordan_step(systems), automatic_step(systems)});
  return ladder;
}

template Ladder solve_ladder<float>(std::int64_t);
template Ladder solve_ladder<double>(std::int64_t);
template Ladder solve_comparison<float>(const SpdShape&, std::int64_t);
template Ladder solve_comparison<double>(const SpdShape&, std::int64_t);
template Ladder solve_of_size<float>(const SpdShape&, std::int64_t, bool);
template Ladder solve_of_size<double>(const SpdShape&, std::int64_t, bool);
template Ladder solve_of_many_sizes<float>(int, int, std::int64_t);
template Ladder solve_of_many_sizes<double>(int, int, std::int64_t);
template Ladder solve_call<float>(int, std::int64_t);

}  // namespace smallbatch
