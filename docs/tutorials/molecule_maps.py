"""
Maps of a set of molecules
==========================

A set holds any number of molecules. This tutorial imports PQR files, evaluates the potential around all of them in one
run, and draws the maps with Matplotlib.
"""

# %%
# From PQR files to a problem file
# --------------------------------
#
# ``import`` reads the charges and puts them into one set. With ``--lattice each`` each molecule has its own box. The
# box is 5 angstrom larger than the molecule on every side. The two files of ``data/`` are a cage of twenty water
# molecules, and a crystal of rock salt.

import shlex
import subprocess

import h5py
import matplotlib.pyplot as plt
import numpy as np


def sh(command):
    """Runs a command and prints what it prints."""
    print("$", command)
    print(subprocess.run(shlex.split(command), check=True, capture_output=True, text=True).stdout)


sh("smallbatch import data/water_cluster.pqr data/rock_salt.pqr --lattice each --shape 81 --margin 5 --unit kT/e"
   " -o molecules.h5 --overwrite")

# %%
# One run
# -------
#
# ``run`` evaluates both maps and checks them: the referee repeats the sums in double precision. V is infinite where a
# charge lies exactly on a lattice point. The option ``--singular skip`` leaves that charge out.

sh("smallbatch run molecules.h5 -o maps.h5 --singular skip --overwrite")

# %%
# The results
# -----------
#
# ``V`` has the axes molecule, z, y and x. ``origin`` and ``spacing`` say where the lattice of each molecule lies.

with h5py.File("maps.h5") as results, h5py.File("molecules.h5") as problems:
    maps = results["potential/molecules"]
    V, origin, spacing = maps["V"][:], maps["origin"][:], maps["spacing"][:]
    names = [name.decode() for name in maps["name"][:]]
    charges = problems["potential/molecules"]
    position, charge, offset = charges["position"][:], charges["charge"][:], charges["offset"][:]

print("V", V.shape, V.dtype, names)

# %%
# A slice of each
# ---------------
#
# The plane of a slice is the middle of the lattice. Atoms within 1 angstrom of the plane are drawn on it. The colours
# end at 100 kT/e, so that the space between the atoms shows its structure. A contour is drawn every 20 kT/e.

most = 100
figure, axes = plt.subplots(1, 2, figsize=(11, 4.8), layout="constrained")
for k, axis in enumerate(axes):
    middle = V.shape[1] // 2
    x, y, z = (origin[k, i] + spacing[k, i] * np.arange(81) for i in range(3))
    plane = V[k, middle]
    image = axis.pcolormesh(x, y, plane, cmap="RdBu", vmin=-most, vmax=most, shading="nearest")
    axis.contour(x, y, np.clip(plane, -most, most), levels=np.arange(-most, most + 1, 20), colors="black", linewidths=0.4)

    atoms = slice(offset[k], offset[k + 1])
    near = np.abs(position[atoms, 2] - z[middle]) < 1
    there, its_charge = position[atoms][near], charge[atoms][near]
    axis.scatter(there[:, 0], there[:, 1], s=25, c=np.where(its_charge > 0, "white", "black"), edgecolors="black", linewidths=0.8)
    axis.set(title=f"{names[k]}, z = {z[middle]:.2f}", xlabel="x (angstrom)", ylabel="y (angstrom)", aspect="equal")
figure.colorbar(image, ax=axes, label="V (kT/e)", extend="both")
plt.show()

# %%
# White atoms are positive and black ones negative. Blue is a positive potential, as in most pictures of proteins.
#
# A number to check
# -----------------
#
# The potential of rock salt at a sodium ion, without the ion itself, is known. It is Madelung's constant, -1.747565,
# times e over the distance of neighbours. This distance is 2.8201 angstrom. The lattice of 9 x 9 x 9 points below lies
# on the ions.

sh("smallbatch import data/rock_salt.pqr --shape 9,9,9 --spacing 2.8201 --origin -11.2804,-11.2804,-11.2804 --unit e/angstrom"
   " -o salt.h5 --overwrite")
sh("smallbatch run salt.h5 -o salt_map.h5 --singular skip --precision float64 --overwrite -q")

with h5py.File("salt_map.h5") as results:
    centre = results["potential/molecules/V"][0, 4, 4, 4]
print(f"Madelung's constant from the map: {-centre * 2.8201:.4f}")

# %%
# Next: one command draws a slice, ``smallbatch export maps.h5 --index 0 -o water.png``. Viewers of molecules show the
# maps in three dimensions (:doc:`/docs/how-to/molecular-viewers`).
