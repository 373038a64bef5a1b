"""Screened and Gaussian charges as a user runs them. NumPy computes V, E and energies from the definitions in
io/FORMAT.md. The lengths (screening length, width, softening, cut-off) must have their effect in every form of file and
of run."""

import json
import math

import h5py
import numpy as np
import pytest

from tests.problems import VOLT, add_pair_energy, open_problem_file, results_to_change

OFFSET = np.array([0, 0, 1, 40, 140])  # problems of 0, 1, 39 and 100 charges
POINT_OFFSET = np.array([0, 3, 5, 5, 65])
ORIGIN, SPACING, SHAPE = np.array([-1.01, 0.02, 0.13]), np.array([1.1, 0.9, 1.3]), (6, 5, 4)
erf = np.vectorize(math.erf, otypes=[float])


def g_of(r, width=0.0, softening=0.0, cutoff=0.0, screening_length=0.0):
    """Returns g(r) and -g'(r) / r, in 1/angstrom and 1/angstrom^3, for r > 0."""
    width = np.broadcast_to(width, r.shape)
    rho = np.sqrt(r**2 + softening**2)
    g, slope = 1 / rho, 1 / rho**3
    if screening_length:
        decay = np.exp(-rho / screening_length)
        g, slope = g * decay, (1 + rho / screening_length) * decay / rho**3
    wide = width > 0
    w, s = width[wide], r[wide]
    g[wide] = erf(s / (np.sqrt(2) * w)) / s
    slope[wide] = (g[wide] - np.sqrt(2 / np.pi) / w * np.exp(-(s**2) / (2 * w**2))) / s**2
    if cutoff:
        u = np.clip(1 - (r / cutoff) ** 2, 0, None)
        g, slope = u**2 * g, u**2 * slope + 4 * u / cutoff**2 * g
    return g, slope


def potentials(points, position, charge, width, own=False, **lengths):
    """Returns V, E, and the sums of the magnitudes of the terms of V and of E, in volt and volt/angstrom. With `own`,
    the points are the charges, and no charge acts on itself."""
    d = points[:, None] - position[None]
    r = np.sqrt((d**2).sum(-1))
    if own:
        np.fill_diagonal(r, 1)
    g, slope = g_of(r, np.broadcast_to(width, charge.shape)[None], **lengths)
    if own:
        np.fill_diagonal(g, 0), np.fill_diagonal(slope, 0)
    v, e = VOLT * charge * g, VOLT * charge[None, :, None] * d * slope[..., None]
    return v.sum(1), e.sum(1), np.abs(v).sum(1), np.linalg.norm(e, axis=-1).sum(1)


def energies(position, charge, width, group=None, **lengths):
    """Returns the energy of each charge and the sum of the magnitudes of its terms, in volt * e."""
    d = position[:, None] - position[None]
    r = np.sqrt((d**2).sum(-1)) + np.eye(len(charge))
    wide = np.broadcast_to(width, charge.shape)
    g, _ = g_of(r, np.sqrt(wide[:, None] ** 2 + wide[None] ** 2), **lengths)
    meet = ~np.eye(len(charge), dtype=bool)
    if group is not None:
        meet &= ((group[:, None] == 1) & (group[None] == 2)) | ((group[:, None] == 2) & (group[None] == 1))
    terms = VOLT * charge[:, None] * charge[None] * np.where(meet, g, 0) / 2
    return terms.sum(1), np.abs(terms).sum(1)


def problem(seed=5):
    rng = np.random.default_rng(seed)
    count = OFFSET[-1]
    width = rng.uniform(0.2, 3, count) * (rng.random(count) < 0.8)  # some charges are points
    return {"position": rng.uniform(0, 8, (count, 3)), "charge": rng.uniform(-1, 1, count),
            "group": rng.integers(0, 4, count).astype(np.int8), "points": rng.uniform(-2, 10, (POINT_OFFSET[-1], 3)),
            "width": width}


def lattice_points():
    z, y, x = np.meshgrid(*(ORIGIN[a] + SPACING[a] * np.arange(SHAPE[a]) for a in (2, 1, 0)), indexing="ij")
    return np.stack([x, y, z], -1).reshape(-1, 3)


