// Makes the page about a result file. The page shows a limited number of sets. The problems of these sets are read some
// at a time, and those of other sets are only counted. So neither memory nor the page grows with the file. The page
// says how much it leaves out. One file, because read from top to bottom it is the page.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <sstream>
#include <type_traits>
#include <utility>
#include <vector>

#include "app/cli/interruption.hpp"
#include "app/cli/json_text.hpp"
#include "app/cli/output_check.hpp"
#include "app/cli/quantities.hpp"
#include "app/cli/version.hpp"
#include "app/commands/commands.hpp"
#include "app/judge/outcome.hpp"
#include "app/report/html.hpp"
#include "app/report/input_identity.hpp"
#include "app/report/page.hpp"
#include "app/report/provenance.hpp"
#include "app/report/set_json.hpp"
#include "app/report/summary.hpp"
#include "app/run/told_results.hpp"
#include "core/error.hpp"
#include "core/number_text.hpp"
#include "core/visible_text.hpp"
#include "io/interchange/export_file.hpp"
#include "io/interchange/lattice_export.hpp"
#include "io/picture/colour_scales.hpp"
#include "io/picture/lattice_plane.hpp"
#include "io/picture/visibility_picture.hpp"
#include "io/problem_reader.hpp"
#include "io/result_reader.hpp"

namespace smallbatch {

namespace {

constexpr std::int64_t problems_at_once = 1 << 16;
constexpr std::int64_t points_at_once = 1 << 20;  // points of a map read at a time
constexpr std::int64_t most_map_cells = 400;      // along each side
constexpr std::int64_t most_points_of_slices = std::int64_t{1}
                                               << 27;  // largest lattice that is read for slices across x and y
constexpr std::size_t most_sets = 40, most_maps = 12, most_rows = 12, most_worst = 5, most_runs = 24,
                      most_statuses = 24, strip_bins = 336;
constexpr std::int64_t most_dots = 400;
constexpr double dot_distance = 1;  // largest distance from a slice at which charges are drawn, angstrom

/// The files that the page is made from. Problems of a share are counted from its first one.
struct ReportSource {
  const ResultReader& results;
  const ProblemReader* problems;  ///< null if not given
  std::size_t maps = 0;           ///< number of maps on the page so far
};

/// Returns the label of a problem. Systems and channels have none.
template <class Set>
std::string label_in(const Set& set, std::int64_t index) {
  if constexpr (std::is_base_of_v<ChargesOfSet, Set>) return label_of(set.labels, index);
  return {};
}

/// Returns "3" or "3 (lysozyme)", as the summary does.
template <class Set>
std::string index_words(const Set& set, std::int64_t index) {
  const std::string label = label_in(set, index);
  return grouped(index) + (label.empty() ? "" : " (" + label + ")");
}

/// Indices of problems that are alike: "3–7, 12 and 108 more".
class IndexRuns {
 public:
  void add(std::int64_t index) {
    ++count_;
    if (!runs_.empty() && runs_.back().second == index - 1) {
      runs_.back().second = index;
    } else if (runs_.size() < most_runs) {
      runs_.emplace_back(index, index);
    } else {
      ++others_;
    }
  }
  [[nodiscard]] std::int64_t count() const { return count_; }
  template <class Set>
  [[nodiscard]] std::string text(const Set& set) const {
    std::string text;
    for (const auto& [first, last] : runs_) {
      text += (text.empty() ? "" : ", ") + index_words(set, first);
      if (last > first) text += (last > first + 1 ? "–" : ", ") + index_words(set, last);
    }
    return text + (others_ > 0 ? " and " + grouped(others_) + " more" : "");
  }

 private:
  std::vector<std::pair<std::int64_t, std::int64_t>> runs_;
  std::int64_t others_ = 0, count_ = 0;
};

/// The problems with the largest values of some number. Among equal values the first stays.
class Worst {
 public:
  void add(std::int64_t index, double value) {
    if (std::isnan(value)) return;
    if (found_.size() == most_worst && !(value > found_.back().second)) return;
    const auto place =
        std::find_if(found_.begin(), found_.end(), [&](const auto& other) { return value > other.second; });
    found_.insert(place, {index, value});
    if (found_.size() > most_worst) found_.pop_back();
  }
  [[nodiscard]] const std::vector<std::pair<std::int64_t, double>>& found() const { return found_; }

