"""Arrays of a call, their memory and their library.

Arrays in host memory of any library are read as NumPy arrays through DLPack. Results are turned into arrays of the same
library. Neither step copies. Arrays on a GPU remain arrays of their library. The library allocates results there, and
work is enqueued on its current stream. An :data:`ArrayLibrary` has the functions of one library for the memory of a
call's arrays: host memory, or that of one GPU.
"""

from __future__ import annotations

import math
import re
import sys
import threading
from dataclasses import dataclass
from typing import Any, Sequence, Union

import numpy as np

from . import _core
from ._brought import Array, library_of, unmasked
from ._words import choice, whole_number

_HOST = (1, 3)  # DLPack's device types: host memory, and host memory that a GPU can read
_CUDA = (2, 13)  # memory of a GPU, managed memory
_WHOLE = r"u?int\d+"  # the types of whole numbers


class _Host:
    """Host memory, read through NumPy. Results become arrays of `library`."""

    on_device = False
    waits = False
    device = -1
    stream = 0
    memory = _core.Memory.host

    def __init__(self, library: str):
        self._library = library

    def take(self, array: Array) -> np.ndarray:
        library = library_of(array)
        if library == "PyTorch":
            try:
                array = array.numpy()
            except (RuntimeError, TypeError) as error:
                raise TypeError(f"a tensor of {array.dtype} cannot be read ({error}). Give one of a dense type, "
                                "such as float32 or float64.") from error
        elif library == "NumPy" and not isinstance(array, np.ndarray):
            array = np.from_dlpack(array)
        seen = np.require(np.asarray(array), requirements="A")
        return seen.astype(seen.dtype.newbyteorder("="), copy=False)

    def empty(self, shape: Sequence[int], dtype: str) -> np.ndarray:
        if self._library == "JAX":
            _check_kept_by_jax(dtype)
        return np.empty(shape, dtype)

    def cast(self, array: np.ndarray, dtype: str) -> np.ndarray:
        return array.astype(dtype)

    def contiguous(self, array: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(array)

    def expand(self, array: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
        return np.broadcast_to(array, shape)

    def dtype(self, array: np.ndarray) -> str:
        return str(array.dtype.name)

    def view(self, array: np.ndarray) -> _core.View:
        return _core.View(array)

    def give(self, array: np.ndarray) -> Array:
        if self._library == "PyTorch":
            return sys.modules["torch"].from_numpy(array)
        if self._library == "JAX":
            return sys.modules["jax"].numpy.asarray(array)
        return array


class _Device:
    """Memory of one GPU. `module` is the library's module. Its functions have the names of NumPy's functions."""

    on_device = True
    waits = False
    memory = _core.Memory.device

    def __init__(self, module: Any, device: int, stream: int):
        self.module, self.device, self.stream = module, device, stream

    def take(self, array: Array) -> Array:
        return array if hasattr(array, "__dlpack_device__") and array.__dlpack_device__()[0] in _CUDA else self.put(array)

    def put(self, values: Any) -> Array:
        raise NotImplementedError

    def cast(self, array: Array, dtype: str) -> Array:
        return array.astype(dtype)

    def contiguous(self, array: Array) -> Array:
        return self.module.ascontiguousarray(array)

    def expand(self, array: Array, shape: tuple[int, ...]) -> Array:
        return self.module.broadcast_to(array, shape)

    def dtype(self, array: Array) -> str:
        return str(array.dtype.name)

    def view(self, array: Array) -> _core.View:
        return _core.View(array.__dlpack__(stream=-1))  # no wait: the stream keeps the order of work

    def give(self, array: Array) -> Array:
        return array


class _CupyDevice(_Device):
    def __init__(self, device: int):
        cupy = sys.modules["cupy"]
        super().__init__(cupy, device, cupy.cuda.get_current_stream(device).ptr)

    def put(self, values: Any) -> Array:
        with self.module.cuda.Device(self.device):
            return self.module.asarray(values)

    def empty(self, shape: Sequence[int], dtype: str) -> Array:
        with self.module.cuda.Device(self.device):
            return self.module.empty(shape, dtype)


class _TorchDevice(_Device):
    def __init__(self, device: int):
        torch = sys.modules["torch"]
        super().__init__(torch, device, torch.cuda.current_stream(device).cuda_stream)

    def put(self, values: Any) -> Array:
        return self.module.as_tensor(values, device=f"cuda:{self.device}")

    def empty(self, shape: Sequence[int], dtype: str) -> Array:
        return self.module.empty(tuple(shape), dtype=getattr(self.module, dtype), device=f"cuda:{self.device}")

    def take(self, array: Array) -> Array:
        array = super().take(array)
        if array.data_ptr() == 0 and array.numel() > 0:
            raise TypeError(f"a {type(array).__name__} of PyTorch has no numbers in memory. Give a plain tensor.")
        return array.as_subclass(self.module.Tensor)

    def cast(self, array: Array, dtype: str) -> Array:
        return array.to(getattr(self.module, dtype))

    def contiguous(self, array: Array) -> Array:
        return array.contiguous()

    def dtype(self, array: Array) -> str:
        return str(array.dtype).removeprefix("torch.")


def _check_kept_by_jax(dtype: str) -> None:
    if dtype in ("float64", "int64", "uint64") and not sys.modules["jax"].config.jax_enable_x64:
        raise TypeError(f"JAX makes {dtype.replace('64', '32')} of {dtype}, which is needed here. Call "
                        "jax.config.update('jax_enable_x64', True) first.")


class _JaxDevice(_Device):
    """Memory of one GPU with arrays of JAX, which has no current stream. A call waits for its input arrays, for its
    result arrays, which JAX fills with zeros, and for its own work."""

    waits = True

    def __init__(self, device: int, like: Array):
        super().__init__(sys.modules["jax"].numpy, device, 0)
        (self._where,) = like.devices()

    def put(self, values: Any) -> Array:
        values = np.asarray(values)
        _check_kept_by_jax(values.dtype.name)
        return sys.modules["jax"].device_put(values, self._where)

    def empty(self, shape: Sequence[int], dtype: str) -> Array:
        _check_kept_by_jax(dtype)
        return self.module.empty(tuple(shape), dtype, device=self._where)

    def cast(self, array: Array, dtype: str) -> Array:
        _check_kept_by_jax(dtype)
        return array.astype(dtype)

    def contiguous(self, array: Array) -> Array:
        return array  # arrays of JAX are always contiguous

    def view(self, array: Array) -> _core.View:
        return _core.View(array.block_until_ready().__dlpack__(stream=1))  # DLPack's name of the default stream


ArrayLibrary = Union[_Host, _CupyDevice, _TorchDevice, _JaxDevice]


def array_library_of(**arrays: Array) -> ArrayLibrary:
    """Returns the library of a call's arrays, for their memory. None, lists and numbers do not count."""
    found: dict[str, tuple[str, int | None]] = {}
    for name, array in arrays.items():
        library = library_of(array)
        if library == "JAX" and isinstance(array, sys.modules["jax"].core.Tracer):
            raise TypeError(f"{name} is traced by JAX (it has no numbers yet). Inside jax.jit call through "
                            "jax.pure_callback.")
        if library is None:
            continue
        try:
            kind, index = array.__dlpack_device__()
        except Exception as error:
            raise TypeError(f"{name} cannot be read ({type(array).__name__}: {error}). Give an array of one device that "
                            "has its numbers in memory.") from error
        if kind not in _HOST + _CUDA:
            raise ValueError(f"{name} lies on a device that is not CUDA's (DLPack's type {int(kind)}). "
                             "Move it to the host or to an NVIDIA GPU.")
        found[name] = library, int(index) if kind in _CUDA else None
    if not found:
        return _Host("NumPy")
    (first, (library, device)), *others = found.items()
    for name, (other_library, other_device) in others:
        if other_device != device:
            raise ValueError(f"{first} lies {_said(device)} and {name} {_said(other_device)} (arrays are not moved "
                             "automatically). Move one of them.")
        if other_library != library:
            raise TypeError(f"{first} is of {library} and {name} of {other_library} (all arrays of a call must be "
                            "of one library). Convert one of them.")
    if device is None:
        return _Host(library)
    if library == "PyTorch":
        return _TorchDevice(device)
    if library == "CuPy":
        return _CupyDevice(device)
    if library == "JAX":
        return _JaxDevice(device, arrays[first])
    raise TypeError(f"{first} lies {_said(device)} and its library is not supported there (CuPy, PyTorch and JAX are). "
                    "Convert it with from_dlpack of one of them.")


def _said(device: int | None) -> str:
    return "on the host" if device is None else f"on cuda:{device}"


_local = threading.local()


def handle_of(library: ArrayLibrary, backend: str, threads: int) -> _core.Handle:
    """Returns this thread's handle for a backend and a library, with the library's stream."""
    if not isinstance(backend, str):
        raise TypeError(f"backend={backend!r} is not a string. Use auto, cpu, cuda, cuda:K or reference.")
    threads = whole_number(threads, "threads", 31)
    if threads < 0:
        raise ValueError(f"threads is {threads} (it is a count). Give 0 for one thread per core, or 1 or more.")
    name, _, index = backend.partition(":")
    if library.on_device:
        if name not in ("auto", "cuda") or index not in ("", str(library.device)):
            raise ValueError(f"the arrays lie on cuda:{library.device}, and backend={backend!r} does not compute "
                             "there. Move them, or leave backend out.")
        key = "cuda", library.device
    else:
        if index and not (name == "cuda" and index.isdecimal() and int(index) < 2**31):
            raise ValueError(f"backend={backend!r} is not a backend. Use auto, cpu, cuda, cuda:K or reference.")
        key = name, int(index or 0)
    handles: dict[tuple[str, int], tuple[_core.Handle, int]] = _local.__dict__.setdefault("handles", {})
    handle, has = handles.get(key) or (_core.Handle(choice(_core.Backend, key[0], "backend"), key[1]), 0)
    if library.on_device:
        handle.set_stream(library.stream)
    elif threads != has:
        handle.set_threads(threads)
        has = threads
    handles[key] = handle, has
    return handle


def compute(library: ArrayLibrary, handle: _core.Handle, what: str, *structs: Any) -> None:
    """Calls the handle's method `what`, with a workspace if the arrays lie on a device."""
    size = getattr(handle, f"{what}_workspace")(*structs) if library.on_device else 0
    workspace = library.view(library.empty((max(size, 1),), "uint8")) if library.on_device else None
    getattr(handle, what)(*structs, workspace.address if workspace else 0, size)
    if library.waits:
        handle.synchronize()


def array_of(values: Any, name: str) -> Array:
    """Turns lists and similar objects into NumPy arrays. Arrays are returned unchanged."""
    if hasattr(values, "__dlpack__"):
        return values
    try:
        array = np.asanyarray(values)
    except Exception as error:
        raise TypeError(f"{name} cannot be read as an array ({type(values).__name__}: {error}). Give numbers.") from error
    if array.dtype == object:
        raise TypeError(f"{name} is not an array of numbers (NumPy makes objects of this {type(values).__name__}). "
                        "Convert it.")
    return unmasked(array, name)


def floats(library: ArrayLibrary, array: Array, name: str, dtype: str | None = None,
           of_whole: str = "float64") -> Array:
    """Returns an array of the library with type `dtype`. If `dtype` is None, float32 and float64 stay, and whole
    numbers become `of_whole`."""
    array = library.take(array_of(array, name))
    have = library.dtype(array)
    if have in ("float32", "float64") and dtype in (None, have):
        return array
    if have.startswith("complex"):
        raise TypeError(f"{name} has the type {have} (only real numbers are accepted). Give its real part if the "
                        "other is 0"
                        + (", or convert Hermitian systems: A to [[Re A, -Im A], [Im A, Re A]], b to [Re b, Im b]."
                           if name in ("A", "b") else "."))
    if not re.fullmatch(rf"float(32|64)|{_WHOLE}", have):
        raise TypeError(f"{name} has the type {have} (float32, float64 and whole numbers are accepted). "
                        "Convert it to float64.")
    return library.cast(array, dtype or of_whole)


def whole_numbers(library: ArrayLibrary, array: Array, name: str) -> Array:
    """Returns whole numbers as an array of the library. Their type stays."""
    array = library.take(array_of(array, name))
    if not re.fullmatch(_WHOLE, library.dtype(array)):
        raise TypeError(f"{name} have the type {library.dtype(array)} (whole numbers are accepted). Convert them.")
    return array


def tight(library: ArrayLibrary, array: Array, name: str, shape: tuple[int, ...]) -> Array:
    """Returns an array broadcast to `shape` and C-contiguous; the array itself if it already is both."""
    have = tuple(array.shape)
    if have != shape:
        if len(have) > len(shape) or any(size not in (1, other) for size, other in zip(have[::-1], shape[::-1])):
            raise ValueError(f"{name} have the shape {have}, which does not broadcast to {shape}. "
                             "Give a shape that does.")
        array = library.expand(array, shape)
    return library.contiguous(array)


def numpy_of(values: Any, dtype: str) -> np.ndarray:
    """Returns a few numbers from any memory as an array in host memory."""
    values = values.get() if hasattr(values, "get") else values.cpu() if hasattr(values, "cpu") else values
    return np.asarray(values, dtype)


@dataclass(frozen=True)
class Matrices:
    """Matrices (r, c) of a batch, as smallbatch.h describes them. `array` and `view` keep their memory alive."""

    array: Array
    view: _core.View
    stride: int  # from one matrix to the next, in elements; 0: one matrix for all systems
    leading: int
    by_rows: bool

    @property
    def address(self) -> int:
        return self.view.address


def matrices(library: ArrayLibrary, array: Array, batch: tuple[int, ...], by_rows: bool | None = None) -> Matrices:
    """Returns (..., r, c) as the matrices of a batch, without a copy if possible. They are copied if smallbatch.h
    cannot describe their strides, or if only some of the leading axes are repeated."""
    view = library.view(array)
    lead, shape = view.shape[:-2], view.shape[-2:]
    order = _order(shape, view.strides[-2:])
    stride = None
    if math.prod(lead) == 1:
        stride = 0
    elif (1,) * (len(batch) - len(lead)) + lead == batch:
        stride = _one_stride(lead, view.strides[:-2])
    if order is not None and stride is not None and by_rows in (None, order[1]):
        if stride >= 0:
            return Matrices(array, view, stride, *order)
    array = tight(library, array, "systems", (*batch, *shape))
    return Matrices(array, library.view(array), math.prod(shape), shape[1], True)


def _order(shape: Sequence[int], strides: Sequence[int]) -> tuple[int, bool] | None:
    """Returns the leading dimension of a matrix and whether it is stored by rows; None if it is stored neither by rows
    nor by columns."""
    (rows, columns), (down, along) = shape, strides
    if (columns == 1 or along == 1) and (rows == 1 or down >= columns):
        return (down if rows > 1 else columns), True
    if (rows == 1 or down == 1) and (columns == 1 or along >= rows):
        return (along if columns > 1 else rows), False
    return None


def _one_stride(shape: Sequence[int], strides: Sequence[int]) -> int | None:
    """Returns the stride of all axes taken as one axis; None if they have no common stride."""
    axes = [(size, step) for size, step in zip(shape, strides) if size != 1]
    for (_, outer), (size, inner) in zip(axes, axes[1:]):
        if outer != size * inner:
            return None
    return axes[-1][1]
