"""`problems_hash` covers every byte of the numbers that a run reads from a set. The tests compute it with h5py and the
package xxhash, as io/FORMAT.md describes it. Changed bytes must be found."""

import json
import mmap
import os
import shutil
import signal
import subprocess
import tempfile

import h5py
import numpy as np
import pytest
import xxhash

from tests.app.unfinished_runs import build_killer
from tests.problems import add_correlation, add_pair_energy, add_potential, add_solve, open_problem_file

GOLDEN, WORD = 0x9E3779B97F4A7C15, 2**64


def sum_of(datasets):
    """Returns the hash of `datasets`: {name: rows}. A row is an array or bytes."""
    total = 0
    for name, rows in datasets.items():
        for k, row in enumerate(rows):
            mixed = (xxhash.xxh3_64_intdigest(name.encode()) + k) * GOLDEN % WORD
            total += (mixed ^ mixed >> 32 | 1) * xxhash.xxh3_64_intdigest(row if isinstance(row, bytes) else row.tobytes())
    return f"{total % WORD:016x}"


def solve_rows(group):
    rows = {name: group[name][...] for name in ("A", "b") if name in group}
    if "size" in group:
        rows["size"] = group["size"][...].astype(np.int64)
    return {name: values.astype(values.dtype.newbyteorder("<")) for name, values in rows.items()}


def cut(values, offset):
    return [np.ascontiguousarray(values[first:last]) for first, last in zip(offset, offset[1:])]


def charge_rows(group, to_angstrom=1.0):
    charges = len(group["charge"])
    offset = group["offset"][...] if "offset" in group else np.array([0, charges])
    batch = len(offset) - 1
    rows = {name: cut(group[name][...].astype(np.float64), offset) for name in ("position", "charge")}
    if "width" in group:
        rows["width"] = cut(group["width"][...].astype(np.float64), offset)
    if "group" in group:
        rows["group"] = cut(group["group"][...].astype(np.int64), offset)
    if "points" in group:
        points = group["points"][...].astype(np.float64)
        rows["points"] = cut(points, group["point_offset"][...]) if "point_offset" in group else [points] * batch
    for name in ("origin", "spacing"):
        if name in group:
            rows[name] = np.broadcast_to(group[name][...].astype(np.float64), (batch, 3)) * to_angstrom
    for name, dtype in (("step", np.int64), ("time", np.float64)):
        if name in group:
            rows[name] = group[name][...].astype(dtype)
    if "name" in group:
        rows["name"] = [text.rstrip(b" ") for text in group["name"][...].tolist()]
    return rows


def signal_rows(group):
    channels, times = group["signal"].shape[:2]
    rows = {name: group[name][...].reshape(channels * times, -1) for name in ("signal", "flag") if name in group}
    if "frequency" in group:
        rows["frequency"] = group["frequency"][...].astype(np.float64)
    if "input_position" in group:
        rows["input_position"] = [group["input_position"][...].astype(np.float64)] * channels
    return rows


def hashes_in(path):
    found = {}
    with h5py.File(path) as file:
        for kind, sets in file["provenance"].items():
            for name, group in sets.items():
                found[f"{kind}/{name}"] = group.attrs["problems_hash"].decode()
    return found


