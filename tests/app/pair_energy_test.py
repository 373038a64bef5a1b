"""Pair energies from file to file. The results of `run` agree with sums in long double, on every backend and in blocks
of any size. `verify` finds changed numbers."""

import json

import h5py
import numpy as np
import pytest

from tests.problems import VOLT, add_pair_energy, open_problem_file, results_to_change

OFFSET = [0, 0, 1, 40, 140]  # problems of 0, 1, 39 and 100 charges


def charges(seed=1):
    rng = np.random.default_rng(seed)
    return rng.uniform(-6, 6, (OFFSET[-1], 3)), rng.uniform(-1, 1, OFFSET[-1]), rng.integers(0, 4, OFFSET[-1])


def energies(position, charge, group=None, softening=0.0, cutoff=0.0):
    """Returns U, sum |q q g| and the energies of the charges of one problem, in volt * e."""
    d = position[:, None].astype(np.longdouble) - position[None]
    r2 = (d * d).sum(-1)
    meet = ~np.eye(len(charge), dtype=bool)
    if group is not None:
        meet &= ((group[:, None] == 1) & (group[None] == 2)) | ((group[:, None] == 2) & (group[None] == 1))
    g = 1 / np.sqrt(np.where(meet, r2 + np.longdouble(softening) ** 2, 1))
    if cutoff:
        g *= np.maximum(0, 1 - r2 / np.longdouble(cutoff) ** 2) ** 2
    product = VOLT * np.where(meet, charge[:, None] * charge[None] * g, 0)
    return product.sum() / 2, np.abs(product).sum() / 2, product.sum(1) / 2


def stored(path, name="pairs"):
    with h5py.File(path) as file:
        return {key: values[...] for key, values in file[f"pair_energy/{name}"].items()}


def outcome(done):
    return json.loads(done.stdout)["sets"][0]


@pytest.mark.parametrize("device", ["cpu", "reference"])
@pytest.mark.parametrize("precision,relative", [("single", 2.0**-19), ("double", 2.0**-46)])
@pytest.mark.parametrize("in_groups", [False, True])
def test_energies_are_those_of_long_doubles(smallbatch, tmp_path, device, precision, relative, in_groups):
    position, charge, group = charges()
    asked = {"softening": 0.25, "cutoff": 9.0, "per_charge": 1}
    with open_problem_file(tmp_path / "p.h5") as file:
        add_pair_energy(file, position=position, charge=charge, offset=OFFSET, group=group if in_groups else None, **asked)
    done = smallbatch("run", "p.h5", "-o", "r.h5", "--device", device, "--precision", precision, "--json", "--verify", "all")
    assert outcome(done)["verification"]["agreed"] == 4
    found = stored(tmp_path / "r.h5")
    assert found["info"].tolist() == [0] * 4 and found["offset"].tolist() == OFFSET
    for p, (begin, end) in enumerate(zip(OFFSET, OFFSET[1:])):
        mine = slice(begin, end)
        u, size, of_charges = energies(position[mine], charge[mine], group[mine] if in_groups else None, 0.25, 9.0)
        assert abs(found["energy"][p] - u) <= relative * size
        assert (np.abs(found["energy_per_charge"][mine] - of_charges) <= relative * max(size, 1e-300)).all()
    assert smallbatch("verify", "p.h5", "r.h5").stdout.count("4 of 4 agree") == 1


def test_a_published_energy(smallbatch, tmp_path):
    """8 ions of rock salt at the corners of a cube: 12 pairs at 1, 12 at sqrt 2 and 4 at sqrt 3."""
    site = np.indices((2, 2, 2)).reshape(3, -1).T
    with open_problem_file(tmp_path / "p.h5") as file:
        add_pair_energy(file, position=site, charge=1.0 - 2 * (site.sum(1) % 2), output_unit="e/angstrom", per_charge=1)
    smallbatch("run", "p.h5", "-o", "r.h5", "--precision", "double")
    found, exact = stored(tmp_path / "r.h5"), -12 + 12 / np.sqrt(2) - 4 / np.sqrt(3)
    assert abs(found["energy"][0] - exact) < 1e-13 and np.abs(found["energy_per_charge"] - exact / 8).max() < 1e-14


