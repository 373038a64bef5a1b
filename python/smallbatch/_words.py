"""Arguments that are no arrays: their names, words, numbers and truths."""

from __future__ import annotations

import functools
import inspect
import operator
from typing import Any, Callable, TypeVar

import numpy as np

from ._brought import plain

# Arguments by the names that files and the command line have for them; storages; other words for what files call it.
_WORDS = {"size": "sizes", "uplo": "triangle", "device": "backend", "position": "positions", "charge": "charges",
          "offset": "offsets", "point_offset": "point_offsets", "group": "groups", "output_unit": "unit", "flag": "flags",
          "storage": "packed"}
_STORAGES = {"dense": False, "packed": True, "packed_lower": True}
_SYNONYMS = {"single": "float32", "double": "float64", "infinite": "inf", "infinity": "inf"}
_Function = TypeVar("_Function", bound=Callable[..., Any])


def words_of_files(function: _Function) -> _Function:
    """Takes arguments under their other names, too."""
    known = inspect.signature(function).parameters
    words = {word: argument for word, argument in _WORDS.items() if argument in known}

    @functools.wraps(function)
    def call(*arguments: Any, **named: Any) -> Any:
        for word in words.keys() & named.keys():
            if words[word] in named:
                raise TypeError(f"there are {word} and {words[word]}, which are one argument. Give one of them.")
            value = named.pop(word)
            if word == "storage" and value not in _STORAGES:
                raise ValueError(f"storage={value!r} is not one. Take one of {', '.join(_STORAGES)}.")
            named[words[word]] = _STORAGES[value] if word == "storage" else value
        return function(*arguments, **named)

    return call  # type: ignore[return-value]


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
