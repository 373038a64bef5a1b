// Writes result files (io/FORMAT.md): answers, verdicts and provenance; lattices open in ParaView too (VTKHDF).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/array_view.hpp"
#include "io/output_layout.hpp"
#include "io/sets.hpp"
#include "io/share.hpp"

// Not for users: what is first declared below would be visible.
namespace smallbatch {
class OutputFile;
class Uvh5File;
}  // namespace smallbatch

#pragma GCC visibility push(default)
namespace smallbatch {

/// A temporary file beside `path` until commit(); see ProblemWriter for what is thrown and what is left behind. write()
/// and its like do without HDF5, which another thread may call meanwhile; everything else takes turns with it.
class ResultWriter {
 public:
  /// `threads` share the writing of a block; 0: one per core.
  ResultWriter(const std::string& path, bool overwrite, unsigned threads = 0);
  /// Into `output`; where it `keeps_numbers`, over what a process that ended before has left there: the same sets are
  /// added in the same order, and what was written of them is still there (has_all).
  ResultWriter(OutputFile output, bool keeps_numbers, unsigned threads);
  /// Writes into what another process has added, with the layout that it says; that one commits. This one has to have
  /// flushed and to be gone by then, and may write but not add.
  explicit ResultWriter(const OutputLayout& layout);
  void flush();
  [[nodiscard]] OutputLayout layout() const;
  /// What a process that did not make the file has written into it, and tells the one that did.
  [[nodiscard]] WrittenElements written() const;
  void others_have_written(const WrittenElements& elements);
  /// From now on what is written is noted, with its hash, for who calls take_written().
  void note_written(bool is_noted = true);
  [[nodiscard]] std::vector<WrittenRange> take_written();
  /// Whether the file has what a process that ended before wrote there; all of it then counts as written.
  [[nodiscard]] bool has_all(const std::vector<WrittenRange>& written);
  /// Whether the temporary file and the journal beside it stay without commit().
  void keep_unfinished(bool is_kept);
  ~ResultWriter();
  ResultWriter(ResultWriter&&) noexcept;
  ResultWriter& operator=(ResultWriter&&) = delete;

  /// Where the problems that are written from now on begin in a set that was added, should they be a share of it.
  template <class Set>
  void begin_at(const Set& set, const ShareStart& start) {
    starts()[set_path(set)] = start;
  }

  /// Creates /solve/<name>/{x or inverse, info, all of spd_numbers} and
  /// /verification/solve/<name>/{verdict, error_over_bound} at full size; without what is about x where the determinant
  /// alone was asked for. Each set, of any kind, is added once: Error(usage) where its name is taken.
  void add(const SolveSet& set);
  /// To be called once, when all sets are added: lets the disk be allocated beside what is done next.
  void allocate();
  template <class T>
  void write(const SolveSet& set, const SpdBlock<T>& block);

  /// Creates /potential/<name>/{V, E, energy, info, V_min, V_max, V_mean} and the set's verdicts at full size, V and E
  /// of type `type`, E and energy where they are wanted, and says where V is. The first set of lattices added is also
  /// what /VTKHDF shows.
  void add(const PotentialSet& set, ScalarType type);
  /// Problems [first, first + count), of lattices their planes [first_plane, first_plane + plane_count), and their
  /// info; the energy with the first plane.
  template <class T>
  void write(const PotentialSet& set, const PotentialBlock<T>& block);
  /// Of all problems of the set (or share). NaN where this is not called.
  void write_statistics(const PotentialSet& set, const PotentialStatistics& statistics);

  /// Creates /pair_energy/<name>/{energy, info, energy_per_charge} and the set's verdicts at full size; pairs are
  /// computed in `precision`, which the file says.
  void add(const PairEnergySet& set, ScalarType precision);
  void write(const PairEnergySet& set, const PairEnergyBlock& block);

  /// Creates /correlation/<name>/{visibility, weight, info} and the set's verdicts at full size, and writes what is
  /// known of its channels and times.
  void add(const CorrelationSet& set);
  /// Visibilities and weights of whole integrations; block.sum is set.visibility(). Means are the caller's to take.
  void write(const CorrelationSet& set, const SignalBlock& block);
  /// What a UVH5 file says besides, which write_uvh5() writes back. Returns the names of what is left out.
  std::vector<std::string> keep(const CorrelationSet& set, const Uvh5File& file);
  /// Of channels first, first + 1, ...: what all their blocks say.
  void write_info(const CorrelationSet& set, std::int64_t first, ArrayView<std::int32_t> info);

  /// Verdicts of problems first, first + 1, ... of a set that was added; kind is that of its type. Those never
  /// written say that nothing was checked.
  void write_verdicts(const std::string& kind, const std::string& set, std::int64_t first, ArrayView<Verdict> verdict,
                      ArrayView<float> error_over_bound);
  void write_summary(const std::string& kind, const std::string& set, const VerificationSummary& summary);

  /// Once for a set, as attributes of /provenance/<kind>/<set>. Before write_problems_hash(), where that is called.
  void write_work(const std::string& kind, const std::string& set, const WorkOfSet& work);
  /// The same of which problems they are: what reading all of them returned, summed.
  void write_problems_hash(const std::string& kind, const std::string& set, std::uint64_t hash);
  /// Attributes of /provenance. A text is cut after 4096 bytes.
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
