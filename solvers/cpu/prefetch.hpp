// The matrices of the next group, asked for while those of this one are eliminated.
//
// Compiled once per instruction set, so everything here has internal linkage (kernels_body.hpp says why).
#pragma once

#include <cstdint>

#include "solvers/cpu/kernels.hpp"

namespace smallbatch {
namespace {

/// Asks for `systems` matrices in equal shares, line after line, so that memory works while something is computed.
template <class T>
class Prefetch {
 public:
  Prefetch(const T* first, std::int64_t step, int systems, std::int64_t matrix_size, int shares)
      : system_((const char*)first),
        step_(step * static_cast<std::int64_t>(sizeof(T))),
        size_(matrix_size * static_cast<std::int64_t>(sizeof(T))),
        left_(systems),
        share_(static_cast<int>((systems * ((size_ + line - 1) / line) + shares - 1) / shares)) {}
  void operator()() {
    asm volatile("");  // g++ removes calls of functions that do nothing but prefetch
    for (int k = 0; k < share_ && left_ > 0; ++k) {
      __builtin_prefetch(system_ + place_, 0, 2);
      place_ += line;
      if (place_ < size_) continue;
      place_ = 0;
      system_ += step_;
      --left_;
    }
  }

 private:
  static constexpr std::int64_t line = 64;
  const char* system_;
  std::int64_t step_, size_, place_ = 0;
  int left_, share_;
};

/// The systems that come after `first + systems`, up to as many more.
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
