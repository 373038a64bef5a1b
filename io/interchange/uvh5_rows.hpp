// Antennas, times and polarisations of the visibilities in a UVH5 file. Private to io/.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "io/hdf5/input.hpp"
#include "io/hdf5/output.hpp"

namespace smallbatch {

/// Rows [first, first + count) of the data, all of one time.
struct RowRange {
  std::int64_t first = 0, count = 0;
};

/// Feeds of antennas 1 and 2: 0 is x or right, 1 is y or left.
struct FeedPair {
  std::int64_t first = 0, second = 0;
};

/// Numbers of polarisations in AIPS Memo 117: rr, ll, rl, lr are -1 to -4, and xx, yy, xy, yx are -5 to -8.
inline constexpr std::int64_t first_polarisation = -1, last_polarisation = -8;
FeedPair feeds_of(std::int64_t polarisation);
/// Returns the name of a feed: "x" or "y", "r" or "l".
std::string feed_name(std::int64_t polarisation, std::int64_t feed);

struct Uvh5Rows {
  std::vector<std::int64_t> antenna;                ///< numbers of the antennas that have data, rising
  std::vector<std::int64_t> first, second;          ///< for each row: indices of its antennas in `antenna`
  std::vector<std::int64_t> polarisations;          ///< by their numbers
  std::vector<std::array<std::int64_t, 2>> inputs;  ///< for each antenna: the inputs of its feeds; -1: no such feed
  std::vector<double> times;                        ///< Julian dates, rising
  std::vector<std::vector<RowRange>> of_time;       ///< the rows of each time
  bool has_windows_axis = false;                    ///< shapes have an axis of length 1 after the first

  [[nodiscard]] std::int64_t count() const { return static_cast<std::int64_t>(first.size()); }
  [[nodiscard]] std::int64_t input_count() const;
  /// Returns the inputs that a row correlates in this polarisation, of antennas 1 and 2.
  [[nodiscard]] FeedPair inputs_of(std::int64_t row, std::int64_t polarisation) const;
  /// Returns the shape of visdata, flags and nsamples.
  [[nodiscard]] std::vector<std::int64_t> shape(std::int64_t channels) const;
};

/// Reads the rows from the group `header`, for data of `shape`. Throws if the group violates the memo.
Uvh5Rows read_rows(const InputFile& file, const std::string& header, std::vector<std::int64_t> shape);

/// Reads all numbers of a dataset of this shape. They are integers of any type, or also floats if T is a float.
template <class T>
std::vector<T> read_header(const InputFile& file, const std::string& dataset, const std::vector<std::int64_t>& shape);

/// Copies a group with its datasets and groups; numbers are widened to 8 bytes. Adds the names of attributes, and of
/// objects that cannot be read, to `left_out`.
void copy_group(const InputFile& from, const std::string& source, Hdf5Output& to, const std::string& target,
                std::vector<std::string>& left_out);

/// Reads some rows and channels of a dataset with the shape of visdata.
template <class T>
void read_some(const InputFile& file, const std::string& dataset, const Uvh5Rows& rows, const RowRange& some,
               const AxisRange& channels, std::vector<T>& values) {
  const AxisRange of_rows{some.first, some.count}, window{0, 1};
  if (rows.has_windows_axis)
    file.read(dataset, {of_rows, window, channels}, values.data());
  else
    file.read(dataset, {of_rows, channels}, values.data());
}
/// Writes some rows and channels of a dataset with the shape of visdata.
template <class T>
void write_some(Hdf5Output& file, const std::string& dataset, const Uvh5Rows& rows, const RowRange& some,
                const AxisRange& channels, const std::vector<T>& values) {
  const AxisRange of_rows{some.first, some.count}, window{0, 1};
  if (rows.has_windows_axis)
    file.write(dataset, {of_rows, window, channels}, values.data());
  else
    file.write(dataset, {of_rows, channels}, values.data());
}

/// Returns the group of a set in which results keep parts of a UVH5 file: the header, and values as in the file.
inline std::string uvh5_group(const std::string& set) { return "/uvh5/" + set; }

}  // namespace smallbatch
