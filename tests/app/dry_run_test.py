"""run --dry-run and run -v report the decisions; smallbatch devices lists the devices."""

import json
import os
import re

import h5py
import pytest

from tests.problems import add_correlation, add_pair_energy, add_potential, add_solve, open_problem_file


@pytest.fixture
def problems(tmp_path):
    with open_problem_file(tmp_path / "p.h5") as file:
        add_solve(file, batch=5000, n=32)
        add_potential(file, shape=(40, 40, 40))
        add_pair_energy(file)
        add_correlation(file)
    return "p.h5"


def test_a_dry_run_decides_what_the_run_does(smallbatch, problems, tmp_path):
    before = {path: path.stat().st_mtime_ns for path in [tmp_path, *tmp_path.iterdir()]}
    options = ["--device", "cpu", "--memory", "8MiB", "--verify", "sample=7", "--method", "gauss_jordan"]
    planned = json.loads(smallbatch("run", problems, "-o", "r.h5", "--dry-run", "--json", *options).stdout)
    text = smallbatch("run", problems, "-o", "r.h5", "--dry-run", *options).stdout
    assert {path: path.stat().st_mtime_ns for path in [tmp_path, *tmp_path.iterdir()]} == before
    done = smallbatch("-v", "run", problems, "-o", "r.h5", "--json", *options)
    report = json.loads(done.stdout)
    assert planned["device"] == report["device"] and planned["verify"] == report["verify"] == "sample=7"
    computers = {"solve": "solver", "potential": "potential", "pair_energy": "pair_energy", "correlation": "correlator"}
    assert [each["kind"] for each in planned["sets"]] == list(computers)
    for plan, set_report in zip(planned["sets"], report["sets"]):
        assert (plan["kind"], plan["name"], plan["shape"]) == (set_report["kind"], set_report["name"], set_report["shape"])
        assert plan["computer"] == report[computers[plan["kind"]]]
        blocks = "1 block" if plan["blocks"] == 1 else f"{plan['blocks']} blocks"
        assert f"{plan['computer']}; {blocks}" in text
        assert f"{plan['kind']}/{plan['name']}: {blocks} of at most" in done.stderr  # from -v
    # 5000 systems of n = 32: A, b, x and the numbers per system. A block takes a fifth of the memory.
    solve = planned["sets"][0]
    system = 4 * (32 * 32 + 2 * 32) + 6 * 4 + 8
    assert solve["blocks"] == pytest.approx(5000 * system / (2**23 / 5), abs=2)
    assert solve["largest_block_bytes"] * planned["blocks_in_memory"] <= 2**23
    assert planned["memory_bytes"] <= 2**23
    assert planned["result_bytes"] == pytest.approx((tmp_path / "r.h5").stat().st_size, rel=0.1)


@pytest.mark.parametrize("batch", [1, 5, 200_000])
def test_blocks_and_memory_of_a_dry_run_agree(smallbatch, tmp_path, batch):
    smallbatch("generate", "spd", "-o", "p.h5", "--n", "8", "--batch", batch)
    planned = json.loads(smallbatch("run", "p.h5", "-o", "r.h5", "--device", "cpu", "--dry-run", "--json").stdout)
    (solve,) = planned["sets"]
    assert planned["blocks_in_memory"] == min(solve["blocks"], 5)
    assert planned["memory_bytes"] == planned["blocks_in_memory"] * solve["largest_block_bytes"]
    assert planned["memory_bytes"] == json.loads(smallbatch("info", "p.h5", "--json").stdout)["needs"]["memory_bytes"]
    assert f"blocks: at most {planned['blocks_in_memory']} in memory" in smallbatch("run", "p.h5", "-o", "r.h5", "--device", "cpu",
                                                                            "--dry-run").stdout


@pytest.mark.skipif(os.path.exists("/dev/nvidiactl") or os.path.exists("/dev/dxg"), reason="there is a driver of GPUs")
def test_without_a_gpu_a_small_run_does_not_speak_of_one(smallbatch, tmp_path):
    smallbatch("generate", "spd", "-o", "p.h5", "--batch", 10)
    assert "GPU" not in smallbatch("run", "p.h5", "-o", "r.h5").stderr


