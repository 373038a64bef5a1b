"""Random small recordings. The visibilities are compared with sums in NumPy's integers and long double. Files with a
fault must be refused.

Requests, the bound and the statuses follow io/FORMAT.md and physics/correlation.hpp. A seed and a file's number
determine the file, and every message names both. The options are --random-files and --random-seed."""

import json
import os

import h5py
import numpy as np
import pytest

from tests.app.random_potentials_test import chance, others_of
from tests.problems import correlate, open_problem_file, results_to_change, visibility_bound

pytestmark = pytest.mark.skipif(np.finfo(np.longdouble).nmant < 63, reason="long double is no longer than double here")
DEFAULT_FILES = 130
LARGEST = np.longdouble(np.finfo("f4").max)


# ---- drawing

def draw_signal(rng, kind, shape):
    if kind == "int4":
        return rng.choice([np.uint8(0x88), *rng.integers(0, 256, 9, np.uint8)], shape) if chance(rng, 0.2) else (
            rng.integers(0, 256, shape, np.uint8))
    if kind == "int8":
        return rng.integers(*((-128, -127) if chance(rng, 0.2) else (-128, 128)), (*shape, 2)).astype(np.int8)
    scale = 10.0 ** (rng.uniform(-30, 19) if chance(rng, 0.3) else 0)
    gains = 10.0 ** (rng.uniform(-4, 0, shape[2]) if chance(rng, 0.3) else np.zeros(shape[2]))
    signal = (scale * gains * (rng.standard_normal(shape) + 1j * rng.standard_normal(shape))).astype(np.complex64)
    for _ in range(int(rng.integers(1, 4)) * bool(signal.size and chance(rng, 0.3))):
        signal.reshape(-1)[rng.integers(signal.size)] = rng.choice(
            [np.nan, np.inf, complex(0, -np.inf), complex(1, np.nan), 3e38, 3e38j, 1.5e19])
    return signal


def draw_set(rng, name):
    """Draws a set as it will be stored: signal, flags, frequencies and attributes."""
    kind = str(rng.choice(["float32", "int8", "int4"]))
    times = int(rng.choice([0, 1, int(rng.integers(2, 70)), int(rng.integers(2, 3000))], p=[0.03, 0.07, 0.5, 0.4]))
    inputs, long = int(rng.choice([1, 2, 3, 5, 8, 17], p=[0.2, 0.2, 0.2, 0.2, 0.15, 0.05])), chance(rng, 0.08)
    if long:  # longer than the smallest blocks
        times, inputs = int(rng.integers(20000, 120000)), min(inputs, 3)
    shape = (int(rng.choice([0, 1, 2, 3, 5], p=[0.03, 0.3, 0.27, 0.2, 0.2])), times, inputs)
    drawn = {"name": name, "kind": kind, "shape": shape, "signal": draw_signal(rng, kind, shape), "flag": None,
             "attrs": {}, "frequency": None}
    if chance(rng, 0.5):
        flag = rng.random(shape) < rng.choice([0.02, 0.3, 1])
        flag[:, : int(rng.integers(times + 1)), int(rng.integers(inputs))] |= chance(rng, 0.4)
        drawn["flag"] = flag * rng.choice(np.array([1, -1, 2], "i1")) if chance(rng, 0.5) else flag.astype(
            str(rng.choice(["u1", "?"])))
    if chance(rng, 0.7):
        least = times // 3 + 1 if long else 1
        drawn["attrs"]["integrate"] = rng.choice(["i4", "u2", "i8"]) and int(rng.integers(least, max(times, 2) + 20))
    if chance(rng, 0.6):
        drawn["attrs"]["output"] = str(rng.choice(["sum", "mean"]))
    if kind == "int4":
        drawn["attrs"]["packing"] = "int4"
    if chance(rng, 0.3):
        drawn["attrs"]["sample_time"], drawn["frequency"] = rng.uniform(1e-6, 1), rng.uniform(1e8, 1e10, shape[0])
    return drawn


def write(rng, path, sets):
    with open_problem_file(path) as file:
        for drawn in sets:
            group = file.create_group(f"correlation/{drawn['name']}")
            for name in ("signal", "flag", "frequency"):
                values = drawn[name]
                if values is None:
                    continue
                options = {}
                if values.size and chance(rng, 0.3):
                    options["chunks"] = tuple(int(rng.integers(1, n + 1)) if n < 4000 else 1000 for n in values.shape)
                    options |= {"compression": "gzip", "shuffle": chance(rng, 0.5)} if chance(rng, 0.7) else {}
                group.create_dataset(name, data=values, **options)
            for name, value in drawn["attrs"].items():
                group.attrs[name] = np.bytes_(value) if isinstance(value, str) else value


# ---- judging

