// The problem of the ladder of pair sums: random charges of two groups in a box. Copies lie on the host for the
// referee, and on the device for the steps.
#pragma once

#include <vector_types.h>

#include <cstdint>
#include <vector>

#include "bench/ladder.hpp"
#include "core/device_cuda.hpp"
#include "physics/pair_energy.hpp"

namespace smallbatch {

/// `rows` charges of group 1, then `columns` charges of group 2, uniformly distributed in a cube.
class PairProblem {
 public:
  PairProblem(std::int64_t rows, std::int64_t columns);

  std::int64_t rows, columns;

  [[nodiscard]] double pairs() const { return static_cast<double>(rows) * static_cast<double>(columns); }
  [[nodiscard]] ChargeBatch charges() const;  ///< host pointers
  /// Judges the energy of all pairs. The referee computes only once.
  [[nodiscard]] Judgement judge(double energy) const;

 private:
  std::int64_t offset_[2];
  std::vector<double> position_, charge_;
  std::vector<std::int8_t> group_;
  mutable bool is_known_ = false;
  mutable double expected_ = 0, bound_ = 0;
};

/// A PairProblem with copies of its arrays on the device.
class DevicePairProblem : public PairProblem {
 public:
  DevicePairProblem(std::int64_t row_count, std::int64_t column_count);

  ChargeBatch device_charges;
  const float4 *a = nullptr, *b = nullptr;  ///< (rows), (columns): x, y, z and q
  double* energy = nullptr;                 ///< result of every step
  std::int32_t* info = nullptr;
  double* partial = nullptr;  ///< memory for partial_sums intermediate sums of the steps
  void* workspace = nullptr;  ///< workspace of the production launch
  static constexpr std::int64_t partial_sums = 1 << 20;

  void poison(cudaStream_t stream) const;
  [[nodiscard]] Judgement judge_energy() const;

 private:
  DeviceMemory offset_, position_, charge_, group_, a_, b_, energy_, info_, partial_, workspace_;
};

}  // namespace smallbatch
