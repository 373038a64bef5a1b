"""What results have in common: a status for each system, problem or channel."""

from __future__ import annotations

from typing import Any, Callable, ClassVar

import numpy as np

from ._arrays import Array, numpy_of


class NumericalFailure(ArithmeticError):
    """Some systems or problems have no answer; `indices` (tuples) says which, `statuses` why."""

    def __init__(self, message: str, indices: list[tuple[int, ...]], statuses: list[int]):
        super().__init__(message)
        self.indices, self.statuses = indices, statuses


class Statuses:
    """`info` of each, and what it says."""

    info: Array
    _kind: ClassVar[str]
    _sentence: ClassVar[Callable[[int], str]]
    _answered: ClassVar[Callable[[Any], Any]]

    @property
    def ok(self) -> Array:
        """Whether each has its answer, of the shape of `info`."""
        return type(self)._answered(self.info)

    def describe(self) -> str:
        """One line: how many have their answers, and what the first that has none is."""
        info = numpy_of(self.info, "int32").reshape(np.shape(self.info))
        failed = np.argwhere(~type(self)._answered(info))
        if not len(failed):
            return f"all {info.size} {self._kind} have their answers"
        first = tuple(map(int, failed[0]))
        name = f" {first[0] if len(first) == 1 else first}" if first else ""
        return (f"{len(failed)} of {info.size} {self._kind} failed, the first is{name or ' it'}: "
                f"{type(self)._sentence(int(info[first]))}")

    def raise_for_status(self) -> Any:
        """This result, or NumericalFailure where some have no answer. Waits for the GPU, if there is one."""
        info = numpy_of(self.info, "int32").reshape(np.shape(self.info))
        failed = np.argwhere(~type(self)._answered(info))
        if len(failed):
            indices = [tuple(map(int, index)) for index in failed]
            raise NumericalFailure(self.describe(), indices, [int(info[index]) for index in indices])
        return self
