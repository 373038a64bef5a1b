"""Installs into empty prefixes. Then builds the examples, and projects like those of users, with the installation."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
BUILD = Path(os.environ.get("SMALLBATCH_BUILD", ROOT / "build"))
WITH_CUDA = "SMALLBATCH_NVCC" in os.environ
KINDS = ["static", "shared"]
ROOMS = ["core", "solvers", "physics", "io"]

# Every folder of examples/ with a CMakeLists.txt is a project that finds smallbatch. It must build, and ctest runs its
# programs. NEEDS_CUDA lists the examples that need CUDA.
NEEDS_CUDA = {"cuda"}
EXAMPLES = sorted(path.parent.name for path in (ROOT / "examples").glob("*/CMakeLists.txt"))


def call(*command, expect=0, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=600, **options)
    assert (done.returncode == 0) == (expect == 0), f"{command}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done


@pytest.fixture(scope="module")
def prefixes(tmp_path_factory):
    """Returns two prefixes: one with the static libraries, one with the shared ones."""
    found = {}
    for kind in KINDS:
        found[kind] = tmp_path_factory.mktemp(kind)
        for component in ["development", kind]:
            call("cmake", "--install", BUILD, "--prefix", found[kind], "--component", component)
    return found


@pytest.fixture(params=KINDS)
def prefix(request, prefixes):
    return prefixes[request.param]


def library_folder(prefix):
    return next(prefix.rglob("libsmallbatch_core.*")).parent


def project(folder, cmake, **files):
    """Writes a project. "_dot_" in the name of a file stands for ".", and "_in_" for "/"."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "CMakeLists.txt").write_text(cmake)
    for name, text in files.items():
        path = folder / name.replace("_dot_", ".").replace("_in_", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def configure(source, build, prefix=None, expect=0, options=(), env=None):
    found = [f"-DCMAKE_PREFIX_PATH={prefix}"] if prefix else []
    return call("cmake", "-S", source, "-B", build, *found, *options, expect=expect, env=env)


def build_and_test(build):
    call("cmake", "--build", build)
    return call("ctest", "--test-dir", build, "--output-on-failure", "--no-tests=error").stdout


SOLVER = """
#include <smallbatch/core/error.hpp>
#include <smallbatch/solvers/spd_solver.hpp>
/// Returns x of 4 x = 8, or 0 if the library does not refuse a system with 1000 rows.
double answer() {
  const double a = 4, b = 8;
  double x = 0;
  int32_t info = 1;
  smallbatch::SpdBatch<double> batch;
  batch.shape.n = 1;
  batch.count = 1;
  batch.a = &a;
  batch.b = &b;
  smallbatch::SpdSolution<double> solution;
  solution.x = &x;
  solution.info = &info;
  const auto solver = smallbatch::make_spd_solver({smallbatch::BackendKind::cpu});
  solver->solve(batch, solution);
  batch.shape.n = 1000;
  try {
    solver->solve(batch, solution);
    return 0;
  } catch (const smallbatch::Error& error) {
    return error.kind() == smallbatch::ErrorKind::bad_input && info == 0 ? x : 0;
  }
}
"""


@pytest.mark.parametrize("example", EXAMPLES)
def test_examples_build_and_run(example, prefix, tmp_path):
    if example in NEEDS_CUDA and not WITH_CUDA:
        pytest.skip("this build has no CUDA")
    shutil.copytree(ROOT / "examples" / example, tmp_path / "example")
    configure(tmp_path / "example", tmp_path / "build", prefix)
    said = build_and_test(tmp_path / "build")
    if "Skipped" in said:
        pytest.skip(f"examples/{example} was built, and there is no GPU to run it")


def test_the_program_of_the_document_prints_what_it_says(prefixes, tmp_path):
    text = (ROOT / "docs" / "linking.md").read_text()
    program, printed = re.search(r"```cpp\n(.*?)```\n\nIt prints:\n\n```\n(.*?)```", text, re.S).groups()
    project(tmp_path / "p", """cmake_minimum_required(VERSION 3.22)
project(p LANGUAGES CXX)
find_package(smallbatch 0.2 REQUIRED COMPONENTS solvers physics)
add_executable(p main.cpp)
target_compile_options(p PRIVATE -Wall -Wextra -Wpedantic -Werror)
target_link_libraries(p PRIVATE smallbatch::solvers)
""", main_dot_cpp=program)
    configure(tmp_path / "p", tmp_path / "b", prefixes["shared"])
    call("cmake", "--build", tmp_path / "b")
    assert call(tmp_path / "b" / "p").stdout == printed


def test_the_python_package_is_built_on_what_is_installed(prefixes, tmp_path):
    """pip builds the package into an empty folder. It takes no library from the repository."""
    pytest.importorskip("scikit_build_core")
    package = tmp_path / "package"
    said = call(sys.executable, "-m", "pip", "install", "--verbose", "--no-build-isolation", "--no-deps", "--no-index",
                "--target", package, ROOT, cwd=tmp_path, env={**os.environ, "CMAKE_PREFIX_PATH": str(prefixes["shared"])})
    assert f"smallbatch for Python: that of {library_folder(prefixes['shared'])}/cmake/smallbatch" in said.stdout + said.stderr
    installed = {path.name.split(".")[0] + path.suffix for path in (package / "smallbatch").iterdir()}
    assert {"__init__.py", "_core.so", "_core.pyi", "py.typed"} <= installed
    needed = call("readelf", "--dynamic", next((package / "smallbatch").glob("_core*.so"))).stdout
    assert "libsmallbatch.so.0.2" in needed
    examples = sorted((ROOT / "examples" / "python").glob("*.py"))
    assert examples
    for example in examples:
        call(sys.executable, example, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(package)})


