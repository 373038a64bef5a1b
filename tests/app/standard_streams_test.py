"""stdout and stderr that are closed or full. The results are always the same as without these faults."""

import h5py
import pytest

from tests.app.failing_calls_test import numbers
from tests.problems import add_solve, open_problem_file


@pytest.fixture
def right(smallbatch, tmp_path):
    with open_problem_file(tmp_path / "problems.h5") as file:
        add_solve(file, batch=20)
    smallbatch("run", "problems.h5", "-o", "right.h5")
    with h5py.File(tmp_path / "right.h5") as file:
        return numbers(file)


def shell(smallbatch, words, expect):
    """Calls the command from a shell, with redirections."""
    return smallbatch("-c", f'exec "{smallbatch.program}" {words}', expect=expect, executable="/bin/bash")


@pytest.mark.parametrize("redirection", [">&-", "> /dev/full", "2>&-", "<&- >&- 2>&-", "2> /dev/full"])
def test_results_that_are_written_are_no_failure(smallbatch, tmp_path, right, redirection):
    done = shell(smallbatch, f"run problems.h5 -o results.h5 {redirection}", expect=0)
    with h5py.File(tmp_path / "results.h5") as file:
        assert numbers(file) == right
    if redirection.startswith(">"):
        assert "results.h5 is complete" in done.stderr and "stdout" in done.stderr


@pytest.mark.parametrize("redirection", [">&-", "> /dev/full"])
@pytest.mark.parametrize("words", ["info problems.h5", "verify problems.h5 right.h5", "devices", "--version",
                                   "run problems.h5 -o new.h5 --dry-run"])
def test_what_was_asked_for_on_stdout_and_is_not_there_is_a_failure(smallbatch, right, words, redirection):
    done = shell(smallbatch, f"{words} {redirection}", expect=7)
    assert "could not be written to stdout" in done.stderr and "is complete" not in done.stderr


def test_a_program_that_was_promised_an_object_is_told_that_the_results_stand(smallbatch, tmp_path, right):
    done = shell(smallbatch, "run problems.h5 -o results.h5 --json > /dev/full", expect=7)
    assert "results.h5 is complete, but" in done.stderr
    with h5py.File(tmp_path / "results.h5") as file:
        assert numbers(file) == right
