"""Arrays that have more than numbers: units, masks, gradients, other types and orders. The package reads them with
their meaning, or refuses them in a sentence. It never reads the bare numbers."""

import sys
import types
import warnings

import numpy as np
import pytest

import smallbatch

BOHR = 0.529177210903
LENGTHS = {"angstrom": 1, "nm": 10, "pm": 0.01, "m": 1e10}
POSITIONS = np.array([[0.0, 0, 0], [3.0, 0, 0], [0.0, 2.0, 1.0]])  # angstrom
CHARGES = np.array([1.0, -0.5, 0.25])
POINTS = np.array([[1.0, 1, 1], [-1.0, 2, 0]])


class Speaking:
    """A quantity with only what the package uses: numbers, a unit, and a conversion to another unit."""

    def __init__(self, array, unit):
        self.array, self.name = np.asarray(array), unit

    def convert(self, unit):
        if self.name == unit:
            return self.array
        if unit != "angstrom" or self.name not in LENGTHS:
            raise ValueError(f"{self.name} is no {unit}")
        return self.array * LENGTHS[self.name]

    def __array__(self, *arguments, **named):
        return self.array  # NumPy takes the numbers and drops the unit

    def __len__(self):
        return len(self.array)

    def __getitem__(self, index):
        return type(self)(self.array[index], self.name)


class AsPint(Speaking):
    units = property(lambda self: self.name)
    m_as = Speaking.convert


class AsUnyt(Speaking):
    units = property(lambda self: types.SimpleNamespace(name=self.name))
    to_value = Speaking.convert


class Mute(Speaking):
    unit = property(lambda self: types.SimpleNamespace(name=self.name))


def of_astropy(array, unit):
    return np.asarray(array) * pytest.importorskip("astropy.units").Unit(unit)


def of_a_table(array, unit):
    return pytest.importorskip("astropy.table").Column(np.asarray(array), unit=unit)


def of_pint(array, unit):
    return pytest.importorskip("pint").Quantity(np.asarray(array), unit)


def of_unyt(array, unit):
    return pytest.importorskip("unyt").unyt_array(np.asarray(array), unit)


def of_xarray(array, unit):
    return pytest.importorskip("xarray").DataArray(np.asarray(array), attrs={"units": unit})


def of_a_frame(array, unit):
    frame = pytest.importorskip("pandas").DataFrame(np.asarray(array))
    frame.attrs["unit"] = unit
    return frame


def of_a_file(array, unit):
    h5py = pytest.importorskip("h5py")
    file = h5py.File.in_memory() if hasattr(h5py.File, "in_memory") else h5py.File("x", "w", driver="core", backing_store=False)
    file["x"] = np.asarray(array)
    file["x"].attrs["unit"] = unit
    return file["x"]


def in_a_list(array, unit):
    return [AsUnyt(row, unit) for row in array]


QUANTITIES = [of_astropy, of_a_table, of_pint, of_unyt, of_xarray, of_a_frame, of_a_file, in_a_list, AsUnyt]


@pytest.mark.parametrize("unit", LENGTHS)
@pytest.mark.parametrize("quantity", QUANTITIES)
def test_lengths_are_converted(quantity, unit):
    expected = smallbatch.potential(POSITIONS, CHARGES, points=POINTS, precision="float64").potential
    there = {name: quantity(values / LENGTHS[unit], unit) for name, values in (("positions", POSITIONS), ("points", POINTS))}
    for names in (["positions"], ["points"], ["positions", "points"]):
        arguments = {"positions": POSITIONS, "points": POINTS, **{name: there[name] for name in names}}
        found = smallbatch.potential(charges=CHARGES, precision="float64", **arguments).potential
        assert type(found) is np.ndarray and np.allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("quantity", [of_astropy, of_pint, of_unyt, AsPint, AsUnyt])
def test_lengths_that_are_no_arrays_of_charges_are_converted(quantity):
    lattice = smallbatch.Lattice((1.0, 2.0, 3.0), 0.5, (2, 3, 4))
    asked = {"softening": 0.3, "cutoff": 40.0}
    expected = smallbatch.potential(POSITIONS, CHARGES, lattice=lattice, **asked).potential
    lattice = lattice._replace(origin=quantity([0.1, 0.2, 0.3], "nm"), spacing=quantity(0.05, "nm"))
    asked = {name: quantity(value / 10, "nm") for name, value in asked.items()}
    assert np.allclose(smallbatch.potential(POSITIONS, CHARGES, lattice=lattice, **asked).potential, expected, rtol=1e-6)


