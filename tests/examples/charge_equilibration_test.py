"""Checks examples/charge_equilibration. Charges are compared with those of RDKit, with the bordered system of
equilibration.hpp, and with a closed form for two atoms. Maps are compared with sums of q / r."""

import csv
import os
import subprocess
from pathlib import Path

import h5py
import numpy as np
import pytest
from rdkit import Chem
from rdkit.Chem import rdMolDescriptors
from vtkmodules.util.numpy_support import vtk_to_numpy
from vtkmodules.vtkIOHDF import vtkHDFReader

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "charge_equilibration"
PROGRAM = Path(os.environ.get("SMALLBATCH_BIN", ROOT / "build" / "bin" / "smallbatch")).resolve().parent / "charge_equilibration"
MOLECULES = EXAMPLE / "molecules.sdf"
PARAMETERS = EXAMPLE / "eem_parameters.txt"
VOLT = 14.399645478425672  # one e/angstrom in volt, CODATA 2018


def parameters():
    rows = [line.split("#")[0].split() for line in PARAMETERS.read_text().splitlines()]
    kappa = next(float(row[1]) for row in rows if row and row[0] == "kappa")
    return kappa, {(row[0], int(row[1])): (float(row[2]), float(row[3])) for row in rows if len(row) == 4}


KAPPA, SITES = parameters()


class Outcome:
    def __init__(self, done, folder):
        self.code, self.out, self.err = done.returncode, done.stdout, done.stderr
        self.maps = folder / "maps.h5"
        self.charges = []
        if (folder / "charges.csv").exists():
            for row in csv.DictReader((folder / "charges.csv").open()):
                if int(row["molecule"]) == len(self.charges):
                    self.charges.append([])
                self.charges[-1].append(float(row["charge"]))


@pytest.fixture
def equilibrate(tmp_path):
    def call(molecules, *options):
        if not isinstance(molecules, Path):
            (tmp_path / "given.sdf").write_text(molecules)
            molecules = tmp_path / "given.sdf"
        done = subprocess.run([PROGRAM, molecules, PARAMETERS, "-o", tmp_path / "maps.h5", "--charges",
                               tmp_path / "charges.csv", "--device", "cpu", *map(str, options)],
                              capture_output=True, text=True, timeout=300)
        return Outcome(done, tmp_path)

    return call


def record(name, atoms, bonds, charges=(), codes=None):
    """Returns a V2000 record.

    An atom is (element, x, y, z). A bond is (first, second, order). A charge is (atom, charge) for the line M  CHG.
    """
    lines = [name, "", "", f"{len(atoms):3d}{len(bonds):3d}  0  0  0  0  0  0  0  0999 V2000"]
    for k, (element, x, y, z) in enumerate(atoms):
        lines.append(f"{x:10.4f}{y:10.4f}{z:10.4f} {element:<3s} 0{codes[k] if codes else 0:3d}" + "  0" * 10)
    lines += [f"{a:3d}{b:3d}{order:3d}  0" for a, b, order in bonds]
    if charges:
        lines.append(f"M  CHG{len(charges):3d}" + "".join(f"{atom:4d}{charge:4d}" for atom, charge in charges))
    return "\n".join([*lines, "M  END", "$$$$", ""])


def pair(distance, elements=("C", "H"), **options):
    return record("pair", [(elements[0], 0, 0, 0), (elements[1], distance, 0, 0)], [(1, 2, 1)], **options)


def molecules_of_file():
    return list(Chem.SDMolSupplier(str(MOLECULES), removeHs=False))


def bordered_solution(molecule):
    """Returns q of the bordered system J q + A = mu, sum q = Q, which has q and mu as unknowns."""
    orders = [max([int(bond.GetBondTypeAsDouble()) for bond in atom.GetBonds()], default=1)
              for atom in molecule.GetAtoms()]
    site = [SITES[atom.GetSymbol(), order] for atom, order in zip(molecule.GetAtoms(), orders)]
    position = molecule.GetConformer().GetPositions()
    n = len(site)
    matrix = np.zeros((n + 1, n + 1))
    for i in range(n):
        for j in range(n):
            matrix[i, j] = site[i][1] if i == j else KAPPA / np.linalg.norm(position[i] - position[j])
    matrix[:n, n] = matrix[n, :n] = 1
    rhs = np.array([-a for a, _ in site] + [Chem.GetFormalCharge(molecule)])
    return np.linalg.solve(matrix, rhs)[:n]


