"""Random small files of pair energies. The energies are compared with sums in NumPy's long double. The units come from
random_potentials_test.py. Files with a fault must be refused.

Requests, bounds and statuses follow io/FORMAT.md and physics/pair_energy.hpp. A set is drawn again if the right answer
depends on rounding, or if the documentation does not define it."""

import json
import os

import h5py
import numpy as np
import pytest

from tests.app.long_interactions import bounds, interaction
from tests.app.random_potentials_test import (CHARGES, LENGTHS, LONG, SAME_PLACE, TWO, UNITS, asked_of, chance,
                                              draw_interaction, norm, others_of, widths_of)
from tests.problems import open_problem_file, results_to_change

pytestmark = pytest.mark.skipif(np.finfo(np.longdouble).nmant < 63, reason="long double is no longer than double here")
DEFAULT_FILES = 170


# ---- drawing

def draw_set(rng, name, double):
    batch, size = int(rng.choice([0, 1, 1, 2, 2, 3, 5])), 10 ** rng.uniform(-1, 2)
    counts = rng.integers(0, 4 if chance(rng, 0.3) else 60, batch) * (rng.random(batch) < 0.9)
    ends, total = np.concatenate([[0], np.cumsum(counts)]).astype(int), int(counts.sum())
    unit, of_charge = list(LENGTHS)[rng.integers(len(LENGTHS))], [None, "e", "C"][rng.integers(3)]
    real = str(rng.choice(["<f4", ">f4", "<f8", "<f8", ">f8"]))
    position = size * rng.uniform(-1, 1, (total, 3)) + size * rng.uniform(-20, 20, 3) * chance(rng, 0.5)
    charge = rng.uniform(0.1, 1, total) * rng.choice([-1, 1] if chance(rng, 0.7) else [1], total)
    charge *= 10 ** rng.uniform(-5, 5) if chance(rng, 0.3) else 1
    charge[rng.random(total) < rng.choice([0, 0.2])] = 0
    data = {"position": (position / float(LENGTHS[unit])).astype(real),
            "charge": (charge / float(CHARGES[of_charge])).astype(real)}
    attrs = {"output_unit": str(rng.choice(list(UNITS)))} if chance(rng, 0.6) else {}
    if attrs.get("output_unit") == "kT/e" and chance(rng, 0.5):
        attrs["temperature"] = 10 ** rng.uniform(0, 3.5)
    for key, low, high in (("softening", -2, 0.5), ("cutoff", -0.5, 0.5)):
        if chance(rng, 0.3):
            attrs[key] = size * 10 ** rng.uniform(low, high) / float(LENGTHS[unit])
    units = {"position": unit, "charge": of_charge}
    draw_interaction(rng, size, unit, total, attrs, data, units)
    if chance(rng, 0.4):
        attrs["dielectric"] = rng.uniform(0.5, 80)
    if chance(rng, 0.6):
        attrs["per_charge"] = [True, np.int32(1), np.int64(1), 0][rng.integers(4)]
    if batch != 1 or chance(rng, 0.5):
        data["offset"] = ends.astype(rng.choice(["<i4", "<i8"]))
    if chance(rng, 0.5):
        data["group"] = rng.choice(np.array([1, 1, 2, 2, *rng.choice([[0, 3], [257, -255]])], "<i4"), total)
    for begin, end in zip(ends, ends[1:]):
        if end - begin > 1 and chance(rng, 0.3):  # charges at one position
            data["position"][begin + 1 : begin + int(rng.integers(2, 4))] = data["position"][begin]
        if end > begin and chance(rng, 0.12):
            values = data[str(rng.choice(["position", "charge"]))][begin:end].reshape(-1)
            values[rng.integers(values.size)] = rng.choice([np.nan, np.inf, 1e160 if double and real != "<f4" and (
                real != ">f4") else 1e37])
    return {"name": name, "data": data, "units": units, "attrs": attrs, "batch": batch,
            "ends": ends, "kind": "pairs"}


