// PQR: one ATOM or HETATM line per charge, fields separated by spaces:
//     record serial name residue [chain] number x y z charge radius
// The chain is optional, so the fields are counted from the end. The writers in use align them in the columns of PDB
// files, where wide numbers run into each other or a field stays empty. Guessing then would give a wrong molecule
// without a word, so a line must have all its fields, each a plain number where a number belongs.
#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "core/error.hpp"
#include "io/elements.hpp"
#include "io/molecule.hpp"

namespace smallbatch {
namespace {

constexpr std::string_view blanks = " \t\r\v\f";
constexpr std::array<const char*, 5> number_names{"x", "y", "z", "charge", "radius"};
constexpr std::string_view line_form = "record serial name residue [chain] number x y z charge radius";

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> fields;
  for (std::size_t begin = text.find_first_not_of(blanks); begin != std::string_view::npos;) {
    const std::size_t end = std::min(text.find_first_of(blanks, begin), text.size());
    fields.push_back(text.substr(begin, end - begin));
    begin = text.find_first_not_of(blanks, end);
  }
  return fields;
}

/// In capitals or not, as APBS reads it.
bool begins_with(std::string_view line, std::string_view name) {
  return line.size() >= name.size() && std::equal(name.begin(), name.end(), line.begin(), [](char one, char other) {
           return one == (other >= 'a' && other <= 'z' ? static_cast<char>(other - 'a' + 'A') : other);
         });
}

/// Without what may stand before its first word: blanks, and in the file's first line the mark of UTF-8.
std::string_view from_first_word(std::string_view line, bool is_first) {
  constexpr std::string_view mark = "\xef\xbb\xbf";
  if (is_first && line.starts_with(mark)) line.remove_prefix(mark.size());
  return line.substr(std::min(line.find_first_not_of(blanks), line.size()));
}

/// What follows the record's name in an ATOM or HETATM line, else nothing. The serial number may touch the name, as in
/// HETATM10000.
std::string_view after_record_name(std::string_view line) {
  for (const std::string_view name : {"ATOM", "HETATM"}) {
    if (!begins_with(line, name)) continue;
    const std::string_view rest = line.substr(name.size());
    if (!rest.empty() && (blanks.find(rest[0]) != std::string_view::npos || (rest[0] >= '0' && rest[0] <= '9'))) {
      return rest;
    }
  }
  return {};
}

/// Quoted for a message: control characters and bytes beyond ASCII as '?', long text cut.
std::string quoted(std::string_view text) {
  std::string result = "'";
  for (const char c : text.substr(0, 40)) result += c >= ' ' && c <= '~' ? c : '?';
  return result + (text.size() > 40 ? "...'" : "'");
}

class PqrReader {
 public:
  explicit PqrReader(const std::string& path) : path_(path) {}

  Molecule read() {
    std::error_code unknown;
    const std::filesystem::file_status found = std::filesystem::status(path_, unknown);
    if (std::filesystem::exists(found) && !std::filesystem::is_regular_file(found)) {
      throw Error(ErrorKind::missing_file, "cannot read " + path_,
                  std::filesystem::is_directory(found) ? "it is a folder" : "it is no regular file",
                  "Give the name of a PQR file.");
    }
    errno = 0;
    std::ifstream file(path_, std::ios::binary);
    if (!file) {
      throw Error(ErrorKind::missing_file, "cannot read " + path_, std::strerror(errno), "Check the name.");
    }
    int models = 0;
    std::string line;
    const auto has_line = [&] {
      try {
        return static_cast<bool>(std::getline(file, line));
      } catch (const std::ios::failure&) {
        throw Error(ErrorKind::missing_file, "cannot read " + path_,
                    "reading failed after line " + std::to_string(line_number_) + ": " + std::strerror(errno),
                    "Check the disk or the network, and run again.");
      }
    };
    file.exceptions(std::ios::badbit);
    while (has_line()) {
      ++line_number_;
      const std::string_view text = from_first_word(line, line_number_ == 1);
      if (const std::size_t end = text.find('\r');
          end < text.size() && text.find_first_not_of(blanks, end) < text.size()) {
        fail(
            "a carriage return stands within the line, and what follows it may be another atom. End lines by line "
            "feeds");
      }
      if (begins_with(text, "MODEL") && ++models == 2) {
        fail("a second MODEL begins here, and charges of several models would overlap. Keep one model in the file");
      }
      if (const std::string_view rest = after_record_name(text); !rest.empty()) read_atom(split(rest));
    }
    if (molecule_.charge.empty()) {
      throw Error(
          ErrorKind::bad_input, path_ + " holds no charges",
          "expected lines that begin with ATOM or HETATM, found " + std::to_string(line_number_) + " lines without",
          "Give a PQR file.");
    }
    return std::move(molecule_);
  }

 private:
  void read_atom(const std::vector<std::string_view>& fields) {
    // Without the record's name: serial name residue [chain] number, then the five numbers.
    if (fields.size() < 9) {
      fail("expected at least 10 fields (" + std::string(line_form) + "), found " + std::to_string(fields.size() + 1) +
           " (one is missing, or two columns touch). Separate all fields by spaces");
    }
    const std::size_t first = fields.size() - number_names.size();
    std::array<double, 5> number{};
    for (std::size_t i = 0; i < number.size(); ++i) number[i] = parse_number(fields[first + i], number_names[i]);
    if (const std::string_view residue = fields[first - 1];
        residue.find_first_of("0123456789") == std::string_view::npos) {
      fail("expected a residue number before x, found " + quoted(residue) +
           " (a field is missing: the line must read " + std::string(line_form) + "). Complete the line");
    }
    if (number[4] < 0) {
      fail("expected a radius that is not negative in the last field, found " + quoted(fields.back()) +
           " (a field may be missing). Complete the line");
    }
    molecule_.position.insert(molecule_.position.end(), number.begin(), number.begin() + 3);
    molecule_.charge.push_back(number[3]);
    molecule_.atomic_number.push_back(atomic_number(fields[1], fields[2]));
  }

  double parse_number(std::string_view field, const char* name) const {
    std::string_view digits = field;
    if (digits.size() > 1 && digits[0] == '+' && digits[1] != '-') digits.remove_prefix(1);
    double value = 0;
    const char* const end = digits.data() + digits.size();
    const auto [stop, failure] = std::from_chars(digits.data(), end, value);
    if (failure != std::errc{} || stop != end || !std::isfinite(value)) {
      fail("expected a finite number for " + std::string(name) + ", found " + quoted(field) +
           (stop != digits.data() && stop != end ? " (two columns may touch). Separate the fields by spaces"
                                                 : ". Correct the line"));
    }
    return value;
  }

  [[noreturn]] void fail(const std::string& problem) const {
    throw Error(ErrorKind::bad_input, path_ + ", line " + std::to_string(line_number_) + ": " + problem + ".");
  }

  const std::string& path_;
  std::int64_t line_number_ = 0;
  Molecule molecule_;
};

}  // namespace

Molecule read_pqr(const std::string& path) { return PqrReader(path).read(); }

}  // namespace smallbatch
