#!/usr/bin/env python3
"""Writes demo.h5, the problem file of scripts/demo: one set of each kind.

/solve/kriging: 128 systems with n = 32, single precision, lower triangles. Each system is one patch of a map. 32
stations at random places in the unit square measure a smooth landscape f(x, y), with noise. Interpolation by a Gaussian
process (kriging) needs the weights w of (K + s^2 I) w = z. K is the Matern 3/2 covariance of two stations:
K_ij = (1 + d) exp(-d), d = sqrt(3) |r_i - r_j| / 0.5. s = 0.2 is the noise, and z are the measured values. The condition
numbers lie between 350 and 500.

/potential/water: the charges of water_cluster.pqr on a lattice of 48 x 48 x 48 points, in volt. The points are 0.35
angstrom apart, and the lattice is centred on the cluster.

/pair_energy/water: the same charges. It asks for the energy between the first ten molecules and the last ten, in
kcal/mol.

/correlation/array: 16 antennas in a row, 32 channels of 64 samples, int8. Each antenna has its own noise. Two sources of
noise reach each antenna later than the antenna before it. The delays are 0.02 and 0.11, divided by the channel width.

Needs numpy and h5py. Usage: make_demo.py [OUTPUT]; the seed is fixed.
"""
import pathlib
import sys

import h5py
import numpy as np

HERE = pathlib.Path(__file__).parent
PATCHES, STATIONS, LENGTH, NOISE = 128, 32, 0.5, 0.2


def landscape(x, y):
    return np.sin(3 * x + 1) * np.cos(4 * y) + x * y


def kriging():
    """Returns A (PATCHES, 528), the lower triangles row by row, and b (PATCHES, 32)."""
    random = np.random.Generator(np.random.PCG64(2026))
    place = random.random((PATCHES, STATIONS, 2))
    distance = np.sqrt(((place[:, :, None] - place[:, None]) ** 2).sum(-1)) * np.sqrt(3) / LENGTH
    covariance = (1 + distance) * np.exp(-distance) + NOISE**2 * np.eye(STATIONS)
    # Noise is made of sums of uniform numbers, because every version of numpy has the same uniform numbers.
    noise = NOISE * (random.random((PATCHES, STATIONS, 12)).sum(-1) - 6)
    measured = landscape(place[..., 0], place[..., 1]) + noise
    rows, columns = np.tril_indices(STATIONS)
    return covariance[:, rows, columns].astype("f4"), measured.astype("f4")


def water():
    """Returns positions (60, 3) and charges (60)."""
    lines = (HERE / "water_cluster.pqr").read_text().splitlines()
    numbers = np.array([line.split()[-5:] for line in lines if line.startswith("ATOM")], dtype="f8")
    return numbers[:, :3], numbers[:, 3]


def array():
    """Returns samples (32, 64, 16, 2): channels, times, antennas, real and imaginary part."""
    channels, times, antennas = 32, 64, 16
    random = np.random.Generator(np.random.PCG64(2027))

    def noise(*shape):
        return (random.random((*shape, 2, 12)).sum(-1) - 6) @ np.array([1, 1j])

    turns = np.arange(channels)[:, None, None] * np.arange(antennas)
    signal = noise(channels, times, antennas) / 2
    for strength, delay in ((1, 0.02), (0.8, 0.11)):
        signal = signal + strength * noise(channels, times)[..., None] * np.exp(2j * np.pi * delay * turns)
    parts = np.stack([signal.real, signal.imag], -1)
    return np.clip(np.rint(16 * parts), -127, 127).astype("i1")


def main():
    output = sys.argv[1] if len(sys.argv) > 1 else HERE / "demo.h5"
    with h5py.File(output, "w", libver=("v110", "v110")) as file:
        file.attrs["smallbatch_format"] = np.array([1, 4], "i4")

        a, b = kriging()
        solve = file.create_group("solve/kriging")
        solve.create_dataset("A", data=a, track_times=False)
        solve.create_dataset("b", data=b, track_times=False)

        position, charge = water()
        potential = file.create_group("potential/water")
        potential.create_dataset("position", data=position, track_times=False)
        potential.create_dataset("charge", data=charge, track_times=False)
        potential["position"].attrs["unit"], potential["charge"].attrs["unit"] = np.bytes_("angstrom"), np.bytes_("e")
        points, spacing = 48, 0.35
        potential.create_dataset("origin", data=np.full(3, -spacing * (points - 1) / 2), track_times=False)
        potential.create_dataset("spacing", data=np.full(3, spacing), track_times=False)
        potential.attrs["shape"] = np.full(3, points, "i8")
        potential.attrs["output_unit"] = np.bytes_("volt")

        energy = file.create_group("pair_energy/water")
        energy.create_dataset("position", data=position, track_times=False)
        energy.create_dataset("charge", data=charge, track_times=False)
        energy["position"].attrs["unit"], energy["charge"].attrs["unit"] = np.bytes_("angstrom"), np.bytes_("e")
        energy.create_dataset("group", data=np.repeat([1, 2], [30, 30]).astype("i1"), track_times=False)
        energy.attrs["output_unit"] = np.bytes_("kcal/mol/e")

        correlation = file.create_group("correlation/array")
        correlation.create_dataset("signal", data=array(), track_times=False)


if __name__ == "__main__":
    main()
