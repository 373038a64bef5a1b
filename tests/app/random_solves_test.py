"""Random small files of systems through the command, on every backend. An independent computation, the opinion, judges
every stored number. One file, because making files and judging them must agree.

The opinion is computed with NumPy's long double from the definitions in io/FORMAT.md and docs/numerics.md. It uses
no code of the program. On one machine, file number k of seed S is always the same. A long run with every backend of
the machine:

    pytest tests/app/random_solves_test.py --random-files 5000 --random-seed 7"""

import functools
import json

import h5py
import numpy as np
import pytest

from tests.long_double import L, inverse_of_lower, ldlt, norm1, residual
from tests.problems import open_problem_file, packed, packed_upper, results_to_change

pytestmark = pytest.mark.skipif(np.finfo(np.longdouble).nmant < 63, reason="long double is no longer than double here")
DEFAULT_FILES = 200
RATIO = 30  # accepted by LAPACK's test programs, in units of u
LN2 = np.log(L(2))


# Contents of files. Matrices are made in double precision and rounded to the set's type.

def spectrum(rng, n, w):
    q = np.linalg.qr(rng.standard_normal((n, n)))[0]
    return (q * w) @ q.T


def condition(rng, u):
    return 10 ** rng.uniform(0, np.log10(0.1 / u))


def geometric(rng, n, u):
    return spectrum(rng, n, np.geomspace(1, 1 / condition(rng, u), n))


def gram(rng, n, u):
    g = rng.uniform(-1, 1, (n, n))
    return g @ g.T / n + rng.choice([1.0, 0.1]) * np.eye(n)


def kernel(rng, n, u):
    """Returns a kernel matrix, which is singular to working precision about half of the time."""
    p = rng.uniform(0, 1, n)
    return np.exp(-((p[:, None] - p) / rng.uniform(0.05, 0.5)) ** 2 / 2) + rng.choice([0, 10 * u, 1e-3]) * np.eye(n)


def integers(rng, n, u):
    g = rng.integers(-3, 4, (n, n)).astype(float)
    return g @ g.T + rng.choice([0, 1]) * np.eye(n)


def deficient(rng, n, u):
    """Returns a matrix of integers that is mostly singular. Nothing in it is rounded."""
    g = rng.integers(-3, 4, (n, rng.integers(1, n + 1))).astype(float)
    return g @ g.T


def nearly_semidefinite(rng, n, u):
    noise = rng.uniform(-1, 1, (n, n)) * 10 ** rng.uniform(-11, -1)
    return deficient(rng, n, u) + noise + noise.T


def twins(rng, n, u):
    a = gram(rng, n, u)
    i, j = rng.integers(0, n, 2)
    a[i], a[:, i] = a[j], a[:, j]
    a[i, i] = a[j, j]
    return a


def indefinite(rng, n, u):
    w = rng.uniform(0.1, 1, n)
    w[rng.integers(n)] = -10 ** rng.uniform(np.log10(u), 0)
    return spectrum(rng, n, w)


def graded(rng, n, u):
    scale = 2.0 ** -np.sort(rng.integers(0, 20, n))
    return spectrum(rng, n, np.geomspace(1, 0.1, n)) * scale * scale[:, None]


def diagonal(rng, n, u):
    return np.diag(2.0 ** rng.uniform(-30, 30, n))


def min_ij(rng, n, u):
    i = np.arange(1.0, n + 1)
    return np.minimum(i, i[:, None])


FAMILIES = [geometric, geometric, gram, kernel, kernel, integers, deficient, nearly_semidefinite, twins,
            indefinite, graded, diagonal, min_ij]
FAULTS = ["nan in a", "infinity in a", "zero diagonal", "negative diagonal", "asymmetric", "an ulp", "nan in b",
          "tiny b", "huge b", "zero b", "huge off-diagonal"]


