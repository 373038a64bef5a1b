"""H5MD trajectories of other programs: particles change places, come and go; frames are missing; ids and steps have any
type. NumPy sums the right V. `import`, and a set that names the particles, must both agree with this V."""

import h5py
import numpy as np
import pytest

VOLT = 14.399645478425672
POSITION = np.array([[0.0, 0, 0], [2, 0, 0], [0, 3, 0], [0, 0, 5]])
CHARGE = np.array([1.0, -2, 0.5, 0.25])
ORDER = np.array([[0, 1, 2, 3], [2, 0, 3, 1], [3, 2, 1, 0]])
STEP = np.array([0, 10, 20])
INTEGERS = [order + kind for order in "<>" for kind in ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8")]
TYPES = [*INTEGERS, "<f4", ">f8"]


def right(position, charge):
    distance = np.linalg.norm(position[:, None] - position[None], axis=-1)
    np.fill_diagonal(distance, np.inf)
    return VOLT * (charge / distance).sum(1)


def by_order(frames=range(3)):
    """Returns V at the charges of these frames, with the particles of each frame in the order of ORDER."""
    return np.concatenate([right(POSITION[ORDER[f]], CHARGE[ORDER[f]]) for f in frames])


class Trajectory:
    def __init__(self, path):
        self.path = path
        self.file = h5py.File(path, "w")
        self.particles = self.file.create_group("particles/all")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()

    def element(self, name, value, step=STEP, unit=None, **how):
        """Adds an H5MD element with frames at these steps, or a fixed element if `step` is None."""
        path = name if step is None else f"{name}/value"
        self.particles.create_dataset(path, data=value, **how)
        if step is not None:
            self.particles[f"{name}/step"] = step
        if unit:
            self.particles[path].attrs["unit"] = unit

    def positions(self, value=POSITION[ORDER], step=STEP, unit="Angstrom", **how):
        self.element("position", value, step, unit, **how)

    def charges(self, value=CHARGE, step=None, unit="e", **how):
        self.element("charge", value, step, unit, **how)


def both_ways(smallbatch, tmp_path, given=()):
    """Imports and runs the trajectory. Returns V at the charges, the offsets, the steps and the messages of `import`.
    If no options are `given`, a run of a set that names the particles must give the same results."""
    said = smallbatch("import", "t.h5md", "--targets", "charges", *given, "--overwrite", "-o", "p.h5").stderr
    paths = ["p.h5"]
    if not given:
        with h5py.File(tmp_path / "t.h5md") as trajectory, h5py.File(tmp_path / "d.h5", "w") as file:
            file.attrs["smallbatch_format"] = np.array([1, 8], "i4")
            for name in trajectory:
                trajectory.copy(name, file)
            file.create_group("potential/molecules").attrs.update({"particles": "all", "targets": "charges"})
        paths.append("d.h5")
    found = []
    for path in paths:
        smallbatch("run", path, "--overwrite", "-o", "r.h5", "--precision", "double", expect=None)
        with h5py.File(tmp_path / "r.h5") as file:
            group = file["potential/molecules"]
            offset = group["offset"][...]
            found.append((group["V"][...], offset, group["step"][...].tolist() if "step" in group else None))
    for other in found[1:]:
        np.testing.assert_array_equal(other[0], found[0][0])
        assert other[1].tolist() == found[0][1].tolist() and other[2] == found[0][2]
    return (*found[0], said)


def refused(smallbatch, tmp_path, *says, given=()):
    done = smallbatch("import", "t.h5md", "--targets", "charges", *given, "--overwrite", "-o", "p.h5", expect=3)
    for text in says:
        assert text in done.stderr
    return done.stderr


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("has_frames", [False, True])
def test_particles_that_change_places_keep_their_charges(smallbatch, tmp_path, kind, has_frames):
    with Trajectory(tmp_path / "t.h5md") as t:
        t.positions()
        t.element("id", (ORDER + 1).astype(kind))
        t.charges(CHARGE[ORDER], STEP) if has_frames else t.charges()
    v, offset, step, said = both_ways(smallbatch, tmp_path)
    np.testing.assert_allclose(v, by_order(), rtol=1e-12)
    assert offset.tolist() == [0, 4, 8, 12] and step == [0, 10, 20] and not said


@pytest.mark.parametrize("kind", TYPES)
def test_charges_and_ids_of_other_steps_are_refused(smallbatch, tmp_path, kind):
    for name in ("charge", "id"):
        for steps, is_right in (([0, 10, 20], True), ([0, 5, 10], False), ([0, 10], False)):
            with Trajectory(tmp_path / "t.h5md") as t:
                t.positions()
                t.element("id", ORDER, np.array(steps if name == "id" else STEP, kind))
                t.charges(CHARGE[ORDER], np.array(steps if name == "charge" else STEP, kind))
            if is_right:
                np.testing.assert_allclose(both_ways(smallbatch, tmp_path)[0], by_order(), rtol=1e-12)
            else:
                refused(smallbatch, tmp_path, f"/particles/all/{name}/step")


@pytest.mark.parametrize("value, says", [
    (np.array(["a", "b", "c", "d"], "S1"), ["found string"]),
    (np.array([True, False, True, False]), ["found Boolean"]),
    (np.array([1, 2, 3, 4], h5py.enum_dtype({"a": 1, "b": 2, "c": 3, "d": 4}, basetype="i4")), ["found enumeration"]),
    (np.zeros(4, [("r", "i4"), ("i", "i4")]), ["found compound {r, i} of int32"]),
    (np.array([1, 2, 3, 4.5]), ["whole numbers", "found 4.5"]),
    (np.array([1, 2, 3, 2**63], "u8"), ["int64", "9.22337e+18"]),
    (np.array([1, 2, 3]), ["expected shape (4)", "found (3)"]),
    (np.array([[1, 2, 3, 4]]), ["expected shape (4)", "found (1, 4)"]),
    (np.array([1, 2, 3, 1]), ["frame 0", "the id 1 twice"]),
])
def test_ids_that_cannot_be_read_are_refused(smallbatch, tmp_path, value, says):
    with Trajectory(tmp_path / "t.h5md") as t:
        t.positions()
        t.element("id", value, None)
        t.charges()
    refused(smallbatch, tmp_path, "/particles/all/id", *says)


def test_steps_that_cannot_be_read_do_not_say_that_all_is_well(smallbatch, tmp_path):
    for step in (np.array([b"0", b"10", b"20"]), np.zeros((3, 1)), np.zeros(3, [("r", "f4"), ("i", "f4")])):
        with Trajectory(tmp_path / "t.h5md") as t:
            t.positions()
            t.charges(CHARGE[ORDER], step)
        refused(smallbatch, tmp_path, "/particles/all/charge/step")


ABSENT = [
    ("id", "<i4", {"fillvalue": -1}, -1), ("id", "<u4", {"fillvalue": 2**32 - 1}, 2**32 - 1), ("id", ">i2", {"fillvalue": 0}, 0),
    ("id", "<u8", {"fillvalue": 2**64 - 1}, 2**64 - 1), ("id", "<f8", {"fillvalue": -7.0}, -7), ("id", "<f8", {}, np.nan),
    ("id", "<i8", {}, -1), ("id", "|i1", {"fillvalue": 99, "chunks": (1, 4), "compression": "gzip"}, 99),
    ("position", "<f8", {}, np.nan), ("position", "<f4", {"fillvalue": -999.25}, -999.25),
    ("position", "<f8", {"fillvalue": np.nan, "chunks": (1, 4, 3)}, np.nan),
]


@pytest.mark.parametrize("name, kind, how, value", ABSENT)
@pytest.mark.parametrize("has_frames", [False, True])
@pytest.mark.parametrize("libver", ["earliest", "v110"])
def test_placeholders_are_no_particles(smallbatch, tmp_path, name, kind, how, value, has_frames, libver):
    is_there = np.array([[1, 1, 1, 1], [1, 0, 1, 1], [0, 1, 1, 0]], bool)
    ids, position = (ORDER + 1).astype(kind if name == "id" else "i4"), POSITION[ORDER].astype(kind if name == "position" else "f8")
    (ids if name == "id" else position)[~is_there] = value
    with h5py.File(tmp_path / "t.h5md", "w", libver=(libver, "v110")):
        pass
    with Trajectory(tmp_path / "t.h5md") as t:
        t.positions(position, **(how if name == "position" else {}))
        t.element("id", ids, **(how if name == "id" else {}))
        t.charges(CHARGE[ORDER], STEP) if has_frames else t.charges()
    v, offset, _, said = both_ways(smallbatch, tmp_path)
    expected = [right(POSITION[ORDER[f]][is_there[f]], CHARGE[ORDER[f]][is_there[f]]) for f in range(3)]
    np.testing.assert_allclose(v, np.concatenate(expected), rtol=1e-6)
    assert offset.tolist() == [0, 4, 7, 9] and "3 places without a particle" in said


def test_particles_without_ids_are_their_places(smallbatch, tmp_path):
    position = np.tile(POSITION, (3, 1, 1))
    position[1, 2] = np.nan
    with Trajectory(tmp_path / "t.h5md") as t:
        t.positions(position)
        t.charges()
    v, offset, _, _ = both_ways(smallbatch, tmp_path)
    keep = [0, 1, 3]
    expected = np.concatenate([right(POSITION, CHARGE), right(POSITION[keep], CHARGE[keep]), right(POSITION, CHARGE)])
    np.testing.assert_allclose(v, expected, rtol=1e-12)
    assert offset.tolist() == [0, 4, 7, 11]


@pytest.mark.parametrize("kind, how, fill", [
    ("i4", {"fillvalue": -1}, -1), ("i8", {}, -1), ("f8", {}, np.nan), ("f8", {"fillvalue": -5.0}, -5), ("u2", {}, 0),
    ("i4", {"fillvalue": -2147483647}, -2147483647), ("u4", {"fillvalue": 2**32 - 1}, 2**32 - 1), ("i4", {"fillvalue": 0}, 0), ("u8", {"fillvalue": 2**64 - 1}, 2**64 - 1),
])
@pytest.mark.parametrize("lost", [[3, 4], [1]])
def test_frames_that_were_never_written_are_left_out(smallbatch, tmp_path, kind, how, fill, lost):
    kept = [f for f in range(5) if f not in lost][:3]
    frames = len(kept) + len(lost)
    steps, position, charge, ids = np.empty(frames, kind), np.zeros((frames, 4, 3)), np.zeros((frames, 4)), np.zeros((frames, 4), "i4")
    ids[lost] = -1
    steps[lost] = fill
    for k, frame in enumerate(kept):
        steps[frame], position[frame], charge[frame], ids[frame] = STEP[k], POSITION[ORDER[k]], CHARGE[ORDER[k]], ORDER[k]
    for has_ids in (True, False):
        with Trajectory(tmp_path / "t.h5md") as t:
            t.positions(position, None)
            t.particles.move("position", "value")
            t.particles.move("value", "position/value")
            t.particles.create_dataset("position/step", data=steps, **how)
            t.charges(charge, steps)
            if has_ids:
                t.element("id", ids, steps)
        v, offset, step, said = both_ways(smallbatch, tmp_path)
        np.testing.assert_allclose(v, by_order(range(len(kept))), rtol=1e-12)
        assert step == STEP[: len(kept)].tolist() and f"{len(lost)} were never written" in said


def write_pqr(path, position, charge, names=("O", "H", "N", "C")):
    lines = [f"ATOM {i + 1} {name} RES 1 {x} {y} {z} {q} 1.5" for i, (name, (x, y, z), q) in enumerate(zip(names, position, charge))]
    path.write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize("order", [ORDER, np.tile([2, 0, 3, 1], (3, 1)), ORDER[::-1]])
@pytest.mark.parametrize("fixed_ids", [False, True])
def test_charges_of_a_topology_go_by_id(smallbatch, tmp_path, order, fixed_ids):
    if fixed_ids:
        order = np.tile(order[1], (3, 1))
    with Trajectory(tmp_path / "t.h5md") as t:
        t.positions(POSITION[order])
        t.element("id", 10 * order[0] + 5, None) if fixed_ids else t.element("id", 10 * order + 5)
    write_pqr(tmp_path / "top.pqr", POSITION, CHARGE)
    v = both_ways(smallbatch, tmp_path, ["--charges", "top.pqr"])[0]
    np.testing.assert_allclose(v, np.concatenate([right(POSITION[o], CHARGE[o]) for o in order]), rtol=1e-12)
    with h5py.File(tmp_path / "p.h5") as file:
        elements = np.array([8, 1, 7, 6])
        assert file["potential/molecules/atomic_number"][...].tolist() == elements[order].ravel().tolist()
    write_pqr(tmp_path / "top.pqr", POSITION[:3], CHARGE[:3])
    refused(smallbatch, tmp_path, "4 particles", "3 charges", given=["--charges", "top.pqr"])


def test_a_topology_of_particles_that_come_and_go(smallbatch, tmp_path):
    ids = np.array([[1, 2, 3], [4, 2, -1], [4, 3, 1]])
    with Trajectory(tmp_path / "t.h5md") as t:
        t.positions(POSITION[np.abs(ids) - 1])
        t.element("id", ids)
    write_pqr(tmp_path / "top.pqr", POSITION, CHARGE)
    v, offset, _, _ = both_ways(smallbatch, tmp_path, ["--charges", "top.pqr"])
    expected = [right(POSITION[i - 1], CHARGE[i - 1]) for i in (ids[0], ids[1][:2], ids[2])]
    np.testing.assert_allclose(v, np.concatenate(expected), rtol=1e-12)
    assert offset.tolist() == [0, 3, 5, 8]


def test_one_frame_of_charges_is_for_all(smallbatch, tmp_path):
    for of_frame in (0, 1, 2):  # the charges are in the order of the frame that has their step
        with Trajectory(tmp_path / "t.h5md") as t:
            t.positions()
            t.element("id", ORDER)
            t.charges(CHARGE[ORDER[of_frame]][None], STEP[of_frame : of_frame + 1])
        np.testing.assert_allclose(both_ways(smallbatch, tmp_path)[0], by_order(), rtol=1e-12)
    with Trajectory(tmp_path / "t.h5md") as t:
        t.positions()
        t.element("id", ORDER)
        t.charges(CHARGE[None], [7])
    refused(smallbatch, tmp_path, "/particles/all/charge/step", "change their places")
    with Trajectory(tmp_path / "t.h5md") as t:  # without ids, every frame has the same particles in the same order
        t.positions(np.tile(POSITION, (3, 1, 1)))
        t.charges(CHARGE[None], [7])
    np.testing.assert_allclose(both_ways(smallbatch, tmp_path)[0], np.tile(right(POSITION, CHARGE), 3), rtol=1e-12)


def test_whose_charges_are_is_not_guessed(smallbatch, tmp_path):
    order = ORDER[::-1]  # the first frame is not sorted by id, so charges may be in the frame's order or by id
    with Trajectory(tmp_path / "t.h5md") as t:
        t.positions(POSITION[order])
        t.element("id", order)
        t.charges()
    refused(smallbatch, tmp_path, "/particles/all/id/value", "change their places", "Sort the particles")
    order = np.tile(ORDER[1], (3, 1))  # all frames have the same order of ids, and the charges have this order, too
    with Trajectory(tmp_path / "t.h5md") as t:
        t.positions(POSITION[order])
        t.element("id", order)
        t.charges(CHARGE[order[0]])
    expected = np.tile(right(POSITION[order[0]], CHARGE[order[0]]), 3)
    np.testing.assert_allclose(both_ways(smallbatch, tmp_path)[0], expected, rtol=1e-12)


@pytest.mark.parametrize("unit, factor", [
    ("Ang", 1), ("angstroms", 1), ("ANGSTROM", 1), ("\u212b", 1), ("\u00c5", 1), ("A", 1), ("nanometers", 10), ("Nanometre", 10),
    ("nm", 10), ("Bohr", 0.529177210903), ("bohrs", 0.529177210903), ("picometer", 0.01), ("meter", 1e10)])
@pytest.mark.parametrize("charge", [np.array([3, -2, 1, 4], kind) for kind in ("i1", ">i2", "i4", "i8", "f4")])
def test_units_and_whole_charges_as_people_write_them(smallbatch, tmp_path, unit, factor, charge):
    with Trajectory(tmp_path / "t.h5md") as t:
        t.positions(np.tile(POSITION, (3, 1, 1)) / factor, unit=unit)
        t.charges(charge, unit="elementary charge" if factor > 1 else "e")
    v, _, _, said = both_ways(smallbatch, tmp_path)
    np.testing.assert_allclose(v, np.tile(right(POSITION, charge.astype("f8")), 3), rtol=1e-9)
    assert not said


def test_groups_go_with_their_particles(smallbatch, tmp_path):
    group = np.array([1, 1, 2, 0])
    with Trajectory(tmp_path / "t.h5") as t:
        t.positions()
        ids = ORDER + 1
        ids[2, 3] = -1  # particle 0 is absent from frame 2
        t.element("id", ids)
        t.charges(CHARGE[ORDER], STEP)
        t.file.attrs["smallbatch_format"] = np.array([1, 8], "i4")
        energies = t.file.create_group("pair_energy/e")
        energies.attrs["particles"] = "all"
        energies["group"] = group
    smallbatch("run", "t.h5", "-o", "r.h5", "--precision", "double")
    pair = [VOLT * CHARGE[i] * CHARGE[2] / np.linalg.norm(POSITION[i] - POSITION[2]) for i in (0, 1)]
    with h5py.File(tmp_path / "r.h5") as file:
        np.testing.assert_allclose(file["pair_energy/e/energy"][...], [sum(pair), sum(pair), pair[1]], rtol=1e-12)


def test_a_charge_that_nobody_wrote_is_refused(smallbatch, tmp_path):
    charge = CHARGE[ORDER]
    charge[1, 2] = -999
    with Trajectory(tmp_path / "t.h5md") as t:
        t.positions()
        t.charges(charge, STEP, fillvalue=-999.0)
    refused(smallbatch, tmp_path, "/particles/all/charge/value", "place 2 of frame 1", "fill value")
