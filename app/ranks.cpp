#include "app/ranks.hpp"

#include <algorithm>
#include <cstdlib>

namespace smallbatch {

int launched_processes() {
  int most = 1;
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS"})
    if (const char* const size = std::getenv(name)) most = std::max(most, std::atoi(size));
  return most;
}

}  // namespace smallbatch
