"""The main job as a user runs it: h5py writes problem files and reads result files, and NumPy computes the truth.

One file, because every test is about the one command `run`."""

import json
import os
import subprocess
from pathlib import Path

import h5py
import numpy as np
import pytest

from tests.problems import (add_potential, add_solve, direct_sum, numbers_of, open_problem_file, packed, packed_upper,
                            potential_bound, results_to_change, spd)

U = {np.float32: 2.0**-24, np.float64: 2.0**-53}


def lapack_ratio(a, x, b, u):
    """max over systems and right-hand sides of ||b - A x||_1 / (||A||_1 ||x||_1 u)"""
    a, x, b = (v.astype(np.longdouble) for v in (a, x, b))
    residual = np.abs(b - np.einsum("sij,sjr->sir", a, x)).sum(1)
    norm = np.abs(a).sum(1).max(1)[:, None] * np.abs(x).sum(1)
    return (residual / norm / u).max()


@pytest.mark.parametrize("store_packed", [False, True])
@pytest.mark.parametrize("nrhs", [None, 1, 4])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 13, 32, 47, 64, 100])
def test_solves_agree_with_numpy(smallbatch, tmp_path, n, dtype, nrhs, store_packed):
    with open_problem_file(tmp_path / "p.h5") as file:
        a, b, _ = add_solve(file, batch=40, n=n, dtype=dtype, nrhs=nrhs, store_packed=store_packed)
    smallbatch("run", "p.h5", "-o", "r.h5")
    with h5py.File(tmp_path / "r.h5") as file:
        result = file["solve/systems"]
        x = result["x"][...]
        assert x.shape == b.shape and x.dtype == dtype
        assert not result["info"][...].any()
        ratio = lapack_ratio(a, x.reshape(40, n, -1), b.reshape(40, n, -1), U[dtype])
        assert ratio < 30
        # The stored backward error is the same ratio without the division by u.
        assert result["backward_error"][...].max() / U[dtype] == pytest.approx(float(ratio), rel=1e-3, abs=0.01 if dtype == np.float32 else 1)
        assert (file["verification/solve/systems/verdict"][...] == 1).all()


def smallest_pivots(a):
    """min_k d_k of A = L D L^T, with d_k = l_kk^2 of the Cholesky factor."""
    return (np.diagonal(np.linalg.cholesky(a.astype(np.float64)), axis1=1, axis2=2) ** 2).min(1)


@pytest.mark.parametrize("nrhs", [None, 3, "inverse", "log_determinant"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 8, 32, 64, 128, 129, 256])
def test_numbers_per_system_are_numpys(smallbatch, tmp_path, n, dtype, nrhs):
    with open_problem_file(tmp_path / "p.h5") as file:
        a, _, _ = add_solve(file, batch=20, n=n, dtype=dtype, nrhs=nrhs)
    smallbatch("run", "p.h5", "-o", "r.h5")
    smallbatch("verify", "p.h5", "r.h5")
    wide = a.astype(np.float64)
    with h5py.File(tmp_path / "r.h5") as file:
        result = file["solve/systems"]
        assert result["rcond"].dtype == result["smallest_pivot"].dtype == dtype
        assert result["log_determinant"].dtype == np.float64 and result["repaired"].dtype == np.int32
        tolerance = 100 * U[dtype]
        np.testing.assert_allclose(result["rcond"], 1 / np.linalg.cond(wide, 1), rtol=tolerance)
        np.testing.assert_allclose(result["smallest_pivot"], smallest_pivots(a), rtol=tolerance)
        np.testing.assert_allclose(result["log_determinant"], np.linalg.slogdet(wide)[1], rtol=0, atol=n * tolerance)
        assert not result["repaired"][...].any()
        assert (file["verification/solve/systems/verdict"][...] == 1).all()


@pytest.mark.parametrize("nrhs", [None, 3, "inverse", "log_determinant"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 2, 31, 64, 97])
def test_the_upper_triangle_is_not_looked_at_where_uplo_says_so(smallbatch, tmp_path, n, dtype, nrhs):
    with open_problem_file(tmp_path / "whole.h5") as file:
        add_solve(file, batch=9, n=n, dtype=dtype, nrhs=nrhs)
    with open_problem_file(tmp_path / "lower.h5") as file:
        add_solve(file, batch=9, n=n, dtype=dtype, nrhs=nrhs, lower=True)
        assert n == 1 or np.isnan(file["solve/systems/A"][...]).any()
    smallbatch("run", "whole.h5", "-o", "whole_r.h5")
    smallbatch("run", "lower.h5", "-o", "lower_r.h5")
    smallbatch("verify", "lower.h5", "lower_r.h5")
    with h5py.File(tmp_path / "whole_r.h5") as whole, h5py.File(tmp_path / "lower_r.h5") as lower:
        assert set(whole["solve/systems"]) == set(lower["solve/systems"])
        assert not lower["solve/systems/info"][...].any()
        for name in whole["solve/systems"]:
            np.testing.assert_allclose(lower["solve/systems"][name], whole["solve/systems"][name], rtol=0,
                                       atol=1e3 * n * U[dtype], equal_nan=False)


@pytest.mark.parametrize("layout", [{}, {"chunks": True, "compression": 3, "shuffle": True}, {"swapped": True}],
                         ids=["contiguous", "compressed", "big-endian"])
