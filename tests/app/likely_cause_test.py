"""Sets with common mistakes, such as a triangle instead of the whole A. `run` names the likely cause, often as a
question."""

import json

import h5py
import numpy as np
import pytest

from tests.problems import add_potential, add_solve, open_problem_file, spd

BATCH, N = 8, 8
UPPER_OF = np.triu(np.ones((N, N), bool), 1)


def laplacian():
    a = 2 * np.eye(N) - np.eye(N, k=1) - np.eye(N, k=-1)
    a[0, 0] = a[-1, -1] = 1
    return np.repeat(a[None], BATCH, 0)


def gaussian_kernel(n):
    """Returns kernel matrices. Their Cholesky factorization succeeds in double precision, and fails in single
    precision."""
    x = np.linspace(0, 1, n)
    return np.repeat((np.exp(-((x[:, None] - x) ** 2) / 2 / 0.3**2) + 3e-7 * np.eye(n))[None], BATCH, 0)


def saddle_point(a):
    a = a.copy()
    a[:, -1, -1] = 0
    return a


def nearly_symmetric(a):
    return a + np.float32(1e-3) * UPPER_OF


# For each mistake: how A changes, and words that the sentence must have.
MATRICES = {
    "upper triangles": (np.triu, ["in all 8 systems, A is not symmetric", "0 below the diagonal", "upper triangle?", "uplo"]),
    "lower triangles": (np.tril, ["in all 8 systems, A is not symmetric", "0 above the diagonal", "lower triangle?", "uplo"]),
    "the batch last": (lambda a: np.moveaxis(a, 0, -1), ["in all 8 systems, A is not symmetric", "the batch", "numpy.moveaxis(A, -1, 0)"]),
    "rounded": (nearly_symmetric, ["in all 8 systems, A is not symmetric", "at most 0.00", "(A + A^T) / 2"]),
    "NaN above the diagonal": (lambda a: np.where(UPPER_OF, np.nan, a), ["in all 8 systems, A is not finite", "lower triangle?"]),
    "half of it NaN": (lambda a: np.where(np.arange(N) % 2, np.nan, a), ["in all 8 systems, A is not finite", "50 % of its numbers"]),
    "never written": (lambda a: 0 * a, ["in all 8 systems, A is not positive definite", "0 everywhere", "Was A written?"]),
    "the other sign": (lambda a: -a, ["in all 8 systems, A is not positive definite", "diagonal elements are negative", "opposite sign?"]),
    "a constraint": (saddle_point, ["in all 8 systems, A is not positive definite", "0 on the diagonal", "constraint"]),
    "a free Laplacian": (lambda a: laplacian(), ["in all 8 systems, A is not positive definite", "add up to 0", "Laplacian"]),
}


def write(path, a, b=None):
    with open_problem_file(path) as file:
        file["solve/systems/A"] = np.ascontiguousarray(a, np.float32)
        file["solve/systems/b"] = np.ones(a.shape[:2], np.float32) if b is None else b


def cause(smallbatch, *arguments, expect=1):
    """Returns the likely cause of the only set from JSON. The text output must have it too."""
    found = json.loads(smallbatch("run", "p.h5", "-o", "r.h5", "--overwrite", "--json", *arguments,
                                  expect=expect).stdout)["sets"][0]["likely_cause"]
    text = smallbatch("run", "p.h5", "-o", "r.h5", "--overwrite", *arguments, expect=expect).stdout
    assert found is None or f"\n  likely cause: {found}\n" in text
    return found


@pytest.mark.parametrize("wrong", MATRICES)
def test_the_cause_is_asked_about(smallbatch, tmp_path, wrong):
    change, words = MATRICES[wrong]
    write(tmp_path / "p.h5", change(spd(np.random.default_rng(1), BATCH, N, np.float32)))
    sentence = cause(smallbatch)
    for word in words:
        assert word in sentence, f"'{word}' is not in: {sentence}"
    verified = json.loads(smallbatch("verify", "p.h5", "r.h5", "--json", expect=1).stdout)
    assert verified["sets"][0]["likely_cause"] == sentence


@pytest.mark.parametrize("wrong", MATRICES)
def test_one_good_system_takes_the_cause_away(smallbatch, tmp_path, wrong):
    good = spd(np.random.default_rng(1), BATCH, N, np.float32)
    for index in (0, BATCH - 1):
        a = np.array(MATRICES[wrong][0](good), np.float32)
        a[index] = good[index]
        write(tmp_path / "p.h5", a)
        assert cause(smallbatch) is None


