"""Compares solve(), inverse(), log_determinant() and factor() with numpy.linalg and with chosen solutions."""

import threading
import tracemalloc

import numpy as np
import pytest

import smallbatch
from tests.problems import packed, spd

TOLERANCE = {np.float32: 1e-4, np.float64: 1e-12}  # for well-conditioned systems


def chosen(seed, batch, n, nrhs=None, dtype=np.float64):
    """Returns A, b and x. A x is computed in long double and rounded to b."""
    rng = np.random.default_rng(seed)
    a = spd(rng, int(np.prod(batch)), n, dtype).reshape(*batch, n, n)
    x = rng.uniform(-1, 1, (*batch, n, nrhs or 1))
    b = (a.astype(np.longdouble) @ x.astype(np.longdouble)).astype(dtype)
    return (a, b, x) if nrhs else (a, b[..., 0], x[..., 0])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("backend", ["auto", "cpu", "reference"])
def test_the_chosen_solution_comes_back(dtype, backend):
    for n in (1, 7, 32, 64, 128, 129, 256):
        for nrhs in (None, 1, 3):
            a, b, x = chosen(n, (5,), n, nrhs, dtype)
            found = smallbatch.solve(a, b, backend=backend)
            assert found.x.dtype == dtype and found.x.shape == b.shape and found.info.shape == (5,)
            assert np.all(found.ok) and found.raise_for_status() is found
            assert np.allclose(found.x, x, rtol=0, atol=TOLERANCE[dtype])


@pytest.mark.parametrize("batch,of_b", [((), ()), ((), (4,)), ((4,), ()), ((3, 1), (1, 4)), ((2, 3), (2, 3)), ((0,), (0,)),
                                        ((1,), (3,)), ((2, 1, 2), (3, 2))])
def test_leading_axes_broadcast_as_those_of_numpy(batch, of_b):
    a, _, _ = chosen(1, batch, 6)
    b = np.random.default_rng(2).uniform(-1, 1, (*of_b, 6, 2))
    found = smallbatch.solve(a, b)
    wanted = np.linalg.solve(a, b)
    assert found.x.shape == wanted.shape and found.info.shape == wanted.shape[:-2]
    assert np.allclose(found.x, wanted)
    factored = smallbatch.factor(a).solve(b)
    assert factored.x.shape == wanted.shape and factored.info.shape == wanted.shape[:-2]
    assert np.allclose(factored.x, wanted)


def spaced(array, *steps):
    """Returns the numbers of `array` as a view of a larger array: every steps[k]-th element along axis k."""
    wide = np.full([size * step for size, step in zip(array.shape, steps)], np.nan, array.dtype)
    inside = wide[tuple(slice(None, None, step) for step in steps)]
    inside[...] = array
    return inside


LAYOUTS = {
    "by rows": lambda m: m,
    "by columns": lambda m: np.ascontiguousarray(m.swapaxes(-1, -2)).swapaxes(-1, -2),
    "wide rows": lambda m: np.concatenate([m, m * np.nan], axis=-1)[..., : m.shape[-1]],
    "wide columns": lambda m: np.concatenate([m, m * np.nan], axis=-2).swapaxes(-1, -2).copy().swapaxes(-1, -2)[
        ..., : m.shape[-2], :],
    "every other system": lambda m: spaced(m, 2, 1, 1),
    "every other number": lambda m: spaced(m, 1, 1, 2),
    "batch last": lambda m: np.moveaxis(np.moveaxis(m, 0, -1).copy(), -1, 0),
    "backwards": lambda m: m[::-1, ::-1, ::-1].copy()[::-1, ::-1, ::-1],
    "big-endian": lambda m: m.astype(m.dtype.newbyteorder(">")),
    "unaligned": lambda m: np.frombuffer(b"." + m.tobytes(), np.uint8)[1:].view(m.dtype).reshape(m.shape),
    "Fortran order": np.asfortranarray,
    "read-only": lambda m: np.frombuffer(m.tobytes(), m.dtype).reshape(m.shape),
}