def test_charges_are_those_of_rdkit(equilibrate):
    charges = equilibrate(MOLECULES).charges
    molecules = molecules_of_file()
    assert len(charges) == len(molecules) > 50
    assert max(map(len, charges)) == 32
    for molecule, charge in zip(molecules, charges):
        for atom in molecule.GetAtoms():  # RDKit's charges sum to -Q, so it gets -Q
            atom.SetFormalCharge(-atom.GetFormalCharge())
        np.testing.assert_allclose(charge, rdMolDescriptors.CalcEEMcharges(molecule), rtol=0, atol=1e-13,
                                   err_msg=molecule.GetProp("_Name"))


def test_charges_solve_the_bordered_system_and_sum_to_the_molecules(equilibrate):
    charges = equilibrate(MOLECULES).charges
    totals = set()
    for molecule, charge in zip(molecules_of_file(), charges):
        Chem.Kekulize(molecule, clearAromaticFlags=True)
        np.testing.assert_allclose(charge, bordered_solution(molecule), rtol=0, atol=1e-13)
        total = Chem.GetFormalCharge(molecule)
        assert abs(np.sum(np.array(charge, np.longdouble)) - total) <= len(charge) * 2**-53 * np.sum(np.abs(charge))
        totals.add(total)
    assert totals == {-1, 0, 1}


def test_the_order_of_the_atoms_does_not_matter(equilibrate):
    caffeine = next(molecule for molecule in molecules_of_file() if molecule.GetProp("_Name") == "caffeine")
    order = list(range(caffeine.GetNumAtoms()))[::-1]
    blocks = [Chem.MolToMolBlock(molecule) + "$$$$\n" for molecule in (caffeine, Chem.RenumberAtoms(caffeine, order))]
    forwards, backwards = equilibrate("".join(blocks)).charges
    np.testing.assert_allclose(forwards, backwards[::-1], rtol=0, atol=1e-14, equal_nan=False)


@pytest.mark.parametrize("total", [0, 1, -2])
def test_two_atoms_in_closed_form(equilibrate, total):
    # E(q) = A_0 (Q - q) + A_1 q + B_0 (Q - q)^2 / 2 + B_1 q^2 / 2 + kappa q (Q - q) / R, and dE/dq = 0.
    (a0, b0), (a1, b1), distance = SITES["C", 1], SITES["H", 1], 1.1
    expected = (a0 - a1 + total * (b0 - KAPPA / distance)) / (b0 + b1 - 2 * KAPPA / distance)
    (charge,) = equilibrate(pair(distance, charges=[(1, total)])).charges
    assert charge == pytest.approx([total - expected, expected], abs=1e-15)


def test_two_atoms_that_are_too_close_have_no_equilibrium(equilibrate):
    # B_0 + B_1 - 2 kappa / R changes its sign at 0.56806 angstrom.
    result = equilibrate(pair(0.5680) + pair(0.5681) + MOLECULES.read_text())
    assert result.code == 1
    assert "molecule 0 (pair) has no charges: pivot 2 is not positive" in result.err
    assert result.err.count("has no charges") == 1
    assert np.isnan(result.charges[0]).all() and np.isfinite(result.charges[1]).all()
    with h5py.File(result.maps) as file:
        assert np.isnan(file["potential/molecules/V"][0]).all()
        assert file["potential/molecules/info"][0] == -1
        assert not file["potential/molecules/info"][1:].any()
    assert result.charges[2:] == equilibrate(MOLECULES).charges


def test_an_element_without_parameters_fails_its_molecule_alone(equilibrate):
    result = equilibrate(pair(2.1, ("C", "I")) + pair(1.1))
    assert result.code == 1
    assert "molecule 0 (pair): no parameters for atom 2, I with bonds of order 1" in result.err
    assert np.isnan(result.charges[0]).all()
    assert result.charges[1:] == equilibrate(pair(1.1)).charges


def test_one_atom_has_the_charge_of_its_molecule(equilibrate):
    assert equilibrate(record("chloride", [("Cl", 1, 2, 3)], [], charges=[(1, -1)])).charges == [[-1]]


def test_charges_in_the_lines_of_atoms(equilibrate):
    # Codes 1, 2, 3 are +3, +2, +1, and codes 5, 6, 7 are -1, -2, -3. A line M  CHG replaces them.
    for code, total in {0: 0, 1: 3, 2: 2, 3: 1, 4: 0, 5: -1, 6: -2, 7: -3}.items():
        (of_code,) = equilibrate(pair(1.1, codes=[code, 0])).charges
        assert [of_code] == equilibrate(pair(1.1, charges=[(2, total)])).charges
        assert [of_code] == equilibrate(pair(1.1, codes=[7, 7], charges=[(2, total)])).charges


