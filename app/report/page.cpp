#include "app/report/page.hpp"

#include "app/report/html.hpp"

namespace smallbatch {

namespace {

constexpr const char* style = R"css(
:root {
  color-scheme: light dark;
  --paper: #ffffff; --panel: #f6f7f8; --ink: #1c2126; --quiet: #5c6670; --line: #d8dde2; --grid: #eaedf0; --shade: #aab2ba;
  --accent: #2f6fb3; --good: #1f7a4d; --good-paper: #e4f3ea; --bad: #b3261e; --bad-paper: #fbe6e4;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #15181b; --panel: #1d2125; --ink: #e4e7ea; --quiet: #9aa4ae; --line: #363c43; --grid: #262b30; --shade: #59636d;
    --accent: #6aa5e3; --good: #6cc99a; --good-paper: #1b3327; --bad: #f2938b; --bad-paper: #40211f;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body {
  margin: 0 auto; padding: 2rem 1rem 4rem; max-width: 74rem; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "DejaVu Sans", sans-serif;
  overflow-wrap: anywhere;
}
h1 { margin: 0; font-size: 1.6rem; line-height: 1.25; font-weight: 600; letter-spacing: -0.01em; }
h2 { margin: 0; font-size: 1.2rem; line-height: 1.3; font-weight: 600; }
h3 { margin: 1.6rem 0 0.5rem; font-size: 0.95rem; font-weight: 600; }
p { margin: 0.4rem 0; max-width: 46rem; }
.note, figcaption { color: var(--quiet); font-size: 0.87rem; }
section { margin-top: 2.4rem; padding-top: 1.4rem; border-top: 1px solid var(--line); }
.head { display: flex; flex-wrap: wrap; align-items: baseline; gap: 0.3rem 0.8rem; }
.badge { padding: 0.05rem 0.6rem; border-radius: 1rem; font-size: 0.85rem; font-weight: 600; background: var(--panel); color: var(--quiet); }
.badge.good { background: var(--good-paper); color: var(--good); }
.badge.bad { background: var(--bad-paper); color: var(--bad); }
dl { display: grid; grid-template-columns: minmax(7.5rem, max-content) 1fr; gap: 0.15rem 1.2rem; margin: 0.8rem 0; }
dt { color: var(--quiet); }
dd { margin: 0; font-variant-numeric: tabular-nums; }
.wide {
  overflow-x: auto; width: fit-content; max-width: 100%; margin: 0.6rem 0; padding-right: 2px; background-color: var(--paper);
  background-image: linear-gradient(to right, var(--paper) 50%, transparent), linear-gradient(to left, var(--paper) 50%, transparent),
    linear-gradient(to right, var(--shade), transparent), linear-gradient(to left, var(--shade), transparent);
  background-position: left, right, left, right; background-repeat: no-repeat;
  background-size: 3rem 100%, 3rem 100%, 1rem 100%, 1rem 100%; background-attachment: local, local, scroll, scroll;
}
nav ul { list-style: none; margin: 1rem 0 0; padding: 0; columns: 20rem; column-gap: 1.6rem; }
nav li { break-inside: avoid; }
nav a { color: var(--accent); }
nav .note { margin-left: 0.5rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 0.92rem; }
th, td { padding: 0.25rem 1.4rem 0.25rem 0; text-align: left; vertical-align: top; border-bottom: 1px solid var(--grid); overflow-wrap: normal; }
th { color: var(--quiet); font-weight: 500; white-space: nowrap; }
.number { text-align: right; white-space: nowrap; }
td:last-child, th:last-child { padding-right: 0; }
.figures { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(21.5rem, 100%), 1fr)); gap: 1.4rem 1.6rem; margin: 1rem 0; align-items: start; }
figure { margin: 0; }
figcaption { max-width: 21.5rem; margin-top: 0.2rem; }
.figures > figure:only-child { grid-column: 1 / -1; max-width: 27rem; }
.figures > figure:only-child svg { width: 100%; }
.figures > figure:only-child figcaption { max-width: none; }
svg { display: block; max-width: 100%; height: auto; }
svg text { font: 11.5px system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; fill: var(--quiet); font-variant-numeric: tabular-nums; }
svg text.label { font-size: 12.5px; fill: var(--ink); }
svg .axis, svg .frame { stroke: var(--quiet); stroke-width: 1; fill: none; }
svg .grid { stroke: var(--grid); stroke-width: 1; }
svg .arrow { stroke: var(--quiet); stroke-width: 1; }
svg .bar { fill: var(--accent); }
svg .bad { fill: var(--bad); }
svg .strip { fill: var(--panel); stroke: var(--line); }
svg image { image-rendering: pixelated; }
svg .plus, svg .minus { stroke: #fff; stroke-width: 0.8; }
svg .plus { fill: #7c1213; }
svg .minus { fill: #133c8b; }
.stages { display: grid; grid-template-columns: max-content max-content minmax(3rem, 1fr); gap: 0.35rem 0.9rem; align-items: center; max-width: 46rem; margin: 0.8rem 0; font-variant-numeric: tabular-nums; }
.stages .seconds { text-align: right; }
.stages .track { height: 0.8rem; background: var(--panel); }
.stages .track svg { width: 100%; height: 100%; }
.stages .rate { grid-column: 3; margin-top: -0.3rem; color: var(--quiet); font-size: 0.87rem; }
.stages .longest { font-weight: 600; }
.mono { font-family: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: 0.9em; }
@media (max-width: 34rem) {
  body { padding-top: 1.2rem; }
  dl { grid-template-columns: 6.4rem 1fr; gap: 0.25rem 0.8rem; }
  table { font-size: 0.86rem; }
  th, td { padding-right: 0.8rem; }
  th { white-space: normal; vertical-align: bottom; }
}
@media print { body { max-width: none; } section, figure { break-inside: avoid; } }
)css";

std::string cell(const std::string& tag, bool is_number, const std::string& text) {
  return "<" + tag + (is_number ? " class=\"number\">" : ">") + html_text(text) + "</" + tag.substr(0, 2) + ">";
}

}  // namespace

std::string page_html(const std::string& title, const std::string& body_html) {
  return "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
         "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; style-src "
         "'unsafe-inline'\">\n<title>" +
         html_text(title) + "</title>\n<style>" + style + "</style>\n</head>\n<body>\n" + body_html +
         "</body>\n</html>\n";
}

std::string table_html(const Table& table) {
  std::string html = "<div class=\"wide\"><table>\n<thead><tr>";
  for (const Table::Column& column : table.columns) html += cell("th scope=\"col\"", column.is_number, column.title);
  html += "</tr></thead>\n<tbody>\n";
  for (const std::vector<std::string>& row : table.rows) {
    html += "<tr>";
    for (std::size_t k = 0; k < row.size(); ++k) html += cell("td", table.columns[k].is_number, row[k]);
    html += "</tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

std::string facts_html(const Facts& facts) {
  std::string html = "<dl>\n";
  for (const auto& [name, text] : facts) html += "<dt>" + html_text(name) + "</dt><dd>" + html_text(text) + "</dd>\n";
  return html + "</dl>\n";
}

std::string figure_html(const std::string& chart_html, const std::string& caption) {
  return "<figure>" + chart_html + (caption.empty() ? "" : "<figcaption>" + html_text(caption) + "</figcaption>") +
         "</figure>\n";
}

std::string figures_html(const std::vector<std::string>& figures) {
  if (figures.empty()) return "";
  std::string html = "<div class=\"figures\">\n";
  for (const std::string& figure : figures) html += figure;
  return html + "</div>\n";
}

std::string contents_html(const std::vector<std::pair<std::string, std::string>>& sections) {
  std::string html = "<nav aria-label=\"Sets\"><ul>\n";
  for (std::size_t k = 0; k < sections.size(); ++k)
    html += "<li><a href=\"#set-" + std::to_string(k) + "\">" + html_text(sections[k].first) + "</a>" +
            (sections[k].second.empty() ? "" : "<span class=\"note\">" + html_text(sections[k].second) + "</span>") +
            "</li>\n";
  return html + "</ul></nav>\n";
}

std::string heading_html(const std::string& text) { return "<h3>" + html_text(text) + "</h3>\n"; }
std::string paragraph_html(const std::string& text) { return "<p>" + html_text(text) + "</p>\n"; }
std::string note_html(const std::string& text) { return "<p class=\"note\">" + html_text(text) + "</p>\n"; }

std::string badge_html(Mood mood, const std::string& text) {
  const char* kind = mood == Mood::good ? " good" : mood == Mood::bad ? " bad" : "";
  return "<span class=\"badge" + std::string(kind) + "\">" + html_text(text) + "</span>";
}

}  // namespace smallbatch