@pytest.mark.parametrize("triangle", ["both", "lower", "upper"])
@pytest.mark.parametrize("of_b", LAYOUTS)
@pytest.mark.parametrize("of_a", LAYOUTS)
def test_numbers_are_found_wherever_they_lie(of_a, of_b, triangle):
    a, b, x = chosen(3, (4,), 5, 3)
    unread = {"both": a * 0, "lower": np.triu(np.full_like(a, np.nan), 1), "upper": np.tril(np.full_like(a, np.nan), -1)}
    a, b = LAYOUTS[of_a](a + unread[triangle]), LAYOUTS[of_b](b)
    assert np.allclose(smallbatch.solve(a, b, triangle=triangle).x, x)
    factor = smallbatch.factor(a, triangle=triangle)
    assert np.allclose(factor.solve(b).x, x)
    assert np.allclose(factor.solve(b[..., 1]).x, x[..., 1])


def test_batches_with_gaps_and_overlaps():
    a, b, x = chosen(15, (4, 6), 5)
    for part in (np.s_[:, :3], np.s_[::2, 1:5], np.s_[:, ::-1], np.s_[0, ::-1], np.s_[1:, 2]):
        assert np.allclose(smallbatch.solve(a[part], b[part]).x, x[part])
    windows = np.lib.stride_tricks.sliding_window_view(np.arange(1.0, 12.0), 5)  # each window begins one number later
    assert np.allclose(smallbatch.solve(a[0, 0], windows[:, :, None]).x[..., 0], np.linalg.solve(a[0, 0], windows.T).T)


@pytest.mark.parametrize("of_b", ["by rows", "by columns"])
def test_packed_triangles(of_b):
    a, b, x = chosen(4, (3,), 6, 2)
    b = LAYOUTS[of_b](b)
    rows, columns = np.triu_indices(6)
    for triangle, numbers in (("lower", packed(a)), ("both", packed(a)), ("upper", a[:, rows, columns])):
        assert np.allclose(smallbatch.solve(numbers, b, packed=True, triangle=triangle).x, x)
        assert np.allclose(smallbatch.inverse(numbers, packed=True, triangle=triangle).x, np.linalg.inv(a))
        assert np.allclose(smallbatch.solve(spaced(numbers, 1, 2), b, packed=True, triangle=triangle).x, x)


def test_whether_packed_is_any_truth():
    assert smallbatch.solve([4.0, 1, 3], [1.0, 2], packed=2).x.shape == (2,)


def test_vectors_are_told_from_matrices_as_torch_does():
    a, _, _ = chosen(5, (4,), 4)
    b = np.random.default_rng(6).uniform(-1, 1, (4, 4))
    assert np.allclose(smallbatch.solve(a, b).x, np.linalg.solve(a, b[..., None])[..., 0])
    assert np.allclose(smallbatch.solve(a[0], b).x, np.linalg.solve(a[0], b))
    assert np.allclose(smallbatch.solve(a, b[0]).x, np.linalg.solve(a, b[0, :, None])[..., 0])


def test_no_numbers_are_copied():
    a, b, x = chosen(7, (1,), 32)
    a, b = np.repeat(a, 4000, axis=0), np.repeat(b, 4000, axis=0)  # 32 MB, and 1 MB
    for matrices in (a, a.swapaxes(1, 2), a.reshape(40, 100, 32, 32), a[::2]):
        right = b[::2] if len(matrices) == 2000 else b.reshape(*matrices.shape[:-2], 32)
        smallbatch.solve(matrices[:1], right[:1])
        tracemalloc.start()
        found = smallbatch.solve(matrices, right)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 4e6
        assert np.allclose(found.x, x)


def test_every_number_is_what_it_says():
    a, b, x = chosen(8, (6,), 12, 2)
    found = smallbatch.solve(a, b, numbers=["backward_error", "rcond", "smallest_pivot", "log_determinant", "repaired",
                                            "perturbation"])
    inverse = np.linalg.inv(a)
    norm = lambda m: np.abs(m).sum(axis=-2).max(axis=-1)  # noqa: E731
    assert np.all(found.backward_error < 30 * 2.0**-53) and np.all(found.backward_error >= 0)
    assert np.allclose(found.rcond, 1 / (norm(a) * norm(inverse)))
    assert np.allclose(found.smallest_pivot, np.linalg.cholesky(a).diagonal(axis1=1, axis2=2).min(axis=1) ** 2)
    assert np.allclose(found.log_determinant, np.linalg.slogdet(a)[1])
    assert np.all(found.repaired == 0) and np.all(found.perturbation == 0)
    assert smallbatch.solve(a, b).rcond is None
    assert np.array_equal(smallbatch.solve(a, b).x, found.x)
    assert smallbatch.solve(a, b, numbers="rcond").rcond.tolist() == found.rcond.tolist()


