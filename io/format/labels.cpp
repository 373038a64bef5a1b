#include "io/format/labels.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/error.hpp"
#include "io/format/common.hpp"
#include "io/format/set_tables.hpp"

namespace smallbatch {
namespace {

const std::vector<std::string> feeds{"x", "y", "r", "l"}, visibility_units{"uncalib", "Jy", "K str"};

std::vector<std::string> read_texts(const InputFile& file, const std::string& dataset, std::int64_t count) {
  if (file.kind(dataset) == ObjectKind::none) return {};
  std::vector<std::string> texts = file.texts(dataset);
  const auto found = static_cast<std::int64_t>(texts.size());
  if (found == count) return texts;
  throw file.error(dataset, "expected shape " + shape_text({count}) + ", found " + shape_text({found}),
                   "Give a text for every input.");
}

std::vector<std::int64_t> read_antennas(const InputFile& file, const std::string& dataset, std::int64_t inputs) {
  if (file.kind(dataset) == ObjectKind::none) return {};
  const DatasetInfo& info = file.dataset(dataset);
  if (!info.is_integer()) {
    throw file.error(dataset, "expected integers, found " + info.type_name, "Store the numbers of the antennas.");
  }
  expect_shape(file, dataset, {inputs});
  std::vector<std::int64_t> antennas(static_cast<std::size_t>(inputs));
  file.read_integers(dataset, {}, antennas.data());
  for (std::size_t i = 0; i < antennas.size(); ++i) {
    if (antennas[i] >= 0 && antennas[i] <= std::numeric_limits<std::int32_t>::max()) continue;
    throw file.error(dataset + "[" + std::to_string(i) + "]",
                     "expected a number from 0 to 2147483647, found " + std::to_string(antennas[i]), "Renumber it.");
  }
  return antennas;
}

/// Reads attributes that must all be present, or all be absent.
std::vector<double> read_together(const InputFile& file, const std::string& group,
                                  const std::vector<const char*>& names) {
  std::vector<double> values;
  for (const char* name : names)
    if (file.number(group, name)) values.push_back(read_number(file, group, correlation_set_table.attribute(name)));
  if (values.empty() || values.size() == names.size()) return values;
  std::string all;
  for (const char* name : names) all += (all.empty() ? "" : ", ") + std::string(name);
  throw file.error(group, "it has some of the attributes " + all + ", and not the others",
                   "Give all of them, or none.");
}

}  // namespace

ProblemLabels read_labels(const InputFile& file, const std::string& group, std::int64_t batch) {
  ProblemLabels labels;
  const std::string name = group + "/name", step = group + "/step", time = group + "/time";
  if (file.kind(name) != ObjectKind::none) {
    labels.name = file.texts(name);
    if (static_cast<std::int64_t>(labels.name.size()) != batch) {
      throw file.error(name,
                       "expected shape " + shape_text({batch}) + ", found " +
                           shape_text({static_cast<std::int64_t>(labels.name.size())}),
                       "Name every problem.");
    }
  }
  if (file.kind(step) != ObjectKind::none) {
    expect_type_of(file, step, charge_set_table.dataset("step"), "Store it as int64.");
    expect_shape(file, step, {batch});
    labels.step.resize(static_cast<std::size_t>(batch));
    file.read(step, {}, labels.step.data());
  }
  if (file.kind(time) != ObjectKind::none) {
    (void)file.float_dataset(time);
    expect_shape(file, time, {batch});
    labels.time.resize(static_cast<std::size_t>(batch));
    file.read(time, {}, labels.time.data());
    labels.time_unit = file.string(time, "unit").value_or("");
  }
  return labels;
}

void write_labels(Hdf5Output& file, const std::string& group, const ProblemLabels& labels, std::int64_t batch) {
  const auto fit = [&](const auto& values) {
    if (!values.empty() && static_cast<std::int64_t>(values.size()) != batch) {
      throw Error(ErrorKind::usage, "cannot write " + group,
                  std::to_string(values.size()) + " names, steps or times for " + std::to_string(batch) + " problems",
                  "Give one each.");
    }
    return !values.empty();
  };
  if (fit(labels.name)) file.write_texts(group + "/name", labels.name);
  if (fit(labels.step)) {
    file.create(group + "/step", ElementType::int64, {batch});
    file.write(group + "/step", {}, labels.step.data());
  }
  if (fit(labels.time)) {
    file.create(group + "/time", ElementType::float64, {batch});
    file.write(group + "/time", {}, labels.time.data());
    if (!labels.time_unit.empty()) file.attribute(group + "/time", "unit", labels.time_unit);
  }
}

ArrayLabels read_array_labels(const InputFile& file, const std::string& group, std::int64_t inputs) {
  ArrayLabels labels;
  labels.antenna = read_antennas(file, group + "/input_antenna", inputs);
  labels.antenna_name = read_texts(file, group + "/input_antenna_name", inputs);
  labels.feed = read_texts(file, group + "/input_feed", inputs);
  for (std::size_t i = 0; i < labels.feed.size(); ++i) {
    std::string& feed = labels.feed[i];
    for (const char large : {'X', 'Y', 'R', 'L'})
      if (feed == std::string(1, large)) feed[0] = static_cast<char>(large - 'A' + 'a');
    if (std::ranges::find(feeds, feed) != feeds.end()) continue;
    throw file.error(group + "/input_feed[" + std::to_string(i) + "]",
                     "expected x, y, r or l, found " + smallbatch::quoted(feed), "Name the feed of this input.");
  }
  labels.telescope = file.string(group, "telescope").value_or("");
  labels.location = read_together(file, group, {"latitude", "longitude", "altitude"});
  labels.phase_center = file.string(group, "phase_center").value_or("");
  labels.phase_center_ra_dec = read_together(file, group, {"phase_center_ra", "phase_center_dec"});
  labels.visibility_unit = file.string(group, "visibility_unit").value_or("");
  if (!labels.visibility_unit.empty() &&
      std::ranges::find(visibility_units, labels.visibility_unit) == visibility_units.end()) {
    throw file.error(group + "@visibility_unit",
                     "expected uncalib, Jy or K str, found " + smallbatch::quoted(labels.visibility_unit),
                     "Name one of them, or remove the attribute.");
  }
  return labels;
}

void write_array_labels(Hdf5Output& file, const std::string& group, const ArrayLabels& labels) {
  const std::string antenna = group + "/input_antenna";
  if (!labels.antenna.empty()) {
    file.create(antenna, ElementType::int64, {static_cast<std::int64_t>(labels.antenna.size())});
    file.write(antenna, {}, labels.antenna.data());
  }
  if (!labels.antenna_name.empty()) file.write_texts(antenna + "_name", labels.antenna_name);
  if (!labels.feed.empty()) file.write_texts(group + "/input_feed", labels.feed);
  const auto write_numbers = [&](std::initializer_list<const char*> names, const std::vector<double>& values) {
    for (std::size_t k = 0; k < values.size(); ++k) file.attribute(group, *(names.begin() + k), values[k]);
  };
  write_numbers({"latitude", "longitude", "altitude"}, labels.location);
  write_numbers({"phase_center_ra", "phase_center_dec"}, labels.phase_center_ra_dec);
  for (const auto& [name, text] : {std::pair{"telescope", &labels.telescope},
                                   {"phase_center", &labels.phase_center},
                                   {"visibility_unit", &labels.visibility_unit}}) {
    if (!text->empty()) file.attribute(group, name, *text);
  }
}

}  // namespace smallbatch
