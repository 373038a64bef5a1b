"""Arguments other than arrays: their names, words, numbers and truth values."""

from __future__ import annotations

import functools
import inspect
import operator
from typing import Any, Callable, TypeVar

import numpy as np

from ._brought import plain

# Other names of arguments, from files and the command line.
_WORDS = {"size": "sizes", "uplo": "triangle", "device": "backend", "position": "positions", "charge": "charges",
          "offset": "offsets", "point_offset": "point_offsets", "group": "groups", "output_unit": "unit", "flag": "flags",
          "storage": "packed"}
# Values of the argument `storage`, each with the value of `packed` that it means.
_STORAGES = {"dense": False, "packed": True, "packed_lower": True}
# Other words for values, from files.
_SYNONYMS = {"single": "float32", "double": "float64", "infinite": "inf", "infinity": "inf"}
_Function = TypeVar("_Function", bound=Callable[..., Any])


def words_of_files(function: _Function) -> _Function:
    """Decorates a function so that it also takes arguments under their other names."""
    known = inspect.signature(function).parameters
    words = {word: argument for word, argument in _WORDS.items() if argument in known}

    @functools.wraps(function)
    def call(*arguments: Any, **named: Any) -> Any:
        for word in words.keys() & named.keys():
            if words[word] in named:
                raise TypeError(f"{word} and {words[word]} are both given (they are one argument). Give one of them.")
            value = named.pop(word)
            if word == "storage" and value not in _STORAGES:
                raise ValueError(f"storage={value!r} is not a storage. Use one of {', '.join(_STORAGES)}.")
            named[words[word]] = _STORAGES[value] if word == "storage" else value
        return function(*arguments, **named)

    return call  # type: ignore[return-value]


def whole_number(value: Any, name: str, bits: int = 63) -> int:
    """Returns a whole number. Refuses numbers that an integer of `bits` bits and a sign bit cannot hold."""
    try:
        number = operator.index(value)
    except TypeError as error:
        raise TypeError(f"{name}={value!r} is not a whole number ({error}). Give one, such as 2.") from None
    if not -(2**bits) <= number < 2**bits:
        raise ValueError(f"{name}={number} is beyond {bits + 1} bits (it cannot be stored). Give a smaller number.")
    return number


def number(value: Any, name: str, unit: str = "") -> float:
    """Returns a number; quantities are converted to ``unit``."""
    value = plain(value, name, unit)
    try:
        return float(value)
    except (TypeError, ValueError) as error:
        kind = ValueError if isinstance(error, ValueError) else TypeError
        raise kind(f"{name}={value!r} is not a number ({error}). Give one, such as 0.5.") from None


def yes_or_no(value: Any, name: str) -> bool:
    """Returns a truth value. A text is refused, because every text except an empty one would be true."""
    if isinstance(value, (str, bytes)):
        raise TypeError(f"{name}={value!r} is a text (a truth value is needed). Give True or False.")
    return bool(value)


def choice(kinds: Any, name: Any, argument: str) -> Any:
    """Returns the enumerator of `kinds` for a name, a synonym or a NumPy type."""
    known = np.dtype(name).name if isinstance(name, (type, np.dtype)) else name
    known = _SYNONYMS.get(known, known) if isinstance(known, str) else known
    if known not in kinds.__members__:
        raise ValueError(f"{argument}={name!r} is not known. Use one of {', '.join(kinds.__members__)}.")
    return kinds[known]
