"""All problems of a set of results: counts, indices, and tables of a page. The problems are read a piece at a time."""

from __future__ import annotations

from typing import Any, NamedTuple, Sequence

import numpy as np

from . import _core
from ._html import Html, table, tag
from ._result_file import File, Group, Refused, shown
from ._style import power_text, typeset

MOST_ROWS, _MOST_RUNS, _MOST_STATUSES = 200, 24, 24
NOUNS = {"solve": "systems", "correlation": "channels"}
DONE = {"solve": "solved", "potential": "evaluated", "pair_energy": "summed", "correlation": "correlated"}
_DESCRIBE = {
    "solve": _core.describe_solve_info,
    "potential": _core.describe_potential_info,
    "pair_energy": _core.describe_pair_energy_info,
    "correlation": _core.describe_correlation_info,
}
# The statuses of each kind of set, and the meaning of a status above 0.
_STATUSES = {
    "solve": (0, -1, -2, -3, -4, -5),
    "potential": (0, -1, -2, -3),
    "pair_energy": (0, -1, -2, -3),
    "correlation": (0, -1, -2),
}
_ABOVE_0 = {
    "solve": "k: pivot k is not positive, so the matrix is not positive definite",
    "potential": "k: evaluated; k charges or targets share a place, where V is infinite",
    "pair_energy": "k: summed; k pairs of charges share a place",
}


def grouped(number: int) -> str:
    return f"{number:,}".replace(",", "\u202f")


def number_text(value: float) -> str:
    """Returns a number to four digits, with the minus sign instead of a hyphen."""
    text = (
        power_text(float(f"{value:.4g}")) if np.isfinite(value) else {"inf": "∞", "-inf": "−∞"}.get(str(value), "NaN")
    )
    return text.replace("-", "−")


class Runs:
    """Indices of problems that have something in common, such as a status. The text is like "3–7, 12 and 108 more"."""

    def __init__(self) -> None:
        self.runs: list[list[int]] = []
        self.count = self.others = 0

    def add(self, indices: np.ndarray) -> None:
        self.count += len(indices)
        if not len(indices):
            return
        for run in np.split(indices, np.flatnonzero(np.diff(indices) != 1) + 1):
            if self.runs and self.others == 0 and self.runs[-1][1] == run[0] - 1:
                self.runs[-1][1] = int(run[-1])
            elif len(self.runs) < _MOST_RUNS:
                self.runs.append([int(run[0]), int(run[-1])])
            else:
                self.others += len(run)

    def text(self) -> str:
        parts = [
            grouped(a) if a == b else f"{grouped(a)}{', ' if b == a + 1 else '–'}{grouped(b)}" for a, b in self.runs
        ]
        return ", ".join(parts) + (f" and {grouped(self.others)} more" if self.others else "")


class Look(NamedTuple):
    """Counts and indices of problems, from reading all problems of a set once."""

    batch: int
    failed: int
    statuses: dict[int, Runs]
    of_other_statuses: int
    disagreeing: Runs
    agreed: int
    repaired: int
    worst: list[tuple[float, int]]  # (error over bound, index), the largest first

    @property
    def disagreed(self) -> int:
        return self.disagreeing.count

    @property
    def checked(self) -> int:
        return self.agreed + self.disagreed


def _is_failed(kind: str, info: np.ndarray) -> np.ndarray:
    """Returns which problems failed. Statuses above 0 of potentials and pair energies count singular places and are no
    failures."""
    return info < 0 if kind in ("potential", "pair_energy") else info != 0


def look_at(file: File, one: Group) -> Look:
    batch, info = file.batch(one), file.dataset(one.node, "info")
    judged = file.verification(one)
    verdicts = None if judged is None else file.column(one, "verdict", of=judged)
    errors = None if judged is None else file.column(one, "error_over_bound", of=judged)
    repairs = file.column(one, "repaired") if one.kind == "solve" else None
    statuses: dict[int, Runs] = {}
    disagreeing, failed, others, agreed, repaired = Runs(), 0, 0, 0, 0
    worst: list[tuple[float, int]] = []
    for first, some in file.pieces(info):
        part = slice(first, first + len(some))
        failed += int(_is_failed(one.kind, some).sum())
        for status in np.unique(some[some != 0]):
            statuses.setdefault(int(status), Runs()).add(first + np.flatnonzero(some == status))
        while len(statuses) > _MOST_STATUSES:
            others += statuses.pop(max(statuses)).count
        if verdicts is not None and verdicts.shape == info.shape:
            verdict = file.read(verdicts, part)
            agreed += int((verdict == 1).sum())
            disagreeing.add(first + np.flatnonzero(verdict == 2))
        if errors is not None and errors.shape == info.shape:
            error = file.read(errors, part).astype(float)
            best = np.argsort(np.where(np.isnan(error), -np.inf, error), kind="stable")[::-1][:5]
            worst += [(float(error[k]), first + int(k)) for k in best if not np.isnan(error[k])]
            worst = sorted(worst, key=lambda pair: (-pair[0], pair[1]))[:5]
        if repairs is not None and repairs.shape == info.shape:
            repaired += int((file.read(repairs, part) > 0).sum())
    if judged is not None and verdicts is not None:
        stated = [int(file.number(judged, name, -1)) for name in ("agreed", "disagreed")]
        if stated != [agreed, disagreeing.count] and -1 not in stated:
            raise Refused(
                f"the verdicts of {shown(one.path)} were changed",
                f"{stated} are stated, [{agreed}, {disagreeing.count}] found",
                "Run smallbatch verify.",
            )
    return Look(batch, failed, statuses, others, disagreeing, agreed, repaired, worst)


