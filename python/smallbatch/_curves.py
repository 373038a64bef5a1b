"""Curves over time, and histograms."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._style import STYLE, new_figure, opened, plain, power_text, typeset

import matplotlib
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from ._result_file import File, Group, Refused, shown


def over_time(results: Any, set: str | None = None) -> Figure:
    """Draws the energy of each frame of a trajectory, or its least, mean and greatest V.

    The horizontal axis is time, steps or problems.

    Examples
    --------
    >>> figure = over_time("energies.h5")
    >>> figure.axes[0].get_xlabel(), figure.axes[0].get_ylabel()
    ('problem', 'energy (kcal/mol)')
    """
    with opened(results) as file, matplotlib.rc_context(STYLE):
        one = file.choose(set, "potential", "pair_energy")
        names = ["energy"] if file.dataset(one.node, "energy") is not None else ["V_max", "V_mean", "V_min"]
        axis, label = None, "problem"
        for name, words in (("time", "time"), ("step", "step")):
            axis = file.column(one, name)
            if axis is not None:
                unit = shown(file.text(axis, "unit"))
                label = words + (f" ({typeset(unit)})" if unit else "")
                break
        high = 0.55 + (2.4 if len(names) == 1 else 1.35 * len(names)) + 0.35
        figure = new_figure(6.4, high)
        part = (high - 0.9) / len(names) / high
        for k, (name, colour) in enumerate(zip(names, ("#b3362b", "#303030", "#2a5ca8"))):
            values = file.column(one, name)
            if values is None:
                raise Refused(f"{shown(one.path)} has no curves", f"it has no {name}", "Choose another set.")
            axes = figure.add_axes(
                (0.155, 0.55 / high + (len(names) - 1 - k) * part, 0.815, part * (1 if len(names) == 1 else 0.86))
            )
            at, least, mean, most = _reduced(file, values, axis)
            (line,) = axes.plot(at, mean, color=colour, linewidth=1.1)
            line.set_gid(name)
            if (most > least).any():
                axes.fill_between(at, least, most, color=colour, alpha=0.2, linewidth=0)
            unit = typeset(file.text(values, "unit", file.unit(one)))
            word = {"V_max": "greatest V", "V_mean": "mean V", "V_min": "least V", "energy": "energy"}[name]
            axes.set_ylabel(f"{word}\n({unit})" if len(names) > 1 else f"{word} ({unit})")
            axes.yaxis.set_major_locator(MaxNLocator(4 if len(names) > 1 else 6))
            axes.margins(x=0.01)
            axes.tick_params(labelbottom=k == len(names) - 1)
        figure.align_ylabels()
        axes.set_xlabel(label)
        figure.axes[0].set_title(plain(one.path), loc="left")
        return figure


def _reduced(file: File, values: Any, axis: Any, most: int = 4096) -> tuple[np.ndarray, ...]:
    """Returns (place, least, mean, greatest) for each of at most `most` runs of neighbouring values. NaNs do not
    count."""
    count = values.shape[0]
    run = -(-count // most) if count else 1
    found: list[tuple[float, ...]] = []
    for first in range(0, count, run * 16):
        part = slice(first, min(first + run * 16, count))
        numbers = file.read(values, part).astype(float)
        places = np.arange(part.start, part.stop, dtype=float) if axis is None else file.read(axis, part).astype(float)
        for k in range(0, len(numbers), run):
            finite = numbers[k : k + run][np.isfinite(numbers[k : k + run])]
            found.append(
                (places[k], finite.min(), finite.mean(), finite.max()) if len(finite) else (places[k], *[np.nan] * 3)
            )
    return tuple(np.array(found).reshape(-1, 4).T)


def histogram(results: Any, set: str | None = None, number: str = "backward_error", bins: int = 60) -> Figure:
    """Draws a histogram of one number per system, over all solved systems.

    ``number`` is ``"backward_error"``, ``"rcond"`` or another dataset with one number for each system.

    Examples
    --------
    >>> figure = histogram("results.h5", number="rcond", bins=20)
    >>> int(sum(bar.get_height() for bar in figure.axes[0].patches))
    128
    """
    with opened(results) as file, matplotlib.rc_context(STYLE):
        one = file.choose(set, "solve") if number != "energy" else file.choose(set, "potential", "pair_energy")
        figure = new_figure(5.6, 3.4)
        axes = figure.add_axes((0.13, 0.17, 0.84, 0.71))
        draw_histogram(axes, file, one, number, bins=bins)
        axes.set_title(plain(one.path), loc="left")
        return figure


def draw_histogram(axes: Any, file: File, one: Group, number: str, of: Any = None, bins: int = 60) -> None:
    """Draws the histogram on axes. `of` is the group that has `info`; None means `one`."""
    values, info = file.dataset(one.node, number), file.dataset(one.node if of is None else of, "info")
    if values is None or values.ndim != 1 or info is None:
        raise Refused(
            f"{shown(one.path)} has no histogram of {shown(number)}",
            "it has no such number for each problem",
            "Choose another number.",
            2,
        )
    is_solve = one.kind == "solve" and info.shape == values.shape

    def pieces() -> Any:
        for first, some in file.pieces(values):
            some = some.astype(float)
            yield some[(file.read(info, slice(first, first + len(some))) == 0) if is_solve else np.isfinite(some)]

    least, most, least_above_0, zeros, count, below = np.inf, -np.inf, np.inf, 0, 0, 0
    for some in pieces():
        some = some[np.isfinite(some)]
        if len(some):
            least, most = min(least, some.min()), max(most, some.max())
            least_above_0 = min(least_above_0, some[some > 0].min(initial=np.inf))
            zeros, count, below = zeros + int((some == 0).sum()), count + len(some), below + int((some < 0).sum())
    words = {
        "backward_error": "backward error",
        "rcond": "rcond",
        "log_determinant": "ln det A",
        "smallest_pivot": "smallest pivot",
        "error_over_bound": "error, as a fraction of its bound",
        "energy_per_charge": "energy of a charge",
    }.get(number, shown(number))
    unit = file.text(values, "unit")
    is_log = below == 0 and np.isfinite(least_above_0) and number != "log_determinant" and most > 5 * least_above_0
    if count == 0:
        axes.text(0.5, 0.5, "nothing was solved", transform=axes.transAxes, ha="center")
        return
    if is_log:
        edges = np.geomspace(least_above_0 * 0.999, most * 1.001, bins + 1)
    else:
        edges = np.linspace(least, most + 1e-6 * max(most - least, abs(most), 1e-30), bins + 1)
    counts = sum((np.histogram(some, edges)[0] for some in pieces()), np.zeros(bins, np.int64))
    bars = axes.bar(edges[:-1], counts, np.diff(edges), align="edge", color="#3b6fb0", edgecolor="white", linewidth=0.3)
    for bar in bars:
        bar.set_gid("bar")
    axes.set_xscale("log" if is_log else "linear")
    if is_log:
        decades = np.log10(edges[-1] / edges[0])
        axes.xaxis.set_major_locator(
            LogLocator(
                subs=(1,) if decades > 2 else (1, 2, 5) if decades > 0.7 else (1, 1.5, 2, 3, 4, 5, 6, 8), numticks=12
            )
        )
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: power_text(value)))
        axes.xaxis.set_minor_formatter(NullFormatter())
    if number == "backward_error":
        u = 2.0**-24 if values.dtype.itemsize == 4 else 2.0**-53
        if edges[0] < u < 30 * edges[-1]:
            axes.axvline(u, color="#b3362b", linewidth=0.9)
            axes.annotate(
                "u",
                (u, 1),
                xycoords=("data", "axes fraction"),
                xytext=(3, -9),
                textcoords="offset points",
                color="#b3362b",
            )
        words += f"; u = {power_text(u)} is the unit roundoff"
    axes.set_xlabel(words + (f" ({typeset(unit)})" if unit and unit != "1" else ""))
    axes.set_ylabel("systems" if one.kind == "solve" else "problems")
    axes.yaxis.set_major_locator(MaxNLocator(5, integer=True))
    note = f"{count:,} solved".replace(",", " ") if one.kind == "solve" else f"{count:,}".replace(",", " ")
    note += f", {zeros} of them 0" if zeros and is_log else ""
    axes.text(1, 1.02, note, transform=axes.transAxes, ha="right", va="bottom", fontsize=8, color="#505050")