def test_inverse_determinant_and_factor():
    a, b, x = chosen(9, (2, 3), 9)
    assert np.allclose(smallbatch.inverse(a).x, np.linalg.inv(a))
    determinant = smallbatch.log_determinant(a, numbers=["rcond"])
    assert determinant.x is None and determinant.log_determinant.shape == (2, 3) and determinant.rcond.shape == (2, 3)
    assert np.allclose(determinant.log_determinant, np.linalg.slogdet(a)[1])
    factor = smallbatch.factor(a.astype(np.float32))
    assert factor.packed.dtype == np.float32 and factor.packed.shape == (2, 3, 45)
    lower = np.zeros((2, 3, 9, 9))
    lower[(..., *np.tril_indices(9))] = factor.packed
    d = lower.diagonal(axis1=-2, axis2=-1).copy()
    lower[..., range(9), range(9)] = 1
    assert np.allclose(lower * d[..., None, :] @ lower.swapaxes(-1, -2), a, atol=1e-5)
    assert np.allclose(factor.log_determinant, np.linalg.slogdet(a)[1], atol=1e-4)
    assert np.allclose(factor.smallest_pivot, d.min(axis=-1))


def test_pivots_are_raised_to_a_floor():
    a = np.array([[1.0, 1.0], [1.0, 1.0]])
    assert smallbatch.solve(a, [1.0, 1.0]).info == 2
    found = smallbatch.solve(a, [1.0, 1.0], pivot_floor=1e-6, numbers=["repaired", "perturbation"])
    assert found.info == 0 and found.repaired == 1 and 0 < found.perturbation < 1e-5
    assert np.allclose(a @ found.x, 1, atol=1e-5)


@pytest.mark.parametrize("method", ["auto", "gauss_jordan", "ldlt"])
def test_methods(method):
    a, b, x = chosen(10, (3,), 16)
    assert np.allclose(smallbatch.solve(a, b, method=method).x, x)


def test_a_system_that_fails_says_why_and_leaves_others_alone():
    a, b, x = chosen(11, (2, 3), 4)
    a[0, 1, 2, 2] = -1
    a[1, 2, 0, 0] = np.nan
    a[1, 1, 0, 1] += 1
    b[0, 0, 3] = np.inf
    found = smallbatch.solve(a, b)
    assert found.info.tolist() == [[-3, 3, 0], [0, -2, -1]]
    assert found.ok.tolist() == [[False, False, True], [True, False, False]]
    assert np.all(np.isnan(found.x[~found.ok])) and np.allclose(found.x[found.ok], x[found.ok])
    assert found.describe() == "4 of 6 systems failed, the first is (0, 0): b holds a NaN or an infinity"
    with pytest.raises(smallbatch.NumericalFailure, match="4 of 6") as raised:
        found.raise_for_status()
    assert raised.value.indices == [(0, 0), (0, 1), (1, 1), (1, 2)] and raised.value.statuses == [-3, 3, -2, -1]
    assert smallbatch.factor(a).info.tolist() == [[0, 3, 0], [0, -2, -1]]
    assert smallbatch.factor(a).solve(np.ones(4)).info.tolist() == [[0, 3, 0], [0, -2, -1]]
    assert smallbatch.solve(a[0, 2:], b[0, 2:]).describe() == smallbatch.solve(a[0, 2], b[0, 2]).describe() == "solved"
    assert smallbatch.solve(a[[0, 0], 2], b[0, 2]).describe() == "all 2 systems have their answers"
    assert smallbatch.log_determinant(a[0, 1]).describe() == "pivot 3 is not positive"


