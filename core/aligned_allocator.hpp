// Memory that begins at a cache line, for the arrays that kernels stream: no vector that is loaded from the start of
// one then crosses a line. Numbers without a value are not set to zero: the threads that fill a block are the first to
// touch its memory.
#pragma once

#include <cstddef>
#include <limits>
#include <new>
#include <vector>

namespace smallbatch {

inline constexpr std::size_t cache_line_bytes = 64;

template <class T>
struct AlignedAllocator {
  using value_type = T;
  static constexpr std::align_val_t alignment{alignof(T) > cache_line_bytes ? alignof(T) : cache_line_bytes};

  AlignedAllocator() = default;
  template <class Other>
  AlignedAllocator(const AlignedAllocator<Other>& /*other*/) noexcept {}

  [[nodiscard]] T* allocate(std::size_t count) {
    if (count > std::numeric_limits<std::size_t>::max() / sizeof(T)) throw std::bad_array_new_length();
    return static_cast<T*>(::operator new(count * sizeof(T), alignment));
  }
  void deallocate(T* memory, std::size_t /*count*/) noexcept { ::operator delete(memory, alignment); }

  template <class U>
  void construct(U* place) noexcept(noexcept(U())) {
    ::new (static_cast<void*>(place)) U;
  }

  template <class Other>
  bool operator==(const AlignedAllocator<Other>& /*other*/) const noexcept {
    return true;
  }
};

template <class T>
using AlignedVector = std::vector<T, AlignedAllocator<T>>;

}  // namespace smallbatch
