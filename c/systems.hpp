// The arguments of a call about systems, after c/ has checked them. Their members are structs of solvers/. Calls with
// host arrays and with device arrays use the same struct.
#pragma once

#include <algorithm>
#include <cstdint>

#include "c/context.hpp"
#include "solvers/layouts.hpp"

namespace smallbatch {

/// Operation on systems.
enum class SystemsOperation { solve, invert, log_determinant, factor, solve_factored };

constexpr bool reads_a(SystemsOperation operation) { return operation != SystemsOperation::solve_factored; }
constexpr bool reads_b(SystemsOperation operation) {
  return operation == SystemsOperation::solve || operation == SystemsOperation::solve_factored;
}
constexpr bool writes_x(SystemsOperation operation) {
  return reads_b(operation) || operation == SystemsOperation::invert;
}
constexpr bool has_options(SystemsOperation operation) {
  return operation != SystemsOperation::factor && operation != SystemsOperation::solve_factored;
}

/// Arguments of a call. Arrays that the operation neither reads nor writes are not set.
template <class T>
struct SystemsCall {
  SystemsOperation operation = SystemsOperation::solve;
  SpdOptions options;
  int n = 0, nrhs = 0;  ///< unknowns and right-hand sides per system; nrhs is 0 if b is not read
  std::int64_t count = 0;
  Triangle triangle = Triangle::both;
  const std::int32_t* sizes = nullptr;
  MatrixArray<const T> a, b;
  MatrixArray<T> x;          ///< solutions; or inverses, which are symmetric, by rows
  bool is_in_place = false;  ///< x is b
  SpdSolution<T> numbers;    ///< info and the wanted numbers, without x
  SpdFactors<T> factors;     ///< written by `factor`, read by `solve_factored`
  [[nodiscard]] int columns_of_x() const { return operation == SystemsOperation::invert ? n : nrhs; }
};

/// Pointers to the structs of a call; null for structs that the call does not have.
struct SystemsArguments {
  const smallbatch_systems* systems = nullptr;
  const smallbatch_solutions* solutions = nullptr;
  const smallbatch_factors* factors = nullptr;
  const smallbatch_solve_options* options = nullptr;
};

/// Checks the arguments and returns the call. Throws Error (usage) if they are not valid.
template <class T>
SystemsCall<T> systems_call(SystemsOperation operation, const SystemsArguments& given);

/// Returns the arguments for solvers/, without the arrays a, b and x.
template <class T>
SpdBatch<T> batch_of(const SystemsCall<T>& call) {
  SpdBatch<T> batch;
  batch.shape.n = call.n;
  batch.shape.nrhs = call.nrhs;
  batch.shape.determinant_only = call.operation == SystemsOperation::log_determinant;
  batch.shape.has_sizes = call.sizes != nullptr;
  batch.count = call.count;
  batch.sizes = call.sizes;
  return batch;
}
template <class T>
SpdFactoredBatch<T> factored_batch_of(const SystemsCall<T>& call) {
  SpdFactoredBatch<T> batch;
  batch.n = call.n;
  batch.nrhs = call.nrhs;
  batch.count = call.count;
  batch.factors = call.factors.factors;
  batch.factors_info = call.factors.info;
  batch.factors_stride = call.factors.factors_stride;
  return batch;
}

/// Number of matrices in memory: one for all systems if the array is shared, else `count`.
template <class T>
std::int64_t matrices_in(const MatrixArray<T>& array, std::int64_t count) {
  return array.is_shared() ? std::min<std::int64_t>(count, 1) : count;
}

}  // namespace smallbatch
