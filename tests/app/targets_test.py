"""Points and charges as targets, fields, softening, cut-off, dielectric and energies, as a user runs them.

NumPy computes the truth here in double precision, from the definitions in io/FORMAT.md. One file, because all tests
share that truth."""

import json

import h5py
import numpy as np
import pytest

from tests.problems import add_potential, numbers_of, open_problem_file, results_to_change

VOLT = 14.399645478425672  # V of one e at one angstrom, in volts
KT = VOLT / (8.617333262145e-5 * 298.15)  # the same V in kT/e, at 298.15 K


def truth(points, position, charge, softening=0.0, cutoff=0.0, own=False):
    """Returns (V, E) at points (n, 3) in e/angstrom and e/angstrom^2. `own`: the points are the charges, and no charge
    acts on itself."""
    d = np.asarray(points)[:, None, :] - np.asarray(position)[None]
    r2 = (d**2).sum(-1)
    rho = np.sqrt(r2 + softening**2)
    if own:
        np.fill_diagonal(rho, np.inf)
    w = np.clip(1 - r2 / cutoff**2, 0, None) if cutoff else np.ones_like(r2)
    v = (charge * w**2 / rho).sum(-1)
    slope = w**2 / rho**3 + (4 * w / (rho * cutoff**2) if cutoff else 0)
    return v, (charge[None, :, None] * d * slope[..., None]).sum(1)


def interaction(position, charge, group, softening=0.0, cutoff=0.0):
    """Returns the energy of the charges of group 1 in the potential of group 2, in e^2/angstrom."""
    one, two = group == 1, group == 2
    v, _ = truth(position[one], position[two], charge[two], softening, cutoff)
    return (charge[one] * v).sum()


def random_problem(rng, charges):
    return rng.uniform(0, 8, (charges, 3)), rng.uniform(-1, 1, charges)


def add_set(file, name, position, charge, **more):
    group = file.create_group(f"potential/{name}")
    group["position"], group["charge"] = np.asarray(position, float), np.asarray(charge, float)
    for key, value in more.items():
        if key in ("offset", "points", "point_offset", "group", "origin", "spacing"):
            group[key] = value
        else:
            group.attrs[key] = value
    return group


CASES = [dict(), dict(softening=0.3), dict(cutoff=4.5), dict(softening=0.3, cutoff=4.5)]


def check_set(result, expected_v, expected_e, precision):
    v, e = result["V"][...].astype(float), result["E"][...].astype(float)
    assert e.shape == (*v.shape, 3)
    tolerance = 3e-6 if precision == "single" else 1e-13
    scale = np.abs(expected_v).max()
    np.testing.assert_allclose(v.reshape(-1), expected_v, rtol=tolerance, atol=tolerance * scale)
    np.testing.assert_allclose(e.reshape(-1, 3), expected_e, rtol=tolerance, atol=3 * tolerance * np.abs(expected_e).max())