def write(path, sets):
    with open_problem_file(path) as file:
        for drawn in sets:
            group = file.create_group(f"pair_energy/{drawn['name']}")
            for name, values in drawn["data"].items():
                group[name] = values
                if drawn["units"].get(name):
                    group[name].attrs["unit"] = drawn["units"][name]
            for name, value in drawn["attrs"].items():
                group.attrs[name] = np.bytes_(value) if isinstance(value, str) else value


# ---- the truth

def truth_of(drawn, p, asked, skip):
    """Returns the truth about problem p: info, the energy and the energies of charges, with their bounds. The bound is
    0 if an energy is infinite or NaN. `undecided`: the documentation leaves the answer to rounding."""
    mine, unit = slice(drawn["ends"][p], drawn["ends"][p + 1]), LENGTHS[drawn["units"]["position"]]
    position = drawn["data"]["position"][mine].astype(LONG) * unit
    charge = drawn["data"]["charge"][mine].astype(LONG) * CHARGES[drawn["units"]["charge"]]
    nothing = {"info": 0, "energy": LONG(np.nan), "bound": LONG(0), "undecided": False, "of_charges": np.full(len(charge), np.nan, LONG),
               "bounds": np.zeros(len(charge), LONG)}
    width = widths_of(drawn, p, asked)
    if not all(np.isfinite(x).all() for x in (position, charge, width)) or (width < 0).any():
        return nothing | {"info": -1}
    if not len(charge):
        return nothing | {"energy": LONG(0)}
    most = max(np.abs(position - position[0]).max(), np.abs(charge).max()) / asked["limit"]
    if most > 0.5:
        return nothing | {"info": -2, "undecided": most < 2}
    meet = (charge[:, None] != 0) & (charge[None] != 0) & ~np.eye(len(charge), dtype=bool)
    if "group" in drawn["data"]:
        one, two = (drawn["data"]["group"][mine] == k for k in (1, 2))
        meet &= (one[:, None] & two[None]) | (two[:, None] & one[None])
    softening, cutoff, factor = asked["softening"], asked["cutoff"], asked["factor"]
    screening_length, width = asked["screening_length"], np.hypot(width[:, None], width[None])
    r, product = norm(position[:, None] - position[None]), charge[:, None] * charge[None]
    doubt = (norm(position) / TWO**52 * (unit != 1))[:, None] + (norm(position) / TWO**52 * (unit != 1))[None]
    can_be_on = meet & (softening == 0) & (width == 0)
    on = can_be_on & (r < SAME_PLACE)
    summed = meet & ~on
    rho = np.where(summed & (r + softening > 0), np.sqrt(r * r + softening * softening), 1)
    energy = factor * np.where(summed, product * interaction(r, rho, cutoff, screening_length, width)[0], 0)
    rho = np.where(summed & (r + softening == 0), 0, rho)
    rho, of_v, _, lost = bounds(rho, screening_length, np.where(summed, width, 0), asked["double"])
    coordinate, length = TWO**-51 if asked["double"] else TWO**-23, np.minimum(rho, cutoff) if cutoff else rho
    relative = coordinate * (4 if softening else 2)
    extent, wide = norm(position - position[0]).max(), 4 if cutoff else 1
    slack = TWO**-51 * (3 + (softening > 0) + (cutoff > 0) + (screening_length > 0) + width.any()) * wide + 2 * wide * doubt / length
    share = factor * np.abs(product) * summed / rho * (2 * (r < LONG("1.01") * cutoff) if cutoff else 1) * of_v
    bound = share * (relative + coordinate * extent / length + slack) + (
        lost * factor * summed * np.maximum(np.abs(charge)[:, None], np.abs(charge)[None]))
    undecided = [can_be_on & (r > SAME_PLACE / 2) & (r < 2 * SAME_PLACE), summed & (doubt > rho * TWO**-12),
                 can_be_on & (doubt > SAME_PLACE / 4), bool(cutoff) and cutoff < extent * TWO**-14]

    def with_infinities(sums, on_one_place):
        values = LONG(0) if skip else on_one_place
        return np.where(values == 0, sums, values)

    def infinity_of(pairs, axes):
        above, below = (pairs & (product > 0)).any(axes), (pairs & (product < 0)).any(axes)
        return np.where(above & below, np.nan, np.where(above, np.inf, np.where(below, -np.inf, 0)))

    singular, whole = infinity_of(on, 1), infinity_of(on, (0, 1))
    return nothing | {"info": int(on.sum()) // 2, "energy": with_infinities(energy.sum() / 2, whole), "bound": bound.sum() / 2,
                      "of_charges": with_infinities(energy.sum(1) / 2, singular), "bounds": bound.sum(1) / 2,
                      "undecided": any(np.any(x) for x in undecided)}


