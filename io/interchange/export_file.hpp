// Common parts of the exporters: a stream to an output file, titles as plain text, and a check of a map. The file
// appears only when it is complete.
#pragma once

#include <cerrno>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include "core/error.hpp"
#include "io/integrity/output_file.hpp"
#include "io/interchange/lattice_export.hpp"

namespace smallbatch {

/// Stream to an output file. Throws Error(output) if a write fails. Without commit() nothing is left behind.
class ExportFile {
 public:
  ExportFile(const std::string& path, bool overwrite)
      : output_(path, overwrite), stream_(std::fopen(output_.temporary_path().c_str(), "wb")) {
    if (!stream_) fail();
  }

  void write(std::string_view text) {
    if (std::fwrite(text.data(), 1, text.size(), stream_.get()) != text.size()) fail();
  }
  [[noreturn]] void fail() const { throw output_error(output_.path(), errno); }
  /// The C stream, for a library that writes by itself.
  [[nodiscard]] std::FILE* stream() const { return stream_.get(); }

  void commit() {
    if (std::fclose(stream_.release()) != 0) fail();
    output_.commit();
  }

 private:
  struct Close {
    void operator()(std::FILE* stream) const noexcept { std::fclose(stream); }
  };
  OutputFile output_;
  std::unique_ptr<std::FILE, Close> stream_;
};

/// Converts a text to one line of printable ASCII, which every reader accepts. Control characters become spaces, and
/// letters lose their accents. Greek letters are spelled out, and any other character becomes a '?'.
std::string plain_line(std::string_view text);

/// Throws Error(usage) if the map has no points, or not one value for each point.
inline void check_shape(const std::string& path, const LatticeMap& map) {
  const auto& [nx, ny, nz] = map.shape;
  if (nx > 0 && ny > 0 && nz > 0 && static_cast<std::int64_t>(map.values.size()) == map.shape.points()) return;
  throw Error(ErrorKind::usage, "cannot write " + path,
              "the map holds " + std::to_string(map.values.size()) + " values for " + std::to_string(nx) + " x " +
                  std::to_string(ny) + " x " + std::to_string(nz) + " points",
              "Give one value for each point.");
}

}  // namespace smallbatch