@pytest.mark.parametrize("quantity", [of_astropy, of_pint, of_unyt, of_xarray])
def test_charges_and_temperatures_are_converted(quantity):
    expected = smallbatch.potential(POSITIONS, CHARGES, unit="kT/e", temperature=310).potential
    charges = quantity(CHARGES * 1.602176634e-19, "C")
    for temperature in (310, quantity(310, "K")):
        found = smallbatch.potential(POSITIONS, charges, unit="kT/e", temperature=temperature).potential
        assert np.allclose(found, expected, rtol=1e-6)
    assert np.allclose(smallbatch.potential(POSITIONS, quantity(CHARGES, "e" if quantity is of_xarray else ""), unit="kT/e",
                                            temperature=310).potential, expected, rtol=1e-6)


@pytest.mark.parametrize("unit", ["s", "K", "kg"])
@pytest.mark.parametrize("quantity", QUANTITIES + [Mute])
@pytest.mark.parametrize("name", ["positions", "charges", "points"])
def test_other_units_are_refused(name, quantity, unit):
    arguments = {"positions": POSITIONS, "charges": CHARGES, "points": POINTS}
    values = arguments[name] if name != "charges" or quantity is not in_a_list else CHARGES[:, None]
    arguments[name] = quantity(values, unit)
    with pytest.raises(TypeError, match=f"the unit of {name} is .*, and numbers in (angstrom|e) are accepted"):
        smallbatch.potential(**arguments)


@pytest.mark.parametrize("quantity", QUANTITIES + [Mute])
def test_results_without_units_are_not_made_of_quantities(quantity):
    a, b = np.eye(2), np.ones((2, 1))
    calls = [lambda a, b: smallbatch.solve(a, b), lambda a, b: smallbatch.factor(a).solve(b),
             lambda a, b: smallbatch.inverse(a), lambda a, b: smallbatch.log_determinant(a)]
    for call, both in zip(calls, (True, True, False, False)):
        with pytest.raises(TypeError, match="the unit of A is .*numbers without a unit"):
            call(quantity(a, "nm"), b)
        if both:
            with pytest.raises(TypeError, match="the unit of b is .*numbers without a unit"):
                call(a, quantity(b, "nm"))
    with pytest.raises(TypeError, match="the unit of signal is"):
        smallbatch.correlate(quantity(np.ones((2, 1), np.complex64), "nm"))
    with pytest.raises(TypeError, match="the unit of positions is"):
        smallbatch.potential(quantity(np.ones((2, 4)), "nm"))  # x, y, z and charge


@pytest.mark.parametrize("name", ["A", "b", "sizes", "positions", "charges", "points", "groups", "offsets", "origin", "signal",
                                  "flags"])
@pytest.mark.parametrize("wrap", ["array", "in a list", "astropy", "in xarray"])
def test_masked_numbers_are_never_read(name, wrap):
    plain = {"A": np.eye(2), "b": np.ones(2), "sizes": np.array(2), "positions": POSITIONS, "charges": CHARGES, "points": POINTS,
             "groups": np.array([1, 2, 0]), "offsets": np.array([0, 3]), "origin": np.zeros(3),
             "signal": np.ones((2, 2), np.complex64), "flags": np.zeros((2, 2), np.uint8)}

    def call(value):
        given = {**plain, name: value}
        pick = lambda *names: {key: given[key] for key in names}  # noqa: E731
        if name in ("A", "b", "sizes"):
            return smallbatch.solve(**pick("A", "b", "sizes"))
        if name in ("signal", "flags"):
            return smallbatch.correlate(**pick("signal", "flags"))
        if name == "origin":
            return smallbatch.potential(POSITIONS, CHARGES, lattice=smallbatch.Lattice(given["origin"], 1.0, (2, 2, 2)))
        if name in ("groups", "offsets"):
            return smallbatch.pair_energy(**pick("positions", "charges", "groups", "offsets"))
        return smallbatch.potential(**pick("positions", "charges", "points"))

    values = plain[name]
    for masked in (False, True):
        mask = np.zeros(values.shape, bool)
        mask[(0,) * mask.ndim] = masked
        if wrap == "astropy":
            value = pytest.importorskip("astropy.utils.masked").Masked(values, mask=mask)
        else:
            value = np.ma.MaskedArray(values, mask)
        if wrap == "in a list" and values.ndim:
            value = list(value) if values.ndim > 1 else [value[i] for i in range(len(value))]
            if name == "signal":
                value = np.ma.MaskedArray(values, mask)  # a list of lists would be complex128
            if name == "flags":
                value = [np.ma.MaskedArray(row, mask[k]) for k, row in enumerate(values)]
        if wrap == "in xarray":
            if masked:
                continue  # xarray turns masked numbers into NaN
            value = pytest.importorskip("xarray").DataArray(value.filled())
        if masked:
            with pytest.raises(TypeError, match=f"{name} has a mask, and 1 masked"):
                call(value)
        else:
            call(value)


