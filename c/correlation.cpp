// Correlation: this file turns the caller's structs into those of physics/, and calls it.
#include <algorithm>

#include "c/device.hpp"
#include "c/potentials.hpp"
#include "physics/correlations/checks.hpp"

namespace smallbatch {

namespace {

SampleType sample_type_of(const char* member, const smallbatch_sample_type& type) {
  switch (number_of(type)) {
    case SMALLBATCH_SAMPLE_FLOAT32:
      return SampleType::complex_float32;
    case SMALLBATCH_SAMPLE_INT8:
      return SampleType::complex_int8;
    case SMALLBATCH_SAMPLE_INT4:
      return SampleType::complex_int4;
    default:
      refuse_enumerator(member, number_of(type));
  }
}

SumType sum_type_of(const smallbatch_sum_type& type) {
  switch (number_of(type)) {
    case SMALLBATCH_SUM_FLOAT32:
      return SumType::complex_float32;
    case SMALLBATCH_SUM_INT32:
      return SumType::complex_int32;
    case SMALLBATCH_SUM_INT64:
      return SumType::complex_int64;
    default:
      refuse_enumerator("visibilities->type", number_of(type));
  }
}

smallbatch_sum_type sum_type_in_c(SumType type) {
  return type == SumType::complex_float32 ? SMALLBATCH_SUM_FLOAT32
         : type == SumType::complex_int32 ? SMALLBATCH_SUM_INT32
                                          : SMALLBATCH_SUM_INT64;
}

CorrelationCall call_of(const smallbatch_signals& signals, const smallbatch_visibilities& visibilities) {
  CorrelationCall call;
  SignalBatch& signal = call.signal;
  signal.type = sample_type_of("signals->type", signals.type);
  signal.channels = signals.channels;
  signal.times = signals.times;
  signal.inputs = signals.inputs;
  signal.integrate = signals.integrate;
  signal.signal = signals.signal;
  signal.flag = signals.flag;
  call.sums = {sum_type_of(visibilities.type), visibilities.visibility, visibilities.weight, visibilities.info};
  check_correlation_call(signal, call.sums);
  check_size("signals", {signal.channels, signal.times, signal.inputs});
  check_size("visibilities", {signal.channels, signal.integrations(), baselines_of(signal.inputs)});
  check_present("signals->signal", signals.signal, signal.samples());
  check_present("visibilities->visibility", visibilities.visibility, signal.visibilities());
  check_present("visibilities->info", visibilities.info, signals.channels);
  return call;
}

/// Correlates. If `wanted_bytes` is not null, stores the bytes of workspace there and computes nothing.
void run(Context& context, const smallbatch_signals* signals, const smallbatch_visibilities* visibilities,
         void* workspace, std::size_t bytes, std::size_t* wanted_bytes) {
  check_present("signals", signals);
  check_present("visibilities", visibilities);
  const bool on_device = is_on_device(context, signals->memory);
  const CorrelationCall call = call_of(*signals, *visibilities);
  if (on_device && reinterpret_cast<std::uintptr_t>(call.signal.signal) % 16 != 0)
    refuse("the signal cannot be read", "its address is not a multiple of 16", "Give memory from cudaMalloc.");
  const std::size_t needed = on_device && call.signal.channels > 0 ? device_workspace_bytes(call) : 0;
  if (wanted_bytes != nullptr) {
    *wanted_bytes = needed;
  } else if (call.signal.channels == 0) {
    return;
  } else if (on_device) {
    check_workspace(workspace, bytes, needed);
    enqueue(context, call, workspace);
  } else {
    context.correlator().correlate(call.signal, call.sums);
  }
}

}  // namespace

}  // namespace smallbatch

using smallbatch::answer;
using smallbatch::Context;

smallbatch_sum_type smallbatch_sum_type_of(smallbatch_sample_type samples, int64_t samples_per_sum) {
  smallbatch_sum_type sums = SMALLBATCH_SUM_INT64;
  (void)answer([&] {
    sums = smallbatch::sum_type_in_c(
        smallbatch::sum_type(smallbatch::sample_type_of("the type of samples", samples), samples_per_sum));
  });
  return sums;
}

void smallbatch_signals_init(smallbatch_signals* signals, smallbatch_memory memory, smallbatch_sample_type type,
                             int64_t channels, int64_t times, int64_t inputs) {
  if (signals == nullptr) return;
  *signals = {};
  signals->memory = memory;
  signals->type = type;
  signals->channels = channels;
  signals->times = times;
  signals->inputs = inputs;
  signals->integrate = std::max<int64_t>(times, 1);
}

void smallbatch_visibilities_init(smallbatch_visibilities* visibilities, const smallbatch_signals* signals) {
  if (visibilities == nullptr) return;
  *visibilities = {};
  if (signals == nullptr) return;
  visibilities->type = smallbatch_sum_type_of(signals->type, std::min(signals->times, signals->integrate));
}

smallbatch_status smallbatch_correlate(smallbatch_handle handle, const smallbatch_signals* signals,
                                       const smallbatch_visibilities* visibilities, void* workspace,
                                       size_t workspace_bytes) {
  return answer(handle, [&](Context& context) {
    smallbatch::run(context, signals, visibilities, workspace, workspace_bytes, nullptr);
  });
}
smallbatch_status smallbatch_correlate_workspace(smallbatch_handle handle, const smallbatch_signals* signals,
                                                 const smallbatch_visibilities* visibilities, size_t* workspace_bytes) {
  return answer(handle, [&](Context& context) {
    smallbatch::check_present("workspace_bytes", workspace_bytes);
    smallbatch::run(context, signals, visibilities, nullptr, 0, workspace_bytes);
  });
}
