"""`import` of PQR files and of pipes. The expected numbers are written out in this file."""

import bz2
import gzip
import json
import lzma
import os
import signal
import subprocess
import threading

import h5py
import numpy as np
import pytest

ATOMS = """\
REMARK   1 three atoms
ATOM      1  N   GLY A   1      21.421   3.562  16.781   0.294   1.821
ATOM      2  O   GLY A   1      -4.250   0.125   7.500  -0.834   1.768
HETATMA0000 ZN    ZN A 502      91.938  16.527 207.262  2.000   1.400
TER
END
"""
POSITION = [[21.421, 3.562, 16.781], [-4.25, 0.125, 7.5], [91.938, 16.527, 207.262]]
CHARGE = [0.294, -0.834, 2.0]
ELEMENT = [7, 8, 30]


def expect_atoms(path, problems=1):
    with h5py.File(path) as file:
        group = file["potential/molecules"]
        assert group["position"][...].tolist() == POSITION * problems and group["charge"][...].tolist() == CHARGE * problems
        assert group["atomic_number"][...].tolist() == ELEMENT * problems
        assert group["offset"][...].tolist() == [3 * p for p in range(problems + 1)]


def start(smallbatch, *arguments, **options):
    return subprocess.Popen([smallbatch.program, "import", *arguments], cwd=smallbatch.folder, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, **options)


def write_in_thread(path, text):
    def write():
        with open(path, "w") as pipe:
            pipe.write(text)

    thread = threading.Thread(target=write)
    thread.start()
    return thread


def test_a_pipe_is_read_once(smallbatch, tmp_path):
    (tmp_path / "m.pqr").write_text(ATOMS)
    for name in ("one", "two"):
        os.mkfifo(tmp_path / name)
    writers = [write_in_thread(tmp_path / name, ATOMS) for name in ("one", "two")]
    smallbatch("import", "one", "m.pqr", "two", "-o", "pipes.h5", "--shape", 3)
    for writer in writers:
        writer.join()
    expect_atoms(tmp_path / "pipes.h5", 3)
    smallbatch("import", "/dev/stdin", "-o", "stdin.h5", "--shape", 3, input=ATOMS)
    expect_atoms(tmp_path / "stdin.h5")
    with gzip.open(tmp_path / "m.pqr.gz", "wt") as file:
        file.write(ATOMS)
    subprocess.run(["bash", "-c", f"'{smallbatch.program}' import <(zcat m.pqr.gz) -o process.h5 --shape 3"], cwd=tmp_path, check=True)
    expect_atoms(tmp_path / "process.h5")
    with open(tmp_path / "m.pqr") as file:
        smallbatch("import", "/dev/stdin", "-o", "redirected.h5", "--shape", 3, stdin=file)
    expect_atoms(tmp_path / "redirected.h5")


def test_charges_of_a_trajectory_come_from_a_pipe(smallbatch, tmp_path):
    with h5py.File(tmp_path / "t.h5md", "w") as file:
        position = file.create_dataset("particles/all/position/value", data=np.array([POSITION, POSITION]))
        position.attrs["unit"] = "Angstrom"
    smallbatch("import", "t.h5md", "--charges", "/dev/stdin", "-o", "p.h5", "--shape", 3, input=ATOMS)
    expect_atoms(tmp_path / "p.h5", 2)