def truth_of(drawn):
    """Returns the right results: Re V, Im V, weights, the powers for the bound of V, and where a sample is not finite
    (`spoilt`)."""
    (channels, times, inputs), signal, flag = drawn["shape"], drawn["signal"], drawn["flag"]
    used = np.ones(drawn["shape"], bool) if flag is None else np.asarray(flag) == 0
    integrate = min(drawn["attrs"].get("integrate", max(times, 1)), max(times, 1))
    bad = np.zeros(drawn["shape"], bool)
    if drawn["kind"] == "float32":
        bad = used & ~(np.isfinite(signal.real) & np.isfinite(signal.imag))
        signal = np.where(used & ~bad, signal, 0)
    starts = range(0, times, integrate)
    i, j = np.tril_indices(inputs)
    truth = {"integrate": integrate, "mean": drawn["attrs"].get("output") == "mean", "auto": i == j}
    if not times or not channels:
        empty = np.zeros((len(starts), channels, len(i)))
        return truth | {"re": empty, "im": empty, "weight": empty, "power": empty, "spoilt": empty > 0}
    re, im, weight, power = correlate(signal, flag, integrate)
    spoilt = np.stack([bad[:, t : t + integrate].any(1) for t in starts])
    return truth | {"re": re, "im": im, "weight": weight, "power": power, "spoilt": spoilt[..., i] | spoilt[..., j]}


def judge_set(file, drawn, truth, where):
    """Checks all results of a set. Returns whether a channel has failed."""
    group, verification = file[f"correlation/{drawn['name']}"], file[f"verification/correlation/{drawn['name']}"]
    (channels, times, _), is_float = drawn["shape"], drawn["kind"] == "float32"
    got, weight, empty = group["visibility"][...], truth["weight"], truth["weight"] == 0
    assert (group["weight"][...] == weight).all(), f"{where}: weights"
    assert group.attrs["integrate"] == truth["integrate"], f"{where}: integrate"
    info, expected = group["info"][...], np.zeros(channels, int)
    if not is_float and not truth["mean"]:
        wide = truth["integrate"] > (65535 if drawn["kind"] == "int8" else 16777215)
        assert got.dtype == (np.int64 if wide else np.int32), f"{where}: {got.dtype}"
        assert (got == np.stack([truth["re"], truth["im"]], -1)).all(), f"{where}: sums of integers"
    elif not is_float:
        one = np.maximum(weight, 1)
        for part, exact in ((got.real, truth["re"]), (got.imag, truth["im"])):
            assert (np.where(empty, np.isnan(part), part == (exact / one).astype("f4"))).all(), f"{where}: means"
    else:
        spoilt, bound = truth["spoilt"], visibility_bound(weight, truth["power"])
        one = np.maximum(weight, 1) if truth["mean"] else 1
        beyond = np.zeros(got.shape, bool)
        for part, exact in ((got.real, truth["re"]), (got.imag, truth["im"])):
            near = np.abs(part.astype(np.longdouble) - exact / one) <= (
                bound / one + truth["mean"] * (np.abs(exact / one) * 2.0**-24 + 2.0**-150))
            out = ~np.isfinite(part) & (truth["power"] + bound > LARGEST * (1 - 1e-6))
            nothing = np.isnan(part) if truth["mean"] else part == 0
            right = np.where(spoilt, np.isnan(part), np.where(empty, nothing, near | out))
            assert right.all(), f"{where}: {part[~right]}, not {exact[~right]} of {weight[~right]} samples"
            beyond |= ~np.isfinite(part) & ~empty & ~spoilt
        assert (got.imag[truth["auto"] & ~empty & ~spoilt & ~beyond] == 0).all(), f"{where}: autos"
        expected = np.where(spoilt.any((0, 2)), -1, np.where(beyond.any((0, 2)), -2, 0))
    assert info.tolist() == expected.tolist(), f"{where}: info {info}, not {expected}"
    assert verification["verdict"][...].tolist() == [1] * channels, f"{where}: verdicts"
    return bool((info != 0).any())


# ---- tampering, and what is wrong with a file

def tamper(rng, path, drawn, truth):
    """Changes one stored number by more than its bound. Returns the name of the number."""
    with results_to_change(path) as file:
        group = file[f"correlation/{drawn['name']}"]
        some = group["weight"].size > 0
        what = str(rng.choice(["integrate"] + ["info", "visibility", "visibility", "weight"] * some))
        if what == "integrate":
            group.attrs["integrate"] = truth["integrate"] + 1
            return what
        values = group[what][...]
        flat = values.reshape(-1)
        index = int(rng.integers(flat.size))
        if what != "visibility" or values.dtype != np.complex64:
            flat[index] += rng.choice([-1, 1])
        else:
            power = float(np.broadcast_to(truth["power"], values.shape).reshape(-1)[index])
            flat[index] = 1 if not np.isfinite(flat[index]) else flat[index] + np.float32(power) * 2 + np.float32(1e-30)
            flat[index] = np.nan if power > 1e37 and flat[index] != 1 else flat[index]
            if power > 1e37 and truth["power"].reshape(-1)[index] * 1.1 > LARGEST:
                group["weight"][...] += 1  # V may overflow there, so a NaN may be right
        group[what][...] = values
        return f"{what}[{index}]"


