"""
From electronegativities to charges to maps
===========================================

Molecular potentials need atomic charges. Electronegativity equalization (EEM) computes them from a few parameters per
element: one small system for each molecule. This tutorial solves the systems of 52 molecules with ``smallbatch.solve``.
Then it draws maps of their potentials.
"""

# %%
# The equations
# -------------
#
# The charges q of a molecule minimise the energy
#
# ``E(q) = sum_i (A_i q_i + B_i q_i^2 / 2) + sum_{i<j} kappa q_i q_j / R_ij``
#
# under the condition that they add up to the molecule's charge Q. A is the electronegativity of an atom and B its
# hardness. R_ij are distances in angstrom, and charges are in units of e. A, B and kappa were fitted to natural
# population analyses of 17,769 molecules. The fit leaves their unit open. The charges do not depend on this unit.
# The method is that of W. J. Mortier, S. K. Ghosh and S. Shankar, J. Am. Chem. Soc. 108, 4315 (1986).
#
# Molecules and parameters are those of :doc:`/examples/charge_equilibration/README`. An SDF file has a line for each
# atom and each bond. The parameters of an atom depend on its element and on the highest order of its bonds.

import shlex
import subprocess
from pathlib import Path

import h5py
import matplotlib.pyplot as plt
import numpy as np
import smallbatch
import smallbatch.plot

folder = Path("examples/charge_equilibration")
lines = [line.split() for line in (folder / "eem_parameters.txt").read_text().splitlines() if line[0] != "#"]
kappa = float(lines[0][1])
parameters = {(symbol, int(order)): (float(A), float(B)) for symbol, order, A, B in lines[1:]}


def read(record):
    """Name, elements, positions, A, B and total charge of a molecule."""
    lines = record.splitlines()
    atoms, bonds = int(lines[3][:3]), int(lines[3][3:6])
    position = np.array([line.split()[:3] for line in lines[4 : 4 + atoms]], float)
    symbol = [line.split()[3] for line in lines[4 : 4 + atoms]]
    highest = np.ones(atoms, int)
    for line in lines[4 + atoms : 4 + atoms + bonds]:
        ends = [int(line[0:3]) - 1, int(line[3:6]) - 1]
        highest[ends] = np.maximum(highest[ends], int(line[6:9]))
    total = sum(int(word) for line in lines if line.startswith("M  CHG") for word in line.split()[4::2])
    A, B = np.transpose([parameters[key] for key in zip(symbol, highest)])
    return lines[0], symbol, position, A, B, total


molecules = [read(record) for record in (folder / "molecules.sdf").read_text().split("$$$$\n")[:-1]]
names = [molecule[0] for molecule in molecules]
print(len(molecules), "molecules, for example", ", ".join(names[-5:]))

# %%
# The systems
# -----------
#
# The condition can be put into the equations: ``q_0 = Q - q_1 - q_2 - ...``. Then E depends on q_1, q_2, ... alone. Its
# minimum is the solution of ``K y = r``, where K is symmetric and positive definite. With ``J_ii = B_i`` and ``J_ij =
# kappa / R_ij``, the elements are
#
# ``K_ij = J_ij + J_00 - J_i0 - J_0j``, ``r_i = A_0 - A_i - Q (J_i0 - J_00)``.
#
# Molecules differ in size. ``sizes`` says how many rows of each system count, so all of them are one batch.

atoms = np.array([len(symbol) for _, symbol, *_ in molecules])
most = atoms.max() - 1
K, r = np.zeros((len(molecules), most, most)), np.zeros((len(molecules), most))
couplings = []
for k, (name, symbol, position, A, B, total) in enumerate(molecules):
    R = np.linalg.norm(position[:, None] - position, axis=-1)
    J = kappa / (R + np.diag(kappa / B))  # kappa / R_ij, and B_i where R is 0
    K[k, : len(A) - 1, : len(A) - 1] = J[1:, 1:] + J[0, 0] - J[1:, :1] - J[:1, 1:]
    r[k, : len(A) - 1] = A[0] - A[1:] - total * (J[1:, 0] - J[0, 0])
    couplings.append(J)

