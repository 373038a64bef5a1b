// Whether the bytes of a result file are those that were written.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace smallbatch {

struct ByteCheck {
  bool has_checksums = false;        ///< false of problem files, and of results before format 1.7
  std::int64_t datasets = 0;         ///< that were compared
  std::uint64_t bytes = 0;           ///< of the file
  std::vector<std::string> changed;  ///< "/solve/a/x from [0, 0] to [1023, 31]": which numbers are not what was written
  /// Datasets that are not as they were written (gone, of another shape, compressed), whose numbers are not compared.
  std::vector<std::string> moved;
  bool is_rest_unchanged = true;  ///< names, shapes, attributes, and whatever else is in no dataset
  /// Objects whose headers HDF5 itself finds damaged. Empty, too, where a program that keeps HDF5's rules wrote to the
  /// file, or HDF5 has no checksum of the byte.
  std::vector<std::string> damaged;
};

/// Reads all of it on `threads` threads (0: one per core), and calls `between` before each piece, on any of them, which
/// may throw. Throws Error(bad_input) where the file cannot be opened, or what it says of its bytes is damaged or gone.
ByteCheck check_bytes(const std::string& path, unsigned threads = 0, const std::function<void()>& between = {});

class InputFile;
/// The same, of a file that is open: what it holds is then described once.
ByteCheck check_bytes(const InputFile& file, unsigned threads, const std::function<void()>& between);
/// From now on every piece of a result file that something is read of is compared first, once; throws Error(bad_input),
/// which names it, where it is not what was written. Not compared are results before format 1.7, and datasets that lie
/// in the file in another way than they were written. Throws at once where the checksums are damaged or gone.
void compare_reads(InputFile& file);

}  // namespace smallbatch
