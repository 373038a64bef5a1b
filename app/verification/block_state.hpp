// Stores the state of tallies as bytes, and reads these bytes back. Only the same program reads them.
#pragma once

#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "core/error.hpp"

namespace smallbatch {

template <class T>
void put(std::string& bytes, std::span<T> values) {
  static_assert(std::is_trivially_copyable_v<T>);
  bytes.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
}

/// Fills `values` from the beginning of `bytes`, and removes these bytes.
template <class T>
void take(std::string_view& bytes, std::span<T> values) {
  static_assert(std::is_trivially_copyable_v<T>);
  if (bytes.size() < values.size_bytes())
    throw Error(ErrorKind::usage, "a record of a journal is too short. Leave out --resume to begin again.");
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size_bytes());
  bytes.remove_prefix(values.size_bytes());
}

}  // namespace smallbatch
