"""Types and attributes of other programs: missing and packed numbers of xarray, other layouts of complex numbers and
Booleans, whole numbers stored as floats. They are read correctly, or refused with their name and a remedy."""

import h5py
import numpy as np
import pytest
import xarray

from tests.problems import add_correlation, add_potential, add_solve, open_problem_file

POSITION = np.array([[0.0, 0, 0], [1, 0, 0], [0, 2, 0]])


def write_xarray(path, kind, fill, holds_it, name="_FillValue"):
    """Writes three charges with xarray. With `holds_it`, the third charge is missing, and xarray stores `fill` for
    it."""
    charge = np.array([1, -1, np.nan if holds_it else 2], "f8")
    data = xarray.Dataset({"position": (("n", "axis"), POSITION.astype(kind)), "charge": (("n",), charge)})
    encoding = {"charge": {"dtype": kind, name: np.dtype(kind).type(fill)}}
    if name == "missing_value":
        encoding["charge"]["_FillValue"] = np.dtype(kind).type(fill)
    data.to_netcdf(path, group="potential/s", engine="h5netcdf", encoding=encoding)
    with h5py.File(path, "r+") as file:
        file.attrs["smallbatch_format"] = np.array([1, 8], "i4")
        file["potential/s"].attrs["targets"] = "charges"
        if name == "missing_value":
            del file["potential/s/charge"].attrs["_FillValue"]


@pytest.mark.parametrize("kind", ["f4", "f8"])
@pytest.mark.parametrize("fill", [-999, -999.9, 9.969209968386869e36, 1e20])
@pytest.mark.parametrize("name", ["_FillValue", "missing_value"])
def test_a_missing_charge_is_no_number(smallbatch, tmp_path, kind, fill, name):
    write_xarray(tmp_path / "p.h5", kind, fill, True, name)
    said = smallbatch("run", "p.h5", "-o", "r.h5", expect=3).stderr
    assert "/potential/s/charge" in said and "(2)" in said and name in said
    write_xarray(tmp_path / "p.h5", kind, fill, False, name)
    smallbatch("run", "p.h5", "--overwrite", "-o", "r.h5")


def test_a_missing_number_that_is_a_nan_is_a_status(smallbatch, tmp_path):
    write_xarray(tmp_path / "p.h5", "f8", np.nan, True)
    smallbatch("run", "p.h5", "-o", "r.h5", expect=1)
    with h5py.File(tmp_path / "r.h5") as file:
        assert file["potential/s/info"][...] != 0


@pytest.mark.parametrize("name", [
    "solve/s/A", "solve/s/b", "potential/s/position", "potential/s/charge", "potential/s/offset", "potential/s/origin",
    "potential/s/spacing", "potential/s/group", "potential/s/step", "potential/s/time", "correlation/s/flag",
    "correlation/s/frequency"])
def test_every_dataset_may_lack_numbers(smallbatch, tmp_path, name):
    with open_problem_file(tmp_path / "p.h5") as file:
        add_solve(file, "s")
        charges = add_potential(file, "s", position=POSITION + 0.5, charge=[1, 2, 3], offset=[0, 3], origin=(4, 5, 6))
        charges["group"], charges["step"], charges["time"] = np.array([1, 1, 2], "i1"), [8], [9.5]
        signals = add_correlation(file, "s", np.ones((1, 2, 3), "c8"), np.array([[[0, 0, 0], [0, 0, 1]]], "u1"))
        signals["frequency"] = [1.4e9]
        last = file[name][...].flat[-1]
        file[name].attrs["_FillValue"] = last
    said = smallbatch("run", "p.h5", "-o", "r.h5", "--device", "cpu", expect=3).stderr
    assert f"/{name} of" in said and "equals the attribute _FillValue" in said
    with h5py.File(tmp_path / "p.h5", "r+") as file:
        file[name].attrs["_FillValue"] = last.dtype.type(77)
    smallbatch("run", "p.h5", "--overwrite", "-o", "r.h5", "--device", "cpu")


@pytest.mark.parametrize("name, value, nothing", [("scale_factor", 0.1, 1.0), ("add_offset", 3, 0)])
def test_packed_numbers_are_refused(smallbatch, tmp_path, name, value, nothing):
    for packing in (value, nothing):
        with open_problem_file(tmp_path / "p.h5") as file:  # refused with any value, as an unknown attribute
            add_potential(file, position=POSITION, charge=[1, 2, 3])["charge"].attrs[name] = packing
        assert name in smallbatch("run", "p.h5", "--overwrite", "-o", "r.h5", expect=3).stderr
        with h5py.File(tmp_path / "t.h5", "w") as file:
            file["particles/all/position"], file["particles/all/charge"] = POSITION, np.ones(3)
            file["particles/all/charge"].attrs[name] = packing
        said = smallbatch("import", "t.h5", "--overwrite", "-o", "p.h5", expect=3 if packing == value else 0).stderr
        assert packing == nothing or (name in said and "packed" in said)


def write_signal(path, make, libver="earliest"):
    with h5py.File(path, "w", libver=(libver, "latest")) as file:
        file.attrs["smallbatch_format"] = np.array([1, 8], "i4")
        make(file.create_group("correlation/s"))


def voltages():
    return np.random.default_rng(1).integers(-128, 128, (2, 8, 3, 2))


