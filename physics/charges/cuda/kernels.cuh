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

/// V, E and info of screened and of Gaussian charges, at all targets; of lattices without info_values_out_of_range.
template <class T>
cudaError_t launch_targets(const ChargeBatch& charges, const TargetBatch& targets, const DirectSumSizes& sizes,
                           const PotentialOptions& options, const PotentialResult<T>& result, cudaStream_t stream);

/// What these leave to be done for problems far from everyday numbers, nearly always nothing: info_values_out_of_range,
/// and sums that stay clear of the ends of double's range.
template <class T>
cudaError_t launch_lattice_extremes(const ChargeBatch& charges, const LatticeBatch& lattice,
                                    const DirectSumSizes& sizes, const PotentialOptions& options,
                                    const PotentialResult<T>& result, cudaStream_t stream);
template <class T>
cudaError_t launch_point_extremes(const ChargeBatch& charges, const PointBatch& points, bool at_charges,
                                  const DirectSumSizes& sizes, const PotentialOptions& options,
                                  const PotentialResult<T>& result, cudaStream_t stream);

/// The values of each summary: `each` of every row, one row after the other, or, where offset is not null,
/// offset[k] .. offset[k+1]-1 (counted from offset[0]) of row k.
struct SummaryRows {
  std::int64_t rows = 0, values = 0, each = 0;
  const std::int64_t* offset = nullptr;  // on the device
};
/// Summaries of stored values. `partial` has room for summary_pieces() of them.
std::int64_t summary_pieces(const SummaryRows& rows);
template <class T>
cudaError_t launch_summaries(const SummaryRows& rows, const T* potential, PotentialSummary* partial,
                             PotentialSummary* summary, cudaStream_t stream);

/// Interaction energies. `workspace` has energy_workspace_bytes().
std::size_t energy_workspace_bytes(std::int64_t problems, std::int64_t charges);
cudaError_t launch_energies(const ChargeBatch& charges, std::int64_t charge_count, const PotentialOptions& options,
                            const std::int32_t* info, void* workspace, double* energy, cudaStream_t stream);

}  // namespace smallbatch
