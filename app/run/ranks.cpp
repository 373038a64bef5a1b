#include "app/run/ranks.hpp"

#include <algorithm>
#include <cstdlib>

namespace smallbatch {

namespace {

/// Returns the number in an environment variable, or 0.
int number_in(const char* name) {
  const char* const text = std::getenv(name);
  return text ? std::atoi(text) : 0;
}

}  // namespace

int launched_processes() {
  int most = 1;
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS"})
    most = std::max(most, number_in(name));
  // Some launchers tell a process only its own rank.
  for (const char* name : {"PMIX_RANK", "PMI_RANK", "OMPI_COMM_WORLD_RANK", "MV2_COMM_WORLD_RANK", "SLURM_PROCID"})
    if (const int rank = number_in(name); rank > 0) most = std::max(most, rank + 1);
  // SLURM_NTASKS is read only in a step. Slurm sets this variable in a batch script too, but the script is a single
  // process that may start the tasks later. The script is not a step, or is a step with a single task.
  const bool is_step = std::getenv("SLURM_STEP_ID") || number_in("SLURM_PROCID") > 0;
  if (is_step && !std::getenv("SLURM_STEP_NUM_TASKS")) most = std::max(most, number_in("SLURM_NTASKS"));
  return most;
}

bool may_be_launched() { return launched_processes() > 1 || std::getenv("PMIX_RANK"); }

}  // namespace smallbatch