@pytest.mark.parametrize("stored", ["dense", "dense with sizes", "packed by uplo", "packed by storage"])
def test_upper_triangles_are_the_lower_ones_of_the_transposes(smallbatch, tmp_path, stored, layout):
    """Upper triangles give the same bits as the lower triangles of the transposes, in blocks and shares. The content of
    the other triangle of a dense A does not matter."""
    rng = np.random.default_rng(3)
    n, batch = 13, 7000
    a = spd(rng, batch, n, np.float32)
    is_packed = stored.startswith("packed")
    for name in ("lower", "upper"):
        with open_problem_file(tmp_path / f"{name}.h5") as file:
            group = file.create_group("solve/systems")
            of_triangle = np.tri(n, dtype=bool) if name == "lower" else np.tri(n, dtype=bool).T
            values = ({"lower": packed, "upper": packed_upper}[name](a) if is_packed
                      else np.where(of_triangle, a, rng.uniform(-9, 9, a.shape)))
            kind = {key: value for key, value in layout.items() if key != "swapped"}
            group.create_dataset("A", data=values.astype(">f4" if "swapped" in layout else "<f4"), **kind)
            group["b"] = np.random.default_rng(4).uniform(-1, 1, (batch, n)).astype(np.float32)
            if stored.endswith("sizes"):
                group["size"] = np.random.default_rng(5).integers(0, n + 1, batch).astype(np.int32)
            if stored == "packed by storage":
                group.attrs["storage"] = f"packed_{name}"
            elif name == "upper" or not is_packed:
                group.attrs["uplo"] = name
        smallbatch("run", f"{name}.h5", "-o", f"{name}_r.h5", "--memory", "4MiB")
        smallbatch("verify", f"{name}.h5", f"{name}_r.h5")
    for k in ("1", "2", "3"):
        smallbatch("run", "upper.h5", "-o", f"{k}.h5", "--shard", f"{k}/3")
    smallbatch("merge", "1.h5", "2.h5", "3.h5", "-o", "merged_r.h5")
    smallbatch("verify", "upper.h5", "merged_r.h5")
    with h5py.File(tmp_path / "lower_r.h5") as lower, h5py.File(tmp_path / "upper_r.h5") as upper, \
            h5py.File(tmp_path / "merged_r.h5") as merged:
        assert not lower["solve/systems/info"][...].any()
        for name in numbers_of(lower["solve/systems"]):
            expected = lower["solve/systems"][name][...]
            assert np.array_equal(upper["solve/systems"][name][...], expected)
            assert np.array_equal(merged["solve/systems"][name][...], expected)


def test_the_determinant_alone_has_no_solution(smallbatch, tmp_path):
    with open_problem_file(tmp_path / "p.h5") as file:
        add_solve(file, batch=12, n=8, nrhs="log_determinant")
        file["solve/systems/A"][3, 4, 4] = -1
        file["solve/systems/A"][5, 0, 1] = np.nan
    done = smallbatch("run", "p.h5", "-o", "r.h5", expect=1)
    assert "log determinant" in done.stdout and "backward error" not in done.stdout and "rcond" in done.stdout
    assert "12 of 12 agree" in smallbatch("verify", "p.h5", "r.h5", expect=1).stdout
    with h5py.File(tmp_path / "r.h5") as file:
        result = file["solve/systems"]
        assert numbers_of(result) == {"info", "rcond", "smallest_pivot", "log_determinant", "repaired", "perturbation"}
        assert result.attrs["compute"] == b"log_determinant" and result.attrs["n"] == 8
        failed = result["info"][...] != 0
        assert np.flatnonzero(failed).tolist() == [3, 5]
        for name in ["rcond", "smallest_pivot", "log_determinant", "perturbation"]:
            assert np.array_equal(np.isnan(result[name][...]), failed)


