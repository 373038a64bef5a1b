"""Fixtures that run the built command as a user would, and options for the length of random tests."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def pytest_addoption(parser):
    parser.addoption("--random-files", type=int, default=None, metavar="N",
                     help="how many files each test of random files makes; thousands take minutes")
    parser.addoption("--failing-calls", type=int, default=None, metavar="N",
                     help="how many calls of each kind fail in turn, with each command; 0: every one, which takes hours")
    parser.addoption("--random-seed", type=int, default=1, metavar="S", help="which files: a file is a seed and a number")


def pytest_configure():
    """Restores signals that the caller ignores. Otherwise, the tested commands would ignore them, too.

    A shell ignores SIGINT for background jobs. nohup ignores SIGHUP.
    """
    heeded = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL, signal.SIGHUP: signal.SIG_DFL,
              signal.SIGXCPU: signal.SIG_DFL}
    for number, handler in heeded.items():
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, handler)


class Command:
    def __init__(self, program, folder):
        self.program = program
        self.folder = folder
        # `report` runs the Python package, which sanitized builds lack.
        self.can_report = "SMALLBATCH_PACKAGE" in os.environ
        self.environment = dict(os.environ)
        if self.can_report:
            self.environment["PYTHONPATH"] = os.environ["SMALLBATCH_PACKAGE"]
            self.environment["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}"

    def __call__(self, *arguments, expect=0, **options):
        """Runs `smallbatch arguments` in the test's own folder and checks the exit code. `expect=None` allows any."""
        options.setdefault("env", self.environment)
        done = subprocess.run(
            [self.program, *map(str, arguments)], cwd=self.folder, capture_output=True, text=True, timeout=300, **options
        )
        assert expect is None or done.returncode == expect, (
            f"exit code {done.returncode}, not {expect}\n{done.stdout}\n{done.stderr}")
        return done


@pytest.fixture(scope="session")
def smallbatch_program():
    """Returns a function that makes the command for a folder."""
    program = os.environ.get("SMALLBATCH_BIN", ROOT / "build" / "bin" / "smallbatch")
    return lambda folder: Command(Path(program).resolve(), folder)


@pytest.fixture
def smallbatch(smallbatch_program, tmp_path):
    return smallbatch_program(tmp_path)
