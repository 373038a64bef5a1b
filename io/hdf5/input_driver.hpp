// How a stranger's file is read, by HDF5 too: plain pread, as HDF5's own driver does, but of a descriptor that was
// looked at first, and a byte that is not there at that moment is a failure, where HDF5's own driver makes it a zero.
// Private to io/.
#pragma once

#include <sys/stat.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "core/error.hpp"
#include "io/integrity/extent.hpp"

namespace smallbatch {

/// A regular file open for reading, by several threads at a time. The first failure is kept, and from then on every
/// read fails: what HDF5 makes of it does not matter.
class InputBytes {
 public:
  /// Throws Error(missing_file) where the file cannot be opened for reading, or is not a regular one. `threads` share
  /// a large read; 0: one per core.
  explicit InputBytes(const std::string& path, unsigned threads = 0);
  ~InputBytes();
  InputBytes(const InputBytes&) = delete;
  InputBytes& operator=(const InputBytes&) = delete;

  /// Of the file as it is now.
  [[nodiscard]] std::uint64_t size() const noexcept;

  /// As many of the bytes as there are; fewer only at the end of the file, or where the system reports a failure.
  std::size_t read_some(const Extent& extent, void* bytes) noexcept;
  /// All of them, or false. What is missing is told from the first byte that is, whichever thread finds out first.
  /// Three threads in eight do it: twice as many, which read two blocks, keep memory busy, and others are at work, too.
  bool read(const Extent& extent, void* bytes) noexcept { return read(extent, bytes, usual_threads()); }
  /// The same on so many threads.
  bool read(const Extent& extent, void* bytes, unsigned threads) noexcept {
    Part all{extent, bytes, {}};
    return read({&all, 1}, threads) == nullptr;
  }
  /// What a thread has read, while it is in its cache: bytes [first, last) of those that were asked for. May not throw.
  using LookAtBytes = std::function<void(std::uint64_t first, std::uint64_t last)>;
  /// What is read with others, in pieces of whole rows, each of which is looked at by the thread that reads it.
  struct Part {
    Extent extent;
    void* into = nullptr;
    LookAtBytes look;  ///< or none
    std::uint64_t bytes_per_row = 1;
    std::int64_t first_piece = 0;  ///< among those of all parts: read() counts them
  };
  /// All of them at once: no thread waits for what the others read of one before it goes on with the next. Null, or the
  /// first of which bytes are missing.
  const Part* read(std::span<Part> parts) noexcept { return read(parts, usual_threads()); }
  /// False where its size, or when it was last written, is no longer what it was when it was opened: what was read may
  /// be of two files.
  bool check_unchanged() noexcept;
  /// False where a program has the file locked for writing, as HDF5 does. Where files cannot be locked nobody has.
  bool lock() noexcept;
  /// What failed is not told again, and what follows is read.
  void forget_failure() noexcept;

  [[nodiscard]] int descriptor() const { return file_; }

  /// How many share a large read, or the work on what was read.
  [[nodiscard]] unsigned threads() const { return threads_; }
  [[nodiscard]] bool is_locked_elsewhere() const { return is_locked_elsewhere_; }
  [[nodiscard]] bool has_failed() const { return has_failed_; }
  /// What failed, and what to do about it: the two parts of a message.
  [[nodiscard]] std::string why() const;
  [[nodiscard]] std::string remedy() const;
  /// missing_file where the disk or the network is at fault, else bad_input.
  [[nodiscard]] ErrorKind kind() const;

  /// While this is set, HDF5's reads of numbers are not made: where the last ones lie is noted there instead.
  Extent* located = nullptr;

 private:
  struct Failure {
    enum class Kind { system, end_of_file, change } kind = Kind::system;
    std::uint64_t address = 0, file_size = 0;
    int system_error = 0;
  };

  [[nodiscard]] unsigned usual_threads() const { return (3 * threads_ + 7) / 8; }
  const Part* read(std::span<Part> parts, unsigned threads) noexcept;
  /// Reads on until all is there or nothing more comes; `system_error` is errno's value where that is a failure.
  std::size_t read_piece(const Extent& extent, void* bytes, int& system_error) const noexcept;
  /// Keeps the first one.
  void fail(const Failure& failure) noexcept;

  int file_ = -1;
  unsigned threads_ = 0;
  struct stat opened_ {};
  bool is_locked_elsewhere_ = false;
  std::mutex failing_;
  std::optional<Failure> failure_;  ///< does not change while has_failed_ is true
  std::atomic<bool> has_failed_ = false;
};

/// True where the file says that it is HDF5. False also where it cannot be read, which has_failed() tells apart.
bool has_hdf5_signature(InputBytes& file) noexcept;

/// Sets the driver in a file access property list (both are HDF5 identifiers); the name that HDF5 is told later does
/// not matter. Returns the driver, to be unregistered after the file is closed, or a negative number. `file` must stay
/// where it is until the file is open.
std::int64_t use_input_driver(std::int64_t access, const std::shared_ptr<InputBytes>& file);

}  // namespace smallbatch
