"""Object files that are compiled for AVX2 or AVX-512 have no weak symbols.

The linker keeps only one copy of a weak symbol, such as an inline function that was not inlined. If an object file for
AVX-512 held such a symbol, every processor could get the copy made for AVX-512.
"""

import os
import platform
import re
import subprocess
from pathlib import Path

import pytest

LIBRARIES = [Path(path) for path in os.environ.get("SMALLBATCH_KERNELS", "").split(os.pathsep) if path]

pytestmark = pytest.mark.skipif(not LIBRARIES, reason="no build names its libraries in SMALLBATCH_KERNELS")


def weak_symbols(library):
    """{object file: its weak and unique symbols} of a static library."""
    said = subprocess.run(["nm", "--format=posix", "--demangle", library], capture_output=True, text=True, check=True).stdout
    found = {}
    for line in said.splitlines():
        if member := re.fullmatch(r".*\[(.+)\]:", line):
            symbols = found[member[1]] = []
        elif symbol := re.fullmatch(r"(.+) [WwVvu]( [0-9a-f]+)*\s*", line):
            symbols.append(symbol[1])
    return found


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="one instruction set alone is compiled here")
@pytest.mark.parametrize("library", LIBRARIES, ids=[path.stem for path in LIBRARIES])
def test_no_weak_symbol_is_compiled_for_another_instruction_set(library):
    found = weak_symbols(library)
    assert any(found.values()), f"no weak symbol in all of {library}, whose other files hold inline functions"
    others = {name: symbols for name, symbols in found.items() if re.fullmatch(r"\w+_avx\w+\.cpp\.o", name)}
    assert {"kernels_avx2.cpp.o", "kernels_avx512.cpp.o"} <= set(others)
    # These files rename Eigen's namespace, so no other file has the same weak symbols. A reference to the exception
    # handler is not code.
    own = re.compile(r"DW\.ref\.|(.*\W)?EigenAvx(2|512)::")
    kept = {name: [symbol for symbol in symbols if not own.match(symbol)] for name, symbols in others.items()}
    assert not {name: symbols for name, symbols in kept.items() if symbols}
