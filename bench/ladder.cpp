#include "bench/ladder.hpp"

#include <algorithm>
#include <chrono>

#include "core/compare.hpp"
#include "core/device_cuda.hpp"

namespace smallbatch {

namespace {

/// Measures the seconds between two events on a stream.
class Stopwatch {
 public:
  Stopwatch() {
    check(cudaEventCreate(&start_));
    check(cudaEventCreate(&stop_));
  }
  ~Stopwatch() {
    (void)cudaEventDestroy(start_);
    (void)cudaEventDestroy(stop_);
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;
  template <class Work>
  double time(cudaStream_t stream, Work&& work) {
    check(cudaEventRecord(start_, stream));
    work();
    check(cudaEventRecord(stop_, stream));
    check(cudaEventSynchronize(stop_));
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, start_, stop_));
    return milliseconds / 1e3;
  }

 private:
  cudaEvent_t start_ = nullptr, stop_ = nullptr;
};

/// Graph of the work that `launch` enqueues on a new stream.
class CapturedGraph {
 public:
  explicit CapturedGraph(const std::function<void(cudaStream_t)>& launch) {
    const Stream stream;
    check(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal));
    launch(stream.get());
    check(cudaStreamEndCapture(stream.get(), &graph_));
  }
  ~CapturedGraph() { (void)cudaGraphDestroy(graph_); }
  CapturedGraph(const CapturedGraph&) = delete;
  CapturedGraph& operator=(const CapturedGraph&) = delete;

  [[nodiscard]] std::vector<cudaGraphNode_t> nodes() const {
    std::size_t count = 0;
    check(cudaGraphGetNodes(graph_, nullptr, &count));
    std::vector<cudaGraphNode_t> nodes(count);
    check(cudaGraphGetNodes(graph_, nodes.data(), &count));
    return nodes;
  }

 private:
  cudaGraph_t graph_ = nullptr;
};

void run(const std::function<void(cudaStream_t)>& action, cudaStream_t stream) {
  if (action) action(stream);
}

/// Runs a step once. Returns its error, divided by the bound, and its kernels.
Measurement check_step(const Ladder& ladder, const Step& step, const Stream& stream) {
  ladder.poison(stream.get());
  run(step.prepare, stream.get());
  step.launch(stream.get());
  check(cudaGetLastError());
  run(step.finish, stream.get());
  stream.synchronize();

  Measurement result;
  result.judgement = step.check ? step.check() : ladder.check();
  result.right = step.l2_limit > 0 ? within(result.judgement.relative_l2, step.l2_limit)
                                   : within(result.judgement.error_over_bound, 1);
  if (!step.vendor && !step.host) result.kernels = kernel_resources(step);
  return result;
}

/// Returns the seconds until `work` returns, by the host's clock.
template <class Work>
double host_time(Work&& work) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  work();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

void summarize(std::vector<double>& seconds, Measurement& result) {
  std::sort(seconds.begin(), seconds.end());
  result.lowest_seconds = seconds.front();
  result.median_seconds = seconds[seconds.size() / 2];
  result.highest_seconds = seconds.back();
}

}  // namespace

std::vector<KernelResources> kernel_resources(const Step& step) {
  int device = 0, warp = 0;
  check(cudaGetDevice(&device));
  check(cudaDeviceGetAttribute(&warp, cudaDevAttrWarpSize, device));
  const CapturedGraph graph(step.launch);
  std::vector<KernelResources> kernels;
  std::vector<void*> listed;
  for (cudaGraphNode_t node : graph.nodes()) {
    cudaGraphNodeType type = cudaGraphNodeTypeCount;
    check(cudaGraphNodeGetType(node, &type));
    if (type != cudaGraphNodeTypeKernel) continue;
    cudaKernelNodeParams launched{};
    check(cudaGraphKernelNodeGetParams(node, &launched));
    if (std::find(listed.begin(), listed.end(), launched.func) != listed.end()) continue;
    listed.push_back(launched.func);
    cudaFuncAttributes attributes{};
    check(cudaFuncGetAttributes(&attributes, launched.func));
    const auto threads = static_cast<int>(launched.blockDim.x * launched.blockDim.y * launched.blockDim.z);
    int blocks = 0;
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, launched.func, threads, launched.sharedMemBytes));
    kernels.push_back({attributes.numRegs, attributes.localSizeBytes,
                       attributes.sharedSizeBytes + launched.sharedMemBytes, threads,
                       blocks * ((threads + warp - 1) / warp)});
  }
  return kernels;
}

Measurement measure(const Ladder& ladder, const Step& step, int repeats) {
  constexpr int enough = 5;
  constexpr double long_time = 0.5;
  const Stream stream;
  Measurement result = check_step(ladder, step, stream);
  if (!result.right) return result;

  Stopwatch stopwatch;
  std::vector<double> seconds;
  double sum = 0;
  for (int i = 0; i < repeats && (i < enough || sum < long_time); ++i) {
    run(step.prepare, stream.get());
    const auto launch = [&] { step.launch(stream.get()); };
    seconds.push_back(step.host ? host_time(launch) : stopwatch.time(stream.get(), launch));
    sum += seconds.back();
  }
  check(cudaGetLastError());
  summarize(seconds, result);
  return result;
}

Measurement measure_calls(const Ladder& ladder, const Step& step) {
  constexpr std::size_t at_least = 15, at_most = 400;
  constexpr double long_time = 0.1;
  const Stream stream;
  Measurement result = check_step(ladder, step, stream);
  if (!result.right) return result;

  std::vector<double> seconds;
  double sum = 0;
  while (seconds.size() < at_most && (seconds.size() < at_least || sum < long_time)) {
    run(step.prepare, stream.get());
    stream.synchronize();
    seconds.push_back(host_time([&] {
      step.launch(stream.get());
      stream.synchronize();
    }));
    sum += seconds.back();
  }
  check(cudaGetLastError());
  summarize(seconds, result);
  return result;
}

}  // namespace smallbatch
