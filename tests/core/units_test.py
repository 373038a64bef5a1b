"""Factors between units, from the constants of CODATA 2018 with sixty digits.

They must be the factors that io/FORMAT.md quotes and that the command multiplies by.
"""

import re
from decimal import Decimal, getcontext
from pathlib import Path

import h5py
import numpy as np
import pytest

from tests.problems import open_problem_file

getcontext().prec = 60
PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494")
E = Decimal("1.602176634e-19")  # C
EPS0 = Decimal("8.8541878128e-12")  # F/m
K = Decimal("1.380649e-23")  # J/K
N_A = Decimal("6.02214076e23")
BOHR = Decimal("0.529177210903")  # angstrom
CALORIE = Decimal("4.184")  # J, thermochemical
VOLT = E / (4 * PI * EPS0 * Decimal("1e-10"))
FACTORS = {"volt": VOLT, "kcal/mol/e": VOLT * E * N_A / (1000 * CALORIE), "kT/e": VOLT * E / (K * Decimal("298.15")),
           "kJ/mol/e": VOLT * E * N_A / 1000, "hartree/e": BOHR, "e/angstrom": Decimal(1)}


@pytest.mark.parametrize("unit", ["volt", "kcal/mol/e", "kJ/mol/e", "kT/e"])
def test_the_documents_quote_all_digits(unit):
    text = (Path(__file__).parents[2] / "io/FORMAT.md").read_text()
    quoted = re.search(rf"= (\d+\.\d+) {re.escape(unit)}", text).group(1)
    assert len(quoted) == 18 and quoted == str(round(FACTORS[unit], 17 - quoted.index(".")))


@pytest.mark.parametrize("unit", FACTORS)
def test_the_command_multiplies_by_them(smallbatch, tmp_path, unit):
    # A charge of 1 e at distances of 1 and 0.5 angstrom.
    with open_problem_file(tmp_path / "p.h5") as file:
        group = file.create_group("potential/a")
        group["position"], group["charge"] = np.zeros((1, 3)), np.ones(1)
        group["points"] = np.array([[0, 0, 1.0], [0.5, 0, 0]])
        group.attrs.update({"targets": "points", "output_unit": unit})
    smallbatch("run", "p.h5", "-o", "r.h5", "--precision", "double", "--device", "cpu")
    with h5py.File(tmp_path / "r.h5") as file:
        got = file["potential/a/V"][...]
    expected = np.array([float(FACTORS[unit]), float(2 * FACTORS[unit])])
    assert (np.abs(got - expected) <= np.spacing(expected)).all()