@pytest.mark.parametrize("device", ["cpu", "reference"])
@pytest.mark.parametrize("precision", ["single", "double"])
@pytest.mark.parametrize("options", CASES, ids=["plain", "softening", "cutoff", "both"])
def test_potentials_fields_and_energies_are_numpys(smallbatch, tmp_path, options, precision, device):
    rng = np.random.default_rng(5)
    counts, points_of = [40, 0, 1, 150], [7, 5, 0, 120]
    offset, point_offset = (np.concatenate([[0], np.cumsum(n)]) for n in (counts, points_of))
    position, charge = random_problem(rng, offset[-1])
    points = rng.uniform(-2, 10, (point_offset[-1], 3))
    group = rng.integers(0, 4, offset[-1]).astype("int8")
    origin, spacing, shape = np.array([-1.01, 0.02, 0.13]), np.array([1.1, 0.9, 1.3]), (6, 5, 4)
    asked = dict(offset=offset, field=1, group=group, dielectric=2.5, **options)
    with open_problem_file(tmp_path / "p.h5") as file:
        add_set(file, "points", position, charge, targets="points", points=points, point_offset=point_offset, **asked)
        add_set(file, "charges", position, charge, targets="charges", **asked)
        add_set(file, "lattice", position, charge, shape=shape, origin=origin, spacing=spacing, **asked)
    smallbatch("run", "p.h5", "-o", "r.h5", "--precision", precision, "--device", device)
    smallbatch("verify", "p.h5", "r.h5")
    z, y, x = np.meshgrid(*(origin[a] + spacing[a] * np.arange(shape[a]) for a in (2, 1, 0)), indexing="ij")
    lattice = np.stack([x, y, z], -1).reshape(-1, 3)
    expected = {"points": [], "charges": [], "lattice": []}
    energies = []
    for p in range(4):
        mine = slice(offset[p], offset[p + 1])
        charges = position[mine], charge[mine]
        expected["points"].append(truth(points[point_offset[p] : point_offset[p + 1]], *charges, **options))
        expected["charges"].append(truth(charges[0], *charges, own=True, **options))
        expected["lattice"].append(truth(lattice, *charges, **options))
        energies.append(interaction(*charges, group[mine], **options))
    factor = VOLT / 2.5
    with h5py.File(tmp_path / "r.h5") as file:
        for name, parts in expected.items():
            result = file[f"potential/{name}"]
            v, e = (factor * np.concatenate(column) for column in zip(*parts))
            check_set(result, v, e, precision)
            np.testing.assert_allclose(result["energy"], factor * np.array(energies), rtol=1e-12, atol=1e-12)
            assert (file[f"verification/potential/{name}/verdict"][...] == 1).all()
            starts = np.cumsum([0] + [len(part[0]) for part in parts])
            stored = result["V"][...].reshape(-1).astype(float)
            for p in range(4):
                mine = stored[starts[p] : starts[p + 1]]
                if mine.size == 0:
                    assert np.isnan([result[key][p] for key in ("V_min", "V_max", "V_mean")]).all()
                    continue
                assert (result["V_min"][p], result["V_max"][p]) == (mine.min(), mine.max())
                assert result["V_mean"][p] == pytest.approx(mine.mean(), rel=1e-13, abs=1e-13 * np.abs(mine).max())
        assert file["potential/points/point_offset"][...].tolist() == point_offset.tolist()
        assert file["potential/charges/offset"][...].tolist() == offset.tolist()
        assert file["potential/lattice/E"].shape == (4, 4, 5, 6, 3)
        assert file["potential/points/E"].attrs["unit"] == b"volt/angstrom"
        assert file["potential/points/energy"].attrs["unit"] == b"volt*e"


def test_lengths_are_in_the_positions_unit_and_units_follow_v(smallbatch, tmp_path):
    with open_problem_file(tmp_path / "p.h5") as file:
        group = add_set(file, "a", [(0, 0, 0), (0.3, 0, 0)], [1, -1], targets="points", points=[[0.0, 40, 0]],
                        field=True, softening=0.1, cutoff=0.9, group=np.array([1, 2]), output_unit="kT/e")
        group["position"].attrs["unit"] = "nm"
        group["points"].attrs["unit"] = "pm"
    smallbatch("run", "p.h5", "-o", "r.h5")
    position, charge = np.array([(0, 0, 0), (3.0, 0, 0)]), np.array([1.0, -1])
    v, e = truth([[0, 0.4, 0]], position, charge, 1, 9)
    with h5py.File(tmp_path / "r.h5") as file:
        result = file["potential/a"]
        assert result["V"][0] == pytest.approx(KT * v[0], rel=1e-6)
        np.testing.assert_allclose(result["E"][0], KT * e[0], rtol=1e-5, atol=1e-4)
        assert result["energy"][0] == pytest.approx(-KT * (1 - 1 / 9) ** 2 / np.sqrt(10), rel=1e-7)
        assert result["E"].attrs["unit"] == b"kT/e/angstrom" and result["energy"].attrs["unit"] == b"kT"
        assert (result.attrs["softening"], result.attrs["cutoff"]) == (1, 9)
        assert result.attrs["targets"] == b"points" and result.attrs["field"] == 1


def test_shared_points_are_every_problems(smallbatch, tmp_path):
    rng = np.random.default_rng(8)
    position, charge = random_problem(rng, 30)
    points = rng.uniform(0, 8, (11, 3))
    shared = dict(targets="points", offset=np.array([0, 10, 15, 30]))
    with open_problem_file(tmp_path / "p.h5") as file:
        add_set(file, "shared", position, charge, points=points, **shared)
        add_set(file, "own", position, charge, points=np.tile(points, (3, 1)), point_offset=11 * np.arange(4), **shared)
    smallbatch("run", "p.h5", "-o", "r.h5")
    smallbatch("verify", "p.h5", "r.h5")
    with h5py.File(tmp_path / "r.h5") as file:
        for name in ("V", "point_offset"):
            assert np.array_equal(file[f"potential/shared/{name}"], file[f"potential/own/{name}"])