def draw_matrix(rng, n, dtype, u):
    a = rng.choice(FAMILIES)(rng, n, u)
    if rng.random() < 0.25:
        scale = 2.0 ** rng.integers(-12, 13, n)
        a = a * scale * scale[:, None]
    if rng.random() < 0.25:
        span = np.finfo(dtype).maxexp - 2 - np.frexp(np.abs(a).max())[1]
        a = np.ldexp(a, int(rng.integers(-2 * span, span + 1)) if rng.random() < 0.5 else span)
    a = a.astype(dtype)
    return np.tril(a) + np.tril(a, -1).T


def plant(rng, fault, a, b, dtype):
    """Plants a fault into one system, in place."""
    n = len(a)
    i, j = sorted(rng.integers(0, n, 2), reverse=True)
    eps = np.finfo(dtype).eps
    if fault in ("nan in a", "infinity in a"):
        a[i, j] = np.nan if fault[0] == "n" else rng.choice([np.inf, -np.inf])
        if rng.random() < 0.7:
            a[j, i] = a[i, j]
    elif fault in ("zero diagonal", "negative diagonal"):
        a[i, i] = 0 if fault[0] == "z" else -a[i, i]
    elif fault == "asymmetric" and i != j:
        a[j, i] += dtype(rng.choice([0.3, 3, 1e6]) * n * eps * np.sqrt(float(a[i, i])) * np.sqrt(float(a[j, j])))
    elif fault == "an ulp":
        a[...] = np.where(np.tri(n, dtype=bool) | (rng.random((n, n)) < 0.5), a, np.nextafter(a, dtype(0)))
    elif fault == "huge off-diagonal" and i != j:
        a[i, j] = a[j, i] = np.sqrt(np.finfo(dtype).max) * np.sign(a[i, j])
    elif b is not None and b.size:
        c = rng.integers(0, b.shape[1])
        if fault == "nan in b":
            b[i, c] = rng.choice([np.nan, np.inf])
        elif fault == "zero b":
            b[:, c] = 0
        elif fault in ("tiny b", "huge b"):
            top = np.frexp(np.abs(b[:, c]).max())[1]
            limits = np.finfo(dtype)
            wanted = limits.maxexp - 1 if fault[0] == "h" else limits.minexp - rng.integers(-3, limits.nmant)
            b[:, c] = np.ldexp(b[:, c], int(wanted - top))


def draw_set(rng):
    """Draws one set: a (batch, n, n) as stored, b (batch, n, columns) or None, the layout, the requests."""
    dtype = rng.choice([np.float32, np.float64])
    u = np.finfo(dtype).eps / 2
    n = int(rng.choice([rng.integers(1, 9), rng.integers(1, 34), rng.integers(33, 257)], p=[0.6, 0.3, 0.1]))
    batch = int(rng.integers(1, 5))
    storage = str(rng.choice(["dense", "lower", "upper", "packed", "packed_upper"]))
    wanted = rng.choice(["vector", "columns", "inverse", "log_determinant"], p=[0.4, 0.25, 0.2, 0.15])
    a = np.stack([draw_matrix(rng, n, dtype, u) for _ in range(batch)])
    b = None
    if wanted in ("vector", "columns"):
        b = rng.uniform(-1, 1, (batch, n, 1 if wanted == "vector" else int(rng.integers(1, 6))))
        with np.errstate(all="ignore"):
            product = a.astype(float) @ b
            for k in range(batch):
                if rng.random() < 0.6 and np.isfinite(product[k]).all():
                    b[k] = product[k]
            b = b.astype(dtype)
        b[~np.isfinite(b)] = 1
    for k in range(batch):
        if rng.random() < 0.3:
            with np.errstate(all="ignore"):
                plant(rng, rng.choice(FAULTS), a[k], None if b is None else b[k], dtype)
    size = rng.integers(0, n + 1, batch) if rng.random() < 0.25 and storage != "packed_upper" else None
    return {"a": a, "b": b, "storage": storage, "wanted": wanted, "n": n, "u": float(u), "size": size}


def with_rubbish_beyond(drawn, name, rubbish):
    found = drawn[name].copy()
    for k, m in enumerate(drawn["size"]):
        found[k, m:] = rubbish
        if name == "a":
            found[k, :, m:] = rubbish
    return found


