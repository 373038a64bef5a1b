"""pyuvdata finds its UVH5 files unchanged after `import` and `export`. SMALLBATCH_BIN names the command."""

import h5py
import numpy as np
import pytest

from problems import results_to_change

PLACES = {"south": (-30.72, 21.43, 1051.7), "north": (40.82, -121.47, 1008.0)}


def observation(path, pols=(-5, -6, -7, -8), place="south", unit="Jy", phased=True, flagged=0.0, nsamples=None, autos=True,
                order="time"):
    """Writes a file with pyuvdata: five antennas, three with data, at three times. Antenna numbers have gaps."""
    pyuvdata = pytest.importorskip("pyuvdata")
    from astropy import units
    from astropy.coordinates import EarthLocation

    rng = np.random.default_rng(len(pols))
    latitude, longitude, altitude = PLACES[place]
    feeds = ["r", "l"] if pols[0] > -5 else ["x", "y"]
    telescope = pyuvdata.Telescope.new(
        "Test Array", instrument="correlator",
        location=EarthLocation.from_geodetic(lat=latitude * units.deg, lon=longitude * units.deg, height=altitude * units.m),
        antenna_positions={k: rng.uniform(-100, 100, 3) for k in (3, 10, 44, 45, 70)}, mount_type="fixed", feeds=feeds,
        feed_angle=[0.25, 1.5])
    pairs = [(a, b) for a in (3, 10, 45) for b in (3, 10, 45) if a < b or (a == b and autos)]
    uv = pyuvdata.UVData.new(
        freq_array=1e8 + 1e6 * np.arange(4), polarization_array=list(pols), times=2460000.5 + np.arange(3) * 10 / 86400,
        telescope=telescope, antpairs=pairs, do_blt_outer=True, integration_time=10.0, channel_width=1e6, empty=True,
        vis_units=unit, extra_keywords={"observer": "nobody", "gain": 2.5, "nothing": None, "count": 7})
    shape = uv.data_array.shape
    uv.data_array = (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype("complex64")
    autos = uv.ant_1_array == uv.ant_2_array
    for p, pol in enumerate(pols):
        if pol in (-5, -6, -1, -2):
            uv.data_array[autos, :, p] = np.abs(uv.data_array[autos, :, p])
    uv.nsample_array = (np.ones(shape) if nsamples is None else np.full(shape, nsamples)).astype("float32")
    uv.flag_array = rng.random(shape) < flagged
    if phased:
        uv.phase(lon=5.1, lat=-0.4, cat_name="Fornax A", epoch="J2000")
    if order != "time":
        uv.reorder_blts("baseline")
        uv.conjugate_bls("ant1<ant2" if order == "ant1<ant2" else "ant2<ant1")
    uv.write_uvh5(str(path))
    return read(path)


def read(path):
    pyuvdata = pytest.importorskip("pyuvdata")
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pyuvdata.UVData.from_file(str(path), file_type="uvh5")


def there_and_back(smallbatch, tmp_path):
    """Imports and exports in.uvh5. Returns what import printed, and what pyuvdata reads from the export."""
    done = smallbatch("import", "in.uvh5", "-o", "results.h5", "--overwrite")
    smallbatch("info", "--check", "results.h5")
    smallbatch("export", "results.h5", "-o", "out.uvh5", "--overwrite")
    return done, read(tmp_path / "out.uvh5")


@pytest.mark.parametrize("pols", [(-5, -6, -7, -8), (-1, -2, -3, -4), (-5, -6), (-6,), (-2,), (-8,), (-8, -5)], ids=str)
@pytest.mark.parametrize("phased, place, unit", [(True, "south", "Jy"), (False, "north", "K str"),
                                                 (True, "north", "uncalib")], ids=str)
def test_pyuvdata_finds_what_came_back_equal(smallbatch, tmp_path, pols, phased, place, unit):
    before = observation(tmp_path / "in.uvh5", pols, place, unit, phased)
    done, after = there_and_back(smallbatch, tmp_path)
    assert after == before and not done.stderr
    info = smallbatch("info", "results.h5").stdout
    assert "telescope Test Array" in info and f"in {unit}" in info and ("phased to Fornax A" in info) == phased
    with h5py.File(tmp_path / "results.h5") as file:
        group = file["correlation/visibilities"]
        feeds = {-5: "xx", -6: "yy", -7: "xy", -8: "yx", -1: "rr", -2: "ll", -3: "rl", -4: "lr"}
        letters = sorted(set("".join(feeds[p] for p in pols)), key="xyrl".index)
        assert [feed.decode() for feed in group["input_feed"]] == letters * 3
        assert group["input_antenna"][:].tolist() == [a for a in (3, 10, 45) for _ in letters]
        assert group["input_antenna_name"][0] == b"003"
        assert np.allclose([group.attrs[name] for name in ("latitude", "longitude", "altitude")], PLACES[place])
        if phased:
            assert np.allclose(group.attrs["phase_center_ra"], np.degrees(5.1))


@pytest.mark.parametrize("flagged, order, autos", [
    (0.0, "time", True), (0.3, "time", False), (0.3, "ant1<ant2", True), (0.3, "ant2<ant1", True),
    (0.0, "ant2<ant1", False), (1.1, "time", True)])
def test_rows_of_any_order_and_flags_come_back(smallbatch, tmp_path, flagged, order, autos):
    before = observation(tmp_path / "in.uvh5", flagged=flagged, order=order, autos=autos)
    done, after = there_and_back(smallbatch, tmp_path)
    assert after == before
    assert f"{before.flag_array.sum()} of {before.flag_array.size} visibilities flagged" in done.stdout
    assert ("No visibility of in.uvh5 is left" in done.stderr) == (flagged > 1)
    with h5py.File(tmp_path / "results.h5") as file:
        found = file["correlation/visibilities/visibility"][...]
        weight = file["correlation/visibilities/weight"][...]
    assert np.array_equal(np.isnan(found), weight == 0)
    place = {(a, p): 2 * k + p for k, a in enumerate((3, 10, 45)) for p in (0, 1)}
    for row in range(before.Nblts):
        t = np.unique(before.time_array).tolist().index(before.time_array[row])
        for p, (one, two) in enumerate([(0, 0), (1, 1), (0, 1), (1, 0)]):
            i, j = place[before.ant_1_array[row], one], place[before.ant_2_array[row], two]
            if before.ant_1_array[row] == before.ant_2_array[row] and i != j:
                continue  # an antenna's row has both (x, y) and (y, x), which are one baseline of inputs
            value, flag = before.data_array[row, :, p], before.flag_array[row, :, p]
            b = max(i, j) * (max(i, j) + 1) // 2 + min(i, j)
            assert np.array_equal(weight[t, :, b] == 0, flag)
            assert np.array_equal(found[t, :, b][~flag], (value if i >= j else value.conj())[~flag])


@pytest.mark.parametrize("nsamples", [0.0, -1.2291391e12, np.nan, np.inf, 1e20, 0.37, 5.0])
def test_flags_decide_and_nsamples_do_not(smallbatch, tmp_path, nsamples):
    before = observation(tmp_path / "in.uvh5", nsamples=nsamples)
    done, after = there_and_back(smallbatch, tmp_path)
    assert after == before
    with h5py.File(tmp_path / "results.h5") as file:
        group = file["correlation/visibilities"]
        assert np.isfinite(group["visibility"][...]).all()
        expected = {1e20: 2**30, 5.0: 5}.get(nsamples, 1)
        assert (group["weight"][...] == expected).all()
    is_odd = not (nsamples > 0 and np.isfinite(nsamples))
    size = before.data_array.size
    assert (f"{size} of the {size} visibilities of in.uvh5 are not flagged, but their nsamples" in done.stderr) == is_odd


@pytest.mark.parametrize("kind", ["i1", "u1", "<i2", ">i2", "<u2", "<i4", ">i8", "<u4", ">u8"])
def test_integers_are_of_any_type(smallbatch, tmp_path, kind):
    observation(tmp_path / "in.uvh5")
    with h5py.File(tmp_path / "in.uvh5", "a") as file:
        header = file["Header"]
        for name in [name for name in header if isinstance(header[name], h5py.Dataset) and header[name].dtype.kind == "i"]:
            values = header[name][...]
            if np.array_equal(values, values.astype(kind)):
                del header[name]
                header[name] = values.astype(kind)
        assert header["antenna_numbers"].dtype == header["ant_1_array"].dtype == header["Npols"].dtype == kind
        assert ("u" in kind) == (header["polarization_array"].dtype != kind)
    _, after = there_and_back(smallbatch, tmp_path)
    assert after == read(tmp_path / "in.uvh5")


def make_older(path):
    """Changes a file to the form of pyuvdata 2: an axis of spectral windows, one phase center, no catalog."""
    with h5py.File(path, "a") as file:
        header, data = file["Header"], file["Data"]
        for name in ("visdata", "flags", "nsamples"):
            values = data[name][...]
            del data[name]
            data[name] = values[:, None]
        for name, value in {"freq_array": header["freq_array"][...][None], "channel_width": header["channel_width"][0]}.items():
            del header[name]
            header[name] = value
        center = header["phase_center_catalog"][next(iter(header["phase_center_catalog"]))]
        is_phased = center["cat_type"][()] == b"sidereal"
        header["phase_type"] = np.bytes_("phased" if is_phased else "drift")
        header["object_name"] = center["cat_name"][()]
        if is_phased:
            header["phase_center_ra"], header["phase_center_dec"] = center["cat_lon"][()], center["cat_lat"][()]
            header["phase_center_epoch"], header["phase_center_frame"] = 2000.0, np.bytes_("icrs")
        for name in ("phase_center_catalog", "phase_center_id_array", "Nphase", "flex_spw_id_array", "feed_array", "feed_angle",
                     "Nfeeds", "mount_type"):
            header.pop(name, None)
        header["x_orientation"] = np.bytes_("east")


@pytest.mark.parametrize("phased", [True, False], ids=["phased", "unprojected"])
def test_the_older_shape_is_read_and_written(smallbatch, tmp_path, phased):
    before = observation(tmp_path / "in.uvh5", phased=phased, flagged=0.1)
    make_older(tmp_path / "in.uvh5")
    done, after = there_and_back(smallbatch, tmp_path)
    assert after == read(tmp_path / "in.uvh5") and not done.stderr
    assert np.array_equal(after.data_array, before.data_array) and np.allclose(after.freq_array, before.freq_array)
    assert ("phased to Fornax A" in smallbatch("info", "results.h5").stdout) == phased


def test_more_than_one_spectral_axis_is_refused(smallbatch, tmp_path):
    observation(tmp_path / "in.uvh5")
    with h5py.File(tmp_path / "in.uvh5", "a") as file:
        values = file["Data/visdata"][...]
        del file["Data/visdata"]
        file["Data/visdata"] = np.stack([values, values], axis=1)
    done = smallbatch("import", "in.uvh5", "-o", "results.h5", expect=3)
    assert "(Nblts, 1, Nfreqs, Npols)" in done.stderr


def test_several_phase_centers_come_back(smallbatch, tmp_path):
    uv = observation(tmp_path / "first.uvh5")
    uv.phase(lon=1.0, lat=0.3, cat_name="other", epoch="J2000", select_mask=uv.time_array > uv.time_array.min())
    uv.write_uvh5(str(tmp_path / "in.uvh5"))
    done, after = there_and_back(smallbatch, tmp_path)
    assert after == read(tmp_path / "in.uvh5") and len(after.phase_center_catalog) == 2 and not done.stderr
    assert "phased to" not in smallbatch("info", "results.h5").stdout


def test_the_place_of_a_telescope_may_be_geocentric(smallbatch, tmp_path):
    from astropy import units
    from astropy.coordinates import EarthLocation

    observation(tmp_path / "in.uvh5")
    latitude, longitude, altitude = PLACES["south"]
    place = EarthLocation.from_geodetic(lat=latitude * units.deg, lon=longitude * units.deg, height=altitude * units.m)
    with h5py.File(tmp_path / "in.uvh5", "a") as file:
        for name in ("latitude", "longitude", "altitude"):
            del file["Header"][name]
        file["Header/telescope_location"] = [part.to_value("m") for part in place.geocentric]
    smallbatch("import", "in.uvh5", "-o", "results.h5")
    with h5py.File(tmp_path / "results.h5") as file:
        attributes = file["correlation/visibilities"].attrs
        found = [attributes[name] for name in ("latitude", "longitude", "altitude")]
    assert np.allclose(found[:2], PLACES["south"][:2], rtol=0, atol=1e-10) and abs(found[2] - altitude) < 1e-5


def test_what_cannot_be_kept_is_named(smallbatch, tmp_path):
    observation(tmp_path / "in.uvh5")
    with h5py.File(tmp_path / "in.uvh5", "a") as file:
        file["Header/remark"] = "of variable length"
        file["Header/elsewhere"] = h5py.SoftLink("/Header/history")
        file["Header/history"].attrs["by"] = "someone"
        file["Data/gains"] = np.ones(3)
        file["notes"] = np.ones(3)
    done, _ = there_and_back(smallbatch, tmp_path)
    for name in ("/Header/remark", "/Header/elsewhere", "/Header/history@by", "/Data/gains", "/notes"):
        assert name in done.stderr, name


@pytest.mark.parametrize("kind", ["complex128", "<i4", "<i8"])
def test_other_types_of_visibilities_are_rounded_aloud(smallbatch, tmp_path, kind):
    observation(tmp_path / "in.uvh5", (-5,))
    with h5py.File(tmp_path / "in.uvh5", "a") as file:
        values = np.round(1000 * file["Data/visdata"][...])
        del file["Data/visdata"]
        if kind == "complex128":
            file["Data/visdata"] = values.astype(kind)
        else:
            parts = np.empty(values.shape, [("r", kind), ("i", kind)])
            parts["r"], parts["i"] = values.real, values.imag
            file["Data/visdata"] = parts
    done, after = there_and_back(smallbatch, tmp_path)
    assert "rounded to float32" in done.stderr and np.array_equal(after.data_array, values)


def test_infinities_that_are_not_flagged_are_counted(smallbatch, tmp_path):
    observation(tmp_path / "in.uvh5")
    with h5py.File(tmp_path / "in.uvh5", "a") as file:
        file["Data/visdata"][4, 1, 0] = np.inf
    done, after = there_and_back(smallbatch, tmp_path)
    assert "1 of the 288 visibilities of in.uvh5 are not flagged, but not finite" in done.stderr
    assert after.flag_array.sum() == 1 and after.flag_array[4, 1, 0]


def test_a_changed_visibility_is_exported(smallbatch, tmp_path):
    before = observation(tmp_path / "in.uvh5", flagged=0.2)
    smallbatch("import", "in.uvh5", "-o", "results.h5")
    with results_to_change(tmp_path / "results.h5") as file:
        values = file["correlation/visibilities/visibility"]
        values[...] = 2 * values[...]
    smallbatch("export", "results.h5", "-o", "out.uvh5")
    after, cross = read(tmp_path / "out.uvh5"), before.ant_1_array != before.ant_2_array
    good = ~before.flag_array[cross]
    assert np.array_equal(after.data_array[cross][good], 2 * before.data_array[cross][good])
    assert np.array_equal(after.data_array[cross][~good], before.data_array[cross][~good])
