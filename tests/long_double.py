"""Small dense systems in 80 bits, for tests that want an opinion of their own. NumPy alone, and nothing clever."""

import numpy as np

L = np.longdouble


def ldlt(a):
    """A = L D L^T in the order of the rows: unit lower L, d, and the first k, from 1, of a d_k that is not positive, or 0."""
    n = len(a)
    s, lower, d = a.astype(L).copy(), np.eye(n, dtype=L), np.zeros(n, L)
    for k in range(n):
        d[k] = s[k, k]
        if not d[k] > 0:
            return lower, d, k + 1
        lower[k + 1:, k] = s[k + 1:, k] / d[k]
        s[k + 1:, k + 1:] -= lower[k + 1:, k, None] * s[k + 1:, k]
    return lower, d, 0


def inverse_of_lower(lower):
    """Of a unit lower triangle."""
    n = len(lower)
    inverse = np.eye(n, dtype=L)
    for k in range(n):
        inverse[k + 1:, :k + 1] -= lower[k + 1:, k, None] * inverse[k, :k + 1]
    return inverse


def norm1(a):
    return np.abs(a).sum(axis=0).max() if a.size else L(0)


def _two_sum(a, b):
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


def _halves(a):
    """Of numbers with 53 bits: two of 26 and 27, so that products of halves have no rounding."""
    c = a * (L(2) ** 38 + 1)
    high = c - (c - a)
    return high, a - high


def residual(a, x, b):
    """b - A x for x and b (n, columns) with sums in pairs of long doubles; A, x and b have at most 53 bits."""
    total, rest = b.astype(L).copy(), np.zeros(b.shape, L)
    a_halves, x_halves = _halves(a.astype(L)), _halves(x.astype(L))
    for j in range(len(a)):
        for p in a_halves:
            for q in x_halves:
                total, error = _two_sum(total, -(p[:, j, None] * q[j]))
                rest += error
    return total + rest
