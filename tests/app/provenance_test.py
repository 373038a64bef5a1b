"""The provenance of files, compared with what other programs find."""

import datetime
import json
import os
import platform
import subprocess

import h5py
import numpy as np
import pytest
import xxhash

from tests.problems import add_potential, add_solve, open_problem_file


def hash_of(path, piece=1 << 20, pieces=64):
    """Returns (hash, hashed bytes) as io/FORMAT.md defines them."""
    size, found = os.path.getsize(path), xxhash.xxh3_128()
    with open(path, "rb") as file:
        if size <= pieces * piece:
            found.update(file.read())
            return found.hexdigest(), size
        for k in range(pieces):
            file.seek(k * (size - piece) // (pieces - 1))
            found.update(file.read(piece))
    return found.hexdigest(), pieces * piece


def note_of(path):
    with h5py.File(path) as file:
        return {key: value.decode() if isinstance(value, bytes) else value for key, value in file["provenance"].attrs.items()}


def expect_identity(note, path):
    assert (note["input_hash"], note["input_hashed_bytes"]) == hash_of(path)
    status = os.stat(path)
    assert note["input_bytes"] == status.st_size
    seconds, fraction = note["input_modified"].removesuffix("Z").split(".")
    then = datetime.datetime.fromisoformat(seconds + "+00:00")
    assert int(then.timestamp()) * 10**9 + int(fraction) == status.st_mtime_ns


def expect_machine(note):
    assert note["host"] == platform.node()
    with open("/proc/cpuinfo") as file:
        models = [line.split(": ", 1)[1].strip() for line in file if line.startswith("model name")]
    assert note.get("cpu", "") == (models[0] if models else "")
    for library in ("HDF5 1.", "Eigen 3."):
        assert library in note["libraries"]


def test_results_know_their_input_and_machine(smallbatch, tmp_path):
    with open_problem_file(tmp_path / "p.h5") as file:
        add_solve(file)
        add_potential(file)
    smallbatch("run", "p.h5", "-o", "r.h5", "--device", "cpu", "--threads", 1, "--precision", "double")
    note = note_of(tmp_path / "r.h5")
    expect_identity(note, tmp_path / "p.h5")
    expect_machine(note)
    assert note["working_directory"] == str(tmp_path.resolve())
    assert note["threads"] == 1 and note["precision"] == "float64"
    stages = [note[f"{stage}_seconds"] for stage in ("start", "read", "compute", "verify", "write")]
    assert all(0 <= seconds < 60 for seconds in stages) and note["total_seconds"] > 0
    with h5py.File(tmp_path / "r.h5") as file:
        solve, potential = file["provenance/solve/systems"].attrs, file["provenance/potential/charges"].attrs
        assert solve["work"] == 5 and potential["work"] == 24
        assert potential["values_checked"] == 24
    shown = smallbatch("info", "r.h5").stdout
    for words in (note["input_hash"], note["host"], note["libraries"], note["input_modified"]):
        assert words in shown
    stored = json.loads(smallbatch("info", "r.h5", "--json").stdout)["provenance"]
    assert stored == {key: value for key, value in note.items()}


def test_large_files_are_hashed_in_pieces(smallbatch, tmp_path):
    with open_problem_file(tmp_path / "p.h5") as file:
        add_solve(file)
    with open(tmp_path / "p.h5", "ab") as file:  # HDF5 ignores bytes after the end of its data
        file.write(np.random.default_rng(1).bytes(70_000_001))
    smallbatch("run", "p.h5", "-o", "r.h5")
    note = note_of(tmp_path / "r.h5")
    assert note["input_hashed_bytes"] == 64 << 20
    expect_identity(note, tmp_path / "p.h5")


def test_problem_files_know_theirs(smallbatch, tmp_path):
    smallbatch("generate", "spd", "-o", "g.h5", "--batch", 3)
    generated = note_of(tmp_path / "g.h5")
    expect_machine(generated)
    assert "input_hash" not in generated
    line = "ATOM {0} X ION {0} {0}.0 0.0 0.0 1.0 1.0\n"
    for k in (1, 2):
        (tmp_path / f"{k}.pqr").write_text(line.format(k))
    smallbatch("import", "1.pqr", "-o", "one.h5")
    one = note_of(tmp_path / "one.h5")
    expect_machine(one)
    expect_identity(one, tmp_path / "1.pqr")
    assert one["input"] == "1.pqr"
    smallbatch("import", "1.pqr", "2.pqr", "-o", "both.h5")
    both = note_of(tmp_path / "both.h5")
    hashes = "".join(hash_of(tmp_path / f"{k}.pqr")[0] + "\n" for k in (1, 2))
    assert both["input_hash"] == xxhash.xxh3_128_hexdigest(hashes.encode()) and both["inputs"] == 2
    for name, note in (("g.h5", generated), ("one.h5", one), ("both.h5", both)):
        shown = smallbatch("info", name).stdout
        assert note["command_line"] in shown and note["host"] in shown
        stored = json.loads(smallbatch("info", name, "--json").stdout)
        assert stored["provenance"] == note
    (tmp_path / "raw.dat").write_bytes(bytes(2 * 4 * 3))
    smallbatch("import", "raw.dat", "--inputs", 3, "--channels", 2, "--samples", "int8", "-o", "raw.h5")
    expect_identity(note_of(tmp_path / "raw.h5"), tmp_path / "raw.dat")


@pytest.mark.parametrize("name", ["plain.h5", "two words.h5", "it's.h5", "$HOME `id` \"x\".h5", "\\ back.h5",
                                  "tab\tand\nline.h5", "esc\x1b[31m'q'.h5", "\u00e5\u4e2d \u202e.h5", "ab\x01c.h5",
                                  "*.h5", "~", "a;b&c|d.h5", "#x.h5"])
def test_command_lines_are_what_a_shell_reads(smallbatch, tmp_path, name):
    smallbatch("generate", "spd", "-o", name, "--batch", 1, "--set", "s")
    line = note_of(tmp_path / name)["command_line"]
    assert all(character.isprintable() or character == " " for character in line)
    words = subprocess.run(["bash", "-c", f"printf '%s\\0' {line}"], capture_output=True, check=True).stdout
    assert words.split(b"\0")[1:-1] == [b"generate", b"spd", b"-o", name.encode(), b"--batch", b"1", b"--set", b"s"]


def test_a_command_line_too_long_to_be_read_is_cut(smallbatch, tmp_path):
    names = [f"{'long' * 20}{k}.pqr" for k in range(80)]
    for name in names:
        (tmp_path / name).write_text("ATOM 1 X ION 1 1.0 0.0 0.0 1.0 1.0\n")
    smallbatch("import", *names, "-o", "p.h5")
    line = note_of(tmp_path / "p.h5")["command_line"]
    assert len(line) == 4096 and line.endswith(" ...") and names[3] in line
    assert names[3] in smallbatch("info", "p.h5").stdout


def test_what_strangers_wrote_is_shown_without_effect(smallbatch, tmp_path):
    with open_problem_file(tmp_path / "p.h5") as file:
        add_solve(file)
        note = file.create_group("provenance").attrs
        note["program"] = np.bytes_(b"evil \x1b[2J\x9b\xff\x07")
        note["\x1b]0;name\x07"] = "x\r\ny \u202e z \u0085"
        note["numbers"] = np.arange(3)
        note["flag"] = True
    shown = smallbatch("info", "p.h5").stdout
    assert "evil \\x1b[2J\\x9b\\xff\\x07" in shown and "x\\x0d\\x0ay \\xe2\\x80\\xae z" in shown
    assert all(character.isprintable() or character == "\n" for character in shown)
    smallbatch("info", "p.h5", "--json")


def test_shares_of_different_problem_files_are_not_merged(smallbatch, tmp_path):
    smallbatch("generate", "spd", "-o", "p.h5", "--batch", 4)
    smallbatch("run", "p.h5", "-o", "a.h5", "--shard", "1/2")
    smallbatch("run", "p.h5", "-o", "b.h5", "--shard", "2/2")
    smallbatch("merge", "a.h5", "b.h5", "-o", "ab.h5")
    expect_identity(note_of(tmp_path / "ab.h5"), tmp_path / "p.h5")
    smallbatch("generate", "spd", "-o", "p.h5", "--batch", 4, "--seed", 2, "--overwrite")
    smallbatch("run", "p.h5", "-o", "c.h5", "--shard", "2/2")
    assert "the hash of its problem file differs" in smallbatch("merge", "a.h5", "c.h5", "-o", "ac.h5", expect=3).stderr
