#include "bench/correlation_ladder.hpp"

#include <memory>
#include <string>
#include <utility>

#include "bench/correlation_signals.hpp"
#include "bench/correlation_steps.hpp"

namespace smallbatch {

namespace {

constexpr std::int64_t times = 1024;

using Shared = std::shared_ptr<const SignalsToCorrelate>;

std::string words(const SignalBatch& batch) {
  return "correlation, " + std::to_string(batch.inputs) + " inputs, " + std::to_string(batch.channels) +
         " channels of " + std::to_string(batch.times) + " samples, " +
         (batch.type == SampleType::complex_float32 ? "float32" : "int8");
}

Ladder empty_ladder(const Shared& signals) {
  Ladder ladder;
  ladder.title = words(signals->batch);
  ladder.unit = "multiply-adds";
  ladder.exponent = 9;
  ladder.work = signals->multiply_adds();
  ladder.min_bytes = signals->bytes();
  ladder.flops = 8 * ladder.work;
  ladder.flops_convention = "8 per complex multiply-add, i >= j";
  ladder.poison = [signals](cudaStream_t stream) { signals->poison(stream); };
  ladder.check = [signals] { return signals->judge(); };
  return ladder;
}

Step production_step(const Shared& signals) {
  Step step;
  step.name = "tensor_cores";
  step.idea = signals->batch.type == SampleType::complex_float32
                  ? "production: each number split into two of TF32, three products, sums rounded to nearest"
                  : "production: samples transposed on their way to the tensor cores, exact";
  step.launch = [signals](cudaStream_t stream) { signals->correlate(stream); };
  return step;
}

}  // namespace

Ladder correlation_ladder(std::int64_t inputs, std::int64_t channels) {
  const auto signals = std::make_shared<const SignalsToCorrelate>(SampleType::complex_float32, inputs, channels, times);
  Ladder ladder = empty_ladder(signals);
  ladder.title = "From naive to production: " + ladder.title;
  ladder.note =
      "Published for 1 x 1, 2 x 1 and 2 x 2 visibilities per thread, on a GTX 480: 562, 852 and 1023 Gflop/s.";
  ladder.steps = correlation_peers(signals);
  for (const CorrelationStep& of : correlation_steps_by_threads()) {
    Step step;
    step.name = of.name;
    step.idea = of.idea;
    step.launch = [signals, launch = of.launch](cudaStream_t stream) {
      launch(signals->batch, signals->sums.visibility, stream);
    };
    ladder.steps.push_back(std::move(step));
  }
  ladder.steps.push_back(production_step(signals));
  return ladder;
}

Ladder correlation_comparison(SampleType type, std::int64_t inputs, std::int64_t channels) {
  const auto signals = std::make_shared<const SignalsToCorrelate>(type, inputs, channels, times);
  Ladder ladder = empty_ladder(signals);
  ladder.steps = {correlation_peers(signals).front(), production_step(signals)};
  return ladder;
}

}  // namespace smallbatch
