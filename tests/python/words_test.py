"""Arguments other than arrays: the names that files, the command line and other libraries use, and messages about
arguments that are not valid."""

import inspect

import numpy as np
import pytest

import smallbatch

A, B = np.array([[[4.0, 1], [1, 3]], [[2, 0], [0, 5]]]), np.array([[1.0, 2], [3, 4]])
POSITIONS, CHARGES = np.array([[0.0, 0, 0], [2.0, 0, 0], [0, 0, 0]]), np.array([1.0, -1.0, 0.5])
SIGNAL = np.arange(8).reshape(4, 2).astype(np.complex64)


@pytest.mark.parametrize("call,by_word,by_name", [
    (smallbatch.solve, dict(A=A, b=B, size=[1, 2]), dict(A=A, b=B, sizes=[1, 2])),
    (smallbatch.solve, dict(A=np.tril(A), b=B, uplo="lower"), dict(A=np.tril(A), b=B, triangle="lower")),
    (smallbatch.solve, dict(A=A, b=B, device="reference"), dict(A=A, b=B, backend="reference")),
    (smallbatch.inverse, dict(A=A[:, 0, [0, 1, 0]], storage="packed_lower"), dict(A=A[:, 0, [0, 1, 0]], packed=True)),
    (smallbatch.inverse, dict(A=A, storage="dense"), dict(A=A)),
    (smallbatch.log_determinant, dict(A=A, size=[1, 0]), dict(A=A, sizes=[1, 0])),
    (smallbatch.potential, dict(position=POSITIONS, charge=CHARGES, offset=[0, 2, 3], output_unit="kT/e"),
     dict(positions=POSITIONS, charges=CHARGES, offsets=[0, 2, 3], unit="kT/e")),
    (smallbatch.field, dict(position=POSITIONS, charge=CHARGES), dict(positions=POSITIONS, charges=CHARGES)),
    (smallbatch.pair_energy, dict(position=POSITIONS[:2], charge=CHARGES[:2], group=[1, 2]),
     dict(positions=POSITIONS[:2], charges=CHARGES[:2], groups=[1, 2])),
    (smallbatch.correlate, dict(signal=SIGNAL, flag=np.eye(4, 2, dtype=bool)),
     dict(signal=SIGNAL, flags=np.eye(4, 2, dtype=bool))),
])
def test_words_of_files_are_taken(call, by_word, by_name):
    found, expected = call(**by_word), call(**by_name)
    for name in expected.__dataclass_fields__:
        if getattr(expected, name) is not None:
            np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    with pytest.raises(TypeError, match="they are one argument"):
        call(**{**by_name, **({"packed": False} if "storage" in by_word else {}), **by_word})


@pytest.mark.parametrize("call", [smallbatch.solve, smallbatch.potential, smallbatch.correlate, smallbatch.factor])
def test_other_names_are_refused(call):
    required = [name for name, of_it in inspect.signature(call).parameters.items() if of_it.default is of_it.empty]
    for name in ("thread", "size_", "offsetts"):
        with pytest.raises(TypeError, match=name):
            call(**dict.fromkeys(required, np.ones((2, 2))), **{name: 1})
    with pytest.raises(TypeError, match="size"):
        smallbatch.correlate(SIGNAL, size=1)


@pytest.mark.parametrize("words,dtype", [
    (["float32", "single", np.float32, np.dtype("f4")], np.float32),
    (["float64", "double", np.float64, np.dtype("f8"), float], np.float64)])
def test_precisions(words, dtype):
    for word in words:
        found = smallbatch.potential(POSITIONS[:2], CHARGES[:2], precision=word).potential
        assert found.dtype == dtype
        assert smallbatch.pair_energy(POSITIONS[:2], CHARGES[:2], precision=word).ok


@pytest.mark.parametrize("word", ["float16", "half", "quad", int, None, 4, "FLOAT32"])
def test_other_precisions_are_refused(word):
    with pytest.raises(ValueError, match="precision=.* is not known. Use one of float32, float64"):
        smallbatch.potential(POSITIONS, CHARGES, precision=word)


def test_singularities():
    expected = {"inf": [np.inf, np.inf], "skip": [-0.5, -0.5]}
    for word, meaning in (("inf", "inf"), ("infinite", "inf"), ("infinity", "inf"), ("skip", "skip")):
        found = smallbatch.potential(POSITIONS, CHARGES, points=POSITIONS[[0, 2]], singular=word, unit="e/angstrom").potential
        assert found.tolist() == expected[meaning]


@pytest.mark.parametrize("energy,unit", [("volt*e", "volt"), ("eV", "volt"), ("kT", "kT/e"), ("kcal/mol", "kcal/mol/e"),
                                         ("kJ/mol", "kJ/mol/e"), ("hartree", "hartree/e"), ("e^2/angstrom", "e/angstrom")])
