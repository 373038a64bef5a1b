"""Comments, docstrings, messages and documents keep the style of CONTRIBUTING.md, as far as tests/prose.py can see it."""

import pytest

from tests import prose

WRITTEN_BY_PROGRAMS = {"bench/RESULTS.md", "bench/SUMMARY.md"}
FILES = [path for path in prose.files([]) if path.relative_to(prose.ROOT).as_posix() not in WRITTEN_BY_PROGRAMS]
PLAIN = "A sentence has a subject. It has a verb."


@pytest.mark.parametrize("path", FILES, ids=[path.relative_to(prose.ROOT).as_posix() for path in FILES])
def test_sentences_are_plain(path):
    assert [f"{line}: {wrong}: {sentence}" for line, wrong, sentence in prose.faults(path)] == []


@pytest.mark.parametrize("name, text", [
    ("a.cpp", "// {}\nint x;\n"), ("a.hpp", "int x;  ///< {}\n"), ("a.cu", "/* {} */\n"), ("a.py", '"""{}"""\n'), ("b.py", "x = 1  # {}\n"),
    ("b.cpp", 'throw Error("{}");\n'), ("c.py", 'print("{}")\n'), ("a.md", "- {}\n"), ("b.md", "| a cell | {} |\n"), ("a.f90", "! {}\n"), ("CMakeLists.txt", "# {}\n")])
@pytest.mark.parametrize("fault", ["Of the groups that a file has.", "It is so. What a file has is a group.",
                                   " ".join(["word"] * (prose.MOST_WORDS + 1)) + "."])
def test_a_fault_is_found(tmp_path, name, text, fault):
    (tmp_path / name).write_text(text.format(PLAIN))
    assert prose.faults(tmp_path / name) == []
    (tmp_path / name).write_text(text.format(fault))
    assert len(prose.faults(tmp_path / name)) == 1
