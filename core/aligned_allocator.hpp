// Arrays that begin at a cache line, for kernels that stream them. Consecutive vector loads from the start of an array
// then cross no cache line. New elements without a value are not set to zero, so that the threads that fill a block are
// the first to touch its memory. The owner of the array decides where the memory comes from (core/block_memory.hpp).
#pragma once

#include <cstddef>
#include <limits>
#include <memory_resource>
#include <new>
#include <type_traits>
#include <vector>

#pragma GCC visibility push(default)
namespace smallbatch {

inline constexpr std::size_t cache_line_bytes = 64;  ///< the size on x86-64, and on most other processors

/// Allocator for std::vector.
template <class T>
class AlignedAllocator {
 public:
  using value_type = T;
  /// A moved or swapped array keeps its memory resource.
  using propagate_on_container_move_assignment = std::true_type;
  using propagate_on_container_swap = std::true_type;
  static constexpr std::size_t alignment = alignof(T) > cache_line_bytes ? alignof(T) : cache_line_bytes;

  AlignedAllocator() = default;
  /// Allocates from `memory`, which must outlive everything that is allocated.
  // NOLINTNEXTLINE(google-explicit-constructor): a vector is made from the memory that it is to use
  AlignedAllocator(std::pmr::memory_resource* memory) noexcept : memory_(memory) {}
  template <class Other>
  // NOLINTNEXTLINE(google-explicit-constructor): every allocator must have this
  AlignedAllocator(const AlignedAllocator<Other>& other) noexcept : memory_(other.memory()) {}

  /// Allocates as the standard requires of an allocator.
  [[nodiscard]] T* allocate(std::size_t count) {
    if (count > std::numeric_limits<std::size_t>::max() / sizeof(T)) throw std::bad_array_new_length();
    return static_cast<T*>(memory_->allocate(count * sizeof(T), alignment));
  }
  void deallocate(T* memory, std::size_t count) noexcept { memory_->deallocate(memory, count * sizeof(T), alignment); }

  /// Leaves an element without a value uninitialized.
  template <class U>
  void construct(U* place) noexcept(noexcept(U())) {
    ::new (static_cast<void*>(place)) U;
  }

  /// Returns the default memory, because a copy may outlive the memory of the original.
  [[nodiscard]] AlignedAllocator select_on_container_copy_construction() const { return {}; }
  [[nodiscard]] std::pmr::memory_resource* memory() const noexcept { return memory_; }

  template <class Other>
  bool operator==(const AlignedAllocator<Other>& other) const noexcept {
    return *memory_ == *other.memory();
  }
  template <class Other>
  bool operator!=(const AlignedAllocator<Other>& other) const noexcept {
    return !(*this == other);
  }

 private:
  std::pmr::memory_resource* memory_ = std::pmr::new_delete_resource();
};

/// An array that begins at a cache line.
template <class T>
using AlignedVector = std::vector<T, AlignedAllocator<T>>;

}  // namespace smallbatch
#pragma GCC visibility pop
