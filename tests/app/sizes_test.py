"""Sets with systems of different sizes, through the command. h5py makes the files; numpy.linalg gives the truth."""

import json

import h5py
import numpy as np
import pytest

from tests.problems import add_solve, open_problem_file, packed, results_to_change

SIZES = np.array([8, 0, 1, 5, 8, 3, 7], np.int32)


def add_sizes(file, name="systems", sizes=SIZES, rubbish=np.nan, n=8, **given):
    """Adds a set with `rubbish` beyond the sizes of its systems. Returns A and b as they were without rubbish."""
    store_packed = given.pop("store_packed", False)
    a, b, _ = add_solve(file, name, batch=len(sizes), n=n, **given)
    left, right = a.copy(), None if b is None else b.copy()
    for k, m in enumerate(np.clip(sizes, 0, n)):
        left[k, m:], left[k, :, m:] = rubbish, rubbish
        if b is not None:
            right[k, m:] = rubbish
    group = file[f"solve/{name}"]
    del group["A"]
    group["A"] = packed(left) if store_packed else left
    if b is not None:
        group["b"][...] = right
    group["size"] = sizes
    return a.astype(np.float64), None if b is None else b.astype(np.float64)


@pytest.mark.parametrize("device", ["cpu", "reference", "cuda"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("store_packed", [False, True])
@pytest.mark.parametrize("nrhs", [None, 4, "inverse", "log_determinant"])
def test_each_is_its_leading_block(smallbatch, tmp_path, device, dtype, store_packed, nrhs):
    with open_problem_file(tmp_path / "p.h5") as file:
        a, b = add_sizes(file, dtype=dtype, store_packed=store_packed, nrhs=nrhs)
    done = smallbatch("run", "p.h5", "-o", "r.h5", "--device", device, "--json", expect=None)
    if device == "cuda" and done.returncode == 5:
        pytest.skip("there is no GPU")
    assert done.returncode == 0 and json.loads(done.stdout)["sets"][0]["verification"]["agreed"] == len(SIZES)
    smallbatch("verify", "p.h5", "r.h5")
    tolerance = {"rtol": 1e-4, "atol": 1e-4} if dtype == np.float32 else {"rtol": 1e-11, "atol": 1e-11}
    with h5py.File(tmp_path / "r.h5") as file:
        found = {name: data[...] for name, data in file["solve/systems"].items() if data.shape}
    assert found["size"].dtype == np.int32 and np.array_equal(found["size"], SIZES)
    assert not found["info"].any()
    for k, m in enumerate(SIZES):
        block = a[k, :m, :m]
        assert np.isclose(found["log_determinant"][k], np.linalg.slogdet(block)[1], **tolerance)
        assert np.isclose(found["rcond"][k], 1 / np.linalg.cond(block, 1) if m else 1, **tolerance)
        if nrhs == "inverse":
            wanted = np.zeros((8, 8))
            wanted[:m, :m] = np.linalg.inv(block)
            assert np.allclose(found["inverse"][k], wanted, **tolerance)
            assert not found["inverse"][k][wanted == 0].any() if m > 1 else True
        elif nrhs != "log_determinant":
            assert np.allclose(found["x"][k, :m], np.linalg.solve(block, b[k, :m]), **tolerance)
            assert not found["x"][k, m:].any()
    assert found["smallest_pivot"][1] == 1


def test_what_is_wrong_beyond_does_not_matter_and_within_it_does(smallbatch, tmp_path):
    with open_problem_file(tmp_path / "p.h5") as file:
        add_sizes(file, sizes=np.array([4, 4, 4, 4], np.int64))
        a = file["solve/systems/A"]
        a[1, 3, 3] = np.nan
        a[2, 2, 2] = -1
        file["solve/systems/b"][3, 3] = np.inf
    smallbatch("run", "p.h5", "-o", "r.h5", expect=1)
    smallbatch("verify", "p.h5", "r.h5", expect=1)
    with h5py.File(tmp_path / "r.h5") as file:
        assert file["solve/systems/info"][...].tolist() == [0, -1, 3, -3]
        x = file["solve/systems/x"][...]
        assert np.isnan(x[1:, :4]).all() and not x[:, 4:].any()
        assert (file["verification/solve/systems/verdict"][...] == 1).all()


def test_equal_sizes_give_the_bits_of_a_set_without(smallbatch, tmp_path):
    with open_problem_file(tmp_path / "p.h5") as file:
        add_solve(file, "with", batch=21, n=13)
        add_solve(file, "without", batch=21, n=13)
        file["solve/with/size"] = np.full(21, 13, np.int32)
    smallbatch("run", "p.h5", "-o", "r.h5")
    with h5py.File(tmp_path / "r.h5") as file:
        for name in file["solve/without"]:
            assert np.array_equal(file["solve/with"][name][...], file["solve/without"][name][...]), name


@pytest.mark.parametrize("sizes,said", [
    (np.array([1, 9, 2], np.int32), "expected numbers from 0 to 8, the rows of A, found 9 at index 1"),
    (np.array([1, 2, -1], np.int64), "found -1 at index 2"),
    (np.array([2 ** 32 + 1, 2, 3], np.int64), "found 4294967297 at index 0"),
    (np.array([1, 2, 3], np.uint8), "expected int32 or int64, found uint8"),
    (np.array([1, 2, 3], np.float64), "expected int32 or int64, found float64"),
    (np.array([1, 2], np.int32), "expected shape (3), found (2)"),
])
def test_other_sizes_are_refused(smallbatch, tmp_path, sizes, said):
    with open_problem_file(tmp_path / "p.h5") as file:
        add_solve(file, batch=3)
        file["solve/systems/size"] = sizes
    for arguments in ("info", "p.h5"), ("run", "p.h5", "-o", "r.h5"):
        done = smallbatch(*arguments, expect=3)
        assert said in done.stderr and "/solve/systems/size" in done.stderr
    assert not (tmp_path / "r.h5").exists()


def test_a_misspelt_size_is_named(smallbatch, tmp_path):
    with open_problem_file(tmp_path / "p.h5") as file:
        add_solve(file, batch=3)
        file["solve/systems/sizes"] = np.array([1, 2, 3], np.int32)
    assert 'did you mean "size"?' in smallbatch("run", "p.h5", "-o", "r.h5", expect=3).stderr


def test_results_of_other_sizes_are_not_verified(smallbatch, tmp_path):
    with open_problem_file(tmp_path / "p.h5") as file:
        add_sizes(file)
    smallbatch("run", "p.h5", "-o", "r.h5")
    with results_to_change(tmp_path / "r.h5") as file:
        file["solve/systems/x"][3, 6] = 1e-20  # beyond its size
    assert "1 DISAGREE" in smallbatch("verify", "p.h5", "r.h5", expect=1).stdout
    with results_to_change(tmp_path / "r.h5") as file:
        file["solve/systems/size"][3] = 4
    assert "/solve/systems/size of r.h5" in smallbatch("verify", "p.h5", "r.h5", expect=3).stderr
    with results_to_change(tmp_path / "r.h5") as file:
        del file["solve/systems/size"]
    assert "with sizes" in smallbatch("verify", "p.h5", "r.h5", expect=3).stderr


def test_shares_are_merged_with_their_sizes(smallbatch, tmp_path):
    with open_problem_file(tmp_path / "p.h5") as file:
        add_sizes(file)
    smallbatch("run", "p.h5", "-o", "whole.h5")
    for k in 1, 2, 3:
        smallbatch("run", "p.h5", "-o", f"{k}.h5", "--shard", f"{k}/3")
        smallbatch("verify", "p.h5", f"{k}.h5")
    smallbatch("merge", "1.h5", "2.h5", "3.h5", "-o", "merged.h5")
    with h5py.File(tmp_path / "whole.h5") as whole, h5py.File(tmp_path / "merged.h5") as merged:
        for name in whole["solve/systems"]:
            assert np.array_equal(whole["solve/systems"][name][...], merged["solve/systems"][name][...]), name
    smallbatch("verify", "p.h5", "merged.h5")


@pytest.mark.parametrize("size", [-1, 9, 2**31 - 1, -2**31])
def test_sizes_that_no_system_has_are_refused_in_results(smallbatch, tmp_path, size):
    with open_problem_file(tmp_path / "p.h5") as file:
        add_sizes(file)
    for k in 1, 2:
        smallbatch("run", "p.h5", "-o", f"{k}.h5", "--shard", f"{k}/2")
    with results_to_change(tmp_path / "2.h5") as file:
        file["solve/systems/size"][1] = size
    for command in (["info", "2.h5"], ["report", "2.h5", "-o", "2.html"], ["verify", "p.h5", "2.h5"],
                    ["merge", "1.h5", "2.h5", "-o", "merged.h5"]):
        done = smallbatch(*command, expect=3)
        assert "/solve/systems/size of 2.h5" in done.stderr and f"found {size} at index 1" in done.stderr
    assert not (tmp_path / "merged.h5").exists() and not (tmp_path / "2.html").exists()


def test_shares_with_and_without_sizes_are_not_merged(smallbatch, tmp_path):
    with open_problem_file(tmp_path / "p.h5") as file:
        add_sizes(file)
    for k in 1, 2:
        smallbatch("run", "p.h5", "-o", f"{k}.h5", "--shard", f"{k}/2")
    with results_to_change(tmp_path / "2.h5") as file:
        del file["solve/systems/size"]
    for shares in ("1.h5", "2.h5"), ("2.h5", "1.h5"):
        assert "its sets are not those of 1.h5" in smallbatch("merge", *shares, "-o", "m.h5", expect=3).stderr


@pytest.mark.parametrize("nrhs", [None, 3, "inverse", "log_determinant"])
def test_the_estimate_is_of_their_sizes(smallbatch, tmp_path, nrhs):
    sizes = {"small": [20] * 60, "large": [96] * 60, "half": [20, 96] * 30, "all": None}
    seconds = {}
    for name, size in sizes.items():
        with open_problem_file(tmp_path / f"{name}.h5") as file:
            add_solve(file, batch=60, n=96, nrhs=nrhs)
            if size:
                file["solve/systems/size"] = np.array(size, np.int32)
        told = smallbatch("run", f"{name}.h5", "-o", "r.h5", "--dry-run", "--json", "--device", "cpu", "--threads", 1)
        seconds[name] = json.loads(told.stdout)["estimated_seconds"]
    assert seconds["large"] == pytest.approx(seconds["all"]) and seconds["large"] > 10 * seconds["small"]
    assert seconds["half"] == pytest.approx((seconds["small"] + seconds["large"]) / 2)


def test_generate_draws_sizes_and_each_system_is_that_of_its_size(smallbatch, tmp_path):
    common = ("generate", "spd", "--batch", 400, "--seed", 5, "--nrhs", 2, "--type", "float64")
    said = smallbatch(*common, "--sizes", "3:9", "-o", "p.h5").stdout
    assert "up to 9x9" in said and "sizes 3 to 9" in said
    with h5py.File(tmp_path / "p.h5") as file:
        size, a, b = (file["solve/systems"][name][...] for name in ("size", "A", "b"))
    assert size.dtype == np.int32 and a.shape == (400, 9, 9)
    counts = np.bincount(size, minlength=10)
    assert not counts[:3].any() and (counts[3:] > 25).all() and counts[3:].sum() == 400
    smallbatch(*common, "--n", 5, "-o", "five.h5")
    with h5py.File(tmp_path / "five.h5") as file:
        alike, right = file["solve/systems/A"][...], file["solve/systems/b"][...]
    for k in np.flatnonzero(size == 5):
        assert np.array_equal(a[k, :5, :5], alike[k]) and np.array_equal(b[k, :5], right[k])
        assert not a[k, 5:].any() and not a[k, :, 5:].any() and not b[k, 5:].any()
    smallbatch(*common, "--sizes", "3:9", "-o", "again.h5")
    with h5py.File(tmp_path / "again.h5") as file:
        assert np.array_equal(file["solve/systems/A"][...], a)
    (told,) = json.loads(smallbatch("info", "p.h5", "--json").stdout)["sets"]
    assert told["sizes"] is True and told["n"] == 9
    smallbatch("run", "p.h5", "-o", "r.h5")
    assert "up to 9x9" in smallbatch("info", "r.h5").stdout
    if smallbatch.can_report:
        smallbatch("report", "r.h5", "-o", "r.html")
        assert "up to 9×9" in (tmp_path / "r.html").read_text()


@pytest.mark.parametrize("text", ["8", "9:8", "0:0", "-1:4", "1:999", "a:b", "3:", ":3", "1:2:3"])
def test_sizes_that_make_no_sense_are_refused(smallbatch, text):
    assert "--sizes cannot be" in smallbatch("generate", "spd", f"--sizes={text}", "-o", "p.h5", expect=2).stderr


def test_sizes_fit_into_n(smallbatch):
    smallbatch("generate", "spd", "--sizes", "3:9", "--n", "12", "--batch", 3, "-o", "p.h5")
    assert "more than --n 8" in smallbatch("generate", "spd", "--sizes", "3:9", "--n", "8", "-o", "q.h5", expect=2).stderr
