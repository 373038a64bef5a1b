"""pyuvdata reads antennas, feeds, telescope and unit of a problem file from the exported UVH5 file.

SMALLBATCH_BIN names the command."""

import h5py
import numpy as np
import pytest

from uvh5_test import opened

PLACES = {"south": (-30.72, 21.43, 1051.7), "north": (40.82, -121.47, 1008.0)}


def write_dual(path, feeds="xy", labelled=True, swapped=False, **attributes):
    """Writes signals of 3 antennas with two feeds. Returns them (channel, time, antenna, feed) and positions."""
    rng = np.random.default_rng(6)
    signal = (rng.integers(-9, 10, (2, 8, 3, 2, 2)) @ [1, 1j]).astype("complex64")
    position = rng.uniform(-50, 50, (3, 3))
    inputs = [(a, f) for a in range(3) for f in range(2)]
    if swapped:
        inputs = [(a, f) for f in (1, 0) for a in (2, 0, 1)]
    with h5py.File(path, "w", libver=("v110", "v110")) as file:
        file.attrs["smallbatch_format"] = np.array([1, 9], np.int32)
        group = file.create_group("correlation/array")
        group["signal"] = np.stack([signal[:, :, a, f] for a, f in inputs], -1)
        group["frequency"] = [1.4e8, 1.41e8]
        group["input_position"] = [position[a] for a, _ in inputs]
        if labelled:
            group["input_antenna"] = np.array([(7, 2, 31)[a] for a, _ in inputs], "u2")
            group["input_antenna_name"] = np.array([("core", "west", "far")[a] for a, _ in inputs], "S")
            group["input_feed"] = np.array([feeds[f] for _, f in inputs], "S")
        for name, value in {"integrate": 4, "sample_time": 2.0, "start_time": 2460000.25, **attributes}.items():
            group.attrs[name] = value
    return signal, position


@pytest.mark.parametrize("feeds, products", [("xy", ["xx", "yy", "xy", "yx"]), ("rl", ["rr", "ll", "rl", "lr"]),
                                             ("XY", ["xx", "yy", "xy", "yx"])])
@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("place", list(PLACES))
def test_two_feeds_of_an_antenna_are_polarisations(smallbatch, tmp_path, feeds, products, swapped, place):
    latitude, longitude, altitude = PLACES[place]
    signal, position = write_dual(tmp_path / "p.h5", feeds, swapped=swapped, telescope="Test Array", latitude=latitude,
                                  longitude=longitude, altitude=altitude, visibility_unit="K str")
    smallbatch("run", "p.h5", "-o", "r.h5")
    assert "telescope Test Array, in K str" in smallbatch("info", "p.h5").stdout
    smallbatch("verify", "p.h5", "r.h5")
    done = smallbatch("export", "r.h5", "-o", "out.uvh5")
    assert "known" not in done.stdout
    uv = opened(tmp_path / "out.uvh5")
    assert uv.telescope.name == "Test Array" and uv.vis_units == "K str" and uv.Npols == 4 and uv.Nants_data == 3
    assert np.allclose(uv.telescope.location_lat_lon_alt_degrees, PLACES[place])
    numbers = uv.telescope.antenna_numbers.tolist()
    assert [uv.telescope.antenna_names[numbers.index(n)] for n in (7, 2, 31)] == ["core", "west", "far"]
    found = uv.telescope.get_enu_antpos()
    for a, n in enumerate((7, 2, 31)):
        assert np.allclose(found[numbers.index(n)], position[a], atol=1e-6)
        for b, m in enumerate((7, 2, 31)):
            for product in products:
                one, two = (feeds.lower().index(letter) for letter in product)
                expected = [(signal[:, t:t + 4, a, one] * signal[:, t:t + 4, b, two].conj()).sum(1) for t in (0, 4)]
                assert np.allclose(uv.get_data(n, m, product), expected, atol=1e-4), (n, m, product)
    ours = uv.uvw_array.copy()
    uv.set_uvws_from_antenna_positions()
    assert np.allclose(uv.uvw_array, ours, atol=1e-6)


def test_two_inputs_at_one_place_are_one_antenna(smallbatch, tmp_path):
    signal, _ = write_dual(tmp_path / "p.h5", labelled=False)
    smallbatch("run", "p.h5", "-o", "r.h5")
    done = smallbatch("export", "r.h5", "-o", "out.uvh5")
    assert "feeds are not known: x and y" in done.stdout and "0 N 0 E" in done.stdout
    uv = opened(tmp_path / "out.uvh5")
    assert uv.Nants_data == 3 and uv.Npols == 4
    assert np.allclose(uv.get_data(2, 0, "yx")[0], (signal[:, :4, 2, 1] * signal[:, :4, 0, 0].conj()).sum(1), atol=1e-4)


