#define OMPI_SKIP_MPICXX 1  // the C++ headers of Open MPI are not needed
#include <mpi.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <limits>
#include <new>
#include <utility>

#include "app/run/ranks.hpp"
#include "core/error.hpp"

namespace smallbatch {
namespace {

void check(int status) {
  if (status != MPI_SUCCESS)
    throw Error(ErrorKind::internal, "an MPI call failed", std::to_string(status), "Run again.");
}

int int_size(std::size_t size) {
  if (size > static_cast<std::size_t>(std::numeric_limits<int>::max()))
    throw Error(ErrorKind::internal, "a message between ranks is too long. Please report this.");
  return static_cast<int>(size);
}

/// Describes a failure for the other ranks: a letter for its ErrorKind, then "problem (why). remedy".
std::string describe(const std::exception_ptr& failure) {
  if (!failure) return {};
  try {
    std::rethrow_exception(failure);
  } catch (const Error& error) {
    return static_cast<char>('a' + static_cast<int>(error.kind())) + std::string(error.what());
  } catch (const std::bad_alloc&) {
    return static_cast<char>('a' + static_cast<int>(ErrorKind::out_of_memory)) +
           std::string("the memory does not suffice. Use a smaller --memory.");
  } catch (const std::exception& error) {
    return static_cast<char>('a' + static_cast<int>(ErrorKind::internal)) + std::string(error.what());
  } catch (...) {
    return static_cast<char>('a' + static_cast<int>(ErrorKind::internal)) + std::string("something unknown");
  }
}

}  // namespace

Ranks::Ranks(bool is_share) {
  if (!may_be_launched()) return;
  int provided = 0;
  check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided));
  uses_mpi_ = true;
  check(MPI_Comm_rank(MPI_COMM_WORLD, &rank_));
  check(MPI_Comm_size(MPI_COMM_WORLD, &size_));
  if (size_ == 1) {
    MPI_Finalize();
    uses_mpi_ = false;
    if (is_share || launched_processes() == 1) return;
    throw Error(ErrorKind::usage, "several processes were started for one run, and do not know each other",
                "the launcher belongs to another MPI than this build",
                "Use its own mpirun or srun --mpi=pmix, or run shares (--shard), each by itself, and merge them.");
  }
  MPI_Comm local = MPI_COMM_NULL;
  check(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &local));
  check(MPI_Comm_rank(local, &local_rank_));
  check(MPI_Comm_size(local, &local_size_));
  check(MPI_Comm_free(&local));
}

Ranks::~Ranks() {
  if (!uses_mpi_) return;
  if (std::uncaught_exceptions() > 0 && !has_agreed_) {  // the other ranks would wait for this rank
    std::fputs("smallbatch: a rank failed and could not tell the others, so all ranks are ended\n", stderr);
    MPI_Abort(MPI_COMM_WORLD, 70);
  }
  // When the first rank exits with an error, a launcher sends SIGTERM to the other ranks. They have no work left and
  // end by themselves.
  if (!is_first()) std::signal(SIGTERM, SIG_IGN);
  MPI_Finalize();
}

std::string Ranks::broadcast(std::string text) const {
  if (!uses_mpi_) return text;
  auto size = static_cast<std::uint64_t>(text.size());
  check(MPI_Bcast(&size, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD));
  text.resize(size);
  check(MPI_Bcast(text.data(), int_size(text.size()), MPI_CHAR, 0, MPI_COMM_WORLD));
  return text;
}

std::vector<std::string> Ranks::gather(const std::string& text) const {
  if (!uses_mpi_) return {text};
  const int size = int_size(text.size());
  std::vector<int> sizes(is_first() ? static_cast<std::size_t>(size_) : 0), offsets;
  check(MPI_Gather(&size, 1, MPI_INT, sizes.data(), 1, MPI_INT, 0, MPI_COMM_WORLD));
  std::string all;
  std::size_t total = 0;
  for (const int one : sizes) {
    offsets.push_back(int_size(total));
    total += static_cast<std::size_t>(one);
  }
  all.resize(static_cast<std::size_t>(int_size(total)));
  check(
      MPI_Gatherv(text.data(), size, MPI_CHAR, all.data(), sizes.data(), offsets.data(), MPI_CHAR, 0, MPI_COMM_WORLD));
  std::vector<std::string> texts;
  for (std::size_t k = 0; k < sizes.size(); ++k)
    texts.push_back(all.substr(static_cast<std::size_t>(offsets[k]), static_cast<std::size_t>(sizes[k])));
  return texts;
}

void Ranks::agree(const std::exception_ptr& failure) const {
  if (!uses_mpi_) {
    if (failure) std::rethrow_exception(failure);
    return;
  }
  std::string said;
  const std::vector<std::string> all = gather(describe(failure));
  for (std::size_t rank = 0; rank < all.size() && said.empty(); ++rank)
    if (!all[rank].empty()) said = all[rank].front() + ("rank " + std::to_string(rank) + ": " + all[rank].substr(1));
  said = broadcast(std::move(said));
  if (said.empty()) return;
  has_agreed_ = true;
  if (!is_first()) throw FirstRankReports();
  throw Error(static_cast<ErrorKind>(said.front() - 'a'), said.substr(1));
}

}  // namespace smallbatch
