"""V, E and energies in the cases nearest to the bounds of docs/numerics.md. These are softenings far above the extent
and the cut-off, equal charges with rounding errors of one sign, and units with rounded products. Truths are computed in
long double from exact differences of coordinates. `verify` accepts every right result, and finds every planted
error."""

import functools
import types

import h5py
import numpy as np
import pytest

from tests.app.long_interactions import bounds, interaction
from tests.problems import open_problem_file, results_to_change

pytestmark = pytest.mark.skipif(np.finfo(np.longdouble).nmant < 63, reason="long double is no longer than double here")

LONG = np.longdouble
UNITS = {"angstrom": 1.0, "nm": 10.0, "bohr": 0.529177210903}
BATCH, POINTS = 40, 5
# Softening, cut-off, screening length and greatest width, relative to the extent; 0: none.
SHAPES = [(1e5, 0, 0, 0), (30, 0, 0, 0), (1, 0, 0, 0), (0, 0, 0, 0), (0, 0.7, 0, 0), (0.9, 1, 0, 0), (3, 0.7, 0, 0),
          (1e4, 0.7, 0, 0), (1e4, 0.02, 0, 0), (300, 100, 0, 0), (0, 0, 0.3, 0), (0, 0, 0.01, 0), (0.5, 0, 0.05, 0),
          (0, 0.7, 0.3, 0), (1e4, 0, 3, 0), (0, 0, 0, 0.1), (0, 0, 0, 1e3), (0, 0, 0, 2), (0, 0.7, 0, 0.3)]


def halves(a):
    c = a.astype(LONG) * (LONG(2) ** 38 + 1)
    high = c - (c - a)
    return high, a - high


def in_angstrom(numbers, unit):
    """Returns numbers * unit as the exact sum of two long doubles."""
    product = numbers.astype(LONG) * LONG(unit)
    (a, b), (c, d) = halves(numbers), halves(np.array(unit))
    return product, ((a * c - product) + a * d + b * c) + b * d


def between(a, b):
    high = a[0] - b[0]
    gained = high - a[0]
    return high + (((a[0] - (high - gained)) - (b[0] + gained)) + (a[1] - b[1]))


def norm(x):
    return np.sqrt((x * x).sum(-1))


def draw(rng, shape, unit):
    size, far = 10 ** rng.uniform(-1, 2), rng.choice([0, 1, 1e6])
    count = int(rng.choice([1, 3, 8, 13, 24, 40]))
    shift = size * far * rng.uniform(-1, 1, 3)
    position = (shift + size * rng.uniform(-1, 1, (BATCH, count, 3))) / UNITS[unit]
    points = (shift + size * rng.uniform(-1, 1, (BATCH, POINTS, 3))) / UNITS[unit]
    charge = np.repeat(rng.uniform(0.5, 1, BATCH), count).reshape(BATCH, count)  # all equal in a problem
    width = shape[3] * size / UNITS[unit] * rng.uniform(0.3, 1, charge.shape)
    return position, charge, points, *(x * size / UNITS[unit] for x in shape[:3]), width


def write(file, kind, name, drawn, unit, **attributes):
    position, charge, points, softening, cutoff, screening_length, width = drawn
    group = file.create_group(f"{kind}/{name}")
    group.attrs["output_unit"] = np.bytes_("e/angstrom")
    for key, value in attributes.items():
        group.attrs[key] = value
    for key, value in (("softening", softening), ("cutoff", cutoff), ("screening_length", screening_length)):
        if value:
            group.attrs[key] = value
    if width.any():
        group["width"] = width.reshape(-1)
    group["position"], group["charge"] = position.reshape(-1, 3), charge.reshape(-1)
    group["offset"] = np.arange(BATCH + 1) * charge.shape[1]
    group["position"].attrs["unit"] = np.bytes_(unit)
    if kind == "potential":
        group["points"], group["point_offset"] = points.reshape(-1, 3), np.arange(BATCH + 1) * POINTS


