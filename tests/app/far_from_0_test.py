"""Problems far from 0 in units other than angstrom. V and energies keep the bounds of docs/numerics.md. The truth is
computed with fractions, which hold the numbers of the file exactly."""

from decimal import Decimal, localcontext
from fractions import Fraction

import h5py
import numpy as np
import pytest

from tests.problems import open_problem_file

UNITS = {"angstrom": 1.0, "nm": 10.0, "pm": 0.01, "bohr": 0.529177210903, "m": 1e10}
CENTRE = np.array([1.3e7, -4.1e6, 8.7e6])  # in angstrom; adjacent doubles differ by about 1e-9 there
SHAPE, SPACING = (3, 2, 2), 3.7
CHARGES, POINTS = 12, 9


def positions(rng, count, unit):
    return (CENTRE + rng.uniform(-10, 10, (count, 3))) / UNITS[unit]


def exactly(numbers, unit):
    return [[Fraction(float(x)) * Fraction(UNITS[unit]) for x in position] for position in numbers]


def distance(a, b):
    square = sum((x - y) ** 2 for x, y in zip(a, b))
    return (Decimal(square.numerator) / Decimal(square.denominator)).sqrt()


def potential_and_bound(target, others, charge, extent):
    r = [distance(target, position) for position in others]
    q = [Decimal(float(x)) for x in charge]
    return (sum(x / d for x, d in zip(q, r)),
            sum(abs(x) / d * (Decimal(2) ** -51 + Decimal(2) ** -52 * extent / d) for x, d in zip(q, r)))


def add_units(group, units):
    for name, unit in units.items():
        group[name].attrs["unit"] = np.bytes_(unit)


@pytest.mark.parametrize("device", ["auto", "reference"])
@pytest.mark.parametrize("targets", ["lattice", "points", "charges"])
@pytest.mark.parametrize("unit,other", [("nm", "nm"), ("pm", "pm"), ("bohr", "bohr"), ("m", "m"), ("angstrom", "nm"),
                                        ("nm", "angstrom"), ("bohr", "pm")])
def test_potentials(smallbatch, tmp_path, unit, other, targets, device):
    rng = np.random.default_rng(1)
    offset, point_offset = [0, CHARGES, 2 * CHARGES], [0, POINTS, 2 * POINTS]
    position, charge = positions(rng, 2 * CHARGES, unit), rng.uniform(-1, 1, 2 * CHARGES)
    origin, spacing, point = positions(rng, 2, other), np.full(3, SPACING / UNITS[unit]), positions(rng, 2 * POINTS, other)
    with open_problem_file(tmp_path / "p.h5") as file:
        group = file.create_group("potential/far")
        group.attrs["output_unit"], group.attrs["targets"] = np.bytes_("e/angstrom"), np.bytes_(targets)
        data = {"position": position, "charge": charge, "offset": offset}
        if targets == "lattice":
            group.attrs["shape"] = SHAPE
            data |= {"origin": origin, "spacing": spacing}
        elif targets == "points":
            data |= {"points": point, "point_offset": point_offset}
        for name, values in data.items():
            group[name] = values
        add_units(group, {name: other if name in ("origin", "points") else unit
                          for name in data if name in ("position", "origin", "points")})
    smallbatch("run", "p.h5", "-o", "r.h5", "--precision", "double", "--device", device)
    smallbatch("verify", "p.h5", "r.h5")
    with h5py.File(tmp_path / "r.h5") as file:
        found = file["potential/far/V"][...].reshape(2, -1)
    with localcontext() as context:
        context.prec = 60
        for k in range(2):
            charges = exactly(position[offset[k]:offset[k + 1]], unit)
            q = charge[offset[k]:offset[k + 1]]
            if targets == "lattice":
                low = exactly(origin[k:k + 1], other)[0]
                step = [Fraction(float(x) * UNITS[unit]) for x in spacing]
                wanted = [[low[a] + i * step[a] for a, i in enumerate((x, y, z))] for z in range(SHAPE[2])
                          for y in range(SHAPE[1]) for x in range(SHAPE[0])]
            else:
                wanted = exactly(point[point_offset[k]:point_offset[k + 1]], other) if targets == "points" else charges
            extent = max(distance(position, wanted[0]) for position in charges + wanted)
            assert len(wanted) == found.shape[1]
            for i, (target, v) in enumerate(zip(wanted, found[k])):
                kept = [j for j in range(CHARGES) if targets != "charges" or j != i]
                truth, bound = potential_and_bound(target, [charges[j] for j in kept], q[kept], extent)
                assert abs(Decimal(float(v)) - truth) <= bound, (k, i)