@pytest.mark.parametrize("arguments,problem", [
    (dict(A=np.eye(257), b=np.ones(257)), "257"),
    (dict(A=np.ones((2, 3)), b=np.ones(3)), r"\(2, 3\)"),
    (dict(A=np.ones(3), b=np.ones(3)), r"\(3,\)"),
    (dict(A=np.eye(3), b=np.ones(4)), r"n = 3.*\(4,\)"),
    (dict(A=np.eye(3), b=np.ones((2, 0))), r"\(2, 0\)"),
    (dict(A=np.eye(3), b=1.0), r"\(\)"),
    (dict(A=np.ones((2, 3, 3)), b=np.ones((4, 3, 1))), "broadcast"),
    (dict(A=np.ones(4), b=np.ones(3), packed=True), "packed"),
    (dict(A=np.eye(3), b=np.ones(3), triangle="left"), "left.*both, lower, upper"),
    (dict(A=np.eye(3), b=np.ones(3), method="qr"), "qr.*ldlt"),
    (dict(A=np.eye(3), b=np.ones(3), backend="tpu"), "tpu.*cpu"),
    (dict(A=np.eye(3), b=np.ones(3), backend="cpu:1"), "cpu:1"),
    (dict(A=np.eye(3), b=np.ones(3), numbers=["kappa"]), "kappa.*rcond"),
    (dict(A=np.eye(3), b=np.ones(3), pivot_floor=1.0), "floor"),
    (dict(A=np.eye(3), b=np.ones(3), threads=-1), "threads"),
    (dict(A=np.eye(3), b=np.ones(3), threads=2**31), "threads=2147483648 is beyond 32 bits"),
    (dict(A=np.eye(3), b=np.ones(3), backend="cuda:99999999999"), "cuda:K"),
])
def test_arguments_that_make_no_sense_are_value_errors(arguments, problem):
    with pytest.raises(ValueError, match=problem):
        smallbatch.solve(**arguments)


@pytest.mark.parametrize("a,b", [(np.eye(3, dtype=complex), np.ones(3)), (np.eye(3, dtype=np.float16), np.ones(3)),
                                 (np.eye(3, dtype=np.longdouble), np.ones(3)), (np.array([["a"]]), np.ones(1)),
                                 (np.eye(3, dtype=np.float32), np.ones(3))])
def test_types_that_are_not_taken_are_type_errors(a, b):
    with pytest.raises(TypeError, match="[Cc]onvert"):
        smallbatch.solve(a, b)


def test_lists_and_whole_numbers_are_converted():
    assert smallbatch.solve([[2, 1], [1, 2]], [3, 3]).x.tolist() == [1, 1]
    assert smallbatch.solve(np.array([[2, 1], [1, 2]]), np.array([3, 3], np.int8)).x.dtype == np.float64
    assert smallbatch.solve(np.eye(2, dtype=np.float32), [1, 2]).x.dtype == np.float32
    found = smallbatch.solve(np.eye(2, dtype=np.float32), np.array([1, 2])).x
    assert found.dtype == np.float32 and found.tolist() == [1, 2]


def test_masks_are_not_ignored():
    masked = np.ma.masked_equal(np.ones(2), 1)
    with pytest.raises(TypeError, match="b has a mask"):
        smallbatch.solve(np.eye(2), masked)
    with pytest.raises(TypeError, match="b has a mask"):
        smallbatch.factor(np.eye(2)).solve(masked)


def test_vectors_for_fewer_matrices_are_asked_to_say_so():
    a, b, x = chosen(15, (), 4, 17)
    for of_a in (a, a[None]):
        with pytest.raises(ValueError, match=r"\(17, 4\).*b\[\.\.\., None\]"):
            smallbatch.solve(of_a, b.T)
        assert np.allclose(smallbatch.solve(of_a, b.T[..., None]).x[..., 0], x.T)


def test_a_gpu_that_is_not_there_is_an_error():
    if smallbatch.device_count():
        pytest.skip("there is a GPU")
    with pytest.raises(RuntimeError, match=r"\. \w"):
        smallbatch.solve(np.eye(2), np.ones(2), backend="cuda")


def test_arrays_of_every_library(library):
    make, kind = library
    a, b, x = chosen(12, (3,), 8, 2)
    found = smallbatch.solve(make(a), make(b), numbers=["log_determinant"])
    assert type(found.x) is kind and type(found.info) is kind and type(found.log_determinant) is kind
    assert np.allclose(np.asarray(found.x), x) and np.asarray(found.ok).all()
    assert "float64" in str(found.log_determinant.dtype)
    factor = smallbatch.factor(make(a))
    assert type(factor.packed) is kind
    assert np.allclose(np.asarray(factor.solve(make(b)).x), x)
    assert found.raise_for_status() is found


