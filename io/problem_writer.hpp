// Writes problem files (io/FORMAT.md), in blocks of any size.
#pragma once

#include <memory>
#include <string>

#include "core/array_view.hpp"
#include "io/sets.hpp"

#pragma GCC visibility push(default)
namespace smallbatch {

/// Writes to a temporary file beside `path`; commit() flushes it to the disk and renames it. Without a commit nothing
/// is left behind. Throws Error(output) where the target exists and overwrite is false, its folder is not writable, or
/// the disk is full; the first failed write is remembered and every later call throws it again.
class ProblemWriter {
 public:
  ProblemWriter(const std::string& path, bool overwrite);
  ~ProblemWriter();
  ProblemWriter(ProblemWriter&&) noexcept;
  ProblemWriter& operator=(ProblemWriter&&) = delete;

  /// Creates the set's datasets at their full size. Each set is added once: Error(usage) where its name is taken.
  void add(const SolveSet& set);
  /// Writes block.a and block.b as systems [block.first, block.first + block.count).
  template <class T>
  void write(const SolveSet& set, const SpdBlock<T>& block);

  /// Creates the set, writes offset, origin, spacing and attributes; lattices or V at the charges, without groups.
  void add(const PotentialSet& set);
  void add(const PairEnergySet& set);
  /// Charges [first_charge, first_charge + charge.size()) of the set; position is (.., 3), angstrom and e. Stored as
  /// the set's type.
  void write_charges(const PotentialSet& set, std::int64_t first_charge, ArrayView<double> position,
                     ArrayView<double> charge);
  void write_charges(const PairEnergySet& set, std::int64_t first_charge, ArrayView<double> position,
                     ArrayView<double> charge);
  /// Of a set that has atomic numbers.
  void write_atomic_numbers(const PotentialSet& set, std::int64_t first_charge, ArrayView<std::int8_t> numbers);
  /// Of a set that has groups.
  void write_groups(const PairEnergySet& set, std::int64_t first_charge, ArrayView<std::int8_t> group);

  /// Creates the signal, and the flags of a set that has them; writes attributes and frequencies.
  void add(const CorrelationSet& set);
  /// Signal and flags of the block's channels and times.
  void write(const CorrelationSet& set, const SignalBlock& block);

  /// Attributes of /provenance: how the file was made. A text is cut after 4096 bytes.
  void provenance(const std::string& key, const std::string& value);
  void provenance(const std::string& key, double value);

  void commit();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace smallbatch
#pragma GCC visibility pop
