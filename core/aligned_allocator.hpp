// Memory that begins at a cache line, for the arrays that kernels stream: no vector that is loaded from the start of
// one then crosses a line. Numbers without a value are not set to zero: the threads that fill a block are the first to
// touch its memory, which comes from wherever its owner says (core/block_memory.hpp).
#pragma once

#include <cstddef>
#include <limits>
#include <memory_resource>
#include <new>
#include <type_traits>
#include <vector>

#pragma GCC visibility push(default)
namespace smallbatch {

inline constexpr std::size_t cache_line_bytes = 64;  ///< of x86-64, and of most others

/// Of a std::vector.
template <class T>
class AlignedAllocator {
 public:
  using value_type = T;
  /// What is moved brings its memory along.
  using propagate_on_container_move_assignment = std::true_type;
  using propagate_on_container_swap = std::true_type;
  static constexpr std::size_t alignment = alignof(T) > cache_line_bytes ? alignof(T) : cache_line_bytes;

  AlignedAllocator() = default;
  /// `memory` outlives whatever is allocated.
  // NOLINTNEXTLINE(google-explicit-constructor): a vector is made from the memory that it is to use
  AlignedAllocator(std::pmr::memory_resource* memory) noexcept : memory_(memory) {}
  template <class Other>
  // NOLINTNEXTLINE(google-explicit-constructor): what an allocator has to have
  AlignedAllocator(const AlignedAllocator<Other>& other) noexcept : memory_(other.memory()) {}

  /// What an allocator has to have, as the standard says.
  [[nodiscard]] T* allocate(std::size_t count) {
    if (count > std::numeric_limits<std::size_t>::max() / sizeof(T)) throw std::bad_array_new_length();
    return static_cast<T*>(memory_->allocate(count * sizeof(T), alignment));
  }
  void deallocate(T* memory, std::size_t count) noexcept { memory_->deallocate(memory, count * sizeof(T), alignment); }

  /// Numbers without a value have none.
  template <class U>
  void construct(U* place) noexcept(noexcept(U())) {
    ::new (static_cast<void*>(place)) U;
  }

  /// A copy may outlive the memory that the original uses.
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
