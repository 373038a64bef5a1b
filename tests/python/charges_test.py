"""Compares potential(), field() and pair_energy() with sums in long double."""

import math

import numpy as np
import pytest

import smallbatch

L = np.longdouble
VOLT = 14.3996454784256718
BOUND = {"float32": 1e-5, "float64": 1e-13}  # in units of sum |q| / r


def charges(seed, *shape):
    rng = np.random.default_rng(seed)
    return rng.uniform(-5, 5, (*shape, 3)), rng.uniform(-1, 1, shape)


def sums(position, charge, points, apart=0):
    """Returns V, E, sum |q| / r and sum |q| / r^2 of one problem at points (..., 3), in e and angstrom. Leaves out
    charges nearer than `apart`."""
    away = points[..., None, :].astype(L) - position.astype(L)
    r = np.sqrt((away**2).sum(axis=-1))
    near = r < apart
    inverse = np.where(near, 0, 1 / np.where(near, 1, r))
    q = charge.astype(L)
    return ((q * inverse).sum(axis=-1), (q[:, None] * away * inverse[..., None] ** 3).sum(axis=-2),
            (abs(q) * inverse).sum(axis=-1), (abs(q) * inverse**2).sum(axis=-1))


def points_of(origin, spacing, shape):
    """Returns the points of a lattice, (nz, ny, nx, 3)."""
    z, y, x = np.meshgrid(*(np.arange(n) for n in reversed(shape)), indexing="ij")
    return np.asarray(origin) + np.stack([x, y, z], axis=-1) * np.asarray(spacing)


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("backend", ["auto", "cpu", "reference"])
def test_on_lattices(precision, backend):
    position, charge = charges(1, 2, 3, 40)
    origin = np.random.default_rng(2).uniform(-6, -5, (2, 3, 3))
    lattice = smallbatch.Lattice(origin, (0.5, 0.6, 0.7), (9, 7, 5))
    found = smallbatch.field(position, charge, lattice=lattice, precision=precision, backend=backend)
    assert found.potential.shape == (2, 3, 5, 7, 9) and found.field.shape == (2, 3, 5, 7, 9, 3)
    assert found.potential.dtype == found.field.dtype == precision and np.all(found.info == 0)
    for k in np.ndindex(2, 3):
        v, e, scale, scale2 = sums(position[k], charge[k], points_of(origin[k], lattice.spacing, lattice.shape))
        assert np.all(abs(found.potential[k] - VOLT * v) <= BOUND[precision] * VOLT * scale)
        assert np.all(abs(found.field[k] - VOLT * e) <= 10 * BOUND[precision] * VOLT * scale2[..., None])
    alone = smallbatch.potential(position, charge, lattice=lattice, precision=precision, backend=backend)
    assert alone.field is None and np.allclose(alone.potential, found.potential, rtol=1e-5, atol=1e-5)


def test_one_origin_and_one_spacing_are_for_all():
    position, charge = charges(3, 4, 10)
    found = smallbatch.potential(position, charge, lattice=smallbatch.Lattice([-6, -6, -6], 1, (3, 4, 2)))
    for k in range(4):
        v, _, scale, _ = sums(position[k], charge[k], points_of([-6] * 3, 1, (3, 4, 2)))
        assert np.all(abs(found.potential[k] - VOLT * v) <= BOUND["float32"] * VOLT * scale)


def test_at_points():
    position, charge = charges(4, 3, 20)
    points = np.random.default_rng(5).uniform(5, 6, (3, 7, 3))
    found = smallbatch.field(position, charge, points=points, unit="e/angstrom", precision="float64")
    assert found.potential.shape == (3, 7) and found.field.shape == (3, 7, 3)
    of_all = smallbatch.potential(position, charge, points=points[0].tolist(), unit="e/angstrom", precision="float64")
    of_one = smallbatch.potential(position[0], charge[0], points=points, unit="e/angstrom", precision="float64")
    for k in range(3):
        v, e, scale, scale2 = sums(position[k], charge[k], points[k])
        assert np.all(abs(found.potential[k] - v) <= 1e-13 * scale)
        assert np.all(abs(found.field[k] - e) <= 1e-12 * scale2[:, None])
        assert np.all(abs(of_all.potential[k] - sums(position[k], charge[k], points[0])[0]) < 1e-12)
        assert np.all(abs(of_one.potential[k] - sums(position[0], charge[0], points[k])[0]) < 1e-12)


