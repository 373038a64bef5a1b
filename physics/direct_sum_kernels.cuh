// The launches that direct_sum() puts together, each in its own file. Private to physics/*.cu.
#pragma once

#include "physics/direct_sum.cuh"

namespace smallbatch {

/// V, E and info of lattices.
template <class T>
cudaError_t launch_lattices(const ChargeBatch& charges, const LatticeBatch& lattice, const PotentialOptions& options,
                            const PotentialResult<T>& result, cudaStream_t stream);

/// V, E and info at points; where `at_charges` the points are the charges, and each leaves itself out.
template <class T>
cudaError_t launch_points(const ChargeBatch& charges, const PointBatch& points, bool at_charges,
                          const DirectSumSizes& sizes, const PotentialOptions& options,
                          const PotentialResult<T>& result, cudaStream_t stream);

/// Summaries of stored values: `per_problem` of each problem, or, where offset is not null, offset[p] .. offset[p+1]-1
/// (counted from offset[0]) of problem p. `partial` has room for summary_pieces() of them.
std::int64_t summary_pieces(std::int64_t problems, std::int64_t values);
template <class T>
cudaError_t launch_summaries(std::int64_t problems, std::int64_t values, std::int64_t per_problem,
                             const std::int64_t* offset, const T* potential, const std::int32_t* info,
                             PotentialSummary* partial, PotentialSummary* summary, cudaStream_t stream);

/// Interaction energies. `partial` has room for energy_pieces() numbers.
std::int64_t energy_pieces(std::int64_t problems, std::int64_t charges);
cudaError_t launch_energies(const ChargeBatch& charges, std::int64_t charge_count, const PotentialOptions& options,
                            const std::int32_t* info, double* partial, double* energy, cudaStream_t stream);

}  // namespace smallbatch
