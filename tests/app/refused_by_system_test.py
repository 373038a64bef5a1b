"""The operating system refuses requests: space for a file, threads, processes, the identity of a file. The message says
what was refused, and claims nothing about a file that was not read."""

import errno
import fcntl
import os
import resource
import signal
import subprocess

import pytest

from tests.app.failing_calls_test import COMMANDS, LIBRARY, PROGRAM, SECONDS, environment, folder  # noqa: F401
from tests.app.interruption_test import EVERY, WRITING, clear, work_folder  # noqa: F401


def largest_file(size):
    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)  # Python ignores it; a shell does not
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    return limit


@pytest.mark.parametrize("size", [0, 100])
@pytest.mark.parametrize("name", WRITING)
def test_an_output_that_may_not_be_so_large_is_told(work_folder, name, size):  # noqa: F811
    clear(work_folder)
    done = subprocess.run([PROGRAM, *WRITING[name]], cwd=work_folder, preexec_fn=largest_file(size), capture_output=True,
                          text=True, timeout=SECONDS)
    assert done.returncode == 7 and "ulimit -f" in done.stderr, (done.returncode, done.stderr)
    assert not [path.name for path in work_folder.iterdir() if ".smallbatch-" in path.name or path.stem == "new"]


@pytest.mark.parametrize("name", [name for name in EVERY if name not in WRITING])
def test_a_redirection_that_may_not_be_so_large_is_told(work_folder, name):  # noqa: F811
    with open(work_folder / "said", "w") as said:
        done = subprocess.run([PROGRAM, *EVERY[name]], cwd=work_folder, preexec_fn=largest_file(10), stdout=said,
                              stderr=subprocess.PIPE, text=True, timeout=SECONDS)
    assert done.returncode == 7 and "could not be written to stdout" in done.stderr, (done.returncode, done.stderr)


@pytest.mark.parametrize("name", EVERY)
def test_a_log_file_that_may_not_be_so_large_is_no_failure(work_folder, name):  # noqa: F811
    """The command goes on without the log. It fails only if its own output would exceed the limit too."""
    clear(work_folder)
    done = subprocess.run([PROGRAM, *EVERY[name], "--log-file", "log"], cwd=work_folder, preexec_fn=largest_file(10),
                          capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == (7 if name in WRITING else 0), (done.returncode, done.stderr)
    (work_folder / "log").unlink()


@pytest.mark.parametrize("error", ["EPERM", "ENOSYS", "EAGAIN", "EACCES"])
@pytest.mark.parametrize("call", ["thread", "fork"])
@pytest.mark.parametrize("name", COMMANDS)
def test_threads_and_processes_that_are_refused_are_told_or_not_missed(work_folder, name, call, error):  # noqa: F811
    clear(work_folder)
    notes, variables = environment(work_folder, call, 1, FAILING_ERROR=str(getattr(errno, error)))
    variables["FAILING_COUNT"] = str(1 << 40)
    done = subprocess.run([PROGRAM, *COMMANDS[name]], cwd=work_folder, env=variables, capture_output=True, text=True,
                          timeout=SECONDS)
    assert done.returncode in (0, 6), done.stderr
    if done.returncode == 6:
        assert os.strerror(getattr(errno, error)) in done.stderr
        assert ("sandbox" in done.stderr) == (error != "EAGAIN") and ("ulimit -u" in done.stderr) == (error == "EAGAIN")
    assert not [path.name for path in work_folder.iterdir() if ".smallbatch-" in path.name]


@pytest.mark.parametrize("call", ["readlink", "stat", "lstat"])
def test_a_name_that_cannot_be_looked_up_is_not_taken_for_another(work_folder, call):  # noqa: F811
    """Every call of this kind in `export` fails in turn. If `export` then fails, its message is about that call."""
    arguments = EVERY["export"]
    for number in range(1, 1000):
        clear(work_folder)
        notes, variables = environment(work_folder, call, number)
        done = subprocess.run([PROGRAM, *arguments], cwd=work_folder, env=variables, capture_output=True, text=True,
                              timeout=SECONDS)
        assert done.returncode in (0, 4, 7), done.stderr
        if done.returncode:
            assert os.strerror(errno.EIO) in done.stderr, done.stderr
        assert "is the input" not in done.stderr
        if int.from_bytes(notes.read_bytes()[8:], "little") == 0:
            break


@pytest.mark.parametrize("name", WRITING)
def test_what_fails_after_the_output_has_its_name_says_that_it_stands(work_folder, name):  # noqa: F811
    """The allocator fails from one of the last calls on. The test tries each of these calls as the first that fails."""
    clear(work_folder)
    notes, variables = environment(work_folder, "malloc", 0)
    subprocess.run([PROGRAM, *WRITING[name]], cwd=work_folder, env=variables, check=True, capture_output=True)
    calls = int.from_bytes(notes.read_bytes()[:8], "little")
    output = work_folder / WRITING[name][-1]
    for number in range(calls - 40, calls):
        clear(work_folder)
        notes, variables = environment(work_folder, "malloc", number)
        variables["FAILING_COUNT"] = str(1 << 40)
        done = subprocess.run([PROGRAM, *WRITING[name]], cwd=work_folder, env=variables, capture_output=True, text=True,
                              timeout=SECONDS)
        assert done.returncode in (0, 6), done.stderr
        if done.returncode == 6:
            assert ("is complete" in done.stderr) == output.exists(), (number, done.stderr)
        assert not [path.name for path in work_folder.iterdir() if ".smallbatch-" in path.name] or "--resume" in done.stderr


def test_shares_of_one_launcher_cannot_write_one_file(work_folder):  # noqa: F811
    """Under a launcher, a process with --shard computes its share. If two processes write one file, the second process
    fails."""
    variables = dict(os.environ, MV2_COMM_WORLD_SIZE="2")
    for part in (1, 2):
        output = work_folder / f"new{part}.h5"
        output.unlink(missing_ok=True)
        subprocess.run([PROGRAM, "run", "problems.h5", "-o", output, "--shard", f"{part}/2"], cwd=work_folder, env=variables,
                       check=True, capture_output=True)
    clear(work_folder)
    with open(work_folder / "new.h5.smallbatch-part", "wb") as of_other:
        fcntl.flock(of_other, fcntl.LOCK_EX)
        other = subprocess.run([PROGRAM, "run", "problems.h5", "-o", "new.h5", "--shard", "1/2"], cwd=work_folder,
                               env=variables, capture_output=True, text=True, timeout=SECONDS)
    assert other.returncode == 7 and "another process is writing it" in other.stderr, other.stderr
