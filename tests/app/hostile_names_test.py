"""Names of files, and names inside files, with control characters that a terminal would obey. They are never printed
or logged unchanged. They cannot fake a log line. In JSON, the names of sets are unchanged after decoding."""

import json
import re

import h5py
import numpy as np
import pytest

from tests.io.siege import OBEYED
from tests.problems import add_correlation, add_potential, add_solve, open_problem_file

FORGED = "x\n00:00:00 error all is lost\r\x1b[2K\x1b]0;title\x07 \u202egnorw \u200b\x9b31m"
TURNED = "turned \u202eemos\u2066 \xe9"  # a valid name of a set, which has no ASCII control characters
LOG_LINE = re.compile(r"\d\d:\d\d:\d\d (info|warning|error|debug) ")


def check(done, log=None):
    assert not OBEYED.search(done.stdout) and not OBEYED.search(done.stderr), (done.stdout, done.stderr)
    for line in done.stderr.splitlines():
        assert LOG_LINE.match(line), line
        assert not line.startswith("00:00:00")
    if log:
        for line in log.read_text().splitlines():
            assert re.match(r"\d{4}-\d\d-\d\dT", line) and not OBEYED.search(line), line
        log.unlink()
    return done


def test_names_of_sets_and_labels_are_spelt_out(smallbatch, tmp_path):
    with open_problem_file(tmp_path / "p.h5") as file:
        a = add_solve(file, TURNED, batch=3, n=3)[0]
        file[f"solve/{TURNED}/A"][1] = -a[1]  # this system fails, so a message names the set
        group = add_potential(file, TURNED, position=[[0, 0, 0]] * 2, charge=[1, 1], offset=[0, 1, 2])
        group["name"] = np.array([FORGED.encode(), b"\xff\xfe"])
        group["A\nB"] = 1
        add_correlation(file, TURNED, np.ones((1, 2, 2), np.complex64), sample_time=1.0)
    log = tmp_path / "log"
    spelt = "turned \\xe2\\x80\\xaeemos\\xe2\\x81\\xa6 \xe9"
    assert spelt in check(smallbatch("info", "p.h5")).stdout
    assert json.loads(check(smallbatch("info", "--json", "p.h5")).stdout)["sets"][0]["name"] == TURNED
    run = check(smallbatch("-v", "--log-file", "log", "run", "p.h5", "-o", "r.h5", expect=1), log)
    assert spelt in run.stdout
    done = check(smallbatch("run", "p.h5", "-o", "r.h5", "--overwrite", "--json", expect=1))
    assert TURNED in [found["name"] for found in json.loads(done.stdout)["sets"]]
    for words in (["info", "r.h5"], ["info", "--json", "r.h5"], ["verify", "p.h5", "r.h5"],
                  *([["report", "r.h5", "-o", "r.html"]] if smallbatch.can_report else []), ["run", "p.h5", "-o", "d.h5", "--dry-run"],
                  ["export", "r.h5", "--set", TURNED, "-o", "x.dx"], ["export", "r.h5", "--set", FORGED, "-o", "x.dx"]):
        check(smallbatch("--log-file", "log", *words, expect=None), log)
    assert not OBEYED.search((tmp_path / "r.html").read_text().replace("\t", ""))


def with_name_of_set(file):
    file.create_group(f"solve/{FORGED}")


def with_name_of_attribute(file):
    file["potential/charges"].attrs[FORGED] = 1


def with_unit(file):
    file["potential/charges/position"].attrs["unit"] = FORGED


def with_output_unit(file):
    file["potential/charges"].attrs["output_unit"] = FORGED


def with_bytes_that_are_no_utf8(file):
    file["potential/charges"].attrs["output_unit"] = np.bytes_(b"\xff\xfe\x80" * 30)


def with_near_name(file):
    file["potential/charges"].move("charge", "charg\x1b")


def with_particles(file):
    for name in ("position", "charge"):
        del file[f"potential/charges/{name}"]
    file["potential/charges"].attrs["particles"] = FORGED


def with_dataset_for_a_set(file):
    file["solve/" + TURNED] = 1


@pytest.mark.parametrize("spoil", [with_name_of_set, with_name_of_attribute, with_unit, with_output_unit,
                                   with_bytes_that_are_no_utf8, with_near_name, with_particles, with_dataset_for_a_set])
def test_refusals_spell_them_out(smallbatch, tmp_path, spoil):
    with open_problem_file(tmp_path / "p.h5") as file:
        add_potential(file)
        spoil(file)
    for words in (["info", "p.h5"], ["info", "--json", "p.h5"], ["run", "p.h5", "-o", "r.h5"]):
        done = check(smallbatch("--log-file", "log", *words, expect=3), tmp_path / "log")
        assert len(done.stderr.splitlines()) == 1
        assert "\\x" in done.stderr
        if "--json" in words:
            assert "\\x" in json.loads(done.stdout)["error"]["message"]


def test_a_set_without_a_name_is_refused(smallbatch, tmp_path):
    path = tmp_path / "p.h5"
    with h5py.File(path, "w", libver="earliest") as file:  # names end in 0 there, and have no checksum
        file.attrs["smallbatch_format"] = np.int32([1, 8])
        add_solve(file, "nameless", batch=2, n=3)
    stored = path.read_bytes()
    assert stored.count(b"nameless\0") == 1
    path.write_bytes(stored.replace(b"nameless\0", bytes(9)))
    for words in (["info", "p.h5"], ["run", "p.h5", "-o", "r.h5"]):
        assert "a set without a name" in check(smallbatch(*words, expect=3)).stderr
    assert not (tmp_path / "r.h5").exists()


def test_provenance_is_spelt_out(smallbatch, tmp_path):
    with open_problem_file(tmp_path / "p.h5") as file:
        add_solve(file)
    smallbatch("run", "p.h5", "-o", "r.h5")
    with h5py.File(tmp_path / "r.h5", "r+") as file:
        for name in ("program", "device", "singular", "share", "host"):
            file["provenance"].attrs[name] = np.bytes_(FORGED.encode())
    for words in (["info", "r.h5"], ["info", "--json", "r.h5"], ["verify", "p.h5", "r.h5"],
                  *([["report", "r.h5", "-o", "r.html"]] if smallbatch.can_report else [])):
        check(smallbatch(*words, expect=None))


def test_names_of_files_are_spelt_out(smallbatch, tmp_path):
    name = "dir \u202e\n\x1b[31m.h5"
    with open_problem_file(tmp_path / "p.h5") as file:
        add_solve(file, batch=2, n=2)
    (tmp_path / "p.h5").rename(tmp_path / name)
    results = name.replace("dir", "results")
    for words, code in ((["info", name], 0), (["run", name, "-o", results], 0), (["run", name, "-o", results, "--dry-run"], None),
                        (["run", name, "-o", results], 7), (["verify", name, results], 0), (["info", results], 0),
                        *([(["report", results, "-o", "r\n\x1b.html"], 0)] if smallbatch.can_report else []), (["info", "no" + name], 4),
                        (["merge", results, "-o", "m" + name], None), (["import", "no" + name, "-o", "i" + name], None),
                        (["generate", "spd", "--batch", 2, "--n", 2, "-o", "g" + name], 0)):
        done = check(smallbatch(*words, expect=code))
        assert "\\x0a\\x1b" in done.stdout + done.stderr or words[0] == "verify"  # verify prints no names
        assert len(done.stdout.splitlines()) < 2 or "\n\\x1b" not in done.stdout
