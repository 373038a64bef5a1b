"""Pictures of result files: maps of the potential, molecular surfaces, correlations, curves over time, histograms.

Each function takes the path of a result file and returns a Matplotlib figure. From a shell,
``python -m smallbatch.plot RESULTS -o picture.png`` writes ``.png``, ``.svg`` or ``.pdf``. Both need the
extra ``plot``: ``pip install '.[plot]'`` in a clone of smallbatch.

>>> import smallbatch.plot
>>> figure = smallbatch.plot.slice_map("results.h5", axis="z", value_range="2 V", problems="data/demo.h5")
>>> figure.savefig("map.svg")

All examples draw the files that these commands write in a clone of smallbatch::

    smallbatch run data/demo.h5 -o results.h5
    smallbatch generate signal --integrate 64 -o signals.h5
    smallbatch run signals.h5 -o visibilities.h5
    smallbatch generate charges --batch 50 --charges 100 --pair-energy --unit kcal/mol/e -o charges.h5
    smallbatch run charges.h5 -o energies.h5
"""

from __future__ import annotations

import argparse
import sys
from typing import Sequence

try:
    import matplotlib
    from matplotlib.figure import Figure

    from ._curves import histogram, over_time
    from ._maps import slice_map
    from ._result_file import File, Refused, shown
    from ._style import refuse_existing, save
    from ._surfaces import surface_map
    from ._visibilities import PARTS, baselines_over_time, correlation
except ImportError as error:
    missing = f"pictures cannot be drawn ({error}). In a clone of smallbatch, pip install '.[plot]' installs what they need."
    if __name__ != "__main__":
        raise ImportError(missing) from error
    print(f"error: {missing}", file=sys.stderr)
    raise SystemExit(2) from None

__all__ = ["baselines_over_time", "correlation", "histogram", "over_time", "save", "slice_map", "surface_map"]


def _baseline(text: str) -> tuple[int, int]:
    i, j = text.strip("()").split(",")
    return int(i), int(j)


_KINDS = {
    "map": ("potential",),
    "surface": ("potential",),
    "time": ("potential", "pair_energy"),
    "correlation": ("correlation",),
    "baselines": ("correlation",),
    "histogram": ("solve",),
}


def _draw(options: argparse.Namespace) -> Figure:
    """Draws the kind of picture that ``--kind`` names, or the first kind that suits the set."""
    kind = options.kind
    with File(options.results) as file:
        if kind is None:
            named = [one.kind for one in file.sets() if options.set is None or options.set in (one.name, one.path)]
            kind = next(
                (kind for kind in ("map", "correlation", "histogram", "time") if {*_KINDS[kind]} & {*named}), "map"
            )
        if kind == "map":
            return slice_map(
                file,
                options.set,
                options.problem,
                options.axis,
                options.at,
                options.range,
                options.problems,
                options.field,
                options.contours,
                options.cells,
                options.colours,
            )
        if kind == "surface":
            return surface_map(file, options.set, options.problem, options.problems, options.range, options.colours)
        if kind == "time":
            return over_time(file, options.set)
        if kind == "correlation":
            return correlation(file, options.set, options.integration, options.part, options.order, options.autos)
        if kind == "baselines":
            return baselines_over_time(file, options.set, options.baselines, options.channel)
        return histogram(file, options.set, options.number)


def parser() -> argparse.ArgumentParser:
    words = argparse.ArgumentParser(
        "python -m smallbatch.plot", description="A picture of a result file: PNG, SVG or PDF."
    )
    words.add_argument("results", metavar="RESULTS", help="result file")
    words.add_argument("-o", "--output", required=True, metavar="FILE", help="picture to write: .png, .svg or .pdf")
    words.add_argument("--overwrite", action="store_true", help="replace the picture where it exists")
    words.add_argument("--set", help="name of the set; the only one by default")
    words.add_argument(
        "--kind",
        choices=[*_KINDS],
        help="what to draw; by default what suits the set",
    )
    maps = words.add_argument_group("maps and surfaces")
    maps.add_argument("--problem", default="0", help="name or index of the problem (0)")
    maps.add_argument("--problems", metavar="FILE", help="problem file, for atoms, bonds and surfaces")
    maps.add_argument("--range", help="ends of the colours, and the unit of the map: '5 kT/e'")
    maps.add_argument("--axis", choices=["x", "y", "z"], default="z", help="axis at right angles to the plane (z)")
    maps.add_argument("--at", type=float, metavar="PLACE", help="angstrom along the axis; the middle by default")
    maps.add_argument(
        "--field", choices=["lines", "arrows", "none"], default="lines", help="how to draw E, if it was computed (lines)"
    )
    maps.add_argument("--no-contours", dest="contours", action="store_false", help="no contour lines")
    maps.add_argument("--cells", action="store_true", help="a rectangle for each lattice point, nothing between them")
    maps.add_argument("--colours", help="a colour map of Matplotlib, as RdBu")
    signals = words.add_argument_group("correlations")
    signals.add_argument("--integration", type=int, default=0, help="which one (0)")
    signals.add_argument(
        "--part", choices=[*PARTS, "both", "all"], default="both", help="part of V to draw (both: magnitude and phase)"
    )
    signals.add_argument("--order", choices=["index", "length"], default="index", help="of baselines (index)")
    signals.add_argument("--autos", action="store_true", help="baselines (i, i), too")
    signals.add_argument(
        "--baselines", nargs="+", type=_baseline, default=[(1, 0)], metavar="I,J", help="for --kind baselines (1,0)"
    )
    signals.add_argument("--channel", type=int, help="for --kind baselines; the middle one by default")
    others = words.add_argument_group("histograms")
    others.add_argument(
        "--number",
        default="backward_error",
        help="backward_error, rcond or another number of each system (backward_error)",
    )
    return words


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line. Exit codes are those of smallbatch: 2 usage, 3 bad input, 4 missing file, 7 output."""
    options = parser().parse_args(arguments)
    try:
        if options.colours is not None and options.colours not in matplotlib.colormaps:
            raise Refused(
                f"{shown(options.colours)!r} is no colour map",
                "Matplotlib knows none of that name",
                "Say for example RdBu.",
                2,
            )
        refuse_existing(options.output, options.overwrite)
        save(_draw(options), options.output, options.overwrite)
    except Refused as refusal:
        print(f"error: {refusal}", file=sys.stderr)
        return refusal.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