def write_every_kind(path, **storage):
    """Writes small sets of all kinds. The larger datasets are created with the options `storage`; `swapped` makes them
    big-endian."""
    rng = np.random.default_rng(8)
    with open_problem_file(path) as file:
        add_solve(file, "dense", batch=300, n=8)
        add_solve(file, "packed", batch=7, n=33, dtype=np.float64, nrhs=3, store_packed=True)
        add_solve(file, "inverse", batch=5, n=3, nrhs="inverse")
        add_solve(file, "tiny", batch=900, n=1)
        add_solve(file, "lower", batch=4, n=5, dtype=np.float64, lower=True)
        add_solve(file, "sizes", batch=9, n=6)
        file["solve/sizes/size"] = rng.integers(0, 7, 9).astype(np.int32)
        add_solve(file, "empty", batch=0)
        offset = np.array([0, 3, 3, 10])
        position, charge = rng.uniform(-3, 3, (10, 3)), rng.uniform(-1, 1, 10)
        lattices = add_potential(file, "lattices", position, charge, offset, origin=rng.uniform(10, 20, (3, 3)))
        lattices["position"].attrs["unit"] = "nm"
        lattices["group"] = np.array([1, 2, 300, -1, 0, 1, 2, 1, 2, 7], np.int64)
        lattices["width"] = rng.uniform(0, 2, 10).astype(np.float32)
        lattices["name"] = np.array(["one", "", "three"], "S")
        for name, has_own in (("points", True), ("shared", False)):
            points = file.create_group(f"potential/{name}")
            points.attrs["targets"] = "points"
            points["position"], points["charge"] = position.astype(np.float32), charge.astype(np.float32)
            points["offset"] = offset.astype(np.int32)
            points["points"] = rng.uniform(4, 9, (6, 3))
            if has_own:
                points["point_offset"] = np.array([0, 0, 5, 6])
        pairs = add_pair_energy(file, "pairs", position, charge, offset, group=np.tile([1, 2], 5))
        pairs["step"], pairs["time"] = np.array([5, 6, 8], np.int32), np.array([0.5, 0.6, 0.8], np.float32)
        md = file.create_group("particles/md")
        md["position/value"] = position[:8].reshape(2, 4, 3).astype(np.float32)
        md["position/step"] = np.array([10, 20])
        md["charge"] = charge[:4]
        md["charge"].attrs["unit"] = "C"
        frames = file.create_group("pair_energy/frames")
        frames.attrs["particles"] = "md"
        frames["group"] = np.array([1, 2, 2, 1], np.int8)
        frames["width"] = np.array([0.5, 0, 0.25, 1])
        integers = add_correlation(file, "integers", rng.integers(-128, 128, (3, 50, 4, 2)).astype(np.int8), integrate=7,
                                   sample_time=0.5)
        integers["frequency"], integers["input_position"] = 1e9 + np.arange(3.0), rng.uniform(-9, 9, (4, 3))
        floats = (rng.standard_normal((2, 40, 3)) + 1j * rng.standard_normal((2, 40, 3))).astype(np.complex64)
        add_correlation(file, "floats", floats, rng.random(floats.shape) < 0.2, output="mean")
        add_correlation(file, "packed", rng.integers(0, 256, (2, 30, 5)).astype(np.uint8))
        if storage:
            swapped = storage.pop("swapped", False)
            for name in [*(f"solve/{one}/{two}" for one in ("dense", "packed") for two in ("A", "b")),
                         *(f"potential/lattices/{one}" for one in ("position", "charge", "width", "group")),
                         "correlation/integers/signal", "correlation/floats/flag"]:
                values = file[name][...]
                attributes = dict(file[name].attrs)
                del file[name]
                dtype = values.dtype.newbyteorder(">") if swapped else values.dtype
                file.create_dataset(name, data=values.astype(dtype), **storage)
                for key, value in attributes.items():
                    file[name].attrs[key] = value


def expected_hashes(path):
    with h5py.File(path) as file:
        expected = {f"solve/{name}": sum_of(solve_rows(group)) for name, group in file["solve"].items()}
        for name, group in file["potential"].items():
            expected[f"potential/{name}"] = sum_of(charge_rows(group, 10.0 if name == "lattices" else 1.0))
        expected["pair_energy/pairs"] = sum_of(charge_rows(file["pair_energy/pairs"]))
        md = file["particles/md"]
        expected["pair_energy/frames"] = sum_of({
            "position": md["position/value"][...].astype(np.float64), "charge": [md["charge"][...]] * 2,
            "group": [file["pair_energy/frames/group"][...].astype(np.int64)] * 2,
            "width": [file["pair_energy/frames/width"][...]] * 2, "step": md["position/step"][...]})
        for name, group in file["correlation"].items():
            expected[f"correlation/{name}"] = sum_of(signal_rows(group))
    return expected


