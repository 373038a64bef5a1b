"""Correlations from file to file. The results of `run` agree with sums by NumPy in integers and long double, for every
way to cut a recording into blocks. `verify` finds changed numbers."""

import json
import shutil

import h5py
import numpy as np
import pytest

from tests.problems import add_correlation, correlate, open_problem_file, results_to_change, visibility_bound

SMALL = ["--memory", "1MiB"]  # blocks of 210 kB


def samples(rng, kind, shape):
    if kind == "float32":
        return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(np.complex64)
    return rng.integers(-128, 128, (*shape, 2)).astype(np.int8) if kind == "int8" else rng.integers(
        0, 256, shape).astype(np.uint8)


def stored(path, name="array"):
    with h5py.File(path) as file:
        group = file[f"correlation/{name}"]
        return {key: values[...] for key, values in group.items()}


def outcome(done):
    return json.loads(done.stdout)["sets"][0]


@pytest.mark.parametrize("device", ["cpu", "reference"])
@pytest.mark.parametrize("kind", ["float32", "int8", "int4"])
@pytest.mark.parametrize("output", ["sum", "mean"])
def test_a_recording_of_any_cut_has_its_visibilities(smallbatch, tmp_path, device, kind, output):
    """An integration is larger than a block, the last integration is shorter, and some baselines have no sample."""
    rng = np.random.default_rng(3)
    signal, integrate = samples(rng, kind, (3, 50000, 5)), 21000
    flag = rng.random((3, 50000, 5)) < 0.1
    flag[1, :21000, 2] = True
    with open_problem_file(tmp_path / "p.h5") as file:
        add_correlation(file, signal=signal, flag=flag, integrate=integrate, output=output)
    re, im, weight, power = correlate(signal, flag, integrate)
    for arguments in (SMALL, []):
        smallbatch("run", "p.h5", "-o", "r.h5", "--overwrite", "--device", device, "--verify", "all", *arguments)
        found = stored(tmp_path / "r.h5")
        np.testing.assert_array_equal(found["weight"], weight)
        assert found["info"].tolist() == [0, 0, 0]
        got = found["visibility"]
        if kind != "float32" and output == "sum":
            assert got.dtype == np.int32
            np.testing.assert_array_equal(got, np.stack([re, im], -1))
            continue
        assert got.dtype == np.complex64 and got.shape == (3, 3, 15)
        empty = weight == 0
        assert np.isnan(got[empty].real).all() if output == "mean" else (got[empty] == 0).all()
        for part, exact in ((got.real, re), (got.imag, im)):
            if kind != "float32":
                np.testing.assert_array_equal(part[~empty], (exact[~empty] / weight[~empty]).astype(np.float32))
                continue
            of, bound = (weight, visibility_bound(weight, power)) if output == "mean" else (1, visibility_bound(weight, power))
            one = np.maximum(of, 1)
            assert (np.abs(part / 1.0 - exact / one) <= bound / one + np.abs(exact / one) * 2.0**-24)[~empty].all()
        assert (got.imag[~empty & (np.array([0, 2, 5, 9, 14])[:, None] == np.arange(15)).any(0)] == 0).all(), "autos"
        assert outcome(smallbatch("verify", "p.h5", "r.h5", "--json"))["verification"]["agreed"] == 3


@pytest.mark.parametrize("packed", [False, True])
def test_the_largest_integers_do_not_overflow(smallbatch, tmp_path, packed):
    """Sums of 70000 samples: those of -128 - 128 i leave the range of int32, and those of -8 - 8 i do not."""
    times = 70000
    signal = np.full((2, times, 2), 0x88, np.uint8) if packed else np.full((2, times, 2, 2), -128, np.int8)
    with open_problem_file(tmp_path / "p.h5") as file:
        add_correlation(file, signal=signal)
    for arguments in (SMALL, []):
        smallbatch("run", "p.h5", "-o", "r.h5", "--overwrite", "--verify", "all", *arguments)
        got = stored(tmp_path / "r.h5")["visibility"]
        assert got.dtype == (np.int32 if packed else np.int64)
        assert (got == [2 * (8 if packed else 128) ** 2 * times, 0]).all()


