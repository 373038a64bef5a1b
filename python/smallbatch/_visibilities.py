"""Pictures of visibilities: phase, magnitude, parts, and chosen baselines over time."""

from __future__ import annotations

from typing import Any, Sequence

import numpy as np

from ._style import STYLE, SIGNED, colour_bar, new_figure, nice, opened, plain

import matplotlib
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from ._result_file import File, Group, Refused, shown

PARTS = {"phase": "phase", "magnitude": "|V|", "real": "Re V", "imaginary": "Im V"}
_MOST_CELLS = 1024  # most baselines and most channels of a picture


class Visibilities:
    """A correlation set: its numbers of integrations, channels and inputs, and its visibilities as complex numbers."""

    def __init__(self, file: File, one: Group):
        self.file, self.one = file, one
        found = file.dataset(one.node, "visibility", "ciufV")
        weight = file.dataset(one.node, "weight")
        if found is None or found.ndim < 3 or 0 in found.shape:
            raise Refused(f"{shown(one.path)} has no picture", "it has no visibilities", "Choose another set.")
        self.data, self.weight = found, weight
        self.integrations, self.channels, self.baselines = found.shape[:3]
        self.inputs = int((np.sqrt(8 * self.baselines + 1) - 1) / 2)
        if self.inputs * (self.inputs + 1) // 2 != self.baselines:
            raise file.damaged(one.path, f"it has {self.baselines} baselines, and no number of inputs has so many")
        if weight is not None and weight.shape != found.shape[:3]:
            raise file.damaged(f"{one.path}/weight", f"its shape {weight.shape} is not that of the visibilities")
        frequency = file.dataset(one.node, "frequency")
        self.frequency = None if frequency is None or frequency.shape != (self.channels,) else file.read(frequency)
        if self.frequency is not None and not np.isfinite(self.frequency).all():
            raise file.damaged(f"{one.path}/frequency", "a frequency is not finite")
        position = file.dataset(one.node, "input_position")
        self.position = (
            None if position is None or position.shape != (self.inputs, 3) else file.read(position).astype(float)
        )
        self.unit = shown(file.text(one.node, "visibility_unit"))

    def read(self, integration: Any, channel: Any, baseline: Any) -> np.ndarray:
        """Returns visibilities as complex numbers; NaN if the weight is 0."""
        raw = self.file.read(self.data, (integration, channel, baseline))
        if raw.dtype.names:
            raw = raw[raw.dtype.names[0]] + 1j * raw[raw.dtype.names[1]].astype(float)
        elif not np.iscomplexobj(raw):
            raw = raw[..., 0] + 1j * raw[..., 1].astype(float)
        raw = np.asarray(raw, complex)
        if self.weight is not None:
            raw = np.where(self.file.read(self.weight, (integration, channel, baseline)) == 0, np.nan, raw)
        return raw

    def pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """Returns the inputs i and j of each baseline, with i >= j."""
        return np.tril_indices(self.inputs)

    def check_integration(self, integration: int) -> None:
        if not 0 <= integration < self.integrations:
            raise Refused(
                f"{shown(self.one.path)} has no integration {integration}",
                f"there are {self.integrations}",
                "They count from 0.",
                2,
            )


def correlation(
    results: Any,
    set: str | None = None,
    integration: int = 0,
    part: str = "both",
    order: str = "index",
    autos: bool = False,
) -> Figure:
    """Draws the visibilities of one integration, over baselines and channels.

    ``part`` is ``"phase"``, ``"magnitude"``, ``"real"``, ``"imaginary"``, ``"both"`` (magnitude and phase) or
    ``"all"``. The ``order`` of baselines is ``"index"``, the order of the file ((1, 0), (2, 0), (2, 1), ...), or
    ``"length"``, for which the file must have positions of inputs. ``autos`` also shows the baselines (i, i).

    Examples
    --------
    >>> figure = correlation("visibilities.h5", integration=2, part="phase")
    >>> figure.axes[0].get_xlabel(), figure.axes[0].get_ylabel()
    ('baseline (i, j)', 'frequency (MHz)')
    """
    with opened(results) as file, matplotlib.rc_context(STYLE):
        seen = Visibilities(file, file.choose(set, "correlation"))
        seen.check_integration(integration)
        parts = {"both": ["magnitude", "phase"], "all": list(PARTS)}.get(part, [part])
        if parts[0] not in PARTS:
            raise Refused(
                f"{shown(part)!r} is no part of a visibility",
                "it is not one of " + ", ".join(map(repr, [*PARTS, "both", "all"])),
                "Take one.",
                2,
            )
        return draw_correlation(seen, integration, parts, order, autos)