def test_everything_is_installed_at_once(tmp_path):
    call("cmake", "--install", BUILD, "--prefix", tmp_path / "prefix")
    program = tmp_path / "prefix" / "bin" / "smallbatch"
    call(program, "generate", "spd", "--batch", 3, "--n", 4, "-o", tmp_path / "p.h5")
    call(program, "run", tmp_path / "p.h5", "-o", tmp_path / "r.h5")
    configure(ROOT / "examples" / "cpp", tmp_path / "build", tmp_path / "prefix")


def test_nothing_installed_names_this_machine(prefixes):
    """No text file of an installation has a path of the build or of the source, so an installation can be moved."""
    texts = 0
    for prefix in prefixes.values():
        for path in [*prefix.rglob("*.cmake"), *prefix.rglob("*.pc"), *prefix.rglob("*.h*"), *prefix.rglob("*.cuh")]:
            texts += 1
            for place in [ROOT, BUILD, prefix]:
                assert f"{place}/" not in path.read_text(), f"{path} names {place}"
    assert texts > 40


def test_a_prefix_can_be_moved(prefixes, tmp_path):
    shutil.copytree(prefixes["shared"], tmp_path / "elsewhere", symlinks=True)
    shutil.copytree(ROOT / "examples" / "cpp", tmp_path / "example")
    configure(tmp_path / "example", tmp_path / "build", tmp_path / "elsewhere")
    build_and_test(tmp_path / "build")


def test_both_kinds_in_one_prefix(prefixes, tmp_path):
    """find_package() takes the shared libraries unless the project asks for the static ones."""
    for kind in KINDS:
        shutil.copytree(prefixes[kind], tmp_path / "prefix", symlinks=True, dirs_exist_ok=True)
    for static in ["OFF", "ON"]:
        build = tmp_path / f"build_{static}"
        configure(ROOT / "examples" / "cpp", build, tmp_path / "prefix", options=[f"-Dsmallbatch_USE_STATIC_LIBS={static}"])
        call("cmake", "--build", build)
        needed = call("readelf", "--dynamic", build / "example").stdout
        assert ("libsmallbatch_solvers.so.0.2" in needed) == (static == "OFF")


