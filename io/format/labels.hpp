// Labels in problem files and result files: names, steps and times of problems, and facts about an array of antennas.
// Private to io/.
#pragma once

#include <cstdint>
#include <string>

#include "io/hdf5/input.hpp"
#include "io/hdf5/output.hpp"
#include "io/problem_labels.hpp"
#include "io/sets.hpp"

namespace smallbatch {

/// Reads the labels of the set in `group`. Throws if their type or their number is wrong.
ProblemLabels read_labels(const InputFile& file, const std::string& group, std::int64_t batch);
/// Writes the labels that are known.
void write_labels(Hdf5Output& file, const std::string& group, const ProblemLabels& labels, std::int64_t batch);

/// Reads all known facts about a correlation's inputs, telescope and visibilities.
ArrayLabels read_array_labels(const InputFile& file, const std::string& group, std::int64_t inputs);
/// Writes the known facts of `labels`.
void write_array_labels(Hdf5Output& file, const std::string& group, const ArrayLabels& labels);

}  // namespace smallbatch
