#include "solvers/spd_solver.hpp"

#include <array>
#include <utility>

#include "core/error.hpp"
#include "solvers/spd_solver_backends.hpp"

namespace smallbatch {

namespace {

constexpr std::array<std::pair<SpdMethod, std::string_view>, 4> method_names{{{SpdMethod::automatic, "auto"},
                                                                              {SpdMethod::gauss_jordan, "gauss_jordan"},
                                                                              {SpdMethod::ldlt, "ldlt"},
                                                                              {SpdMethod::mixed, "mixed"}}};

void check_stride(const char* array, std::int64_t stride, std::int64_t size) {
  if (stride == 0 || stride >= size) return;
  throw Error(ErrorKind::bad_input, std::string("the stride of ") + array + " is " + std::to_string(stride) +
                                        " (one system has " + std::to_string(size) +
                                        " numbers). Give the distance of two systems, or 0 where they lie one after "
                                        "the other.");
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
    throw Error(ErrorKind::usage, "a pivot floor of " + std::to_string(options.pivot_floor) +
                                      " cannot be used (it is a fraction of the diagonal element). Give 0 for no "
                                      "repair, or a number below 1.");
  switch (backend.kind) {
    case BackendKind::cuda:
      return make_cuda_spd_solver(backend.device, options);
    case BackendKind::cpu:
      return make_cpu_spd_solver(backend.threads, usable_ldlt_kernels().front(), options);
    case BackendKind::reference:
      return make_reference_spd_solver(backend.threads, options);
  }
  throw Error(ErrorKind::usage, "there is no such solver backend. Use cuda, cpu or reference.");
}

template <class T>
void check_spd_batch(const SpdBatch<T>& batch, const SpdSolution<T>& solution) {
  const SpdShape& shape = batch.shape;
  if (shape.n < 1 || shape.n > max_system_size)
    throw Error(ErrorKind::bad_input, "a batch of systems with n = " + std::to_string(shape.n) +
                                          " cannot be solved (n must lie between 1 and " +
                                          std::to_string(max_system_size) + "). Split the systems or pad them.");
  if (shape.nrhs < 0)
    throw Error(ErrorKind::bad_input, "a batch with nrhs = " + std::to_string(shape.nrhs) +
                                          " cannot be solved (nrhs counts right-hand sides; 0 asks for the inverse). "
                                          "Give the number of columns of b.");
  if (shape.nrhs > 0 && shape.determinant_only)
    throw Error(ErrorKind::bad_input, "a batch with nrhs = " + std::to_string(shape.nrhs) +
                                          " cannot ask for the determinant alone (its right-hand sides would be "
                                          "ignored). Set nrhs to 0, or ask for the solution too.");
  if (batch.count < 0)
    throw Error(ErrorKind::bad_input, "a batch of " + std::to_string(batch.count) +
                                          " systems cannot be solved (the count is negative). Give 0 or more systems.");
  check_stride("A", batch.a_stride, shape.matrix_size());
  check_stride("b", batch.b_stride, shape.rhs_size());
  check_stride("x", solution.x_stride, shape.solution_size());
}

template void check_spd_batch(const SpdBatch<float>&, const SpdSolution<float>&);
template void check_spd_batch(const SpdBatch<double>&, const SpdSolution<double>&);

}  // namespace smallbatch
