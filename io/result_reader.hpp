// Reads result files back: for verifying again, for exporting, for looking.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "io/sets.hpp"

// Not for users: what is first declared below would be visible.
namespace smallbatch {
class InputFile;
struct ByteCheck;
}  // namespace smallbatch

#pragma GCC visibility push(default)
namespace smallbatch {

/// Of all problems of a set.
struct StoredVerdicts {
  std::vector<Verdict> verdict;         ///< (batch)
  std::vector<float> error_over_bound;  ///< (batch), NaN where nothing was checked
};

/// Opening checks the file, and reading goes, as ProblemReader's. The sets it lists are what the results hold
/// (PotentialSet::type is V's type, PairEnergySet::type what pairs were computed in, and offset is empty but where
/// there are values of charges).
class ResultReader {
 public:
  /// What is done before numbers are believed.
  enum class Bytes {
    as_they_are,  ///< nothing: HDF5 notices no changed byte of them
    compared      ///< whatever is read, with the file's checksums before, where it has them (io/FORMAT.md)
  };
  /// `threads` share the reading of a block; 0: one per core.
  explicit ResultReader(const std::string& path, unsigned threads = 0, Bytes bytes = Bytes::as_they_are);
  /// Checks all bytes first, as check_bytes() does with `between`, and hands what it found to `take`, which may throw.
  ResultReader(const std::string& path, unsigned threads, const std::function<void()>& between,
               const std::function<void(const ByteCheck&)>& take);
  ~ResultReader();
  ResultReader(ResultReader&&) noexcept;
  ResultReader& operator=(ResultReader&&) = delete;

  /// Everything the file holds; of each kind.
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

  /// x (or the inverse) and the numbers per system of systems [first, first + count) into a block of that many. What
  /// the file lacks is left empty: what is about x where the determinant alone was asked for, and the numbers that its
  /// version of the format does not have.
  template <class T>
  void read(const SolveSet& set, std::int64_t first, std::int64_t count, SpdBlock<T>& block) const;
  /// V, E, energy and info of problems [block.first, .. + block.count), of lattices their planes [block.first_plane, ..
  /// + block.plane_count). E and energy stay empty where there are none.
  template <class T>
  void read(const PotentialSet& set, PotentialBlock<T>& block) const;
  /// Energies and info of problems [block.first, .. + block.count), those of their charges where the set has them.
  void read(const PairEnergySet& set, PairEnergyBlock& block) const;
  /// Visibilities, as they are stored, and weights of channels [block.first, .. + block.channels) and of the
  /// integrations of times [block.first_time, .. + block.times), whole ones; and info of the channels.
  void read(const CorrelationSet& set, SignalBlock& block) const;
  /// Of a dataset that has one number for each problem, target or charge of a set, as "/solve/a/rcond" or
  /// "/verification/solve/a/verdict": those from `first` on, as many as `values` has. False where the file has no such
  /// dataset, or not so many.
  [[nodiscard]] bool read_numbers(const std::string& dataset, std::int64_t first, std::vector<double>& values) const;
  /// Of all problems; empty in a file of format 1.0 or 1.1.
  [[nodiscard]] PotentialStatistics statistics(const PotentialSet& set) const;
  /// V of one lattice's planes, as double whatever its type in the file.
  [[nodiscard]] std::vector<double> read_potential(const PotentialSet& set, std::int64_t problem,
                                                   std::int64_t first_plane, std::int64_t plane_count) const;
  /// The same of some rows of a plane.
  [[nodiscard]] std::vector<double> read_potential_rows(const PotentialSet& set, std::int64_t problem,
                                                        std::int64_t plane, std::int64_t first_row,
                                                        std::int64_t row_count) const;

  /// What the writer was told about a set's verification; nothing was checked where the file has no such thing.
  [[nodiscard]] VerificationSummary verification(const std::string& kind, const std::string& set) const;
  /// Throws where that does not fit the set's verdicts, or they do not fit each other: nobody but `run` writes them.
  void check_verification(const std::string& kind, const std::string& set, std::int64_t batch) const;
  /// Throws where what the file says a second time, or what follows from the problems, is not that of the set `asked`,
  /// which is this file's set `found`: names, steps and times, coordinates, and units as netCDF says them. Of files
  /// before 1.5, which lack them, nothing is looked at.
  void check_labels(const PotentialSet& asked, const PotentialSet& found) const;
  void check_labels(const PairEnergySet& asked, const PairEnergySet& found) const;
  void check_labels(const CorrelationSet& asked, const CorrelationSet& found) const;
  /// The verdicts themselves.
  [[nodiscard]] StoredVerdicts verdicts(const std::string& kind, const std::string& set, std::int64_t batch) const;
  /// Which problems a set's were (ResultWriter::write_problems_hash); nothing where the file does not say.
  [[nodiscard]] std::optional<std::uint64_t> problems_hash(const std::string& kind, const std::string& set) const;
  /// Zeros where the file does not say.
  [[nodiscard]] WorkOfSet work(const std::string& kind, const std::string& set) const;
  /// An attribute of /provenance that is a string; empty where there is none.
  [[nodiscard]] std::string provenance(const std::string& key) const;
  /// One that is a number; 0 where there is none.
  [[nodiscard]] double provenance_number(const std::string& key) const;
  /// For what no set describes.
  [[nodiscard]] const InputFile& file() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// True where the file is a result file (it holds /provenance with the attribute `kind` = "results"). Throws Error
/// where it cannot be opened, as the readers do.
bool is_result_file(const std::string& path);

}  // namespace smallbatch
#pragma GCC visibility pop
