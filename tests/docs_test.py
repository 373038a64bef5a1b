"""Checks the pages that show commands with their output. Each command works, and prints what the page says.

This command runs the blocks of the pages and writes the output into the pages:

    python -m tests.docs_test PROGRAM PACKAGE [PAGE ...]
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = [path.relative_to(ROOT).as_posix() for path in
         [ROOT / "docs" / "start.md", ROOT / "docs" / "exit-codes.md", *sorted((ROOT / "docs" / "how-to").glob("*.md"))]]
BLOCK = re.compile(r"^```(sh|console|python|text)\n(.*?)^```\n", re.M | re.S)
# Commands that prepare the machine. A test does not repeat them.
PREPARATION = ("scripts/demo", "export PATH=", "pip install")
# Programs that the test environment may lack.
OTHERS = ("mpirun", "snakemake")
# A number with its unit.
NUMBER = re.compile(r"[-+]?\d[\d.,:]*(?:e[-+]?\d+)?(?: (?:thousand|million|billion|trillion))?(?: ?(?:us|ms|s|min|k?B|MB|GB)(?:/s)?\b)?")
# A progress line. Only a slow machine prints progress.
PROGRESS = re.compile(r"^[\d:]+ info .* % .*\n", re.M)
# Words that differ between machines: names of instruction sets, and "thread" or "threads".
MACHINE = re.compile(r"avx\w+|baseline|\bthreads?\b")


def shape(line):
    """Returns the line with "#" in place of numbers and of the words that MACHINE matches."""
    return re.sub(r"\s+", " ", NUMBER.sub("#", MACHINE.sub("#", line))).strip()


def differences(expected, actual):
    """Compares line by line. Returns the lines of `expected` that differ, and the lines that only `actual` has.

    A line "..." in `expected` stands for any number of lines.
    """
    lines, found, anything = [shape(line) for line in actual.splitlines()], [], False
    for line in expected.splitlines():
        if line.strip() == "...":
            anything = True
            continue
        while anything and lines and lines[0] != shape(line):
            lines.pop(0)
        anything = False
        if not lines or lines.pop(0) != shape(line):
            found.append(line)
    return found + ([] if anything else [f"not on the page: {line}" for line in lines])


def absent(command):
    program = command.split(" ")[0]
    return program in OTHERS and not shutil.which(program)


class Runner:
    """Runs the blocks of a page one after the other, in a folder with the repository's data."""

    def __init__(self, folder, program, package):
        self.folder = folder
        (folder / "data").symlink_to(ROOT / "data")
        self.environment = {**os.environ, "PATH": f"{program.parent}:{Path(sys.executable).parent}:{os.environ['PATH']}",
                            "PYTHONPATH": str(package), "NO_COLOR": "1", "OMPI_ALLOW_RUN_AS_ROOT": "1",
                            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1"}

    def output(self, command):
        done = subprocess.run(command, cwd=self.folder, env=self.environment, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=300)
        assert done.returncode == 0, f"{command[-1]}\n{done.stdout}"
        return PROGRESS.sub("", done.stdout)

    def python(self, code):
        """Runs a block and returns its output.

        A block with "# name" in its first line is only written to a file of that name, for a later command.
        """
        name = re.match(r"# (\w+(?:\.py)?)\n", code)
        (self.folder / (name[1] if name else "block.py")).write_text(code)
        return None if name else self.output([sys.executable, "block.py"])


def console(text):
    """Returns a pair (command, its output) for each command of a console block."""
    return [(command, printed) for command, printed in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", text, re.M)]


def shortened(printed, actual):
    """Returns the output `actual`, with "..." for the lines that the page leaves out."""
    before, dots, after = printed.partition("...\n")
    lines = actual.splitlines(keepends=True)
    if not dots:
        return actual
    return "".join([*lines[:before.count("\n")], dots, *lines[len(lines) - after.count("\n"):]])


def run_page(text, runner, report):
    """Runs a page and returns its new text. Calls report(command, expected, actual) for each output on the page."""
    last = [None]  # output of the last Python block, until a text block shows it

    def block(match):
        kind, body = match.groups()
        if kind == "sh" and "<" not in body:
            kept = [line for line in body.splitlines() if not line.startswith(PREPARATION) and not absent(line)]
            runner.output(["bash", "-euc", "\n".join(kept)])
        elif kind == "console":
            new = ""
            for command, printed in console(body):
                actual = runner.output(["bash", "-euc", command])
                report(command, printed, actual)
                new += f"$ {command}\n{shortened(printed, actual)}"
            return f"```console\n{new}```\n"
        elif kind == "python":
            last[0] = runner.python(body)
        elif kind == "text" and last[0] is not None:
            report("the Python block", body, last[0])
            actual, last[0] = last[0], None
            return f"```text\n{actual}```\n"
        return match[0]

    return BLOCK.sub(block, text)


def test_lines_are_compared_without_their_numbers():
    assert not differences("computed in 15 ms, 680 thousand systems/s (avx512)\n", "computed in 2.1 s, 7 million systems/s (avx2)\n")
    assert not differences("one\n...\nfour\n", "one\ntwo\nthree\nfour\n")
    assert differences("one\n...\nfour\n", "one\ntwo\n") == ["four"]
    assert differences("3 solved, 0 failed\n", "3 solved, 0 lost\n") == ["3 solved, 0 failed"]
    assert differences("one\n", "one\ntwo\n") == ["not on the page: two"]


@pytest.mark.parametrize("page", PAGES)
def test_every_command_works_and_prints_what_the_page_says(page, smallbatch, tmp_path):
    package = os.environ.get("SMALLBATCH_PACKAGE")
    text = (ROOT / page).read_text()
    if "import smallbatch" in text and not package:
        pytest.skip("this build has no Python package")
    if "no GPU" not in smallbatch("devices").stdout:
        pytest.skip("the pages show a machine without a GPU")
    wrong = []
    run_page(text, Runner(tmp_path, smallbatch.program, package or ""), lambda command, expected, actual: wrong.extend(
        f"{command}: {line}" for line in differences(expected, actual)))
    assert not wrong, "\n".join(wrong) + "\nIf the words have changed: python -m tests.docs_test PROGRAM PACKAGE " + page


if __name__ == "__main__":
    program, package = (Path(name).resolve() for name in sys.argv[1:3])
    for page in sys.argv[3:] or PAGES:
        with tempfile.TemporaryDirectory() as folder:
            text = (ROOT / page).read_text()
            new = run_page(text, Runner(Path(folder), program, package), lambda *_: None)
            (ROOT / page).write_text(new)
