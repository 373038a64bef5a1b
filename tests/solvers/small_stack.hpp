// A thread with a small stack, as some C libraries give it to threads by default.
#pragma once

#include <gtest/gtest.h>
#include <pthread.h>

#include <cstddef>
#include <functional>

namespace smallbatch::testing {

/// The default stack of threads with musl. Sanitizers need more.
#ifdef __SANITIZE_ADDRESS__
inline constexpr std::size_t smallest_stack = 1 << 20;
#else
inline constexpr std::size_t smallest_stack = 128 << 10;
#endif

/// Calls work() on a thread with a stack of so many bytes.
inline void on_a_small_stack(std::size_t bytes, std::function<void()> work) {
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, bytes), 0);
  pthread_t thread{};
  const auto run = [](void* called) -> void* {
    (*static_cast<std::function<void()>*>(called))();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, run, &work), 0);
  EXPECT_EQ(pthread_join(thread, nullptr), 0);
  pthread_attr_destroy(&attributes);
}

}  // namespace smallbatch::testing