def words_of(file: File, one: Group) -> list[str]:
    """Returns sentences that explain the computation and the meaning of its numbers."""
    attribute = lambda name: file.number(one.node, name, 0)  # noqa: E731
    if one.kind == "solve":
        words = ["Each system is A x = b with a symmetric positive definite matrix A."]
        if file.dataset(one.node, "backward_error") is not None:
            words.append(
                "The backward error is the residual b − A x, in proportion to the sizes of A and x. In arithmetic of "
                "this precision, it can hardly be smaller than the unit roundoff u."
            )
        if file.dataset(one.node, "rcond") is not None:
            words.append(
                "rcond is the reciprocal condition number: the relative distance of A to a singular matrix. 1 is "
                "the best, 0 is "
                "singular. About as many digits of x are lost as rcond has zeros after the point."
            )
        if file.dataset(one.node, "log_determinant") is not None and file.dataset(one.node, "x") is None:
            words.append(
                "ln det A is the natural logarithm of the determinant: the sum of the logarithms of all pivots."
            )
        return words
    if one.kind == "correlation":
        kind = "mean" if file.text(one.node, "output") == "mean" else "sum"
        return [
            "Each sample of inputs i and j contributes the signal of i times the complex conjugate of the signal of j. "
            f"The visibility is the {kind} over the samples of an integration. Samples that are flagged for i or j do "
            "not count."
        ]
    if one.kind == "pair_energy":
        words = [
            "Each pair of charges contributes the product of its charges, divided by their distance. The energy is the "
            "sum over all pairs."
        ]
        if attribute("groups"):
            words = [
                "Each pair of charges contributes the product of its charges, divided by their distance. The energy is "
                "the sum over all pairs of a charge of group 1 and a charge of group 2."
            ]
    else:
        words = [
            "Each charge contributes to the potential V at a point. The contribution is the charge, divided by its "
            "distance from the point. V is the sum over all charges."
        ]
        if file.dataset(one.node, "E") is not None:
            words.append("The field E is minus the gradient of V.")
    if attribute("cutoff"):
        words.append(
            f"Charges farther away than the cut-off of {number_text(attribute('cutoff'))} Å do not count; V goes to 0 "
            "there without a step."
        )
    if attribute("softening"):
        words.append(
            f"A softening of {number_text(attribute('softening'))} Å keeps V finite at charges: the distance r becomes "
            "√(r² + s²)."
        )
    if attribute("screening_length"):
        words.append(
            "Salt screens each charge: its part falls off exponentially over "
            f"{number_text(attribute('screening_length'))} Å."
        )
    if attribute("width") or attribute("widths"):
        words.append("Charges are Gaussian clouds, each with a width.")
    if attribute("dielectric") not in (0, 1):
        words.append(f"All is divided by the relative permittivity {number_text(attribute('dielectric'))}.")
    return words


def statuses(file: File, one: Group, look: Look) -> Html:
    """Returns a table of all statuses of this kind of set, with the number and the indices of their problems."""
    rows: list[list[Any]] = []
    good = look.batch - sum(runs.count for runs in look.statuses.values()) - look.of_other_statuses
    described = _DESCRIBE[one.kind]
    for status in [0] + sorted(status for status in look.statuses if status > 0):
        runs = look.statuses.get(status)
        rows.append([status, described(status), grouped(runs.count if runs else good), runs.text() if runs else ""])
    if one.kind in _ABOVE_0 and not any(status > 0 for status in look.statuses):
        rows.append(["k > 0", _ABOVE_0[one.kind], "0", ""])
    for status in sorted({*_STATUSES[one.kind][1:], *(status for status in look.statuses if status < 0)}, reverse=True):
        runs = look.statuses.get(status)
        rows.append(
            [f"−{-status}", described(status), grouped(runs.count) if runs else "0", runs.text() if runs else ""]
        )
    html = tag("h3", "Statuses") + table(
        ["status", "meaning", NOUNS.get(one.kind, "problems"), "at index"], rows, (True, False, True, False)
    )
    if look.of_other_statuses:
        html += tag(
            "p",
            f"And {grouped(look.of_other_statuses)} {NOUNS.get(one.kind, 'problems')} of greater statuses.",
            class_="note",
        )
    return Html(html)


_COLUMNS = {
    "solve": ("backward_error", "rcond", "smallest_pivot", "repaired"),
    "potential": ("V_min", "V_mean", "V_max", "energy"),
    "pair_energy": ("energy",),
    "correlation": (),
}


def rows_of(file: File, one: Group, indices: Sequence[int]) -> Html:
    """Returns a table with one row of numbers for each problem in `indices`."""
    judged = file.verification(one)
    sources: list[tuple[str, Any]] = [("status", file.dataset(one.node, "info"))]
    for name in _COLUMNS[one.kind]:
        values = file.dataset(one.node, name)
        if values is not None and values.ndim == 1:
            unit = file.text(values, "unit")
            words = {"V_min": "least V", "V_mean": "mean V", "V_max": "greatest V"}.get(name, name.replace("_", " "))
            sources.append((words + (f" ({typeset(unit)})" if unit else ""), values))
    if judged is not None and file.dataset(judged, "error_over_bound") is not None:
        sources.append(("error / bound", file.dataset(judged, "error_over_bound")))
    rows = []
    for index in indices:
        numbers = [file.read(values, index).item() for _, values in sources]
        cells = [
            number_text(number) if isinstance(number, float) else str(number).replace("-", "−") for number in numbers
        ]
        rows.append([grouped(index), *cells, file.label(one, index)])
    titles = ["index", *(title for title, _ in sources), "known as"]
    if not any(row[-1] for row in rows):
        titles, rows = titles[:-1], [row[:-1] for row in rows]
    return table(titles, rows, [True] * (len(sources) + 1))
