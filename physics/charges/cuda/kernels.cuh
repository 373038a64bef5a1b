// Launches that direct_sum() combines. Private to physics/charges/cuda/.
#pragma once

#include "physics/direct_sum.cuh"

namespace smallbatch {

/// Computes V, E and info of lattices.
template <class T>
cudaError_t launch_lattices(const ChargeBatch& charges, const LatticeBatch& lattice, const PotentialOptions& options,
                            const PotentialResult<T>& result, cudaStream_t stream);

/// Computes V, E and info at points. If `at_charges`, the points are the charges, and the sum at a charge leaves out
/// this charge.
template <class T>
cudaError_t launch_points(const ChargeBatch& charges, const PointBatch& points, bool at_charges,
                          const DirectSumSizes& sizes, const PotentialOptions& options,
                          const PotentialResult<T>& result, cudaStream_t stream);

/// Computes V, E and info of screened and of Gaussian charges at all targets. For lattices, launch_lattice_extremes()
/// must then set info_values_out_of_range.
template <class T>
cudaError_t launch_targets(const ChargeBatch& charges, const TargetBatch& targets, const DirectSumSizes& sizes,
                           const PotentialOptions& options, const PotentialResult<T>& result, cudaStream_t stream);

/// Finishes problems with extreme numbers after the launches above. Sets info_values_out_of_range, and sums values
/// again if their intermediate results may have left the range of double. Most calls launch nothing.
template <class T>
cudaError_t launch_lattice_extremes(const ChargeBatch& charges, const LatticeBatch& lattice,
                                    const DirectSumSizes& sizes, const PotentialOptions& options,
                                    const PotentialResult<T>& result, cudaStream_t stream);
template <class T>
cudaError_t launch_point_extremes(const ChargeBatch& charges, const PointBatch& points, bool at_charges,
                                  const DirectSumSizes& sizes, const PotentialOptions& options,
                                  const PotentialResult<T>& result, cudaStream_t stream);

/// Rows of values, with one summary for each row. If offset is null, every row has `each` values, and rows follow one
/// another. Otherwise row k has the values offset[k] .. offset[k+1]-1, counted from offset[0].
struct SummaryRows {
  std::int64_t rows = 0, values = 0, each = 0;
  const std::int64_t* offset = nullptr;  // on the device
};
/// Number of summaries for which `partial` of launch_summaries() must have room.
std::int64_t summary_pieces(const SummaryRows& rows);
/// Computes the summaries of stored potentials.
template <class T>
cudaError_t launch_summaries(const SummaryRows& rows, const T* potential, PotentialSummary* partial,
                             PotentialSummary* summary, cudaStream_t stream);

/// Bytes of workspace that launch_energies() needs.
std::size_t energy_workspace_bytes(std::int64_t problems, std::int64_t charges);
/// Computes interaction energies of groups 1 and 2.
cudaError_t launch_energies(const ChargeBatch& charges, std::int64_t charge_count, const PotentialOptions& options,
                            const std::int32_t* info, void* workspace, double* energy, cudaStream_t stream);

}  // namespace smallbatch
