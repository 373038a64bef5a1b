// Reader of problem files (io/FORMAT.md).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "io/sets.hpp"
#include "io/share.hpp"

#pragma GCC visibility push(default)
namespace smallbatch {

/// Origin of the coordinates that read() returns. `zero` is the origin of the file. `origin` is the problem's lattice
/// origin, first point or first charge, so that conversion to angstrom loses no digits far from zero. If lengths are in
/// angstrom already, `origin` has the same effect as `zero`. V, E and energies do not depend on the choice.
enum class CountedFrom { zero, origin };

/// Reader of one problem file. The constructor reads and checks everything except the numbers: format version, names,
/// ranks, types, shapes, offsets and units. It also checks that every dataset is whole, and that no link leads out of
/// the file.
///
/// The constructor throws Error: missing_file if the file cannot be opened for reading, otherwise bad_input. The
/// message names file, dataset and index, what was expected, what was found, and what to do. Reading throws bad_input
/// if a byte is missing or unreadable, if a chunk does not decode as declared, or if the file has changed meanwhile.
///
/// HDF5 describes the file in a separate process, which ends when the file is open. A damaged file can crash only that
/// process. This process reads, inflates and converts numbers without HDF5. Any number of threads may therefore read at
/// a time, even while another thread uses a writer. The constructor forks, so no other thread may use a writer during
/// this call.
///
/// read() returns the contribution of the problems to the problems_hash of the whole set (io/FORMAT.md), even if the
/// set is a share. Contributions add up modulo 2^64.
class ProblemReader {
 public:
  /// Each block is read by `threads` threads (0: one per core).
  explicit ProblemReader(const std::string& path, unsigned threads = 0);
  ~ProblemReader();
  ProblemReader(ProblemReader&&) noexcept;
  ProblemReader& operator=(ProblemReader&&) = delete;

  [[nodiscard]] const std::string& path() const;  ///< path as it was given
  [[nodiscard]] int descriptor() const;           ///< of the open file, for example for fstat()
  /// All sets of the file, and the sets of each kind.
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
  /// Replaces each set by its part that belongs to `share`. To be called once.
  void take(const Share& share);
  /// Returns where `set` begins in the set of the file. After take(), this is the beginning of the share.
  template <class Set>
  [[nodiscard]] ShareStart start(const Set& set) const {
    return start_of(starts(), set_path(set));
  }
  /// Warnings for the user's log, for example a newer minor version or an unused dataset.
  [[nodiscard]] const std::vector<std::string>& warnings() const;
  /// Notes for the user's log that are no cause for concern: a unit was assumed because the file names none.
  [[nodiscard]] const std::vector<std::string>& notes() const;

  /// Reads systems [first, first + count) of the set into block.a, block.b and block.sizes. Resizes the block. T is the
  /// set's type.
  template <class T>
  std::uint64_t read(const SolveSet& set, std::int64_t first, std::int64_t count, SpdBlock<T>& block) const;

  /// Reads charges and groups of problems [first, first + count) into `block`, in angstrom and e. Also sets
  /// block.first, block.count and block.offset, which begins with 0. Does not touch the results in the block.
  std::uint64_t read(const PairEnergySet& set, std::int64_t first, std::int64_t count, PairEnergyBlock& block,
                     CountedFrom from = CountedFrom::zero) const;

  /// Returns the atomic numbers of a problem's charges, 0 for an unknown one. Empty if the set has none.
  [[nodiscard]] std::vector<std::int8_t> atomic_numbers(const PotentialSet& set, std::int64_t problem) const;

  /// Reads signal and flags of channels [block.first, .. + block.channels) at times [block.first_time, .. +
  /// block.times). Also sets type, inputs, integrate and sum of the block. Does not touch its results. The returned
  /// hash includes the channels' frequencies and the inputs' positions only if block.first_time is 0.
  std::uint64_t read(const CorrelationSet& set, SignalBlock& block) const;

  /// Reads charges and groups of problems [first, first + count) into `block`, in angstrom and e. For lattices it reads
  /// origin and spacing, and for points their positions. Also sets offset (from 0), targets, shape, first, count and
  /// wants_energy. Does not touch planes and results of the block.
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
