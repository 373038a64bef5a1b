// The frame that `report` puts its findings into: the page, its style, tables and figures. Whatever is given as text is
// escaped here; what is called html was made by these functions or those of app/report/html.hpp.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace smallbatch {

/// A whole file: no script, no other file, no network; dark where the reader's screen is.
std::string page_html(const std::string& title, const std::string& body_html);

struct Table {
  struct Column {
    std::string title;
    bool is_number = true;  ///< aligned on the right, in digits of one width
  };
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;
};
std::string table_html(const Table& table);

/// What something is, and how much: a list for the eye to run over.
using Facts = std::vector<std::pair<std::string, std::string>>;
std::string facts_html(const Facts& facts);

std::string figure_html(const std::string& chart_html, const std::string& caption);
std::string figures_html(const std::vector<std::string>& figures);

/// A list of links to `sections` of the page, which have the ids "set-0", "set-1", ...; each with a remark.
std::string contents_html(const std::vector<std::pair<std::string, std::string>>& sections);

std::string heading_html(const std::string& text);
std::string paragraph_html(const std::string& text);
/// Of lesser weight.
std::string note_html(const std::string& text);

enum class Mood { good, bad, neutral };
std::string badge_html(Mood mood, const std::string& text);

}  // namespace smallbatch
