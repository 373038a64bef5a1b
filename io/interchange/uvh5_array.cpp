#include "io/interchange/uvh5_array.hpp"

#include <cmath>

#include "core/error.hpp"

namespace smallbatch {
namespace {

/// Length in m below which readers do not accept a baseline.
constexpr double shortest_baseline = 1e-3;

AntennaPosition position_of(const CorrelationSet& set, std::size_t input) {
  if (set.input_position.empty()) return {static_cast<double>(input), 0, 0};
  const double* const found = set.input_position.data() + 3 * input;
  return {found[0], found[1], found[2]};
}

bool are_one_position(const AntennaPosition& a, const AntennaPosition& b) {
  return std::hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]) < shortest_baseline;
}

/// Returns the index of an input's antenna, and adds the antenna if it is new. Antennas are identified by their numbers
/// if these are known, otherwise by their positions.
std::size_t antenna_of(const CorrelationSet& set, std::size_t input, std::vector<Antenna>& antennas) {
  const bool are_numbered = !set.labels.antenna.empty();
  const AntennaPosition position = position_of(set, input);
  const auto number = are_numbered ? set.labels.antenna[input] : static_cast<std::int64_t>(antennas.size());
  for (std::size_t k = 0; k < antennas.size(); ++k) {
    const bool is_there = are_one_position(position, antennas[k].position);
    const bool is_it = are_numbered ? number == antennas[k].number : is_there;
    const std::string inputs =
        "inputs " + std::to_string(antennas[k].first_input) + " and " + std::to_string(input) + " belong to ";
    if (is_it && !set.input_position.empty() && !is_there)
      refuse_uvh5(set, inputs + "antenna " + std::to_string(number) + " but are not at one place",
                  "Correct input_antenna or input_position.");
    if (is_it) return k;
    if (is_there && !set.input_position.empty())
      refuse_uvh5(set, inputs + "different antennas but are at one place", "Correct input_antenna or input_position.");
  }
  antennas.push_back({number, static_cast<std::int64_t>(input), position});
  return antennas.size() - 1;
}

}  // namespace

/// Finds the antennas, and the input of each of their feeds.
AntennaArray array_of(const CorrelationSet& set) {
  AntennaArray array;
  Uvh5Rows& rows = array.rows;
  bool is_circular = false, is_linear = false;
  std::array<bool, 2> has{};
  for (std::size_t input = 0; input < static_cast<std::size_t>(set.inputs); ++input) {
    const std::size_t k = antenna_of(set, input, array.antennas);
    if (k == rows.inputs.size()) rows.inputs.push_back({-1, -1});
    auto& of_antenna = rows.inputs[k];
    std::size_t feed = of_antenna[0] < 0 ? 0 : 1;
    if (!set.labels.feed.empty()) {
      const std::string& name = set.labels.feed[input];
      feed = name == "x" || name == "r" ? 0 : 1;
      (name == "r" || name == "l" ? is_circular : is_linear) = true;
    }
    if (of_antenna[feed] >= 0) {
      refuse_uvh5(set,
                  "inputs " + std::to_string(of_antenna[feed]) + " and " + std::to_string(input) +
                      (set.labels.feed.empty() ? " share a place or an antenna with a third input"
                                               : " are the same feed of one antenna"),
                  "Give each input its antenna and its feed in the datasets input_antenna and input_feed.");
    }
    of_antenna[feed] = static_cast<std::int64_t>(input);
    has[feed] = true;
  }
  if (is_circular && is_linear)
    refuse_uvh5(set, "some feeds are linear, and others circular", "Make a set of each kind, and export both.");
  if (set.labels.feed.empty())
    array.assumed +=
        has[1] ? "; feeds are not known: x and y, in the order of an antenna's inputs" : "; feeds are not known: x";
  if (set.input_position.empty()) array.assumed += "; positions are not known: a row of antennas, a metre apart";
  if (set.labels.location.empty()) array.assumed += "; the place of the telescope is not known: 0 N 0 E";
  if (!(set.start_time > 0)) array.assumed += "; the start is not known: J2000";
  const std::int64_t both = is_circular ? -1 : -5;
  if (has[0]) rows.polarisations.push_back(both);
  if (has[1]) rows.polarisations.push_back(both - 1);
  if (has[0] && has[1]) rows.polarisations.insert(rows.polarisations.end(), {both - 2, both - 3});
  for (const Antenna& antenna : array.antennas) rows.antenna.push_back(antenna.number);
  const auto antennas = static_cast<std::int64_t>(array.antennas.size());
  rows.of_time.resize(static_cast<std::size_t>(set.integrations()));
  for (auto& of : rows.of_time) {
    of.push_back({rows.count(), antennas * (antennas + 1) / 2});
    for (std::int64_t i = 0; i < antennas; ++i) {
      for (std::int64_t j = 0; j <= i; ++j) {
        rows.first.push_back(i);
        rows.second.push_back(j);
      }
    }
  }
  return array;
}

void refuse_uvh5(const CorrelationSet& set, const std::string& why, const std::string& remedy) {
  throw Error(ErrorKind::bad_input, "cannot write correlation/" + set.name + " as UVH5", why, remedy);
}

}  // namespace smallbatch