class Tensor:
    """An array with the attributes that the package reads from tensors of PyTorch."""

    layout, requires_grad, is_sparse, is_quantized = "torch.strided", False, False, False

    def __init__(self, array, conj=False, neg=False, **others):
        self.array, self.conj, self.negative = np.asarray(array), conj, neg
        for name, value in others.items():
            setattr(self, name, value)

    dtype = property(lambda self: f"torch.{self.array.dtype.name}")

    def is_conj(self):
        return self.conj

    def is_neg(self):
        return self.negative

    def resolve_conj(self):
        return type(self)(self.array.conj() if self.conj else self.array, neg=self.negative)

    def resolve_neg(self):
        return type(self)(-self.array if self.negative else self.array, conj=self.conj)

    def detach(self):
        return type(self)(self.array, self.conj, self.negative)

    def numpy(self):
        if self.conj or self.negative:
            raise RuntimeError("Can't call numpy() on Tensor that has its bit set.")
        return self.array

    def __dlpack__(self, **arguments):
        return self.array.__dlpack__(**arguments)  # DLPack does not pass on the two bits

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


@pytest.fixture(params=["anybody's", "PyTorch's", "a subclass of PyTorch's"])
def tensor(request, monkeypatch):
    """Returns a function that makes tensors, and the class that results must have."""
    if request.param == "anybody's":
        return Tensor, np.ndarray
    torch = types.ModuleType("torch")
    torch.Tensor = type("Tensor", (Tensor,), {"__module__": "torch"})
    torch.from_numpy = torch.Tensor
    torch.is_grad_enabled = lambda: torch.grad
    torch.grad = True
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.delitem(sys.modules, "torch.autograd.forward_ad", raising=False)
    return (type("Mine", (torch.Tensor,), {}) if "subclass" in request.param else torch.Tensor), torch.Tensor


def test_results_of_tensors_are_tensors(tensor):
    make, kind = tensor
    found = smallbatch.solve(make(np.eye(3) * 2), make(np.ones(3)))
    assert type(found.x) is kind and type(found.info) is kind
    assert np.all(np.asarray(getattr(found.x, "array", found.x)) == 0.5)


def test_conjugates_and_negatives_are_computed(tensor):
    make, kind = tensor
    x = (np.arange(6).reshape(3, 2) * (1 - 2j) + 1j).astype(np.complex64)
    expected = smallbatch.correlate(-x.conj()).visibility
    found = smallbatch.correlate(make(x, conj=True, neg=True)).visibility
    assert np.array_equal(getattr(found, "array", found), expected) and not np.array_equal(
        expected, smallbatch.correlate(x).visibility)
    found = smallbatch.solve(make(-2 * np.eye(2), neg=True), make(np.array([2.0, 4]), neg=True)).x
    assert getattr(found, "array", found).tolist() == [-1, -2]


@pytest.mark.parametrize("what,problem", [
    (dict(requires_grad=True), r"A requires a gradient.*A\.detach\(\)"), (dict(is_sparse=True), r"A is sparse.*to_dense"),
    (dict(is_quantized=True), "A is quantized.*dequantize")])
def test_what_numbers_do_not_tell_is_refused(tensor, what, problem):
    make, _ = tensor
    with pytest.raises(TypeError, match=problem):
        smallbatch.solve(make(np.eye(3), **what), make(np.ones(3)))


