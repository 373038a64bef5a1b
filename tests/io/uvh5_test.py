"""pyuvdata reads the UVH5 files that `export` writes, and `import` reads those that pyuvdata writes.

h5py writes the result files, as io/FORMAT.md describes them. SMALLBATCH_BIN names the command."""

import h5py
import numpy as np
import pytest

from problems import add_solve, open_problem_file

SECONDS_PER_DAY = 86400


def write_results(path, inputs=4, channels=5, times=7, integrate=3, signal="float32", output="sum", positions=None,
                  **attributes):
    """Writes random visibilities. Returns them and their weights, each (integration, channel, baseline)."""
    rng = np.random.default_rng(inputs)
    integrations = -(-times // integrate)
    baselines = inputs * (inputs + 1) // 2
    i, j = np.tril_indices(inputs)
    shape = (integrations, channels, baselines)
    parts = rng.integers(-9, 10, (*shape, 2)) * (1 if output == "sum" else 0.25)
    parts[..., i == j, 1] = 0
    weight = np.full(shape, integrate, np.int32)
    weight[-1] = times - (integrations - 1) * integrate
    weight[0, 1, 2] = 0
    with h5py.File(path, "w", libver=("v110", "v110")) as file:
        file.attrs["smallbatch_format"] = np.array([1, 4], np.int32)
        file.create_group("provenance").attrs["kind"] = np.bytes_("results")
        group = file.create_group("correlation/array")
        as_floats = signal == "float32" or output == "mean"
        group["visibility"] = (parts @ [1, 1j]).astype(np.complex64) if as_floats else parts.astype(np.int32)
        group["weight"] = weight
        group["info"] = np.zeros(channels, np.int32)
        group["frequency"] = 1.4e9 + 2.5e5 * np.arange(channels)
        if positions is not None:
            group["input_position"] = positions
        attributes = {"sample_time": 0.5, "start_time": 2460000.25, **attributes}
        for name, value in {"integrate": integrate, "times": times, "inputs": inputs, "signal": signal,
                            "output": output, **attributes}.items():
            if value is not None:
                group.attrs[name] = np.bytes_(value) if isinstance(value, str) else value
    return parts @ [1, 1j], weight


def opened(path):
    """Returns the file as pyuvdata reads it. A warning of pyuvdata is an error."""
    pyuvdata = pytest.importorskip("pyuvdata")
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        uv = pyuvdata.UVData.from_file(path, file_type="uvh5")
        assert uv.check()
    return uv


@pytest.mark.parametrize("signal, output", [("float32", "sum"), ("int8", "sum"), ("int4", "mean")])
def test_pyuvdata_finds_every_visibility_where_it_belongs(smallbatch, tmp_path, signal, output):
    position = np.random.default_rng(3).uniform(-200, 200, (4, 3))
    visibility, weight = write_results(tmp_path / "r.h5", signal=signal, output=output, positions=position)
    done = smallbatch("export", "r.h5", "-o", "array.uvh5")
    assert "4 inputs, 5 channels, 3 integrations" in done.stdout
    assert not any(known in done.stdout for known in ["positions", "J2000"])
    uv = opened(tmp_path / "array.uvh5")
    assert uv.data_array.dtype == (np.complex128 if (signal, output) == ("int8", "sum") else np.complex64)
    assert np.array_equal(uv.get_ants(), np.arange(4))
    assert np.array_equal(uv.freq_array, 1.4e9 + 2.5e5 * np.arange(5))
    assert np.array_equal(uv.channel_width, np.full(5, 2.5e5))
    seconds = np.array([1.5, 1.5, 0.5])
    middle = 2460000.25 + np.array([0.75, 2.25, 3.25]) / SECONDS_PER_DAY
    east_north_up = uv.telescope.get_enu_antpos()
    assert np.allclose(east_north_up, position, atol=1e-6)
    for i in range(4):
        for j in range(i + 1):
            b = i * (i + 1) // 2 + j
            expected = visibility[:, :, b] * (weight[:, :, b] > 0)
            assert np.array_equal(uv.get_data(i, j, "xx"), expected)
            assert np.array_equal(uv.get_data(j, i, "xx"), expected.conj())
            assert np.array_equal(uv.get_flags(i, j), weight[:, :, b] == 0)
            assert np.allclose(uv.get_nsamples(i, j), weight[:, :, b] / np.array([3, 3, 1])[:, None])
            assert np.allclose(uv.get_times(i, j), middle, rtol=0, atol=1e-9)
            rows = uv.antpair2ind(i, j)
            assert np.array_equal(uv.integration_time[rows], seconds)
            assert np.allclose(uv.uvw_array[rows], position[j] - position[i], atol=1e-9)


def test_uvw_are_the_positions_of_the_antennas_for_pyuvdata(smallbatch, tmp_path):
    write_results(tmp_path / "r.h5", positions=np.random.default_rng(4).uniform(-50, 50, (4, 3)))
    smallbatch("export", "r.h5", "-o", "array.uvh5")
    uv = opened(tmp_path / "array.uvh5")
    ours = uv.uvw_array.copy()
    uv.set_uvws_from_antenna_positions()
    assert np.allclose(uv.uvw_array, ours, atol=1e-6)


def test_the_file_is_as_the_memo_says(smallbatch, tmp_path):
    write_results(tmp_path / "r.h5", start_time=None)
    done = smallbatch("export", "r.h5", "-o", "array.uvh5")
    assert "a metre apart" in done.stdout and "J2000" in done.stdout
    with h5py.File(tmp_path / "array.uvh5") as file:
        assert set(file) == {"Header", "Data"} and not file.attrs
        header = {name: item[()] for name, item in file["Header"].items()}
        for name in ["Nants_data", "Nants_telescope", "Nbls", "Nblts", "Nfreqs", "Npols", "Nspws", "Ntimes"]:
            assert header[name].shape == () and np.issubdtype(header[name].dtype, np.integer), name
        sizes = {name[1:]: int(header[name]) for name in header if name[0] == "N"}
        assert sizes == {"ants_data": 4, "ants_telescope": 4, "bls": 10, "blts": 30, "freqs": 5, "pols": 1, "spws": 1,
                         "times": 3}
        for name in ["telescope_name", "instrument", "history", "version", "vis_units"]:
            assert isinstance(header[name], bytes), name
        assert header["antenna_names"].tolist() == [b"0", b"1", b"2", b"3"]
        assert header["ant_1_array"][:4].tolist() == [0, 1, 1, 2] and header["ant_2_array"][:4].tolist() == [0, 0, 1, 0]
        assert header["uvw_array"][1].tolist() == [-1, 0, 0]  # from antenna 1 to antenna 0, to the west
        assert header["time_array"][0] == 2451545 + 0.75 / SECONDS_PER_DAY
        for name, dtype in {"visdata": np.complex64, "flags": np.bool_, "nsamples": np.float32}.items():
            assert file["Data"][name].shape == (30, 5, 1) and file["Data"][name].dtype == dtype, name


def test_numbers_that_are_none_are_flagged_and_autos_are_real(smallbatch, tmp_path):
    write_results(tmp_path / "r.h5")
    with h5py.File(tmp_path / "r.h5", "a") as file:
        values = file["correlation/array/visibility"][...]
        values[1, 2, 1] = np.nan
        values[1, 2, 0] = 3 + 1e-9j
        file["correlation/array/visibility"][...] = values
    smallbatch("export", "r.h5", "-o", "array.uvh5")
    with h5py.File(tmp_path / "array.uvh5") as file:
        assert file["Data/visdata"][11, 2, 0] == 0 and file["Data/flags"][11, 2, 0]
        assert file["Data/visdata"][10, 2, 0] == 3 and not file["Data/flags"][10, 2, 0]
        assert file["Data/flags"][...].sum() == 2


def test_integrations_that_julian_dates_do_not_tell_apart_are_refused(smallbatch, tmp_path):
    write_results(tmp_path / "r.h5", sample_time=1e-6)
    done = smallbatch("export", "r.h5", "-o", "array.uvh5", expect=3)
    assert "too short for Julian dates" in done.stderr and not (tmp_path / "array.uvh5").exists()


@pytest.mark.parametrize("missing, says", [("frequency", "add the dataset frequency"),
                                           ("sample_time", "add the attribute 'sample_time'")])
def test_what_uvh5_needs_and_is_not_known_is_said(smallbatch, tmp_path, missing, says):
    write_results(tmp_path / "r.h5", sample_time=None if missing == "sample_time" else 1.0)
    if missing == "frequency":
        with h5py.File(tmp_path / "r.h5", "a") as file:
            del file["correlation/array/frequency"]
    done = smallbatch("export", "r.h5", "-o", "array.uvh5", expect=3)
    assert says in done.stderr.lower() and not (tmp_path / "array.uvh5").exists()


@pytest.mark.parametrize("output", ["a.uvh5", "map.dx", "map.png"])
def test_where_nothing_can_be_exported_it_says_what_can(smallbatch, tmp_path, output):
    with open_problem_file(tmp_path / "p.h5") as file:
        add_solve(file, name="stiff")
    smallbatch("run", "p.h5", "-o", "r.h5")
    done = smallbatch("export", "r.h5", "-o", output, expect=3)
    assert all(words in done.stderr for words in ["it holds solve/stiff", "lattices of potential sets", "visibilities of"])


def test_potentials_are_no_visibilities(smallbatch, tmp_path):
    write_results(tmp_path / "r.h5")
    done = smallbatch("export", "r.h5", "-o", "map.dx", expect=None)
    assert done.returncode == 3 and "holds no potential maps" in done.stderr
    done = smallbatch("export", "r.h5", "--set", "other", "-o", "a.uvh5", expect=None)
    assert done.returncode == 2 and "holds no correlation set 'other'" in done.stderr and "array" in done.stderr


# ---- import ----------------------------------------------------------------------------------------------------------


def test_what_was_exported_comes_back(smallbatch, tmp_path):
    position = np.random.default_rng(3).uniform(-200, 200, (4, 3))
    visibility, weight = write_results(tmp_path / "r.h5", times=6, output="mean", positions=position)
    smallbatch("export", "r.h5", "-o", "array.uvh5")
    done = smallbatch("import", "array.uvh5", "-o", "back.h5")
    assert "results, correlation/visibilities, 4 inputs, 5 channels, 2 integrations" in done.stdout
    with h5py.File(tmp_path / "back.h5") as file:
        group = file["correlation/visibilities"]
        found = group["visibility"][...]
        assert np.array_equal(group["weight"], weight > 0)
        assert np.array_equal(found[weight > 0], visibility[weight > 0]) and np.isnan(found[weight == 0]).all()
        assert np.allclose(group["input_position"], position)
        assert group["frequency"][:].tolist() == (1.4e9 + 2.5e5 * np.arange(5)).tolist()
        assert group.attrs["sample_time"] == 1.5 and abs(group.attrs["start_time"] - 2460000.25) < 1e-9
        assert not file["verification/correlation/visibilities/verdict"][...].any()
    smallbatch("info", "back.h5")
    smallbatch("export", "back.h5", "-o", "again.uvh5")
    with h5py.File(tmp_path / "array.uvh5") as one, h5py.File(tmp_path / "again.uvh5") as other:
        assert np.array_equal(one["Data/visdata"], other["Data/visdata"])
        assert np.array_equal(one["Data/flags"], other["Data/flags"])


def write_polarised(path, **packing):
    """Writes three antennas with two feeds, rows in no order, and antenna numbers that do not start at 0.

    Returns the means of the signal (time, channel, input, input)."""
    rng = np.random.default_rng(8)
    x = rng.standard_normal((2, 4, 50, 6, 2)) @ [1, 1j]
    visibility = np.einsum("fcti,fctj->fcij", x, x.conj()).astype(np.complex64)
    numbers = [3, 10, 44]
    rows = [(t, a, b) for t in range(2) for a in range(3) for b in range(a, 3)]
    rng.shuffle(rows)
    values = np.empty((len(rows), 4, 4), np.complex64)
    for row, (t, a, b) in enumerate(rows):
        for p, (one, two) in enumerate([(0, 0), (1, 1), (0, 1), (1, 0)]):
            values[row, :, p] = visibility[t, :, 2 * a + one, 2 * b + two]
    with h5py.File(path, "w") as file:
        header = file.create_group("Header")
        header["ant_1_array"] = [numbers[a] for _, a, _ in rows]
        header["ant_2_array"] = [numbers[b] for _, _, b in rows]
        header["time_array"] = [2460000.0 + t for t, _, _ in rows]
        header["integration_time"] = np.full(len(rows), 10.0)
        header["freq_array"] = np.arange(4) * 1e6
        header["polarization_array"] = [-5, -6, -7, -8]
        data = file.create_group("Data")
        data.create_dataset("visdata", data=values, chunks=(3, 2, 4), **packing)
        data.create_dataset("flags", data=np.zeros(values.shape, bool), chunks=True, **packing)
        data.create_dataset("nsamples", data=np.ones(values.shape, np.float32), chunks=True, **packing)
    return visibility


@pytest.mark.parametrize("packing", [{}, {"compression": "lzf"}, {"compression": "lzf", "shuffle": True, "fletcher32": True},
                                     {"compression": "gzip"}], ids=str)
def test_baselines_of_any_order_and_two_feeds_find_their_places(smallbatch, tmp_path, packing):
    expected = write_polarised(tmp_path / "in.uvh5", **packing)
    smallbatch("import", "in.uvh5", "--set", "sky", "-o", "back.h5")
    i, j = np.tril_indices(6)
    with h5py.File(tmp_path / "back.h5") as file:
        found = file["correlation/sky/visibility"][...]
        assert file["correlation/sky"].attrs["inputs"] == 6
        assert (file["correlation/sky/weight"][...] == 1).all()
    assert np.allclose(found, expected[:, :, i, j], rtol=1e-6, atol=1e-6)


def test_what_pyuvdata_writes_is_read(smallbatch, tmp_path):
    write_results(tmp_path / "r.h5", output="mean", positions=np.eye(4, 3) * 100)
    smallbatch("export", "r.h5", "-o", "array.uvh5")
    uv = opened(tmp_path / "array.uvh5")
    uv.conjugate_bls("ant1<ant2")
    uv.reorder_blts("baseline")
    uv.write_uvh5(str(tmp_path / "theirs.uvh5"))  # flags and nsamples are compressed with LZF
    smallbatch("import", "theirs.uvh5", "-o", "theirs.h5")
    smallbatch("import", "array.uvh5", "-o", "ours.h5")
    with h5py.File(tmp_path / "theirs.h5") as theirs, h5py.File(tmp_path / "ours.h5") as ours:
        for name in ["visibility", "weight", "frequency"]:
            one, other = theirs["correlation/visibilities"][name][...], ours["correlation/visibilities"][name][...]
            assert np.array_equal(one, other, equal_nan=True), name
        assert np.allclose(theirs["correlation/visibilities/input_position"], np.eye(4, 3) * 100)


@pytest.mark.parametrize("change, says", [
    (lambda f: f["Header/polarization_array"].__setitem__(0, 1), ["/Header/polarization_array", "found 1", "Stokes"]),
    (lambda f: f.__delitem__("Data/flags"), ["/Data", '"flags"']),
    (lambda f: f.__delitem__("Header/time_array"), ["/Header", '"time_array"']),
    (lambda f: f["Header/time_array"].__setitem__(3, np.nan), ["/Header/time_array[3]"]),
    (lambda f: (f.__delitem__("Header/freq_array"), f["Header"].__setitem__("freq_array", np.ones(3))),
     ["/Header/freq_array", "(4)", "(3)"]),
    (lambda f: (f.move("Header/ant_1_array", "a"), f["Header"].__setitem__("ant_1_array", f["a"][...].astype("f4"))),
     ["/Header/ant_1_array", "integers", "found float32"]),
    (lambda f: f["Header/ant_1_array"].__setitem__(0, -1), ["/Header/ant_1_array", "found -1"]),
    (lambda f: f["Header/polarization_array"].__setitem__(0, -1), ["/Header/polarization_array", "linear and circular"]),
    (lambda f: f["Header/polarization_array"].__setitem__(0, -6), ["/Header/polarization_array", "-6 twice"]),
    (lambda f: (f.__delitem__("Data/visdata"), f["Data"].__setitem__("visdata", np.ones((12, 4, 4)))),
     ["/Data/visdata", "compounds", "float64"]),
])
def test_wrong_files_are_refused(smallbatch, tmp_path, change, says):
    write_polarised(tmp_path / "in.uvh5")
    with h5py.File(tmp_path / "in.uvh5", "a") as file:
        change(file)
    done = smallbatch("import", "in.uvh5", "-o", "back.h5", expect=3)
    assert all(word in done.stderr for word in ["in.uvh5", *says]), done.stderr


def test_damaged_lzf_is_refused_or_read(smallbatch, tmp_path):
    """Whatever bytes a chunk has, reading it does not crash, and gives no more bytes than the chunk declares."""
    write_polarised(tmp_path / "in.uvh5", compression="lzf")
    with h5py.File(tmp_path / "in.uvh5") as file:
        chunks = [file[f"Data/{name}"].id.get_chunk_info(0) for name in ["flags", "nsamples"]]
    good, refused = np.frombuffer((tmp_path / "in.uvh5").read_bytes(), np.uint8), 0
    rng = np.random.default_rng(2)
    for _ in range(60):
        damaged = good.copy()
        for chunk in chunks:
            places = chunk.byte_offset + rng.integers(0, chunk.size, 2)
            damaged[places] = rng.integers(0, 256, 2)
        (tmp_path / "in.uvh5").write_bytes(damaged.tobytes())
        done = smallbatch("import", "in.uvh5", "-o", "back.h5", "--overwrite", expect=None)
        assert done.returncode in (0, 3), done.stderr
        refused += done.returncode == 3 and "LZF" in done.stderr
    assert refused > 10


def test_samples_of_a_recorder_become_what_pyuvdata_reads(smallbatch, tmp_path):
    """After import, run and export, pyuvdata reads the sums that numpy computes."""
    parts = np.random.default_rng(5).integers(-128, 128, (40, 3, 4, 2), np.int8)  # time, channel, input
    parts.tofile(tmp_path / "raw.dat")
    smallbatch("import", "raw.dat", "--inputs", 4, "--channels", 3, "--integrate", 16, "--first-frequency", 1e8,
               "--channel-width", 1e6, "--sample-time", 1e-3, "--start-time", 2460000.5, "-o", "p.h5")
    smallbatch("run", "p.h5", "-o", "r.h5")
    smallbatch("export", "r.h5", "-o", "array.uvh5")
    uv = opened(tmp_path / "array.uvh5")
    x = parts.astype(np.int64) @ [1, 1j]
    for i in range(4):
        for j in range(4):
            products = x[:, :, i] * x[:, :, j].conj()
            expected = [products[first:first + 16].sum(0) for first in (0, 16, 32)]
            assert np.array_equal(uv.get_data(i, j, "xx"), expected)
    assert np.allclose(uv.integration_time.reshape(3, -1)[:, 0], [16e-3, 16e-3, 8e-3])


def imported_after(smallbatch, tmp_path, edit):
    """Imports an exported file after `edit` has changed it. Returns the call, attributes and arrays of the import."""
    write_results(tmp_path / "r.h5", inputs=3, channels=2, times=9)
    smallbatch("export", "r.h5", "-o", "array.uvh5")
    with h5py.File(tmp_path / "array.uvh5", "a") as file:
        edit(file)
    done = smallbatch("import", "array.uvh5", "-o", "i.h5", expect=None)
    if done.returncode != 0:
        return done, {}, {}
    with h5py.File(tmp_path / "i.h5") as file:
        (group,) = file["correlation"].values()
        return done, dict(group.attrs), {name: group[name][...] for name in ("visibility", "weight")}


def test_times_with_gaps_have_no_one_length(smallbatch, tmp_path):
    done, attributes, _ = imported_after(smallbatch, tmp_path, lambda file: None)
    assert done.returncode == 0 and attributes["sample_time"] == 1.5
    (tmp_path / "r.h5").unlink(), (tmp_path / "array.uvh5").unlink(), (tmp_path / "i.h5").unlink()

    def gap(file):
        times = file["Header/time_array"]
        times[...] = np.where(np.arange(times.size) < 6, times[...], times[...] + 1)

    done, attributes, _ = imported_after(smallbatch, tmp_path, gap)
    assert done.returncode == 0 and "sample_time" not in attributes and "start_time" not in attributes


def test_a_baseline_that_comes_twice_is_refused(smallbatch, tmp_path):
    def twice(file):
        file["Header/ant_1_array"][1] = file["Header/ant_1_array"][0]
        file["Header/ant_2_array"][1] = file["Header/ant_2_array"][0]

    done, _, _ = imported_after(smallbatch, tmp_path, twice)
    assert done.returncode == 3 and "has the same baseline at the same time" in done.stderr and not (tmp_path / "i.h5").exists()


def test_what_is_no_number_is_missing(smallbatch, tmp_path):
    def spoil(file):
        values = file["Data/visdata"][...]
        values[4] = np.nan
        file["Data/visdata"][...] = values

    done, _, found = imported_after(smallbatch, tmp_path, spoil)
    assert done.returncode == 0
    assert np.array_equal(np.isnan(found["visibility"]), found["weight"] == 0)
    assert (found["weight"][0, :, 4] == 0).all()


def test_frequencies_are_finite(smallbatch, tmp_path):
    def spoil(file):
        file["Header/freq_array"][1] = np.inf

    done, _, _ = imported_after(smallbatch, tmp_path, spoil)
    assert done.returncode == 3 and "freq_array[1]" in done.stderr
