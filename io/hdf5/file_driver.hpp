// How our files are written: plain pwrite, by HDF5 as its own driver does it, and past HDF5 on several threads; but the
// first failure is kept and from then on every write is dropped and called a success. Private to io/.
//
// HDF5 cannot close a file whose last bytes it cannot write: it leaks the file and crashes when the process ends. With
// this driver it closes in peace, and the failure, with the system's own error number, is what the writer throws.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>

#include "io/hdf5/written_extents.hpp"

namespace smallbatch {

/// The bytes of the file that HDF5 has open through the driver, by several threads at a time.
class OutputBytes {
 public:
  /// `threads` share a large write; 0: one per core.
  explicit OutputBytes(unsigned threads) : threads_(threads) {}
  ~OutputBytes() { close(); }
  OutputBytes(const OutputBytes&) = delete;
  OutputBytes& operator=(const OutputBytes&) = delete;

  bool open(const std::string& path, bool truncate) noexcept;
  /// Before it is opened: what the file has stays, also where HDF5 asks for an empty one.
  void keep_bytes(bool are_kept) noexcept { keeps_bytes_ = are_kept; }
  [[nodiscard]] bool keeps_bytes() const noexcept { return keeps_bytes_; }
  /// Notes of all that HDF5 writes by the driver, to compare it with the file.
  [[nodiscard]] WrittenExtents& by_hdf5() noexcept { return by_hdf5_; }
  bool close() noexcept;
  /// Bytes [address, address + size). False where this write failed; one after a failure is dropped. Not by two threads
  /// at a time, as all that writes.
  bool write(std::uint64_t address, std::uint64_t size, const void* bytes) noexcept;
  /// Bytes beyond the end read as zeros.
  bool read(std::uint64_t address, std::uint64_t size, void* bytes) noexcept;
  bool resize(std::uint64_t size) noexcept;
  /// All that was written is then on the disk, which other machines may share.
  bool flush() noexcept;
  /// Begins to allocate the first `size` bytes on a thread of its own, where the file system can: what is written there
  /// later is then quicker, and a disk that does not have them is full now.
  void allocate(std::uint64_t size) noexcept;
  /// The file's size now; 0 where it is not known.
  [[nodiscard]] std::uint64_t size() noexcept;

  /// errno of the first system call that failed, 0 while there is none.
  [[nodiscard]] int system_error() const { return system_error_; }

 private:
  bool write_piece(std::uint64_t address, std::uint64_t size, const char* bytes) noexcept;
  /// Keeps the first failure; false, for the caller to report.
  bool fail(int system_error) noexcept;

  int file_ = -1;
  unsigned threads_ = 0;
  bool keeps_bytes_ = false;
  WrittenExtents by_hdf5_;
  std::atomic<int> system_error_ = 0;
  std::atomic<bool> is_closing_ = false;
  std::thread allocating_;
};

/// Sets the driver in a file access property list (both are HDF5 identifiers); HDF5 opens and closes `file`, which must
/// outlive it. Returns the driver, to be unregistered after the file is closed, or a negative number.
std::int64_t use_file_driver(std::int64_t access, OutputBytes* file);

}  // namespace smallbatch
