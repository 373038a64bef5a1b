// Loading a group of systems from the caller's memory into vectors, and finding out what is wrong with A or b.
//
// Inspection costs nothing if nothing is wrong. The triangles are compared bit by bit while both are transposed. Only
// if a bit differs is the bound of core/systems.hpp evaluated. Transposing shuffles numbers and leaves the adders idle,
// so the norm of a dense A is summed at the same time. A NaN or an infinity in the input leads to a pivot that is not
// positive and finite, or to an infinite or NaN x. The input of a group is therefore searched for them only in these
// cases (judge.hpp).
//
// Compiled once per instruction set, so everything here has internal linkage (kernels_body.hpp says why).
#pragma once

#include <cstdint>

#include "core/systems.hpp"
#include "solvers/cpu/elimination.hpp"
#include "solvers/cpu/vectors.hpp"
#include "solvers/cpu/workspace.hpp"

namespace smallbatch {
namespace {

/// The input of a group.
template <class Work>
struct Input {
  using T = typename Work::Scalar;
  static constexpr int W = Work::lanes;
  using L = Lanes<T, W>;
  using Vector = typename L::Vector;
  using Mask = typename L::Mask;
  using Memory = Transposition<T, W>;

  const T *first_a, *first_b;  // first of the W systems of the group
  std::int64_t a_step, b_step;
  Mask differing;                  // lanes in which some a_ij and a_ji differ in a bit
  Mask not_finite, not_symmetric;  // found only in systems with triangles that differ
  bool has_norm = false;
  Vector norm;  // ||A||_inf, if has_norm

  /// Loads `used` systems of the task: A into work.a, b into work.b.
  void load(const Work& work, std::int64_t first, int used) {
    point_to(work, first, used);
    load_matrix(work);
    load_rhs(work);
  }

  /// Returns the lanes in which an element of the lower triangle of A is not finite.
  [[nodiscard]] Mask lower_not_finite(const Work& work) const {
    Mask bad{};
    for (int i = 0; i < work.n; ++i)
      for (int j = 0; j <= i; j += panel_rows) {
        Vector strip[panel_rows];
        load_strip(work, i, j, strip);
        for (int t = 0; t < panel_rows && j + t <= i; ++t) bad |= strip[t] - strip[t] != 0;
      }
    return bad;
  }
  /// Returns the lanes in which a number of b is not finite.
  [[nodiscard]] static Mask rhs_not_finite(const Work& work) {
    Mask bad{};
    for (std::int64_t e = 0; e < work.rhs_size; ++e) bad |= work.b[e] - work.b[e] != 0;
    return bad;
  }

 private:
  /// Points first_a and first_b to `used` systems of the task. If these are fewer than W, copies them, and repeats the
  /// last one in the other lanes.
  void point_to(const Work& work, std::int64_t first, int used) {
    const LdltTask<T>& task = work.task;
    first_a = task.a + first * task.a_step;
    first_b = task.b + (task.nrhs > 0 ? first * task.b_step : 0);
    a_step = task.a_step;
    b_step = task.b_step;
    if (used == W) return;
    for (int lane = 0; lane < W; ++lane) {
      const int k = lane < used ? lane : used - 1;
      __builtin_memcpy(work.few_a + lane * work.matrix_size, first_a + k * a_step, sizeof(T) * work.matrix_size);
      if (work.rhs_size > 0)
        __builtin_memcpy(work.few_b + lane * work.rhs_size, first_b + k * b_step, sizeof(T) * work.rhs_size);
    }
    first_a = work.few_a;
    first_b = work.few_b;
    a_step = work.matrix_size;
    b_step = work.rhs_size;
  }