# ---- judging

def agree(got, exact, bound):
    same = (got == exact) | (np.isnan(got) & np.isnan(exact.astype(float)))
    return bool(np.all(same | (np.abs(got - exact) <= bound + np.abs(exact) * TWO**-52)))


def judge_set(file, drawn, truths, asked, where):
    """Checks all results of a set. Returns whether a problem has failed."""
    group, verification = file[f"pair_energy/{drawn['name']}"], file[f"verification/pair_energy/{drawn['name']}"]
    info, wants_charges = group["info"][...], bool(drawn["attrs"].get("per_charge", 0))
    assert info.tolist() == [truth["info"] for truth in truths], f"{where}: info"
    assert group["energy"].attrs["unit"].decode() == UNITS[asked["unit"]][2], f"{where}: unit"
    assert ("energy_per_charge" in group) == wants_charges, f"{where}: energies of charges"
    for p, truth in enumerate(truths):
        got = LONG(group["energy"][p])
        assert agree(got, truth["energy"], truth["bound"]), f"{where}, problem {p}: {got}, not {truth['energy']}"
        if wants_charges:
            got = group["energy_per_charge"][drawn["ends"][p] : drawn["ends"][p + 1]].astype(LONG)
            assert agree(got, truth["of_charges"], truth["bounds"]), f"{where}, problem {p}: energies of charges"
    assert verification["verdict"][...].tolist() == [1] * drawn["batch"], f"{where}: verdicts"
    return bool((info < 0).any())


# ---- tampering, and what is wrong with a file

def tamper(rng, path, drawn, truths):
    """Changes one stored number by more than its bound. Returns the name of the number. The set must have problems."""
    p = int(rng.integers(drawn["batch"]))
    with results_to_change(path) as file:
        group = file[f"pair_energy/{drawn['name']}"]
        what, index, bound = str(rng.choice(["info", "energy", "energy"])), p, truths[p]["bound"]
        if "energy_per_charge" in group and drawn["ends"][p + 1] > drawn["ends"][p] and chance(rng, 0.4):
            what, k = "energy_per_charge", int(rng.integers(drawn["ends"][p + 1] - drawn["ends"][p]))
            index, bound = int(drawn["ends"][p]) + k, truths[p]["bounds"][k]
        value = group[what][index]
        if what == "info":
            group[what][index] = value + rng.choice([-1, 1])
        elif np.isfinite(value) and chance(rng, 0.8):
            group[what][index] = float(value + 4 * bound + abs(value) / TWO**30 + LONG("1e-300"))
        else:
            group[what][index] = 0.5 if np.isnan(value) else np.nan
        return f"{what}[{index}]"


def replace(group, name, values):
    if name in group:
        del group[name]
    group[name] = values


