"""Potentials at the ends of the range of numbers, and V_min, V_max and V_mean of problems, as a user runs them."""

import json

import h5py
import numpy as np
import pytest

from tests.problems import open_problem_file, results_to_change

VOLT = 14.399645478425672  # V of one e at one angstrom, in volts
WORDS = "evaluated, but V or E leaves the range of its type"


def add_set(file, name, position, charge, **more):
    group = file.create_group(f"potential/{name}")
    group["position"], group["charge"] = np.asarray(position, float), np.asarray(charge, float)
    for key, value in more.items():
        if key in ("offset", "points", "point_offset", "group", "origin", "spacing"):
            group[key] = np.asarray(value)
        else:
            group.attrs[key] = value
    return group


def write_far_and_near(path, **asked):
    """Writes a set for each kind of targets. The first problem of a set has values beyond single precision, and the
    second has none."""
    position = [[0.5, 0, 0], [100, 0, 0], [0.5, 0, 0], [100, 0, 0]]
    charge = [1e10, -1e-20, 1e-5, -1e-5]
    with open_problem_file(path) as file:
        asked = dict(offset=[0, 2, 4], dielectric=1e-30, **asked)
        add_set(file, "charges", position, charge, targets="charges", **asked)
        add_set(file, "lattice", position, charge, shape=(2, 1, 2), origin=np.zeros(3), spacing=np.ones(3), **asked)
        add_set(file, "points", position, charge, targets="points", points=[[0, 0, 0], [1.5, 0, 0]], **asked)


@pytest.mark.parametrize("device", ["cpu", "reference"])
def test_values_beyond_their_range_are_a_status_and_an_infinity(smallbatch, tmp_path, device):
    write_far_and_near(tmp_path / "p.h5", group=np.array([1, 2, 1, 2], "int8"))
    done = smallbatch("run", "p.h5", "-o", "r.h5", "--device", device, expect=1)
    assert done.stdout.count(f"1 with status -3: {WORDS}") == 3 and "DISAGREE" not in done.stdout
    assert done.stdout.count("1 evaluated, 1 failed") == 3 and done.stdout.count("2 of 2 agree") == 3
    told = json.loads(smallbatch("verify", "p.h5", "r.h5", "--json", expect=1).stdout)
    f = VOLT * 1e30
    with h5py.File(tmp_path / "r.h5") as file:
        for told_of_set in told["sets"]:
            assert told_of_set["failed"] == [{"status": -3, "meaning": WORDS, "count": 1, "first": [0]}]
            assert told_of_set["verification"]["disagreed"] == 0
            result = file[f"potential/{told_of_set['name']}"]
            assert result["info"][...].tolist() == [-3, 0]
            np.testing.assert_allclose(result["energy"], [-f * 1e-10 / 99.5, -f * 1e-10 / 99.5], rtol=1e-12)
        v = file["potential/charges/V"][...].astype(float)
        np.testing.assert_allclose(v, [-f * 1e-20 / 99.5, np.inf, -f * 1e-5 / 99.5, f * 1e-5 / 99.5], rtol=1e-6)
        v = file["potential/lattice/V"][...]
        assert np.isposinf(v[0]).all() and np.isfinite(v[1]).all()
        assert np.isnan(file["potential/lattice/V_mean"][0]) and np.isnan(file["potential/lattice/V_max"][0])
        assert np.isposinf(file["potential/points/V"][:2]).all()
        for name in ("charges", "points"):
            v = file[f"potential/{name}/V"][2:].astype(float)
            assert file[f"potential/{name}/V_mean"][1] == pytest.approx(v.mean(), rel=1e-12)
    smallbatch("run", "p.h5", "-o", "double.h5", "--device", device, "--precision", "double")


def test_a_field_counts_where_it_is_asked_for(smallbatch, tmp_path):
    for field in (0, 1):
        with open_problem_file(tmp_path / "p.h5") as file:
            asked = dict(dielectric=1e-30, field=field)
            position, charge = [[1e-3, 0, 0]], [1e4]  # V = 1.4e38, E = 1.4e41
            add_set(file, "lattice", position, charge, shape=(1, 1, 1), origin=np.zeros(3), spacing=np.ones(3),
                    **asked)
            add_set(file, "points", position, charge, targets="points", points=[[0.0, 0, 0]], **asked)
        smallbatch("run", "p.h5", "-o", "r.h5", "--overwrite", expect=field and 1)
        with h5py.File(tmp_path / "r.h5") as file:
            for name in ("lattice", "points"):
                result = file[f"potential/{name}"]
                assert result["V"][...].reshape(-1)[0] == pytest.approx(VOLT * 1e37, rel=1e-6)
                assert result["info"][0] == (-3 if field else 0)
                if field:
                    assert result["E"][...].reshape(-1).tolist() == [-np.inf, 0, 0]


def test_a_sample_tells_such_problems_too(smallbatch, tmp_path):
    write_far_and_near(tmp_path / "p.h5")
    for verify in ("sample=1", "sample=3", "none"):
        smallbatch("run", "p.h5", "-o", "r.h5", "--overwrite", "--verify", verify, expect=1)
    smallbatch("verify", "p.h5", "r.h5", "--verify", "sample=1", expect=1)
    with results_to_change(tmp_path / "r.h5") as file:
        file["potential/points/info"][0] = 0  # the sample has the first target of this problem
    told = json.loads(smallbatch("verify", "p.h5", "r.h5", "--verify", "sample=1", "--json", expect=1).stdout)
    assert [s["verification"]["disagreed"] for s in told["sets"]] == [0, 0, 1]


