#include "io/interchange/elements.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace smallbatch {
namespace {

constexpr std::array<std::string_view, last_atomic_number> symbols{
    "H",  "HE", "LI", "BE", "B",  "C",  "N",  "O",  "F",  "NE", "NA", "MG", "AL", "SI", "P",  "S",  "CL",
    "AR", "K",  "CA", "SC", "TI", "V",  "CR", "MN", "FE", "CO", "NI", "CU", "ZN", "GA", "GE", "AS", "SE",
    "BR", "KR", "RB", "SR", "Y",  "ZR", "NB", "MO", "TC", "RU", "RH", "PD", "AG", "CD", "IN", "SN", "SB",
    "TE", "I",  "XE", "CS", "BA", "LA", "CE", "PR", "ND", "PM", "SM", "EU", "GD", "TB", "DY", "HO", "ER",
    "TM", "YB", "LU", "HF", "TA", "W",  "RE", "OS", "IR", "PT", "AU", "HG", "TL", "PB", "BI", "PO", "AT",
    "RN", "FR", "RA", "AC", "TH", "PA", "U",  "NP", "PU", "AM", "CM", "BK", "CF", "ES", "FM", "MD", "NO",
    "LR", "RF", "DB", "SG", "BH", "HS", "MT", "DS", "RG", "CN", "NH", "FL", "MC", "LV", "TS", "OG"};

constexpr std::array<std::pair<std::string_view, std::string_view>, 9> ions_of_charmm{{{"SOD", "NA"},
                                                                                       {"CLA", "CL"},
                                                                                       {"POT", "K"},
                                                                                       {"CAL", "CA"},
                                                                                       {"LIT", "LI"},
                                                                                       {"RUB", "RB"},
                                                                                       {"CES", "CS"},
                                                                                       {"BAR", "BA"},
                                                                                       {"CAD", "CD"}}};

/// Returns the atomic number of a symbol, or 0 if there is no such symbol.
std::int8_t number_of(std::string_view symbol) {
  const auto found = std::ranges::find(symbols, symbol);
  return found == symbols.end() ? std::int8_t{0} : static_cast<std::int8_t>(found - symbols.begin() + 1);
}

/// Returns the first letters of a name, as capitals.
std::string letters_of(std::string_view name) {
  const auto is_letter = [](char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); };
  const auto begin = std::ranges::find_if(name, is_letter);
  std::string letters(begin, std::find_if_not(begin, name.end(), is_letter));
  for (char& c : letters) c = c >= 'a' ? static_cast<char>(c - 'a' + 'A') : c;
  return letters;
}

}  // namespace

std::int8_t atomic_number(std::string_view atom, std::string_view residue) {
  const std::string name = letters_of(atom);
  if (name.empty()) return 0;
  if (name == letters_of(residue)) {
    const auto charmm = std::ranges::find(ions_of_charmm, name, &std::pair<std::string_view, std::string_view>::first);
    if (const auto ion = number_of(charmm == ions_of_charmm.end() ? name : charmm->second); ion > 0) return ion;
  }
  const auto first = number_of(name[0] == 'D' ? "H" : std::string_view(name).substr(0, 1));
  const auto first_two = name.size() > 1 ? number_of(name.substr(0, 2)) : std::int8_t{0};
  if (name.size() == 1 || name[0] == 'H' || name[0] == 'D') return first;
  if (std::string_view("CNOPS").find(name[0]) != std::string_view::npos) {
    if (name.starts_with("CL") || name.starts_with("SE")) return first_two;
    return std::string_view("ABGDEZH").find(name[1]) != std::string_view::npos || first_two == 0 ? first
                                                                                                 : std::int8_t{0};
  }
  if (first_two > 0 && name.size() == 2) return first_two;
  return std::string_view("BFI").find(name[0]) != std::string_view::npos ? first : std::int8_t{0};
}

}  // namespace smallbatch