WRONG = {
    "no position": lambda g: g.__delitem__("position"),
    "no charge": lambda g: g.__delitem__("charge"),
    "charges of integers": lambda g: replace(g, "charge", np.ones(len(g["charge"]), "i4")),
    "positions of two columns": lambda g: replace(g, "position", np.ones((len(g["charge"]), 2))),
    "another charge": lambda g: replace(g, "charge", np.ones(len(g["charge"]) + 1, g["position"].dtype)),
    "groups of others": lambda g: replace(g, "group", np.ones(len(g["charge"]) + 2, "i4")),
    "groups of floats": lambda g: replace(g, "group", np.ones(len(g["charge"]))),
    "an offset that falls": lambda g: replace(g, "offset", [0, 5, 3, len(g["charge"])]),
    "an offset too far": lambda g: replace(g, "offset", [0, len(g["charge"]) + 1]),
    "targets": lambda g: g.attrs.__setitem__("targets", np.bytes_("charges")),
    "a field": lambda g: g.attrs.__setitem__("field", 1),
    "per_charge of 3": lambda g: g.attrs.__setitem__("per_charge", 3),
    "per_charge misspelt": lambda g: g.attrs.__setitem__("per_charges", 1),
    "widths of integers": lambda g: (g.attrs.pop("width", 0), replace(g, "width", np.ones(len(g["charge"]), "i4"))),
    "widths of others": lambda g: (g.attrs.pop("width", 0), replace(g, "width", np.ones(len(g["charge"]) + 1))),
    "a width in two places": lambda g: (g.attrs.__setitem__("width", 1.0), replace(g, "width", np.ones(len(g["charge"])))),
    "a width and screening": lambda g: (g.attrs.__setitem__("screening_length", 1.0), g.attrs.__setitem__("width", 1.0)),
    "a softening below 0": lambda g: g.attrs.__setitem__("softening", -1.0),
    "a dielectric of 0": lambda g: g.attrs.__setitem__("dielectric", 0.0),
    "a unit of nobody": lambda g: g.attrs.__setitem__("output_unit", np.bytes_("joule")),
    "a length of nobody": lambda g: g["position"].attrs.__setitem__("unit", np.bytes_("mile")),
    "particles beside charges": lambda g: g.attrs.__setitem__("particles", np.bytes_("x")),
}


# ---- the test

def draw_decided(rng, name, double, skip):
    while True:
        drawn = draw_set(rng, name, double)
        asked = asked_of(drawn, double)
        truths = [truth_of(drawn, p, asked, skip) for p in range(drawn["batch"])]
        if not any(truth["undecided"] for truth in truths):
            return drawn, truths, asked


@np.errstate(invalid="ignore", over="ignore")
def test_random_files_have_the_energies_of_long_double(smallbatch, tmp_path, pytestconfig):
    seed, devices = pytestconfig.getoption("random_seed"), others_of(smallbatch, tmp_path)
    number_of_files = pytestconfig.getoption("random_files")
    for number in range(DEFAULT_FILES if number_of_files is None else number_of_files):
        rng = np.random.default_rng([seed, number])
        precision, singular = str(rng.choice(["single", "double"])), str(rng.choice(["inf", "skip"]))
        sets = [draw_decided(rng, name, precision == "double", singular == "skip") for name in "xy"[: 1 + chance(rng, 0.2)]]
        write(tmp_path / "p.h5", [drawn for drawn, _, _ in sets])
        for device in (["--device", "cpu"], devices[rng.integers(len(devices))]):
            more = ["--precision", precision, "--singular", singular, *(["--memory", "1MiB"] * chance(rng, 0.2))]
            where = f"file {number} of seed {seed}, run {' '.join(device + more)}"
            done = smallbatch("run", "p.h5", "-o", "r.h5", "--overwrite", *device, *more, expect=None)
            assert done.returncode in (0, 1), f"{where}: exit code {done.returncode}\n{done.stderr}"
            with h5py.File(tmp_path / "r.h5") as file:
                failed = [judge_set(file, *one, f"{where}, set {one[0]['name']}") for one in sets]
            assert done.returncode == any(failed), f"{where}: exit code {done.returncode}"
        drawn, truths, _ = sets[0]
        if chance(rng, 0.6) or not drawn["batch"]:
            continue
        assert smallbatch("verify", "p.h5", "r.h5", expect=None).returncode == any(failed), f"{where}: verify"
        what = tamper(rng, tmp_path / "r.h5", drawn, truths)
        told = json.loads(smallbatch("verify", "p.h5", "r.h5", "--json", expect=1).stdout)["sets"]
        assert any(one["verification"]["disagreed"] for one in told), f"{where}: verify does not see {what}"
        wrong = list(WRONG)[rng.integers(len(WRONG))]
        with h5py.File(tmp_path / "p.h5", "r+") as file:
            WRONG[wrong](file["pair_energy/x"])
        os.remove(tmp_path / "r.h5")
        done = smallbatch("run", "p.h5", "-o", "r.h5", expect=None)
        assert done.returncode == 3 and "pair_energy/x" in done.stderr, f"{where}, {wrong}: {done.stderr}"
        assert not (tmp_path / "r.h5").exists(), f"{where}, {wrong}: a result was left behind"