@pytest.mark.parametrize("device", ["cpu", "reference"])
@pytest.mark.parametrize("precision", ["single", "double"])
def test_blocks_do_not_show_in_the_results(smallbatch, tmp_path, precision, device):
    rng = np.random.default_rng(20)
    position, charge = rng.uniform(0, 8, (6, 3)), rng.uniform(-1, 1, 6)
    charge[5] = 1e13  # V of the last problem: beyond single precision only near the charge
    with open_problem_file(tmp_path / "p.h5") as file:
        add_set(file, "a", position, charge, offset=[0, 2, 3, 5, 6], shape=(90, 80, 50), origin=np.full(3, 0.01),
                spacing=np.full(3, 0.11), dielectric=1e-24)
        add_set(file, "b", position, charge, offset=[0, 3, 6], shape=(7, 1, 60000), origin=np.zeros(3),
                spacing=np.full(3, 1e-4), dielectric=80.0)
    code = 1 if precision == "single" else 0
    for mib in (256, 1, 2, 3):
        smallbatch("run", "p.h5", "-o", f"{mib}.h5", "--memory", f"{4 * int(mib)}MiB", "--precision", precision, "--device", device,
                   "--verify", "sample=50", expect=code)
    smallbatch("verify", "p.h5", "1.h5", "--verify", "sample=50", expect=code)
    with h5py.File(tmp_path / "256.h5") as one:
        assert one["potential/a/info"][...].tolist() == [0, 0, 0, -3 if precision == "single" else 0]
        for mib in (1, 2, 3):
            with h5py.File(tmp_path / f"{mib}.h5") as other:
                for name in ("a", "b"):
                    for key in ("V", "V_min", "V_max", "V_mean", "info"):
                        a, b = one[f"potential/{name}/{key}"][...], other[f"potential/{name}/{key}"][...]
                        assert a.tobytes() == b.tobytes(), (mib, name, key)
        v = one["potential/b/V"][...].astype(np.longdouble)
        np.testing.assert_allclose(one["potential/b/V_mean"][...].astype(np.longdouble), v.mean((1, 2, 3)), rtol=1e-14,
                                   equal_nan=False)


def test_softenings_without_a_square_are_refused(smallbatch, tmp_path):
    for softening, unit in [(1e-163, "angstrom"), (1e-153, "pm"), (1e150, "m")]:
        with open_problem_file(tmp_path / "p.h5") as file:
            group = add_set(file, "a", np.zeros((1, 3)), [1.0], targets="points", points=np.zeros((1, 3)),
                            softening=softening)
            group["position"].attrs["unit"] = unit
        done = smallbatch("run", "p.h5", "-o", "r.h5", expect=3)
        assert "/potential/a@softening" in done.stderr and "1.49167e-154 to 6.7039e+153 angstrom" in done.stderr
        assert not (tmp_path / "r.h5").exists()


@pytest.mark.parametrize("device", ["cpu", "reference"])
def test_energies_of_pairs_on_one_place(smallbatch, tmp_path, device):
    # Four problems with pairs at one position: of equal signs, of opposite signs, of both kinds, and only with a zero
    # charge.
    charges = [[1, 2, 0], [-1, 2, 0], [1, 2, -3], [0, 2, 0]]
    position = np.tile([[0.0, 0, 0], [0, 0, 0], [0, 0, 0], [2, 0, 0]], (4, 1))
    charge = np.array([[*c, 1] for c in charges], float).reshape(-1)
    for singular, expected in (("inf", [np.inf, -np.inf, np.nan, 0]), ("skip", [VOLT / 2, -VOLT / 2, VOLT / 2, 0])):
        with open_problem_file(tmp_path / "p.h5") as file:
            add_set(file, "a", position, charge, offset=4 * np.arange(5), targets="charges",
                    group=np.tile([1, 2, 2, 2], 4))
        smallbatch("run", "p.h5", "-o", "r.h5", "--overwrite", "--singular", singular, "--device", device)
        smallbatch("verify", "p.h5", "r.h5")
        with h5py.File(tmp_path / "r.h5") as file:
            np.testing.assert_allclose(file["potential/a/energy"], expected, rtol=1e-14)


@pytest.mark.parametrize("device", ["cpu", "reference"])
def test_sums_beyond_double_precision_are_no_values_but_no_disagreement_either(smallbatch, tmp_path, device):
    points = [[1.0, 0, 0], [0, 1, 0]]
    three = np.full((3, 3), 0.1)  # V is rounding error alone, and the bound of the error overflows
    rng = np.random.default_rng(5)
    with open_problem_file(tmp_path / "p.h5") as file:
        add_set(file, "mean", [[0, 0, 0]], [1], targets="points", points=points, dielectric=1e-308,
                output_unit="e/angstrom")
        add_set(file, "none", three, np.array([0.1, 0.2, -0.3]) * 1e30, targets="points", points=points,
                dielectric=1e-305, output_unit="e/angstrom")
        add_set(file, "energy", rng.uniform(0, 9, (400, 3)), rng.uniform(-0.1, 0.1, 400), targets="points",
                points=points, dielectric=1e-302, output_unit="kT/e", temperature=2.0,
                group=np.tile(np.repeat([1, 2], 20), 10).astype("int8"), offset=np.arange(0, 401, 40))
    done = smallbatch("run", "p.h5", "-o", "r.h5", "--precision", "double", "--device", device, expect=None)
    assert "DISAGREE" not in done.stdout
    with h5py.File(tmp_path / "r.h5") as file:
        mean = file["potential/mean"]
        np.testing.assert_allclose(mean["V"], [1e308, 1e308], rtol=1e-15)
        assert mean["V_max"][0] == mean["V"][...].max() and np.isnan(mean["V_mean"][0])
        assert np.isfinite(file["potential/energy/energy"][...]).all()
