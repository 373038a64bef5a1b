"""Arrays of JAX on a GPU. Skipped without JAX, and without a GPU of its."""

import numpy as np
import pytest

import smallbatch
from tests.problems import spd

jax = pytest.importorskip("jax")
try:
    gpu = jax.devices("cuda")[0]
except RuntimeError:
    gpu = None
pytestmark = pytest.mark.skipif(gpu is None or not smallbatch.device_count(), reason="no GPU that JAX and the library use")


@pytest.fixture(params=[False, True], ids=["float32 alone", "float64 too"])
def x64(request):
    jax.config.update("jax_enable_x64", request.param)
    return request.param


def test_solutions_are_where_the_systems_are(x64):
    dtype = np.float64 if x64 else np.float32
    a = spd(np.random.default_rng(1), 1000, 24, dtype)
    x = np.random.default_rng(2).uniform(-1, 1, (1000, 24)).astype(dtype)
    on_gpu, b = jax.device_put(a, gpu), jax.device_put(np.einsum("kij,kj->ki", a, x), gpu)
    for _ in range(10):  # with work of JAX's before and behind
        found = smallbatch.solve(on_gpu * 1, b * 1, numbers=["rcond"])
        assert found.x.devices() == {gpu} and found.x.dtype == dtype
        assert float(abs(found.x - x).max()) < (1e-12 if x64 else 1e-4) and bool(found.ok.all())
    assert np.allclose(smallbatch.inverse(on_gpu).x @ on_gpu, np.eye(24), atol=1e-4)


def test_what_needs_float64_says_so(x64):
    a = jax.device_put(np.eye(3, dtype=np.float32)[None], gpu)
    if x64:
        assert float(smallbatch.log_determinant(a).log_determinant[0]) == 0
    else:
        with pytest.raises(TypeError, match="jax_enable_x64"):
            smallbatch.log_determinant(a)
