# SPDX-License-Identifier: Apache-2.0
"""A membrane-like system: two leaflets of an amphiphile between water, about 30,000 atoms, every term of a lipid.

N-dodecylacetamide, CH3-CO-NH-(CH2)11-CH3, is a chain of a lipid's length under a polar head, and all its bonds, angles, torsions and
impropers are in inputs/forcefield/ff99sb.itp (caps and side chains of the peptide have the same types), so no parameter is new. It
is here for its shape as a load: 43 % of the atoms in bonded chains, layers of different density, partial charges, 1-4 pairs, many
groups of constraints. Nothing is claimed about the physics of this compound.

Charges: acetyl and N-H of AMBER's ACE and NME, chain of OPLS-AA alkanes (-0.12 and +0.06; CH3 -0.18: Jorgensen, Maxwell, Tirado-Rives,
J. Am. Chem. Soc. 118, 11225 (1996)); the first carbon has what makes the molecule neutral.
"""
import math
import os
import random
import sys

import numpy as np

INPUTS = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "inputs"))
sys.path.insert(0, os.path.join(INPUTS, "make"))
import forcefield  # noqa: E402
import geometry    # noqa: E402
import topology    # noqa: E402

CARBONS = 12
SPACING = 0.53   # nm between chains of a leaflet: 0.28 nm^2 each
SITE = 0.0306    # nm^3 of a water


def _residue():
    atoms, bonds = [("N", "N", -0.4157), ("H", "H", 0.2719)], ["-C-N", "N-H", "N-C1"]
    for k in range(1, CARBONS + 1):
        hydrogens = 3 if k == CARBONS else 2
        kind, q = ("H1", 0.0976) if k == 1 else ("HC", 0.06)
        atoms.append((f"C{k}", "CT", -0.0514 if k == 1 else -0.06 * hydrogens))
        for h in range(hydrogens):
            atoms.append((f"H{'ABCDEFGHIJKL'[k - 1]}{h + 1}", kind, q))
            bonds.append(f"C{k}-{atoms[-1][0]}")
        if k < CARBONS:
            bonds.append(f"C{k}-C{k + 1}")
    return atoms, " ".join(bonds), ["-C C1 N H"]


def amphiphile():
    """The molecule (forcefield.Molecule) and [n][3] of its straight form, chain along -z, head at z = 0."""
    forcefield.RESIDUES["NDA"] = _residue()
    m = forcefield.Molecule("amphiphile", ["ACE", "NDA"])
    x = {"CH3": np.zeros(3), "C": np.array([0.1522, 0, 0])}
    put = geometry.place
    x["O"] = put(np.array([0, 1.0, 0]), x["CH3"], x["C"], 0.1229, 120.4, 0)
    for k in range(3):
        x[f"HH3{k + 1}"] = put(x["O"], x["C"], x["CH3"], 0.109, 109.5, 180 + 120 * k)
    x["N"] = put(x["O"], x["CH3"], x["C"], 0.1335, 116.6, 180)
    x["H"] = put(x["CH3"], x["C"], x["N"], 0.101, 120, 0)
    chain = ["CH3", "C", "N"]
    for k in range(1, CARBONS + 1):
        length, angle = (0.1449, 121.9) if k == 1 else (0.1526, 109.6)
        x[f"C{k}"] = put(*(x[a] for a in chain[-3:]), length, angle, 180)
        chain.append(f"C{k}")
    for k in range(1, CARBONS + 1):
        letter = "ABCDEFGHIJKL"[k - 1]
        frame = [x[a] for a in chain[k:k + 3]]
        for h, torsion in enumerate((60, 300) + ((180,) if k == CARBONS else ())):
            x[f"H{letter}{h + 1}"] = put(frame[0], frame[1], frame[2], 0.109, 109.5, torsion)
    out = np.array([x[name] for _, _, name, _, _ in m.atoms])
    axis = x[f"C{CARBONS}"] - x["C1"]
    axis /= np.linalg.norm(axis)
    side = np.cross(axis, [0, 0, 1.0])
    side /= np.linalg.norm(side)
    turn = np.stack([side, np.cross(-axis, side), -axis])  # rows: new x, y, z axes; z against the chain
    out = out @ turn.T
    return m, out - [*out[:, :2].mean(0), out[:, 2].max()]


def make(folder, across=12, water=2.2):
    """Write topol.top and lattice.gro: `across`^2 molecules a leaflet, `water` nm of water on either side. Returns the number of atoms."""
    m, one = amphiphile()
    rng = random.Random(1)
    depth = -one[:, 2].min() + 0.15  # half the gap between the leaflets' ends
    edge, height = across * SPACING, 2 * (depth + water)
    middle, parts = height / 2, []
    for sign in (1, -1):
        for i in range(across):
            for j in range(across):
                a = rng.uniform(0, 2 * math.pi)
                turn = np.array([[math.cos(a), -math.sin(a), 0], [math.sin(a), math.cos(a), 0], [0, 0, 1]])
                flip = np.diag([1.0, sign, sign])  # a rotation by 180 degrees for the lower leaflet
                place = [(i + 0.5) * SPACING, (j + 0.5) * SPACING, middle + sign * depth]
                parts.append(one @ turn.T @ flip.T + place)
    n = [max(1, round(length / SITE ** (1 / 3))) for length in (edge, edge, 2 * water - 0.3)]
    for i in range(n[0]):
        for j in range(n[1]):
            for k in range(n[2]):
                z = (middle + depth + 0.15 + (k + 0.5) * (2 * water - 0.3) / n[2]) % height
                parts.append([(i + 0.5) * edge / n[0], (j + 0.5) * edge / n[1], z] + geometry.WATER @ geometry.random_turn(rng).T)
    chains, waters = 2 * across ** 2, n[0] * n[1] * n[2]
    rows = [(c + 1, residue, name) for c in range(chains) for _, residue, name, _, _ in m.atoms]
    rows += [(chains + w + 1, "SOL", name) for w in range(waters) for name in ("OW", "HW1", "HW2")]
    topology.write_top(os.path.join(folder, "topol.top"), "amphiphile bilayer in water", m, [(m.name, chains), ("SOL", waters)],
                       ["Two leaflets of N-dodecylacetamide in TIP3P water; made by benchmarks/compare/membrane.py."])
    geometry.write_gro(os.path.join(folder, "lattice.gro"), "amphiphile bilayer in water", rows, np.concatenate(parts), None,
                       [edge, edge, height], decimals=6)
    return len(rows)
