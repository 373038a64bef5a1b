"""The arrays that people bring, and where they lie.

Arrays of the host, whoever made them, are seen as NumPy's through DLPack, and results become arrays of the same library
again, neither with a copy. Arrays of a GPU stay their library's: it allocates results there, and the work is enqueued on
its current stream. A *place* knows all this of the arrays of one call.
"""

from __future__ import annotations

import functools
import math
import operator
import re
import sys
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable, Protocol, Sequence, TypeVar, Union

import numpy as np

from . import _core

Array = Any
if TYPE_CHECKING:
    import typing_extensions

    class OfALibrary(Protocol):
        """An array of a library whose results are arrays of its own."""

        def __dlpack_device__(self) -> Any: ...

    class MadeAnArray(Protocol):
        """What NumPy makes an array of: a table, a dataset."""

        def __array__(self) -> Any: ...

    ArrayT = typing_extensions.TypeVar("ArrayT", bound=OfALibrary, default=np.ndarray[Any, Any])
    Brought = Union[ArrayT, MadeAnArray, Sequence[Any], float]
else:
    ArrayT = TypeVar("ArrayT")
    Brought = Union[ArrayT, Any]

_LIBRARIES = {"cupy": "CuPy", "torch": "PyTorch", "jax": "JAX", "jaxlib": "JAX"}
_HOST = (1, 3)  # DLPack's device types: host memory, and such that a GPU reads
_CUDA = (2, 13)  # memory of a GPU, managed memory
_WHOLE = r"u?int\d+"  # the types of whole numbers
# What arguments are in: what quantities are converted to, what of it is one, and what a unit that is a text is worth.
_UNITS: dict[str, tuple[str, float, Callable[[str], float]]] = {
    "angstrom": ("angstrom", 1, _core.length_unit_in_angstrom),
    "e": ("C", 1.602176634e-19, _core.charge_unit_in_e),
    "K": ("K", 1, {"K": 1.0, "kelvin": 1.0}.__getitem__),
    "": ("", 1, {"": 1.0, "1": 1.0, "dimensionless": 1.0}.__getitem__),
}
# Arguments by the names that files and the command line have for them; and other words for what files call it.
_WORDS = {"size": "sizes", "uplo": "triangle", "device": "backend", "position": "positions", "charge": "charges",
          "offset": "offsets", "point_offset": "point_offsets", "group": "groups", "output_unit": "unit", "flag": "flags"}
_SYNONYMS = {"single": "float32", "double": "float64", "infinite": "inf", "infinity": "inf"}


_Function = TypeVar("_Function", bound=Callable[..., Any])


def words_of_files(function: _Function) -> _Function:
    """Takes arguments under their other names, too."""

    @functools.wraps(function)
    def call(*arguments: Any, **named: Any) -> Any:
        for word in _WORDS.keys() & named.keys():
            if _WORDS[word] in named:
                raise TypeError(f"there are {word} and {_WORDS[word]}, which are one argument. Give one of them.")
            named[_WORDS[word]] = named.pop(word)
        return function(*arguments, **named)

    return call  # type: ignore[return-value]


def plain(array: Any, name: str, unit: str = "") -> Any:
    """What a caller brought, as numbers that mean what they say: quantities in `unit` ("": without one), conjugates and
    negatives computed; masks, gradients and the like are refused. All else comes back as it is."""
    if array is None or type(array) in (np.ndarray, float, int):
        return array
    if isinstance(array, (list, tuple)):
        return array if all(type(item) in (float, int) for item in array) else [plain(item, name, unit) for item in array]
    said = _unit_of(array)
    if hasattr(array, "dims") and hasattr(array, "data"):  # of xarray, around any other
        beside = isinstance(said, str)
        data = plain(array.data, name, "" if beside else unit)
        return _in_unit(data, name, said, unit) if beside else data
    if hasattr(array, "__dask_graph__") and array.__dask_graph__() is not None:
        array = array.compute()  # made an array by NumPy, it would lose masks and units
    elif said is None:
        return _plain_tensor(_unmasked(array, name), name)
    return plain(array, name, unit) if said is None else plain(_in_unit(array, name, said, unit), name)


def _unmasked(array: Any, name: str) -> Any:
    mask = getattr(array, "mask", False) if isinstance(array, np.ndarray) else False
    if np.any(mask):
        raise TypeError(f"{name} has a mask, and {np.count_nonzero(mask)} masked numbers (masks are not looked at). "
                        "Fill it, or take what is not masked.")
    return array