@pytest.mark.parametrize("wrong", sorted(MATRICES.keys() - {"the batch last"}))
def test_the_cause_of_nine_in_ten_is_asked_about(smallbatch, tmp_path, wrong):
    change, words = MATRICES[wrong]
    good = spd(np.random.default_rng(1), BATCH, N, np.float32)
    a = np.tile(np.array(change(good), np.float32), (5, 1, 1))
    a[0], a[1], a[20], a[39] = good[0], good[1], np.inf * good[2], MATRICES["a free Laplacian"][0](good)[0]
    if "finite" in words[0]:
        a[20] = good[2]
    if "definite" in words[0]:
        a[39] = good[3]
    write(tmp_path / "p.h5", a)
    sentence = cause(smallbatch)
    for word in [words[0].replace("all 8 systems", "36 of 40 systems"), *words[1:]]:
        assert word in sentence, f"'{word}' is not in: {sentence}"
    a[2] = good[2]  # 35 of 40, less than nine in ten
    write(tmp_path / "p.h5", a)
    assert cause(smallbatch) is None


def test_nothing_is_claimed_of_what_was_not_seen(smallbatch, tmp_path):
    rng = np.random.default_rng(1)
    good = spd(rng, 100, N, np.float32)
    write(tmp_path / "p.h5", good)
    assert cause(smallbatch, expect=0) is None
    write(tmp_path / "p.h5", rng.uniform(-1, 1, (BATCH, N, N)))  # not symmetric, and like no known mistake
    assert cause(smallbatch) is None
    mixed = np.triu(good)
    mixed[40] = np.tril(good[40])  # one lower triangle among upper triangles
    write(tmp_path / "p.h5", mixed)
    assert cause(smallbatch) is None
    write(tmp_path / "p.h5", np.triu(good))
    assert "in all 100 systems (the first 64 were examined), A is not symmetric" in cause(smallbatch)
    write(tmp_path / "p.h5", np.triu(good)[:1])
    assert cause(smallbatch).startswith("in the only system, A is not symmetric")


def hilbert(n):
    i = np.arange(n)
    return np.repeat(1 / (1 + i[:, None] + i)[None], BATCH, 0)


def test_lost_pivots_are_told_from_negative_eigenvalues(smallbatch, tmp_path):
    """If the sentence says that the matrices are definite in float64, numpy's Cholesky in double precision must factor
    them."""
    indefinite = np.repeat(np.array([[1, 2.0], [2, 1]])[None], BATCH, 0)
    for a, is_definite in ((np.float32(gaussian_kernel(48)), True), (np.float32(hilbert(12)), False), (indefinite, False)):
        if is_definite:
            np.linalg.cholesky(a[0].astype(float))
        else:
            with pytest.raises(np.linalg.LinAlgError):
                np.linalg.cholesky(a[0].astype(float))
        write(tmp_path / "p.h5", a)
        sentence = cause(smallbatch)
        assert sentence.startswith("in all 8 systems, A is not positive definite") and "float64" in sentence and "--pivot-floor" in sentence
        assert ("the same matrices" in sentence) == is_definite
    with open_problem_file(tmp_path / "p.h5") as file:  # the advice of the sentence works
        file["solve/systems/A"], file["solve/systems/b"] = np.float32(gaussian_kernel(48)).astype(float), np.ones((BATCH, 48))
    assert cause(smallbatch, expect=0) is None
    with open_problem_file(tmp_path / "p.h5") as file:
        file["solve/systems/A"], file["solve/systems/b"] = indefinite, np.ones((BATCH, 2))
    sentence = cause(smallbatch)
    assert "float64" not in sentence and "--pivot-floor" in sentence and "negative eigenvalues?" in sentence


def test_right_hand_sides_that_are_not_finite(smallbatch, tmp_path):
    good = spd(np.random.default_rng(1), BATCH, N, np.float32)
    b = np.ones((BATCH, N), np.float32)
    b[:, :2] = np.nan
    write(tmp_path / "p.h5", good, b)
    assert "25 % of its numbers" in cause(smallbatch)
    write(tmp_path / "p.h5", good, np.full((BATCH, N), np.nan, np.float32))
    assert "all of its numbers are NaN or infinite. Was b written?" in cause(smallbatch)
    nearly_all = np.full((BATCH, 64, 64), np.nan, np.float32)
    nearly_all[:, 0, 0] = 1
    write(tmp_path / "p.h5", nearly_all)
    assert "more than 99 % of its numbers are NaN" in cause(smallbatch)


