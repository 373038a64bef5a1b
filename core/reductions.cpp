#include "core/reductions.hpp"

#include <algorithm>
#include <vector>

#include "core/parallel.hpp"
#include "core/reduction_tree.hpp"

namespace smallbatch {

namespace {

/// A row of `Width` states, one per column. join_row() joins each state with that of another row; join() joins all
/// columns into one state.
template <class Operation, int Width>
class Columns {
 public:
  using State = typename Operation::State;
  Columns() { std::fill_n(column_, Width, Operation::empty()); }
  /// Joins a row, or the beginning of a row, with the states at(0) .. at(count-1).
  template <class At>
  void join_row(std::int64_t count, const At& at) {
    for (std::int64_t c = 0; c < count; ++c) column_[c] = Operation::join(column_[c], at(c));
  }
  State join() {
    for (int width = Width / 2; width > 0; width /= 2)
      for (int c = 0; c < width; ++c) column_[c] = Operation::join(column_[2 * c], column_[2 * c + 1]);
    return column_[0];
  }

 private:
  State column_[Width];
};

/// Returns the join of `count` states at(0), at(1), ... in rows of `Width`.
template <class Operation, int Width, class At>
typename Operation::State join_all(std::int64_t count, const At& at) {
  Columns<Operation, Width> columns;
  for (std::int64_t first = 0; first < count; first += Width)
    columns.join_row(std::min<std::int64_t>(Width, count - first), [&](std::int64_t c) { return at(first + c); });
  return columns.join();
}

}  // namespace

template <class T>
double reduce(Reduction reduction, Accumulation accumulation, const T* x, const T* y, std::int64_t count,
              unsigned threads) {
  return with_operation<T>(reduction, accumulation, [&]<class Operation>(Operation) {
    const std::int64_t of_leaf = leaf_values(count), leaves = leaf_count(count);
    std::vector<typename Operation::State> leaf(static_cast<std::size_t>(leaves));
    parallel_for(leaves, 16, threads, [&](std::int64_t first_leaf, std::int64_t last_leaf) {
      for (std::int64_t k = first_leaf; k < last_leaf; ++k) {
        const std::int64_t first = k * of_leaf;
        leaf[static_cast<std::size_t>(k)] = join_all<Operation, values_per_row<T>>(
            std::min(of_leaf, count - first),
            [&](std::int64_t i) { return Operation::of(x[first + i], reads_y<Operation> ? y[first + i] : T()); });
      }
    });
    return result_of<Operation>(
        join_all<Operation, leaves_per_row>(leaves, [&](std::int64_t k) { return leaf[static_cast<std::size_t>(k)]; }));
  });
}

template double reduce(Reduction, Accumulation, const float*, const float*, std::int64_t, unsigned);
template double reduce(Reduction, Accumulation, const double*, const double*, std::int64_t, unsigned);

}  // namespace smallbatch
