// The plan of potentials for GPUs. It owns device memory and a stream, copies a batch to the device, calls direct_sum
// and copies the result back.
#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "core/device.hpp"
#include "core/device_cuda.hpp"
#include "physics/charges/potential_backends.hpp"
#include "physics/charges/potential_checks.hpp"
#include "physics/direct_sum.cuh"

namespace smallbatch {

namespace {

class CudaPotential final : public PotentialOf<CudaPotential> {
 public:
  explicit CudaPotential(int device) : device_(device) {
    const DeviceGuard guard(device_);
    stream_.emplace();
    timer_.emplace();
  }

  [[nodiscard]] std::string description() const override { return "cuda:" + std::to_string(device_) + " direct sum"; }
  [[nodiscard]] double kernel_seconds() const override { return kernel_seconds_; }

  template <class T>
  void run(const ChargeBatch& charges, const TargetBatch& targets, const PotentialOptions& options,
           const PotentialResult<T>& result) {
    check_potential_call(charges, targets, options);
    if (charges.count == 0) return;
    const DeviceGuard guard(device_);
    const auto problems = static_cast<std::size_t>(charges.count);
    const auto values = static_cast<std::size_t>(target_count(charges, targets));
    // Only the batch's own items are copied, so offsets count from 0 on the device.
    const std::vector<std::int64_t> offset = from_zero(charges.offset, charges.count);
    std::vector<std::int64_t> point_offset{0};
    ChargeBatch device_charges{charges.count};
    device_charges.offset = copy_to_device(offset_, offset.data(), offset.size(), *stream_);
    const auto total = static_cast<std::size_t>(offset.back());
    const std::int64_t first = charges.offset[0];
    device_charges.position = copy_to_device(position_, charges.position + 3 * first, 3 * total, *stream_);
    device_charges.charge = copy_to_device(charge_, charges.charge + first, total, *stream_);
    if (charges.width != nullptr) device_charges.width = copy_to_device(width_, charges.width + first, total, *stream_);
    const bool energies = result.energy != nullptr && charges.group != nullptr;
    if (energies) device_charges.group = copy_to_device(group_, charges.group + first, total, *stream_);

    TargetBatch device_targets = targets;
    if (targets.kind == TargetKind::lattice) {
      device_targets.lattice.origin = copy_to_device(origin_, targets.lattice.origin, 3 * problems, *stream_);
      device_targets.lattice.spacing = copy_to_device(spacing_, targets.lattice.spacing, 3 * problems, *stream_);
    } else if (targets.kind == TargetKind::points) {
      point_offset = from_zero(targets.points.offset, charges.count);
      device_targets.points.offset = copy_to_device(point_offset_, point_offset.data(), point_offset.size(), *stream_);
      device_targets.points.position =
          copy_to_device(point_, targets.points.position + 3 * targets.points.offset[0], 3 * values, *stream_);
    }

    DirectSumSizes sizes{offset.back(), point_offset.back()};
    if (targets.kind == TargetKind::lattice)
      sizes.smallest_spacing = *std::min_element(targets.lattice.spacing, targets.lattice.spacing + 3 * charges.count);
    const bool on_lattices = targets.kind == TargetKind::lattice;
    const std::size_t summaries =
        on_lattices ? problems * static_cast<std::size_t>(targets.lattice.plane_count) : problems;
    PotentialResult<T> on_device{potential_.reserve<T>(values), info_.reserve<std::int32_t>(problems)};
    if (result.field != nullptr) on_device.field = field_.reserve<T>(3 * values);
    if (result.summary != nullptr) on_device.summary = summary_.reserve<PotentialSummary>(summaries);
    if (energies) on_device.energy = energy_.reserve<double>(problems);
    void* const workspace =
        workspace_.reserve<char>(direct_sum_workspace_bytes(device_charges, device_targets, sizes, on_device));
    timer_->begin(*stream_);
    check(direct_sum(device_charges, device_targets, sizes, options, on_device, workspace, stream_->get()));
    timer_->end(*stream_);
    copy_to_host(result.potential, on_device.potential, values, *stream_);
    copy_to_host(result.info, on_device.info, problems, *stream_);
    copy_to_host(result.field, on_device.field, 3 * values, *stream_);
    copy_to_host(result.summary, on_device.summary, summaries, *stream_);
    copy_to_host(result.energy, on_device.energy, problems, *stream_);
    stream_->synchronize();
    kernel_seconds_ += timer_->seconds();
    if (result.energy != nullptr && !energies)  // without groups
      for (std::size_t p = 0; p < problems; ++p)
        result.energy[p] = has_values(result.info[p]) ? 0 : std::numeric_limits<double>::quiet_NaN();
  }

 private:
  static std::vector<std::int64_t> from_zero(const std::int64_t* offset, std::int64_t problems) {
    std::vector<std::int64_t> shifted(offset, offset + problems + 1);
    for (std::int64_t& begin : shifted) begin -= offset[0];
    return shifted;
  }

  int device_;
  std::optional<Stream> stream_;
  std::optional<StreamTimer> timer_;
  double kernel_seconds_ = 0;
  DeviceMemory offset_, position_, charge_, group_, width_, origin_, spacing_, point_offset_, point_;
  DeviceMemory potential_, info_, field_, summary_, energy_, workspace_;
};

}  // namespace

std::unique_ptr<Potential> make_cuda_potential(int device) {
  (void)cuda_device(device);  // throws if there is no such device
  return std::make_unique<CudaPotential>(device);
}

}  // namespace smallbatch
