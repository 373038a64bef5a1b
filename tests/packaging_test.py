"""Checks that the recipes of packages have the version, the options and the requirements of the build."""

import ast
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
BUILD = Path(os.environ.get("SMALLBATCH_BUILD", ROOT / "build"))
CMAKE = (ROOT / "CMakeLists.txt").read_text()
VERSION = re.search(r"project\(smallbatch VERSION ([\d.]+)", CMAKE)[1]
SETUP = (ROOT / "scripts" / "setup").read_text()
RECIPES = ["packaging/spack/package.py", "packaging/conda/meta.yaml", "packaging/container/Dockerfile", "docs/linking.md",
           "scripts/setup"]


@pytest.mark.parametrize("recipe", RECIPES)
def test_options_of_recipes_are_the_builds(recipe):
    for option in re.findall(r"SMALLBATCH_[A-Z]+", (ROOT / recipe).read_text()):
        assert re.search(rf"(?:option|set)\({option} ", CMAKE), f"{recipe} has {option}"


def test_versions_agree():
    assert f"version: {VERSION}\n" in (ROOT / "packaging/conda/meta.yaml").read_text()
    assert f'"{VERSION}"' in (ROOT / "packaging/spack/package.py").read_text()
    assert (ROOT / "CHANGELOG.md").read_text().split("\n## ")[1].startswith(f"{VERSION} ")
    for path in ("c/smallbatch.h", "fortran/smallbatch.f90"):
        assert f'"{VERSION}"' in (ROOT / path).read_text()
    assert f"'{VERSION}'" in (ROOT / "python/bindings.cpp").read_text()
    wanted = {}
    for folder in ("docs", "examples", "packaging", "python", "."):
        for path in (ROOT / folder).glob("**/*" if folder != "." else "*"):
            if path.suffix in {".md", ".txt", ".in"}:
                for found in re.findall(r"find_package\(smallbatch ([\d.]+)", path.read_text()):
                    wanted.setdefault(found, []).append(path)
    assert set(wanted) == {VERSION.rsplit(".", 1)[0]} and len(wanted.popitem()[1]) > 5, wanted


def test_the_recipe_for_spack_is_python():
    ast.parse((ROOT / "packaging/spack/package.py").read_text())


def test_what_is_looked_for_without_root_is_what_is_installed_with():
    installed = re.search(r"^packages=\((.*?)\)", SETUP, re.S | re.M)[1].split()
    looked_for = re.findall(r"^(?:program|header) \S+ (\S+) \S+$", SETUP, re.M)
    assert sorted(installed) == sorted(looked_for)


def test_what_is_missing_is_named(tmp_path):
    """If only a shell can be found, `scripts/setup --check` names the missing programs and their packages."""
    for name in ["bash", "dirname", "env"]:
        (tmp_path / name).symlink_to(shutil.which(name))
    done = subprocess.run([ROOT / "scripts" / "setup", "--check", "--prefix", tmp_path / "nowhere"], env={"PATH": str(tmp_path)},
                          capture_output=True, text=True)
    assert done.returncode == 1, done.stderr
    assert re.search(r"^cmake +missing$", done.stdout, re.M)
    assert re.search(r"apt-get install g\+\+ cmake ninja-build", done.stdout)
    assert re.search(r"conda create --prefix \S+/nowhere --channel conda-forge cxx-compiler cmake ninja", done.stdout)


def test_packages_of_debian(tmp_path):
    if not shutil.which("dpkg-shlibdeps"):
        pytest.skip("there is no dpkg-shlibdeps")
    subprocess.run(["cpack", "-G", "DEB", "--config", BUILD / "CPackConfig.cmake", "-B", tmp_path], check=True, capture_output=True)
    packages = {path.name.split("_")[0]: path for path in tmp_path.glob("*.deb")}
    assert set(packages) == {"smallbatch", "libsmallbatch-dev"}
    for package in packages.values():
        subprocess.run(["dpkg-deb", "-x", package, tmp_path / "root"], check=True)
    fields = subprocess.run(["dpkg-deb", "-f", packages["smallbatch"]], check=True, capture_output=True, text=True).stdout
    assert re.search(r"^Depends: .*\blibc6\b.*\blibmimalloc.*\bzlib1g\b", fields, re.M) and f"Version: {VERSION}" in fields
    said = subprocess.run([tmp_path / "root" / "usr" / "bin" / "smallbatch", "--version"], check=True, capture_output=True, text=True)
    assert VERSION in said.stdout
    for installed in ["share/man/man1/smallbatch.1", "include/smallbatch/solvers/spd_solver.hpp", "include/smallbatch.h",
                      "share/doc/smallbatch/examples/cpp/main.cpp"]:
        assert (tmp_path / "root" / "usr" / installed).is_file(), installed
    for document in (tmp_path / "root" / "usr" / "share" / "doc").rglob("*.md"):
        for target in re.findall(r"\]\(([^)#:]+)[)#]", document.read_text()):
            assert (document.parent / target).exists(), f"{document} links to {target}"
