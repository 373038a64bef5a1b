#include "app/cli/option_texts.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <type_traits>
#include <vector>

#include "app/cli/quantities.hpp"
#include "core/error.hpp"
#include "core/nearest_name.hpp"
#include "core/text_streams.hpp"

namespace smallbatch {

namespace {

/// Returns all of `text` as a number of type T, or nothing.
template <class T>
std::optional<T> parse_number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if constexpr (std::is_floating_point_v<T>)
    if (!std::isfinite(value)) return std::nullopt;
  return value;
}

/// Returns a whole number as text, without exponent or decimals.
std::string whole_text(double value) {
  std::array<char, 400> text{};
  const int length = std::snprintf(text.data(), text.size(), "%.0f", value);
  return {text.data(), static_cast<std::size_t>(length)};
}

/// Returns all of `text` as a double, or nothing. Accepts what strtod() accepts, such as 0x1p-20, without leading
/// space.
std::optional<double> parse_double(const std::string& text) {
  if (text.empty() || std::isspace(static_cast<unsigned char>(text.front())) != 0) return std::nullopt;
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  return end == text.c_str() + text.size() ? std::optional(value) : std::nullopt;
}

/// Parses "65,33,17". With `one_for_all`, "65" gives all three axes. `example` shows the form in error messages.
template <class T>
std::array<T, 3> parse_three(const std::string& option, const std::string& text, const Limits<T>& limits,
                             bool one_for_all, const std::string& example) {
  const std::string remedy = "Write three numbers, separated by commas, such as " + example + ".";
  std::vector<T> values;
  std::string_view rest = text;
  for (bool is_last = false; !is_last;) {
    const std::size_t comma = rest.find(',');
    is_last = comma == std::string_view::npos;
    const std::string word(rest.substr(0, comma));
    if (!is_last) rest.remove_prefix(comma + 1);
    const auto value = parse_number<T>(word);
    if (!value)
      refuse_option(option, text,
                    "number " + std::to_string(values.size() + 1) + " is '" + word + "', which is not a " +
                        (std::is_integral_v<T> ? "whole number" : "number"),
                    remedy);
    if (*value < limits.least || *value > limits.most)
      refuse_option(option, text, "number " + std::to_string(values.size() + 1) + " is not " + limits_text(limits),
                    remedy);
    values.push_back(*value);
  }
  if (one_for_all && values.size() == 1) return {values[0], values[0], values[0]};
  if (values.size() != 3)
    refuse_option(
        option, text,
        "it has " + std::to_string(values.size()) + (values.size() == 1 ? " number" : " numbers") + " instead of three",
        remedy + (one_for_all ? " A single number stands for all three axes." : ""));
  return {values[0], values[1], values[2]};
}

}  // namespace

template <class T>
std::string limits_text(const Limits<T>& limits) {
  const bool has_least = std::is_unsigned_v<T> || limits.least > std::numeric_limits<T>::lowest();
  const bool has_most = limits.most < std::numeric_limits<T>::max();
  const auto number = [](T value) {
    TextWriter text;
    text << value;
    return text.str();
  };
  if (has_least && has_most && !limits.excludes_least && !limits.excludes_most)
    return "from " + number(limits.least) + " to " + number(limits.most);
  std::string text;
  if (has_least) text = (limits.excludes_least ? "above " : "at least ") + number(limits.least);
  if (has_most)
    text += (text.empty() ? "" : ", and ") + std::string(limits.excludes_most ? "below " : "at most ") +
            number(limits.most);
  return text;
}