  static std::int64_t row_begin(const Work& work, std::int64_t i) {
    return smallbatch::row_begin<std::int64_t>(work.task.storage, work.n, i);
  }
  void load_strip(const Work& work, int i, int j, Vector* to) const {
    const std::int64_t place = row_begin(work, i) + j;
    if (place + panel_rows <= work.matrix_size)
      Memory::load(first_a + place, a_step, to);
    else
      Memory::load_within(first_a, a_step, place, work.matrix_size, to);
  }
  /// Calls visit(i, j, a_ij, a_ji) for the elements of row i right of its diagonal block.
  template <class Visit>
  void visit_right_of_block(const Work& work, int i, Visit visit) const {
    Vector strip[panel_rows];
    int j = i / panel_rows * panel_rows + panel_rows;
    for (; j + panel_rows <= work.n; j += panel_rows) {
      load_strip(work, i, j, strip);
#pragma GCC unroll 4
      for (int t = 0; t < panel_rows; ++t) visit(i, j + t, strip[t], work.a[lower_place(j + t, i)]);
    }
    if (j >= work.n) return;
    load_strip(work, i, j, strip);
    for (int t = 0; j + t < work.n; ++t) visit(i, j + t, strip[t], work.a[lower_place(j + t, i)]);
  }
  /// Calls visit(i, j, a_ij, a_ji) for j > i within the diagonal blocks, which are loaded whole.
  template <class Visit>
  static void visit_blocks(const Work& work, Visit visit) {
    const auto with_panel = [&](int panel) __attribute__((always_inline)) {
      const int row0 = panel_rows * panel;
      const Vector* const block = work.a + panel_begin(panel) + panel_rows * row0;
#pragma GCC unroll 4
      for (int t = 1; t < panel_rows; ++t)
#pragma GCC unroll 4
        for (int m = 0; m < t; ++m)
          if (row0 + t < work.n) visit(row0 + m, row0 + t, block[panel_rows * t + m], block[panel_rows * m + t]);
    };
    for_panels(work.n, with_panel);
  }

