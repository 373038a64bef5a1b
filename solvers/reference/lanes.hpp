// The referee's judgement of several solved systems at once, one per SIMD lane; compiled once per instruction set
// (lanes_*.cpp, all from the one body in lanes_body.hpp).
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
  bool is_certain = false;  ///< or else the system needs a closer look, and there is no judgement
  SpdJudgement judgement;
};

template <class T>
struct LanesOf {
  int lanes;  ///< systems judged at once
  /// Judges these systems, for which a backend without a floor of pivots has info = 0; judgements[i] of systems[i].
  void (*judge)(const SolvedSystems<T>& solved, std::span<const std::int64_t> systems, LaneJudgement* judgements);
};

/// One instruction set.
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

/// What this processor can run, best first; baseline is always the last.
inline std::vector<RefereeLanes> usable_referee_lanes() {
  return usable_kernels<referee_lanes_baseline, referee_lanes_avx2, referee_lanes_avx512>();
}

/// spd_errors_over_bounds() of spd_referee.hpp, by these lanes.
template <class T>
void spd_errors_over_bounds(const RefereeLanes& referee_lanes, const SpdBlock<T>& block, double pivot_floor,
                            std::span<const std::int64_t> systems, std::span<double> errors,
                            double rcond_overestimate = spd_rcond_overestimate);

}  // namespace smallbatch
