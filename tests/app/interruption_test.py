"""A signal ends a command, whichever call the command blocks in. An output in a folder that cannot hold files is
refused. No command waits forever."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.app.failing_calls_test import COMMANDS, PROGRAM, SECONDS, calls_and_failed, environment, folder  # noqa: F401

EVERY = COMMANDS | {
    "info --check": ["info", "--check", "results.h5"],
    "run --dry-run": ["run", "problems.h5", "--dry-run", "-o", "new.h5"],
    "devices": ["devices"],
    "import": ["import", "molecule.pqr", "--shape", "4,4,4", "-o", "new.h5"],
}
WRITING = {name: arguments for name, arguments in EVERY.items() if "-o" in arguments and "--dry-run" not in arguments}
CALLS = ["malloc", "read", "write", "recv", "fork"]


@pytest.fixture(scope="module")
def work_folder(folder):  # noqa: F811
    (folder / "molecule.pqr").write_text("ATOM 1 O HOH 1 0.0 0.0 0.0 -0.8 1.5\n" * 50)
    return folder


def clear(work_folder):
    for path in work_folder.iterdir():
        if ".smallbatch-" in path.name or path.stem == "new":
            path.unlink()


def stop_in(work_folder, arguments, call, number, by):
    """Starts a command that blocks in call number `number` of the kind `call`, and sends it the signal `by`. Returns
    (exit code, stderr), or None if the command does not block."""
    clear(work_folder)
    notes, variables = environment(work_folder, call, number, FAILING_BLOCKS="1")
    with subprocess.Popen([PROGRAM, *arguments], cwd=work_folder, env=variables, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as process:
        while process.poll() is None and calls_and_failed(notes)[1] == 0:
            os.sched_yield()
        if process.returncode is not None:
            return None  # the order of threads varies, and so does the number of calls
        process.send_signal(by)
        try:
            _, errors = process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            pytest.fail(f"{call} {number}: goes on after {by.name}")
        if process.returncode == 0 and calls_and_failed(notes)[1] != process.pid:
            return None  # a child process blocks, and the command does not wait for it
        return process.returncode, errors


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("name", EVERY)
def test_one_signal_ends_a_command_that_is_stuck_anywhere(work_folder, pytestconfig, name, call):
    clear(work_folder)
    notes, variables = environment(work_folder, call, 0)
    subprocess.run([PROGRAM, *EVERY[name]], cwd=work_folder, env=variables, check=True, capture_output=True)
    calls = calls_and_failed(notes)[0]
    rng = np.random.default_rng(pytestconfig.getoption("random_seed"))
    numbers = {calls, *(int(n) + 1 for n in rng.choice(calls, min(calls, 1), replace=False))} if calls else set()
    for number in sorted(numbers):
        by = signal.Signals(rng.choice([signal.SIGINT, signal.SIGTERM, signal.SIGHUP]))
        ended = stop_in(work_folder, EVERY[name], call, number, by)
        if ended is None:
            continue
        code, errors = ended
        assert code in (-by, 128 + by), f"{call} {number}: {errors}"  # -by: the command did not handle signals yet
        left = [path.name for path in work_folder.iterdir() if ".smallbatch-" in path.name]
        assert bool(left) == errors.endswith(" --resume\n"), f"{call} {number}, {by.name}: leaves {left}\n{errors}"
        if code > 0:
            assert f"stopped by {by.name}" in errors, f"{call} {number}"


def test_a_file_of_another_process_is_left_where_it_is(work_folder):
    """A second command for the same output fails, and leaves the unfinished file of the first command. After a signal,
    the first command removes its own file."""
    clear(work_folder)
    part = work_folder / "new.h5.smallbatch-part"
    notes, variables = environment(work_folder, "write", 3, FAILING_BLOCKS="1")
    with subprocess.Popen([PROGRAM, *EVERY["generate"]], cwd=work_folder, env=variables, stderr=subprocess.PIPE) as writing:
        while calls_and_failed(notes)[1] == 0:
            assert writing.poll() is None, writing.stderr.read()
            os.sched_yield()
        assert part.exists()
        code = subprocess.run([PROGRAM, *EVERY["generate"]], cwd=work_folder, capture_output=True).returncode
        assert code == 7 and part.exists()
        writing.send_signal(signal.SIGTERM)
        writing.communicate(timeout=SECONDS)
        assert writing.returncode == 128 + signal.SIGTERM and not part.exists()


REMOVED = "import os, sys; os.mkdir('gone'); os.chdir('gone'); os.rmdir('../gone'); os.execv(sys.argv[1], sys.argv[1:])"


@pytest.mark.parametrize("where", ["the working folder", "./", "/proc", "/proc/self", "/proc/self/fd", "/sys", "nowhere"])
@pytest.mark.parametrize("name", WRITING)
def test_where_no_file_can_be_is_told(work_folder, name, where):
    arguments = [str(work_folder / word) if (work_folder / word).is_file() else word for word in WRITING[name]]
    ending = Path(arguments[-1]).suffix
    arguments[-1] = {"the working folder": "new", "./": "./new"}.get(where, where + "/new") + ending
    is_gone = where in ("the working folder", "./")
    words = [sys.executable, "-c", REMOVED, PROGRAM, *arguments] if is_gone else [PROGRAM, *arguments]
    done = subprocess.run(words, cwd=work_folder, capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 7 and "cannot write" in done.stderr, done.stderr
    assert ("Create the folder first" in done.stderr) == (where == "nowhere"), done.stderr