def test_a_pipe_that_nobody_writes_is_refused(smallbatch, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert "nobody writes to it" in smallbatch("import", "pipe", "-o", "p.h5", expect=4).stderr
    assert not (tmp_path / "p.h5").exists()


@pytest.mark.parametrize("which", [signal.SIGINT, signal.SIGTERM])
def test_a_pipe_that_stays_silent_can_be_interrupted(smallbatch, tmp_path, which):
    os.mkfifo(tmp_path / "pipe")
    waiting = start(smallbatch, "pipe", "-o", "p.h5")
    writer = os.open(tmp_path / "pipe", os.O_WRONLY)  # returns once the command has opened the pipe
    waiting.send_signal(which)
    assert f"stopped by {which.name}" in waiting.communicate(timeout=60)[1] and waiting.returncode == 128 + which
    os.close(writer)
    assert os.listdir(tmp_path) == ["pipe"]


@pytest.mark.parametrize("endless", ["/dev/zero", "/dev/full", "/dev/urandom", "/dev/null"])
def test_what_has_no_end_or_no_begin_is_refused(smallbatch, tmp_path, endless):
    assert endless in smallbatch("import", endless, "-o", "p.h5", expect=3).stderr


def test_text_without_end_is_refused(smallbatch, tmp_path):
    for line in ("REMARK " + 60000 * "x", "y"):
        yes = subprocess.Popen(["yes", line], stdout=subprocess.PIPE)
        assert "/dev/stdin" in smallbatch("import", "/dev/stdin", "-o", "p.h5", expect=3, stdin=yes.stdout).stderr
        yes.stdout.close()
        yes.wait()


def test_what_is_no_plain_text_is_said_first(smallbatch, tmp_path):
    text = ATOMS.encode()
    for name, data, kind, remedy in (
            ("m.pqr.gz", gzip.compress(text), "packed by gzip", "gunzip"), ("m.pqr", gzip.compress(text), "packed by gzip", "gunzip"),
            ("m.bz2", bz2.compress(text), "packed by bzip2", "bunzip2"), ("m.xz", lzma.compress(text), "packed by xz", "unxz"),
            ("le.pqr", ATOMS.encode("utf-16"), "UTF-16", "UTF-8"), ("be.pqr", b"\xfe\xff" + ATOMS.encode("utf-16-be"), "UTF-16", "UTF-8"),
            ("bare.pqr", ATOMS.encode("utf-16-le"), "UTF-16", "UTF-8")):
        (tmp_path / name).write_bytes(data)
        said = smallbatch("import", name, "-o", "p.h5", expect=3).stderr
        assert name in said and kind in said and remedy in said, said
    (tmp_path / "utf8.pqr").write_bytes(ATOMS.encode("utf-8-sig"))
    smallbatch("import", "utf8.pqr", "-o", "p.h5", "--shape", 3)
    expect_atoms(tmp_path / "p.h5")
    with h5py.File(tmp_path / "t.h5", "w"):
        pass
    (tmp_path / "m.pqr").write_text(ATOMS)
    assert "t.h5 is HDF5" in smallbatch("import", "m.pqr", "t.h5", "-o", "q.h5", expect=3).stderr


@pytest.mark.parametrize("name", ["m.pdb", "M.PDB", "pdb1ubq.ent", "m.pqr", "m.txt"])
def test_a_pdb_file_is_known_by_content_and_by_name(smallbatch, tmp_path, name):
    line = "ATOM      {}  N   MET A   1      27.340  24.430   2.614  1.00  9.67\n"
    is_named = name.lower().endswith((".pdb", ".ent"))
    for text, is_pdb in (("HEADER    PROTEIN\n" + line.format(1) + line.format(2), True),
                         ("ATOM 1 N MET A 1 27.340 24.430 2.614 1.00 9.67\n", is_named),
                         (ATOMS, False)):  # a PQR file: -0.834 and 2.0 cannot be occupancies
        (tmp_path / name).write_text(text)
        done = smallbatch("import", name, "-o", "p.h5", "--overwrite", "--shape", 3, expect=3 if is_pdb else 0)
        assert not is_pdb or (f"{name} is a PDB file" in done.stderr and "pdb2pqr" in done.stderr)


def test_each_molecule_has_a_lattice_of_its_own(smallbatch, tmp_path):
    (tmp_path / "small.pqr").write_text("ATOM 1 X ION 1 0.0 0.0 0.0 1.0 1.0\nATOM 2 X ION 1 2.0 4.0 6.0 -1.0 1.0\n")
    (tmp_path / "large.pqr").write_text("ATOM 1 X ION 1 10.0 0.0 0.0 1.0 1.0\nATOM 2 X ION 1 40.0 20.0 8.0 0.5 1.0\n")

    def lattices(*arguments):
        said = smallbatch("import", "small.pqr", "large.pqr", "--lattice", "each", "--margin", 2, "-o", "p.h5", "--overwrite", *arguments).stdout
        with h5py.File(tmp_path / "p.h5") as file:
            group = file["potential/molecules"]
            steps = np.array(group.attrs["shape"]) - 1
            return said, steps.tolist(), group["origin"][...], group["spacing"][...], steps * group["spacing"][...]

    for shape, steps in (((), [64, 64, 64]), (("--shape", "33,17,9"), [32, 16, 8])):
        said, found, origin, spacing, extent = lattices(*shape)
        assert found == steps and origin.tolist() == [[-2, -2, -2], [8, -2, -2]]
        np.testing.assert_allclose(extent, [[6, 8, 10], [34, 24, 12]], rtol=1e-15)
        assert f"{6 / steps[0]:g} to {34 / steps[0]:g}, " in said
    said, found, origin, spacing, extent = lattices("--spacing", 2)  # one shape, as large as the largest molecule needs
    assert found == [17, 12, 6] and (spacing == 2).all() and "with spacing 2, 2, 2 angstrom" in said
    np.testing.assert_allclose(origin + extent / 2, [[1, 2, 3], [25, 10, 4]], rtol=1e-15)
    assert "(sum 0 to 1.5 e in each)" in said


def test_a_sum_is_that_of_one_problem(smallbatch, tmp_path):
    def said_of(charges):
        with h5py.File(tmp_path / "t.h5", "w") as file:
            particles = file.create_group("particles/all")
            particles["position/value"] = np.random.default_rng(1).uniform(-5, 5, (*charges.shape[:-1], charges.shape[-1], 3))
            particles["charge/value"] = charges
        given = "import", "t.h5", "-o", "p.h5", "--shape", 3, "--overwrite"
        is_one = " to " not in smallbatch(*given).stdout.split("(sum")[1].split(")")[0]
        assert (json.loads(smallbatch(*given, "--json").stdout)["total_charge"] is None) == (not is_one or np.isnan(charges).any())
        return smallbatch(*given).stdout

    once = np.array([1.0, 2.5, 0.553])
    assert "20 problems, 60 charges (sum 4.053 e in each)" in said_of(np.tile(once, (20, 1)))
    assert "2 problems, 6 charges (sum -4.053 to 4.053 e in each)" in said_of(np.array([once, -once]))
    assert "1 problem, 3 charges (sum 4.053 e)" in said_of(once[np.newaxis])
    assert "(sum 0 e)" in said_of(np.array([[0.1, 0.2, -0.3]]))
    assert "(sum nan e in each)" in said_of(np.array([once, np.full(3, np.nan)]))
