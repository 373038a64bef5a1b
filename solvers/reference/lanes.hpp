// The referee's judgement of several solved systems at once, one per SIMD lane. It is compiled once per instruction set
// (lanes_*.cpp, all from the body in lanes_body.hpp).
#pragma once

#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "core/usable_kernels.hpp"
#include "solvers/spd_referee.hpp"

namespace smallbatch {

/// Solved systems, stacked as in SpdBlock.
template <class T>
struct SolvedSystems {
  SpdShape shape;
  const T *a, *b, *x;
};

struct LaneJudgement {
  bool is_certain = false;  ///< false: there is no judgement; RefereeSystem must judge the system
  SpdJudgement judgement;
};

template <class T>
struct LanesOf {
  int lanes;  ///< systems that are judged at once
  /// Judges systems for which a backend without a pivot floor has info = 0. The judgement of systems[i] is
  /// judgements[i].
  void (*judge)(const SolvedSystems<T>& solved, std::span<const std::int64_t> systems, LaneJudgement* judgements);
};

/// The functions for one instruction set.
struct RefereeLanes {
  const char* name;
  LanesOf<float> float32;
  LanesOf<double> float64;

  template <class T>
  [[nodiscard]] const LanesOf<T>& of() const {
    if constexpr (std::is_same_v<T, float>)
      return float32;
    else
      return float64;
  }
};

extern const RefereeLanes referee_lanes_baseline;  ///< runs everywhere
extern const RefereeLanes referee_lanes_avx2;      ///< x86-64 with AVX2 and FMA
extern const RefereeLanes referee_lanes_avx512;    ///< x86-64 with AVX-512 F, DQ and VL

/// Returns the tables of functions that this processor can run, best first and baseline last.
inline std::vector<RefereeLanes> usable_referee_lanes() {
  return usable_kernels<referee_lanes_baseline, referee_lanes_avx2, referee_lanes_avx512>();
}

/// Computes spd_errors_over_bounds() of spd_referee.hpp with these lanes.
template <class T>
void spd_errors_over_bounds(const RefereeLanes& referee_lanes, const SpdBlock<T>& block, double pivot_floor,
                            std::span<const std::int64_t> systems, std::span<double> errors,
                            double rcond_overestimate = spd_rcond_overestimate);

}  // namespace smallbatch
