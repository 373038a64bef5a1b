"""Refusals of the command: each has one sentence and its exit code, and leaves no output file."""

import os
import resource
import signal
import subprocess
import zlib

import h5py
import numpy as np
import pytest

from tests.problems import add_correlation, add_pair_energy, add_potential, add_solve, open_problem_file


def refuse(smallbatch, tmp_path, code, *words, problem="p.h5", arguments=()):
    before = set(os.listdir(tmp_path))
    done = smallbatch("run", problem, "-o", "r.h5", *arguments, expect=code)
    assert done.stdout == ""
    sentence = done.stderr.strip().splitlines()[-1]
    for word in words:
        assert word in sentence, f"'{word}' is not in: {sentence}"
    assert set(os.listdir(tmp_path)) == before, "something was left behind"
    return sentence


def replace(group, name, data):
    del group[name]
    group[name] = data


def edit_solve(change, **options):
    def make(path):
        with open_problem_file(path) as file:
            add_solve(file, **options)
            change(file, file["solve/systems"])
    return make


def edit_potential(change, **options):
    def make(path):
        with open_problem_file(path) as file:
            change(file, add_potential(file, **options))
    return make


def edit_pair_energy(change, **options):
    def make(path):
        with open_problem_file(path) as file:
            change(file, add_pair_energy(file, **options))
    return make


def edit_correlation(change, signal=np.zeros((2, 8, 3), np.complex64), **options):
    def make(path):
        with open_problem_file(path) as file:
            change(file, add_correlation(file, signal=signal, **options))
    return make


def set_attribute(name, value):
    return lambda file, group: group.attrs.__setitem__(name, value)


def point_to_water(file, group):
    del group["position"], group["charge"]
    group.attrs["particles"] = np.bytes_("water")


def deflate_short(file, group):
    """Writes a gzip chunk that has one system less than it declares."""
    a = group["A"][...]
    del group["A"]
    stored = group.create_dataset("A", data=a, chunks=a.shape, compression="gzip")
    stored.id.write_direct_chunk((0, 0, 0), zlib.compress(a[1:].tobytes()))


def give_too_many_columns(file, group):
    """Stores 2^23 columns of zeros, which take a few kB."""
    del group["b"]
    group.create_dataset("b", data=np.zeros((1, 1, 2**23), np.float32), chunks=(1, 1, 2**20), compression="gzip")


def rename(old, new):
    return lambda file, group: group.move(old, new)


