# SPDX-License-Identifier: Apache-2.0
"""Writers of topologies: GROMACS .top, and AMBER prmtop with inpcrd of the very same system.

GROMACS' numbers go over to AMBER's by kcal = 4.184 kJ, Angstrom = 0.1 nm, charge x 18.2223, and AMBER's force
constants without the factor 1/2. Format of the prmtop: https://ambermd.org/prmtop.pdf.
"""
from forcefield import ELEMENT

KCAL, CHARGE = 4.184, 18.2223


def write_top(path, title, molecule, counts, head=()):
    """`molecule` may be None (solvent only); `counts`: (molecule name, number) in the order of the coordinates."""
    out = [f"; {line}" for line in head] + ['#include "../forcefield/ff99sb.itp"', ""]
    if molecule:
        out += _moleculetype(molecule)
    out += ['#include "../forcefield/tip3p.itp"']
    if any(name in ("NA", "CL") for name, _ in counts):
        out += ['#include "../forcefield/ions.itp"']
    out += ["", "[ system ]", title, "", "[ molecules ]"] + [f"{name:8s} {n}" for name, n in counts]
    with open(path, "w") as f:
        f.write("\n".join(out) + "\n")


def _moleculetype(m):
    out = ["[ moleculetype ]", f"{m.name}  3", "", "[ atoms ]", "; atom  type  residue  name  group  charge"]
    out += [f"{i + 1:5d}  {kind:3s} {r + 1:4d}  {res:4s} {name:5s} {i + 1:4d}  {q:8.4f}"
            for i, (r, res, name, kind, q) in enumerate(m.atoms)]

    def rows(section, lists, function, note):
        return ["", f"[ {section} ]", f"; {note}"] + ["".join(f"{a + 1:5d}" for a in ids) + f"  {function}" for ids in lists]
    out += rows("bonds", m.bonds, 1, "parameters of all terms: by atom type, from ff99sb.itp")
    out += rows("pairs", m.pairs, 1, "three bonds apart: scaled by the factors of [ defaults ]")
    out += rows("angles", m.angles, 1, "")
    out += rows("dihedrals", m.dihedrals, 9, "")
    out += rows("dihedrals", m.impropers, 4, "impropers")
    out += ["", "; heavy atoms held where restraint_reference has them: defines = [\"POSRES\"]", "#ifdef POSRES",
            "[ position_restraints ]"]
    out += [f"{i + 1:5d}  1  1000  1000  1000" for i, a in enumerate(m.atoms) if ELEMENT[a[3]] != 1] + ["#endif", ""]
    return out


