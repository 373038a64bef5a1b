"""Charges of a thousand molecules, fitted to the potential around them.

The potential of a molecule at points p is linear in the charges of its atoms: V = J q with J_pi = 1/r_pi. The charges
that fit V best solve the normal equations J^T J q = J^T V: one small symmetric positive definite system per molecule.
(U. C. Singh and P. A. Kollman, J. Comput. Chem. 5, 129 (1984).) Here the potential comes from known charges, and the
fit must give these charges back.
"""

import numpy as np
import smallbatch

molecules, atoms, points = 1000, 12, 240
rng = np.random.default_rng(1)
sites = 1.5 * np.stack(np.meshgrid(range(3), range(2), range(2)), axis=-1).reshape(atoms, 3)  # angstrom
positions = sites + rng.uniform(-0.2, 0.2, (molecules, atoms, 3))
charges = rng.normal(0, 0.4, (molecules, atoms))  # e
directions = rng.normal(size=(molecules, points, 3))
around = positions[:, np.arange(points) % atoms] + 2.5 * directions / np.linalg.norm(directions, axis=-1, keepdims=True)

V = smallbatch.potential(positions, charges, points=around, unit="e/angstrom", precision="float64").raise_for_status()

J = 1 / np.linalg.norm(around[:, :, None] - positions[:, None], axis=-1)
Jt = J.swapaxes(-1, -2)
fit = smallbatch.solve(Jt @ J, (Jt @ V.potential[..., None])[..., 0], numbers=["backward_error", "rcond"])

print(fit.describe())
print(f"largest backward error {fit.backward_error.max():.1e}, smallest rcond {fit.rcond.min():.1e}")
error = np.abs(fit.raise_for_status().x - charges).max()
print(f"largest error of a charge {error:.1e} e")
raise SystemExit(0 if error < 1e-6 else 1)
