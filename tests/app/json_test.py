"""Output of commands with --json: objects of docs/json.schema.json, with the fields that docs/json.md lists."""

import json
import re

import h5py
import jsonschema
import numpy as np
import pytest

from tests.conftest import ROOT
from tests.problems import add_correlation, add_pair_energy, add_potential, add_solve, open_problem_file

SCHEMA = json.loads((ROOT / "docs" / "json.schema.json").read_text())
COMMANDS = ["run", "merge", "verify", "info", "devices", "generate", "import", "export", "report"]
COUNTS = {name for name, of in ((name, of) for part in SCHEMA["$defs"].values() for name, of in part.get("properties", {}).items())
          if of == {"$ref": "#/$defs/count"}}


def expect_integers(value, name=""):
    """Fails if a count is a float, such as 4.0. JSON Schema accepts 4.0 as an integer."""
    assert not (name in COUNTS and isinstance(value, float)), f"{name}: {value}"
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        expect_integers(inner, key if isinstance(value, dict) else name)


@pytest.fixture
def said(smallbatch):
    """Calls the command with --json. Returns the object, which must fit the schema."""
    def call(*arguments, expect=0):
        told = json.loads(smallbatch(*arguments, "--json", expect=expect).stdout,
                          parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))
        jsonschema.Draft202012Validator(SCHEMA).validate(told)
        expect_integers(told)
        assert all(one["lane"] == one["kind"] for one in told.get("sets", ()))
        return told
    return call


def write_problems(path, failing=False):
    rng = np.random.default_rng(3)
    with open_problem_file(path) as file:
        add_solve(file, batch=9, n=8)
        add_solve(file, "packed", batch=4, n=5, dtype=np.float64, nrhs=3, store_packed=True)
        add_solve(file, "inverses", batch=3, n=6, nrhs="inverse")
        add_solve(file, "determinants", batch=3, n=6, nrhs="log_determinant")
        add_potential(file, position=rng.uniform(0, 3, (20, 3)), charge=rng.uniform(-1, 1, 20), offset=[0, 12, 20],
                      field=1)["name"] = np.array([b"one", b"two"])
        group = add_potential(file, "points", position=rng.uniform(0, 3, (5, 3)), charge=rng.uniform(-1, 1, 5),
                              offset=[0, 5], targets="points")
        del group.attrs["shape"], group["origin"], group["spacing"]
        group["points"] = rng.uniform(0, 3, (7, 3))
        group["group"] = np.array([1, 1, 2, 2, 0], np.int8)
        add_pair_energy(file)
        add_correlation(file, signal=rng.standard_normal((3, 40, 4)).astype(np.complex64))
        if failing:
            file["solve/systems/A"][...] = -file["solve/systems/A"][...]
            file["solve/packed/A"][2] = np.nan
            file["potential/charges/position"][3] = np.nan


@pytest.mark.parametrize("failing", [False, True])
@pytest.mark.parametrize("more", [[], ["--shard", "2/3"], ["--verify", "none"], ["--singular", "skip", "--pivot-floor", "1e-6"]])
def test_a_finished_resume_says_what_the_run_said(said, tmp_path, failing, more):
    write_problems(tmp_path / "p.h5", failing)
    call = ["run", "p.h5", "-o", "r.h5", "--device", "cpu", "--fail-on", "none", *more]
    ran = said(*call)
    again = said(*call, "--resume")
    assert (ran.pop("was_complete"), again.pop("was_complete")) == (False, True)
    assert again == ran
    assert ran["all_right"] is not failing and (failing and not more) == any(one["likely_cause"] for one in ran["sets"]) or more


def test_every_kind_of_object_is_one_of_the_schema(said, smallbatch, tmp_path):
    write_problems(tmp_path / "p.h5")
    dry = said("run", "p.h5", "-o", "r.h5", "--dry-run")
    assert dry["command"] == "run" and dry["dry_run"]
    ran = said("run", "p.h5", "-o", "r.h5")
    seconds = ran["seconds"]  # each set is one block, so no stages overlap
    explained = sum(seconds[stage] for stage in ("set_up", "start", "read", "compute", "verify", "write"))
    assert 0.8 * seconds["total"] < explained < 1.001 * seconds["total"]
    assert ran["bound_by"] is None or 2 * seconds[ran["bound_by"].replace("-", "_")] >= seconds["total"]
    for k in (1, 2):
        smallbatch("run", "p.h5", "-o", f"{k}.h5", "--shard", f"{k}/2")
    merged = said("merge", "1.h5", "2.h5", "-o", "m.h5")
    assert merged["shares"] == 2 and merged["seconds"] is None and set(merged) == set(ran)
    for one, whole in zip(merged["sets"], ran["sets"], strict=True):
        for key in whole.keys() - {"shape", "compute_seconds"}:
            assert one[key] == whole[key], key
    assert [one["kind"] for one in said("verify", "p.h5", "m.h5")["sets"]] == [one["kind"] for one in ran["sets"]]
    for arguments in (["p.h5"], ["r.h5"], ["m.h5"], ["r.h5", "--check"]):
        told = said("info", *arguments)
        assert [one["name"] for one in told["sets"]] == [one["name"] for one in ran["sets"]]
    assert told["provenance"]["threads"] == int(told["provenance"]["threads"])
    assert isinstance(told["provenance"]["threads"], int) and isinstance(told["provenance"]["input_bytes"], int)
    assert isinstance(told["provenance"]["total_seconds"], float)
    assert said("devices")["cpu"]["threads"] > 0
    if not smallbatch.can_report:
        return
    assert said("report", "r.h5", "-o", "r.html") == {"command": "report", "results": "r.h5", "output": "r.html",
                                                      "set_count": len(ran["sets"]), "failed": 0, "disagreed": 0}


