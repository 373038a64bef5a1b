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

bool StageProgress::wait_for(std::size_t stage, std::int64_t block) {
  std::unique_lock lock(mutex_);
  const std::int64_t& before = stage == 0 ? done_.back() : done_[stage - 1];
  const std::int64_t needed = stage == 0 ? block - blocks_in_memory + 1 : block + 1;
  changed_.wait(lock, [&] { return failure_ || before >= needed; });
  return !failure_;
}

void StageProgress::advance(std::size_t stage) {
  {
    const std::lock_guard lock(mutex_);
    ++done_[stage];
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