result = smallbatch.solve(K, r, sizes=atoms - 1, numbers=["backward_error", "rcond"])
print(result.describe())
print(f"backward error up to {result.backward_error.max():.1e}, rcond from {result.rcond.min():.1e}")

y = result.raise_for_status().x
charges = []
for q, n, (*_, total) in zip(y, atoms, molecules):
    charges.append(np.append(total - q.sum(), q[: n - 1]))  # q is 0 beyond the atoms of the molecule
for name in ("water", "ammonium", "acetate", "glycine zwitterion"):
    k = names.index(name)
    listed = ", ".join(f"{s} {q:+.3f}" for s, q in zip(molecules[k][1], charges[k]) if s != "H")
    print(f"{name}: {listed}; sum {charges[k].sum():z.12f}")

# %%
# All charges
# -----------
#
# One dot is one atom. Hydrogen gives electrons away. Oxygen takes them, and nitrogen does so unless oxygen is bound to
# it. The charge of carbon depends on its neighbours.

symbols = np.concatenate([symbol for _, symbol, *_ in molecules])
charge = np.concatenate(charges)
kinds = ["H", "C", "N", "O", "F", "P", "S", "Cl", "Br"]
figure, axis = plt.subplots(figsize=(8, 3.4), layout="constrained")
rng = np.random.default_rng(0)
for x, kind in enumerate(kinds):
    values = charge[symbols == kind]
    axis.scatter(x + rng.uniform(-0.28, 0.28, len(values)), values, s=9, alpha=0.6, linewidths=0)
axis.axhline(0, color="black", linewidth=0.6)
axis.set_xticks(range(len(kinds)), [f"{kind}\n{(symbols == kind).sum()}" for kind in kinds])
axis.set(ylabel="charge (e)", xlabel="element, number of atoms")
plt.show()

# %%
# Numbers to check
# ----------------
#
# In the minimum every atom has the same electronegativity, ``mu = A_i + B_i q_i + kappa V_i``. V_i is the potential of
# all other charges, in e/angstrom. ``smallbatch.potential`` evaluates V at the charges if no targets are given. So it
# can judge the solutions: mu must not differ within a molecule.

position = np.concatenate([molecule[2] for molecule in molecules])
offset = np.append(0, np.cumsum(atoms))
V = smallbatch.potential(position, charge, offsets=offset, unit="e/angstrom", precision="float64").potential
A, B = (np.concatenate([molecule[k] for molecule in molecules]) for k in (3, 4))
mu = A + B * charge + kappa * V
spread = [np.ptp(mu[begin:end]) for begin, end in zip(offset, offset[1:])]
print(f"mu from {mu.min():.4f} to {mu.max():.4f}; within a molecule it differs by {np.max(spread):.1e} at most")

# %%
# The textbook's form of the problem keeps the condition as a row of its own, with mu as another unknown. Its matrix is
# not positive definite. NumPy solves it, one molecule after the other, and finds the same charges.

difference = 0
for q, J, (*_, A_of, _, total) in zip(charges, couplings, molecules):
    bordered = np.block([[J, -np.ones((len(q), 1))], [np.ones((1, len(q))), np.zeros((1, 1))]])
    difference = np.maximum(difference, np.abs(np.linalg.solve(bordered, np.append(-A_of, total))[:-1] - q).max())
print(f"largest difference from the bordered systems: {difference:.1e} e")

# %%
# The C++ program in ``examples/charge_equilibration`` is a third way. It gives the oxygen atom of water the charge
# -0.804252960263755.

print(f"the oxygen atom of water: {charges[names.index('water')][0]:.15f}")

# %%
# Maps in the planes of molecules
# -------------------------------
#
# Each molecule is turned so that its longest axis is x and its shortest one z. A lattice with one point along z is a
# plane. ``smallbatch.potential`` evaluates the planes of all 52 molecules in one call. We draw twelve of them, with
# colours from -3 to 3 volt.

turned = []
for molecule in molecules:
    centred = molecule[2] - molecule[2].mean(axis=0)
    axes = np.linalg.svd(centred)[2]
    turned.append(centred @ axes.T)
position = np.concatenate(turned)

edge, points = 6.5, 105
plane = smallbatch.Lattice((-edge, -edge, 0), spacing=2 * edge / (points - 1), shape=(points, points, 1))
V = smallbatch.potential(position, charge, offsets=offset, lattice=plane, singular="skip").potential
print("V", V.shape, V.dtype)

