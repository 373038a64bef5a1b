"""Surfaces of molecules, coloured by the potential on them."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import matplotlib
import numpy as np
from matplotlib.collections import PolyCollection
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from ._molecule import interpolated, molecule, surface
from ._result_file import File, Group, Refused, shown
from ._style import SIGNED, STYLE, colour_bar, new_figure, nice, opened, plain, range_of, typeset

_MOST_POINTS = 1 << 27  # most points of a lattice that is read as a whole


def surface_map(
    results: Any,
    set: str | None = None,
    problem: int | str = 0,
    problems: Any = None,
    value_range: str | float | None = None,
    colours: Any = None,
) -> Figure:
    """Draws the molecule's surface from the front and from behind, coloured by the potential.

    ``problems`` is the problem file, which has the atoms. By default it is the file that the results name.

    Examples
    --------
    >>> figure = surface_map("results.h5", problems="data/demo.h5", value_range="1 V")
    >>> figure.savefig("surface.png")
    """
    with opened(results) as file, matplotlib.rc_context(STYLE):
        if problems is None:
            problems = file.text(file.provenance, "problems")
            if not os.path.isfile(problems):
                raise Refused(
                    "no surface can be drawn",
                    f"atoms are in the problem file, and {shown(problems) or 'its name'} is not there",
                    "Name it: --problems.",
                    2,
                )
        one = file.choose(set, "potential")
        index = file.problem(one, problem)
        mesh = potential_on_surface(file, one, index, problems, value_range)
        center = mesh.vertices.mean(0)
        turn = line_of_sight(mesh.vertices)
        colour_of = Normalize(-mesh.limit, mesh.limit)
        palette = colours or SIGNED
        palette = matplotlib.colormaps[palette] if isinstance(palette, str) else palette
        span = np.ptp((mesh.vertices - center) @ turn.T, axis=0)
        height = float(np.clip(4.2 * span[1] / span[0], 1.5, 6))
        figure = new_figure(2 * 4.2 + 1.4, height + 0.5, 220)
        for side in range(2):
            view = turn * np.array([[1], [1], [1]]) if side == 0 else turn * np.array([[-1], [1], [-1]])
            axes = figure.add_axes(
                (
                    (0.15 + 4.35 * side) / (2 * 4.2 + 1.4),
                    0.1 / (height + 0.5),
                    4.2 / (2 * 4.2 + 1.4),
                    height / (height + 0.5),
                )
            )
            turned, normal = (mesh.vertices - center) @ view.T, mesh.normals @ view.T
            triangles = mesh.triangles[normal[mesh.triangles].mean(1)[:, 2] > -0.05]
            triangles = triangles[np.argsort(turned[triangles, 2].mean(1))]
            light = np.clip(normal[triangles].mean(1) @ (np.array([-0.4, 0.5, 0.77])), 0, 1)
            depth = turned[triangles, 2].mean(1)
            shade = (0.45 + 0.55 * light) * (0.85 + 0.15 * (depth - depth.min()) / max(np.ptp(depth), 1e-9))
            with np.errstate(invalid="ignore"):
                paint = palette(np.ma.masked_invalid(colour_of(mesh.values[triangles].mean(1))))[:, :3] * shade[:, None]
            paint = np.clip(paint + 0.18 * (light**24)[:, None], 0, 1)
            skin = PolyCollection(
                turned[triangles][..., :2], facecolors=paint, edgecolors=paint, linewidths=0.3, rasterized=True
            )
            skin.set_gid(f"surface-{side}")
            axes.add_collection(skin)
            middle = (turned.max(0) + turned.min(0)) / 2
            axes.set_xlim(middle[0] - 0.51 * span[0], middle[0] + 0.51 * span[0])
            axes.set_ylim(middle[1] - 0.51 * span[1], middle[1] + 0.51 * span[1])
            axes.set_aspect("equal")
            axes.axis("off")
            if side == 0:
                axes.set_title(plain(file.title(one, index)) + ", front and back", loc="left")
                left, top = middle[:2] - 0.5 * span[:2]
                axes.plot([left, left + 10], [top, top], color="#202020", linewidth=1.5, solid_capstyle="butt")
                axes.text(left + 5, top, "10 Å", ha="center", va="bottom", fontsize=8)
        colour_bar(
            figure,
            figure.axes[1],
            matplotlib.cm.ScalarMappable(colour_of, palette),
            f"V on the surface ({typeset(mesh.unit)})",
            "both",
        )
        return figure


def line_of_sight(vertices: np.ndarray) -> np.ndarray:
    """Returns three directions as rows: to the right, up, and to the eye. The longest axis of the molecule points to
    the right, and the shortest axis points to the eye."""
    some = vertices[:: max(1, len(vertices) // 5000)]
    turn = np.linalg.svd(some - some.mean(0), full_matrices=False)[2]
    turn[2] = np.cross(turn[0], turn[1])
    return turn


class Mesh(NamedTuple):
    """A surface: vertices (angstrom), triangles, outward normals, V at the vertices, range and unit of the colours."""

    vertices: np.ndarray
    triangles: np.ndarray
    normals: np.ndarray
    values: np.ndarray
    limit: float
    unit: str


def potential_on_surface(
    file: File, one: Group, index: int, problems: Any, value_range: Any = None, most_points: int = 4_000_000
) -> Mesh:
    """Returns the surface of a molecule, with V interpolated linearly from the lattice."""
    origin, spacing, v = file.lattice(one, index)
    if np.prod(v.shape[1:], dtype=float) > _MOST_POINTS:
        raise Refused(
            f"no surface of {file.title(one, index)} is drawn",
            "its lattice is too large to be read as a whole",
            "Compute it on a coarser lattice.",
        )
    atoms = molecule(file, problems, one, index)
    vertices, triangles, normals = surface(atoms.position, atoms.number, most_points)
    limit, unit, factor = range_of(value_range, file.unit(one), file.kelvin(one))
    values = interpolated(file.read(v, index), origin, spacing, vertices) * factor
    finite = np.abs(values[np.isfinite(values)])
    if limit is None:
        limit = nice(float(np.percentile(finite, 95))) if finite.size and finite.max() > 0 else 1.0
    return Mesh(vertices, triangles, normals, values, limit, unit)
