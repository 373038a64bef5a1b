"""Common parts of results: a status for each system, problem or channel."""

from __future__ import annotations

from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from ._arrays import numpy_of
from ._brought import ArrayT

_Result = TypeVar("_Result", bound="Statuses[Any]")
ABSENT: Any = None  # the value of results that a call did not compute


class NumericalFailure(ArithmeticError):
    """Some systems, problems or channels have no answer. ``indices`` holds their indices (tuples), and ``statuses``
    their statuses."""

    def __init__(self, message: str, indices: list[tuple[int, ...]], statuses: list[int]):
        super().__init__(message)
        self.indices, self.statuses = indices, statuses


class Statuses(Generic[ArrayT]):
    """Statuses of systems, problems or channels, with their sentences."""

    info: ArrayT
    _kind: ClassVar[str]

    @staticmethod
    def _sentence(info: int) -> str:
        raise NotImplementedError

    @staticmethod
    def _answered(info: Any) -> Any:
        raise NotImplementedError

    @property
    def ok(self) -> ArrayT:
        """Whether each system, problem or channel has its answer, in the shape of ``info``."""
        answered: ArrayT = self._answered(self.info)
        return answered

    def describe(self) -> str:
        """Returns one line. It says that all have their answers, or how many failed and why the first failed. Waits for
        the GPU if there is one."""
        info = numpy_of(self.info, "int32")
        failed = np.argwhere(~self._answered(info))
        if info.size == 1:
            return self._sentence(int(info.reshape(())))
        if not len(failed):
            return f"all {info.size} {self._kind} have their answers"
        first = tuple(map(int, failed[0]))
        return (f"{len(failed)} of {info.size} {self._kind} failed, the first is {first[0] if len(first) == 1 else first}: "
                f"{self._sentence(int(info[first]))}")

    def raise_for_status(self: _Result) -> _Result:
        """Returns this result, or raises NumericalFailure if some have no answer. Waits for the GPU if there is one."""
        info = numpy_of(self.info, "int32")
        failed = [tuple(map(int, index)) for index in np.argwhere(~self._answered(info))]
        if failed:
            raise NumericalFailure(self.describe(), failed, [int(info[index]) for index in failed])
        return self
