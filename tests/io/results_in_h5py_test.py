"""h5py finds the axes of the datasets in result files, and other programs can add datasets to these files."""

import re

import h5py
import numpy as np
import pytest

from tests.problems import add_correlation, add_pair_energy, add_potential, add_solve, open_problem_file


@pytest.fixture
def results(smallbatch, tmp_path):
    with open_problem_file(tmp_path / "p.h5") as file:
        add_solve(file, "vectors")
        add_solve(file, "columns", dtype=np.float64, nrhs=3)
        add_solve(file, "none", batch=0)
        for k in range(40):  # more links than HDF5 keeps in a header
            add_solve(file, f"many_{k}", batch=k % 3, n=2)
        group = add_potential(file, "named", position=np.eye(3), charge=[1, 2, 3], offset=[0, 1, 3], field=1)
        group["name"] = np.array([b"first", b"second"])
        add_potential(file, "other")
        add_pair_energy(file, per_charge=1)
        add_correlation(file)
    smallbatch("run", tmp_path / "p.h5", "-o", tmp_path / "r.h5", "--device", "cpu", "--threads", 1)
    return tmp_path / "r.h5"


KINDS = ("solve", "potential", "pair_energy", "correlation", "verification")


def objects_of(file):
    """Returns the objects of all sets by their paths."""
    found = {}
    for kind in KINDS:
        file[kind].visititems(lambda name, item: found.update({f"{kind}/{name}": item}))
    return found


def datasets_of(file):
    return {name: item for name, item in objects_of(file).items() if isinstance(item, h5py.Dataset)}


def test_axes_and_datasets_know_each_other(results):
    with h5py.File(results) as file:
        users = {}
        for name, dataset in datasets_of(file).items():
            is_scale = dataset.attrs.get("CLASS") == b"DIMENSION_SCALE"
            assert is_scale == h5py.h5ds.is_scale(dataset.id)
            assert is_scale or len(dataset.attrs["DIMENSION_LIST"]) == dataset.ndim, name
            for axis in range(dataset.ndim if "DIMENSION_LIST" in dataset.attrs else 0):
                (scale,) = dataset.dims[axis].values()
                assert scale in file[name.rpartition("/")[0]].values() and scale.shape == (dataset.shape[axis],)
                assert h5py.h5ds.is_attached(dataset.id, scale.id, axis)
                users.setdefault(scale, set()).add((dataset, axis))
        for scale, of_scale in users.items():
            assert {(file[use["dataset"]], use["dimension"]) for use in scale.attrs["REFERENCE_LIST"]} == of_scale
        named = file["potential/named"]
        assert [scale.name.rpartition("/")[2] for axis in named["E"].dims for scale in axis.values()] == [
            "problem", "z", "y", "x", "axis"]
        assert named["axis"][:].tolist() == [b"x", b"y", b"z"] and named["V"].attrs["unit"] == b"volt"
        assert file["solve/columns/x"].shape == (5, 8, 3) and file["solve/none/x"].shape == (0, 8)


def test_no_header_tells_a_time(results):
    """Object headers store no times, so two files with equal numbers differ only in /provenance."""
    data, times_stored = results.read_bytes(), 0x20
    flags = [data[found.end()] for found in re.finditer(b"OHDR\2", data)]
    assert len(flags) > 400 and not any(one & times_stored for one in flags)


def test_every_object_has_one_name(results):
    with h5py.File(results) as file:
        counts = {name: h5py.h5o.get_info(item.id).rc for name, item in objects_of(file).items()}
    shown = {"potential/named/" + name for name in ("V", "E", "problem", "z", "y", "x", "axis")}
    assert all(count == (2 if name in shown else 1) for name, count in counts.items())


def test_others_go_on_writing(results):
    with h5py.File(results, "r+") as file:
        group = file["solve/vectors"]
        before = group["x"][:]
        for k in range(40):
            group[f"added_{k}"] = np.arange(k)
            group["x"].attrs[f"added_{k}"] = k
        group.attrs["note"] = "n" * 5000
        group["x"].dims[0].label = "systems"
        del group["info"], group["rcond"].attrs["DIMENSION_LIST"], file["solve/many_3"]
        file.move("solve/many_4", "solve/renamed")
        file["solve/again"] = file["solve/renamed"]
        file["verification/solve/vectors/verdict"][...] = 2
        file["solve/columns/x"].attrs["unit"] = "m"
    with h5py.File(results) as file:
        group = file["solve/vectors"]
        assert np.array_equal(group["x"][:], before) and group["x"].dims[0].label == "systems"
        assert [group[f"added_{k}"].shape for k in range(40)] == [(k,) for k in range(40)]
        assert [group["x"].attrs[f"added_{k}"] for k in range(40)] == list(range(40))
        assert "info" not in group and "many_3" not in file["solve"] and file["solve/again"] == file["solve/renamed"]
        assert len(datasets_of(file)) > 400 and file["verification/solve/vectors/verdict"][:].tolist() == [2] * 5