def test_a_channel_with_a_number_that_is_none_is_named(smallbatch, tmp_path):
    """A NaN in one block of an integration gives its channel status -1, and a sum that overflows gives -2. A flagged
    infinity has no effect."""
    rng = np.random.default_rng(4)
    signal, flag = samples(rng, "float32", (5, 30000, 3)), np.zeros((5, 30000, 3), np.uint8)
    signal[1, 12345, 2] = np.nan
    signal[2, 25000, 0], flag[2, 25000, 0] = np.inf, 1
    signal[3, 20001:20004, 1] = 1.5e19  # each square fits float32, their sum does not
    signal[3, 29999, 1] = 1.5e19 * 1j
    with open_problem_file(tmp_path / "p.h5") as file:
        add_correlation(file, signal=signal, flag=flag, integrate=20000)
    re, im, weight, power = correlate(signal, flag, 20000)
    for arguments in (SMALL, []):
        done = smallbatch("run", "p.h5", "-o", "r.h5", "--overwrite", "--json", *arguments, expect=1)
        assert {entry["status"]: entry["first"] for entry in outcome(done)["failed"]} == {-1: [1], -2: [3]}
        assert outcome(done)["verification"]["agreed"] == 5
        found = stored(tmp_path / "r.h5")
        assert found["info"].tolist() == [0, -1, 0, -2, 0]
        got = found["visibility"]
        beyond, spoilt = np.zeros(got.shape, bool), np.zeros(got.shape, bool)
        spoilt[0, 1, 3:], beyond[1, 3, 2] = True, True
        assert np.isnan(got[spoilt].real).all() and np.isnan(got[spoilt].imag).all()
        assert got[beyond].real == np.inf
        right = ~(beyond | spoilt)
        assert (np.abs(got.real - re) <= visibility_bound(weight, power))[right].all()
        assert (np.abs(got.imag - im) <= visibility_bound(weight, power))[right].all()
        done = smallbatch("run", "p.h5", "-o", "r.h5", "--overwrite", *arguments, expect=1)
        assert "1 with status -1: a sample is a NaN or an infinity (at index 1)" in done.stdout
        assert "(at index 3)" in done.stdout


def test_nothing_to_do_is_done(smallbatch, tmp_path):
    with open_problem_file(tmp_path / "p.h5") as file:
        for name, shape in (("channels", (0, 7, 3)), ("times", (4, 0, 3)), ("one", (1, 1, 1))):
            add_correlation(file, name, samples(np.random.default_rng(1), "int8", shape))
    smallbatch("run", "p.h5", "-o", "r.h5", "--verify", "all")
    assert stored(tmp_path / "r.h5", "channels")["visibility"].shape == (1, 0, 6, 2)
    assert stored(tmp_path / "r.h5", "times")["visibility"].shape == (0, 4, 6, 2)
    assert stored(tmp_path / "r.h5", "times")["info"].tolist() == [0] * 4
    smallbatch("verify", "p.h5", "r.h5")


def change(values, index, by):
    def make(file):
        flat = file[f"correlation/array/{values}"][...]
        flat[index] += by
        file[f"correlation/array/{values}"][...] = flat
    return make


CHANGES = {
    "a visibility": change("visibility", (0, 1, 4, 0), 1),
    "of the last integration": change("visibility", (2, 2, 14, 1), -1),
    "a weight": change("weight", (1, 0, 3), 1),
    "an info": change("info", 2, -1),
    "an unknown info": change("info", 0, 7),
}


