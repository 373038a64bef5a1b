"""Many small dense systems and many sums over point charges and signals, on GPUs and CPUs.

:func:`solve`, :func:`inverse`, :func:`log_determinant` and :func:`factor` take symmetric positive definite matrices of
up to 128x128, :func:`potential`, :func:`field` and :func:`pair_energy` point charges, :func:`correlate` signals.

Arrays are those of NumPy, CuPy, PyTorch or JAX; results are arrays of the same library, where the input lies. On a GPU a
call is enqueued on the library's current stream and does not wait. A system or problem without an answer is no
exception, but has a status (``info``), which ``raise_for_status()`` makes one of.

>>> import numpy as np, smallbatch
>>> A, b = np.eye(3) + np.ones((1000, 3, 3)), np.ones((1000, 3))
>>> x = smallbatch.solve(A, b).raise_for_status().x
>>> x.shape, float(x[0, 0])
((1000, 3), 0.25)
"""

from ._charges import Lattice, PairEnergies, Potentials, field, pair_energy, potential
from ._core import device_count, version
from ._results import NumericalFailure
from ._signals import Visibilities, correlate
from ._systems import Factor, Solution, factor, inverse, log_determinant, solve

__version__ = version()
__all__ = ["Factor", "Lattice", "NumericalFailure", "PairEnergies", "Potentials", "Solution", "Visibilities", "correlate",
           "device_count", "factor", "field", "inverse", "log_determinant", "pair_energy", "potential", "solve",
           "version"]
