// The benchmark's tables as Markdown. Pure text: needs no GPU.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/ladder.hpp"

namespace smallbatch {

/// Returns the work per second of a step that was right.
double work_per_second(const Ladder& ladder, const Step& step, const Measurement& measured);

/// Returns the title of a ladder's table, its column names, and the separator line below the names.
std::string ladder_head(const Ladder& ladder);

/// Returns the line of one step. `first_rate` is the work per second of the table's first right step; 0 if there is
/// none yet. The line of a wrong step says so and shows no time. The line of a kernel with local memory says that it
/// spills.
std::string ladder_row(const Ladder& ladder, const Step& step, const Measurement& measured, double first_rate,
                       const Roofline& roofline);

/// Returns column names and separator line of a table of one step on problems of several sizes. Each size has a ladder,
/// and the ladder's title is the name of its row. `first` is the first of these ladders.
std::string sizes_head(const Ladder& first);
std::string sizes_row(const Ladder& ladder, const Measurement& measured, double first_rate, const Roofline& roofline);

/// Returns column names and separator line of a table with a row for each size n. Each step has a column with its rate.
/// Steps other than a vendor's also have the percentage of the roofline. Further columns have the largest resources of
/// any kernel, and the worst error.
std::string steps_head(const Ladder& ladder, const std::vector<Step>& steps);
/// Returns the row of one size's ladder; `measured` has the order of its steps. Cells of missing steps stay empty.
std::string steps_row(int n, const std::vector<Step>& steps, const Ladder& ladder,
                      const std::vector<Measurement>& measured, const Roofline& roofline);

/// Returns column names and separator line of the table of small potential problems, where the overhead of a call
/// matters.
std::string potential_calls_head();
/// Returns the row of one problem. It compares the time of a call with `empty_call`, the seconds of an empty kernel. It
/// also compares with the time of the same work at `large_rate`, in work per second (0: unknown).
std::string potential_calls_row(const Ladder& ladder, const Measurement& measured, double large_rate,
                                double empty_call);

/// Returns column names and separator line of a table of single calls. `size` is the name of the first column. Each
/// step has a column. The last column is the time of the last step divided by the time of the step `beside`.
std::string calls_head(const std::string& size, const std::vector<std::string>& steps, const std::string& beside);

/// Returns one line; `measured` has the order of `steps`.
std::string calls_row(std::int64_t size, const std::vector<std::string>& steps, const std::string& beside,
                      const std::vector<Measurement>& measured);

}  // namespace smallbatch