def _plain_tensor(array: Any, name: str) -> Any:
    """What PyTorch keeps beside numbers, if it is a tensor."""
    torch, forward = sys.modules.get("torch"), sys.modules.get("torch.autograd.forward_ad")
    if getattr(array, "requires_grad", False) is True:
        if torch is None or torch.is_grad_enabled():
            raise TypeError(f"{name} requires a gradient (none is computed here). Give {name}.detach(), or call within "
                            "torch.no_grad().")
        array = array.detach()
    if _library_of(array) == "PyTorch":
        if forward is not None and forward.unpack_dual(array).tangent is not None:
            raise TypeError(f"{name} has a forward derivative (none is computed here). Give its primal.")
        if str(getattr(array, "layout", "torch.strided")) != "torch.strided":
            raise TypeError(f"{name} is a tensor of layout {array.layout} (dense ones are taken). Give {name}.to_dense().")
    if getattr(array, "is_sparse", False) is True:
        raise TypeError(f"{name} is sparse (dense arrays are taken). Give {name}.to_dense().")
    if getattr(array, "is_quantized", False) is True:
        raise TypeError(f"{name} is quantized (its integers are not its numbers). Give {name}.dequantize().")
    for view in ("conj", "neg"):
        if getattr(array, f"is_{view}", bool)():
            array = getattr(array, f"resolve_{view}")()
    return array


def _unit_of(array: Any) -> Any:
    """The unit that an array says it has: that of a quantity, or a text beside numbers; None where it says nothing."""
    attributes = getattr(array, "attrs", None)
    for name in ("units", "unit"):
        said = getattr(array, name, None)
        if said is None and attributes is not None:
            said = attributes.get(name)
        if said is not None:
            return said.decode() if isinstance(said, bytes) else said
    return None


def _in_unit(array: Any, name: str, said: Any, unit: str) -> Any:
    """The numbers of a quantity, or those beside a text, as files have it."""
    target, one, worth = _UNITS[unit]
    taken = f"numbers in {unit}" if unit else "numbers without a unit"
    try:
        if isinstance(said, str):
            return np.asanyarray(array) if worth(said) == 1 else np.asanyarray(array) * worth(said)
        try:
            return _converted(array, target) / one
        except Exception:
            if unit != "e":
                raise
            return _converted(array, "")  # numbers of e
    except Exception as error:
        raise TypeError(f"the unit of {name} is {said}, and {taken} are taken ({error}). Give {taken}.") from error


def _converted(array: Any, unit: str) -> Any:
    """As astropy, unyt and unxt have it, as pint has it, as columns of astropy's tables have it."""
    for ask in ("to_value", "m_as", "to"):
        if hasattr(array, ask):
            found = getattr(array, ask)(unit)
            return found.value if ask == "to" else found
    raise TypeError(f"{type(array).__name__} is not known to convert it")


class _Host:
    """Host memory, seen by NumPy; results become arrays of `library`."""

    on_device = False
    waits = False
    device = -1
    stream = 0
    memory = _core.Memory.host

    def __init__(self, library: str):
        self._library = library

    def take(self, array: Array) -> np.ndarray:
        library = _library_of(array)
        if library == "PyTorch":
            try:
                array = array.numpy()
            except (RuntimeError, TypeError) as error:
                raise TypeError(f"a tensor of {array.dtype} cannot be read ({error}). Give one that holds its numbers, as "
                                "float32 or float64.") from error
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
    """Memory of one GPU; `module` is the library's, with the names that NumPy has."""

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
        return _core.View(array.__dlpack__(stream=-1))  # no waiting: what is enqueued follows what made the array

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
    """JAX has no current stream: a call waits for its arrays, those of results too, which JAX fills with zeros, and for
    what it computes."""

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
        return array  # always

    def view(self, array: Array) -> _core.View:
        return _core.View(array.block_until_ready().__dlpack__(stream=1))  # the default stream, by its name in DLPack


Place = Union[_Host, _CupyDevice, _TorchDevice, _JaxDevice]


def _library_of(array: Array) -> str | None:
    """Whose array it is, of those whose results are arrays of their own; None of numbers, lists and the like."""
    if isinstance(array, np.ndarray):
        return "NumPy"
    if not hasattr(array, "__dlpack__"):
        return None
    modules = (base.__module__.partition(".")[0] for base in type(array).__mro__)
    return next((_LIBRARIES[module] for module in modules if module in _LIBRARIES), "NumPy")


