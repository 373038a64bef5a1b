"""Lays out what Sphinx reads: copies of the repository's files, and the reference pages that are made.

    prepare.py PROGRAM INCLUDE SOURCE

PROGRAM is the built smallbatch, INCLUDE the folder of installed headers. SOURCE gets the layout of the repository, so
that links between documents work. A link to a file of code becomes a download.
"""

import re
import shutil
import sys
from pathlib import Path

import command_line
import fortran
import headers

ROOT = Path(__file__).resolve().parent.parent.parent
TOPS = ["CHANGELOG.md", "CONTRIBUTING.md", "CMakeLists.txt", "app", "bench", "c", "core", "data", "docs", "examples",
        "fortran", "io", "packaging", "physics", "python", "scripts", "solvers", "tests"]


def copy_repository(source):
    """Copies every file of the repository that has changed, so that Sphinx builds again only what it must."""
    wanted = {}
    for top in TOPS:
        files = [ROOT / top] if (ROOT / top).is_file() else (ROOT / top).rglob("*")
        wanted |= {path.relative_to(ROOT): path for path in files if path.is_file() and "__pycache__" not in path.parts}
    del wanted[Path("docs/index.md")]
    for place in source.rglob("*"):
        name = place.relative_to(source)
        if place.is_file() and name not in wanted and name.parts[0] in {Path(top).parts[0] for top in TOPS}:
            place.unlink()
    for name, path in wanted.items():
        place = source / name
        if not place.exists() or place.stat().st_mtime_ns != path.stat().st_mtime_ns:
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, place)


README = """\
---
orphan: true
---
# README

README.md is the first page of the repository. [This](/index.md) is the first page of the site.
"""


def link_inputs(source):
    """Puts data/ and examples/ beside the scripts that are run, as a reader has them in the repository's root."""
    for made in (source / "tutorials").glob("*.rst"):  # the script may have been deleted
        if made.stem != "index" and not (source / "docs" / "tutorials" / f"{made.stem}.py").exists():
            made.unlink()
    for path in [path for top in ("data", "examples") for path in (source / top).rglob("*") if path.is_file()]:
        # A folder with a README would be a group of tutorials.
        place = source / "docs" / "tutorials" / path.relative_to(source)
        if path.stem != "README" and not place.is_symlink():
            place.parent.mkdir(parents=True, exist_ok=True)
            place.symlink_to(path)


def list_new_pages(source):
    """Puts documents that the index does not name at the end of its last menu, so that none is missing."""
    index = (ROOT / "docs" / "index.md").read_text()
    patterns = ["docs/*.md", "docs/how-to/*.md", "bench/*.md", "examples/*/README.md"]
    found = [path.relative_to(source).as_posix()[:-3] for pattern in patterns for path in sorted(source.glob(pattern))]
    missing = [name for name in found if not re.search(rf"^{name}$", index, re.M)]
    head, fence, _ = index.rpartition("```")
    write_pages(source, {"index.md": head + "".join(f"{name}\n" for name in missing) + fence + "\n", "README.md": README}, False)


def write_pages(folder, pages, remove=True):
    """Writes pages whose text has changed, and removes those that are no longer made."""
    for place in folder.rglob("*.*") if remove else []:
        if place.is_file() and place.relative_to(folder).as_posix() not in pages:
            place.unlink()
    for name, text in pages.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        if not place.exists() or place.read_text() != text:
            place.write_text(text)


def main(program, include, source):
    copy_repository(source)
    link_inputs(source)
    list_new_pages(source)
    pages = command_line.pages(program)
    pages |= headers.pages(include)
    pages |= fortran.pages(ROOT / "fortran" / "smallbatch.f90")
    write_pages(source / "reference", pages)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
