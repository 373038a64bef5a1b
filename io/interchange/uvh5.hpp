// Export and import of UVH5, pyuvdata's format for visibilities (https://pyuvdata.readthedocs.io, memo "UVH5 file
// format").
//
// An input is a feed of an antenna. The signal of antenna 2 of a baseline is conjugated, and uvw points from antenna 1
// to antenna 2. So V_ij is stored unchanged, with the antenna of i as antenna 1 and that of j as antenna 2. The file
// stores one integration after the other, each with the baselines in the order of the results.
#pragma once

#include <cstdint>
#include <memory>
#include <numbers>
#include <string>
#include <vector>

#include "io/result_reader.hpp"

namespace smallbatch {

inline constexpr const char* uvh5_ending = ".uvh5";
inline constexpr double degree = std::numbers::pi / 180;
inline constexpr double seconds_per_day = 86400;  // for Julian dates

class Hdf5Output;

/// Writes the visibilities of a set to a temporary file and renames it. Floats become complex64 and integers
/// complex128. Sums stay sums, and means stay means. A visibility without samples, or one that is not finite, is 0 and
/// flagged. nsamples is the fraction of the integration's samples that count.
///
/// For a set that was imported from a UVH5 file, header, flags, nsamples and flagged visibilities are those of that
/// file.
///
/// For any other set, the header follows from the labels of the set. Unknown values are assumed:
///  - Two inputs at one position are feeds x and y of one antenna. Any other input is a separate antenna.
///  - Inputs without positions stand in a row to the east, a metre apart.
///  - The telescope is at 0 N 0 E.
///  - The start is J2000.
/// Returns the assumptions, each as "; ...".
///
/// Throws Error(bad_input) in these cases:
///  - Frequencies or the sample time are unknown, or there is no visibility.
///  - Antennas and feeds contradict each other.
///  - Julian dates in double precision do not tell integrations apart.
///  - The set has a phase center. Its uvw need tables of the Earth's rotation.
/// Throws Error(output) as ProblemWriter does.
std::string write_uvh5(const std::string& path, const ResultReader& results, const CorrelationSet& set,
                       const std::string& history, bool overwrite);

/// True if the file is HDF5 and has the groups of UVH5. Throws as Uvh5File does if it cannot be read.
bool is_uvh5(const std::string& path);

/// Numbers of visibilities that were read, in total and by kind.
struct Uvh5Counts {
  std::int64_t visibilities = 0;  ///< all that were read
  std::int64_t flagged = 0;       ///< flagged: their weight is 0
  std::int64_t not_finite = 0;    ///< not flagged but not finite: their weight is 0, too
  std::int64_t uncounted = 0;     ///< nsamples is no positive finite number: their weight is 1

  void add(const Uvh5Counts& more) {
    visibilities += more.visibilities;
    flagged += more.flagged;
    not_finite += more.not_finite;
    uncounted += more.uncounted;
  }
};

/// Reader of a UVH5 file as one set of means. Each time is an integration of one sample. The inputs are the feeds of
/// the antennas, in the order of the antenna numbers. An antenna has each feed that some polarisation names: x before
/// y, or right before left.
class Uvh5File {
 public:
  /// Throws Error: missing_file, or bad_input if the file violates the memo or has Stokes parameters.
  explicit Uvh5File(const std::string& path);
  ~Uvh5File();
  Uvh5File(const Uvh5File&) = delete;
  Uvh5File& operator=(const Uvh5File&) = delete;

  /// The file's set, without a name.
  [[nodiscard]] const CorrelationSet& set() const;
  /// Type of the visibilities, for messages.
  [[nodiscard]] std::string type_name() const;
  /// Reads channels [block.first, .. + block.channels) of time block.first_time. A visibility that is flagged, not
  /// finite or missing becomes NaN, with a weight of 0. Otherwise the weight is nsamples, rounded, and at least 1.
  Uvh5Counts read(SignalBlock& block) const;
  /// Copies header, flags and nsamples, which write_uvh5() needs. Also copies the visibilities if some are flagged.
  /// Copies them, too, if the products xy and yx of an antenna with itself are not conjugates of each other. Returns
  /// the names of the parts that cannot be copied.
  std::vector<std::string> copy_to(Hdf5Output& to, const std::string& group) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace smallbatch
