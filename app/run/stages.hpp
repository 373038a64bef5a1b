// The stages of a run: read, compute, verify, write. All stages work at the same time, on different blocks. Each stage
// takes the blocks of a set in order, and has its own threads for the whole run. The read stage has two threads. While
// the helper threads of one thread wait for each other, the other thread reads. The compute stage has one thread on the
// CPU, or two for each GPU. These threads are called computers below. The verify stage and the write stage have one
// thread each. A set with a single block uses no thread of a stage.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <future>
#include <memory_resource>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "app/cli/interruption.hpp"
#include "app/report/stage_seconds.hpp"
#include "core/error.hpp"

namespace smallbatch {

/// A thread that does one task after another. It keeps the helper threads that parallel_for has started for it.
class Worker {
 public:
  /// Throws Error(out_of_memory) if the system refuses to start a thread.
  Worker();
  /// Waits for the present task.
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// Starts `task`, which must not throw. The previous task must be finished.
  std::future<void> give(std::function<void()> task);

 private:
  void work();

  std::mutex mutex_;
  std::condition_variable given_;
  std::packaged_task<void()> task_;
  bool is_over_ = false;
  std::thread thread_;
};

inline constexpr std::size_t read_stage = 0, compute_stage = 1, verify_stage = 2, write_stage = 3, stage_count = 4;
inline constexpr std::size_t readers = 2;

/// The threads of all stages.
class StageThreads {
 public:
  explicit StageThreads(std::size_t computers = 1);
  /// Returns how many blocks are in memory: one for each thread.
  [[nodiscard]] std::int64_t blocks_in_memory() const { return static_cast<std::int64_t>(threads_.size()); }
  [[nodiscard]] static constexpr std::int64_t blocks_in_memory(std::int64_t computers) {
    return stage_count - 2 + readers + computers;
  }

  [[nodiscard]] std::size_t computers() const { return threads_.size() - (stage_count - 2 + readers); }

  struct Thread {
    Worker worker;
    std::size_t stage = 0, index = 0;
  };
  [[nodiscard]] std::deque<Thread>& all() { return threads_; }

 private:
  std::deque<Thread> threads_;
};

/// Progress of a set's blocks: which block each thread takes next, how far each block in memory is, and the first
/// exception of any stage.
class StageProgress {
 public:
  StageProgress(std::int64_t blocks, std::int64_t slots, std::size_t computers = 1)
      : blocks_(blocks), slots_(static_cast<std::size_t>(slots)), computers_(computers) {
    for (std::size_t i = 0; i < slots_.size(); ++i) slots_[i].block = static_cast<std::int64_t>(i);
  }
  /// Returns the next block of a stage. Waits until the stage before has finished it, or, for the first stage, until
  /// its slot in memory is free. Returns nothing if there are no more blocks, or if some stage has failed.
  std::optional<std::int64_t> next(std::size_t stage);
  /// Gives the block of a computer that has lost its GPU to another computer. Returns false if no other computer is
  /// left.
  bool hand_back(std::int64_t block);
  /// Returns the block's slot in memory.
  [[nodiscard]] std::size_t slot(std::int64_t block) const { return static_cast<std::size_t>(block) % slots_.size(); }
  void advance(std::size_t stage, std::int64_t block, double seconds);
  void fail(std::exception_ptr failure);
  /// Throws the first exception of any stage. Called once all stages have ended.
  void rethrow() const;
  /// Returns the seconds of all threads of a stage together.
  [[nodiscard]] double seconds(std::size_t stage) const { return seconds_[stage]; }