def test_it_is_the_sum_that_the_page_says(smallbatch, tmp_path):
    write_every_kind(tmp_path / "p.h5")
    expected = expected_hashes(tmp_path / "p.h5")
    assert len(expected) == 15 and len(set(expected.values())) == 15 and expected["solve/empty"] == "0" * 16
    smallbatch("run", "p.h5", "-o", "r.h5", expect=None)
    assert hashes_in(tmp_path / "r.h5") == expected
    told = json.loads(smallbatch("info", "r.h5", "--json").stdout)["sets"]
    assert {f"{one['kind']}/{one['name']}": one["problems_hash"] for one in told} == expected
    shown = smallbatch("info", "r.h5").stdout
    assert all(shown.count(digits) == 1 for digits in expected.values())


@pytest.mark.parametrize("storage", [{"chunks": True}, {"chunks": True, "compression": 3, "shuffle": True}, {"swapped": True}],
                         ids=["chunks", "packed", "swapped"])
def test_it_does_not_depend_on_storage(smallbatch, tmp_path, storage):
    write_every_kind(tmp_path / "p.h5")
    write_every_kind(tmp_path / "q.h5", **storage)
    smallbatch("run", "p.h5", "-o", "r.h5", expect=None)
    smallbatch("run", "q.h5", "-o", "q_r.h5", expect=None)
    assert hashes_in(tmp_path / "r.h5") == hashes_in(tmp_path / "q_r.h5")
    told = smallbatch("verify", "q.h5", "r.h5", expect=None)
    assert told.returncode in (0, 1) and "hash differs" in told.stderr  # hash of the file, not problems_hash


def write_large(path):
    """Writes sets that --memory 1MiB cuts into many blocks, even within a lattice and within an integration."""
    rng = np.random.default_rng(9)
    with open_problem_file(path) as file:
        add_solve(file, "plain", batch=2000, n=32)
        lattice = add_potential(file, "lattices", rng.uniform(0, 8, (30, 3)), rng.uniform(-1, 1, 30), [0, 5, 30],
                                shape=(33, 31, 400), origin=np.full((2, 3), 10.0), spacing=np.full((2, 3), 0.25))
        lattice["group"] = np.tile([1, 2], 15)
        add_pair_energy(file, "pairs", rng.uniform(0, 9, (900, 3)), rng.uniform(-1, 1, 900), np.arange(0, 901, 30))
        wide = (rng.standard_normal((3, 9000, 6)) + 1j * rng.standard_normal((3, 9000, 6))).astype(np.complex64)
        array = add_correlation(file, "pieces", wide, rng.random(wide.shape) < 0.1, output="mean")
        array["frequency"] = np.arange(3.0)


def test_it_depends_on_neither_blocks_nor_threads_nor_shares(smallbatch, tmp_path):
    write_large(tmp_path / "p.h5")
    with h5py.File(tmp_path / "p.h5") as file:
        expected = {"solve/plain": sum_of(solve_rows(file["solve/plain"])),
                    "potential/lattices": sum_of(charge_rows(file["potential/lattices"])),
                    "pair_energy/pairs": sum_of(charge_rows(file["pair_energy/pairs"])),
                    "correlation/pieces": sum_of(signal_rows(file["correlation/pieces"]))}
    for more in ([], ["--memory", "1MiB"], ["--memory", "1MiB", "--threads", "1"], ["--device", "reference", "--memory", "2MiB"]):
        smallbatch("run", "p.h5", "-o", "r.h5", "--overwrite", "--verify", "none", *more)
        assert hashes_in(tmp_path / "r.h5") == expected, more
    shares = []
    for k in (1, 2, 3, 4):
        smallbatch("run", "p.h5", "-o", f"{k}.h5", "--verify", "none", "--memory", "1MiB", "--shard", f"{k}/4")
        smallbatch("verify", "p.h5", f"{k}.h5")
        shares.append(hashes_in(tmp_path / f"{k}.h5"))
    assert all(len({one[name] for one in shares}) > 1 for name in expected)
    for name, digits in expected.items():
        assert sum(int(one[name], 16) for one in shares) % WORD == int(digits, 16)
    smallbatch("merge", "4.h5", "2.h5", "1.h5", "3.h5", "-o", "m.h5")
    assert hashes_in(tmp_path / "m.h5") == expected
    smallbatch("verify", "p.h5", "m.h5")


