"""The package itself: examples in its docstrings, types, and documentation of everything public."""

import doctest
import importlib.util
import inspect
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import smallbatch

ROOT = Path(__file__).resolve().parents[2]
MODULES = [smallbatch, *(sys.modules[f"smallbatch.{name}"] for name in ("_charges", "_signals", "_systems"))]


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_examples_in_docstrings(module):
    found = doctest.testmod(module)
    assert found.attempted > 2 and found.failed == 0


def test_all_that_is_public_is_documented():
    for name in smallbatch.__all__:
        text = inspect.getdoc(getattr(smallbatch, name))
        assert text and len(text) > 20, name
    parameters = {name: set(inspect.signature(getattr(smallbatch, name)).parameters)
                  for name in ("solve", "potential", "correlate")}
    for name, of_it in parameters.items():
        text = inspect.getdoc(getattr(smallbatch, name))
        for parameter in of_it:
            assert f"``{parameter}``" in text, f"{name} does not say what {parameter} is"


def test_the_version_is_that_of_the_project():
    project = (ROOT / "CMakeLists.txt").read_text()
    assert f"VERSION {smallbatch.__version__} " in project


def mypy(tmp_path, code):
    if importlib.util.find_spec("mypy") is None:
        pytest.skip("this Python's environment has no mypy")
    (tmp_path / "program.py").write_text(code)
    return subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir", tmp_path / "cache", "program.py"],
                          cwd=tmp_path, capture_output=True, text=True,
                          env={**os.environ, "MYPYPATH": str(Path(smallbatch.__file__).parents[1])})


def test_types_are_checked(tmp_path):
    good = mypy(tmp_path, "import numpy as np, smallbatch\n"
                          "found = smallbatch.solve(np.eye(3), np.ones(3), numbers=['rcond'], threads=1)\n"
                          "found.raise_for_status()\n"
                          "print(found.x, smallbatch.factor(np.eye(3)).solve(np.ones(3)).info)\n"
                          "lattice = smallbatch.Lattice((0, 0, 0), 1, (2, 2, 2))\n"
                          "print(smallbatch.field([[0, 0, 0]], [1], lattice=lattice, unit='volt').field)\n")
    assert good.returncode == 0, good.stdout + good.stderr
    bad = mypy(tmp_path, "import smallbatch\nsmallbatch.solve([[1]], [1], threads='two').y\n")
    assert "threads" in bad.stdout and '"y"' in bad.stdout, bad.stdout


def test_types_of_results_are_those_of_what_was_brought(tmp_path):
    """Results are NumPy arrays if the first argument is a list or can be turned into a NumPy array. Otherwise they are
    arrays of its library."""
    calls = ["solve({}, [1]).x", "inverse({}).x", "log_determinant({}).log_determinant", "factor({}).solve([1]).x",
             "factor({}).packed", "solve({}, [1], numbers=['rcond']).raise_for_status().rcond", "potential({}, [1]).potential",
             "field({}, [1], unit='volt').field", "pair_energy({}, [1]).energy", "correlate({}).visibility", "correlate({}).ok"]
    program = ("import numpy as np, smallbatch as s\nfrom typing import Any, Sequence\n"
               "class Tensor:\n    def __dlpack_device__(self) -> Any: ...\n"
               "class Table:\n    def __array__(self) -> Any: ...\n"
               "def f(array: np.ndarray[Any, np.dtype[np.float64]], floats: list[list[float]], table: Table, tensor: Tensor) -> None:\n")
    for call in calls:
        program += "".join(f"    reveal_type(s.{call.format(name)})\n" for name in ("array", "floats", "table", "tensor"))
    found = mypy(tmp_path, program)
    types = re.findall(r'Revealed type is "(.*)"', found.stdout)
    assert len(types) == 4 * len(calls) and "error" not in found.stdout, found.stdout
    for k, name in enumerate(types):
        assert (name == "program.Tensor") if k % 4 == 3 else name.startswith("numpy.ndarray["), found.stdout


def test_wrong_keywords_are_found(tmp_path):
    calls = ["solve([[1]], [1], thread=1)", "inverse([[1]], thread=1)", "log_determinant([[1]], thread=1)",
             "factor([[1]], thread=1)", "factor([[1]]).solve([1], thread=1)", "potential([[1]], [1], thread=1)",
             "field([[1]], [1], thread=1)", "pair_energy([[1]], [1], thread=1)", "correlate([[1]], thread=1)"]
    found = mypy(tmp_path, "import smallbatch\n" + "".join(f"smallbatch.{call}\n" for call in calls))
    lines = re.findall(r'program.py:(\d+): error: Unexpected keyword argument "thread"', found.stdout)
    assert [int(line) for line in lines] == list(range(2, 2 + len(calls))), found.stdout


PROGRAMS = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "python.md").read_text(), re.S)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.splitlines()[0])
def test_programs_of_the_page_run(program, tmp_path):
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": str(Path(smallbatch.__file__).parents[1])})
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_page_shows_the_example():
    assert (ROOT / "examples" / "python" / "fit_charges.py").read_text() in PROGRAMS


def test_handles_are_as_many_as_backends():
    """Each handle holds memory and threads, so calls with different numbers of threads must share a handle."""
    def count():
        for threads in (1, 2, 3, 0, 2):
            for backend in ("cpu", "reference"):
                assert smallbatch.solve(np.eye(2), np.ones(2), backend=backend, threads=threads).ok
        with pytest.raises(ValueError, match="threads is -1"):
            smallbatch.solve(np.eye(2), np.ones(2), backend="cpu", threads=-1)
        assert smallbatch.solve(np.eye(2), np.ones(2), backend="cpu", threads=2).ok
        counts.append(len(smallbatch._arrays._local.handles))

    counts = []
    thread = threading.Thread(target=count)
    thread.start()
    thread.join()
    assert counts == [2]