def write_set(group, drawn):
    if drawn["size"] is not None:
        group["size"] = drawn["size"].astype("int32")
        rubbish = (np.nan, np.inf, -1, 1e30)[drawn["size"].sum() % 4]
        names = [name for name in ("a", "b") if drawn[name] is not None]
        drawn = {**drawn, **{name: with_rubbish_beyond(drawn, name, rubbish) for name in names}}
    a = drawn["a"]
    if drawn["storage"].startswith("packed"):
        is_upper = drawn["storage"] == "packed_upper"
        group["A"] = packed_upper(a) if is_upper else packed(a)
        # The attribute is needed if A could also be one dense matrix, or if 36 numbers could also be a 6 x 6 matrix.
        if len(a) == group["A"].shape[1] or drawn["n"] % 2 or drawn["n"] == 8:
            group.attrs["storage"] = "packed_upper" if is_upper else "packed_lower"
        elif is_upper:
            group.attrs["uplo"] = "upper"
    elif drawn["storage"] in ("lower", "upper"):
        is_read = np.tri(drawn["n"], dtype=bool)
        group["A"] = np.where(is_read if drawn["storage"] == "lower" else is_read.T, a, a.dtype.type(np.nan))
        group.attrs["uplo"] = drawn["storage"]
    else:
        group["A"] = a
    if drawn["b"] is not None:
        group["b"] = drawn["b"][:, :, 0] if drawn["wanted"] == "vector" else drawn["b"]
    if drawn["wanted"] == "log_determinant":
        group.attrs["compute"] = "log_determinant"


# The opinion.

class System:
    """One system and the facts about it. Each fact is computed at its first use."""

    def __init__(self, drawn, k):
        self.u, self.wanted, self.type = drawn["u"], drawn["wanted"], drawn["a"].dtype
        self.n = drawn["n"] if drawn["size"] is None else int(drawn["size"][k])
        a = drawn["a"][k, :self.n, :self.n].astype(L)
        stored = a.T if drawn["storage"] in ("upper", "packed_upper") else a
        self.lower = np.tril(stored) + np.tril(stored, -1).T
        self.stored = a if drawn["storage"] == "dense" else self.lower
        self.b = None if drawn["b"] is None else drawn["b"][k, :self.n].astype(L)

    @functools.cached_property
    def input_status(self):
        """The statuses that the input allows. None if only pivots decide."""
        if not np.isfinite(self.stored).all():
            return {-1}
        d = np.sqrt(np.abs(np.diag(self.stored)))
        allowed = self.n * 2 * L(self.u) * d * d[:, None]
        difference = np.abs(self.stored - self.stored.T)
        if (difference > allowed * 1.01).any():
            return {-2}
        rest = {-3} if self.b is not None and not np.isfinite(self.b).all() else set()
        return {-2, *rest} if (difference > allowed * 0.99).any() and rest else rest

    @functools.cached_property
    def scaled(self):
        """A with its diagonal scaled to 1, up to the first diagonal element that is not positive."""
        d = np.diag(self.lower)
        bad = np.flatnonzero(~(d > 0))
        m = bad[0] if len(bad) else self.n
        root = np.sqrt(d[:m])
        return np.clip(self.lower[:m, :m] / root / root[:, None], -2, 2).astype(float)

    def smallest_eigenvalue(self, m):
        return np.linalg.eigvalsh(self.scaled[:m, :m])[0] if m else 1.0

    def is_pivot_status(self, info):
        """Returns whether rounding permits a Cholesky factorization to stop at pivot `info`; 0: not to stop at all.
        Source: Demmel 1989."""
        tolerance = 3 * (self.n + 1) * self.u
        last = len(self.scaled)
        if info == 0:
            return last == self.n and self.smallest_eigenvalue(last) > -tolerance
        if info > last + 1 or not self.smallest_eigenvalue(info - 1) > -tolerance:
            return False
        return info == last + 1 or self.smallest_eigenvalue(info) < tolerance

    @functools.cached_property
    def exact(self):
        return Answers(self.lower, np.diag(self.lower), self)

    def nearby(self, f):
        return Nearby(self.lower, max(f, self.n * self.u), self.n * self.u)