def test_other_layouts_are_refused(tensor):
    make, kind = tensor
    if kind is not np.ndarray:
        with pytest.raises(TypeError, match="A is a tensor of layout torch.sparse_csr"):
            smallbatch.solve(make(np.eye(3), layout="torch.sparse_csr"), make(np.ones(3)))


def test_no_gradient_is_required_where_none_is_recorded(tensor, monkeypatch):
    make, kind = tensor
    if kind is not np.ndarray:
        sys.modules["torch"].grad = False
        found = smallbatch.inverse(make(np.eye(3), requires_grad=True)).x
        assert np.array_equal(getattr(found, "array", found), np.eye(3))


class Nowhere:
    """An array with a device that its library cannot export by DLPack."""

    def __dlpack__(self, **arguments):
        raise BufferError("no")

    def __dlpack_device__(self):
        raise ValueError("Unknown device type meta")


@pytest.mark.parametrize("call", [lambda: smallbatch.inverse(Nowhere()), lambda: smallbatch.solve(np.eye(2), Nowhere()),
                                  lambda: smallbatch.potential(Nowhere(), [1.0]), lambda: smallbatch.correlate(Nowhere())])
def test_arrays_that_are_nowhere_are_refused(call):
    with pytest.raises(TypeError, match="cannot be read .*Unknown device type meta.*Give"):
        call()


def aligned_badly(array):
    raw = np.zeros(array.nbytes + 1, np.uint8)[1:].view(array.dtype).reshape(array.shape)
    raw[...] = array
    return raw


def read_only(array):
    array = array.copy()
    array.flags.writeable = False
    return array


@pytest.mark.parametrize("lies", [np.asfortranarray, aligned_badly, read_only, np.asmatrix,
                                  lambda a: a.astype(a.dtype.newbyteorder(">")), lambda a: a[::-1, ::-1][::-1, ::-1],
                                  lambda a: a.view(type("Mine", (np.ndarray,), {}))],
                         ids=["Fortran", "misaligned", "read-only", "matrix", "big-endian", "reversed twice", "subclass"])
def test_however_numbers_lie_they_are_those(lies):
    a, b = np.array([[4.0, 1, 0], [1, 3, 1], [0, 1, 2]]), np.arange(6.0).reshape(3, 2)
    for dtype in (np.float32, np.float64):
        found = smallbatch.solve(lies(a.astype(dtype)), lies(b.astype(dtype))).x
        assert type(found) is np.ndarray and found.dtype == dtype and np.allclose(found, np.linalg.solve(a, b), atol=1e-5)
    expected = smallbatch.potential(POSITIONS, CHARGES).potential
    assert np.array_equal(smallbatch.potential(lies(POSITIONS), CHARGES).potential, expected)
    signal = (np.arange(6).reshape(3, 2) * (1 + 2j)).astype(np.complex64)
    assert np.array_equal(smallbatch.correlate(lies(signal)).visibility, smallbatch.correlate(signal).visibility)


@pytest.mark.parametrize("values", [np.array([[1, None], [None, 1]], object), [[1, None], [None, 1]], [[1, 2], [3]], "ab",
                                    {"a": 1}, [["1", "0"], ["0", "1"]]])
def test_what_is_no_array_of_numbers_is_refused(values):
    for call in (lambda: smallbatch.inverse(values), lambda: smallbatch.solve(np.eye(2), values),
                 lambda: smallbatch.potential(values, [1.0, 1.0])):
        with pytest.raises(TypeError, match="(not an array of numbers|cannot be read as an array|has the type)"):
            call()


def test_missing_numbers_of_tables_are_no_numbers():
    pandas = pytest.importorskip("pandas")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = smallbatch.potential(POSITIONS, pandas.array([1.0, None, 1.0], dtype="Float64"))
    assert found.info == -1


def test_dask_keeps_masks_and_units():
    dask = pytest.importorskip("dask.array")
    a = dask.asarray(np.eye(2))
    assert np.array_equal(smallbatch.inverse(a).x, np.eye(2))
    with pytest.raises(TypeError, match="has a mask"):
        smallbatch.inverse(dask.ma.masked_array(a, mask=np.eye(2) > 0))
