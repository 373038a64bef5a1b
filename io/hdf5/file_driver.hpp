// Writes output files by plain pwrite. HDF5 writes through this driver. Numbers are written without HDF5, on several
// threads. The first failure is stored. From then on every write is dropped and reported to HDF5 as a success. Private
// to io/.
//
// HDF5 cannot close a file if it cannot write the last bytes: it leaks the file and crashes when the process ends. With
// this driver, closing succeeds. The writer then throws the stored failure, with the system's own error number.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>

#include "io/hdf5/written_extents.hpp"

namespace smallbatch {

/// The bytes of a file that HDF5 has open through the driver.
class OutputBytes {
 public:
  /// A large write is shared by `threads` threads (0: one per core).
  explicit OutputBytes(unsigned threads) : threads_(threads) {}
  ~OutputBytes() { close(); }
  OutputBytes(const OutputBytes&) = delete;
  OutputBytes& operator=(const OutputBytes&) = delete;

  bool open(const std::string& path, bool truncate) noexcept;
  /// Call this before open(). With `are_kept` the file keeps its bytes, even if HDF5 asks for an empty file.
  void keep_bytes(bool are_kept) noexcept { keeps_bytes_ = are_kept; }
  [[nodiscard]] bool keeps_bytes() const noexcept { return keeps_bytes_; }
  /// Returns the record of all bytes that HDF5 wrote through the driver, to compare them with the file.
  [[nodiscard]] WrittenExtents& by_hdf5() noexcept { return by_hdf5_; }
  bool close() noexcept;
  /// Writes bytes [address, address + size). Returns false if this write failed. After a failure, writes are dropped.
  /// Only one thread at a time may call functions that write.
  bool write(std::uint64_t address, std::uint64_t size, const void* bytes) noexcept;
  /// Reads bytes. Bytes beyond the end of the file are zeros.
  bool read(std::uint64_t address, std::uint64_t size, void* bytes) noexcept;
  bool resize(std::uint64_t size) noexcept;
  /// Flushes all written bytes to the disk. Other machines may share the disk.
  bool flush() noexcept;
  /// Begins to allocate the first `size` bytes on another thread, if the file system can. Later writes are then faster,
  /// and a lack of disk space is found early.
  void allocate(std::uint64_t size) noexcept;
  /// Returns the current size of the file, or 0 if it is unknown.
  [[nodiscard]] std::uint64_t size() noexcept;

  /// Returns errno of the first system call that failed, or 0 if none has failed.
  [[nodiscard]] int system_error() const { return system_error_; }

 private:
  bool write_piece(std::uint64_t address, std::uint64_t size, const char* bytes) noexcept;
  /// Stores the first failure. Always returns false, for use in `return fail(errno)`.
  bool fail(int system_error) noexcept;

  int file_ = -1;
  unsigned threads_ = 0;
  bool keeps_bytes_ = false;
  WrittenExtents by_hdf5_;
  std::atomic<int> system_error_ = 0;
  std::atomic<bool> is_closing_ = false;
  std::thread allocating_;
};

/// Sets the driver in a file access property list. HDF5 opens and closes `file`, which must outlive HDF5's file.
/// Returns the driver, or a negative number on failure. The driver must be unregistered after the file is closed. The
/// list and the driver are HDF5 identifiers.
std::int64_t use_file_driver(std::int64_t access, OutputBytes* file);

}  // namespace smallbatch