def place_of(**arrays: Array) -> Place:
    """Where the arrays of a call lie and whose they are, those that are not None, lists or numbers."""
    found: dict[str, tuple[str, int | None]] = {}
    for name, array in arrays.items():
        library = _library_of(array)
        if library == "JAX" and isinstance(array, sys.modules["jax"].core.Tracer):
            raise TypeError(f"{name} is traced by JAX (it has no numbers yet). Inside jax.jit call through "
                            "jax.pure_callback.")
        if library is None:
            continue
        try:
            kind, index = array.__dlpack_device__()
        except Exception as error:
            raise TypeError(f"{name} cannot be read ({type(array).__name__}: {error}). Give an array of one device that "
                            "holds its numbers.") from error
        if kind not in _HOST + _CUDA:
            raise ValueError(f"{name} lies on a device that is not CUDA's (DLPack's type {int(kind)}). "
                             "Move it to the host or to an NVIDIA GPU.")
        found[name] = library, int(index) if kind in _CUDA else None
    if not found:
        return _Host("NumPy")
    (first, (library, device)), *others = found.items()
    for name, (other_library, other_device) in others:
        if other_device != device:
            raise ValueError(f"{first} lies {_said(device)} and {name} {_said(other_device)} (nothing is moved without "
                             "being asked to). Move one of them.")
        if other_library != library:
            raise TypeError(f"{first} is of {library} and {name} of {other_library} (results are of one library). "
                            "Convert one of them.")
    if device is None:
        return _Host(library)
    if library == "PyTorch":
        return _TorchDevice(device)
    if library == "CuPy":
        return _CupyDevice(device)
    if library == "JAX":
        return _JaxDevice(device, arrays[first])
    raise TypeError(f"{first} lies {_said(device)} and is of no library that is known there (CuPy, PyTorch and JAX are). "
                    "Convert it by from_dlpack of one of them.")


def _said(device: int | None) -> str:
    return "on the host" if device is None else f"on cuda:{device}"


_local = threading.local()


def handle_of(place: Place, backend: str, threads: int) -> _core.Handle:
    """This thread's handle for what computes with arrays of that place, on its stream."""
    if not isinstance(backend, str):
        raise TypeError(f"backend={backend!r} is no string. Take auto, cpu, cuda, cuda:K or reference.")
    threads = whole_number(threads, "threads", 31)
    if threads < 0:
        raise ValueError(f"threads is {threads} (they are counted). Give 0 for one for each core, or 1 or more.")
    name, _, index = backend.partition(":")
    if place.on_device:
        if name not in ("auto", "cuda") or index not in ("", str(place.device)):
            raise ValueError(f"the arrays lie on cuda:{place.device}, and backend={backend!r} does not compute there. "
                             "Move them, or leave backend out.")
        key = "cuda", place.device
    else:
        if index and not (name == "cuda" and index.isdecimal() and int(index) < 2**31):
            raise ValueError(f"backend={backend!r} is not one. Take auto, cpu, cuda, cuda:K or reference.")
        key = name, int(index or 0)
    handles: dict[tuple[str, int], tuple[_core.Handle, int]] = _local.__dict__.setdefault("handles", {})
    handle, has = handles.get(key) or (_core.Handle(choice(_core.Backend, key[0], "backend"), key[1]), 0)
    if place.on_device:
        handle.set_stream(place.stream)
    elif threads != has:
        handle.set_threads(threads)
        has = threads
    handles[key] = handle, has
    return handle


def compute(place: Place, handle: _core.Handle, what: str, *structs: Any) -> None:
    """Calls it, with a workspace where the arrays lie on a device."""
    size = getattr(handle, f"{what}_workspace")(*structs) if place.on_device else 0
    workspace = place.view(place.empty((max(size, 1),), "uint8")) if place.on_device else None
    getattr(handle, what)(*structs, workspace.address if workspace else 0, size)
    if place.waits:
        handle.synchronize()


def whole_number(value: Any, name: str, bits: int = 63) -> int:
    """One that the library's type holds."""
    try:
        number = operator.index(value)
    except TypeError as error:
        raise TypeError(f"{name}={value!r} is no whole number ({error}). Give one, as 2.") from None
    if not -(2**bits) <= number < 2**bits:
        raise ValueError(f"{name}={number} is beyond {bits + 1} bits (nothing is so many). Give a smaller one.")
    return number


def number(value: Any, name: str, unit: str = "") -> float:
    """One, of a quantity in that unit."""
    value = plain(value, name, unit)
    try:
        return float(value)
    except (TypeError, ValueError) as error:
        kind = ValueError if isinstance(error, ValueError) else TypeError
        raise kind(f"{name}={value!r} is no number ({error}). Give one, as 0.5.") from None


def yes_or_no(value: Any, name: str) -> bool:
    """Any truth but that of a text, which would be true whatever it says."""
    if isinstance(value, (str, bytes)):
        raise TypeError(f"{name}={value!r} is a text, and neither True nor False. Give one of them.")
    return bool(value)


