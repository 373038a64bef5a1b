"""Checks the house rules in the source: includes between rooms, doors of third parties, names, and format."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ["core", "solvers", "physics", "c", "io", "app", "bench", "python", "tests"]
MAY_INCLUDE = {
    "core": {"core"},
    "solvers": {"core", "solvers"},
    "physics": {"core", "physics"},
    "c": {"core", "solvers", "physics", "c"},
    "io": {"core", "io"},
    "app": {"core", "solvers", "physics", "io", "app"},
    "bench": {"core", "solvers", "physics", "bench"},
    "python": set(),  # includes <smallbatch.h>, as a user's program does
    "tests": set(ROOMS),
}
# The floors of a room, from the lowest up. A file may include files of its own floor and of lower floors. The empty
# name stands for files that lie directly in the room: the program in app, the public headers in io.
FLOORS = {
    "app": ["cli", "verification", "report", "run", "commands", ""],
    "io": ["", "integrity", "hdf5", "interchange", "format", "picture"],
}
# Headers of a third party -> its door, the files that may include them. Both are regular expressions for whole paths.
DOORS = {
    r"hdf5\.h": r"io/hdf5/.*|tests/io/.*",
    r"CLI/.*": r"app/cli/(options\.cpp|command_declaration\.[ch]pp)",
    r"Eigen/.*": r"(solvers|physics/\w+)/reference/.*|bench/eigen_\w+\.cpp|tests/.*",
    r"cuda_runtime(_api)?\.h": r"core/(device_cuda\.[hc]pp|\w+\.cuh)|(solvers|physics)/\w+\.cuh|(solvers|physics/\w+)/cuda/.*|tests/[\w/]+/cuda/.*|(tests/)?bench/.*",
    r"png\.h": r"io/picture/.*\.cpp|tests/io/.*",
    r"zlib\.h": r"io/hdf5/chunk_filters\.cpp|tests/.*",
    r"libdeflate\.h": r"io/hdf5/chunk_filters\.cpp",
    r"zstd(_errors)?\.h": r"io/hdf5/chunk_filters\.cpp",
    r"seccomp\.h": r"io/hdf5/sandbox\.cpp",
    r"spdlog/.*": r"(tests/)?app/.*",
    r"nlohmann/.*": r"app/.*|bench/.*|tests/.*",
    r"xxhash\.h": r"io/integrity/(hashes(_avx2|_avx512)?|row_hashes)\.cpp",
    r"mpi\.h": r"app/run/ranks_mpi\.cpp",
    r"nanobind/.*": r"python/bindings\.cpp",
}


def sources():
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*")):
            if path.suffix in {".h", ".hpp", ".cpp", ".cu", ".cuh"}:
                yield path.relative_to(ROOT).as_posix(), path.read_text()


def includes(text):
    return re.findall(r'^\s*#\s*include\s+([<"])([^">]+)[">]', text, re.M)


FILES = list(sources())


def test_there_is_something_to_read():
    assert {name.split("/")[0] for name, _ in FILES} >= set(ROOMS) - {"bench"}
    assert len(FILES) > 40


@pytest.mark.parametrize("name,text", FILES, ids=[name for name, _ in FILES])
def test_includes_keep_the_rules(name, text):
    room = name.split("/")[0]
    for quote, target in includes(text):
        other = target.split("/")[0]
        if quote == '"':
            assert other in ROOMS, f'{name} includes "{target}", which is not written from the root'
            assert other in MAY_INCLUDE[room], f"{name} includes {target}: {room} may not know {other}"
        for third_party, door in DOORS.items():
            if re.fullmatch(third_party, target):
                assert re.fullmatch(door, name), f"{name} includes {target}, whose door is {door}"


def test_arrows_between_floors_point_down():
    arrows = 0
    for place, floors in FLOORS.items():
        def height(path):
            floor = path.removeprefix(place + "/").rpartition("/")[0]
            assert floor in floors, f"{path} is on no floor of {place}"
            return floors.index(floor)

        for name, text in FILES:
            for target in [target for _, target in includes(text) if target.startswith(place + "/")]:
                if name.startswith(place + "/"):
                    arrows += height(name) > height(target)
                    assert height(name) >= height(target), f"{name} includes {target}, which is above it"
    assert arrows > 50


def test_wings_know_no_other_wing():
    """Wings share code only through the folder above them. A file of a wing may be included by the wing itself, by
    backends.hpp, by benchmarks and by tests."""
    wings = 0
    for name, text in FILES:
        for _, target in includes(text):
            wing = re.match(r"(solvers|physics/\w+)/(cpu|cuda|reference)/", target)
            if not wing or name.split("/")[0] in ("bench", "tests") or name.endswith("backends.hpp"):
                continue
            wings += 1
            assert name.startswith(wing[0]), f"{name} includes {target}, of another wing"
    assert wings > 40


def test_charges_and_correlations_know_nothing_of_each_other():
    lanes = {"physics/charges/": 0, "physics/correlations/": 0}
    for name, text in FILES:
        for lane in lanes:
            if name.startswith(lane):
                lanes[lane] += 1
                others = [target for _, target in includes(text) if target.startswith(tuple(set(lanes) - {lane}))]
                assert not others, f"{name} includes {others}"
    assert min(lanes.values()) > 20


@pytest.mark.parametrize("name,text", FILES, ids=[name for name, _ in FILES])
def test_kernels_are_launched_in_cu_files_alone(name, text):
    """The one exception is core/grid_stride.cuh, the launcher of element-wise functors. It is a template, and only .cu
    and .cuh files include it."""
    code = re.sub(r"//[^\n]*", "", text)
    assert "<<<" not in code or name.endswith(".cu") or name == "core/grid_stride.cuh"
    assert name.endswith((".cu", ".cuh")) or ("\"", "core/grid_stride.cuh") not in includes(text)


@pytest.mark.parametrize("name,text", FILES, ids=[name for name, _ in FILES])
def test_library_rooms_stay_silent(name, text):
    if name.split("/")[0] not in {"core", "solvers", "physics", "c", "io"}:
        return
    code = re.sub(r"//[^\n]*", "", text)
    for word in [r"\bprintf\s*\(", r"\bstd::cout\b", r"\bstd::cerr\b", r"\bgetenv\s*\(", r"\bexit\s*\(", r"\babort\s*\("]:
        assert not re.search(word, code), f"{name} uses {word}"


def test_no_backend_is_chosen_by_the_preprocessor():
    for name, text in FILES:
        if name.startswith("tests/"):
            continue
        for line in re.findall(r"^\s*#\s*(?:if|ifdef|ifndef|elif)\b.*$", text, re.M):
            assert not re.search(r"CUDA|NVCC|AVX|BACKEND", line), f"{name}: {line.strip()}"


def test_there_is_one_namespace():
    """All rooms use namespace smallbatch, and tests may use smallbatch::testing. Code of one translation unit is in an
    unnamed namespace."""
    for name, text in FILES:
        allowed = {"smallbatch", ""} | ({"smallbatch::testing"} if name.startswith("tests/") else set())
        found = re.findall(r"^[ \t]*(?:inline[ \t]+)?namespace\b(?! \w+ =)[ \t]*([\w:]*)", text, re.M)
        assert set(found) <= allowed, f"{name} has {set(found) - allowed}"
        assert set(found) - {""} or not name.endswith((".hpp", ".cuh")), f"{name} is in no namespace"


def test_a_type_of_the_product_has_one_definition():
    # The linker does not tell types with the same name apart, and mixes up their functions.
    places = {}
    for name, text in FILES:
        if name.startswith("tests/") or not name.endswith((".hpp", ".cuh")):
            continue
        shared = re.sub(r"^namespace \{$.*?^\}  // namespace$", "", text, flags=re.M | re.S)
        for type_name in re.findall(r"^(?:struct|class|enum class|union)(?: alignas\([^)]*\))? (\w+)[^;{<]*\{", shared, re.M):
            places.setdefault(type_name, set()).add(name)
    assert len(places) > 40
    assert not {name: files for name, files in places.items() if len(files) > 1}


# C++ tests that do not belong to a single file, and the subject of each.
THEMES = {
    "tests/fuzz/corpus_test.cpp": "what reads strangers' bytes and texts, wherever it is",
    "tests/io/changed_input_test.cpp": "both readers, of files that change under them",
    "tests/io/charge_widths_test.cpp": "widths and screening lengths through the reader of problems",
    "tests/io/chunked_input_test.cpp": "hdf5_input, hdf5_chunks and chunk_filters together",
    "tests/io/correlation_refusal_test.cpp": "what both readers refuse of correlation and pair energy sets",
    "tests/io/correlation_set_test.cpp": "correlation sets through all readers and writers",
    "tests/io/file_safety_test.cpp": "output_file and all that write through it",
    "tests/io/pair_energy_set_test.cpp": "pair energy sets through all readers and writers",
    "tests/io/potential_refusal_test.cpp": "what both readers refuse of potential sets",
    "tests/io/potential_set_test.cpp": "potential sets through all readers and writers",
    "tests/io/problem_file_test.cpp": "problem_writer and problem_reader, one against the other",
    "tests/io/refusal_test.cpp": "what both readers refuse of everything else",
    "tests/io/result_file_test.cpp": "result_writer and result_reader, one against the other",
    "tests/solvers/cuda/sanitized_test.cpp": "every kernel, for the tools that look for faults of memory",
    "tests/physics/scafacos_test.cpp": "every backend, against another project's systems",
}


def test_tests_mirror_the_rooms():
    """A test has the path of the tested file. tests/<room>/[<wing>/]<file>_test.cpp and <file>_<theme>_test.cpp test
    <room>/[<wing>/]<file>.*"""
    mirrored, others = 0, set()
    for path in sorted((ROOT / "tests").rglob("*_test.cpp")):
        name, place = path.stem.removesuffix("_test"), path.parent.relative_to(ROOT / "tests")
        files = {source.stem for source in (ROOT / place).glob("*") if source.is_file()}
        if any(name == file or name.startswith(file + "_") for file in files):
            mirrored += 1
        else:
            others.add(path.relative_to(ROOT).as_posix())
    assert mirrored > 30
    assert others == set(THEMES)


LONG = [path for room in ROOMS for path in sorted((ROOT / room).rglob("*"))
        if path.suffix in {".hpp", ".cpp", ".cu", ".cuh", ".py"} and len(path.read_text().splitlines()) > 400]


@pytest.mark.parametrize("path", LONG, ids=[path.relative_to(ROOT).as_posix() for path in LONG])
def test_long_files_say_why(path):
    beginning = re.sub(r"\s+(?://)?\s*", " ", "\n".join(path.read_text().splitlines()[:15]))
    sentences = re.split(r"(?<=[.:]) ", beginning)
    assert any(re.search(r"\b(one|a) file\b", sentence, re.I) and re.search(r"\b(because|so) ", sentence) for sentence in sentences), (
        f"{path.name} has more than 400 lines and does not say why it is one file")


def test_code_is_formatted():
    # tests/requirements.txt pins the version, because versions format differently.
    program = Path(sys.executable).parent / "clang-format"
    if not program.exists():
        pytest.skip("this Python's environment has no clang-format")
    done = subprocess.run([program, "--dry-run", "-Werror", *[ROOT / name for name, _ in FILES]],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:2000]


def test_decisions_say_whether_they_hold():
    decisions = sorted((ROOT / "docs" / "adr").glob("*.md"))
    assert decisions
    for path in decisions:
        assert re.search(r"^\*\*Status\.\*\* \w", path.read_text(), re.M), f"{path.name} has no status"
