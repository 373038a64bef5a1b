"""Random small potential files. The results are compared with sums in NumPy's long double. One file, because making
files and judging them must agree.

Requests, units, bounds and statuses follow io/FORMAT.md, docs/numerics.md and the headers of physics/. Nothing is taken
from the program. A seed and a file's number determine the file, and every message names both. The number of files and
the seed are options:

    python -m pytest -q tests/app/random_potentials_test.py --random-files 3000 --random-seed 7

A set is drawn again if the right answer depends on rounding, or if the documentation does not define it. Examples are a
charge just close enough to a target to lie on it, and values at the edge of their range. See `undecided` in
`truth_of`."""

import json

import h5py
import numpy as np
import pytest

from tests.app.long_interactions import bounds, interaction
from tests.problems import numbers_of, open_problem_file, results_to_change

pytestmark = pytest.mark.skipif(np.finfo(np.longdouble).nmant < 63, reason="long double is no longer than double here")
DEFAULT_FILES = 200

LONG = np.longdouble
LENGTHS = {None: LONG(1), "angstrom": LONG(1), "nm": LONG(10), "pm": LONG("0.01"), "bohr": LONG("0.529177210903"),
           "m": LONG("1e10")}
E = LONG("1.602176634e-19")
CHARGES = {None: LONG(1), "e": LONG(1), "C": 1 / E}
VOLT = E / (4 * LONG("3.14159265358979323846") * LONG("8.8541878128e-12") * LONG("1e-10"))
UNITS = {  # of V, E and the energy
    "volt": ("volt", "volt/angstrom", "volt*e"), "kT/e": ("kT/e", "kT/e/angstrom", "kT"),
    "kcal/mol/e": ("kcal/mol/e", "kcal/mol/e/angstrom", "kcal/mol"),
    "e/angstrom": ("e/angstrom", "e/angstrom^2", "e^2/angstrom"),
}
TWO = LONG(2)
SAME_PLACE = LONG("1e-6")  # in units of the smallest spacing, or in angstrom without a lattice


def chance(rng, p):
    return rng.random() < p


def norm(x):
    return np.sqrt((x * x).sum(-1))


# ---- drawing