class Answers:
    """Numbers of A = L D L^T, with the sensitivities of solvers/spd_referee.hpp. `failed`: there is no factorization."""

    def __init__(self, a, diagonal, system):
        self.a, self.n, self.u = a, system.n, L(system.u)
        lower, self.d, self.failed = ldlt(a)
        if self.failed:
            return
        v = inverse_of_lower(lower)
        self.inverse = (v.T / self.d) @ v
        self.rcond = 1 / norm1(a) / norm1(self.inverse)
        self.pivot_bound = RATIO * self.u * (np.abs(v) @ np.sqrt(diagonal)) ** 2
        if system.wanted == "log_determinant":
            return
        b = np.eye(self.n, dtype=L) if system.wanted == "inverse" else system.b
        if not np.isfinite(b).all():
            return
        self.x = self.inverse @ b
        for _ in range(2):
            self.x += self.inverse @ (b - a @ self.x)

    @property
    def log_determinant(self):
        return np.log(self.d).sum()

    @property
    def log_rounding(self):
        mantissa, exponent = np.frexp(self.d)
        return (self.n + 3) * L(2) ** -53 * (np.abs(np.log(mantissa)) + np.abs(exponent) * LN2).sum()


class Nearby:
    """The repaired matrix of A for a pivot floor, as docs/numerics.md defines it: additions and pivots. `close`:
    rounding decides which pivots are raised."""

    def __init__(self, a, floor, rounding):
        n = len(a)
        s, diagonal = a.copy(), np.diag(a).copy()
        noise = n * L(2) ** -48
        self.added, self.pivots, self.repaired = np.zeros(n, L), np.zeros(n, L), 0
        self.failed, self.close = not (diagonal > 0).all(), False
        if self.failed:
            return
        left = list(range(n))
        for _ in range(n):
            fraction = np.array([s[i, i] / diagonal[i] for i in left])
            largest = fraction.max()
            if not self.repaired:
                self.close |= bool(abs(largest - floor) < noise + 1e-6 * floor)
            if not self.repaired and largest >= floor:
                edge = largest * (1 - L(2) ** -10)
                row = left[np.flatnonzero(fraction >= edge)[0]]
                self.close |= bool((np.abs(fraction - edge) < noise).any())
            else:
                row = left[0]
                self.repaired += 1
                pivot = max([floor * diagonal[row]] + [s[row, i] ** 2 / (floor * diagonal[i]) for i in left[1:]])
                self.added[row] = pivot - s[row, row]
                allowed = 8 * max(floor * diagonal[row], rounding * diagonal.max())
                self.close |= bool(abs(self.added[row] / allowed - 1) < 0.01 + noise * diagonal[row] / allowed)
                self.failed |= bool(self.added[row] > allowed)
                self.close |= self.failed and noise > 1e-3 * floor
                s[row, row] = pivot
                if self.failed:
                    return
            self.pivots[row] = s[row, row]
            left.remove(row)
            s -= np.outer(s[:, row], s[row]) / s[row, row]
        self.close |= self.repaired > 0 and bool(noise > 1e-3 * floor)


def best_addition(system, x, f):
    """Returns the e, within the permitted additions, with the smallest residual of (A + diag(e)) x = b."""
    diagonal = np.diag(system.lower)
    most = 8 * np.maximum(max(f, system.n * system.u) * diagonal, system.n * system.u * diagonal.max())
    r = residual(system.stored, x, right_hand_side(system))
    square = (x * x).sum(axis=1)
    return np.clip((r * x).sum(axis=1) / np.where(square > 0, square, 1), 0, most)


def right_hand_side(system):
    return np.eye(system.n, dtype=L) if system.wanted == "inverse" else system.b


