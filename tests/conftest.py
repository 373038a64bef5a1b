"""The built command, for tests that use it as a user would."""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


class Command:
    def __init__(self, program, folder):
        self.program = program
        self.folder = folder

    def __call__(self, *arguments, expect=0, **options):
        """Runs `smallbatch arguments` in the test's own folder and checks the exit code."""
        done = subprocess.run(
            [self.program, *map(str, arguments)], cwd=self.folder, capture_output=True, text=True, timeout=300, **options
        )
        assert done.returncode == expect, f"exit code {done.returncode}, not {expect}\n{done.stdout}\n{done.stderr}"
        return done


@pytest.fixture
def smallbatch(tmp_path):
    program = os.environ.get("SMALLBATCH_BIN", ROOT / "build" / "bin" / "smallbatch")
    return Command(Path(program).resolve(), tmp_path)
