"""Checks that examples/charge_equilibration gives the same results on a GPU and on the CPU.

charge_equilibration_test.py checks the results of the CPU.
"""

import csv
import os
import subprocess
from pathlib import Path

import h5py
import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "charge_equilibration"
PROGRAM = Path(os.environ.get("SMALLBATCH_BIN", ROOT / "build" / "bin" / "smallbatch")).resolve().parent / "charge_equilibration"
TOO_CLOSE = """too close


  2  1  0  0  0  0  0  0  0  0999 V2000
    0.0000    0.0000    0.0000 C   0  0
    0.5000    0.0000    0.0000 H   0  0
  1  2  1  0
M  END
$$$$
"""


def test_the_gpu_gives_what_the_cpu_gives(tmp_path):
    (tmp_path / "molecules.sdf").write_text(TOO_CLOSE + (EXAMPLE / "molecules.sdf").read_text())
    charges, maps = {}, {}
    for device, copies in (("cuda", 100), ("cpu", 1)):
        done = subprocess.run([PROGRAM, "molecules.sdf", EXAMPLE / "eem_parameters.txt", "-o", f"{device}.h5", "--charges",
                               f"{device}.csv", "--device", device, "--copies", str(copies)],
                              cwd=tmp_path, capture_output=True, text=True, timeout=300)
        if "there is no GPU" in done.stderr:
            pytest.skip(done.stderr.strip())
        assert done.returncode == 1, done.stderr
        assert "molecule 0 (too close) has no charges: pivot 2 is not positive" in done.stderr
        assert f"{copies} of {53 * copies} molecules have no charges" in done.stderr
        charges[device] = [float(row["charge"]) for row in csv.DictReader((tmp_path / f"{device}.csv").open())]
        with h5py.File(tmp_path / f"{device}.h5") as file:
            maps[device] = {name: file["potential/molecules"][name][:] for name in ("V", "info", "V_min", "V_max")}
    np.testing.assert_allclose(charges["cuda"], charges["cpu"], rtol=0, atol=1e-13)
    assert np.isnan(charges["cuda"]).sum() == 2
    assert (maps["cuda"]["info"] == maps["cpu"]["info"]).all() and maps["cpu"]["info"][0] == -1
    for name in ("V", "V_min", "V_max"):
        assert not np.isnan(maps["cpu"][name][1:]).any()
        np.testing.assert_allclose(maps["cuda"][name], maps["cpu"][name], rtol=1e-4, atol=1e-5)
