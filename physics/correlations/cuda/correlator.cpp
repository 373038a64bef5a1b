// The plan of correlations for GPUs. It owns device memory and a stream, copies signals to the device, correlates and
// copies visibilities back.
#include <algorithm>
#include <optional>
#include <string>

#include "core/device.hpp"
#include "core/device_cuda.hpp"
#include "physics/correlation.cuh"
#include "physics/correlations/backends.hpp"
#include "physics/correlations/checks.hpp"

namespace smallbatch {

namespace {

class CudaCorrelator final : public Correlator {
 public:
  explicit CudaCorrelator(int device) : device_(device) {
    const DeviceGuard guard(device_);
    stream_.emplace();
    timer_.emplace();
  }

  [[nodiscard]] std::string description() const override { return "cuda:" + std::to_string(device_) + " correlation"; }
  [[nodiscard]] double kernel_seconds() const override { return kernel_seconds_; }

  void correlate(const SignalBatch& signal, const VisibilityBatch& sums) override {
    check_correlation_call(signal, sums);
    if (signal.channels == 0) return;
    const DeviceGuard guard(device_);
    const auto samples = static_cast<std::size_t>(signal.samples());
    const auto visibilities = static_cast<std::size_t>(signal.visibilities());
    const auto channels = static_cast<std::size_t>(signal.channels);
    const std::size_t visibility_bytes = visibilities * static_cast<std::size_t>(bytes_of(sums.type));

    SignalBatch on_device = signal;
    on_device.signal = copy_to_device(signal_, static_cast<const char*>(signal.signal),
                                      samples * static_cast<std::size_t>(bytes_of(signal.type)), *stream_);
    if (signal.flag != nullptr) on_device.flag = copy_to_device(flag_, signal.flag, samples, *stream_);
    VisibilityBatch results{sums.type, visibility_.reserve<char>(visibility_bytes), nullptr,
                            info_.reserve<std::int32_t>(channels)};
    // Without flags, the host computes the weights itself.
    const bool copies_weights = sums.weight != nullptr && signal.flag != nullptr;
    if (copies_weights) results.weight = weight_.reserve<std::int32_t>(visibilities);
    void* const workspace = workspace_.reserve<char>(correlation_workspace_bytes(on_device, results));
    timer_->begin(*stream_);
    check(smallbatch::correlate(on_device, results, workspace, stream_->get()));
    timer_->end(*stream_);
    copy_to_host(static_cast<char*>(sums.visibility), static_cast<const char*>(results.visibility), visibility_bytes,
                 *stream_);
    copy_to_host(sums.info, results.info, channels, *stream_);
    if (copies_weights) copy_to_host(sums.weight, results.weight, visibilities, *stream_);
    if (sums.weight != nullptr && !copies_weights) fill_weights(signal, sums.weight);
    stream_->synchronize();
    kernel_seconds_ += timer_->seconds();
  }

 private:
  static void fill_weights(const SignalBatch& signal, std::int32_t* weight) {
    const std::int64_t per_integration = signal.channels * baselines_of(signal.inputs);
    for (std::int64_t k = 0; k < signal.integrations(); ++k)
      std::fill_n(weight + k * per_integration, per_integration,
                  static_cast<std::int32_t>(std::min(signal.integrate, signal.times - k * signal.integrate)));
  }

  int device_;
  std::optional<Stream> stream_;
  std::optional<StreamTimer> timer_;
  double kernel_seconds_ = 0;
  DeviceMemory signal_, flag_, visibility_, weight_, info_, workspace_;
};

}  // namespace

std::unique_ptr<Correlator> make_cuda_correlator(int device) {
  (void)cuda_device(device);  // throws if there is no such device
  return std::make_unique<CudaCorrelator>(device);
}

}  // namespace smallbatch
