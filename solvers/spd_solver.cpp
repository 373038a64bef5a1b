#include "solvers/spd_solver.hpp"

#include <array>
#include <cstdint>
#include <utility>

#include "core/error.hpp"
#include "core/usable_kernels.hpp"
#include "solvers/spd_solver_backends.hpp"

namespace smallbatch {

namespace {

constexpr std::array<std::pair<SpdMethod, std::string_view>, 3> method_names{
    {{SpdMethod::automatic, "auto"}, {SpdMethod::gauss_jordan, "gauss_jordan"}, {SpdMethod::ldlt, "ldlt"}}};

void check_stride(const char* array, std::int64_t stride, std::int64_t size, bool may_be_shared) {
  if (stride == tight || stride >= size || (may_be_shared && stride == 0)) return;
  throw Error(ErrorKind::bad_input, std::string("the stride of ") + array + " is " + std::to_string(stride),
              "one system has " + std::to_string(size) + " numbers",
              std::string("Give the distance between two systems, or `tight`") +
                  (may_be_shared ? "; 0 means one for all systems." : "."));
}

void check_present(const char* array, const void* pointer) {
  if (pointer != nullptr) return;
  throw Error(ErrorKind::bad_input, std::string("there is no array for ") + array, "its pointer is null",
              "Give one; only numbers that are not wanted may be null.");
}

/// The elements [begin, begin + size) of every system, with `step` elements from one system to the next.
template <class T>
struct StridedRanges {
  const T* begin;
  std::int64_t size, step;
};

/// Returns whether systems of two arrays share memory. Systems of two arrays may alternate in memory, with the same
/// step, without sharing it.
template <class T>
bool overlap(std::int64_t count, const StridedRanges<T>& one, const StridedRanges<T>& other) {
  const auto first = [](const T* address) {
    return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(address));
  };
  const auto bytes = [](std::int64_t numbers) { return numbers * static_cast<std::int64_t>(sizeof(T)); };
  const std::int64_t distance = first(other.begin) - first(one.begin);
  if (one.size == 0 || other.size == 0 || distance >= bytes((count - 1) * one.step + one.size) ||
      -distance >= bytes((count - 1) * other.step + other.size))
    return false;
  const std::int64_t step = bytes(one.step);
  if (one.step != other.step || step == 0) return true;
  const std::int64_t apart = (distance % step + step) % step;
  return apart < bytes(one.size) || apart + bytes(other.size) > step;
}

[[noreturn]] void refuse_x_in(const char* array) {
  throw Error(ErrorKind::bad_input, std::string("x lies in the memory of ") + array,
              "the input would change while it is read", "Give x separate memory, or exactly the memory of b.");
}

/// Throws Error if x overlaps an input, unless x is exactly b. `matrices` is the name of the matrices in messages.
template <class T>
void check_overlap(const SpdBatch<T>& batch, const SpdSolution<T>& solution, const char* matrices) {
  const SpdShape& shape = batch.shape;
  if (shape.determinant_only) return;
  const StridedRanges<T> x{solution.x, shape.solution_size(), solution.x_step(shape)};
  if (overlap(batch.count, x, {batch.a, shape.matrix_size(), batch.a_step()})) refuse_x_in(matrices);
  if (solution.x == batch.b && solution.x_step(shape) == batch.b_step()) return;
  if (shape.nrhs > 0 && overlap(batch.count, x, {batch.b, shape.rhs_size(), batch.b_step()})) refuse_x_in("b");
}

}  // namespace

std::string_view spd_method_name(SpdMethod method) {
  for (const auto& [value, name] : method_names)
    if (value == method) return name;
  return "unknown";
}

std::optional<SpdMethod> parse_spd_method(std::string_view wanted) {
  for (const auto& [value, name] : method_names)
    if (name == wanted) return value;
  return std::nullopt;
}

std::unique_ptr<SpdSolver> make_spd_solver(const Backend& backend, const SpdOptions& options) {
  if (!(options.pivot_floor >= 0 && options.pivot_floor < 1))
    throw Error(ErrorKind::usage, "a pivot floor of " + std::to_string(options.pivot_floor) + " cannot be used",
                "it is a fraction of the diagonal element", "Give 0 for no repair, or a number below 1.");
  switch (backend.kind) {
    case BackendKind::cuda:
      return make_cuda_spd_solver(backend.device, options);
    case BackendKind::cpu:
      return make_cpu_spd_solver(backend.threads, chosen_kernels(backend.instruction_set, usable_ldlt_kernels()),
                                 options);
    case BackendKind::reference:
      return make_reference_spd_solver(backend.threads, options);
  }
  throw Error(ErrorKind::usage, "there is no such solver backend. Use cuda, cpu or reference.");
}

