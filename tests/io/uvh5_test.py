"""UVH5: what `export` writes is what pyuvdata reads. Result files are written with h5py, as io/FORMAT.md describes
them. SMALLBATCH_BIN names the command."""

import h5py
import numpy as np
import pytest

SECONDS_PER_DAY = 86400


def write_results(path, inputs=4, channels=5, times=7, integrate=3, signal="float32", output="sum", positions=None,
                  **attributes):
    """Random visibilities; returns (visibility, weight) as complex128 (integration, channel, i, j), i >= j."""
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
    """As pyuvdata reads it; what it warns of is an error."""
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
    assert "4 inputs, 5 channels, 3 integrations" in done.stdout and "not known" not in done.stdout
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
        assert header["uvw_array"][1].tolist() == [-1, 0, 0]  # from antenna 1 to antenna 0, which is to the west
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


@pytest.mark.parametrize("missing, says", [("frequency", "add the dataset frequency"),
                                           ("sample_time", "add the attribute sample_time")])
def test_what_uvh5_needs_and_is_not_known_is_said(smallbatch, tmp_path, missing, says):
    write_results(tmp_path / "r.h5", sample_time=None if missing == "sample_time" else 1.0)
    if missing == "frequency":
        with h5py.File(tmp_path / "r.h5", "a") as file:
            del file["correlation/array/frequency"]
    done = smallbatch("export", "r.h5", "-o", "array.uvh5", expect=3)
    assert says in done.stderr.lower() and not (tmp_path / "array.uvh5").exists()


def test_potentials_are_no_visibilities(smallbatch, tmp_path):
    write_results(tmp_path / "r.h5")
    done = smallbatch("export", "r.h5", "-o", "map.dx", expect=None)
    assert done.returncode == 3 and "holds no potential maps" in done.stderr
    done = smallbatch("export", "r.h5", "--set", "other", "-o", "a.uvh5", expect=None)
    assert done.returncode == 2 and "holds no correlation set 'other'" in done.stderr and "array" in done.stderr
