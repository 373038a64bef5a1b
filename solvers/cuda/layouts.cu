// The copies between layouts (layouts.hpp) on the device. Usually a warp copies one matrix, and its lanes copy
// consecutive numbers in canonical order. Canonical memory is then accessed in whole cache lines. The caller's memory
// is accessed in as many lines as its layout needs; the warp soon needs the other numbers of these lines, too. The
// caller's matrices may be interleaved: their stride is smaller than the steps between elements of a matrix. Then a
// warp takes 32 matrices, one per lane, and accesses the caller's memory in whole lines.
#include "core/error.hpp"
#include "solvers/layout_copy.hpp"
#include "solvers/layouts.cuh"

namespace smallbatch {

namespace {

constexpr int warp_lanes = 32, block_warps = 8;

template <class M, class C>
__global__ void __launch_bounds__(warp_lanes* block_warps) copy_within_matrices(LayoutCopy<M, C> copy) {
  for (std::int64_t k = std::int64_t{blockIdx.x} * block_warps + threadIdx.y; k < copy.count;
       k += std::int64_t{gridDim.x} * block_warps) {
    std::int64_t column = threadIdx.x;
    for (int row = 0; row < copy.rows;) {
      if (const int end = copy.end_of_row(row); column >= end) {
        column -= end;
        ++row;
      } else {
        copy(k, row, static_cast<int>(column));
        column += warp_lanes;
      }
    }
  }
}

template <class M, class C>
__global__ void __launch_bounds__(warp_lanes* block_warps) copy_across_matrices(LayoutCopy<M, C> copy) {
  // A block takes 32 matrices; each of its warps takes every eighth row.
  for (std::int64_t first = std::int64_t{blockIdx.x} * warp_lanes; first < copy.count;
       first += std::int64_t{gridDim.x} * warp_lanes) {
    const std::int64_t k = first + threadIdx.x;
    if (k >= copy.count) continue;
    for (int row = static_cast<int>(threadIdx.y); row < copy.rows; row += block_warps)
      for (int column = 0; column < copy.end_of_row(row); ++column) copy(k, row, column);
  }
}

/// Launches the copy that plan() returns. An Error of plan() becomes cudaErrorInvalidValue.
template <class Plan>
cudaError_t launch(const Plan& plan, cudaStream_t stream) {
  try {
    auto copy = plan();
    if (copy.count == 0) return cudaSuccess;
    constexpr std::int64_t max_blocks = 1 << 16;
    const bool across = copy.across_matrices();
    const int matrices = across ? warp_lanes : block_warps;  // that a block takes at a time
    const auto blocks = static_cast<unsigned>(std::min(max_blocks, (copy.count + matrices - 1) / matrices));
    const dim3 threads(warp_lanes, block_warps);
    if (across)
      copy_across_matrices<<<blocks, threads, 0, stream>>>(copy);
    else
      copy_within_matrices<<<blocks, threads, 0, stream>>>(copy);
    return cudaGetLastError();
  } catch (const Error&) {
    return cudaErrorInvalidValue;
  }
}

}  // namespace

template <class T>
cudaError_t launch_gather_spd_matrices(int n, std::int64_t count, const MatrixArray<const T>& from, Triangle triangle,
                                       T* to, cudaStream_t stream) {
  return launch([&] { return plan_gather_spd_matrices(n, count, from, triangle, to); }, stream);
}
template <class T>
cudaError_t launch_gather_spd_rhs(int n, int nrhs, std::int64_t count, const MatrixArray<const T>& from, T* to,
                                  cudaStream_t stream) {
  return launch([&] { return plan_gather_spd_rhs(n, nrhs, count, from, to); }, stream);
}
template <class T>
cudaError_t launch_scatter_spd_solutions(int n, int nrhs, std::int64_t count, const T* from, const MatrixArray<T>& to,
                                         cudaStream_t stream) {
  return launch([&] { return plan_scatter_spd_solutions(n, nrhs, count, from, to); }, stream);
}
template <class T>
cudaError_t launch_scatter_spd_inverses(int n, std::int64_t count, const T* from, const MatrixArray<T>& to,
                                        Triangle triangle, cudaStream_t stream) {
  return launch([&] { return plan_scatter_spd_inverses(n, count, from, to, triangle); }, stream);
}

template cudaError_t launch_gather_spd_matrices(int, std::int64_t, const MatrixArray<const float>&, Triangle, float*,
                                                cudaStream_t);
template cudaError_t launch_gather_spd_rhs(int, int, std::int64_t, const MatrixArray<const float>&, float*,
                                           cudaStream_t);
template cudaError_t launch_scatter_spd_solutions(int, int, std::int64_t, const float*, const MatrixArray<float>&,
                                                  cudaStream_t);
template cudaError_t launch_scatter_spd_inverses(int, std::int64_t, const float*, const MatrixArray<float>&, Triangle,
                                                 cudaStream_t);
template cudaError_t launch_gather_spd_matrices(int, std::int64_t, const MatrixArray<const double>&, Triangle, double*,
                                                cudaStream_t);
template cudaError_t launch_gather_spd_rhs(int, int, std::int64_t, const MatrixArray<const double>&, double*,
                                           cudaStream_t);
template cudaError_t launch_scatter_spd_solutions(int, int, std::int64_t, const double*, const MatrixArray<double>&,
                                                  cudaStream_t);
template cudaError_t launch_scatter_spd_inverses(int, std::int64_t, const double*, const MatrixArray<double>&, Triangle,
                                                 cudaStream_t);

}  // namespace smallbatch