def flip(path, name, byte, bit=0):
    """Flips a bit of a dataset with contiguous storage."""
    with h5py.File(path) as file:
        at = file[name].id.get_offset() + byte % file[name].id.get_storage_size()
    with open(path, "r+b") as file:
        file.seek(at)
        found = file.read(1)[0]
        file.seek(at)
        file.write(bytes([found ^ 1 << bit]))


COUNTED = ["solve/dense/A", "solve/dense/b", "solve/tiny/A", "solve/lower/A", "solve/inverse/A", "potential/lattices/position",
           "potential/lattices/charge", "potential/lattices/width", "pair_energy/frames/width",
           "potential/lattices/group", "potential/lattices/name", "potential/points/position",
           "potential/points/charge", "potential/points/points", "potential/shared/points", "pair_energy/pairs/step",
           "pair_energy/pairs/time", "particles/md/position/value", "particles/md/charge", "pair_energy/frames/group",
           "particles/md/position/step", "correlation/integers/signal", "correlation/integers/frequency",
           "correlation/integers/input_position", "correlation/floats/signal", "correlation/floats/flag",
           "correlation/packed/signal"]


@pytest.mark.parametrize("name", COUNTED)
def test_a_flipped_bit_is_refused_by_the_sets_name(smallbatch, tmp_path, name):
    """`verify` finds a flipped bit anywhere, even if the referee checks a single system."""
    write_every_kind(tmp_path / "p.h5")
    smallbatch("run", "p.h5", "-o", "r.h5", "--verify", "none", expect=None)
    smallbatch("verify", "p.h5", "r.h5", "--verify", "sample=1", expect=None)
    rng = np.random.default_rng(len(name))
    told = "pair_energy/frames" if name.startswith("particles") else "/".join(name.split("/")[:2])
    for _ in range(3):
        byte, bit = int(rng.integers(1 << 30)), int(rng.integers(8))
        if name.endswith("name"):
            bit = int(rng.integers(5))  # these bits never turn a letter into a space (spaces at the end are not hashed)
            byte = 0
        flip(tmp_path / "p.h5", name, byte, bit)
        refused = smallbatch("verify", "p.h5", "r.h5", "--verify", "sample=1", expect=3).stderr
        assert f"/{told}" in refused, refused
        is_in_results = name.endswith(("name", "step", "time", "integers/frequency", "integers/input_position"))
        assert is_in_results or "have the hash" in refused or "has the hash" in refused, refused
        flip(tmp_path / "p.h5", name, byte, bit)
    done = smallbatch("verify", "p.h5", "r.h5", "--verify", "sample=1", expect=None)
    assert done.returncode in (0, 1)


def test_systems_that_have_changed_places_are_refused(smallbatch, tmp_path):
    with open_problem_file(tmp_path / "p.h5") as file:
        add_solve(file, batch=20)
    smallbatch("run", "p.h5", "-o", "r.h5")
    with h5py.File(tmp_path / "p.h5", "r+") as file:
        for name in ("A", "b"):
            values = file[f"solve/systems/{name}"][...]
            file[f"solve/systems/{name}"][...] = values[::-1]
    assert "/solve/systems of p.h5" in smallbatch("verify", "p.h5", "r.h5", expect=3).stderr


