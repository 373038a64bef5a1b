"""
Fringes of two sources
======================

The magnitudes of the visibilities of 32 inputs, over baselines and channels. Two sources make the fringes.
"""

import shlex
import subprocess


def sh(command):
    """Runs a command and prints what it prints."""
    print("$", command)
    print(subprocess.run(shlex.split(command), check=True, capture_output=True, text=True).stdout)


sh("smallbatch generate signal --inputs 32 --channels 64 --type int8 --integrate 256 -o signals.h5 --overwrite")
sh("smallbatch run signals.h5 -o visibilities.h5 --overwrite -q")
sh("smallbatch export visibilities.h5 -o fringes.png --overwrite")