def draw_set(rng, double):
    """Draws a set as it will be stored. `data` are its datasets, `units` their units, `attrs` the requests."""
    kind, batch = str(rng.choice(["lattice", "points", "charges"])), int(rng.choice([0, 1, 1, 1, 2, 2, 2, 3, 3, 4]))
    extreme, size = chance(rng, 0.2), 10 ** rng.uniform(-1, 2)
    if extreme:
        low, high = (-90 if double else -25) if kind == "lattice" else -3, 80 if double else 12
        size = 10 ** rng.uniform(low, high)
    own_units = chance(rng, 0.3)
    single_input = not extreme and not own_units and chance(rng, 0.6)
    unit = list(LENGTHS)[rng.integers(len(LENGTHS))]
    units = {"position": unit, "charge": [None, "e", "C"][rng.integers(3)]}
    for name in ("origin", "spacing", "points"):
        units[name] = str(rng.choice(list(LENGTHS)[1:])) if own_units and chance(rng, 0.7) else None
    real = str(rng.choice(["<f4", ">f4"] if single_input else ["<f8", "<f8", ">f8"]))
    own_real, on_grid = "<f4" if single_input and chance(rng, 0.5) else "<f8", single_input and chance(rng, 0.7)

    def store(name, angstrom, of_type):
        values, of_size = (np.asarray(x) / float(LENGTHS[units[name] or unit]) for x in (angstrom, size))
        if on_grid:  # multiples of a power of two, so that float32 holds them and their sums
            step = 2.0 ** (np.floor(np.log2(of_size)) - 5)
            values = np.maximum(np.round(values / step), 1 if name == "spacing" else -np.inf) * step
        return values.astype(of_type)

    counts = np.minimum(rng.integers(0, 31, batch) * (rng.random(batch) < 0.9), 3 if chance(rng, 0.4) else 30)
    total, ends = int(counts.sum()), np.concatenate([[0], np.cumsum(counts)])
    shift = size * rng.uniform(-10, 10, 3) * rng.choice([0, 1, 1e4 if unit in (None, "angstrom") else 1])
    axes = np.array([1, 1, chance(rng, 0.9)])  # a factor of 0 puts all positions into one plane
    data = {"position": store("position", shift + size * rng.uniform(-0.2, 1.2, (total, 3)) * axes, real)}
    charge = np.concatenate([np.zeros(0), *(draw_charges(rng, n, double, single_input) for n in counts)])
    data["charge"] = (charge / float(CHARGES[units["charge"]])).astype(real)
    if batch != 1 or chance(rng, 0.5):
        data["offset"] = ends.astype(rng.choice(["<i4", "<i8"]))
    attrs = {"targets": kind} if kind != "lattice" or chance(rng, 0.5) else {}
    if kind == "lattice":
        n = int(rng.integers(1, 200))
        odd = [(1, 1, n), (n, 1, 1), (2, 1, 33), (17, 3, 1), (1, 1, 1)]
        shape = odd[rng.integers(len(odd))] if chance(rng, 0.3) else tuple(map(int, rng.integers(1, 7, 3)))
        rows = [(3,) if chance(rng, 0.5) else (batch, 3) for _ in range(2)]
        attrs["shape"] = np.array(shape, rng.choice(["<i4", "<i8"]))
        data["origin"] = store("origin", shift + size * rng.uniform(-0.1, 0.1, rows[0]), own_real)
        data["spacing"] = store("spacing", size * rng.uniform(0.5, 1.5, rows[1]) / np.array(shape), own_real)
    elif kind == "points":
        many = 0 if chance(rng, 0.05) else int(rng.integers(1, 61))
        if chance(rng, 0.6):
            of_problems = np.concatenate([[0], np.cumsum(rng.integers(0, many + 1, batch))])
            data["point_offset"], many = of_problems.astype(rng.choice(["<i4", "<i8"])), int(of_problems[-1])
        data["points"] = store("points", shift + size * rng.uniform(-0.5, 1.5, (many, 3)) * axes, own_real)
    if chance(rng, 0.5):  # numbers other than 1 and 2 are in neither group, even if their last byte is 1 or 2
        of_type, *others = [("<i1", 0, 3, -1), ("<i4", 0, 257, -255), ("<i8", 0, 2**32 + 1, 258)][rng.integers(3)]
        data["group"] = rng.choice(np.array([1, 1, 2, 2, *others], of_type), total)
    if chance(rng, 0.25):
        softening = size * 10 ** rng.uniform(-3, 4) if chance(rng, 0.9) else 10 ** rng.uniform(-140, 140)
        attrs["softening"] = softening / float(LENGTHS[unit])
    if chance(rng, 0.25):
        attrs["cutoff"] = size * rng.uniform(0.3, 2) / float(LENGTHS[unit])
    for name in ("softening", "cutoff", "field"):
        if chance(rng, 0.1):
            attrs.setdefault(name, 0)
    if not extreme:
        draw_interaction(rng, size, unit, total, attrs, data, units)
    if chance(rng, 0.5):
        attrs["field"] = [True, np.int32(1), np.int64(1)][rng.integers(3)]
    if chance(rng, 0.6):
        attrs["output_unit"] = str(rng.choice(list(UNITS)))
    if attrs.get("output_unit") == "kT/e" and chance(rng, 0.6):
        attrs["temperature"] = 10 ** rng.uniform(0, 3.5)
    strongest = np.abs(charge).max(initial=0)
    if chance(rng, 0.4):
        attrs["dielectric"] = rng.uniform(1, 80)
    elif strongest > 0 and chance(rng, 0.3):  # V, E or both near an end of their range
        end = rng.uniform(-320, -305) if double else rng.uniform(-47, -36)
        end = end if chance(rng, 0.2) else rng.uniform(303, 311) if double else rng.uniform(33, 41)
        power = np.log10(strongest) - np.log10(size) * rng.choice([1, 2]) + 1 - end
        attrs["dielectric"] = 10 ** np.clip(power, -302, 302)
    drawn = {"data": data, "units": units, "attrs": attrs, "kind": kind, "batch": batch, "ends": ends,
             "name": str(rng.choice(["a", "molecules", "x-1", "Z_2"]))}
    for p in range(batch):
        plant(rng, drawn, p, double)
    return drawn