BAD_FILES = {
    "no A": (edit_solve(lambda f, g: g.__delitem__("A")), ["/solve/systems", "A"]),
    "A of rank 4": (edit_solve(lambda f, g: replace(g, "A", np.ones((2, 3, 4, 4), np.float32))), ["/solve/systems/A"]),
    "A not square": (edit_solve(lambda f, g: replace(g, "A", np.ones((5, 8, 7), np.float32))), ["/solve/systems/A"]),
    "A of integers": (edit_solve(lambda f, g: replace(g, "A", np.ones((5, 8, 8), np.int32))),
                      ["/solve/systems/A", "float32 or float64"]),
    "A of half precision": (edit_solve(lambda f, g: replace(g, "A", np.ones((5, 8, 8), np.float16))),
                            ["/solve/systems/A", "float32 or float64"]),
    "A too large": (edit_solve(lambda f, g: None, n=257), ["/solve/systems/A", "257", "256"]),
    "uplo unknown": (edit_solve(lambda f, g: g.attrs.__setitem__("uplo", "L")), ["/solve/systems@uplo", "lower"]),
    "uplo against storage": (edit_solve(lambda f, g: g.attrs.update(uplo="lower", storage="packed_upper"), store_packed=True),
                             ["/solve/systems@storage", "packed_lower", "packed_upper"]),
    "compute unknown": (edit_solve(lambda f, g: g.attrs.__setitem__("compute", "det")),
                        ["/solve/systems@compute", "det", "log_determinant"]),
    "b with the determinant alone": (edit_solve(lambda f, g: g.attrs.__setitem__("compute", "log_determinant")),
                                     ["/solve/systems/b", "compute"]),
    "A packed, not triangular": (edit_solve(lambda f, g: replace(g, "A", np.ones((5, 35), np.float32))),
                                 ["/solve/systems/A", "35"]),
    "b of another batch": (edit_solve(lambda f, g: replace(g, "b", np.ones((4, 8), np.float32))),
                           ["/solve/systems/b", "4", "5"]),
    "b of another n": (edit_solve(lambda f, g: replace(g, "b", np.ones((5, 9), np.float32))),
                       ["/solve/systems/b", "9", "8"]),
    "b of another type": (edit_solve(lambda f, g: replace(g, "b", np.ones((5, 8), np.float64))),
                          ["/solve/systems/b", "float32", "float64"]),
    "b of rank 4": (edit_solve(lambda f, g: replace(g, "b", np.ones((5, 8, 1, 1), np.float32))), ["/solve/systems/b"]),
    "A is a group": (edit_solve(lambda f, g: (g.__delitem__("A"), g.create_group("A"))), ["/solve/systems/A"]),
    "A behind an external link": (edit_solve(lambda f, g: (g.__delitem__("A"), g.__setitem__(
        "A", h5py.ExternalLink("other.h5", "/A")))), ["/solve/systems/A", "link"]),
    "a chunk that inflates short": (edit_solve(deflate_short),
                                    ["/solve/systems/A", "chunk at (0, 0, 0)", "1024 bytes", "1280 bytes"]),
    "B for b": (edit_solve(rename("b", "B")), ["/solve/systems", '"B"', 'did you mean "b"?']),
    "uplo misspelt": (edit_solve(set_attribute("uplow", "lower")), ["/solve/systems", 'did you mean "uplo"?']),
    "units for unit": (edit_potential(lambda f, g: g["position"].attrs.__setitem__("units", "nm")),
                       ["/potential/charges/position", '"units"', 'did you mean "unit"?']),
    "positions for position": (edit_potential(rename("position", "positions")), ['did you mean "position"?']),
    "offsets for offset": (edit_potential(rename("offset", "offsets"), offset=[0, 1]), ['did you mean "offset"?']),
    "field with a capital": (edit_potential(set_attribute("Field", 1)), ["/potential/charges", 'did you mean "field"?']),
    "dielectric misspelt": (edit_potential(set_attribute("dielectrc", 80.0)), ['did you mean "dielectric"?']),
    "output unit in the plural": (edit_potential(set_attribute("output_units", "kT/e")),
                                  ['did you mean "output_unit"?']),
    "an attribute of nobody": (edit_potential(set_attribute("epsilon", 80.0)), ["/potential/charges", '"epsilon"']),
    "no charge": (edit_potential(lambda f, g: g.__delitem__("charge")), ["/potential/charges", "charge"]),
    "no position": (edit_potential(lambda f, g: g.__delitem__("position")), ["/potential/charges", "position"]),
    "no origin": (edit_potential(lambda f, g: g.__delitem__("origin")), ["/potential/charges", "origin"]),
    "no shape": (edit_potential(lambda f, g: g.attrs.__delitem__("shape")), ["/potential/charges", "shape"]),
    "position of two columns": (edit_potential(lambda f, g: replace(g, "position", np.ones((1, 2)))),
                                ["/potential/charges/position"]),
    "fewer charges than positions": (edit_potential(lambda f, g: replace(g, "position", np.ones((2, 3)))),
                                     ["/potential/charges", "1", "2"]),
    "offset not monotone": (edit_potential(lambda f, g: None, position=np.ones((4, 3)), charge=np.ones(4),
                                           offset=[0, 3, 2, 4], origin=np.zeros((3, 3)), spacing=np.ones((3, 3))),
                            ["/potential/charges/offset", "2"]),
    "offset beyond the charges": (edit_potential(lambda f, g: None, offset=[0, 7]), ["/potential/charges/offset", "7"]),
    "offset not from 0": (edit_potential(lambda f, g: None, offset=[1, 1]), ["/potential/charges/offset"]),
    "spacing of 0": (edit_potential(lambda f, g: None, spacing=(1, 0, 1)), ["/potential/charges/spacing"]),
    "spacing NaN": (edit_potential(lambda f, g: None, spacing=(1, np.nan, 1)), ["/potential/charges/spacing"]),
    "origin infinite": (edit_potential(lambda f, g: None, origin=(0, np.inf, 0)), ["/potential/charges/origin"]),
    "shape of 0": (edit_potential(set_attribute("shape", np.array([4, 0, 4]))), ["/potential/charges", "shape", "0"]),
    "shape negative": (edit_potential(set_attribute("shape", np.array([4, -4, 4]))), ["shape", "-4"]),
    "shape overflows": (edit_potential(set_attribute("shape", np.array([2**31, 2**31, 2**31], np.int64))),
                        ["/potential/charges", "shape"]),
    "shape of two": (edit_potential(set_attribute("shape", np.array([4, 4]))), ["/potential/charges", "shape"]),
    "unknown output unit": (edit_potential(set_attribute("output_unit", np.bytes_("furlong"))), ["furlong", "volt"]),
    "unknown length unit": (edit_potential(lambda f, g: g["position"].attrs.__setitem__("unit", np.bytes_("furlong"))),
                            ["furlong", "angstrom"]),
    "particles that are not there": (edit_potential(point_to_water), ["/particles", "water"]),
    "charges and particles": (edit_potential(set_attribute("particles", np.bytes_("water"))),
                              ["/potential/charges/position", "particles"]),
    "pairs with targets": (edit_pair_energy(set_attribute("targets", "charges")), ["/pair_energy/pairs", '"targets"']),
    "pairs on a lattice": (edit_pair_energy(set_attribute("shape", (1, 1, 1))), ["/pair_energy/pairs", '"shape"']),
    "per_charge of 2": (edit_pair_energy(set_attribute("per_charge", 2)), ["/pair_energy/pairs@per_charge"]),
    "groups of fewer charges": (edit_pair_energy(lambda f, g: None, group=[1]), ["/pair_energy/pairs/group", "1", "2"]),
    "offset of pairs beyond them": (edit_pair_energy(lambda f, g: None, offset=[0, 9]), ["/pair_energy/pairs/offset"]),
    "cutoff below 0": (edit_pair_energy(set_attribute("cutoff", -1.0)), ["/pair_energy/pairs@cutoff"]),
    "no signal": (edit_correlation(lambda f, g: g.__delitem__("signal")), ["/correlation/array", "signal"]),
    "a signal of doubles": (edit_correlation(lambda f, g: None, np.zeros((2, 8, 3), complex)),
                            ["/correlation/array/signal"]),
    "a real signal": (edit_correlation(lambda f, g: None, np.zeros((2, 8, 3), np.float32)),
                      ["/correlation/array/signal"]),
    "a signal of two axes": (edit_correlation(lambda f, g: None, np.zeros((2, 8), np.complex64)),
                             ["/correlation/array/signal"]),
    "int8 without parts": (edit_correlation(lambda f, g: None, np.zeros((2, 8, 3), np.int8)),
                           ["/correlation/array/signal"]),
    "packing of int8": (edit_correlation(set_attribute("packing", "int4"), np.zeros((2, 8, 3, 2), np.int8)),
                        ["/correlation/array"]),
    "uint8 without packing": (edit_correlation(lambda f, g: g.attrs.__delitem__("packing"), np.zeros((2, 8, 3), np.uint8)),
                              ["/correlation/array", "packing"]),
    "too many inputs": (edit_correlation(lambda f, g: None, np.zeros((1, 1, 4097), np.complex64)),
                        ["/correlation/array/signal", "4097", "4096"]),
    "no inputs": (edit_correlation(lambda f, g: None, np.zeros((1, 1, 0), np.complex64)), ["/correlation/array/signal"]),
    "integrate of 0": (edit_correlation(set_attribute("integrate", 0)), ["/correlation/array@integrate"]),
    "output unknown": (edit_correlation(set_attribute("output", "median")), ["/correlation/array@output", "median"]),
    "flags of other times": (edit_correlation(lambda f, g: None, flag=np.zeros((2, 7, 3), np.uint8)),
                             ["/correlation/array/flag", "7", "8"]),
    "flags of floats": (edit_correlation(lambda f, g: None, flag=np.zeros((2, 8, 3))), ["/correlation/array/flag"]),
    "flags for flag": (edit_correlation(rename("flag", "flags"), flag=np.zeros((2, 8, 3), np.uint8)),
                       ['did you mean "flag"?']),
    "no sets": (lambda path: open_problem_file(path).close(), ["/solve", "/potential"]),
    "no format version": (edit_solve(lambda f, g: f.attrs.__delitem__("smallbatch_format")), ["smallbatch_format"]),
    "a newer major version": (edit_solve(lambda f, g: f.attrs.__setitem__("smallbatch_format",
                                                                          np.array([2, 0], np.int32))), ["2.0", "1."]),
    "too many right-hand sides": (edit_solve(give_too_many_columns, batch=1, n=1),
                                  ["/solve/systems/b", "(1, 1, nrhs)", "nrhs <= 8388607", "(1, 1, 8388608)"]),
    "no HDF5": (lambda path: path.write_text("not HDF5\n"), ["HDF5"]),
    "empty": (lambda path: path.write_bytes(b""), ["empty"]),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_bad_file(smallbatch, tmp_path, name):
    make, words = BAD_FILES[name]
    make(tmp_path / "p.h5")
    sentence = refuse(smallbatch, tmp_path, 3, "p.h5", *words)
    # The form of a message is: problem (why). Remedy.
    assert "(" in sentence and ")" in sentence and sentence.endswith("."), sentence


def test_a_newer_minor_version_warns(smallbatch, tmp_path):
    with open_problem_file(tmp_path / "p.h5") as file:
        add_solve(file)
        file["solve/systems"].attrs["refined"] = 1
        file.attrs["smallbatch_format"] = np.array([1, 99], np.int32)
    errors = smallbatch("run", "p.h5", "-o", "r.h5").stderr
    assert "1.99" in errors and '"refined" is unknown' in errors


@pytest.mark.parametrize("part", [0.1, 0.5, 0.9, 0.999])
def test_truncated_file(smallbatch, tmp_path, part):
    with open_problem_file(tmp_path / "whole.h5") as file:
        add_solve(file, batch=100)
    whole = (tmp_path / "whole.h5").read_bytes()
    (tmp_path / "p.h5").write_bytes(whole[: int(part * len(whole))])
    refuse(smallbatch, tmp_path, 3, "p.h5")


def test_declared_bytes_that_are_not_there(smallbatch, tmp_path):
    with open_problem_file(tmp_path / "p.h5") as file:
        group = file.create_group("solve/systems")
        group.create_dataset("A", (2**40, 32, 32), np.float64, chunks=(64, 32, 32))  # nothing is written
    refuse(smallbatch, tmp_path, 3, "/solve/systems/A")


def test_missing_file(smallbatch, tmp_path):
    refuse(smallbatch, tmp_path, 4, "nowhere.h5", problem="nowhere.h5")
    smallbatch("info", "nowhere.h5", expect=4)
    (tmp_path / "folder").mkdir()
    refuse(smallbatch, tmp_path, 4, "folder", problem="folder")
    smallbatch("import", "nowhere.pqr", "-o", "p.h5", expect=4)


def test_output_exists(smallbatch, tmp_path):
    with open_problem_file(tmp_path / "p.h5") as file:
        add_solve(file)
    (tmp_path / "r.h5").write_text("precious")
    refuse(smallbatch, tmp_path, 7, "r.h5", "--overwrite")
    assert smallbatch("run", "p.h5", "-o", "r.h5", expect=7).stderr.count("\n") == 1  # before any work begins
    assert (tmp_path / "r.h5").read_text() == "precious"
    smallbatch("run", "p.h5", "-o", "r.h5", "--overwrite")
    with h5py.File(tmp_path / "r.h5") as file:
        assert "solve/systems/x" in file


def test_the_input_is_never_replaced(smallbatch, tmp_path):
    with open_problem_file(tmp_path / "p.h5") as file:
        add_solve(file)
    before = (tmp_path / "p.h5").read_bytes()
    os.link(tmp_path / "p.h5", tmp_path / "same.h5")
    for output in ["p.h5", "./p.h5", "same.h5"]:
        done = smallbatch("run", "p.h5", "-o", output, "--overwrite", expect=2)
        assert "is the input" in done.stderr
    (tmp_path / "ion.pqr").write_text("ATOM 1 I ION 1 0.000 0.000 0.000 1.00 3.00\n")
    smallbatch("import", "ion.pqr", "-o", "ion.pqr", "--overwrite", expect=2)
    assert (tmp_path / "p.h5").read_bytes() == before


def test_output_folder_is_not_there(smallbatch, tmp_path):
    with open_problem_file(tmp_path / "p.h5") as file:
        add_solve(file)
    done = smallbatch("run", "p.h5", "-o", "nowhere/r.h5", expect=7)
    assert "nowhere" in done.stderr


@pytest.mark.parametrize("limit", [2_000, 30_000, 200_000])
def test_disk_full(smallbatch, tmp_path, limit):
    with open_problem_file(tmp_path / "p.h5") as file:
        add_solve(file, batch=2000, n=32)
    before = set(os.listdir(tmp_path))
    done = smallbatch("run", "p.h5", "-o", "r.h5", expect=7,
                      preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
    assert "disk" in done.stderr and "r.h5" in done.stderr
    assert set(os.listdir(tmp_path)) == before


def test_no_gpu_by_that_name(smallbatch, tmp_path):
    with open_problem_file(tmp_path / "p.h5") as file:
        add_solve(file)
    refuse(smallbatch, tmp_path, 5, "cuda:97", "--device", arguments=("--device", "cuda:97"))


def test_out_of_memory(smallbatch, tmp_path):
    with open_problem_file(tmp_path / "p.h5") as file:
        add_potential(file, shape=(40000, 40000, 1))  # one plane is the smallest piece: 6.4 GB
    before = set(os.listdir(tmp_path))
    limit = 3 << 30
    done = smallbatch("run", "p.h5", "-o", "r.h5", "--device", "cpu", "--threads", 1, expect=6,
                      preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
    assert "memory" in done.stderr
    assert set(os.listdir(tmp_path)) == before


@pytest.mark.parametrize("arguments", [
    ["frobnicate"], ["run"], ["run", "p.h5"], ["run", "p.h5", "-o", "r.h5", "--device", "tpu"],
    ["run", "p.h5", "-o", "r.h5", "--device", "cuda:x"], ["run", "p.h5", "-o", "r.h5", "--verify", "sample=0"],
    ["run", "p.h5", "-o", "r.h5", "--verify", "some"], ["run", "p.h5", "-o", "r.h5", "--memory", "0"],
    ["run", "p.h5", "-o", "r.h5", "--singular", "maybe"], ["generate", "spd", "-o", "p.h5", "--n", "257"],
    ["run", "p.h5", "-o", "r.h5", "--method", "cholesky"], ["run", "p.h5", "-o", "r.h5", "--pivot-floor", "1"],
    ["run", "p.h5", "-o", "r.h5", "--pivot-floor", "nan"], ["run", "p.h5", "-o", "r.h5", "--pivot-floor", "-1e-9"],
    ["generate", "spd", "-o", "p.h5", "--storage", "packed", "--uplo", "lower"],
    ["generate", "spd", "-o", "p.h5", "--compute", "log_determinant", "--nrhs", "1"],
    ["generate", "spd", "-o", "p.h5", "--uplo", "U"],
    ["generate", "spd", "-o", "p.h5", "--storage", "packed_upper", "--sizes", "2:4"],
    ["generate", "spd", "-o", "p.h5", "--family", "nice"], ["generate", "charges", "-o", "p.h5", "--shape", "1,2"],
    ["generate", "charges", "-o", "p.h5", "--spacing", "-1"], ["generate", "spd", "-o", "p.h5", "--set", "a/b"],
    ["generate", "spd", "-o", "p.h5", "--set", ""], ["import", "x.pqr", "-o", "p.h5", "--origin", "nan,0,0"],
    ["import", "x.pqr", "-o", "p.h5", "--spacing", "inf"],
    ["generate", "spd", "-o", "p.h5", "--storage", "packed", "--uplo", "both"],
    ["generate", "spd", "-o", "p.h5", "--sizes", ""], ["import", "x.pqr", "-o", "p.h5", "--shape", ""],
    ["import", "x.pqr", "-o", "p.h5", "--group", ""], ["export", "r.h5", "-o", "v.dx", "--set", ""],
    ["info", "p.h5", "--log-file", ""],
    ["help", "run", "--man"], ["help", "--man", "--completions", "bash"], ["help", "run", "--completions", "zsh"],
    ["generate", "charges", "-o", "p.h5", "--shape", "99999999,1,1"], ["import", "x.pqr", "-o", "p.h5", "--unit", "furlong"],
])
def test_usage(smallbatch, tmp_path, arguments):
    done = smallbatch(*arguments, expect=2)
    problem, remedy = done.stderr.rstrip().split(". ", 1)
    assert done.stdout == "" and " error " in problem and remedy.endswith(".")
    assert os.listdir(tmp_path) == []


def test_interrupted(smallbatch, tmp_path):
    """SIGTERM during a run gives exit code 143 and leaves no file."""
    rng = np.random.default_rng(1)
    with open_problem_file(tmp_path / "p.h5") as file:  # minutes of work, in many blocks
        add_potential(file, position=rng.uniform(0, 60, (20000, 3)), charge=np.ones(20000), shape=(300, 300, 500))
    before = set(os.listdir(tmp_path))
    process = subprocess.Popen([smallbatch.program, "run", "p.h5", "-o", "r.h5", "--device", "cpu", "--verify", "none"],
                               cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    while set(os.listdir(tmp_path)) == before:  # until the temporary file shows that the run is at work
        assert process.poll() is None
        os.sched_yield()
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=200)
    assert process.returncode == 143 and "stopped by SIGTERM" in errors
    assert set(os.listdir(tmp_path)) == before


def limit_stack(kib):
    bytes_, hard = kib if kib == resource.RLIM_INFINITY else kib << 10, resource.getrlimit(resource.RLIMIT_STACK)[1]
    return lambda: resource.setrlimit(resource.RLIMIT_STACK, (bytes_, hard))


def test_a_small_stack_is_named(smallbatch, tmp_path):
    """The program refuses a stack that is too small. Otherwise, it could crash or report a damaged file."""
    with open_problem_file(tmp_path / "p.h5") as file:
        add_solve(file)
    for kib in (64, 256, 4095):
        for call in (["run", "p.h5", "-o", "r.h5"], ["generate", "spd", "-o", "q.h5"], ["info", "p.h5"]):
            refused = smallbatch(*call, expect=6, preexec_fn=limit_stack(kib)).stderr
            assert f"the stack is too small (ulimit -s says {kib} KiB, at least 4096 are needed)" in refused


@pytest.mark.parametrize("kib", [4096, resource.RLIM_INFINITY])
def test_the_largest_systems_have_a_stack_that_is_large_enough(smallbatch, tmp_path, kib):
    """Threads too need a large stack. Without a limit they have 2 MiB by default."""
    if kib == resource.RLIM_INFINITY != resource.getrlimit(resource.RLIMIT_STACK)[1]:
        pytest.skip("the stack has a limit that cannot be lifted")
    with open_problem_file(tmp_path / "p.h5") as file:
        for dtype in (np.float32, np.float64):
            for name, nrhs in (("vector", None), ("columns", 7), ("inverse", "inverse")):
                add_solve(file, f"{name} {np.dtype(dtype)}", batch=3, n=256, dtype=dtype, nrhs=nrhs)
    for device in ("cpu", "reference"):
        for floor in (0, 0.01):
            smallbatch("run", "p.h5", "-o", "r.h5", "--overwrite", "--device", device, "--pivot-floor", floor, "--memory", "1MiB",
                       "--verify", "all", "--fail-on", "none", preexec_fn=limit_stack(kib))
