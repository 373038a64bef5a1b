"""Atoms for pictures: read from problem files; their radii, colours and bonds, and the surface of a molecule."""

from __future__ import annotations

import os
import re
from typing import NamedTuple

import h5py
import numpy as np
import xxhash

from ._result_file import File, Group, Refused, charge_factor, length_factor, shown


class Element(NamedTuple):
    symbol: str
    # Van der Waals radius, angstrom: A. Bondi, J. Phys. Chem. 68, 441 (1964), and
    # S. Alvarez, Dalton Trans. 42, 8617 (2013).
    radius: float
    # Covalent radius, angstrom: B. Cordero et al., Dalton Trans. 2008, 2832. It is 0 for metals, so that no bonds of
    # metals are drawn.
    covalent: float
    colour: str


_ELEMENTS = {
    0: Element("?", 1.5, 0, "#b0b0b0"),
    1: Element("H", 1.2, 0.31, "#f4f4f4"),
    3: Element("Li", 1.81, 0, "#8a63c7"),
    5: Element("B", 1.92, 0.84, "#e8a9a0"),
    6: Element("C", 1.7, 0.76, "#606468"),
    7: Element("N", 1.55, 0.71, "#4f74d9"),
    8: Element("O", 1.52, 0.66, "#e0503f"),
    9: Element("F", 1.47, 0.57, "#8fce5a"),
    11: Element("Na", 2.27, 0, "#8a63c7"),
    12: Element("Mg", 1.73, 0, "#3d9a3d"),
    14: Element("Si", 2.1, 1.11, "#d8b58c"),
    15: Element("P", 1.8, 1.07, "#ec9436"),
    16: Element("S", 1.8, 1.05, "#e5c93c"),
    17: Element("Cl", 1.75, 1.02, "#57b957"),
    19: Element("K", 2.75, 0, "#8a63c7"),
    20: Element("Ca", 2.31, 0, "#3d9a3d"),
    34: Element("Se", 1.9, 1.2, "#e5a03c"),
    35: Element("Br", 1.85, 1.2, "#a4512f"),
    53: Element("I", 1.98, 1.39, "#8d4fa3"),
}


def element(number: int) -> Element:
    return _ELEMENTS.get(int(number)) or Element("?", 2.0, 0, "#c98b7a")


def radii(number: np.ndarray) -> np.ndarray:
    """Returns the van der Waals radius of each atom."""
    return _looked_up(number, "radius")


def _looked_up(number: np.ndarray, what: str) -> np.ndarray:
    kinds, place = np.unique(number, return_inverse=True)
    return np.array([getattr(element(kind), what) for kind in kinds])[place] if len(number) else np.zeros(0)


def bonds(position: np.ndarray, number: np.ndarray) -> np.ndarray:
    """Returns pairs of atoms, (bonds, 2), with a distance of at most the sum of their covalent radii plus 0.4 angstrom.
    Unknown elements and metals have no bonds. Atoms are sorted into cells, so the time is proportional to their
    number."""
    covalent = _looked_up(number, "covalent")
    known = np.flatnonzero((covalent > 0) & np.isfinite(position).all(1))
    if len(known) < 2:
        return np.zeros((0, 2), int)
    place, covalent = position[known], covalent[known]
    side = 2 * covalent.max() + 0.4
    cell = np.floor((place - place.min(0)) / side).astype(np.int64)
    width = cell.max(0) + 3
    key = ((cell[:, 0] + 1) * width[1] + cell[:, 1] + 1) * width[2] + cell[:, 2] + 1
    order = np.argsort(key, kind="stable")
    keys = key[order]
    found = []
    for step in np.ndindex(3, 3, 3):
        other = key + ((step[0] - 1) * width[1] + step[1] - 1) * width[2] + step[2] - 1
        first, last = np.searchsorted(keys, other), np.searchsorted(keys, other, side="right")
        for k in range(int((last - first).max(initial=0))):
            i = np.flatnonzero(first + k < last)
            j = order[first[i] + k]
            i, j = i[i < j], j[i < j]
            near = np.linalg.norm(place[i] - place[j], axis=1)
            is_bond = (near > 0.4) & (near <= covalent[i] + covalent[j] + 0.4)
            found.append(np.stack([i[is_bond], j[is_bond]], axis=1))
    return known[np.concatenate(found)]