def residual_error(system, x, added=0):
    """||b - (A + diag(e)) x||_1 / (||A||_1 ||x||_1), or ||I - A X||_1 / (||A||_1 ||X||_1)."""
    r = residual(system.stored, x, right_hand_side(system)) - np.reshape(added, (-1, 1)) * x
    a = system.stored + np.diag(np.broadcast_to(np.asarray(added, L), system.n))
    sums, norms = np.abs(r).sum(axis=0), np.abs(x).sum(axis=0)
    if system.wanted == "inverse":
        return sums.max() / (norm1(a) * norms.max())
    return np.max([s / (norm1(a) * m) if s else L(0) for s, m in zip(sums, norms)])


def rounding_of_backward_error(system, x):
    largest = [np.abs(system.lower).max(), *(c.max() for c in np.abs(x).T if c.any())]
    return L(2) ** -59 if system.type == np.float64 and min(largest) >= L(2) ** -1020 else system.n * L(2) ** -53


def residual_limit(system):
    return RATIO * system.u * (system.n if system.wanted == "inverse" else 1)


def forward_ratio(x, answers):
    """max over columns of ||x - x*|| rcond / (||x*|| u)."""
    error, norm = np.abs(x - answers.x).max(axis=0), np.abs(answers.x).max(axis=0)
    return np.max([e * answers.rcond / (m * answers.u) if e else L(0) for e, m in zip(error, norm)])


