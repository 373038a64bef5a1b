// The problems of the ladders of potentials: random charges in the boxes of cubic lattices. Copies lie on the host for
// the referee, and on the device for the steps.
#pragma once

#include <vector_types.h>

#include <cstdint>
#include <span>
#include <vector>

#include "bench/ladder.hpp"
#include "core/device_cuda.hpp"
#include "core/potentials.hpp"

namespace smallbatch {

/// Lattices of one shape, with origin 0 and points 0.5 angstrom apart. Problem p has charges[p] charges, uniformly
/// distributed in the lattice's box.
class PotentialProblem {
 public:
  PotentialProblem(const LatticeShape& lattice_shape, const std::vector<std::int64_t>& charges);

  static constexpr double spacing = 0.5;
  LatticeShape shape;
  std::int64_t count;  ///< problems

  [[nodiscard]] std::int64_t points() const { return count * shape.points(); }
  [[nodiscard]] std::int64_t charge_count() const { return offset_.back(); }
  [[nodiscard]] double pairs() const {
    return static_cast<double>(shape.points()) * static_cast<double>(charge_count());
  }
  [[nodiscard]] ChargeBatch charges() const;  ///< host pointers
  [[nodiscard]] LatticeBatch lattice() const;

 private:
  std::vector<std::int64_t> offset_;
  std::vector<double> position_, charge_, origins_, spacings_;
};

/// A PotentialProblem with copies of its arrays on the device, and memory for the results.
class DevicePotentialProblem : public PotentialProblem {
 public:
  DevicePotentialProblem(const LatticeShape& lattice_shape, const std::vector<std::int64_t>& charges, bool with_field);

  ChargeBatch device_charges;
  LatticeBatch device_lattice;
  PotentialResult<float> result;           ///< field is null if it is not wanted
  const float4* single_charges = nullptr;  ///< (charge_count): x, y, z relative to the origin, and q

  /// Fills potential and field with NaN.
  void poison(cudaStream_t stream) const;

  /// Judges the potential, and the field if `with_field`.
  [[nodiscard]] Judgement judge(bool with_field) const;

 private:
  DeviceMemory offset_, position_, charge_, single_, origin_, spacing_, potential_, info_, field_;
};

/// Compares about 1000 targets, spread over all problems, with the referee. The error is infinite if any number is not
/// finite. All arrays lie in host memory. `field` is empty if it is not judged.
template <class T>
Judgement judge_potential(const ChargeBatch& charges, const LatticeBatch& lattice, std::span<const T> potential,
                          std::span<const T> field);

}  // namespace smallbatch
