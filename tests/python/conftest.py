"""Puts the Python package of the build, if there is one, on the path. Makes arrays of every installed library."""

import os
import sys

import numpy as np
import pytest

if "SMALLBATCH_PACKAGE" in os.environ:
    sys.path.insert(0, os.environ["SMALLBATCH_PACKAGE"])


class Exported:
    """An array with DLPack and nothing else."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **arguments):
        return self.array.__dlpack__(**arguments)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def of_jax(array):
    jax = pytest.importorskip("jax")
    jax.config.update("jax_platforms", "cpu")
    jax.config.update("jax_enable_x64", True)
    return jax.numpy.asarray(array)


def of_torch(array):
    return pytest.importorskip("torch").from_numpy(np.array(array))


@pytest.fixture(params=[("NumPy", np.asarray), ("DLPack", Exported), ("JAX", of_jax), ("PyTorch", of_torch)],
                ids=lambda param: param[0])
def library(request):
    """Returns a function that makes arrays of one library, and the type that results must have."""
    name, make = request.param
    return make, np.ndarray if name in ("NumPy", "DLPack") else type(make(np.zeros(1)))
