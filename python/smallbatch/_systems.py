"""Many small symmetric positive definite systems.

One file, because all calls share the reading of A and b and the arrays of results.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Iterable

import numpy as np

from . import _core
from ._arrays import Matrices, array_library_of, compute, floats, handle_of, matrices, tight, whole_numbers
from ._brought import Array, ArrayT, Brought, plain
from ._results import ABSENT, Statuses
from ._words import choice, number, words_of_files, yes_or_no

_ABOUT_A = {"rcond": None, "smallest_pivot": None, "log_determinant": "float64", "repaired": "int32",
            "perturbation": None}  # the type of each number; None: the type of A
_LARGEST = 256  # rows
_NUMBERS = {"backward_error": None, **_ABOUT_A}


class _OfSystems(Statuses[ArrayT]):
    _kind = "systems"

    @staticmethod
    def _sentence(info: int) -> str:
        return _core.describe_solve_info(info)

    @staticmethod
    def _answered(info: Any) -> Any:
        return info == 0


@dataclass(frozen=True)
class Solution(_OfSystems[ArrayT]):
    """The answer of each system, its status, and the results that the argument ``numbers`` names.

    All are arrays of A's library, on A's device. Results that ``numbers`` does not name are None. ``x`` is None in
    results of :func:`log_determinant`.

    ``x``
        the solutions, in the shape of b broadcast to the batch, or the inverses (..., n, n); NaN if a system failed
    ``info`` (...), int32
        the status of each system, which ``ok``, ``describe()`` and ``raise_for_status()`` read:

        - 0: solved
        - k > 0: the k-th pivot, counted from 1, is not positive, so A is not positive definite
        - -1: A has a NaN or an infinity
        - -2: A is not symmetric
        - -3: b has a NaN or an infinity
        - -4: x is beyond the range of its type
        - -5: x is too small for its type
        - -6: the system's size is not within 0 to n
    ``backward_error`` (...)
        ``||b - A x||_1 / (||A||_1 ||x||_1)``, the largest of the right-hand sides; for an inverse,
        ``||I - A X||_1 / (||A||_1 ||X||_1)``. Good values are below ``30 * 2**-24`` (float32) or ``30 * 2**-53``
        (float64)
    ``rcond`` (...)
        ``1 / (||A||_1 ||A^-1||_1)``
    ``smallest_pivot`` (...)
        the smallest d_k of ``A = L D L^T``
    ``log_determinant`` (...), float64
        ``ln det A``
    ``repaired`` (...), int32
        the number of pivots that were raised to ``pivot_floor``
    ``perturbation`` (...)
        the largest ``e_k / a_kk``, where raised pivots turned A into ``A + diag(e)``
    """

    x: ArrayT
    info: ArrayT
    backward_error: ArrayT = ABSENT
    rcond: ArrayT = ABSENT
    smallest_pivot: ArrayT = ABSENT
    log_determinant: ArrayT = ABSENT
    repaired: ArrayT = ABSENT
    perturbation: ArrayT = ABSENT


class _Systems:
    """A (..., n, n), or packed (..., n (n + 1) / 2), with its library and the structs of a call. Systems with n = 0 are
    computed as an identity matrix with one row. `rows` is then 1, but results have 0 rows."""

    def __init__(self, a: Array, b: Array, triangle: str, packed: bool, backend: str, threads: int,
                 sizes: Array = None):
        a, self.b, sizes = plain(a, "A"), plain(b, "b"), plain(sizes, "sizes")
        self.library = array_library_of(A=a, b=self.b, sizes=sizes)
        self.handle = handle_of(self.library, backend, threads)
        if triangle not in ("both", "lower", "upper"):
            raise ValueError(f"triangle={triangle!r} is not a triangle. Use one of both, lower, upper.")
        self.packed = yes_or_no(packed, "packed")
        self.triangle = "lower" if self.packed and triangle == "both" else triangle
        of_b = str(getattr(self.b, "dtype", "")).removeprefix("torch.")
        self.a = floats(self.library, a, "A", of_whole="float32" if of_b == "float32" else "float64")
        self.dtype = self.library.dtype(self.a)
        shape = tuple(self.a.shape)
        kind = "packed" if self.packed else "square"
        self.said = f"A has the shape {shape} and is read as {kind} matrices of {self.dtype}"
        if self.packed:
            self.n = (math.isqrt(8 * shape[-1] + 1) - 1) // 2 if shape else 0
            self.batch = shape[:-1]
            if not shape or self.n * (self.n + 1) // 2 != shape[-1]:
                raise ValueError(f"{self.said}, which are (..., n (n + 1) / 2) (no n fits). Give packed "
                                 "triangles, or leave packed out.")
            if b is None and not self.library.on_device and shape == shape[::-1] and self.n > 1 and len(shape) == 2 \
                    and np.array_equal(self.a, self.a.T):
                raise ValueError(f"{self.said}, {shape[0]} with n = {self.n} (it could also be one symmetric matrix). "
                                 "For one matrix leave packed out; for triangles give A[None].")
            self.a = self.a[..., None, :]
        else:
            if len(shape) < 2 or shape[-1] != shape[-2]:
                raise ValueError(f"{self.said}, which are (..., n, n) (this shape is not). Give square matrices, or "
                                 "packed triangles with packed=True.")
            self.n, self.batch = shape[-1], shape[:-2]
        if self.n > _LARGEST:
            raise ValueError(f"{self.said} with n = {self.n} (n is up to {_LARGEST}). Divide the systems, or use "
                             "LAPACK, as numpy.linalg does.")
        self.rows = max(self.n, 1)
        self.sizes = None if sizes is None else self._int32(whole_numbers(self.library, sizes, "sizes"))
        if self.n == 0:
            self.a = self.library.take(np.ones((1, 1), self.dtype))
            if self.sizes is not None:
                self.sizes = 2 * self.library.cast(self.sizes == 0, "int32") - 1

    def _int32(self, sizes: Array) -> Array:
        """Returns sizes as int32. Numbers that int32 cannot hold become -1."""
        if self.library.dtype(sizes) == "int32":
            return sizes
        cast = self.library.cast(sizes, "int32")
        return self.library.cast(cast == sizes, "int32") * (cast + 1) - 1

    def structs(self, batch: tuple[int, ...], nrhs: int = 1, b: Matrices | None = None) -> tuple[_core.Systems, Any]:
        """Returns the struct for a batch, and the objects that must stay alive until the call has been made."""
        a = matrices(self.library, self.a, batch, by_rows=True if self.packed else None)
        systems = _struct(self, batch, nrhs, b)
        # Columns of A are rows of A^T = A, and the lower triangle of A^T is the upper triangle of A.
        same = a.by_rows == (b is None or b.by_rows)
        name = {"both": "both", "lower": "lower" if same else "upper", "upper": "upper" if same else "lower"}
        systems.storage = _core.Storage["packed_" * self.packed + name[self.triangle]]
        systems.a, systems.lda, systems.a_stride = a.address, a.leading, a.stride
        if self.sizes is None:
            return systems, a
        sizes = tight(self.library, self.sizes, "sizes", batch)
        view = self.library.view(sizes)
        systems.sizes = view.address
        return systems, (a, sizes, view)


def _struct(of: Any, batch: tuple[int, ...], nrhs: int, b: Matrices | None) -> _core.Systems:
    systems = _core.Systems(_core.Type[of.dtype], of.library.memory, of.rows, nrhs, math.prod(batch))
    if b is not None:
        systems.order = _core.Order.row if b.by_rows else _core.Order.column
        systems.b, systems.ldb, systems.b_stride = b.address, b.leading, b.stride
    return systems


def _right_hand_sides(of: Any) -> tuple[Array, bool, tuple[int, ...], int]:
    """Returns b as (..., n, nrhs), whether it has one vector for each system, the shape of the batch with b, and nrhs.
    If b is empty (n = 0 or nrhs = 0), zeros take its place, so that A is still checked."""
    b = floats(of.library, of.b, "b", None if hasattr(of.b, "dtype") else of.dtype, of_whole=of.dtype)
    shape = tuple(b.shape)
    if of.library.dtype(b) != of.dtype:
        raise TypeError(f"{of.said}, and b has the type {of.library.dtype(b)} (both must have one type). "
                        "Convert one of them.")
    vectors = len(shape) == 1 or shape == (*of.batch, of.n)
    if not shape or shape[-1 if vectors else -2] != of.n:
        raise ValueError(f"{of.said} with n = {of.n}, and b has the shape {shape}, which is neither (n,), nor "
                         f"{(*of.batch, of.n)}, nor (..., n, nrhs). "
                         + ("If b holds vectors, give b[..., None]." if shape and shape[-1] == of.n else
                            f"Give b of {of.n} rows."))
    b = b[..., None] if vectors else b
    shape = tuple(b.shape)
    try:
        batch = np.broadcast_shapes(of.batch, shape[:-2])
    except ValueError:
        raise ValueError(f"there are systems {of.batch} in A and {shape[:-2]} in b, which do not broadcast. "
                         "Give axes that do.") from None
    nrhs = shape[-1]
    if 0 in shape[-2:]:
        b = of.library.take(np.zeros((of.rows, max(nrhs, 1)), of.dtype))
    return b, vectors, batch, nrhs


class _Outputs:
    """Arrays of results, with the struct of their addresses."""

    def __init__(self, of: Any, batch: tuple[int, ...]):
        self.library, self.dtype, self.batch = of.library, of.dtype, batch
        self.struct = _core.Solutions()
        self.arrays: dict[str, Array] = {}
        self.add("info", "int32")

    def add(self, name: str, dtype: str | None, core: tuple[int, ...] = ()) -> None:
        array = self.arrays[name] = self.library.empty((*self.batch, *core), dtype or self.dtype)
        setattr(self.struct, name, self.library.view(array).address)

    def add_numbers(self, wanted: Iterable[str], known: dict[str, str | None]) -> None:
        for name in (wanted,) if isinstance(wanted, str) else wanted:
            if name not in known:
                raise ValueError(f"numbers={name!r} is not available here. Use some of {', '.join(known)}.")
            self.add(name, known[name])

    def add_x(self, n: int, nrhs: int, by_rows: bool, vectors: bool) -> None:
        rows, columns = max(n, 1), max(nrhs, 1)
        self.add("x", None, (rows, columns) if by_rows else (columns, rows))
        self.n, self.nrhs, self.by_rows, self.vectors = n, nrhs, by_rows, vectors

    def solution(self) -> Solution[Any]:
        """Returns the solution after the computation. x is a view of its array; with JAX it is a copy."""
        if "x" in self.arrays:
            x = self.arrays["x"] if self.by_rows else self.arrays["x"].swapaxes(-1, -2)
            x = x if min(self.n, self.nrhs) > 0 else x[..., : self.n, : self.nrhs]
            self.arrays["x"] = x[..., 0] if self.vectors else x
        arrays = {name: self.library.give(array) for name, array in self.arrays.items()}
        return Solution(**{"x": None, **arrays})


def _options(method: str, pivot_floor: float) -> _core.SolveOptions:
    floor = number(pivot_floor, "pivot_floor")
    if not 0 <= floor < 1:
        raise ValueError(f"pivot_floor={floor} is not a fraction of a diagonal element. "
                         "Give 0 to raise no pivot, or a number below 1.")
    return _core.SolveOptions(choice(_core.Method, method, "method"), floor)


@words_of_files
def solve(A: Brought[ArrayT], b: Array, *, triangle: str = "both", packed: bool = False, numbers: Iterable[str] = (),
          method: str = "auto", pivot_floor: float = 0.0, sizes: Array = None, backend: str = "auto",
          threads: int = 0) -> Solution[ArrayT]:
    """Solves ``A x = b`` for many small symmetric positive definite matrices.

    ``A``
        the matrices (..., n, n), n up to 256, float32 or float64. They are an array of NumPy, CuPy, PyTorch or JAX, or
        of another library with DLPack if it lies in host memory
    ``b``
        the right-hand sides, in the type of A: (..., n), one vector for each system, or (..., n, nrhs). b holds vectors
        if it has one axis, or if its shape is that of A without the last axis. Leading axes are broadcast as in NumPy.
        With n = 0 or nrhs = 0 results are empty
    ``triangle``
        "both": both triangles are read and compared, and a matrix that is not symmetric is refused. "lower" or "upper":
        the other triangle is never read
    ``packed``
        whether A is (..., n (n + 1) / 2), by rows: a00, a10, a11, a20, ... ("lower"), or a00, a01, a02, ..., a11, ...
        ("upper"). If not, A of shape (n, n) is one matrix for any n
    ``numbers``
        further results, some of "backward_error", "rcond", "smallest_pivot", "log_determinant", "repaired",
        "perturbation". They take time; each of the first two takes about as much as solving. Other results keep their
        bits
    ``method``
        "auto", "ldlt" or "gauss_jordan"
    ``pivot_floor``
        from 0 to below 1: pivots below this fraction of their diagonal element are raised. Use it for matrices that
        should be definite but are not to working precision. The answer is that of a nearby matrix. 0: none is raised
    ``sizes``
        whole numbers (...) from 0 to n, for systems smaller than n; broadcast to the systems of A and b. For a system
        of size k only the first k rows and columns of A, and rows of b, are read. They keep their places among
        the n rows and columns. The other rows of x are 0
    ``backend``
        for arrays in host memory: "auto" (a GPU if there is one), "cpu", "cuda", "cuda:1", ... or "reference"
    ``threads``
        threads of the CPU; 0: one per core

    Arrays are read without a copy, by rows or by columns, with any strides of batch and rows. Arrays in another layout
    and whole numbers are copied. On a GPU the call is enqueued on the library's current stream and does not wait.

    Raises ValueError or TypeError for arguments that are not valid. A system that cannot be solved raises no exception;
    it has a status:

    >>> import numpy as np
    >>> A = np.array([[[4.0, 2.0], [2.0, 3.0]], [[1.0, 2.0], [2.0, 1.0]]])
    >>> s = solve(A, np.array([[8.0, 7.0], [1.0, 1.0]]), numbers=["rcond"])
    >>> s.x
    array([[1.25, 1.5 ],
           [ nan,  nan]])

    >>> s.info
    array([0, 2], dtype=int32)
    >>> s.describe()
    '1 of 2 systems failed, the first is 1: pivot 2 is not positive'
    """
    of = _Systems(A, b, triangle, packed, backend, threads, sizes)
    right_hand_sides, vectors, batch, nrhs = _right_hand_sides(of)
    right = matrices(of.library, right_hand_sides, batch)
    systems, kept = of.structs(batch, max(nrhs, 1), right)
    outputs = _Outputs(of, batch)
    outputs.add_x(of.n, nrhs, right.by_rows, vectors)
    outputs.add_numbers(numbers, _NUMBERS)
    compute(of.library, of.handle, "solve", systems, outputs.struct, _options(method, pivot_floor))
    del kept
    return outputs.solution()


@words_of_files
def inverse(A: Brought[ArrayT], *, triangle: str = "both", packed: bool = False, numbers: Iterable[str] = (),
            method: str = "auto", pivot_floor: float = 0.0, sizes: Array = None, backend: str = "auto",
            threads: int = 0) -> Solution[ArrayT]:
    """Computes the inverses of A as ``x`` (..., n, n), both triangles filled. Arguments are those of :func:`solve`.

    >>> inverse([[4.0, 2.0], [2.0, 2.0]]).x
    array([[ 0.5, -0.5],
           [-0.5,  1. ]])
    """
    of = _Systems(A, None, triangle, packed, backend, threads, sizes)
    systems, kept = of.structs(of.batch)
    outputs = _Outputs(of, of.batch)
    outputs.add_x(of.n, of.n, True, False)
    outputs.add_numbers(numbers, _NUMBERS)
    compute(of.library, of.handle, "invert", systems, outputs.struct, _options(method, pivot_floor))
    del kept
    return outputs.solution()


@words_of_files
def log_determinant(A: Brought[ArrayT], *, triangle: str = "both", packed: bool = False, numbers: Iterable[str] = (),
                    method: str = "auto", pivot_floor: float = 0.0, sizes: Array = None, backend: str = "auto",
                    threads: int = 0) -> Solution[ArrayT]:
    """Computes ``ln det A`` of each matrix as ``log_determinant`` (...), float64. Arguments are those of :func:`solve`.

    ``numbers``: some of "rcond", "smallest_pivot", "repaired", "perturbation".

    >>> float(log_determinant([[4.0, 2.0], [2.0, 2.0]]).log_determinant)  # ln 4
    1.3862943611198906
    """
    of = _Systems(A, None, triangle, packed, backend, threads, sizes)
    systems, kept = of.structs(of.batch)
    outputs = _Outputs(of, of.batch)
    outputs.add_numbers({"log_determinant": 0, **dict.fromkeys([numbers] if isinstance(numbers, str) else numbers)},
                        _ABOUT_A)
    compute(of.library, of.handle, "log_determinant", systems, outputs.struct, _options(method, pivot_floor))
    del kept
    return outputs.solution()


@dataclass(frozen=True)
class Factor(_OfSystems[ArrayT]):
    """Factors ``A = L D L^T`` of each system, made by :func:`factor`, for right-hand sides that come later.

    ``packed`` (..., n (n + 1) / 2)
        d_0, l_10, d_1, l_20, l_21, d_2, ...: L by rows. Each d_k takes the place of the diagonal of L, which is 1
    ``info`` (...), int32
        the status of A, as in :class:`Solution`
    ``smallest_pivot`` (...), ``log_determinant`` (...), float64
        the smallest d_k, and ``ln det A``
    """

    n: int
    packed: ArrayT
    info: ArrayT
    smallest_pivot: ArrayT
    log_determinant: ArrayT

    @words_of_files
    def solve(self, b: Array, *, backend: str = "auto", threads: int = 0) -> Solution[ArrayT]:
        """Solves ``A x = b``, with b as in :func:`solve`. The solution has only ``x`` and ``info``."""
        of = _Factored(self, b, backend, threads)
        right_hand_sides, vectors, batch, nrhs = _right_hand_sides(of)
        right = matrices(of.library, right_hand_sides, batch)
        factor = matrices(of.library, of.packed[..., None, :], batch, by_rows=True)
        info = of.info if factor.stride == 0 else tight(of.library, of.info, "statuses", batch)
        factors = _core.Factors()
        factors.factor, factors.stride = factor.address, factor.stride
        info_view = of.library.view(info)
        factors.info = info_view.address
        systems = _struct(of, batch, max(nrhs, 1), right)
        outputs = _Outputs(of, batch)
        outputs.add_x(of.n, nrhs, right.by_rows, vectors)
        compute(of.library, of.handle, "solve_factored", factors, systems, outputs.struct)
        return outputs.solution()


class _Factored:
    def __init__(self, factor: Factor[Any], b: Array, backend: str, threads: int):
        self.b = plain(b, "b")
        self.library = array_library_of(A=factor.packed, b=self.b)
        self.handle = handle_of(self.library, backend, threads)
        self.packed, self.info = self.library.take(factor.packed), self.library.take(factor.info)
        self.dtype, self.n, self.batch = self.library.dtype(self.packed), factor.n, tuple(self.packed.shape)[:-1]
        self.said, self.rows = f"A is factored, of {self.dtype}", max(self.n, 1)
        if self.n == 0:
            self.packed = self.library.expand(self.library.take(np.ones(1, self.dtype)), (*self.batch, 1))


@words_of_files
def factor(A: Brought[ArrayT], *, triangle: str = "both", packed: bool = False, backend: str = "auto",
           threads: int = 0) -> Factor[ArrayT]:
    """Factors ``A = L D L^T`` once, to solve many times. Arguments are those of :func:`solve`.

    >>> f = factor([[4.0, 2.0], [2.0, 2.0]])
    >>> f.solve([2.0, 0.0]).x, f.solve([0.0, 2.0]).x
    (array([ 1., -1.]), array([-1.,  2.]))
    """
    of = _Systems(A, None, triangle, packed, backend, threads)
    systems, kept = of.structs(of.batch)
    factors = _core.Factors()
    types = {"packed": of.dtype, "info": "int32", "smallest_pivot": of.dtype, "log_determinant": "float64"}
    arrays = {}
    for name, dtype in types.items():
        core = (of.rows * (of.rows + 1) // 2,) if name == "packed" else ()
        arrays[name] = of.library.empty((*of.batch, *core), dtype)
        setattr(factors, "factor" if name == "packed" else name, of.library.view(arrays[name]).address)
    compute(of.library, of.handle, "factor", systems, factors)
    del kept
    if of.n == 0:
        arrays["packed"] = arrays["packed"][..., :0]
    return Factor(of.n, **{name: of.library.give(array) for name, array in arrays.items()})