def fill(file, of, asked, unit=None, width_as=lambda width: width):
    """Writes the sets lattice, points, charges and pairs. `of` has the charges, and `asked` the lengths: an array
    becomes a dataset, and a number becomes an attribute."""
    length = {None: 1, "nm": 0.1}[unit]
    for kind in ("lattice", "points", "charges", "pairs"):
        group = file.create_group("pair_energy/pairs" if kind == "pairs" else f"potential/{kind}")
        group["position"], group["charge"], group["group"] = of["position"] * length, of["charge"], of["group"]
        group["offset"] = OFFSET
        if unit:
            group["position"].attrs["unit"] = unit
        if kind == "lattice":
            group["origin"], group["spacing"] = ORIGIN * length, SPACING * length
            group.attrs["shape"] = SHAPE
        elif kind != "pairs":
            group.attrs["targets"] = kind
        if kind == "points":
            group["points"], group["point_offset"] = of["points"] * length, POINT_OFFSET
        group.attrs["per_charge" if kind == "pairs" else "field"] = 1
        for name, value in asked.items():
            if np.ndim(value):
                group.create_dataset(name, data=width_as(value * length))
            else:
                group.attrs[name] = value * length


def check(path, of, asked, precision):
    """Compares the results with NumPy. A wrong kind of interaction, the width of another charge or a lost digit would
    exceed the bounds."""
    lengths = {name: value for name, value in asked.items() if name != "width"}
    uncut = lengths | {"cutoff": 0.0}  # a cut-off makes terms smaller, but not their rounding errors
    width = np.broadcast_to(asked.get("width", 0.0), of["charge"].shape)
    tolerance = 4e-6 if precision == "float32" else 2e-13
    with h5py.File(path) as file:
        for p, (begin, end) in enumerate(zip(OFFSET, OFFSET[1:])):
            mine = slice(begin, end)
            charges = of["position"][mine], of["charge"][mine], width[mine]
            at_points = slice(POINT_OFFSET[p], POINT_OFFSET[p + 1])
            for kind, points, stored in (("lattice", lattice_points(), p), ("points", of["points"][at_points], at_points),
                                         ("charges", charges[0], mine)):
                result = file[f"potential/{kind}"]
                v, e = potentials(points, *charges, own=kind == "charges", **lengths)[:2]
                v_size, e_size = potentials(points, *charges, own=kind == "charges", **uncut)[2:]
                assert (np.abs(result["V"][stored].reshape(-1) - v) <= tolerance * v_size).all(), kind
                error = np.linalg.norm(result["E"][stored].reshape(-1, 3) - e, axis=-1)
                assert (error <= 4 * tolerance * (e_size + v_size)).all(), kind
                each, _ = energies(*charges, of["group"][mine], **lengths)
                _, size = energies(*charges, of["group"][mine], **uncut)
                assert abs(result["energy"][p] - each.sum()) <= 1e-12 * size.sum()
            result = file["pair_energy/pairs"]
            assert abs(result["energy"][p] - each.sum()) <= tolerance * size.sum()
            assert (np.abs(result["energy_per_charge"][mine] - each) <= tolerance * size).all()
        for kind in ("potential/lattice", "potential/points", "potential/charges", "pair_energy/pairs"):
            assert (file[kind]["info"][...] == 0).all()
            assert (file[f"verification/{kind}/verdict"][...] == 1).all()


def cases():
    width = problem()["width"]
    return {"screened": {"screening_length": 3.5},
            "screened, softened and cut off": {"screening_length": 3.5, "softening": 0.3, "cutoff": 6.5},
            "one width": {"width": 0.75}, "one width and a cut-off": {"width": 0.75, "cutoff": 6.5},
            "widths": {"width": width}, "widths and a cut-off": {"width": width, "cutoff": 6.5}}


