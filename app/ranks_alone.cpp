#include <utility>

#include "app/ranks.hpp"
#include "core/error.hpp"

namespace smallbatch {

Ranks::Ranks() {
  if (launched_processes() > 1)
    throw Error(ErrorKind::usage, "several processes were started for one run", "this build has no MPI",
                "Build with -DSMALLBATCH_MPI=ON, or run shares (--shard) and merge them.");
}
Ranks::~Ranks() = default;

std::string Ranks::broadcast(std::string text) const { return text; }
std::vector<std::string> Ranks::gather(const std::string& text) const { return {text}; }
void Ranks::agree(const std::exception_ptr& failure) const {
  if (failure) std::rethrow_exception(failure);
}

}  // namespace smallbatch
