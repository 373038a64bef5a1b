#include "app/stages.hpp"

#include <utility>

namespace smallbatch {

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
  if (next_[stage] == blocks_ || failure_) return std::nullopt;
  const std::int64_t block = next_[stage]++;
  const Place& at = places_[place(block)];
  changed_.wait(lock, [&] { return failure_ || (at.block == block && at.stages == stage); });
  if (failure_) return std::nullopt;
  return block;
}

void StageProgress::advance(std::size_t stage, std::int64_t block, double seconds) {
  {
    const std::lock_guard lock(mutex_);
    seconds_[stage] += seconds;
    Place& at = places_[place(block)];
    if (++at.stages == stage_count) at = {block + static_cast<std::int64_t>(places_.size()), 0};
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

void StageProgress::rethrow() const {
  if (failure_) std::rethrow_exception(failure_);
}

}  // namespace smallbatch
