"""Checks each public header. It compiles by itself as C++17 without a warning. Its declarations are visible in shared
libraries, and they are documented."""

import os
import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
BUILD = Path(os.environ.get("SMALLBATCH_BUILD", ROOT / "build"))
INCLUDE = BUILD / "include"
ROOMS = ["core", "solvers", "physics", "io"]
NEEDS_NVCC = {"physics/pair_sum.cuh"}  # has kernels


def public_headers():
    for room in ROOMS:
        listed = re.search(r"smallbatch_library\(.*?HEADERS\s+([\w.\s]+?)\s+[A-Z_]{5,}", (ROOT / room / "CMakeLists.txt").read_text(), re.S)
        for name in listed[1].split():
            yield f"{room}/{name}"


HEADERS = list(public_headers())
COMPILERS = [compiler for compiler in ["g++", "clang++"] if shutil.which(compiler)]
NVCC = os.environ.get("SMALLBATCH_NVCC")


def test_there_is_something_to_read():
    assert len(HEADERS) > 25
    assert {header.split("/")[0] for header in HEADERS} == set(ROOMS)


@pytest.mark.parametrize("header", HEADERS)
def test_public_headers_include_public_headers_alone(header):
    text = (ROOT / header).read_text()
    assert not set(re.findall(r'#include "([^"]+)"', text)) - set(HEADERS)


@pytest.mark.parametrize("header", HEADERS)
def test_what_headers_declare_is_visible(header):
    """Two pragmas around the namespace make its declarations visible in shared libraries. A function template that is
    defined elsewhere also needs an attribute, because g++ forgets the pragma at the definition."""
    text = (ROOT / header).read_text()
    assert text.count("\n#pragma GCC visibility push(default)\nnamespace smallbatch {\n") == 1
    assert text.endswith("}  // namespace smallbatch\n#pragma GCC visibility pop\n")
    for declaration in re.findall(r"^template <[^\n]*>\n((?:[^;{}]|\{\})+;)", text, re.M):
        if "(" in declaration and not re.match(r"(?:inline )?constexpr|using|class|struct", declaration):
            assert 'gnu::visibility("default")' in declaration, declaration


def compile_alone(compiler, header, folder, *options):
    source = folder / (header.replace("/", "_") + ".cpp")
    source.write_text(f"#include <smallbatch/{header}>\n")
    command = [compiler, "-std=c++17", f"-I{INCLUDE}", *options, source]
    return header, subprocess.run(command, capture_output=True, text=True)


@pytest.mark.parametrize("compiler", COMPILERS)
def test_each_compiles_by_itself_as_cpp17_without_a_warning(compiler, tmp_path):
    assert INCLUDE.is_dir(), f"build first: {INCLUDE} is not there"
    options = ["-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror"]
    headers = [header for header in HEADERS if not header.endswith(".cuh")]
    if NVCC:
        headers += [header for header in HEADERS if header.endswith(".cuh") and header not in NEEDS_NVCC]
        options += ["-isystem", str(Path(NVCC).resolve().parent.parent / "include")]
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        for header, done in threads.map(lambda header: compile_alone(compiler, header, tmp_path, *options), headers):
            assert done.returncode == 0, f"{header}\n{done.stderr[:2000]}"


@pytest.mark.skipif(not NVCC, reason="this build has no nvcc")
@pytest.mark.parametrize("header", sorted(NEEDS_NVCC))
def test_headers_with_kernels_compile_as_cpp17(header, tmp_path):
    done = compile_alone(NVCC, header, tmp_path, "-x", "cu", "-c", "-o", tmp_path / "object.o", "-Werror", "all-warnings")[1]
    assert done.returncode == 0, done.stderr[:2000]


# undocumented() reads headers that clang-format has formatted. A brace at the end of a line opens a scope. Every line
# in a scope begins or continues a declaration. The function fails if a scope stays open.
SCOPE = re.compile(r"^(?:template <.*>\s+)?(namespace|struct|class|enum class|enum|union)\b(?: alignas\([^)]*\))?\s*(\w*)[^;={(]*\{$")
NEEDS_NO_WORDS = re.compile(r"^(?:friend\b|static_assert|using value_type|using propagate_|public:|private:|\}|#|template <[^(]*>$"
                            r"|~|virtual ~|\w+\(\) = default|\w+\(\w+&& ?\w*\)|.*\boperator=\(|.*\boperator==|.*\boperator!="
                            r"|.*= delete;|struct \w+;|class \w+;|// NOLINT)")


