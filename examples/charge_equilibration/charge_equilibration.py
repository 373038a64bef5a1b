#!/usr/bin/env python3
"""Computes the charges of molecules from an SDF file, and writes a problem file that asks for maps of their potential.
README.md explains the method.

Usage: charge_equilibration.py MOLECULES.sdf PARAMETERS.txt PROBLEMS.h5 && smallbatch run PROBLEMS.h5 -o MAPS.h5
"""
import sys

import h5py
import numpy as np
import smallbatch
from rdkit import Chem

if len(sys.argv) != 4:
    sys.exit(__doc__)
molecules = list(Chem.SDMolSupplier(sys.argv[1], sanitize=False, removeHs=False))  # keeps the bonds of the file
lines = [line.split() for line in open(sys.argv[2]) if line.strip() and line[0] != "#"]
kappa, parameters = float(lines[0][1]), {(key, int(order)): (float(A), float(B)) for key, order, A, B in lines[1:]}

# K y = r for each molecule, padded with the identity (equilibration.hpp). y[0] is 0; charge 0 is computed last.
K, r = np.tile(np.eye(32), (len(molecules), 1, 1)), np.zeros((len(molecules), 32))
for k, molecule in enumerate(molecules):
    n, bonds = molecule.GetNumAtoms(), Chem.GetAdjacencyMatrix(molecule, useBO=True).max(axis=1)
    A, B = np.transpose([parameters[atom.GetSymbol(), max(1, b)] for atom, b in zip(molecule.GetAtoms(), bonds)])
    J = kappa / (Chem.Get3DDistanceMatrix(molecule) + np.diag(kappa / B))
    K[k, 1:n, 1:n] = J[1:, 1:] + J[0, 0] - (J[1:, :1] + J[:1, 1:])
    r[k, 1:n] = A[0] - A[1:] - Chem.GetFormalCharge(molecule) * (J[1:, 0] - J[0, 0])
charge = smallbatch.solve(K, r).raise_for_status().x
charge[:, 0] = [Chem.GetFormalCharge(molecule) for molecule in molecules] - charge.sum(axis=1)

atoms = np.array([molecule.GetNumAtoms() for molecule in molecules])
positions = [molecule.GetConformer().GetPositions() for molecule in molecules]
positions = [x - (x.min(axis=0) + x.max(axis=0)) / 2 for x in positions]
half_side = max(np.abs(x).max() for x in positions) + 4
with h5py.File(sys.argv[3], "w") as file:
    file.attrs["smallbatch_format"] = np.array([1, 4], "int32")
    maps = file.create_group("potential/molecules")
    maps.attrs["shape"] = (32, 32, 32)
    maps["origin"], maps["spacing"] = np.full(3, -half_side), np.full(3, 2 * half_side / 31)
    maps["position"], maps["charge"] = np.concatenate(positions), charge[np.arange(32) < atoms[:, None]]
    maps["position"].attrs["unit"], maps["charge"].attrs["unit"] = "angstrom", "e"
    maps["offset"] = np.cumsum([0, *atoms])