def choice(kinds: Any, name: Any, argument: str) -> Any:
    """The enumerator of that name, or of what means it; of a type that NumPy knows, its name."""
    known = np.dtype(name).name if isinstance(name, (type, np.dtype)) else name
    known = _SYNONYMS.get(known, known) if isinstance(known, str) else known
    if known not in kinds.__members__:
        raise ValueError(f"{argument}={name!r} is not one. Take one of {', '.join(kinds.__members__)}.")
    return kinds[known]


def array_of(values: Any, name: str) -> Array:
    """Lists and the like as NumPy's; arrays as they are."""
    if hasattr(values, "__dlpack__"):
        return values
    try:
        array = np.asanyarray(values)
    except Exception as error:
        raise TypeError(f"{name} cannot be read as an array ({type(values).__name__}: {error}). Give numbers.") from error
    if array.dtype == object:
        raise TypeError(f"{name} is no array of numbers (NumPy makes objects of this {type(values).__name__}). Convert it.")
    return _unmasked(array, name)


def floats(place: Place, array: Array, name: str, dtype: str | None = None, of_whole: str = "float64") -> Array:
    """As an array of the place, of `dtype`, or of float32 or float64 as it is; whole numbers become `of_whole`."""
    array = place.take(array_of(array, name))
    have = place.dtype(array)
    if have in ("float32", "float64") and dtype in (None, have):
        return array
    if have.startswith("complex"):
        raise TypeError(f"{name} has the type {have} (real numbers are taken). Give its real part if the other is 0"
                        + (", or convert Hermitian systems: A to [[Re A, -Im A], [Im A, Re A]], b to [Re b, Im b]."
                           if name in ("A", "b") else "."))
    if not re.fullmatch(rf"float(32|64)|{_WHOLE}", have):
        raise TypeError(f"{name} has the type {have} (float32, float64 and whole numbers are taken). Convert it to float64.")
    return place.cast(array, dtype or of_whole)


def whole_numbers(place: Place, array: Array, name: str) -> Array:
    """As an array of the place, of the type that it has."""
    array = place.take(array_of(array, name))
    if not re.fullmatch(_WHOLE, place.dtype(array)):
        raise TypeError(f"{name} have the type {place.dtype(array)} (whole numbers are taken). Convert them.")
    return array


def tight(place: Place, array: Array, name: str, shape: tuple[int, ...]) -> Array:
    """Broadcast to that shape, C-contiguous; the array itself where it is both."""
    have = tuple(array.shape)
    if have != shape:
        if len(have) > len(shape) or any(size not in (1, other) for size, other in zip(have[::-1], shape[::-1])):
            raise ValueError(f"{name} have the shape {have}, which does not broadcast to {shape}. Bring them together.")
        array = place.expand(array, shape)
    return place.contiguous(array)


def numpy_of(values: Any, dtype: str) -> np.ndarray:
    """Of a few numbers: in host memory, wherever they are."""
    values = values.get() if hasattr(values, "get") else values.cpu() if hasattr(values, "cpu") else values
    return np.asarray(values, dtype)


@dataclass(frozen=True)
class Matrices:
    """Matrices (r, c) of a batch, as smallbatch.h describes them; `array` and `view` keep them alive."""

    array: Array
    view: _core.View
    stride: int  # from one to the next, in numbers; 0: one for all
    leading: int
    by_rows: bool

    @property
    def address(self) -> int:
        return self.view.address


def matrices(place: Place, array: Array, batch: tuple[int, ...], by_rows: bool | None = None) -> Matrices:
    """(..., r, c) as the matrices of a batch: as they lie, or a copy where their strides are none of smallbatch.h's, or
    where leading axes are repeated and not all are."""
    view = place.view(array)
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
    array = tight(place, array, "systems", (*batch, *shape))
    return Matrices(array, place.view(array), math.prod(shape), shape[1], True)


def _order(shape: Sequence[int], strides: Sequence[int]) -> tuple[int, bool] | None:
    """The leading dimension of a matrix, and whether it lies by rows; None where neither rows nor columns do."""
    (rows, columns), (down, along) = shape, strides
    if (columns == 1 or along == 1) and (rows == 1 or down >= columns):
        return (down if rows > 1 else columns), True
    if (rows == 1 or down == 1) and (columns == 1 or along >= rows):
        return (along if columns > 1 else rows), False
    return None


def _one_stride(shape: Sequence[int], strides: Sequence[int]) -> int | None:
    """From one element to the next of all axes taken as one; None where they cannot be."""
    axes = [(size, step) for size, step in zip(shape, strides) if size != 1]
    for (_, outer), (size, inner) in zip(axes, axes[1:]):
        if outer != size * inner:
            return None
    return axes[-1][1]
