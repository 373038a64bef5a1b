// HDF5 identifiers that close themselves, and functions that silence HDF5 and read the texts of its errors. Private to
// io/.
//
// The HDF5 of the Linux distributions is not built for threads. Only one thread of a process may use HDF5 at a time,
// even through different writers. Opening a reader counts as use, because it calls fork(). Callers must keep these
// rules.
#pragma once

#include <hdf5.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

namespace smallbatch {

/// Owner of one identifier. `closer` is H5Dclose, H5Sclose, ... An invalid (negative) identifier is kept and not
/// closed.
class Hdf5Handle {
 public:
  Hdf5Handle() = default;
  Hdf5Handle(hid_t id, herr_t (*closer)(hid_t)) : id_(id), close_(closer) {}
  Hdf5Handle(Hdf5Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Hdf5Handle& operator=(Hdf5Handle&& other) noexcept {
    std::swap(id_, other.id_);
    std::swap(close_, other.close_);
    return *this;
  }
  Hdf5Handle(const Hdf5Handle&) = delete;
  Hdf5Handle& operator=(const Hdf5Handle&) = delete;
  ~Hdf5Handle() { close(); }

  [[nodiscard]] hid_t get() const { return id_; }
  [[nodiscard]] bool valid() const { return id_ >= 0; }
  /// Returns false if closing failed.
  bool close() { return id_ < 0 || close_(std::exchange(id_, -1)) >= 0; }

 private:
  hid_t id_ = -1;
  herr_t (*close_)(hid_t) = nullptr;
};

/// Keeps HDF5 from printing while this object lives, and then restores the previous setting. Every function that calls
/// HDF5 begins with a QuietHdf5.
class QuietHdf5 {
 public:
  QuietHdf5() {
    H5Eget_auto2(H5E_DEFAULT, &function_, &data_);
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  }
  ~QuietHdf5() { H5Eset_auto2(H5E_DEFAULT, function_, data_); }
  QuietHdf5(const QuietHdf5&) = delete;
  QuietHdf5& operator=(const QuietHdf5&) = delete;

 private:
  H5E_auto2_t function_ = nullptr;
  void* data_ = nullptr;
};

/// Puts an entry on HDF5's error stack that says that memory is short. Functions that HDF5 calls use this, because they
/// may not throw.
inline void push_hdf5_memory_error(const char* function) {
  H5Epush2(H5E_DEFAULT, __FILE__, function, __LINE__, H5E_ERR_CLS, H5E_RESOURCE, H5E_NOSPACE,
           "memory allocation failed");
}

/// Throws std::bad_alloc if the call that just failed had no memory. HDF5 reports the same failure for an absurd size
/// in a damaged file. This function tells the two cases apart by an allocation of a usual size, which fails only if
/// memory is short.
inline void throw_if_memory_lacks() {
  bool is_of_memory = false;
  H5Ewalk2(
      H5E_DEFAULT, H5E_WALK_UPWARD,
      [](unsigned, const H5E_error2_t* entry, void* data) -> herr_t {
        const bool names_memory = entry->min_num == H5E_NOSPACE || entry->min_num == H5E_CANTALLOC;
        *static_cast<bool*>(data) |= entry->maj_num == H5E_RESOURCE && names_memory;
        return 0;
      },
      &is_of_memory);
  constexpr std::size_t usual_bytes = std::size_t{4} << 20;
  if (is_of_memory) (void)std::make_unique<std::array<std::byte, usual_bytes>>();
}

/// Returns HDF5's text about the call that just failed: the innermost entry of its error stack, or "" if it is empty.
/// Throws std::bad_alloc if the memory did not suffice.
inline std::string hdf5_error_text() {
  throw_if_memory_lacks();
  std::string text;
  H5Ewalk2(
      H5E_DEFAULT, H5E_WALK_UPWARD,
      [](unsigned, const H5E_error2_t* entry, void* data) -> herr_t {
        auto& found = *static_cast<std::string*>(data);
        if (found.empty() && entry->desc) found = entry->desc;
        return 0;
      },
      &text);
  return text;
}

/// Returns HDF5's type of T in memory.
template <class T>
hid_t native_type() {
  if constexpr (std::is_same_v<T, float>) return H5T_NATIVE_FLOAT;
  if constexpr (std::is_same_v<T, double>) return H5T_NATIVE_DOUBLE;
  if constexpr (std::is_same_v<T, std::int8_t>) return H5T_NATIVE_INT8;
  if constexpr (std::is_same_v<T, std::uint8_t>) return H5T_NATIVE_UINT8;
  if constexpr (std::is_same_v<T, std::int32_t>) return H5T_NATIVE_INT32;
  if constexpr (std::is_same_v<T, std::int64_t>) return H5T_NATIVE_INT64;
}

}  // namespace smallbatch
