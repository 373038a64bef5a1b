#include "app/option_texts.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/error.hpp"
#include "core/nearest_name.hpp"
#include "core/text_streams.hpp"

namespace smallbatch {

namespace {

/// The whole of `text` as a number of type T, or nothing.
template <class T>
std::optional<T> parse_number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if constexpr (std::is_floating_point_v<T>)
    if (!std::isfinite(value)) return std::nullopt;
  return value;
}

/// "65,33,17", or "65" for all three axes, where `one_for_all`.
template <class T>
std::array<T, 3> parse_three(const std::string& option, const std::string& text, bool one_for_all) {
  std::array<T, 3> values{};
  std::size_t found = 0;
  TextReader words(text);
  for (std::string word; std::getline(words, word, ',');) {
    const auto value = parse_number<T>(word);
    if (!value || found == 3) refuse_option(option, text, "three numbers, as in 1,2,3");
    values[found++] = *value;
  }
  if (one_for_all && found == 1) return {values[0], values[0], values[0]};
  if (found != 3 || text.back() == ',') refuse_option(option, text, "three numbers, as in 1,2,3");
  return values;
}

}  // namespace

void refuse_option(const std::string& option, const std::string& found, const std::string& expected) {
  throw Error(ErrorKind::usage, option + " cannot be '" + found + "'", "expected " + expected,
              "See smallbatch --help.");
}

void refuse_empty_option(const std::string& option) {
  throw Error(ErrorKind::usage, option + " needs a value", "an empty one was given", "See smallbatch --help.");
}

DeviceRequest parse_device(const std::string& text) {
  using Kind = DeviceRequest::Kind;
  if (text == "auto") return {Kind::automatic};
  if (text == "cpu") return {Kind::cpu};
  if (text == "reference") return {Kind::reference};
  if (text == "cuda") return {Kind::cuda};
  if (text == "cuda:all") return {Kind::cuda, {}, true};
  const auto refuse = [&] {
    refuse_option("--device", text, "auto, cpu, cuda, cuda:K, cuda:K,L,..., cuda:all or reference");
  };
  if (!text.starts_with("cuda:")) refuse();
  DeviceRequest request{Kind::cuda};
  for (std::string_view rest = std::string_view(text).substr(5);;) {
    const std::size_t comma = rest.find(',');
    const auto index = parse_number<int>(rest.substr(0, comma));
    if (!index || *index < 0 || std::ranges::count(request.indices, *index) > 0) refuse();
    request.indices.push_back(*index);
    if (comma == std::string_view::npos) return request;
    rest.remove_prefix(comma + 1);
  }
}

unsigned parse_threads(const std::string& text) {
  constexpr unsigned most = 4096;
  const auto count = parse_number<unsigned>(std::string_view(text).substr(0, text.find(',')));
  return count && *count <= most ? *count : 0;
}

unsigned threads_of_environment() {
  for (const char* name : {"OMP_NUM_THREADS", "SLURM_CPUS_PER_TASK"})
    if (const char* value = std::getenv(name))
      if (const unsigned count = parse_threads(value); count > 0) return count;
  return 0;
}

VerifyMode parse_verify(const std::string& text) {
  using Kind = VerifyMode::Kind;
  if (text == "auto") return {Kind::automatic, 0};
  if (text == "all") return {Kind::all, 0};
  if (text == "none") return {Kind::none, 0};
  if (text.starts_with("sample=")) {
    const auto count = parse_number<std::int64_t>(std::string_view(text).substr(7));
    if (count && *count > 0) return {Kind::sample, *count};
  }
  refuse_option("--verify", text, "auto, all, none or sample=N with N > 0");
}

PotentialUnit parse_unit(const std::string& text) {
  if (const auto unit = parse_potential_unit(text)) return *unit;
  std::vector<std::string> known;
  TextReader names(potential_unit_names());
  for (std::string name; names >> name;) known.push_back(name.substr(0, name.find(',')));
  const auto meant = nearest_name(text, known);
  throw Error(ErrorKind::usage, "--unit cannot be '" + text + "'", "expected one of " + potential_unit_names(),
              meant ? "Did you mean " + *meant + "?" : "See smallbatch --help.");
}

std::array<int, 2> parse_sizes(const std::string& text) {
  const std::size_t colon = std::min(text.find(':'), text.size());
  const auto least = parse_number<int>(std::string_view(text).substr(0, colon));
  const auto most = parse_number<int>(std::string_view(text).substr(std::min(colon + 1, text.size())));
  if (!least || !most || *least < 0 || *most < std::max(1, *least) || *most > max_system_size)
    refuse_option("--sizes", text, "the least and the most rows, as in 8:32, up to " + std::to_string(max_system_size));
  return {*least, *most};
}

LatticeShape parse_shape(const std::string& text) {
  const auto shape = parse_three<std::int64_t>("--shape", text, true);
  constexpr std::int64_t most = 1 << 20;  // of an axis: a lattice of 2^60 points is enough, and no product overflows
  for (const std::int64_t points : shape)
    if (points < 1 || points > most)
      refuse_option("--shape", text, "three numbers of points, each from 1 to " + std::to_string(most));
  return {shape[0], shape[1], shape[2]};
}

double parse_spacing(const std::string& text) {
  const auto spacing = parse_number<double>(text);
  if (!spacing || !(*spacing > 0)) refuse_option("--spacing", text, "a length above 0 in angstrom");
  return *spacing;
}

std::array<double, 3> parse_origin(const std::string& text) { return parse_three<double>("--origin", text, false); }

std::vector<double> parse_delays(const std::string& text) {
  std::vector<double> delays;
  TextReader words(text);
  for (std::string word; std::getline(words, word, ',');) {
    const auto delay = parse_number<double>(word);
    if (!delay) refuse_option("--delays", text, "nanoseconds of each source, as in 0,21.3");
    delays.push_back(*delay);
  }
  return delays;
}

void check_set_name(const std::string& name) {
  if (name.empty() || name == "." || name == ".." || name.find('/') != std::string::npos)
    refuse_option("--set", name, "a name without '/'");
}

}  // namespace smallbatch
