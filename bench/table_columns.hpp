// The benchmark's tables as Markdown. Pure text: needs no GPU.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/ladder.hpp"

namespace smallbatch {

/// What a step that was right achieves.
double work_per_second(const Ladder& ladder, const Step& step, const Measurement& measured);

/// Title, column names and rule of a ladder's table.
std::string ladder_head(const Ladder& ladder);

/// One step's line. `first_rate`: work per second of the table's first step that was right; 0 where there is none yet.
/// A step whose error is not within its bound says so and shows no time; a kernel with local memory says that it
/// spills.
std::string ladder_row(const Ladder& ladder, const Step& step, const Measurement& measured, double first_rate,
                       const Roofline& roofline);

/// Column names and rule of a table of one step on problems of several sizes, a ladder each, whose titles are the rows'
/// names; `first` is the first of them.
std::string sizes_head(const Ladder& first);
std::string sizes_row(const Ladder& ladder, const Measurement& measured, double first_rate, const Roofline& roofline);

/// Column names and rule of a table whose rows are sizes n: of each of the steps the rate and, unless it is a vendor's,
/// the percents of the roofline; what any kernel of the row's takes at most, and the worst error.
std::string steps_head(const Ladder& ladder, const std::vector<Step>& steps);
/// One size's ladder; `measured` in the order of its steps. Steps that it does not have stay empty.
std::string steps_row(int n, const std::vector<Step>& steps, const Ladder& ladder,
                      const std::vector<Measurement>& measured, const Roofline& roofline);

/// Single calls of a potential, whose own time shows: beside an empty kernel's, `empty_call` seconds, and beside what
/// they would take at `large_rate`, work per second; 0 where that is not known.
std::string potential_calls_head();
std::string potential_calls_row(const Ladder& ladder, const Measurement& measured, double large_rate,
                                double empty_call);

/// Column names and rule of a table of single calls: one column per step, and the ratio of the last one's time to that
/// of the step called `beside`. `size`: what the numbers in the first column are of.
std::string calls_head(const std::string& size, const std::vector<std::string>& steps, const std::string& beside);

/// One line; `measured` in the order of `steps`.
std::string calls_row(std::int64_t size, const std::vector<std::string>& steps, const std::string& beside,
                      const std::vector<Measurement>& measured);

}  // namespace smallbatch
