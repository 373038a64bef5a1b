// The memory of blocks on their way from file to file. Its pages are large: large pages are quick to touch for the
// first time and quick to lock. If a GPU copies from the pages, they are locked. Freed pages are kept for later blocks.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory_resource>
#include <mutex>
#include <utility>

#pragma GCC visibility push(default)
namespace smallbatch {

/// Functions that lock and unlock pages for a device that copies from and to them by itself. Empty functions lock
/// nothing.
struct PageLock {
  /// Returns false if the pages cannot be locked. The memory can still be used, but copies are slower.
  std::function<bool(void* memory, std::size_t bytes)> lock;
  std::function<void(void* memory)> unlock;
};

/// Memory resource that any number of threads may use at a time. It must outlive everything that is allocated in it.
class BlockMemory final : public std::pmr::memory_resource {
 public:
  /// Without an argument, no page is locked until lock_with() is called. With `page_lock`, all pages are locked.
  BlockMemory() = default;
  explicit BlockMemory(PageLock page_lock) : page_lock_(std::move(page_lock)) {}
  ~BlockMemory() override;
  BlockMemory(const BlockMemory&) = delete;
  BlockMemory& operator=(const BlockMemory&) = delete;

  /// Locks all later allocations, even in memory that was allocated and given back before. Must be called only once.
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
