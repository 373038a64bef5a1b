"""A file of thousands of sets: what each command takes grows with them by kilobytes, not by tens of them, and nothing
is handed from thread to thread, or asked of another process, for each of them."""

import subprocess
import sys

import h5py
import numpy as np
from h5py import h5d, h5g, h5s, h5t

from tests.io.siege import Command
from tests.problems import open_problem_file

SETS = 6000
MOST_BYTES = 160 << 20  # the command itself, and the test that starts it
MOST_BYTES_OF_RESULTS = 6500  # of each set, in the file: 7900 where a group has a heap and a tree for its members

# In a small process of its own: what starts a command is part of the largest that the command was.
PEAK = """import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"""


def test_thousands_of_sets_take_little_memory_and_few_turns(smallbatch, tmp_path):
    a, b = np.full((1, 2, 2), [[2, 0], [0, 2]], np.float32), np.ones((1, 2), np.float32)
    with open_problem_file(tmp_path / "p.h5") as file:
        solve = file.create_group("solve").id
        for k in range(SETS):
            group = h5g.create(solve, b"set_%05d" % k)
            for name, values in ((b"A", a), (b"b", b)):
                h5d.create(group, name, h5t.IEEE_F32LE, h5s.create_simple(values.shape)).write(h5s.ALL, h5s.ALL, values)
    command = Command(smallbatch.program, tmp_path)
    problems, results = tmp_path / "p.h5", tmp_path / "r.h5"
    for words in (["info", problems], ["run", problems, "-o", results, "--device", "cpu", "--threads", 1], ["info", results],
                  ["info", "--check", results], ["verify", problems, results, "--threads", 1], ["report", results, "-o", tmp_path / "r.html"]):
        status, _, size, out, err = command(*words)
        assert status == 0, err
        assert size < MOST_BYTES, (words[:2], size >> 20)
        assert command.waits < 4 * SETS, (words[:2], command.waits)  # each set took 8 of run, 21 of verify
    assert results.stat().st_size < MOST_BYTES_OF_RESULTS * SETS

    def peak(*words):
        return int(subprocess.run([sys.executable, "-c", PEAK, smallbatch.program, *words], check=True, capture_output=True).stdout)

    # What a report keeps of sets that it does not show are sums: of each 3 kB were kept.
    assert peak("report", results, "-o", tmp_path / "again.html") < 1.1 * peak("info", results)
    with h5py.File(results) as file:
        assert np.allclose(file[f"solve/set_{SETS - 1:05d}/x"], 0.5)