def test_arrays_of_two_libraries_or_devices_are_refused():
    class Elsewhere:
        def __init__(self, *device):
            self.device = device

        def __dlpack__(self, **arguments):
            raise AssertionError("nobody should ask")

        def __dlpack_device__(self):
            return self.device

    with pytest.raises(ValueError, match="A lies on cuda:1 and b on the host"):
        smallbatch.solve(Elsewhere(2, 1), np.ones(3))
    with pytest.raises(ValueError, match="b on cuda:1"):
        smallbatch.solve(Elsewhere(2, 0), Elsewhere(2, 1))
    Elsewhere.__module__ = "torch"
    with pytest.raises(TypeError, match="A is of NumPy and b of PyTorch"):
        smallbatch.solve(np.eye(3), Elsewhere(1, 0))
    with pytest.raises(ValueError, match="b lies on a device that is not CUDA's"):
        smallbatch.solve(np.eye(3), Elsewhere(8, 0))


def test_other_threads_run_meanwhile():
    a, b, x = chosen(13, (2000,), 64, 4)
    counted, ended = [0], threading.Event()

    def count():
        while not ended.is_set():
            counted[0] += 1

    counting = threading.Thread(target=count)
    counting.start()
    before = counted[0]
    smallbatch.solve(a, b, backend="reference", numbers=["rcond"])
    during = counted[0] - before
    ended.set()
    counting.join()
    assert during > 1000


def test_threads_have_handles_of_their_own():
    a, b, x = chosen(14, (500,), 16)
    found = [None] * 4

    def work(k):
        found[k] = [smallbatch.solve(a, b, threads=1).x for _ in range(5)]

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(one, found[0][0]) for some in found for one in some)


@pytest.mark.parametrize("backend", ["auto", "cpu", "reference"])
@pytest.mark.parametrize("store_packed", [False, True])
def test_systems_may_have_sizes_of_their_own(backend, store_packed):
    n, sizes = 9, np.array([[9, 0, 4], [1, 7, 4]])
    a, b, _ = chosen(3, (2, 3), n, 2)
    given, right = a.copy(), b.copy()
    for k, m in np.ndenumerate(sizes):
        given[k][m:], given[k][:, m:], right[k][m:] = np.nan, np.inf, np.nan
    if store_packed:
        given = packed(given.reshape(6, n, n)).reshape(2, 3, -1)
    solved = smallbatch.solve(given, right, packed=store_packed, sizes=sizes, numbers="rcond", backend=backend)
    inverse = smallbatch.inverse(given, packed=store_packed, sizes=sizes, backend=backend)
    determinant = smallbatch.log_determinant(given, packed=store_packed, sizes=sizes.astype("uint8"), backend=backend)
    for k, m in np.ndenumerate(sizes):
        block = a[k][:m, :m]
        assert not solved.x[k][m:].any() and not inverse.x[k][m:].any() and not inverse.x[k][:, m:].any()
        assert np.allclose(solved.x[k][:m], np.linalg.solve(block, b[k][:m]), rtol=0, atol=1e-12)
        assert np.allclose(inverse.x[k][:m, :m], np.linalg.inv(block), rtol=0, atol=1e-12)
        assert np.isclose(determinant.log_determinant[k], np.linalg.slogdet(block)[1], rtol=0, atol=1e-12)
        assert np.isclose(solved.rcond[k], 1 / np.linalg.cond(block, 1) if m else 1)
    assert np.all(solved.ok) and np.all(inverse.ok) and np.all(determinant.ok)


def test_sizes_are_broadcast_and_judged():
    a, b, _ = chosen(4, (3,), 5)
    one = smallbatch.solve(a, b, sizes=2)
    assert np.allclose(one.x[:, :2], np.linalg.solve(a[:, :2, :2], b[:, :2, None])[..., 0]) and not one.x[:, 2:].any()
    found = smallbatch.solve(a, b, sizes=[5, 6, 2 ** 32 + 1])
    assert found.info.tolist() == [0, -6, -6] and np.isnan(found.x[1:]).all()
    assert "its size is not within 0 to n" in found.describe()
    with pytest.raises(TypeError, match="sizes have the type float64"):
        smallbatch.solve(a, b, sizes=[1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="sizes have the shape"):
        smallbatch.solve(a, b, sizes=[1, 2])