def test_a_dry_run_plans_a_share(smallbatch, problems):
    sets = json.loads(smallbatch("run", problems, "-o", "r.h5", "--dry-run", "--json", "--shard", "2/5").stdout)["sets"]
    assert sets[0]["batch"] == 1000


def test_a_dry_run_refuses_what_a_run_refuses(smallbatch, problems, tmp_path):
    (tmp_path / "there.h5").write_text("mine")
    (tmp_path / "folder").mkdir()
    for arguments, code in [(["none.h5", "-o", "r.h5"], 4), (["there.h5", "-o", "r.h5"], 3),
                            ([problems, "-o", "there.h5"], 7), ([problems, "-o", "no/r.h5"], 7),
                            ([problems, "-o", "folder"], 7), ([problems, "-o", problems, "--overwrite"], 2),
                            ([problems, "-o", "r.h5", "--device", "cuda:99"], 5)]:
        wet = smallbatch("run", *arguments, expect=code).stderr.splitlines()[-1].split(" ", 2)[2]
        dry = smallbatch("run", *arguments, "--dry-run", expect=code).stderr.splitlines()[-1].split(" ", 2)[2]
        assert dry == wet
    smallbatch("run", problems, "-o", "there.h5", "--overwrite", "--dry-run")
    assert (tmp_path / "there.h5").read_text() == "mine"


def test_a_dry_run_is_of_one_process(smallbatch, problems):
    environment = {**os.environ, "OMPI_COMM_WORLD_SIZE": "2"}
    sentence = smallbatch("run", problems, "-o", "r.h5", "--dry-run", expect=2, env=environment).stderr
    assert "--shard" in sentence


def test_verbose_says_why(smallbatch, problems):
    lines = smallbatch("-v", "run", problems, "-o", "r.h5", "--device", "cpu").stderr
    for words in ["device: ", "(named by --device)", "verified: all", "blocks: at most 5 in memory", "systems: cpu ldlt",
                  "potentials: cpu direct sum"]:
        assert f"debug {words}" in lines or words in lines
    assert "debug" not in smallbatch("run", problems, "-o", "r.h5", "--overwrite").stderr


def test_devices_are_what_linux_says(smallbatch):
    found = json.loads(smallbatch("devices", "--json").stdout)
    text = smallbatch("devices").stdout
    cpuinfo = open("/proc/cpuinfo").read()
    model = re.search(r"^model name\s*: (.*)$", cpuinfo, re.M)
    cpu = found["cpu"]
    assert cpu["model"] == (model[1] if model else "") and cpu["model"] in text
    assert cpu["instruction_sets"][-1] == "baseline"
    flags = set((re.search(r"^flags\s*: (.*)$", cpuinfo, re.M) or ["", ""])[1].split())
    assert ("avx2" in cpu["instruction_sets"]) == ({"avx2", "fma"} <= flags)
    assert ("avx512" in cpu["instruction_sets"]) == ({"avx2", "fma", "avx512f", "avx512dq", "avx512vl"} <= flags)
    assert cpu["instruction_set"] == cpu["instruction_sets"][0]
    assert cpu["threads"] <= len(os.sched_getaffinity(0))
    fewer = smallbatch("devices", "--json", env={**os.environ, "OMP_NUM_THREADS": "1",
                                                 "SMALLBATCH_INSTRUCTION_SET": "baseline"})
    assert json.loads(fewer.stdout)["cpu"]["threads"] == 1
    assert json.loads(fewer.stdout)["cpu"]["instruction_set"] == "baseline"
    for gpu in found["gpus"]:
        assert gpu["memory_bytes"] > 0 and gpu["name"] in text and re.fullmatch(r"\d+\.\d", gpu["compute_capability"])
    assert found["gpus"] or ("no GPU: " + found["why_no_gpu"] in text and found["cuda"] is None)


def test_devices_are_those_that_a_run_computes_on(smallbatch, problems, tmp_path):
    threads = json.loads(smallbatch("devices", "--json").stdout)["cpu"]["threads"]
    smallbatch("run", problems, "-o", "r.h5", "--device", "cpu")
    with h5py.File(tmp_path / "r.h5") as file:
        assert file["provenance"].attrs["device"].decode().startswith(f"{threads} CPU thread")
