// The body of the CPU's inner loops, written once and compiled per instruction set. Include it in
// direct_sum_lanes_<set>.cpp only.
//
// Everything here has internal linkage, and nothing inline from the standard library is used: a function with external
// linkage compiled with AVX-512 could be the copy that the linker keeps for the whole program.
//
// A Lanes type names the set's vectors of float and double (GCC vector types, so that + - * and ?: work) and its
// inverse square roots.
#pragma once

#include "physics/direct_sum_lanes.hpp"
#include "physics/partial_sums.hpp"

namespace smallbatch {
namespace {

template <class Vector, class T>
Vector load(const T* from) {
  Vector v;
  __builtin_memcpy(&v, from, sizeof(v));
  return v;
}
template <class Vector, class T>
void store(T* to, Vector v) {
  __builtin_memcpy(to, &v, sizeof(v));
}

std::int64_t end_of(std::int64_t begin, std::int64_t length, std::int64_t most) {
  return most - begin < length ? most : begin + length;
}

// Several vectors of points at a time reuse each charge and hide the latency of the square root.
template <class Lanes>
void sum_single(const SingleCharges& charges, const SinglePoints& points, double* totals) {
  using Float = typename Lanes::Float;
  constexpr int width = sizeof(Float) / sizeof(float);
  constexpr int vectors = Lanes::float_vectors;
  static_assert(points_per_call % (width * vectors) == 0);
  for (int first = 0; first < points.count; first += width * vectors) {
    Float x[vectors], y[vectors], z[vectors];
    for (int v = 0; v < vectors; ++v) {
      x[v] = load<Float>(points.x + first + v * width);
      y[v] = load<Float>(points.y + first + v * width);
      z[v] = load<Float>(points.z + first + v * width);
    }
    double total[width * vectors] = {};
    for (std::int64_t begin = 0; begin < charges.count; begin += charges_per_partial_sum) {
      const std::int64_t end = end_of(begin, charges_per_partial_sum, charges.count);
      Float partial[vectors] = {};
      for (std::int64_t group_begin = begin; group_begin < end; group_begin += charges_per_group) {
        const std::int64_t group_end = end_of(group_begin, charges_per_group, end);
        Float group[vectors] = {};
        for (std::int64_t i = group_begin; i < group_end; ++i) {
          for (int v = 0; v < vectors; ++v) {
            const Float dx = x[v] - charges.x[i], dy = y[v] - charges.y[i], dz = z[v] - charges.z[i];
            group[v] += charges.q[i] * Lanes::inverse_sqrt(dx * dx + (dy * dy + dz * dz));
          }
        }
        for (int v = 0; v < vectors; ++v) partial[v] += group[v];
      }
      for (int v = 0; v < vectors; ++v)
        for (int lane = 0; lane < width; ++lane) total[v * width + lane] += static_cast<double>(partial[v][lane]);
    }
    __builtin_memcpy(totals + first, total, sizeof(total));
  }
}

template <class Lanes>
void sum_double(const DoubleCharges& charges, const DoublePoints& points, double singular_distance, DoubleSums& sums) {
  using Double = typename Lanes::Double;
  constexpr int width = sizeof(Double) / sizeof(double);
  const double singular_distance_squared = singular_distance * singular_distance;
  const Double none = {};
  for (int first = 0; first < points.count; first += width) {
    const Double x = load<Double>(points.x + first), x_low = load<Double>(points.x_low + first);
    const Double y = load<Double>(points.y + first), y_low = load<Double>(points.y_low + first);
    const Double z = load<Double>(points.z + first), z_low = load<Double>(points.z_low + first);
    Double total = {}, total_low = {}, net = {}, magnitude = {};
    for (std::int64_t begin = 0; begin < charges.count; begin += charges_per_group) {
      const std::int64_t end = end_of(begin, charges_per_group, charges.count);
      Double partial = {};
      for (std::int64_t i = begin; i < end; ++i) {
        const Double dx = (x - charges.x[i]) + (x_low - charges.x_low[i]);
        const Double dy = (y - charges.y[i]) + (y_low - charges.y_low[i]);
        const Double dz = (z - charges.z[i]) + (z_low - charges.z_low[i]);
        const Double r2 = dx * dx + (dy * dy + dz * dz);
        const auto on_point = r2 < singular_distance_squared;
        const double q = charges.q[i];
        const Double all_q = none + q, all_magnitude = none + (q < 0 ? -q : q);
        partial += on_point ? none : all_q * Lanes::inverse_sqrt(r2);
        net += on_point ? all_q : none;
        magnitude += on_point ? all_magnitude : none;
      }
      // total + total_low += partial, without loss (Knuth's two-sum)
      const Double sum = total + partial, gained = sum - total;
      total_low += (total - (sum - gained)) + (partial - gained);
      total = sum;
    }
    store(sums.others + first, total + total_low);
    store(sums.net + first, net);
    store(sums.magnitude + first, magnitude);
  }
}

template <class Lanes>
constexpr DirectSumLanes lanes_of(const char* name) {
  return {name, sum_single<Lanes>, sum_double<Lanes>};
}

}  // namespace
}  // namespace smallbatch
