"""Correlation of signals."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _core
from ._arrays import array_library_of, array_of, compute, handle_of, tight
from ._brought import Array, ArrayT, Brought, plain
from ._results import Statuses
from ._words import whole_number, words_of_files

_SAMPLES = {"complex64": "float32", "int8": "int8", "uint8": "int4"}


@dataclass(frozen=True)
class Visibilities(Statuses[ArrayT]):
    """The visibilities of each channel and integration, and the status of each channel.

    ``visibility`` (integrations, ..., baselines)
        sums, complex64. Sums of integers are exact: int32 or int64 with a last axis (real, imaginary). Baseline (i, j),
        i >= j, has the index ``i (i + 1) / 2 + j``, the order of ``numpy.tril_indices``
    ``weight`` (integrations, ..., baselines), int32
        the number of samples in each sum
    ``info`` (...), int32
        the status of each channel, which ``ok``, ``describe()`` and ``raise_for_status()`` read:

        - 0: correlated
        - -1: a sample that is not flagged is a NaN or an infinity. The visibilities of its input in its integration are
          NaN; all others are right
        - -2: a visibility of finite samples is beyond the range of float32; all others are right
    """

    visibility: ArrayT
    weight: ArrayT
    info: ArrayT

    _kind = "channels"

    @staticmethod
    def _sentence(info: int) -> str:
        return _core.describe_correlation_info(info)

    @staticmethod
    def _answered(info: Any) -> Any:
        return info == 0


@words_of_files
def correlate(signal: Brought[ArrayT], *, flags: Array = None, integrate: int | None = None, backend: str = "auto",
              threads: int = 0) -> Visibilities[ArrayT]:
    """Computes ``V_ij = sum_t x_i(t) conj(x_j(t))`` of all inputs i >= j, in every channel and integration.

    ``signal``
        complex64 (..., times, inputs); int8 (..., times, inputs, 2), real and imaginary; or uint8 (..., times, inputs),
        real in the high four bits and imaginary in the low four bits. Up to 4096 inputs. Leading axes are channels
    ``flags``
        bool or uint8 (..., times, inputs), broadcast to the signal: flagged samples count for no baseline
    ``integrate``
        samples per integration; the last integration may be shorter. None: one integration of all samples
    ``backend``, ``threads``
        as in :func:`solve`

    >>> import numpy as np

    >>> v = correlate(np.array([[1, 1j], [1, 1j]], np.complex64))  # two inputs, a quarter turn apart
    >>> v.visibility
    array([[2.+0.j, 0.+2.j, 2.+0.j]], dtype=complex64)
    """
    samples, flags = plain(signal, "signal"), plain(flags, "flags")
    library = array_library_of(signal=samples, flags=flags)
    handle = handle_of(library, backend, threads)
    samples = library.take(array_of(samples, "signal"))
    dtype = library.dtype(samples)
    if dtype not in _SAMPLES:
        raise TypeError(f"signal has the type {dtype} (complex64, int8 and uint8 are accepted). "
                        "Convert it to complex64.")
    parts = (2,) if dtype == "int8" else ()
    shape = tuple(samples.shape)[: len(samples.shape) - len(parts)]
    if len(shape) < 2 or tuple(samples.shape) != (*shape, *parts):
        raise ValueError(f"signal has the shape {tuple(samples.shape)}, which is not (..., times, inputs"
                         f"{', 2' if parts else ''}). Give its axes in that order.")
    *channels, times, inputs = shape
    samples = library.contiguous(samples)
    views = [library.view(samples)]
    signals = _core.Signals(library.memory, _core.SampleType[_SAMPLES[dtype]], math.prod(channels), times, inputs)
    signals.signal = views[0].address
    signals.integrate = integrate = max(times, 1) if integrate is None else whole_number(integrate, "integrate")
    if integrate < 1:
        raise ValueError(f"signal has {times} samples of {inputs} inputs, and integrate={integrate} (an integration has at "
                         "least one sample). Give 1 or more, or leave integrate out to integrate over all samples.")
    if flags is not None:
        flags = tight(library, library.take(array_of(flags, "flags")), "flags", shape)
        if library.dtype(flags) not in ("bool", "uint8"):
            raise TypeError(f"flags have the type {library.dtype(flags)} (bool and uint8 are accepted). Convert them.")
        views.append(library.view(flags))
        signals.flag = views[1].address
    results = _core.Visibilities(signals)
    integrations = -(-times // max(integrate, 1))
    baselines = (integrations, *channels, inputs * (inputs + 1) // 2)
    sums = {_core.SumType.float32: "complex64", _core.SumType.int32: "int32", _core.SumType.int64: "int64"}
    visibility = library.empty((*baselines, *parts) if dtype == "int8" else
                             (*baselines, 2) if dtype == "uint8" else baselines, sums[results.type])
    weight, info = library.empty(baselines, "int32"), library.empty(tuple(channels), "int32")
    for name, array in (("visibility", visibility), ("weight", weight), ("info", info)):
        views.append(library.view(array))
        setattr(results, name, views[-1].address)
    compute(library, handle, "correlate", signals, results)
    return Visibilities(library.give(visibility), library.give(weight), library.give(info))
