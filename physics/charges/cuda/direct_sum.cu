// Launches of one call of direct_sum(), in this order: values, extreme values, summaries, interaction energies.
#include "physics/direct_sum.cuh"

#include "physics/charges/cuda/kernels.cuh"
#include "physics/charges/potential_checks.hpp"

namespace smallbatch {

namespace {

/// Returns which values each summary covers: the values of a lattice plane, or of a problem.
SummaryRows summary_rows(const ChargeBatch& charges, const TargetBatch& targets, const DirectSumSizes& sizes) {
  if (targets.kind == TargetKind::points) return {charges.count, sizes.points, 0, targets.points.offset};
  if (targets.kind == TargetKind::charges) return {charges.count, sizes.charges, 0, charges.offset};
  const std::int64_t planes = charges.count * targets.lattice.plane_count, each = targets.lattice.shape.plane_points();
  return {planes, planes * each, each, nullptr};
}

std::size_t padded(std::size_t bytes) { return (bytes + 255) / 256 * 256; }

template <class T>
std::size_t summary_bytes(const SummaryRows& rows, const PotentialResult<T>& result) {
  if (result.summary == nullptr) return 0;
  return padded(static_cast<std::size_t>(summary_pieces(rows)) * sizeof(PotentialSummary));
}

/// Whether the arguments are usable, as far as the host can tell: sizes, and pointers that must not be null.
template <class T>
bool is_valid_call(const ChargeBatch& charges, const TargetBatch& targets, const DirectSumSizes& sizes,
                   const PotentialOptions& options, const PotentialResult<T>& result) {
  const LatticeBatch& lattice = targets.lattice;
  const bool on_lattices = targets.kind == TargetKind::lattice, at_points = targets.kind == TargetKind::points;
  if (charges.count < 0 || sizes.charges < 0 || sizes.points < 0 || !(sizes.smallest_spacing >= 0)) return false;
  if (!are_usable(charges, options) || (on_lattices && !can_be_counted(charges.count, lattice))) return false;
  if (charges.count == 0) return true;
  if (charges.offset == nullptr || result.info == nullptr) return false;
  if (sizes.charges > 0 && (charges.position == nullptr || charges.charge == nullptr)) return false;
  if (on_lattices && (lattice.origin == nullptr || lattice.spacing == nullptr)) return false;
  if (at_points && (targets.points.offset == nullptr || (sizes.points > 0 && targets.points.position == nullptr)))
    return false;
  if (result.energy != nullptr && sizes.charges > 0 && charges.group == nullptr) return false;
  const bool any = on_lattices || (at_points ? sizes.points : sizes.charges) > 0;
  return result.potential != nullptr || !any;
}

}  // namespace

template <class T>
std::size_t direct_sum_workspace_bytes(const ChargeBatch& charges, const TargetBatch& targets,
                                       const DirectSumSizes& sizes, const PotentialResult<T>& result) {
  std::size_t bytes = summary_bytes(summary_rows(charges, targets, sizes), result);
  if (result.energy != nullptr) bytes += energy_workspace_bytes(charges.count, sizes.charges);
  return bytes;
}

template <class T>
cudaError_t direct_sum(const ChargeBatch& charges, const TargetBatch& targets, const DirectSumSizes& sizes,
                       const PotentialOptions& options, const PotentialResult<T>& result, void* workspace,
                       cudaStream_t stream) {
  if (!is_valid_call(charges, targets, sizes, options, result)) return cudaErrorInvalidValue;
  if (charges.count == 0) return cudaSuccess;
  if (workspace == nullptr && direct_sum_workspace_bytes(charges, targets, sizes, result) > 0)
    return cudaErrorInvalidValue;
  const bool at_charges = targets.kind == TargetKind::charges;
  const PointBatch points = at_charges ? PointBatch{charges.offset, charges.position} : targets.points;
  const bool plain = interaction_kind(charges, options) == InteractionKind::plain;
  cudaError_t status = plain ? cudaSuccess : launch_targets(charges, targets, sizes, options, result, stream);
  if (targets.kind == TargetKind::lattice) {
    if (plain) status = launch_lattices(charges, targets.lattice, options, result, stream);
    if (status == cudaSuccess)
      status = launch_lattice_extremes(charges, targets.lattice, sizes, options, result, stream);
  } else if (plain) {
    status = launch_points(charges, points, at_charges, sizes, options, result, stream);
    if (status == cudaSuccess)
      status = launch_point_extremes(charges, points, at_charges, sizes, options, result, stream);
  }
  if (status != cudaSuccess) return status;
  const SummaryRows rows = summary_rows(charges, targets, sizes);
  auto* const partial = static_cast<char*>(workspace);
  if (result.summary != nullptr) {
    status =
        launch_summaries(rows, result.potential, reinterpret_cast<PotentialSummary*>(partial), result.summary, stream);
    if (status != cudaSuccess) return status;
  }
  if (result.energy != nullptr)
    status = launch_energies(charges, sizes.charges, options, result.info, partial + summary_bytes(rows, result),
                             result.energy, stream);
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