@pytest.mark.parametrize("uplo", ["lower", "upper"])
def test_only_numbers_that_are_read_are_counted(smallbatch, tmp_path, uplo):
    """The triangle that the solver does not read is NaN. 9 of the 36 numbers that it reads are NaN too."""
    read = np.tril(np.ones((N, N), bool)) if uplo == "lower" else np.triu(np.ones((N, N), bool))
    row, column = np.nonzero(read)
    for other in (np.nan, 0):
        a = np.where(read, spd(np.random.default_rng(1), BATCH, N, np.float32), np.float32(other))
        a[:, row[:9], column[:9]] = np.nan
        write(tmp_path / "p.h5", a)
        with h5py.File(tmp_path / "p.h5", "r+") as file:
            file["solve/systems"].attrs["uplo"] = uplo
        assert "A is not finite: 25 % of its numbers are NaN" in cause(smallbatch)
        a[:, read] = np.nan
        with h5py.File(tmp_path / "p.h5", "r+") as file:
            file["solve/systems/A"][...] = a
        assert "A is not finite: all of its numbers are NaN or infinite. Was A written?" in cause(smallbatch)


def test_asymmetry_of_large_numbers(smallbatch, tmp_path):
    with open_problem_file(tmp_path / "p.h5") as file:
        a = nearly_symmetric(spd(np.random.default_rng(1), BATCH, N, np.float64)) * 1e200
        file["solve/systems/A"], file["solve/systems/b"] = a, np.ones((BATCH, N))
    assert "at most 0.00" in cause(smallbatch)


def test_triangles_that_are_said_to_be_ones(smallbatch, tmp_path):
    """The systems have -A instead of A, and only the lower triangle is read or stored."""
    for options in ({"lower": True}, {"store_packed": True}):
        with open_problem_file(tmp_path / "p.h5") as file:
            add_solve(file, **options)
            file["solve/systems/A"][...] = -file["solve/systems/A"][...]
        assert "in all 5 systems, A is not positive definite. Its diagonal elements are negative." in cause(smallbatch)


def test_a_batch_axis_that_is_last_is_asked_about_where_it_cannot_be_first(smallbatch, tmp_path):
    write(tmp_path / "p.h5", np.moveaxis(spd(np.random.default_rng(1), 100, N, np.float32), 0, -1))
    assert "numpy.moveaxis(A, -1, 0)" in smallbatch("run", "p.h5", "-o", "r.h5", expect=3).stderr


def test_charges_and_lattices_that_miss_each_other(smallbatch, tmp_path):
    points = np.array([(0, 0, 0), (1, 1, 1), (2, 0, 1)], float)

    def cause_of(position, *arguments, expect=0, **lattice):
        with open_problem_file(tmp_path / "p.h5") as file:
            add_potential(file, position=position, charge=[1, -1, 1], **lattice)
        return cause(smallbatch, *arguments, expect=expect)

    assert "none of the 3 charges lies within its lattice" in cause_of(points + 100)
    assert cause_of(points + 100, shape=(4, 4, 1)) is None  # a lattice of a single plane may miss all charges
    assert "as many charges lie on lattice points" in cause_of(points * [1, 1, 0], shape=(4, 4, 1))
    assert cause_of(points * np.nan, expect=1) is None
    assert "as many charges lie on lattice points as there are" in cause_of(points)
    assert "leave these charges out with --singular skip" in cause_of(points)
    left_out = cause_of(points, "--singular", "skip")
    assert "as many charges lie on lattice points as there are charges (V leaves them out there)" in left_out
    assert "--singular" not in left_out
    assert json.loads(smallbatch("verify", "p.h5", "r.h5", "--json").stdout)["sets"][0]["likely_cause"] == left_out
    assert cause_of(points + [[0.5, 0, 0], [0, 0, 0], [0, 0, 0]]) is None
    assert cause_of(points + [[0.5, 0, 0], [100, 0, 0], [100, 0, 0]]) is None


def test_shares_find_the_cause_of_theirs(smallbatch, tmp_path):
    write(tmp_path / "p.h5", np.triu(spd(np.random.default_rng(1), BATCH, N, np.float32)))
    assert "in all 4 systems, A is not symmetric" in cause(smallbatch, "--shard", "2/2")
    with h5py.File(tmp_path / "r.h5") as file:
        assert (file["solve/systems/info"][...] == -2).all()