@pytest.mark.parametrize("device", ["cpu", "reference"])
@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("case", cases())
def test_v_e_and_energies_are_numpys(smallbatch, tmp_path, case, precision, device):
    of, asked = problem(), cases()[case]
    with open_problem_file(tmp_path / "p.h5") as file:
        fill(file, of, asked, unit="nm" if precision == "float64" else None)
    smallbatch("run", "p.h5", "-o", "r.h5", "--precision", precision, "--device", device, "--verify", "all")
    check(tmp_path / "r.h5", of, asked, precision)
    smallbatch("verify", "p.h5", "r.h5")
    with h5py.File(tmp_path / "r.h5") as file:
        for kind in ("potential/lattice", "pair_energy/pairs"):
            said = file[kind].attrs
            assert said.get("screening_length", 0) == pytest.approx(asked.get("screening_length", 0), rel=1e-15)
            of_all = 0 if case.startswith("widths") else asked.get("width", 0)
            assert said.get("width", 0) == pytest.approx(of_all, rel=1e-15)
            assert said.get("widths", 0) == case.startswith("widths")


def big_endian(width):
    return width.astype(">f8")


@pytest.mark.parametrize("how", ["big-endian", "chunked", "unit"])
def test_widths_in_any_form_of_storage_give_the_same(smallbatch, tmp_path, how):
    of = problem()
    with open_problem_file(tmp_path / "a.h5") as file:
        fill(file, of, {"width": of["width"]})
    with open_problem_file(tmp_path / "b.h5") as file:
        fill(file, of, {"width": of["width"]}, width_as=big_endian if how == "big-endian" else lambda width: width)
        for group in [*file["potential"].values(), file["pair_energy/pairs"]]:
            if how == "chunked":
                del group["width"]
                group.create_dataset("width", data=of["width"], chunks=(17,), compression="gzip", shuffle=True)
            elif how == "unit":
                group["width"][...] = of["width"] * 2.0**-3
                group["width"].attrs["unit"] = "nm"
    if how == "unit":  # width * 2^-3 in nm is 1.25 times the width in angstrom
        of["width"] = of["width"] * 1.25
        smallbatch("run", "b.h5", "-o", "b_r.h5", "--precision", "float64")
        return check(tmp_path / "b_r.h5", of, {"width": of["width"]}, "float64")
    for name in "ab":
        smallbatch("run", f"{name}.h5", "-o", f"{name}_r.h5")
    with h5py.File(tmp_path / "a_r.h5") as a, h5py.File(tmp_path / "b_r.h5") as b:
        for name in ("potential/lattice/V", "potential/points/E", "pair_energy/pairs/energy_per_charge"):
            assert np.array_equal(a[name], b[name])
    smallbatch("verify", "a.h5", "b_r.h5")


def fill_large(path, asked, count):
    """Writes ragged sets that fill many blocks with --memory 1MiB, and a lattice that is cut into blocks of planes."""
    rng = np.random.default_rng(11)
    position, charge = rng.uniform(0, 30, (count, 3)), rng.uniform(-1, 1, count)
    offset = np.sort(rng.integers(0, count, 301))
    offset[[0, -1]] = 0, count
    with open_problem_file(path) as file:
        for name, many in (("potential/ragged", count), ("pair_energy/ragged", count), ("potential/planes", 200)):
            group = file.create_group(name)
            group["position"], group["charge"] = position[:many], charge[:many]
            if many == count:
                group["offset"] = offset
            if name == "potential/planes":
                group["origin"], group["spacing"] = np.zeros(3), np.full(3, 0.5)
                group.attrs["shape"] = (70, 60, 50)
            elif name == "potential/ragged":
                group.attrs["targets"] = "charges"
            for key, value in asked.items():
                if np.ndim(value):
                    group[key] = value[:many]
                else:
                    group.attrs[key] = value


def attributes(group):
    return {name: np.asarray(value).tolist() for name, value in group.attrs.items() if name not in ("DIMENSION_LIST",)}


