// Prefetching the matrices of the next group while those of the current group are eliminated.
//
// Compiled once per instruction set, so everything here has internal linkage (kernels_body.hpp says why).
#pragma once

#include <cstdint>

#include "solvers/cpu/kernels.hpp"

namespace smallbatch {
namespace {

/// Prefetches `systems` matrices in equal shares, line after line. Each call prefetches one share, so that memory works
/// during the computation.
template <class T>
class Prefetch {
 public:
  Prefetch(const T* first, std::int64_t step, int systems, std::int64_t matrix_size, int shares)
      : place_((const char*)first),
        step_(step * static_cast<std::int64_t>(sizeof(T))),
        size_(matrix_size * static_cast<std::int64_t>(sizeof(T))),
        left_(systems) {
    const std::int64_t lines = systems * ((size_ + line - 1) / line);
    share_ = (lines + shares - 1) / shares * line;
    if (step_ == size_) size_ *= systems, left_ = systems > 0;  // matrices without gaps are prefetched as one
    end_ = place_ + size_;
  }
  void operator()() {
    asm volatile("");  // g++ removes calls of functions that do nothing but prefetch
    std::int64_t bytes = share_;
    while (left_ > 0) {
      const char* const stop = end_ - place_ < bytes ? end_ : place_ + bytes;
      bytes -= stop - place_;
      for (; place_ < stop; place_ += line) __builtin_prefetch(place_, 0, 2);
      if (stop < end_) return;
      end_ += step_;
      place_ = end_ - size_;
      --left_;
    }
  }

 private:
  static constexpr std::int64_t line = 64;
  const char *place_, *end_;  // of the matrix that is being prefetched
  std::int64_t step_, size_, share_;
  int left_;
};

/// Prefetches like Prefetch for matrices with a size that the compiler knows, with one instruction per line. It
/// prefetches the systems from `first` on, and a few more if `Systems` is not a multiple of `Shares`.
template <class T, int Systems, std::int64_t MatrixSize, int Shares>
class PrefetchOfKnown {
 public:
  PrefetchOfKnown(const LdltTask<T>& task, std::int64_t first)
      : place_((const char*)(first < task.count ? task.a + first * task.a_step : task.a)),
        step_(first < task.count ? task.a_step * static_cast<std::int64_t>(sizeof(T)) : 0) {}
  __attribute__((always_inline)) void operator()() {
#pragma GCC unroll 16
    for (int k = 0; k < (Systems + Shares - 1) / Shares; ++k, place_ += step_)
#pragma GCC unroll 16
      for (std::int64_t at = 0; at < MatrixSize * static_cast<std::int64_t>(sizeof(T)); at += 64)
        __builtin_prefetch(place_ + at, 0, 2);
  }

 private:
  const char* place_;
  std::int64_t step_;
};

/// Returns a prefetch of up to `systems` systems from `first + systems` on.
template <class T>
Prefetch<T> prefetch_after(const LdltTask<T>& task, std::int64_t first, int systems, std::int64_t matrix_size,
                           int shares) {
  const std::int64_t begin = first + systems, left = task.count - begin;
  if (left <= 0) return {task.a, 0, 0, matrix_size, shares};
  return {task.a + begin * task.a_step, task.a_step, left < systems ? static_cast<int>(left) : systems, matrix_size,
          shares};
}

}  // namespace
}  // namespace smallbatch
