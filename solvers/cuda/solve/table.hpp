// The table of kernels that solve systems of up to 64 rows by L D L^T, and of their compile-time parameters. The first
// row that fits is taken (launch.cpp). Kernels are compiled only for the rows of their family.
//
// A row is listed only if its kernel is at least 10 % faster than the rows below it. The gain must hold at a multiple
// of 8 or over a range of sizes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "core/scalar_type.hpp"
#include "core/systems.hpp"

namespace smallbatch {

/// Kernel families. A file with the family's name in solvers/cuda/solve/ says how it works.
enum class Family { pieces, columns, lanes, as_stored, one_pass, blocks };

/// Numbers that the caller wants. `x` means x and the status. `error` adds the backward error. `pivots` adds the
/// numbers that are computed from pivots. `everything` adds rcond.
enum class Asked : unsigned { x = 1, error = 2, pivots = 4, everything = 8 };
/// Alignment of matrices to 16 bytes. pieces: all rows, or packed triangles; aligned: the first matrix; anywhere: no
/// alignment.
enum class Arrival { pieces, aligned, anywhere };
/// Sizes of the systems in a batch. one: all have the same size; own: each has its own size; any: either.
enum class Sizes { one, own, any };

constexpr unsigned bit_of(Storage storage) { return 1U << static_cast<unsigned>(storage); }
constexpr unsigned bit_of(Asked asked) { return static_cast<unsigned>(asked); }
constexpr unsigned bit_of_sides(int nrhs) { return nrhs == 0 ? 1 : nrhs == 1 ? 2 : 4; }

/// A value for GPUs with enough registers for it (core/gpu_plans.cuh), and a value for all other GPUs.
template <class V>
struct HereElsewhere {
  V here, elsewhere;
};

/// Compile-time parameters of a kernel.
struct Schedule {
  int late = 0;                                  ///< rows at the beginning of a matrix that are fetched last
  int first_replaced = 0;                        ///< first of the rows that the late rows replace
  HereElsewhere<int> turning{0, 0};              ///< the steps of this many slots, from the first on, are in loops
  HereElsewhere<int> apart{0, 0};                ///< every `apart`-th elimination step runs in apart(); 0: none
  HereElsewhere<bool> back_apart{false, false};  ///< whether steps of the back substitution run in apart()
  bool early = false;                            ///< whether the next reciprocal is computed beside the rest of a step
  bool signs = false;                            ///< whether signs of pivots are kept in place of their reciprocals
};

struct SolveRow {
  // systems that the row is for
  ScalarType type;
  int first, last;    ///< rows of A
  unsigned storages;  ///< bits of Storage
  Arrival arrival;
  unsigned asked;  ///< bits of Asked
  unsigned sides;  ///< numbers of right-hand sides: bits of bit_of_sides()
  Sizes sizes;
  // the kernel that takes them
  Family family;
  int padded;                ///< rows of the kernel; 0: as many as A has
  int lanes;                 ///< lanes that share a system
  int shares;                ///< sums are added in the order of a kernel with lanes * shares lanes
  HereElsewhere<int> warps;  ///< warps that a multiprocessor holds at least
  Schedule schedule;
  const char* gain;  ///< gain over the rows below on an H200: 10^6 systems per second, or a ratio; empty: not measured

  /// Returns whether a launch needs at least as many systems as a warp takes.
  [[nodiscard]] constexpr bool needs_whole_task() const {
    return family == Family::pieces || family == Family::columns || family == Family::as_stored;
  }
  [[nodiscard]] constexpr int systems() const { return 32 / lanes; }
};

/// The properties of a batch that decide which row it gets.
struct SolveRequest {
  ScalarType type;
  int n, nrhs;
  Storage storage;
  Arrival arrival;
  Asked asked;
  bool has_sizes;
  std::int64_t count;
};

/// Makes the rows, one per line.
// clang-format off
struct SolveTable {
  static constexpr auto f32 = ScalarType::float32, f64 = ScalarType::float64;
  static constexpr unsigned dense = bit_of(Storage::dense), lower = bit_of(Storage::dense_lower);
  static constexpr unsigned packed = bit_of(Storage::packed_lower), any_storage = dense | lower | packed;
  static constexpr auto x = bit_of(Asked::x), error = bit_of(Asked::error);
  static constexpr auto everything = bit_of(Asked::everything), anything = 15U;
  static constexpr unsigned one_side = 2, several = 4, most_one = 3, any_sides = 7;