def test_a_trajectory_gives_the_potentials_at_its_charges(smallbatch, tmp_path):
    rng = np.random.default_rng(9)
    frames, charge = rng.uniform(-0.5, 0.5, (4, 12, 3)), np.tile([1.0, -1.0], 6)
    group = np.repeat([1, 2], 6).astype("int8")
    with open_problem_file(tmp_path / "p.h5") as file:
        ions = file.create_group("particles/ions")
        ions["position/value"], ions["charge"] = frames, charge
        ions["position/value"].attrs["unit"] = "nm"
        ions["charge"].attrs["unit"] = "e"
        asked = file.create_group("potential/at_charges")
        asked.attrs.update({"particles": "ions", "targets": "charges", "field": 1})
        asked["group"] = group
    smallbatch("run", "p.h5", "-o", "r.h5")
    smallbatch("verify", "p.h5", "r.h5")
    with h5py.File(tmp_path / "r.h5") as file:
        result = file["potential/at_charges"]
        assert result["offset"][...].tolist() == [0, 12, 24, 36, 48]
        for frame in range(4):
            v, e = truth(10 * frames[frame], 10 * frames[frame], charge, own=True)
            np.testing.assert_allclose(result["V"][12 * frame : 12 * frame + 12], VOLT * v, rtol=1e-4, atol=1e-4)
            np.testing.assert_allclose(result["E"][12 * frame : 12 * frame + 12], VOLT * e, rtol=1e-4, atol=1e-3)
            assert result["energy"][frame] == pytest.approx(VOLT * interaction(10 * frames[frame], charge, group))


def test_small_blocks_give_the_same_file(smallbatch, tmp_path):
    rng = np.random.default_rng(10)
    position, charge = random_problem(rng, 600)
    offset = np.arange(0, 601, 20)
    with open_problem_file(tmp_path / "p.h5") as file:
        add_set(file, "points", position, charge, targets="points", points=rng.uniform(0, 8, (60000, 3)),
                point_offset=2000 * np.arange(31), offset=offset, field=1, group=np.tile([1, 2], 300))
        add_set(file, "lattice", position[:20], charge[:20], shape=(60, 50, 40), origin=np.zeros(3),
                spacing=np.full(3, 0.2), field=1, group=np.tile([1, 2], 10))
    smallbatch("run", "p.h5", "-o", "one.h5", "--verify", "sample=99")
    smallbatch("run", "p.h5", "-o", "many.h5", "--memory", "4MiB", "--verify", "sample=99")
    smallbatch("verify", "p.h5", "many.h5", "--verify", "sample=99")
    with h5py.File(tmp_path / "one.h5") as one, h5py.File(tmp_path / "many.h5") as many:
        for name in ("points", "lattice"):
            for key in one[f"potential/{name}"]:
                a, b = one[f"potential/{name}/{key}"][...], many[f"potential/{name}/{key}"][...]
                assert np.array_equal(a, b), (name, key)
    told = json.loads(smallbatch("info", "p.h5", "--json").stdout)["sets"]
    assert [s["name"] for s in told] == ["lattice", "points"]


