#include "core/block_memory.hpp"

#include <sys/mman.h>

#include <new>

#include "core/grid_stride.hpp"

namespace smallbatch {
namespace {

constexpr std::size_t small_page = 4096, large_page = std::size_t{2} << 20;
/// Allocations of fewer bytes do not get their own pages.
constexpr std::size_t least_bytes = 4 * small_page;

/// Rounds `bytes` up to whole pages: to large pages if the bytes fill at least one large page.
std::size_t whole_pages(std::size_t bytes) {
  const std::size_t page = bytes < large_page ? small_page : large_page;
  return (bytes + page - 1) / page * page;
}

void* map_pages(std::size_t bytes) {
  const std::size_t spare = bytes < large_page ? 0 : large_page;
  void* const mapped = ::mmap(nullptr, bytes + spare, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  if (spare == 0) return mapped;
  auto* const begin = static_cast<std::byte*>(mapped);
  const std::size_t before = (large_page - reinterpret_cast<std::size_t>(begin) % large_page) % large_page;
  if (before > 0) ::munmap(begin, before);
  if (before < spare) ::munmap(begin + before + bytes, spare - before);
  ::madvise(begin + before, bytes, MADV_HUGEPAGE);  // if there are no large pages, the memory has small pages
  return begin + before;
}

/// Writes to every page, on all threads, so that the system provides the memory here. Otherwise page_lock_.lock() would
/// wait for it on a single thread, or the stages would wait for it when they first use the block.
void touch(void* memory, std::size_t bytes) {
  const auto pages = static_cast<std::int64_t>((bytes + small_page - 1) / small_page);
  for_each_index_on_threads(pages, large_page / small_page, 0, [memory](std::int64_t page) {
    static_cast<volatile char*>(memory)[static_cast<std::size_t>(page) * small_page] = 0;
  });
}

}  // namespace

BlockMemory::~BlockMemory() {
  for (const auto& [memory, pages] : pages_) unmap(memory, pages);
}

void BlockMemory::unmap(void* memory, const Pages& pages) const {
  if (pages.is_locked) page_lock_.unlock(memory);
  ::munmap(memory, pages.bytes);
}

void BlockMemory::lock_with(PageLock page_lock) {
  const std::lock_guard lock(mutex_);
  page_lock_ = std::move(page_lock);
}

void* BlockMemory::do_allocate(std::size_t bytes, std::size_t alignment) {
  if (bytes < least_bytes) return ::operator new (bytes, std::align_val_t{alignment});
  const std::size_t needed = whole_pages(bytes);
  const std::lock_guard lock(mutex_);
  auto best = pages_.end();
  for (auto pages = pages_.begin(); pages != pages_.end(); ++pages) {
    if (pages->second.is_free && pages->second.bytes >= needed &&
        (best == pages_.end() || pages->second.bytes < best->second.bytes)) {
      best = pages;
    }
  }
  if (best == pages_.end()) {
    // Free memory that is too small for this request is likely too small for later ones. It goes back to the system.
    for (auto pages = pages_.begin(); pages != pages_.end();) {
      if (!pages->second.is_free) {
        ++pages;
        continue;
      }
      unmap(pages->first, pages->second);
      pages = pages_.erase(pages);
    }
    void* const memory = map_pages(needed);
    best = pages_.emplace(memory, Pages{needed}).first;
    touch(memory, needed);
  }
  best->second.is_free = false;
  if (page_lock_.lock && !best->second.is_locked) {
    best->second.is_locked = page_lock_.lock(best->first, best->second.bytes);
  }
  return best->first;
}

void BlockMemory::do_deallocate(void* memory, std::size_t bytes, std::size_t alignment) {
  if (bytes < least_bytes) return ::operator delete (memory, std::align_val_t{alignment});
  const std::lock_guard lock(mutex_);
  pages_.at(memory).is_free = true;
}

}  // namespace smallbatch
