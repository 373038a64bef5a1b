// The plan for GPUs: owns device memory and a stream, copies a batch in, calls direct_sum, copies the answer out.
#include <optional>
#include <string>
#include <vector>

#include "core/device.hpp"
#include "core/device_cuda.hpp"
#include "physics/direct_sum.cuh"
#include "physics/potential_backends.hpp"
#include "physics/potential_checks.hpp"

namespace smallbatch {

namespace {

class CudaPotential final : public Potential {
 public:
  explicit CudaPotential(int device) : device_(device) {
    const DeviceGuard guard(device_);
    stream_.emplace();
  }

  void evaluate(const ChargeBatch& charges, const TargetBatch& targets, const PotentialOptions& options,
                const PotentialResult<float>& result) override {
    run(charges, targets, options, result);
  }
  void evaluate(const ChargeBatch& charges, const TargetBatch& targets, const PotentialOptions& options,
                const PotentialResult<double>& result) override {
    run(charges, targets, options, result);
  }
  [[nodiscard]] std::string description() const override { return "cuda:" + std::to_string(device_) + " direct sum"; }

 private:
  template <class T>
  void run(const ChargeBatch& charges, const TargetBatch& targets, const PotentialOptions& options,
           const PotentialResult<T>& result) {
    check_potential_call(charges, targets, options);
    const LatticeBatch& lattice = targets.lattice;
    if (charges.count == 0) return;
    const DeviceGuard guard(device_);
    const auto problems = static_cast<std::size_t>(charges.count);
    const std::int64_t first = charges.offset[0];
    const std::int64_t charge_count = charges.offset[charges.count] - first;
    const auto total = static_cast<std::size_t>(charge_count);
    const auto values = problems * static_cast<std::size_t>(lattice.plane_count * lattice.shape.plane_points());

    // Only the batch's own charges are copied, so offsets count from 0 on the device.
    std::vector<std::int64_t> offset(charges.offset, charges.offset + charges.count + 1);
    for (std::int64_t& place : offset) place -= first;
    const ChargeBatch device_charges{charges.count, copy_in(offset_, offset.data(), offset.size()),
                                     copy_in(position_, charges.position + 3 * first, 3 * total),
                                     copy_in(charge_, charges.charge + first, total), nullptr};
    LatticeBatch device_lattice = lattice;
    device_lattice.origin = copy_in(origin_, lattice.origin, 3 * problems);
    device_lattice.spacing = copy_in(spacing_, lattice.spacing, 3 * problems);
    const PotentialResult<T> device_result{potential_.reserve<T>(values), info_.reserve<std::int32_t>(problems),
                                           nullptr, nullptr, nullptr};
    const DirectSumScratch<T> scratch{shifted_.reserve<ShiftedCharge<T>>(total),
                                      status_.reserve<ProblemStatus>(problems), near_.reserve<std::int64_t>(total),
                                      near_count_.reserve<unsigned long long>(1)};
    check(direct_sum(device_charges, charge_count, device_lattice, options, device_result, scratch, stream_->get()));
    check(cudaMemcpyAsync(result.potential, device_result.potential, values * sizeof(T), cudaMemcpyDeviceToHost,
                          stream_->get()));
    check(cudaMemcpyAsync(result.info, device_result.info, problems * sizeof(std::int32_t), cudaMemcpyDeviceToHost,
                          stream_->get()));
    stream_->synchronize();
  }

  /// The host's `count` values in device memory.
  template <class T>
  const T* copy_in(DeviceMemory& memory, const T* from, std::size_t count) {
    T* const to = memory.reserve<T>(count);
    if (count > 0) check(cudaMemcpyAsync(to, from, count * sizeof(T), cudaMemcpyHostToDevice, stream_->get()));
    return to;
  }

  int device_;
  std::optional<Stream> stream_;
  DeviceMemory offset_, position_, charge_, origin_, spacing_;
  DeviceMemory shifted_, status_, near_, near_count_;
  DeviceMemory potential_, info_;
};

}  // namespace

std::unique_ptr<Potential> make_cuda_potential(int device) {
  (void)cuda_device(device);  // throws where there is none
  return std::make_unique<CudaPotential>(device);
}

}  // namespace smallbatch
