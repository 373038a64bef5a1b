"""No kernel of the libraries keeps registers or arrays in local memory, which lies in device memory.

The compiler writes records about every kernel into the device code of the libraries that this build links. The test
reads these records: `.nv.info` in each cubin, which is an ELF file inside the static library. The tool
`cuobjdump --dump-resource-usage` prints them, too, but not every installation of the toolkit has it.
"""

import os
import re
import struct
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

ELF_CUDA = 190  # e_machine
REGISTERS, FRAME_SIZE, STACK_SIZE = 0x2F, 0x11, 0x12  # EIATTR_REGCOUNT, _FRAME_SIZE, _MIN_STACK_SIZE
WITH_SIZE = 4  # EIFMT_SVAL: a record whose payload follows

LIBRARIES = [Path(path) for path in os.environ.get("SMALLBATCH_DEVICE_CODE", "").split(os.pathsep) if path]
# Some kernels of these libraries, compiled for another GPU. Nothing links them.
OTHERS = [Path(path) for path in os.environ.get("SMALLBATCH_OTHER_DEVICE_CODE", "").split(os.pathsep) if path]
NVCC = os.environ.get("SMALLBATCH_NVCC", "")

pytestmark = pytest.mark.skipif(not LIBRARIES, reason="a build without CUDA has no kernels")


class Section(NamedTuple):
    name: str
    content: bytes
    link: int


def sections(elf):
    """The sections of a 64-bit ELF file at the start of `elf`."""
    (table,) = struct.unpack_from("<Q", elf, 40)
    size, count, names = struct.unpack_from("<HHH", elf, 58)
    headers = [struct.unpack_from("<IIQQQQII", elf, table + k * size) for k in range(count)]
    content = [b"" if kind == 8 else elf[at : at + length] for _, kind, _, _, at, length, _, _ in headers]
    return [Section(text(content[names], h[0]), c, h[6]) for h, c in zip(headers, content)]


def text(strings, start):
    return strings[start : strings.index(b"\0", start)].decode()


def cubins(data):
    start = data.find(b"\x7fELF")
    while start >= 0:
        if struct.unpack_from("<H", data, start + 18)[0] == ELF_CUDA:
            yield data[start:]
        start = data.find(b"\x7fELF", start + 4)


def kernels(data):
    """The names of all kernels, which are the functions with parameters in a constant bank."""
    return {part.name.removeprefix(".nv.constant0.") for cubin in cubins(data) for part in sections(cubin)
            if part.name.startswith(".nv.constant0.")}


def resources(data):
    """{function: {attribute: value}} of all device functions in a library, object file or cubin."""
    found = {}
    for cubin in cubins(data):
        parts = sections(cubin)
        for part in parts:
            if part.name.startswith(".text."):
                found.setdefault(part.name.removeprefix(".text."), {})
        for part in parts:
            if part.name != ".nv.info":
                continue
            symbols = parts[part.link]
            names = parts[symbols.link].content
            at = 0
            while at < len(part.content):
                form, attribute, size = struct.unpack_from("<BBH", part.content, at)
                at += 4
                if form != WITH_SIZE:
                    continue
                if attribute in (REGISTERS, FRAME_SIZE, STACK_SIZE):
                    symbol, value = struct.unpack_from("<II", part.content, at)
                    (name,) = struct.unpack_from("<I", symbols.content, 24 * symbol)
                    values = found.setdefault(text(names, name), {})
                    values[attribute] = max(value, values.get(attribute, 0))
                at += size
    return found


def in_local_memory(found):
    """Functions with a frame or a stack, or without a record of their frame.

    The compiler's own divisions and roots are left out: their records repeat the frame of the kernel that calls them.
    """
    return {name: v for name, v in found.items()
            if not name.startswith("$__internal_") and (v.get(FRAME_SIZE) != 0 or v.get(STACK_SIZE, 0) != 0)}


@pytest.mark.parametrize("library", LIBRARIES + OTHERS, ids=[path.stem for path in LIBRARIES + OTHERS])
def test_no_kernel_spills(library):
    found = resources(library.read_bytes())
    assert found, f"no kernel found in {library} (is its device code compressed? nvcc takes --no-compress)"
    assert not in_local_memory(found)


# Kernels with a known use of registers and local memory. The source and the compiler's output show the use.
SOURCE = """
__global__ void tidy(float* x) { x[threadIdx.x] *= 2; }
__global__ void indexed_array(float* x, int n) {
  float local[64];
  for (int i = 0; i < 64; ++i) local[i] = x[i * n];
  for (int i = 0; i < n; ++i) x[i] += local[(7 * i + n) & 63];
}
__global__ void many_registers(float* x) {
  float local[128];
#pragma unroll
  for (int i = 0; i < 128; ++i) local[i] = x[32 * i + threadIdx.x];
#pragma unroll
  for (int i = 0; i < 128; ++i)
#pragma unroll
    for (int j = i + 1; j < 128; j += 5) local[j] += local[i] * local[127 - i];
#pragma unroll
  for (int i = 0; i < 128; ++i) x[32 * i + threadIdx.x] = local[i];
}
"""


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kernels")
    (folder / "kernels.cu").write_text(SOURCE)
    call = [NVCC, "-arch=sm_90", "-O3", "-maxrregcount=32", "-Xptxas=-v", "-c", "kernels.cu", "-o", "kernels.o"]
    said = subprocess.run(call, cwd=folder, capture_output=True, text=True, check=True).stderr
    return resources((folder / "kernels.o").read_bytes()), said


def test_local_memory_is_seen(compiled):
    spilling = {re.sub(r"^_Z\d+|P.*$", "", name) for name in in_local_memory(compiled[0])}
    assert spilling == {"indexed_array", "many_registers"}


def test_the_figures_are_those_of_the_compiler(compiled):
    found, said = compiled
    words = re.findall(r"Compiling entry function '(\w+)'.*?(\d+) bytes stack frame.*?Used (\d+) registers", said, re.S)
    assert len(words) == 3
    expected = {name: (int(frame), int(registers)) for name, frame, registers in words}
    assert {name: (values[FRAME_SIZE], values[REGISTERS]) for name, values in found.items()} == expected
