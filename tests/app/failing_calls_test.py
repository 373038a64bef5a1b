"""Calls that fail: allocating memory, starting threads and processes, reading, writing, decompressing. Either one call
fails, or one call and all later calls.

The command then succeeds, or ends with an exit code of RIGHT and one message. No result file is ever wrong. The library
of failing_calls.cpp makes the calls fail. This command tries every call, which takes hours, and prints a table of the
exit codes:

    pytest -s tests/app/failing_calls_test.py --failing-calls 0"""

import collections
import os
import re
import signal
import struct
import subprocess
from pathlib import Path

import h5py
import numpy as np
import pytest

from tests.problems import add_correlation, add_pair_energy, add_potential, add_solve, open_problem_file

PROGRAM = str(Path(os.environ.get("SMALLBATCH_BIN", "build/bin/smallbatch")).resolve())
LIBRARY = Path(os.environ.get("SMALLBATCH_BUILD", "build")).resolve() / "tests" / "libfailing_calls.so"
SECONDS = 60  # far more than any command takes
DONE, UNREADABLE, OUT_OF_MEMORY, OUTPUT = 0, 4, 6, 7
RIGHT = {  # exit codes that fit each kind of failing call
    "malloc": {DONE, OUT_OF_MEMORY},
    "mmap": {DONE, OUT_OF_MEMORY},
    "thread": {DONE, OUT_OF_MEMORY},
    "socketpair": {DONE, OUT_OF_MEMORY},
    "fork": {DONE, OUT_OF_MEMORY},
    "read": {DONE, UNREADABLE, OUTPUT},
    "write": {DONE, OUTPUT},
    "send": {DONE, OUT_OF_MEMORY},
    "recv": {DONE, OUT_OF_MEMORY},
    "inflate": {DONE, OUT_OF_MEMORY},
}
COMMANDS = {  # the output, if any, is the last word
    "info": ["info", "problems.h5"],
    "info of results": ["info", "results.h5"],
    "run": ["run", "problems.h5", "--threads", "2", "-q", "-o", "new.h5"],
    "verify": ["verify", "problems.h5", "results.h5", "--threads", "2"],
    "export": ["export", "results.h5", "--set", "charges", "-o", "new.dx"],
    "merge": ["merge", "first.h5", "second.h5", "-o", "new.h5"],
    "generate": ["generate", "charges", "--charges", "20", "--shape", "4,4,4", "-o", "new.h5"],
}
DEFAULT_CALLS = 4  # tried for each kind of call and each command


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Makes the inputs of COMMANDS (problems, results, two shares) and the right output of each command. No call
    fails."""
    path = tmp_path_factory.mktemp("failing_calls")
    rng = np.random.default_rng(4)
    with open_problem_file(path / "problems.h5") as file:
        add_solve(file, "dense", batch=400, n=6)  # large enough that its blocks are allocated by mmap()
        add_solve(file, "wide", batch=3, n=12, dtype=np.float64, nrhs=2)
        a = file["solve/dense/A"][...]
        file.create_dataset("solve/packed/A", data=a, chunks=(100, 6, 6), compression="gzip", shuffle=True)
        file["solve/packed/b"] = file["solve/dense/b"][...]
        add_potential(file, position=rng.uniform(0, 3, (5, 3)), charge=[1, -1, 2, 1, 1])
        add_pair_energy(file)
        samples = rng.normal(size=(2, 9, 3)) + 1j * rng.normal(size=(2, 9, 3))
        add_correlation(file, signal=samples.astype(np.complex64))
    for arguments in (["run", "problems.h5", "-o", "results.h5"], ["run", "problems.h5", "-o", "first.h5", "--shard", "1/2"],
                      ["run", "problems.h5", "-o", "second.h5", "--shard", "2/2"]):
        subprocess.run([PROGRAM, *arguments], cwd=path, check=True, capture_output=True)
    for name, arguments in COMMANDS.items():
        if arguments[-2] == "-o":
            subprocess.run([PROGRAM, *arguments], cwd=path, check=True, capture_output=True)
            (path / arguments[-1]).rename(path / f"right {name}{Path(arguments[-1]).suffix}")
    return path


def environment(path, call, first, count=1, **more):
    """Returns the path of the notes, and environment variables that make `count` calls fail, beginning with number
    `first`."""
    notes = path / "notes"
    notes.write_bytes(bytes(16))
    return notes, dict(os.environ, LD_PRELOAD=str(LIBRARY), FAILING_CALL=call, FAILING_FROM=str(first),
                       FAILING_COUNT=str(count), FAILING_NOTES=str(notes), **more)


def calls_and_failed(notes):
    return struct.unpack("QQ", notes.read_bytes())


class Runs:
    """Runs the command with one kind of call failing."""

    def __init__(self, folder, command, call):
        self.folder, self.command, self.call = folder, command, call
        self.arguments = COMMANDS[command]
        self.output = folder / self.arguments[-1] if self.arguments[-2] == "-o" else None

    def __call__(self, first, count):
        """Returns (exit code, stderr, number of calls, number of failed calls). The code is -signal after a signal, and
        None after a timeout."""
        for path in self.folder.iterdir():
            if ".smallbatch-" in path.name or path == self.output:
                path.unlink()
        notes, variables = environment(self.folder, self.call, first, count)
        with subprocess.Popen([PROGRAM, *self.arguments], cwd=self.folder, env=variables, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            try:
                self.said, errors = process.communicate(timeout=SECONDS)
                code = process.returncode
            except subprocess.TimeoutExpired:
                process.kill()
                errors, code = process.communicate()[1], None
        return (code, errors, *calls_and_failed(notes))

    def wrong(self, code, errors):
        """Returns what is wrong about how the command ended, or None."""
        if code is None:
            return "hangs"
        if code < 0:
            return signal.Signals(-code).name
        if code not in RIGHT[self.call]:
            return f"exit {code}"
        left = [path.name for path in self.folder.iterdir() if ".smallbatch-" in path.name]
        goes_on = errors.endswith(" --resume\n")
        if bool(left) != goes_on:
            return f"exit {code}, leaves {left}"
        if self.output and self.output.exists():
            return None if self.is_right() else f"exit {code}, the output is wrong"
        if code == DONE:
            return "exit 0, no output" if self.output else None
        sentences = [line for line in errors.splitlines() if re.search(r" \[?error\]? ", line)]
        if len(sentences) != 1 or not re.search(r"error\]? \S.* \(.+\)\. .+(\.| --resume)$", sentences[0]):
            return f"exit {code}, no sentence"
        if "Please report" in errors or re.search(r"0x[0-9a-f]{6}", errors) or "terminate called" in errors:
            return f"exit {code}, a strange sentence"
        return None

    def is_right(self):
        right = self.folder / f"right {self.command}{self.output.suffix}"
        if self.output.suffix != ".h5":
            return len(right.read_bytes()) == len(self.output.read_bytes())
        with h5py.File(right) as one, h5py.File(self.output) as other:
            return numbers(one) == numbers(other)


def numbers(file):
    """Returns the bytes of every dataset, except of /provenance, which has the time, and of /checksums/rest, which
    depends on it."""
    found = {}
    file.visititems(lambda name, item: found.update({name: item[...].tobytes()})
                    if isinstance(item, h5py.Dataset) and not name.startswith(("provenance", "checksums/rest")) else None)
    return found


@pytest.mark.parametrize("call", RIGHT)
@pytest.mark.parametrize("command", COMMANDS)
def test_a_failing_call_is_told_or_does_no_harm(folder, pytestconfig, command, call):
    assert LIBRARY.exists()  # without the library no call fails
    run = Runs(folder, command, call)
    code, errors, calls, _ = run(0, 0)
    assert run.wrong(code, errors) is None and code == 0, errors
    wanted = pytestconfig.getoption("failing_calls")
    wanted = DEFAULT_CALLS if wanted is None else wanted or calls
    rng = np.random.default_rng(pytestconfig.getoption("random_seed"))
    numbers_of_calls = rng.choice(calls, min(calls, wanted), replace=False) + 1 if calls else []
    exits, wrongs = collections.Counter(), []
    for number in sorted(int(n) for n in numbers_of_calls):
        for count in (1, 1 << 40):
            code, errors, _, failed = run(number, count)
            if failed == 0:
                continue  # the order of threads varies, and so does the number of calls
            wrong = run.wrong(code, errors)
            exits[wrong or f"exit {code}"] += 1
            if wrong:
                wrongs.append(f"{call} {number} {'alone' if count == 1 else 'and all after it'}: {wrong}\n{errors}")
    print(f"\n{command}: {call}: {calls} calls; " + ", ".join(f"{n} x {what}" for what, n in exits.most_common()))
    assert not wrongs, f"{len(wrongs)} of {exits.total()}\n" + "\n".join(wrongs[:10])


def test_a_resumed_run_that_finds_no_memory_keeps_what_is_finished(tmp_path):
    """A resumed run writes the layout of the unfinished file again. If an allocation fails meanwhile, the run must not
    truncate the file, because finished numbers of the last set are at its end."""
    with open_problem_file(tmp_path / "p.h5") as file:
        for number in range(150):
            add_solve(file, f"a{number:03d}", batch=1, n=2)
        add_solve(file, "z", batch=400, n=16)
    call = [PROGRAM, "run", "p.h5", "-o", "r.h5", "--device", "cpu", "--memory", "1MiB", "--threads", "2", "-q"]
    left = [tmp_path / f"r.h5.smallbatch-{name}" for name in ("part", "journal")]

    def run(*more, failing="write", first=0, count=1):
        notes, variables = environment(tmp_path, failing, first, count)
        done = subprocess.run([*call, *more], cwd=tmp_path, env=variables, capture_output=True, text=True, timeout=SECONDS)
        return done.returncode, done.stderr, calls_and_failed(notes)[0]

    def results():
        with h5py.File(tmp_path / "r.h5") as file:
            found = numbers(file), int(file["provenance"].attrs.get("resumed_after_blocks", 0))
        (tmp_path / "r.h5").unlink()
        return found

    code, errors, writes = run()
    assert code == DONE, errors
    right = results()[0]
    finished = 0
    for number in range(writes, 0, -10):  # until some blocks of z are finished, and others not
        if run(first=number)[0] == OUTPUT and left[1].exists():
            files = [path.read_bytes() for path in left]
            assert run("--resume")[0] == DONE
            finished = results()[1]
            break
    assert finished > 152
    calls = failed = 0
    for part in range(16):
        for path, content in zip(left, files):
            path.write_bytes(content)
        code, errors, calls_now = run("--resume", failing="malloc", first=calls * part // 15)
        calls = calls or calls_now
        failed += code == OUT_OF_MEMORY
        assert code in (DONE, OUT_OF_MEMORY), errors
        if code == OUT_OF_MEMORY:
            assert run("--resume")[0] == DONE
        assert results() == (right, finished), (part, errors)
    assert failed > 3


def headers(path):
    """Returns the contents of HDF5's headers: names, types, shapes, attributes outside /provenance, and the lists of
    axes."""
    found = {}

    def take(name, item):
        found[name] = str(getattr(item, "dtype", "")), getattr(item, "shape", None)
        for key, value in item.attrs.items() if not name.startswith("provenance") else ():
            lists = key in ("DIMENSION_LIST", "REFERENCE_LIST")
            found[name, key] = ([h5py.h5o.get_info(file[one[0]].id).addr for one in value] if lists else
                                np.asarray(value).tobytes())

    with h5py.File(path) as file:
        file.visititems(take)
    return found


@pytest.mark.parametrize("sets, tries", [(1, 20), (400, 12)])
def test_headers_that_the_disk_loses_are_noticed(tmp_path, sets, tries):
    """If a write of a header by HDF5 is lost, the run fails and no result file appears. This holds even if the file has
    an older header at that offset. The test compares headers, and no numbers."""
    with open_problem_file(tmp_path / "p.h5") as file:
        for number in range(sets):
            add_solve(file, f"s{number:04d}", batch=1, n=2)
    output = tmp_path / "r.h5"

    def run(first, count):
        output.unlink(missing_ok=True)
        notes, variables = environment(tmp_path, "write", first, count, FAILING_LOSES="1")
        done = subprocess.run([PROGRAM, "run", "p.h5", "-o", "r.h5", "--device", "cpu", "--threads", "1", "-q"], cwd=tmp_path,
                              env=variables, capture_output=True, text=True, timeout=SECONDS)
        return done.returncode, done.stderr, calls_and_failed(notes)[0]

    code, errors, calls = run(0, 0)
    assert code == DONE, errors
    right = headers(output)
    found_lost = 0
    for number in np.linspace(2, calls - 1, tries).astype(int):
        for count in (1, 1 << 40) if sets == 1 else (1,):
            code, errors, _ = run(number, count)
            assert code in ((DONE, OUTPUT) if count == 1 else (OUTPUT,)), (number, errors)
            assert (code == OUTPUT) == ("cannot write r.h5" in errors) == (not output.exists()), (number, errors)
            found_lost += "reading it back failed" in errors
            assert code == OUTPUT or headers(output) == right, number
    assert found_lost > tries // 4


def test_the_program_defines_every_allocation_function():
    """The program defines every allocation function that mimalloc defines, except those of BSD and those that return
    sizes. Otherwise, allocations would bypass the program's memory reserve."""
    program = Path(os.environ.get("SMALLBATCH_BIN", "build/bin/smallbatch")).resolve()

    def defined(file):
        listed = subprocess.run(["nm", "-D", "--defined-only", file], check=True, capture_output=True, text=True).stdout
        return {line.split()[-1].split("@")[0] for line in listed.splitlines()}

    linked = subprocess.run(["ldd", program], check=True, capture_output=True, text=True).stdout
    allocator = re.search(r"libmimalloc\S* => (\S+)", linked)[1]
    asked_for = {name for name in defined(allocator) if re.match(r"_Z|(re|c|m|aligned_)?alloc|free|posix_|memalign", name)}
    assert {"malloc", "_Znwm", "_Znam", "_ZdaPv", "reallocarray"} <= asked_for
    of_bsd, sizes = {"reallocf", "reallocarr"}, {"malloc_size", "malloc_good_size", "malloc_usable_size"}
    assert asked_for - defined(program) <= of_bsd | sizes
