// Distribution of a batch's targets. Calls of the inner loops get tiles of up to 64 targets. Threads get pieces of
// several tiles.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "physics/charges/cpu/problem.hpp"

namespace smallbatch {

/// Problems of different lengths, cut into pieces. The pieces of all problems are numbered in one sequence.
class Pieces {
 public:
  struct Piece {
    std::int64_t problem, first, last;
  };
  explicit Pieces(std::int64_t most_per_piece) : most_per_piece_(most_per_piece) {}

  void add_problem(std::int64_t length) {
    length_.push_back(length);
    first_piece_.push_back(first_piece_.back() + (length + most_per_piece_ - 1) / most_per_piece_);
  }
  [[nodiscard]] std::int64_t count() const { return first_piece_.back(); }
  [[nodiscard]] Piece operator[](std::int64_t piece) const {
    const auto next = std::upper_bound(first_piece_.begin(), first_piece_.end(), piece);
    const std::int64_t problem = next - first_piece_.begin() - 1;
    const std::int64_t first = (piece - first_piece_[problem]) * most_per_piece_;
    return {problem, first, std::min(length_[problem], first + most_per_piece_)};
  }

 private:
  std::int64_t most_per_piece_;
  std::vector<std::int64_t> length_, first_piece_{0};
};

/// Tiles of one problem's targets: consecutive targets, or bricks of a lattice. The targets of a brick are close
/// together, so with a cut-off more charges can be skipped.
class TargetTiles {
 public:
  TargetTiles(const CpuTargets& targets, bool bricks) : targets_(targets), bricks_(bricks && targets.on_lattice()) {
    if (!bricks_) return;
    const LatticeBatch& lattice = targets.lattice();
    const std::int64_t points[3] = {lattice.shape.nx, lattice.shape.ny, lattice.plane_count};
    for (int doubled = 1; doubled < targets_per_call; doubled *= 2) {  // doubles the shortest edge that can grow
      int shortest = -1;
      for (int axis = 0; axis < 3; ++axis)
        if (edge_[axis] < points[axis] && (shortest < 0 || length(axis) < length(shortest))) shortest = axis;
      if (shortest >= 0) edge_[shortest] *= 2;
    }
    for (int axis = 0; axis < 3; ++axis) bricks_along_[axis] = (points[axis] + edge_[axis] - 1) / edge_[axis];
  }

  [[nodiscard]] std::int64_t count() const {
    if (bricks_) return bricks_along_[0] * bricks_along_[1] * bricks_along_[2];
    return (targets_.count() + targets_per_call - 1) / targets_per_call;
  }

  /// Writes the indices of a tile's targets to `index` and returns their number. Points and charges are taken in the
  /// order of `order`, or as given if `order` is empty.
  int list(std::int64_t tile, const std::vector<std::int64_t>& order, std::int64_t (&index)[targets_per_call]) const {
    int count = 0;
    if (!bricks_) {
      const std::int64_t first = tile * targets_per_call;
      const std::int64_t last = std::min(targets_.count(), first + targets_per_call);
      for (std::int64_t i = first; i < last; ++i) index[count++] = order.empty() ? i : order[i];
      return count;
    }
    const LatticeBatch& lattice = targets_.lattice();
    const std::int64_t nx = lattice.shape.nx, ny = lattice.shape.ny, nz = lattice.plane_count;
    const std::int64_t x0 = tile % bricks_along_[0] * edge_[0];
    const std::int64_t y0 = tile / bricks_along_[0] % bricks_along_[1] * edge_[1];
    const std::int64_t z0 = tile / bricks_along_[0] / bricks_along_[1] * edge_[2];
    for (std::int64_t z = z0; z < std::min(nz, z0 + edge_[2]); ++z)
      for (std::int64_t y = y0; y < std::min(ny, y0 + edge_[1]); ++y)
        for (std::int64_t x = x0; x < std::min(nx, x0 + edge_[0]); ++x) index[count++] = (z * ny + y) * nx + x;
    return count;
  }

 private:
  [[nodiscard]] double length(int axis) const { return static_cast<double>(edge_[axis]) * targets_.spacing()[axis]; }

  const CpuTargets& targets_;
  bool bricks_;
  std::int64_t edge_[3] = {1, 1, 1}, bricks_along_[3] = {0, 0, 0};
};

}  // namespace smallbatch
