"""The tests that run under compute-sanitizer launch every kernel of the solvers.

The test program notes the names of the kernels that it launches. They must be the names of all kernels in the library.
Needs a GPU.
"""

import os
import subprocess
from pathlib import Path

import pytest

from resources_test import LIBRARIES, kernels

TESTS = Path(os.environ.get("SMALLBATCH_BUILD", "build")) / "bin" / "test_solvers"

pytestmark = pytest.mark.skipif(not LIBRARIES, reason="a build without CUDA has no kernels")


@pytest.mark.parametrize("once", [False, True], ids=["all", "with_new_kernels"])
def test_every_kernel_is_launched(tmp_path, once):
    noted = tmp_path / "kernels"
    environment = {**os.environ, "SMALLBATCH_LAUNCHED_KERNELS": str(noted)}
    if once:
        taken = tmp_path / "taken"
        taken.mkdir()
        environment["SMALLBATCH_KERNELS_ONCE"] = str(taken)
    done = subprocess.run([TESTS, "--gtest_filter=*Sanitized*"], env=environment, capture_output=True, text=True,
                          timeout=300)
    assert done.returncode == 0, done.stdout
    if not noted.exists():
        pytest.skip("no GPU: no kernel was launched")
    (library,) = [path for path in LIBRARIES if "solvers" in path.name]
    there = kernels(library.read_bytes())
    assert len(there) > 50
    assert there - set(noted.read_text().split()) == set()
