// UVH5, the visibilities of pyuvdata (https://pyuvdata.readthedocs.io, the memo "UVH5 file format").
//
// An input is a feed of an antenna. Antenna 2 of a baseline is the one that is conjugated, and uvw leads from antenna 1
// to antenna 2: V_ij is of antenna 1 = i's and antenna 2 = j's, as it is. Baseline-times lie integration by
// integration, their baselines as those of the results.
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
inline constexpr double seconds_per_day = 86400;  // of Julian dates

class Hdf5Output;

/// Writes the visibilities of a set to a temporary file and renames it: floats as complex64, integers as complex128,
/// sums as sums and means as means. A visibility of no samples, or one that is no number, is 0 and flagged; nsamples is
/// the fraction of the integration's samples that count. A set that was a UVH5 file gets back what results keep of it:
/// the header, flags, nsamples and flagged visibilities.
/// Any other gets what its labels say. Inputs without an antenna are feeds x and y of one where two have one place, and
/// else each of its own. Inputs whose positions are not known stand a metre apart in a row to the east; a telescope
/// whose place is not known is at 0 N 0 E; a start that is not known is J2000. Returns what was assumed, each as
/// "; ...".
/// Throws Error(bad_input) where frequencies or the time of a sample are not known, or there is no visibility; where
/// antennas and feeds contradict each other; where Julian dates in double precision do not tell integrations apart;
/// and where there is a phase center, whose uvw need tables of the Earth's rotation. Throws Error(output) as
/// ProblemWriter does.
std::string write_uvh5(const std::string& path, const ResultReader& results, const CorrelationSet& set,
                       const std::string& history, bool overwrite);

/// True where the file is HDF5 and has the groups of UVH5. Throws as Uvh5File does where it cannot be read.
bool is_uvh5(const std::string& path);

/// Counts of visibilities by their fate.
struct Uvh5Counts {
  std::int64_t visibilities = 0;  ///< of the file
  std::int64_t flagged = 0;       ///< their weight is 0
  std::int64_t not_finite = 0;    ///< their weight is 0, too, though they are not flagged
  std::int64_t uncounted = 0;     ///< a weight of 1, because nsamples is no positive number

  void add(const Uvh5Counts& more) {
    visibilities += more.visibilities;
    flagged += more.flagged;
    not_finite += more.not_finite;
    uncounted += more.uncounted;
  }
};

/// A UVH5 file as the results that it could be of: one set of means, whose times are integrations of one sample. The
/// inputs are the antennas in the order of their numbers, of each the feeds that some polarisation is of (x before y,
/// right before left).
class Uvh5File {
 public:
  /// Throws Error: missing_file, or bad_input where the file is not as the memo has it, or has Stokes parameters.
  explicit Uvh5File(const std::string& path);
  ~Uvh5File();
  Uvh5File(const Uvh5File&) = delete;
  Uvh5File& operator=(const Uvh5File&) = delete;

  /// Without a name.
  [[nodiscard]] const CorrelationSet& set() const;
  /// Of the visibilities, as messages have it.
  [[nodiscard]] std::string type_name() const;
  /// Channels [block.first, .. + block.channels) of time block.first_time. A visibility that is flagged, not finite or
  /// missing becomes NaN, with a weight of 0. The weight of any other is nsamples, rounded, and at least 1.
  Uvh5Counts read(SignalBlock& block) const;
  /// What write_uvh5() writes back: the header and flags and nsamples as they are, and the visibilities where some are
  /// flagged. Returns the names of what is left out.
  std::vector<std::string> copy_to(Hdf5Output& to, const std::string& group) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace smallbatch
