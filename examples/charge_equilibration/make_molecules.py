#!/usr/bin/env python3
"""Writes molecules.sdf: small molecules and ions of 2 to 32 atoms, with all hydrogens, in three dimensions.

RDKit embeds each molecule from its SMILES (ETKDG with a fixed seed) and relaxes it in the force field MMFF94. Bonds are
in Kekule's form. The file was made with RDKit 2026.9.1; other versions may place the atoms elsewhere.

Usage: make_molecules.py [OUTPUT]
"""
import pathlib
import sys

from rdkit import Chem
from rdkit.Chem import AllChem

SEED = 1991
MOLECULES = {
    "hydrogen": "[H][H]", "water": "O", "ammonia": "N", "methane": "C", "ammonium": "[NH4+]", "acetylene": "C#C",
    "fluoroform": "FC(F)F", "chloroform": "ClC(Cl)Cl", "methanol": "CO", "acetonitrile": "CC#N", "acetate": "CC(=O)[O-]",
    "nitromethane": "C[N+](=O)[O-]", "methylammonium": "C[NH3+]", "acetic acid": "CC(=O)O", "urea": "NC(N)=O",
    "thiourea": "NC(N)=S", "ethanol": "CCO", "imidazole": "c1c[nH]cn1", "thiophene": "c1ccsc1", "pyrrole": "c1cc[nH]c1",
    "acetone": "CC(C)=O", "guanidinium": "NC(N)=[NH2+]", "glycine zwitterion": "[NH3+]CC(=O)[O-]",
    "dimethyl sulfoxide": "CS(C)=O", "dimethyl disulfide": "CSSC", "pyridine": "c1ccncc1", "benzene": "c1ccccc1",
    "bromobenzene": "Brc1ccccc1", "uracil": "O=c1cc[nH]c(=O)[nH]1", "phenol": "Oc1ccccc1", "cytosine": "Nc1cc[nH]c(=O)n1",
    "aniline": "Nc1ccccc1", "glycerol": "OCC(O)CO", "adenine": "Nc1ncnc2[nH]cnc12", "thymine": "Cc1c[nH]c(=O)[nH]c1=O",
    "toluene": "Cc1ccccc1", "guanine": "Nc1nc2[nH]cnc2c(=O)[nH]1", "trimethyl phosphate": "COP(=O)(OC)OC",
    "histamine": "NCCc1c[nH]cn1", "naphthalene": "c1ccc2ccccc2c1", "cyclohexane": "C1CCCCC1", "vanillin": "COc1cc(C=O)ccc1O",
    "paracetamol": "CC(=O)Nc1ccc(O)cc1", "aspirin": "CC(=O)Oc1ccccc1C(=O)O", "dopamine": "NCCc1ccc(O)c(O)c1",
    "glucose": "OC[C@H]1O[C@@H](O)[C@H](O)[C@@H](O)[C@@H]1O", "caffeine": "Cn1cnc2c1c(=O)n(C)c(=O)n2C",
    "serotonin": "NCCc1c[nH]c2ccc(O)cc12", "nicotine": "CN1CCC[C@H]1c1cccnc1",
    "camphor": "CC1(C)[C@@H]2CC[C@@]1(C)C(=O)C2", "menthol": "CC(C)[C@@H]1CC[C@@H](C)C[C@H]1O", "decane": "CCCCCCCCCC",
}


def embedded(name, smiles):
    molecule = Chem.AddHs(Chem.MolFromSmiles(smiles))
    assert AllChem.EmbedMolecule(molecule, randomSeed=SEED) == 0, name
    AllChem.MMFFOptimizeMolecule(molecule, maxIters=2000)
    molecule.SetProp("_Name", name)
    return molecule


def main():
    here = pathlib.Path(__file__).resolve().parent
    with Chem.SDWriter(sys.argv[1] if len(sys.argv) > 1 else str(here / "molecules.sdf")) as writer:
        for name, smiles in MOLECULES.items():
            writer.write(embedded(name, smiles))


if __name__ == "__main__":
    main()