  /// Loads the lower triangle into panels, and compares the upper triangle on the way. The last row comes first, so
  /// that a_ji, j > i, is loaded before a_ij.
  void load_matrix(const Work& work) {
    differing = not_finite = not_symmetric = Mask{};
    Mask difference{};  // local, so that it stays in a register
    has_norm = work.dense && work.n % panel_rows == 0 && work.loads_norm();
    if (has_norm)
      difference = load_chunks_and_norm(work, first_a, a_step, norm);
    else if (work.dense && work.n % panel_rows == 0)
      difference = load_chunks<false>(work, first_a, a_step, norm);
    else
      load_rows(work, difference);
    if (!work.dense) return;
    visit_blocks(work, [&difference](int, int, const Vector& upper, const Vector& lower) {
      difference |= (Mask)upper ^ (Mask)lower;
    });
    differing = difference;
    if (any(differing)) judge_differences(work);
  }
  void load_rows(const Work& work, Mask& difference) {
    for (int i = work.n - 1; i >= 0; --i) {
      const std::int64_t begin = row_begin(work, i);
      const int end = work.dense ? work.n : i + 1;
      Vector strips[Memory::chunk];
      int j = 0;
      for (; j < end && begin + j + Memory::chunk <= work.matrix_size; j += Memory::chunk) {
        Memory::load_chunk(first_a + begin + j, a_step, strips);
#pragma GCC unroll 4
        for (int s = 0; s < Memory::chunk; s += panel_rows)
          if (j + s < end) take_strip(work, i, j + s, strips + s, difference);
      }
      for (; j < end; j += panel_rows) {
        load_strip(work, i, j, strips);
        take_strip(work, i, j, strips, difference);
      }
    }
  }
  /// Loads A chunk by chunk, if n is a multiple of panel_rows. A chunk may end one row and begin another. Returns the
  /// bits in which the triangles differ. With `with_norm`, `norm` becomes ||A||_inf.
  template <bool with_norm>
  static Mask load_chunks(const Work& work, const T* first_a, std::int64_t a_step, Vector& norm) {
    static_assert(panel_rows * panel_rows % Memory::chunk == 0);
    Mask difference{};
    int i = work.n - 1, j = work.n - panel_rows;
    Vector largest{}, sum{};
    const auto take_chunk = [&](std::int64_t e) __attribute__((always_inline)) {
      Vector strips[Memory::chunk];
      Memory::load_chunk(first_a + e, a_step, strips);
#pragma GCC unroll 4
      for (int s = Memory::chunk - panel_rows; s >= 0; s -= panel_rows) {
        take_strip(work, i, j, strips + s, difference);
#pragma GCC unroll 4
        for (int t = panel_rows - 2; t >= 0 && with_norm; t -= 2)
          sum += absolute(strips[s + t + 1]) + absolute(strips[s + t]);
        j -= panel_rows;
        if (j >= 0) continue;
        j = work.n - panel_rows, --i;
        largest = larger(largest, sum);
        sum = Vector{};
      }
    };
    if constexpr (Work::is_known) {
#pragma GCC unroll 16
      for (std::int64_t e = work.matrix_size - Memory::chunk; e >= 0; e -= Memory::chunk) take_chunk(e);
    } else {
      for (std::int64_t e = work.matrix_size - Memory::chunk; e >= 0; e -= Memory::chunk) take_chunk(e);
    }
    if constexpr (with_norm) norm = largest;
    return difference;
  }
  /// Not inlined, so that load_matrix() stays small for tasks that need no norm.
  __attribute__((noinline)) static Mask load_chunks_and_norm(const Work& work, const T* first_a, std::int64_t a_step,
                                                             Vector& norm) {
    return load_chunks<true>(work, first_a, a_step, norm);
  }
  __attribute__((always_inline)) static void take_strip(const Work& work, int i, int j, const Vector* strip,
                                                        Mask& difference) {
    if (j <= i) {
      const std::int64_t place = panel_begin(i / panel_rows) + panel_rows * j + i % panel_rows;
#pragma GCC unroll 4
      for (int t = 0; t < panel_rows; ++t) work.a[place + panel_rows * t] = strip[t];
    } else {
      const Vector* const mirrored = work.a + panel_begin(j / panel_rows) + panel_rows * i;
      if (Work::is_known || j + panel_rows <= work.n) {
#pragma GCC unroll 4
        for (int t = 0; t < panel_rows; ++t) difference |= (Mask)strip[t] ^ (Mask)mirrored[t];
      } else {
        for (int t = 0; j + t < work.n; ++t) difference |= (Mask)strip[t] ^ (Mask)mirrored[t];
      }
    }
  }

  /// Decides whether a matrix with differing triangles is asymmetric, or has an element that is not finite.
  void judge_differences(const Work& work) {
    const int n = work.n;
    Vector root[max_system_size];
    for (int i = 0; i < n; ++i) {
      const Vector diagonal = absolute(work.a[lower_place(i, i)]);
      for (int lane = 0; lane < W; ++lane)
        root[i][lane] = static_cast<T>(__builtin_sqrt(diagonal[lane]));  // the square root in double, rounded, has the
                                                                         // same bits as in float
    }
    const auto judge = [this, &work, &root](int i, int j, const Vector& upper, const Vector& lower) {
      not_finite |= upper - upper != 0;
      const Vector bound = root[j] * (static_cast<T>(work.n) * L::eps);
      not_symmetric |= absolute(upper - lower) > bound * root[i];
    };
    for (int i = 0; i < n; ++i) visit_right_of_block(work, i, judge);
    visit_blocks(work, judge);
  }

  void load_rhs(const Work& work) {
    for (std::int64_t e = 0; e < work.rhs_size; e += 4) {
      if (e + 4 <= work.rhs_size)
        Memory::load(first_b + e, b_step, work.b + e);
      else
        Memory::load_within(first_b, b_step, e, work.rhs_size, work.b + e);
    }
  }
};

}  // namespace
}  // namespace smallbatch
