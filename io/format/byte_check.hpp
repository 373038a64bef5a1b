// Checks whether the bytes of a result file are those that were written.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace smallbatch {

struct ByteCheck {
  bool has_checksums = false;        ///< false for problem files, and for results before format 1.7
  std::int64_t datasets = 0;         ///< number of datasets that were compared
  std::uint64_t bytes = 0;           ///< size of the file
  std::vector<std::string> changed;  ///< ranges of changed numbers: "/solve/a/x from [0, 0] to [1023, 31]"
  /// Datasets that are not stored as they were written (gone, of another shape, compressed). Their numbers are not
  /// compared.
  std::vector<std::string> moved;
  bool is_rest_unchanged = true;  ///< names, shapes, attributes and all other bytes outside datasets
  /// Objects with headers that HDF5 itself finds damaged. There are none if a program changed the file by HDF5's rules,
  /// or if HDF5 has no checksum of the changed byte.
  std::vector<std::string> damaged;
};

/// Compares all bytes of a file with its checksums, on `threads` threads (0: one per core). Each thread calls `between`
/// before each piece. `between` may throw. Throws what InputFile throws, and Error(bad_input) if the checksums are
/// damaged or gone.
ByteCheck check_bytes(const std::string& path, unsigned threads = 0, const std::function<void()>& between = {});

class InputFile;
/// Compares all bytes of a file that is already open. Its objects are then not described a second time.
ByteCheck check_bytes(const InputFile& file, unsigned threads, const std::function<void()>& between);
/// From now on, each read of a result file first checks the checksums of the pieces that it touches. No piece is
/// checked twice. If a piece has changed, the read throws Error(bad_input), which names the piece. Results before
/// format 1.7 are not checked. Datasets that are stored in another way than they were written are not checked, either.
/// Throws at once if the checksums are damaged or gone.
void compare_reads(InputFile& file);

}  // namespace smallbatch