 private:
  std::vector<std::pair<std::int64_t, double>> found_;
};

/// Findings of one pass over all problems of a set.
struct Findings {
  SetOutcome outcome;
  std::map<std::int32_t, IndexRuns> statuses;  ///< the least statuses, as many as the page shows
  std::int64_t of_other_statuses = 0;          ///< number of problems with other statuses
  std::vector<std::int64_t> failed_bins;       ///< failed problems in equal parts of the batch
  IndexRuns disagreeing;
  Magnitudes error_over_bound, backward_error, rcond, perturbation;
  Worst by_error, by_backward_error, by_singularity;
};

template <class Set>
Findings look_at(const ResultReader& results, const Set& set) {
  const std::string group = set_path(set), verification = "/verification" + group;
  Findings found;
  found.outcome = told_outcome(results, set);
  if constexpr (std::is_same_v<Set, SolveSet>) found.outcome.count_numbers(results, set);
  SetOutcome& outcome = found.outcome;
  found.failed_bins.resize(std::min<std::size_t>(static_cast<std::size_t>(set.batch), strip_bins));
  std::vector<double> values;
  std::vector<std::int32_t> info;
  for (std::int64_t first = 0; first < set.batch; first += problems_at_once) {
    stop_if_interrupted();
    values.resize(static_cast<std::size_t>(std::min(problems_at_once, set.batch - first)));
    const auto each = [&](const std::string& dataset, auto&& visit) {
      if (!results.read_numbers(dataset, first, values)) return;
      for (std::size_t k = 0; k < values.size(); ++k) visit(first + static_cast<std::int64_t>(k), values[k]);
    };
    info.assign(values.size(), 0);
    each(group + "/info", [&](std::int64_t index, double status) {
      info[static_cast<std::size_t>(index - first)] = static_cast<std::int32_t>(status);
      if (status == 0) return;
      found.statuses[static_cast<std::int32_t>(status)].add(index);
      if (found.statuses.size() > most_statuses) {
        const auto greatest = std::prev(found.statuses.end());
        found.of_other_statuses += greatest->second.count();
        found.statuses.erase(greatest);
      }
      if (!outcome.is_failed(static_cast<std::int32_t>(status))) return;
      const auto bins = static_cast<std::int64_t>(found.failed_bins.size());
      ++found.failed_bins[static_cast<std::size_t>(static_cast<double>(index) / static_cast<double>(set.batch) *
                                                   static_cast<double>(bins))];
    });
    outcome.count_status(first, info);
    each(verification + "/error_over_bound", [&](std::int64_t index, double error) {
      found.by_error.add(index, error);
      if (!std::isnan(error)) found.error_over_bound.add(error);
    });
    each(verification + "/verdict", [&](std::int64_t index, double verdict) {
      if (verdict == static_cast<double>(Verdict::disagreed)) found.disagreeing.add(index);
    });
    const auto of_solved = [&](const char* name, auto&& visit) {
      each(group + "/" + name, [&](std::int64_t index, double value) {
        if (info[static_cast<std::size_t>(index - first)] == 0) visit(index, value);
      });
    };
    if constexpr (std::is_same_v<Set, SolveSet>) {
      of_solved("backward_error", [&](std::int64_t index, double error) {
        found.backward_error.add(error);
        found.by_backward_error.add(index, error);
      });
      of_solved("rcond", [&](std::int64_t index, double rcond) {
        found.rcond.add(rcond);
        found.by_singularity.add(index, -rcond);
      });
      of_solved("perturbation", [&](std::int64_t /*index*/, double perturbation) {
        if (perturbation != 0) found.perturbation.add(perturbation);
      });
    }
  }
  return found;
}

/// Returns one number of one problem as the text of a table cell, or a dash if the file does not have the number.
std::string number_of(const ResultReader& results, const std::string& dataset, std::int64_t index) {
  std::vector<double> value(1);
  return results.read_numbers(dataset, index, value) ? shown_number(value[0]) : "–";
}

/// Returns the numbers of a dataset, or an evenly spread sample if there are too many.
std::vector<double> sample_of(const ResultReader& results, const std::string& dataset, std::int64_t count) {
  constexpr std::int64_t most_runs_of_sample = 128, run = 2048;
  std::vector<double> sample;
  const std::int64_t runs = std::min(most_runs_of_sample, (count + run - 1) / run);
  for (std::int64_t k = 0; k < runs; ++k) {
    const std::int64_t first =
        count <= runs * run ? k * run : k * ((count - run) / std::max<std::int64_t>(runs - 1, 1));
    std::vector<double> values(static_cast<std::size_t>(std::min(run, count - first)));
    if (!results.read_numbers(dataset, first, values)) break;
    sample.insert(sample.end(), values.begin(), values.end());
  }
  return sample;
}

std::string sample_words(std::size_t shown, std::int64_t count, const std::string& things) {
  if (static_cast<std::int64_t>(shown) == count) return grouped(count) + " " + things;
  return grouped(static_cast<std::int64_t>(shown)) + " of " + grouped(count) + " " + things + ", evenly chosen";
}

void add_figure(std::vector<std::string>& figures, std::optional<Histogram> histogram, const std::string& things,
                std::string caption) {
  if (!histogram) return;
  histogram->things = things;
  if (!histogram->caption.empty()) caption += (caption.empty() ? "" : "; ") + histogram->caption;
  figures.push_back(figure_html(histogram_svg(*histogram), caption));
}

void add_sample_figure(std::vector<std::string>& figures, const ResultReader& results, const std::string& dataset,
                       std::int64_t count, const std::string& title, const std::string& unit,
                       const std::string& things) {
  std::vector<double> sample = sample_of(results, dataset, count);
  const std::size_t size = sample.size();
  add_figure(figures, histogram_of(sample, title, unit), things, sample_words(size, count, things));
}

const char* noun_of(const SetOutcome& set, std::int64_t count) {
  const bool is_one = count == 1;
  if (set.kind == SolveSet::kind) return is_one ? "system" : "systems";
  if (set.kind == CorrelationSet::kind) return is_one ? "channel" : "channels";
  return is_one ? "problem" : "problems";
}

template <class Set>
std::string statuses_html(const Set& set, const Findings& found) {
  const SetOutcome& outcome = found.outcome;
  if (found.statuses.empty()) return "";
  Table table{{{"status"}, {"meaning", false}, {noun_of(outcome, 2)}, {"at index", false}}, {}};
  for (const auto& [status, runs] : found.statuses)
    table.rows.push_back(
        {shown_number(status), words_of(outcome).describe(status), grouped(runs.count()), runs.text(set)});
  std::string html = heading_html("Statuses") + table_html(table);
  if (found.of_other_statuses > 0)
    html += note_html("And " + grouped(found.of_other_statuses) + " " + noun_of(outcome, found.of_other_statuses) +
                      " with greater statuses.");
  if (outcome.failed_count() > 0 && outcome.batch > 1)
    html += figure_html(strip_svg(found.failed_bins, outcome.batch, "indices of the failed ones"), "");
  return html;
}

std::string verdict_words(const SetOutcome& outcome) {
  const VerificationSummary& v = outcome.verification;
  if (v.checked == 0) return outcome.batch == 0 ? "nothing to verify" : "not verified";
  std::string text = grouped(v.agreed) + " of " + grouped(outcome.batch) + " agree with the referee";
  if (const char* values = words_of(outcome).values; values != nullptr && outcome.values_checked > 0)
    text += (outcome.kind == PotentialSet::kind ? " at " : " in ") + grouped(outcome.values_checked) + " " + values;
  return text + (v.disagreed > 0 ? ", " + grouped(v.disagreed) + " disagree" : "");
}

/// Names of datasets that have a number for each problem, and the titles of their columns.
using NumberColumns = std::vector<std::pair<std::string, std::string>>;

NumberColumns columns_of(const SolveSet& /*set*/) {
  return {{"backward_error", "backward error"},
          {"rcond", "rcond"},
          {"smallest_pivot", "smallest pivot"},
          {"repaired", "raised pivots"}};
}
NumberColumns columns_of(const PotentialSet& set) {
  const std::string unit = " (" + typeset(potential_unit_name(set.output_unit)) + ")";
  NumberColumns columns{{"V_min", "least V" + unit}, {"V_max", "greatest V" + unit}, {"V_mean", "mean V" + unit}};
  if (set.has_groups) columns.emplace_back("energy", "energy (" + typeset(energy_unit_name(set.output_unit)) + ")");
  return columns;
}
NumberColumns columns_of(const PairEnergySet& set) {
  return {{"energy", "energy (" + typeset(energy_unit_name(set.output_unit)) + ")"}};
}
NumberColumns columns_of(const CorrelationSet& /*set*/) { return {}; }

template <class Set>
std::string worst_html(const ResultReader& results, const Set& set, const Findings& found) {
  if (found.by_error.found().empty() || set.batch < 2 || !(found.by_error.found().front().second > 0)) return "";
  const std::string group = set_path(set);
  Table table{{{"index"}, {"error / bound"}, {"status"}}, {}};
  const bool has_labels = !label_in(set, 0).empty();
  NumberColumns names = columns_of(set);
  std::erase_if(names, [&](const auto& name) {
    return number_of(results, group + "/" + name.first, 0) == "–" ||
           (name.first == "repaired" && found.outcome.repaired_systems == 0);
  });
  for (const auto& [name, title] : names) table.columns.push_back({title});
  if (has_labels) table.columns.push_back({"known as", false});
  const auto add_row = [&](std::int64_t index) {
    table.rows.push_back({grouped(index), number_of(results, "/verification" + group + "/error_over_bound", index),
                          number_of(results, group + "/info", index)});
    for (const auto& [name, title] : names) table.rows.back().push_back(number_of(results, group + "/" + name, index));
    if (has_labels) table.rows.back().push_back(label_in(set, index));
  };
  for (const auto& [index, error] : found.by_error.found()) add_row(index);
  std::string html = heading_html("Largest errors, relative to their bounds") + table_html(table);
  if (found.by_singularity.found().empty()) return html;
  table.rows.clear();
  for (const auto& [index, rcond] : found.by_singularity.found()) add_row(index);
  return html + heading_html("Nearest to a singular matrix") + table_html(table);
}

// maps

std::array<double, 3> of_problem(const std::vector<double>& lengths, std::int64_t problem) {
  const double* const first = lengths.data() + 3 * problem;
  return {first[0], first[1], first[2]};
}

/// A plane of a lattice. The picture shows every so many points of it.
class Slice {
 public:
  Slice(const PotentialSet& set, std::int64_t problem, int axis, std::int64_t middle)
      : plane(plane_across(axis, middle, set.shape, of_problem(set.origin, problem), of_problem(set.spacing, problem))),
        index(middle),
        every_column((plane.columns + most_map_cells - 1) / most_map_cells),
        every_row((plane.rows + most_map_cells - 1) / most_map_cells),
        columns((plane.columns + every_column - 1) / every_column),
        rows((plane.rows + every_row - 1) / every_row),
        values(static_cast<std::size_t>(columns * rows)) {}