void check_spd_shape(const SpdShape& shape, std::int64_t count) {
  if (shape.n < 1 || shape.n > max_system_size)
    throw Error(ErrorKind::bad_input, "a batch of systems with n = " + std::to_string(shape.n) + " cannot be solved",
                "n must lie between 1 and " + std::to_string(max_system_size), "Split the systems or pad them.");
  if (shape.nrhs < 0)
    throw Error(ErrorKind::bad_input, "a batch with nrhs = " + std::to_string(shape.nrhs) + " cannot be solved",
                "nrhs counts right-hand sides; 0 asks for the inverse", "Give the number of columns of b.");
  if (shape.nrhs > max_spd_rhs)
    throw Error(ErrorKind::bad_input, "a batch with nrhs = " + std::to_string(shape.nrhs) + " cannot be solved",
                "a system has at most " + std::to_string(max_spd_rhs) + " right-hand sides",
                "Solve for some of them at a time.");
  if (shape.nrhs > 0 && shape.determinant_only)
    throw Error(ErrorKind::bad_input,
                "a batch with nrhs = " + std::to_string(shape.nrhs) + " cannot ask for the determinant alone",
                "its right-hand sides would be ignored", "Set nrhs to 0, or ask for the solution too.");
  if (count < 0)
    throw Error(ErrorKind::bad_input, "a batch of " + std::to_string(count) + " systems cannot be solved",
                "the count is negative", "Give 0 or more systems.");
}

namespace {
template <class T>
void check_batch(const SpdBatch<T>& batch, const SpdSolution<T>& solution, const char* matrices) {
  const SpdShape& shape = batch.shape;
  check_spd_shape(shape, batch.count);
  check_stride(matrices, batch.a_stride, shape.matrix_size(), true);
  check_stride("b", batch.b_stride, shape.rhs_size(), true);
  check_stride("x", solution.x_stride, shape.solution_size(), false);
  if (batch.count == 0) return;
  check_present(matrices, batch.a);
  if (shape.nrhs > 0) check_present("b", batch.b);
  if (!shape.determinant_only) check_present("x", solution.x);
  check_present("info", solution.info);
  check_overlap(batch, solution, matrices);
  if (batch.sizes != nullptr && overlap<std::int32_t>(batch.count, {solution.info, 1, 1}, {batch.sizes, 1, 1}))
    throw Error(ErrorKind::bad_input, "info lies in the memory of the sizes", "sizes are read while info is written",
                "Give info separate memory.");
}
}  // namespace

template <class T>
void check_spd_batch(const SpdBatch<T>& batch, const SpdSolution<T>& solution) {
  check_batch(batch, solution, "A");
}

template <class T>
void check_spd_factors(const SpdBatch<T>& batch, const SpdFactors<T>& factors) {
  if (batch.sizes != nullptr)
    throw Error(ErrorKind::bad_input, "a batch of systems with different sizes cannot be factored",
                "all factors have n rows", "Solve the batch directly, or factor the systems of one size at a time.");
  const SpdShape shape{batch.shape.n, 0, batch.shape.storage, true};
  check_spd_shape(shape, batch.count);
  const std::int64_t size = std::int64_t{shape.n} * (shape.n + 1) / 2;
  check_stride("A", batch.a_stride, shape.matrix_size(), true);
  check_stride("the factors", factors.factors_stride, size, false);
  if (batch.count == 0) return;
  check_present("A", batch.a);
  check_present("the factors", factors.factors);
  check_present("info", factors.info);
  const StridedRanges<T> a{batch.a, shape.matrix_size(), batch.a_step()};
  if (overlap(batch.count, {factors.factors, size, factors.factors_step(shape.n)}, a))
    throw Error(ErrorKind::bad_input, "the factors lie in the memory of A", "the input would change while it is read",
                "Give the factors separate memory.");
}

template <class T>
void check_spd_factored(const SpdFactoredBatch<T>& batch, const SpdSolution<T>& solution) {
  const SpdShape shape = batch.shape();
  if (shape.nrhs < 1)
    throw Error(ErrorKind::bad_input, "factors cannot solve a batch with nrhs = " + std::to_string(shape.nrhs),
                "nrhs counts right-hand sides", "Give the number of columns of b.");
  const SpdBatch<T> of_factors{shape, batch.count, batch.factors, batch.b, batch.factors_stride, batch.b_stride};
  check_batch(of_factors, solution, "the factors");
  for_each_spd_number<T>([&solution](const auto& number) {
    if (solution.*number.in_solution != nullptr)
      throw Error(ErrorKind::bad_input, std::string("solving with factors does not compute ") + number.name,
                  "it computes x and info alone", "Leave its pointer null.");
  });
  if (batch.count == 0) return;
  check_present("the factors' info", batch.factors_info);
  const StridedRanges<std::int32_t> factors_info{batch.factors_info, 1, batch.factors_info_step()};
  if (overlap(batch.count, {solution.info, 1, 1}, factors_info))
    throw Error(ErrorKind::bad_input, "info lies in the memory of the factors' info",
                "the factors' info is read while info is written", "Give info separate memory.");
}

template void check_spd_factors(const SpdBatch<float>&, const SpdFactors<float>&);
template void check_spd_factors(const SpdBatch<double>&, const SpdFactors<double>&);
template void check_spd_factored(const SpdFactoredBatch<float>&, const SpdSolution<float>&);
template void check_spd_factored(const SpdFactoredBatch<double>&, const SpdSolution<double>&);
template void check_spd_batch(const SpdBatch<float>&, const SpdSolution<float>&);
template void check_spd_batch(const SpdBatch<double>&, const SpdSolution<double>&);

}  // namespace smallbatch
