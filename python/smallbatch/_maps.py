"""Maps of the potential: slices of lattices, with atoms and field."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._style import STYLE, SIGNED, colour_bar, new_figure, nice, opened, plain, range_of, typeset

import matplotlib
from matplotlib.collections import EllipseCollection, LineCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ._molecule import Molecule, bonds, element, molecule, radii
from ._result_file import File, Group, Refused, shown

_AXES = {"x": (0, 1, 2), "y": (1, 0, 2), "z": (2, 0, 1)}  # axes across the plane, to the right, upwards


def slice_map(
    results: Any,
    set: str | None = None,
    problem: int | str = 0,
    axis: str = "z",
    place: float | None = None,
    value_range: str | float | None = None,
    problems: Any = None,
    field: str = "lines",
    contours: bool = True,
    cells: bool = False,
    colours: Any = None,
) -> Figure:
    """Draws the plane of a lattice across ``axis`` that is nearest to ``place`` (angstrom; by default the middle).

    Colours and contour lines reach from minus to plus ``value_range``, such as ``"5 kT/e"``. The map is then in that
    unit. Without a range, they reach to the 98th percentile of the magnitude. ``problems`` is the problem file. If the
    file is given, all atoms that the plane cuts are drawn, with their bonds and the outline of the molecule. E is drawn
    if it was computed; ``field`` is ``"lines"``, ``"arrows"`` or ``"none"``. The map is interpolated between lattice
    points; ``cells`` shows each point as a rectangle instead.

    Examples
    --------
    >>> figure = slice_map("results.h5", axis="z", place=0.0, value_range="2 V", problems="data/demo.h5")
    >>> print(figure.axes[0].get_title(loc="left"))
    potential/water
    z = 0.175 Å, 20 charges
    """
    with opened(results) as file, matplotlib.rc_context(STYLE):
        one = file.choose(set, "potential")
        index = file.problem(one, problem)
        return draw_slice(file, one, index, axis, place, value_range, problems, field, contours, cells, colours)


def draw_slice(
    file: File,
    one: Group,
    index: int,
    axis: str,
    place: float | None,
    value_range: Any,
    problems: Any,
    field: str = "lines",
    contours: bool = True,
    cells: bool = False,
    colours: Any = None,
    width: float = 6.0,
) -> Figure:
    if axis not in _AXES:
        raise Refused(f"a lattice has no axis {shown(axis)!r}", "its axes are x, y and z", "Name one of them.", 2)
    origin, spacing, v = file.lattice(one, index)
    across, right, up = _AXES[axis]
    shape = np.array(v.shape[:0:-1])
    plane = int(
        shape[across] // 2
        if place is None
        else np.clip(round((place - origin[across]) / spacing[across]), 0, shape[across] - 1)
    )
    at = origin[across] + plane * spacing[across]
    part: list[Any] = [index, slice(None), slice(None), slice(None)]
    part[3 - across] = plane
    # A plane may have more points than a picture has pixels. Then only every step-th point is read.
    every = [max(1, int(shape[a]) // 4096) for a in (right, up)]
    for a, step in zip((right, up), every):
        part[3 - a] = slice(None, None, step)
    limit, unit, factor = range_of(value_range, file.unit(one), file.kelvin(one))
    values = file.read(v, tuple(part)).astype(float) * factor
    step = spacing[[right, up]] * every
    low = origin[[right, up]]
    finite = np.abs(values[np.isfinite(values)])
    if limit is None:
        limit = nice(float(np.percentile(finite, 98))) if finite.size and finite.max() > 0 else 1.0

    extent = (
        low[0] - step[0] / 2,
        low[0] + (values.shape[1] - 0.5) * step[0],
        low[1] - step[1] / 2,
        low[1] + (values.shape[0] - 0.5) * step[1],
    )
    is_smooth = not cells and np.isfinite(values).any() and min(values.shape) > 3
    if is_smooth:  # from the first point to the last point, because no values are known beyond them
        extent = (low[0], low[0] + (values.shape[1] - 1) * step[0], low[1], low[1] + (values.shape[0] - 1) * step[1])
    ratio = (extent[3] - extent[2]) / (extent[1] - extent[0])
    height = float(np.clip(width * ratio, 0.8, 8))
    inner = float(min(width, max(height / ratio, 0.8)))
    figure = new_figure(
        inner + 1.75, height + (1.3 if problems is not None else 1.05), max(160.0, np.ceil(810 / inner))
    )
    below_map = 0.85 if problems is not None else 0.6
    axes = figure.add_axes(
        (
            0.65 / (inner + 1.75),
            below_map / figure.get_figheight(),
            inner / (inner + 1.75),
            height / figure.get_figheight(),
        )
    )
    pixels, places = (values, [low[a] + step[a] * np.arange(values.shape[1 - a]) for a in range(2)])
    if is_smooth:
        pixels, places = _resampled(values, limit, extent, step)
    picture = axes.imshow(
        np.clip(pixels, -2 * limit, 2 * limit),
        origin="lower",
        extent=extent,
        cmap=colours or SIGNED,
        vmin=-limit,
        vmax=limit,
        interpolation="nearest",
        aspect="equal",
    )
    picture.set_gid("potential")
    x, y = (low[a] + step[a] * np.arange(values.shape[1 - a]) for a in range(2))
    if contours and min(values.shape) > 1:
        levels = limit * np.array([-0.8, -0.6, -0.4, -0.2, 0, 0.2, 0.4, 0.6, 0.8])
        lines = axes.contour(
            *places,
            np.ma.masked_invalid(np.clip(pixels, -1.25 * limit, 1.25 * limit)),
            levels=levels,
            colors="#202020",
            linewidths=[0.9 if level == 0 else 0.45 for level in levels],
            linestyles=["--" if level < 0 else "-" for level in levels],
            alpha=0.7,
        )
        lines.set_gid("contours")
    notes = []
    e = file.dataset(one.node, "E")
    if field not in ("lines", "arrows", "none"):
        raise Refused(
            f"{shown(field)!r} is no way to draw a field",
            "it is not one of 'lines', 'arrows', 'none'",
            "Take one of these.",
            2,
        )
    if e is not None and e.ndim == 5 and field != "none" and min(values.shape) > 1:
        _draw_field(axes, file.read(e, (*part, [right, up])).astype(float), x, y, field)
        notes.append("field " + ("lines" if field == "lines" else "directions"))
    if problems is not None:
        atoms = molecule(file, problems, one, index)
        drawn = _draw_atoms(axes, atoms, (across, right, up), at, extent)
        notes.append(f"{drawn} {'atoms' if atoms.number.any() else 'charges'}")
    axes.set_xlim(extent[:2])
    axes.set_ylim(extent[2:])
    axes.set_xlabel(f"{'xyz'[right]} (Å)")
    axes.set_ylabel(f"{'xyz'[up]} (Å)")
    axes.set_title(
        plain(file.title(one, index)) + f"\n{axis} = {at:.4g} Å" + "".join(", " + note for note in notes), loc="left"
    )
    above, below = bool((values > limit).any()), bool((values < -limit).any())
    colour_bar(
        figure,
        axes,
        picture,
        f"V ({typeset(unit)})",
        {(0, 0): "neither", (1, 0): "max", (0, 1): "min", (1, 1): "both"}[above, below],
    )
    return figure


def _resampled(
    values: np.ndarray, limit: float, extent: tuple[float, ...], step: np.ndarray
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Returns square pixels, 800 or more in a row, and their places. Between lattice points, arsinh(5 V / limit) is
    interpolated by a cubic spline, because this function is smooth even near charges. NaNs stay NaNs."""
    from scipy.ndimage import map_coordinates

    wide, high = extent[1] - extent[0], extent[3] - extent[2]
    side = wide / max(840, int(np.ceil(wide / step.min())))
    places = [extent[2 * a] + side * (np.arange(max(1, round((wide, high)[a] / side))) + 0.5) for a in range(2)]
    is_number = ~np.isnan(values)
    at = np.meshgrid(*((places[a] - extent[2 * a]) / step[a] for a in (1, 0)), indexing="ij")
    bounded = np.arcsinh(np.clip(np.where(is_number, values, 0), -100 * limit, 100 * limit) * 5 / limit)
    pixels = np.sinh(map_coordinates(bounded, at, order=3, mode="nearest")) * limit / 5
    return (
        np.where(map_coordinates(is_number.astype(np.uint8), at, order=0, mode="nearest") == 1, pixels, np.nan),
        places,
    )


