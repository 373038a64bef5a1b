"""Result files, read with h5py for pictures and for the report: sets, problems by name, numbers in pieces.

Names and texts of a file may come from anybody. :func:`shown` makes each of them one line without control characters.
"""

from __future__ import annotations

import os
import unicodedata
from typing import Any, Callable, Iterator, NamedTuple

import h5py
import numpy as np
import xxhash

from . import _core

KINDS = ("solve", "potential", "pair_energy", "correlation")
_NEWEST = (1, 9)
_AT_ONCE = 1 << 16  # problems
_PIECE = 1 << 20  # bytes with one checksum
POTENTIAL_UNITS = ("volt", "kT/e", "kcal/mol/e", "kJ/mol/e", "hartree/e", "e/angstrom")


class Refused(ValueError):
    """A file or a call from which no picture can be made. The message reads *problem (why). Remedy.*"""

    def __init__(self, problem: str, why: str, remedy: str, exit_code: int = 3):
        super().__init__(f"{problem} ({why}). {remedy}")
        self.exit_code = exit_code


def shown(text: Any) -> str:
    """Returns a text as one line that is safe to show. Characters that control a terminal or a browser, and bytes that
    are no text, become escapes such as ``\\x1b``."""
    data = text if isinstance(text, bytes) else str(text).encode("utf-8", "surrogateescape")
    line = data.decode("utf-8", "surrogateescape")
    return "".join(
        (
            c
            if unicodedata.category(c) not in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
            else "".join(f"\\x{byte:02x}" for byte in c.encode("utf-8", "surrogateescape"))
        )
        for c in line
    )


def text_of(value: Any) -> str:
    """Returns the text of an attribute or of an element of a dataset."""
    if isinstance(value, np.ndarray):
        value = value.ravel()[0] if value.size else b""
    return value.rstrip(b"\0").decode("utf-8", "surrogateescape") if isinstance(value, bytes) else str(value)


def unit_factor(old: str, new: str, kelvin: float) -> float:
    """Returns the factor from one unit of the potential to another. The name ``V`` means volt."""
    factors = []
    for name in (old, new):
        name = {"eV/e": "volt"}.get(name, name)
        try:
            factors.append(_core.potential_unit_factor(name, kelvin))
        except (ValueError, TypeError):
            raise Refused(
                f"{shown(name)!r} is no unit of a potential",
                "units are " + ", ".join(POTENTIAL_UNITS),
                "Name one of these.",
                2,
            ) from None
    return factors[1] / factors[0]


def length_factor(name: str) -> float:
    """Returns the length of a unit in angstrom. The names of units are those of problem files."""
    return _worth(_core.length_unit_in_angstrom, name, "length", "angstrom, nm, pm, bohr, m")


def charge_factor(name: str) -> float:
    """Returns the charge of a unit in e. The names of units are those of problem files."""
    return _worth(_core.charge_unit_in_e, name, "charge", "e, C")


def _worth(of: Callable[[str], float], name: str, quantity: str, units: str) -> float:
    try:
        return of(name)
    except (ValueError, TypeError):  # TypeError: bytes that are no text
        raise Refused(
            f"{shown(name)!r} is no unit of {quantity}", f"units are {units}", "Correct the problem file."
        ) from None


class Group(NamedTuple):
    """A set of a file."""

    kind: str
    name: str
    node: h5py.Group

    @property
    def path(self) -> str:
        return f"{self.kind}/{self.name}"