class Prmtop:
    """The sections of a prmtop: a molecule and then waters."""

    def __init__(self, molecule, parameters, n_waters):
        self.m, self.p = molecule, parameters
        n = len(molecule.atoms)
        self.kind = [a[3] for a in molecule.atoms] + ["OW", "HW", "HW"] * n_waters
        self.name = [a[2] for a in molecule.atoms] + ["O", "H1", "H2"] * n_waters
        self.charge = [a[4] for a in molecule.atoms] + [-0.834, 0.417, 0.417] * n_waters
        starts = [i for i in range(n) if i == 0 or molecule.atoms[i][0] != molecule.atoms[i - 1][0]]
        self.residue_name = list(molecule.sequence) + ["WAT"] * n_waters
        self.residue_start = starts + [n + 3 * w for w in range(n_waters)]
        self.molecule_sizes = [n] + [3] * n_waters
        self.waters = [(n + 3 * w, n + 3 * w + 1, n + 3 * w + 2) for w in range(n_waters)]

    def write(self, path, title, box):
        kinds = sorted(set(self.kind))
        nt = len(kinds)
        is_h = [ELEMENT[k] == 1 for k in self.kind]
        bonds, angles, dihedrals = _Table(), _Table(), _Table()
        bond_rows, angle_rows, dihedral_rows = [], [], []
        for ids in self.m.bonds + [b for w in self.waters for b in ((w[0], w[1]), (w[0], w[2]), (w[1], w[2]))]:
            r0, k = self.p.bond[tuple(self.kind[i] for i in ids)]
            bond_rows.append((ids, bonds.index((k / 2 / KCAL / 100, r0 * 10))))
        for ids in self.m.angles:
            t0, k = self.p.angle[self.m.kinds(ids)]
            angle_rows.append((ids, angles.index((k / 2 / KCAL, t0 * 3.141592653589793 / 180))))
        for ids in self.m.dihedrals:
            ids = ids if 0 not in ids[2:] else ids[::-1]  # a 0 cannot carry the minus sign
            for k, (phase, barrier, n) in enumerate(self.p.proper_rows(self.m.kinds(ids))):
                row = dihedrals.index((barrier / KCAL, float(n), phase * 3.141592653589793 / 180, 1.2, 2.0))
                dihedral_rows.append((ids, row, k > 0, False))  # only the first row of a dihedral makes a 1-4 pair
        for ids in self.m.impropers:
            phase, barrier, n = self.p.improper_row(self.m.kinds(ids))
            row = dihedrals.index((barrier / KCAL, float(n), phase * 3.141592653589793 / 180, 0.0, 0.0))
            dihedral_rows.append((ids, row, True, True))
        excluded = self._exclusions()

        def split(rows, write):
            with_h = [x for row in rows if any(is_h[i] for i in row[0]) for x in write(row)]
            return with_h, [x for row in rows if not any(is_h[i] for i in row[0]) for x in write(row)]
        bond_h, bond_0 = split(bond_rows, lambda r: [3 * i for i in r[0]] + [r[1] + 1])
        angle_h, angle_0 = split(angle_rows, lambda r: [3 * i for i in r[0]] + [r[1] + 1])
        dih_h, dih_0 = split(dihedral_rows, lambda r: [3 * r[0][0], 3 * r[0][1], -3 * r[0][2] if r[2] else 3 * r[0][2],
                                                       -3 * r[0][3] if r[3] else 3 * r[0][3], r[1] + 1])
        index = [0] * (nt * nt)
        acoef, bcoef = [], []
        for i in range(nt):
            for j in range(i + 1):
                (_, s1, e1), (_, s2, e2) = self.p.atom[kinds[i]], self.p.atom[kinds[j]]
                s6, e4 = ((s1 + s2) / 2) ** 6, 4 * (e1 * e2) ** 0.5
                index[i * nt + j] = index[j * nt + i] = len(acoef) + 1
                acoef.append(e4 * s6 * s6 / KCAL * 1e12)
                bcoef.append(e4 * s6 / KCAL * 1e6)
        n_atoms, nres = len(self.kind), len(self.residue_name)
        sizes = [b - a for a, b in zip(self.residue_start, self.residue_start[1:] + [n_atoms])]
        pointers = [n_atoms, nt, len(bond_h) // 3, len(bond_0) // 3, len(angle_h) // 4, len(angle_0) // 4,
                    len(dih_h) // 5, len(dih_0) // 5, 0, 0, sum(map(len, excluded)), nres, len(bond_0) // 3,
                    len(angle_0) // 4, len(dih_0) // 5, len(bonds.rows), len(angles.rows), len(dihedrals.rows), nt, 0,
                    0, 0, 0, 0, 0, 0, 0, 1, max(sizes), 0, 0]
        text = ["%VERSION  VERSION_STAMP = V0001.000  DATE = 01/01/00  00:00:00"]

        def section(flag, form, values):
            text.extend([f"%FLAG {flag:<74s}", f"%FORMAT({form})".ljust(80)] + _lines(form, values))
        section("TITLE", "20a4", [title])
        section("POINTERS", "10I8", pointers)
        section("ATOM_NAME", "20a4", self.name)
        section("CHARGE", "5E16.8", [q * CHARGE for q in self.charge])
        section("ATOMIC_NUMBER", "10I8", [ELEMENT[k] for k in self.kind])
        section("MASS", "5E16.8", [self.p.atom[k][0] for k in self.kind])
        section("ATOM_TYPE_INDEX", "10I8", [kinds.index(k) + 1 for k in self.kind])
        section("NUMBER_EXCLUDED_ATOMS", "10I8", list(map(len, excluded)))
        section("NONBONDED_PARM_INDEX", "10I8", index)
        section("RESIDUE_LABEL", "20a4", self.residue_name)
        section("RESIDUE_POINTER", "10I8", [s + 1 for s in self.residue_start])
        section("BOND_FORCE_CONSTANT", "5E16.8", [r[0] for r in bonds.rows])
        section("BOND_EQUIL_VALUE", "5E16.8", [r[1] for r in bonds.rows])
        section("ANGLE_FORCE_CONSTANT", "5E16.8", [r[0] for r in angles.rows])
        section("ANGLE_EQUIL_VALUE", "5E16.8", [r[1] for r in angles.rows])
        for k, flag in enumerate(("DIHEDRAL_FORCE_CONSTANT", "DIHEDRAL_PERIODICITY", "DIHEDRAL_PHASE",
                                  "SCEE_SCALE_FACTOR", "SCNB_SCALE_FACTOR")):
            section(flag, "5E16.8", [r[k] for r in dihedrals.rows])
        section("SOLTY", "5E16.8", [0.0] * nt)
        section("LENNARD_JONES_ACOEF", "5E16.8", acoef)
        section("LENNARD_JONES_BCOEF", "5E16.8", bcoef)
        section("BONDS_INC_HYDROGEN", "10I8", bond_h)
        section("BONDS_WITHOUT_HYDROGEN", "10I8", bond_0)
        section("ANGLES_INC_HYDROGEN", "10I8", angle_h)
        section("ANGLES_WITHOUT_HYDROGEN", "10I8", angle_0)
        section("DIHEDRALS_INC_HYDROGEN", "10I8", dih_h)
        section("DIHEDRALS_WITHOUT_HYDROGEN", "10I8", dih_0)
        section("EXCLUDED_ATOMS_LIST", "10I8", [j for row in excluded for j in row])
        section("HBOND_ACOEF", "5E16.8", [])
        section("HBOND_BCOEF", "5E16.8", [])
        section("HBCUT", "5E16.8", [])
        section("AMBER_ATOM_TYPE", "20a4", self.kind)
        section("TREE_CHAIN_CLASSIFICATION", "20a4", ["M"] * n_atoms)
        section("JOIN_ARRAY", "10I8", [0] * n_atoms)
        section("IROTAT", "10I8", [0] * n_atoms)
        section("SOLVENT_POINTERS", "3I8", [len(self.m.sequence), len(self.molecule_sizes), 2])
        section("ATOMS_PER_MOLECULE", "10I8", self.molecule_sizes)
        section("BOX_DIMENSIONS", "5E16.8", [90.0] + [10 * b for b in box])
        with open(path, "w") as out:
            out.write("\n".join(text) + "\n")

    def _exclusions(self):
        """Per atom the later atoms within three bonds, counted from 1; [0] where there is none."""
        lists = [set() for _ in self.kind]
        for i, j in ([b for b in self.m.bonds] + [(a[0], a[2]) for a in self.m.angles] + list(self.m.pairs)
                     + [b for w in self.waters for b in ((w[0], w[1]), (w[0], w[2]), (w[1], w[2]))]):
            lists[min(i, j)].add(max(i, j) + 1)
        return [sorted(s) or [0] for s in lists]