def _draw_field(axes: Any, e: np.ndarray, x: np.ndarray, y: np.ndarray, kind: str) -> None:
    right, up = np.where(np.isfinite(e), e, 0)[..., 0], np.where(np.isfinite(e), e, 0)[..., 1]
    size = np.hypot(right, up)
    if not size.max() > 0:
        return
    if kind == "lines":
        span = max(x[-1] - x[0], y[-1] - y[0])
        drawn = axes.streamplot(
            np.linspace(x[0], x[-1], len(x)),
            np.linspace(y[0], y[-1], len(y)),
            right,
            up,
            color="#1a1a1acc",
            linewidth=0.45,
            arrowsize=0.6,
            density=(1.6 * (x[-1] - x[0]) / span, 1.6 * (y[-1] - y[0]) / span),
        )
        drawn.lines.set_gid("field")
        return
    every = max(1, int(np.ceil(max(e.shape[:2]) / 26)))
    first = every // 2
    part = (slice(first, None, every), slice(first, None, every))
    with np.errstate(invalid="ignore"):
        arrows = axes.quiver(
            x[part[1]],
            y[part[0]],
            (right / size)[part],
            (up / size)[part],
            pivot="mid",
            units="inches",
            scale=6.5,
            width=0.012,
            headwidth=4,
            color="#1a1a1acc",
        )
    arrows.set_gid("field")


