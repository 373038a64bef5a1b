// The memory that blocks lie in on their way from file to file: in large pages, which are quick to touch for the first
// time and quick to lock, locked where a GPU copies from it, and kept until the end for the blocks that come after.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory_resource>
#include <mutex>
#include <utility>

#pragma GCC visibility push(default)
namespace smallbatch {

/// How pages are locked for a device that copies from and to them by itself; empty functions lock none.
struct PageLock {
  /// False where they cannot be: the memory serves all the same, and copies are slower.
  std::function<bool(void* memory, std::size_t bytes)> lock;
  std::function<void(void* memory)> unlock;
};

/// Any number of threads may use it at a time. It outlives what is allocated in it.
class BlockMemory final : public std::pmr::memory_resource {
 public:
  /// Locks no pages; locks all.
  BlockMemory() = default;
  explicit BlockMemory(PageLock page_lock) : page_lock_(std::move(page_lock)) {}
  ~BlockMemory() override;
  BlockMemory(const BlockMemory&) = delete;
  BlockMemory& operator=(const BlockMemory&) = delete;

  /// What is allocated from now on is locked, also where it was allocated and given back before. To be called once.
  void lock_with(PageLock page_lock);

 private:
  struct Pages {
    std::size_t bytes = 0;
    bool is_locked = false, is_free = false;
  };

  void unmap(void* memory, const Pages& pages) const;
  void* do_allocate(std::size_t bytes, std::size_t alignment) override;
  void do_deallocate(void* memory, std::size_t bytes, std::size_t alignment) override;
  [[nodiscard]] bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }

  PageLock page_lock_;
  std::mutex mutex_;
  std::map<void*, Pages> pages_;
};

}  // namespace smallbatch
#pragma GCC visibility pop
