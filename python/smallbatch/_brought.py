"""Objects that callers give as arrays, and how they become arrays of plain numbers.

Some objects have more than numbers: units, masks, gradients, or a conjugation or negation that is still to be computed.
These functions apply or refuse such extras, so that the numbers mean what the object says. Only attributes of the
objects are used, so none of their libraries is imported.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Callable, Protocol, Sequence, TypeVar, Union

import numpy as np

from . import _core

Array = Any
if TYPE_CHECKING:
    import typing_extensions

    class OfALibrary(Protocol):
        """An array of a library. Results are returned as arrays of the same library."""

        def __dlpack_device__(self) -> Any: ...

    class MadeAnArray(Protocol):
        """An object that NumPy turns into an array: a table, a dataset."""

        def __array__(self) -> Any: ...

    ArrayT = typing_extensions.TypeVar("ArrayT", bound=OfALibrary, default=np.ndarray[Any, Any])
    Brought = Union[ArrayT, MadeAnArray, Sequence[Any], float]
else:
    ArrayT = TypeVar("ArrayT")
    Brought = Union[ArrayT, Any]

_LIBRARIES = {"cupy": "CuPy", "torch": "PyTorch", "jax": "JAX", "jaxlib": "JAX"}
# Units of arguments. Quantities are converted to the unit in the first member, then divided by the second member. The
# third member returns the factor of a unit that is given as text.
_UNITS: dict[str, tuple[str, float, Callable[[str], float]]] = {
    "angstrom": ("angstrom", 1, _core.length_unit_in_angstrom),
    "e": ("C", 1.602176634e-19, _core.charge_unit_in_e),
    "K": ("K", 1, {"K": 1.0, "kelvin": 1.0}.__getitem__),
    "": ("", 1, {"": 1.0, "1": 1.0, "dimensionless": 1.0}.__getitem__),
}


def library_of(array: Array) -> str | None:
    """Returns the library of an array; None for numbers, lists and similar objects."""
    if isinstance(array, np.ndarray):
        return "NumPy"
    if not hasattr(array, "__dlpack__"):
        return None
    modules = (base.__module__.partition(".")[0] for base in type(array).__mro__)
    return next((_LIBRARIES[module] for module in modules if module in _LIBRARIES), "NumPy")


def plain(array: Any, name: str, unit: str = "") -> Any:
    """Returns an argument as plain numbers. Quantities are converted to `unit` ("": without a unit). Conjugates and
    negatives are computed. Masks, gradients and similar extras are refused. Everything else is returned unchanged."""
    if array is None or type(array) in (np.ndarray, float, int):
        return array
    if isinstance(array, (list, tuple)):
        return array if all(type(item) in (float, int) for item in array) else [plain(item, name, unit) for item in array]
    said = _unit_of(array)
    if hasattr(array, "dims") and hasattr(array, "data"):  # an array of xarray, which may contain any other array
        beside = isinstance(said, str)
        data = plain(array.data, name, "" if beside else unit)
        return _in_unit(data, name, said, unit) if beside else data
    if hasattr(array, "__dask_graph__") and array.__dask_graph__() is not None:
        array = array.compute()  # NumPy would drop masks and units
    elif said is None:
        return _plain_tensor(unmasked(array, name), name)
    return plain(array, name, unit) if said is None else plain(_in_unit(array, name, said, unit), name)


def unmasked(array: Any, name: str) -> Any:
    mask = getattr(array, "mask", False) if isinstance(array, np.ndarray) else False
    if np.any(mask):
        raise TypeError(f"{name} has a mask, and {np.count_nonzero(mask)} masked numbers (masks are not supported). "
                        "Fill them, or give the unmasked numbers alone.")
    return array


def _plain_tensor(array: Any, name: str) -> Any:
    """Returns a tensor of PyTorch with its conjugation and negation computed. Refuses sparse and quantized tensors and
    tensors with forward derivatives. Refuses tensors that require a gradient, unless gradients are switched off. Other
    arrays are returned unchanged."""
    torch, forward = sys.modules.get("torch"), sys.modules.get("torch.autograd.forward_ad")
    if getattr(array, "requires_grad", False) is True:
        if torch is None or torch.is_grad_enabled():
            raise TypeError(f"{name} requires a gradient (none is computed here). Give {name}.detach(), or call within "
                            "torch.no_grad().")
        array = array.detach()
    if library_of(array) == "PyTorch":
        if forward is not None and forward.unpack_dual(array).tangent is not None:
            raise TypeError(f"{name} has a forward derivative (none is computed here). Give its primal.")
        if str(getattr(array, "layout", "torch.strided")) != "torch.strided":
            raise TypeError(f"{name} is a tensor of layout {array.layout} (dense tensors are accepted). "
                            f"Give {name}.to_dense().")
    if getattr(array, "is_sparse", False) is True:
        raise TypeError(f"{name} is sparse (dense arrays are accepted). Give {name}.to_dense().")
    if getattr(array, "is_quantized", False) is True:
        raise TypeError(f"{name} is quantized (its integers are not its numbers). Give {name}.dequantize().")
    for view in ("conj", "neg"):
        if getattr(array, f"is_{view}", bool)():
            array = getattr(array, f"resolve_{view}")()
    return array


def _unit_of(array: Any) -> Any:
    """Returns the unit of a quantity, or the unit that an attribute of an array names; None if there is none."""
    attributes = getattr(array, "attrs", None)
    for name in ("units", "unit"):
        said = getattr(array, name, None)
        if said is None and attributes is not None:
            said = attributes.get(name)
        if said is not None:
            return said.decode() if isinstance(said, bytes) else said
    return None


def _in_unit(array: Any, name: str, said: Any, unit: str) -> Any:
    """Returns numbers in `unit`. `said` is the unit of `array`: the unit of a quantity, or a text as in files."""
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
            return _converted(array, "")  # a number of elementary charges
    except Exception as error:
        raise TypeError(f"the unit of {name} is {said}, and {taken} are accepted ({error}). Give {taken}.") from error


def _converted(array: Any, unit: str) -> Any:
    """Converts a quantity by the method of astropy, unyt and unxt, of pint, or of columns in astropy's tables."""
    for ask in ("to_value", "m_as", "to"):
        if hasattr(array, ask):
            found = getattr(array, ask)(unit)
            return found.value if ask == "to" else found
    raise TypeError(f"{type(array).__name__} has no known conversion")