def test_maps_are_the_sums_of_their_charges(equilibrate):
    result = equilibrate(MOLECULES, "--points", 12, "--margin", 3)
    reader = vtkHDFReader()
    reader.SetFileName(str(result.maps))
    with h5py.File(result.maps) as file:
        group = file["potential/molecules"]
        origin, spacing = group["origin"][0], group["spacing"][0]
        axes = [origin[k] + spacing[k] * np.arange(12) for k in range(3)]
        z, y, x = np.meshgrid(axes[2], axes[1], axes[0], indexing="ij")
        points = np.stack([x, y, z], axis=-1)
        largest_distance = np.linalg.norm(11 * spacing)  # of a lattice point from the origin of the lattice
        for step, (molecule, charge) in enumerate(zip(molecules_of_file(), result.charges)):
            position = molecule.GetConformer().GetPositions()
            position -= (position.min(axis=0) + position.max(axis=0)) / 2
            distance = np.linalg.norm(points[..., None, :] - position, axis=-1)
            terms = VOLT * np.array(charge) / distance
            v = group["V"][step]
            bound = np.abs(terms) * (2**-22 + 2**-23 * largest_distance / distance)  # stated in physics/potential.hpp
            assert (np.abs(v - terms.sum(axis=-1)) <= bound.sum(axis=-1)).all()
            assert group["V_min"][step] == v.min() and group["V_max"][step] == v.max()
            reader.SetStep(step)
            reader.Update()
            assert (vtk_to_numpy(reader.GetOutput().GetPointData().GetArray("V")) == v.ravel()).all()
        assert reader.GetNumberOfSteps() == len(group["V"]) == len(result.charges)
        outermost = max(np.abs(axes[k]).max() for k in range(3))
        extent = max((m.GetConformer().GetPositions().max(axis=0) - m.GetConformer().GetPositions().min(axis=0)).max()
                     for m in molecules_of_file())
        assert outermost == pytest.approx(extent / 2 + 3)


def test_many_molecules_have_their_own_maps(equilibrate):
    # There are more molecules than one block holds. Each molecule has two atoms, and all distances differ.
    distances = [round(1 + 0.0005 * k, 4) for k in range(2100)]
    result = equilibrate("".join(map(pair, distances)), "--points", 2)
    with h5py.File(result.maps) as file:
        group = file["potential/molecules"]
        origin, spacing, v = group["origin"][0], group["spacing"][0], group["V"][:]
    corners = np.stack(np.meshgrid([0, 1], [0, 1], [0, 1], indexing="ij"), axis=-1)[..., ::-1] * spacing + origin
    for k, (distance, charge) in enumerate(zip(distances, result.charges)):
        position = np.array([[-distance / 2, 0, 0], [distance / 2, 0, 0]])
        terms = VOLT * np.array(charge) / np.linalg.norm(corners[..., None, :] - position, axis=-1)
        np.testing.assert_allclose(v[k], terms.sum(axis=-1), rtol=0, atol=1e-6 * np.abs(terms).max(), equal_nan=False)


def test_copies_leave_the_molecules_of_the_file_as_they_are(equilibrate):
    alone, among_copies = equilibrate(MOLECULES, "--points", 4), equilibrate(MOLECULES, "--points", 4, "--copies", 50)
    assert among_copies.code == 0
    assert among_copies.charges == alone.charges
    assert f"molecules  {50 * len(alone.charges)}, {len(alone.charges)} of them from the file" in among_copies.out
    with h5py.File(among_copies.maps) as file:
        assert len(file["potential/molecules/V"]) == len(alone.charges)


@pytest.mark.parametrize("text,expected", [
    (record("large", [("H", k, 0, 0) for k in range(33)], []), r"molecule 0 (large) has 33 atoms, but at most 32"),
    (record("ring", [("C", 0, 0, 0), ("C", 1.4, 0, 0)], [(1, 2, 4)]), "line 7: the bond's order is 4"),
    (record("bond", [("C", 0, 0, 0)], [(1, 2, 1)]), "line 6: there is no atom 2"),
    (record("new", [("C", 0, 0, 0)], []).replace("V2000", "V3000"), "line 4: expected a line of counts"),
    (record("number", [("C", 0, 0, 0)], []).replace("    0.0000", "    0.0x00", 1), "line 5: expected a coordinate"),
    ("\n".join(record("short", [("C", 0, 0, 0)], []).splitlines()[:5]), "line 6: the file ends where M  END should be"),
    ("\n\n", "there is no molecule"),
])
def test_files_that_cannot_be_used_are_named_with_their_line(equilibrate, text, expected):
    result = equilibrate(text)
    assert result.code == 2
    assert expected in result.err
    assert not result.maps.exists()
