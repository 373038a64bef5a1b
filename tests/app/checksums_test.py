"""The checksums of a result file cover every byte. h5py and the package xxhash give the expected hashes. Changed bytes
must be found.

One file, because most tests use the same result file with sets of every kind."""

import json
import os
import re
import shutil

import h5py
import numpy as np
import pytest
import xxhash

from tests.problems import (add_correlation, add_pair_energy, add_potential, add_solve, numbers_of, open_problem_file,
                            results_to_change)

PIECE = 1 << 20


def write_everything(path):
    """Writes small sets of every kind."""
    rng = np.random.default_rng(3)
    with open_problem_file(path) as file:
        add_solve(file, "systems", batch=7, n=5, nrhs=2)
        add_solve(file, "inverse", batch=3, n=4, nrhs="inverse", dtype=np.float64)
        add_solve(file, "determinant", batch=9, n=3, nrhs="log_determinant")
        add_solve(file, "empty", batch=0)
        add_potential(file, "series", rng.uniform(-1, 1, (4, 3)), rng.uniform(-1, 1, 4), [0, 2, 4],
                      field=1, output_unit="kT/e", temperature=300.0)["name"] = np.array([b"one", b"other"])
        atoms = add_potential(file, "points", rng.uniform(-1, 1, (6, 3)), rng.uniform(-1, 1, 6), field=1, targets="points")
        for name in ("origin", "spacing"):
            del atoms[name]
        del atoms.attrs["shape"]
        atoms["points"] = rng.uniform(2, 3, (11, 3))
        atoms["group"] = np.array([1, 1, 1, 2, 2, 0], np.int8)
        add_pair_energy(file, "pairs", rng.uniform(-1, 1, (8, 3)), rng.uniform(-1, 1, 8), [0, 3, 8], per_charge=1)
        signal = rng.standard_normal((2, 10, 3)) + 1j * rng.standard_normal((2, 10, 3))
        add_correlation(file, "array", signal.astype(np.complex64), integrate=4, sample_time=0.5)["frequency"] = np.array([1e8, 2e8])
        add_correlation(file, "counts", rng.integers(-5, 5, (2, 10, 3, 2)).astype(np.int8))


def spans_of(path):
    """Returns {dataset: (offset in the file, number of bytes)} of all datasets with stored bytes, as h5py reports them.
    A dataset that /VTKHDF links to is listed under the name in its set."""
    names = {}

    def take(group):
        for name in group:
            item = group[name]
            if isinstance(item, h5py.Group):
                take(item)
            elif not item.is_virtual and item.id.get_offset() is not None:
                names.setdefault((item.id.get_offset(), item.id.get_storage_size()), f"{group.name}/{name}")

    with h5py.File(path) as file:
        for name in sorted(file, key=lambda name: name == "VTKHDF"):
            take(file[name])
    return {name: span for span, name in names.items()}


@pytest.fixture(scope="module")
def made(tmp_path_factory, smallbatch_program):
    """Returns a folder with the problem file p.h5 and its result file r.h5."""
    folder = tmp_path_factory.mktemp("made")
    write_everything(folder / "p.h5")
    smallbatch_program(folder)("run", "p.h5", "-o", "r.h5", "--device", "cpu")
    return folder


@pytest.fixture
def results(made, tmp_path):
    for name in ("p.h5", "r.h5"):
        shutil.copy(made / name, tmp_path / name)
    return tmp_path / "r.h5"


def flip(path, offset, mask=1):
    with open(path, "r+b") as file:
        file.seek(offset)
        byte = file.read(1)[0]
        file.seek(offset)
        file.write(bytes([byte ^ mask]))


