"""Pictures on a page: maps, thumbnails, the surface, visibilities, histograms."""

from __future__ import annotations

import base64
import io
from typing import Any, Sequence

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from PIL import Image

from . import _viewer
from ._curves import draw_histogram
from ._html import Html, join, tag
from ._look import MOST_ROWS, Look, grouped, number_text
from ._maps import draw_slice
from ._result_file import File, Group, Refused, shown
from ._style import SIGNED, STYLE, new_figure, nice, range_of, typeset
from ._surfaces import line_of_sight, potential_on_surface
from ._visibilities import Visibilities, draw_correlation

_MOST_PICTURED, _MOST_VIEWERS = 12, 2


def image(figure: Figure, words: str, kind: str = "png") -> Html:
    data = io.BytesIO()
    with matplotlib.rc_context(STYLE):
        figure.savefig(data, format=kind, metadata={"Date": None} if kind == "svg" else None)
    source = f"data:image/{'svg+xml' if kind == 'svg' else kind};base64," + base64.b64encode(data.getvalue()).decode()
    return tag("img", src=source, alt=shown(words))


def figure_html(figure: Figure, caption: str, kind: str = "png") -> Html:
    return tag("figure", image(figure, caption, kind), tag("figcaption", caption))


def histograms(file: File, one: Group, *numbers: tuple[Any, str, str]) -> Html:
    """Returns a histogram for each (group, name of a dataset in the group, caption). Datasets that are missing are left
    out."""
    found = []
    for node, name, caption in numbers:
        values = None if node is None else file.dataset(node, name)
        if values is None or values.ndim != 1 or values.shape[0] < 2:
            continue
        with matplotlib.rc_context(STYLE):
            figure = new_figure(5.0, 2.9)
            draw_histogram(
                figure.add_axes((0.14, 0.2, 0.83, 0.68)), file, Group(one.kind, one.name, node), name, one.node
            )
        found.append(figure_html(figure, caption, "svg"))
    return tag("div", *found, class_="figures") if found else Html("")


class Page:
    """State that the sections of a page share."""

    def __init__(self, file: File, problems: Any, problem: Sequence[str], value_range: str | None, nonce: str):
        self.file, self.problems, self.problem, self.range, self.nonce = file, problems, problem, value_range, nonce
        self.pictured = self.viewers = 0
        self.asked = {name: False for name in problem}

    def chosen(self, one: Group, look: Look) -> list[int]:
        """Returns the problems to draw: those that `problem` names, else the one with the largest error, else the
        first."""
        found = []
        for which in self.problem:
            try:
                found.append(self.file.problem(one, which))
                self.asked[which] = True
            except Refused:
                pass
        return found or ([look.worst[0][1]] if look.worst else [0])


def maps(page_: Page, one: Group, look: Look) -> Html:
    """Returns slices through the middle of chosen problems, their surfaces, and thumbnails of up to 200 problems."""
    file = page_.file
    v = file.dataset(one.node, "V")
    if v is None or v.ndim != 4 or not look.batch:
        return Html("")
    if page_.pictured >= _MOST_PICTURED:
        return tag(
            "p", "No map is drawn here: there are enough of them above. Choose some with --problem.", class_="note"
        )
    parts = []
    for index in page_.chosen(one, look)[:_MOST_PICTURED]:
        page_.pictured += 1
        why = ", which has the largest error" if not page_.problem and look.batch > 1 and look.worst else ""
        parts.append(tag("h3", f"{file.title(one, index)}{why}"))
        try:
            axes = "zyx" if v.shape[1] > 1 and np.prod(v.shape[1:], dtype=float) <= 1 << 27 else "z"
            with matplotlib.rc_context(STYLE):
                pictures = [
                    draw_slice(file, one, index, axis, None, page_.range, page_.problems, width=5.2) for axis in axes
                ]
            parts.append(
                tag("div", *(figure_html(picture, _words_of_slice(picture)) for picture in pictures), class_="figures")
            )
            if page_.problems is not None and page_.viewers < _MOST_VIEWERS:
                parts.append(_turning(page_, one, index))
        except Refused as refusal:
            parts.append(tag("p", refusal, class_="note"))
    if look.batch > 1:
        parts.append(_thumbnails(page_, one, look, v))
    return join(parts)