def undocumented(text):
    """Returns the declarations without a comment, at namespace scope and in public parts of classes.

    A comment may stand on a line of the declaration or directly above. A comment above covers all declarations up to
    the next empty line. The comment of a class also covers the members that it names.
    """
    scopes, found = [], []  # each scope: [kind, whether it is public, words of its comment]
    above = ""  # the comment since the last empty line
    lines = iter(text.splitlines())
    for line in lines:
        bare = line.strip()
        if not bare:
            above = ""
            continue
        if bare.startswith("//"):
            above += "" if bare.startswith("// NOLINT") else bare
            continue
        if bare.startswith(("public:", "private:")):
            scopes[-1][1] = bare == "public:"
            continue
        if bare.startswith("}"):
            scopes.pop()
            continue
        if NEEDS_NO_WORDS.match(bare):
            # The body and the other lines of this declaration are skipped.
            if not bare.startswith(("template", "#")):
                skip(bare, lines)
            continue
        scope = SCOPE.match(bare.split("  //")[0].rstrip())
        is_public = all(scope[1] for scope in scopes)
        if scope:
            kind = scope[1]
            if kind != "namespace" and is_public and not above:
                found.append(bare)
            scopes.append([kind, kind != "class" and (kind != "namespace" or bool(scope[2])), set(re.findall(r"\w+", above))])
            above = ""
            continue
        whole = skip(bare, lines, scopes[-1][0].startswith("enum") if scopes else False)
        names = set(re.findall(r"(\w+)(?= = |;|, |\()", re.sub(r"<[^;=]*>", "", whole.split("\n")[0])))
        if is_public and scopes and not above and "//" not in whole and not names & scopes[-1][2]:
            found.append(bare)
    assert not scopes, "the reader lost its way"
    return found


def skip(first, lines, is_enumerator=False):
    """Returns the whole declaration that begins with line `first`. Takes its other lines from `lines`."""
    whole = first
    while True:
        code = re.sub(r'"[^"]*"', "", re.sub(r"//[^\n]*", "", whole)).rstrip()
        is_open = sum(code.count(c) for c in "({[") > sum(code.count(c) for c in ")}]")
        if not is_open and (code.endswith((";", "}")) or is_enumerator):
            return whole
        whole += "\n" + next(lines)


def test_the_reader_finds_what_has_no_words():
    text = """#pragma once
namespace smallbatch {

/// Words about z.
struct A {
  int z = 0;
  int a = 0;  ///< words
  int b = 0;
  /// Words.
  int c() const { return 1; }
  int d() const {
    return 1;
  }

 private:
  int e = 0;
};

class B {
 public:
  /// Words of two.
  virtual void f(int one,
                 int two) = 0;
  virtual void g() = 0;

  virtual void h() = 0;
};

enum class C {
  one,  ///< words
  two,
  three
};
enum class D { one, two };

template <class T>
T k(T t) {
  return t;
}
}  // namespace smallbatch
"""
    assert undocumented(text) == ["int b = 0;", "class B {", "virtual void h() = 0;", "enum class C {",
                                  "two,", "three", "enum class D { one, two };", "T k(T t) {"]
    assert undocumented(text.replace("Words about z", "Words"))[0] == "int z = 0;"


@pytest.mark.parametrize("header", HEADERS)
def test_everything_public_is_documented(header):
    assert not undocumented((ROOT / header).read_text())


def test_examples_include_what_is_public():
    found = set()
    for path in sorted((ROOT / "examples").rglob("*")):
        if path.suffix in {".c", ".cpp", ".hpp", ".cu"}:
            text = path.read_text()
            assert not re.search(rf'#include "({"|".join(ROOMS)})/', text), path
            found |= set(re.findall(r"#include <smallbatch/([^>]+)>", text))
    assert found and not found - set(HEADERS)