@pytest.mark.parametrize("libver", ["earliest", "v110"])
@pytest.mark.parametrize("chunks", [None, (1, 8, 3)])
def test_pairs_of_int8_are_read_as_compounds(smallbatch, tmp_path, libver, chunks):
    pairs = voltages().astype("i1")

    def make(group):
        group.create_dataset("signal", data=pairs.view([("r", "i1"), ("i", "i1")])[..., 0], chunks=chunks)
    write_signal(tmp_path / "p.h5", make, libver)
    smallbatch("run", "p.h5", "-o", "r.h5")
    x = pairs[..., 0] + 1j * pairs[..., 1]
    right = np.einsum("cti,ctj->cij", x, x.conj())[:, *np.tril_indices(3)]
    with h5py.File(tmp_path / "r.h5") as file:
        found = file["correlation/s/visibility"][...].reshape(2, 6, 2)
        assert np.array_equal(found[..., 0] + 1j * found[..., 1], right)


def compound(*members):
    return lambda group: group.create_dataset("signal", data=np.zeros((2, 8, 3), list(members)))


def native(group):
    space = h5py.h5s.create_simple((2, 8, 3))
    h5py.Dataset(h5py.h5d.create(group.id, b"signal", h5py.h5t.COMPLEX_IEEE_F32LE, space))[...] = 1


@pytest.mark.parametrize("make, says", [
    (compound(("i", "f4"), ("r", "f4")), ["found compound {i: float32, r: float32}", 'array["r"] + 1j * array["i"]']),
    (compound(("r", "f4"), ("i", ">f4")), ["found compound {r: float32, i: float32 big-endian}", 'array["r"]']),
    (compound(("r", "i2"), ("i", "i2")), ["found compound {r, i} of int16", 'array["r"] + 1j * array["i"]']),
    (compound(("real", "f8"), ("imag", "f8")), ["found compound {real: float64, imag: float64}", "1j"]),
    (compound(("r", "f8"), ("i", "f8")), ["found compound {r, i} of float64", 'e.g. array.astype("complex64")']),
    (lambda g: g.create_dataset("signal", data=np.zeros((2, 8, 3, 2), "i2")), ["found int16, two along", "array[..., 0] + 1j"]),
    (lambda g: g.create_dataset("signal", data=np.zeros((2, 8, 3, 2), "f4")), ["found float32, two along", "array[..., 0] + 1j"]),
    (lambda g: g.create_dataset("signal", data=np.zeros((2, 8, 3), "f4")), ["found float32)", 'e.g. array.astype("complex64")']),
    (native, ["HDF5 2", "complex", "{r, i}"]),
])
def test_a_signal_of_another_type_is_named_with_its_own_remedy(smallbatch, tmp_path, make, says):
    write_signal(tmp_path / "p.h5", make)
    said = smallbatch("run", "p.h5", "-o", "r.h5", expect=3).stderr
    assert all(text in said for text in says) and "damaged" not in said, said


def test_booleans_of_pytables_are_flags(smallbatch, tmp_path):
    bits = h5py.h5t.STD_B8LE
    flag = np.random.default_rng(2).random((2, 8, 3)) < 0.4
    found = []
    for is_pytables in (False, True):
        def make(group):
            group["signal"] = (voltages()[..., 0] + 1j * voltages()[..., 1]).astype("c8")
            group["flag"] = flag
            if is_pytables:
                del group["flag"]
                space = h5py.h5s.create_simple(flag.shape)
                h5py.h5d.create(group.id, b"flag", bits, space).write(h5py.h5s.ALL, h5py.h5s.ALL, flag.view("u1"), bits)
        write_signal(tmp_path / "p.h5", make)
        smallbatch("run", "p.h5", "--overwrite", "-o", "r.h5")
        with h5py.File(tmp_path / "r.h5") as file:
            found.append([file["correlation/s"][name][...] for name in ("visibility", "weight")])
    assert all(np.array_equal(a, b) for a, b in zip(*found)) and found[0][1].min() < 8


@pytest.mark.parametrize("kind", ["f4", "f8", ">f8"])
@pytest.mark.parametrize("libver", ["earliest", "v110"])
def test_whole_numbers_of_attributes_may_be_floats(smallbatch, tmp_path, kind, libver):
    def write(shape):
        with h5py.File(tmp_path / "p.h5", "w", libver=(libver, "latest")) as file:
            file.attrs["smallbatch_format"] = np.array([1, 8], kind)
            group = file.create_group("potential/s")
            group["position"], group["charge"] = POSITION, np.ones(3)
            group["origin"], group["spacing"] = np.full(3, 9.0), np.ones(3)
            group.attrs["shape"], group.attrs["field"] = np.array(shape, kind), np.array(1, kind)
    write([4, 3, 2])
    smallbatch("run", "p.h5", "-o", "r.h5")
    with h5py.File(tmp_path / "r.h5") as file:
        assert file["potential/s/E"].shape == (1, 2, 3, 4, 3)
    for bad in (2.5, np.nan, 1e300 if kind[-1] == "8" else 1e30):
        write([4, 3, bad])
        said = smallbatch("run", "p.h5", "--overwrite", "-o", "r.h5", expect=3).stderr
        assert "/potential/s@shape" in said and "integers" in said