def test_a_header_of_the_users_own_is_not_ours(prefix, tmp_path):
    """The project has its own core/error.hpp, and hides its symbols."""
    project(
        tmp_path / "p",
        """cmake_minimum_required(VERSION 3.22)
project(p LANGUAGES CXX)
set(CMAKE_CXX_STANDARD 17)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
find_package(smallbatch 0.2 REQUIRED COMPONENTS solvers)
add_executable(p main.cpp)
target_include_directories(p PRIVATE .)
target_link_libraries(p PRIVATE smallbatch::solvers)
enable_testing()
add_test(NAME p COMMAND p)
""",
        core_in_error_dot_hpp="#pragma once\nstruct MyError { int code; };\n",
        main_dot_cpp='#include "core/error.hpp"\n' + SOLVER + "int main() { return MyError{0}.code + (answer() == 2 ? 0 : 1); }\n",
    )
    configure(tmp_path / "p", tmp_path / "b", prefix)
    build_and_test(tmp_path / "b")


def test_a_users_shared_library_contains_the_static_ones(prefixes, tmp_path):
    project(
        tmp_path / "p",
        """cmake_minimum_required(VERSION 3.22)
project(p LANGUAGES CXX)
find_package(smallbatch 0.2 REQUIRED COMPONENTS solvers physics)
add_library(mine SHARED mine.cpp)
target_link_libraries(mine PRIVATE smallbatch::solvers smallbatch::physics)
add_executable(p main.cpp)
target_link_libraries(p PRIVATE mine)
enable_testing()
add_test(NAME p COMMAND p)
""",
        mine_dot_cpp=SOLVER + """
#include <smallbatch/physics/potential.hpp>
double mine() { return smallbatch::make_potential({smallbatch::BackendKind::cpu}) ? answer() : 0; }
""",
        main_dot_cpp="double mine();\nint main() { return mine() == 2 ? 0 : 1; }\n",
    )
    configure(tmp_path / "p", tmp_path / "b", prefixes["static"])
    build_and_test(tmp_path / "b")


@pytest.mark.parametrize("kind", KINDS)
def test_pkg_config(kind, prefixes, tmp_path):
    if not shutil.which("pkg-config"):
        pytest.skip("there is no pkg-config")
    folder = library_folder(prefixes[kind])
    environment = {**os.environ, "PKG_CONFIG_PATH": str(folder / "pkgconfig"), "LD_LIBRARY_PATH": str(folder)}
    assert call("pkg-config", "--modversion", "smallbatch-physics", env=environment).stdout.startswith("0.2.")
    flags = call("pkg-config", "--cflags", "--libs", "smallbatch-solvers", "smallbatch-physics", env=environment).stdout.split()
    call("g++", "-std=c++17", ROOT / "examples" / "cpp" / "main.cpp", *flags, "-o", tmp_path / "example")
    call(tmp_path / "example", env=environment)
    flags = call("pkg-config", "--cflags", "--libs", "smallbatch-io", env=environment).stdout.split()
    call("g++", "-std=c++17", ROOT / "examples" / "files" / "main.cpp", *flags, "-o", tmp_path / "files")
    call(tmp_path / "files", env=environment, cwd=tmp_path)


@pytest.mark.parametrize("wanted,said", [
    ("0.2 REQUIRED COMPONENTS solvers optics", "smallbatch has no component optics here"),
    ("9.0 REQUIRED", 'compatible with requested version "9.0"'),
])
def test_what_is_not_there_is_refused(wanted, said, prefixes, tmp_path):
    project(tmp_path / "p", f"cmake_minimum_required(VERSION 3.22)\nproject(p LANGUAGES CXX)\nfind_package(smallbatch {wanted})\n")
    done = configure(tmp_path / "p", tmp_path / "b", prefixes["static"], expect=1)
    assert said in re.sub(r"\s+", " ", done.stderr)


