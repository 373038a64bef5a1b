"""`import` of samples: h5py finds in the problem file what numpy wrote into a raw file."""

import h5py
import numpy as np
import pytest

CHANNELS, TIMES, INPUTS = 3, 11, 5


def samples(kind):
    """Returns samples (channel, time, input) twice: as a raw file stores them, and as h5py returns them."""
    rng = np.random.default_rng(7)
    if kind == "int4":
        return (packed := rng.integers(0, 256, (CHANNELS, TIMES, INPUTS), np.uint8)), packed
    if kind == "int8":
        return (parts := rng.integers(-128, 128, (CHANNELS, TIMES, INPUTS, 2), np.int8)), parts
    values = rng.standard_normal((CHANNELS, TIMES, INPUTS, 2)).astype("<f4")
    return values, values.view(np.complex64)[..., 0]


@pytest.mark.parametrize("order", ["time,channel,input", "channel,time,input"])
@pytest.mark.parametrize("kind", ["float32", "int8", "int4"])
def test_samples_come_in_their_places(smallbatch, tmp_path, kind, order):
    raw, expected = samples(kind)
    (raw if order.startswith("channel") else raw.swapaxes(0, 1)).tofile(tmp_path / "raw.dat")
    done = smallbatch("import", "raw.dat", "--inputs", INPUTS, "--channels", CHANNELS, "--samples", kind, "--order", order,
                      "--integrate", 4, "--mean", "--first-frequency", 1e9, "--channel-width", 2.5e5, "--sample-time", 4e-6,
                      "--start-time", 2460000.5, "-o", "p.h5")
    assert "correlation/signals, 5 inputs, 3 channels, 11 samples, 3 integrations" in done.stdout
    with h5py.File(tmp_path / "p.h5") as file:
        group = file["correlation/signals"]
        assert group["signal"].dtype == expected.dtype
        assert np.array_equal(group["signal"], expected)
        assert group["frequency"][:].tolist() == [1e9, 1e9 + 2.5e5, 1e9 + 5e5]
        attributes = {name: value for name, value in group.attrs.items()}
    packing = attributes.pop("packing", None)
    assert packing == (b"int4" if kind == "int4" else None)
    assert attributes == {"integrate": 4, "output": b"mean", "sample_time": 4e-6, "start_time": 2460000.5}
    smallbatch("info", "p.h5")


def test_what_is_not_said_is_not_written(smallbatch, tmp_path):
    samples("int8")[0][0].tofile(tmp_path / "raw.dat")
    smallbatch("import", "raw.dat", "--inputs", INPUTS, "--set", "x", "-o", "p.h5")
    with h5py.File(tmp_path / "p.h5") as file:
        assert set(file["correlation/x"]) == {"signal"}
        assert file["correlation/x/signal"].shape == (1, TIMES, INPUTS, 2)
        assert dict(file["correlation/x"].attrs) == {"integrate": TIMES, "output": b"sum"}


@pytest.mark.parametrize(
    "arguments, code, says",
    [
        (["--inputs", 4], 3, ["raw.dat", "330 bytes", "no multiple of the 8", "4 inputs"]),
        (["--inputs", 5, "--spacing", 1], 2, ["--inputs", "--spacing"]),
        (["--channels", 3], 2, ["--inputs", "--channels"]),
        (["--inputs", 4097], 2, ["--inputs", "4096"]),
        (["--inputs", 5, "--sample-time", "nan"], 2, ["--sample-time", "nan"]),
        (["--inputs", 5, "--first-frequency", 1e9], 2, ["--channel-width", "--first-frequency"]),
        (["raw.dat", "--inputs", 5], 2, ["one file of samples"]),
    ],
)
def test_wrong_ones_are_refused(smallbatch, tmp_path, arguments, code, says):
    samples("int8")[0].tofile(tmp_path / "raw.dat")
    done = smallbatch("import", "raw.dat", *arguments, "-o", "p.h5", expect=code)
    assert all(word in done.stderr for word in says), done.stderr
    assert not (tmp_path / "p.h5").exists()


def test_a_missing_file_is_missing(smallbatch):
    smallbatch("import", "none.dat", "--inputs", 2, "-o", "p.h5", expect=4)
