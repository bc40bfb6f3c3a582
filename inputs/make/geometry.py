# SPDX-License-Identifier: Apache-2.0
"""Coordinates: peptides from ideal internal coordinates, lattices of argon and water, solvation, .gro files. nm."""
import math
import random

import numpy as np


def place(a, b, c, length, angle, torsion):
    """The point d with |cd| = length, angle bcd and torsion abcd in degrees (IUPAC sign)."""
    bc = (c - b) / np.linalg.norm(c - b)
    n = np.cross(b - a, bc)
    n /= np.linalg.norm(n)
    angle, torsion = math.radians(angle), math.radians(torsion)
    return c + length * (-math.cos(angle) * bc + math.sin(angle) * math.cos(torsion) * np.cross(n, bc)
                         + math.sin(angle) * math.sin(torsion) * n)


# atom: (from a, b, c; length; angle; torsion). Lengths and angles are the force field's rest values.
# 'phi', 'psi', 'chi*' are filled in; '-X' is atom X of the residue before, whose CA is the CH3 of a cap.
SIDE = {
    "ALA": [("HB1", "N CA CB", 0.109, 109.5, 60), ("HB2", "N CA CB", 0.109, 109.5, 180),
            ("HB3", "N CA CB", 0.109, 109.5, 300)],
    "GLN": [("CG", "N CA CB", 0.1526, 109.5, -65), ("HB1", "N CA CB", 0.109, 109.5, 55),
            ("HB2", "N CA CB", 0.109, 109.5, 175), ("CD", "CA CB CG", 0.1522, 111.1, 180),
            ("HG1", "CA CB CG", 0.109, 109.5, 60), ("HG2", "CA CB CG", 0.109, 109.5, 300),
            ("OE1", "CB CG CD", 0.1229, 120.4, -60), ("NE2", "CB CG CD", 0.1335, 116.6, 120),
            ("HE21", "CG CD NE2", 0.101, 120, 180), ("HE22", "CG CD NE2", 0.101, 120, 0)],
}


def peptide(molecule, phi, psi):
    """[n][3] of a capped peptide ACE-...-(NME or NH2), every residue with the same phi and psi, all bonds trans."""
    x = {}

    def put(r, name, frame, length, angle, torsion):
        def at(word):
            q = r - 1 if word[0] == "-" else r
            word = word.lstrip("-")
            if word == "CA" and (q, word) not in x:
                word = "CH3"
            return x[q, word]
        a, b, c = (at(w) for w in frame.split())
        x[r, name] = place(a, b, c, length, angle, torsion)

    for r, residue in enumerate(molecule.sequence):
        if residue == "ACE":
            x[r, "CH3"], x[r, "C"] = np.zeros(3), np.array([0.1522, 0, 0])
            x[r, "O"] = place(np.array([0, 1.0, 0]), x[r, "CH3"], x[r, "C"], 0.1229, 120.4, 0)
            for k, name in enumerate(("HH31", "HH32", "HH33")):
                put(r, name, "O C CH3", 0.109, 109.5, 180 + 120 * k)
            continue
        put(r, "N", "-O -CA -C", 0.1335, 116.6, 180)  # opposite to O about the axis CA-C
        if residue == "NH2":
            put(r, "H1", "-CA -C N", 0.101, 120, 0)
            put(r, "H2", "-CA -C N", 0.101, 120, 180)
            continue
        put(r, "H", "-CA -C N", 0.101, 120, 0)
        if residue == "NME":
            put(r, "CH3", "-CA -C N", 0.1449, 121.9, 180)
            for k, name in enumerate(("HH31", "HH32", "HH33")):
                put(r, name, "-C N CH3", 0.109, 109.5, 60 + 120 * k)
            continue
        put(r, "CA", "-CA -C N", 0.1449, 121.9, 180)
        put(r, "C", "-C N CA", 0.1522, 110.1, phi)
        put(r, "CB", "C N CA", 0.1526, 109.7, -121)  # an L amino acid; checked below
        put(r, "HA", "C N CA", 0.109, 109.5, 119)
        put(r, "O", "N CA C", 0.1229, 120.4, psi + 180)
        for name, frame, length, angle, torsion in SIDE[residue]:
            put(r, name, frame, length, angle, torsion)
        # L: seen from the hydrogen, carbonyl, side chain and nitrogen follow each other clockwise
        n, c, b = (x[r, k] - x[r, "CA"] for k in ("N", "C", "CB"))
        assert np.dot(np.cross(n, c), b) > 0, "D amino acid built"
    return np.array([x[r, name] for r, _, name, _, _ in molecule.atoms])