def _words_of_slice(figure: Figure) -> str:
    return figure.axes[0].get_title(loc="left").replace("\n", ", ").replace(r"\$", "$")


def _turning(page_: Page, one: Group, index: int) -> Html:
    """Returns the surface of a molecule in a frame. The frame's sandbox allows only the viewer's scripts."""
    mesh = potential_on_surface(page_.file, one, index, page_.problems, page_.range, 250_000)
    with np.errstate(invalid="ignore"):
        colours = SIGNED(np.ma.masked_invalid((mesh.values / mesh.limit + 1) / 2))[:, :3] * 255
    scene = _viewer.scene(mesh.vertices, mesh.triangles, mesh.normals, colours, line_of_sight(mesh.vertices))
    page_.viewers += 1
    words = (
        f"The surface of the molecule. Its colours are V from −{number_text(mesh.limit)} {typeset(mesh.unit)} (red) "
        f"over 0 (white) to {number_text(mesh.limit)} {typeset(mesh.unit)} (blue). Drag to turn it, scroll to come nearer."
    )
    frame = tag(
        "iframe", sandbox="allow-scripts", title="surface of the molecule", srcdoc=_viewer.page(scene, page_.nonce)
    )
    return tag("figure", frame, tag("figcaption", words))


def _thumbnails(page_: Page, one: Group, look: Look, v: Any) -> Html:
    """Returns a small picture of each problem's middle plane across z. All pictures have the same range of colours."""
    file, count = page_.file, min(look.batch, MOST_ROWS)
    every = [max(1, -(-length // 96)) for length in v.shape[2:]]
    limit, unit, factor = range_of(page_.range, file.unit(one), file.kelvin(one))
    part = (v.shape[1] // 2, slice(None, None, every[0]), slice(None, None, every[1]))
    planes = [file.read(v, (k, *part)).astype(float) * factor for k in range(count)]
    if limit is None:
        tops = [np.percentile(np.abs(plane[np.isfinite(plane)]), 98) for plane in planes if np.isfinite(plane).any()]
        limit = nice(float(np.median(tops))) if tops else 1.0
    found = []
    for k, plane in enumerate(planes):
        with np.errstate(invalid="ignore"):
            pixels = (
                SIGNED(np.ma.masked_invalid(np.clip(plane[::-1] / limit, -1, 1) / 2 + 0.5))[..., :3] * 255
            ).astype(np.uint8)
        data = io.BytesIO()
        Image.fromarray(pixels).convert("P", palette=Image.Palette.ADAPTIVE, colors=64).save(data, "PNG", optimize=True)
        label = f"{k}" + (f" ({file.label(one, k)})" if file.label(one, k) else "")
        source = "data:image/png;base64," + base64.b64encode(data.getvalue()).decode()
        found.append(tag("figure", tag("img", src=source, alt=f"V of problem {label}"), tag("figcaption", label)))
    title = "All problems" if count == look.batch else f"The first {count} of {grouped(look.batch)} problems"
    words = (
        f"{title}: V in the middle plane across z, from −{number_text(limit)} (red) to {number_text(limit)} "
        f"{typeset(unit)} (blue)."
    )
    return join([tag("h3", title), tag("p", words, class_="note"), tag("div", *found, class_="thumbnails")])


def visibilities(page_: Page, one: Group) -> Html:
    if page_.pictured >= _MOST_PICTURED:
        return Html("")
    try:
        with matplotlib.rc_context(STYLE):
            seen = Visibilities(page_.file, one)
            order = "index" if seen.position is None else "length"
            figure = draw_correlation(seen, 0, ["magnitude", "phase"], order, False)
    except Refused:
        return Html("")
    page_.pictured += 1
    return figure_html(
        figure,
        f"Integration 0 of {grouped(seen.integrations)}: magnitude and phase of the visibilities. Grey has no samples.",
    )
