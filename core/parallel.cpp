#include "core/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>

namespace smallbatch {

unsigned hardware_threads() { return std::max(1U, std::thread::hardware_concurrency()); }

void parallel_for(std::int64_t count, std::int64_t grain, unsigned threads,
                  const std::function<void(std::int64_t, std::int64_t)>& body) {
  if (count <= 0) return;
  grain = std::max<std::int64_t>(1, grain);
  const std::int64_t pieces = (count + grain - 1) / grain;
  if (threads == 0) threads = hardware_threads();
  const auto workers = static_cast<unsigned>(std::min<std::int64_t>(threads, pieces));

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
