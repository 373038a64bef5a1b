"""smallbatch.h compiles by itself, documents every declaration, and declares exactly the functions that the library
exports. The Fortran module has the same functions, constants and structs."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
BUILD = Path(os.environ.get("SMALLBATCH_BUILD", ROOT / "build"))
HEADER = (ROOT / "c" / "smallbatch.h").read_text()
MODULE = (ROOT / "fortran" / "smallbatch.f90").read_text()
CODE = re.sub(r"/\*.*?\*/", "", HEADER, flags=re.S)
FUNCTIONS = set(re.findall(r"\b(smallbatch_\w+)\(", CODE))
ENUMERATORS = dict(re.findall(r"\b(SMALLBATCH_\w+) = (-?\d+)", CODE))
STRUCTS = {name: re.findall(r"(\w+);", body) for body, name in re.findall(r"struct smallbatch_\w+ \{(.*?)\} (\w+);", CODE, re.S)}


def test_there_is_something_to_read():
    assert len(FUNCTIONS) > 40 and len(ENUMERATORS) > 30 and len(STRUCTS) > 10
    assert STRUCTS["smallbatch_factors"] == ["factor", "stride", "info", "smallest_pivot", "log_determinant"]


@pytest.mark.parametrize("command", [
    "gcc -std=c99 -Wstrict-prototypes", "gcc -std=c17 -Wstrict-prototypes", "g++ -std=c++11 -x c++",
    "clang -std=c99 -Wstrict-prototypes", "clang++ -std=c++17 -x c++",
])
def test_it_compiles_by_itself(command, tmp_path):
    compiler, *options = command.split()
    if not shutil.which(compiler):
        pytest.skip(f"there is no {compiler}")
    (tmp_path / "main.c").write_text("#include <smallbatch.h>\nint main(void) { return 0; }\n")
    done = subprocess.run([compiler, *options, "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror", "-fsyntax-only",
                           f"-I{BUILD / 'include'}", tmp_path / "main.c"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def undocumented(text):
    """Enumerators and members without a comment on their line, functions and types without a comment above them."""
    found, above = [], False
    text = re.sub(r"/\*\*<.*?\*/", "/**<words*/", text, flags=re.S)
    text = re.sub(r"/\*\*[^<].*?\*/", "/**words*/", text, flags=re.S)
    text = re.sub(r"/\*[^*].*?\*/", "", text, flags=re.S)
    text = re.sub(r"\([^()]*\)", "()", text, flags=re.S)  # parameters may take several lines
    for line in text.splitlines():
        if re.match(r"(typedef |enum )[^;]*\{$", line) or re.match(r"[a-z].*;$", line):
            if not above:
                found.append(line)
        elif re.match(r"  \S", line) and "/**<words*/" not in line and not line.startswith("  SMALLBATCH_H"):
            found.append(line.strip())
        above = line == "/**words*/"
    return found


def test_the_reader_finds_what_has_no_words():
    text = ("/** Words. */\ntypedef enum a {\n  A = 0, /**< words\n          of two lines */\n  B = 1\n} a;\n\n/* a heading */\n"
            "/** Words\n *  of two lines. */\nint f(int one,\n      int two);\nint g(void);\ntypedef struct s {\n  int m;\n} s;\n")
    assert undocumented(text) == ["B = 1", "int g();", "typedef struct s {", "int m;"]


def test_everything_is_documented():
    assert not undocumented(HEADER)


def test_the_shared_library_has_what_is_declared():
    library = BUILD / "c" / "libsmallbatch.so"
    assert library.exists(), f"build first: {library} is not there"
    names = subprocess.run(["nm", "--dynamic", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    assert set(re.findall(r" T (\w+)", names)) == FUNCTIONS


def test_the_fortran_module_has_it_all():
    assert set(re.findall(r'name="(\w+)"', MODULE)) == {name for name in FUNCTIONS if not name.endswith("_init")}
    constants = dict(re.findall(r"\b(SMALLBATCH_[A-Z0-9_]+) = (-?\d+)", MODULE.split("contains")[0]))
    assert constants == ENUMERATORS
    types = {name: re.findall(r":: (\w+)", body)
             for name, body in re.findall(r"type, bind\(c\) :: (\w+)\n(.*?)\n  end type", MODULE, re.S)}
    assert types == STRUCTS

