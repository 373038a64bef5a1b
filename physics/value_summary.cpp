#include "physics/value_summary.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/parallel.hpp"
#include "physics/potential_cpu_pieces.hpp"

namespace smallbatch {

namespace {
constexpr std::int64_t values_per_piece = 4096;
constexpr double infinity = std::numeric_limits<double>::infinity();
}  // namespace

template <class T>
void summarise(const T* potential, const std::vector<std::int64_t>& first_value, unsigned threads,
               PotentialSummary* summary) {
  const auto problems = static_cast<std::int64_t>(first_value.size()) - 1;
  Pieces pieces(values_per_piece);
  for (std::int64_t p = 0; p < problems; ++p) pieces.add_problem(first_value[p + 1] - first_value[p]);
  std::vector<PotentialSummary> of_piece(static_cast<std::size_t>(pieces.count()), {infinity, -infinity, 0, 0});
  parallel_for(pieces.count(), 16, threads, [&](std::int64_t first_piece, std::int64_t last_piece) {
    for (std::int64_t i = first_piece; i < last_piece; ++i) {
      const auto [p, first, last] = pieces[i];
      for (std::int64_t k = first_value[p] + first; k < first_value[p] + last; ++k) {
        const double value = static_cast<double>(potential[k]);
        if (!std::isfinite(value)) continue;
        of_piece[i].lowest = std::min(of_piece[i].lowest, value);
        of_piece[i].highest = std::max(of_piece[i].highest, value);
        of_piece[i].sum += value;
        ++of_piece[i].values;
      }
    }
  });
  std::fill_n(summary, problems, PotentialSummary{infinity, -infinity, 0, 0});
  for (std::int64_t i = 0; i < pieces.count(); ++i) {
    PotentialSummary& all = summary[pieces[i].problem];
    all.lowest = std::min(all.lowest, of_piece[i].lowest);
    all.highest = std::max(all.highest, of_piece[i].highest);
    all.sum += of_piece[i].sum;
    all.values += of_piece[i].values;
  }
}

template void summarise(const float*, const std::vector<std::int64_t>&, unsigned, PotentialSummary*);
template void summarise(const double*, const std::vector<std::int64_t>&, unsigned, PotentialSummary*);

}  // namespace smallbatch
