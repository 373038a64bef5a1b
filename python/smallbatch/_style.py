"""The look of all pictures: fonts, colours, units and colour bars. Also writes pictures and pages to files."""

from __future__ import annotations

import contextlib
import os
from typing import Any, Iterator

import matplotlib
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from ._result_file import File, Refused, shown, unit_factor

STYLE = {
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.linewidth": 0.7,
    "xtick.direction": "out",
    "svg.fonttype": "none",
    "pdf.fonttype": 42,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "figure.facecolor": "white",
    "axes.formatter.use_mathtext": False,
    "svg.hashsalt": "smallbatch",
    "axes.unicode_minus": True,
}
SIGNED = LinearSegmentedColormap.from_list(
    "smallbatch", ["#7d1218", "#cf5a4a", "#f3ab92", "#f7f7f5", "#9fc3e4", "#3f78c2", "#143c8c"]
)
SIGNED.set_bad("#909090")
_UNITS = {"volt": "V", "e/angstrom": "e/Å", "angstrom": "Å", "volt*e": "eV", "e^2/angstrom": "e²/Å"}


@contextlib.contextmanager
def opened(results: Any) -> Iterator[File]:
    """Yields the file. If `results` is a path, the file is opened here and closed again."""
    if isinstance(results, File):
        yield results
        return
    with File(results) as file:
        yield file


def new_figure(width: float, height: float, dpi: float = 160) -> Figure:
    figure = Figure(figsize=(width, height), dpi=dpi)
    FigureCanvasAgg(figure)
    return figure


def plain(text: str) -> str:
    """Returns a name for Matplotlib. Dollar signs are escaped, because they would begin a formula."""
    return shown(text).replace("$", r"\$")


def typeset(unit: str) -> str:
    return _UNITS.get(unit, plain(unit))


def nice(value: float) -> float:
    """Rounds up to 1, 1.5, 2, 3, 4, 5, 6 or 8 times a power of ten."""
    if not value > 0:
        return 1.0
    power = 10.0 ** np.floor(np.log10(value))
    return float(next(step for step in (1, 1.5, 2, 3, 4, 5, 6, 8, 10) if step * power >= value * (1 - 1e-9)) * power)


def power_text(value: float) -> str:
    """Returns a number as text: in the form 2×10⁻⁸, or without a power of ten from 1e-3 to 1e4."""
    if value == 0 or 1e-3 <= abs(value) < 1e4:
        return f"{value:g}"
    digits, _, power = f"{value:.1e}".partition("e")
    digits = digits.removesuffix(".0")
    raised = "10" + str(int(power)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return raised if digits == "1" else f"{digits}×{raised}"


def range_of(text: str | float | None, unit: str, kelvin: float) -> tuple[float | None, str, float]:
    """Reads a range such as "5 kT/e", a number or None. Returns the limit, the unit of the picture, and the factor from
    the file's unit to that unit."""
    if text is None:
        return None, unit, 1.0
    number, _, wanted = str(text).strip().partition(" ")
    wanted = wanted.strip() or unit
    try:
        limit = float(number)
    except ValueError:
        limit = np.nan
    if not (np.isfinite(limit) and limit > 0):
        raise Refused(
            f"the range {shown(text)!r} is none",
            "a number above 0 is expected, and a unit may follow",
            "Say for example '5 kT/e'.",
            2,
        )
    return limit, wanted, unit_factor(unit, wanted, kelvin)


def colour_bar(figure: Figure, axes: Any, mappable: Any, label: str, extend: str = "neither") -> Any:
    box = axes.get_position()
    width = figure.get_figwidth()
    place = figure.add_axes((box.x1 + 0.12 / width, box.y0, 0.14 / width, box.height))
    bar = figure.colorbar(mappable, cax=place, extend=extend, extendfrac=0.03)
    bar.outline.set_linewidth(0.5)
    bar.set_label(label)
    place.set_gid("colours")
    return bar


def refuse_existing(path: str, overwrite: bool) -> None:
    if os.path.exists(path) and not overwrite:
        raise Refused(f"{shown(path)} exists", "it would be replaced", "Choose another name, or say --overwrite.", 7)


@contextlib.contextmanager
def unfinished(path: str) -> Iterator[str]:
    """Yields the name to write a file under. The file gets its own name if the `with` block ends without an error."""
    part = f"{path}.smallbatch-part"
    try:
        yield part
        os.replace(part, path)
    except OSError as error:
        if os.path.exists(part):
            os.unlink(part)
        raise Refused(f"{shown(path)} cannot be written", shown(error), "Choose another place.", 7) from None


def save(figure: Figure, path: Any, overwrite: bool = False) -> None:
    """Writes a PNG, SVG or PDF, by the ending of the path. The file appears under its name only when it is complete.

    Examples
    --------
    >>> save(histogram("results.h5"), "histogram.svg")
    >>> save(histogram("results.h5", bins=20), "histogram.svg", overwrite=True)
    """
    path = os.fspath(path)
    ending = os.path.splitext(path)[1].lower()
    if ending not in (".png", ".svg", ".pdf"):
        raise Refused(
            f"{shown(path)} cannot be written",
            "its ending is none of .png, .svg and .pdf",
            "Name a file with one of them.",
            2,
        )
    refuse_existing(path, overwrite)
    with unfinished(path) as part, matplotlib.rc_context(STYLE):
        figure.savefig(part, format=ending[1:], metadata={"Date": None} if ending == ".svg" else None)
