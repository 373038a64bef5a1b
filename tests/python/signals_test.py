"""Compares correlate() with sums in NumPy. Sums of integers must be exact."""

import numpy as np
import pytest

import smallbatch
from tests.problems import parts_of


def truth(signal, integrate, flags=None):
    """Returns real sums, imaginary sums and weights, each of shape (integrations, channels, baselines)."""
    real, imaginary = parts_of(signal)
    used = np.ones(real.shape, bool) if flags is None else ~flags.astype(bool)
    rows, columns = np.tril_indices(real.shape[-1])
    found = []
    for begin in range(0, real.shape[-2], integrate):
        a, b, w = (part[..., begin:begin + integrate, :] for part in (real * used, imaginary * used, used))
        a0, b0, w0, a1, b1, w1 = (part[..., side] for side in (rows, columns) for part in (a, b, w))
        found.append([(a0 * a1 + b0 * b1).sum(axis=-2), (b0 * a1 - a0 * b1).sum(axis=-2), (w0 & w1).sum(axis=-2)])
    return (np.array([part[k] for part in found]) for k in range(3))


@pytest.mark.parametrize("backend", ["auto", "cpu", "reference"])
@pytest.mark.parametrize("integrate", [None, 1, 5, 100])
@pytest.mark.parametrize("dtype", [np.complex64, np.int8, np.uint8])
def test_visibilities(dtype, integrate, backend):
    rng = np.random.default_rng(1)
    shape = (2, 3, 13, 4)  # 2 x 3 channels, 13 times, 4 inputs
    if dtype == np.complex64:
        signal = (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(dtype)
    else:
        info = np.iinfo(dtype)
        signal = rng.integers(info.min, info.max, shape if dtype == np.uint8 else (*shape, 2), dtype, endpoint=True)
    for flags in (None, rng.random(shape) < 0.3):
        found = smallbatch.correlate(signal, flags=flags, integrate=integrate, backend=backend)
        real, imaginary, weight = truth(signal, integrate or 13, flags)
        assert found.info.shape == (2, 3) and np.all(found.ok)
        assert np.array_equal(found.weight, weight)
        if dtype == np.complex64:
            assert found.visibility.dtype == dtype and found.visibility.shape == weight.shape
            assert np.allclose(found.visibility, (real + 1j * imaginary).astype(complex), atol=1e-4)
        else:
            assert found.visibility.dtype == np.int32
            assert np.array_equal(found.visibility, np.stack([real, imaginary], axis=-1))


def test_sums_that_32_bits_might_not_hold_have_64():
    signal = np.full((1 << 17, 1, 2), -128, np.int8)
    found = smallbatch.correlate(signal)
    assert found.visibility.dtype == np.int64 and found.visibility.tolist() == [[[1 << 32, 0]]]


def test_a_channel_that_fails_says_why():
    signal = np.ones((3, 4, 2), np.complex64)
    signal[1, 2, 1] = np.nan
    found = smallbatch.correlate(signal)
    assert found.info.tolist() == [0, -1, 0]
    with pytest.raises(smallbatch.NumericalFailure, match="1 of 3 channels failed, the first is 1: .*NaN"):
        found.raise_for_status()


@pytest.mark.parametrize("signal,arguments,problem", [
    (np.ones(3, np.complex64), {}, r"\(3,\)"),
    (np.ones((3, 3, 3), np.int8), {}, r"\(3, 3, 3\).*inputs, 2"),
    (np.ones((3, 3), np.complex64), {"integrate": 0}, "integrate|samples"),
    (np.ones((3, 3), np.complex64), {"integrate": 2**63}, "integrate=9223372036854775808"),
    (np.ones((3, 0), np.complex64), {}, "inputs"),
    (np.ones((3, 3), np.complex64), {"flags": np.ones((2, 3), bool)}, "flags"),
])
def test_arguments_that_make_no_sense_are_value_errors(signal, arguments, problem):
    with pytest.raises(ValueError, match=problem):
        smallbatch.correlate(signal, **arguments)


def test_types_that_are_not_taken_are_type_errors():
    with pytest.raises(TypeError, match="complex128"):
        smallbatch.correlate(np.ones((3, 3), complex))
    with pytest.raises(TypeError, match="flags.*float64"):
        smallbatch.correlate(np.ones((3, 3), np.complex64), flags=np.ones((3, 3)))


def test_arrays_of_every_library(library):
    make, kind = library
    signal = np.random.default_rng(2).standard_normal((2, 5, 3)).astype(np.complex64)
    flags = np.zeros((2, 5, 3), np.uint8)
    flags[0, 1, 2] = 1
    wanted, found = smallbatch.correlate(signal, flags=flags), smallbatch.correlate(make(signal), flags=make(flags))
    for name in ("visibility", "weight", "info"):
        assert type(getattr(found, name)) is kind
        assert np.array_equal(np.asarray(getattr(found, name)), getattr(wanted, name))
