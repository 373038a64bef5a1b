"""Checks that every command of the first pages works, in the printed order, and that every link leads somewhere."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = sorted(path.relative_to(ROOT).as_posix() for path in [
    *ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md"), ROOT / "io" / "FORMAT.md",
    ROOT / "data" / "README.md", ROOT / "bench" / "dead_ends.md", ROOT / "bench" / "SUMMARY.md"])


def commands_of(document):
    """Yields the commands: lines of ```sh blocks, and lines of ```console blocks that begin with "$ "."""
    for kind, block in re.findall(r"```(sh|console)\n(.*?)```", (ROOT / document).read_text(), re.S):
        for line in block.splitlines():
            line = line.split(" #")[0].strip()
            if kind == "sh" and line:
                yield line
            elif line.startswith("$ "):
                yield line[2:]


# These commands prepare the clone. The test does not run them: scripts/test runs this test, and the test sets PATH
# itself.
PREPARATION = ["scripts/demo", 'export PATH="$PWD/build/bin:$PATH"', "scripts/test"]


def test_the_readme_starts_with_the_preparation():
    commands = list(commands_of("README.md"))
    assert commands[: len(PREPARATION)] == PREPARATION
    assert len(commands) > 8


@pytest.mark.parametrize("document", ["README.md", "docs/start.md"])
def test_every_other_command_works(smallbatch, tmp_path, document):
    (tmp_path / "data").symlink_to(ROOT / "data")
    environment = {**smallbatch.environment, "PATH": f"{smallbatch.program.parent}:{smallbatch.environment['PATH']}"}
    for command in commands_of(document):
        if command in PREPARATION or ("smallbatch report" in command and not smallbatch.can_report):
            continue
        done = subprocess.run(["bash", "-euc", command], cwd=tmp_path, env=environment, capture_output=True, text=True,
                              timeout=300)
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"


def test_the_readme_is_one_page():
    assert len((ROOT / "README.md").read_text().splitlines()) <= 150


def test_every_exit_code_has_a_meaning():
    listed = set(map(int, re.findall(r"^\| (\d+) (?:\+ N )?\|", (ROOT / "docs" / "exit-codes.md").read_text(), re.M)))
    header = (ROOT / "app" / "cli" / "exit_codes.hpp").read_text()
    assert listed == set(map(int, re.findall(r"= (\d+)", header)))


@pytest.mark.parametrize("document", DOCUMENTS)
def test_links_and_paths_lead_somewhere(document):
    path = ROOT / document
    text = path.read_text()
    for target in re.findall(r"\]\(([^)#]+)", text):
        if "://" not in target:
            found = ROOT / target[1:] if target.startswith("/") else path.parent / target
            assert found.exists(), f"{document} links to {target}"
    for place in re.findall(r"`((?:core|solvers|physics|io|app|bench|tests|docs|scripts|data)/[\w./]+)`", text):
        assert (ROOT / place).exists(), f"{document} names {place}"