 private:
  struct Slot {
    std::int64_t block = 0;
    std::size_t stages = 0;  ///< stages that are done with the block
  };
  std::int64_t blocks_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Slot> slots_;
  std::array<std::int64_t, stage_count> next_{}, done_{};
  std::vector<std::int64_t> handed_back_;  ///< blocks of lost computers, for the other computers to compute
  std::size_t computers_;
  std::array<double, stage_count> seconds_{};
  std::exception_ptr failure_;
};

/// Functions for the blocks of one set. If one throws, all stages end. `computer` counts from 0.
template <class Block>
struct Stages {
  bool reads_one_at_a_time = false;  ///< false: two blocks may be read at a time
  std::function<void(std::int64_t block, Block&)> read;
  std::function<void(std::int64_t block, Block&, std::size_t computer)> compute;
  std::function<void(std::int64_t block, Block&)> verify, write;
};

/// Warns that a device is lost, and that the run goes on with the other devices.
void tell_lost(const Error& error);

/// Takes the only block of a set through all stages, in the calling thread. There is no other block to work on
/// meanwhile, and passing it from thread to thread takes longer than solving a few systems.
template <class Block>
void take_only_block(const Stages<Block>& stages, std::size_t computers, std::pmr::memory_resource* memory,
                     StageSeconds& seconds) {
  Block block(memory);
  const auto take = [](double& spent, auto&& work) {
    stop_if_interrupted();
    timed(spent, work);
  };
  take(seconds.read, [&] { stages.read(0, block); });
  take(seconds.compute, [&] {
    for (std::size_t computer = 0;; ++computer) {
      try {
        return stages.compute(0, block, computer);
      } catch (const Error& error) {
        if (error.kind() != ErrorKind::device_lost || computer + 1 == computers) throw;
        tell_lost(error);
      }
    }
  });
  take(seconds.verify, [&] { stages.verify(0, block); });
  take(seconds.write, [&] { stages.write(0, block); });
}

/// Takes blocks 0, 1, ... through all stages. Each stage takes them in this order; a computer takes the next block when
/// it is free. If computing a block throws Error(device_lost), another computer computes the block again. The blocks
/// lie in `memory`. Throws the first error of a stage, that of the last lost computer, or Error(interrupted).
template <class Block>
void stream_blocks(std::int64_t blocks, const Stages<Block>& stages, StageThreads& threads,
                   std::pmr::memory_resource* memory, StageSeconds& seconds) {
  if (blocks == 0) return;
  if (blocks == 1) return take_only_block(stages, threads.computers(), memory, seconds);
  std::deque<Block> ring;
  for (std::int64_t slot = 0; slot < std::min(blocks, threads.blocks_in_memory()); ++slot) ring.emplace_back(memory);
  StageProgress progress(blocks, threads.blocks_in_memory(), threads.computers());
  const auto work = [&](const StageThreads::Thread& thread, std::int64_t k, Block& block) {
    switch (thread.stage) {
      case read_stage:
        return stages.read(k, block);
      case compute_stage:
        return stages.compute(k, block, thread.index);
      case verify_stage:
        return stages.verify(k, block);
      default:
        return stages.write(k, block);
    }
  };
  const auto start = std::chrono::steady_clock::now();
  std::vector<std::future<void>> running;
  running.reserve(threads.all().size());
  const auto begin = [&](StageThreads::Thread& thread) {
    running.push_back(thread.worker.give([&progress, &work, &ring, &thread] {
      try {
        while (const auto k = progress.next(thread.stage)) {
          stop_if_interrupted();
          double spent = 0;
          try {
            timed(spent, [&] { work(thread, *k, ring[progress.slot(*k)]); });
          } catch (const Error& error) {
            const bool is_lost = thread.stage == compute_stage && error.kind() == ErrorKind::device_lost;
            if (!is_lost || !progress.hand_back(*k)) throw;
            return tell_lost(error);
          }
          progress.advance(thread.stage, *k, spent);
        }
      } catch (...) {
        progress.fail(std::current_exception());
      }
    }));
  };
  try {
    for (StageThreads::Thread& thread : threads.all()) {
      const bool has_no_work = thread.stage == read_stage && thread.index > 0 && stages.reads_one_at_a_time;
      if (!has_no_work) begin(thread);
    }
  } catch (...) {  // wait for the threads that have started
    progress.fail(std::current_exception());
  }
  for (std::future<void>& stage : running) stage.wait();
  // The threads of one stage overlap, so their sum may exceed the time that passed.
  const double all = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  seconds.read += std::min(all, progress.seconds(read_stage));
  seconds.compute += std::min(all, progress.seconds(compute_stage));
  seconds.verify += progress.seconds(verify_stage);
  seconds.write += progress.seconds(write_stage);
  progress.rethrow();
}

}  // namespace smallbatch
