"""Checks the machine code that `#pragma unroll` makes of bench/unroll.cu. In a loop unrolled U times, the loads of U
turns come before the first use of a loaded value. Special functions of several turns are issued before the first turn
ends. So many latencies overlap.

The test needs no GPU, but `cuobjdump` and `nvdisasm` of the CUDA toolkit.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

LADDERS = os.environ.get("SMALLBATCH_LADDERS", "")
NVCC = os.environ.get("SMALLBATCH_NVCC", "")
PATH = os.pathsep.join([os.environ.get("PATH", ""), str(Path(NVCC).parent)])
MISSING = [tool for tool in ("cuobjdump", "nvdisasm") if not shutil.which(tool, path=PATH)]

pytestmark = [
    pytest.mark.skipif(not LADDERS, reason="a build without CUDA, or without benchmarks, has no such loop"),
    pytest.mark.skipif(bool(MISSING), reason=f"no {' and no '.join(MISSING)} on the PATH or beside nvcc"),
]

UNROLLED = [1, 2, 4, 8, 16]


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    """Returns {U: the instructions of the loop unrolled U times}."""
    code = tmp_path_factory.mktemp("unroll") / "unroll.o"
    code.write_bytes(subprocess.run(["ar", "p", LADDERS, "unroll.cu.o"], capture_output=True, check=True).stdout)
    text = subprocess.run(["cuobjdump", "-sass", code], capture_output=True, text=True, check=True,
                          env={**os.environ, "PATH": PATH}).stdout
    functions = re.split(r"^\s*Function : ", text, flags=re.M)[1:]
    found = {int(name[1]): loop(function) for function in functions if (name := re.match(r"\w*unrolledILi(\d+)E", function))}
    assert sorted(found) == UNROLLED
    return found


def loop(function):
    """Returns the longest loop: the instructions from a branch's target to the branch."""
    lines = re.findall(r"^\s*/\*([0-9a-f]{4,})\*/\s+(.*?);", function, re.M)
    address = [int(at, 16) for at, _ in lines]
    loops = []
    for end, (at, text) in enumerate(lines):
        branch = re.search(r"\bBRA\b.* (0x[0-9a-f]+)", text)
        if branch and int(branch[1], 16) < int(at, 16):
            loops.append([text for _, text in lines[address.index(int(branch[1], 16)) : end + 1]])
    return max(loops, key=len)


def operation(instruction):
    return re.sub(r"^@\S+\s+", "", instruction).split()[0]


def operands(instruction):
    return [word.rstrip(",") for word in re.sub(r"^@\S+\s+", "", instruction).split()[1:]]


def loads(code):
    return [i for i, text in enumerate(code) if operation(text).startswith("LDG")]


def special(code):
    return [i for i, text in enumerate(code) if operation(text) in ("MUFU.RSQ", "MUFU.SIN")]


def loads_before_a_use(code):
    """Counts the loads before the first instruction that reads a loaded value."""
    loaded = set()
    for i, text in enumerate(code):
        if operation(text).startswith("LDG"):
            loaded.add(operands(text)[0])
        elif loaded & set(re.findall(r"\bR\d+\b", " ".join(operands(text)[1:]))):
            return sum(at < i for at in loads(code))
    return 0


def special_before_a_sum(code):
    """Counts the special functions before the first turn's term is added to the sum. The loop has no other additions."""
    first = min(i for i, text in enumerate(code) if operation(text) == "FADD")
    return sum(at < first for at in special(code))


@pytest.mark.parametrize("unroll", UNROLLED)
def test_a_loop_has_the_turns_that_the_pragma_says(kernels, unroll):
    code = kernels[unroll]
    assert len(loads(code)) == unroll
    assert len(special(code)) == 2 * unroll
    assert sum(operation(text) == "FADD" for text in code) == unroll
    assert sum(operation(text) == "FFMA" for text in code) >= 8 * unroll


@pytest.mark.parametrize("unroll", UNROLLED)
def test_loads_come_before_the_first_use(kernels, unroll):
    # with 16, a few loads come later, because the compiler uses no more registers
    assert loads_before_a_use(kernels[unroll]) >= (unroll if unroll <= 8 else 9)


@pytest.mark.parametrize("unroll", UNROLLED)
def test_special_functions_of_several_turns_stand_together(kernels, unroll):
    assert special_before_a_sum(kernels[unroll]) >= (2 * unroll if unroll <= 4 else 9)


def test_unrolling_spares_instructions(kernels):
    per_turn = {unroll: len(code) / unroll for unroll, code in kernels.items()}
    assert all(per_turn[unroll] < per_turn[1] for unroll in UNROLLED[1:]), per_turn


def test_what_is_not_grouped_is_seen():
    def turn(k):
        return [f"LDG.E R{k}, [R0]", f"MUFU.RSQ R{k + 1}, R{k}", f"MUFU.SIN R{k + 2}, R{k}",
                f"@P0 FFMA R{k + 3}, R{k}, R{k + 1}, R{k + 2}", f"FADD R40, R40, R{k + 3}"]

    by_turns = turn(4) + turn(8)
    assert loads_before_a_use(by_turns) == 1 and special_before_a_sum(by_turns) == 2
    together = [text for pair in zip(turn(4), turn(8)) for text in pair]
    assert loads_before_a_use(together) == 2 and special_before_a_sum(together) == 4