def test_a_feed_that_an_antenna_lacks_is_flagged(smallbatch, tmp_path):
    signal, _ = write_dual(tmp_path / "p.h5")
    with h5py.File(tmp_path / "p.h5", "a") as file:
        group = file["correlation/array"]
        for name in ("signal", "input_position", "input_antenna", "input_antenna_name", "input_feed"):
            values = group[name][...]
            del group[name]
            group[name] = values[..., :5] if name == "signal" else values[:5]
    smallbatch("run", "p.h5", "-o", "r.h5")
    smallbatch("export", "r.h5", "-o", "out.uvh5")
    uv = opened(tmp_path / "out.uvh5")
    assert uv.get_flags(31, 31, "yy").all() and uv.get_flags(31, 7, "yx").all() and not uv.get_flags(31, 7, "xy").any()
    assert np.allclose(uv.get_data(31, 7, "xy")[0], (signal[:, :4, 2, 0] * signal[:, :4, 0, 1].conj()).sum(1), atol=1e-4)


def change(name, value):
    def changed(group):
        if name in group:
            del group[name]
        group[name] = value

    return changed


@pytest.mark.parametrize("edit, says", [
    (change("input_feed", np.array(["x"] * 6, "S")), ["inputs 0 and 1 are the same feed of one antenna", "input_feed"]),
    (change("input_feed", np.array(["x", "l"] * 3, "S")), ["linear", "circular"]),
    (change("input_antenna", np.arange(6)), ["inputs 0 and 1 belong to different antennas but are at one place"]),
    (change("input_antenna", [1, 1, 2, 2, 2, 2]), ["inputs 2 and 4 belong to antenna 2 but are not at one place"]),
    (change("input_feed", np.array(["x", "y", "z", "y", "x", "y"], "S")), ["input_feed[2]", '"z"']),
    (change("input_feed", np.array(["x", "y"], "S")), ["input_feed", "(6)", "(2)"]),
    (change("input_antenna", np.ones(6)), ["input_antenna", "expected integers, found float64"]),
    (change("input_antenna", -np.arange(6)), ["input_antenna[1]", "found -1"]),
    (lambda g: g.attrs.__setitem__("latitude", 12.0), ["latitude, longitude, altitude", "not the others"]),
    (lambda g: g.attrs.__setitem__("visibility_unit", "mJy"), ["visibility_unit", '"mJy"']),
    (lambda g: g.attrs.__setitem__("phase_center", "Fornax A"), ["phased", "Earth's rotation"]),
])
def test_arrays_that_contradict_themselves_are_refused(smallbatch, tmp_path, edit, says):
    write_dual(tmp_path / "p.h5")
    with h5py.File(tmp_path / "p.h5", "a") as file:
        edit(file["correlation/array"])
    done = smallbatch("run", "p.h5", "-o", "r.h5", expect=None)
    if done.returncode == 0:
        done = smallbatch("export", "r.h5", "-o", "out.uvh5", expect=3)
    assert done.returncode == 3 and all(words in done.stderr for words in says), done.stderr
    assert not (tmp_path / "out.uvh5").exists()


def test_shares_keep_what_the_array_is(smallbatch, tmp_path):
    write_dual(tmp_path / "p.h5", telescope="Test Array")
    for share in ("1/2", "2/2"):
        smallbatch("run", "p.h5", "--shard", share, "-o", f"r{share[0]}.h5")
    smallbatch("merge", "r1.h5", "r2.h5", "-o", "r.h5")
    smallbatch("run", "p.h5", "-o", "whole.h5")
    for name in ("r", "whole"):
        smallbatch("export", f"{name}.h5", "-o", f"{name}.uvh5")
    merged, whole = opened(tmp_path / "r.uvh5"), opened(tmp_path / "whole.uvh5")
    assert merged == whole and merged.telescope.name == "Test Array"


def test_verify_refuses_results_of_another_array(smallbatch, tmp_path):
    write_dual(tmp_path / "p.h5", telescope="Test Array")
    smallbatch("run", "p.h5", "-o", "r.h5")
    with h5py.File(tmp_path / "p.h5", "a") as file:
        file["correlation/array"].attrs["telescope"] = "Other"
    assert "telescope" in smallbatch("verify", "p.h5", "r.h5", expect=3).stderr
