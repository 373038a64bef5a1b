#include "app/run/estimates.hpp"

#include <algorithm>
#include <cmath>

#include "app/run/cut_into_blocks.hpp"
#include "app/verification/outcome.hpp"
#include "core/usable_kernels.hpp"

namespace smallbatch {
namespace {

constexpr double gpu_start = 0.35, bytes_per_second = 40e9;

/// Returns the slowness of an instruction set, relative to AVX-512. The rates below were measured with AVX-512.
double slowness(InstructionSet instruction_set) {
  const bool best = instruction_set == InstructionSet::best;
  if (instruction_set == InstructionSet::avx512 || (best && processor_has_avx512())) return 1;
  if (instruction_set == InstructionSet::avx2 || (best && processor_has_avx2())) return 1.8;
  return 6;
}

/// Returns the share of `total` systems or targets that the mode checks.
double share_of(const VerifyMode& verify, std::int64_t total) {
  using Kind = VerifyMode::Kind;
  if (verify.kind == Kind::none) return 0;
  if (verify.kind != Kind::sample || verify.sample >= total) return 1;
  return static_cast<double>(verify.sample) / static_cast<double>(total);
}

/// Returns the mean of cost(rows) over a set's systems.
template <class Cost>
double mean_over_sizes(const SolveSet& set, const Cost& cost) {
  if (!set.shape.has_sizes) return cost(set.shape.n);
  double sum = 0, systems = 0;
  for (std::size_t size = 0; size < set.systems_of_size.size(); ++size) {
    const auto count = static_cast<double>(set.systems_of_size[size]);
    sum += count * cost(static_cast<double>(size));
    systems += count;
  }
  return systems > 0 ? sum / systems : 0;
}

/// Adds the times of a set to the job. All n rows of each system are copied, even if the system has fewer rows.
void add(Estimate& job, const SolveSet& set, ScalarType /*precision*/, const VerifyMode& verify, double slowness) {
  const double n = set.shape.n, batch = static_cast<double>(set.batch), rhs = set.shape.nrhs;
  const bool is_double = set.type == ScalarType::float64, inverse = set.shape.wants_inverse();
  const double bytes = batch * static_cast<double>(bytes_per_system(set));
  job.cpu += batch * slowness * (is_double ? 1.8 : 1) * mean_over_sizes(set, [&](double m) {
               return 0.2e-6 + (1.2e-9 + 0.4e-9 * rhs) * m * m + (inverse ? 300e-12 : 60e-12) * m * m * m;
             });
  job.gpu += bytes / bytes_per_second + batch * (is_double ? 2 : 1) * (n > 32 ? 0.6e-12 : 0.15e-12) * n * n * n;
  job.referee +=
      share_of(verify, set.batch) * batch * slowness * (is_double ? 1.3 : 1) * mean_over_sizes(set, [&](double m) {
        return 0.3e-6 + (0.5e-9 + 0.4e-9 * rhs) * m * m + (inverse ? 200e-12 : 80e-12) * m * m * m;
      });
  job.read += bytes / bytes_per_second;
}

/// Returns the cost of a pair, relative to a pair of point charges. It is about the same on all backends and for the
/// referee.
double cost_of_pair(const ChargesOfSet& set) { return set.is_gaussian() ? 5 : set.screening_length > 0 ? 3 : 1; }

void add(Estimate& job, const PotentialSet& set, ScalarType precision, const VerifyMode& verify, double slowness) {
  const bool is_double = precision == ScalarType::float64;
  const double work = pairs(set) * cost_of_pair(set) * (set.has_field ? 1.8 : 1);
  const double charges = 32 * static_cast<double>(set.charges());
  job.cpu += work * slowness / (is_double ? 0.9e9 : 3.5e9);
  job.gpu += work / (is_double ? 0.8e12 : 1.6e12) +
             (charges + static_cast<double>(result_bytes(set, precision))) / bytes_per_second;
  job.referee += share_of(verify, set.targets_before(set.batch)) * work * slowness / (is_double ? 0.3e9 : 1.05e9);
  job.read += charges / bytes_per_second;
}

void add(Estimate& job, const PairEnergySet& set, ScalarType precision, const VerifyMode& verify, double slowness) {
  const bool is_double = precision == ScalarType::float64;
  // The CPU and the referee compute potentials: those of group 2 at group 1, or those of all charges at each charge.
  // The second way takes each pair twice.
  const double work = pairs(set) * cost_of_pair(set), potentials = work * (set.has_groups && !set.per_charge ? 1 : 2);
  const double charges = 32 * static_cast<double>(set.charges());
  job.cpu += potentials * slowness / (is_double ? 0.9e9 : 3.5e9);
  job.gpu += work / (is_double ? 0.58e12 : 3.2e12) + charges / bytes_per_second;
  job.referee += share_of(verify, set.batch) * potentials * slowness / (is_double ? 0.3e9 : 1.05e9);
  job.read += charges / bytes_per_second;
}

void add(Estimate& job, const CorrelationSet& set, ScalarType /*precision*/, const VerifyMode& verify,
         double slowness) {
  const double work = multiply_adds(set), samples = work * 2 / static_cast<double>(set.inputs + 1);
  const double bytes = samples * static_cast<double>(bytes_of(set.type) + (set.has_flags ? 1 : 0));
  const auto written = static_cast<double>(result_bytes(set));
  job.cpu += slowness * (work / 15e9 + samples * 0.5e-9);
  job.gpu += work / 4e12 + (bytes + written) / bytes_per_second;
  job.referee += share_of(verify, set.integrations() * set.batch * set.baselines()) * slowness *
                 (work / 7e9 + samples * 4e-9 + written * 0.5e-9);
  job.read += bytes / bytes_per_second;
}

}  // namespace

Estimate estimate(const ProblemReader& reader, ScalarType precision, const VerifyMode& verify,
                  InstructionSet instruction_set) {
  Estimate job;
  const double slow = slowness(instruction_set);
  for_each_set(reader.sets(), [&](const auto& set) { add(job, set, precision, verify, slow); });
  return job;
}

double seconds_on_cpu(const Estimate& job, double verified_share, unsigned threads) {
  return std::max(job.read, job.cpu / threads + job.referee / threads * verified_share);
}

double seconds_on_gpus(const Estimate& job, std::size_t gpus, double verified_share, unsigned threads) {
  return gpu_start + std::max({job.read, job.gpu / static_cast<double>(gpus), job.referee / threads * verified_share});
}

bool is_gpu_quicker(const Estimate& job, bool auto_verify, unsigned threads) {
  const auto share = [&](bool on_gpu) { return auto_verify ? affordable_share(job, on_gpu, threads) : 1; };
  return seconds_on_gpus(job, 1, share(true), threads) < seconds_on_cpu(job, share(false), threads);
}

double affordable_share(const Estimate& job, bool on_gpu, unsigned threads) {
  const double computing = std::max(job.read, on_gpu ? job.gpu : job.cpu / threads);
  const double affordable = 10 * computing + 2, everything = job.referee / threads;
  return everything <= affordable ? 1 : std::exp2(-std::ceil(std::log2(everything / affordable)));
}

VerifyMode mode_for(const VerifyMode& mode, std::int64_t total, double share, int parts) {
  using Kind = VerifyMode::Kind;
  if (mode.kind == Kind::sample) return {Kind::sample, (mode.sample - 1) / parts + 1};
  if (mode.kind != Kind::automatic) return mode;
  if (share >= 1) return {Kind::all, 0};
  return {Kind::sample, std::max<std::int64_t>(1, static_cast<std::int64_t>(share * static_cast<double>(total)))};
}

}  // namespace smallbatch
