// The pairs that the ladder of pair sums asks for: random charges of two groups in a box, on the host for the referee,
// on the device for every step.
#pragma once

#include <vector_types.h>

#include <cstdint>
#include <vector>

#include "bench/ladder.hpp"
#include "core/device_cuda.hpp"
#include "physics/pair_energy.hpp"

namespace smallbatch {

/// `rows` charges of group 1, then `columns` of group 2, uniform in one cube.
class PairProblem {
 public:
  PairProblem(std::int64_t rows, std::int64_t columns);

  std::int64_t rows, columns;

  [[nodiscard]] double pairs() const { return static_cast<double>(rows) * static_cast<double>(columns); }
  [[nodiscard]] ChargeBatch charges() const;  ///< host pointers
  /// Of the energy of all pairs; the referee is asked once.
  [[nodiscard]] Judgement judge(double energy) const;

 private:
  std::int64_t offset_[2];
  std::vector<double> position_, charge_;
  std::vector<std::int8_t> group_;
  mutable bool is_known_ = false;
  mutable double expected_ = 0, bound_ = 0;
};

/// The same on the device.
class DevicePairProblem : public PairProblem {
 public:
  DevicePairProblem(std::int64_t row_count, std::int64_t column_count);

  ChargeBatch device_charges;
  const float4 *a = nullptr, *b = nullptr;  ///< (rows), (columns): x, y, z and q
  double* energy = nullptr;                 ///< what every step computes
  std::int32_t* info = nullptr;
  double* partial = nullptr;  ///< room for what steps leave on the way: partial_sums of them
  void* workspace = nullptr;  ///< production's
  static constexpr std::int64_t partial_sums = 1 << 20;

  void poison(cudaStream_t stream) const;
  [[nodiscard]] Judgement judge_energy() const;

 private:
  DeviceMemory offset_, position_, charge_, group_, a_, b_, energy_, info_, partial_, workspace_;
};

}  // namespace smallbatch
