"""
A report
========

``report`` writes one HTML page about a result file. It needs no other file.
"""

import shlex
import subprocess


def sh(command):
    """Runs a command and prints what it prints."""
    print("$", command)
    print(subprocess.run(shlex.split(command), check=True, capture_output=True, text=True).stdout)


sh("smallbatch run data/demo.h5 -o demo_results.h5 --overwrite")
sh("smallbatch report demo_results.h5 --problems data/demo.h5 -o report.html --overwrite")
