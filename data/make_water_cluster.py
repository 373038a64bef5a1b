#!/usr/bin/env python3
"""Writes water_cluster.pqr: (H2O)20, a pentagonal dodecahedron of TIP3P water.

The oxygens are the 20 corners of a regular dodecahedron, as in the small cage of gas clathrates. Its edges are 2.75
angstrom long, the O-O distance in ice. Each of the 30 edges is a hydrogen bond and carries one hydrogen. The other 10
hydrogens point outwards, at most one per water. A search in fixed order decides which oxygen owns the hydrogen of an
edge; its first result is taken. Every molecule keeps the rigid geometry of TIP3P (Jorgensen et al., J. Chem. Phys. 79,
926 (1983)). It is turned so that its hydrogens point along their edges as well as possible. The radius of O is half of
2^(1/6) sigma; H has no Lennard-Jones radius in this model.

Usage: make_water_cluster.py [OUTPUT]; the output is the same every time.
"""
import itertools
import math
import pathlib
import sys

EDGE = 2.75  # angstrom
R_OH, ANGLE_HOH = 0.9572, math.radians(104.52)
CHARGE_O, CHARGE_H = -0.834, 0.417
RADIUS_O, RADIUS_H = 2 ** (1 / 6) * 3.15061 / 2, 0.0


def unit(v):
    length = math.hypot(*v)
    return [c / length for c in v]


def subtract(a, b):
    return [x - y for x, y in zip(a, b)]


def corners():
    golden = (1 + math.sqrt(5)) / 2
    points = list(itertools.product((-1, 1), repeat=3))
    for a, b in itertools.product((-1 / golden, 1 / golden), (-golden, golden)):
        points += [(0, a, b), (a, b, 0), (b, 0, a)]
    scale = EDGE * golden / 2  # the edge is 2 / golden
    return [[scale * c for c in p] for p in points]


def share_hydrogens(edges):
    """Returns the donor of every edge, such that each corner donates one or two of its three edges."""

    def extend(donors):
        if len(donors) == len(edges):
            return donors
        for donor in edges[len(donors)]:
            attempt = donors + [donor]
            full = all(attempt.count(corner) <= 2 for corner in range(20))
            left = [corner for edge in edges[len(attempt):] for corner in edge]
            if full and all(attempt.count(c) + left.count(c) >= 1 for c in range(20)):
                if (found := extend(attempt)) is not None:
                    return found
        return None

    return extend([])


def hydrogens(oxygen, towards):
    """Returns two hydrogens at the model's angle, in the plane of the two directions and symmetric to them."""
    first, second = towards
    bisector = unit([a + b for a, b in zip(first, second)])
    across = unit(subtract(first, second))
    along, aside = R_OH * math.cos(ANGLE_HOH / 2), R_OH * math.sin(ANGLE_HOH / 2)
    return [[o + along * b + sign * aside * c for o, b, c in zip(oxygen, bisector, across)] for sign in (1, -1)]


def main():
    output = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).with_name("water_cluster.pqr"))
    oxygens = corners()
    edges = [(i, j) for i, j in itertools.combinations(range(20), 2) if math.dist(oxygens[i], oxygens[j]) < 1.1 * EDGE]
    donors = share_hydrogens(edges)
    lines = ["REMARK   (H2O)20 dodecahedron of TIP3P water, made by make_water_cluster.py"]
    for index, oxygen in enumerate(oxygens):
        towards = [unit(subtract(oxygens[j if i == index else i], oxygen))
                   for (i, j), donor in zip(edges, donors) if donor == index]
        if len(towards) == 1:
            towards.append(unit(oxygen))  # outwards
        atoms = [("O", oxygen, CHARGE_O, RADIUS_O)]
        atoms += [(f"H{k}", h, CHARGE_H, RADIUS_H) for k, h in enumerate(hydrogens(oxygen, towards), 1)]
        for name, position, charge, radius in atoms:
            x, y, z = (round(c, 4) + 0.0 for c in position)
            lines.append(f"ATOM  {len(lines):5d}  {name:<3} HOH  {index + 1:4d}    "
                         f"{x:9.4f} {y:9.4f} {z:9.4f} {charge:7.3f} {radius:7.4f}")
    output.write_text("\n".join(lines + ["END", ""]))


if __name__ == "__main__":
    main()
