// The processes of a run: one, or those that mpirun has started (ranks_mpi.cpp; a build without MPI: ranks_alone.cpp).
#pragma once

#include <exception>
#include <memory>
#include <string>
#include <vector>

namespace smallbatch {

/// Thrown on every rank but the first where one has failed. The first one says why and has the exit code; these end
/// with 0, because a launcher that sees another one ends the first before it has spoken.
struct FirstRankReports {};

class Ranks {
 public:
  /// Begins MPI where a launcher has started this process beside others. Throws Error(usage) where they do not know
  /// each other, because this build has no MPI or the launcher is of another one, and each would do the same work. One
  /// that is given a share (--shard) is alone then; two that write one file notice it by its lock
  /// (io/integrity/output_file.hpp).
  explicit Ranks(bool is_share = false);
  /// Ends all ranks where an exception flies that they have not agreed on.
  ~Ranks();  // NOLINT(performance-trivially-destructible): MPI's has something to do
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] bool is_first() const { return rank_ == 0; }
  /// Among those on the same machine, which share its GPUs.
  [[nodiscard]] int local_rank() const { return local_rank_; }
  [[nodiscard]] int local_size() const { return local_size_; }

  /// What rank 0 says, to all. Each of these three is called by all ranks, in the same order.
  [[nodiscard]] std::string broadcast(std::string text) const;
  /// What all say, by rank, to rank 0; nothing to the others.
  [[nodiscard]] std::vector<std::string> gather(const std::string& text) const;
  /// Throws on every rank where `failure` is one on any of them: what the first of those that failed says on the first
  /// rank, FirstRankReports on the others.
  void agree(const std::exception_ptr& failure) const;

 private:
  int rank_ = 0, size_ = 1, local_rank_ = 0, local_size_ = 1;
  bool uses_mpi_ = false;
  mutable bool has_agreed_ = false;  ///< that one of them has failed
};

/// Does `work` here, and then agrees with the other ranks that all of them could.
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

/// Of a launcher's environment: how many processes it has started; 1 where there is none.
int launched_processes();
/// True also where the launcher does not say how many there are.
bool may_be_launched();

}  // namespace smallbatch
