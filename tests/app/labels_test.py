"""Facts that a result file repeats from its problem file, or derives from it. `verify` compares these facts. It refuses
a file with a wrong fact, and names the dataset."""

import h5py
import numpy as np
import pytest

from tests.problems import add_correlation, add_pair_energy, add_potential, open_problem_file, results_to_change

BATCH, CHARGES = 3, 4


def write(path):
    rng = np.random.default_rng(1)
    position, charge = rng.uniform(-3, 3, (BATCH * CHARGES, 3)), rng.uniform(-1, 1, BATCH * CHARGES)
    offset, group = np.arange(BATCH + 1) * CHARGES, np.tile([1, 2], BATCH * CHARGES // 2)
    with open_problem_file(path) as file:
        add_potential(file, "grid", position, charge, offset, field=1)
        at = file.create_group("potential/at")
        at.attrs["targets"] = np.bytes_("charges")
        at["position"], at["charge"], at["offset"], at["group"] = position, charge, offset, group.astype("int8")
        add_pair_energy(file, "pairs", position, charge, offset, per_charge=1)
        for name in ("potential/grid", "potential/at", "pair_energy/pairs"):
            file[name]["name"] = np.array(["lysozyme", "water", "ion"], "S8")
            file[name]["step"], file[name]["time"] = np.arange(BATCH) * 100, np.array([0, 0.5, np.nan])
            file[name]["time"].attrs["unit"] = np.bytes_("ps")
        array = add_correlation(file, "array", np.ones((2, 4, 3), np.complex64))
        array["frequency"], array["input_position"] = np.array([1e8, 2e8]), np.zeros((3, 3))


def planted():
    """Yields the names of what test_a_wrong_label changes: the second value of a dataset, or the text of an attribute
    (dataset@attribute)."""
    for name in ("potential/grid", "potential/at", "pair_energy/pairs"):
        yield from (f"{name}/{label}" for label in ("name", "step", "time", "problem"))
        yield from (f"{name}/{attribute}" for attribute in ("time@unit", "time@units", "info@coordinates"))
    for axis in "xyz":
        yield from (f"potential/grid/{axis}{what}" for what in ("", "@unit", "@units"))
    yield from (f"potential/grid/{name}" for name in ("axis", "origin", "spacing", "origin@units", "spacing@units"))
    yield from ("potential/at/offset", "pair_energy/pairs/offset")
    for name in ("potential/grid/V", "potential/grid/E", "potential/grid/V_min", "potential/grid/V_max", "potential/grid/V_mean",
                 "potential/at/energy", "pair_energy/pairs/energy", "pair_energy/pairs/energy_per_charge"):
        yield from (f"{name}@{attribute}" for attribute in ("unit", "units"))
    yield from (f"correlation/array/{name}" for name in (
        "frequency", "input_position", "frequency@units", "input_position@units", "visibility@coordinates"))


@pytest.fixture(scope="module")
def solved(smallbatch_program, tmp_path_factory):
    folder = tmp_path_factory.mktemp("labels")
    write(folder / "p.h5")
    smallbatch = smallbatch_program(folder)
    smallbatch("run", "p.h5", "-o", "r.h5")
    for k in (1, 2):
        smallbatch("run", "p.h5", "-o", f"r{k}.h5", "--shard", f"{k}/2")
    smallbatch("merge", "r1.h5", "r2.h5", "-o", "m.h5")
    return smallbatch


@pytest.mark.parametrize("results", ["r.h5", "r1.h5", "r2.h5", "m.h5"])
def test_labels_that_are_right(solved, results):
    solved("verify", "p.h5", results)


@pytest.mark.parametrize("what", list(planted()))
def test_a_wrong_label(solved, what):
    path = solved.folder / "changed.h5"
    path.write_bytes((solved.folder / "r.h5").read_bytes())
    name, _, attribute = what.partition("@")
    with results_to_change(path) as file:
        if attribute:
            file[name].attrs[attribute] = np.bytes_("other")
        else:
            values = file[name][...]
            values[1] = b"o" if values.dtype.kind == "S" else values[1] + 1
            file[name][...] = values
    refused = solved("verify", "p.h5", "changed.h5", expect=3)
    assert name in refused.stderr and "changed.h5" in refused.stderr


def test_a_label_that_is_gone_or_too_many(solved):
    path = solved.folder / "changed.h5"
    for name in ("name", "x", "problem"):
        path.write_bytes((solved.folder / "r.h5").read_bytes())
        with results_to_change(path) as file:
            del file[f"potential/grid/{name}"]
        solved("verify", "p.h5", "changed.h5", expect=3)
    with open_problem_file(solved.folder / "p2.h5") as file, h5py.File(solved.folder / "p.h5") as problems:
        problems.copy("potential", file)
        problems.copy("pair_energy", file)
        problems.copy("correlation", file)
        del file["potential/at/step"]
    solved("verify", "p2.h5", "r.h5", expect=3)


def test_no_charges_but_points_far_away(solved):
    """In a problem without charges, every finite point is valid, on every device."""
    with open_problem_file(solved.folder / "far.h5") as file:
        group = file.create_group("potential/far")
        group.attrs["targets"], group.attrs["field"] = np.bytes_("points"), 1
        group["position"], group["charge"], group["offset"] = np.zeros((1, 3)), np.ones(1), [0, 0, 1]
        group["points"] = np.array([[1, 2, 3], [1e16, 0, 0], [0, -1e200, 0]])
    for device in ("auto", "cpu", "reference"):
        for precision in ("single", "double"):
            solved("run", "far.h5", "-o", "f.h5", "--overwrite", "--device", device, "--precision", precision, expect=None)
            with h5py.File(solved.folder / "f.h5") as file:
                group = file["potential/far"]
                assert group["info"][...].tolist() == [0, -2]
                assert (group["V"][:3] == 0).all() and (group["E"][:3] == 0).all()
                assert file["verification/potential/far/verdict"][...].tolist() == [1, 1]
