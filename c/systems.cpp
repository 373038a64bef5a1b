// Systems: this file turns the caller's layouts into those of the solvers, calls them, and copies the results to the
// caller's layout.
#include "c/systems.hpp"

#include "c/device.hpp"
#include "core/aligned_allocator.hpp"

namespace smallbatch {

namespace {

template <class T>
void set_a(SpdBatch<T>& batch, const SystemsCall<T>& call, unsigned threads, AlignedVector<T>& memory) {
  if (const auto there = canonical_spd_matrices(call.n, call.count, call.a, call.triangle)) {
    batch.a = there->data;
    batch.a_stride = there->stride;
    batch.shape.storage = there->storage;
    return;
  }
  batch.shape.storage = gathered_spd_storage(call.triangle);
  const std::int64_t matrices = matrices_in(call.a, call.count);
  memory.resize(static_cast<std::size_t>(matrices * batch.shape.matrix_size()));
  gather_spd_matrices(call.n, matrices, call.a, call.triangle, memory.data(), threads);
  batch.a = memory.data();
  batch.a_stride = call.a.is_shared() ? 0 : tight;
}

/// Sets b of an SpdBatch or an SpdFactoredBatch.
template <class T, class Batch>
void set_b(Batch& batch, const SystemsCall<T>& call, unsigned threads, AlignedVector<T>& memory) {
  if (const auto there = canonical_spd_rhs(call.n, call.nrhs, call.count, call.b)) {
    batch.b = there->data;
    batch.b_stride = there->stride;
    return;
  }
  const std::int64_t sets = matrices_in(call.b, call.count);
  memory.resize(static_cast<std::size_t>(sets * call.n * call.nrhs));
  gather_spd_rhs(call.n, call.nrhs, sets, call.b, memory.data(), threads);
  batch.b = memory.data();
  batch.b_stride = call.b.is_shared() ? 0 : tight;
}

/// Sets solution.x: the caller's array, or `memory` if the solvers cannot write that array's layout. Returns whether x
/// lies in `memory` and must be scattered afterwards.
template <class T>
bool set_x(SpdSolution<T>& solution, const SystemsCall<T>& call, AlignedVector<T>& memory) {
  if (const auto there = canonical_spd_rhs(call.n, call.columns_of_x(), call.count, call.x)) {
    solution.x = there->data;
    solution.x_stride = there->stride;
    return false;
  }
  memory.resize(static_cast<std::size_t>(call.count * call.n * call.columns_of_x()));
  solution.x = memory.data();
  solution.x_stride = tight;
  return true;
}

template <class T>
void run_on_host(Context& context, const SystemsCall<T>& call) {
  if (call.count == 0) return;
  const unsigned threads = context.backend.threads;
  SpdSolver& solver = has_options(call.operation) ? context.solver(call.options) : context.solver();
  AlignedVector<T> a_memory, b_memory, x_memory;
  SpdBatch<T> batch = batch_of(call);
  SpdSolution<T> solution = call.numbers;
  if (reads_a(call.operation)) set_a(batch, call, threads, a_memory);
  if (call.operation == SystemsOperation::factor) return solver.factor(batch, call.factors);
  if (call.operation == SystemsOperation::log_determinant) return solver.solve(batch, solution);
  const bool scatters = set_x(solution, call, x_memory);
  if (call.operation == SystemsOperation::solve_factored) {
    SpdFactoredBatch<T> factored = factored_batch_of(call);
    set_b(factored, call, threads, b_memory);
    solver.solve_factored(factored, solution);
  } else {
    if (reads_b(call.operation)) set_b(batch, call, threads, b_memory);
    solver.solve(batch, solution);
  }
  if (scatters) scatter_spd_solutions<T>(call.n, call.columns_of_x(), call.count, solution.x, call.x, threads);
}

/// Checks and runs a call of any operation. If `wanted_bytes` is not null, stores the bytes of workspace there and
/// computes nothing.
void run(Context& context, SystemsOperation operation, const SystemsArguments& given, void* workspace,
         std::size_t bytes, std::size_t* wanted_bytes) {
  const bool has_factors = operation == SystemsOperation::factor || operation == SystemsOperation::solve_factored;
  check_present("systems", given.systems);
  if (operation != SystemsOperation::factor) check_present("solutions", given.solutions);
  if (has_factors) check_present("factors", given.factors);
  const bool on_device = is_on_device(context, given.systems->memory);
  with_type("systems->type", given.systems->type, [&]<class T>(T) {
    const SystemsCall<T> call = systems_call<T>(operation, given);
    const std::size_t needed = on_device ? device_workspace_bytes(context, call) : 0;
    if (wanted_bytes != nullptr) {
      *wanted_bytes = needed;
    } else if (on_device) {
      check_workspace(workspace, bytes, needed);
      enqueue(context, call, workspace);
    } else {
      run_on_host(context, call);
    }
  });
}

smallbatch_status answer_systems(smallbatch_handle handle, SystemsOperation operation, const SystemsArguments& given,
                                 void* workspace, std::size_t bytes) {
  return answer(handle, [&](Context& context) { run(context, operation, given, workspace, bytes, nullptr); });
}
smallbatch_status answer_bytes(smallbatch_handle handle, SystemsOperation operation, const SystemsArguments& given,
                               std::size_t* bytes) {
  return answer(handle, [&](Context& context) {
    check_present("workspace_bytes", bytes);
    run(context, operation, given, nullptr, 0, bytes);
  });
}

}  // namespace

}  // namespace smallbatch

