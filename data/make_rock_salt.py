#!/usr/bin/env python3
"""Writes rock_salt.pqr: a cube of 9 x 9 x 9 ions of NaCl with Evjen's weights.

Sodium (+1) and chloride (-1) alternate on a cubic lattice. Neighbours are 2.8201 angstrom apart (rock salt at room
temperature), and the ion at the origin is Na. A cell of the crystal holds 1/2 of an ion in a face, 1/4 in an edge and
1/8 in a corner. The charges have these weights (H. M. Evjen, Phys. Rev. 39, 675 (1932)). So the cube is neutral. The
other ions give a potential of -1.74772 e / 2.8201 angstrom = -8.924 V at the centre. In the infinite crystal the factor
is -1.74756 (Madelung's constant), which differs by less than 1e-4. The radii are Shannon's for six neighbours.

Usage: make_rock_salt.py [OUTPUT]; the output is the same every time.
"""
import itertools
import pathlib
import sys

SPACING = 2.8201  # angstrom
HALF = 4  # ions from the centre to a face


def main():
    output = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).with_name("rock_salt.pqr"))
    lines = ["REMARK   NaCl, 9 x 9 x 9 ions with Evjen's weights, made by make_rock_salt.py"]
    for place in itertools.product(range(-HALF, HALF + 1), repeat=3):
        sodium = sum(place) % 2 == 0
        name, radius = ("NA", 1.02) if sodium else ("CL", 1.81)
        charge = (1 if sodium else -1) / 2 ** sum(abs(c) == HALF for c in place)
        x, y, z = (c * SPACING for c in place)
        lines.append(f"HETATM{len(lines):5d} {name:<4} {name:<3}  {len(lines):4d}    "
                     f"{x:9.4f} {y:9.4f} {z:9.4f} {charge:7.3f} {radius:7.4f}")
    output.write_text("\n".join(lines + ["END", ""]))


if __name__ == "__main__":
    main()
