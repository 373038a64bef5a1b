// Elements of an array that somebody else owns: what std::span<const T> is, for headers that C++17 reads, too.
#pragma once

#include <cstddef>

#pragma GCC visibility push(default)
namespace smallbatch {

/// Of a function's parameter: anything that has its elements in one piece, as std::vector and std::span.
template <class T>
class ArrayView {
 public:
  /// Of so many elements; of all of those.
  ArrayView(const T* data, std::size_t size) : data_(data), size_(size) {}
  template <class Elements>
  // NOLINTNEXTLINE(google-explicit-constructor): a vector is a view of its elements
  ArrayView(const Elements& elements) : data_(elements.data()), size_(elements.size()) {}

  /// As those of std::span.
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
