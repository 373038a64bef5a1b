"""
A map of water molecules
========================

A slice of the potential through a cage of twenty water molecules. ``export`` draws it.
"""

import shlex
import subprocess


def sh(command):
    """Runs a command and prints what it prints."""
    print("$", command)
    print(subprocess.run(shlex.split(command), check=True, capture_output=True, text=True).stdout)


sh("smallbatch import data/water_cluster.pqr --shape 97 --margin 6 -o water.h5 --overwrite")
sh("smallbatch run water.h5 -o water_map.h5 --singular skip --overwrite -q")
sh("smallbatch export water_map.h5 --axis z -o water.png --overwrite")
