"""Potentials and fields of point charges, and energies of their pairs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from . import _core
from ._arrays import ArrayLibrary, array_library_of, compute, floats, handle_of, tight, whole_numbers
from ._brought import Array, ArrayT, Brought, plain
from ._results import ABSENT, Statuses
from ._words import choice, number, whole_number, words_of_files, yes_or_no


class Lattice(NamedTuple):
    """Points ``origin + (i, j, k) * spacing`` for i below nx, j below ny, k below nz. Lengths are in angstrom."""

    origin: Array  #: (3,), or (..., 3): one for each problem
    spacing: Array  #: a number, (3,), or (..., 3)
    shape: tuple[int, int, int]  #: (nx, ny, nz), the same for all problems


# Units of energies. Each is e times the unit of a potential.
_OF_ENERGIES = {"volt*e": "volt", "eV": "volt", "kT": "kT/e", "kcal/mol": "kcal/mol/e", "kJ/mol": "kJ/mol/e",
                "hartree": "hartree/e", "e^2/angstrom": "e/angstrom"}


@dataclass(frozen=True)
class Potentials(Statuses[ArrayT]):
    """The potential of each problem, its status, and with ``field=True`` its field.

    All three are arrays of the library of the positions, on their device.

    ``potential``
        in the unit ``unit``: (..., nz, ny, nx) on lattices, with x fastest; (..., M) at points; (..., N) at the
        charges; with offsets (total,), one problem after another
    ``info`` (...), int32
        the status of each problem, which ``ok``, ``describe()`` and ``raise_for_status()`` read:

        - 0: evaluated
        - k > 0: evaluated, and k charges lie on a lattice point, or k targets on a charge; ``singular`` decided the
          values there
        - -1: a position, a charge, a width or a point is a NaN or infinite, or a width is negative; every value of the
          problem is NaN
        - -2: a number is beyond 1e15 (float64: 1e150) angstrom or e; every value of the problem is NaN
        - -3: evaluated, but values are beyond the range of the type; they are infinities
    ``field``
        ``E = -grad V``, in the unit per angstrom, shaped like ``potential`` with a last axis of 3; None without
        ``field=True``
    """

    potential: ArrayT
    info: ArrayT
    field: ArrayT = ABSENT

    _kind = "problems"

    @staticmethod
    def _sentence(info: int) -> str:
        return _core.describe_potential_info(info)

    @staticmethod
    def _answered(info: Any) -> Any:
        return info >= 0


@dataclass(frozen=True)
class PairEnergies(Statuses[ArrayT]):
    """The energy of each problem's pairs, and its status.

    ``energy`` (...), float64
        in the unit of the potential, times e
    ``info`` (...), int32
        the status of each problem, which ``ok``, ``describe()`` and ``raise_for_status()`` read:

        - 0: summed
        - k > 0: summed, and in k pairs both charges are at one position; ``singular`` decided their energies
        - -1, -2: as in :class:`Potentials`; the energies are NaN
        - -3: an energy is beyond the range of float64
    ``per_charge`` (..., N), with offsets (total,), float64
        half the energies of each charge's pairs; None without ``per_charge=True``
    """

    energy: ArrayT
    info: ArrayT
    per_charge: ArrayT = ABSENT

    _kind = "problems"

    @staticmethod
    def _sentence(info: int) -> str:
        return _core.describe_pair_energy_info(info)

    @staticmethod
    def _answered(info: Any) -> Any:
        return info >= 0


class _Charges:
    """The charges of a call, with their library and their struct."""

    def __init__(self, positions: Array, charges: Array, offsets: Array, backend: str, threads: int,
                 points: Array = None, point_offsets: Array = None, width: Array = None, **others: Array):
        positions = plain(positions, "positions", "" if charges is None else "angstrom")
        charges, offsets = plain(charges, "charges", "e"), plain(offsets, "offsets")
        points, point_offsets = plain(points, "points", "angstrom"), plain(point_offsets, "point_offsets")
        if width is not None:
            others["width"] = width = plain(width, "width", "angstrom")
        self.library = library = array_library_of(positions=positions, charges=charges, offsets=offsets, points=points,
                                                  point_offsets=point_offsets, **others)
        self.handle = handle_of(library, backend, threads)
        positions = floats(library, positions, "positions", None if charges is None else "float64")
        shape = tuple(positions.shape)
        if len(shape) < 2 or shape[-1] != (4 if charges is None else 3):
            raise ValueError(f"positions have the shape {shape}, which is not "
                             + ("(..., N, 4). Give x, y, z and charge, or charges as well." if charges is None else
                                "(..., N, 3). Give x, y, z."))
        self.kept: list[Any] = []
        self.points = None if points is None else _points(library, points, point_offsets is not None)
        if offsets is None:
            each = {"positions": shape[:-2], "charges": tuple(np.shape(charges))[:-1]}
            if self.points is not None and point_offsets is None:
                each["points"] = tuple(self.points.shape)[:-2]
            self.batch = _broadcast({**each, **{name: tuple(np.shape(array))[:-1] for name, array in others.items()}})
            self.shape = (*self.batch, shape[-2])
        else:
            if len(shape) != 2:
                raise ValueError(f"positions have the shape {shape} but with offsets positions are "
                                 "(total, 3). Give them in this shape, or leave offsets out.")
            offsets = _offsets(library, offsets, "offsets")
            self.batch, self.shape = (offsets.shape[0] - 1,), shape[:1]
        self.struct = _core.Charges(library.memory, math.prod(self.batch), math.prod(self.shape))
        if offsets is not None:
            self.struct.offset = self.address(offsets)
        if charges is None:
            self.struct.xyzq_type = _core.Type[library.dtype(positions)]
            self.struct.xyzq = self.address(tight(library, positions, "positions", (*self.shape, 4)))
        else:
            self.struct.position = self.address(tight(library, positions, "positions", (*self.shape, 3)))
            charges = floats(library, charges, "charges", "float64")
            self.struct.charge = self.address(tight(library, charges, "charges", self.shape))
        if width is not None:
            self.struct.width = self.numbers(width, "width", self.shape)

    def address(self, array: Array) -> int:
        """Returns the address of an array, and keeps the array alive as long as this object."""
        view = self.library.view(array)
        self.kept.append((array, view))
        return view.address

    def numbers(self, values: Array, name: str, shape: tuple[int, ...]) -> int:
        return self.address(tight(self.library, floats(self.library, values, name, "float64"), name, shape))


def _broadcast(leading: dict[str, tuple[int, ...]]) -> tuple[int, ...]:
    try:
        return np.broadcast_shapes(*leading.values())
    except ValueError:
        said = ", ".join(f"{axes} of {name}" for name, axes in leading.items())
        raise ValueError(f"the leading axes are {said}, which do not broadcast. Give axes that do.") from None


def _points(library: ArrayLibrary, points: Array, have_offsets: bool) -> Array:
    """Returns points as (..., M, 3), or with offsets as (total, 3)."""
    points = floats(library, points, "points", "float64")
    shape = tuple(points.shape)
    if len(shape) < 2 or shape[-1] != 3 or (have_offsets and len(shape) > 2):
        raise ValueError(f"points have the shape {shape}, which is not ({'total' if have_offsets else '..., M'}, 3). "
                         "Give x, y, z.")
    return points


def _offsets(library: ArrayLibrary, offsets: Array, name: str, problems: int | None = None) -> Array:
    """Returns offsets as int64 (count + 1)."""
    offsets = whole_numbers(library, offsets, name)
    shape = tuple(offsets.shape)
    if len(shape) != 1 or shape[0] < 1 or problems not in (None, shape[0] - 1):
        count = "count" if problems is None else problems
        raise ValueError(f"{name} have the shape {shape}, which is not ({count} + 1,). Give where each problem begins, "
                         "and where the last one ends.")
    return library.contiguous(offsets if library.dtype(offsets) == "int64" else library.cast(offsets, "int64"))


def _options(singular: str, unit: str, temperature: float, dielectric: float, softening: float,
             cutoff: float, screening_length: float) -> _core.PotentialOptions:
    dielectric = number(dielectric, "dielectric")
    if not 0 < dielectric < math.inf:
        raise ValueError(f"dielectric={dielectric} is not positive and finite. Use 1 for vacuum.")
    if not isinstance(unit, str):
        raise TypeError(f"unit={unit!r} is not a string. Use volt, kT/e, kcal/mol/e, kJ/mol/e, hartree/e or "
                        "e/angstrom.")
    unit = unit.replace("\0", "\\0")  # a zero would end the C string
    return _core.PotentialOptions(choice(_core.Singular, singular, "singular"),
                                  _core.potential_unit_factor(unit, number(temperature, "temperature", "K")) / dielectric,
                                  number(softening, "softening", "angstrom"), number(cutoff, "cutoff", "angstrom"),
                                  number(screening_length, "screening_length", "angstrom"))


@words_of_files
def potential(positions: Brought[ArrayT], charges: Array = None, *, lattice: Lattice | None = None, points: Array = None,
              offsets: Array = None, point_offsets: Array = None, field: bool = False, unit: str = "volt",
              temperature: float = 298.15, dielectric: float = 1.0, softening: float = 0.0, cutoff: float = 0.0,
              screening_length: float = 0.0, width: Array = None, singular: str = "inf", precision: str = "float32",
              backend: str = "auto", threads: int = 0) -> Potentials[ArrayT]:
    """Computes the potential ``V(p) = f sum_i q_i / |p - s_i|`` of point charges.

    It is a direct sum with open boundaries.

    ``positions``, ``charges``
        positions (..., N, 3) in angstrom and charges (..., N) in units of e, one problem for each leading index; or
        positions (..., N, 4) with x, y, z and charge, and no charges. Quantities (astropy, pint, unyt) are converted.
        Leading axes of positions, charges, points, origins and spacings are broadcast as in NumPy. Arrays are those of
        NumPy, CuPy, PyTorch or JAX, or of another library with DLPack if they lie in host memory. C-contiguous float64,
        and (..., N, 4) of float32, are read without a copy; everything else is copied
    ``lattice``, ``points``
        the targets: a :class:`Lattice`, or points (..., M, 3) in angstrom. With neither, the targets are the charges,
        and each leaves out its own contribution
    ``offsets``, ``point_offsets``
        for problems of different sizes: problem p has charges ``offsets[p]`` to ``offsets[p + 1]`` of positions
        (total, 3), the last one excluded. ``point_offsets`` divides points in the same way
    ``field``
        whether ``E = -grad V`` is computed too
    ``unit``
        "volt", "kT/e" (at ``temperature``, kelvin), "kcal/mol/e", "kJ/mol/e", "hartree/e" or "e/angstrom"
    ``dielectric``
        the dielectric constant, which divides V
    ``softening``, ``cutoff``
        angstrom, 0 for none. A softening turns 1/r into 1/rho with ``rho^2 = r^2 + softening^2``. A cut-off multiplies
        terms by ``(1 - r^2/cutoff^2)^2``, and by 0 beyond it
    ``screening_length``
        angstrom, 0 for none: multiplies terms by ``exp(-rho/screening_length)``
    ``width``
        angstrom, a number or (..., N): charges are Gaussian, and 1/r becomes ``erf(r / (sqrt(2) width)) / r``. A charge
        with width 0 is a point. Widths exclude softening and screening
    ``singular``
        the potential at a target that holds a charge: "inf" (also "infinite"), or "skip", the potential of all other
        charges. A target holds a charge if their distance is below 1e-6 angstrom; on a lattice, below 1e-6 of the
        smallest spacing
    ``precision``
        "float32" or "float64" (also "single", "double"): the type of the result, which also determines the error bounds
        (docs/numerics.md)
    ``backend``, ``threads``
        as in :func:`solve`; on a GPU calls are enqueued on the library's current stream

    Two opposite charges, an angstrom apart:

    >>> pair = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]]
    >>> potential(pair, [1.0, -1.0]).potential
    array([-14.399646,  14.399646], dtype=float32)
    >>> map = potential(pair, [1.0, -1.0], lattice=Lattice((-1.0, -1.0, 0.5), 0.25, (13, 9, 5)), unit="kT/e")
    >>> map.potential.shape
    (5, 9, 13)
    """
    if lattice is not None and points is not None:
        raise ValueError("both lattice and points are given. Give one of them.")
    if not isinstance(lattice, (Lattice, type(None))):
        raise TypeError(f"lattice is a {type(lattice).__name__}. Give a smallbatch.Lattice.")
    if points is None and point_offsets is not None:
        raise ValueError("point_offsets are given without points. Give both, or neither.")
    field = yes_or_no(field, "field")
    if lattice is not None:
        lattice = lattice._replace(origin=plain(lattice.origin, "origin", "angstrom"),
                                   spacing=plain(lattice.spacing, "spacing", "angstrom"))
    of = _Charges(positions, charges, offsets, backend, threads, points, point_offsets, width,
                  **({} if lattice is None else {"origin": lattice.origin, "spacing": lattice.spacing}))
    shape: tuple[int, ...] = of.shape
    if lattice is not None:
        nx, ny, nz = (whole_number(points, "a lattice's points") for points in lattice.shape)
        shape = (*of.batch, nz, ny, nx)
        if min(nx, ny, nz) < 1 or nx * ny * nz * max(math.prod(of.batch), 1) > 2**57:
            raise ValueError(f"the lattice has the shape {nx} x {ny} x {nz} (memory must hold the points). "
                             "Give smaller numbers (nx, ny, nz), at least 1 each.")
        targets = _core.Targets.at_lattice(nx, ny, nz)
        targets.origin = of.numbers(lattice.origin, "origin", (*of.batch, 3))
        targets.spacing = of.numbers(lattice.spacing, "spacing", (*of.batch, 3))
        if isinstance(lattice.spacing, np.ndarray) or not hasattr(lattice.spacing, "__dlpack__"):
            smallest = float(np.min(lattice.spacing)) if np.size(lattice.spacing) > 0 else 1.0
            targets.smallest_spacing = smallest
            if not 0 < smallest < math.inf:
                raise ValueError(f"the lattice's spacing is {smallest}, which is not positive and finite. "
                                 "Give positive lengths.")
    elif of.points is not None:
        total_or_each = of.points.shape[-2]
        shape = (*of.batch, total_or_each) if point_offsets is None else (total_or_each,)
        targets = _core.Targets.at_points(math.prod(shape))
        targets.point = of.numbers(of.points, "points", (*shape, 3))
        if point_offsets is not None:
            targets.point_offset = of.address(_offsets(of.library, point_offsets, "point_offsets", math.prod(of.batch)))
    else:
        targets = _core.Targets.at_charges()
    kind = choice(_core.Type, precision, "precision")
    results = _core.Potentials(kind)
    V, info = of.library.empty(shape, kind.name), of.library.empty(of.batch, "int32")
    E = of.library.empty((*shape, 3), kind.name) if field else None
    results.potential, results.info = of.address(V), of.address(info)
    if E is not None:
        results.field = of.address(E)
    options = _options(singular, unit, temperature, dielectric, softening, cutoff, screening_length)
    compute(of.library, of.handle, "potential", of.struct, targets, results, options)
    return Potentials(of.library.give(V), of.library.give(info), None if E is None else of.library.give(E))


@words_of_files
def field(positions: Brought[ArrayT], charges: Array = None, *, lattice: Lattice | None = None, points: Array = None,
          offsets: Array = None, point_offsets: Array = None, unit: str = "volt", temperature: float = 298.15,
          dielectric: float = 1.0, softening: float = 0.0, cutoff: float = 0.0, screening_length: float = 0.0,
          width: Array = None, singular: str = "inf", precision: str = "float32", backend: str = "auto",
          threads: int = 0) -> Potentials[ArrayT]:
    """Computes the field ``E = -grad V`` with the potential, as :func:`potential` with ``field=True`` does.

    >>> field([[0.0, 0.0, 0.0]], [1.0], points=[[2.0, 0.0, 0.0]], unit="e/angstrom").field
    array([[0.25, 0.  , 0.  ]], dtype=float32)
    """
    return potential(positions, charges, lattice=lattice, points=points, offsets=offsets, point_offsets=point_offsets,
                     field=True, unit=unit, temperature=temperature, dielectric=dielectric, softening=softening,
                     cutoff=cutoff, screening_length=screening_length, width=width, singular=singular,
                     precision=precision, backend=backend, threads=threads)


@words_of_files
def pair_energy(positions: Brought[ArrayT], charges: Array = None, *, groups: Array = None, offsets: Array = None,
                per_charge: bool = False, unit: str = "kcal/mol/e", temperature: float = 298.15,
                dielectric: float = 1.0, softening: float = 0.0, cutoff: float = 0.0,
                screening_length: float = 0.0, width: Array = None, singular: str = "inf", precision: str = "float32",
                backend: str = "auto", threads: int = 0) -> PairEnergies[ArrayT]:
    """Computes the energy ``U = f sum_{i < j} q_i q_j / |s_i - s_j|`` of all pairs of charges.

    ``groups`` (..., N), whole numbers
        with groups, only pairs of a charge of group 1 with a charge of group 2 are summed. Charges of neither group
        form no pairs
    ``per_charge``
        whether half the energies of each charge's pairs is computed too
    ``unit``
        the unit of U: "kcal/mol", "kJ/mol", "kT", "hartree", "eV" (also "volt*e") or "e^2/angstrom". A unit of
        potential means that unit times e
    ``width``
        the width of each charge; a pair has ``sqrt(width_i^2 + width_j^2)``
    ``precision``
        the precision of each pair, "float32" or "float64"; sums are float64

    Other arguments are those of :func:`potential`.

    >>> round(float(pair_energy([[0.0, 0.0, 0.0], [2.0, 0.0, 0.0]], [1.0, -1.0], unit="e/angstrom").energy), 6)
    -0.5
    """
    per_charge, groups = yes_or_no(per_charge, "per_charge"), plain(groups, "groups")
    of = _Charges(positions, charges, offsets, backend, threads, width=width, groups=groups)
    library = of.library
    if groups is not None:
        groups = whole_numbers(library, groups, "groups")
        if library.dtype(groups) != "int8":  # int8 might not hold all group numbers
            groups = library.cast(groups == 1, "int8") + 2 * library.cast(groups == 2, "int8")
        of.struct.group = of.address(tight(library, groups, "groups", of.shape))
    results = _core.PairEnergies(choice(_core.Type, precision, "precision"))
    energy, info = library.empty(of.batch, "float64"), library.empty(of.batch, "int32")
    each = library.empty(of.shape, "float64") if per_charge else None
    results.energy, results.info = of.address(energy), of.address(info)
    if each is not None:
        results.energy_per_charge = of.address(each)
    if isinstance(unit, str):
        unit = _OF_ENERGIES.get(unit, unit)
    options = _options(singular, unit, temperature, dielectric, softening, cutoff, screening_length)
    compute(library, of.handle, "pair_energy", of.struct, results, options)
    return PairEnergies(library.give(energy), library.give(info), None if each is None else library.give(each))
