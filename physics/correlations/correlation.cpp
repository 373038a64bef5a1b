#include "physics/correlation.hpp"

#include <cstring>
#include <limits>
#include <string>

#include "core/error.hpp"
#include "core/usable_kernels.hpp"
#include "physics/correlations/backends.hpp"

namespace smallbatch {

namespace {

template <class T>
void means_of_type(const void* sum, const std::int32_t* weight, std::int64_t count, float* mean) {
  for (std::int64_t i = 0; i < count; ++i) {
    T parts[2];
    std::memcpy(parts, static_cast<const std::byte*>(sum) + i * sizeof(parts), sizeof(parts));
    for (int part = 0; part < 2; ++part)
      mean[2 * i + part] = weight[i] == 0
                               ? std::numeric_limits<float>::quiet_NaN()
                               : static_cast<float>(static_cast<double>(parts[part]) / static_cast<double>(weight[i]));
  }
}

}  // namespace

void means_of(SumType type, const void* sum, const std::int32_t* weight, std::int64_t count, float* mean) {
  switch (type) {
    case SumType::complex_float32:
      return means_of_type<float>(sum, weight, count, mean);
    case SumType::complex_int32:
      return means_of_type<std::int32_t>(sum, weight, count, mean);
    case SumType::complex_int64:
      return means_of_type<std::int64_t>(sum, weight, count, mean);
  }
}

std::unique_ptr<Correlator> make_correlator(const Backend& backend) {
  switch (backend.kind) {
    case BackendKind::cuda:
      return make_cuda_correlator(backend.device);
    case BackendKind::cpu:
      return make_cpu_correlator(backend.threads,
                                 chosen_kernels(backend.instruction_set, usable_rank_update_kernels()));
    case BackendKind::reference:
      return make_reference_correlator(backend.threads);
  }
  throw Error(ErrorKind::usage, "unknown backend", "kind " + std::to_string(static_cast<int>(backend.kind)),
              "Use cuda, cpu or reference.");
}

}  // namespace smallbatch
