#include "app/run/stages.hpp"

#include <spdlog/spdlog.h>

#include <system_error>
#include <utility>

#include "core/system_refusals.hpp"

namespace smallbatch {

Worker::Worker() {
  try {
    thread_ = std::thread([this] { work(); });
  } catch (const std::system_error& refusal) {
    throw refused_by_system("start a thread", refusal.code().value());
  }
}

Worker::~Worker() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  given_.notify_one();
  thread_.join();
}

std::future<void> Worker::give(std::function<void()> task) {
  std::packaged_task<void()> packaged(std::move(task));
  std::future<void> done = packaged.get_future();
  {
    const std::lock_guard lock(mutex_);
    task_ = std::move(packaged);
  }
  given_.notify_one();
  return done;
}

void Worker::work() {
  for (;;) {
    std::unique_lock lock(mutex_);
    given_.wait(lock, [this] { return is_over_ || task_.valid(); });
    if (!task_.valid()) return;
    std::packaged_task<void()> task = std::exchange(task_, {});
    lock.unlock();
    task();
  }
}

StageThreads::StageThreads(std::size_t computers) {
  for (std::size_t stage = 0; stage < stage_count; ++stage) {
    const std::size_t count = stage == compute_stage ? computers : stage == read_stage ? readers : 1;
    for (std::size_t index = 0; index < count; ++index) {
      Thread& thread = threads_.emplace_back();
      thread.stage = stage;
      thread.index = index;
    }
  }
}

std::optional<std::int64_t> StageProgress::next(std::size_t stage) {
  std::unique_lock lock(mutex_);
  const auto has_handed_back = [&] { return stage == compute_stage && !handed_back_.empty(); };
  const auto has_next = [&] {
    const Slot& at = slots_[slot(next_[stage])];
    return next_[stage] < blocks_ && at.block == next_[stage] && at.stages == stage;
  };
  // A thread ends only when its stage has done all blocks, because a computer may still hand back its block.
  changed_.wait(lock, [&] { return failure_ || done_[stage] == blocks_ || has_handed_back() || has_next(); });
  if (failure_ || done_[stage] == blocks_) return std::nullopt;
  if (!has_handed_back()) return next_[stage]++;
  const std::int64_t block = handed_back_.back();
  handed_back_.pop_back();
  return block;
}

bool StageProgress::hand_back(std::int64_t block) {
  {
    const std::lock_guard lock(mutex_);
    if (--computers_ == 0) return false;
    handed_back_.push_back(block);
  }
  changed_.notify_all();
  return true;
}

void StageProgress::advance(std::size_t stage, std::int64_t block, double seconds) {
  {
    const std::lock_guard lock(mutex_);
    seconds_[stage] += seconds;
    ++done_[stage];
    Slot& at = slots_[slot(block)];
    if (++at.stages == stage_count) at = {block + static_cast<std::int64_t>(slots_.size()), 0};
  }
  changed_.notify_all();
}

void StageProgress::fail(std::exception_ptr failure) {
  {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = std::move(failure);
  }
  changed_.notify_all();
}

void tell_lost(const Error& error) { spdlog::warn("{} The other devices continue.", error.what()); }

void StageProgress::rethrow() const {
  if (failure_) std::rethrow_exception(failure_);
}

}  // namespace smallbatch
