# SPDX-License-Identifier: Apache-2.0
"""Residue templates, and the look-up of parameters in inputs/forcefield/ff99sb.itp.

Charges and types of ACE, ALA, GLN, NME, NH2 are those of AMBER ff94 to ff99SB (Cornell 1995). A template is
atoms (name, type, charge) and bonds (names; "-C" is the C of the residue before); angles, torsions and 1-4 pairs
follow from the bonds. Impropers are given as the force field defines them: the third atom is the central one.
"""
import itertools
import os

HERE = os.path.dirname(os.path.abspath(__file__))
FORCEFIELD = os.path.join(HERE, "..", "forcefield", "ff99sb.itp")

ELEMENT = {"C": 6, "CT": 6, "H": 1, "HC": 1, "H1": 1, "N": 7, "O": 8, "OW": 8, "HW": 1, "Na": 11, "Cl": 17}

RESIDUES = {
    "ACE": (
        [("CH3", "CT", -0.3662), ("HH31", "HC", 0.1123), ("HH32", "HC", 0.1123), ("HH33", "HC", 0.1123),
         ("C", "C", 0.5972), ("O", "O", -0.5679)],
        "CH3-HH31 CH3-HH32 CH3-HH33 CH3-C C-O",
        ["CH3 +N C O"]),
    "ALA": (
        [("N", "N", -0.4157), ("H", "H", 0.2719), ("CA", "CT", 0.0337), ("HA", "H1", 0.0823), ("CB", "CT", -0.1825),
         ("HB1", "HC", 0.0603), ("HB2", "HC", 0.0603), ("HB3", "HC", 0.0603), ("C", "C", 0.5973), ("O", "O", -0.5679)],
        "-C-N N-H N-CA CA-HA CA-CB CA-C CB-HB1 CB-HB2 CB-HB3 C-O",
        ["-C CA N H", "CA +N C O"]),
    "GLN": (
        [("N", "N", -0.4157), ("H", "H", 0.2719), ("CA", "CT", -0.0031), ("HA", "H1", 0.0850), ("CB", "CT", -0.0036),
         ("HB1", "HC", 0.0171), ("HB2", "HC", 0.0171), ("CG", "CT", -0.0645), ("HG1", "HC", 0.0352),
         ("HG2", "HC", 0.0352), ("CD", "C", 0.6951), ("OE1", "O", -0.6086), ("NE2", "N", -0.9407),
         ("HE21", "H", 0.4251), ("HE22", "H", 0.4251), ("C", "C", 0.5973), ("O", "O", -0.5679)],
        "-C-N N-H N-CA CA-HA CA-CB CA-C CB-HB1 CB-HB2 CB-CG CG-HG1 CG-HG2 CG-CD CD-OE1 CD-NE2 NE2-HE21 NE2-HE22 C-O",
        ["-C CA N H", "CA +N C O", "CG NE2 CD OE1", "CD HE21 NE2 HE22"]),
    "NME": (
        [("N", "N", -0.4157), ("H", "H", 0.2719), ("CH3", "CT", -0.1490), ("HH31", "H1", 0.0976),
         ("HH32", "H1", 0.0976), ("HH33", "H1", 0.0976)],
        "-C-N N-H N-CH3 CH3-HH31 CH3-HH32 CH3-HH33",
        ["-C CH3 N H"]),
    "NH2": (
        [("N", "N", -0.4630), ("H1", "H", 0.2315), ("H2", "H", 0.2315)],
        "-C-N N-H1 N-H2",
        ["-C H1 N H2"]),
}


class Molecule:
    """Atoms of a chain of residues and the terms that its bonds imply; ids count from 0."""

    def __init__(self, name, sequence):
        self.name, self.sequence = name, sequence
        self.atoms = []  # (residue index, residue name, atom name, type, charge)
        self.id = {}     # (residue index, atom name) -> id
        for r, residue in enumerate(sequence):
            for atom, kind, charge in RESIDUES[residue][0]:
                self.id[r, atom] = len(self.atoms)
                self.atoms.append((r, residue, atom, kind, charge))
        self.bonds, self.impropers = [], []
        for r, residue in enumerate(sequence):
            for bond in RESIDUES[residue][1].split():
                before, pair = bond.startswith("-"), bond.lstrip("-").split("-")
                self.bonds.append((self.id[r - 1 if before else r, pair[0]], self.id[r, pair[1]]))
            for improper in RESIDUES[residue][2]:
                self.impropers.append(tuple(self.id[r + {"-": -1, "+": 1}.get(a[0], 0), a.lstrip("+-")]
                                            for a in improper.split()))
        near = {i: set() for i in range(len(self.atoms))}
        for i, j in self.bonds:
            near[i].add(j)
            near[j].add(i)
        self.near = near
        self.angles = [(i, j, k) for j in near for i, k in itertools.combinations(sorted(near[j]), 2)]
        self.dihedrals = [(i, j, k, l) for j, k in sorted(map(sorted, self.bonds))
                          for i in sorted(near[j] - {k}) for l in sorted(near[k] - {j}) if i != l]
        closer = {frozenset(b) for b in self.bonds} | {frozenset((a[0], a[2])) for a in self.angles}
        self.pairs = sorted({tuple(sorted((d[0], d[3]))) for d in self.dihedrals
                             if frozenset((d[0], d[3])) not in closer})

    def kinds(self, ids):
        return tuple(self.atoms[i][3] for i in ids)


class Parameters:
    """The rows of an itp file by section."""

    def __init__(self, path=FORCEFIELD):
        self.atom, self.bond, self.angle, self.proper, self.improper = {}, {}, {}, [], []
        section = None
        for line in open(path):
            w = line.split(";")[0].split()
            if not w:
                continue
            if w[0] == "[":
                section = w[1]
            elif section == "atomtypes":
                self.atom[w[0]] = (float(w[2]), float(w[5]), float(w[6]))  # mass, sigma, epsilon
            elif section == "bondtypes":
                self.bond[w[0], w[1]] = self.bond[w[1], w[0]] = (float(w[3]), float(w[4]))
            elif section == "angletypes":
                self.angle[w[0], w[1], w[2]] = self.angle[w[2], w[1], w[0]] = (float(w[4]), float(w[5]))
            elif section == "dihedraltypes":
                row = (tuple(w[:4]), (float(w[5]), float(w[6]), int(w[7])))
                (self.improper if w[4] == "4" else self.proper).append(row)

    @staticmethod
    def _match(rows, kinds):
        """All rows of the first set of types that fits (fewest X first), either way round."""
        def fits(pattern):
            return any(all(p in ("X", k) for p, k in zip(pattern, order)) for order in (kinds, kinds[::-1]))
        found = sorted({p for p, _ in rows if fits(p)}, key=lambda p: p.count("X"))
        if not found:
            raise KeyError("no dihedral row for " + "-".join(kinds))
        return [value for p, value in rows if p == found[0]]

    def proper_rows(self, kinds):
        return self._match(self.proper, kinds)

    def improper_row(self, kinds):
        return self._match(self.improper, kinds)[0]
