// The plan of a run: on which device, in which blocks, and how much is verified.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/cli/options.hpp"
#include "app/run/cut_into_blocks.hpp"
#include "app/run/device_choice.hpp"
#include "app/run/estimates.hpp"

namespace smallbatch {

struct Plan {
  VerifyMode verify;  ///< as given by --verify
  ScalarType precision = ScalarType::float32;
  bool is_memory_limited = false;  ///< --memory is given, or a GPU had no memory for larger blocks
  unsigned threads = 1;
  int parts = 1;  ///< number of equal parts of the sets; the run has one of them
  Estimate job;   ///< estimate for this part
  DeviceChoice device;
  bool on_gpus = false;
  double verified_share = 1;     ///< share of the answers to verify, with --verify auto
  std::string verify_mode;       ///< "all", "1 of 64", "sample=N" or "none"
  std::int64_t block_bytes = 0;  ///< intended size of a block; some sets choose larger ones
  std::int64_t blocks_in_memory = 0;

  /// Returns the estimated time with all verification, for a file that is in memory. It is right to within a factor of
  /// about two.
  [[nodiscard]] double seconds() const;
};

/// Makes the plan. `job` is the estimate for one of `parts` parts. Throws Error(no_device) if a GPU that was named is
/// not there.
Plan make_plan(const RunOptions& options, const Estimate& job, int parts, const Share& neighbours = {});

/// Halves the blocks, after a GPU had no memory for one of them. Returns false if no GPU computes, or if blocks must
/// not become smaller.
bool take_smaller_blocks(Plan& plan);

/// Describes the plan in sentences: the device and why it was chosen, the blocks, how much is verified.
std::vector<std::string> plan_words(const Plan& plan, const DeviceRequest& request);

VerifyMode verify_mode_of(const Plan& plan, const SolveSet& set);
VerifyMode verify_mode_of(const Plan& plan, const PotentialSet& set);
VerifyMode verify_mode_of(const Plan& plan, const PairEnergySet& set);
VerifyMode verify_mode_of(const Plan& plan, const CorrelationSet& set);

std::vector<SystemRange> blocks_of(const Plan& plan, const SolveSet& set);
std::vector<PlaneRange> blocks_of(const Plan& plan, const PotentialSet& set);
std::vector<SystemRange> blocks_of(const Plan& plan, const PairEnergySet& set);
std::vector<SignalRange> blocks_of(const Plan& plan, const CorrelationSet& set);

/// Number of blocks of a set, and bytes of the largest one.
struct BlocksOfSet {
  std::int64_t count = 0, largest_bytes = 0;
};
BlocksOfSet measure_blocks(const Plan& plan, const SolveSet& set);
BlocksOfSet measure_blocks(const Plan& plan, const PotentialSet& set);
BlocksOfSet measure_blocks(const Plan& plan, const PairEnergySet& set);
BlocksOfSet measure_blocks(const Plan& plan, const CorrelationSet& set);

}  // namespace smallbatch