def test_an_optional_component_may_be_missing(prefixes, tmp_path):
    project(tmp_path / "p", """cmake_minimum_required(VERSION 3.22)
project(p LANGUAGES CXX)
find_package(smallbatch REQUIRED COMPONENTS solvers OPTIONAL_COMPONENTS optics)
if(NOT smallbatch_solvers_FOUND OR smallbatch_optics_FOUND)
  message(FATAL_ERROR "wrong")
endif()
""")
    configure(tmp_path / "p", tmp_path / "b", prefixes["static"])


def test_solvers_need_no_files_libraries(prefixes, tmp_path):
    """find_package() of solvers and physics looks only for threads, and for CUDA if the build has it."""
    done = configure(ROOT / "examples" / "cpp", tmp_path / "b", prefixes["static"])
    found = set(re.findall(r"Found (\w+)", done.stdout)) - {"Threads", "CUDAToolkit"}
    assert not found
    assert not re.search(r"hdf5|libpng|spdlog|eigen", (tmp_path / "b" / "CMakeCache.txt").read_text(), re.I)


def test_kernels_are_compiled_where_a_gpu_is_seen(tmp_path):
    """SMALLBATCH_CUDA=AUTO needs nvcc and a GPU. If nvcc is there without a GPU, one line says what was chosen."""
    project(tmp_path / "p", "cmake_minimum_required(VERSION 3.22)\nproject(p LANGUAGES C CXX)\nadd_subdirectory(smallbatch)\n")
    (tmp_path / "p" / "smallbatch").symlink_to(ROOT)
    for name, status in [("nvcc", 0), ("nvidia-smi", 9)]:
        (tmp_path / name).write_text(f"#!/bin/sh\necho ran >> {tmp_path}/{name}.ran\nexit {status}\n")
        (tmp_path / name).chmod(0o755)
    path = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = configure(tmp_path / "p", tmp_path / "b", env=path)
    assert (tmp_path / "nvidia-smi.ran").exists() and not (tmp_path / "nvcc.ran").exists()
    assert len(re.findall(r"^smallbatch: .*no GPU.*-DSMALLBATCH_CUDA=ON", done.stderr, re.M)) == 1
    assert "CUDA backends OFF" in done.stdout
    (tmp_path / "nvidia-smi").write_text("#!/bin/sh\nexit 0\n")
    configure(tmp_path / "p", tmp_path / "b", env={**path, "CUDACXX": str(tmp_path / "nvcc")})
    assert (tmp_path / "nvcc.ran").exists()


