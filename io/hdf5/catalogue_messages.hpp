// Messages with descriptions of objects, between a process and its fork. The reader must expect any bytes. It allocates
// no memory for bytes that it has not received, and throws Nonsense for an invalid message. Private to io/.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "io/hdf5/catalogue.hpp"

namespace smallbatch {

template <class T>
concept PlainNumber = std::integral<T> || std::floating_point<T>;

class MessageWriter {
 public:
  /// `send` must send all of the bytes, or throw.
  explicit MessageWriter(std::function<void(const char* bytes, std::size_t count)> send) : send_(std::move(send)) {}

  template <PlainNumber T>
  void put(T number) {
    buffer_.append(reinterpret_cast<const char*>(&number), sizeof(T));
    if (buffer_.size() >= full_) flush();
  }
  void put(const std::string& text);
  void put(const Defect& defect);
  void put(const StoredObject& object);
  void flush();

 private:
  void put(const StoredAttribute& attribute);
  void put(const StoredDataset& dataset);
  void put_if_any(const Defect* defect);

  static constexpr std::size_t full_ = std::size_t{1} << 16;
  std::function<void(const char*, std::size_t)> send_;
  std::string buffer_;
};

struct Nonsense {};

class MessageReader {
 public:
  /// `receive` must wait for bytes, store at least one and at most `most`, and return their number, or throw.
  explicit MessageReader(std::function<std::size_t(char* bytes, std::size_t most)> receive)
      : receive_(std::move(receive)) {}

  template <PlainNumber T>
  T get() {
    T number{};
    get(reinterpret_cast<char*>(&number), sizeof(T));
    return number;
  }
  std::string get_text();
  Defect get_defect();
  /// Receives the description of an object in a file of `file_bytes` bytes.
  StoredObject get_object(std::uint64_t file_bytes);
  /// Whether all received bytes have been taken.
  [[nodiscard]] bool is_empty() const { return next_ == end_; }

 private:
  void get(char* bytes, std::size_t count);
  bool get_flag();
  std::unique_ptr<Defect> get_defect_if_any();
  /// Receives a defect, if there is one. A defect equal to a recent one shares its memory.
  std::shared_ptr<const Defect> get_shared_defect_if_any();
  StoredAttribute get_attribute();
  StoredDataset get_dataset();

  std::function<std::size_t(char*, std::size_t)> receive_;
  std::array<char, std::size_t{1} << 16> buffer_;
  std::size_t next_ = 0, end_ = 0;
  std::vector<std::shared_ptr<const Defect>> latest_defects_;
};

}  // namespace smallbatch
