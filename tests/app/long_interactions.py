"""g(r) of io/FORMAT.md and its slope -g'(r)/r in long double."""

import math

import numpy as np

LONG = np.longdouble
PI = LONG(math.pi) + LONG("1.2246467991473532e-16")


def erf(x):
    """Returns erf(x) for x >= 0, from a series of positive terms."""
    x = np.minimum(x, 7)
    term = total = x
    for k in range(1, 200):
        term = term * x * x * 2 / (2 * k + 1)
        total = total + term
    return 2 / np.sqrt(PI) * np.exp(-x * x) * total


def gaussian(r, width):
    """Returns g and its slope for widths above 0."""
    most, t = np.sqrt(2 / PI) / width, r / width
    with np.errstate(divide="ignore", invalid="ignore"):
        g = np.where(t < LONG("1e-12"), most, erf(t / np.sqrt(LONG(2))) / r)
        slope = (g - most * np.exp(-t * t / 2)) / (r * r)
    near = sum((-1) ** (k + 1) * 2 * k * t ** (2 * k - 2) / (2**k * math.factorial(k) * (2 * k + 1)) for k in range(1, 10))
    return g, np.where(t < 0.05, most / width**2 * near, slope)


def interaction(r, rho, cutoff=0, screening_length=0, width=0):
    """Returns g and its slope. rho is sqrt(r^2 + softening^2), and must be above 0 where the width is above 0."""
    width = np.broadcast_to(width, r.shape)
    x = rho / LONG(screening_length) if screening_length else np.zeros_like(rho)
    g, slope = np.exp(-x) / rho, (1 + x) * np.exp(-x) / rho**3
    if (width > 0).any():
        wide = gaussian(r, np.where(width > 0, width, 1))
        g, slope = (np.where(width > 0, one, other) for one, other in zip(wide, (g, slope)))
    u = np.maximum(1 - (r / LONG(cutoff)) ** 2, 0) if cutoff else np.ones_like(r)
    return u * u * g, u * u * slope + (4 * u / LONG(cutoff) ** 2 * g if cutoff else 0)


def bounds(rho, screening_length, width, double):
    """Returns what the bounds of docs/numerics.md need: rho, the factors for V and for E, and a term that is added."""
    x = rho / LONG(screening_length) if screening_length else np.zeros_like(rho)
    twice = np.where((np.asarray(width) > 0) | bool(screening_length), 2, 1)
    least, lost = LONG(2) ** (-960 if double else -100), LONG(2) ** (-1000 if double else -110)
    of_v, of_e = (twice * np.maximum((1 + x) ** power * np.exp(-x), least) for power in (1, 2))
    return np.maximum(rho, LONG(1.25) * width), of_v, of_e, lost if screening_length else LONG(0)