def test_hashes_are_those_of_the_datasets(results):
    """Every dataset has a hash, and every byte of the file is covered by a hash."""
    content, spans = results.read_bytes(), spans_of(results)
    own = {name: spans.pop(name) for name in list(spans) if name.startswith("/checksums/")}
    with h5py.File(results) as file:
        assert file.attrs["smallbatch_format"].tolist() == [1, 9]
        sums = {name: values[...] for name, values in file["checksums"].items()}
    assert set(sums) == {"dataset", "piece_offset", "hash", "rest"}
    assert [name.decode() for name in sums["dataset"]] == sorted(spans)
    assert {"/solve/systems/x", "/potential/series/name", "/verification/solve/inverse/verdict"} < set(spans)
    assert sums["piece_offset"].tolist() == list(range(len(spans) + 1))
    for name, digits in zip(sorted(spans), sums["hash"]):
        begin, size = spans[name]
        assert xxhash.xxh3_64_hexdigest(content[begin:begin + size]) == digits.decode(), name
    tables = b"".join(content[own[f"/checksums/{name}"][0]:][:own[f"/checksums/{name}"][1]]
                      for name in ("dataset", "piece_offset", "hash"))
    is_rest = np.ones(len(content), bool)
    for begin, size in [*spans.values(), *own.values()]:
        assert is_rest[begin:begin + size].all()
        is_rest[begin:begin + size] = False
    rest = np.frombuffer(content, np.uint8)[is_rest].tobytes()
    assert [xxhash.xxh3_64_hexdigest(found).encode() for found in (tables, rest)] == sums["rest"].tolist()


def test_what_was_written_is_what_is_found(smallbatch, results):
    spans = {name for name in spans_of(results) if not name.startswith("/checksums/")}
    shown = smallbatch("info", "r.h5", "--check").stdout
    assert f"all {results.stat().st_size} bytes are unchanged ({len(spans)} datasets and the rest of the file)" in shown
    assert smallbatch("info", "r.h5").stdout == "".join(
        line for line in shown.splitlines(True) if "bytes are unchanged" not in line)
    told = json.loads(smallbatch("info", "r.h5", "--check", "--json").stdout)["check"]
    assert told == {"datasets": len(spans), "bytes": results.stat().st_size}
    refused = smallbatch("info", "p.h5", "--check", expect=3)
    assert "cannot be checked (problem files have no checksums)" in refused.stderr and not refused.stdout
    done = smallbatch("verify", "p.h5", "r.h5")
    assert "has changed" not in done.stderr and "checksums" not in done.stderr


def bits_to_change(content, spans, rng, count):
    """Returns (offset, mask) of bits to flip: one in each dataset, four in each heap of HDF5, and `count` anywhere in
    the file. HDF5 gives heaps no checksum."""
    offsets = [begin + int(rng.integers(size)) for begin, size in spans.values()]
    for heap in re.finditer(b"GCOL", content):
        offsets += [heap.start() + int(k) for k in rng.integers(4096, size=4)]
    offsets += [int(k) for k in rng.integers(len(content), size=count)]
    return [(offset, 1 << int(rng.integers(8))) for offset in offsets if offset < len(content)]


def test_every_changed_byte_is_named(smallbatch, results):
    content, spans = results.read_bytes(), spans_of(results)
    rng = np.random.default_rng(18)
    for offset, mask in bits_to_change(content, spans, rng, int(os.environ.get("SMALLBATCH_CHANGED_BYTES", 40))):
        flip(results, offset, mask)
        done = smallbatch("info", "r.h5", "--check", expect=3)
        flip(results, offset, mask)
        message = f"byte {offset} ^ {mask}: {done.stderr}"
        assert " error " in done.stderr and "r.h5" in done.stderr and not done.stdout, message
        of_dataset = [name for name, (begin, size) in spans.items() if begin <= offset < begin + size]
        if of_dataset and not of_dataset[0].startswith("/checksums"):
            assert of_dataset[0] in done.stderr, message
        elif of_dataset:
            assert "/checksums" in done.stderr or "outside all datasets" in done.stderr, message
    assert results.read_bytes() == content
    smallbatch("info", "r.h5", "--check")


