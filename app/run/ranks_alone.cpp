#include <utility>

#include "app/run/ranks.hpp"
#include "core/error.hpp"

namespace smallbatch {

Ranks::Ranks(bool is_share) {
  if (launched_processes() > 1 && !is_share)
    throw Error(
        ErrorKind::usage, "several processes were started for one run", "this build has no MPI",
        "Build with -DSMALLBATCH_MPI=ON, or give each process its own share (--shard) and output, and merge the "
        "outputs.");
}
// These functions use members in the build with MPI.
// NOLINTBEGIN(performance-trivially-destructible, readability-convert-member-functions-to-static)
Ranks::~Ranks() = default;

std::string Ranks::broadcast(std::string text) const { return text; }
std::vector<std::string> Ranks::gather(const std::string& text) const { return {text}; }
void Ranks::agree(const std::exception_ptr& failure) const {
  if (failure) std::rethrow_exception(failure);
}
// NOLINTEND(performance-trivially-destructible, readability-convert-member-functions-to-static)

}  // namespace smallbatch
