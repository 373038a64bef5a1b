"""The files in data/ are those that its scripts write."""
import pathlib
import subprocess
import sys

import h5py
import numpy as np
import pytest

DATA = pathlib.Path(__file__).parents[2] / "data"


def make(script, output):
    subprocess.run([sys.executable, DATA / script, output], check=True)


@pytest.mark.parametrize("name", ["water_cluster", "rock_salt"])
def test_molecules_are_what_their_scripts_write(name, tmp_path):
    make(f"make_{name}.py", tmp_path / "made.pqr")
    assert (tmp_path / "made.pqr").read_text() == (DATA / f"{name}.pqr").read_text()


def contents(path):
    """Returns every dataset and attribute by name."""
    found = {}
    with h5py.File(path) as file:

        def take(name, item):
            found.update({f"{name}@{key}": value for key, value in item.attrs.items()})
            if isinstance(item, h5py.Dataset):
                found[name] = item[...]

        take("", file)
        file.visititems(take)
    return found


def test_demo_is_what_its_script_writes(tmp_path):
    make("make_demo.py", tmp_path / "made.h5")
    made, committed = contents(tmp_path / "made.h5"), contents(DATA / "demo.h5")
    assert made.keys() == committed.keys() and len(made) > 8
    for name, value in committed.items():
        if np.asarray(value).dtype.kind == "S":
            assert made[name] == value
        else:
            assert np.asarray(made[name]).dtype == np.asarray(value).dtype
            np.testing.assert_allclose(made[name], value, rtol=1e-6, atol=1e-7, err_msg=name)


def test_demo_is_small_and_its_systems_are_moderately_conditioned():
    assert (DATA / "demo.h5").stat().st_size < 400_000
    packed = contents(DATA / "demo.h5")["solve/kriging/A"]
    assert packed.shape == (128, 32 * 33 // 2) and packed.dtype == np.float32
    rows, columns = np.tril_indices(32)
    matrices = np.zeros((128, 32, 32))
    matrices[:, rows, columns] = matrices[:, columns, rows] = packed
    eigenvalues = np.linalg.eigvalsh(matrices)
    assert (eigenvalues > 0).all()
    condition = eigenvalues[:, -1] / eigenvalues[:, 0]
    assert 350 < condition.min() and condition.max() < 500
