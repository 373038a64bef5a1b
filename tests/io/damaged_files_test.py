"""Files with some wrong bytes: the command reads them, or refuses them in one sentence; it never crashes and never goes
on without end, whatever HDF5 does with them. File number k of seed S is always the same. A long run:

    pytest tests/io/damaged_files_test.py --random-files 5000 --random-seed 7
"""

import h5py
import numpy as np
import pytest

from tests.problems import add_potential, add_solve

DEFAULT_FILES = 70
READ, REFUSED = 0, 3  # exit codes


def fill_with_problems(file):
    file.attrs["smallbatch_format"] = np.array([1, 0], np.int32)
    add_solve(file, "dense", batch=3, n=4)
    add_solve(file, "packed", batch=2, n=3, dtype=np.float64, nrhs="inverse", store_packed=True)
    a = file["solve/dense/A"][...]
    file.create_dataset("solve/chunked/A", data=np.repeat(a, 4, axis=0), chunks=(2, 4, 2), compression="gzip",
                        shuffle=True, fletcher32=True)
    group = add_potential(file, position=[[0, 0, 0], [1, 1, 1], [2, 2, 2]], charge=[1, -1, 2], offset=[0, 1, 3],
                          cutoff=9.0, field=1)
    group.attrs["output_unit"] = "kcal/mol/e"  # of variable length
    for name in ("position", "origin", "spacing"):
        group[name].attrs["unit"] = "nm"
    points = add_potential(file, "points", position=[[0, 0, 0]], charge=[1])
    del points.attrs["shape"], points["origin"], points["spacing"]
    points.attrs["targets"] = "points"
    points.create_dataset("points", data=np.ones((9, 3)), chunks=(2, 3), maxshape=(None, 3))
    pairs = file.create_group("pair_energy/pairs")
    pairs["position"], pairs["charge"], pairs["group"] = np.eye(3), np.ones(3), np.arange(3, dtype=np.int8)
    pairs.attrs["per_charge"] = True
    array = file.create_group("correlation/array")
    array.create_dataset("signal", data=np.full((2, 5, 3), 1 + 2j, np.complex64), chunks=(1, 2, 3), compression="gzip")
    array["flag"] = np.zeros((2, 5, 3), bool)
    array["frequency"] = [1e9, 2e9]
    array.attrs["integrate"] = 2
    packed = file.create_group("correlation/packed")
    packed["signal"] = np.full((1, 4, 2), 0x3c, np.uint8)
    packed.attrs["packing"] = "int4"


def fill_with_particles(file):
    fill_with_problems(file)
    particles = file.create_group("particles/water")
    for name, values in {"position": np.ones((3, 4, 3)), "charge": np.ones((3, 4))}.items():
        element = particles.create_group(name)
        element.create_dataset("value", data=values, chunks=(1, *values.shape[1:]), maxshape=(None, *values.shape[1:]),
                               compression="gzip")
        element["step"] = np.arange(3)
        element["value"].attrs["unit"] = "nm" if name == "position" else "e"
    particles.create_group("box").attrs["boundary"] = ["none", "none", "periodic"]
    water = add_potential(file, "water")
    del water["position"], water["charge"]
    water.attrs["particles"] = "water"


@pytest.mark.parametrize("libver", ["earliest", "v110"])
@pytest.mark.parametrize("fill", [fill_with_problems, fill_with_particles])
def test_wrong_bytes_are_refused_or_read(smallbatch, tmp_path, pytestconfig, fill, libver):
    with h5py.File(tmp_path / "good.h5", "w", libver=(libver, "v110")) as file:
        fill(file)
    smallbatch("info", "good.h5")
    good = np.frombuffer((tmp_path / "good.h5").read_bytes(), np.uint8)
    telling = np.flatnonzero(good)  # most zeros are padding
    refused = 0
    for number in range(pytestconfig.getoption("random_files") or DEFAULT_FILES):
        rng = np.random.default_rng([pytestconfig.getoption("random_seed"), number])
        damaged = good.copy()
        for _ in range(rng.integers(1, 5)):
            place = rng.choice(telling) if rng.random() < 0.8 else rng.integers(damaged.size)
            damaged[place] = rng.choice([0, 1, 255, damaged[place] ^ 1 << rng.integers(8), rng.integers(256)])
        (tmp_path / "damaged.h5").write_bytes(damaged.tobytes())
        done = smallbatch("info", "damaged.h5", expect=None, errors="replace")
        assert done.returncode in (READ, REFUSED), f"file {number}: exit code {done.returncode}\n{done.stderr}"
        if done.returncode == REFUSED:
            refused += 1
            assert done.stdout == ""
            assert "damaged.h5" in done.stderr.splitlines()[-1], done.stderr
    assert refused > 20