class File:
    """A problem or result file of this product, open for reading."""

    def __init__(self, path: str | os.PathLike[str]):
        self.path = os.fspath(path)
        if not os.path.exists(self.path):
            raise Refused(f"{shown(self.path)} cannot be read", "there is no such file", "Check its name.", 4)
        try:
            self.h5 = h5py.File(self.path, "r")
        except OSError as error:
            raise Refused(
                f"{shown(self.path)} cannot be read",
                f"HDF5 says: {shown(error)}",
                "Give a file that smallbatch wrote; if this is one, it is damaged.",
            ) from None
        self.sums: dict[str, np.ndarray] = {}
        version = self.attribute(self.h5, "smallbatch_format")
        if version is None or np.size(version) != 2 or np.asarray(version).dtype.kind not in "iu":
            raise Refused(
                f"{shown(self.path)} is no file of smallbatch",
                "it has no attribute smallbatch_format",
                "Give the results of smallbatch run.",
            )
        if int(np.ravel(version)[0]) > _NEWEST[0]:
            raise Refused(
                f"{shown(self.path)} is of a newer format",
                f"it is {np.ravel(version)}, and up to {_NEWEST[0]} is read",
                "Use a newer smallbatch.",
            )

        self.sums = self._checksums(tuple(int(part) for part in np.ravel(version)))

    def _checksums(self, version: tuple[int, ...]) -> dict[str, np.ndarray]:
        """Returns the checksums of each dataset, one for each MiB. _compare() empties a checksum after a comparison."""
        provenance = self.provenance
        if version < (1, 7) or provenance is self.h5 or self.text(provenance, "kind", "results") != "results":
            return {}
        sums = self.child(self.h5, "checksums")
        kinds = {"dataset": "S", "piece_offset": "iu", "hash": "S"}
        parts = [self.dataset(sums, name, kinds[name]) if sums is not None else None for name in kinds]
        if any(part is None for part in parts):
            raise Refused(
                f"{shown(self.path)} cannot be used", "it has lost its checksums", "Run smallbatch run again."
            )
        names, offset, hashes = (self.read(part) for part in parts)
        if len(offset) != len(names) + 1 or (len(names) and offset[-1] != len(hashes)):
            raise self.damaged("checksums", "they make no sense")
        return {text_of(name): hashes[first:last].copy() for name, first, last in zip(names, offset, offset[1:])}

    def _compare(self, dataset: h5py.Dataset, place: Any) -> None:
        """Compares the pieces of a dataset that hold the elements `place` with their checksums. Each piece is compared
        once."""
        hashes = self.sums.get(str(dataset.name)) if self.sums else None
        start = dataset.id.get_offset() if hashes is not None and len(hashes) else None
        if start is None or hashes is None:
            return
        size, rows = dataset.id.get_storage_size(), dataset.shape[0] if dataset.shape else 1
        first, last = 0, size
        one = place[0] if isinstance(place, tuple) and place else place
        if rows and size % rows == 0:
            if isinstance(one, (int, np.integer)):
                first, last = size // rows * int(one), size // rows * (int(one) + 1)
            elif isinstance(one, slice):
                begin, end, _ = one.indices(rows)
                first, last = size // rows * begin, size // rows * end
        with open(self.path, "rb") as raw:
            for k in range(first // _PIECE, min(-(-last // _PIECE), len(hashes))):
                if hashes[k] == b"":
                    continue
                raw.seek(start + k * _PIECE)
                if xxhash.xxh3_64(raw.read(min(_PIECE, size - k * _PIECE))).hexdigest().encode() != hashes[k]:
                    raise Refused(
                        f"cannot use {shown(dataset.name)} from {shown(self.path)}",
                        "it is not what was written",
                        "smallbatch info --check says what was changed; run smallbatch again.",
                    )
                hashes[k] = b""

    def __enter__(self) -> "File":
        return self

    def __exit__(self, *error: Any) -> None:
        self.h5.close()

    def attribute(self, node: Any, name: str) -> Any:
        """Returns an attribute, or None if there is none of this name. One that cannot be read is refused, because a
        default in its place could be wrong."""
        try:
            return node.attrs[name] if name in node.attrs else None
        except (KeyError, OSError, TypeError, ValueError, RuntimeError) as error:
            raise self.damaged(f"attribute {name}", error) from None

    def text(self, node: Any, name: str, default: str = "") -> str:
        value = self.attribute(node, name)
        return default if value is None else text_of(value)

    def number(self, node: Any, name: str, default: float) -> float:
        value = self.attribute(node, name)
        try:
            return default if value is None else float(np.ravel(value)[0])
        except (TypeError, ValueError, IndexError) as error:
            raise self.damaged(f"attribute {name}", error) from None

    def damaged(self, place: str, why: Any) -> Refused:
        return Refused(
            f"{shown(self.path)}, {shown(place)}, cannot be read",
            shown(why),
            "The file is damaged, or no smallbatch wrote it: smallbatch info --check tells.",
        )

    def child(self, group: h5py.Group, name: str) -> Any:
        """Returns a child, or None. A link is refused, because it may lead into another file."""
        try:
            link = group.get(name, getlink=True)
            if link is None:
                return None
            if not isinstance(link, h5py.HardLink):
                raise self.damaged(f"{group.name}/{name}", "it is a link, and may lead into another file")
            return group[name]
        except (KeyError, OSError, RuntimeError, ValueError) as error:
            if isinstance(error, Refused):
                raise
            raise self.damaged(f"{group.name}/{name}", error) from None

    @property
    def provenance(self) -> h5py.Group:
        """The group with attributes about the run; the root, which has no such attributes, if the group is missing."""
        found = self.child(self.h5, "provenance")
        return self.h5 if found is None else found

    def verification(self, one: Group) -> h5py.Group | None:
        """Returns the group of the referee's verdicts on a set, or None if there is none."""
        found = self.h5
        for name in ("verification", one.kind, one.name):
            found = self.child(found, name) if isinstance(found, h5py.Group) else None
        return found

    def dataset(self, group: h5py.Group, name: str, kinds: str = "biuf") -> h5py.Dataset | None:
        """Returns a dataset whose elements are in this file, or None if there is none. `kinds` are the kinds of elements
        that it may have, as NumPy names them: by default those of real numbers."""
        found = self.child(group, name)
        if found is None:
            return None
        if not isinstance(found, h5py.Dataset):
            raise self.damaged(f"{group.name}/{name}", "it is no dataset")
        if found.is_virtual or found.external or found.dtype.kind == "O" or found.shape is None:
            raise self.damaged(f"{group.name}/{name}", "its numbers are not in this file")
        if found.dtype.kind not in kinds:
            raise self.damaged(f"{group.name}/{name}", f"its elements have the type {found.dtype}")
        return found

    def column(self, one: Group, name: str, kinds: str = "biuf", of: Any = None) -> h5py.Dataset | None:
        """Returns a dataset with one element for each problem of a set, or None if there is none. `of` is the group that
        has it; None means the set."""
        found = self.dataset(one.node if of is None else of, name, kinds)
        if found is not None and found.shape != (self.batch(one),):
            raise self.damaged(f"{one.path}/{name}", f"its shape {found.shape} is not that of {self.batch(one)} problems")
        return found

    def read(self, dataset: h5py.Dataset, place: Any = ()) -> np.ndarray:
        """Returns elements of a dataset, after a comparison with their checksums."""
        self._compare(dataset, place)
        try:
            return np.asarray(dataset[place])
        except (OSError, RuntimeError, ValueError, TypeError, IndexError) as error:
            raise self.damaged(str(dataset.name), error) from None

    def each_set(self, *kinds: str) -> Iterator[Group]:
        """Yields all sets of these kinds, in the order of their kinds and names."""
        for kind in kinds or KINDS:
            groups = self.child(self.h5, kind)
            for name in sorted(groups) if isinstance(groups, h5py.Group) else ():
                node = self.child(groups, name)
                if isinstance(node, h5py.Group):
                    yield Group(kind, name, node)

    def sets(self, *kinds: str) -> list[Group]:
        """Returns all sets of these kinds."""
        return list(self.each_set(*kinds))

    def choose(self, name: str | None, *kinds: str) -> Group:
        """Returns the set called `name`, which may also be ``kind/name``. Without a name, returns the only set."""
        sets = self.sets(*kinds)
        if name is not None:
            sets = [one for one in sets if name in (one.name, one.path)]
        if len(sets) == 1:
            return sets[0]
        held = ", ".join(shown(one.path) for one in self.sets()[:40]) or "none"
        wanted = " or ".join(kinds or KINDS) + " set" + ("" if name is None else f" {shown(name)!r}")
        if sets:
            raise Refused(f"{shown(self.path)} holds several {wanted}s", f"its sets are {held}", "Name one of them.", 2)
        raise Refused(
            f"{shown(self.path)} holds no {wanted}", f"its sets are {held}", "Name one of them.", 2 if name else 3
        )

    # ---- contents of a set ----

    def batch(self, one: Group) -> int:
        info = self.dataset(one.node, "info")
        if info is None or len(info.shape) != 1:
            raise Refused(
                f"{shown(self.path)} holds no results",
                f"{shown(one.path)} has no info of its problems",
                "If these are problems, run them first: smallbatch run problems.h5 -o results.h5.",
            )
        if info.dtype.kind != "i" or info.dtype.itemsize > 4:
            raise self.damaged(f"{one.path}/info", f"its elements have the type {info.dtype}")
        return int(info.shape[0])

    def pieces(self, dataset: h5py.Dataset, at_once: int = _AT_ONCE) -> Iterator[tuple[int, np.ndarray]]:
        """Yields (first index, numbers) for one piece of the first axis after another."""
        for first in range(0, dataset.shape[0], at_once):
            yield first, self.read(dataset, slice(first, first + at_once))

    def label(self, one: Group, index: int) -> str:
        """Returns the name, step or time of a problem, or "" if the file has none of them."""
        name = self.column(one, "name", "S")
        if name is not None:
            return shown(text_of(self.read(name, index).item()))
        for word in ("step", "time"):
            values = self.column(one, word)
            if values is not None:
                return f"{word} {self.read(values, index).item():g} {shown(self.text(values, 'unit'))}".rstrip()
        return ""

    def title(self, one: Group, index: int) -> str:
        label = self.label(one, index)
        return (
            shown(one.path) + (f", problem {index}" if self.batch(one) > 1 else "") + (f" ({label})" if label else "")
        )

    def problem(self, one: Group, which: int | str) -> int:
        """Returns the index of a problem. `which` is its index or its name."""
        batch = self.batch(one)
        try:
            index = int(which)
        except ValueError:
            name = self.column(one, "name", "S")
            for first, names in self.pieces(name) if name is not None else ():
                for k, found in enumerate(names):
                    if text_of(found) == which:
                        return first + k
            raise Refused(
                f"{shown(one.path)} has no problem called {shown(which)!r}",
                f"{batch} problems are there" + ("" if name is not None else ", without names"),
                "Give a name that the set has, or an index from 0.",
                2,
            ) from None
        if not 0 <= index < batch:
            raise Refused(f"{shown(one.path)} has no problem {index}", f"there are {batch}", "Indices count from 0.", 2)
        return index

    # ---- contents of a set of potentials ----

    def unit(self, one: Group) -> str:
        for name in ("V", "energy"):
            values = self.dataset(one.node, name)
            if values is not None and self.text(values, "unit"):
                return self.text(values, "unit")
        return self.text(one.node, "output_unit", "volt")

    def kelvin(self, one: Group) -> float:
        return self.number(one.node, "temperature", 298.15)

    def lattice(self, one: Group, index: int) -> tuple[np.ndarray, np.ndarray, h5py.Dataset]:
        """Returns the origin and the spacing (angstrom) of a problem, and the dataset V (batch, nz, ny, nx)."""
        v = self.dataset(one.node, "V")
        origin, spacing = (self.dataset(one.node, name) for name in ("origin", "spacing"))
        if v is None or v.ndim != 4 or origin is None or spacing is None:
            raise Refused(
                f"{shown(one.path)} of {shown(self.path)} is no map",
                "its V is not on a lattice",
                "Choose a set with lattices.",
            )
        if v.shape[0] != self.batch(one) or {origin.shape, spacing.shape} != {(v.shape[0], 3)} or 0 in v.shape:
            raise self.damaged(one.path, f"V has the shape {v.shape}, origins {origin.shape}, spacings {spacing.shape}")
        found = [self.read(values, index).astype(float) for values in (origin, spacing)]
        end = found[0] + found[1] * v.shape[:0:-1]
        if not (np.isfinite(found).all() and np.isfinite(end).all() and (found[1] > 0).all() and (end > found[0]).all()):
            raise Refused(
                f"{self.title(one, index)} has no map", "its lattice is not finite", "Choose another problem."
            )
        return found[0], found[1], v
