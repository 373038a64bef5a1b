// Reads problem files (io/FORMAT.md).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "io/sets.hpp"
#include "io/share.hpp"

#pragma GCC visibility push(default)
namespace smallbatch {

/// What coordinates are counted from: 0, as in the file; or, in a set with lengths in another unit than angstrom, the
/// origin of each problem's lattice, its first point or its first charge. What lies far from 0 in such a unit has then
/// as many digits as what lies near it. V, E and energies are the same of both.
enum class CountedFrom { zero, origin };

/// Opening reads and checks everything but the numbers: format version, names, ranks, types, shapes, offsets, units,
/// that every dataset is whole, and that nothing leads out of the file. Throws Error: missing_file where the file
/// cannot be opened for reading, bad_input for everything else, in one sentence that names file, dataset and index,
/// what was expected and what was found, and what to do. Reading throws bad_input, too: where a byte is no longer there
/// or cannot be read, where the file has changed since it was opened, and where a chunk does not come out as declared.
///
/// What the file holds is asked of HDF5 in a process of its own, which ends when the file is open: a damaged file
/// crashes that one at most. Numbers are read, inflated and converted here, without HDF5: any number of threads may do
/// so at a time, also while a writer is at work. Opening forks, and so takes turns with threads that use a writer.
///
/// read() returns the part that the problems have in their set's problems_hash (io/FORMAT.md), whatever share the set
/// is of: parts add up, modulo 2^64.
class ProblemReader {
 public:
  /// `threads` share the reading of a block; 0: one per core.
  explicit ProblemReader(const std::string& path, unsigned threads = 0);
  ~ProblemReader();
  ProblemReader(ProblemReader&&) noexcept;
  ProblemReader& operator=(ProblemReader&&) = delete;

  [[nodiscard]] const std::string& path() const;  ///< the file's, as it was opened
  [[nodiscard]] int descriptor() const;           ///< of the open file: what is asked of the system about it
  /// Everything the file declares; of each kind.
  [[nodiscard]] const ProblemSets& sets() const;
  [[nodiscard]] const std::vector<SolveSet>& solve_sets() const { return std::get<std::vector<SolveSet>>(sets()); }
  [[nodiscard]] const std::vector<PotentialSet>& potential_sets() const {
    return std::get<std::vector<PotentialSet>>(sets());
  }
  [[nodiscard]] const std::vector<PairEnergySet>& pair_energy_sets() const {
    return std::get<std::vector<PairEnergySet>>(sets());
  }
  [[nodiscard]] const std::vector<CorrelationSet>& correlation_sets() const {
    return std::get<std::vector<CorrelationSet>>(sets());
  }
  /// From now on the sets are this share of theirs, and are read as such. To be called once.
  void take(const Share& share);
  /// Where a set begins in the one in the file.
  template <class Set>
  [[nodiscard]] ShareStart start(const Set& set) const {
    return start_of(starts(), set_path(set));
  }
  /// Sentences for the user's log: a newer minor version, datasets that are not used, ...
  [[nodiscard]] const std::vector<std::string>& warnings() const;
  /// Others, of what is no cause for concern: a unit that was taken where the file names none.
  [[nodiscard]] const std::vector<std::string>& notes() const;

  /// Systems [first, first + count) of the set into block.a, block.b and block.sizes; the block is resized. T is the
  /// set's type.
  template <class T>
  std::uint64_t read(const SolveSet& set, std::int64_t first, std::int64_t count, SpdBlock<T>& block) const;

  /// Problems [first, first + count): charges, groups and offset (from 0), in angstrom and e. Sets first and count;
  /// results are the caller's.
  std::uint64_t read(const PairEnergySet& set, std::int64_t first, std::int64_t count, PairEnergyBlock& block,
                     CountedFrom from = CountedFrom::zero) const;

  /// Of the charges of a problem, 0 where it is not known; empty where the set has none.
  [[nodiscard]] std::vector<std::int8_t> atomic_numbers(const PotentialSet& set, std::int64_t problem) const;

  /// Signal and flags of channels [block.first, .. + block.channels) and times [block.first_time, .. + block.times).
  /// Sets type, inputs, integrate and sum; results are the caller's. What is known of channels counts with their first
  /// times.
  std::uint64_t read(const CorrelationSet& set, SignalBlock& block) const;

  /// Problems [first, first + count): charges, groups, offset (from 0), and origin and spacing, or the points, in
  /// angstrom and e. Sets targets, shape, first, count and wants_energy; planes and results are the caller's.
  template <class T>
  std::uint64_t read(const PotentialSet& set, std::int64_t first, std::int64_t count, PotentialBlock<T>& block,
                     CountedFrom from = CountedFrom::zero) const;

 private:
  [[nodiscard]] const ShareStarts& starts() const;

  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace smallbatch
#pragma GCC visibility pop