def test_units_of_energies(energy, unit):
    volt = 14.399645478425672
    factor = {"volt": volt, "kT/e": volt * 1.602176634e-19 / (1.380649e-23 * 298.15), "hartree/e": 0.529177210903,
              "kcal/mol/e": volt * 1.602176634e-19 * 6.02214076e23 / 4184, "e/angstrom": 1,
              "kJ/mol/e": volt * 1.602176634e-19 * 6.02214076e23 / 1000}[unit]
    for word in (energy, unit):
        found = smallbatch.pair_energy(POSITIONS[:2], CHARGES[:2], unit=word, precision="float64").energy
        assert found == pytest.approx(-factor / 2, rel=1e-9)
    if energy != unit:
        with pytest.raises(ValueError, match="no unit of potential .*Use one of volt, kT/e, kcal/mol/e"):
            smallbatch.potential(POSITIONS, CHARGES, unit=energy)


@pytest.mark.parametrize("value", ["no", "False", b"0", ""])
def test_texts_are_no_truths(value):
    for call in (lambda: smallbatch.inverse(A, packed=value), lambda: smallbatch.potential(POSITIONS, CHARGES, field=value),
                 lambda: smallbatch.pair_energy(POSITIONS, CHARGES, per_charge=value)):
        with pytest.raises(TypeError, match="is a text"):
            call()


@pytest.mark.parametrize("call,problem", [
    (lambda: smallbatch.solve(A, B, threads=-1), "threads is -1 .*0 for one thread per core"),
    (lambda: smallbatch.correlate(SIGNAL, integrate=0), "4 samples of 2 inputs, and integrate=0 .*leave integrate out"),
    (lambda: smallbatch.correlate(SIGNAL, integrate=-5), "integrate=-5"),
    (lambda: smallbatch.inverse(A, pivot_floor=1), "pivot_floor=1.0 is not a fraction"),
    (lambda: smallbatch.inverse(A, pivot_floor=np.nan), "pivot_floor=nan is not a fraction"),
    (lambda: smallbatch.inverse(A, storage="upper"), "storage='upper'.*dense, packed, packed_lower"),
    (lambda: smallbatch.inverse(np.ones((3, 257, 257))), r"\(3, 257, 257\).*square.*float64 with n = 257 .*up to 256.*LAPACK"),
    (lambda: smallbatch.inverse(np.ones((2, 257 * 129), np.float32), packed=True), "packed.*float32 with n = 257 .*up to 256"),
    (lambda: smallbatch.inverse(np.eye(8), packed=True), r"\(8, 8\) and is read as packed.*leave packed out"),
    (lambda: smallbatch.inverse(np.ones(6)), r"\(6,\) and is read as square.*packed=True"),
    (lambda: smallbatch.solve(np.eye(8), np.ones((3, 8))), r"square matrices of float64 with n = 8, and b .*b\[\.\.\., None\]"),
    (lambda: smallbatch.solve(np.eye(8), np.ones((3, 7))), "Give b of 8 rows"),
    (lambda: smallbatch.solve(np.eye(2, dtype=np.float32), np.ones(2)), "read as square matrices of float32, and b has the type "
                                                                        "float64"),
    (lambda: smallbatch.solve(A * 1j, B), r"A has the type complex128 \(only real numbers are accepted\).*\[\[Re A, -Im A\]"),
    (lambda: smallbatch.solve(A, B * 1j), r"b has the type complex128 .*\[Re b, Im b\]"),
    (lambda: smallbatch.potential(POSITIONS, CHARGES * 1j), "charges has the type complex128 .*its real part"),
    (lambda: smallbatch.correlate(SIGNAL.astype(np.complex128)), "complex128 .*Convert it to complex64"),
])
def test_what_was_understood_what_is_wrong_and_what_to_do(call, problem):
    with pytest.raises((ValueError, TypeError), match=problem):
        call()