  void add(std::int64_t column, std::int64_t row, double value) {
    all.count(value);
    if (column % every_column == 0 && row % every_row == 0)
      values[static_cast<std::size_t>(row / every_row * columns + column / every_column)] = value;
  }

  LatticePlane plane;
  std::int64_t index;                    ///< index of the plane along the axis across it
  std::int64_t every_column, every_row;  ///< every how many columns and rows are shown
  std::int64_t columns, rows;            ///< numbers of columns and rows that are shown
  std::vector<double> values;            ///< shown values; the column index runs fastest
  SlicePicture all;                      ///< counts of all values of the plane
};

/// Calls visit(y, row) for the rows of a plane. Reads some rows at a time.
template <class Visit>
void for_each_row(const ResultReader& results, const PotentialSet& set, std::int64_t problem, std::int64_t z,
                  Visit&& visit) {
  const auto& [nx, ny, nz] = set.shape;
  const std::int64_t at_once = std::max<std::int64_t>(1, points_at_once / nx);
  for (std::int64_t first = 0; first < ny; first += at_once) {
    stop_if_interrupted();
    const std::int64_t count = std::min(at_once, ny - first);
    const std::vector<double> values = results.read_potential_rows(set, problem, z, first, count);
    for (std::int64_t row = 0; row < count; ++row) visit(first + row, std::span(values).subspan(row * nx, nx));
  }
}

/// Returns the slice through the middle across z. It adds those across y and x if the lattice is small enough to be
/// read.
std::vector<Slice> middle_slices(const ResultReader& results, const PotentialSet& set, std::int64_t problem) {
  const auto& [nx, ny, nz] = set.shape;
  std::vector<Slice> slices{{set, problem, 2, nz / 2}};
  const bool are_three = nz > 1 && set.shape.points() <= most_points_of_slices;
  if (are_three) {
    slices.emplace_back(set, problem, 1, ny / 2);
    slices.emplace_back(set, problem, 0, nx / 2);
  }
  const auto add_row = [](Slice& slice, std::int64_t row, std::span<const double> values) {
    for (std::int64_t column = 0; column < std::ssize(values); ++column)
      slice.add(column, row, values[static_cast<std::size_t>(column)]);
  };
  for (std::int64_t z = are_three ? 0 : nz / 2; z < (are_three ? nz : nz / 2 + 1); ++z) {
    for_each_row(results, set, problem, z, [&](std::int64_t y, std::span<const double> row) {
      if (z == nz / 2) add_row(slices[0], y, row);
      if (!are_three) return;
      if (y == ny / 2) add_row(slices[1], z, row);
      slices[2].add(y, z, row[static_cast<std::size_t>(nx / 2)]);
    });
  }
  return slices;
}

std::string slice_figure(const PotentialSet& set, const Slice& slice, double limit,
                         const PotentialBlock<double>& charges) {
  const LatticePlane& plane = slice.plane;
  Image image(slice.columns, slice.rows);
  for (std::int64_t row = 0; row < image.height(); ++row)
    for (std::int64_t column = 0; column < image.width(); ++column)
      image.fill(column, column + 1, image.height() - 1 - row, image.height() - row,
                 potential_colour(slice.values[static_cast<std::size_t>(row * slice.columns + column)], limit));
  // A pixel covers the points up to the next shown one; the last pixel too.
  const double wide = plane.column_spacing * static_cast<double>(slice.columns * slice.every_column);
  const double high = plane.row_spacing * static_cast<double>(slice.rows * slice.every_row);
  MapChart chart;
  chart.image = &image;
  chart.width = wide;
  chart.height = high;
  chart.right = round_ticks(plane.left, plane.left + wide, 5, 0);
  chart.up = round_ticks(plane.bottom, plane.bottom + high, 6, 0);
  chart.bar = limit > 0 ? round_ticks(-limit, limit, 7, 0) : std::vector<Tick>{{0.5, "0"}};
  chart.is_exceeded = std::ranges::any_of(slice.values, [&](double value) { return value > limit; });
  chart.is_undercut = std::ranges::any_of(slice.values, [&](double value) { return value < -limit; });
  chart.right_title = std::string(1, axis_names[plane.right]) + " (Å)";
  chart.up_title = std::string(1, axis_names[plane.up]) + " (Å)";
  chart.bar_title = "V (" + typeset(potential_unit_name(set.output_unit)) + ")";
  for (int step = 0; step <= 128; ++step) chart.bar_colours.push_back(signed_scale_colour(step / 64.0 - 1));
  std::int64_t near = 0;
  for (std::size_t c = 0; c < charges.charge.size(); ++c) {
    const double* position = charges.position.data() + 3 * c;
    const double x = (position[plane.right] - plane.left) / wide, y = (position[plane.up] - plane.bottom) / high;
    const bool is_near = std::abs(position[plane.across] - plane.place) <= dot_distance;
    if (!is_near || !(x >= 0 && x <= 1 && y >= 0 && y <= 1)) continue;
    ++near;
    if (near <= most_dots) chart.dots.push_back({x, y, charges.charge[c] > 0});
  }
  if (near > most_dots) chart.dots.clear();
  const std::string where = std::string(1, axis_names[plane.across]) + " = " + shown_number(plane.place) + " Å";
  chart.title = "V at " + where;
  std::string caption = where + " (plane " + std::to_string(slice.index) + "), " +
                        slice.all.values_text([](double value) { return shown_number(value); });
  const auto say_every = [&](std::int64_t every, std::size_t axis) {
    if (every > 1) caption += "; every " + std::to_string(every) + ". point along " + axis_names[axis] + " is shown";
  };
  say_every(slice.every_column, plane.right);
  say_every(slice.every_row, plane.up);
  if (near > most_dots) caption += "; " + grouped(near) + " charges are too many to be drawn";
  return figure_html(map_svg(chart), caption);
}

/// Draws the slices of the problem with the largest error, or of the first problem.
std::string maps_html(ReportSource& source, const PotentialSet& set, const SetOutcome& outcome) {
  if (set.batch == 0 || set.targets != TargetKind::lattice) return "";
  if (source.maps + 3 > most_maps)
    return note_html("No map is drawn, because the page has its largest number of maps.");
  const std::int64_t worst = outcome.verification.checked > 0 ? outcome.verification.worst_index : -1;
  const std::int64_t problem = worst >= 0 && worst < set.batch ? worst : 0;
  const std::string label = label_in(set, problem);
  std::string html = heading_html(set.batch == 1 ? "Slices through the middle" + (label.empty() ? "" : " of " + label)
                                                 : "Slices through the middle of problem " + index_words(set, problem) +
                                                       (worst == problem ? ", which has the largest error" : ""));
  PotentialBlock<double> charges;
  bool are_charges_of_set = false;
  if (source.problems != nullptr)
    for (const PotentialSet& other : source.problems->potential_sets())
      if (other.name == set.name && other.batch == set.batch) {
        source.problems->read(other, problem, 1, charges);
        are_charges_of_set = true;
      }
  const std::vector<Slice> slices = middle_slices(source.results, set, problem);
  std::vector<double> values;
  for (const Slice& slice : slices) values.insert(values.end(), slice.values.begin(), slice.values.end());
  const double limit = measure_slice(values).colour_limit;
  std::vector<std::string> figures;
  for (const Slice& slice : slices) figures.push_back(slice_figure(set, slice, limit, charges));
  source.maps += slices.size();
  html += figures_html(figures) +
          note_html(
              "The scale leaves out the largest 2 % of the values. These have the full colour of its end, and an arrow "
              "at the "
              "end of the scale shows that there are some. Grey is not a number." +
              std::string(
                  are_charges_of_set
                      ? " Dots are charges within 1 Å of the slice: dark red for positive, dark blue for negative ones."
                      : ""));
  if (slices.size() == 1 && set.shape.nz > 1) html += note_html("The lattice is too large for slices across x and y.");
  return html;
}

// what each kind of set has to show

std::string shown_html(ReportSource& source, const SolveSet& set, const Findings& found) {
  const std::string group = set_path(set);
  std::vector<std::string> figures;
  add_figure(figures, found.backward_error.histogram("backward error", ""), "systems",
             std::string("solved systems; u = ") + (set.type == ScalarType::float32 ? "6.0×10⁻⁸" : "1.1×10⁻¹⁶"));
  add_figure(figures, found.rcond.histogram("rcond", ""), "systems", "solved systems; 1 is the best, 0 singular");
  add_figure(figures, found.perturbation.histogram("perturbation", ""), "systems",
             "systems with raised pivots; the largest addition to a diagonal element, as a fraction of it");
  if (set.shape.has_sizes)
    add_sample_figure(figures, source.results, group + "/size", set.batch, "rows", "", "systems");
  if (set.shape.determinant_only)
    add_sample_figure(figures, source.results, group + "/log_determinant", set.batch, "ln det A", "", "systems");
  add_figure(figures, found.error_over_bound.histogram("error / bound", ""), "systems",
             "verified systems; up to 1 is correct");
  return figures_html(figures);
}

/// Returns a table of the first problems, with a column for each of columns_of().
template <class Set>
std::string first_problems_html(const ResultReader& results, const Set& set) {
  if (set.batch == 0) return "";
  const std::string group = set_path(set);
  const bool has_labels = !label_in(set, 0).empty();
  Table table{{{"index"}, {"status"}}, {}};
  const NumberColumns names = columns_of(set);
  for (const auto& [name, title] : names) table.columns.push_back({title});
  if (has_labels) table.columns.push_back({"known as", false});
  const auto rows = std::min<std::int64_t>(set.batch, most_rows);
  for (std::int64_t index = 0; index < rows; ++index) {
    table.rows.push_back({grouped(index), number_of(results, group + "/info", index)});
    for (const auto& [name, title] : names) table.rows.back().push_back(number_of(results, group + "/" + name, index));
    if (has_labels) table.rows.back().push_back(label_in(set, index));
  }
  return heading_html(set.batch > rows ? "The first problems" : "Problems") + table_html(table) +
         (set.batch > rows ? note_html("And " + grouped(set.batch - rows) + " more.") : "");
}

std::string shown_html(ReportSource& source, const PotentialSet& set, const Findings& found) {
  const std::string group = set_path(set), unit = typeset(potential_unit_name(set.output_unit));
  std::vector<std::string> figures;
  if (set.targets != TargetKind::lattice) {
    const char* places = set.targets == TargetKind::points ? "points" : "charges";
    add_sample_figure(figures, source.results, group + "/V", set.targets_before(set.batch), "V", unit, places);
  }
  if (set.batch > 1)
    add_figure(figures, found.error_over_bound.histogram("error / bound", ""), "problems",
               "verified problems; up to 1 is correct");
  if (set.batch > 1 && set.has_groups)
    add_sample_figure(figures, source.results, group + "/energy", set.batch, "interaction energy",
                      typeset(energy_unit_name(set.output_unit)), "problems");
  return maps_html(source, set, found.outcome) + figures_html(figures) + first_problems_html(source.results, set);
}

std::string shown_html(ReportSource& source, const PairEnergySet& set, const Findings& found) {
  const std::string group = set_path(set), unit = typeset(energy_unit_name(set.output_unit));
  std::vector<std::string> figures;
  if (set.batch > 1) {
    add_sample_figure(figures, source.results, group + "/energy", set.batch, "energy", unit, "problems");
    add_figure(figures, found.error_over_bound.histogram("error / bound", ""), "problems",
               "verified problems; up to 1 is correct");
  }
  if (set.per_charge)
    add_sample_figure(figures, source.results, group + "/energy_per_charge", set.charges(), "energy of a charge", unit,
                      "charges");
  return figures_html(figures) + first_problems_html(source.results, set);
}

std::string shown_html(ReportSource& source, const CorrelationSet& set, const Findings& found) {
  std::vector<std::string> figures;
  if (set.batch > 0 && set.integrations() > 0 && source.maps < most_maps) {
    ++source.maps;
    const MagnitudeMap map = read_magnitudes(source.results, set, 0, most_map_cells);
    const VisibilityColours colours = choose_colours(map);
    Image image(map.columns(), map.rows());
    for (std::int64_t row = 0; row < map.rows(); ++row)
      for (std::int64_t column = 0; column < map.columns(); ++column) {
        const double value = map.mean(column, row);
        image.fill(column, column + 1, map.rows() - 1 - row, map.rows() - row,
                   std::isnan(value) ? grey : magnitude_colour(colour_place(value, colours)));
      }
    MapChart chart;
    chart.image = &image;
    chart.right = ticks_of_cells(map.baselines(), 4);
    const ChannelAxis channels = channel_axis(set.frequency, map.channels(), 6);
    chart.up = channels.ticks;
    chart.bar = ticks_of_colours(colours, 6);
    chart.is_exceeded = colours.infinite > 0;
    chart.is_undercut = colours.below > 0;
    chart.right_title = "baseline";
    chart.up_title = channels.title;
    chart.bar_title = colours.is_logarithmic ? "|V|, logarithmic" : "|V|";
    chart.title = "|V| of integration 0";
    for (int step = 0; step <= 128; ++step) chart.bar_colours.push_back(magnitude_colour(step / 128.0));
    std::string caption = "integration 0 of " + grouped(set.integrations()) + ", " + grouped(set.baselines()) +
                          " baselines, " + grouped(set.batch) + (set.batch == 1 ? " channel" : " channels");
    if (map.columns() < map.baselines() || map.rows() < map.channels()) caption += "; neighbours are averaged";
    if (colours.below > 0)
      caption += "; " + grouped(colours.below) + (colours.below == 1 ? " cell" : " cells") +
                 " below the scale, of which " + grouped(colours.zeros) + (colours.zeros == 1 ? " is 0" : " are 0");
    if (colours.infinite > 0)
      caption += "; " + grouped(colours.infinite) + (colours.infinite == 1 ? " cell" : " cells") + " infinite";
    figures.push_back(figure_html(map_svg(chart), caption + "; grey has no samples, or is not a number"));
  }
  if (set.batch > 1)
    add_figure(figures, found.error_over_bound.histogram("error / bound", ""), "channels",
               "verified channels; up to 1 is correct");
  return figures_html(figures);
}

template <class Set>
std::string set_html(ReportSource& source, const Set& set, const RunReport& report, const Findings& found,
                     std::size_t number) {
  const SetOutcome& outcome = found.outcome;
  const KindWords& words = words_of(outcome);
  const std::int64_t failed = outcome.failed_count();
  std::string html = "<section id=\"set-" + std::to_string(number) + "\">\n<div class=\"head\"><h2>" +
                     html_text(outcome.kind + "/" + outcome.name) + "</h2>";
  if (failed > 0) html += badge_html(Mood::bad, grouped(failed) + " failed");
  if (outcome.verification.disagreed > 0)
    html += badge_html(Mood::bad, grouped(outcome.verification.disagreed) + " disagree");
  if (outcome.all_right())
    html += outcome.verification.checked > 0 ? badge_html(Mood::good, "all right")
                                             : badge_html(Mood::neutral, "not verified");
  if (outcome.repaired_systems > 0) html += badge_html(Mood::neutral, grouped(outcome.repaired_systems) + " repaired");
  html += "</div>\n" + paragraph_html(typeset(outcome.shape));

  Facts facts{{words.done, grouped(outcome.batch - failed) + " of " + grouped(outcome.batch) + " " +
                               noun_of(outcome, outcome.batch)}};
  if (outcome.compute_seconds > 0)
    facts.emplace_back("computed in", seconds_text(outcome.compute_seconds) + ", " +
                                          rate_text(outcome.work / outcome.compute_seconds, words.work));
  if (const std::string computer = report.computer(outcome.kind); !computer.empty()) facts.emplace_back("by", computer);
  if (outcome.singular > 0)
    facts.emplace_back(outcome.kind == PairEnergySet::kind      ? "pairs at one position"
                       : outcome.targets == TargetKind::lattice ? "charges on lattice points"
                                                                : "targets on charges",
                       grouped(outcome.singular));
  if (const std::string repairs = repairs_text(outcome, report.pivot_floor); !repairs.empty())
    facts.emplace_back("repaired", typeset(repairs));
  facts.emplace_back("verified", verdict_words(outcome));
  if (outcome.has_compared_numbers())
    facts.emplace_back("largest error", shown_number(outcome.verification.worst_error_over_bound, 3) +
                                            " of the bound, at index " +
                                            index_words(set, outcome.verification.worst_index));
  if (const std::string disagreeing = found.disagreeing.text(set); !disagreeing.empty())
    facts.emplace_back("disagree at index", disagreeing);
  html += facts_html(facts);
  if (!outcome.verification.criterion.empty())
    html += note_html("Criterion of a correct answer: " + typeset(outcome.verification.criterion) + ".");
  return html + statuses_html(set, found) + shown_html(source, set, found) + worst_html(source.results, set, found) +
         "</section>\n";
}

std::string stages_html(const RunReport& report) {
  if (!(report.seconds.total > 0)) return "";
  const std::vector<Stage> stages = stages_of(report);
  const Stage* const bound = bound_of(stages, report.seconds.total);
  std::string words = seconds_text(report.seconds.total) + " in all";
  if (bound) words += std::string("; slowest stage: ") + bound->name + ". To speed it up: " + bound->remedy;
  std::string html = "<section>\n<h2>Time</h2>\n" + paragraph_html(words + ".") + "<div class=\"stages\">\n";
  for (const Stage& stage : stages) {
    if (!(stage.seconds > 0)) continue;
    const std::string kind = &stage == bound ? " longest" : "";
    html += "<div class=\"name" + kind + "\">" + html_text(stage.name) + "</div><div class=\"seconds" + kind + "\">" +
            html_text(seconds_text(stage.seconds)) + "</div><div class=\"track\"><svg preserveAspectRatio=\"none\" " +
            "viewBox=\"0 0 100 1\" aria-hidden=\"true\"><rect class=\"bar\" width=\"" +
            number_text(std::max(0.3, 100 * stage.seconds / report.seconds.total), 4) +
            "\" height=\"1\"/></svg></div>\n";
    if (stage.amount > 0) html += "<div class=\"rate\">" + html_text(stage_rate(stage, stage.seconds)) + "</div>\n";
  }
  const std::string of_blocks = report.seconds.blocks > 0
                                    ? "Set-up, start and the blocks (" + seconds_text(report.seconds.blocks) +
                                          ") follow one another and add up to the total. "
                                    : "";
  return html + "</div>\n" +
         note_html(of_blocks + "If there are several blocks, the other stages work on them at the same time.") +
         "</section>\n";
}

std::string summary_html(const RunReport& report, const ResultReader& results, std::int64_t sets) {
  std::int64_t problems = 0, failed = 0, disagreed = 0, checked = 0, repaired = 0;
  for (const SetOutcome& set : report.sets) {
    problems += set.batch;
    failed += set.failed_count();
    disagreed += set.verification.disagreed;
    checked += set.verification.checked;
    repaired += set.repaired_systems;
  }
  const auto file = std::filesystem::path(report.results).filename().string();
  std::string html = "<header>\n<div class=\"head\"><h1>" + html_text(file) + "</h1>";
  if (failed > 0) html += badge_html(Mood::bad, grouped(failed) + " failed");
  if (disagreed > 0) html += badge_html(Mood::bad, grouped(disagreed) + " disagree");
  if (failed == 0 && disagreed == 0)
    html += checked > 0 ? badge_html(Mood::good, "all right") : badge_html(Mood::neutral, "not verified");
  if (repaired > 0) html += badge_html(Mood::neutral, grouped(repaired) + " repaired");
  html += "</div>\n";
  Facts facts{{"holds", grouped(problems) + (problems == 1 ? " problem in " : " problems in ") + grouped(sets) +
                            (sets == 1 ? " set, " : " sets, ") + bytes_text(report.result_bytes)},
              {"verified", grouped(checked) + (disagreed > 0 ? ", of which " + grouped(disagreed) + " disagree" : "")}};
  const auto add = [&](const char* name, const std::string& text) {
    if (!text.empty()) facts.emplace_back(name, text);
  };
  add("computed on", report.device);
  add("host", results.provenance("host"));
  add("created", results.provenance("created"));
  add("problem file", report.problems);
  add("share", results.provenance("share"));
  return html + facts_html(facts) + "</header>\n";
}

/// Returns a table of contents, if there are at least three sets.
std::string sets_html(const RunReport& report) {
  if (report.sets.size() < 3) return "";
  std::vector<std::pair<std::string, std::string>> sections;
  for (const SetOutcome& set : report.sets) {
    if (sections.size() == most_sets) break;
    const std::int64_t failed = set.failed_count(), disagreed = set.verification.disagreed;
    std::string remark = failed > 0 ? grouped(failed) + " failed" : "";
    if (disagreed > 0) remark += (remark.empty() ? "" : ", ") + grouped(disagreed) + " disagree";
    sections.emplace_back(set.kind + "/" + set.name, remark);
  }
  return contents_html(sections);
}

std::string origin_html(const ReportOptions& options) {
  Facts facts;
  for (const OriginLine& line : origin_lines(read_provenance(options.results)))
    facts.emplace_back(line.name, line.text.ends_with(" bytes") ? typeset(line.text) : line.text);
  std::string html = "<section>\n<h2>Provenance</h2>\n";
  return html + facts_html(facts) + "</section>\n";
}

}  // namespace

std::string write_report(const ReportOptions& options) {
  refuse_output_that_is_input(options.results, options.output);
  const ResultReader results(options.results, 0, ResultReader::Bytes::compared);
  std::optional<ProblemReader> problems;
  if (!options.problems.empty()) {
    refuse_output_that_is_input(options.problems, options.output);
    if (is_another_input(options.problems, results.provenance("input_hash")))
      throw Error(ErrorKind::bad_input, options.problems + " is not the problem file of " + options.results,
                  "its hash differs from that of the file that was run", "Name that file, or leave out --problems.");
    if (std::ranges::none_of(results.potential_sets(),
                             [](const auto& set) { return set.targets == TargetKind::lattice; }))
      spdlog::info("{} is not needed: charges are drawn on maps of V, and {} holds none.", options.problems,
                   options.results);
    problems.emplace(options.problems);
    if (const auto share = parse_share(results.provenance("share"))) problems->take(*share);
  }
  ExportFile file(options.output, options.overwrite);
  RunReport report = told_run(results, options.results);
  ReportSource source{results, problems ? &*problems : nullptr};
  std::string sections;
  std::size_t sets = 0;
  std::map<std::string, SetOutcome> others;  // outcomes of the sets that are not shown, added up for each kind
  for_each_set(results.sets(), [&]<class Set>(const Set& set) {
    stop_if_interrupted();
    if (sets < most_sets) {
      const Findings found = look_at(results, set);
      report.sets.push_back(found.outcome);
      sections += set_html(source, set, report, found, sets);
    } else {
      SetOutcome outcome = told_outcome(results, set);
      if constexpr (std::is_same_v<Set, SolveSet>) outcome.count_numbers(results, set);
      outcome.count_statuses(results, set_path(set), 0, set.batch);
      const auto [kind, is_first] = others.try_emplace(outcome.kind, outcome);
      if (!is_first) kind->second.add(outcome, 0);
    }
    ++sets;
  });
  for (auto& [kind, outcome] : others) report.sets.push_back(std::move(outcome));
  if (sets > most_sets)
    sections += "<section>\n" +
                note_html("And " + grouped(static_cast<std::int64_t>(sets - most_sets)) + " more sets.") +
                "</section>\n";
  const std::string name = std::filesystem::path(options.results).filename().string();
  file.write(page_html(name + " – smallbatch",
                       summary_html(report, results, static_cast<std::int64_t>(sets)) + sets_html(report) +
                           stages_html(report) + sections + origin_html(options) + "<footer>\n" +
                           note_html(std::string("Made by smallbatch ") + version_text + ".") + "</footer>\n"));
  file.commit();
  if (options.json) {
    std::int64_t failed = 0, disagreed = 0;
    for (const SetOutcome& set : report.sets) {
      failed += set.failed_count();
      disagreed += set.verification.disagreed;
    }
    return json_text(SetJson{{"command", "report"},
                             {"results", options.results},
                             {"output", options.output},
                             {"set_count", sets},
                             {"failed", failed},
                             {"disagreed", disagreed}});
  }
  return visible_text(options.output) + ": " + std::to_string(sets) + (sets == 1 ? " set\n" : " sets\n");
}

}  // namespace smallbatch
