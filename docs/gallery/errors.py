"""
Backward errors of three condition numbers
==========================================

The backward errors of ten thousand systems each. They stay below a few units of roundoff, whatever the condition number is.
"""

import h5py
import matplotlib.pyplot as plt
import numpy as np
import shlex
import subprocess


def sh(command):
    """Runs a command and prints what it prints."""
    print("$", command)
    print(subprocess.run(shlex.split(command), check=True, capture_output=True, text=True).stdout)


figure, axis = plt.subplots(figsize=(7, 4), layout="constrained")
for condition in ("1e1", "1e3", "1e5"):
    sh(f"smallbatch generate spd --batch 10000 --condition {condition} -o problems.h5 --overwrite")
    sh("smallbatch run problems.h5 -o results.h5 --overwrite -q")
    with h5py.File("results.h5") as results:
        error = results["solve/systems/backward_error"][:] / 2.0**-24
    axis.hist(error, bins=np.linspace(0, 1.2, 80), alpha=0.6, label=f"condition number {condition}")
axis.set(xlabel="backward error (u)", ylabel="systems")
axis.legend()
plt.show()