def test_shares_have_the_bits_of_the_whole(smallbatch, tmp_path):
    rng = np.random.default_rng(3)
    with open_problem_file(tmp_path / "p.h5") as file:
        group = file.create_group("potential/far")
        group.attrs["shape"] = SHAPE
        for name, values in (("position", positions(rng, 4 * CHARGES, "nm")), ("charge", rng.uniform(-1, 1, 4 * CHARGES)),
                             ("offset", np.arange(5) * CHARGES), ("origin", positions(rng, 4, "nm")), ("spacing", [0.3] * 3)):
            group[name] = values
        add_units(group, {"position": "nm"})
    smallbatch("run", "p.h5", "-o", "r.h5", "--precision", "double")
    for k in (1, 2, 3):
        smallbatch("run", "p.h5", "-o", f"r{k}.h5", "--precision", "double", "--shard", f"{k}/3")
    smallbatch("merge", "r1.h5", "r2.h5", "r3.h5", "-o", "m.h5")
    with h5py.File(tmp_path / "r.h5") as whole, h5py.File(tmp_path / "m.h5") as merged:
        assert whole["potential/far/V"][...].tobytes() == merged["potential/far/V"][...].tobytes()


@pytest.mark.parametrize("device", ["auto", "reference"])
@pytest.mark.parametrize("unit", ["nm", "pm", "bohr", "m"])
def test_energies_of_pairs(smallbatch, tmp_path, unit, device):
    rng = np.random.default_rng(2)
    position, charge = positions(rng, CHARGES, unit), rng.uniform(-1, 1, CHARGES)
    with open_problem_file(tmp_path / "p.h5") as file:
        group = file.create_group("pair_energy/far")
        group.attrs["output_unit"] = np.bytes_("e/angstrom")
        group["position"], group["charge"] = position, charge
        add_units(group, {"position": unit})
    smallbatch("run", "p.h5", "-o", "r.h5", "--precision", "double", "--device", device)
    with h5py.File(tmp_path / "r.h5") as file:
        found = float(file["pair_energy/far/energy"][0])
    with localcontext() as context:
        context.prec = 60
        charges = exactly(position, unit)
        extent = max(distance(position, charges[0]) for position in charges)
        truth = bound = Decimal(0)
        for i in range(CHARGES):
            for j in range(i):
                r, qq = distance(charges[i], charges[j]), Decimal(float(charge[i])) * Decimal(float(charge[j]))
                truth += qq / r
                bound += abs(qq) / r * (Decimal(2) ** -50 + Decimal(2) ** -51 * extent / r)
    assert abs(Decimal(found) - truth) <= bound


def test_what_lies_on_a_charge_in_another_unit(smallbatch, tmp_path):
    """A point and a charge at one place have different units: angstrom and nm. V is infinite there, even far from 0.
    All coordinates are whole numbers, so both units hold the place exactly."""
    point = np.array([[13000003.0, -4100007.0, 8700009.0]])
    with open_problem_file(tmp_path / "p.h5") as file:
        group = file.create_group("potential/far")
        group.attrs["targets"] = np.bytes_("points")
        group["position"], group["charge"], group["points"] = point, [1.0], np.concatenate([point * 10 + 50, point * 10])
        add_units(group, {"position": "nm", "points": "angstrom"})
    smallbatch("run", "p.h5", "-o", "r.h5", "--precision", "double")
    with h5py.File(tmp_path / "r.h5") as file:
        v = file["potential/far/V"][...]
        assert np.isinf(v[1]) and np.isfinite(v[0])


def test_maps_keep_their_places(smallbatch, tmp_path):
    """Positions in result files and cube files are relative to 0, not to the lattice's origin."""
    with open_problem_file(tmp_path / "p.h5") as file:
        group = file.create_group("potential/far")
        group.attrs["shape"] = SHAPE
        for name, values in (("position", [[100.5, 0, 0]]), ("charge", [1.0]), ("origin", [100, -1, 2]), ("spacing", [1, 1, 1])):
            group[name] = np.asarray(values, np.float64)
        add_units(group, {"position": "nm"})
    smallbatch("run", "p.h5", "-o", "r.h5")
    with h5py.File(tmp_path / "r.h5") as file:
        assert file["potential/far/origin"][...].tolist() == [[1000, -10, 20]]
    smallbatch("export", "r.h5", "--problems", "p.h5", "-o", "v.cube")
    atom = (tmp_path / "v.cube").read_text().splitlines()[6].split()
    assert [float(x) for x in atom[2:]] == pytest.approx([1005 / UNITS["bohr"], 0, 0], rel=1e-6)