@pytest.mark.parametrize("singular", ["inf", "skip"])
def test_statuses_of_problems(smallbatch, tmp_path, singular):
    """Four problems: two equal charges at one position, two opposite charges at one position, a NaN, and a position
    that is too far away."""
    position = np.zeros((10, 3))
    position[[2, 5, 7, 9], 0] = 3, 3, np.nan, 1e16
    charge = np.array([1, 1, 2, 1, -1, 2, 1, 1, 1, 1.0])
    with open_problem_file(tmp_path / "p.h5") as file:
        add_pair_energy(file, position=position, charge=charge, offset=[0, 3, 6, 8, 10], output_unit="e/angstrom")
    done = smallbatch("run", "p.h5", "-o", "r.h5", "--singular", singular, "--json", expect=1)
    assert {entry["status"]: entry["first"] for entry in outcome(done)["failed"]} == {-1: [2], -2: [3]}
    assert outcome(done)["pairs_on_one_place"] == 2 and outcome(done)["verification"]["agreed"] == 4
    found = stored(tmp_path / "r.h5")
    assert found["info"].tolist() == [1, 1, -1, -2]
    expected = [np.inf, -np.inf] if singular == "inf" else [4 / 3, 0]
    np.testing.assert_allclose(found["energy"], [*expected, np.nan, np.nan], rtol=1e-6, atol=1e-6)
    smallbatch("verify", "p.h5", "r.h5", expect=1)


def test_blocks_of_any_size_have_the_same_bits(smallbatch, tmp_path):
    rng = np.random.default_rng(2)
    count = 40000
    with open_problem_file(tmp_path / "p.h5") as file:
        add_pair_energy(file, position=rng.uniform(0, 50, (count, 3)), charge=rng.uniform(-1, 1, count),
                        offset=np.arange(0, count + 1, 20), per_charge=1)
    for name, arguments in (("small", ["--memory", "1MiB"]), ("large", []), ("one", ["--threads", "1"])):
        smallbatch("run", "p.h5", "-o", f"{name}.h5", "--device", "cpu", "--verify", "sample=50", *arguments)
    for name in ("small", "one"):
        for key, values in stored(tmp_path / "large.h5").items():
            np.testing.assert_array_equal(values, stored(tmp_path / f"{name}.h5")[key])


CHANGES = {"energy": lambda x: x * (1 + 1e-4), "energy_per_charge": lambda x: x * (1 + 1e-4), "info": lambda x: x + 1}


@pytest.mark.parametrize("what", CHANGES)
def test_verify_finds_what_was_changed(smallbatch, tmp_path, what):
    position, charge, _ = charges()
    with open_problem_file(tmp_path / "p.h5") as file:
        add_pair_energy(file, position=position, charge=np.abs(charge), offset=OFFSET, per_charge=1)
    smallbatch("run", "p.h5", "-o", "r.h5")
    with results_to_change(tmp_path / "r.h5") as file:
        values = file[f"pair_energy/pairs/{what}"]
        index = 50 if what == "energy_per_charge" else 3
        values[index] = CHANGES[what](values[index])
    verification = outcome(smallbatch("verify", "p.h5", "r.h5", "--json", expect=1))["verification"]
    assert verification["disagreed"] == 1 and verification["worst_index"] == 3


@pytest.mark.parametrize("attribute,value", [("softening", 1.0), ("per_charge", 0), ("output_unit", "kT/e"), ("groups", 1)])
def test_verify_refuses_results_of_another_question(smallbatch, tmp_path, attribute, value):
    with open_problem_file(tmp_path / "p.h5") as file:
        add_pair_energy(file, per_charge=1)
    smallbatch("run", "p.h5", "-o", "r.h5")
    with h5py.File(tmp_path / "r.h5", "r+") as file:
        file["pair_energy/pairs"].attrs[attribute] = np.bytes_(value) if isinstance(value, str) else value
    assert "/pair_energy/pairs" in smallbatch("verify", "p.h5", "r.h5", expect=3).stderr


def test_info_tells_of_both_files(smallbatch, tmp_path):
    with open_problem_file(tmp_path / "p.h5") as file:
        add_pair_energy(file, position=np.eye(3), charge=np.ones(3), group=[1, 2, 2], output_unit="kT/e")
    text = smallbatch("info", "p.h5").stdout
    assert "pair_energy/pairs: 1 problem, 3 charges, groups, energy in kT" in text
    told = json.loads(smallbatch("info", "p.h5", "--json").stdout)["sets"][0]
    assert (told["kind"], told["groups"], told["per_charge"], told["charges"]) == ("pair_energy", True, False, 3)
    smallbatch("run", "p.h5", "-o", "r.h5")
    assert "pair_energy/pairs: 1 problem, groups; verified: 1 agree" in smallbatch("info", "r.h5").stdout
