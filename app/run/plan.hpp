// What a run is going to do, before it does it: on what, in which blocks, and how much of it is verified.
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
  VerifyMode verify;  ///< as it was asked for
  ScalarType precision = ScalarType::float32;
  bool is_memory_limited = false;  ///< somebody has said how much there is
  unsigned threads = 1;
  int parts = 1;  ///< that the sets are one of each
  Estimate job;   ///< of this part
  DeviceChoice device;
  bool on_gpus = false;
  double verified_share = 1;     ///< by --verify auto
  std::string verify_mode;       ///< "all", "1 of 64", "sample=N" or "none"
  std::int64_t block_bytes = 0;  ///< that a block is to have; sets may want larger ones
  std::int64_t blocks_in_memory = 0;

  /// With all of its verification, right to a factor of about two, of what is in memory already.
  [[nodiscard]] double seconds() const;
};

/// `job` is of one of so many parts. Throws as choose_device does.
Plan make_plan(const RunOptions& options, const Estimate& job, int parts, const Share& neighbours = {});

/// Halves the blocks, after a GPU had no memory for one of them; false where they are as small as they are to be, or no
/// GPU computes them.
bool take_smaller_blocks(Plan& plan);

/// Sentences for who wants to know: on what it runs and why, in which blocks, how much is verified.
std::vector<std::string> plan_words(const Plan& plan, const DeviceRequest& request);

VerifyMode verify_mode_of(const Plan& plan, const SolveSet& set);
VerifyMode verify_mode_of(const Plan& plan, const PotentialSet& set);
VerifyMode verify_mode_of(const Plan& plan, const PairEnergySet& set);
VerifyMode verify_mode_of(const Plan& plan, const CorrelationSet& set);

std::vector<SystemRange> blocks_of(const Plan& plan, const SolveSet& set);
std::vector<PlaneRange> blocks_of(const Plan& plan, const PotentialSet& set);
std::vector<SystemRange> blocks_of(const Plan& plan, const PairEnergySet& set);
std::vector<SignalRange> blocks_of(const Plan& plan, const CorrelationSet& set);

/// Of a set: how many blocks, and the bytes of the largest one.
struct BlocksOfSet {
  std::int64_t count = 0, largest_bytes = 0;
};
BlocksOfSet measure_blocks(const Plan& plan, const SolveSet& set);
BlocksOfSet measure_blocks(const Plan& plan, const PotentialSet& set);
BlocksOfSet measure_blocks(const Plan& plan, const PairEnergySet& set);
BlocksOfSet measure_blocks(const Plan& plan, const CorrelationSet& set);

}  // namespace smallbatch
