// The processes of a run: one, or those that mpirun has started. ranks_mpi.cpp implements them; a build without MPI has
// ranks_alone.cpp.
#pragma once

#include <exception>
#include <memory>
#include <string>
#include <vector>

namespace smallbatch {

/// Thrown on every rank except the first, after some rank has failed. The first rank reports the error and has its exit
/// code. The other ranks exit with 0, because a launcher that sees another code ends the first rank before it has
/// reported.
struct FirstRankReports {};

class Ranks {
 public:
  /// Starts MPI if a launcher has started several processes. Throws Error(usage) if these processes cannot communicate,
  /// because each of them would do the whole work. They cannot if this build has no MPI, or if the launcher belongs to
  /// another MPI library. With `is_share` (--shard) nothing is thrown, because processes with different shares need not
  /// communicate. If two of them had the same output file, its lock would stop one (io/integrity/output_file.hpp).
  explicit Ranks(bool is_share = false);
  /// Ends all ranks if an exception leaves this rank before agree() has told the other ranks.
  ~Ranks();  // NOLINT(performance-trivially-destructible): with MPI it is not trivial
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] bool is_first() const { return rank_ == 0; }
  /// Rank among the ranks on the same machine, which share its GPUs.
  [[nodiscard]] int local_rank() const { return local_rank_; }
  [[nodiscard]] int local_size() const { return local_size_; }

  /// Sends the text of rank 0 to all ranks. All ranks call broadcast(), gather() and agree(), in the same order.
  [[nodiscard]] std::string broadcast(std::string text) const;
  /// On rank 0, returns the texts of all ranks, by rank. On all other ranks, returns nothing.
  [[nodiscard]] std::vector<std::string> gather(const std::string& text) const;
  /// Throws on every rank if `failure` is set on any rank. The first rank throws the error of the first failed rank;
  /// the others throw FirstRankReports.
  void agree(const std::exception_ptr& failure) const;

 private:
  int rank_ = 0, size_ = 1, local_rank_ = 0, local_size_ = 1;
  bool uses_mpi_ = false;
  mutable bool has_agreed_ = false;  ///< a rank has failed, and all ranks know it
};

/// Does `work` on this rank, then throws if any rank has failed.
template <class Work>
void do_on_all(const Ranks& ranks, Work&& work) {
  std::exception_ptr failure;
  try {
    work();
  } catch (...) {
    failure = std::current_exception();
  }
  ranks.agree(failure);
}

/// Returns how many processes the launcher has started, as its environment says. 1 without a launcher.
int launched_processes();
/// Returns whether a launcher may have started several processes. True also if the launcher does not say how many.
bool may_be_launched();

}  // namespace smallbatch
