// What one call of direct_sum() launches, in order: the values, their summaries, the interaction energies.
#include "physics/direct_sum.cuh"

#include "physics/direct_sum_kernels.cuh"

namespace smallbatch {

namespace {

/// Values of the call, and of each problem where all have as many.
struct ValueCount {
  std::int64_t all = 0, per_problem = 0;
  const std::int64_t* offset = nullptr;  // on the device
};
ValueCount value_count(const ChargeBatch& charges, const TargetBatch& targets, const DirectSumSizes& sizes) {
  if (targets.kind == TargetKind::points) return {sizes.points, 0, targets.points.offset};
  if (targets.kind == TargetKind::charges) return {sizes.charges, 0, charges.offset};
  const std::int64_t per_problem = targets.lattice.plane_count * targets.lattice.shape.plane_points();
  return {charges.count * per_problem, per_problem, nullptr};
}

std::size_t padded(std::size_t bytes) { return (bytes + 255) / 256 * 256; }

template <class T>
std::size_t summary_bytes(const ChargeBatch& charges, const ValueCount& values, const PotentialResult<T>& result) {
  if (result.summary == nullptr) return 0;
  return padded(static_cast<std::size_t>(summary_pieces(charges.count, values.all)) * sizeof(PotentialSummary));
}

}  // namespace

template <class T>
std::size_t direct_sum_workspace_bytes(const ChargeBatch& charges, const TargetBatch& targets,
                                       const DirectSumSizes& sizes, const PotentialResult<T>& result) {
  std::size_t bytes = summary_bytes(charges, value_count(charges, targets, sizes), result);
  if (result.energy != nullptr)
    bytes += padded(static_cast<std::size_t>(energy_pieces(charges.count, sizes.charges)) * sizeof(double));
  return bytes;
}

template <class T>
cudaError_t direct_sum(const ChargeBatch& charges, const TargetBatch& targets, const DirectSumSizes& sizes,
                       const PotentialOptions& options, const PotentialResult<T>& result, void* workspace,
                       cudaStream_t stream) {
  if (charges.count == 0) return cudaSuccess;
  const bool at_charges = targets.kind == TargetKind::charges;
  const PointBatch points = at_charges ? PointBatch{charges.offset, charges.position} : targets.points;
  cudaError_t status = targets.kind == TargetKind::lattice
                           ? launch_lattices(charges, targets.lattice, options, result, stream)
                           : launch_points(charges, points, at_charges, sizes, options, result, stream);
  if (status != cudaSuccess) return status;
  const ValueCount values = value_count(charges, targets, sizes);
  auto* const partial = static_cast<char*>(workspace);
  if (result.summary != nullptr) {
    status = launch_summaries(charges.count, values.all, values.per_problem, values.offset, result.potential,
                              result.info, reinterpret_cast<PotentialSummary*>(partial), result.summary, stream);
    if (status != cudaSuccess) return status;
  }
  if (result.energy != nullptr)
    status = launch_energies(charges, sizes.charges, options, result.info,
                             reinterpret_cast<double*>(partial + summary_bytes(charges, values, result)), result.energy,
                             stream);
  return status;
}

template std::size_t direct_sum_workspace_bytes<float>(const ChargeBatch&, const TargetBatch&, const DirectSumSizes&,
                                                       const PotentialResult<float>&);
template std::size_t direct_sum_workspace_bytes<double>(const ChargeBatch&, const TargetBatch&, const DirectSumSizes&,
                                                        const PotentialResult<double>&);
template cudaError_t direct_sum<float>(const ChargeBatch&, const TargetBatch&, const DirectSumSizes&,
                                       const PotentialOptions&, const PotentialResult<float>&, void*, cudaStream_t);
template cudaError_t direct_sum<double>(const ChargeBatch&, const TargetBatch&, const DirectSumSizes&,
                                        const PotentialOptions&, const PotentialResult<double>&, void*, cudaStream_t);

}  // namespace smallbatch
