// UVH5, the visibilities of pyuvdata (https://pyuvdata.readthedocs.io, the memo "UVH5 file format").
//
// An input is an antenna, and a visibility of polarisation xx. Antenna 2 of a baseline is the one that is conjugated,
// and uvw leads from antenna 1 to antenna 2: V_ij is of antenna 1 = i and antenna 2 = j, as it is. Baseline-times lie
// integration by integration, their baselines as those of the results.
#pragma once

#include <memory>
#include <string>

#include "io/result_reader.hpp"

namespace smallbatch {

inline constexpr const char* uvh5_ending = ".uvh5";
inline constexpr double seconds_per_day = 86400;  // of Julian dates

/// Writes the visibilities of a set to a temporary file and renames it: floats as complex64, integers as complex128,
/// sums as sums and means as means. A visibility of no samples, or one that is no number, is 0 and flagged; nsamples is
/// the fraction of the integration's samples that count. Inputs whose positions are not known stand a metre apart in a
/// row to the east; the place of the telescope is not known, and is 0 N 0 E; nor is the start, if the set has none:
/// J2000. Throws Error(bad_input) where frequencies or the time of a sample are not known, integrations are so short
/// that Julian dates in double precision do not tell them apart, or there is no visibility; Error(output) as
/// ProblemWriter.
void write_uvh5(const std::string& path, const ResultReader& results, const CorrelationSet& set,
                const std::string& history, bool overwrite);

/// True where the file is HDF5 and has the groups of UVH5. Throws as Uvh5File does where it cannot be read.
bool is_uvh5(const std::string& path);

/// A UVH5 file as the results that it could be of: one set of means, whose times are integrations of one sample. The
/// inputs are the antennas in the order of their numbers, of each its feed, or its two where there are several
/// polarisations (x before y, right before left).
class Uvh5File {
 public:
  /// Throws Error: missing_file, or bad_input where the file is not as the memo has it, or has Stokes parameters.
  explicit Uvh5File(const std::string& path);
  ~Uvh5File();
  Uvh5File(const Uvh5File&) = delete;
  Uvh5File& operator=(const Uvh5File&) = delete;

  /// Without a name.
  [[nodiscard]] const CorrelationSet& set() const;
  /// Channels [block.first, .. + block.channels) of time block.first_time: visibilities and weights, which are 0 of
  /// what is flagged or not there, and a visibility of NaN, and else nsamples, rounded, and at least 1.
  void read(SignalBlock& block) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace smallbatch
