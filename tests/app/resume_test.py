"""Runs that are killed leave files. `run --resume` completes them to the file that an uninterrupted run would have
written.

One file, because every test begins with a run that was killed."""

import datetime
import fcntl
import json
import os
import re
import shlex
import shutil
import signal
import stat
import subprocess
from pathlib import Path

import h5py
import numpy as np
import pytest
import xxhash

from tests.app.shares_test import fill
from tests.app.unfinished_runs import build_killer, write_problems
from tests.problems import add_potential, add_solve, open_problem_file

PART, JOURNAL = "r.h5.smallbatch-part", "r.h5.smallbatch-journal"
CALL = ["run", "p.h5", "-o", "r.h5", "--device", "cpu", "--memory", "1MiB", "--threads", "2", "--verify", "all", "--json"]


def contents(path):
    """Returns every dataset and attribute as bytes, without times and addresses."""
    found = {}

    def take(name, item):
        if name.startswith("provenance"):
            return
        for key, value in item.attrs.items():
            if key not in ("DIMENSION_LIST", "REFERENCE_LIST"):
                found[name, key] = np.asarray(value).tobytes()
        if isinstance(item, h5py.Dataset) and not name.startswith("checksums"):
            found[name] = (str(item.dtype), item.shape, item[...].tobytes())

    with h5py.File(path) as file:
        file.visititems(take)
    return found


def summary(text):
    sets = json.loads(text)["sets"]
    for one in sets:
        for key in [key for key in one if "second" in key]:
            del one[key]
    return sets


@pytest.fixture(scope="module")
def killer(tmp_path_factory):
    return build_killer(tmp_path_factory.mktemp("killer"))


@pytest.fixture(scope="module")
def finished(smallbatch_program, tmp_path_factory):
    """Makes a folder with the problem file and the results of an uninterrupted run. Returns it with the contents and
    summary of that run."""
    folder = tmp_path_factory.mktemp("finished")
    write_problems(folder / "p.h5")
    done = smallbatch_program(folder)(*CALL, expect=1)
    os.rename(folder / "r.h5", folder / "whole.h5")
    return folder, (contents(folder / "whole.h5"), summary(done.stdout))


@pytest.fixture
def whole(finished, tmp_path):
    """Copies the problem file and the results of an uninterrupted run. Returns the contents and summary of that run."""
    for name in ("p.h5", "whole.h5"):
        shutil.copy(finished[0] / name, tmp_path)
    return finished[1]


def start(smallbatch, arguments, killer=None, **environment):
    variables = dict(os.environ, **{key: str(value) for key, value in environment.items()})
    if killer:
        variables["LD_PRELOAD"] = str(killer)
    return subprocess.run([smallbatch.program, *arguments], cwd=smallbatch.folder, env=variables, capture_output=True,
                          text=True, timeout=300)


def calls_of_a_run(smallbatch, killer, known={}):
    """Returns the number of system calls in a run of p.h5. Counts them only once for each content of p.h5."""
    problems = xxhash.xxh3_64_hexdigest((smallbatch.folder / "p.h5").read_bytes())
    if problems in known:
        return known[problems]
    counted = smallbatch.folder / "calls"
    start(smallbatch, CALL, killer, COUNT_TO=counted)
    os.remove(smallbatch.folder / "r.h5")
    known[problems] = int(counted.read_text())
    return known[problems]


