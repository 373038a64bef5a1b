#include "physics/charges/cpu/value_summary.hpp"

#include <algorithm>
#include <cmath>

#include "core/grid_stride.hpp"
#include "physics/charges/cpu/pieces.hpp"

namespace smallbatch {

namespace {
constexpr std::int64_t values_per_piece = 4096;
}  // namespace

template <class T>
void summarise(const T* potential, const std::vector<std::int64_t>& first_value, unsigned threads,
               PotentialSummary* summary) {
  const auto summaries = static_cast<std::int64_t>(first_value.size()) - 1;
  Pieces pieces(values_per_piece);
  for (std::int64_t k = 0; k < summaries; ++k) pieces.add_problem(first_value[k + 1] - first_value[k]);
  std::vector<PotentialSummary> of_piece(static_cast<std::size_t>(pieces.count()));
  for_each_index_on_threads(pieces.count(), 16, threads, [&](std::int64_t i) {
    const auto [p, first, last] = pieces[i];
    for (std::int64_t k = first_value[p] + first; k < first_value[p] + last; ++k) {
      const double value = static_cast<double>(potential[k]);
      if (std::isfinite(value)) of_piece[i].add({value, value, value, 1});
    }
  });
  std::fill_n(summary, summaries, PotentialSummary{});
  for (std::int64_t i = 0; i < pieces.count(); ++i) summary[pieces[i].problem].add(of_piece[i]);
}

template void summarise(const float*, const std::vector<std::int64_t>&, unsigned, PotentialSummary*);
template void summarise(const double*, const std::vector<std::int64_t>&, unsigned, PotentialSummary*);

}  // namespace smallbatch
