"""
Kriging weights of 50,000 neighbourhoods
========================================

Kriging estimates a field between stations that measure it. Each place has its own neighbourhood: the nearest stations.
The weights of these stations solve a small symmetric positive definite system. A map of 50,000 places is therefore
50,000 systems, and ``smallbatch.solve`` takes all of them in one call.

This tutorial draws a random field, measures it at 40,000 stations, and estimates it at 50,000 places. In the end we
check the estimates, and the errors that kriging predicts for them.
"""

# %%
# A field with a known covariance
# -------------------------------
#
# The covariance of two places at distance d is Matern's with smoothness 3/2: ``(1 + s) exp(-s)``, ``s = sqrt(3) d /
# length``. A sum of cosines with random directions has this covariance. A share of ``(1 + (length f)^2 / 3)^(-3/2)`` of
# the field's variance lies at higher frequencies than f.

import time

import matplotlib.pyplot as plt
import numpy as np
import smallbatch

rng = np.random.default_rng(7)
length, noise = 6.0, 0.1
waves = 600
share = (np.arange(waves) + rng.random(waves)) / waves  # of the variance at higher frequencies
angle = rng.uniform(0, 2 * np.pi, waves)
frequency = np.sqrt(3 * (share ** (-2 / 3) - 1)) / length * np.stack([np.cos(angle), np.sin(angle)])
phase = rng.uniform(0, 2 * np.pi, waves)


def field(places):
    """The field at places (n, 2), with mean 0 and variance 1."""
    return np.sqrt(2 / waves) * np.cos(places @ frequency + phase).sum(axis=-1)


def covariance(distance):
    scaled = distance * (3**0.5 / length)
    return (1 + scaled) * np.exp(-scaled)


# %%
# Stations and places
# -------------------
#
# There is one station in each cell of a grid of 200 by 200 cells, at a random place in its cell. Each measures the
# field with some noise. We want the field at a grid of 250 by 200 places.

cells = 200
cell = np.stack(np.meshgrid(np.arange(cells), np.arange(cells), indexing="ij"), axis=-1).reshape(-1, 2)
stations = cell + rng.random(cell.shape)
measured = field(stations) + noise * rng.standard_normal(len(stations))

columns, rows = 250, 200
places = np.stack(np.meshgrid(np.linspace(4, 196, columns), np.linspace(4, 196, rows)), axis=-1).reshape(-1, 2)
print(f"{len(stations)} stations, {len(places)} places")

# %%
# The nearest 32 stations of each place are among those of the 49 cells around it.

step = np.arange(-3, 4)
around = np.stack(np.meshgrid(step, step, indexing="ij"), axis=-1).reshape(-1, 2)
near = np.clip(places.astype(int)[:, None] + around, 0, cells - 1) @ [cells, 1]
distance = np.linalg.norm(stations[near] - places[:, None], axis=-1)
nearest = np.argpartition(distance, 32, axis=-1)[:, :32]
neighbour = np.take_along_axis(near, nearest, axis=-1)  # (50000, 32)
to_place = np.take_along_axis(distance, nearest, axis=-1)

# %%
# 50,000 systems
# --------------
#
# The weights w of a neighbourhood minimise the variance of the error under the condition that they add up to 1. C holds
# the covariances of the stations, and c those of the stations and the place. Then ``w = C^-1 c + m C^-1 1``, and m
# makes the sum 1. So each system has two right-hand sides, c and a column of ones.

here = stations[neighbour].astype("float32")
C = covariance(np.linalg.norm(here[:, :, None] - here[:, None], axis=-1))
C += np.float32(noise**2) * np.eye(32, dtype="float32")
b = np.stack([covariance(to_place), np.ones_like(to_place)], axis=-1).astype("float32")
print("C", C.shape, C.dtype, "b", b.shape)

begin = time.perf_counter()
result = smallbatch.solve(C, b, numbers=["backward_error", "rcond"])
seconds = time.perf_counter() - begin
print(f"{seconds:.2f} s, {len(C) / seconds:,.0f} systems per second")
print(result.describe())
print(f"rcond from {result.rcond.min():.1e}, backward error up to {result.backward_error.max():.1e}")

# %%
# ``raise_for_status`` raises an exception if a system has no answer. ``numpy.linalg.solve`` gives the same numbers,
# apart from rounding, and takes longer.

x = result.raise_for_status().x
begin = time.perf_counter()
by_numpy = np.linalg.solve(C, b)
print(f"numpy.linalg.solve: {(time.perf_counter() - begin) / seconds:.1f} times as long")
print(f"largest difference of a solution: {np.abs(x - by_numpy).max():.1e}")

# %%
# Estimates and their errors
# --------------------------

by_covariance, by_ones = x[..., 0], x[..., 1]
m = (1 - by_covariance.sum(axis=-1)) / by_ones.sum(axis=-1)
weight = by_covariance + m[:, None] * by_ones
estimate = (weight * measured[neighbour]).sum(axis=-1)
expected_error = np.sqrt(1 - (weight * b[..., 0]).sum(axis=-1) + m)

truth = field(places)
figure, axes = plt.subplots(1, 3, figsize=(13, 3.6), layout="constrained")
pictures = [("the field", truth, "RdBu_r", (-2.5, 2.5)), ("the estimate", estimate, "RdBu_r", (-2.5, 2.5)),
            ("the expected error", expected_error, "viridis", (None, None))]
for axis, (title, values, colours, (low, high)) in zip(axes, pictures):
    image = axis.imshow(values.reshape(rows, columns), origin="lower", extent=(4, 196, 4, 196), cmap=colours, vmin=low, vmax=high)
    axis.set_title(title)
    figure.colorbar(image, ax=axis)
axes[2].plot(*stations.T, "k.", markersize=3)
axes[2].set(xlim=(90, 120), ylim=(90, 120), title="the expected error, and stations")
plt.show()

# %%
# The third picture is a part of the map. The expected error is smallest near a station.
#
# The errors are what kriging expects if error divided by expected error has a standard deviation of 1.

ratio = (estimate - truth) / expected_error
print(f"error {np.std(estimate - truth):.3f}, expected {np.sqrt(np.mean(expected_error**2)):.3f}; ratio has deviation {ratio.std():.2f}")

figure, axis = plt.subplots(figsize=(6, 3.2), layout="constrained")
axis.hist(ratio, bins=80, density=True, color="tab:blue", alpha=0.6, label="50,000 places")
t = np.linspace(-4, 4, 200)
axis.plot(t, np.exp(-(t**2) / 2) / np.sqrt(2 * np.pi), color="black", label="normal distribution")
axis.set_xlim(-4, 4)
axis.set_xlabel("error / expected error")
axis.legend()
plt.show()

# %%
# Larger jobs
# -----------
#
# Is the map too large for the memory? Then write ``C`` and ``b`` to a problem file, which ``smallbatch run`` reads
# block by block (:doc:`/docs/how-to/own-files`).