class Comparison:
    """Compares one system's results with the opinion. Every message names the file, the run and the system."""

    def __init__(self, system, f, results, where):
        self.system, self.f, self.where = system, f, where
        self.estimates = "cuda" in where and system.wanted != "inverse"
        self.info = int(results["info"])
        self.x = results.get("x")
        self.numbers = {k: L(v) for k, v in results.items() if k not in ("x", "info", "repaired")}
        self.repaired = int(results["repaired"])

    def check(self, holds, *what):
        assert holds, f"{self.where}: {' '.join(map(str, what))}; status {self.info}, {self.numbers}"

    def within(self, name, value, bound):
        difference = abs(self.numbers[name] - value)
        self.check(np.isfinite(self.numbers[name]) and difference <= bound, name, "expected", value, "+-", bound)

    def of_nothing(self):
        wanted = {"rcond": 1, "smallest_pivot": 1, "log_determinant": 0, "perturbation": 0}
        if self.x is not None:
            wanted["backward_error"] = 0
        self.check(self.info == self.repaired == 0 and self.numbers == wanted, "expected", wanted)

    def all(self):
        system = self.system
        if system.n == 0:
            return self.of_nothing()
        if system.input_status:
            self.check(self.info in system.input_status, "input", system.input_status)
        else:
            self.check(self.info not in (-1, -2, -3), "input is sound")
        if self.info != 0:
            nothing = self.repaired == 0 and all(np.isnan(v) for v in self.numbers.values())
            self.check(nothing, "a number of a failed system")
            self.check(self.x is None or np.isnan(self.x).all(), "an answer of a failed system")
        if self.info in (-1, -2, -3):
            return
        nearby = system.nearby(self.f) if self.f else None
        if nearby and not nearby.close:
            self.decided_by_floor(nearby)
        elif nearby:
            self.undecided(nearby)
        else:
            self.check(system.is_pivot_status(max(self.info, 0)), "not that pivot")
            self.check(self.info != 0 or self.repaired == self.numbers["perturbation"] == 0, "repaired without floor")
            self.answers(system.exact, 0)

    def decided_by_floor(self, nearby):
        system = self.system
        if nearby.failed:
            self.check(self.info > 0, "no semidefinite matrix is near")
            self.check(system.is_pivot_status(self.info) or system.is_pivot_status(0), "not that pivot")
            return
        self.check(self.info <= 0, "a semidefinite matrix is near")
        if self.info == 0:
            self.check(self.repaired == nearby.repaired, "pivots raised", self.repaired, "expected", nearby.repaired)
            diagonal = np.diag(system.lower)
            perturbation = (nearby.added / diagonal).max()
            self.within("perturbation", perturbation, (1e-2 * perturbation + system.u) if nearby.repaired else 0)
        self.answers(Answers(system.lower + np.diag(nearby.added), np.diag(system.lower), system)
                     if nearby.repaired else system.exact, nearby.added, nearby)

    def undecided(self, nearby):
        """Checks a system if rounding decides which pivots are raised: x must solve a nearby system."""
        system = self.system
        if self.info != 0:
            return
        diagonal = np.diag(system.lower)
        most = 8 * max(max(self.f, system.n * system.u), system.n * system.u * diagonal.max() / diagonal.min())
        self.check(0 <= self.repaired <= system.n, "count")
        self.check(0 <= self.numbers["perturbation"] <= most * (1 + 1e-6), "perturbation above", most)
        self.check(self.repaired or self.numbers["perturbation"] == 0, "a perturbation without a repair")
        if self.x is not None:
            self.check(np.isfinite(self.x).all(), "not finite")
            error = residual_error(system, self.x.astype(L), best_addition(system, self.x.astype(L), self.f))
            self.check(error <= residual_limit(system), "residual of the nearby system", error)
            self.backward_error()

    def backward_error(self):
        error = residual_error(self.system, self.x.astype(L))
        self.within("backward_error", error, error / 100 + rounding_of_backward_error(self.system, self.x))

    def answers(self, exact, added, nearby=None):
        """Checks x and the numbers about A, or the status that x cannot be stored."""
        system, repaired = self.system, nearby is not None and nearby.repaired > 0
        certain = not exact.failed and exact.rcond >= system.n * system.u
        if self.info in (-4, -5) or (certain and self.x is not None):
            self.check_range(exact, certain)
        if self.info != 0:
            return
        noise = system.n * L(2) ** -48 if repaired else 0
        if self.x is not None:
            x = self.x.astype(L)
            self.check(np.isfinite(x).all(), "not finite")
            error = residual_error(system, x, added)
            self.check(error <= residual_limit(system) + noise * system.n, "residual", error)
            self.backward_error()
            if certain:
                ratio = forward_ratio(x, exact)
                self.check(ratio <= RATIO * (1 + noise / system.u), "forward error", ratio)
            if repaired and system.wanted != "inverse":
                floor = max(self.f, system.n * system.u)
                limit = 64 * np.sqrt((system.b ** 2).sum(axis=0)) / (floor * np.diag(system.lower).min())
                self.check((np.sqrt((x ** 2).sum(axis=0)) <= limit).all(), "x is larger than the floor allows")
        if exact.failed:
            return
        tiny = np.finfo(system.type).smallest_normal
        of_sums = system.n * system.u * exact.rcond + tiny
        expected = exact.rcond
        if self.estimates and system.n > 8 and self.numbers["rcond"] > expected:
            expected = min(self.numbers["rcond"], 10 * expected)
        self.within("rcond", expected, (RATIO * system.u + noise) * (1 + exact.rcond) + of_sums)
        pivots = nearby.pivots if repaired else exact.d
        bound = 1e-2 * pivots if repaired else exact.pivot_bound
        rounding = 2 * system.u * np.abs(pivots) + tiny
        low, high = (pivots - bound - rounding).min(), (pivots + bound + rounding).min()
        self.check(low <= self.numbers["smallest_pivot"] <= high, "smallest_pivot expected within", low, high)
        if (bound < 0.1 * pivots).all():
            allowed = (bound / pivots).sum() * 1.1 + exact.log_rounding
            self.within("log_determinant", np.log(pivots).sum(), allowed)

    def check_range(self, exact, certain):
        """Checks overflow (-4) and underflow (-5) of x, if the opinion knows x to two digits."""
        if not certain:
            return
        slack = float(RATIO * self.system.u / exact.rcond)
        if slack > 0.01:
            return
        with np.errstate(all="ignore"):
            stored = exact.x.astype(self.system.type).astype(L)
            over = np.abs(exact.x).max() / L(np.finfo(self.system.type).max)
            norm = np.abs(exact.x).sum(axis=0)
            loss = np.where(norm > 0, np.abs(exact.x - stored).sum(axis=0) / np.where(norm > 0, norm, 1), 0)
        under = 0 if self.system.wanted == "inverse" or over > 0.9 else loss.max() / self.system.u
        expected = set()
        if over > 1 - slack - 1e-6:
            expected.add(-4)
        if under > 4 - slack / self.system.u:
            expected.add(-5)
        if over < 1 + slack + 1e-6 and under < 12 + slack / self.system.u:
            expected.add(0)
        if over > 0.9 and -5 == self.info:
            return  # one right-hand side may overflow and another may underflow
        self.check(self.info in expected, "range: expected", expected, "overflow", over, "underflow", under)


