"""Arrays of JAX on the host and on a GPU, with and without float64. Skipped without JAX. GPU tests are skipped if JAX
has no GPU."""

import numpy as np
import pytest

import smallbatch
from tests.problems import spd

jax = pytest.importorskip("jax")
try:
    gpu = jax.devices("cuda")[0]
except RuntimeError:
    gpu = None
needs_gpu = pytest.mark.skipif(gpu is None or not smallbatch.device_count(), reason="no GPU that JAX and the library use")


@pytest.fixture(params=[False, True], ids=["float32 alone", "float64 too"])
def x64(request):
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", request.param)
    yield request.param
    jax.config.update("jax_enable_x64", before)


@pytest.fixture
def on_host():
    with jax.default_device(jax.devices("cpu")[0]):
        yield


def test_no_digit_of_a_result_on_the_host_is_lost(x64, on_host):
    signal = jax.numpy.full((1 << 17, 1, 2), -128, "int8")  # the sum needs more than 32 bits
    a = jax.numpy.asarray(np.array([[4, 2], [2, 2]], np.float32))
    pair = [[0.0, 0, 0], [2.0, 0, 0]]
    charges = jax.numpy.asarray(np.array([1, -1], np.float32))
    calls = [lambda: smallbatch.correlate(signal).visibility, lambda: smallbatch.log_determinant(a).log_determinant,
             lambda: smallbatch.factor(a).log_determinant,
             lambda: smallbatch.pair_energy(pair, charges, unit="e/angstrom", precision="float64").energy]
    if x64:
        for call, wanted in zip(calls, ([[[1 << 32, 0]]], np.log(4), np.log(4), -0.5)):
            assert np.array_equal(np.asarray(call()), wanted)
    else:
        for call in calls:
            with pytest.raises(TypeError, match="JAX makes .*32 of .*64.*jax_enable_x64"):
                call()
    assert smallbatch.inverse(a).x.dtype == "float32"
    assert smallbatch.potential(pair, charges).potential.dtype == "float32"


def test_what_is_traced_says_so():
    with pytest.raises(TypeError, match="A is traced by JAX.*pure_callback"):
        jax.jit(lambda a: smallbatch.inverse(a).x)(jax.numpy.ones((1, 1)))


@needs_gpu
def test_solutions_are_where_the_systems_are(x64):
    dtype = np.float64 if x64 else np.float32
    a = spd(np.random.default_rng(1), 1000, 24, dtype)
    x = np.random.default_rng(2).uniform(-1, 1, (1000, 24)).astype(dtype)
    on_gpu, b = jax.device_put(a, gpu), jax.device_put(np.einsum("kij,kj->ki", a, x), gpu)
    for _ in range(10):  # JAX works before and after each call
        found = smallbatch.solve(on_gpu * 1, b * 1, numbers=["rcond"])
        assert found.x.devices() == {gpu} and found.x.dtype == dtype
        assert float(abs(found.x - x).max()) < (1e-12 if x64 else 1e-4) and bool(found.ok.all())
    assert np.allclose(np.asarray(smallbatch.inverse(on_gpu).x) @ a, np.eye(24), atol=1e-4)


@needs_gpu
def test_results_of_every_layout_are_there(x64):
    """Solves for vectors and for two columns. An array of JAX cannot view results that are stored by columns."""
    a = jax.device_put(np.broadcast_to(2 * np.eye(3, dtype=np.float32), (100, 3, 3)), gpu)
    b = jax.device_put(np.ones((100, 3), np.float32), gpu)
    for _ in range(100):
        assert float(abs(smallbatch.solve(a, b).x - 0.5).max()) == 0
        assert float(abs(smallbatch.solve(a, b[..., None] * np.ones(2, np.float32)).x - 0.5).max()) == 0


@needs_gpu
def test_what_needs_float64_says_so(x64):
    a = jax.device_put(np.eye(3, dtype=np.float32)[None], gpu)
    if x64:
        assert float(smallbatch.log_determinant(a).log_determinant[0]) == 0
    else:
        with pytest.raises(TypeError, match="jax_enable_x64"):
            smallbatch.log_determinant(a)