class _Table:
    """Distinct parameter rows in order of first use."""

    def __init__(self):
        self.rows, self.at = [], {}

    def index(self, row):
        if row not in self.at:
            self.at[row] = len(self.rows)
            self.rows.append(row)
        return self.at[row]


def _lines(form, values):
    """Fortran fixed columns: 20a4, 10I8, 3I8, 5E16.8. An empty section is one empty line."""
    if form == "20a4":
        cells, per = ([v.ljust(80) for v in values] if len(values) == 1 else [f"{v:<4s}" for v in values]), 20
    elif form.endswith("I8"):
        cells, per = [f"{v:8d}" for v in values], int(form[:-2])
    else:
        cells, per = [f"{v:16.8E}" for v in values], 5
    return ["".join(cells[k:k + per]) for k in range(0, max(1, len(cells)), per)]


def write_inpcrd(path, title, x, box):
    """x [n][3], box [3] in nm; 6F12.7 Angstrom."""
    flat = [10 * c for row in x for c in row]
    lines = ["".join(f"{c:12.7f}" for c in flat[k:k + 6]) for k in range(0, len(flat), 6)]
    lines.append("".join(f"{c:12.7f}" for c in [10 * b for b in box] + [90.0] * 3))
    with open(path, "w") as out:
        out.write(f"{title}\n{len(x):6d}\n" + "\n".join(lines) + "\n")
