"""Every command of the README works as printed, in the order printed, and every link leads somewhere."""

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text()
COMMANDS = [
    line.split("#")[0].strip()
    for block in re.findall(r"```sh\n(.*?)```", README, re.S)
    for line in block.splitlines()
    if line.split("#")[0].strip()
]
# The first ones prepare the clone: scripts/test runs this very test, and the PATH is set below.
PREPARATION = ["scripts/demo", "scripts/test", 'export PATH="$PWD/build/bin:$PATH"']


def test_the_readme_starts_with_the_preparation():
    assert COMMANDS[: len(PREPARATION)] == PREPARATION
    assert len(COMMANDS) > 8


def test_every_other_command_works(smallbatch, tmp_path):
    (tmp_path / "data").symlink_to(ROOT / "data")
    environment = {**os.environ, "PATH": f"{smallbatch.program.parent}:{os.environ['PATH']}"}
    for command in COMMANDS[len(PREPARATION) :]:
        done = subprocess.run(["bash", "-euc", command], cwd=tmp_path, env=environment, capture_output=True, text=True,
                              timeout=300)
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"


def test_every_command_and_exit_code_is_in_the_readme(smallbatch):
    text = smallbatch("--help").stdout
    for command in re.findall(r"^  (\w+)  +\S", text.split("Options:")[1].split("Exit codes:")[0], re.M):
        assert f"| `{command}` |" in README, command
    codes = set(map(int, re.findall(r"^\| (\d+) \|", README, re.M)))
    header = (ROOT / "app" / "cli" / "exit_codes.hpp").read_text()
    assert codes == set(map(int, re.findall(r"= (\d+)", header)))


@pytest.mark.parametrize("document", ["README.md", "CONTRIBUTING.md", "io/FORMAT.md", "data/README.md",
                                      "docs/architecture.md", "docs/numerics.md", "docs/kernels.md",
                                      "docs/clusters.md", "docs/linking.md", "docs/c.md", "docs/fortran.md", "docs/python.md", "docs/report.md", "docs/json.md",
                                      "docs/what-is-promised.md", "bench/dead_ends.md",
                                      "examples/charge_equilibration/README.md"])
def test_links_and_paths_lead_somewhere(document):
    path = ROOT / document
    text = path.read_text()
    for target in re.findall(r"\]\(([^)#]+)", text):
        if "://" not in target:
            assert (path.parent / target).exists(), f"{document} links to {target}"
    for place in re.findall(r"`((?:core|solvers|physics|io|app|bench|tests|docs|scripts|data)/[\w./]+)`", text):
        assert (ROOT / place).exists(), f"{document} names {place}"


