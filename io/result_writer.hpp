// Writer of result files (io/FORMAT.md): answers, verdicts and provenance. ParaView can open the lattices (VTKHDF).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/array_view.hpp"
#include "io/output_layout.hpp"
#include "io/sets.hpp"
#include "io/share.hpp"

// Types for internal use. They are declared here, because a first declaration after the pragma would export them.
namespace smallbatch {
class OutputFile;
class Uvh5File;
}  // namespace smallbatch

#pragma GCC visibility push(default)
namespace smallbatch {

/// Writes to a temporary file beside `path` until commit(). Errors and a missing commit have the same effect as in
/// ProblemWriter. HDF5 is not called by write(), write_info() and write_verdicts(), so another thread may call HDF5 at
/// that time. No other thread may call HDF5 during any other function.
class ResultWriter {
 public:
  /// Each block is written by `threads` threads (0: one per core).
  ResultWriter(const std::string& path, bool overwrite, unsigned threads = 0);
  /// Writes into `output`. With `keeps_numbers`, the numbers that an ended process wrote stay in the file. The caller
  /// must then add the same sets again, in the same order. has_all() tells whether the numbers are intact.
  ResultWriter(OutputFile output, bool keeps_numbers, unsigned threads);
  /// Writes into the file of another process, which has added the sets and will commit. This writer may write but not
  /// add. It must be flushed and destroyed before the other process commits.
  explicit ResultWriter(const OutputLayout& layout);
  void flush();
  [[nodiscard]] OutputLayout layout() const;
  /// Returns how much this process has written into the file of another process. The other process passes this to its
  /// own others_have_written().
  [[nodiscard]] WrittenElements written() const;
  void others_have_written(const WrittenElements& elements);
  /// Sets whether each later write is recorded with its hash. take_written() returns the records, and forgets them.
  void note_written(bool is_noted = true);
  [[nodiscard]] std::vector<WrittenRange> take_written();
  /// Compares bytes that an ended process wrote with the hashes in `written`. If all are equal, returns true, and these
  /// elements count as written.
  [[nodiscard]] bool has_all(const std::vector<WrittenRange>& written);
  /// With `is_kept`, the temporary file and its journal stay if there is no commit().
  void keep_unfinished(bool is_kept);
  ~ResultWriter();
  ResultWriter(ResultWriter&&) noexcept;
  ResultWriter& operator=(ResultWriter&&) = delete;

  /// Declares `set` a share that begins at `start` in the set of the file. All later writes of the set count from
  /// there.
  template <class Set>
  void begin_at(const Set& set, const ShareStart& start) {
    starts()[set_path(set)] = start;
  }

  /// Creates /solve/<name>/{x or inverse, info, all of spd_numbers} and /verification/solve/<name>/{verdict,
  /// error_over_bound} at full size. A set of determinants gets no x and no numbers about x. Each set, of any kind, is
  /// added once. Throws Error(usage) if its name is taken.
  void add(const SolveSet& set);
  /// Starts to allocate the disk space in the background. To be called once, when all sets are added.
  void allocate();
  template <class T>
  void write(const SolveSet& set, const SpdBlock<T>& block);

  /// Creates /potential/<name>/{V, E, energy, info, V_min, V_max, V_mean} and the set's verdicts at full size. V and E
  /// have the type `type`; E and energy are created if they are wanted. Also writes origins, spacings, coordinates and
  /// offsets. /VTKHDF shows the first set of lattices that is added.
  void add(const PotentialSet& set, ScalarType type);
  /// Writes V, E and info of problems [first, first + count); for lattices, planes [first_plane, first_plane +
  /// plane_count). Writes the energy with the first plane.
  template <class T>
  void write(const PotentialSet& set, const PotentialBlock<T>& block);
  /// Writes the statistics of all problems of the set or share. Without this call they are NaN.
  void write_statistics(const PotentialSet& set, const PotentialStatistics& statistics);

  /// Creates /pair_energy/<name>/{energy, info, energy_per_charge} and the set's verdicts at full size. The file stores
  /// `precision`, the type in which pairs are computed.
  void add(const PairEnergySet& set, ScalarType precision);
  void write(const PairEnergySet& set, const PairEnergyBlock& block);

  /// Creates /correlation/<name>/{visibility, weight, info} and the set's verdicts at full size. Also writes all known
  /// facts about the set's channels, times and inputs.
  void add(const CorrelationSet& set);
  /// Writes visibilities and weights of whole integrations. block.sum must be set.visibility(). If means are wanted,
  /// the caller has already computed them.
  void write(const CorrelationSet& set, const SignalBlock& block);
  /// Copies those parts of a UVH5 file that no other dataset of the results holds, so that write_uvh5() can write the
  /// UVH5 file again. Returns the names of the parts that cannot be copied.
  std::vector<std::string> keep(const CorrelationSet& set, const Uvh5File& file);
  /// Writes the status of channels first, first + 1, ... The caller has combined the statuses of a channel's blocks.
  void write_info(const CorrelationSet& set, std::int64_t first, ArrayView<std::int32_t> info);

  /// Writes verdicts of problems first, first + 1, ... of an added set. `kind` is Set::kind. Problems that no call
  /// covers keep the verdict `not_checked`.
  void write_verdicts(const std::string& kind, const std::string& set, std::int64_t first, ArrayView<Verdict> verdict,
                      ArrayView<float> error_over_bound);
  void write_summary(const std::string& kind, const std::string& set, const VerificationSummary& summary);

  /// Writes attributes of /provenance/<kind>/<set>. To be called once for a set, before write_problems_hash().
  void write_work(const std::string& kind, const std::string& set, const WorkOfSet& work);
  /// Writes the hash of the set's problems: the sum of the values that ProblemReader::read() returned for all of them.
  void write_problems_hash(const std::string& kind, const std::string& set, std::uint64_t hash);
  /// Writes an attribute of /provenance. A text is cut after 4096 bytes.
  void provenance(const std::string& key, const std::string& value);
  void provenance(const std::string& key, double value);

  void commit();

 private:
  [[nodiscard]] ShareStarts& starts();

  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace smallbatch
#pragma GCC visibility pop