def surface(
    position: np.ndarray, number: np.ndarray, most_points: int = 4_000_000, finest: float = 0.35
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns vertices (angstrom), triangles and outward normals of the surface sum_i exp(2.3 (1 - d_i^2/r_i^2)) = 1,
    with van der Waals radii r_i (J. F. Blinn, ACM Trans. Graph. 1, 235 (1982); J. A. Grant and B. T. Pickup, J. Phys.
    Chem. 99, 3503 (1995))."""
    try:
        from skimage.measure import marching_cubes
    except ImportError as error:
        raise Refused(
            "no surface can be drawn",
            f"scikit-image is missing: {error}",
            "Install it: in a clone of smallbatch, pip install '.[plot]'.",
            2,
        ) from None
    is_there = np.isfinite(position).all(1)
    place, radius = position[is_there], radii(number[is_there])
    if not len(place):
        raise Refused("no surface can be drawn", "the problem has no atoms", "Choose another problem.", 2)
    low, high = place.min(0) - 5, place.max(0) + 5
    step = max(finest, float((np.prod(high - low) / most_points) ** (1 / 3)))
    count = np.ceil((high - low) / step).astype(int) + 1
    density = np.zeros(count, np.float32)
    for center, r in zip(place, radius):
        reach = 2.0 * r
        first = np.maximum(np.ceil((center - reach - low) / step).astype(int), 0)
        last = np.minimum(np.floor((center + reach - low) / step).astype(int) + 1, count)
        x, y, z = ((low[a] + step * np.arange(first[a], last[a]) - center[a]) ** 2 for a in range(3))
        part = tuple(slice(a, b) for a, b in zip(first, last))
        density[part] += np.exp(2.3) * (
            np.exp(-2.3 / r**2 * x)[:, None, None] * np.exp(-2.3 / r**2 * y)[:, None] * np.exp(-2.3 / r**2 * z)
        )
    # Marching cubes takes the logarithm of the density. The logarithm is nearly linear near the surface, so triangles
    # are smoother.
    with np.errstate(divide="ignore"):
        vertices, triangles, normals, _ = marching_cubes(
            np.log(np.maximum(density, 1e-6)), 0.0, spacing=(step,) * 3, gradient_direction="descent"
        )
    return vertices + low, triangles, normals


def interpolated(values: np.ndarray, origin: np.ndarray, spacing: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Returns values of a lattice (nz, ny, nx), interpolated linearly at places; NaN for places outside the lattice."""
    from scipy.ndimage import map_coordinates

    at = ((places - origin) / spacing)[:, ::-1].T
    return map_coordinates(np.asarray(values, float), at, order=1, mode="constant", cval=np.nan)


class Molecule(NamedTuple):
    """The charges of a problem: positions (angstrom), charges (e), and atomic numbers, 0 if they are not known."""

    position: np.ndarray
    charge: np.ndarray
    number: np.ndarray


def _first_of_share(results: File, problems: File, one: Group, offset: np.ndarray) -> int:
    """Returns the index of a share's first problem in the problem file, by the rule of io/format/share.cpp."""
    share = results.text(results.provenance, "share")
    if not share:
        return 0
    found = re.fullmatch(r"([1-9][0-9]{0,8})/([1-9][0-9]{0,8})", share)
    if found is None:
        raise results.damaged("provenance/share", f"{share!r} is no share")
    number, count = (int(part) for part in found.groups())
    batch = len(offset) - 1
    charges = np.diff(offset).astype(float)
    points = problems.dataset(one.node, "point_offset")
    if one.kind == "pair_energy" or problems.text(one.node, "targets") == "charges":
        targets = charges
    elif points is not None:
        targets = np.diff(problems.read(points)).astype(float)
    else:
        targets = np.full(batch, float(np.prod(problems.attribute(one.node, "shape"), dtype=float)))
    pairs = np.concatenate([[0], np.cumsum(targets * (charges + 1))])
    if number == 1:
        return 0
    if pairs[-1] == 0:
        return batch * (number - 1) // count
    return int(np.searchsorted(pairs[1:], pairs[-1] * (number - 1) / count, side="right"))


def molecule(results: File, path: str | os.PathLike[str], one: Group, index: int) -> Molecule:
    """Returns the charges of problem `index` of the results. `path` is the problem file that was run."""
    with File(path) as problems:
        _check_identity(results, problems)
        source = problems.choose(one.path)
        attribute = problems.text(source.node, "particles")
        if attribute:
            return _of_trajectory(results, problems, source, attribute, index)
        position, charge = (problems.dataset(source.node, name) for name in ("position", "charge"))
        if position is None or charge is None or position.ndim != 2 or charge.shape != position.shape[:1]:
            raise problems.damaged(source.path, "it has no positions and charges")
        offset_of_file = problems.dataset(source.node, "offset")
        offset = np.array([0, len(charge)]) if offset_of_file is None else problems.read(offset_of_file)
        index += _first_of_share(results, problems, source, offset)
        if index + 1 >= len(offset):
            raise problems.damaged(source.path, "it has fewer problems than the results")
        part = slice(int(offset[index]), int(offset[index + 1]))
        number = problems.dataset(source.node, "atomic_number")
        factor = length_factor(problems.text(position, "unit", "angstrom"))
        charges = problems.read(charge, part).astype(float)
        charges *= charge_factor(problems.text(charge, "unit", "e"))
        return Molecule(
            problems.read(position, part).astype(float) * factor,
            charges,
            np.zeros(len(charges), int) if number is None else problems.read(number, part).astype(int),
        )


def _check_identity(results: File, problems: File) -> None:
    provenance = results.provenance
    stated = results.text(provenance, "input_hash")
    found, piece, pieces = xxhash.xxh3_128(), 1 << 20, 64
    size = os.path.getsize(problems.path)
    with open(problems.path, "rb") as file:
        if size <= pieces * piece:
            found.update(file.read())
        else:
            for k in range(pieces):
                file.seek(k * (size - piece) // (pieces - 1))
                found.update(file.read(piece))
    if stated and found.hexdigest() != stated:
        raise Refused(
            f"{shown(problems.path)} is not the problem file of {shown(results.path)}",
            "its hash differs from that of the file that was run",
            "Name that file, or leave it out.",
        )


def _of_trajectory(results: File, problems: File, one: Group, name: str, index: int) -> Molecule:
    """Returns the atoms of a frame of H5MD. If atoms have ids, their order may differ from frame to frame.
    Elements are therefore read only if there are no ids."""
    group = problems.child(problems.h5, "particles")
    particles = problems.child(group, name) if isinstance(group, h5py.Group) else None
    if not isinstance(particles, h5py.Group):
        raise problems.damaged(one.path, f"there is no /particles/{name}")
    element = problems.child(particles, "position")
    values = problems.dataset(element, "value") if isinstance(element, h5py.Group) else element
    if values is None or (values.ndim == 3 and len(values) != results.batch(one)):
        raise Refused(
            f"{shown(problems.path)} gives no atoms",
            "it does not have one frame for each problem of the results",
            "Leave the problem file out.",
        )
    where = problems.read(values, index if values.ndim == 3 else ()).astype(float)
    unit = problems.text(values, "unit") or problems.text(element, "unit", "angstrom")
    is_there = np.isfinite(where).all(1)
    number = problems.dataset(one.node, "atomic_number")
    numbers = np.zeros(len(where), int)
    if number is not None and number.shape == (len(where),) and "id" not in particles:
        numbers = problems.read(number).astype(int)
    return Molecule(where[is_there] * length_factor(unit), np.zeros(int(is_there.sum())), numbers[is_there])
