// The plan of pair energies for GPUs. It owns device memory and a stream, copies a batch to the device, calls
// pair_energies and copies the result back.
#include <optional>
#include <string>
#include <vector>

#include "core/device.hpp"
#include "core/device_cuda.hpp"
#include "physics/charges/pair_energy_backends.hpp"
#include "physics/charges/pair_energy_range.hpp"
#include "physics/charges/potential_checks.hpp"
#include "physics/pair_energies.cuh"

namespace smallbatch {

namespace {

class CudaPairEnergy final : public PairEnergy {
 public:
  explicit CudaPairEnergy(int device) : device_(device) {
    const DeviceGuard guard(device_);
    stream_.emplace();
    timer_.emplace();
  }

  [[nodiscard]] std::string description() const override { return "cuda:" + std::to_string(device_) + " pair sum"; }
  [[nodiscard]] double kernel_seconds() const override { return kernel_seconds_; }

  void evaluate(const ChargeBatch& charges, const PairEnergyOptions& options, const PairEnergyResult& result) override {
    check_potential_call(charges, TargetBatch(), potential_options(options));
    if (charges.count == 0) return;
    const DeviceGuard guard(device_);
    const auto problems = static_cast<std::size_t>(charges.count);
    // Only the batch's own charges are copied, so offsets count from 0 on the device.
    const std::int64_t first = charges.offset[0];
    std::vector<std::int64_t> offset(charges.offset, charges.offset + problems + 1);
    for (std::int64_t& begin : offset) begin -= first;
    const auto total = static_cast<std::size_t>(offset.back());
    ChargeBatch on_device{charges.count};
    on_device.offset = copy_to_device(offset_, offset.data(), offset.size(), *stream_);
    on_device.position = copy_to_device(position_, charges.position + 3 * first, 3 * total, *stream_);
    on_device.charge = copy_to_device(charge_, charges.charge + first, total, *stream_);
    if (charges.group != nullptr) on_device.group = copy_to_device(group_, charges.group + first, total, *stream_);
    if (charges.width != nullptr) on_device.width = copy_to_device(width_, charges.width + first, total, *stream_);
    PairEnergyResult found{energy_.reserve<double>(problems), info_.reserve<std::int32_t>(problems)};
    if (result.energy_per_charge != nullptr) found.energy_per_charge = energy_per_charge_.reserve<double>(total);
    void* const workspace = workspace_.reserve<char>(pair_energies_workspace_bytes(charges.count, offset.back()));
    timer_->begin(*stream_);
    check(pair_energies(on_device, offset.back(), options, found, workspace, stream_->get()));
    timer_->end(*stream_);
    copy_to_host(result.energy, found.energy, problems, *stream_);
    copy_to_host(result.info, found.info, problems, *stream_);
    copy_to_host(result.energy_per_charge, found.energy_per_charge, total, *stream_);
    stream_->synchronize();
    kernel_seconds_ += timer_->seconds();
  }

 private:
  int device_;
  std::optional<Stream> stream_;
  std::optional<StreamTimer> timer_;
  double kernel_seconds_ = 0;
  DeviceMemory offset_, position_, charge_, group_, width_, energy_, info_, energy_per_charge_, workspace_;
};

}  // namespace

std::unique_ptr<PairEnergy> make_cuda_pair_energy(int device) {
  (void)cuda_device(device);  // throws if there is no such device
  return std::make_unique<CudaPairEnergy>(device);
}

}  // namespace smallbatch
