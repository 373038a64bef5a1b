// Memory for the arrays of a call. Tests of the C interface use host memory and, if there is a GPU, device memory.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "c/smallbatch.h"

namespace smallbatch::testing {

/// Memory of the host or of a device, freed by the destructor.
class Place {
 public:
  virtual ~Place() = default;
  virtual void* allocate(std::size_t bytes) = 0;
  virtual void copy_in(void* there, const void* from, std::size_t bytes) = 0;
  /// Copies after all work on stream() is done.
  virtual void copy_out(void* to, const void* there, std::size_t bytes) = 0;
  virtual void* stream() = 0;
};

std::unique_ptr<Place> make_device_place();

class HostPlace final : public Place {
 public:
  void* allocate(std::size_t bytes) override {
    blocks_.push_back(std::make_unique<std::max_align_t[]>(bytes / sizeof(std::max_align_t) + 1));
    return blocks_.back().get();
  }
  void copy_in(void* there, const void* from, std::size_t bytes) override { std::memcpy(there, from, bytes); }
  void copy_out(void* to, const void* there, std::size_t bytes) override { std::memcpy(to, there, bytes); }
  void* stream() override { return nullptr; }

 private:
  std::vector<std::unique_ptr<std::max_align_t[]>> blocks_;
};

/// An array in the memory of a Place, with a copy on the host.
template <class T>
class Array {
 public:
  Array(Place& place, std::vector<T> values)
      : here(std::move(values)), place_(&place), there_(static_cast<T*>(place.allocate(here.size() * sizeof(T)))) {
    if (!here.empty()) place.copy_in(there_, here.data(), here.size() * sizeof(T));
  }
  [[nodiscard]] T* there() const { return there_; }
  /// Returns the current contents.
  const std::vector<T>& back() {
    if (!here.empty()) place_->copy_out(here.data(), there_, here.size() * sizeof(T));
    return here;
  }
  std::vector<T> here;

 private:
  Place* place_;
  T* there_;
};

struct BackendAndMemory {
  smallbatch_backend backend;
  smallbatch_memory memory;
};
inline void PrintTo(const BackendAndMemory& which, std::ostream* out) {
  const char* const names[] = {"auto", "cpu", "cuda", "reference"};
  *out << names[which.backend] << (which.memory == SMALLBATCH_DEVICE ? "_device" : "_host");
}
inline std::string place_test_name(const ::testing::TestParamInfo<BackendAndMemory>& info) {
  return ::testing::PrintToString(info.param);
}
inline const auto all_places = ::testing::Values(
    BackendAndMemory{SMALLBATCH_REFERENCE, SMALLBATCH_HOST}, BackendAndMemory{SMALLBATCH_CPU, SMALLBATCH_HOST},
    BackendAndMemory{SMALLBATCH_CUDA, SMALLBATCH_HOST}, BackendAndMemory{SMALLBATCH_CUDA, SMALLBATCH_DEVICE});

/// A handle of the backend under test in `handle_`, and memory of its kind in `place_`.
class PlaceTest : public ::testing::TestWithParam<BackendAndMemory> {
 protected:
  void SetUp() override {
    if (GetParam().backend == SMALLBATCH_CUDA && smallbatch_device_count() == 0)
      GTEST_SKIP() << "no GPU: " << smallbatch_last_error(nullptr);
    ASSERT_EQ(smallbatch_create(&handle_, GetParam().backend, 0), SMALLBATCH_SUCCESS) << smallbatch_last_error(nullptr);
    if (memory() == SMALLBATCH_DEVICE) {
      place_ = make_device_place();
      ASSERT_EQ(smallbatch_set_stream(handle_, place_->stream()), SMALLBATCH_SUCCESS);
    } else {
      place_ = std::make_unique<HostPlace>();
    }
    ASSERT_EQ(smallbatch_set_threads(handle_, 2), SMALLBATCH_SUCCESS);
  }
  void TearDown() override {
    if (handle_ != nullptr) {
      EXPECT_EQ(smallbatch_synchronize(handle_), SMALLBATCH_SUCCESS);
    }
    smallbatch_destroy(handle_);
  }

  [[nodiscard]] smallbatch_memory memory() const { return GetParam().memory; }
  template <class T>
  Array<T> array(std::vector<T> values) {
    return Array<T>(*place_, std::move(values));
  }
  /// Calls `query`, which sets the size of a workspace, and then `run` with a workspace of this size.
  template <class Query, class Run>
  void with_workspace(const Query& query, const Run& run) {
    std::size_t bytes = 1;
    ASSERT_EQ(query(&bytes), SMALLBATCH_SUCCESS) << smallbatch_last_error(handle_);
    ASSERT_TRUE(bytes == 0 || memory() == SMALLBATCH_DEVICE) << bytes;
    if (bytes > 0) {
      EXPECT_EQ(run(nullptr, std::size_t{0}), SMALLBATCH_INVALID_ARGUMENT);
      EXPECT_NE(std::string(smallbatch_last_error(handle_)).find("workspace"), std::string::npos);
    }
    void* const workspace = bytes > 0 ? place_->allocate(bytes) : nullptr;
    ASSERT_EQ(run(workspace, bytes), SMALLBATCH_SUCCESS) << smallbatch_last_error(handle_);
  }

  smallbatch_handle handle_ = nullptr;
  std::unique_ptr<Place> place_;
};

template <class T>
inline constexpr smallbatch_type type_of = sizeof(T) == 4 ? SMALLBATCH_FLOAT32 : SMALLBATCH_FLOAT64;

}  // namespace smallbatch::testing