@pytest.mark.parametrize("case", ["screened", "one width", "widths"])
def test_blocks_planes_and_shares_give_the_same_bits(smallbatch, tmp_path, case):
    count = 9000
    fill_large(tmp_path / "p.h5", {"screened": {"screening_length": 4.0}, "one width": {"width": 0.75},
                                   "widths": {"width": np.random.default_rng(12).uniform(0, 3, count)}}[case], count)
    options = ["--verify", "sample=300", "--device", "cpu"]
    smallbatch("run", "p.h5", "-o", "large.h5", *options)
    smallbatch("run", "p.h5", "-o", "small.h5", *options, "--memory", "1MiB")
    shares = [f"share{k}.h5" for k in (1, 2, 3)]
    for k, share in enumerate(shares):
        smallbatch("run", "p.h5", "-o", share, "--shard", f"{k + 1}/3", *options)
        smallbatch("verify", "p.h5", share, "--verify", "sample=100")
    smallbatch("merge", *shares, "-o", "merged.h5")
    smallbatch("verify", "p.h5", "merged.h5", "--verify", "sample=100")
    for name in ("small.h5", "merged.h5"):
        with h5py.File(tmp_path / "large.h5") as large, h5py.File(tmp_path / name) as other:
            for values in ("potential/ragged/V", "potential/planes/V", "pair_energy/ragged/energy"):
                assert np.array_equal(large[values], other[values]), (name, values)
                group = values.rsplit("/", 1)[0]
                assert attributes(large[group]) == attributes(other[group])
                hashes = [file[f"provenance/{group}"].attrs["problems_hash"] for file in (large, other)]
                assert hashes[0] == hashes[1]


CHANGES = {
    "a width": lambda group: group["width"].__setitem__(17, group["width"][17] + 0.01),
    "no widths": lambda group: group.__delitem__("width"),
    "one width": lambda group: (group.__delitem__("width"), group.attrs.__setitem__("width", 0.5)),
    "screening": lambda group: (group.__delitem__("width"), group.attrs.__setitem__("screening_length", 5.0)),
}


@pytest.mark.parametrize("what", CHANGES)
@pytest.mark.parametrize("kind", ["potential/charges", "pair_energy/pairs"])
def test_results_of_other_lengths_are_refused(smallbatch, tmp_path, what, kind):
    of = problem()
    with open_problem_file(tmp_path / "p.h5") as file:
        fill(file, of, {"width": of["width"]})
    smallbatch("run", "p.h5", "-o", "r.h5", "--verify", "none")
    with h5py.File(tmp_path / "p.h5", "r+") as file:
        CHANGES[what](file[kind])
    told = smallbatch("verify", "p.h5", "r.h5", expect=3).stderr
    assert kind in told and ("hash" in told if what == "a width" else "width" in told or "screening_length" in told)


@pytest.mark.parametrize("asked", [{"screening_length": 3.5}, {"width": 3.0}, {"width": problem()["width"] + 2}],
                         ids=["screened", "width", "widths"])
def test_verify_finds_values_of_plain_charges(smallbatch, tmp_path, asked):
    """The test plants the values of plain point charges. A program that ignores or loses the lengths would write these
    values."""
    of = problem()
    with open_problem_file(tmp_path / "p.h5") as file:
        fill(file, of, asked)
    with open_problem_file(tmp_path / "plain.h5") as file:
        fill(file, of, {})
    for name in ("p", "plain"):
        smallbatch("run", f"{name}.h5", "-o", f"{name}_r.h5", "--verify", "none")
    with results_to_change(tmp_path / "p_r.h5") as file, h5py.File(tmp_path / "plain_r.h5") as plain:
        for name in ("potential/lattice/V", "potential/points/E", "potential/charges/energy", "pair_energy/pairs/energy"):
            file[name][...] = plain[name]
    done = smallbatch("verify", "p.h5", "p_r.h5", "--json", expect=1)
    disagreed = {(one["kind"], one["name"]): one["verification"]["disagreed"] for one in json.loads(done.stdout)["sets"]}
    assert disagreed == {("potential", "lattice"): 3, ("potential", "points"): 2, ("potential", "charges"): 2,
                         ("pair_energy", "pairs"): 2}