def random_turn(rng):
    """A random rotation matrix (uniform: a random unit quaternion)."""
    q = np.array([rng.gauss(0, 1) for _ in range(4)])
    w, i, j, k = q / np.linalg.norm(q)
    return np.array([[1 - 2 * (j * j + k * k), 2 * (i * j - k * w), 2 * (i * k + j * w)],
                     [2 * (i * j + k * w), 1 - 2 * (i * i + k * k), 2 * (j * k - i * w)],
                     [2 * (i * k - j * w), 2 * (j * k + i * w), 1 - 2 * (i * i + j * j)]])


WATER = np.array([[0, 0, 0], [0.09572, 0, 0],
                  [0.09572 * math.cos(math.radians(104.52)), 0.09572 * math.sin(math.radians(104.52)), 0]])


def lattice(n, edge):
    """[m^3][3]: the simple cubic lattice of at least n sites in a cube."""
    m = math.ceil(n ** (1 / 3) - 1e-9)
    line = (np.arange(m) + 0.5) * edge / m
    return np.stack(np.meshgrid(line, line, line, indexing="ij"), -1).reshape(-1, 3)


def fcc(m, edge):
    """[4 m^3][3]: face-centred cubic, m cells along the edge."""
    base = np.array([[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]]) * 0.5 + 0.25
    cells = np.stack(np.meshgrid(*[np.arange(m)] * 3, indexing="ij"), -1).reshape(-1, 1, 3)
    return ((cells + base) * edge / m).reshape(-1, 3)


def solvate(solute, edge, n_waters, n_pairs, seed):
    """Waters [w][3][3], sodium [p][3], chloride [p][3] on lattice sites of the cube away from the solute [n][3]."""
    rng = random.Random(seed)
    per_site = 0.0306  # nm^3, a little more than a water takes
    sites = lattice(int(edge ** 3 / per_site), edge)
    if len(solute):
        d = sites[:, None, :] - solute[None, :, :]
        d -= edge * np.rint(d / edge)
        gap = np.sqrt((d ** 2).sum(-1)).min(1)
    else:
        gap = np.full(len(sites), 9.0)
    free = [int(k) for k in np.nonzero(gap > 0.24)[0]]
    assert len(free) >= n_waters + 2 * n_pairs, (len(free), n_waters)
    far = [k for k in free if gap[k] > 0.6]
    ions = []
    while len(ions) < 2 * n_pairs:  # ions at least 0.7 nm apart
        k = rng.choice(far)
        d = sites[k] - sites[ions] if ions else np.full((1, 3), 9.0)
        d = d - edge * np.rint(d / edge) if ions else d
        if np.sqrt((d ** 2).sum(-1)).min() > 0.7:
            ions.append(k)
    free = sorted(set(free) - set(ions))
    for k in sorted(free, key=lambda s: (gap[s], s))[:len(free) - n_waters]:  # too many: those nearest to the solute go
        free.remove(k)
    waters = np.array([sites[k] + WATER @ random_turn(rng).T for k in free])
    return waters, sites[ions[:n_pairs]], sites[ions[n_pairs:]]


def write_gro(path, title, rows, x, v, box, decimals=3):
    """`rows`: (residue number, residue name, atom name). v may be None."""
    w = decimals + 5
    with open(path, "w") as out:
        out.write(f"{title}\n{len(rows):5d}\n")
        for k, (number, residue, atom) in enumerate(rows):
            line = f"{number % 100000:5d}{residue:<5s}{atom:>5s}{(k + 1) % 100000:5d}"
            line += "".join(f"{c:{w}.{decimals}f}" for c in x[k])
            if v is not None:
                line += "".join(f"{c:{w}.{decimals + 1}f}" for c in v[k])
            out.write(line + "\n")
        out.write("".join(f"{b:10.5f}" for b in box) + "\n")


def read_gro(path):
    """x [n][3], v [n][3] or None, box [3]."""
    lines = open(path).read().splitlines()
    n = int(lines[1])
    first = lines[2][20:]
    w = first.index(".", first.index(".") + 1) - first.index(".")
    x = np.array([[float(l[20 + w * k:20 + w * (k + 1)]) for k in range(3)] for l in lines[2:2 + n]])
    v = None
    if len(lines[2]) >= 20 + 6 * w:
        v = np.array([[float(l[20 + w * k:20 + w * (k + 1)]) for k in range(3, 6)] for l in lines[2:2 + n]])
    return x, v, np.array([float(t) for t in lines[2 + n].split()[:3]])
