"""Builds the library that kills runs at a chosen system call, and writes problem files with every kind of set in many
small blocks."""

import os
import shutil
import subprocess
from pathlib import Path

import numpy as np

from tests.problems import add_correlation, add_pair_energy, add_potential, add_solve, open_problem_file


def build_killer(folder):
    source, library = Path(__file__).with_name("killing_calls.c"), folder / "killing_calls.so"
    compiler = os.environ.get("CC") or shutil.which("cc") or "gcc"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    return library


def write_problems(path):
    """Writes sets of every kind. With --memory 1MiB, blocks have at most 0.2 MB, and each set has about ten blocks."""
    rng = np.random.default_rng(3)
    with open_problem_file(path) as file:
        add_solve(file, "plain", batch=400, n=32)
        file["solve/plain/A"][[7, 390], 3, 3] = -1
        file["solve/plain/A"][200, 1, 2] = np.nan
        add_solve(file, "inverse", batch=60, n=24, dtype=np.float64, nrhs="inverse")
        add_potential(file, "lattices", position=rng.uniform(0, 8, (30, 3)), charge=rng.uniform(-1, 1, 30),
                      offset=[0, 5, 30], shape=(33, 31, 40), origin=np.zeros((2, 3)), spacing=np.full((2, 3), 0.25),
                      field=1)
        ragged = np.concatenate([[0], np.cumsum(rng.integers(0, 400, 60))])
        charges = add_potential(file, "charges", position=rng.uniform(0, 8, (ragged[-1], 3)),
                                charge=rng.uniform(-1, 1, ragged[-1]), offset=ragged)
        for name in ("origin", "spacing"):
            del charges[name]
        del charges.attrs["shape"]
        charges.attrs["targets"] = np.bytes_("charges")
        charges.attrs["screening_length"] = 3.0
        pairs = add_pair_energy(file, "pairs", rng.uniform(0, 9, (ragged[-1], 3)), rng.uniform(-1, 1, ragged[-1]),
                                ragged, per_charge=1)
        pairs["width"] = rng.uniform(0, 2, ragged[-1])
        signal = rng.integers(-128, 128, (4, 4000, 8, 2)).astype(np.int8)
        add_correlation(file, "channels", signal, integrate=400)
        wide = (rng.standard_normal((3, 9000, 6)) + 1j * rng.standard_normal((3, 9000, 6))).astype(np.complex64)
        wide[1, 4000, 2] = np.nan
        add_correlation(file, "pieces", wide, output="mean")
