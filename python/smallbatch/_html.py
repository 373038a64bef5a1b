"""HTML whose texts cannot become markup: a text is escaped unless it is :class:`Html` already."""

from __future__ import annotations

import html
from typing import Any, Sequence

from ._result_file import shown


class Html(str):
    """HTML that these functions made."""

    def __add__(self, other: str) -> Html:
        return Html(str(self) + str(escaped(other)))


def escaped(part: Any) -> Html:
    """Returns `part` as HTML. A text is escaped, so that a browser shows its characters and runs nothing."""
    return part if isinstance(part, Html) else Html(html.escape(shown(part)))


def tag(name: str, *parts: Any, **attributes: Any) -> Html:
    """Returns ``<name attribute="...">parts</name>``. `class_` becomes the attribute class, and each other _ in a name
    becomes -."""
    words = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{html.escape(str(value))}"' for key, value in attributes.items()
    )
    inner = "".join(escaped(part) for part in parts)
    return Html(f"<{name}{words}>" + ("" if name in ("img", "meta") else f"{inner}</{name}>"))


def join(parts: Any) -> Html:
    return Html("".join(escaped(part) for part in parts))


def table(titles: Sequence[str], rows: Sequence[Sequence[Any]], numbers: Sequence[bool] = ()) -> Html:
    """Returns a table. The columns for which `numbers` is true are aligned to the right."""
    kinds = [{"class_": "number"} if k < len(numbers) and numbers[k] else {} for k in range(len(titles))]
    head = tag("tr", *(tag("th", title, scope="col", **kind) for title, kind in zip(titles, kinds)))
    body = join(tag("tr", *(tag("td", cell, **kind) for cell, kind in zip(row, kinds))) + Html("\n") for row in rows)
    return tag("div", tag("table", tag("thead", head), tag("tbody", body)), class_="wide")


def facts(pairs: Sequence[tuple[str, Any]]) -> Html:
    return tag("dl", *(part for name, value in pairs for part in (tag("dt", name), tag("dd", value))))


STYLE = """
:root { color-scheme: light dark; --paper: #fff; --panel: #f4f6f8; --ink: #1c2126; --quiet: #5c6670; --line: #d8dde2;
  --accent: #2f6fb3; --good: #1f7a4d; --good-paper: #e4f3ea; --bad: #b3261e; --bad-paper: #fbe6e4; --wait: #d5dbe1; }
@media (prefers-color-scheme: dark) { :root { --paper: #15181b; --panel: #1d2125; --ink: #e4e7ea; --quiet: #9aa4ae;
  --line: #363c43; --accent: #6aa5e3; --good: #6cc99a; --good-paper: #1b3327; --bad: #f2938b; --bad-paper: #40211f;
  --wait: #39414a; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2rem 1rem 4rem; max-width: 74rem; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, "Segoe UI", Roboto, "Helvetica Neue", "DejaVu Sans", sans-serif; overflow-wrap: anywhere; }
h1 { margin: 0; font-size: 1.6rem; line-height: 1.25; } h2 { margin: 0; font-size: 1.2rem; }
h3 { margin: 1.6rem 0 0.5rem; font-size: 0.95rem; } p { margin: 0.4rem 0; max-width: 46rem; }
a { color: var(--accent); }
.note, figcaption { color: var(--quiet); font-size: 0.87rem; }
section { margin-top: 2.4rem; padding-top: 1.4rem; border-top: 1px solid var(--line); }
.head { display: flex; flex-wrap: wrap; align-items: baseline; gap: 0.3rem 0.8rem; }
.badge { padding: 0.05rem 0.6rem; border-radius: 1rem; font-size: 0.85rem; font-weight: 600;
  background: var(--panel); color: var(--quiet); }
.badge.good { background: var(--good-paper); color: var(--good); }
.badge.bad { background: var(--bad-paper); color: var(--bad); }
dl { display: grid; grid-template-columns: minmax(7.5rem, max-content) 1fr; gap: 0.15rem 1.2rem; margin: 0.8rem 0; }
dt { color: var(--quiet); } dd { margin: 0; font-variant-numeric: tabular-nums; }
.wide { overflow-x: auto; max-width: 100%; margin: 0.6rem 0; } .tall { max-height: 30rem; overflow-y: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 0.92rem; }
th, td { padding: 0.25rem 1.4rem 0.25rem 0; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line);
  overflow-wrap: normal; }
th { color: var(--quiet); font-weight: 500; } .number { text-align: right; white-space: nowrap; }
nav ul { list-style: none; margin: 1rem 0 0; padding: 0; columns: 20rem; }
figure { margin: 1rem 0; } figcaption { max-width: 46rem; }
figure img { display: block; max-width: 100%; height: auto; background: #fff; border-radius: 4px; }
.figures { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(24rem, 100%), 1fr));
  gap: 0 1.6rem; align-items: start; }
.thumbnails { display: grid; grid-template-columns: repeat(auto-fill, minmax(6.5rem, 1fr));
  gap: 0.6rem; margin: 0.8rem 0; }
.thumbnails figure { margin: 0; } .thumbnails img { width: 100%; image-rendering: auto; }
.thumbnails figcaption { font-size: 0.75rem; line-height: 1.25; }
iframe { width: 100%; height: 28rem; border: 1px solid var(--line); border-radius: 4px; background: #fff; }
.bar { display: flex; height: 1.1rem; margin: 0.15rem 0; max-width: 46rem; border-radius: 3px; overflow: hidden; }
.bar span { height: 100%; } .work { background: var(--accent); } .wait { background: var(--wait); }
.setup { background: #8a7bb8; } .start { background: #c59a3d; }
.stages { display: grid; grid-template-columns: max-content minmax(4rem, 1fr) max-content;
  gap: 0 0.9rem; align-items: center; max-width: 52rem; }
details { margin: 0.8rem 0; } summary { cursor: pointer; color: var(--accent); }
@media (max-width: 34rem) { dl { grid-template-columns: 6.4rem 1fr; } th, td { padding-right: 0.8rem; }
  iframe { height: 20rem; } }
@media print { body { max-width: none; } section, figure { break-inside: avoid; } }
"""


def policy(nonce: str) -> str:
    """Returns the Content-Security-Policy of a page that loads nothing and runs only scripts with the nonce."""
    return f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'nonce-{nonce}'"


def page(title: str, body: Html, nonce: str) -> str:
    """Returns a page with this title and body, and with the Content-Security-Policy of policy()."""
    head = join(
        [
            tag("meta", charset="utf-8"),
            tag("meta", **{"name_": "viewport"}, content="width=device-width, initial-scale=1"),
            tag("meta", http_equiv="Content-Security-Policy", content=policy(nonce)),
            tag("title", title),
            Html(f"<style>{STYLE}</style>"),
        ]
    )
    return f'<!DOCTYPE html>\n<html lang="en">\n<head>\n{head}\n</head>\n<body>\n{body}\n</body>\n</html>\n'