def leave_half(smallbatch, killer, arguments=CALL):
    calls = calls_of_a_run(smallbatch, killer)
    assert start(smallbatch, arguments, killer, KILL_AT=calls // 2).returncode == -signal.SIGKILL
    assert {PART, JOURNAL} <= set(os.listdir(smallbatch.folder))


def resume(smallbatch, whole, *more):
    done = smallbatch(*CALL, "--resume", *more, expect=1)
    assert contents(smallbatch.folder / "r.h5") == whole[0]
    assert summary(done.stdout) == whole[1]
    assert not {PART, JOURNAL} & set(os.listdir(smallbatch.folder))
    smallbatch("verify", "p.h5", "r.h5", expect=1)
    return done


def test_a_killed_run_is_gone_on_with(smallbatch, tmp_path, whole, killer):
    calls = calls_of_a_run(smallbatch, killer)
    assert calls > 200
    taken_over = []
    for at in np.linspace(1, calls, 30).astype(int):
        killed = start(smallbatch, CALL, killer, KILL_AT=at)
        if killed.returncode == -signal.SIGKILL and not (tmp_path / "r.h5").exists():
            resume(smallbatch, whole)
            with h5py.File(tmp_path / "r.h5") as file:
                taken_over.append(int(file["provenance"].attrs.get("resumed_after_blocks", 0)))
        assert contents(tmp_path / "r.h5") == whole[0]
        if (tmp_path / JOURNAL).exists():  # killed after the output was renamed
            assert "there is nothing to do" in smallbatch(*CALL, "--resume", expect=1).stderr
        os.remove(tmp_path / "r.h5")
        for name in (PART, JOURNAL):
            (tmp_path / name).unlink(missing_ok=True)
    assert len(taken_over) > 20 and sorted(taken_over) == taken_over and taken_over[-1] > 30


@pytest.mark.parametrize("more", [["--shard", "2/3"], ["--verify", "sample=50"], ["--verify", "none"]])
def test_of_every_kind_of_set(smallbatch, tmp_path, killer, more):
    fill(tmp_path / "p.h5", one_lattice=True)
    call = ["run", "p.h5", "-o", "r.h5", "--device", "cpu", "--json", *more]
    done = smallbatch(*call, expect=1)
    expected, said = contents(tmp_path / "r.h5"), summary(done.stdout)
    os.remove(tmp_path / "r.h5")
    counted = tmp_path / "calls"
    start(smallbatch, call, killer, COUNT_TO=counted)
    calls = int(counted.read_text())
    gone_on = 0
    for at in np.linspace(calls // 2, calls, 8).astype(int):
        os.remove(tmp_path / "r.h5")
        start(smallbatch, call, killer, KILL_AT=at)
        if not (tmp_path / "r.h5").exists():
            done = smallbatch(*call, "--resume", expect=1)
            gone_on += "continuing the run" in done.stderr
            assert summary(done.stdout) == said
        assert contents(tmp_path / "r.h5") == expected
        (tmp_path / JOURNAL).unlink(missing_ok=True)
    assert gone_on > 2


def test_lists_of_axes_are_written_anew(smallbatch, tmp_path, killer):
    """HDF5 stores these lists in heaps, and passes the heaps to its file driver as if they were raw data. The test
    erases the heaps of the unfinished file."""
    with open_problem_file(tmp_path / "p.h5") as file:
        for number in range(1000):
            add_solve(file, f"s{number:04d}", batch=1, n=2)
    call = ["run", "p.h5", "-o", "r.h5", "--device", "cpu", "--threads", "1"]
    start(smallbatch, call, killer, COUNT_TO=tmp_path / "calls")
    os.remove(tmp_path / "r.h5")
    start(smallbatch, call, killer, KILL_AT=int((tmp_path / "calls").read_text()) * 9 // 10)
    left = bytearray((tmp_path / PART).read_bytes())
    heaps = [found.start() for found in re.finditer(b"GCOL\1", left)]
    assert len(heaps) > 40
    for heap in heaps:
        size = int.from_bytes(left[heap + 8:heap + 16], "little")
        left[heap:heap + size] = bytes(size)
    (tmp_path / PART).write_bytes(left)
    assert "continuing the run" in smallbatch(*call, "--resume").stderr
    lists = 0
    with h5py.File(tmp_path / "r.h5") as file:
        for group in file["solve"].values():
            for name, dataset in group.items():
                for (scale,) in dataset.attrs.get("DIMENSION_LIST", ()):
                    assert file[scale].attrs["CLASS"] == b"DIMENSION_SCALE", name
                    lists += 1
    assert lists > 5000


def test_a_run_that_is_killed_again_and_again_ends(smallbatch, tmp_path, whole, killer):
    calls = calls_of_a_run(smallbatch, killer)
    # Every start lays out and finishes the file again. These steps are almost half of a run's calls.
    for sixths in (2, 2, 3, 3, 4, 4, 4):
        killed = start(smallbatch, [*CALL, "--resume"], killer, KILL_AT=calls * sixths // 6)
        if killed.returncode != -signal.SIGKILL:
            break
    assert killed.returncode == 1
    assert contents(tmp_path / "r.h5") == whole[0] and summary(killed.stdout) == whole[1]


def test_without_resume_it_begins_again_and_says_so(smallbatch, tmp_path, whole, killer):
    leave_half(smallbatch, killer)
    done = smallbatch(*CALL, expect=1)
    assert PART in done.stderr and "--resume" in done.stderr
    assert contents(tmp_path / "r.h5") == whole[0]
    assert not {PART, JOURNAL} & set(os.listdir(tmp_path))


def test_with_nothing_to_resume_it_runs_and_with_all_of_it_there_it_says_so(smallbatch, tmp_path, whole):
    resume(smallbatch, whole)
    before = os.stat(tmp_path / "r.h5")
    failed = sum(entry["count"] for one in whole[1] for entry in one["failed"])
    for more, code in ((["--fail-on", "none"], 0), (["--fail-on", "disagreement"], 0), ([], 1)):  # the run's exit code
        done = smallbatch(*CALL, "--resume", *more, expect=code)
        assert "there is nothing to do" in done.stderr and json.loads(done.stdout)["was_complete"]
        assert summary(done.stdout) == whole[1]
        assert f"{failed} of its problems failed, 0 disagree" in done.stderr
    assert os.stat(tmp_path / "r.h5") == before
    # Results of another call are refused.
    refused = smallbatch(*CALL, "--resume", "--singular", "skip", expect=7).stderr
    assert "exists already" in refused and "warning" not in refused
    # Damaged results are refused too, with a message.
    offset = offset_of_large_dataset(tmp_path / "r.h5")
    with open(tmp_path / "r.h5", "r+b") as file:
        file.seek(offset)
        file.write(bytes(8))
    refused = smallbatch(*CALL, "--resume", expect=7).stderr
    assert "warning r.h5 has changed since it was written (/solve/" in refused and "exists already" in refused
    assert os.stat(tmp_path / "r.h5").st_ino == before.st_ino


@pytest.mark.parametrize("change", ["--verify none", "--precision double", "--method ldlt", "--threads 1",
                                    "--memory 2MiB", "--singular skip", "--pivot-floor 0.01", "--shard 1/2",
                                    "--instruction-set baseline", "--device reference", "the problem file"])
def test_another_run_is_refused_by_name(smallbatch, tmp_path, killer, change):
    with open_problem_file(tmp_path / "p.h5") as file:
        add_solve(file, batch=400, n=32)
    call = ["run", "p.h5", "-o", "r.h5", "--device", "cpu", "--memory", "1MiB", "--threads", "2", "--verify", "all"]
    assert start(smallbatch, call, killer, KILL_AT=40).returncode == -signal.SIGKILL
    left = (tmp_path / PART).read_bytes(), (tmp_path / JOURNAL).read_bytes()
    if change == "the problem file":
        with h5py.File(tmp_path / "p.h5", "r+") as file:
            file["solve/systems/b"][0, 0] += 1
    else:
        option, value = change.split()
        if option in call:
            call[call.index(option) + 1] = value
        else:
            call += [option, value]
    done = smallbatch(*call, "--resume", expect=2)
    assert f"({change.split()[0] if change[0] == '-' else change} was " in done.stderr
    assert left == ((tmp_path / PART).read_bytes(), (tmp_path / JOURNAL).read_bytes())


def test_a_block_that_is_not_as_it_was_written_is_computed_again(smallbatch, tmp_path, whole, killer):
    leave_half(smallbatch, killer)
    with h5py.File(tmp_path / "whole.h5") as file:
        address = file["solve/plain/x"].id.get_offset()
    with open(tmp_path / PART, "r+b") as file:
        file.seek(address + 4 * 32 * 100)
        byte = file.read(1)
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte[0] ^ 1]))
    assert "has changed in the unfinished file" in resume(smallbatch, whole).stderr


@pytest.mark.parametrize("cut", [1, 17, 40, 100, 1000, None])
def test_a_torn_journal_ends_where_it_is_torn(smallbatch, tmp_path, whole, killer, cut):
    leave_half(smallbatch, killer)
    journal = tmp_path / JOURNAL
    journal.write_bytes(b"" if cut is None else journal.read_bytes()[:-cut] + b"x" * (cut // 3))
    resume(smallbatch, whole)


def test_a_full_disk_before_the_first_block_leaves_nothing(smallbatch, tmp_path, killer):
    with open_problem_file(tmp_path / "p.h5") as file:
        add_solve(file, batch=10, n=8)
    done = start(smallbatch, ["run", "p.h5", "-o", "r.h5"], killer, FULL_FROM=1)
    assert done.returncode == 7 and "disk full" in done.stderr and "--resume" not in done.stderr
    assert os.listdir(tmp_path) == ["p.h5"]


def test_bad_input_leaves_nothing(smallbatch, tmp_path, killer):
    with open_problem_file(tmp_path / "p.h5") as file:
        add_solve(file, batch=400, n=32)
        file.create_dataset("solve/packed/A", data=file["solve/systems/A"][...], chunks=(400, 32, 32), compression="gzip")
        file["solve/packed/b"] = file["solve/systems/b"][...]
    with h5py.File(tmp_path / "p.h5") as file:
        chunk = file["solve/packed/A"].id.get_chunk_info(0)
    with open(tmp_path / "p.h5", "r+b") as file:
        file.seek(chunk.byte_offset + chunk.size // 2)
        file.write(b"\xff" * 64)
    smallbatch("run", "p.h5", "-o", "r.h5", "--memory", "1MiB", "--device", "cpu", expect=3)
    assert os.listdir(tmp_path) == ["p.h5"]


def test_two_runs_do_not_write_one_output(smallbatch, tmp_path, killer):
    with open_problem_file(tmp_path / "p.h5") as file:
        add_solve(file, batch=10, n=8)
    (tmp_path / PART).write_bytes(b"another one's")
    with open(tmp_path / PART, "r+b") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        for more in ([], ["--resume"], ["--overwrite"]):
            assert "another process is writing it" in smallbatch("run", "p.h5", "-o", "r.h5", *more, expect=7).stderr
        assert (tmp_path / PART).read_bytes() == b"another one's"
    smallbatch("run", "p.h5", "-o", "r.h5", "--resume")
    assert not {PART, JOURNAL} & set(os.listdir(tmp_path))


def test_without_locks_each_run_has_a_file_of_its_own_and_no_journal(smallbatch, tmp_path, whole, killer):
    done = start(smallbatch, [*CALL, "--resume"], killer, NO_LOCKS=1)
    assert done.returncode == 1 and contents(tmp_path / "r.h5") == whole[0]
    assert "--resume cannot continue it, because files in the folder of r.h5 cannot be locked" in done.stderr
    os.remove(tmp_path / "r.h5")
    for _ in range(2):
        assert start(smallbatch, [*CALL, "--resume"], killer, NO_LOCKS=1, KILL_AT=150).returncode == -signal.SIGKILL
    left = set(os.listdir(tmp_path)) - {"p.h5", "whole.h5"}
    assert len(left) == 2 and all(name.startswith(PART + "-") for name in left)


def records_of(journal):
    """Yields begin, end and content of each record of a journal."""
    data, begin = journal.read_bytes(), 0
    while begin < len(data):
        end = begin + 32 + int(data[begin:begin + 16], 16)
        yield begin, end, data[begin + 32:end]
        begin = end


def record(content):
    return f"{len(content):016x}{xxhash.xxh3_64_hexdigest(content)}".encode() + content


@pytest.mark.parametrize("lost", [1, 2, 3, 5, -2])
def test_a_journal_without_some_records_is_gone_on_with_from_there(smallbatch, tmp_path, whole, killer, lost):
    """The blocks of a missing record are computed again, and so are all later blocks of its set."""
    leave_half(smallbatch, killer)
    data, found = (tmp_path / JOURNAL).read_bytes(), list(records_of(tmp_path / JOURNAL))
    begin, end, _ = found[lost]
    sets = [re.search(rb"cset.(/\w+/\w+)gwritten", content, re.DOTALL) for _, _, content in found]  # in CBOR
    are_more_of_its_set = sets[lost][1] == sets[lost + 1][1]
    (tmp_path / JOURNAL).write_bytes(data[:begin] + data[end:])
    told = f"{sets[lost][1].decode()}: block " in resume(smallbatch, whole).stderr
    assert told == are_more_of_its_set
    with h5py.File(tmp_path / "r.h5") as file:
        assert int(file["provenance"].attrs.get("resumed_after_blocks", 0)) < len(found) - 1


def test_a_journal_of_other_ranges_is_not_believed(smallbatch, tmp_path, whole, killer):
    """The blocks in this journal have the right numbers and wrong ranges of systems. They are computed again."""
    leave_half(smallbatch, killer)
    found = [content for _, _, content in records_of(tmp_path / JOURNAL)]
    ranges = b"franges\x82\x00"  # in CBOR: an array of two, the first system and the number of systems
    assert ranges in found[1]
    found[1] = found[1].replace(ranges, b"franges\x82\x01")
    (tmp_path / JOURNAL).write_bytes(b"".join(map(record, found)))
    assert "/solve/inverse: block 0 does not follow in the journal" in resume(smallbatch, whole).stderr


def test_a_dry_run_says_of_what_is_there_what_the_run_does(smallbatch, tmp_path, whole, killer):
    def both(*more, expect, call=CALL):
        dry = smallbatch(*call, "--dry-run", *more, expect=0 if expect == 1 else expect)
        wet = smallbatch(*call, *more, expect=expect)
        told = [line.split(" ", 2)[2] for line in dry.stderr.splitlines() if " no unit" not in line]
        assert told and set(told) <= {line.split(" ", 2)[2] for line in wet.stderr.splitlines()}
        return json.loads(dry.stdout), dry.stderr

    def states():
        return {path: (path.stat().st_mtime_ns, path.stat().st_size, path.stat().st_ino)
                for path in [tmp_path, *tmp_path.iterdir()]}

    leave_half(smallbatch, killer)
    assert "(--threads was 2, and is now 1)" in both("--resume", expect=2, call=[word.replace("2", "1") for word in CALL])[1]
    with open(tmp_path / PART, "r+b") as other:
        fcntl.flock(other, fcntl.LOCK_SH)
        assert "another process is writing it" in both("--resume", expect=7)[1]
    before = states()
    for more in (["--resume"], []):
        smallbatch(*CALL, "--dry-run", *more)
    assert states() == before
    plan, said = both("--resume", expect=1)
    assert plan["goes_on"] and not plan["is_complete"] and f"continuing the run that left {PART}" in said
    plan, said = both("--resume", expect=1)
    assert plan["is_complete"] and not plan["goes_on"] and "there is nothing to do" in said
    assert "exists already" in both("--resume", "--singular", "skip", expect=7)[1]
    os.remove(tmp_path / "r.h5")
    leave_half(smallbatch, killer)
    plan, said = both(expect=1)
    assert not plan["is_complete"] and not plan["goes_on"] and PART in said and "removed" in said


def test_results_whose_folder_cannot_be_flushed_stand_and_are_told(smallbatch, tmp_path, whole, killer):
    done = start(smallbatch, CALL, killer, NO_FOLDER_FLUSH=1)
    assert done.returncode == 7 and contents(tmp_path / "r.h5") == whole[0]
    told = json.loads(done.stdout)["error"]["message"]
    assert "r.h5 is complete" in told and "the folder of r.h5 could not be flushed" in told
    assert "--resume" not in told and "--overwrite" not in told and told in done.stderr
    assert not {PART, JOURNAL} & set(os.listdir(tmp_path))


def long_problem(path):
    """Writes a problem that takes minutes, in many blocks."""
    rng = np.random.default_rng(1)
    with open_problem_file(path) as file:
        add_potential(file, position=rng.uniform(0, 60, (20000, 3)), charge=np.ones(20000), shape=(300, 300, 500))


LONG = ["run", "p.h5", "-o", "r.h5", "--device", "cpu", "--verify", "none"]


def wait_for_first_block(folder, process):
    while True:  # the journal's first record identifies the run
        assert process.poll() is None
        journal = folder / JOURNAL
        if journal.exists() and b"counted" in journal.read_bytes():
            return
        os.sched_yield()


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP", "SIGXCPU"])
def test_a_signal_ends_a_run_within_a_second_and_says_how_to_go_on(smallbatch, tmp_path, name):
    long_problem(tmp_path / "p.h5")
    process = subprocess.Popen([smallbatch.program, *LONG, "--memory", "64MiB"], cwd=tmp_path, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    wait_for_first_block(tmp_path, process)
    number = getattr(signal, name)
    process.send_signal(number)
    _, errors = process.communicate(timeout=100)
    assert process.returncode == 128 + number, errors
    assert f"stopped by {name}" in errors
    command = shlex.split(errors.strip().splitlines()[-1].partition("continues the run: ")[2])
    assert command == [str(smallbatch.program), *LONG, "--memory", "64MiB", "--resume"]
    assert {PART, JOURNAL} <= set(os.listdir(tmp_path))


@pytest.mark.parametrize("command", ["verify", "merge"])
def test_what_reads_for_long_heeds_a_signal_without_the_clock(smallbatch, tmp_path, killer, command):
    """The signal comes when the results are opened, before the damage in them is found."""
    with open_problem_file(tmp_path / "p.h5") as file:
        add_solve(file, batch=200, n=32)
    for k in (1, 2):
        smallbatch("run", "p.h5", "-o", f"{k}.h5", "--shard", f"{k}/2")
    offset = offset_of_large_dataset(tmp_path / "1.h5")
    with open(tmp_path / "1.h5", "r+b") as file:
        file.seek(offset)
        file.write(bytes(64))
    call = ["verify", "p.h5", "1.h5"] if command == "verify" else ["merge", "1.h5", "2.h5", "-o", "m.h5"]
    smallbatch(*call, expect=3)
    done = subprocess.run([smallbatch.program, *call], cwd=tmp_path, capture_output=True, text=True, timeout=100,
                          env=dict(os.environ, LD_PRELOAD=str(killer), NO_CLOCK="1", SIGNAL_AT_OPEN="1.h5"))
    assert done.returncode == 128 + signal.SIGTERM and "stopped by SIGTERM" in done.stderr, done.stderr
    assert not (tmp_path / "m.h5").exists()


def test_a_signal_that_comes_with_the_first_block_is_told_what_is_left_then(smallbatch, tmp_path, whole, killer):
    """The signal comes while the journal's first record is written: the first block is finished and not yet recorded.
    The message must describe the files that are left at the end of the run."""
    done = subprocess.run([smallbatch.program, *CALL], cwd=tmp_path, capture_output=True, text=True, timeout=100,
                          env=dict(os.environ, LD_PRELOAD=str(killer), SIGNAL_AT_WRITE="--pivot-floor"))
    assert done.returncode == 128 + signal.SIGTERM, done.stderr
    assert {PART, JOURNAL} <= set(os.listdir(tmp_path))
    for told in (done.stderr.splitlines()[-1], json.loads(done.stdout)["error"]["message"]):
        assert "stopped by SIGTERM. Finished blocks are kept." in told and "no output file was left" not in told
    resume(smallbatch, whole)


def test_last_words_go_to_the_log_file_too(smallbatch, tmp_path):
    long_problem(tmp_path / "p.h5")
    process = subprocess.Popen([smallbatch.program, "--log-file", "log", *LONG], cwd=tmp_path, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, env=dict(os.environ, TZ="XYZ-05:30"))
    wait_for_first_block(tmp_path, process)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=100)
    assert process.returncode == 128 + signal.SIGTERM
    lines = (tmp_path / "log").read_text().splitlines()
    last = [line for line in lines if "stopped by SIGTERM" in line]
    assert len(last) == 1 and " error stopped by SIGTERM. Finished blocks are kept." in last[0]
    for line in lines:
        when = datetime.datetime.strptime(line.split(" ")[0], "%Y-%m-%dT%H:%M:%S%z")
        assert when.utcoffset() == datetime.timedelta(hours=5, minutes=30)
        assert abs((when - datetime.datetime.now(datetime.timezone.utc)).total_seconds()) < 600


def is_caught(process, number):
    status = Path(f"/proc/{process.pid}/status").read_text()
    return int(status.partition("SigCgt:")[2].split()[0], 16) >> (number - 1) & 1


def test_a_second_signal_ends_it_at_once(smallbatch, tmp_path, killer):
    long_problem(tmp_path / "p.h5")
    process = subprocess.Popen([smallbatch.program, *LONG], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True, env=dict(os.environ, LD_PRELOAD=str(killer), NO_CLOCK="1"))
    wait_for_first_block(tmp_path, process)
    process.send_signal(signal.SIGINT)
    while is_caught(process, signal.SIGTERM):  # until the first signal is noticed; the block takes seconds longer
        os.sched_yield()
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=100)
    assert process.returncode == -signal.SIGTERM
    assert {PART, JOURNAL} <= set(os.listdir(tmp_path))


def test_what_was_ignored_stays_ignored(smallbatch, tmp_path, whole, killer):
    ignore = "trap '' INT TERM HUP; exec \"$@\""
    done = subprocess.run(["sh", "-c", ignore, "sh", str(smallbatch.program), *CALL], cwd=tmp_path, capture_output=True,
                          text=True, env=dict(os.environ, LD_PRELOAD=str(killer), KILL_AT="60", KILL_WITH="1"))
    assert done.returncode == 1, done.stderr
    assert contents(tmp_path / "r.h5") == whole[0]


def test_a_full_disk_leaves_what_can_be_gone_on_with(smallbatch, tmp_path, whole, killer):
    done = start(smallbatch, CALL, killer, FULL_FROM=calls_of_a_run(smallbatch, killer) * 2 // 3)
    assert done.returncode == 7 and "disk full" in done.stderr and "--resume" in done.stderr
    assert "--resume" in json.loads(done.stdout)["error"]["message"]
    resume(smallbatch, whole)


def small_output(smallbatch, tmp_path, name, *more, expect=0):
    if not (tmp_path / "p.h5").exists():
        with open_problem_file(tmp_path / "p.h5") as file:
            add_solve(file, batch=10, n=8)
    return smallbatch("run", "p.h5", "-o", name, *more, expect=expect)


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o444])
def test_what_is_replaced_keeps_its_mode_and_owner(smallbatch, tmp_path, mode):
    (tmp_path / "r.h5").write_bytes(b"old")
    if os.getuid() == 0:
        os.chown(tmp_path / "r.h5", 1234, 1235)
    os.chmod(tmp_path / "r.h5", mode)
    before = os.stat(tmp_path / "r.h5")
    small_output(smallbatch, tmp_path, "r.h5", "--overwrite")
    after = os.stat(tmp_path / "r.h5")
    assert after.st_ino != before.st_ino and stat.S_IMODE(after.st_mode) == mode
    assert (after.st_uid, after.st_gid) == (before.st_uid, before.st_gid)


@pytest.mark.parametrize("is_there", [True, False])
def test_a_link_is_followed_whether_its_target_is_there_or_not(smallbatch, tmp_path, is_there):
    os.mkdir(tmp_path / "far")
    os.symlink("second", tmp_path / "r.h5")
    os.symlink("far/target.h5", tmp_path / "second")
    if is_there:
        (tmp_path / "far/target.h5").write_bytes(b"old")
        assert "exists already" in small_output(smallbatch, tmp_path, "r.h5", expect=7).stderr
    small_output(smallbatch, tmp_path, "r.h5", *(["--overwrite"] if is_there else []))
    assert (tmp_path / "r.h5").is_symlink() and (tmp_path / "second").is_symlink()
    assert os.listdir(tmp_path / "far") == ["target.h5"]
    assert h5py.is_hdf5(tmp_path / "far/target.h5")


def test_a_link_to_itself_is_refused(smallbatch, tmp_path):
    os.symlink("r.h5", tmp_path / "r.h5")
    assert "cannot write r.h5" in small_output(smallbatch, tmp_path, "r.h5", expect=7).stderr


@pytest.mark.parametrize("name", ["n" * 252 + ".h5", "ä" * 123 + "xyz.h5", "n" * 237 + ".h5"])
def test_names_as_long_as_there_can_be(smallbatch, tmp_path, killer, name):
    small_output(smallbatch, tmp_path, name)
    os.remove(tmp_path / name)
    call = ["run", "p.h5", "-o", name]
    assert start(smallbatch, call, killer, KILL_AT=40).returncode == -signal.SIGKILL
    assert len(os.listdir(tmp_path)) > 1 and name not in os.listdir(tmp_path)
    smallbatch(*call, "--resume")
    smallbatch(*call, "--overwrite")
    assert sorted(os.listdir(tmp_path)) == sorted([name, "p.h5"])


def test_two_long_names_have_two_temporary_files(smallbatch, tmp_path, killer):
    names = ["n" * 249 + end + ".h5" for end in "ab"]
    for name in names:
        small_output(smallbatch, tmp_path, name, expect=0)
        os.remove(tmp_path / name)
        assert start(smallbatch, ["run", "p.h5", "-o", name], killer, KILL_AT=40).returncode == -signal.SIGKILL
    parts = [name for name in os.listdir(tmp_path) if name.endswith("-part")]
    assert len(parts) == 2


def test_a_large_input_that_was_changed_where_its_hash_does_not_look_is_refused(smallbatch, tmp_path, killer):
    """A file of more than 64 MiB is identified by the hash of 64 pieces and by two times. The time of modification can
    be set back. The time of the last change (ctime) cannot."""
    with open_problem_file(tmp_path / "p.h5") as file:
        add_solve(file, batch=20000, n=32)
    assert (tmp_path / "p.h5").stat().st_size > 64 << 20
    call = [word for word in CALL if word != "all"]
    call.insert(call.index("--verify") + 1, "sample=100")
    counted = tmp_path / "calls"
    start(smallbatch, call, killer, COUNT_TO=counted)
    os.remove(tmp_path / "r.h5")
    start(smallbatch, call, killer, KILL_AT=int(counted.read_text()) // 2)
    assert (tmp_path / JOURNAL).exists()
    before = (tmp_path / "p.h5").stat()
    with h5py.File(tmp_path / "p.h5") as file:
        offset = file["solve/systems/A"].id.get_offset()
    with open(tmp_path / "p.h5", "r+b") as file:
        pieces = [k * (before.st_size - (1 << 20)) // 63 for k in range(64)]
        at = next(begin + (1 << 20) for begin in pieces if begin > offset)  # behind a piece that is hashed
        file.seek(at)
        byte = file.read(1)
        file.seek(at)
        file.write(bytes([byte[0] ^ 1]))
    os.utime(tmp_path / "p.h5", ns=(before.st_atime_ns, before.st_mtime_ns))
    refused = smallbatch(*call, "--resume", expect=2).stderr
    assert "the problem file was" in refused and "last touched" in refused


@pytest.mark.parametrize("journal", [b"", b"no journal of ours", b"0" * 40])
def test_a_journal_that_cannot_be_read_is_told(smallbatch, tmp_path, whole, killer, journal):
    leave_half(smallbatch, killer)
    (tmp_path / JOURNAL).write_bytes(journal)
    assert f"{PART} has no journal of finished blocks" in resume(smallbatch, whole).stderr


def test_a_journal_of_another_program_is_refused(smallbatch, tmp_path, whole, killer):
    leave_half(smallbatch, killer)
    record = bytes([0xA0])  # an empty map in CBOR
    text = f"{len(record):016x}{xxhash.xxh3_64_hexdigest(record)}".encode() + record
    data = (tmp_path / JOURNAL).read_bytes()
    (tmp_path / JOURNAL).write_bytes(text)
    assert "the layout of result files was not known" in smallbatch(*CALL, "--resume", expect=2).stderr
    first = 32 + int(data[:16], 16)
    (tmp_path / JOURNAL).write_bytes(data[:first] + text)  # the run's record, then a record that is no block
    assert "this program does not understand this journal" in smallbatch(*CALL, "--resume", expect=2).stderr


def test_another_command_does_not_take_its_place(smallbatch, tmp_path, whole, killer):
    leave_half(smallbatch, killer)
    refused = smallbatch("generate", "spd", "--batch", "3", "--n", "4", "-o", "r.h5", expect=7).stderr
    assert PART in refused and "--resume" in refused and "--overwrite" in refused
    resume(smallbatch, whole)


def test_what_another_user_left_is_not_written_into(smallbatch, tmp_path, whole):
    """An unfinished file of another user is not written to, and neither is a file with a second name."""
    (tmp_path / "precious").write_text("precious")
    os.link(tmp_path / "precious", tmp_path / PART)
    if os.geteuid() == 0:
        (tmp_path / JOURNAL).write_text("x")
        os.chown(tmp_path / JOURNAL, 65534, 65534)
    resume(smallbatch, whole)
    assert (tmp_path / "precious").read_text() == "precious"
    if os.geteuid() == 0:
        os.remove(tmp_path / "r.h5")
        (tmp_path / PART).write_text("theirs")
        os.chown(tmp_path / PART, 65534, 65534)
        smallbatch(*CALL, expect=1)
        assert (tmp_path / "r.h5").stat().st_uid == 0 and contents(tmp_path / "r.h5") == whole[0]


def test_an_input_has_no_name_that_is_written_beside_the_output(smallbatch, tmp_path, whole):
    for name in (PART, JOURNAL):
        os.rename(tmp_path / "p.h5", tmp_path / name)
        call = [name if word == "p.h5" else word for word in CALL]
        assert "temporary file of the output" in smallbatch(*call, expect=2).stderr
        assert "log file" in smallbatch("--log-file", name, *CALL, expect=2).stderr
        os.rename(tmp_path / name, tmp_path / "p.h5")


def test_results_that_were_damaged_are_not_complete(smallbatch, tmp_path, whole):
    smallbatch(*CALL, expect=1)
    assert "there is nothing to do" in smallbatch(*CALL, "--resume", expect=1).stderr
    with open(tmp_path / "r.h5", "r+b") as file:
        file.seek(offset_of_large_dataset(tmp_path / "r.h5"))
        file.write(bytes(64))
    smallbatch(*CALL, "--resume", expect=7)


def offset_of_large_dataset(path):
    """Returns the offset of the first dataset in /solve with more than 1000 bytes."""
    with h5py.File(path) as file:
        found = []
        file["solve"].visititems(lambda _, item: found.append(item.id.get_offset())
                                 if isinstance(item, h5py.Dataset) and item.nbytes > 1000 else None)
    return found[0]