template <class T>
std::string wrong_number(const std::string& text, const Limits<T>& limits, const std::string& example) {
  const auto wrong = [&](const std::string& why, const std::string& remedy) {
    return "cannot be '" + text + "' (" + why + "). " + remedy;
  };
  const std::string range = limits_text(limits);
  const std::string thing = std::is_integral_v<T> ? "a whole number" : "a number";
  const std::string write = "Write " + thing + (range.empty() ? "" : " " + range) + ", such as " + example + ".";
  if (text.empty()) return wrong("it is empty", write);
  const auto found = parse_double(text);
  if (!found) return wrong("it is not a number", write);
  if constexpr (std::is_integral_v<T>) {
    const bool has_digits_alone =
        text.find_first_not_of("0123456789", text.front() == '-' ? 1 : 0) == std::string::npos;
    const double least = static_cast<double>(limits.least), most = static_cast<double>(limits.most);
    if (!std::isfinite(*found)) return wrong("it is not finite", write);
    if (*found < least) return wrong("it is less than " + whole_text(least), write);
    if (*found > most) return wrong("it is more than " + whole_text(most), write);
    if (std::trunc(*found) != *found) return wrong("it is not a whole number", write);
    if (!has_digits_alone)
      return wrong("it is " + whole_text(*found) + ", but a whole number must consist of digits",
                   "Write " + whole_text(*found) + ".");
    const auto value = parse_number<T>(text);
    if (!value || *value < limits.least || *value > limits.most) return wrong("it is too large", write);
  } else {
    if (!std::isfinite(*found)) return wrong("it is not finite", write);
    const bool is_within = (limits.excludes_least ? *found > limits.least : *found >= limits.least) &&
                           (limits.excludes_most ? *found < limits.most : *found <= limits.most);
    if (!is_within) return wrong("it is not " + range, write);
  }
  return {};
}

template std::string limits_text(const Limits<int>&);
template std::string limits_text(const Limits<unsigned>&);
template std::string limits_text(const Limits<std::int64_t>&);
template std::string limits_text(const Limits<std::uint64_t>&);
template std::string limits_text(const Limits<double>&);
template std::string wrong_number(const std::string&, const Limits<int>&, const std::string&);
template std::string wrong_number(const std::string&, const Limits<unsigned>&, const std::string&);
template std::string wrong_number(const std::string&, const Limits<std::int64_t>&, const std::string&);
template std::string wrong_number(const std::string&, const Limits<std::uint64_t>&, const std::string&);
template std::string wrong_number(const std::string&, const Limits<double>&, const std::string&);

void refuse_option(const std::string& option, const std::string& found, const std::string& why,
                   const std::string& remedy) {
  throw Error(ErrorKind::usage, option + " cannot be '" + found + "'", why, remedy);
}

void refuse_option_with(const std::string& option, const std::string& with) {
  throw Error(ErrorKind::usage, option + " cannot be given", "it does not apply with " + with, "Leave it out.");
}

void refuse_empty_option(const std::string& option) {
  throw Error(ErrorKind::usage, option + " needs a value", "its value is empty",
              "Give a value, or leave the option out if it has a default.");
}