def test_a_project_that_contains_this_one(tmp_path):
    """add_subdirectory() adds only libraries and leaks no setting into the project. FetchContent calls it, too."""
    inner = tmp_path / "p" / "smallbatch"
    project(
        tmp_path / "p",
        """cmake_minimum_required(VERSION 3.22)
project(p LANGUAGES C CXX)
get_cmake_property(before CACHE_VARIABLES)
add_subdirectory(smallbatch)
get_cmake_property(after CACHE_VARIABLES)
list(REMOVE_ITEM after ${before})
file(WRITE ${CMAKE_BINARY_DIR}/cache.txt "${after}")
foreach(name smallbatch smallbatch_io smallbatch_app smallbatch_ladders smallbatch_bench test_core)
  if(TARGET ${name})
    message(FATAL_ERROR "${name} was not asked for")
  endif()
endforeach()
foreach(name CMAKE_BUILD_TYPE CMAKE_CXX_STANDARD CMAKE_RUNTIME_OUTPUT_DIRECTORY CMAKE_POSITION_INDEPENDENT_CODE
    CMAKE_CXX_VISIBILITY_PRESET BUILD_SHARED_LIBS BUILD_TESTING)
  if(NOT "${${name}}" STREQUAL "")
    message(FATAL_ERROR "${name} is ${${name}}")
  endif()
endforeach()
add_executable(p main.cpp)
target_link_libraries(p PRIVATE smallbatch::core)
add_executable(solves solves.cpp)
target_link_libraries(solves PRIVATE smallbatch::solvers smallbatch::physics)
""",
        main_dot_cpp="""#include <smallbatch/core/units.hpp>
int main() { return smallbatch::length_unit_in_angstrom("nm") == 10 ? 0 : 1; }
""",
        solves_dot_cpp="int main() {}\n",
    )
    inner.symlink_to(ROOT)
    build = tmp_path / "b"
    configure(tmp_path / "p", build, options=["-DSMALLBATCH_CUDA=OFF", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"])
    call("cmake", "--build", build, "--target", "p")
    call(build / "p")
    commands = json.loads((build / "compile_commands.json").read_text())
    ours = [each for each in commands if Path(each["file"]).name == "solves.cpp"]
    assert len(ours) == 1
    assert not re.search(r" -W| -O| -fvisibility| -fPI", ours[0]["command"])
    included = re.findall(r"(?:-I|-isystem) ?(\S+)", ours[0]["command"])
    assert [Path(folder).relative_to(build).as_posix() for folder in included] == ["smallbatch/include"]
    cached = (build / "cache.txt").read_text().split(";")
    of_cmake = r"Eigen3|Threads|CMAKE_HAVE|FIND_PACKAGE_MESSAGE|CMAKE_PROJECT_VERSION"
    assert not [name for name in cached if not re.match(of_cmake + "|SMALLBATCH_|smallbatch_", name)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("page,package", [("c.md", "smallbatch"), ("fortran.md", "smallbatch-fortran")])
def test_programs_of_pages_print_what_they_say(page, package, kind, prefixes, tmp_path):
    """Each page's own pkg-config command compiles the page's program."""
    text = (ROOT / "docs" / page).read_text()
    language, program, printed = re.search(r"```(c|fortran)\n(.*?)```\n\nIt prints:\n\n```\n(.*?)```", text, re.S).groups()
    command = re.search(rf"^(\w.*pkg-config .* {package}\))$", text, re.M)[1]
    compiler, source = command.split()[0], re.search(r"main\.\w+", command)[0]
    if not shutil.which("pkg-config") or not shutil.which(compiler):
        pytest.skip(f"there is no pkg-config or no {compiler}")
    folder = library_folder(prefixes[kind])
    if not (folder / "pkgconfig" / f"{package}.pc").exists():
        pytest.skip(f"this build has no {package}")
    (tmp_path / source).write_text(program)
    environment = {**os.environ, "PKG_CONFIG_PATH": str(folder / "pkgconfig"), "LD_LIBRARY_PATH": str(folder)}
    call("bash", "-euc", f"{command} -Wall -Wextra -Werror", cwd=tmp_path, env=environment)
    assert call(tmp_path / "a.out", env=environment).stdout == printed


@pytest.mark.parametrize("room,file", [(room, f"libsmallbatch_{room}.so") for room in ROOMS] + [("c", "libsmallbatch.so")])
def test_shared_libraries_show_nothing_but_their_own(room, file, prefixes):
    """A shared library exports only names of smallbatch, and no parts of a backend."""
    library = library_folder(prefixes["shared"]) / file
    assert library.is_symlink() and (library.parent / os.readlink(library)).name == f"{file}.0.2"
    names = re.findall(r" [A-Z] (\S+)", call("nm", "--dynamic", "--defined-only", library).stdout)
    assert names
    assert not [name for name in names if not re.match(r"_Z(T[ISV])?NK?10smallbatch|smallbatch_", name)]
    assert not [name for name in names if re.search(r"ldlt|lanes|make_\w*(cpu|cuda|reference)|Hdf5|png_", name)]
    needed = call("readelf", "--dynamic", library).stdout
    assert f"soname: [{file}.0.2]" in needed
    assert "libcudart" not in needed
