// Reader of result files, for `verify`, `export`, `report` and `info`.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "io/sets.hpp"

// Types for internal use. They are declared here, because a first declaration after the pragma would export them.
namespace smallbatch {
class InputFile;
struct ByteCheck;
}  // namespace smallbatch

#pragma GCC visibility push(default)
namespace smallbatch {

/// Verdicts of all problems of a set.
struct StoredVerdicts {
  std::vector<Verdict> verdict;         ///< (batch)
  std::vector<float> error_over_bound;  ///< (batch), NaN if nothing was checked
};

/// Reader of one result file. See ProblemReader for the checks of the constructor, the errors, and reading on several
/// threads. The sets describe the results. PotentialSet::type is the type of V, and PairEnergySet::type the type in
/// which pairs were computed. The member `offset` is filled only if the results have values at charges.
class ResultReader {
 public:
  /// How bytes are checked before their numbers are used.
  enum class Bytes {
    as_they_are,  ///< no check: a changed byte of the numbers goes unnoticed
    compared      ///< every byte that is read is first compared with the file's checksums, if any (io/FORMAT.md)
  };
  /// Each block is read by `threads` threads (0: one per core).
  explicit ResultReader(const std::string& path, unsigned threads = 0, Bytes bytes = Bytes::as_they_are);
  /// First checks all bytes by check_bytes(), which calls `between` before each piece. Passes the result to `take`,
  /// which may throw.
  ResultReader(const std::string& path, unsigned threads, const std::function<void()>& between,
               const std::function<void(const ByteCheck&)>& take);
  ~ResultReader();
  ResultReader(ResultReader&&) noexcept;
  ResultReader& operator=(ResultReader&&) = delete;

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

  /// Reads x (or the inverse) and the numbers of systems [first, first + count) into `block`, and resizes its arrays.
  /// Arrays that the file lacks become empty: a set without x has no numbers about x, and an older version has fewer
  /// numbers.
  template <class T>
  void read(const SolveSet& set, std::int64_t first, std::int64_t count, SpdBlock<T>& block) const;
  /// Reads V, E, energy and info of problems [block.first, .. + block.count). For lattices, reads the planes
  /// [block.first_plane, .. + block.plane_count). E and energy stay empty if the set has none.
  template <class T>
  void read(const PotentialSet& set, PotentialBlock<T>& block) const;
  /// Reads energies and info of problems [block.first, .. + block.count), and the energies per charge if the set has
  /// them.
  void read(const PairEnergySet& set, PairEnergyBlock& block) const;
  /// Reads visibilities, as they are stored, weights and info of channels [block.first, .. + block.channels). Times
  /// [block.first_time, .. + block.times) must be whole integrations.
  void read(const CorrelationSet& set, SignalBlock& block) const;
  /// Reads values.size() numbers, from number `first` on, of a one-dimensional dataset such as "/solve/a/rcond" or
  /// "/verification/solve/a/verdict". Returns false if the file has no such dataset, or too few numbers.
  [[nodiscard]] bool read_numbers(const std::string& dataset, std::int64_t first, std::vector<double>& values) const;
  /// Returns the statistics of all problems. Empty in a file of format 1.0 or 1.1.
  [[nodiscard]] PotentialStatistics statistics(const PotentialSet& set) const;
  /// Returns V on some planes of one lattice, as double whatever the type in the file.
  [[nodiscard]] std::vector<double> read_potential(const PotentialSet& set, std::int64_t problem,
                                                   std::int64_t first_plane, std::int64_t plane_count) const;
  /// Returns V on some rows of a plane.
  [[nodiscard]] std::vector<double> read_potential_rows(const PotentialSet& set, std::int64_t problem,
                                                        std::int64_t plane, std::int64_t first_row,
                                                        std::int64_t row_count) const;

  /// Returns the totals of a set's verification. If the file has no totals, returns those of a set in which nothing was
  /// checked.
  [[nodiscard]] VerificationSummary verification(const std::string& kind, const std::string& set) const;
  /// Throws if the totals do not fit the set's verdicts, or if verdicts and errors do not fit each other. A mismatch
  /// means that they were changed after they were written.
  void check_verification(const std::string& kind, const std::string& set, std::int64_t batch) const;
  /// Throws if labels of the set `found` in this file do not follow from the set `asked` of the problem file. Labels
  /// are names, steps, times, coordinates, and netCDF's attributes `units` and `coordinates`. Does nothing for files of
  /// formats before 1.5, which have no labels.
  void check_labels(const PotentialSet& asked, const PotentialSet& found) const;
  void check_labels(const PairEnergySet& asked, const PairEnergySet& found) const;
  void check_labels(const CorrelationSet& asked, const CorrelationSet& found) const;
  /// Returns the verdicts of a set.
  [[nodiscard]] StoredVerdicts verdicts(const std::string& kind, const std::string& set, std::int64_t batch) const;
  /// Returns the hash of a set's problems (ResultWriter::write_problems_hash); nothing if the file has none.
  [[nodiscard]] std::optional<std::uint64_t> problems_hash(const std::string& kind, const std::string& set) const;
  /// Returns the work of a set; zeros if the file has none.
  [[nodiscard]] WorkOfSet work(const std::string& kind, const std::string& set) const;
  /// Returns a string attribute of /provenance; empty if the file has none.
  [[nodiscard]] std::string provenance(const std::string& key) const;
  /// Returns a number attribute of /provenance; 0 if the file has none.
  [[nodiscard]] double provenance_number(const std::string& key) const;
  /// The file, for data that no set describes.
  [[nodiscard]] const InputFile& file() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// True if the file is a result file: /provenance has the attribute `kind` = "results". Throws as ResultReader does if
/// the file cannot be opened.
bool is_result_file(const std::string& path);

}  // namespace smallbatch
#pragma GCC visibility pop
