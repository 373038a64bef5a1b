"""Factorization, inverse and residual of small dense matrices in long double (80 bits).

Tests compare the product's results with the results of these functions. The code is simple, and uses only NumPy.
"""

import numpy as np

L = np.longdouble


def ldlt(a):
    """Factorizes A = L D L^T without exchanging rows. Returns (L, d, k), where L is unit lower triangular.

    The factorization ends at the first d_k that is not positive. k counts from 1, and is 0 if all d_k are positive.
    """
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
    """Returns the inverse of a unit lower triangular matrix."""
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
    """Splits numbers of 53 bits into parts of 26 and 27 bits. Products of two parts are exact."""
    c = a * (L(2) ** 38 + 1)
    high = c - (c - a)
    return high, a - high


def residual(a, x, b):
    """Returns b - A x for x and b of shape (n, columns). Elements of A, x and b have at most 53 bits.

    Each sum is kept in two long doubles: the rounded sum, and the sum of the rounding errors.
    """
    total, rest = b.astype(L).copy(), np.zeros(b.shape, L)
    a_halves, x_halves = _halves(a.astype(L)), _halves(x.astype(L))
    for j in range(len(a)):
        for p in a_halves:
            for q in x_halves:
                total, error = _two_sum(total, -(p[:, j, None] * q[j]))
                rest += error
    return total + rest
