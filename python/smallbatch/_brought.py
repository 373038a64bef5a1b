"""What people bring as arrays, before anything is done with it.

Numbers of an argument are to mean what they say: units, masks, gradients and signs that are not in the numbers are
looked at here, by what objects offer themselves, so that none of their libraries is imported.
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
# What arguments are in: what quantities are converted to, what of it is one, and what a unit that is a text is worth.
_UNITS: dict[str, tuple[str, float, Callable[[str], float]]] = {
    "angstrom": ("angstrom", 1, _core.length_unit_in_angstrom),
    "e": ("C", 1.602176634e-19, _core.charge_unit_in_e),
    "K": ("K", 1, {"K": 1.0, "kelvin": 1.0}.__getitem__),
    "": ("", 1, {"": 1.0, "1": 1.0, "dimensionless": 1.0}.__getitem__),
}


def library_of(array: Array) -> str | None:
    """Whose array it is, of those whose results are arrays of their own; None of numbers, lists and the like."""
    if isinstance(array, np.ndarray):
        return "NumPy"
    if not hasattr(array, "__dlpack__"):
        return None
    modules = (base.__module__.partition(".")[0] for base in type(array).__mro__)
    return next((_LIBRARIES[module] for module in modules if module in _LIBRARIES), "NumPy")


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
        return _plain_tensor(unmasked(array, name), name)
    return plain(array, name, unit) if said is None else plain(_in_unit(array, name, said, unit), name)


def unmasked(array: Any, name: str) -> Any:
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
    if library_of(array) == "PyTorch":
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
