"""A page about a result file: what was computed, whether it is right, and pictures of it.

``python -m smallbatch.report RESULTS -o page.html`` writes one HTML file, which needs no other file and no network. All
problems are read, a piece at a time, so memory does not grow with their number. Names and texts of the file are shown
as text and cannot become markup. This module needs the extra ``report``: ``pip install '.[report]'`` in a
clone of smallbatch.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import sys
from typing import Any, Sequence

import numpy as np

try:
    from . import _core
    from ._curves import over_time
    from ._html import Html, facts, join, page, tag
    from ._look import DONE, MOST_ROWS, NOUNS, Look, grouped, look_at, number_text, rows_of, statuses, words_of
    from ._page_pictures import Page, figure_html, histograms, maps, visibilities
    from ._result_file import File, Group, Refused, shown, text_of
    from ._style import range_of, refuse_existing, unfinished
except ImportError as error:
    missing = f"no page can be made ({error}). In a clone of smallbatch, pip install '.[report]' installs what it needs."
    if __name__ != "__main__":
        raise ImportError(missing) from error
    print(f"error: {missing}", file=sys.stderr)
    raise SystemExit(2) from None

__all__ = ["write_report"]

NONCE = "nonce-of-this-page"  # replaced by the hash of the page when the page is complete
_MOST_SETS = 40


def _seconds(value: float) -> str:
    scale, unit = (1, "s") if value >= 1 else (1e-3, "ms") if value >= 1e-3 else (1e-6, "µs")
    return f"{value / scale:.3g} {unit}"


def _section(page_: Page, one: Group, look: Look, number: int) -> Html:
    file = page_.file
    noun = NOUNS.get(one.kind, "problems")
    noun = noun[:-1] if look.batch == 1 else noun
    parts = [
        tag(
            "div",
            tag("h2", shown(one.path)),
            *_badges(look.failed, look.disagreed, look.checked, look.repaired, look.batch),
            class_="head",
        )
    ]
    judged = file.verification(one)
    done = [(DONE[one.kind], f"{grouped(look.batch - look.failed)} of {grouped(look.batch)} {noun}")]
    answers = {"solve": ("x", "inverse"), "potential": ("V", "E"), "correlation": ("visibility",)}.get(one.kind, ())
    shapes = {name: file.dataset(one.node, name, "biufcV") for name in answers}
    done += [
        (name, f"{values.dtype if not values.dtype.names else 'complex64'}, {' × '.join(map(str, values.shape))}")
        for name, values in shapes.items()
        if values is not None
    ]
    sizes = file.dataset(one.node, "size") if one.kind == "solve" else None
    if sizes is not None and look.batch:
        largest = max(int(some.max()) for _, some in file.pieces(sizes))
        done.append(("rows", f"each system its own, up to {largest}×{largest}"))
    verified = (
        f"{grouped(look.agreed)} of {grouped(look.batch)} agree with the referee" if look.checked else "not verified"
    )
    verified += f", {grouped(look.disagreed)} disagree" if look.disagreed else ""
    done.append(("verified", verified))
    if look.worst and look.worst[0][0] > 0:
        label = file.label(one, look.worst[0][1])
        done.append(
            (
                "largest error",
                f"{number_text(look.worst[0][0])} of the bound, at index {grouped(look.worst[0][1])}"
                + (f" ({label})" if label else ""),
            )
        )
    if look.disagreed:
        done.append(("disagree at index", look.disagreeing.text()))
    if look.repaired:
        done.append(
            ("repaired", f"pivots of {grouped(look.repaired)} of the systems were raised: x is that of a nearby matrix")
        )
    parts.append(facts(done))
    parts += [tag("p", " ".join(words_of(file, one)))]
    criterion = "" if judged is None else file.text(judged, "criterion")
    if criterion:
        words = tag(
            "p",
            "The referee is an independent implementation by Eigen. An answer is right if rounding errors explain its "
            "difference from the referee's answer. Its error, as a fraction of the bound of that difference, is then at most 1.",
        )
        parts.append(tag("details", tag("summary", "What is right?"), words, tag("p", criterion, class_="note")))
    if one.kind == "potential":
        parts.append(maps(page_, one, look))
    if one.kind == "correlation":
        parts.append(visibilities(page_, one))
    if (
        one.kind in ("potential", "pair_energy")
        and look.batch > 1
        and any(file.dataset(one.node, name) is not None for name in ("time", "step"))
    ):
        try:
            parts.append(figure_html(over_time(file, one.path), "Over time.", "svg"))
        except Refused:
            pass
    parts.append(statuses(file, one, look))
    if look.batch > 1 and one.kind != "correlation":
        rows = list(range(min(look.batch, MOST_ROWS)))
        worst = [index for _, index in look.worst]
        if look.batch > len(rows) and worst:
            parts += [tag("h3", "Largest errors"), rows_of(file, one, worst)]
        title = "Problems" if len(rows) == look.batch else f"The first {len(rows)} of {grouped(look.batch)} {noun}"
        parts.append(tag("details", tag("summary", title), tag("div", rows_of(file, one, rows), class_="tall")))
        asked = [index for index in page_.chosen(one, look) if index >= len(rows)] if page_.problem else []
        if asked:
            parts += [tag("h3", "As asked"), rows_of(file, one, asked)]
    v = file.dataset(one.node, "V")
    parts.append(
        histograms(
            file,
            one,
            (one.node, "backward_error", "Backward errors of all solved systems."),
            (one.node if one.kind == "solve" else None, "size", "Rows of the systems."),
            (one.node, "rcond", "Reciprocal condition numbers of all solved systems."),
            (
                one.node if one.kind == "solve" and not shapes["x"] else None,
                "log_determinant",
                "ln det A of all systems.",
            ),
            (one.node if v is not None and v.ndim == 1 else None, "V", "V at all points or charges."),
            (one.node, "energy", "Energies of all problems."),
            (one.node, "energy_per_charge", "Energies of all charges."),
            (judged, "error_over_bound", "Errors of what was verified, as fractions of the bound: right up to 1."),
        )
    )
    return tag("section", *parts, id=f"set-{number}")


def _badges(failed: int, disagreed: int, checked: int, repaired: int, batch: int) -> list[Html]:
    found = [tag("span", f"{grouped(failed)} failed", class_="badge bad")] if failed else []
    found += [tag("span", f"{grouped(disagreed)} disagree", class_="badge bad")] if disagreed else []
    if not found:
        found.append(
            tag("span", "all right", class_="badge good")
            if checked or not batch
            else tag("span", "not verified", class_="badge")
        )
    return found + ([tag("span", f"{grouped(repaired)} repaired", class_="badge")] if repaired else [])


def _time(file: File) -> Html:
    """Returns bars of times. In the first bar, set-up, start and blocks add up to the whole run. In each further bar,
    the work and the waiting of one stage add up to the time of the blocks."""
    note = file.provenance
    seconds = {
        name: file.number(note, f"{name}_seconds", 0)
        for name in ("set_up", "start", "read", "compute", "kernel", "verify", "write", "total")
    }
    total = seconds["total"]
    if not total > 0:
        return Html("")
    blocks = max(total - seconds["set_up"] - seconds["start"], 0)

    def bar(*parts: tuple[str, float]) -> Html:
        whole = sum(part for _, part in parts) or 1
        return tag(
            "div",
            *(tag("span", class_=name, style=f"width:{100 * part / whole:.3f}%") for name, part in parts),
            class_="bar",
        )

    whole = [("set-up", "setup", seconds["set_up"]), ("start", "start", seconds["start"]), ("blocks", "work", blocks)]
    parts = [
        tag("h2", "Time"),
        tag(
            "p",
            f"{_seconds(total)} in all: "
            + ", ".join(f"{name} {_seconds(part)}" for name, _, part in whole if part > 0)
            + ".",
        ),
    ]
    parts.append(bar(*((kind, part) for _, kind, part in whole)))
    rows = []
    for name in ("read", "compute", "verify", "write"):
        busy = min(seconds[name], blocks) if blocks else seconds[name]
        if seconds[name] > 0:
            rows += [
                tag("div", name),
                bar(("work", busy), ("wait", max(blocks - busy, 0))),
                tag("div", _seconds(seconds[name])),
            ]
    longest = max(("read", "compute", "verify", "write"), key=lambda name: seconds[name])
    words = (
        "The stages work on different blocks at the same time. Each bar is the time of the blocks: coloured while the "
        "stage works, grey while it waits."
    )
    if 2 * seconds[longest] >= total:
        words += f" This run was bound by: {longest}."
    return tag(
        "section",
        *parts,
        tag("h3", "While blocks are in the stages"),
        tag("div", *rows, class_="stages"),
        tag("p", words, class_="note"),
    )


def _origin(file: File) -> Html:
    note = file.provenance
    pairs = []
    for name in sorted(note.attrs) if note is not file.h5 else []:
        value = file.attribute(note, name)
        if value is None:
            continue
        if isinstance(value, (float, np.floating)):
            text = (
                grouped(int(value)) if float(value).is_integer() and abs(value) < 2**53 else number_text(float(value))
            )
        else:
            text = text_of(value)
        pairs.append((name.replace("_", " "), text))
    return tag("section", tag("h2", "Provenance"), facts(pairs))


def write_report(
    results: Any,
    output: Any,
    problems: Any = None,
    problem: Sequence[str] = (),
    value_range: str | None = None,
    overwrite: bool = False,
) -> None:
    """Writes the page.

    ``problems`` is the problem file, for atoms and surfaces. ``problem`` names the problems to draw, by name or index.
    Without names, the problem with the largest error of each set is drawn. ``value_range`` is the range of colours of
    maps, such as ``"5 kT/e"``.
    """
    output = os.fspath(output)
    refuse_existing(output, overwrite)
    with File(results) as file:
        page_ = Page(file, problems, problem, value_range, NONCE)
        if value_range is not None:
            range_of(value_range, "volt", 298.15)
        sections, contents, totals = [], [], np.zeros(6, dtype=np.int64)
        for number, one in enumerate(file.each_set()):
            look = look_at(file, one)
            totals += [1, look.batch, look.failed, look.disagreed, look.checked, look.repaired]
            if number < _MOST_SETS:
                sections.append(_section(page_, one, look, number))
                remark = "".join(
                    [f" {grouped(look.failed)} failed"] * bool(look.failed)
                    + [f" {grouped(look.disagreed)} disagree"] * bool(look.disagreed)
                )
                contents.append(
                    tag("li", tag("a", shown(one.path), href=f"#set-{number}"), tag("span", remark, class_="note"))
                )
        for name, was_found in page_.asked.items():
            if not was_found:
                raise Refused(
                    f"no set of {shown(file.path)} has a problem {shown(name)!r}",
                    "neither as a name nor as an index",
                    "Name another one.",
                    2,
                )
        sets, batch, failed, disagreed, checked, repaired = (int(count) for count in totals)
        if not sets:
            raise Refused(
                f"{shown(file.path)} holds no results", "it has no sets", "Give the results of smallbatch run."
            )
        name = os.path.basename(file.path)
        note = file.provenance
        known = [
            (
                "holds",
                f"{grouped(batch)} problem{'s' * (batch != 1)} in {grouped(sets)} set{'s' * (sets > 1)}, "
                f"{grouped(os.path.getsize(file.path))} bytes",
            ),
            ("verified", grouped(checked) + (f", of which {grouped(disagreed)} disagree" if disagreed else "")),
        ]
        names = {"computed on": "device", "host": "host", "created": "created", "of": "problems", "share": "share"}
        known += [(words, file.text(note, key)) for words, key in names.items() if file.text(note, key)]
        head = tag(
            "header",
            tag("div", tag("h1", name), *_badges(failed, disagreed, checked, repaired, batch), class_="head"),
            facts(known),
        )
        navigation = tag("nav", tag("ul", *contents)) if len(contents) > 2 else Html("")
        rest = (
            tag("p", f"And {grouped(sets - _MOST_SETS)} more sets.", class_="note") if sets > _MOST_SETS else Html("")
        )
        end = tag("footer", tag("p", f"Made by smallbatch {_core.version()}.", class_="note"))
        text = page(
            f"{shown(name)} – smallbatch",
            join([head, navigation, *sections, rest, _time(file), _origin(file), end]),
            NONCE,
        )
    # The nonce becomes the hash of the page. A name in the file cannot contain the hash, which depends on the name.
    text = text.replace(NONCE, hashlib.sha256(text.encode()).hexdigest())
    with unfinished(output) as part, open(part, "w", encoding="utf-8", newline="\n") as page_file:
        page_file.write(text)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line. Exit codes are those of smallbatch: 2 usage, 3 bad input, 4 missing file, 7 output."""
    words = argparse.ArgumentParser(
        "python -m smallbatch.report", description="A page about a result file: one HTML file."
    )
    words.add_argument("results", metavar="RESULTS", help="result file")
    words.add_argument("-o", "--output", required=True, metavar="FILE", help="HTML file to write")
    words.add_argument("--problems", metavar="FILE", help="problem file, whose atoms are drawn on maps")
    words.add_argument(
        "--problem",
        action="append",
        default=[],
        metavar="NAME",
        help="name or index of a problem to draw; may be given several times",
    )
    words.add_argument("--range", help="ends of the colours of maps, and their unit: '5 kT/e'")
    words.add_argument("--overwrite", action="store_true", help="replace the page where it exists")
    options = words.parse_args(arguments)
    try:
        write_report(
            options.results, options.output, options.problems, options.problem, options.range, options.overwrite
        )
    except Refused as refusal:
        print(f"error: {refusal}", file=sys.stderr)
        return refusal.exit_code
    except MemoryError:
        print(
            "error: memory does not suffice for the page (a map may be too large). Name smaller ones.", file=sys.stderr
        )
        return 6
    return 0


if __name__ == "__main__":
    sys.exit(main())
