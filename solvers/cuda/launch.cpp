// The order of kernels in launch_spd_solve(), and the contents of its workspace.
#include <algorithm>

#include "core/error.hpp"
#include "solvers/cuda/kernels.cuh"
#include "solvers/spd_solver.cuh"
#include "solvers/spd_solver_backends.hpp"

namespace smallbatch {

namespace {

constexpr std::size_t alignment = 256;  // of the workspace, and of the arrays in it

/// The workspace of launch_spd_solve(). For up to 64 rows it holds one mark per system, by which a kernel leaves work
/// to the next. For more rows it holds what does not fit into shared memory: parts of triangles, later the matrices of
/// launch_pivot_repair().
template <class T>
struct Workspace {
  Workspace(const SpdShape& shape, std::int64_t count, const SpdOptions& options, std::byte* begin) {
    if (is_wide(shape.n)) {
      beyond = begin;
      bytes = wide_workspace_bytes<T>(shape, count);
      if (options.pivot_floor > 0 && pivot_repair_needs_workspace(shape.n))
        bytes = std::max(bytes, pivot_repair_bytes(shape.n, count));
      return;
    }
    marks = reinterpret_cast<Mark*>(begin);
    bytes = (static_cast<std::size_t>(count) * sizeof(Mark) + alignment - 1) / alignment * alignment;
  }
  std::size_t bytes = 0;
  Mark* marks = nullptr;
  std::byte* beyond = nullptr;
};

template <class T>
cudaError_t launch_inverse(const SpdBatch<T>& batch, const SpdSolution<T>& solution, SpdMethod method, Mark* marks,
                           cudaStream_t stream) {
  const bool judged = solution.backward_error != nullptr || solution.rcond != nullptr;
  const bool sweeps = method == SpdMethod::automatic || method == SpdMethod::gauss_jordan;
  if (!sweeps) {
    const cudaError_t status = launch_ldlt_inverse(batch, solution, marks, SystemsToDo::all, stream);
    return status != cudaSuccess || !judged ? status
                                            : launch_judge_inverse(batch, solution, marks, SystemsToDo::all, stream);
  }
  // With `automatic`, inverses that have large backward errors after the sweep are inverted again by L D L^T. With
  // `gauss_jordan`, this is done only after a sweep of doubles in tiles. Such a sweep cannot compute in a higher
  // precision, and its errors grow faster with the condition number than those of Gauss-Jordan.
  constexpr bool single = sizeof(T) == sizeof(float);
  constexpr double roundoff = single ? 0x1p-24 : 0x1p-53;
  const bool decides = method == SpdMethod::automatic || (!single && is_swept_in_tiles<T>(batch.shape.n));
  const double resolve_above = decides ? spd_resolve_above * batch.shape.n * roundoff : -1;
  cudaError_t status = launch_sweep(batch, solution, marks, resolve_above, stream);
  if (status == cudaSuccess && (judged || decides))
    status = launch_judge_stored_inverse(batch, solution, marks, resolve_above, stream);
  if (status == cudaSuccess && decides)
    status = launch_ldlt_inverse(batch, solution, marks, SystemsToDo::unsettled, stream);
  if (status == cudaSuccess && decides && judged)
    status = launch_judge_inverse(batch, solution, marks, SystemsToDo::unsettled, stream);
  return status;
}

/// Returns the request by which a row of the table (solve/table.hpp) is chosen.
template <class T>
SolveRequest request_of(const SpdBatch<T>& batch, const SpdSolution<T>& solution) {
  const SpdShape& shape = batch.shape;
  const auto begin = reinterpret_cast<std::uintptr_t>(batch.a);
  const bool rows_are_pieces = shape.storage == Storage::packed_lower || shape.n * sizeof(T) % 16 == 0;
  const Arrival arrival = begin % 16 != 0                                           ? Arrival::anywhere
                          : rows_are_pieces && batch.a_step() * sizeof(T) % 16 == 0 ? Arrival::pieces
                                                                                    : Arrival::aligned;
  const Asked asked = solution.rcond != nullptr            ? Asked::everything
                      : wants_pivot_numbers(solution)      ? Asked::pivots
                      : solution.backward_error != nullptr ? Asked::error
                                                           : Asked::x;
  return {scalar_type_of<T>, shape.n, shape.nrhs, shape.storage, arrival, asked, batch.sizes != nullptr, batch.count};
}

template <class T>
cudaError_t launch_row(const SolveRow& row, const SpdBatch<T>& batch, const SpdSolution<T>& solution, Mark* marks,
                       cudaStream_t stream) {
  switch (row.family) {
    case Family::pieces:
      return launch_pieces(row, batch, solution, marks, stream);
    case Family::columns:
      return launch_columns(row, batch, solution, marks, stream);
    case Family::lanes:
      return launch_lanes(row, batch, solution, marks, stream);
    case Family::as_stored:
      return launch_as_stored(row, batch, solution, marks, stream);
    case Family::one_pass:
      return launch_one_pass(row, batch, solution, marks, stream);
    case Family::blocks:
      if constexpr (sizeof(T) == sizeof(double)) return launch_blocks(row, batch, solution, marks, stream);
  }
  return cudaErrorNotSupported;
}

template <class T>
cudaError_t launch_ldlt(const SpdBatch<T>& batch, const SpdSolution<T>& solution, Mark* marks, cudaStream_t stream) {
  const cudaError_t status = launch_row(choose_row(request_of(batch, solution)), batch, solution, marks, stream);
  if (status != cudaSuccess) return status;
  return launch_general_ldlt(batch, solution, marks, SystemsToDo::unsettled, stream);
}

/// Computes only the reciprocal condition numbers and the statuses, by L D L^T.
template <class T>
cudaError_t launch_rcond(const SpdBatch<T>& batch, const SpdSolution<T>& solution, Mark* marks, cudaStream_t stream) {
  SpdBatch<T> matrices = batch;
  matrices.shape.nrhs = 0;
  matrices.shape.determinant_only = true;
  matrices.b = nullptr;
  SpdSolution<T> numbers;
  numbers.info = solution.info;
  numbers.rcond = solution.rcond;
  return launch_ldlt(matrices, numbers, marks, stream);
}

/// Solves by Gauss-Jordan elimination. It has no factors to get rcond from, so rcond comes from L D L^T.
template <class T>
cudaError_t launch_by_gauss_jordan(const SpdBatch<T>& batch, const SpdSolution<T>& solution, Mark* marks,
                                   cudaStream_t stream) {
  cudaError_t status = cudaSuccess;
  if (solution.rcond != nullptr) status = launch_rcond(batch, solution, marks, stream);
  if (status == cudaSuccess)
    status = gauss_jordan_x_takes(batch, solution) ? launch_gauss_jordan_x(batch, solution, marks, stream)
                                                   : launch_gauss_jordan(batch, solution, marks, stream);
  if (status == cudaSuccess) status = launch_general_gauss_jordan(batch, solution, marks, stream);
  if (status == cudaSuccess && solution.rcond != nullptr) status = launch_agree_on_rcond(batch.count, solution, stream);
  return status;
}

/// Returns whether solutions come from Gauss-Jordan elimination. More than 32 rows in double precision would need more
/// registers than there are.
template <class T>
bool by_gauss_jordan(const SpdShape& shape, const SpdOptions& options) {
  return options.method == SpdMethod::gauss_jordan && !shape.determinant_only &&
         (shape.n <= 32 || sizeof(T) == sizeof(float));
}

/// Returns whether check() throws no Error.
template <class Check>
bool passes(const Check& check) {
  try {
    check();
  } catch (const Error&) {
    return false;
  }
  return true;
}

/// Returns whether a workspace is aligned; null is.
bool is_aligned(const void* workspace) { return reinterpret_cast<std::uintptr_t>(workspace) % alignment == 0; }

/// Returns whether kernels accept these arguments. Kernels read b while they write x, so x must not be b.
template <class T>
bool is_valid(const SpdBatch<T>& batch, const SpdSolution<T>& solution, const SpdOptions& options) {
  if (!passes([&] { check_spd_batch(batch, solution); })) return false;
  const bool in_place = batch.shape.nrhs > 0 && solution.x == batch.b;
  return (batch.count == 0 || !in_place) && options.pivot_floor >= 0 && options.pivot_floor < 1;
}

}  // namespace

bool takes_sizes(const SpdShape& shape, const SpdOptions& options) {
  const bool by_ldlt = options.method != SpdMethod::gauss_jordan || shape.determinant_only;
  return by_ldlt && !shape.wants_inverse() && !is_wide(shape.n);
}

template <class T>
std::size_t spd_workspace_bytes(const SpdShape& shape, std::int64_t count, const SpdOptions& options) {
  return count > 0 ? Workspace<T>(shape, count, options, nullptr).bytes : 0;
}

template <class T>
cudaError_t launch_spd_solve(const SpdBatch<T>& batch, const SpdSolution<T>& solution, const SpdOptions& options,
                             void* workspace, cudaStream_t stream) {
  if (!is_valid(batch, solution, options)) return cudaErrorInvalidValue;
  if (batch.count == 0) return cudaSuccess;
  if (batch.sizes != nullptr && !takes_sizes(batch.shape, options)) return cudaErrorNotSupported;
  const Workspace<T> own(batch.shape, batch.count, options, static_cast<std::byte*>(workspace));
  if (own.bytes > 0 && (workspace == nullptr || !is_aligned(workspace))) return cudaErrorInvalidValue;
  cudaError_t status = cudaSuccess;
  if (is_wide(batch.shape.n)) {
    status = launch_wide_ldlt(batch, solution, own.beyond, stream);
  } else if (batch.shape.wants_inverse()) {
    status = launch_inverse(batch, solution, options.method, own.marks, stream);
  } else if (by_gauss_jordan<T>(batch.shape, options)) {
    status = launch_by_gauss_jordan(batch, solution, own.marks, stream);
  } else {
    status = launch_ldlt(batch, solution, own.marks, stream);
  }
  if (status == cudaSuccess && options.pivot_floor > 0)
    status = launch_pivot_repair(batch, solution, options.pivot_floor, own.beyond, stream);
  return status;
}

template <class T>
std::size_t spd_factor_workspace_bytes(int n, std::int64_t count) {
  return is_wide(n) && count > 0 ? wide_factor_workspace_bytes<T>(n, count) : 0;
}

template <class T>
cudaError_t launch_spd_factor(const SpdBatch<T>& batch, const SpdFactors<T>& factors, cudaStream_t stream,
                              void* workspace) {
  if (!passes([&] { check_spd_factors(batch, factors); }) || !is_aligned(workspace)) return cudaErrorInvalidValue;
  return is_wide(batch.shape.n) ? launch_wide_factor(batch, factors, workspace, stream)
                                : launch_factor(batch, factors, stream);
}

template <class T>
cudaError_t launch_spd_solve_factored(const SpdFactoredBatch<T>& batch, const SpdSolution<T>& solution,
                                      cudaStream_t stream, void* workspace) {
  if (!passes([&] { check_spd_factored(batch, solution); }) || !is_aligned(workspace)) return cudaErrorInvalidValue;
  return is_wide(batch.n) ? launch_wide_solve_factored(batch, solution, workspace, stream)
                          : launch_solve_factored(batch, solution, stream);
}

template std::size_t spd_factor_workspace_bytes<float>(int, std::int64_t);
template std::size_t spd_factor_workspace_bytes<double>(int, std::int64_t);
template std::size_t spd_workspace_bytes<float>(const SpdShape&, std::int64_t, const SpdOptions&);
template std::size_t spd_workspace_bytes<double>(const SpdShape&, std::int64_t, const SpdOptions&);
template cudaError_t launch_spd_solve(const SpdBatch<float>&, const SpdSolution<float>&, const SpdOptions&, void*,
                                      cudaStream_t);
template cudaError_t launch_spd_solve(const SpdBatch<double>&, const SpdSolution<double>&, const SpdOptions&, void*,
                                      cudaStream_t);
template cudaError_t launch_spd_factor(const SpdBatch<float>&, const SpdFactors<float>&, cudaStream_t, void*);
template cudaError_t launch_spd_factor(const SpdBatch<double>&, const SpdFactors<double>&, cudaStream_t, void*);
template cudaError_t launch_spd_solve_factored(const SpdFactoredBatch<float>&, const SpdSolution<float>&, cudaStream_t,
                                               void*);
template cudaError_t launch_spd_solve_factored(const SpdFactoredBatch<double>&, const SpdSolution<double>&,
                                               cudaStream_t, void*);

}  // namespace smallbatch