# Runs.

def ways(smallbatch):
    """Returns the arguments of `run` that this machine allows, besides the default."""
    with open_problem_file(smallbatch.folder / "one.h5") as file:
        file["solve/s/A"] = np.ones((1, 1, 1))
        file["solve/s/b"] = np.ones((1, 1))
    found = [["--device", "cpu", "--method", m] for m in ("gauss_jordan", "ldlt")]
    found += [["--device", "cpu", "--instruction-set", s] for s in ("baseline", "avx2", "avx512")]
    found += [["--device", "reference"]] * 2
    found += [["--device", "cuda", "--method", m] for m in ("auto", "auto", "auto", "ldlt", "gauss_jordan")] * 3
    able = []
    for way in found:
        code = smallbatch("run", "one.h5", "-o", "out.h5", "--overwrite", *way, expect=None).returncode
        assert code == 0 or (code == 5 and "cuda" in way) or (code == 2 and "--instruction-set" in way), (way, code)
        if code == 0:
            able.append(way)
    return able


def read_arrays(group):
    return {name: dataset[...] for name, dataset in group.items() if isinstance(dataset, h5py.Dataset)}


def results_of(arrays, k, label):
    """Returns the results of system k from `arrays`, the datasets of its set."""
    results = {name: arrays[name][k] for name in
               ("info", "backward_error", "rcond", "smallest_pivot", "log_determinant", "repaired", "perturbation")
               if name in arrays}
    for name in ("x", "inverse"):
        if name in arrays:
            results["x"] = arrays[name][k].reshape(len(arrays[name][k]), -1)
    if "size" in arrays and "x" in results:
        m = arrays["size"][k]
        x = results["x"]
        results["x"] = x[:m, :m] if "inverse" in arrays else x[:m]
        beyond = x.copy()
        beyond[:results["x"].shape[0], :results["x"].shape[1]] = 0
        assert not beyond.any(), f"{label}, of size {m}: not 0 beyond"
    return results


def is_easy(systems):
    """Returns whether all systems are so well conditioned that Gauss-Jordan, which is not backward stable, keeps the
    bounds of the other methods."""
    return all(s.n == 0 or s.input_status or (not s.exact.failed and s.exact.rcond > 1e-3) for s in systems)


def tamper(rng, file, sets):
    """Changes one stored number by more than its tolerance. Returns False if the chosen system has no number to
    change."""
    name = rng.choice(list(sets))
    group, systems = file[f"solve/{name}"], sets[name]
    k = rng.integers(len(systems))
    system, f = systems[k], file["provenance"].attrs["pivot_floor"]
    what = rng.choice(["info", "x", "x", "backward_error", "rcond", "log_determinant", "smallest_pivot", "repaired"])
    if system.n == 0:
        return False
    if what == "info":
        group["info"][k] = {0: 1, -1: 0, -2: -1, -3: 0}.get(int(group["info"][k]), -1)
        return True
    if group["info"][k] != 0 or (what == "x" and system.wanted == "log_determinant") or what not in {"x", *group}:
        return False
    if what == "x":
        data = group["inverse" if system.wanted == "inverse" else "x"]
        whole = data[k]
        x = whole[:system.n, :system.n] if system.wanted == "inverse" else whole[:system.n]
        where = tuple(rng.integers(0, s) for s in x.shape)
        x[where] = rng.choice([np.nan, -x[where], 0.9 * x[where], np.abs(x).max(), 0])
        with np.errstate(all="ignore"):
            wrong = x.reshape(len(x), -1).astype(L)
            error = residual_error(system, wrong, best_addition(system, wrong, f) if f else 0)
        if error < 4 * residual_limit(system):
            return False
        data[k] = whole
    elif what == "repaired":
        if f and not (system.nearby(f).repaired == 0 and not system.nearby(f).close):
            return False
        group[what][k] += 1
    elif what == "backward_error":
        rounding = rounding_of_backward_error(system, results_of(read_arrays(group), k, name)["x"])
        group[what][k] = group[what][k] * 1.1 + 4 * float(rounding)
    else:
        if system.exact.failed or system.exact.rcond < 1e4 * system.u or group["repaired"][k]:
            return False
        is_estimate = what == "rcond" and b"cuda" in file["provenance"].attrs["solver"]
        factor = 0.5 if is_estimate else 1.5
        changed = group[what][k] * factor + (1 if what == "log_determinant" else 0)
        if not np.isfinite(changed) or changed == group[what][k]:
            return False
        group[what][k] = changed
    return True


