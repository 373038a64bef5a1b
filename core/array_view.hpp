// A view of an array that somebody else owns: std::span<const T> for headers that C++17 compiles, too.
#pragma once

#include <cstddef>

#pragma GCC visibility push(default)
namespace smallbatch {

/// A function parameter that accepts any contiguous container, for example std::vector or std::span.
template <class T>
class ArrayView {
 public:
  /// Views `size` elements from `data` on, or all elements of a container.
  ArrayView(const T* data, std::size_t size) : data_(data), size_(size) {}
  template <class Elements>
  // NOLINTNEXTLINE(google-explicit-constructor): accepts a container directly
  ArrayView(const Elements& elements) : data_(elements.data()), size_(elements.size()) {}

  /// Members with the meaning that std::span gives them.
  [[nodiscard]] const T* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] const T* begin() const { return data_; }
  [[nodiscard]] const T* end() const { return data_ + size_; }
  [[nodiscard]] const T& operator[](std::size_t i) const { return data_[i]; }

 private:
  const T* data_;
  std::size_t size_;
};

}  // namespace smallbatch
#pragma GCC visibility pop
