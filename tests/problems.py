"""Problem files for the tests, written with h5py alone, as io/FORMAT.md describes them."""

import contextlib

import h5py
import numpy as np


def spd(rng, batch, n, dtype):
    """Well-conditioned symmetric positive definite matrices, exactly symmetric."""
    g = rng.uniform(-1, 1, (batch, n, n))
    a = (g @ g.transpose(0, 2, 1) / n + np.eye(n)).astype(dtype)
    return np.tril(a) + np.tril(a, -1).transpose(0, 2, 1)


def packed(a):
    rows, columns = np.tril_indices(a.shape[-1])
    return np.ascontiguousarray(a[:, rows, columns])


def packed_upper(a):
    rows, columns = np.triu_indices(a.shape[-1])
    return np.ascontiguousarray(a[:, rows, columns])


def numbers_of(group):
    """The names of a result set's datasets but for those that only say what axes are called."""
    return {name for name, item in group.items() if item.attrs.get("CLASS") != b"DIMENSION_SCALE"}


@contextlib.contextmanager
def results_to_change(path):
    """A result file, to be changed as one of format 1.6 can be: from 1.7 on checksums tell of every byte."""
    with h5py.File(path, "r+") as file:
        if "checksums" in file:
            del file["checksums"]
            file.attrs["smallbatch_format"] = np.array([1, 6], np.int32)
        yield file


def open_problem_file(path):
    file = h5py.File(path, "w", libver=("v110", "v110"))
    file.attrs["smallbatch_format"] = np.array([1, 0], np.int32)
    return file


def add_solve(file, name="systems", batch=5, n=8, dtype=np.float32, nrhs=None, store_packed=False, seed=1,
              lower=False):
    """A set with a chosen solution; returns (A, b, x). With `lower` the strict upper triangles are NaN."""
    rng = np.random.default_rng(seed)
    a = spd(rng, batch, n, dtype)
    group = file.create_group(f"solve/{name}")
    group["A"] = packed(a) if store_packed else a
    if lower:
        group["A"][...] = np.where(np.tri(n, dtype=bool), a, dtype(np.nan))
        group.attrs["uplo"] = "lower"
    if nrhs == "log_determinant":
        group.attrs["compute"] = nrhs
    if nrhs in ("inverse", "log_determinant"):
        return a, None, None
    x = rng.uniform(-1, 1, (batch, n, nrhs or 1))
    b = (a.astype(np.float64) @ x).astype(dtype)
    group["b"] = b if nrhs else b[:, :, 0]
    return a, group["b"][...], x if nrhs else x[:, :, 0]


def add_potential(file, name="charges", position=((0.25, 0, 0),), charge=(1.0,), offset=None, shape=(4, 3, 2),
                  origin=(0, 0, 0), spacing=(1, 1, 1), **attributes):
    group = file.create_group(f"potential/{name}")
    group["position"] = np.asarray(position, np.float64).reshape(-1, 3)
    group["charge"] = np.asarray(charge, np.float64)
    if offset is not None:
        group["offset"] = np.asarray(offset, np.int64)
    group["origin"] = np.asarray(origin, np.float64)
    group["spacing"] = np.asarray(spacing, np.float64)
    group.attrs["shape"] = np.asarray(shape, np.int32)
    for key, value in attributes.items():
        group.attrs[key] = np.bytes_(value) if isinstance(value, str) else value
    return group


def add_pair_energy(file, name="pairs", position=((0, 0, 0), (2, 0, 0)), charge=(1.0, -1.0), offset=None, group=None,
                    **attributes):
    found = file.create_group(f"pair_energy/{name}")
    found["position"] = np.asarray(position, np.float64).reshape(-1, 3)
    found["charge"] = np.asarray(charge, np.float64)
    for key, values, dtype in (("offset", offset, np.int64), ("group", group, np.int8)):
        if values is not None:
            found[key] = np.asarray(values, dtype)
    for key, value in attributes.items():
        found.attrs[key] = np.bytes_(value) if isinstance(value, str) else value
    return found


def add_correlation(file, name="array", signal=np.zeros((1, 1, 1), np.complex64), flag=None, **attributes):
    """`signal`: (channel, time, input) of complex64 or, packed, of uint8; (channel, time, input, 2) of int8."""
    group = file.create_group(f"correlation/{name}")
    group["signal"] = signal
    if flag is not None:
        group["flag"] = flag
    if signal.dtype == np.uint8:
        attributes["packing"] = "int4"
    for key, value in attributes.items():
        group.attrs[key] = np.bytes_(value) if isinstance(value, str) else value
    return group


def parts_of(signal):
    """Real and imaginary parts of a stored signal: integers, or long doubles."""
    if signal.dtype == np.int8:
        return signal[..., 0].astype(np.int64), signal[..., 1].astype(np.int64)
    if signal.dtype == np.uint8:
        return tuple((half.astype(np.int64) ^ 8) - 8 for half in (signal >> 4, signal & 15))
    return signal.real.astype(np.longdouble), signal.imag.astype(np.longdouble)


def correlate(signal, flag=None, integrate=None):
    """V as its two parts, w and sqrt(P_i P_j), each (integration, channel, baseline): integers exactly, floats in long
    double. Samples that are flagged are zeros here, whatever they hold."""
    re, im = parts_of(signal)
    used = np.ones(re.shape, bool) if flag is None else np.asarray(flag) == 0
    re, im = np.where(used, re, 0), np.where(used, im, 0)
    i, j = np.tril_indices(re.shape[2])
    found = []
    for first in range(0, re.shape[1], integrate or max(1, re.shape[1])):
        r, m, u = (x[:, first : first + (integrate or re.shape[1])] for x in (re, im, used.astype(np.int64)))
        product = lambda x, y: np.einsum("cti,ctj->cij", x, y)[:, i, j]  # noqa: E731
        power = (r * r + m * m).sum(1)
        found.append((product(r, r) + product(m, m), product(m, r) - product(r, m), product(u, u),
                      np.sqrt(power[:, i].astype(float) * power[:, j])))
    return [np.stack(x) for x in zip(*found)]


def visibility_bound(weight, power):
    """The stated bound of float32 sums."""
    return (np.minimum(weight, 1024) + 32) * 2.0**-23 * power + weight * 2.0**-124


VOLT = np.longdouble("14.39964547842567205853")  # one e at one angstrom


def distances(position, shape, origin, spacing):
    """From each charge to every lattice point, (nz, ny, nx), in long double."""
    z, y, x = np.meshgrid(*(origin[a] + spacing[a] * np.arange(shape[a], dtype=np.longdouble) for a in (2, 1, 0)),
                          indexing="ij")
    for px, py, pz in position:
        yield np.sqrt((x - px) ** 2 + (y - py) ** 2 + (z - pz) ** 2)


def direct_sum(position, charge, shape, origin, spacing):
    """V at every lattice point in volts, (nz, ny, nx), in long double."""
    v = np.zeros(shape[::-1], np.longdouble)
    for r, q in zip(distances(position, shape, origin, spacing), charge):
        v += q / r
    return VOLT * v


def potential_bound(position, charge, shape, origin, spacing, u):
    """The stated bound, f sum |q|/r (2 u + u L/r), L the largest extent of lattice and charges from the origin."""
    corners = np.concatenate([np.reshape(position, (-1, 3)) - origin, [(np.array(shape) - 1) * spacing]])
    extent = np.linalg.norm(corners, axis=1).max()
    bound = np.zeros(shape[::-1], np.longdouble)
    for r, q in zip(distances(position, shape, origin, spacing), charge):
        bound += abs(q) / r * (2 * u + u * extent / r)
    return VOLT * bound