def test_results_without_it_are_verified_as_before(smallbatch, tmp_path):
    """Results of older versions have no problems_hash. A merged file has none if one of its shares has none. `verify`
    accepts both."""
    with open_problem_file(tmp_path / "p.h5") as file:
        add_solve(file, batch=20)
    for k in (1, 2):
        smallbatch("run", "p.h5", "-o", f"{k}.h5", "--shard", f"{k}/2")
    with h5py.File(tmp_path / "2.h5", "r+") as file:
        del file["provenance/solve/systems"].attrs["problems_hash"]
    smallbatch("verify", "p.h5", "2.h5")
    smallbatch("merge", "1.h5", "2.h5", "-o", "m.h5")
    with h5py.File(tmp_path / "m.h5") as file:
        assert "problems_hash" not in file["provenance/solve/systems"].attrs
    smallbatch("verify", "p.h5", "m.h5")
    assert "hash of the problems" not in smallbatch("info", "m.h5").stdout
    with h5py.File(tmp_path / "1.h5", "r+") as file:
        file["provenance/solve/systems"].attrs["problems_hash"] = np.bytes_("no hash")
    for command in (["verify", "p.h5", "1.h5"], ["info", "1.h5"], ["merge", "1.h5", "2.h5", "-o", "n.h5"]):
        assert "/provenance/solve/systems@problems_hash" in smallbatch(*command, expect=3).stderr


def test_a_run_whose_finished_blocks_have_other_problems_is_not_gone_on_with(smallbatch, tmp_path):
    """The test changes a byte that the sampled hash of the file leaves out. The change goes through a memory mapping,
    which does not update the file's time on a file system in memory. Only problems_hash can reveal the change."""
    try:
        folder = tempfile.mkdtemp(dir="/dev/shm")
    except OSError:
        pytest.skip("there is no file system in memory")
    path = os.path.join(folder, "p.h5")
    try:
        with open_problem_file(path) as file:
            add_solve(file, "first", batch=20000, n=32)
            add_solve(file, "second", batch=300, n=32)
        size = os.stat(path).st_size
        assert size > 65 << 20
        with h5py.File(path) as file:
            offset = file["solve/first/A"].id.get_offset()
        pieces = [k * (size - (1 << 20)) // 63 for k in range(64)]
        at = next(begin + (1 << 20) for begin in pieces if begin > offset)
        with open(path, "r+b") as file, mmap.mmap(file.fileno(), 0) as mapping:
            mapping[at] = mapping[at]  # the first write to the page may update the file's time
            before = os.stat(path)
            call = ["run", path, "-o", "r.h5", "--device", "cpu", "--memory", "1MiB", "--threads", "2", "--verify", "none"]
            killer, counted = build_killer(tmp_path), tmp_path / "calls"

            def killed(**more):
                return subprocess.run([smallbatch.program, *call], cwd=tmp_path, capture_output=True,
                                      env=dict(os.environ, LD_PRELOAD=str(killer), **more))

            assert killed(COUNT_TO=str(counted)).returncode == 0
            expected = hashes_in(tmp_path / "r.h5")
            os.remove(tmp_path / "r.h5")
            assert killed(KILL_AT=str(int(counted.read_text()) * 9 // 10)).returncode == -signal.SIGKILL
            left = {"r.h5.smallbatch-part", "r.h5.smallbatch-journal"}
            assert left <= set(os.listdir(tmp_path))
            mapping[at] ^= 1
            if os.stat(path).st_ctime_ns != before.st_ctime_ns:
                pytest.skip("what is written through a mapping changes the file's time here")
            refused = smallbatch(*call, "--resume", expect=2).stderr
            assert "block " in refused and "/solve/first" in refused and "have changed since they were solved" in refused, refused
            assert left <= set(os.listdir(tmp_path))
            mapping[at] ^= 1
            smallbatch(*call, "--resume")
        assert hashes_in(tmp_path / "r.h5") == expected
        with h5py.File(tmp_path / "r.h5") as file:
            assert file["provenance"].attrs["resumed_after_blocks"] > 5
        smallbatch("verify", path, "r.h5", "--verify", "sample=10")
    finally:
        shutil.rmtree(folder)
