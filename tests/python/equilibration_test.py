"""examples/charge_equilibration in Python agrees with the C++ program of this example. tests/examples compares the C++
program with RDKit."""

import csv
import os
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "charge_equilibration"
INPUTS = [EXAMPLE / "molecules.sdf", EXAMPLE / "eem_parameters.txt"]


def test_charges_and_maps_are_those_of_the_program(smallbatch, tmp_path):
    path = os.pathsep.join(filter(None, [os.environ.get("SMALLBATCH_PACKAGE"), os.environ.get("PYTHONPATH")]))
    subprocess.run([sys.executable, EXAMPLE / "charge_equilibration.py", *INPUTS, "problems.h5"], check=True, cwd=tmp_path,
                   env={**os.environ, "PYTHONPATH": path})
    smallbatch("run", "problems.h5", "-o", "maps.h5", "--device", "cpu")
    subprocess.run([smallbatch.program.parent / "charge_equilibration", *INPUTS, "-o", "expected.h5", "--charges", "charges.csv",
                    "--device", "cpu"], check=True, cwd=tmp_path)
    charges = [float(row["charge"]) for row in csv.DictReader((tmp_path / "charges.csv").open())]
    with (h5py.File(tmp_path / "problems.h5") as problems, h5py.File(tmp_path / "maps.h5") as maps,
          h5py.File(tmp_path / "expected.h5") as expected):
        np.testing.assert_allclose(problems["potential/molecules/charge"], charges, rtol=0, atol=1e-14, equal_nan=False)
        for file in (maps, expected):
            assert file["VTKHDF/PointData/V"].shape == (52, 32, 32, 32)
        np.testing.assert_allclose(maps["VTKHDF/PointData/V"], expected["VTKHDF/PointData/V"], rtol=1e-5, atol=1e-5,
                                   equal_nan=False)
