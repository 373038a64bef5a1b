"""The examples of FORMAT.md run as they stand, and the command reads what they write.

SMALLBATCH_BIN names the command. One file, because all tests use the files of one run of the examples.
"""
import contextlib
import os
import pathlib
import re
import subprocess

import h5py
import numpy as np
import pytest

FORMAT = pathlib.Path(__file__).resolve().parents[2] / "io" / "FORMAT.md"
VOLT = 14.399645478425672  # potential of one e at one angstrom, in volt
KT_PER_E = 8.617333262e-5  # volt per kelvin


def code_blocks():
    """Returns (writing, reading): the Python blocks before and after the heading "Opening results"."""
    before, after = FORMAT.read_text().split("## Opening results")
    return [re.findall(r"```python\n(.*?)```", text, re.DOTALL) for text in (before, after)]


def run_blocks(blocks, names):
    for block in blocks:
        exec(compile(block, str(FORMAT), "exec"), names)


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    """Runs the examples of the page and solves their problems. Returns the folder and the variables of the examples."""
    writing, reading = code_blocks()
    assert len(writing) == 6 and len(reading) == 6
    folder = tmp_path_factory.mktemp("format")
    names = {}
    with contextlib.chdir(folder):
        run_blocks(writing, names)
        done = info("problems.h5")
        assert done.returncode == 0 and "not used" not in done.stdout, done.stderr + done.stdout
        done = subprocess.run(
            [os.environ["SMALLBATCH_BIN"], "run", "problems.h5", "-o", "results.h5"], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        run_blocks(reading, names)
    return folder, names


def test_the_pages_python_finds_a_changed_byte(example, tmp_path):
    folder, names = example
    content = bytearray((folder / "results.h5").read_bytes())
    with h5py.File(folder / "results.h5") as file:
        x = file["solve/dense/x"].id.get_offset()
        table, rest = (file[f"checksums/{name}"].id.get_offset() for name in ("hash", "rest"))
        assert file["solve/dense/x"].nbytes < 1 << 20
    heap = content.find(b"GCOL") + 30
    for offset, expected in ((x + 7, [("/solve/dense/x", 0)]), (heap, [("the rest", 0)]), (rest + 20, [("the rest", 0)])):
        content[offset] ^= 4
        (tmp_path / "r.h5").write_bytes(content)
        content[offset] ^= 4
        assert names["changed_pieces"](tmp_path / "r.h5") == expected
    content[table] ^= 1
    (tmp_path / "r.h5").write_bytes(content)
    assert ("the rest", 0) in names["changed_pieces"](tmp_path / "r.h5")


def test_solutions_are_numpys(example):
    folder, names = example
    with h5py.File(folder / "results.h5") as file:
        assert file["solve/dense/x"].dtype == np.float32
        expected = np.linalg.solve(names["a"].astype("float32").astype("float64"), names["b"].astype("float32"))
        assert np.allclose(file["solve/dense/x"][:], expected, rtol=1e-3, atol=1e-5)
        expected = np.linalg.solve(names["a"], names["b"][:, :, :1])[:, :, 0]
        assert file["solve/packed/x"].dtype == np.float64
        assert np.allclose(file["solve/packed/x"][:], expected, rtol=1e-10, atol=1e-12)
        assert np.allclose(file["solve/inverse/inverse"][:], np.linalg.inv(names["a"][:10]), rtol=1e-10, atol=1e-12)
        assert np.allclose(file["solve/lower/x"][:], np.linalg.solve(names["a"], names["b"]), rtol=1e-10, atol=1e-12)
        expected = np.linalg.slogdet(names["a"])[1]
        assert np.allclose(file["solve/likelihood/log_determinant"][:], expected, rtol=1e-12, atol=0)
        for name in ("dense", "packed", "inverse", "lower", "likelihood"):
            assert not file[f"solve/{name}/info"][:].any()
            assert (file[f"verification/solve/{name}/verdict"][:] == 1).all()
    assert names["solved"].all() and names["agreed"].all()
    assert names["is_same_input"]


def coulomb(position, charge, origin, spacing, shape):
    """Returns V in volt on the lattice (nz, ny, nx). All lengths are in angstrom."""
    x, y, z = (origin[axis] + spacing[axis] * np.arange(shape[axis]) for axis in range(3))
    total = np.zeros(shape[::-1])
    for (px, py, pz), q in zip(position, charge):
        r = np.sqrt((x[None, None, :] - px) ** 2 + (y[None, :, None] - py) ** 2 + (z[:, None, None] - pz) ** 2)
        total += q / r
    return VOLT * total


def test_potentials_are_coulombs_sum_in_the_unit_asked_for(example):
    folder, names = example
    with h5py.File(folder / "problems.h5") as problems, h5py.File(folder / "results.h5") as results:
        pair = problems["potential/pair"]
        offset = pair["offset"][:]
        assert names["unit"] == "kT/e"
        for problem in range(2):
            charges = slice(offset[problem], offset[problem + 1])
            expected = coulomb(
                10 * pair["position"][charges],
                pair["charge"][charges],
                10 * pair["origin"][:],
                10 * pair["spacing"][problem],
                pair.attrs["shape"],
            ) / (KT_PER_E * 310)
            found = results["potential/pair/V"][problem]
            assert np.allclose(found, expected, rtol=1e-4, atol=1e-3)


def test_frames_of_h5md_are_the_batch(example):
    folder, _ = example
    with h5py.File(folder / "problems.h5") as problems, h5py.File(folder / "results.h5") as results:
        ions = problems["particles/ions"]
        found = results["potential/trajectory/V"][:]
        assert found.shape == (3, 8, 8, 8)
        for frame in range(3):
            expected = coulomb(ions["position/value"][frame], ions["charge"][:], [-7] * 3, [2] * 3, (8, 8, 8))
            assert np.allclose(found[frame], expected, rtol=1e-4, atol=1e-4)


def test_energies_and_fields_at_charges_are_coulombs_sum_cut_off(example):
    _, names = example
    with h5py.File(example[0] / "problems.h5") as problems:
        binding = problems["potential/binding"]
        position, charge = binding["position"][:], binding["charge"][:]
    displacement = position[:, None] - position
    r = np.sqrt((displacement**2).sum(-1))
    np.fill_diagonal(r, np.inf)
    w = np.clip(1 - r**2 / 12**2, 0, None) * np.isfinite(r)
    factor = 332.06371329919225 / 4  # kcal/mol/e
    potential = factor * (charge * w**2 / r).sum(1)
    slope = w**2 / r**3 + 4 * w / (12**2 * r)
    field = factor * (charge[:, None] * displacement * slope[..., None]).sum(1)
    assert np.allclose(names["field_at_charges"], field, rtol=1e-5, atol=1e-4)
    energy = factor * (charge[:10, None] * charge[10:] * w[:10, 10:] ** 2 / r[:10, 10:]).sum()
    assert np.isclose(names["binding_energy"], energy, rtol=1e-8)
    with h5py.File(example[0] / "results.h5") as results:
        binding = results["potential/binding"]
        assert np.allclose(binding["V"], potential, rtol=1e-5, atol=1e-4)
        assert np.isclose(binding["V_mean"][0], potential.mean(), atol=1e-4)
        assert binding["energy"].attrs["unit"] == b"kcal/mol"


def test_points_of_the_second_problem_see_its_charges(example):
    folder, names = example
    with h5py.File(folder / "problems.h5") as problems:
        surface = problems["potential/surface"]
        d = surface["points"][200:][:, None] - surface["position"][12:]
        expected = VOLT * (surface["charge"][12:] / np.sqrt((d**2).sum(-1) + 0.1**2)).sum(1)
    assert np.allclose(names["v_of_surface"], expected, rtol=1e-5, atol=1e-5)


def test_energies_of_pairs_are_the_sum_over_a_cube_of_salt(example):
    _, names = example
    with h5py.File(example[0] / "results.h5") as results:
        salt = results["pair_energy/salt"]
        per_charge, energy = salt["energy_per_charge"][:], salt["energy"][0]
        assert salt["energy"].attrs["unit"] == b"e^2/angstrom"
    site = names["site"]
    r = 2.82 * np.linalg.norm(site[:, None] - site, axis=-1)
    np.fill_diagonal(r, np.inf)
    charge = 1.0 - 2 * (site.sum(1) % 2)
    pairs = charge[:, None] * charge / r
    assert np.isclose(energy, pairs.sum() / 2, rtol=1e-6)
    assert np.allclose(per_charge, pairs.sum(1) / 2, rtol=1e-6)


def test_visibilities_are_the_sums_over_samples_that_are_not_flagged(example):
    _, names = example
    x, i, j = names["voltage"], *np.tril_indices(5)
    with h5py.File(example[0] / "problems.h5") as problems, h5py.File(example[0] / "results.h5") as results:
        good = ~problems["correlation/array/flag"][:]
        signal = np.where(good, x, 0)
        array = results["correlation/array"]
        assert array["visibility"].shape == (4, 8, 15)
        for k in range(4):
            times = slice(32 * k, min(100, 32 * (k + 1)))
            weight = np.einsum("cti,ctj->cij", *[good[:, times].astype(int)] * 2)[:, i, j]
            expected = np.einsum("cti,ctj->cij", signal[:, times], signal[:, times].conj())[:, i, j]
            assert np.array_equal(array["weight"][k], weight)
            found = array["visibility"][k]
            assert np.allclose(found[weight > 0], (expected[weight > 0] / weight[weight > 0]), rtol=1e-4, atol=1e-4)
            assert np.isnan(found[weight == 0]).all()
        assert np.array_equal(array["visibility"][:, :, 7], names["v_31"])
        assert (i[7], j[7]) == (3, 1)
        assert np.array_equal(array["frequency"], 1.4e9 + 1e5 * np.arange(8))
        counts = problems["correlation/counts/signal"][:].astype(np.int64) @ [1, 1j]
        expected = np.einsum("cti,ctj->cij", counts, counts.conj())[:, i, j]
        assert results["correlation/counts/visibility"].dtype == np.int32
        assert np.array_equal(results["correlation/counts/visibility"][0] @ [1, 1j], expected)
        packed = problems["correlation/packed/signal"][:].astype(int)
        real, imaginary = ((half ^ 8) - 8 for half in (packed >> 4, packed & 15))
        exact = real + 1j * imaginary
        expected = np.einsum("cti,ctj->cij", exact, exact.conj())[:, i, j]
        assert np.array_equal(results["correlation/packed/visibility"][0] @ [1, 1j], expected)


def test_every_dataset_of_the_results_is_documented(example):
    folder, _ = example
    text = FORMAT.read_text()
    with h5py.File(folder / "results.h5") as file:
        undocumented = []
        file.visititems(
            lambda name, item: None
            if not isinstance(item, h5py.Dataset) or name.startswith("VTKHDF") or f"`{name.split('/')[-1]}`" in text
            else undocumented.append(name)
        )
        for group in ("potential/pair", "potential/binding", "solve/likelihood", "verification/solve/dense", "provenance",
                      "pair_energy/salt", "correlation/array"):
            undocumented += [f"{group}@{name}" for name in file[group].attrs if f"`{name}`" not in text]
    assert undocumented == []


def is_name_alone(dataset):
    """Returns whether a dataset is an axis without numbers. Its attribute NAME then has netCDF's words for that."""
    return dataset.attrs.get("NAME", b"").startswith(b"This is a netCDF dimension but not a netCDF variable")


def test_every_dataset_opens_in_xarray(example):
    xarray = pytest.importorskip("xarray")
    folder, _ = example
    with h5py.File(folder / "results.h5") as file:
        for kind in ("solve", "potential", "pair_energy", "correlation"):
            for name in file[kind]:
                group = f"{kind}/{name}"
                with xarray.open_dataset(folder / "results.h5", group=group, engine="h5netcdf") as opened:
                    assert not any(str(axis).startswith("phony") for axis in opened.sizes), group
                    assert set(opened.variables) == {dataset for dataset in file[group] if not is_name_alone(file[group][dataset])}
                    for dataset in opened.variables:
                        values = file[group][dataset][:]
                        assert np.array_equal(opened[dataset].values, values, equal_nan=values.dtype.kind in "fc")


# ---- ParaView's reader -----------------------------------------------------------------------------------------------


def vtk_frames(path):
    """Returns (dimensions, origin, spacing, (V, E) per time step) as VTK reads them."""
    from vtkmodules.util.numpy_support import vtk_to_numpy
    from vtkmodules.vtkIOHDF import vtkHDFReader

    reader = vtkHDFReader()
    reader.SetFileName(str(path))
    assert reader.CanReadFile(str(path))
    reader.Update()
    frames = []
    for step in range(max(1, reader.GetNumberOfSteps())):
        reader.UpdateTimeStep(float(step))
        image = reader.GetOutput()
        frames.append([vtk_to_numpy(image.GetPointData().GetArray(name)).copy() for name in ("V", "E")])
    return image.GetDimensions(), image.GetOrigin(), image.GetSpacing(), frames


def run_lattices(folder, batch, alike):
    """Solves `batch` problems of one charge each, on one lattice if `alike`, else on a separate lattice each."""
    origin = np.tile([-2.0, -1.0, 0.5], (batch, 1))
    if not alike:
        origin += np.arange(batch)[:, None]
    with h5py.File(folder / "in.h5", "w", libver=("v110", "v110")) as file:
        file.attrs["smallbatch_format"] = np.array([1, 0], "int32")
        group = file.create_group("potential/map")
        group.attrs["shape"] = (5, 4, 3)
        group.attrs["field"] = True
        group["position"] = np.linspace(0.1, 0.9, 3 * batch).reshape(batch, 3)
        group["charge"] = np.arange(1.0, batch + 1)
        group["offset"] = np.arange(batch + 1)
        group["origin"] = origin
        group["spacing"] = np.array([1.0, 0.5, 0.25])
    done = subprocess.run(
        [os.environ["SMALLBATCH_BIN"], "run", folder / "in.h5", "-o", folder / "out.h5"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    with h5py.File(folder / "out.h5") as file:
        return list(zip(file["potential/map/V"][:], file["potential/map/E"][:]))


@pytest.mark.parametrize("batch, alike", [(3, True), (3, False), (1, True)])
def test_vtk_opens_the_lattices(tmp_path, batch, alike):
    pytest.importorskip("vtkmodules")
    values = run_lattices(tmp_path, batch, alike)
    dimensions, origin, spacing, frames = vtk_frames(tmp_path / "out.h5")
    assert dimensions == (5, 4, 3)
    assert origin == (-2.0, -1.0, 0.5)
    assert spacing == (1.0, 0.5, 0.25)
    assert len(frames) == (batch if alike else 1)
    for (v, e), (expected_v, expected_e) in zip(frames, values):
        assert np.array_equal(v.reshape(3, 4, 5), expected_v)
        assert e.shape == (60, 3)
        assert np.array_equal(e.reshape(3, 4, 5, 3), expected_e)


# ---- files of h5py users ---------------------------------------------------------------------------------------------


def info(path):
    return subprocess.run([os.environ["SMALLBATCH_BIN"], "info", str(path)], capture_output=True, text=True)


@pytest.mark.parametrize(
    "options",
    [{}, {"libver": ("v110", "v110")}, {"libver": ("earliest", "v110")}, {"userblock_size": 512}],
    ids=["default", "v110", "earliest", "user block"],
)
def test_files_of_h5py_are_read(tmp_path, options):
    path = tmp_path / "in.h5"
    with h5py.File(path, "w", **options) as file:
        file.attrs["smallbatch_format"] = np.array([1, 0], "int32")
        file.create_dataset("solve/plain/A", data=np.eye(3)[None])
        file.create_dataset(
            "solve/gzip/A", data=np.tile(np.eye(3, dtype=">f4"), (99, 1, 1)), compression="gzip", shuffle=True,
            fletcher32=True, maxshape=(None, 3, 3),
        )
    done = info(path)
    assert done.returncode == 0, done.stderr
    assert "plain" in done.stdout and "gzip" in done.stdout


def test_chunks_of_h5py_hold_the_same_systems(tmp_path):
    """However h5py stores the systems, the solutions equal those of the plain dataset, bit by bit."""
    rng = np.random.default_rng(5)
    for trial in range(12):
        n, batch = rng.integers(1, 12), rng.integers(1, 60)
        g = rng.standard_normal((batch, n, n))
        a = g @ g.transpose(0, 2, 1) + n * np.eye(n)
        b = rng.standard_normal((batch, n, 2))
        dtype = rng.choice(["<f4", ">f4", "<f8", ">f8"])
        with h5py.File(tmp_path / f"{trial}.h5", "w", libver=("earliest", "v110")) as file:
            file.attrs["smallbatch_format"] = np.array([1, 0], "int32")
            for name in ["plain", "chunked", "guessed"]:
                for key, values in [("A", a), ("b", b)]:
                    options = {}
                    if name == "guessed":
                        options = dict(chunks=True, compression=int(rng.integers(1, 10)))
                    elif name == "chunked":
                        options = dict(
                            chunks=tuple(int(rng.integers(1, 2 * length + 1)) for length in values.shape),
                            maxshape=(None,) * 3, shuffle=bool(rng.integers(2)), fletcher32=bool(rng.integers(2)),
                            compression=[None, "gzip"][rng.integers(2)],
                        )
                    file.create_dataset(f"solve/{name}/{key}", data=values.astype(dtype), **options)
        run = [os.environ["SMALLBATCH_BIN"], "run", tmp_path / f"{trial}.h5", "-o", tmp_path / "out.h5", "--overwrite"]
        done = subprocess.run([*run, "--verify", "none"], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        with h5py.File(tmp_path / "out.h5") as file:
            plain = file["solve/plain/x"][...]
            assert np.isfinite(plain).all()
            for name in ["chunked", "guessed"]:
                assert np.array_equal(file[f"solve/{name}/x"][...], plain), f"trial {trial}, {name}"


def test_what_h5py_and_xarray_add_by_themselves_is_no_stranger(tmp_path):
    xarray = pytest.importorskip("xarray")
    a = xarray.DataArray(np.tile(np.eye(3), (4, 1, 1)), dims=("system", "row", "column"), attrs={"long_name": "A"})
    xarray.Dataset({"A": a}, coords={"system": np.arange(4.0)}).to_netcdf(
        tmp_path / "in.h5", group="solve/netcdf", engine="h5netcdf"
    )
    with h5py.File(tmp_path / "in.h5", "a") as file:
        file.attrs["smallbatch_format"] = np.array([1, 0], "int32")
        file["solve/scaled/A"] = np.ones((2, 1, 1))
        file["solve/scaled/A"].dims[0].label = "system"
        file["solve/scaled/b"] = np.ones((2, 1))
        file["solve/scaled/b"].make_scale("system")
        file["solve/scaled/A"].dims[0].attach_scale(file["solve/scaled/b"])
        assert {"DIMENSION_LIST", "DIMENSION_LABELS"} <= set(file["solve/scaled/A"].attrs)
        assert len(file["solve/netcdf/A"].attrs) > 1
    done = info(tmp_path / "in.h5")
    assert done.returncode == 0, done.stderr


def test_the_attributes_of_others_that_the_page_lists_are_left_alone(tmp_path):
    section = FORMAT.read_text().split("### Names")[1].split("## Results")[0].split("These attributes are left alone:")[1]
    names = [name.replace("...", "x") for name in re.findall(r"`(.*?)`", section)]
    assert len(names) > 20
    with h5py.File(tmp_path / "in.h5", "w") as file:
        file.attrs["smallbatch_format"] = np.array([1, 4], "int32")
        file["solve/s/A"] = np.ones((1, 1, 1))
        for name in names:
            file["solve/s"].attrs[name] = file["solve/s/A"].attrs[name] = "theirs"
    done = info(tmp_path / "in.h5")
    assert done.returncode == 0, done.stderr
    with h5py.File(tmp_path / "in.h5", "a") as file:
        file["solve/s"].attrs["mine"] = 1
    done = info(tmp_path / "in.h5")
    assert done.returncode == 3 and '"mine" is unknown' in done.stderr


def test_structures_newer_than_the_library_are_refused_with_the_remedy(tmp_path):
    path = tmp_path / "in.h5"
    with h5py.File(path, "w", libver=("v110", "v110")) as file:
        file.attrs["smallbatch_format"] = np.array([1, 0], "int32")
        file["solve/s/A"] = np.ones((9, 1, 1))
    content = bytearray(path.read_bytes())
    content[8] = 9  # the superblock's version
    path.write_bytes(content)
    done = info(path)
    assert done.returncode != 0
    assert str(path) in done.stderr and "version" in done.stderr and 'libver=("v110", "v110")' in done.stderr