  static constexpr SolveRow pieces(ScalarType type, int n, unsigned storages, unsigned asked, int lanes, HereElsewhere<int> warps,
                                   Schedule schedule, const char* gain, Sizes sizes = Sizes::one) {
    return {type, n, n, storages, Arrival::pieces, asked, one_side, sizes,
            Family::pieces, n, lanes, 1, warps, schedule, gain};
  }
  static constexpr SolveRow columns(ScalarType type, int n, unsigned asked, int lanes, HereElsewhere<int> warps,
                                    Schedule schedule, const char* gain) {
    return {type, n, n, dense | lower, Arrival::pieces, asked, several, Sizes::one,
            Family::columns, n, lanes, 1, warps, schedule, gain};
  }
  static constexpr SolveRow lanes(ScalarType type, int first, int last, unsigned sides, int warps) {
    return {type, first, last, any_storage, Arrival::anywhere, anything, sides, Sizes::one,
            Family::lanes, 0, 1, 1, {warps, warps}, {}, ""};
  }
  static constexpr SolveRow as_stored(ScalarType type, int first, int last, unsigned asked, Arrival arrival, int lanes, int shares,
                                      HereElsewhere<int> warps, Schedule schedule, const char* gain) {
    return {type, first, last, asked == x ? dense | lower : dense, arrival, asked, one_side, Sizes::one,
            Family::as_stored, last, lanes, shares, warps, schedule, gain};
  }
  static constexpr SolveRow one_pass(ScalarType type, int first, int last, Arrival arrival, int lanes, int shares, int warps,
                                     Schedule schedule, const char* gain) {
    return {type, first, last, arrival == Arrival::pieces ? dense | lower : any_storage, arrival, anything, any_sides, Sizes::any,
            Family::one_pass, last, lanes, shares, {warps, warps}, schedule, gain};
  }
  static constexpr SolveRow blocks(int first, int last, unsigned asked, int warps) {
    return {f64, first, last, any_storage, Arrival::anywhere, asked, any_sides, Sizes::any,
            Family::blocks, last, 32, 1, {warps, warps}, {}, ""};
  }

  static constexpr auto at_pieces = Arrival::pieces, aligned = Arrival::aligned, anywhere = Arrival::anywhere;
  static constexpr HereElsewhere<bool> elsewhere{false, true}, always{true, true};