def draw_correlation(seen: Visibilities, integration: int, parts: list[str], order: str, autos: bool) -> Figure:
    i, j = seen.pairs()
    chosen = np.flatnonzero(i >= j if autos or seen.inputs == 1 else i > j)
    lengths = None
    if order == "length":
        if seen.position is None:
            raise Refused(
                f"baselines of {shown(seen.one.path)} have no lengths",
                "the file has no positions of the inputs",
                "Leave --order out, or write input_position into the problem file.",
                2,
            )
        lengths = np.linalg.norm(seen.position[i[chosen]] - seen.position[j[chosen]], axis=1)
        sorting = np.argsort(lengths, kind="stable")
        chosen, lengths = chosen[sorting], lengths[sorting]
    elif order != "index":
        raise Refused(
            f"{shown(order)!r} is no order of baselines", "it is not one of 'index', 'length'", "Take one of these.", 2
        )
    every = [-(-len(chosen) // _MOST_CELLS), -(-seen.channels // _MOST_CELLS)]
    chosen, lengths = chosen[:: every[0]], None if lengths is None else lengths[:: every[0]]
    channels = np.arange(0, seen.channels, every[1])
    v = np.empty((len(channels), len(chosen)), complex)
    at_once = max(1, (1 << 22) // seen.baselines)
    for first in range(0, len(channels), at_once):
        rows = channels[first : first + at_once]
        v[first : first + at_once] = seen.read(integration, slice(rows[0], rows[-1] + 1, every[1]), slice(None))[
            :, chosen
        ]

    tall, wide = (2, 2) if len(parts) == 4 else (1, len(parts))
    size = (5.4, 4.0)
    figure = new_figure(wide * (size[0] + 1.8) + 0.2, tall * (size[1] + 0.75) + 0.35)
    total = figure.get_size_inches()
    megahertz = seen.frequency is not None and len(channels) > 1
    for k, part in enumerate(parts):
        row, column = divmod(k, wide)
        axes = figure.add_axes(
            (
                (0.7 + column * (size[0] + 1.8)) / total[0],
                (0.55 + (tall - 1 - row) * (size[1] + 0.75)) / total[1],
                size[0] / total[0],
                size[1] / total[1],
            )
        )
        _draw_part(figure, axes, seen, v, part, channels, megahertz)
        names = [f"({i[b]}, {j[b]})" for b in chosen] if lengths is None else [f"{length:.4g}" for length in lengths]
        axes.xaxis.set_major_locator(MaxNLocator(8 if lengths is not None else 6, integer=True))
        axes.xaxis.set_major_formatter(
            FuncFormatter(
                lambda place, _, names=names: (
                    names[int(place)] if 0 <= place < len(names) and place == int(place) else ""
                )
            )
        )
        axes.set_xlabel("baseline (i, j)" if lengths is None else "length of baseline (m), shortest first")
        axes.set_ylabel("frequency (MHz)" if megahertz else "channel")
    where = f"{plain(seen.one.path)}, integration {integration} of {seen.integrations}"
    for things, step in (("baseline", every[0]), ("channel", every[1])):
        where += f"; every {step}th {things}" if step > 1 else ""
    figure.text(0.7 / total[0], 1 - 0.12 / total[1], where, ha="left", va="top", fontsize=10)
    return figure


def _draw_part(
    figure: Figure, axes: Any, seen: Visibilities, v: np.ndarray, part: str, channels: np.ndarray, megahertz: bool
) -> None:
    low, high = channels[0] - 0.5, channels[-1] + 0.5
    if megahertz:
        f = seen.frequency[channels] / 1e6
        half = (f[-1] - f[0]) / (len(f) - 1) / 2
        low, high = f[0] - half, f[-1] + half
    extent = (-0.5, v.shape[1] - 0.5, low, high)
    options: dict[str, Any] = {"origin": "lower", "extent": extent, "aspect": "auto", "interpolation": "nearest"}
    unit = f" ({plain(seen.unit)})" if seen.unit else ""
    if part == "phase":
        wheel = matplotlib.colormaps["twilight_shifted"].with_extremes(bad="#909090")
        picture = axes.imshow(np.ma.masked_invalid(np.degrees(np.angle(v))), cmap=wheel, vmin=-180, vmax=180, **options)
        _colour_wheel(figure, axes, wheel)
    else:
        values = {"magnitude": np.abs, "real": np.real, "imaginary": np.imag}[part](v)
        finite = np.abs(values[np.isfinite(values)])
        top = float(np.percentile(finite, 99.5)) if finite.size else 1.0
        top = nice(top) if top > 0 else 1.0
        if part != "magnitude":
            picture = axes.imshow(np.ma.masked_invalid(values), cmap=SIGNED, vmin=-top, vmax=top, **options)
        else:
            palette = matplotlib.colormaps["viridis"].with_extremes(bad="#909090")
            middle = float(np.median(finite)) if finite.size else 0.0
            norm = (
                LogNorm(max(float(np.percentile(finite, 2)), 1e-6 * top), top)
                if finite.size and top > 20 * middle > 0
                else Normalize(0, top)
            )
            picture = axes.imshow(np.ma.masked_invalid(values), cmap=palette, norm=norm, **options)
        colour_bar(figure, axes, picture, PARTS[part] + unit, "both" if part != "magnitude" else "max")
    picture.set_gid(part)
    axes.set_title(
        {"phase": "phase of V", "magnitude": "|V|", "real": "real part", "imaginary": "imaginary part"}[part],
        loc="left",
    )


def _colour_wheel(figure: Figure, axes: Any, colours: Any) -> None:
    """Draws the legend of phases: a wheel in which each angle has its colour."""
    box, total = axes.get_position(), figure.get_size_inches()
    side = 0.66
    wheel = figure.add_axes(
        (box.x1 + 0.42 / total[0], box.y1 - (side + 0.3) / total[1], side / total[0], side / total[1]),
        projection="polar",
    )
    angle = np.linspace(-np.pi, np.pi, 181)
    wheel.pcolormesh(
        angle,
        [0.55, 1],
        np.degrees((angle[1:] + angle[:-1]) / 2)[None],
        cmap=colours,
        vmin=-180,
        vmax=180,
        rasterized=True,
    )
    wheel.set_rmin(0)
    wheel.set_yticks([])
    wheel.set_xticks([])
    for degrees, name in ((0, "0°"), (90, "90°"), (180, "±180°"), (270, "−90°")):
        wheel.text(
            np.radians(degrees),
            1.12,
            name,
            fontsize=7,
            ha={0: "left", 180: "right"}.get(degrees, "center"),
            va={90: "bottom", 270: "top"}.get(degrees, "center"),
        )
    wheel.spines["polar"].set_visible(False)
    wheel.grid(False)
    wheel.set_gid("wheel")


def baselines_over_time(
    results: Any, set: str | None = None, baselines: Sequence[tuple[int, int]] = ((1, 0),), channel: int | None = None
) -> Figure:
    """Draws amplitude and phase of chosen baselines (i, j) in one channel, over the integrations.

    The default channel is the middle one.

    Examples
    --------
    >>> figure = baselines_over_time("visibilities.h5", baselines=[(1, 0), (2, 0)], channel=3)
    >>> figure.axes[1].get_xlabel()
    'time (ms)'
    """
    with opened(results) as file, matplotlib.rc_context(STYLE):
        seen = Visibilities(file, file.choose(set, "correlation"))
        channel = seen.channels // 2 if channel is None else channel
        if not 0 <= channel < seen.channels:
            raise Refused(
                f"{shown(seen.one.path)} has no channel {channel}",
                f"there are {seen.channels}",
                "They count from 0.",
                2,
            )
        seconds = file.number(seen.one.node, "sample_time", 0) * file.number(seen.one.node, "integrate", 0)
        scale, unit = (
            (1.0, "")
            if not seconds > 0
            else next(
                (s, u)
                for s, u in ((1e-6, "µs"), (1e-3, "ms"), (1.0, "s"), (60.0, "min"), (3600.0, "h"))
                if seconds * seen.integrations < 200 * s or u == "h"
            )
        )
        at = (
            (np.arange(seen.integrations) + 0.5) * seconds / scale
            if seconds > 0
            else np.arange(seen.integrations, dtype=float)
        )
        figure = new_figure(6.4, 4.6)
        upper, lower = figure.add_axes((0.13, 0.54, 0.7, 0.37)), figure.add_axes((0.13, 0.11, 0.7, 0.37))
        colours = matplotlib.colormaps["tab10"].colors
        for k, (i, j) in enumerate(baselines):
            is_conjugated = i < j
            i, j = max(i, j), min(i, j)
            if not (0 <= j and i < seen.inputs):
                raise Refused(
                    f"{shown(seen.one.path)} has no baseline ({i}, {j})",
                    f"inputs are 0 to {seen.inputs - 1}",
                    "Name two of them.",
                    2,
                )
            v = seen.read(slice(None), channel, i * (i + 1) // 2 + j)
            v = v.conj() if is_conjugated else v
            name = f"({j}, {i})" if is_conjugated else f"({i}, {j})"
            style = {
                "color": colours[k % 10],
                "marker": "o" if seen.integrations < 80 else "",
                "markersize": 3,
                "linewidth": 1,
            }
            upper.plot(at, np.abs(v), label=name, **style)[0].set_gid(f"amplitude {name}")
            lower.plot(at, np.degrees(np.angle(v)), **{**style, "linewidth": 0, "marker": "."})[0].set_gid(
                f"phase {name}"
            )
        upper.set_ylabel("|V|" + (f" ({plain(seen.unit)})" if seen.unit else ""))
        upper.set_ylim(0, 1.08 * upper.get_ylim()[1])
        upper.tick_params(labelbottom=False)
        lower.set_ylabel("phase (degrees)")
        lower.set_ylim(-185, 185)
        lower.set_yticks([-180, -90, 0, 90, 180])
        lower.grid(axis="y", linewidth=0.3)
        lower.set_xlabel(f"time ({unit})" if unit else "integration")
        upper.legend(title="baseline", frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
        where = f", {seen.frequency[channel] / 1e6:.6g} MHz" if seen.frequency is not None else ""
        upper.set_title(f"{plain(seen.one.path)}, channel {channel}{where}", loc="left")
        return figure
