"""Systems at the ends of the range of numbers, and systems close to singular. The backends cpu and reference agree with
the referee about them."""

import h5py
import numpy as np
import pytest

from tests.problems import open_problem_file


@pytest.fixture(params=["cpu", "reference"])
def solve(request, smallbatch, tmp_path):
    """Returns a function that solves one set and returns its results. The referee must agree with every system."""

    def run(a, b=None, floor=0, **attributes):
        with open_problem_file(tmp_path / "p.h5") as file:
            group = file.create_group("solve/s")
            group["A"] = a
            if b is not None:
                group["b"] = b
            for name, value in attributes.items():
                group.attrs[name] = value
        done = smallbatch("run", "p.h5", "-o", "r.h5", "--overwrite", "--pivot-floor", floor, "--device", request.param,
                          expect=None)
        with h5py.File(tmp_path / "r.h5") as file:
            result = {name: data[...] for name, data in file["solve/s"].items()}
            assert (file["verification/solve/s/verdict"][...] == 1).all(), done.stdout
        assert done.returncode == int((result["info"] != 0).any()), done.stdout
        return result

    return run


def test_numbers_of_a_repaired_matrix_are_those_of_its_lower_triangle(solve):
    a = np.array([[[2, np.nextafter(np.float32(6), np.float32(7))], [6, 18]]], np.float32)
    result = solve(a, compute="log_determinant", floor=1e-30)
    assert result["info"].tolist() == [0] and result["repaired"].tolist() == [1]
    assert result["perturbation"][0] == np.float32(2**-23)  # n u, because the second pivot is 18 - 36/2 = 0


def test_a_singular_matrix_before_a_tiny_right_hand_side_fails_by_its_pivot(solve):
    for n in (2, 3, 8, 21):
        rng = np.random.default_rng(n)
        g = rng.integers(-3, 4, (20, n, n // 2 + 1)).astype(float)
        scale = 2.0 ** rng.integers(-12, 13, (20, n))
        a = g @ g.transpose(0, 2, 1) * scale[:, :, None] * scale[:, None]
        solve(np.abs(a) * np.eye(n) + a * (1 - np.eye(n)), rng.uniform(-1, 1, (20, n)) * 1e-318)


def test_solutions_among_the_smallest_numbers_are_exact(solve):
    for n in (3, 15, 40):
        for dtype in (np.float32, np.float64):
            i = np.arange(1.0, n + 1)
            a = np.minimum(i, i[:, None])[None]
            x = np.random.default_rng(n).integers(-9, 10, (1, n)).astype(float)
            least = float(np.finfo(dtype).smallest_subnormal)
            result = solve(a.astype(dtype), (a @ x[0] * least).astype(dtype))
            if result["info"][0] == 0:  # otherwise -5: rounding x to dtype loses too many digits
                assert (result["x"][0] == x[0] * least).all() and result["backward_error"][0] == 0


def test_elements_far_beyond_their_diagonal_make_a_matrix_indefinite(solve):
    for dtype, small, large in ((np.float64, 1e-281, 1e154), (np.float32, 1e-37, 1e19)):
        a = np.eye(6, dtype=dtype)[None] * dtype(small)
        a[0, 4, 1] = a[0, 1, 4] = large
        assert solve(a, np.ones((1, 6), dtype))["info"].tolist() == [5]


def test_a_pivot_may_be_less_than_the_smallest_number(solve):
    least = 2.0**-1074
    a = np.array([[[2, 6, 4], [6, 18, 12], [4, 12, 9]]]) * least * 64  # rank 2
    result = solve(a, np.array([[1.0, 3, 2]]) * least, floor=1e-30)
    assert result["info"].tolist() == [0] and result["repaired"].tolist() == [1]
    assert result["smallest_pivot"].tolist() == [0] and np.isfinite(result["log_determinant"]).all()
