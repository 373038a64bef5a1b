"""A file of thousands of sets. The memory of each command grows by only a few kilobytes per set. No set is passed
between threads, and no set needs a request to another process."""

import os

import h5py
import numpy as np
from h5py import h5d, h5g, h5s, h5t

from tests.children import measured
from tests.problems import open_problem_file

SETS = 6000
MOST_BYTES = 100 << 20
MOST_BYTES_OF_RESULTS = 7000  # per set; it would be 7900 if every group had a heap and a B-tree


def test_memory_is_that_of_the_command_alone(smallbatch):
    ballast = b"x" * MOST_BYTES  # makes this process larger than the limit
    assert measured(smallbatch.program, "--version").bytes < MOST_BYTES <= len(ballast)


def test_thousands_of_sets_take_little_memory_and_few_turns(smallbatch, tmp_path):
    a, b = np.full((1, 2, 2), [[2, 0], [0, 2]], np.float32), np.ones((1, 2), np.float32)
    with open_problem_file(tmp_path / "p.h5") as file:
        solve = file.create_group("solve").id
        for k in range(SETS):
            group = h5g.create(solve, b"set_%05d" % k)
            for name, values in ((b"A", a), (b"b", b)):
                h5d.create(group, name, h5t.IEEE_F32LE, h5s.create_simple(values.shape)).write(h5s.ALL, h5s.ALL, values)
    environment = dict(os.environ, OMP_NUM_THREADS="1")

    def of(*words):
        return measured(smallbatch.program, *words, env=environment)

    problems, results = tmp_path / "p.h5", tmp_path / "r.h5"
    for words in (["info", problems], ["run", problems, "-o", results, "--device", "cpu", "--threads", 1], ["info", results],
                  ["info", "--check", results], ["verify", problems, results, "--threads", 1]):
        found = of(*words)
        assert found.bytes < MOST_BYTES, (words[:2], found.bytes >> 20)
        # If sets were passed between threads, `run` would wait 8 times per set, and `verify` 21 times.
        assert found.waits < 4 * SETS, (words[:2], found.waits)
    assert results.stat().st_size < MOST_BYTES_OF_RESULTS * SETS

    with h5py.File(results) as file:
        assert np.allclose(file[f"solve/set_{SETS - 1:05d}/x"], 0.5)