def test_bytes_that_are_lost_or_added_are_named(smallbatch, results):
    content = results.read_bytes()
    for changed in (content[:-1], content + b"\0", content[:len(content) // 2]):
        results.write_bytes(changed)
        assert "r.h5" in smallbatch("info", "r.h5", "--check", expect=3).stderr


def offset_of_attribute(content, text, count=1):
    """Returns the offset of the first occurrence of `text`, which must occur at least `count` times."""
    offsets = [found.start() for found in re.finditer(re.escape(text), content)]
    assert len(offsets) >= count, text
    return offsets[0]


def test_verify_names_what_was_changed(smallbatch, results):
    """`verify` names the dataset and the range of damaged x, V, verdicts and statistics. HDF5's own header checksums
    reveal damaged units and provenance."""
    content, spans = results.read_bytes(), spans_of(results)
    for name, said in {"/solve/systems/x": r"/solve/systems/x from \[0, 0, 0\] to \[6, 4, 1\]",
                       "/potential/series/V": r"/potential/series/V from \[0, 0, 0, 0\] to \[1, 1, 2, 3\]",
                       "/potential/series/name": r"/potential/series/name from \[0\] to \[1\]",
                       "/potential/points/energy": r"/potential/points/energy\[0\]",
                       "/correlation/array/visibility": r"/correlation/array/visibility from \[0, 0, 0\] to \[2, 1, 5\]",
                       "/verification/potential/series/verdict": r"/verification/potential/series/verdict from",
                       "/potential/series/V_mean": r"/potential/series/V_mean from"}.items():
        begin, size = spans[name]
        flip(results, begin + size - 1)
        done = smallbatch("verify", "p.h5", "r.h5", expect=3)
        assert "has changed since it was written (" in done.stderr and re.search(said, done.stderr), done.stderr
        assert not done.stdout
        flip(results, begin + size - 1)
    for text in (b"kT/e", b"Eigen 3.", b"--device cpu", b"criterion"):
        offset = offset_of_attribute(content, text)
        flip(results, offset)
        done = smallbatch("verify", "p.h5", "r.h5", expect=3)
        assert "r.h5" in done.stderr and "checksum" in done.stderr.lower() or "header of" in done.stderr, done.stderr
        flip(results, offset)
    smallbatch("verify", "p.h5", "r.h5")


def test_a_large_dataset_is_named_by_the_piece(smallbatch, tmp_path):
    """`info --check` names the rows of each damaged piece of a large dataset. Pieces have 1 MiB, for every block
    size."""
    smallbatch("generate", "spd", "-o", "p.h5", "--n", 8, "--batch", 100_000, "--set", "s")
    smallbatch("run", "p.h5", "-o", "r.h5", "--verify", "none", "--memory", "8M")
    (begin, size), row = spans_of(tmp_path / "r.h5")["/solve/s/x"], 32
    assert size > 3 * PIECE
    content = (tmp_path / "r.h5").read_bytes()
    with h5py.File(tmp_path / "r.h5") as file:
        sums = file["checksums"]
        at = [name.decode() for name in sums["dataset"]].index("/solve/s/x")
        digits = sums["hash"][sums["piece_offset"][at]:sums["piece_offset"][at + 1]].tolist()
    assert digits == [xxhash.xxh3_64_hexdigest(content[begin + k:begin + min(k + PIECE, size)]).encode()
                      for k in range(0, size, PIECE)]
    for offset in (begin + PIECE + 77, begin + 3 * PIECE):
        flip(tmp_path / "r.h5", offset)
    told = smallbatch("info", "r.h5", "--check", expect=3).stderr
    last = (size - 1) // row
    assert (f"/solve/s/x from [{PIECE // row}, 0] to [{2 * PIECE // row - 1}, 7]; "
            f"/solve/s/x from [{3 * PIECE // row}, 0] to [{last}, 7])") in told


def hashes_of(path):
    with h5py.File(path) as file:
        return {name: file[f"checksums/{name}"][...].tolist() for name in ("dataset", "piece_offset", "hash")}


def test_equal_numbers_have_equal_hashes(smallbatch, tmp_path):
    """A run, a run in small blocks and merged shares store the same hashes. Small blocks are written strided and out of
    order."""
    rng = np.random.default_rng(5)
    with open_problem_file(tmp_path / "p.h5") as file:
        add_solve(file, batch=500, n=12)
        add_potential(file, "grid", rng.uniform(0, 3, (20, 3)), rng.uniform(-1, 1, 20), np.arange(0, 21, 5), shape=(33, 35, 37))
        add_correlation(file, "array", rng.integers(-8, 8, (40, 300, 24, 2)).astype(np.int8), integrate=7)
    smallbatch("run", "p.h5", "-o", "r.h5")
    smallbatch("run", "p.h5", "-o", "small.h5", "--memory", "4M")
    for k in (1, 2, 3):
        smallbatch("run", "p.h5", "-o", f"{k}.h5", "--shard", f"{k}/3")
        smallbatch("info", f"{k}.h5", "--check")
    smallbatch("merge", "1.h5", "2.h5", "3.h5", "-o", "m.h5")
    for name in ("small.h5", "m.h5"):
        assert hashes_of(tmp_path / name) == hashes_of(tmp_path / "r.h5")
        smallbatch("info", name, "--check")


def write_two_shares(smallbatch, tmp_path):
    with open_problem_file(tmp_path / "p.h5") as file:
        add_solve(file)
    for k in (1, 2):
        smallbatch("run", "p.h5", "-o", f"{k}.h5", "--shard", f"{k}/2")


def test_shares_that_are_damaged_are_not_merged(smallbatch, tmp_path):
    write_two_shares(smallbatch, tmp_path)
    flip(tmp_path / "2.h5", spans_of(tmp_path / "2.h5")["/solve/systems/x"][0] + 5)
    done = smallbatch("merge", "1.h5", "2.h5", "-o", "m.h5", expect=3)
    assert "2.h5 has changed since it was written (/solve/systems/x from" in done.stderr
    assert not (tmp_path / "m.h5").exists()


def test_shares_whose_numbers_nobody_vouches_for_are_not_merged(smallbatch, tmp_path):
    """The test repacks a dataset with one changed value. A merged file would give the wrong value a valid checksum, so
    `merge` must refuse it."""
    write_two_shares(smallbatch, tmp_path)
    with h5py.File(tmp_path / "2.h5", "r+") as file:
        values = file["solve/systems/x"][...]
        values[0, 0] = 9
        del file["solve/systems/x"]
        file["solve/systems"].create_dataset("x", data=values, compression="gzip")
    assert "(/solve/systems/x is not stored as it was written" in smallbatch("merge", "1.h5", "2.h5", "-o", "m.h5", expect=3).stderr
    assert not (tmp_path / "m.h5").exists()


def test_shares_that_were_added_to_are_merged_with_a_warning(smallbatch, tmp_path):
    write_two_shares(smallbatch, tmp_path)
    with h5py.File(tmp_path / "2.h5", "r+") as file:
        file["solve/systems"].attrs["remark"] = "mine"
    assert "2.h5: bytes outside all datasets" in smallbatch("merge", "1.h5", "2.h5", "-o", "m.h5").stderr


def test_what_others_have_added_is_not_gone_through(smallbatch, results):
    """Commands do not follow links that other programs added. Here 40 links from the root to the root form paths
    without end."""
    with h5py.File(results, "r+") as file:
        for k in range(40):
            file[f"round {k}"] = file["/"]
    told = smallbatch("verify", "p.h5", "r.h5").stderr
    assert "bytes outside all datasets" in told
    if smallbatch.can_report:
        smallbatch("report", "r.h5", "-o", "m.html")
    refused = smallbatch("info", "r.h5", "--check", expect=3).stderr
    assert "no sense" not in refused and "outside all datasets" in refused


def test_results_of_older_formats_have_no_checksums_and_say_so(smallbatch, results):
    with results_to_change(results):
        pass
    refused = smallbatch("info", "r.h5", "--check", "--json", expect=3)
    assert "cannot be checked (results before format 1.7 have no checksums)" in refused.stderr
    assert json.loads(refused.stdout)["error"]["exit_code"] == 3
    smallbatch("info", "r.h5")
    assert "results before format 1.7 have no checksums" in smallbatch("verify", "p.h5", "r.h5").stderr


def test_shares_of_older_formats_are_merged_with_a_warning(smallbatch, tmp_path):
    write_two_shares(smallbatch, tmp_path)
    with results_to_change(tmp_path / "2.h5"):
        pass
    told = smallbatch("merge", "1.h5", "2.h5", "-o", "m.h5").stderr
    assert "2.h5: bytes not compared: results before format 1.7 have no checksums" in told


def test_results_without_checksums_are_not_complete(smallbatch, tmp_path):
    with open_problem_file(tmp_path / "p.h5") as file:
        add_solve(file)
    call = ["run", "p.h5", "-o", "r.h5", "--resume"]
    for _ in range(2):
        smallbatch(*call)
    with results_to_change(tmp_path / "r.h5"):
        pass
    assert "exists already" in smallbatch(*call, expect=7).stderr


READS = {"lattice": (["export", "r.h5", "--set", "series", "-o", "m.dx"], ["/potential/series/V"]),
         "visibilities": (["export", "r.h5", "--set", "array", "-o", "m.uvh5"],
                          ["/correlation/array/visibility", "/correlation/array/weight"]),
         "picture": (["export", "r.h5", "--set", "array", "-o", "m.png"], ["/correlation/array/visibility"]),
         "report": (["report", "r.h5", "-o", "m.html"],
                    ["/solve/systems/info", "/solve/inverse/backward_error", "/potential/series/V",
                     "/potential/series/name", "/potential/points/info", "/potential/points/point_offset",
                     "/verification/pair_energy/pairs/error_over_bound", "/verification/solve/systems/verdict"])}


@pytest.mark.parametrize("kind", READS)
def test_what_others_make_of_results_is_of_what_was_written(smallbatch, results, kind):
    call, datasets = READS[kind]
    if kind == "report" and not smallbatch.can_report:
        pytest.skip("the Python package is not built")
    spans, output = spans_of(results), results.parent / call[-1]
    smallbatch(*call)
    content = output.read_bytes()
    for name in datasets:
        os.remove(output)
        begin, size = spans[name]
        flip(results, begin + size - 1)
        refused = smallbatch(*call, expect=3).stderr
        assert f"cannot use {name}" in refused and "it is not what was written" in refused
        assert not output.exists()
        flip(results, begin + size - 1)
        flip(results, spans["/solve/systems/x"][0])  # export does not read this dataset
        smallbatch(*call)
        flip(results, spans["/solve/systems/x"][0])
        assert kind == "visibilities" or output.read_bytes() == content  # a visibility file holds its time of creation


def test_what_is_read_of_a_large_dataset_is_compared_by_the_piece(smallbatch, tmp_path):
    """`export` refuses a lattice only if a hashed piece with bytes of the lattice is damaged. Other lattices of the
    dataset can be exported."""
    lattices, length = 5, 60
    with open_problem_file(tmp_path / "p.h5") as file:
        add_potential(file, "grid", np.zeros((lattices, 3)), np.ones(lattices), np.arange(lattices + 1),
                      shape=(length, length, length))
    smallbatch("run", "p.h5", "-o", "r.h5", "--verify", "none")
    begin, size = spans_of(tmp_path / "r.h5")["/potential/grid/V"]
    flip(tmp_path / "r.h5", begin + size - 1)
    for index in range(lattices):
        is_damaged = (index + 1) * size // lattices > (size - 1) // PIECE * PIECE
        call = ["export", "r.h5", "--index", index, "-o", f"{index}.dx"]
        refused = smallbatch(*call, expect=3 if is_damaged else 0).stderr
        assert is_damaged == ("cannot use /potential/grid/V from" in refused)
    assert is_damaged and not (lattices - 1) * size // lattices > (size - 1) // PIECE * PIECE


def test_results_that_lost_their_checksums_are_refused(smallbatch, results):
    with h5py.File(results, "r+") as file:
        del file["checksums"]
    for command in (["info", "r.h5", "--check"], ["verify", "p.h5", "r.h5"], ["report", "r.h5", "-o", "m.html"],
                    ["export", "r.h5", "--set", "series", "-o", "m.dx"]):
        assert "checksums" in smallbatch(*command, expect=3).stderr
    smallbatch("info", "r.h5")


@pytest.mark.parametrize("spoil", ["dataset", "piece_offset", "hash", "rest", "short", "overlap", "deep", "type"])
def test_checksums_that_make_no_sense_are_refused(smallbatch, results, spoil):
    with h5py.File(results, "r+", libver=("v110", "v110")) as file:
        sums = file["checksums"]
        if spoil == "short":
            del sums["hash"]
            sums["hash"] = np.array([b"0"])
        elif spoil == "overlap":
            file["solve/zz"] = file["solve/systems/x"]
            names = sorted([*sums["dataset"][...].tolist(), b"/solve/zz"])
            for name, values in (("dataset", np.array(names)), ("piece_offset", np.arange(len(names) + 1)),
                                 ("hash", np.array([b"0" * 16] * len(names)))):
                del sums[name]
                sums[name] = values
        elif spoil == "deep":
            values = sums["rest"][...]
            del sums["rest"]
            sums["rest/rest"] = values
        elif spoil == "type":
            values = sums["piece_offset"][...]
            del sums["piece_offset"]
            sums["piece_offset"] = values.view("V8")
        else:
            values = sums[spoil][...]
            values[0] = 1 if spoil == "piece_offset" else b"x"
            sums[spoil][...] = values
    assert "checksums" in smallbatch("info", "r.h5", "--check", expect=3).stderr
    assert "checksums" in smallbatch("verify", "p.h5", "r.h5", expect=3).stderr


def test_what_another_program_adds_is_told_and_no_obstacle(smallbatch, results):
    """If another program adds an attribute, `info --check` fails, and `verify` warns and still compares all hashes. No
    hash fits a dataset that another program compressed. `verify` accepts its numbers if the referee does."""
    with h5py.File(results, "r+") as file:
        file["solve/systems"].attrs["comment"] = "mine"
    done = smallbatch("info", "r.h5", "--check", expect=3)
    assert "bytes outside all datasets" in done.stderr
    done = smallbatch("verify", "p.h5", "r.h5")
    assert "bytes outside all datasets have changed" in done.stderr
    begin, _ = spans_of(results)["/solve/systems/x"]
    flip(results, begin)
    assert "/solve/systems/x from" in smallbatch("verify", "p.h5", "r.h5", expect=3).stderr
    flip(results, begin)
    with h5py.File(results, "r+") as file:
        values = file["potential/series/V"][...]
        attributes = dict(file["potential/series/V"].attrs)
        del file["potential/series/V"]
        stored = file["potential/series"].create_dataset("V", data=values, chunks=values.shape, compression="gzip")
        stored.attrs["unit"] = attributes["unit"]
    assert "/potential/series/V (not stored as it was written)" in smallbatch("info", "r.h5", "--check", expect=3).stderr
    smallbatch("verify", "p.h5", "r.h5")


def test_names_of_sets_are_free(smallbatch, tmp_path):
    with open_problem_file(tmp_path / "p.h5") as file:
        for name in ("a b", " ", "µ", "x" * 200):
            add_solve(file, name)
    smallbatch("run", "p.h5", "-o", "r.h5")
    smallbatch("info", "r.h5", "--check")
    with h5py.File(tmp_path / "r.h5") as file:
        assert numbers_of(file["solve/ "]) and f"/solve/{'x' * 200}/x".encode() in file["checksums/dataset"][...]


def test_a_file_of_empty_sets_alone_is_checked(smallbatch, tmp_path):
    with open_problem_file(tmp_path / "p.h5") as file:
        add_solve(file, batch=0)
    smallbatch("run", "p.h5", "-o", "r.h5")
    assert "(0 datasets and the rest of the file)" in smallbatch("info", "r.h5", "--check").stdout
    smallbatch("verify", "p.h5", "r.h5")
