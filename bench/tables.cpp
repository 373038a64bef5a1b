#include "bench/tables.hpp"

#include <algorithm>
#include <utility>

#include "bench/correlation_host.hpp"
#include "bench/correlation_ladder.hpp"
#include "bench/pair_ladder.hpp"
#include "bench/potential_host.hpp"
#include "bench/potential_ladder.hpp"
#include "bench/reduce_ladder.hpp"
#include "bench/saxpy.hpp"
#include "bench/solve_ladder.hpp"
#include "bench/unroll.hpp"
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

/// Adds a table for a shape in single precision, and a table in double precision with half as many systems.
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
  tables.push_back({"many_sizes", [] { return solve_of_many_sizes<float>(32, 8, mebi); },
                    [] { return solve_of_many_sizes<float>(32, 8, sample_batch); }});
  tables.push_back({"many_sizes", [] { return solve_of_many_sizes<double>(32, 8, mebi / 2); },
                    [] { return solve_of_many_sizes<double>(32, 8, sample_batch); }});
  for (const int nrhs : {4, 16}) add_both(tables, "rhs", {32, nrhs, Storage::dense}, mebi / 2);
  add_both(tables, "determinant", {32, 0, Storage::dense, true}, mebi);
  tables.push_back(
      {"potential", [] { return potential_ladder(256, 16384); }, [] { return potential_ladder(133, 301); }});
  tables.push_back({"field", [] { return field_ladder(256, 16384); }, [] { return field_ladder(37, 301); }});
  tables.push_back({"potential_cpu", [] { return host_potential_ladder<float>(256, 4096, 1); },
                    [] { return host_potential_ladder<float>(37, 301, 3); }});
  tables.push_back({"potential_cpu", [] { return host_potential_ladder<double>(256, 4096, 1); },
                    [] { return host_potential_ladder<double>(37, 301, 3); }});
  tables.push_back({"reduce", [] { return reduce_ladder(256 * mebi); }, [] { return reduce_ladder(1'000'003); }});
  tables.push_back({"saxpy", [] { return saxpy_ladder(256 * mebi); }, [] { return saxpy_ladder(1'000'003); }});
  for (const int values : {64, 512})
    tables.push_back({"unroll", [=] { return unroll_ladder(values); }, [] { return unroll_ladder(16); }});
  tables.push_back(
      {"correlation", [] { return correlation_ladder(256, 512); }, [] { return correlation_ladder(37, 2); }});
  constexpr SampleType types[]{SampleType::complex_float32, SampleType::complex_int8};
  for (const SampleType type : types)
    for (const std::int64_t inputs : {4, 8, 16, 32, 64, 128, 256, 512}) {
      const std::int64_t channels = (type == SampleType::complex_int8 ? 512 : 256) * mebi / (1024 * inputs);
      tables.push_back({"correlation_sizes", [=] { return correlation_comparison(type, inputs, channels); },
                        [=] { return correlation_comparison(type, inputs + 1, 3); }});
    }
  for (const SampleType type : types)
    for (const std::int64_t inputs : {16, 64, 128, 256})
      tables.push_back({"correlation_cpu", [=] { return host_correlation_ladder(type, inputs, 64); },
                        [=] { return host_correlation_ladder(type, inputs / 8 + 1, 3); }});
  tables.push_back({"pair_sum", [] { return pair_ladder(1 << 17, 1 << 17); }, [] { return pair_ladder(1333, 4500); }});
  return tables;
}

/// Returns a table with a row for every size. Rows for multiples of 8 also have steps of other libraries. Each batch
/// has about one GiB.
template <class T>
SizesTable of_sizes(const std::string& title, std::vector<int> sizes, int nrhs) {
  SizesTable table{title + (sizeof(T) == 4 ? "float32" : "float64"), std::move(sizes), {}, 0};
  for (const int n : table.sizes) {
    const SpdShape shape{n, nrhs, Storage::dense};
    const bool with_others = n % 8 == 0;
    if (n == 8) table.fullest = table.rows.size();
    const std::int64_t batch =
        std::min(16 * mebi, 1024 * mebi / (shape.matrix_size() * static_cast<std::int64_t>(sizeof(T))));
    table.rows.push_back({"sizes", [=] { return solve_of_size<T>(shape, batch, with_others); },
                          [=] { return solve_of_size<T>(shape, 101, with_others); }});
  }
  return table;
}

template <class T>
SizesTable solutions_of_sizes() {
  std::vector<int> sizes;
  for (int n = 1; n <= 64; ++n) sizes.push_back(n);
  for (int n = 72; n <= max_system_size; n += 8) sizes.push_back(n);
  for (const int n : {65, 81, 100, 126, 135}) sizes.insert(std::ranges::lower_bound(sizes, n), n);
  return of_sizes<T>("Every size: solve, one right-hand side, dense, ", std::move(sizes), 1);
}

template <class T>
SizesTable inverses_of_sizes() {
  std::vector<int> sizes;
  for (int n = 8; n <= 64; n += 8) sizes.push_back(n);
  for (const int n : {96, 128, 192, 256}) sizes.push_back(n);
  return of_sizes<T>("Every size: inverse, dense, ", std::move(sizes), 0);
}

/// Returns the table of the production call on a cubic lattice.
LadderTable production_table(std::string name, std::int64_t edge, std::int64_t charges) {
  return {std::move(name), [=] { return production_potential_ladder(edge, charges); },
          [=] { return production_potential_ladder(edge / 8 + 3, charges / 8 + 3); }};
}

}  // namespace

const std::vector<LadderTable>& ladder_tables() {
  static const std::vector<LadderTable> tables = make_tables();
  return tables;
}

const std::vector<LadderTable>& potential_sizes() {
  static const std::vector<LadderTable> tables{
      production_table("potential_sizes", 256, 16384),
      {"potential_sizes", [] { return ragged_potential_ladder(10'000, 32, 50, 500); },
       [] { return ragged_potential_ladder(23, 11, 5, 50); }},
      production_table("potential_sizes", 512, 500)};
  return tables;
}

const std::vector<LadderTable>& small_potential_sizes() {
  static const std::vector<LadderTable> tables{
      production_table("potential_calls", 32, 100), production_table("potential_calls", 64, 100),
      production_table("potential_calls", 64, 1000), production_table("potential_calls", 128, 1000)};
  return tables;
}

const std::vector<SizesTable>& solve_sizes() {
  static const std::vector<SizesTable> tables{solutions_of_sizes<float>(), solutions_of_sizes<double>(),
                                              inverses_of_sizes<float>(), inverses_of_sizes<double>()};
  return tables;
}

const std::vector<LadderTable>& sums_of_sizes() {
  static const std::vector<LadderTable> tables = [] {
    std::vector<LadderTable> made;
    for (const std::int64_t count : {mebi >> 10, mebi >> 4, mebi, 16 * mebi})
      made.push_back(
          {"reduce_calls", [=] { return reduce_comparison(count); }, [=] { return reduce_comparison(count / 3); }});
    return made;
  }();
  return tables;
}

std::vector<std::string> table_names() {
  std::vector<std::string> names;
  for (const LadderTable& table : ladder_tables())
    if (names.empty() || names.back() != table.name) names.push_back(table.name);
  for (const char* name : {"potential_sizes", "potential_calls", "reduce_calls", "sizes", "calls", "cpu"})
    names.emplace_back(name);
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
      throw Error(ErrorKind::usage, "there is no table \"" + names.back() + "\"", "the tables are " + all,
                  "Separate names by commas");
    }
    start = end + 1;
  }
  return names;
}

}  // namespace smallbatch