@pytest.mark.parametrize("what", CHANGES)
def test_verify_finds_what_was_changed(smallbatch, tmp_path, what):
    with open_problem_file(tmp_path / "p.h5") as file:
        add_correlation(file, signal=samples(np.random.default_rng(5), "int8", (3, 500, 5)), integrate=200)
    smallbatch("run", "p.h5", "-o", "r.h5")
    with results_to_change(tmp_path / "r.h5") as file:
        CHANGES[what](file)
    done = smallbatch("verify", "p.h5", "r.h5", "--json", expect=1)
    assert outcome(done)["verification"]["disagreed"] == 1, outcome(done)


@pytest.mark.parametrize("attribute,value", [("integrate", 100), ("output", "mean"), ("signal", "int4"), ("times", 501),
                                             ("inputs", 4), ("sample_time", 1.0)])
def test_verify_refuses_results_of_another_question(smallbatch, tmp_path, attribute, value):
    with open_problem_file(tmp_path / "p.h5") as file:
        add_correlation(file, signal=samples(np.random.default_rng(5), "int8", (3, 500, 5)), integrate=200)
    smallbatch("run", "p.h5", "-o", "r.h5")
    with h5py.File(tmp_path / "r.h5", "r+") as file:
        file["correlation/array"].attrs[attribute] = np.bytes_(value) if isinstance(value, str) else value
    assert "correlation/array" in smallbatch("verify", "p.h5", "r.h5", expect=3).stderr


def test_a_sample_of_visibilities_is_spread_evenly(smallbatch, tmp_path):
    """With 3 integrations, 4 channels and 6 baselines, a sample of 12 takes every sixth visibility, beginning with the
    first."""
    with open_problem_file(tmp_path / "p.h5") as file:
        add_correlation(file, signal=samples(np.random.default_rng(6), "float32", (4, 300, 3)), integrate=100)
    done = smallbatch("run", "p.h5", "-o", "r.h5", "--json", "--verify", "sample=12")
    assert outcome(done)["verification"]["visibilities_checked"] == 12
    assert outcome(done)["verification"]["checked"] == 4
    for baseline, code in ((0, 1), (5, 0)):
        shutil.copy(tmp_path / "r.h5", tmp_path / "changed.h5")
        with results_to_change(tmp_path / "changed.h5") as file:
            file["correlation/array/visibility"][1, 2, baseline] += 1
        smallbatch("verify", "p.h5", "changed.h5", "--verify", "sample=12", expect=code)
    done = smallbatch("run", "p.h5", "-o", "r.h5", "--overwrite", "--json", "--verify", "none")
    assert outcome(done)["verification"]["checked"] == 0


def test_info_tells_of_both_files(smallbatch, tmp_path):
    with open_problem_file(tmp_path / "p.h5") as file:
        add_correlation(file, signal=samples(np.random.default_rng(1), "int4", (3, 500, 5)), integrate=200,
                        flag=np.zeros((3, 500, 5), bool), output="mean")
    words = "correlation/array: 3 channels, 500 times, 5 inputs of int4, 3 integrations of 200 samples"
    text = smallbatch("info", "p.h5").stdout
    assert words + ", flags, means" in text and "22500 complex multiply-adds" in text  # 3 x 500 x 15
    told = json.loads(smallbatch("info", "p.h5", "--json").stdout)
    assert told["needs"]["multiply_adds"] == 22500 and told["sets"][0] == {
        "kind": "correlation", "lane": "correlation", "name": "array", "shape": words.split(": ")[1] + ", flags, means",
        "batch": 3, "times": 500,
        "inputs": 5, "baselines": 15, "type": "int4", "integrate": 200, "integrations": 3, "output": "mean", "flags": True}
    smallbatch("run", "p.h5", "-o", "r.h5")
    assert words + ", means; verified: 3 agree, 0 disagree" in smallbatch("info", "r.h5").stdout
    assert json.loads(smallbatch("info", "r.h5", "--json").stdout)["sets"][0]["verification"]["checked"] == 3
