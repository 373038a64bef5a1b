// Blocks on their way through the stages of a run: each stage is one thread for the whole run and takes the blocks of a
// set in their order, and all stages are at work at the same time, on different blocks.
#pragma once

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <future>
#include <mutex>
#include <thread>

#include "app/interruption.hpp"

namespace smallbatch {

/// A thread that does one task after the other, and with it the threads that OpenMP keeps for it.
class Worker {
 public:
  Worker() : thread_([this] { work(); }) {}
  /// Waits for the task that it is at.
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// Nothing may throw in `task`, and it must be over before the next one is given.
  std::future<void> give(std::function<void()> task);

 private:
  void work();

  std::mutex mutex_;
  std::condition_variable given_;
  std::packaged_task<void()> task_;
  bool is_over_ = false;
  std::thread thread_;
};

inline constexpr std::size_t stage_count = 4;  ///< read, compute, verify, write
inline constexpr std::int64_t blocks_in_memory = 4;

using StageThreads = std::array<Worker, stage_count>;

/// How many blocks each stage is done with, and the first exception of any.
class StageProgress {
 public:
  /// Waits until a stage may take a block: the one before it is done with it or, for the first stage, the last one with
  /// the block that had its place in memory. False where some stage has failed.
  bool wait_for(std::size_t stage, std::int64_t block);
  void advance(std::size_t stage);
  void fail(std::exception_ptr failure);
  /// Once all stages have ended.
  void rethrow() const;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::array<std::int64_t, stage_count> done_{};
  std::exception_ptr failure_;
};

/// Where the time went, in seconds. The stages overlap, so they add up to more than the whole.
struct StageSeconds {
  double read = 0, compute = 0, verify = 0, write = 0, total = 0;
};

/// Adds the time that `work` takes to `seconds`.
template <class Work>
void timed(double& seconds, Work&& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// What is done with the blocks of one set; a stage may throw, which ends all of them.
template <class Block>
struct Stages {
  std::function<void(std::int64_t, Block&)> read, compute, verify, write;
};

/// Takes blocks 0, 1, ... through all stages. Throws what the first stage that failed threw, or Error(interrupted).
template <class Block>
void stream_blocks(std::int64_t blocks, const Stages<Block>& stages, StageThreads& threads, StageSeconds& seconds) {
  const std::array works{&stages.read, &stages.compute, &stages.verify, &stages.write};
  const std::array spent{&seconds.read, &seconds.compute, &seconds.verify, &seconds.write};
  std::array<Block, blocks_in_memory> ring;
  StageProgress progress;
  const auto run_stage = [&](std::size_t stage) {
    try {
      for (std::int64_t k = 0; k < blocks && progress.wait_for(stage, k); ++k) {
        stop_if_interrupted();
        Block& block = ring[static_cast<std::size_t>(k % blocks_in_memory)];
        timed(*spent[stage], [&] { (*works[stage])(k, block); });
        progress.advance(stage);
      }
    } catch (...) {
      progress.fail(std::current_exception());
    }
  };
  std::array<std::future<void>, stage_count> running;
  for (std::size_t stage = 0; stage < stage_count; ++stage) {
    running[stage] = threads[stage].give([&run_stage, stage] { run_stage(stage); });
  }
  for (std::future<void>& stage : running) stage.wait();
  progress.rethrow();
}

}  // namespace smallbatch
