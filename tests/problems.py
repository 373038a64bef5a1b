"""Writes problem files for the tests as io/FORMAT.md describes them. Uses h5py, and no code of the product."""

import contextlib

import h5py
import numpy as np


def spd(rng, batch, n, dtype):
    """Returns well-conditioned symmetric positive definite matrices. They are exactly symmetric."""
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
    """Returns the names of a result set's datasets, without the dimension scales that only name axes."""
    return {name for name, item in group.items() if item.attrs.get("CLASS") != b"DIMENSION_SCALE"}


@contextlib.contextmanager
def results_to_change(path):
    """Opens a result file for changes, after making it a file of format 1.6.

    Files of format 1.7 and later have checksums, so the product would notice every changed byte.
    """
    with h5py.File(path, "r+") as file:
        if "checksums" in file:
            del file["checksums"]
            file.attrs["smallbatch_format"] = np.array([1, 6], np.int32)
        yield file


def replace_dataset(group, name, values):
    """Gives a dataset other elements, of any type and shape. Its attributes stay."""
    attributes = dict(group[name].attrs)
    del group[name]
    group.create_dataset(name, data=values).attrs.update(attributes)


def open_problem_file(path):
    file = h5py.File(path, "w", libver=("v110", "v110"))
    file.attrs["smallbatch_format"] = np.array([1, 0], np.int32)
    return file


def add_solve(file, name="systems", batch=5, n=8, dtype=np.float32, nrhs=None, store_packed=False, seed=1,
              lower=False):
    """Adds a set with a chosen solution and returns (A, b, x). With `lower`, the strict upper triangles are NaN.

    `nrhs` may also be "inverse" or "log_determinant". Then the set has no b, and b and x are None.
    """
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
    """Adds a set. `signal` is (channel, time, input) of complex64 or uint8, or (channel, time, input, 2) of int8.

    An element of uint8 holds two numbers of 4 bits.
    """
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
    """Returns the real and the imaginary part of a stored signal, as integers or long doubles."""
    if signal.dtype == np.int8:
        return signal[..., 0].astype(np.int64), signal[..., 1].astype(np.int64)
    if signal.dtype == np.uint8:
        return tuple((half.astype(np.int64) ^ 8) - 8 for half in (signal >> 4, signal & 15))
    return signal.real.astype(np.longdouble), signal.imag.astype(np.longdouble)


def correlate(signal, flag=None, integrate=None):
    """Returns Re V, Im V, w and sqrt(P_i P_j), each of shape (integration, channel, baseline).

    V is exact for integers, and in long double for floats. Flagged samples count as zeros, whatever they hold.
    """
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
    """Returns the error bound of float32 sums that physics/correlation.hpp states."""
    return (np.minimum(weight, 1024) + 32) * 2.0**-23 * power + weight * 2.0**-124


VOLT = np.longdouble("14.39964547842567205853")  # potential of one e at a distance of one angstrom, in volts


def distances(position, shape, origin, spacing):
    """Yields for each charge its distances to all lattice points, (nz, ny, nx), in long double."""
    z, y, x = np.meshgrid(*(origin[a] + spacing[a] * np.arange(shape[a], dtype=np.longdouble) for a in (2, 1, 0)),
                          indexing="ij")
    for px, py, pz in position:
        yield np.sqrt((x - px) ** 2 + (y - py) ** 2 + (z - pz) ** 2)


def direct_sum(position, charge, shape, origin, spacing):
    """Returns V at every lattice point in volts, (nz, ny, nx), in long double."""
    v = np.zeros(shape[::-1], np.longdouble)
    for r, q in zip(distances(position, shape, origin, spacing), charge):
        v += q / r
    return VOLT * v


def potential_bound(position, charge, shape, origin, spacing, u):
    """Returns the error bound that physics/potential.hpp states: f sum |q|/r (2 u + u L/r).

    f is VOLT. L is the largest distance of a charge or a corner of the lattice from the lattice's origin.
    """
    corners = np.concatenate([np.reshape(position, (-1, 3)) - origin, [(np.array(shape) - 1) * spacing]])
    extent = np.linalg.norm(corners, axis=1).max()
    bound = np.zeros(shape[::-1], np.longdouble)
    for r, q in zip(distances(position, shape, origin, spacing), charge):
        bound += abs(q) / r * (2 * u + u * extent / r)
    return VOLT * bound