chosen = ["water", "acetonitrile", "acetate", "urea", "nitromethane", "guanidinium", "imidazole", "pyridine", "benzene",
          "uracil", "adenine", "guanine"]
figure, axes = plt.subplots(3, 4, figsize=(10, 7.6), layout="constrained", sharex=True, sharey=True)
for axis, name in zip(axes.flat, chosen):
    k = names.index(name)
    box = {"origin": "lower", "extent": (-edge, edge, -edge, edge)}
    image = axis.imshow(V[k, 0], cmap="RdBu", vmin=-3, vmax=3, **box)
    axis.contour(np.clip(V[k, 0], -4, 4), levels=[-2, -1, 1, 2], colors="black", linewidths=0.4, **box)
    x, y, z = turned[k].T
    near = np.abs(z) < 0.7
    axis.scatter(x[near], y[near], s=9, color="black", linewidths=0)
    axis.set_title(name, fontsize=10)
figure.colorbar(image, ax=axes, label="V (volt)", extend="both", shrink=0.6)
figure.supxlabel("x (angstrom)")
figure.supylabel("y (angstrom)")
plt.show()

# %%
# Dots are atoms in the plane. Acetate and guanidinium are ions: their total charge decides the whole picture. Uracil,
# adenine and guanine are bases of nucleic acids. Their hydrogen bonds join a blue place of one base and a red place of
# another.

# %%
# Surfaces
# --------
#
# A surface needs a map in three dimensions. For many molecules or fine lattices a file is the right place, so we write
# a problem file and run it. Each molecule gets its own box, at least 5 angstrom larger than the molecule on every side.
# The nitrogen atom of ammonium lies on a lattice point, where V is infinite. The option ``--singular skip`` leaves its
# contribution out there.

atomic_number = {"H": 1, "C": 6, "N": 7, "O": 8, "F": 9, "P": 15, "S": 16, "Cl": 17, "Br": 35}
half = np.array([np.abs(x).max(axis=0) for x in turned]) + 5  # of each box, (molecule, 3)
shape = np.array([45, 37, 33])
with h5py.File("molecules.h5", "w") as file:
    file.attrs["smallbatch_format"] = np.array([1, 9], "int32")
    maps = file.create_group("potential/molecules")
    maps.attrs["shape"], maps.attrs["output_unit"] = shape, "volt"
    maps["origin"], maps["spacing"] = -half, 2 * half / (shape - 1)
    maps["position"], maps["charge"], maps["offset"] = position, charge, offset
    maps["position"].attrs["unit"], maps["charge"].attrs["unit"] = "angstrom", "e"
    maps["atomic_number"] = np.array([atomic_number[symbol] for symbol in symbols], "int32")
    maps["name"] = np.array(names, "S")


def sh(command):
    """Runs a command and prints what it prints."""
    print("$", command)
    print(subprocess.run(shlex.split(command), check=True, capture_output=True, text=True).stdout)


sh("smallbatch run molecules.h5 -o maps.h5 --singular skip --overwrite")

# %%
# ``smallbatch.plot`` finds a molecule by its name, and takes the atoms from the problem file.


def show(figure):
    """Hands a figure of smallbatch.plot to pyplot."""
    figure.canvas.draw()
    plt.figure(figsize=figure.get_size_inches(), dpi=figure.dpi).figimage(figure.canvas.buffer_rgba())
    plt.show()


show(smallbatch.plot.surface_map("maps.h5", problem="caffeine", problems="molecules.h5", value_range="1.5 volt"))

# %%
# Red parts attract positive charges. They lie at the oxygen atoms, and at the nitrogen atom without a third neighbour.
# The methyl groups are blue. The next picture is a slice through the rings, in the unit kT/e.

show(smallbatch.plot.slice_map("maps.h5", problem="caffeine", problems="molecules.h5", place=0, value_range="60 kT/e"))

# %%
# The page :doc:`/docs/how-to/molecular-viewers` shows the maps in VMD, PyMOL and ChimeraX. A C++ program with the same
# steps is in :doc:`/examples/charge_equilibration/README`. It keeps everything in the memory of a GPU.
