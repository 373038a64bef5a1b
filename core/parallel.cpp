#include "core/parallel.hpp"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cmath>
#include <exception>
#include <filesystem>
#include <fstream>
#include <limits>
#include <mutex>
#include <system_error>
#include <thread>

namespace smallbatch {

namespace {

/// Of this process's control group and those above it.
unsigned cores_of_control_groups() {
  unsigned least = std::numeric_limits<unsigned>::max();
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    if (!line.starts_with("0::/")) continue;
    for (std::filesystem::path group = line.substr(3);; group = group.parent_path()) {
      std::string quota;
      std::ifstream file("/sys/fs/cgroup" + group.string() + "/cpu.max");
      if (std::getline(file, quota)) least = std::min(least, cores_of_quota(quota).value_or(least));
      if (group == group.parent_path()) break;
    }
  }
  return least;
}

}  // namespace

std::optional<unsigned> cores_of_quota(const std::string& text) {
  // Without a locale's help: that of a program which has a C++ library of its own may not fit this one.
  double quota = 0, period = 0;
  const char* const end = text.data() + text.size();
  const auto [space, no_quota] = std::from_chars(text.data(), end, quota);
  if (no_quota != std::errc() || space == end || *space != ' ') return std::nullopt;
  if (std::from_chars(space + 1, end, period).ec != std::errc() || !(quota > 0) || !(period > 0)) return std::nullopt;
  return static_cast<unsigned>(std::clamp(std::ceil(quota / period), 1.0, 1e6));
}

unsigned hardware_threads() {
  static const unsigned threads = [] {
    unsigned cores = std::max(1U, std::thread::hardware_concurrency());
    cpu_set_t allowed;
    if (::sched_getaffinity(0, sizeof(allowed), &allowed) == 0)
      cores = std::max(1U, static_cast<unsigned>(CPU_COUNT(&allowed)));
    return std::min(cores, cores_of_control_groups());
  }();
  return threads;
}

unsigned thread_count(unsigned asked_for) { return asked_for == 0 ? hardware_threads() : asked_for; }

void parallel_for(std::int64_t count, std::int64_t grain, unsigned threads,
                  const std::function<void(std::int64_t, std::int64_t)>& body) {
  if (count <= 0) return;
  grain = std::max<std::int64_t>(1, grain);
  const std::int64_t pieces = (count + grain - 1) / grain;
  const auto workers = static_cast<unsigned>(std::min<std::int64_t>(thread_count(threads), pieces));

  std::atomic<std::int64_t> next{0};
  std::exception_ptr failure;
  std::mutex failure_mutex;
  auto work = [&] {
    try {
      for (std::int64_t piece = next++; piece < pieces; piece = next++)
        body(piece * grain, std::min(count, (piece + 1) * grain));
    } catch (...) {
      next = pieces;
      const std::lock_guard lock(failure_mutex);
      if (!failure) failure = std::current_exception();
    }
  };
  // OpenMP keeps the threads of a caller from call to call: to start them anew costs as much as to solve thousands of
  // systems.
#pragma omp parallel num_threads(workers) if (workers > 1)
  work();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace smallbatch