using smallbatch::answer_bytes;
using smallbatch::answer_systems;
using smallbatch::SystemsOperation;

void smallbatch_systems_init(smallbatch_systems* systems, smallbatch_type type, smallbatch_memory memory, int64_t n,
                             int64_t nrhs, int64_t count) {
  if (systems == nullptr) return;
  *systems = {};
  systems->type = type;
  systems->memory = memory;
  systems->n = n;
  systems->nrhs = nrhs;
  systems->count = count;
  systems->a_stride = systems->b_stride = SMALLBATCH_TIGHT;
}

void smallbatch_solutions_init(smallbatch_solutions* solutions) {
  if (solutions == nullptr) return;
  *solutions = {};
  solutions->x_stride = SMALLBATCH_TIGHT;
}

void smallbatch_factors_init(smallbatch_factors* factors) {
  if (factors == nullptr) return;
  *factors = {};
  factors->stride = SMALLBATCH_TIGHT;
}

smallbatch_status smallbatch_solve(smallbatch_handle handle, const smallbatch_systems* systems,
                                   const smallbatch_solutions* solutions, const smallbatch_solve_options* options,
                                   void* workspace, size_t workspace_bytes) {
  return answer_systems(handle, SystemsOperation::solve, {systems, solutions, nullptr, options}, workspace,
                        workspace_bytes);
}
smallbatch_status smallbatch_solve_workspace(smallbatch_handle handle, const smallbatch_systems* systems,
                                             const smallbatch_solutions* solutions,
                                             const smallbatch_solve_options* options, size_t* workspace_bytes) {
  return answer_bytes(handle, SystemsOperation::solve, {systems, solutions, nullptr, options}, workspace_bytes);
}

smallbatch_status smallbatch_invert(smallbatch_handle handle, const smallbatch_systems* systems,
                                    const smallbatch_solutions* solutions, const smallbatch_solve_options* options,
                                    void* workspace, size_t workspace_bytes) {
  return answer_systems(handle, SystemsOperation::invert, {systems, solutions, nullptr, options}, workspace,
                        workspace_bytes);
}
smallbatch_status smallbatch_invert_workspace(smallbatch_handle handle, const smallbatch_systems* systems,
                                              const smallbatch_solutions* solutions,
                                              const smallbatch_solve_options* options, size_t* workspace_bytes) {
  return answer_bytes(handle, SystemsOperation::invert, {systems, solutions, nullptr, options}, workspace_bytes);
}

smallbatch_status smallbatch_log_determinant(smallbatch_handle handle, const smallbatch_systems* systems,
                                             const smallbatch_solutions* solutions,
                                             const smallbatch_solve_options* options, void* workspace,
                                             size_t workspace_bytes) {
  return answer_systems(handle, SystemsOperation::log_determinant, {systems, solutions, nullptr, options}, workspace,
                        workspace_bytes);
}
smallbatch_status smallbatch_log_determinant_workspace(smallbatch_handle handle, const smallbatch_systems* systems,
                                                       const smallbatch_solutions* solutions,
                                                       const smallbatch_solve_options* options,
                                                       size_t* workspace_bytes) {
  return answer_bytes(handle, SystemsOperation::log_determinant, {systems, solutions, nullptr, options},
                      workspace_bytes);
}

smallbatch_status smallbatch_factor(smallbatch_handle handle, const smallbatch_systems* systems,
                                    const smallbatch_factors* factors, void* workspace, size_t workspace_bytes) {
  return answer_systems(handle, SystemsOperation::factor, {systems, nullptr, factors, nullptr}, workspace,
                        workspace_bytes);
}
smallbatch_status smallbatch_factor_workspace(smallbatch_handle handle, const smallbatch_systems* systems,
                                              const smallbatch_factors* factors, size_t* workspace_bytes) {
  return answer_bytes(handle, SystemsOperation::factor, {systems, nullptr, factors, nullptr}, workspace_bytes);
}

smallbatch_status smallbatch_solve_factored(smallbatch_handle handle, const smallbatch_factors* factors,
                                            const smallbatch_systems* systems, const smallbatch_solutions* solutions,
                                            void* workspace, size_t workspace_bytes) {
  return answer_systems(handle, SystemsOperation::solve_factored, {systems, solutions, factors, nullptr}, workspace,
                        workspace_bytes);
}
smallbatch_status smallbatch_solve_factored_workspace(smallbatch_handle handle, const smallbatch_factors* factors,
                                                      const smallbatch_systems* systems,
                                                      const smallbatch_solutions* solutions, size_t* workspace_bytes) {
  return answer_bytes(handle, SystemsOperation::solve_factored, {systems, solutions, factors, nullptr},
                      workspace_bytes);
}
