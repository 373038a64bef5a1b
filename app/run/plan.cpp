#include "app/run/plan.hpp"

#include <algorithm>
#include <cmath>

#include "app/cli/option_texts.hpp"
#include "app/cli/quantities.hpp"
#include "app/run/stages.hpp"
#include "core/parallel.hpp"

namespace smallbatch {

namespace {

/// Returns "all" or "1 of 64".
std::string share_name(double share) { return share < 1 ? "1 of " + std::to_string(std::llround(1 / share)) : "all"; }

/// Returns the number of answers of a set. A sample (--verify sample=N) has N of them.
std::int64_t answers(const SolveSet& set) { return set.batch; }
std::int64_t answers(const PotentialSet& set) { return set.targets_before(set.batch); }
std::int64_t answers(const PairEnergySet& set) { return set.batch; }
std::int64_t answers(const CorrelationSet& set) { return set.integrations() * set.batch * set.baselines(); }

template <class Set>
VerifyMode mode_of(const Plan& plan, const Set& set) {
  return mode_for(plan.verify, answers(set), plan.verified_share, plan.parts);
}

/// Returns the limit of pairs in a block. If every answer is verified, the CPU computes each pair too, so blocks must
/// be smaller.
template <class Set>
double block_pairs(const Plan& plan, const Set& set) {
  const bool gpu_alone = plan.on_gpus && mode_of(plan, set).kind != VerifyMode::Kind::all;
  return gpu_alone ? gpu_block_pairs : cpu_block_pairs;
}

template <class Set, class Bytes>
BlocksOfSet measure(const Plan& plan, const Set& set, Bytes bytes) {
  BlocksOfSet blocks;
  for (const auto& range : blocks_of(plan, set)) {
    ++blocks.count;
    blocks.largest_bytes = std::max(blocks.largest_bytes, bytes(range));
  }
  return blocks;
}

}  // namespace

double Plan::seconds() const {
  return on_gpus ? seconds_on_gpus(job, device.backends.size(), verified_share, threads)
                 : seconds_on_cpu(job, verified_share, threads);
}

Plan make_plan(const RunOptions& options, const Estimate& job, int parts, const Share& neighbours) {
  Plan plan;
  plan.verify = options.verify;
  plan.precision = options.precision;
  plan.is_memory_limited = options.memory > 0;
  plan.threads = thread_count(options.threads);
  plan.parts = parts;
  plan.job = job;
  const bool auto_verify = options.verify.kind == VerifyMode::Kind::automatic;
  plan.device = choose_device(options.device, options.threads, options.instruction_set,
                              !is_gpu_quicker(job, auto_verify, plan.threads), neighbours);
  plan.on_gpus = plan.device.backends.front().kind == BackendKind::cuda;
  plan.verified_share = auto_verify ? affordable_share(job, plan.on_gpus, plan.threads) : 1;
  plan.verify_mode = auto_verify ? share_name(plan.verified_share) : verify_mode_name(options.verify);
  plan.blocks_in_memory = StageThreads::blocks_in_memory(computers_for(plan.device));
  plan.block_bytes = plan.is_memory_limited ? static_cast<std::int64_t>(options.memory) / plan.blocks_in_memory
                     : plan.on_gpus         ? gpu_block_bytes
                                            : cpu_block_bytes;
  return plan;
}

bool take_smaller_blocks(Plan& plan) {
  if (!plan.on_gpus || plan.block_bytes / 2 < least_gpu_block_bytes) return false;
  plan.block_bytes /= 2;
  plan.is_memory_limited = true;  // otherwise some sets would choose larger blocks
  return true;
}

std::vector<std::string> plan_words(const Plan& plan, const DeviceRequest& request) {
  std::vector<std::string> words;
  const bool is_choice = request.kind == DeviceRequest::Kind::automatic;
  std::string why = "named by --device";
  if (is_choice && !plan.device.note.empty()) {
    why = plan.device.note;
  } else if (is_choice) {
    why = "estimated to be faster";
  }
  words.push_back("device: " + plan.device.description + " (" + why + ")");
  if (is_choice) {
    const bool auto_verify = plan.verify.kind == VerifyMode::Kind::automatic;
    const auto share = [&](bool on_gpu) { return auto_verify ? affordable_share(plan.job, on_gpu, plan.threads) : 1; };
    words.push_back("estimates: " + seconds_text(seconds_on_cpu(plan.job, share(false), plan.threads)) + " on " +
                    std::to_string(plan.threads) + (plan.threads == 1 ? " CPU thread, " : " CPU threads, ") +
                    seconds_text(seconds_on_gpus(plan.job, 1, share(true), plan.threads)) +
                    " on one GPU, both with verification");
  }
  std::string verified = "verified: " + plan.verify_mode;
  if (plan.verify.kind == VerifyMode::Kind::automatic)
    verified += "; verifying all would take about " + seconds_text(plan.job.referee / plan.threads);
  words.push_back(verified);
  words.push_back("blocks: at most " + std::to_string(plan.blocks_in_memory) + " in memory" +
                  (plan.is_memory_limited
                       ? ", of up to about " + bytes_text(static_cast<double>(plan.block_bytes)) + " each (--memory)"
                       : ""));
  return words;
}

VerifyMode verify_mode_of(const Plan& plan, const SolveSet& set) { return mode_of(plan, set); }
VerifyMode verify_mode_of(const Plan& plan, const PotentialSet& set) { return mode_of(plan, set); }
VerifyMode verify_mode_of(const Plan& plan, const PairEnergySet& set) { return mode_of(plan, set); }
VerifyMode verify_mode_of(const Plan& plan, const CorrelationSet& set) { return mode_of(plan, set); }

std::vector<SystemRange> blocks_of(const Plan& plan, const SolveSet& set) {
  if (plan.is_memory_limited) return cut_into_blocks(set, plan.block_bytes);
  const bool verifies = plan.verify.kind != VerifyMode::Kind::none;
  return cut_into_blocks(set, usual_block_bytes(set, plan.block_bytes, plan.threads, verifies));
}
std::vector<PlaneRange> blocks_of(const Plan& plan, const PotentialSet& set) {
  return cut_into_blocks(set, plan.precision, plan.block_bytes, block_pairs(plan, set));
}
std::vector<SystemRange> blocks_of(const Plan& plan, const PairEnergySet& set) {
  return cut_into_blocks(set, plan.block_bytes, block_pairs(plan, set));
}
std::vector<SignalRange> blocks_of(const Plan& plan, const CorrelationSet& set) {
  if (plan.is_memory_limited) return cut_into_blocks(set, plan.block_bytes);
  return cut_into_blocks(set, usual_block_bytes(set, plan.block_bytes, plan.threads));
}

BlocksOfSet measure_blocks(const Plan& plan, const SolveSet& set) {
  return measure(plan, set, [&](const SystemRange& range) { return range.count * bytes_per_system(set); });
}
BlocksOfSet measure_blocks(const Plan& plan, const PotentialSet& set) {
  return measure(plan, set, [&](const PlaneRange& range) { return bytes_per_block(set, range, plan.precision); });
}
BlocksOfSet measure_blocks(const Plan& plan, const PairEnergySet& set) {
  return measure(plan, set, [&](const SystemRange& range) { return bytes_per_block(set, range); });
}
BlocksOfSet measure_blocks(const Plan& plan, const CorrelationSet& set) {
  return measure(plan, set, [&](const SignalRange& range) { return bytes_per_block(set, range); });
}

}  // namespace smallbatch