def test_info_tells_the_failures_that_run_told(said, smallbatch, tmp_path):
    write_problems(tmp_path / "p.h5", failing=True)
    ran = said("run", "p.h5", "-o", "r.h5", expect=1)["sets"]
    assert [one["failed"] for one in said("info", "r.h5")["sets"]] == [one["failed"] for one in ran]
    assert sum(one["failed"] != [] for one in ran) == 3
    text = smallbatch("info", "r.h5").stdout
    for one in ran:
        for failure in one["failed"]:
            assert f"    {failure['count']} with status {failure['status']}: {failure['meaning']} (at index " in text
    assert "; 9 failed; verified: 9 agree, 0 disagree" in text


GENERATED = {
    "spd": [["--family", "lehmer"], ["--condition", "7"], ["--sizes", "3:9"], ["--compute", "log_determinant"]],
    "charges": [[], ["--targets", "charges", "--field"], ["--pair-energy", "--groups", "--per-charge"]],
    "signal": [["--type", "int4", "--integrate", "9", "--flagged", "0.5"], ["--mean"]],
}


@pytest.mark.parametrize("what,more", [(what, more) for what, calls in GENERATED.items() for more in calls])
def test_what_is_made_is_what_info_says(said, tmp_path, what, more):
    sizes = {"spd": ["--batch", "4"], "charges": ["--charges", "9", "--shape", "4"], "signal": ["--times", "30", "--channels", "2"]}
    made = said("generate", what, "-o", "p.h5", *sizes[what], *more)
    assert made["sets"] == said("info", "p.h5")["sets"] and made["kind"] == "problems" and made["seed"] == 1


def test_imports_and_exports(said, smallbatch, tmp_path):
    (tmp_path / "m.pqr").write_text("ATOM 1 N ALA 1 0.0 0.0 0.0 0.5 1.5\nATOM 2 N ALA 1 1.0 2.0 0.0 -0.25 1.5\n")
    imported = said("import", "m.pqr", "-o", "p.h5", "--shape", "5", "--set", "a")
    assert imported["sets"] == said("info", "p.h5")["sets"] and imported["total_charge"] == 0.25
    smallbatch("run", "p.h5", "-o", "r.h5", expect=None)
    for name in ("a.dx", "a.cube", "a.png"):
        told = said("export", "r.h5", "-o", name)
        assert (told["output"], told["set"]["name"], told["set"]["lattice"], told["index"]) == (name, "a", [5, 5, 5], 0)
    np.zeros((6, 2, 3, 2), np.int8).tofile(tmp_path / "samples")
    signals = said("import", "samples", "-o", "s.h5", "--inputs", "3", "--channels", "2", "--samples", "int8",
                   "--first-frequency", "1e8", "--channel-width", "1e4", "--sample-time", "1e-3")
    assert signals["sets"] == said("info", "s.h5")["sets"]
    smallbatch("run", "s.h5", "-o", "v.h5")
    assert said("export", "v.h5", "-o", "v.png")["index"] == 0
    assert said("export", "v.h5", "-o", "v.uvh5")["index"] is None
    back = said("import", "v.uvh5", "-o", "w.h5")
    assert back["kind"] == "results" and back["sets"][0]["inputs"] == 3


@pytest.mark.parametrize("call", ["run none.h5 -o a.h5", "merge none.h5 -o a.h5", "verify none.h5 a.h5", "info none.h5",
                                  "generate spd -o no/a.h5", "import none.pqr -o a.h5", "export none.h5 -o a.dx",
                                  "report none.h5 -o a.html"])
def test_every_command_says_an_error_as_an_object(said, call):
    assert set(said(*call.split(), expect=None)) == {"error"}


def test_the_schema_is_one_and_the_document_lists_its_fields():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    named = set()

    def collect(part):
        if isinstance(part, dict):
            named.update(part.get("properties", {}))
            for inner in part.values():
                collect(inner)
        for inner in part if isinstance(part, list) else ():
            collect(inner)

    collect(SCHEMA)
    document = (ROOT / "docs" / "json.md").read_text()
    assert named - set(re.findall(r"`(\w+)`", document)) == set()
    listed = {name for cell in re.findall(r"^\| (`[^|]+) \|", document, re.M) for name in re.findall(r"`(\w+)`", cell)}
    assert listed - named == set()
    assert {of["command"].get("const") or tuple(of["command"]["enum"]) for part in SCHEMA["$defs"].values()
            if "command" in (of := part.get("properties", {}))} == {("run", "merge"), *COMMANDS} - {"merge"}