WRONG = {
    "no signal": lambda g: g.__delitem__("signal"),
    "a real signal": lambda g: replace(g, "signal", np.zeros((2, 3, 4), "f4")),
    "doubles": lambda g: replace(g, "signal", np.zeros((2, 3, 4), complex)),
    "shorts": lambda g: replace(g, "signal", np.zeros((2, 3, 4, 2), "i2")),
    "three parts": lambda g: replace(g, "signal", np.zeros((2, 3, 4, 3), "i1")),
    "an axis more": lambda g: replace(g, "signal", np.zeros((2, 3, 4, 2, 1), "i1")),
    "another name of a part": lambda g: replace(g, "signal", np.zeros((2, 3, 4), [("r", "f4"), ("j", "f4")])),
    "bytes without packing": lambda g: (g.attrs.pop("packing", 0), replace(g, "signal", np.zeros((2, 3, 4), "u1"))),
    "no inputs": lambda g: replace(g, "signal", np.zeros((2, 3, 0), "c8")),
    "too many inputs": lambda g: replace(g, "signal", np.zeros((1, 1, 4097), "c8")),
    "never written": lambda g: (g.__delitem__("signal"), g.create_dataset("signal", (9, 9, 9), "c8", chunks=(1, 1, 1))),
    "flags of another shape": lambda g: replace(g, "flag", np.zeros((1, 1, 5000), "u1")),
    "flags of another type": lambda g: replace(g, "flag", np.zeros(g["signal"].shape[:3], "i4")),
    "frequencies of other channels": lambda g: replace(g, "frequency", np.zeros(77)),
    "integrate of 0": lambda g: g.attrs.__setitem__("integrate", 0),
    "integrate of less": lambda g: g.attrs.__setitem__("integrate", -3),
    "integrate of a half": lambda g: g.attrs.__setitem__("integrate", 2.5),
    "output unknown": lambda g: g.attrs.__setitem__("output", np.bytes_("max")),
    "packing unknown": lambda g: g.attrs.__setitem__("packing", np.bytes_("int2")),
    "an unknown attribute": lambda g: g.attrs.__setitem__("integrated", 4),
    "a misspelt dataset": lambda g: (g.__contains__("flag") and g.__delitem__("flag"), g.__setitem__("flags", [1])),
}


def replace(group, name, values):
    if name in group:
        del group[name]
    group[name] = values


# ---- the test

@np.errstate(invalid="ignore", over="ignore")
def test_random_recordings_have_the_visibilities_of_numpy(smallbatch, tmp_path, pytestconfig):
    seed, devices = pytestconfig.getoption("random_seed"), others_of(smallbatch, tmp_path)
    number_of_files = pytestconfig.getoption("random_files")
    for number in range(DEFAULT_FILES if number_of_files is None else number_of_files):
        rng = np.random.default_rng([seed, number])
        sets = [draw_set(rng, name) for name in ("a", "B-2")[: 1 + chance(rng, 0.2)]]
        truths = [truth_of(drawn) for drawn in sets]
        write(rng, tmp_path / "p.h5", sets)
        for device in (["--device", "cpu"], devices[rng.integers(len(devices))]):
            more = ["--verify", "all", *(["--memory", str(rng.choice(["1MiB", "1MiB", "4MiB"]))] * chance(rng, 0.5))]
            where = f"file {number} of seed {seed}, run {' '.join(device + more)}"
            done = smallbatch("run", "p.h5", "-o", "r.h5", "--overwrite", *device, *more, expect=None)
            assert done.returncode in (0, 1), f"{where}: exit code {done.returncode}\n{done.stderr}"
            with h5py.File(tmp_path / "r.h5") as file:
                failed = [judge_set(file, *one, f"{where}, set {one[0]['name']}") for one in zip(sets, truths)]
            assert done.returncode == any(failed), f"{where}: exit code {done.returncode}"
        if chance(rng, 0.6):
            continue
        assert smallbatch("verify", "p.h5", "r.h5", expect=None).returncode == any(failed), f"{where}: verify"
        what = tamper(rng, tmp_path / "r.h5", sets[0], truths[0])
        done = smallbatch("verify", "p.h5", "r.h5", "--json", expect=None)
        found = done.returncode == 3 or any(
            told["verification"]["disagreed"] for told in json.loads(done.stdout)["sets"])
        assert found, f"{where}: verify does not see that {what} was changed"
        wrong = list(WRONG)[rng.integers(len(WRONG))]
        with h5py.File(tmp_path / "p.h5", "r+") as file:
            WRONG[wrong](file["correlation/a"])
        os.remove(tmp_path / "r.h5")
        done = smallbatch("run", "p.h5", "-o", "r.h5", expect=None)
        assert done.returncode == 3 and "/correlation/a" in done.stderr, f"{where}, {wrong}: {done.stderr}"
        assert not (tmp_path / "r.h5").exists(), f"{where}, {wrong}: a result was left behind"
