"""Many small dense systems and many sums over point charges and signals, on GPUs and CPUs.

Matrices: :func:`solve`, :func:`inverse`, :func:`log_determinant` and :func:`factor` take symmetric positive definite
matrices of up to 128x128. Point charges: :func:`potential`, :func:`field` and :func:`pair_energy`. Signals:
:func:`correlate`.

Arrays are those of NumPy, CuPy, PyTorch or JAX. Results are arrays of the same library, in the memory of the input. On
a GPU a call is enqueued on the library's current stream and does not wait. A system or problem without an answer raises
no exception. It has a status (``info``), and ``raise_for_status()`` turns statuses into an exception.

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
