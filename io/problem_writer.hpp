// Writer of problem files (io/FORMAT.md), in blocks of any size.
#pragma once

#include <memory>
#include <string>

#include "core/array_view.hpp"
#include "io/sets.hpp"

#pragma GCC visibility push(default)
namespace smallbatch {

/// Writes to a temporary file beside `path`. commit() flushes this file to the disk and renames it. Without a commit
/// nothing is left behind. Throws Error(output) if the target exists and overwrite is false, if its folder is not
/// writable, or if the disk is full. The first failed write is kept, and every later call throws it again.
class ProblemWriter {
 public:
  ProblemWriter(const std::string& path, bool overwrite);
  ~ProblemWriter();
  ProblemWriter(ProblemWriter&&) noexcept;
  ProblemWriter& operator=(ProblemWriter&&) = delete;

  /// Creates the set's datasets at their full size. Throws Error(usage) if its name is taken: each set is added once.
  void add(const SolveSet& set);
  /// Writes block.a and block.b as systems [block.first, block.first + block.count).
  template <class T>
  void write(const SolveSet& set, const SpdBlock<T>& block);

  /// Creates the set's datasets, and writes offset and attributes. A potential set on lattices also gets origin and
  /// spacing. Throws Error(usage) for a potential set with points or groups.
  void add(const PotentialSet& set);
  void add(const PairEnergySet& set);
  /// Writes charges [first_charge, first_charge + charge.size()) of the set, in angstrom and e. position is
  /// (charge.size(), 3). The file stores them in the set's type.
  void write_charges(const PotentialSet& set, std::int64_t first_charge, ArrayView<double> position,
                     ArrayView<double> charge);
  void write_charges(const PairEnergySet& set, std::int64_t first_charge, ArrayView<double> position,
                     ArrayView<double> charge);
  /// Writes atomic numbers of a set that has them.
  void write_atomic_numbers(const PotentialSet& set, std::int64_t first_charge, ArrayView<std::int8_t> numbers);
  /// Writes groups of a set that has them.
  void write_groups(const PairEnergySet& set, std::int64_t first_charge, ArrayView<std::int8_t> group);

  /// Creates the signal, and the flags if the set has them. Writes attributes and frequencies.
  void add(const CorrelationSet& set);
  /// Writes signal and flags of the block's channels and times.
  void write(const CorrelationSet& set, const SignalBlock& block);

  /// Writes an attribute of /provenance, which says how the file was made. A text is cut after 4096 bytes.
  void provenance(const std::string& key, const std::string& value);
  void provenance(const std::string& key, double value);

  void commit();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace smallbatch
#pragma GCC visibility pop