def test_at_charges():
    position, charge = charges(6, 30)
    found = smallbatch.field(position, charge, precision="float64")
    v, e, scale, scale2 = sums(position, charge, position, apart=1e-9)
    assert found.potential.shape == (30,) and found.field.shape == (30, 3)
    assert np.all(abs(found.potential - VOLT * v) <= 1e-13 * VOLT * scale)
    assert np.all(abs(found.field - VOLT * e) <= 1e-12 * VOLT * scale2[:, None])


def test_problems_of_different_sizes():
    position, charge = charges(7, 10)
    points = np.random.default_rng(8).uniform(6, 7, (5, 3))
    offsets, point_offsets = [0, 3, 3, 10], [0, 1, 2, 5]
    found = smallbatch.potential(position, charge, offsets=offsets, points=points, point_offsets=point_offsets,
                                 unit="e/angstrom", precision="float64")
    felt = smallbatch.potential(position, charge, offsets=np.array(offsets, np.int32), unit="e/angstrom",
                                precision="float64")
    energies = smallbatch.pair_energy(position, charge, offsets=offsets, unit="e/angstrom", per_charge=True)
    assert found.potential.shape == (5,) and found.info.shape == (3,) and energies.energy.shape == (3,)
    for k in range(3):
        mine = slice(offsets[k], offsets[k + 1])
        at = slice(point_offsets[k], point_offsets[k + 1])
        assert np.allclose(found.potential[at], sums(position[mine], charge[mine], points[at])[0].astype(float))
        v = sums(position[mine], charge[mine], position[mine], apart=1e-9)[0]
        assert np.allclose(felt.potential[mine], v.astype(float))
        assert np.allclose(energies.per_charge[mine], (v * charge[mine] / 2).astype(float), atol=1e-6)
        assert np.isclose(energies.energy[k], float((v * charge[mine]).sum() / 2), atol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_charges_with_their_positions(dtype):
    position, charge = charges(9, 2, 12)
    together = np.concatenate([position, charge[..., None]], axis=-1).astype(dtype)
    found = smallbatch.potential(together, precision="float64")
    wanted = smallbatch.potential(together[..., :3], together[..., 3], precision="float64")
    assert np.array_equal(found.potential, wanted.potential)
    assert np.array_equal(smallbatch.pair_energy(together).energy,
                          smallbatch.pair_energy(together[..., :3], together[..., 3]).energy)


def test_units_and_shapes_of_the_law():
    pair = [[0.0, 0, 0], [2.0, 0, 0]]
    at = lambda **arguments: smallbatch.potential(pair[:1], [1.0], points=pair[1:], precision="float64",  # noqa: E731
                                                  **arguments).potential[0]
    assert at() == pytest.approx(VOLT / 2, rel=1e-14)
    assert at(unit="kcal/mol/e") == pytest.approx(332.06371329919225 / 2, rel=1e-14)
    assert at(unit="kT/e") == pytest.approx(560.45932214753454 / 2, rel=1e-14)
    assert at(unit="kT/e", temperature=2 * 298.15) == pytest.approx(560.45932214753454 / 4, rel=1e-14)
    assert at(unit="e/angstrom", dielectric=80) == pytest.approx(1 / 160, rel=1e-14)
    assert at(unit="e/angstrom", softening=1.5) == pytest.approx(1 / 2.5, rel=1e-14)
    assert at(unit="e/angstrom", cutoff=4) == pytest.approx(0.5 * (1 - 0.25) ** 2, rel=1e-14)
    assert at(cutoff=2) == 0
    assert at(unit="e/angstrom", screening_length=8) == pytest.approx(0.5 * math.exp(-0.25), rel=1e-14)
    assert at(unit="e/angstrom", width=0.75) == pytest.approx(math.erf(2 / (math.sqrt(2) * 0.75)) / 2, rel=1e-14)
    assert at(unit="e/angstrom", width=[0.0]) == 0.5
    assert smallbatch.pair_energy(pair, [1.0, -3.0]).energy == pytest.approx(-332.06371329919225 * 1.5, rel=1e-6)


def test_gaussian_charges():
    position, charge = charges(12, 3, 10)
    width = np.random.default_rng(13).uniform(0, 2, (3, 10))
    options = {"precision": "float64", "unit": "e/angstrom"}
    r = np.linalg.norm(position[:, :, None] - position[:, None], axis=-1) + np.eye(10)
    g = lambda w: np.where(np.eye(10), 0, np.vectorize(math.erf)(r / (math.sqrt(2) * w)) / r)  # noqa: E731
    v, u = (charge[:, None] * g(width[:, None])).sum(-1), 0.5 * charge * (
        charge[:, None] * g(np.hypot(width[:, None], width[..., None]))).sum(-1)
    for offsets in (None, [0, 10, 20, 30]):
        shape = (3, 10) if offsets is None else (30,)
        of = (position.reshape(*shape, 3), charge.reshape(shape))
        found = smallbatch.potential(*of, width=width.reshape(shape), offsets=offsets, **options)
        np.testing.assert_allclose(found.potential, v.reshape(shape), rtol=1e-13, atol=1e-13)
        found = smallbatch.pair_energy(*of, width=width.reshape(shape), offsets=offsets, per_charge=True, **options)
        np.testing.assert_allclose(found.per_charge, u.reshape(shape), rtol=1e-13, atol=1e-13)
    together = np.concatenate([position, charge[..., None]], axis=-1)
    field = smallbatch.field(together, width=width[:1], points=position[:, :2], **options)
    assert (field.info == 0).all()
    wanted = smallbatch.field(position, charge, width=np.tile(width[0], (3, 1)), points=position[:, :2], **options)
    assert np.array_equal(field.field, wanted.field) and np.isfinite(field.field).all()
    assert smallbatch.potential(together, width=-1.0).info.tolist() == [-1, -1, -1]
    with pytest.raises(ValueError, match="width have the shape|width"):
        smallbatch.potential(together, width=width[:, :4])
    for others in ({"softening": 0.5}, {"screening_length": 5.0}):
        with pytest.raises(ValueError, match="widths of charges cannot be used with a"):
            smallbatch.pair_energy(together, width=width, **others)
    with pytest.raises(ValueError, match="screening length"):
        smallbatch.potential(together, screening_length=-1)


def test_charges_on_targets():
    found = smallbatch.potential([[0.0, 0, 0], [1.0, 0, 0]], [-1.0, 2.0], points=[[0.0, 0, 0]], unit="e/angstrom")
    assert found.potential == -np.inf and found.info == 1 and found.ok
    found = smallbatch.potential([[0.0, 0, 0], [1.0, 0, 0]], [-1.0, 2.0], points=[[0.0, 0, 0]], unit="e/angstrom",
                                 singular="skip")
    assert found.potential == 2 and found.info == 1


def test_pairs_of_two_groups():
    position, charge = charges(10, 2, 15)
    groups = np.random.default_rng(11).integers(0, 3, (2, 15))
    found = smallbatch.pair_energy(position, charge, groups=groups, unit="e/angstrom", precision="float64",
                                   per_charge=True)
    for k in range(2):
        one, two = groups[k] == 1, groups[k] == 2
        v = sums(position[k, two], charge[k, two], position[k, one])[0]
        assert np.isclose(found.energy[k], float((v * charge[k, one]).sum()))
        assert np.allclose(found.per_charge[k, one], (v * charge[k, one] / 2).astype(float))
        assert np.all(found.per_charge[k, groups[k] == 0] == 0)


def test_a_problem_that_fails_says_why():
    position, charge = charges(12, 3, 5)
    position[1, 2, 0] = np.nan
    for found in (smallbatch.potential(position, charge), smallbatch.pair_energy(position, charge)):
        assert found.info.tolist() == [0, -1, 0] and found.ok.tolist() == [True, False, True]
        with pytest.raises(smallbatch.NumericalFailure, match="1 of 3 problems failed, the first is 1: .*NaN"):
            found.raise_for_status()


@pytest.mark.parametrize("arguments,problem", [
    (dict(positions=np.ones((2, 2))), r"\(2, 2\)"),
    (dict(positions=np.ones((2, 3))), r"\(2, 3\).*charges"),
    (dict(positions=np.ones((2, 4)), charges=np.ones(2)), r"\(2, 4\)"),
    (dict(positions=np.ones((2, 3)), charges=np.ones(3)), "charges"),
    (dict(positions=np.ones((2, 3)), charges=np.ones(2), points=np.ones((1, 3)),
          lattice=smallbatch.Lattice((0, 0, 0), 1, (2, 2, 2))), "both lattice and points"),
    (dict(positions=np.ones((2, 3)), charges=np.ones(2), points=np.ones((1, 2))), "points"),
    (dict(positions=np.ones((2, 3)), charges=np.ones(2), points=np.ones((4, 1))), r"points.*\(4, 1\)"),
    (dict(positions=np.ones((2, 3)), charges=np.ones(2), points=np.ones(3)), r"points.*\(3,\)"),
    (dict(positions=np.ones((2, 3)), charges=np.ones(2), points=np.ones((2, 1, 3)), point_offsets=[0, 2]), "points.*total"),
    (dict(positions=np.ones((2, 3)), charges=np.ones(2), point_offsets=[0, 2]), "point_offsets are given without points"),
    (dict(positions=np.ones((2, 3)), charges=np.ones(2), points=np.ones((4, 3)), point_offsets=[0, 2, 4]),
     r"point_offsets.*1 \+ 1"),
    (dict(positions=np.ones((4, 3)), charges=np.ones(4), offsets=[0, 2, 4], points=np.ones((4, 3)), point_offsets=[0, 4]),
     r"point_offsets.*2 \+ 1"),
    (dict(positions=np.ones((2, 2, 3)), charges=np.ones((2, 2)), points=np.ones((3, 1, 3))), "broadcast"),
    (dict(positions=np.ones((2, 3)), charges=np.ones(2), lattice=smallbatch.Lattice((0, 0, 0), 0, (2, 2, 2))), "spacing"),
    (dict(positions=np.ones((2, 3)), charges=np.ones(2), lattice=smallbatch.Lattice((0, 0), 1, (2, 2, 2))), "origin"),
    (dict(positions=np.ones((2, 3)), charges=np.ones(2), unit="eV"), "eV"),
    (dict(positions=np.ones((2, 3)), charges=np.ones(2), precision="float16"), "float16"),
    (dict(positions=np.ones((2, 3)), charges=np.ones(2), singular="nan"), "nan.*skip"),
    (dict(positions=np.ones((2, 3)), charges=np.ones(2), softening=-1), "soften"),
    (dict(positions=np.ones((2, 3)), charges=np.ones(2), dielectric=0), "dielectric"),
    (dict(positions=np.ones((2, 3)), charges=np.ones(2), dielectric=np.inf), "dielectric"),
    (dict(positions=np.ones((2, 3)), charges=np.ones(2), unit="kT/e", temperature=np.inf), "temperature"),
    (dict(positions=np.ones((2, 3)), charges=np.ones(2), unit="kT/e", temperature=1e-320), "temperature"),
    (dict(positions=np.ones((2, 3)), charges=np.ones(2), softening="x"), "float: 'x'"),
    (dict(positions=np.ones((2, 3)), charges=np.ones(2), lattice=smallbatch.Lattice((0, 0, 0), -1, (2, 2, 2))),
     "lattice's spacing is -1"),
    (dict(positions=np.ones((2, 3)), charges=np.ones(2), lattice=smallbatch.Lattice((0, 0, 0), 1, (2, 2))), "expected 3"),
    (dict(positions=np.ones((2, 3)), charges=np.ones(2), lattice=smallbatch.Lattice((0, 0, 0), 1, (2, -2, 2))), "2 x -2 x 2"),
    (dict(positions=np.ones((2, 3)), charges=np.ones(2), lattice=smallbatch.Lattice((0, 0, 0), 1, (2, 2**40, 2**40))),
     "memory"),
    (dict(positions=np.ones((2, 3)), charges=np.ones(2), lattice=smallbatch.Lattice((0, 0, 0), 1, (2, 2, 2**70))), "64 bits"),
    (dict(positions=np.ones((2, 3)), charges=np.ones(2), unit="volt\0or kT/e"), r"volt.*0or kT/e"),
    (dict(positions=np.ones((2, 3)), charges=np.ones(2), unit=700 * "é"), r'é\.\.\." .*Use'),
    (dict(positions=np.ones((2, 3)), charges=np.ones(2), offsets=[0, 3]), "offset"),
    (dict(positions=np.ones((2, 3)), charges=np.ones(2), offsets=2), "offsets"),
    (dict(positions=np.ones((2, 2, 3)), charges=np.ones((2, 2)), offsets=[0, 2]), "offsets"),
])
def test_arguments_that_make_no_sense_are_value_errors(arguments, problem):
    with pytest.raises(ValueError, match=problem):
        smallbatch.potential(**arguments)


@pytest.mark.parametrize("arguments,problem", [
    (dict(lattice=((0, 0, 0), 1, (2, 2, 2))), "lattice is a tuple"),
    (dict(lattice=smallbatch.Lattice((0, 0, 0), 1, (2, 2, 2.0))), "'float' object"),
    (dict(backend=None), "backend=None"),
    (dict(threads=1.5), "'float' object"),
    (dict(unit=5), "unit=5 is not a string"),
    (dict(points=np.ma.masked_equal(np.ones((1, 3)), 1)), "points has a mask"),
])
def test_arguments_of_other_types_are_type_errors(arguments, problem):
    with pytest.raises(TypeError, match=problem):
        smallbatch.potential(np.ones((2, 3)), np.ones(2), **arguments)


def test_no_problems_have_no_spacings():
    found = smallbatch.potential(np.ones((0, 5, 3)), np.ones((0, 5)),
                                 lattice=smallbatch.Lattice(np.ones((0, 3)), np.ones((0, 3)), (4, 3, 2)))
    assert found.potential.shape == (0, 2, 3, 4) and found.info.shape == (0,)


@pytest.mark.parametrize("name", ["offsets", "point_offsets", "groups"])
@pytest.mark.parametrize("dtype", [float, np.float32, bool])
def test_what_counts_is_a_whole_number(name, dtype):
    call = smallbatch.pair_energy if name == "groups" else smallbatch.potential
    points = {"points": np.ones((2, 3))} if name == "point_offsets" else {}
    for values in (np.array([0, 1.9]).astype(dtype), np.array([0, 1.9]).astype(dtype).tolist()):
        with pytest.raises(TypeError, match=f"^{name} have the type"):
            call(np.ones((2, 3)), np.ones(2), **{name: values}, **points)


@pytest.mark.parametrize("dtype", [np.int16, np.uint16, np.int64, np.uint64, ">i4"])
def test_groups_other_than_1_and_2_take_no_part(dtype):
    groups = np.array([1, 257, 2, 258], dtype)
    found = smallbatch.pair_energy([[0.0, 0, 0], [1.0, 0, 0], [2.0, 0, 0], [3.0, 0, 0]], np.ones(4), groups=groups,
                                   unit="e/angstrom", precision="float64")
    assert found.energy == 0.5


def test_points_in_a_list_broadcast_as_those_of_an_array_do():
    position, charge = charges(14, 5)
    points = np.random.default_rng(15).uniform(6, 7, (3, 2, 3))
    assert np.array_equal(smallbatch.potential(position, charge, points=points.tolist()).potential,
                          smallbatch.potential(position, charge, points=points).potential)


@pytest.mark.parametrize("name", ["offsets", "point_offsets", "groups", "points", "origin", "spacing"])
def test_every_array_of_a_call_is_of_one_library(name):
    jax = pytest.importorskip("jax")
    foreign = jax.device_put(np.ones(3, "int32"), jax.devices("cpu")[0])
    call = smallbatch.pair_energy if name == "groups" else smallbatch.potential
    arguments = {"points": np.ones((2, 3))} if name == "point_offsets" else {}
    if name in ("origin", "spacing"):
        arguments["lattice"] = smallbatch.Lattice(**{"origin": np.zeros(3), "spacing": np.ones(3), name: foreign},
                                                  shape=(2, 2, 2))
    else:
        arguments[name] = foreign
    with pytest.raises(TypeError, match=f"positions is of NumPy and {name} of JAX"):
        call(np.ones((2, 3)), np.ones(2), **arguments)


def test_arrays_of_every_library(library):
    make, kind = library
    position, charge = charges(13, 2, 6)
    wanted = smallbatch.field(position, charge, points=position[:1] + 1)
    found = smallbatch.field(make(position), make(charge), points=make(position[:1] + 1))
    for name in ("potential", "field", "info"):
        assert type(getattr(found, name)) is kind
        assert np.array_equal(np.asarray(getattr(found, name)), getattr(wanted, name))
    energies = smallbatch.pair_energy(make(position), make(charge), groups=make(np.array([1, 1, 1, 2, 2, 2], np.int8)))
    assert type(energies.energy) is kind and np.asarray(energies.ok).all()
    lattice = smallbatch.Lattice(make(np.array([6.0, 6, 6])), 0.5, (2, 3, 4))
    assert tuple(smallbatch.potential(make(position), make(charge), lattice=lattice).potential.shape) == (2, 4, 3, 2)


@pytest.mark.parametrize("leading", [
    dict(charges=(3,)), dict(points=(3,)), dict(positions=(3,)), dict(positions=(2, 1), charges=(3,)),
    dict(charges=(2, 1), points=(3,)), dict(positions=(0, 1), charges=(2,))])
def test_leading_axes_are_broadcast_as_numpy_does(leading):
    rng = np.random.default_rng(3)
    core = {"positions": (4, 3), "charges": (4,), "points": (2, 3)}
    of = {name: rng.uniform(-5, 5, leading.get(name, ()) + axes) for name, axes in core.items()}
    batch = np.broadcast_shapes(*leading.values())
    whole = {name: np.broadcast_to(array, batch + core[name]) for name, array in of.items()}
    found = smallbatch.potential(**of, unit="e/angstrom", precision="float64")
    apart = np.linalg.norm(whole["points"][..., :, None, :] - whole["positions"][..., None, :, :], axis=-1)
    assert found.info.shape == batch and np.allclose(found.potential, (whole["charges"][..., None, :] / apart).sum(axis=-1))
    del of["points"], whole["points"]
    energy = smallbatch.pair_energy(**of, groups=[1, 1, 2, 2]).energy
    assert np.array_equal(np.broadcast_to(energy, batch), smallbatch.pair_energy(**whole, groups=[1, 1, 2, 2]).energy)


@pytest.mark.parametrize("origin,spacing", [((3,), ()), ((2, 1, 3), (3, 3)), ((3, 3), (1, 3)), ((3, 1, 3), (3,))])
def test_lattices_are_broadcast_as_numpy_does(origin, spacing):
    lattice = smallbatch.Lattice(np.linspace(6, 9, int(np.prod(origin))).reshape(origin), np.full(spacing, 0.5), (2, 3, 4))
    position, charge = charges(4, 5)
    batch = np.broadcast_shapes(origin[:-1], spacing[:-1])
    found = smallbatch.potential(position, charge, lattice=lattice)
    assert found.info.shape == batch and found.potential.shape == (*batch, 4, 3, 2)
    origins = np.broadcast_to(lattice.origin, (*batch, 3))
    for index in np.ndindex(batch):
        one = smallbatch.potential(position, charge, lattice=lattice._replace(origin=origins[index], spacing=0.5))
        assert np.array_equal(found.potential[index], one.potential)
