// Runs the ladders and prints bench/RESULTS.md on stdout: smallbatch_bench "commit" > bench/RESULTS.md
#include <cstdio>
#include <exception>

#include "bench/ladder.hpp"
#include "core/compare.hpp"
#include "core/device.hpp"

namespace smallbatch {

namespace {

/// Prints a ladder's table; false where a step is wrong.
bool print_ladder(const Ladder& ladder, const Roofline& roofline, int repeats) {
  std::printf("\n## %s\n\n", ladder.title.c_str());
  std::printf(
      "| step | idea | 10^6 %s/s | times row 0 | %% of the read roofline |%s error / bound | ms, lowest to highest |\n",
      ladder.unit.c_str(), ladder.flops > 0 ? " Gflop/s |" : "");
  std::printf("|---|---|---|---|---|%s---|---|\n", ladder.flops > 0 ? "---|" : "");
  bool all_right = true;
  double first = 0;
  for (const Step& step : ladder.steps) {
    const Measurement m = measure(ladder, step, repeats);
    if (!within(m.error_over_bound, 1)) {
      std::printf("| %s | %s | wrong, not timed |\n", step.name.c_str(), step.idea.c_str());
      all_right = false;
      continue;
    }
    const double rate = ladder.work / m.median_seconds;
    if (first == 0) first = rate;
    std::printf("| %s | %s | %.1f | %.2f | %.1f |", step.name.c_str(), step.idea.c_str(), rate / 1e6, rate / first,
                100 * ladder.min_bytes / m.median_seconds / roofline.read);
    if (ladder.flops > 0) std::printf(" %.0f |", ladder.flops / m.median_seconds / 1e9);
    std::printf(" %.3f | %.3f to %.3f |\n", m.error_over_bound, 1e3 * m.lowest_seconds, 1e3 * m.highest_seconds);
    std::fflush(stdout);
  }
  return all_right;
}

int run(const char* commit) {
  const DeviceList list = cuda_devices();
  if (list.devices.empty()) {
    std::fprintf(stderr, "smallbatch_bench: no GPU (%s). Run it on a machine with one.\n", list.why_none.c_str());
    return 5;
  }
  const DeviceInfo& device = list.devices[0];
  const Roofline roofline = measure_roofline();
  std::printf("# Measured figures\n\n");
  std::printf(
      "Written by `scripts/gpu`; not edited by hand. Median of 15 launches by events, data on the device; a step is\n"
      "checked by the referee before it is timed.\n\n");
  std::printf("Device: %s, %d multiprocessors, CUDA %s, driver supports %s. Commit: %s.\n", device.name.c_str(),
              device.multiprocessors, device.runtime_version.c_str(), device.driver_version.c_str(), commit);
  std::printf("Streams on the same device in the same run: read %.0f GB/s, copy %.0f GB/s (read plus written).\n",
              roofline.read / 1e9, roofline.copy / 1e9);
  bool all_right = true;
  for (const int n : {32, 16, 8})
    all_right &= print_ladder(solve_ladder<float>(n, std::int64_t{1} << 20), roofline, 15);
  all_right &= print_ladder(solve_ladder<double>(32, std::int64_t{1} << 19), roofline, 15);
  all_right &= print_ladder(potential_ladder(256, 16384), roofline, 15);
  return all_right ? 0 : 1;
}

}  // namespace

}  // namespace smallbatch

int main(int argc, char** argv) {
  try {
    return smallbatch::run(argc > 1 ? argv[1] : "unknown");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "smallbatch_bench: %s\n", error.what());
    return 70;
  }
}
