// Reads an untrusted file by plain pread, also for HDF5. It differs from HDF5's own driver in two ways. The file must
// be a regular file. A missing byte is a failure, and not a zero. Private to io/.
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

/// A regular file that is open for reading, by several threads at a time. The first failure is kept, and from then on
/// every read fails. It therefore does not matter how HDF5 handles the failure.
class InputBytes {
 public:
  /// Throws Error(missing_file) if the file cannot be opened for reading, or is no regular file. A large read is shared
  /// by `threads` threads (0: one per core).
  explicit InputBytes(const std::string& path, unsigned threads = 0);
  ~InputBytes();
  InputBytes(const InputBytes&) = delete;
  InputBytes& operator=(const InputBytes&) = delete;

  /// Current size of the file.
  [[nodiscard]] std::uint64_t size() const noexcept;

  /// Reads the bytes of `extent`, or only some of them at the end of the file or after a failure. Returns the number of
  /// bytes that were read.
  std::size_t read_some(const Extent& extent, void* bytes) noexcept;
  /// Reads all bytes of `extent`, or returns false. The failure names the first missing byte. Only three eighths of the
  /// threads read. Two blocks are read at a time, and six eighths of the threads suffice to keep memory busy. The other
  /// threads are left to the other stages.
  bool read(const Extent& extent, void* bytes) noexcept { return read(extent, bytes, usual_threads()); }
  /// Reads all bytes of `extent` on `threads` threads, or returns false.
  bool read(const Extent& extent, void* bytes, unsigned threads) noexcept {
    Part all{extent, bytes, {}};
    return read({&all, 1}, threads) == nullptr;
  }
  /// Function that is called with bytes [first, last) of the requested bytes, while they are in the cache of the thread
  /// that has read them. It must not throw.
  using ExamineBytes = std::function<void(std::uint64_t first, std::uint64_t last)>;
  /// Bytes that are read together with other parts, in pieces of whole rows. The thread that reads a piece calls
  /// `examine` for it.
  struct Part {
    Extent extent;
    void* into = nullptr;
    ExamineBytes examine;  ///< may be empty
    std::uint64_t bytes_per_row = 1;
    std::int64_t first_piece = 0;  ///< index among the pieces of all parts; read() sets it
  };
  /// Reads all parts at once: no thread waits for the others before it goes on with the next part. Returns null, or the
  /// first part that lacks bytes.
  const Part* read(std::span<Part> parts) noexcept { return read(parts, usual_threads()); }
  /// Returns false if the size of the file, or the time of its last change, is not what it was when the file was
  /// opened. The bytes that were read may then come from two versions of the file.
  bool check_unchanged() noexcept;
  /// Locks the file for reading. Returns false if a program has locked it for writing, as HDF5 does. Returns true on a
  /// file system without locks.
  bool lock() noexcept;
  /// Forgets the failure. Later reads are carried out again.
  void forget_failure() noexcept;

  [[nodiscard]] int descriptor() const { return file_; }

  /// Number of threads that share a large read, or the work on what was read.
  [[nodiscard]] unsigned threads() const { return threads_; }
  [[nodiscard]] bool is_locked_elsewhere() const { return is_locked_elsewhere_; }
  [[nodiscard]] bool has_failed() const { return has_failed_; }
  /// Why reading failed, and what to do about it: the two parts of a message.
  [[nodiscard]] std::string why() const;
  [[nodiscard]] std::string remedy() const;
  /// Kind of the failure: out_of_memory, missing_file if the disk or the network is at fault, or else bad_input.
  [[nodiscard]] ErrorKind kind() const;

  /// While this is set, HDF5's reads of numbers are not carried out. Instead, the extent of the latest read is stored
  /// in *located.
  Extent* located = nullptr;

 private:
  struct Failure {
    enum class Kind { system, end_of_file, change } kind = Kind::system;
    std::uint64_t address = 0, file_size = 0;
    int system_error = 0;
  };

  [[nodiscard]] unsigned usual_threads() const { return (3 * threads_ + 7) / 8; }
  const Part* read(std::span<Part> parts, unsigned threads) noexcept;
  /// Reads until all bytes are there, or until no more bytes come. Sets `system_error` to errno after a failure.
  std::size_t read_piece(const Extent& extent, void* bytes, int& system_error) const noexcept;
  /// Stores the failure if it is the first.
  void fail(const Failure& failure) noexcept;

  int file_ = -1;
  unsigned threads_ = 0;
  struct stat opened_ {};
  bool is_locked_elsewhere_ = false;
  std::mutex failing_;
  std::optional<Failure> failure_;  ///< does not change while has_failed_ is true
  std::atomic<bool> has_failed_ = false;
};

/// Whether the file has the signature of HDF5. False also if it cannot be read: then has_failed() is true.
bool has_hdf5_signature(InputBytes& file) noexcept;

/// Sets the driver in a file access property list. The name that HDF5 opens later does not matter. Returns the driver,
/// or a negative number on failure. The driver must be unregistered after the file is closed. The pointer `file` must
/// not move until the file is open. The list and the driver are HDF5 identifiers.
std::int64_t use_input_driver(std::int64_t access, const std::shared_ptr<InputBytes>& file);

}  // namespace smallbatch
