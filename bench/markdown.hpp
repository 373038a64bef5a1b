// The benchmark's tables as Markdown. Pure text: needs no GPU.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/ladder.hpp"

namespace smallbatch {

/// Title, column names and rule of a ladder's table.
std::string ladder_head(const Ladder& ladder);

/// One step's line. `first_rate`: work per second of the table's first step that was right; 0 where there is none yet.
/// A step whose error is not within its bound says so and shows no time; a kernel with local memory says that it
/// spills.
std::string ladder_row(const Ladder& ladder, const Step& step, const Measurement& measured, double first_rate,
                       const Roofline& roofline);

/// Title, column names and rule of the table of single calls: one column per step, and the ratio of the last one's time
/// to that of the step called `beside`.
std::string calls_head(const std::vector<std::string>& steps, const std::string& beside);

/// One batch's line; `measured` in the order of `steps`.
std::string calls_row(std::int64_t batch, const std::vector<std::string>& steps, const std::string& beside,
                      const std::vector<Measurement>& measured);

}  // namespace smallbatch
