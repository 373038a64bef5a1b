"""The pages of C++ and C: the head of each installed header, and its declarations by way of Doxygen and Breathe."""

import re

ROOMS = {
    "core": "Structs that the other libraries share, errors, units and devices.",
    "solvers": "Systems `A x = b`, inverses and determinants.",
    "physics": "Potentials, fields, energies of pairs, and correlations.",
    "io": "Problem files and result files.",
}


def head(text):
    """The comment at the top of a header, as Markdown."""
    if text.startswith("/*"):
        lines = [re.sub(r"^(/\*| \*) ?", "", line) for line in text[: text.index("*/")].split("\n")]
    else:
        lines = [re.sub(r"^// ?", "", line) for line in re.match(r"(?://.*\n)*", text)[0].split("\n")]
    # Indented lines stay code. In all other lines, only backticks are marks.
    return "\n".join(line if line.startswith("    ") else outside_code(line) for line in lines).strip() + "\n"


def outside_code(line):
    """Returns Markdown that shows the line as it is. Only backticks stay marks."""
    parts = line.split("`")
    return "`".join(part if i % 2 else re.sub(r"([\\*_<>\[\]|#])", r"\\\1", part) for i, part in enumerate(parts))


def pages(include):
    """Returns {file name: text} for the headers in the folder `include`."""
    made = {}
    rooms = []
    for room, words in ROOMS.items():
        names = sorted(path.name for path in (include / "smallbatch" / room).iterdir())
        for name in names:
            title = f"{room}/{name}"
            text = (include / "smallbatch" / room / name).read_text()
            made[f"cpp/{room}/{name.replace('.', '_')}.md"] = (
                f"# {title}\n\n{head(text)}\n```{{doxygenfile}} {name}\n:project: cpp\n```\n")
        toc = "\n".join(f"{name} <{room}/{name.replace('.', '_')}>" for name in names)
        made[f"cpp/{room}.md"] = f"# smallbatch::{room}\n\n{words}\n\n```{{toctree}}\n:maxdepth: 1\n\n{toc}\n```\n"
        rooms.append(room)
    made["cpp/index.md"] = (
        "# C++\n\nEach library has its headers in a folder: `#include <smallbatch/solvers/spd_solver.hpp>`. Headers are "
        "C++17. Headers that end in `.cuh` declare launches for device pointers.\n[Linking](/docs/linking.md) shows how a "
        "program finds the libraries.\n\n```{toctree}\n:maxdepth: 2\n\n" + "\n".join(rooms) + "\n```\n")
    text = (include / "smallbatch.h").read_text()
    made["c.md"] = ("# C: smallbatch.h\n\n[From C](/docs/c.md) has a first program.\n\n" + head(text)
                    + "\n## Declarations\n\n```{doxygenfile} smallbatch.h\n:project: c\n```\n")
    return made
