#include "bench/tables.hpp"

#include <algorithm>

#include "bench/solve_ladder.hpp"
#include "core/error.hpp"

namespace smallbatch {

namespace {

constexpr std::int64_t mebi = 1 << 20;
constexpr std::int64_t sample_batch = 1001;

template <class T>
LadderTable comparison(std::string name, const SpdShape& shape, std::int64_t batch) {
  return {std::move(name), [=] { return solve_comparison<T>(shape, batch); },
          [=] { return solve_comparison<T>(shape, sample_batch); }};
}

/// The same shape in single precision, and in double with half the systems.
void add_both(std::vector<LadderTable>& tables, const std::string& name, const SpdShape& shape, std::int64_t batch) {
  tables.push_back(comparison<float>(name, shape, batch));
  tables.push_back(comparison<double>(name, shape, batch / 2));
}

std::vector<LadderTable> make_tables() {
  std::vector<LadderTable> tables;
  tables.push_back(
      {"solve", [] { return solve_ladder<float>(mebi); }, [] { return solve_ladder<float>(sample_batch); }});
  tables.push_back(
      {"solve", [] { return solve_ladder<double>(mebi / 2); }, [] { return solve_ladder<double>(sample_batch); }});
  add_both(tables, "packed", {32, 1, Storage::packed_lower}, mebi);
  add_both(tables, "inverse", {32, 0, Storage::dense}, mebi / 2);
  for (const int n : {8, 16}) add_both(tables, "sizes", {n, 1, Storage::dense}, mebi);
  add_both(tables, "sizes", {64, 1, Storage::dense}, mebi / 4);
  for (const int nrhs : {4, 16}) add_both(tables, "rhs", {32, nrhs, Storage::dense}, mebi / 2);
  add_both(tables, "determinant", {32, 0, Storage::dense, true}, mebi);
  tables.push_back(
      {"potential", [] { return potential_ladder(256, 16384); }, [] { return potential_ladder(37, 301); }});
  return tables;
}

}  // namespace

const std::vector<LadderTable>& ladder_tables() {
  static const std::vector<LadderTable> tables = make_tables();
  return tables;
}

Ladder calls_ladder(std::int64_t batch) {
  Ladder ladder = solve_comparison<float>({32, 1, Storage::dense}, batch);
  std::erase_if(ladder.steps, [](const Step& step) { return step.name == "automatic_judged"; });
  return ladder;
}

std::vector<std::string> table_names() {
  std::vector<std::string> names;
  for (const LadderTable& table : ladder_tables())
    if (names.empty() || names.back() != table.name) names.push_back(table.name);
  names.emplace_back("calls");
  names.emplace_back("cpu");
  return names;
}

std::vector<std::string> parse_table_names(std::string_view list) {
  const std::vector<std::string> known = table_names();
  std::vector<std::string> names;
  for (std::size_t start = 0; start <= list.size();) {
    const std::size_t end = std::min(list.find(',', start), list.size());
    names.emplace_back(list.substr(start, end - start));
    if (std::find(known.begin(), known.end(), names.back()) == known.end()) {
      std::string all;
      for (const std::string& name : known) all += (all.empty() ? "" : ", ") + name;
      throw Error(ErrorKind::usage, "there is no table \"" + names.back() + "\" (they are " + all +
                                        "). Name those to print, with commas between");
    }
    start = end + 1;
  }
  return names;
}

}  // namespace smallbatch