def terms(targets, charges, softening, cutoff, screening_length, width, precision, shift):
    """Returns the terms of pairs, for a charge of 1: displacement, g, slope, and the bounds of g and of the field."""
    d = between([x[:, :, None] for x in targets], [x[:, None] for x in charges])
    extent = np.maximum(*(norm(between(x, [y[:, :1] for y in targets])).max(1) for x in (targets, charges)))[:, None, None]
    r2 = (d * d).sum(-1)
    r, rho = np.sqrt(r2), np.sqrt(r2 + LONG(softening) ** 2)
    width = np.broadcast_to(width, r.shape).astype(LONG)
    with np.errstate(divide="ignore", invalid="ignore"):  # r = 0 from a charge to itself; this pair has no term
        g, slope = interaction(r, rho, cutoff, screening_length, width)
        rho, of_v, of_e, lost = bounds(rho, screening_length, width, precision == "double")
        m = np.minimum(rho, cutoff) if cutoff else rho
        counts = 2 * (r < 1.01 * cutoff) if cutoff else 1
        bound = counts / rho * shift * ((4 if softening else 2) + extent / m)
        return d, g, slope, bound * of_v + lost, 4 * bound / m * of_e + lost


def problems(unit):
    rng = np.random.default_rng(list(UNITS).index(unit))
    return {f"s{k:02}": draw(rng, shape, unit) for k, shape in enumerate(SHAPES + SHAPES[:10])}


@functools.cache
def truths(unit, precision):
    """Returns the true results of each set, and their bounds."""
    shift = LONG(2) ** (-52 if precision == "double" else -23)
    of_sets = {}
    for name, (position, charge, points, *lengths, width) in problems(unit).items():
        lengths, width = [x * UNITS[unit] for x in lengths], width * UNITS[unit]
        positions, targets = in_angstrom(position, UNITS[unit]), in_angstrom(points, UNITS[unit])
        q = charge.astype(LONG)[:, None]
        d, g, slope, bound, of_field = terms(targets, positions, *lengths, width[:, None], precision, shift)
        truth = of_sets[name] = types.SimpleNamespace(
            v=(q * g).sum(2), bound_of_v=(q * bound).sum(2), e=((q * slope)[..., None] * d).sum(2),
            bound_of_e=(q * of_field).sum(2))
        both = np.hypot(width[:, None], width[..., None])
        _, g, _, bound, _ = terms(positions, positions, *lengths, both, precision, shift * (2 if precision == "double" else 1))
        product = np.where(np.eye(q.shape[2], dtype=bool), 0, q * charge[:, :, None])
        truth.energies, truth.bounds = ((product * np.where(product > 0, x, 0)).sum(2) / 2 for x in (g, bound))
    return of_sets


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("arguments", [["--device", "auto"], ["--instruction-set", "avx2"], ["--instruction-set", "baseline"],
                                       ["--device", "reference"]], ids=lambda arguments: arguments[1])
@pytest.mark.parametrize("precision", ["double", "single"])
def test_values_and_verdicts(smallbatch, tmp_path, precision, arguments, unit):
    sets, true = problems(unit), truths(unit, precision)
    with open_problem_file(tmp_path / "p.h5") as file:
        for name, drawn in sets.items():
            write(file, "potential", name, drawn, unit, targets=np.bytes_("points"), field=1)
            write(file, "pair_energy", name, drawn, unit, per_charge=1)
    ran = smallbatch("run", "p.h5", "-o", "r.h5", "--precision", precision, "--verify", "all", *arguments, expect=None)
    if ran.returncode == 2 and "instruction set" in ran.stderr:
        pytest.skip("this processor does not have it")
    assert ran.returncode == 0, ran.stderr
    with h5py.File(tmp_path / "r.h5") as file:
        for name in sets:
            found = file[f"potential/{name}"]
            v, e = found["V"][...].reshape(BATCH, POINTS), found["E"][...].reshape(BATCH, POINTS, 3)
            assert (np.abs(v - true[name].v) <= true[name].bound_of_v).all(), name
            assert (np.abs(e - true[name].e).max(-1) <= true[name].bound_of_e).all(), name
            found = file[f"pair_energy/{name}"]
            each = found["energy_per_charge"][...].reshape(BATCH, -1)
            assert (np.abs(each - true[name].energies) <= true[name].bounds).all(), name
            assert (np.abs(found["energy"][...] - true[name].energies.sum(1)) <= true[name].bounds.sum(1)).all(), name

    # A value that is wrong by three times its bound is found in each set.
    with results_to_change(tmp_path / "r.h5") as file:
        for name in sets:
            bound = true[name].bound_of_v.reshape(-1)
            v, index = file[f"potential/{name}/V"], int(np.argmax(bound))
            v[index] = float(v[index] + 3 * bound[index] + np.spacing(v[index]))
    judged = smallbatch("verify", "p.h5", "r.h5", "--json", expect=None)
    assert judged.returncode == 1, judged.stderr
    wrong = smallbatch("verify", "p.h5", "r.h5", expect=1)
    for name in sets:
        assert name in wrong.stdout + wrong.stderr