def draw_charges(rng, count, double, single_input):
    """Draws the charges of one problem, in e: of one sign or both, equal or not, rarely huge or tiny."""
    charge, how = rng.uniform(0.1, 1, count) * rng.choice([-1, 1], count), rng.random()
    if how < 0.2:
        charge = np.abs(charge) * rng.choice([-1, 1])
    elif how < 0.4:  # neutral
        charge[count // 2 :] = -charge[: count - count // 2]
    elif how < 0.5:
        charge *= 10 ** rng.uniform(-9, 0, count)
    elif how < 0.6:
        charge = np.tile([0.1, 0.2, -0.3], 10)[:count]
    if chance(rng, 0.2):
        charge *= 10 ** (rng.uniform(-100, 100) if double and not single_input else rng.uniform(-16, 14))
    if chance(rng, 0.3):
        charge[rng.random(count) < rng.choice([0.2, 1])] = 0
    return charge


def plant(rng, drawn, p, double):
    """Puts charges on targets, near targets and on each other. Plants numbers that are not finite or too large."""
    data, begin, end = drawn["data"], drawn["ends"][p], drawn["ends"][p + 1]
    position, charge = data["position"][begin:end], data["charge"][begin:end]  # views
    here, unit = places_of(drawn, p), LENGTHS[drawn["units"]["position"]]
    if len(charge) and len(here["targets"]) and chance(rng, 0.3):
        for i in rng.integers(0, len(charge), rng.integers(1, 5)):
            point = here["targets"][rng.integers(len(here["targets"]))] + here["origin"]
            if chance(rng, 0.5):
                direction = rng.standard_normal(3)
                point = point + direction / norm(direction) * 10 ** rng.uniform(-2, 5) * here["same_place"]
            position[i] = point / unit
    if len(charge) > 1 and chance(rng, 0.3):
        together, how = min(len(charge), int(rng.integers(2, 6))), rng.random()
        on_target = len(here["targets"]) and chance(rng, 0.5)
        position[:together] = (here["targets"][-1] + here["origin"]) / unit if on_target else position[0]
        if how < 0.4:  # no net charge
            charge[1] = -charge[0]
        elif how < 0.7:  # no net charge except by rounding
            charge[: min(together, 3)] = np.array([0.1, 0.2, -0.3])[:together] * charge[0]
    numbers = [data["points"]] if drawn["kind"] == "points" and chance(rng, 0.5) else [position, charge]
    numbers, spoil = numbers[rng.integers(len(numbers))], rng.random()
    if numbers.size and spoil < 0.12:
        scale = CHARGES[drawn["units"]["charge"]] if numbers is charge else unit
        beyond = rng.uniform(151, 170) if double and numbers.dtype.itemsize == 8 else rng.uniform(16, 25)
        values = [np.nan, np.inf, -np.inf] if spoil < 0.06 else np.array([-1, 1]) * 10**beyond / float(scale)
        numbers.reshape(-1)[rng.integers(numbers.size)] = rng.choice(values)
    elif position.size and spoil < 0.15 and "cutoff" not in drawn["attrs"]:  # far away, but within the limit
        position.reshape(-1)[rng.integers(position.size)] += 10 ** rng.uniform(4, 13) / float(unit)


def write(path, sets):
    with open_problem_file(path) as file:
        for drawn in sets:
            group = file.create_group(f"potential/{drawn['name']}")
            for name, values in drawn["data"].items():
                group[name] = values
                if drawn["units"].get(name):
                    group[name].attrs["unit"] = drawn["units"][name]
            for name, value in drawn["attrs"].items():
                group.attrs[name] = np.bytes_(value) if isinstance(value, str) else value


# ---- the truth

def places_of(drawn, p):
    """Returns the charges and targets of problem p in angstrom, relative to the origin of the lattice or to the first
    target. `doubt` is the largest error of a displacement after units are converted to angstrom in double precision. A
    factor and a product are rounded, so the relative error of each converted coordinate is 2^-52."""
    data, mine = drawn["data"], slice(drawn["ends"][p], drawn["ends"][p + 1])

    def angstrom(name, values):
        unit = drawn["units"][name] or drawn["units"]["position"]
        values = values.astype(LONG) * LENGTHS[unit]
        return values, norm(values) / TWO**52 * (unit not in (None, "angstrom"))

    charges, doubt_of_charges = angstrom("position", data["position"][mine])
    here = {"absolute": charges, "doubt_of_charges": doubt_of_charges, "same_place": SAME_PLACE}
    if drawn["kind"] == "lattice":
        rows = {name: data[name] if data[name].ndim == 1 else data[name][p] for name in ("origin", "spacing")}
        (origin, doubt_of_origin), (spacing, _) = (angstrom(name, row) for name, row in rows.items())
        z, y, x = np.meshgrid(*map(np.arange, drawn["attrs"]["shape"][::-1]), indexing="ij")
        targets, doubt = angstrom("spacing", rows["spacing"].astype(LONG) * np.stack([x, y, z], -1).reshape(-1, 3))
        here |= {"same_place": SAME_PLACE * spacing.min(), "spacing": spacing}
        doubt = doubt + doubt_of_origin
    else:
        targets, doubt = charges, doubt_of_charges
        if drawn["kind"] == "points":
            begin, end = data["point_offset"][p : p + 2] if "point_offset" in data else (0, len(data["points"]))
            targets, doubt = angstrom("points", data["points"][begin:end])
        origin = targets[0] if len(targets) else np.zeros(3, LONG)
        targets = targets - origin
    return here | {"targets": targets, "charges": charges - origin, "origin": origin,
                   "doubt": doubt[:, None] + doubt_of_charges[None, :]}


def asked_of(drawn, double):
    attrs, unit = drawn["attrs"], LENGTHS[drawn["units"]["position"]]
    name = attrs.get("output_unit", "volt")
    factor = {"volt": VOLT, "e/angstrom": LONG(1), "kcal/mol/e": VOLT * E * LONG("6.02214076e23") / 4184,
              "kT/e": VOLT * E / (LONG("1.380649e-23") * LONG(attrs.get("temperature", LONG("298.15"))))}[name]
    return {"unit": name, "factor": factor / LONG(attrs.get("dielectric", 1)), "field": bool(attrs.get("field", 0)),
            **{name: LONG(attrs.get(name, 0)) * unit for name in ("softening", "cutoff", "screening_length", "width")},
            "limit": LONG("1e150") if double else LONG("1e15"), "double": double, "dtype": "f8" if double else "f4",
            "largest": LONG(np.finfo("f8" if double else "f4").max), "converted": unit != 1}


def widths_of(drawn, p, asked):
    """Returns the widths of the charges of problem p, in angstrom."""
    mine, unit = slice(drawn["ends"][p], drawn["ends"][p + 1]), drawn["units"].get("width") or drawn["units"]["position"]
    if "width" in drawn["data"]:
        return drawn["data"]["width"][mine].astype(LONG) * LENGTHS[unit]
    return np.full(mine.stop - mine.start, asked["width"])


def draw_interaction(rng, size, unit, total, attrs, data, units):
    """Draws a screening length, one width or a width per charge. Half of the sets have plain point charges."""
    how, length = rng.random(), size * 10 ** rng.uniform(-1.5, 0.5)
    if how < 0.25:
        attrs["screening_length"] = length / float(LENGTHS[unit])
    elif how < 0.35 and not attrs.get("softening"):
        attrs["width"] = length / float(LENGTHS[unit])
    elif how < 0.5 and not attrs.get("softening"):
        units["width"] = str(rng.choice(list(LENGTHS)[1:])) if chance(rng, 0.3) else None
        width = length * rng.uniform(0.1, 1, total) * (rng.random(total) < 0.8) / float(LENGTHS[units["width"] or unit])
        data["width"] = width.astype(rng.choice(["<f4", ">f4", "<f8", ">f8"]))
        if total and chance(rng, 0.1):
            data["width"][rng.integers(total)] = rng.choice([np.nan, np.inf, -1.0])


def truth_of(drawn, p, asked):
    """Returns the results of problem p that the documentation defines: V and E with their bounds, where they are
    singular, and the energy with its bound. For points and charges, `info` is right only if no value leaves its range.
    If `undecided`, the documentation does not define the results."""
    here, mine = places_of(drawn, p), slice(drawn["ends"][p], drawn["ends"][p + 1])
    charge = drawn["data"]["charge"][mine].astype(LONG) * CHARGES[drawn["units"]["charge"]]
    targets, charges, on_lattice = here["targets"], here["charges"], drawn["kind"] == "lattice"
    truth = {"targets": len(targets), "undecided": False, "has_values": False, "on_lattice": on_lattice}
    width = widths_of(drawn, p, asked)
    if not all(np.isfinite(x).all() for x in (targets, here["absolute"], charge, width)) or (width < 0).any():
        return truth | {"info": -1}
    most = max(np.abs(x).max(initial=0) for x in (charges, charge, targets)) / asked["limit"]
    if len(targets) and len(charge) and most > 0.5:  # without a target or a charge, no distance is too large
        return truth | ({"undecided": True} if most < 2 else {"info": -2})
    used = charge != 0
    doubt, charge, charges, width = here["doubt"][:, used], charge[used], charges[used], width[used]
    softening, cutoff, factor, same_place = asked["softening"], asked["cutoff"], asked["factor"], here["same_place"]
    screening_length, is_plain = asked["screening_length"], not asked["screening_length"] and not width.any()
    d = targets[:, None, :] - charges[None]
    r, others = norm(d), np.ones((len(targets), len(charge)), bool)
    if drawn["kind"] == "charges":
        others = np.arange(len(used))[:, None] != np.flatnonzero(used)[None]
    on = others & (r < same_place) & (softening == 0) & (width == 0)
    net, magnitude = (charge * on).sum(1), (np.abs(charge) * on).sum(1)
    in_sum = others & ~on
    rho = np.where(in_sum & (r + softening > 0), np.sqrt(r * r + softening * softening), 1)
    g, slope = interaction(r, rho, cutoff, screening_length, width)
    rho = np.where(r + softening > 0, rho, 0)
    rho, of_v, of_e, lost = bounds(np.where(in_sum, rho, 1), screening_length, width, asked["double"])
    truth |= {"has_values": True, "info": int(on.any(0 if on_lattice else 1).sum()), "net": net,
              "singular": np.abs(net) > TWO**-40 * magnitude, "V": factor * (in_sum * charge * g).sum(1),
              "E": factor * ((in_sum * charge * slope)[..., None] * d).sum(1)}
    # The bounds add these terms, to first order. `bound` is documented. `converted` is the rounding of a factor and a
    # product when charges and lengths are converted. `doubt` is the rounding of converted coordinates. With a cut-off,
    # `wide` makes errors of lengths and coordinates 4 times as large, and `share` has the documented factor of 2.
    # `underflow` is the rounding to subnormal numbers (physics/charges/value_range.hpp). In a bound, the magnitude of a
    # charge counts as at least `least`. 2^-52 |V| is the rounding of the unit's factor and of its quotient by the
    # dielectric.
    extent = max(norm(charges).max(initial=0), norm(targets).max(initial=0))
    coordinate, *least = (TWO**-52, 0, 0) if asked["double"] else (TWO**-23, TWO**-70, TWO**-30)
    relative, length = coordinate * (4 if softening else 2), np.minimum(rho, cutoff) if cutoff else rho
    wide = 4 if cutoff else 1
    converted = TWO**-52 * ((drawn["units"]["charge"] == "C") + asked["converted"] * wide * (
        int(softening > 0) + int(cutoff > 0) + 2 * (not is_plain)))
    bound, slack = relative + coordinate * extent / length, converted + wide * doubt / length
    share = in_sum / rho * (2 * (r < LONG("1.01") * cutoff) if cutoff else 1)
    share, of_field = share * of_v, share / length * 4 * of_e
    is_scaled = len(charge) * np.abs(charge).max(initial=0) / (softening or same_place) ** 2 > TWO**990
    underflow = len(charge) * factor * TWO ** (-482 if is_scaled else -1074)
    underflow += np.finfo(asked["dtype"]).smallest_subnormal + len(charge) * factor * lost
    undecided = [(np.abs(net) > TWO**-46 * magnitude) & (np.abs(net) < TWO**-34 * magnitude),
                 others & (r > same_place / 2) & (r < 2 * same_place) & (softening == 0) & (width == 0),
                 in_sum & (doubt > rho * TWO**-12),
                 (doubt > same_place / 4) & (softening == 0) & (width == 0),  # rounding of units decides
                 cutoff and (cutoff < extent * TWO**-15 or cutoff < softening * TWO**-299)]  # not documented
    for name, each, at_least in (("V", share, least[0]), ("E", of_field, least[1])):
        total = factor * (each * (np.maximum(np.abs(charge), at_least) * bound + np.abs(charge) * slack)).sum(1)
        total = np.where(total > 0, total + underflow, 0)
        truth[name + "_bound"] = (total if name == "V" else total[:, None]) + np.abs(truth[name]) * TWO**-52
        # Many terms may be lost beside a strong term, because each is too weak to change the sum. The documentation
        # then allows 4 times the bound.
        terms = np.abs(charge) * each
        strongest = terms.max(1, initial=0)
        undecided.append((terms * (terms < strongest[:, None] * relative / 4)).sum(1) > strongest * relative / 2)
    if on_lattice and len(charge):
        rho = np.where(on.any(0), here["spacing"].min(), np.sqrt(r.min(0) ** 2 + softening**2))
        rho = np.maximum(rho, width)
        of_v, of_e = np.abs(charge) / rho, np.abs(charge) / rho**2 * (1 + (2 * rho / cutoff if cutoff else 0))
        most = max(of_v.sum(), asked["field"] * of_e.sum()) * factor / asked["largest"]
        truth["info"] = -3 if most > 1 else truth["info"]
        undecided.append(0.99 < most < 1.01 or (not is_plain and most > 0.1))  # the program may overestimate these sums
    if "group" in drawn["data"]:
        group, positions, doubt = (x[used] for x in (
            drawn["data"]["group"][mine], here["absolute"], here["doubt_of_charges"]))
        one, two = group == 1, group == 2
        r, product = norm(positions[one][:, None] - positions[two][None]), charge[one][:, None] * charge[two][None]
        both = np.hypot(width[one][:, None], width[two][None])
        doubt, on = doubt[one][:, None] + doubt[two][None], (r < SAME_PLACE) & (softening == 0) & (both == 0)
        rho = np.where(on | (r + softening == 0), 1, np.sqrt(r * r + softening * softening))
        g = interaction(r, rho, cutoff, screening_length, both)[0]
        rho, of_v, _, lost = bounds(np.where(on, 1, np.where(r + softening > 0, rho, 0)), screening_length, both, True)
        share = factor * np.abs(product) * ~on / rho * of_v
        slack = 2 * converted + TWO**-52 + 2 * wide * doubt / (np.minimum(rho, cutoff) if cutoff else rho)
        underflow = r.size * (TWO**-1074 + lost) * (1 + factor * (1 + np.abs(charge).max(initial=0)))
        truth |= {"energy": factor * (product * ~on * g).sum(), "energy_size": share.sum(),
                  "energy_bound": (share * (TWO**-44 + slack)).sum() + underflow, "pairs": set(np.sign(product[on]))}
        undecided += [(r > SAME_PLACE / 2) & (r < 2 * SAME_PLACE) & (softening == 0) & (both == 0),
                      (doubt > rho * TWO**-12) & ~on]
    return truth | {"undecided": any(np.any(x) for x in undecided)}


# ---- judging

def agree(got, exact, bound, largest):
    """Returns whether every number is within its bound. A number beyond the range of its type must be an infinity of
    its sign."""
    got = got.astype(LONG)
    beyond = np.isinf(got) & (np.abs(exact) + bound > largest * (1 - LONG("1e-6")))
    beyond &= (np.sign(got) == np.sign(exact)) | (bound - np.abs(exact) > largest * (1 - LONG("1e-6")))
    return bool((beyond | (np.abs(got - exact) <= bound)).all())


def judge_problem(result, p, v, e, truth, asked, skip, where):
    """Checks one problem. `v` and `e` are the stored V and E of its targets."""
    info, field = int(result["info"][p]), asked["field"]
    statistics = [LONG(result[key][p]) for key in ("V_min", "V_max", "V_mean")]
    energy = LONG(result["energy"][p]) if "energy" in result else None
    if not truth["has_values"]:
        assert info == truth["info"], f"{where}: info {info}, not {truth['info']}"
        numbers = [v, statistics, e if field else np.nan, np.nan if energy is None else energy]
        assert all(np.isnan(x).all() for x in numbers), f"{where}: numbers in a problem of status {info}"
        return
    singular, expected = truth["singular"] & (not skip), truth["info"]
    if not truth["on_lattice"] and (np.isinf(v[~singular]).any() or (field and np.isinf(e).any())):
        expected = -3
    assert info == expected, f"{where}: info {info}, not {expected}"
    assert (v[singular] == np.sign(truth["net"][singular]) * np.inf).all(), f"{where}: V of charges on targets"
    assert not field or np.isnan(e[singular]).all(), f"{where}: E of charges on targets"
    for name, got in (("V", v), ("E", e))[: 1 + field]:
        got, exact, bound = got[~singular], truth[name][~singular], truth[name + "_bound"][~singular]
        assert agree(got, exact, bound, asked["largest"]), f"{where}: {name} is {got}, not {exact}, within {bound}"
    finite = v[np.isfinite(v)].astype(LONG)
    if finite.size == 0:
        assert np.isnan(statistics).all(), f"{where}: statistics of no values"
    else:
        assert statistics[:2] == [finite.min(), finite.max()], f"{where}: V_min, V_max {statistics[:2]}"
        bound = TWO**-52 * np.abs(finite).sum() + TWO**-1074
        too_large = np.abs(finite).sum() > np.finfo(float).max and np.isnan(statistics[2])
        right = abs(statistics[2] - finite.mean()) <= bound
        assert too_large or right, f"{where}: V_mean {statistics[2]}, not {finite.mean()}"
    if energy is None or (truth["energy_size"] > LONG("1e300") and (skip or len(truth["pairs"]) != 2)):
        return
    pairs = set() if skip else truth["pairs"]
    bound = truth["energy_bound"] if not pairs else 0
    right = np.isnan(energy) if len(pairs) == 2 else energy == min(pairs) * LONG(np.inf) if pairs else (
        abs(energy - truth["energy"]) <= bound)
    assert right, f"{where}: energy {energy}, not {truth['energy']} within {bound}, pairs on one place {pairs}"


def judge_set(file, drawn, truths, asked, skip, where):
    """Checks all results of a set. Returns whether a problem has failed."""
    group, kind, batch = file[f"potential/{drawn['name']}"], drawn["kind"], drawn["batch"]
    result, attrs, lattice = {key: group[key][...] for key in numbers_of(group)}, dict(group.attrs), kind == "lattice"
    of_targets = {"lattice": ["origin", "spacing"], "points": ["point_offset"], "charges": ["offset"]}[kind]
    names = ["V", "info", "V_min", "V_max", "V_mean", *of_targets, *["E"] * asked["field"]]
    names += ["energy"] * ("group" in drawn["data"])
    assert set(result) == set(names), f"{where}: datasets {set(result)}"
    starts = np.concatenate([[0], np.cumsum([truth["targets"] for truth in truths])]).astype(int)
    shape = (batch, *drawn["attrs"]["shape"][::-1]) if lattice else (starts[-1],)
    for name, of_value in [("V", ()), ("E", (3,))][: 1 + asked["field"]]:
        assert result[name].shape == (*shape, *of_value) and result[name].dtype == asked["dtype"], f"{where}: {name}"
    for name, unit in zip(("V", "E", "energy"), UNITS[asked["unit"]]):
        assert name not in result or group[name].attrs["unit"].decode() == unit, f"{where}: unit of {name}"
    assert attrs["targets"].decode() == kind and attrs["output_unit"].decode() == asked["unit"], f"{where}: {attrs}"
    assert not lattice or tuple(attrs["shape"]) == tuple(drawn["attrs"]["shape"]), f"{where}: {attrs}"
    assert bool(attrs.get("field", 0)) == asked["field"], f"{where}: {attrs}"
    assert bool(attrs.get("widths", 0)) == ("width" in drawn["data"]), f"{where}: {attrs}"
    for name, otherwise in (("softening", 0), ("cutoff", 0), ("screening_length", 0), ("width", 0), ("dielectric", 1),
                            ("temperature", 298.15)):
        exact = asked.get(name, LONG(drawn["attrs"].get(name, otherwise)))
        assert abs(LONG(attrs.get(name, otherwise)) - exact) <= TWO**-52 * exact, f"{where}: {attrs}"
    for p in range(batch):
        for name in of_targets[: 2 * lattice]:
            exact = places_of(drawn, p)[name]
            assert (abs(result[name][p].astype(LONG) - exact) <= TWO**-52 * abs(exact)).all(), f"{where}: {name}"
    assert lattice or result[of_targets[0]].tolist() == starts.tolist(), f"{where}: {of_targets}"
    v, e = result["V"].reshape(-1), result["E"].reshape(-1, 3) if asked["field"] else np.zeros((starts[-1], 3))
    for p, truth in enumerate(truths):
        mine = slice(starts[p], starts[p + 1])
        judge_problem(result, p, v[mine], e[mine], truth, asked, skip, f"{where}, problem {p}")
    verification = file[f"verification/potential/{drawn['name']}"]
    assert verification["verdict"][...].tolist() == [1] * batch, f"{where}: verdicts"
    assert (verification["error_over_bound"][...] <= 1).all(), f"{where}: error_over_bound"
    counted = [int(verification.attrs[key]) for key in ("checked", "agreed", "disagreed")]
    assert counted == [batch, batch, 0], f"{where}: {counted}"
    return bool((result["info"] < 0).any())


# ---- tampering

def tamper(rng, path, drawn, truths, asked):
    """Changes one stored number by more than its bound, or a stored unit, attribute or verdict. Returns what was
    changed."""
    p = int(rng.integers(drawn["batch"]))
    truth, numbers = truths[p], truths[p]["targets"] > 0
    with results_to_change(path) as file:
        group = file[f"potential/{drawn['name']}"]
        what = str(rng.choice(["info", "V_mean", "unit", "attribute", "verdict"] + ["V"] * 2 * numbers +
                              ["E"] * 2 * (numbers and asked["field"]) + ["energy"] * ("energy" in group)))
        if what == "unit":
            group["V"].attrs["unit"] = np.bytes_("e/angstrom" if asked["unit"] != "e/angstrom" else "volt")
        elif what == "attribute":
            name = str(rng.choice(["softening", "cutoff", "screening_length", "width", "dielectric"]))
            group.attrs[name] = 1.5 * group.attrs.get(name, 0) + 1
        elif what == "verdict":
            file[f"verification/potential/{drawn['name']}/verdict"][p] = 2
        elif what == "info":
            group["info"][p] += rng.choice([-1, 1])
        else:
            values, index = group[what][...], p
            if what in ("V", "E"):
                index = sum(one["targets"] for one in truths[:p]) + int(rng.integers(truth["targets"]))
                index = index if what == "V" else 3 * index + int(rng.integers(3))
            flat = values.reshape(-1)
            bound = LONG(np.max(truth.get(what + "_bound", 0)))
            if what == "V_mean":
                bound = abs(LONG(group["V_max"][p])) + abs(LONG(group["V_min"][p]))
            # The change exceeds the bound and the rounding of the type. NaN becomes 0.5. Numbers that are or would
            # become infinite, and some others, become NaN.
            changed = LONG(flat[index]) + 4 * bound + abs(flat[index]) / TWO**20 + LONG("1e-300" if bound else "1e-3")
            in_range = np.isfinite(flat[index]) and changed < asked["largest"] / 2
            flat[index] = changed if in_range and chance(rng, 0.8) else 0.5 if np.isnan(flat[index]) else np.nan
            group[what][...] = values
        return f"{what} of problem {p}"


# ---- the test

def others_of(smallbatch, tmp_path):
    """Returns arguments of `run` for every backend of this machine, except the CPU's best instruction set."""
    with open_problem_file(tmp_path / "probe.h5") as file:
        group = file.create_group("potential/a")
        group["position"], group["charge"], group.attrs["targets"] = np.ones((1, 3)), np.ones(1), np.bytes_("charges")
    asked = [["--device", "reference"], ["--device", "cuda"]]
    asked += [["--device", "cpu", "--instruction-set", name] for name in ("baseline", "avx2", "avx512", "best")]
    found = []
    for arguments in asked:
        code = smallbatch("run", "probe.h5", "-o", "probed.h5", "--overwrite", *arguments, expect=None).returncode
        assert code in (0, 5 if "cuda" in arguments else 2), arguments
        found += [arguments] if code == 0 else []
    return found


def draw_file(rng, double):
    """Draws sets until the documentation defines all results. Returns the sets with their right results and
    requests."""
    sets = {}
    for _ in range(1 + chance(rng, 0.3)):
        undecided = True
        while undecided:
            drawn = draw_set(rng, double)
            asked = asked_of(drawn, double)
            truths = [truth_of(drawn, p, asked) for p in range(drawn["batch"])]
            undecided = any(truth["undecided"] for truth in truths)
        sets[drawn["name"]] = (drawn, truths, asked)
    return list(sets.values())


@np.errstate(invalid="ignore")
def test_random_files_have_the_answers_of_long_double(smallbatch, tmp_path, pytestconfig):
    seed, devices = pytestconfig.getoption("random_seed"), others_of(smallbatch, tmp_path)
    number_of_files = pytestconfig.getoption("random_files")
    for number in range(DEFAULT_FILES if number_of_files is None else number_of_files):
        rng = np.random.default_rng([seed, number])
        precision, singular = str(rng.choice(["single", "double"])), str(rng.choice(["inf", "skip"]))
        sets = draw_file(rng, precision == "double")
        write(tmp_path / "p.h5", [drawn for drawn, _, _ in sets])
        for device in (["--device", "cpu"], devices[rng.integers(len(devices))]):
            more = ["--precision", precision, "--singular", singular, *(["--memory", "4MiB"] * chance(rng, 0.2))]
            where = f"file {number} of seed {seed}, run {' '.join(device + more)}"
            done = smallbatch("run", "p.h5", "-o", "r.h5", "--overwrite", *device, *more, expect=None)
            assert done.returncode in (0, 1), f"{where}: exit code {done.returncode}\n{done.stderr}"
            with h5py.File(tmp_path / "r.h5") as file:
                failed = [judge_set(file, *one, singular == "skip", f"{where}, set {one[0]['name']}") for one in sets]
            assert done.returncode == any(failed), f"{where}: exit code {done.returncode}"
        one = sets[rng.integers(len(sets))]
        if chance(rng, 0.75) or one[0]["batch"] == 0:
            continue
        code = smallbatch("verify", "p.h5", "r.h5", expect=None).returncode
        assert code == any(failed), f"{where}: verify gives {code}"
        what = tamper(rng, tmp_path / "r.h5", *one)
        done = smallbatch("verify", "p.h5", "r.h5", "--json", expect=None)
        found = done.returncode == 3 or (done.returncode == 1 and any(
            told["verification"]["disagreed"] for told in json.loads(done.stdout)["sets"]))
        assert found, f"{where}: verify does not see that {what} of {one[0]['name']} was changed"