@pytest.mark.parametrize("method", ["auto", "gauss_jordan", "ldlt"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_pivots_below_the_floor_are_repaired(smallbatch, tmp_path, dtype, method):
    # [1 1; 1 1] becomes [1 1; 1 1+f], whose solution for (2, 2 + f) is (1, 1); [4 0; 0 1] needs no repair.
    floor = 2.0**-7
    with open_problem_file(tmp_path / "p.h5") as file:
        file["solve/systems/A"] = np.array([[[1, 1], [1, 1]], [[4, 0], [0, 1]], [[1, 0], [0, -1]]], dtype)
        file["solve/systems/b"] = np.array([[2, 2 + floor], [4, 3], [1, 1]], dtype)
    done = smallbatch("run", "p.h5", "-o", "r.h5", "--method", method, "--pivot-floor", floor, "--json", expect=1)
    summary = json.loads(done.stdout)
    (systems,) = summary["sets"]
    assert systems["verification"]["agreed"] == 3
    assert (systems["repaired_pivots"], systems["repaired_systems"], summary["pivot_floor"]) == (1, 1, floor)
    again = smallbatch("verify", "p.h5", "r.h5", expect=1).stdout
    assert "1 pivot of 1 system raised to the floor of 0.0078125, by at most 0.00781 of a diagonal element" in again
    assert "3 of 3 agree" in again and systems["largest_perturbation"] == floor
    with results_to_change(tmp_path / "r.h5") as file:
        result = file["solve/systems"]
        assert result["info"][...].tolist() == [0, 0, 2]
        assert result["repaired"][...].tolist() == [1, 0, 0]
        assert result["perturbation"][:2].tolist() == [floor, 0] and np.isnan(result["perturbation"][2])
        np.testing.assert_allclose(result["x"][:2], [[1, 1], [1, 3]], rtol=1e3 * U[dtype])
        np.testing.assert_allclose(result["backward_error"][:2], [floor / 4, 0], rtol=1e-3, atol=U[dtype])
        np.testing.assert_allclose(result["smallest_pivot"][:2], [floor, 1], rtol=1e3 * U[dtype])
        np.testing.assert_allclose(result["log_determinant"][:2], np.log([floor, 4]), rtol=1e3 * U[dtype])
        note = file["provenance"].attrs
        assert note["method"] == method.encode() and note["pivot_floor"] == floor
        # The referee repairs with the floor of the results, so these answers are wrong for another floor.
        note["pivot_floor"] = floor / 2
    assert "1 DISAGREE" in smallbatch("verify", "p.h5", "r.h5", expect=1).stdout
    with results_to_change(tmp_path / "r.h5") as file:
        file["provenance"].attrs["pivot_floor"] = 1.5
    assert "pivot_floor" in smallbatch("verify", "p.h5", "r.h5", expect=3).stderr
    # Without a floor the first system is singular.
    smallbatch("run", "p.h5", "-o", "none.h5", "--method", method, expect=1)
    with h5py.File(tmp_path / "none.h5") as file:
        assert file["solve/systems/info"][...].tolist() == [2, 0, 2]


def gaussian_kernels(rng, batch, n, condition, dtype):
    p = rng.random((batch, n))
    a = np.exp(-((p[:, :, None] - p[:, None, :]) ** 2) / 0.08) + np.eye(n) * n / condition
    return (np.tril(a) + np.tril(a, -1).transpose(0, 2, 1)).astype(dtype)


@pytest.mark.parametrize("method", ["auto", "gauss_jordan"])
@pytest.mark.parametrize("dtype,n,condition,floor", [(np.float32, 16, 1e9, 1e-5), (np.float64, 32, 1e14, 1e-10)])
def test_kernels_that_rounding_makes_indefinite_are_solved_nearby(smallbatch, tmp_path, method, dtype, n, condition,
                                                                  floor):
    rng = np.random.default_rng(5)
    a = gaussian_kernels(rng, 200, n, condition, dtype)
    b = np.einsum("sij,sj->si", a.astype(np.float64), rng.uniform(-1, 1, (200, n))).astype(dtype)
    with open_problem_file(tmp_path / "p.h5") as file:
        file["solve/systems/A"], file["solve/systems/b"] = a, b
    smallbatch("run", "p.h5", "-o", "r.h5", "--pivot-floor", floor, "--method", method)
    with h5py.File(tmp_path / "r.h5") as file:
        result = {name: values[...] for name, values in file["solve/systems"].items()}
    assert not result["info"].any() and (result["repaired"] > 0).sum() >= 190
    assert (result["perturbation"] <= 1.5 * floor).all()
    # The answer is that of a nearby matrix: (A + E) x = b up to rounding, for a diagonal E within the permitted
    # additions.
    x, wide = result["x"].astype(np.longdouble), a.astype(np.longdouble)
    residual = b.astype(np.longdouble) - np.einsum("sij,sj->si", wide, x)
    added = np.clip(residual / x, 0, result["perturbation"][:, None].astype(np.longdouble))
    left = np.abs(residual - added * x).sum(1) / np.abs(wide).sum(1).max(1) / np.abs(x).sum(1)
    assert left.max() < 30 * U[dtype] and np.abs(x).max() < 100
    # Each wrong answer of a repaired system is found.
    repaired = result["repaired"] > 0
    for wrong in [-result["x"], np.ones_like(result["x"]), 1.01 * result["x"], 1e21 * result["x"]]:
        with results_to_change(tmp_path / "r.h5") as file:
            file["solve/systems/x"][...] = np.where(repaired[:, None], wrong, result["x"])
        found = json.loads(smallbatch("verify", "p.h5", "r.h5", "--json", expect=1).stdout)["sets"][0]["verification"]
        assert found["disagreed"] == repaired.sum()


def test_solutions_that_underflow_say_so(smallbatch, tmp_path):
    with open_problem_file(tmp_path / "p.h5") as file:
        file["solve/systems/A"] = np.array([[[1e30]], [[1e30]], [[1]]], np.float32)
        file["solve/systems/b"] = np.array([[1e-30], [0], [1e-40]], np.float32)
    done = smallbatch("run", "p.h5", "-o", "r.h5", expect=1)
    assert "the solution underflowed" in done.stdout and "3 of 3 agree" in done.stdout
    with h5py.File(tmp_path / "r.h5") as file:
        assert file["solve/systems/info"][...].tolist() == [-5, 0, 0]
        assert file["solve/systems/x"][1:, 0].tolist() == [0, np.float32(1e-40)]


@pytest.mark.parametrize("nrhs", [None, "inverse", "log_determinant"])
def test_a_larger_rcond_is_an_estimate_of_cudas_alone(smallbatch, tmp_path, nrhs):
    with open_problem_file(tmp_path / "p.h5") as file:
        add_solve(file, batch=4, n=20, nrhs=nrhs)
    smallbatch("run", "p.h5", "-o", "r.h5", "--device", "cpu")
    with results_to_change(tmp_path / "r.h5") as file:
        file["solve/systems/rcond"][2] *= 3

    def disagreeing(**attributes):
        with results_to_change(tmp_path / "r.h5") as file:
            for name in {"solver", "ranks"} & set(file["provenance"].attrs):
                del file["provenance"].attrs[name]
            for name, value in attributes.items():
                file["provenance"].attrs[name] = np.bytes_(value) if isinstance(value, str) else value
        done = smallbatch("verify", "p.h5", "r.h5", "--json", expect=None)
        return json.loads(done.stdout)["sets"][0]["verification"]["disagreed"]

    for solver in "cpu ldlt avx2", "reference eigen llt", "cpu auto avx512; cpu auto baseline":
        assert disagreeing(solver=solver) == disagreeing(solver=solver, ranks=1.0) == 1
    # Either cuda may have computed some sets, or the file does not say which backend computed them.
    for said in ({"solver": "cuda:0 auto"}, {"solver": "cpu auto avx2; cuda:0 auto"}, {"solver": "another"}, {},
                 {"solver": "cpu auto avx2", "ranks": 3.0}):
        assert disagreeing(**said) == int(nrhs == "inverse")


def test_the_summary_says_what_the_answers_are_worth(smallbatch, tmp_path):
    with open_problem_file(tmp_path / "p.h5") as file:
        a, _, _ = add_solve(file, batch=30, n=16)
    text = smallbatch("run", "p.h5", "-o", "r.h5").stdout
    (systems,) = json.loads(smallbatch("run", "p.h5", "-o", "r.h5", "--overwrite", "--json").stdout)["sets"]
    with h5py.File(tmp_path / "r.h5") as file:
        worst = file["solve/systems/backward_error"][...].max() / U[np.float32]
    assert systems["worst_backward_error_in_roundoffs"] == pytest.approx(worst)
    assert systems["smallest_rcond"] == pytest.approx(1 / np.linalg.cond(a.astype(np.float64), 1).max(), rel=1e-5)
    assert systems["repaired_pivots"] == systems["repaired_systems"] == 0
    said = f"backward error at most {worst * U[np.float32]:.2g} ({worst:.3g} u, u = 2^-24), rcond at least "
    assert f"{said}{systems['smallest_rcond']:.3g}\n" in text
    with open_problem_file(tmp_path / "none.h5") as file:
        add_solve(file, batch=0)
    (systems,) = json.loads(smallbatch("run", "none.h5", "-o", "none_r.h5", "--json").stdout)["sets"]
    assert systems["worst_backward_error_in_roundoffs"] is None and systems["smallest_rcond"] is None


def test_results_of_format_1_0_are_verified_without_the_new_numbers(smallbatch, tmp_path):
    with open_problem_file(tmp_path / "p.h5") as file:
        add_solve(file)
    smallbatch("run", "p.h5", "-o", "r.h5")
    with results_to_change(tmp_path / "r.h5") as file:
        file.attrs["smallbatch_format"] = np.array([1, 0], np.int32)
        for name in ["rcond", "smallest_pivot", "log_determinant", "repaired", "perturbation"]:
            del file["solve/systems"][name]
        for name in ["method", "pivot_floor"]:
            del file["provenance"].attrs[name]
    done = smallbatch("verify", "p.h5", "r.h5")
    assert "5 of 5 agree" in done.stdout and "rcond" not in done.stdout
    with results_to_change(tmp_path / "r.h5") as file:
        file["solve/systems/x"][2, 3] *= 1.01
    smallbatch("verify", "p.h5", "r.h5", expect=1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_without_b_the_inverse_is_written(smallbatch, tmp_path, dtype):
    with open_problem_file(tmp_path / "p.h5") as file:
        a, _, _ = add_solve(file, batch=9, n=17, dtype=dtype, nrhs="inverse")
    smallbatch("run", "p.h5", "-o", "r.h5")
    smallbatch("verify", "p.h5", "r.h5")
    with h5py.File(tmp_path / "r.h5") as file:
        inverse = file["solve/systems/inverse"][...]
        assert "x" not in file["solve/systems"]
    np.testing.assert_allclose(inverse, np.linalg.inv(a.astype(np.float64)), rtol=0, atol=100 * U[dtype])


def test_failed_systems_get_a_status_and_leave_their_neighbours_alone(smallbatch, tmp_path):
    with open_problem_file(tmp_path / "good.h5") as file:
        add_solve(file, batch=12, n=8)
    with open_problem_file(tmp_path / "bad.h5") as file:
        add_solve(file, batch=12, n=8)
        a = file["solve/systems/A"]
        a[1, 2, 2] = -5  # the third pivot is not positive
        a[3, 0, 7] = np.nan  # in the upper triangle
        a[5, 6, 1] = np.inf
        a[7, 4, 2] += 0.5  # not symmetric
        file["solve/systems/b"][9, 3] = np.nan
    smallbatch("run", "good.h5", "-o", "good_r.h5")
    done = smallbatch("run", "bad.h5", "-o", "bad_r.h5", "--json", expect=1)
    with h5py.File(tmp_path / "good_r.h5") as good, h5py.File(tmp_path / "bad_r.h5") as bad:
        info = bad["solve/systems/info"][...]
        assert info.tolist() == [0, 3, 0, -1, 0, -1, 0, -2, 0, -3, 0, 0]
        x, expected = bad["solve/systems/x"][...], good["solve/systems/x"][...]
        assert np.isnan(x[info != 0]).all()
        assert np.array_equal(x[info == 0].view(np.int32), expected[info == 0].view(np.int32))
        for name in ["backward_error", "rcond", "smallest_pivot", "log_determinant"]:
            assert np.array_equal(np.isnan(bad["solve/systems"][name][...]), info != 0)
        assert not bad["solve/systems/repaired"][...].any()
        assert (bad["verification/solve/systems/verdict"][...] == 1).all()  # the referee refuses the same systems
    summary = json.loads(done.stdout)
    assert summary["all_right"] is False
    assert {f["status"]: f["count"] for f in summary["sets"][0]["failed"]} == {3: 1, -1: 2, -2: 1, -3: 1}


@pytest.mark.parametrize("precision,u", [("single", 2.0**-23), ("double", 2.0**-52)])
def test_potentials_agree_with_numpy(smallbatch, tmp_path, precision, u):
    rng = np.random.default_rng(3)
    counts = [3, 0, 1, 300, 17]  # ragged, one without charges
    offset = np.concatenate([[0], np.cumsum(counts)])
    position = rng.uniform(0, 10, (offset[-1], 3))
    charge = rng.uniform(-1, 1, offset[-1])
    origin = rng.uniform(-1, 1, (5, 3))
    spacing = rng.uniform(0.3, 0.9, (5, 3))
    shape = (11, 7, 5)
    with open_problem_file(tmp_path / "p.h5") as file:
        add_potential(file, position=position, charge=charge, offset=offset, shape=shape, origin=origin, spacing=spacing)
    smallbatch("run", "p.h5", "-o", "r.h5", "--precision", precision)
    with h5py.File(tmp_path / "r.h5") as file:
        v = file["potential/charges/V"][...]
        assert v.dtype == (np.float32 if precision == "single" else np.float64)
        assert (file["verification/potential/charges/verdict"][...] == 1).all()
    assert v.shape == (5, 5, 7, 11)
    for p in range(5):
        part = slice(offset[p], offset[p + 1])
        expected = direct_sum(position[part], charge[part], shape, origin[p], spacing[p])
        bound = potential_bound(position[part], charge[part], shape, origin[p], spacing[p], u)
        assert (abs(v[p] - expected) <= bound).all()


@pytest.mark.parametrize("unit,factor", [("volt", 14.399645478425672), ("kcal/mol/e", 332.06371329919225),
                                         ("kJ/mol/e", 1389.3545764438204), ("hartree/e", 0.529177210903),
                                         ("kT/e", 560.45932214753453), ("e/angstrom", 1.0)])
def test_units(smallbatch, tmp_path, unit, factor):
    with open_problem_file(tmp_path / "p.h5") as file:
        add_potential(file, position=[(0, 0, 0)], charge=[1], shape=(1, 1, 1), origin=(3, 0, 4), output_unit=unit)
        add_potential(file, name="nm", position=[(0, 0, 0)], charge=[1], shape=(1, 1, 1), origin=(0.3, 0, 0.4),
                      output_unit=unit)["position"].attrs["unit"] = "nm"
    smallbatch("run", "p.h5", "-o", "r.h5")
    with h5py.File(tmp_path / "r.h5") as file:
        assert file["potential/charges/V"][0, 0, 0, 0] == pytest.approx(factor / 5, rel=2e-7)
        assert file["potential/nm/V"][0, 0, 0, 0] == pytest.approx(factor / 5, rel=2e-7)


def test_a_charge_on_a_lattice_point_follows_the_policy(smallbatch, tmp_path):
    with open_problem_file(tmp_path / "p.h5") as file:
        add_potential(file, position=[(1, 1, 0), (2, 1, 0), (3, 2, 1)], charge=[1, -2, 0], shape=(4, 3, 2))
    smallbatch("run", "p.h5", "-o", "inf.h5")
    smallbatch("run", "p.h5", "-o", "skip.h5", "--singular", "skip")
    with h5py.File(tmp_path / "inf.h5") as file:
        v = file["potential/charges/V"][0]
        assert file["potential/charges/info"][0] == 2
        assert v[0, 1, 1] == np.inf and v[0, 1, 2] == -np.inf
        assert np.isfinite(v).sum() == v.size - 2  # the zero charge contributes nothing, not even a NaN
    with h5py.File(tmp_path / "skip.h5") as file:
        v = file["potential/charges/V"][0]
        assert v[0, 1, 1] == pytest.approx(14.399645478425672 * -2, rel=1e-6)
        assert v[0, 1, 2] == pytest.approx(14.399645478425672, rel=1e-6)
    smallbatch("verify", "p.h5", "skip.h5")


def test_bad_charges_spoil_their_problem_alone(smallbatch, tmp_path):
    position = np.array([(0.5, 0, 0), (0.25, 0, 0), (0.5, 0, 0)])
    position[1, 2] = np.nan
    with open_problem_file(tmp_path / "p.h5") as file:
        add_potential(file, position=position, charge=[1, 1, 1], offset=[0, 1, 2, 3], origin=np.zeros((3, 3)),
                      spacing=np.ones((3, 3)))
    smallbatch("run", "p.h5", "-o", "r.h5", expect=1)
    with h5py.File(tmp_path / "r.h5") as file:
        v = file["potential/charges/V"][...]
        assert file["potential/charges/info"][...].tolist() == [0, -1, 0]
        assert np.isnan(v[1]).all() and np.isfinite(v[[0, 2]]).all()
        assert np.array_equal(v[0], v[2])


def test_small_blocks_give_the_same_file(smallbatch, tmp_path):
    with open_problem_file(tmp_path / "p.h5") as file:
        add_solve(file, batch=700, n=32, dtype=np.float64, nrhs=2)
        rng = np.random.default_rng(1)
        add_potential(file, position=rng.uniform(0, 8, (50, 3)), charge=rng.uniform(-1, 1, 50), shape=(120, 110, 50),
                      spacing=(0.1, 0.1, 0.1))
    smallbatch("run", "p.h5", "-o", "one.h5", "--verify", "sample=50")
    smallbatch("run", "p.h5", "-o", "many.h5", "--memory", "4MiB", "--verify", "sample=50")
    with h5py.File(tmp_path / "one.h5") as one, h5py.File(tmp_path / "many.h5") as many:
        for name in [f"solve/systems/{name}" for name in one["solve/systems"]] + ["potential/charges/V"]:
            assert np.array_equal(one[name][...], many[name][...])


def test_sampled_verification_checks_as_many_as_asked(smallbatch, tmp_path):
    with open_problem_file(tmp_path / "p.h5") as file:
        add_solve(file, batch=1001, n=4)
        add_potential(file, shape=(20, 20, 20))
    done = smallbatch("run", "p.h5", "-o", "r.h5", "--verify", "sample=100", "--json")
    systems, charges = (s["verification"] for s in json.loads(done.stdout)["sets"])
    assert systems["checked"] == systems["agreed"] == 100
    assert charges["points_checked"] == 100 and charges["checked"] == 1
    with h5py.File(tmp_path / "r.h5") as file:
        verdict = file["verification/solve/systems/verdict"][...]
        assert (verdict == 1).sum() == 100 and (verdict == 0).sum() == 901
        assert np.array_equal(np.isnan(file["verification/solve/systems/error_over_bound"][...]), verdict == 0)
    done = smallbatch("run", "p.h5", "-o", "r2.h5", "--verify", "none", "--json")
    assert all(s["verification"]["checked"] == 0 for s in json.loads(done.stdout)["sets"])


@pytest.mark.parametrize("spoil", ["flip", "nan", "swap", "status", "error", "rcond", "smallest_pivot",
                                   "log_determinant", "repaired", "perturbation", "rcond_nan", "smallest_pivot_nan",
                                   "log_determinant_nan", "V", "V_nan", "V_status"])
def test_verify_finds_wrong_results(smallbatch, tmp_path, spoil):
    with open_problem_file(tmp_path / "p.h5") as file:
        add_solve(file, batch=6, n=5)
        add_potential(file, shape=(6, 5, 4), position=[(0.3, 0.4, 0.5), (2.2, 1.1, 1.7)], charge=[1, -0.5])
    smallbatch("run", "p.h5", "-o", "r.h5")
    smallbatch("verify", "p.h5", "r.h5")
    with results_to_change(tmp_path / "r.h5") as file:
        x, v = file["solve/systems/x"], file["potential/charges/V"]
        if spoil == "flip":
            x[4, 2] = -x[4, 2]
        elif spoil == "nan":
            x[4, 2] = np.nan
        elif spoil == "swap":
            x[4, 1:3] = x[4, 1:3][::-1]
        elif spoil == "status":
            file["solve/systems/info"][4] = 2
        elif spoil == "error":
            file["solve/systems/backward_error"][4] *= 1.5
        elif spoil == "repaired":
            file["solve/systems/repaired"][4] = 1
        elif spoil.endswith("_nan") and not spoil.startswith("V"):
            file["solve/systems"][spoil.removesuffix("_nan")][4] = np.nan
        elif spoil in ["rcond", "smallest_pivot", "log_determinant", "perturbation"]:
            file["solve/systems"][spoil][4] += 0.001
        elif spoil == "V_status":
            file["potential/charges/info"][0] = 1
        elif spoil == "V":
            v[0, 2, 3, 1] *= 1.0001
        else:
            v[0, 2, 3, 1] = np.nan
    done = smallbatch("verify", "p.h5", "r.h5", "--json", expect=1)
    sets = json.loads(done.stdout)["sets"]
    assert [s["verification"]["disagreed"] for s in sets] == ([0, 1] if spoil.startswith("V") else [1, 0])
    assert "DISAGREE" in smallbatch("verify", "p.h5", "r.h5", expect=1).stdout


def change_number(name, value):
    return lambda item: item.attrs.__setitem__(name, value)


def change_text(name, value):
    return lambda item: item.attrs.__setitem__(name, np.bytes_(value))


def write_at(index, value):
    return lambda item: item.__setitem__(index, value)


CHANGED_RESULTS = {
    "unit of V": ("potential/charges/V", "unit", change_text("unit", "volt")),
    "unit of V removed": ("potential/charges/V", "unit", lambda item: item.attrs.__delitem__("unit")),
    "unit of E": ("potential/charges/E", "unit", change_text("unit", "volt/nm")),
    "unit of the energy": ("potential/charges/energy", "unit", change_text("unit", "kcal/mol")),
    "unit of V_min": ("potential/charges/V_min", "unit", change_text("unit", "e/angstrom")),
    "unit of V_mean": ("potential/charges/V_mean", "unit", change_text("unit", "kT")),
    "unit of the origin, which is 0": ("potential/charges/origin", "unit", change_text("unit", "nm")),
    "unit of the spacing": ("potential/charges/spacing", "unit", change_text("unit", "bohr")),
    "output_unit": ("potential/charges", "output_unit", lambda group: (
        change_text("output_unit", "volt")(group), change_text("unit", "volt*e")(group["energy"]),
        change_text("unit", "volt/angstrom")(group["E"]),
        *(change_text("unit", "volt")(group[name]) for name in ["V", "V_min", "V_max", "V_mean"]))),
    "temperature": ("potential/charges", "temperature", change_number("temperature", 300.0)),
    "temperature removed": ("potential/charges", "temperature", lambda item: item.attrs.__delitem__("temperature")),
    "dielectric": ("potential/charges", "dielectric", change_number("dielectric", 4.5)),
    "softening": ("potential/charges", "softening", change_number("softening", 0.25)),
    "cutoff": ("potential/charges", "cutoff", change_number("cutoff", 9.000001)),
    "targets": ("potential/charges", "", change_text("targets", "charges")),
    "shape": ("potential/charges", "", change_number("shape", [4, 2, 3])),
    "field": ("potential/charges", "/E", change_number("field", 0)),
    "origin": ("potential/charges/origin", "[2]", write_at((0, 2), 1e-9)),
    "spacing": ("potential/charges/spacing", "[3]", write_at((1, 0), 1.0000001)),
    "compute": ("solve/determinants", "compute", change_text("compute", "determinant")),
    "n": ("solve/determinants", "", change_number("n", 9)),
    "singular": ("provenance", "singular", change_text("singular", "some")),
    "a set of other problems": ("solve/more", "no such set", lambda file: file.copy("solve/systems", "solve/more")),
    "no verification": ("verification/solve", '"systems"', lambda group: group.__delitem__("systems")),
    "no verdicts": ("verification/solve/systems", "verdict", lambda group: group.__delitem__("verdict")),
    "a verdict of another kind": ("verification/solve/systems/verdict", "[2]", write_at(2, 3)),
    "a verdict less": ("verification/solve/systems/error_over_bound", "[2]", write_at(2, np.nan)),
    "a verdict that was no check": ("verification/potential/charges", "[1]",
                                    lambda group: write_at(1, 0)(group["verdict"])),
    "disagreement": ("verification/solve/systems", "[4]", lambda group: write_at(4, 2)(group["verdict"])),
    "disagreement called agreement": ("verification/solve/systems/error_over_bound", "[1]", write_at(1, 2)),
    "an error below 0": ("verification/solve/systems/error_over_bound", "[0]", write_at(0, -1)),
    "checked": ("verification/solve/systems", "checked", change_number("checked", 6)),
    "agreed": ("verification/potential/charges", "agreed", change_number("agreed", 1)),
    "disagreed": ("verification/solve/determinants", "disagreed", change_number("disagreed", 1)),
    "worst error": ("verification/solve/systems", "worst_error_over_bound", change_number("worst_error_over_bound", 0)),
    "worst index": ("verification/solve/systems", "worst_index", change_number("worst_index", 5)),
    "worst index of nothing": ("verification/solve/systems", "worst_index", change_number("worst_index", -1)),
}


@pytest.mark.parametrize("name", CHANGED_RESULTS)
def test_results_that_were_changed_are_refused(smallbatch, tmp_path, name):
    with open_problem_file(tmp_path / "p.h5") as file:
        add_solve(file, batch=5, n=4)
        add_solve(file, name="determinants", batch=5, n=4, nrhs="log_determinant")
        group = add_potential(file, position=[(0.25, 0, 0), (2, 1, 0.5)], charge=[1, -1], offset=[0, 1, 2],
                              output_unit="kT/e", temperature=310.0, dielectric=4.0, softening=0.2, cutoff=9.0, field=1,
                              origin=np.zeros((2, 3)), spacing=np.ones((2, 3)))
        group["group"] = np.array([1, 2], np.int8)
    smallbatch("run", "p.h5", "-o", "r.h5")
    smallbatch("verify", "p.h5", "r.h5")
    where, word, change = CHANGED_RESULTS[name]
    with results_to_change(tmp_path / "r.h5") as file:
        change(file if where == "solve/more" else file[where])
    sentence = smallbatch("verify", "p.h5", "r.h5", expect=3).stderr.strip().splitlines()[-1]
    assert where in sentence and word in sentence and "r.h5" in sentence, sentence
    assert "(" in sentence and sentence.endswith("."), sentence


def test_results_of_older_formats_are_verified(smallbatch, tmp_path):
    """Turns the results into files of formats 1.2, 1.1 and 1.0, by removing what later formats have added."""
    with open_problem_file(tmp_path / "p.h5") as file:
        add_solve(file)
        add_solve(file, name="empty", batch=0)
        add_potential(file, output_unit="kT/e", temperature=310.0)
    smallbatch("run", "p.h5", "-o", "r.h5")
    for minor in [2, 1, 0]:
        with results_to_change(tmp_path / "r.h5") as file:
            file.attrs["smallbatch_format"] = np.array([1, minor], np.int32)
            for name in file["solve"]:
                for number in ["rcond", "smallest_pivot", "log_determinant", "repaired"]:
                    if minor == 0:
                        del file["solve"][name][number]
            charges = file["potential/charges"]
            if minor == 2:
                del file["verification/solve/empty/verdict"], file["verification/solve/empty/error_over_bound"]
            if minor == 1:
                for number in ["V_min", "V_max", "V_mean"]:
                    del charges[number]
                for attribute in ["targets", "field", "softening", "cutoff", "dielectric"]:
                    del charges.attrs[attribute]
        smallbatch("verify", "p.h5", "r.h5")
        smallbatch("info", "r.h5")


def test_one_lattice_larger_than_a_block_is_verified_as_one_problem(smallbatch, tmp_path):
    with open_problem_file(tmp_path / "p.h5") as file:
        add_potential(file, shape=(128, 128, 40), spacing=(0.1, 0.1, 0.1), origin=(1, 1, 1))
    done = smallbatch("run", "p.h5", "-o", "r.h5", "--memory", "4MiB", "--json")
    verification = json.loads(done.stdout)["sets"][0]["verification"]
    assert verification["checked"] == verification["agreed"] == 1
    assert verification["points_checked"] == 128 * 128 * 40


def test_results_of_other_problems_are_refused(smallbatch, tmp_path):
    for name, origin in [("p", 0), ("q", 1)]:
        with open_problem_file(tmp_path / f"{name}.h5") as file:
            add_potential(file, origin=(origin, 0, 0))
    smallbatch("run", "p.h5", "-o", "r.h5")
    assert "/potential/charges" in smallbatch("verify", "q.h5", "r.h5", expect=3).stderr


def test_names_that_are_no_utf8_do_not_stop_a_summary(smallbatch, tmp_path):
    with open_problem_file(tmp_path / "p.h5") as file:
        add_solve(file)
    os.rename(os.fsencode(tmp_path / "p.h5"), os.fsencode(tmp_path) + b"/p\xff.h5")
    done = subprocess.run([smallbatch.program, b"run", b"p\xff.h5", b"-o", b"r.h5", b"--json"], cwd=tmp_path,
                          capture_output=True)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["all_right"]


def test_an_empty_batch_is_no_error(smallbatch, tmp_path):
    """Sets without problems have all datasets and attributes of other sets."""
    for name, batch in [("empty", 0), ("full", 1)]:
        with open_problem_file(tmp_path / f"{name}.h5") as file:
            add_solve(file, batch=batch, n=4)
            add_solve(file, name="determinants", batch=batch, n=4, nrhs="log_determinant")
            for targets in ["lattice", "points", "charges"]:
                group = add_potential(file, targets, position=np.full((batch, 3), 0.5), charge=np.ones(batch), field=1,
                                      offset=np.arange(batch + 1), spacing=np.ones((batch, 3)), targets=targets)
                group["group"] = np.zeros(batch, np.int8)
                if targets != "lattice":
                    del group.attrs["shape"], group["origin"], group["spacing"]
            file["potential/points/points"] = np.zeros((batch, 3))
        for verify in ["all", "none"]:
            smallbatch("run", f"{name}.h5", "-o", f"{name}_{verify}.h5", "--verify", verify)
            smallbatch("verify", f"{name}.h5", f"{name}_{verify}.h5")
            smallbatch("info", f"{name}_{verify}.h5")

    def described(path):
        """Returns every group's attributes, and every dataset's type, attributes, and shape without the batch. The
        datasets x, y and z are left out, because a set without problems has no lattice."""
        found = {}

        def take(name, item):
            if name.rpartition("/")[2] in ("x", "y", "z") and name.startswith("potential/"):
                return
            is_dataset = isinstance(item, h5py.Dataset)
            found[name] = (set(item.attrs), *((item.dtype, item.shape[1:]) if is_dataset else ()))

        with h5py.File(path) as file:
            for lane in ["solve", "potential", "verification", "provenance"]:
                take(lane, file[lane])
                file[lane].visititems(lambda name, item: take(f"{lane}/{name}", item))
        return found

    for verify in ["all", "none"]:
        full, empty = described(tmp_path / f"full_{verify}.h5"), described(tmp_path / f"empty_{verify}.h5")
        assert empty == full and len(full) > 60
        with h5py.File(tmp_path / f"empty_{verify}.h5") as file:
            assert file["solve/systems/x"].shape == (0, 4)
            for name in empty:
                if name.startswith("verification/") and name.count("/") == 2:
                    assert [file[name][key].shape for key in ("verdict", "error_over_bound")] == [(0,), (0,)]
                    totals = [file[name].attrs[key] for key in ("checked", "agreed", "disagreed", "worst_index")]
                    assert totals == [0, 0, 0, -1]


def test_results_tell_where_they_come_from(smallbatch, tmp_path):
    with open_problem_file(tmp_path / "p.h5") as file:
        add_solve(file)
    smallbatch("run", "p.h5", "-o", "r.h5", "--device", "cpu")
    with h5py.File(tmp_path / "r.h5") as file:
        note = {key: value for key, value in file["provenance"].attrs.items()}
    assert note["kind"] == b"results" and note["problems"] == b"p.h5" and note["verify"] == b"all"
    assert b"run p.h5 -o r.h5 --device cpu" in note["command_line"]
    assert b"ldlt" in note["solver"] and note["program"].startswith(b"smallbatch ")


def sets_of_this_processor():
    """Yields the instruction sets of this processor, from /proc/cpuinfo, by the rules of GCC's
    __builtin_cpu_supports."""
    flags = Path("/proc/cpuinfo").read_text().split() if Path("/proc/cpuinfo").exists() else []
    yield "baseline"
    if {"avx2", "fma"} <= set(flags):
        yield "avx2"
        if {"avx512f", "avx512dq", "avx512vl"} <= set(flags):
            yield "avx512"


def test_instruction_set_is_chosen_and_told(smallbatch, tmp_path):
    with open_problem_file(tmp_path / "p.h5") as file:
        add_solve(file)
        add_potential(file)

    def used(*arguments, **options):
        smallbatch("run", "p.h5", "-o", "r.h5", "--overwrite", "--device", "cpu", *arguments, **options)
        with h5py.File(tmp_path / "r.h5") as file:
            note = file["provenance"].attrs
            return {note[plan].decode().split()[-1] for plan in ("solver", "potential")}

    usable = list(sets_of_this_processor())
    assert used() == used("--instruction-set", "best") == {usable[-1]}
    for name in usable:
        assert used("--instruction-set", name) == {name}
        assert used(env={**os.environ, "SMALLBATCH_INSTRUCTION_SET": name}) == {name}
        assert used("--instruction-set", name, env={**os.environ, "SMALLBATCH_INSTRUCTION_SET": "baseline"}) == {name}
    for name in {"avx2", "avx512"} - set(usable):
        refused = smallbatch("run", "p.h5", "-o", "none.h5", "--device", "cpu", "--instruction-set", name, expect=2)
        assert name in refused.stderr and ", ".join(reversed(usable)) in refused.stderr
    refused = smallbatch("run", "p.h5", "-o", "none.h5", env={**os.environ, "SMALLBATCH_INSTRUCTION_SET": "sse9"}, expect=2)
    assert "SMALLBATCH_INSTRUCTION_SET as --instruction-set: sse9" in refused.stderr and "baseline" in refused.stderr
    wrong = {**os.environ, "SMALLBATCH_INSTRUCTION_SET": "sse9"}
    assert "SMALLBATCH_INSTRUCTION_SET as --instruction-set: sse9" in smallbatch("devices", env=wrong, expect=2).stderr
    assert "error --instruction-set: sse8" in smallbatch("devices", "--instruction-set", "sse8", expect=2).stderr
    assert not (tmp_path / "none.h5").exists()


def test_stdout_holds_data_alone(smallbatch, tmp_path):
    with open_problem_file(tmp_path / "p.h5") as file:
        add_solve(file)
    done = smallbatch("run", "p.h5", "-o", "r.h5", "--json")
    json.loads(done.stdout)
    assert "\033" not in done.stdout + done.stderr  # no colours without a terminal
    quiet = smallbatch("-q", "run", "p.h5", "-o", "r2.h5")
    assert quiet.stderr == "" and "agree with the referee" in quiet.stdout