def test_random_files_of_systems(smallbatch, pytestconfig):
    files = pytestconfig.getoption("random_files") or DEFAULT_FILES
    seed = pytestconfig.getoption("random_seed")
    choices = ways(smallbatch)
    counts = {"systems": 0, "solved": 0, "failed": 0, "repaired": 0, "tampered": 0}
    for number in range(files):
        rng = np.random.default_rng([seed, number])
        drawn = {f"s{i}": draw_set(rng) for i in range(rng.integers(1, 3))}
        f = float(rng.choice([0, 0, 0, 1e-3, 1e-5, 1e-10, 1e-30]))
        with open_problem_file(smallbatch.folder / "p.h5") as file:
            for name, content in drawn.items():
                write_set(file.create_group(f"solve/{name}"), content)
        sets = {name: [System(content, k) for k in range(len(content["a"]))] for name, content in drawn.items()}
        with np.errstate(all="ignore"):
            for way in ["--device", "cpu"], choices[rng.integers(len(choices))]:
                if "gauss_jordan" in way and not is_easy([s for systems in sets.values() for s in systems]):
                    continue
                judge_run(smallbatch, rng, sets, f, way, f"seed {seed}, file {number}, {' '.join(way)}", counts)
    print(counts)
    assert counts["solved"] > files and counts["failed"] > files / 4 and counts["repaired"] > files / 10
    assert counts["tampered"] > files / 10


def judge_run(smallbatch, rng, sets, f, way, where, counts):
    code = smallbatch("run", "p.h5", "-o", "r.h5", "--overwrite", "--threads", 1, "--pivot-floor", f, *way,
                      expect=None).returncode
    assert code in (0, 1), f"{where}: the file is refused"
    failed = 0
    with h5py.File(smallbatch.folder / "r.h5") as file:
        for name, systems in sets.items():
            arrays, verdicts = read_arrays(file[f"solve/{name}"]), file[f"verification/solve/{name}/verdict"][...]
            for k, system in enumerate(systems):
                label = f"{where}, floor {f:g}, {name}[{k}], n {system.n}, {system.type}, {system.wanted}"
                results = results_of(arrays, k, label)
                Comparison(system, f, results, label).all()
                assert verdicts[k] == 1, f"{label}: the referee disagrees; {results['info']}"
                failed += results["info"] != 0
                counts["repaired"] += results["repaired"] > 0
            counts["systems"] += len(systems)
    counts["failed"] += failed
    counts["solved"] = counts["systems"] - counts["failed"]
    assert code == (1 if failed else 0), f"{where}: exit code {code}, {failed} failed"
    if rng.random() < 0.3:
        with results_to_change(smallbatch.folder / "r.h5") as file:
            changed = tamper(rng, file, sets)
        if changed:
            counts["tampered"] += 1
            done = smallbatch("verify", "p.h5", "r.h5", "--json", expect=None)
            found = done.returncode == 3 or (done.returncode == 1 and any(
                told["verification"]["disagreed"] for told in json.loads(done.stdout)["sets"]))
            assert found, f"{where}: a changed number passes"
