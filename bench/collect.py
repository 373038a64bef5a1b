#!/usr/bin/env python3
"""Writes measured tables into bench/RESULTS.md, each with its commit and its machine.

    smallbatch_bench COMMIT --only solve,sizes | bench/collect.py bench/RESULTS.md

Stdin has lines about the machine, then sections that begin with "## ". A section replaces the section with the same
title. A new section goes to the end. So each table comes from one run, and names this run.
"""

import re
import sys
from pathlib import Path

HEAD = """# Measured figures

`scripts/gpu` writes this file; it is not edited by hand. Each table names its commit and its machine.

A figure of the GPU is the median of 15 launches, timed by events, with the data on the device. Slow steps have 5 launches
at least. The referee checks a step before it is timed. The CUDA runtime states registers, local memory and warps per
multiprocessor. The kernels of a step stand in the order of their launches.
"""


def sections_of(text):
    """Returns the text before the first section, and {title: text of the section}, in their order."""
    before, *parts = re.split(r"(?m)^## ", text)
    return before.strip(), {part.partition("\n")[0]: part.partition("\n")[2].strip() for part in parts}


def main(results):
    machine, measured = sections_of(sys.stdin.read())
    if not machine or not measured:
        sys.exit("bench/collect.py: stdin has no lines about the machine, or no section. Was the benchmark interrupted?")
    _, sections = sections_of(results.read_text() if results.exists() else "")
    for title, text in measured.items():
        sections[title] = machine + "\n\n" + text
    results.write_text(HEAD + "".join(f"\n## {title}\n\n{text}\n" for title, text in sections.items()))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
