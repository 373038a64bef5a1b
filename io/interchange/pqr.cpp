// Reader of PQR files. They have one ATOM or HETATM line per charge, with fields separated by spaces:
//
//     record serial name residue [chain] number [insertion] x y z charge radius [element]
//
// Some fields may be missing, so x is the first number with a decimal point. Exactly five numbers begin there, or the
// line is refused. Writers align the fields in the columns of PDB files, and wide fields then touch. Fields that touch
// are read by PDB2PQR's columns. Any other line must be a record of PDB files, because it might be a misspelt atom.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>

#include "core/error.hpp"
#include "io/interchange/elements.hpp"
#include "io/interchange/molecule.hpp"
#include "io/interchange/text_lines.hpp"

namespace smallbatch {
namespace {

constexpr std::string_view blanks = " \t\r\v\f";
constexpr std::array<const char*, 5> number_names{"x", "y", "z", "charge", "radius"};
constexpr std::string_view line_form =
    "record serial name residue [chain] number [insertion] x y z charge radius [element]";
constexpr std::string_view number_form = "a residue number (as 12, 12A, A12, A000 or ****)";
/// Records of PDB files, current and older, and of programs that write them. ATOM and HETATM are not here.
constexpr std::array<std::string_view, 59> known_records{
    "HEADER", "OBSLTE", "TITLE",  "SPLIT",  "CAVEAT", "COMPND", "SOURCE", "KEYWDS", "EXPDTA", "NUMMDL",
    "MDLTYP", "AUTHOR", "REVDAT", "SPRSDE", "JRNL",   "REMARK", "FTNOTE", "DBREF",  "DBREF1", "DBREF2",
    "SEQADV", "SEQRES", "MODRES", "HET",    "HETNAM", "HETSYN", "FORMUL", "HELIX",  "SHEET",  "TURN",
    "SSBOND", "LINK",   "LINKR",  "HYDBND", "SLTBRG", "CISPEP", "SITE",   "CRYST1", "ORIGX1", "ORIGX2",
    "ORIGX3", "SCALE1", "SCALE2", "SCALE3", "MTRIX1", "MTRIX2", "MTRIX3", "TVECT",  "MODEL",  "ANISOU",
    "SIGATM", "SIGUIJ", "TER",    "ENDMDL", "CONECT", "MASTER", "END",    "USER",   "BREAK"};

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> fields;
  for (std::size_t begin = text.find_first_not_of(blanks); begin != std::string_view::npos;) {
    const std::size_t end = std::min(text.find_first_of(blanks, begin), text.size());
    fields.push_back(text.substr(begin, end - begin));
    begin = text.find_first_not_of(blanks, end);
  }
  return fields;
}

/// True if the line begins with `name`. Capitals do not matter, as in APBS.
bool begins_with(std::string_view line, std::string_view name) {
  return line.size() >= name.size() && std::equal(name.begin(), name.end(), line.begin(), [](char one, char other) {
           return one == (other >= 'a' && other <= 'z' ? static_cast<char>(other - 'a' + 'A') : other);
         });
}

/// Returns the text before a comment. A comment begins with # or %, as in APBS, but not within a word.
std::string_view without_comment(std::string_view text) {
  for (std::size_t mark = 0; (mark = text.find_first_of("#%", mark)) != std::string_view::npos; ++mark)
    if (mark == 0 || blanks.find(text[mark - 1]) != std::string_view::npos) return text.substr(0, mark);
  return text;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/// Returns the record that the first word names, in capitals; empty if it names none. Numbers may touch the record from
/// the seventh column on, as in CONECT10000.
std::string_view known_record(std::string_view text) {
  constexpr std::size_t columns = 6;
  std::string_view word = text.substr(0, text.find_first_of(blanks));
  if (word.size() > columns && !is_letter(word[columns])) word = word.substr(0, columns);
  for (const std::string_view known : known_records)
    if (word.size() == known.size() && begins_with(word, known)) return known;
  return {};
}

/// Quotes a text for a message. Control characters and bytes beyond ASCII become '?', and a long text is cut.
std::string quoted(std::string_view text) {
  std::string result = "'";
  for (const char c : text.substr(0, 40)) result += c >= ' ' && c <= '~' ? c : '?';
  return result + (text.size() > 40 ? "...'" : "'");
}

/// True for a number with a decimal point, or with an exponent as in 1e-05. Residue numbers have neither. Also true for
/// several such numbers that touch.
bool is_decimal(std::string_view field) {
  return field.find_first_not_of("0123456789.+-eE") == std::string_view::npos && std::ranges::any_of(field, is_digit) &&
         std::ranges::any_of(std::array{".", "e-", "e+", "E-", "E+"},
                             [&](const char* mark) { return field.find(mark) != std::string_view::npos; });
}

/// True for a residue number: decimal, hexadecimal or hybrid-36 digits. A chain may precede the digits, and an
/// insertion code may follow. A number that is too large is ****.
bool is_residue_number(std::string_view field) {
  const auto fits = [](char c) { return is_digit(c) || is_letter(c) || c == '-' || c == '+'; };
  return field.find_first_not_of('*') == std::string_view::npos ||
         (std::ranges::all_of(field, fits) && std::ranges::any_of(field, is_digit));
}

/// Returns the number in columns [first, first + width); nothing unless it is right-aligned with `decimals` decimals.
std::optional<double> in_columns(std::string_view line, std::size_t first, std::size_t width, std::size_t decimals) {
  if (line.size() < first + width) return std::nullopt;
  std::string_view field = line.substr(first, width);
  field.remove_prefix(std::min(field.find_first_not_of(' '), width));
  double value = 0;
  const auto [stop, failure] =
      std::from_chars(field.data(), field.data() + field.size(), value, std::chars_format::fixed);
  if (failure != std::errc{} || stop != field.data() + field.size() || field.size() <= decimals ||
      field.find('.') != field.size() - decimals - 1)
    return std::nullopt;
  return value;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(blanks);
  return first == std::string_view::npos ? std::string_view{}
                                         : text.substr(first, text.find_last_not_of(blanks) + 1 - first);
}

constexpr std::size_t end_of_coordinates = 54;  // a column of PDB files, counted from 0

/// True if three coordinates stand in the columns of PDB files.
bool has_columns(std::string_view line) {
  return in_columns(line, 30, 8, 3) && in_columns(line, 38, 8, 3) && in_columns(line, 46, 8, 3);
}

constexpr double largest_atom = 5;  // angstrom, larger than any radius in use

/// True if occupancy and temperature factor stand where a PQR file may have charge and radius.
bool is_pdb_atom(std::string_view line) {
  const auto occupancy = in_columns(line, end_of_coordinates, 6, 2);
  return has_columns(line) && occupancy && *occupancy >= 0 && *occupancy <= 1 && in_columns(line, 60, 6, 2) &&
         (line.size() == 66 || line[66] == ' ' || line[66] == '\r');
}

/// Fields of an atom: serial name residue [chain] number [insertion], and all fields from x on.
struct AtomFields {
  std::vector<std::string_view> before_x, from_x;
};

/// Splits the fields at blanks. x is the first number with a decimal point after the names.
AtomFields fields_by_blanks(std::string_view after_record) {
  AtomFields fields{{}, split(after_record)};
  constexpr std::size_t names = 3;
  const auto x =
      std::find_if(fields.from_x.begin() + static_cast<std::ptrdiff_t>(std::min(names, fields.from_x.size())),
                   fields.from_x.end(), is_decimal);
  fields.before_x.assign(fields.from_x.begin(), x);
  fields.from_x.erase(fields.from_x.begin(), x);
  return fields;
}

/// Splits the fields by PDB2PQR's columns. Returns nothing if a field is missing.
std::optional<AtomFields> fields_by_columns(std::string_view line) {
  if (!has_columns(line)) return std::nullopt;
  AtomFields fields{
      {line.substr(6, 5), trimmed(line.substr(12, 4)), trimmed(line.substr(16, 5)), trimmed(line.substr(22, 5))},
      {line.substr(30, 8), line.substr(38, 8), line.substr(46, 8)}};
  for (std::string_view& field : fields.from_x) field = trimmed(field);
  for (const std::string_view field : split(line.substr(end_of_coordinates))) fields.from_x.push_back(field);
  for (std::size_t i = 1; i < fields.before_x.size(); ++i)
    if (fields.before_x[i].empty()) return std::nullopt;
  return fields;
}

class PqrReader {
 public:
  explicit PqrReader(const std::string& path) : path_(path), lines_(path) {}

  Molecule read() {
    for (std::string_view line; lines_.next(line);) read_line(line);
    if (molecule_.charge.empty())
      throw Error(ErrorKind::bad_input, path_ + " holds no charges",
                  lines_.line_number() == 0
                      ? "it is empty"
                      : "none of its " + std::to_string(lines_.line_number()) + " lines begins with ATOM or HETATM",
                  "Give a PQR file.");
    const bool could_be_occupancies =
        std::ranges::all_of(molecule_.charge, [](double charge) { return charge >= 0 && charge <= 1; });
    const auto is_called = [&](std::string_view ending) {  // capitals do not matter
      return begins_with(std::string_view(path_).substr(path_.size() - std::min(path_.size(), ending.size())), ending);
    };
    // A single atom may be an ion from GROMACS. Its last number is a radius, and no temperature factor.
    if ((are_of_pdb() && (atoms_ > 1 || largest_radius_ > largest_atom)) ||
        ((is_called(".PDB") || is_called(".ENT")) && could_be_occupancies))
      refuse_pdb();
    return std::move(molecule_);
  }

 private:
  void read_line(std::string_view line) {
    constexpr std::string_view mark_of_utf8 = "\xef\xbb\xbf";
    if (lines_.line_number() == 1 && line.starts_with(mark_of_utf8)) line.remove_prefix(mark_of_utf8.size());
    const std::string_view text = line.substr(std::min(line.find_first_not_of(blanks), line.size()));
    if (text.find('\0') != std::string_view::npos)
      fail("zero bytes stand within the line (the file is damaged, or UTF-16 text). Write it again, as UTF-8");
    if (const std::size_t end = text.find('\r'); end < text.size() && text.find_first_not_of(blanks, end) < text.size())
      fail(
          "a carriage return stands within the line, and what follows it may be another atom. End lines by line "
          "feeds");
    const std::string_view words = without_comment(text);
    if (words.empty()) return;
    for (const std::string_view record : {"ATOM", "HETATM"})
      if (begins_with(words, record)) {
        const std::string_view in_first_column = text.size() == line.size() ? words : std::string_view{};
        ++atoms_;
        pdb_atoms_ += is_pdb_atom(in_first_column) ? 1 : 0;
        return read_atom(words.substr(record.size()), in_first_column);
      }
    const std::string_view record = known_record(words);
    if (record.empty()) refuse_unknown(words);
    const bool has_atoms = !molecule_.charge.empty();
    if (record == "MODEL" && (has_atoms || models_++ > 0))
      fail_atom("a second MODEL begins here, and charges of several models would overlap. Keep one model in the file");
    if (has_atoms && (record == "END" || record == "ENDMDL") && end_.empty()) end_ = record;
  }

  [[noreturn]] void refuse_unknown(std::string_view words) const {
    if (words.starts_with("@<TRIPOS>"))
      refuse_kind("a mol2 file", "Open Babel makes a PQR file of it, with its charges.");
    for (const std::string_view begin : {"data_", "loop_", "_"})
      if (words.starts_with(begin))
        refuse_kind("a CIF file", "It has no charges: pdb2pqr gives it charges, and makes a PQR file of it.");
    fail(quoted(words.substr(0, words.find_first_of(blanks))) +
         " begins no line of a PQR or PDB file. If the line is an atom, let it begin with ATOM or HETATM, else with "
         "REMARK or #");
  }
  [[noreturn]] void refuse_kind(const std::string& kind, const std::string& remedy) const {
    throw Error(ErrorKind::bad_input, path_ + " is " + kind,
                "line " + std::to_string(lines_.line_number()) + " says so", remedy);
  }
  [[noreturn]] void refuse_pdb() const {
    throw Error(ErrorKind::bad_input, path_ + " is a PDB file",
                "where PQR has charge and radius, its atoms have occupancies and temperature factors",
                "pdb2pqr gives it charges, and makes a PQR file of it. If they are charges, write them with three "
                "decimals, and let the name end in .pqr.");
  }

  /// `line` is empty if the record does not begin in the first column.
  void read_atom(std::string_view after_record, std::string_view line) {
    if (!end_.empty())
      fail_atom("an atom follows " + std::string(end_) +
                ", and charges of several models would overlap. Keep one model in the file, or remove the line " +
                std::string(end_));
    AtomFields fields = fields_by_blanks(after_record);
    const auto touch = [](std::string_view field) { return std::ranges::count(field, '.') > 1; };
    if (fields.before_x.size() < 4 || std::ranges::any_of(fields.from_x, touch))
      if (auto others = fields_by_columns(line)) fields = *others;
    check(fields.before_x);
    std::array<double, 5> number{};
    const auto& from_x = fields.from_x;
    for (std::size_t i = 0; i < std::min(number.size(), from_x.size()); ++i) number[i] = parse_number(from_x[i], i);
    if (from_x.size() < number.size())
      fail_atom("expected " + std::string(line_form) + ", found " + std::to_string(from_x.size()) +
                " of the five numbers from x on (one is missing, or two columns touch). Separate all fields by spaces");
    if (from_x.size() > number.size() + 1 || (from_x.size() > number.size() && !is_letter(from_x.back().front())))
      fail_atom("expected nothing but an element after the radius, found " + quoted(from_x[number.size()]) +
                " (a column too many stands after x). Keep only x y z charge radius, or begin a comment with #");
    if (number[4] < 0)
      fail_atom("expected a radius that is not negative in the last field, found " + quoted(from_x[4]) +
                " (a field may be missing, or charge and radius be swapped). Correct the line");
    molecule_.position.insert(molecule_.position.end(), number.begin(), number.begin() + 3);
    molecule_.charge.push_back(number[3]);
    largest_radius_ = std::max(largest_radius_, number[4]);
    const std::string_view element = from_x.size() > number.size() ? from_x.back() : "";
    const std::int8_t told = std::ranges::count_if(element, is_letter) <= 2 ? atomic_number(element, element) : 0;
    molecule_.atomic_number.push_back(told > 0 ? told : atomic_number(fields.before_x[1], fields.before_x[2]));
  }

  /// Checks serial name residue [chain] number [insertion]. Only chain and insertion code may be missing.
  void check(const std::vector<std::string_view>& before_x) const {
    const std::string wanted = "expected " + std::string(line_form) + ", found ";
    if (before_x.size() < 4 || before_x.size() > 6)
      fail_atom(wanted + std::to_string(before_x.size()) +
                " fields between the record's name and x, which has a decimal point (one is missing or too many, or "
                "two touch). Correct the line");
    for (const std::string_view field : before_x)
      if (!std::ranges::all_of(field, [](char c) { return c >= ' ' && c <= '~'; }))
        fail_atom("a character beyond ASCII, for example a no-break blank, stands in " + quoted(field) +
                  ". Replace it by a blank");
    const std::string_view last = before_x.back();
    const bool has_insertion = before_x.size() > 4 && last.size() == 1 && is_letter(last[0]);
    const std::string_view number = has_insertion ? before_x[before_x.size() - 2] : last;
    if (!is_residue_number(number) || (before_x.size() == 6 && !has_insertion))
      fail_atom("expected " + std::string(number_form) + " before x, found " + quoted(number) +
                " (a field is missing or too many: the line must read " + std::string(line_form) +
                "). Correct the line");
  }

  double parse_number(std::string_view field, std::size_t i) const {
    const std::string name = number_names[i];
    std::string_view digits = field;
    if (digits.size() > 1 && digits[0] == '+' && digits[1] != '-') digits.remove_prefix(1);
    double value = 0;
    const char* const end = digits.data() + digits.size();
    const auto [stop, failure] = std::from_chars(digits.data(), end, value);
    if (failure != std::errc{} || stop != end || !std::isfinite(value))
      fail_atom("expected a finite number for " + name + ", found " + quoted(field) +
                (stop != digits.data() && stop != end ? " (two columns may touch). Separate the fields by spaces"
                                                      : ". Correct the line"));
    if (i < 3 && !is_decimal(field))
      fail_atom("expected a number with a decimal point for " + name + ", found " + quoted(field) +
                " (a field may be missing). Correct the line");
    return value;
  }

  /// True if nearly all atoms so far could be those of a PDB file. A molecule in a PQR file also has negative charges.
  [[nodiscard]] bool are_of_pdb() const { return atoms_ > 0 && pdb_atoms_ * 20 >= atoms_ * 19; }
  /// Throws. If the file is a PDB file, the message says only that, because that explains `problem`. Otherwise the
  /// message says what is wrong with the line.
  [[noreturn]] void fail_atom(const std::string& problem) const {
    if (are_of_pdb()) refuse_pdb();
    fail(problem);
  }
  [[noreturn]] void fail(const std::string& problem) const {
    throw Error(ErrorKind::bad_input, path_ + ", line " + std::to_string(lines_.line_number()) + ": " + problem + ".");
  }

  const std::string path_;
  TextLines lines_;
  int models_ = 0;
  std::string_view end_;  ///< the record that ended the molecule; empty before it
  std::int64_t atoms_ = 0, pdb_atoms_ = 0;
  double largest_radius_ = 0;
  Molecule molecule_;
};

}  // namespace

Molecule read_pqr(const std::string& path) { return PqrReader(path).read(); }

}  // namespace smallbatch