  static constexpr auto rows() {
    return std::to_array<SolveRow>({
      // single precision
      //     type, n, storages, asked, lanes, warps
      pieces(f32, 8, dense | lower, x, 4, {16, 16}, {}, ""),
      pieces(f32, 16, dense | lower, x, 4, {16, 12}, {}, ""),
      pieces(f32, 16, packed, x, 4, {16, 12}, {}, ""),
      pieces(f32, 32, dense | lower, x, 4, {8, 8}, {.turning = {4, 0}, .apart = {0, 8}}, ""),
      pieces(f32, 32, dense | lower, x, 4, {8, 8}, {.turning = {4, 0}, .apart = {0, 8}}, "922 for 577", Sizes::own),
      pieces(f32, 32, packed, x, 4, {8, 8}, {.turning = {4, 0}, .apart = {0, 8}}, ""),
      pieces(f32, 32, dense, error, 4, {8, 8}, {.turning = {4, 0}, .apart = {0, 8}}, "803 for 565"),
      pieces(f32, 32, dense, error, 4, {8, 8}, {.turning = {4, 0}, .apart = {0, 8}}, "695 for 460", Sizes::own),
      pieces(f32, 32, lower, error, 4, {8, 8}, {.turning = {4, 0}, .apart = {0, 8}}, "758 for 582"),
      pieces(f32, 32, packed, error, 4, {8, 8}, {.turning = {4, 0}, .apart = {0, 8}}, "721 for 498"),
      pieces(f32, 32, dense, everything, 4, {8, 8}, {.turning = {4, 0}, .apart = {0, 8}}, "429 for 344"),
      pieces(f32, 64, dense | lower, x, 16, {8, 8}, {.apart = {8, 4}}, ""),
      pieces(f32, 64, packed, x, 16, {8, 8}, {.apart = {8, 4}}, ""),
      pieces(f32, 64, dense, error, 16, {8, 8}, {.apart = {8, 4}}, "84 for 51"),
      pieces(f32, 64, dense, everything, 16, {8, 8}, {.turning = {4, 4}, .apart = {0, 1}}, "56 for 30"),
      columns(f32, 32, x, 4, {8, 8}, {.turning = {4, 0}, .apart = {0, 8}}, "4 sides 698 for 427, 16 sides 308 for 122"),
      columns(f32, 32, error, 4, {8, 8}, {.turning = {4, 0}, .apart = {0, 8}}, "4 sides 465 for 220, 16 sides 162 for 59"),
      lanes(f32, 1, 4, any_sides, 32),
      lanes(f32, 5, 5, any_sides, 24),
      lanes(f32, 6, 6, any_sides, 20),
      lanes(f32, 7, 7, any_sides, 16),
      lanes(f32, 8, 8, any_sides, 12),
      lanes(f32, 9, 13, most_one, 12),
      lanes(f32, 14, 16, most_one, 8),
      //        type, first, last, asked, arrival, lanes, shares, warps
      as_stored(f32, 40, 40, x, at_pieces, 8, 2, {8, 8}, {.late = 16, .first_replaced = 24, .apart = {0, 2}, .back_apart = elsewhere}, "n = 40: 435 for 374"),
      as_stored(f32, 48, 48, x, at_pieces, 8, 2, {8, 8}, {.late = 24, .first_replaced = 24, .apart = {0, 2}, .back_apart = elsewhere}, "n = 48: 264 for 230"),
      as_stored(f32, 56, 56, x, at_pieces, 16, 1, {8, 8}, {.late = 16, .first_replaced = 48, .apart = {8, 2}, .back_apart = elsewhere}, "n = 56: 129 for 117"),
      as_stored(f32, 17, 20, x, aligned, 4, 1, {16, 12}, {.turning = {2, 2}}, "n = 17: 1.33 times"),
      as_stored(f32, 21, 24, x, aligned, 4, 1, {12, 12}, {.turning = {2, 0}, .apart = {0, 4}, .back_apart = elsewhere}, "n = 21, 24: 1.38, 1.21 times"),
      as_stored(f32, 25, 28, x, aligned, 4, 1, {8, 8}, {.turning = {2, 0}, .apart = {0, 4}, .back_apart = elsewhere}, "n = 25, 28: 1.52, 1.35 times"),
      as_stored(f32, 29, 32, x, aligned, 4, 1, {8, 8}, {.late = 8, .first_replaced = 24, .apart = {0, 4}, .back_apart = elsewhere}, "n = 29: 1.14 times"),
      as_stored(f32, 33, 36, x, aligned, 4, 4, {8, 8}, {.late = 16, .first_replaced = 16, .apart = {0, 2}, .back_apart = elsewhere}, "n = 33, 36: 1.30, 1.20 times"),
      as_stored(f32, 37, 40, x, aligned, 8, 2, {8, 8}, {.late = 16, .first_replaced = 24, .apart = {8, 2}, .back_apart = elsewhere}, "n = 37, 40: 1.23, 1.11 times"),
      as_stored(f32, 41, 48, x, aligned, 8, 2, {8, 8}, {.late = 16, .first_replaced = 32, .apart = {8, 2}, .back_apart = elsewhere}, "n = 41: 1.23 times"),
      as_stored(f32, 49, 56, x, aligned, 16, 1, {8, 8}, {.apart = {8, 2}, .back_apart = elsewhere}, ""),
      as_stored(f32, 57, 64, x, aligned, 16, 1, {8, 8}, {.late = 16, .first_replaced = 48, .apart = {8, 2}, .back_apart = elsewhere}, "n = 57: 1.16 times"),
      as_stored(f32, 17, 20, error, aligned, 4, 1, {16, 12}, {.first_replaced = 20, .turning = {2, 2}}, "n = 17: 1.70 times"),
      as_stored(f32, 21, 24, error, aligned, 4, 1, {12, 12}, {.first_replaced = 24, .turning = {2, 0}, .apart = {0, 4}, .back_apart = elsewhere}, "n = 21, 24: 1.89, 1.32 times"),
      as_stored(f32, 25, 28, error, aligned, 4, 1, {8, 8}, {.first_replaced = 28, .turning = {2, 0}, .apart = {0, 4}, .back_apart = elsewhere}, "n = 25, 28: 1.71, 1.58 times"),
      as_stored(f32, 29, 32, error, aligned, 4, 1, {8, 8}, {.late = 8, .first_replaced = 24, .apart = {0, 4}, .back_apart = elsewhere}, "n = 29: 1.51 times"),
      as_stored(f32, 33, 36, error, aligned, 4, 4, {7, 7}, {.late = 16, .first_replaced = 20, .apart = {8, 2}, .back_apart = elsewhere}, "n = 33: 1.35 times"),
      as_stored(f32, 37, 40, error, aligned, 8, 2, {8, 8}, {.late = 8, .first_replaced = 32, .apart = {16, 2}, .back_apart = elsewhere}, "n = 37: 1.28 times"),
      as_stored(f32, 41, 48, error, aligned, 8, 2, {7, 7}, {.late = 16, .first_replaced = 32, .apart = {8, 2}, .back_apart = elsewhere}, "n = 41, 48: 1.78, 1.13 times"),
      as_stored(f32, 49, 56, error, aligned, 16, 1, {8, 8}, {.first_replaced = 56, .apart = {8, 2}, .back_apart = elsewhere}, "n = 49: 1.49 times"),
      as_stored(f32, 57, 64, error, aligned, 16, 1, {8, 8}, {.late = 16, .first_replaced = 48, .apart = {8, 2}, .back_apart = elsewhere}, "n = 57: 1.58 times"),
      as_stored(f32, 17, 20, everything, aligned, 4, 1, {12, 12}, {.first_replaced = 20, .turning = {2, 2}}, "n = 17: 1.34 times"),
      as_stored(f32, 21, 24, everything, aligned, 4, 1, {8, 8}, {.first_replaced = 24, .turning = {2, 2}}, "n = 21, 24: 1.42, 1.17 times"),
      as_stored(f32, 25, 28, everything, aligned, 4, 1, {8, 8}, {.first_replaced = 28, .turning = {2, 2}, .apart = {0, 8}}, "n = 25, 28: 1.50, 1.32 times"),
      as_stored(f32, 29, 32, everything, aligned, 4, 1, {8, 8}, {.late = 8, .first_replaced = 24, .apart = {0, 8}}, "n = 29: 1.52 times"),
      //       type, first, last, arrival, lanes, shares, warps
      one_pass(f32, 13, 16, at_pieces, 4, 1, 12, {}, ""),
      one_pass(f32, 17, 20, at_pieces, 4, 1, 12, {.turning = {2, 2}}, ""),
      one_pass(f32, 21, 24, at_pieces, 4, 1, 8, {.turning = {2, 2}}, ""),
      one_pass(f32, 25, 32, at_pieces, 4, 1, 8, {.turning = {2, 0}, .apart = {0, 8}}, ""),
      one_pass(f32, 33, 36, at_pieces, 8, 2, 8, {.apart = {1, 1}, .back_apart = always}, ""),
      one_pass(f32, 37, 40, at_pieces, 8, 2, 8, {.apart = {1, 1}, .back_apart = always}, ""),
      one_pass(f32, 41, 48, at_pieces, 16, 1, 8, {.apart = {1, 1}, .back_apart = always}, ""),
      one_pass(f32, 49, 56, at_pieces, 16, 1, 8, {.apart = {1, 1}, .back_apart = always}, ""),
      one_pass(f32, 57, 64, at_pieces, 16, 1, 8, {.apart = {1, 1}, .back_apart = always}, ""),
      one_pass(f32, 1, 8, anywhere, 4, 1, 16, {}, ""),
      one_pass(f32, 9, 12, anywhere, 4, 1, 16, {}, ""),
      one_pass(f32, 13, 16, anywhere, 4, 1, 12, {}, ""),
      one_pass(f32, 17, 20, anywhere, 4, 1, 12, {.turning = {2, 2}}, ""),
      one_pass(f32, 21, 24, anywhere, 4, 1, 8, {.turning = {2, 2}}, ""),
      one_pass(f32, 25, 32, anywhere, 4, 1, 8, {.apart = {0, 8}}, "n = 28: quicker than a kernel of 28 rows"),
      one_pass(f32, 33, 36, anywhere, 8, 2, 8, {.apart = {1, 1}, .back_apart = always}, ""),
      one_pass(f32, 37, 40, anywhere, 8, 2, 8, {.apart = {1, 1}, .back_apart = always}, ""),
      one_pass(f32, 41, 48, anywhere, 16, 1, 8, {.apart = {1, 1}, .back_apart = always}, ""),
      one_pass(f32, 49, 56, anywhere, 16, 1, 8, {.apart = {1, 1}, .back_apart = always}, ""),
      one_pass(f32, 57, 64, anywhere, 16, 1, 8, {.apart = {1, 1}, .back_apart = always}, ""),
      // double precision
      pieces(f64, 8, dense | lower, x, 4, {16, 16}, {}, ""),
      pieces(f64, 16, dense | lower, x, 4, {12, 12}, {.apart = {1, 1}, .back_apart = always}, ""),
      pieces(f64, 16, packed, x, 4, {12, 12}, {.apart = {1, 1}, .back_apart = always}, ""),
      pieces(f64, 32, dense | lower, x, 8, {8, 8}, {.apart = {2, 1}, .early = true, .signs = true}, ""),
      pieces(f64, 32, dense | lower, x, 8, {8, 8}, {.apart = {2, 1}, .early = true, .signs = true}, "371 for 250", Sizes::own),
      pieces(f64, 32, packed, x, 8, {8, 8}, {.apart = {2, 1}, .early = true, .signs = true}, ""),
      pieces(f64, 32, dense, error, 8, {8, 8}, {.apart = {1, 1}, .back_apart = always, .early = true}, "302 for 270"),
      pieces(f64, 32, dense, error, 8, {8, 8}, {.apart = {1, 1}, .back_apart = always, .early = true}, "287 for 202", Sizes::own),
      pieces(f64, 32, lower, error, 8, {8, 8}, {.apart = {1, 1}, .back_apart = always, .early = true}, ""),
      pieces(f64, 32, packed, error, 8, {8, 8}, {.apart = {1, 1}, .back_apart = always, .early = true}, "323 for 246"),
      pieces(f64, 32, dense, everything, 8, {8, 8}, {.apart = {1, 1}, .back_apart = always}, "172 for 140"),
      columns(f64, 16, x, 4, {12, 8}, {.apart = {1, 1}, .back_apart = always}, "4 sides 1087 for 871, 16 sides 398 for 137"),
      columns(f64, 32, x, 8, {8, 8}, {.apart = {1, 1}, .back_apart = always}, "4 sides 212 for 184, 16 sides 73 for 55"),
      lanes(f64, 1, 3, any_sides, 20),
      lanes(f64, 4, 5, any_sides, 16),
      lanes(f64, 6, 6, any_sides, 12),
      lanes(f64, 7, 8, any_sides, 8),
      lanes(f64, 9, 12, most_one, 8),
      as_stored(f64, 13, 16, x, aligned, 4, 1, {12, 12}, {.apart = {2, 1}, .signs = true}, ""),
      as_stored(f64, 17, 20, x, aligned, 4, 2, {12, 8}, {.late = 4, .first_replaced = 4, .apart = {2, 1}, .signs = true}, "n = 17: 1.48 times"),
      as_stored(f64, 21, 24, x, aligned, 4, 2, {8, 8}, {.late = 8, .first_replaced = 16, .apart = {1, 1}, .signs = true}, "n = 21: 1.16 times"),
      as_stored(f64, 25, 28, x, aligned, 8, 1, {8, 8}, {.late = 8, .first_replaced = 24, .apart = {2, 1}, .signs = true}, "n = 25: 1.10 times"),
      as_stored(f64, 29, 32, x, aligned, 8, 1, {8, 8}, {.late = 8, .first_replaced = 16, .apart = {2, 1}, .signs = true}, "n = 29: 1.07 times, signs and places not counted"),
      as_stored(f64, 13, 16, error, aligned, 4, 1, {12, 12}, {.first_replaced = 16, .apart = {1, 1}, .back_apart = always}, "n = 13: 1.34 times"),
      as_stored(f64, 17, 20, error, aligned, 4, 2, {12, 8}, {.first_replaced = 20, .apart = {1, 1}, .back_apart = always}, "n = 17: 1.57 times"),
      as_stored(f64, 21, 24, error, aligned, 4, 2, {8, 8}, {.late = 8, .first_replaced = 16, .apart = {1, 1}, .back_apart = always}, "n = 21: 1.36 times"),
      as_stored(f64, 25, 28, error, aligned, 8, 1, {8, 8}, {.first_replaced = 28, .apart = {1, 1}, .back_apart = always}, "n = 25: 1.26 times"),
      as_stored(f64, 29, 32, error, aligned, 8, 1, {8, 8}, {.late = 8, .first_replaced = 24, .apart = {1, 1}, .back_apart = always}, "n = 29: 1.36 times"),
      as_stored(f64, 17, 20, everything, aligned, 4, 2, {8, 8}, {.first_replaced = 20, .apart = {1, 1}, .back_apart = always}, "n = 18, 20: 1.51, 1.25 times"),
      as_stored(f64, 25, 28, everything, aligned, 8, 1, {8, 8}, {.first_replaced = 28, .apart = {1, 1}, .back_apart = always}, "n = 26, 28: 1.40, 1.19 times"),
      as_stored(f64, 29, 32, everything, aligned, 8, 1, {8, 8}, {.late = 8, .first_replaced = 24, .apart = {1, 1}, .back_apart = always}, "n = 29: 1.36 times"),
      one_pass(f64, 13, 16, at_pieces, 4, 1, 8, {.apart = {1, 1}, .back_apart = always}, ""),
      one_pass(f64, 17, 20, at_pieces, 4, 2, 8, {.apart = {1, 1}, .back_apart = always}, ""),
      one_pass(f64, 21, 24, at_pieces, 8, 1, 8, {.apart = {1, 1}, .back_apart = always}, ""),
      one_pass(f64, 29, 32, at_pieces, 8, 1, 8, {.apart = {1, 1}, .back_apart = always}, ""),
      one_pass(f64, 1, 8, anywhere, 4, 1, 12, {}, ""),
      one_pass(f64, 9, 12, anywhere, 4, 1, 8, {}, ""),
      one_pass(f64, 13, 16, anywhere, 4, 1, 8, {.apart = {1, 1}, .back_apart = always}, ""),
      one_pass(f64, 17, 20, anywhere, 4, 2, 8, {.apart = {1, 1}, .back_apart = always}, ""),
      one_pass(f64, 21, 24, anywhere, 4, 2, 8, {.apart = {1, 1}, .back_apart = always}, ""),
      one_pass(f64, 25, 28, anywhere, 8, 1, 8, {.apart = {1, 1}, .back_apart = always}, ""),
      one_pass(f64, 29, 32, anywhere, 8, 1, 8, {.apart = {1, 1}, .back_apart = always}, ""),
      blocks(33, 40, x, 16),
      blocks(41, 48, x, 12),
      blocks(49, 56, x, 8),
      blocks(57, 64, x, 8),
      blocks(33, 40, anything, 12),
      blocks(41, 48, anything, 12),
      blocks(49, 56, anything, 8),
      blocks(57, 64, anything, 8),
    });
  }
};

// clang-format on

inline constexpr auto solve_table = SolveTable::rows();

constexpr bool fits(const SolveRow& row, const SolveRequest& request) {
  return row.type == request.type && row.first <= request.n && request.n <= row.last &&
         (row.storages & bit_of(request.storage)) != 0 && request.arrival <= row.arrival &&
         (row.asked & bit_of(request.asked)) != 0 && (row.sides & bit_of_sides(request.nrhs)) != 0 &&
         (row.sizes == Sizes::any || (row.sizes == Sizes::own) == request.has_sizes) &&
         (!row.needs_whole_task() || request.count >= row.systems());
}

/// Returns the first row that fits. The last rows take every size.
constexpr const SolveRow& choose_row(const SolveRequest& request) {
  for (const SolveRow& row : solve_table)
    if (fits(row, request)) return row;
  return solve_table.back();
}

/// Returns the row that a kernel is compiled for. It is a compile error if there is none.
consteval const SolveRow& row_of(ScalarType type, Family family, int padded, Asked asked,
                                 Arrival arrival = Arrival::pieces) {
  for (const SolveRow& row : solve_table)
    if (row.type == type && row.family == family && (row.asked & bit_of(asked)) != 0 && row.arrival == arrival &&
        (row.padded == padded || (row.padded == 0 && row.first <= padded && padded <= row.last)))
      return row;
  throw "no such row";
}

/// Calls use<i>(), where i is the index of `row` in solve_table. `row` must belong to `family`. The call is
/// instantiated only for rows of this family, so that only their kernels are compiled.
template <class T, Family family, class Use>
void with_row(const SolveRow& row, Use&& use) {
  [&]<std::size_t... i>(std::index_sequence<i...>) {
    (
        [&] {
          if constexpr (solve_table[i].type == scalar_type_of<T> && solve_table[i].family == family)
            if (&row == &solve_table[i]) use.template operator()<i>();
        }(),
        ...);
  }
  (std::make_index_sequence<solve_table.size()>{});
}

}  // namespace smallbatch
