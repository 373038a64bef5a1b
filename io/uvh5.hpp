// UVH5, the visibilities of pyuvdata (https://pyuvdata.readthedocs.io, the memo "UVH5 file format").
//
// An input is an antenna, and a visibility of polarisation xx. Antenna 2 of a baseline is the one that is conjugated,
// and uvw leads from antenna 1 to antenna 2: V_ij is of antenna 1 = i and antenna 2 = j, as it is. Baseline-times lie
// integration by integration, their baselines as those of the results.
#pragma once

#include <string>

#include "io/result_reader.hpp"

namespace smallbatch {

inline constexpr const char* uvh5_ending = ".uvh5";

/// Writes the visibilities of a set to a temporary file and renames it: floats as complex64, integers as complex128,
/// sums as sums and means as means. A visibility of no samples, or one that is no number, is 0 and flagged; nsamples is
/// the fraction of the integration's samples that count. Inputs whose positions are not known stand a metre apart in a
/// row to the east; the place of the telescope is not known, and is 0 N 0 E; nor is the start, if the set has none:
/// J2000. Throws Error(bad_input) where frequencies or the time of a sample are not known, or there is no visibility;
/// Error(output) as ProblemWriter.
void write_uvh5(const std::string& path, const ResultReader& results, const CorrelationSet& set,
                const std::string& history, bool overwrite);

}  // namespace smallbatch