DeviceRequest parse_device(const std::string& text) {
  using Kind = DeviceRequest::Kind;
  if (text == "auto") return {Kind::automatic};
  if (text == "cpu") return {Kind::cpu};
  if (text == "reference") return {Kind::reference};
  if (text == "cuda") return {Kind::cuda};
  if (text == "cuda:all") return {Kind::cuda, {}, true};
  if (!text.starts_with("cuda:"))
    refuse_option("--device", text, "it is not one of auto, cpu, cuda, reference",
                  "Write one of these, or name GPUs: cuda:0, cuda:0,1 or cuda:all.");
  DeviceRequest request{Kind::cuda};
  for (std::string_view rest = std::string_view(text).substr(5);;) {
    const std::size_t comma = rest.find(',');
    const auto index = parse_number<int>(rest.substr(0, comma));
    const std::string word(rest.substr(0, comma));
    if (!index || *index < 0)
      refuse_option("--device", text, "'" + word + "' is not the index of a GPU",
                    "Count from 0, such as cuda:0 or cuda:0,1.");
    if (std::ranges::count(request.indices, *index) > 0)
      refuse_option("--device", text, "GPU " + word + " is named twice", "Name each GPU once, such as cuda:0,1.");
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
  const bool is_sample = text.starts_with("sample=");
  refuse_option(
      "--verify", text,
      is_sample ? "'" + text.substr(7) + "' is not a number of answers" : "it is not one of auto, all, none, sample=N",
      is_sample ? "Write a whole number above 0, such as sample=1000." : "Write one of these, such as sample=1000.");
}

std::string verify_mode_name(const VerifyMode& mode) {
  switch (mode.kind) {
    case VerifyMode::Kind::all:
      return "all";
    case VerifyMode::Kind::sample:
      return "sample=" + std::to_string(mode.sample);
    case VerifyMode::Kind::automatic:
      return "auto";
    case VerifyMode::Kind::none:
      break;
  }
  return "none";
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
  const std::string remedy = "Write the least and the most rows, such as 8:32.";
  if (colon == text.size()) refuse_option("--sizes", text, "it has no colon between two numbers", remedy);
  if (!least || !most) refuse_option("--sizes", text, "it is not two whole numbers", remedy);
  if (*least < 0 || *most < 1 || *most > max_system_size)
    refuse_option("--sizes", text,
                  "the most must be from 1 to " + std::to_string(max_system_size) + ", and the least 0 or more",
                  remedy);
  if (*least > *most) refuse_option("--sizes", text, "the least is more than the most", remedy);
  return {*least, *most};
}

std::uint64_t parse_memory(const std::string& text) {
  const auto refuse = [&](const std::string& why) {
    refuse_option("--memory", text, why, "Write a number with a unit, such as 512MiB or 2GB.");
  };
  double count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || !std::isfinite(count)) refuse("it is not a number with a unit");
  std::string unit(end, text.data() + text.size());
  unit.erase(0, unit.find_first_not_of(' '));
  std::string lower = unit;
  std::ranges::transform(lower, lower.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c; });
  if (lower.ends_with('b')) lower.pop_back();
  const bool is_binary = lower.ends_with('i');
  if (is_binary) lower.pop_back();
  const std::size_t power = lower.empty() ? 0 : std::string_view("kmgtpe").find(lower) + 1;
  if (lower.size() > 1 || (power == 0 && (is_binary || !lower.empty())))
    refuse("'" + unit + "' is not a unit of bytes");
  const double bytes = count * std::pow(is_binary ? 1024.0 : 1000.0, static_cast<double>(power));
  if (!(bytes >= 0x1p20)) refuse("it is " + bytes_text(bytes) + ", less than 1 MiB");
  if (!(bytes <= 0x1p50)) refuse("it is " + bytes_text(bytes) + ", more than 1 PiB");
  return static_cast<std::uint64_t>(bytes);
}

LatticeShape parse_shape(const std::string& text) {
  constexpr std::int64_t most = 1 << 20;  // per axis: a lattice of 2^60 points is enough, and no product overflows
  const auto shape = parse_three<std::int64_t>("--shape", text, {1, most}, true, "65,65,33");
  return {shape[0], shape[1], shape[2]};
}

double parse_spacing(const std::string& text) {
  if (const std::string wrong = wrong_number<double>(text, above_0, "0.5"); !wrong.empty())
    throw Error(ErrorKind::usage, "--spacing " + wrong);
  return *parse_double(text);
}

std::array<double, 3> parse_origin(const std::string& text) {
  return parse_three<double>("--origin", text, {}, false, "-16,-16,0.5");
}

std::vector<double> parse_delays(const std::string& text) {
  std::vector<double> delays;
  TextReader words(text);
  for (std::string word; std::getline(words, word, ',');) {
    const auto delay = parse_number<double>(word);
    if (!delay)
      refuse_option("--delays", text, "'" + word + "' is not a number",
                    "Write the delay of each source in nanoseconds, such as 0,21.3.");
    if (!(std::abs(*delay) <= 1e12))
      refuse_option("--delays", text, word + " is more than 1e12 nanoseconds", "Write smaller delays, such as 0,21.3.");
    delays.push_back(*delay);
  }
  return delays;
}

void check_set_name(const std::string& name) {
  if (name.empty() || name == "." || name == ".." || name.find('/') != std::string::npos)
    refuse_option("--set", name, "an HDF5 group cannot have this name", "Write a name without '/', such as molecules.");
}

}  // namespace smallbatch