def test_bad_widths_are_statuses_of_their_problems(smallbatch, tmp_path):
    """Bad widths are negative, NaN, infinite or too large. Two Gaussian charges at one position are not a singular
    pair."""
    position = np.zeros((12, 3))
    position[1::2, 0] = 2
    position[11, 0] = 0
    width = np.array([0.5, -0.5, 0.5, np.nan, np.inf, 1, 1, 1e16, 0.5, 0, 0.5, 0.5])
    asked = dict(position=position, charge=np.ones(12), offset=np.arange(0, 13, 2), output_unit="e/angstrom")
    with open_problem_file(tmp_path / "p.h5") as file:
        pairs = add_pair_energy(file, **asked)
        at_charges = file.create_group("potential/charges")
        file.copy(pairs, at_charges, "x")
        for name in ("position", "charge", "offset"):
            at_charges.move(f"x/{name}", name)
        del at_charges["x"]
        at_charges.attrs.update({"targets": "charges", "output_unit": "e/angstrom"})
        for group in (pairs, at_charges):
            group["width"] = width
    smallbatch("run", "p.h5", "-o", "r.h5", expect=1)
    smallbatch("verify", "p.h5", "r.h5", expect=1)
    one = math.erf(2 / (math.sqrt(2) * 0.5)) / 2
    with h5py.File(tmp_path / "r.h5") as file:
        for kind in ("pair_energy/pairs", "potential/charges"):
            assert file[kind]["info"][...].tolist() == [-1, -1, -1, -2, 0, 0]
        u, v = file["pair_energy/pairs/energy"][...], file["potential/charges/V"][...]
        assert np.isnan(u[:4]).all() and np.isnan(v[:8]).all()
        np.testing.assert_allclose(u[4:], [one, math.sqrt(2 / math.pi) / math.sqrt(0.5)], rtol=1e-6)
        # At charge 8, the source is charge 9, a point. At charge 9, the source is charge 8, of width 0.5.
        np.testing.assert_allclose(v[8:], [0.5, one, *[math.sqrt(2 / math.pi) / 0.5] * 2], rtol=1e-6)


def test_lengths_of_minus_0_are_none(smallbatch, tmp_path):
    of = problem()
    lengths = ("softening", "cutoff", "screening_length", "width")
    with open_problem_file(tmp_path / "p.h5") as file:
        fill(file, of, dict.fromkeys(lengths, -0.0))
    smallbatch("run", "p.h5", "-o", "r.h5")
    smallbatch("verify", "p.h5", "r.h5")
    check(tmp_path / "r.h5", of, {}, "float32")


def test_generate_and_info_know_the_lengths(smallbatch, tmp_path):
    few = ["--charges", 20, "--shape", 4, "--batch", 2]
    smallbatch("generate", "charges", "-o", "s.h5", *few, "--screening-length", 8, "--cutoff", 9)
    smallbatch("generate", "charges", "-o", "w.h5", *few, "--pair-energy", "--width", 0.6)
    for name, words, lengths in (("s", "screening length 8 angstrom", (8, 0)),
                                 ("w", "Gaussian charges of width 0.6 angstrom", (0, 0.6))):
        smallbatch("run", f"{name}.h5", "-o", f"{name}_r.h5")
        smallbatch("verify", f"{name}.h5", f"{name}_r.h5")
        for file in (f"{name}.h5", f"{name}_r.h5"):
            assert words in smallbatch("info", file).stdout
            found = json.loads(smallbatch("info", file, "--json").stdout)["sets"][0]
            assert (found["screening_length"], found["width"], found["widths"]) == (*lengths, False)
    for others in (["--softening", 0.1], ["--screening-length", 8]):
        told = smallbatch("generate", "charges", "-o", "x.h5", *few, "--width", 0.6, *others, expect=2).stderr
        assert "--width" in told and others[0] in told
    of = problem()
    with open_problem_file(tmp_path / "d.h5") as file:
        fill(file, of, {"width": of["width"]})
    found = json.loads(smallbatch("info", "d.h5", "--json").stdout)["sets"]
    assert all(one["widths"] and one["width"] == 0 for one in found)