def test_problems_without_charges_have_no_energy_in_whatever_block(smallbatch, tmp_path):
    rng = np.random.default_rng(12)
    charges_of = np.array([2] * 6 + [0] * 20 + [2] * 4)
    offset = np.concatenate([[0], np.cumsum(charges_of)])
    position, charge = random_problem(rng, offset[-1])
    with open_problem_file(tmp_path / "p.h5") as file:
        add_set(file, "none", np.zeros((0, 3)), np.zeros(0), targets="points", points=np.zeros((3, 3)),
                group=np.zeros(0, "int8"))
        add_set(file, "some", position, charge, offset=offset, targets="points", points=rng.uniform(0, 8, (20000, 3)),
                group=np.tile([1, 2], offset[-1] // 2).astype("int8"))
    smallbatch("run", "p.h5", "-o", "r.h5", "--memory", "4MiB")
    smallbatch("verify", "p.h5", "r.h5")
    energies = np.zeros(30)
    for p in np.flatnonzero(charges_of):
        a, b = offset[p], offset[p] + 1
        energies[p] = VOLT * charge[a] * charge[b] / np.linalg.norm(position[a] - position[b])
    with h5py.File(tmp_path / "r.h5") as file:
        np.testing.assert_allclose(file["potential/some/energy"], energies, rtol=1e-12)
        assert file["potential/none/energy"][...].tolist() == [0]


def write_one_of_each(tmp_path):
    rng = np.random.default_rng(11)
    position, charge = random_problem(rng, 12)
    asked = dict(offset=np.array([0, 6, 12]), field=1, group=np.tile([1, 2], 6))
    with open_problem_file(tmp_path / "p.h5") as file:
        add_set(file, "charges", position, charge, targets="charges", **asked)
        add_set(file, "lattice", position, charge, shape=(4, 3, 2), origin=np.full(3, 0.1), spacing=np.ones(3), **asked)
        add_set(file, "points", position, charge, targets="points", points=rng.uniform(0, 8, (5, 3)), **asked)


def spoil_number(name, change):
    def spoil(group):
        values = group[name][...]
        values.reshape(len(values), -1)[-1, -1] = change(values.reshape(len(values), -1)[-1, -1])
        group[name][...] = values

    return spoil


SPOILS = {
    "V": spoil_number("V", lambda v: v + 1e-3),
    "V_nan": spoil_number("V", lambda v: np.nan),
    "E": spoil_number("E", lambda v: v + 1e-3 * max(1, abs(v))),
    "E_sign": spoil_number("E", lambda v: -v),
    "E_nan": spoil_number("E", lambda v: np.nan),
    "energy": spoil_number("energy", lambda v: v * (1 + 1e-9)),
    "energy_nan": spoil_number("energy", lambda v: np.nan),
    "V_min": spoil_number("V_min", lambda v: v - 1e-9),
    "V_max": spoil_number("V_max", lambda v: v + 1e-9),
    "V_mean": spoil_number("V_mean", lambda v: v + 1e-9),
    "V_mean_nan": spoil_number("V_mean", lambda v: np.nan),
    "info": spoil_number("info", lambda v: v + 1),
}


@pytest.mark.parametrize("spoil", SPOILS)
def test_verify_finds_wrong_results(smallbatch, tmp_path, spoil):
    write_one_of_each(tmp_path)
    smallbatch("run", "p.h5", "-o", "r.h5")
    assert "2 of 2 agree" in smallbatch("verify", "p.h5", "r.h5").stdout
    for position, name in enumerate(["charges", "lattice", "points"]):
        with results_to_change(tmp_path / "r.h5") as file:
            kept = {key: file[f"potential/{name}"][key][...] for key in file[f"potential/{name}"]}
            SPOILS[spoil](file[f"potential/{name}"])
        done = json.loads(smallbatch("verify", "p.h5", "r.h5", "--json", expect=1).stdout)
        disagreed = [s["verification"]["disagreed"] for s in done["sets"]]
        assert disagreed == [int(i == position) for i in range(3)]
        assert done["sets"][position]["verification"]["worst_index"] == 1
        with results_to_change(tmp_path / "r.h5") as file:
            for key, values in kept.items():
                file[f"potential/{name}"][key][...] = values
    smallbatch("verify", "p.h5", "r.h5")


def test_statistics_are_judged_where_nothing_else_was(smallbatch, tmp_path):
    write_one_of_each(tmp_path)
    smallbatch("run", "p.h5", "-o", "r.h5")
    with results_to_change(tmp_path / "r.h5") as file:
        file["potential/lattice/V_max"][1] *= 1.5
    done = json.loads(smallbatch("verify", "p.h5", "r.h5", "--verify", "sample=1", "--json", expect=1).stdout)
    lattice = done["sets"][1]["verification"]
    assert (lattice["checked"], lattice["disagreed"], lattice["worst_index"]) == (2, 1, 1)


@pytest.mark.parametrize("change", ["targets", "field", "cutoff", "dielectric", "group", "points"])
def test_results_of_other_questions_are_refused(smallbatch, tmp_path, change):
    write_one_of_each(tmp_path)
    smallbatch("run", "p.h5", "-o", "r.h5")
    with h5py.File(tmp_path / "p.h5", "r+") as file:
        group = file["potential/points"]
        if change == "targets":
            group.attrs["targets"] = "charges"
        elif change == "field":
            group.attrs["field"] = 0
        elif change in ("cutoff", "dielectric"):
            group.attrs[change] = 3.0
        elif change == "group":
            del group["group"]
        else:
            points = group["points"][...]
            del group["points"]
            group["points"] = points[:4]
    assert "/potential/points" in smallbatch("verify", "p.h5", "r.h5", expect=3).stderr


def test_targets_on_charges_follow_the_policy(smallbatch, tmp_path):
    position, charge = [(0, 0, 0), (3, 0, 0), (3, 0, 0)], [1.0, -2.0, 0.5]
    with open_problem_file(tmp_path / "p.h5") as file:
        add_set(file, "charges", position, charge, targets="charges", field=1, group=np.array([1, 2, 1]))
        add_set(file, "points", position, charge, targets="points", points=[(3.0, 0, 0), (0, 4.0, 0)], field=1)
    text = smallbatch("run", "p.h5", "-o", "inf.h5").stdout
    assert "targets on charges: 2" in text and "targets on charges: 1" in text
    smallbatch("verify", "p.h5", "inf.h5")
    smallbatch("run", "p.h5", "-o", "skip.h5", "--singular", "skip")
    smallbatch("verify", "p.h5", "skip.h5")
    with h5py.File(tmp_path / "inf.h5") as file:
        charges, points = file["potential/charges"], file["potential/points"]
        assert charges["V"][0] == pytest.approx(-VOLT / 2, rel=1e-6)
        assert charges["V"][1:].tolist() == [np.inf, -np.inf] and np.isnan(charges["E"][1:]).all()
        assert (charges["info"][0], points["info"][0]) == (2, 1)
        assert charges["V_min"][0] == charges["V_max"][0] == charges["V_mean"][0] == charges["V"][0]
        assert charges["energy"][0] == -np.inf
        assert points["V"][0] == -np.inf and np.isfinite(points["E"][1]).all()
    with h5py.File(tmp_path / "skip.h5") as file:
        charges = file["potential/charges"]
        np.testing.assert_allclose(charges["V"], VOLT * np.array([-0.5, 1 / 3, 1 / 3]), rtol=1e-6)
        np.testing.assert_allclose(charges["E"][1], [VOLT / 9, 0, 0], rtol=1e-6)
        assert charges["energy"][0] == pytest.approx(-2 * VOLT / 3)


def test_a_bad_point_spoils_its_problem_alone(smallbatch, tmp_path):
    with open_problem_file(tmp_path / "p.h5") as file:
        add_set(file, "points", [(0, 0, 0)] * 3, [1.0] * 3, offset=np.arange(4), targets="points", field=1,
                points=[(1.0, 0, 0), (np.nan, 0, 0), (2.0, 0, 0)], point_offset=np.arange(4), group=np.ones(3, "int8"))
    smallbatch("run", "p.h5", "-o", "r.h5", expect=1)
    with h5py.File(tmp_path / "r.h5") as file:
        result = file["potential/points"]
        assert result["info"][...].tolist() == [0, -1, 0]
        for key in ("V", "E", "energy", "V_min", "V_mean"):
            bad = np.isnan(result[key][...]).reshape(3, -1)
            assert bad[1].all() and not bad[[0, 2]].any(), key
        assert (file["verification/potential/points/verdict"][...] == 1).all()


def test_info_and_report_say_what_is_asked_and_found(smallbatch, tmp_path):
    write_one_of_each(tmp_path)
    text = smallbatch("info", "p.h5").stdout
    assert "potential/charges: 2 problems at 12 charges, field, interaction energy, V in volt, E in volt/angstrom, " \
           "energy in volt*e" in text
    assert "potential/points: 2 problems, 10 points, 12 charges, field" in text
    told = json.loads(smallbatch("info", "p.h5", "--json").stdout)
    charges, lattice, points = told["sets"]
    assert [s["targets"] for s in told["sets"]] == ["charges", "lattice", "points"]
    assert all(s["field"] and s["energy"] for s in told["sets"])
    assert points["points"] == 10 and charges["points"] == 12 and lattice["lattice"] == [4, 3, 2]
    assert told["needs"]["pairs"] == 2 * 36 + 12 * 24 + 12 * 5
    done = json.loads(smallbatch("run", "p.h5", "-o", "r.h5", "--json").stdout)
    with h5py.File(tmp_path / "r.h5") as file:
        sizes = [dataset.nbytes for lane in ("potential", "verification/potential") for name in file[lane]
                 for key, dataset in file[lane][name].items()
                 if key in numbers_of(file[lane][name]) or (lane, key) == ("potential", "problem")]
        assert told["needs"]["result_bytes"] == sum(sizes)
        for found in done["sets"]:
            result = file[f"potential/{found['name']}"]
            assert found["V"] == {"unit": "volt", "lowest": result["V_min"][...].min(),
                                  "highest": result["V_max"][...].max()}
            assert found["energy"]["unit"] == "volt*e"
            assert found["energy"]["lowest"] == result["energy"][...].min()
            assert found["targets"] == result.attrs["targets"].decode() and found["field"]
            criterion = found["verification"]["criterion"]
            assert all(word in criterion for word in ("|V - V*|", "|E_k - E_k*|", "|U - U*|", "V_mean"))
    text = smallbatch("verify", "p.h5", "r.h5").stdout
    assert "interaction energy from" in text and "E in volt/angstrom" in text
    told = json.loads(smallbatch("info", "r.h5", "--json").stdout)
    assert [s["targets"] for s in told["sets"]] == ["charges", "lattice", "points"]


def test_only_lattices_are_exported(smallbatch, tmp_path):
    write_one_of_each(tmp_path)
    smallbatch("run", "p.h5", "-o", "r.h5")
    smallbatch("export", "r.h5", "--set", "lattice", "-o", "v.dx")
    for name in ("charges", "points"):
        for ending in ("dx", "cube", "png"):
            done = smallbatch("export", "r.h5", "--set", name, "-o", f"v2.{ending}", expect=3)
            assert f"potential/{name}" in done.stderr and "needs a lattice" in done.stderr


def test_import_and_generate_ask_for_more(smallbatch, tmp_path):
    (tmp_path / "pair.pqr").write_text("ATOM 1 X ION 1 0.0 0.0 0.0 1.0 1.0\nATOM 2 X ION 1 3.0 4.0 0.0 -1.0 1.0\n")
    smallbatch("import", "pair.pqr", "-o", "p.h5", "--targets", "charges", "--field", "--dielectric", 80)
    smallbatch("run", "p.h5", "-o", "r.h5")
    with h5py.File(tmp_path / "r.h5") as file:
        result = file["potential/molecules"]
        np.testing.assert_allclose(result["V"], VOLT / 80 / 5 * np.array([-1, 1]), rtol=1e-6)
        np.testing.assert_allclose(result["E"], VOLT / 80 / 125 * np.array([[3, 4, 0], [3, 4, 0]]), rtol=1e-6)
    smallbatch("import", "pair.pqr", "-o", "l.h5", "--field", "--softening", 0.5, "--cutoff", 6, "--shape", 3,
               "--origin", "0.5,0,0", "--spacing", 1)
    smallbatch("run", "l.h5", "-o", "lr.h5")
    v, e = truth([[0.5, 0, 0]], [(0, 0, 0), (3, 4, 0)], np.array([1.0, -1.0]), 0.5, 6)
    with h5py.File(tmp_path / "lr.h5") as file:
        assert file["potential/molecules/V"][0, 0, 0, 0] == pytest.approx(VOLT * v[0], rel=1e-5)
        np.testing.assert_allclose(file["potential/molecules/E"][0, 0, 0, 0], VOLT * e[0], rtol=1e-4, atol=1e-4)
    assert "--shape" in smallbatch("import", "pair.pqr", "-o", "x.h5", "--targets", "charges", "--shape", 3,
                                   expect=2).stderr
    smallbatch("import", "pair.pqr", "-o", "x.h5", "--cutoff", -1, expect=2)
    smallbatch("import", "pair.pqr", "-o", "x.h5", "--dielectric", 0, expect=2)
    smallbatch("generate", "charges", "-o", "g.h5", "--batch", 2, "--charges", 9, "--targets", "charges", "--field")
    smallbatch("run", "g.h5", "-o", "gr.h5")
    with h5py.File(tmp_path / "gr.h5") as file, h5py.File(tmp_path / "g.h5") as problems:
        position, charge = (problems[f"potential/charges/{key}"][9:] for key in ("position", "charge"))
        v, _ = truth(position, position, charge, own=True)
        np.testing.assert_allclose(file["potential/charges/V"][9:], VOLT * v, rtol=1e-4, atol=1e-3)


def test_one_is_said_of_one(smallbatch, tmp_path):
    with open_problem_file(tmp_path / "p.h5") as file:
        add_potential(file, position=[(3, 4, 0)], charge=[1], shape=(1, 1, 1), output_unit="e/angstrom")
    told = smallbatch("info", "p.h5").stdout
    assert " of memory, for 1 pair of charge and target\n" in told
    done = smallbatch("run", "p.h5", "-o", "r.h5")
    assert "\n  V 0.2 e/angstrom\n" in done.stdout
    assert "1x1x1 point\n" in smallbatch("export", "r.h5", "-o", "map.dx").stdout