def _draw_atoms(axes: Any, atoms: Molecule, order: tuple[int, int, int], at: float, extent: tuple[float, ...]) -> int:
    """Draws the atoms that the plane cuts, as circles of a quarter of their radii, and their bonds. If elements are
    known, also draws the outline of the cut atoms, with van der Waals radii. Returns the number of atoms."""
    across, right, up = order
    place, radius = atoms.position, radii(atoms.number)
    depth = np.abs(place[:, across] - at)
    is_near = (
        (depth < radius)
        & (place[:, right] > extent[0] - radius)
        & (place[:, right] < extent[1] + radius)
        & (place[:, up] > extent[2] - radius)
        & (place[:, up] < extent[3] + radius)
    )
    near = np.flatnonzero(is_near)
    if not len(near):
        return 0
    x, y, r, depth = place[near, right], place[near, up], radius[near], depth[near]
    numbers = atoms.number[near]
    if numbers.any():
        _draw_outline(axes, x, y, np.sqrt(r**2 - depth**2), extent)
    pairs = bonds(place[near], numbers)
    sticks = LineCollection(
        np.stack([x[pairs], y[pairs]], -1) if len(pairs) else [],
        colors="#2b2b2b",
        linewidths=1.3,
        capstyle="round",
        zorder=4,
    )
    sticks.set_gid("bonds")
    axes.add_collection(sticks, autolim=False)
    upwards = np.argsort(-depth)
    size = np.where(numbers > 0, 0.5 * r, 0.5)[upwards]
    colours = [
        element(n).colour if n > 0 else "#7c1213" if q > 0 else "#133c8b"
        for n, q in zip(numbers[upwards], atoms.charge[near][upwards])
    ]
    dots = EllipseCollection(
        size,
        size,
        np.zeros(len(near)),
        units="xy",
        offsets=np.stack([x, y], 1)[upwards],
        offset_transform=axes.transData,
        facecolors=colours,
        edgecolors="#2b2b2b",
        linewidths=0.5,
        zorder=5,
    )
    dots.set_gid("atoms")
    axes.add_collection(dots, autolim=False)
    legend = [(element(n).symbol, element(n).colour) for n in sorted({int(n) for n in numbers}) if n > 0]
    legend += [("charge above 0", "#7c1213"), ("below 0", "#133c8b")] if (numbers == 0).any() else []
    handles = [
        Line2D(
            [],
            [],
            marker="o",
            linestyle="",
            markersize=5,
            markerfacecolor=colour,
            markeredgecolor="#2b2b2b",
            markeredgewidth=0.5,
            label=label,
        )
        for label, colour in legend
    ]
    axes.legend(
        handles=handles,
        loc="upper left",
        bbox_to_anchor=(-0.01, -0.46 / (axes.get_position().height * axes.figure.get_figheight())),
        frameon=False,
        fontsize=8,
        ncols=12,
        handletextpad=0.1,
        columnspacing=0.9,
        borderpad=0,
    )
    return len(near)


def _draw_outline(axes: Any, x: np.ndarray, y: np.ndarray, cut: np.ndarray, extent: tuple[float, ...]) -> None:
    step = max(extent[1] - extent[0], extent[3] - extent[2]) / 700
    columns, rows = (max(2, int(np.ceil((extent[2 * a + 1] - extent[2 * a]) / step))) for a in range(2))
    right, up = np.linspace(extent[0], extent[1], columns), np.linspace(extent[2], extent[3], rows)
    outside = np.full((rows, columns), 3.0)
    for px, py, pr in zip(x, y, cut):
        columns_of, rows_of = (
            slice(*np.searchsorted(values, (p - pr - 1, p + pr + 1))) for values, p in ((right, px), (up, py))
        )
        part = outside[rows_of, columns_of]
        np.minimum(part, np.hypot(right[columns_of] - px, up[rows_of, None] - py) - pr, out=part)
    lines = axes.contour(right, up, outside, levels=[0], colors="#101010", linewidths=1.1, zorder=3)
    lines.set_gid("outline")