def test_hermitian_systems_are_solved_as_the_message_says():
    rng = np.random.default_rng(1)
    g = rng.normal(size=(5, 3, 3)) + 1j * rng.normal(size=(5, 3, 3))
    a, x = g @ g.conj().swapaxes(-1, -2) + np.eye(3), rng.normal(size=(5, 3)) + 1j * rng.normal(size=(5, 3))
    b = (a @ x[..., None])[..., 0]
    real = np.block([[a.real, -a.imag], [a.imag, a.real]])
    found = smallbatch.solve(real, np.concatenate([b.real, b.imag], axis=-1)).raise_for_status().x
    assert np.allclose(found[:, :3] + 1j * found[:, 3:], x)


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int32, np.int64, np.uint64, ">i4"])
@pytest.mark.parametrize("other", [np.float32, np.float64, np.int16, list])
def test_whole_numbers_take_the_type_of_what_is_beside_them(dtype, other):
    whole, b = np.array([[4, 1], [1, 3]]).astype(dtype), [5, 4] if other is list else np.array([5, 4], other)
    assert np.allclose(smallbatch.solve(whole, b).x, 1)
    assert smallbatch.solve(whole, b).x.dtype == (np.float32 if other is np.float32 else np.float64)
    if other is not list:
        assert np.allclose(smallbatch.solve(np.array([[4, 1], [1, 3]], other), np.array([5, 4]).astype(dtype)).x, 1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("a,b", [
    ((0, 0), (0,)), ((0, 0), (0, 0)), ((0, 0), (0, 4)), ((3, 0, 0), (3, 0)), ((3, 0, 0), (3, 0, 2)), ((3, 0, 0), (0, 5)),
    ((2, 1, 0, 0), (3, 0, 2)), ((0, 0, 0), (0, 0)), ((2, 2), (2, 0)), ((3, 2, 2), (3, 2, 0)), ((3, 2, 2), (2, 0)),
    ((0, 2, 2), (0, 2, 0)), ((0, 2, 2), (0, 2))])
def test_systems_without_numbers(a, b, dtype):
    """Empty systems have the results that NumPy gives. b holds vectors if it has one axis, or A's shape without the
    last axis."""
    left, right = np.zeros(a, dtype) + np.eye(a[-1], dtype=dtype), np.ones(b, dtype)
    vectors = len(b) == 1 or b == a[:-1]
    expected = np.linalg.solve(left, right[..., None] if vectors else right)
    expected = expected[..., 0] if vectors else expected
    numbers = ["backward_error", "rcond", "smallest_pivot", "log_determinant", "repaired", "perturbation"]
    for found in (smallbatch.solve(left, right, numbers=numbers), smallbatch.factor(left).solve(right)):
        assert found.x.shape == expected.shape and found.x.dtype == dtype
        batch = expected.shape[: -1 if vectors else -2]
        assert found.info.shape == batch and not found.info.any() and found.raise_for_status() is found
    found = smallbatch.solve(left, right, numbers=numbers)
    assert found.rcond.shape == found.log_determinant.shape == batch
    if a[-1] == 0:
        assert np.all(found.rcond == 1) and np.all(found.log_determinant == 0) and np.all(found.backward_error == 0)
        empty = smallbatch.solve(left[..., :1, :0].reshape(*a[:-2], 0), right, packed=True)
        assert empty.x.shape == expected.shape and not empty.info.any()


@pytest.mark.parametrize("a", [(0, 0), (3, 0, 0), (2, 0, 0, 0)])
def test_nothing_is_inverted_and_factored(a):
    a = np.zeros(a)
    assert smallbatch.inverse(a).x.shape == np.linalg.inv(a).shape
    found = smallbatch.log_determinant(a).log_determinant
    assert np.array_equal(found, np.linalg.slogdet(a).logabsdet)
    factor = smallbatch.factor(a)
    assert factor.packed.shape == (*a.shape[:-2], 0) and factor.n == 0 and not np.any(factor.log_determinant)
    assert np.array_equal(smallbatch.solve(a, np.zeros(0), sizes=np.zeros(a.shape[:-2], int)).info, np.zeros(a.shape[:-2]))
    assert np.all(smallbatch.solve(a, np.zeros(0), sizes=np.ones(a.shape[:-2], int)).info == -6)


def test_a_is_looked_at_where_nothing_is_asked_of_it():
    a = np.stack([np.eye(2), [[1, 2], [2, 1]], [[np.nan, 0], [0, 1]]])
    assert smallbatch.solve(a, np.zeros((3, 2, 0))).info.tolist() == [0, 2, -1]


@pytest.mark.parametrize("n", [1, 3, 6, 10, 15, 21, 28, 36])
@pytest.mark.parametrize("call", [smallbatch.inverse, smallbatch.log_determinant, smallbatch.factor])
def test_one_matrix_is_one_matrix(call, n):
    """With packed=True, an n x n array with n = m (m + 1) / 2 could be n packed triangles or one matrix. The package
    refuses the array if it is symmetric, and otherwise reads it as triangles."""
    a = np.eye(n) * 4 + 1
    rows = {smallbatch.inverse: "x", smallbatch.factor: "packed"}.get(call, "log_determinant")
    for given in (dict(A=a), dict(A=a, packed=False), dict(A=a, storage="dense")):
        assert getattr(call(**given), rows).shape == {"x": (n, n), "packed": (n * (n + 1) // 2,)}.get(rows, ())
    if n > 1:
        with pytest.raises(ValueError, match=rf"\({n}, {n}\) and is read as packed.*one symmetric matrix.*A\[None\]"):
            call(a, packed=True)
    m = (int((8 * n + 1) ** 0.5) - 1) // 2
    triangles = np.random.default_rng(2).uniform(0, 0.1, (n, n)) + (np.eye(m) * 3)[np.tril_indices(m)]
    assert not call(triangles, packed=True).info.any() and call(triangles, packed=True).info.shape == (n,)
    assert call(a[None], packed=True).info.shape == (1, n)
