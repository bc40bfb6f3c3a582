#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The same CHARMM-type molecule as GROMACS .top and as CHAMBER prmtop: energies per term and forces agree to 1e-9.

The molecule is made here: a backbone of two peptide units with every term that CHARMM has and AMBER lacks (Urey-Bradley,
harmonic impropers, CMAP, a Lennard-Jones table of its own for 1-4 pairs), numbers from a fixed random sequence, coordinates
that both formats hold exactly. The two files share no reader, so an error common to both is unlikely; against that the terms
with a closed form are also summed here. A third file carries the same maps under ff19SB's section names.
Tolerance 1e-9 relative: both readers give double parameters from at least 12 written digits; sums differ in rounding only.
"""
import json
import math
import os
import random
import struct
import subprocess
import sys
import tempfile

KCAL, COULOMB, CCELEC = 4.184, 138.935458, math.sqrt(332.0716)
TOLERANCE = 1e-9
BONDS = [(0, 1), (1, 2), (2, 3), (3, 4), (0, 5), (1, 6), (2, 7), (2, 8), (3, 9), (4, 10), (0, 11)]
NAMES = ["CY", "N", "CA", "C", "NT", "OY", "HN", "CB", "HA", "O", "HT", "CAY"]
TYPES = [0, 1, 2, 0, 1, 3, 4, 2, 4, 3, 4, 2]
MASSES = [12.011, 14.007, 12.011, 12.011, 14.007, 15.999, 1.008, 12.011, 1.008, 15.999, 1.008, 12.011]
NUMBERS = [6, 7, 6, 6, 7, 8, 1, 6, 1, 8, 1, 6]
N_TYPES, GRID = 5, 24
IMPROPERS = [(1, 0, 2, 6), (0, 11, 1, 5)]


class Molecule:
    """Everything in the file units of CHARMM (kcal/mol, Angstrom, degrees)."""

    def __init__(self):
        rnd = random.Random(7)
        n = len(NAMES)
        self.n = n
        # a zigzag of 1.5 A steps with branches to the side, shaken so that nothing is planar or collinear
        spot = {i: [1.3 * i, 0.8 * (i % 2), 0.2 * i] for i in range(5)}
        for a, b in BONDS[4:]:
            spot[b] = [spot[a][0] + rnd.uniform(-0.3, 0.3), spot[a][1] + (1.2 if spot[a][1] > 0 else -1.2),
                       spot[a][2] + (0.9 if b % 2 else -0.9)]
        self.x = [[round(c + rnd.uniform(-0.1, 0.1), 3) for c in spot[i]] for i in range(n)]
        self.charge = [round(rnd.uniform(-0.5, 0.5), 2) for _ in range(n)]
        self.rmin = [round(rnd.uniform(1.0, 2.2), 4) for _ in range(N_TYPES)]
        self.eps = [round(rnd.uniform(0.02, 0.15), 4) for _ in range(N_TYPES)]
        self.rmin14 = [round(0.9 * r, 4) for r in self.rmin]
        self.eps14 = [round(0.5 * e, 4) for e in self.eps]
        near = [sorted({b for a, b in BONDS if a == i} | {a for a, b in BONDS if b == i}) for i in range(n)]
        self.bonds = [(a, b, round(rnd.uniform(200, 400), 1), round(rnd.uniform(1.0, 1.5), 3)) for a, b in BONDS]
        self.angles = [(near[j][p], j, near[j][q], round(rnd.uniform(30, 70), 1), round(rnd.uniform(100, 125), 2))
                       for j in range(n) for p in range(len(near[j])) for q in range(p + 1, len(near[j]))]
        self.ub = {k: (round(rnd.uniform(5, 40), 2), round(rnd.uniform(1.9, 2.5), 3)) for k in range(len(self.angles)) if k % 2}
        self.dihedrals = []  # i, j, k, l, K, n, phase in degrees; some have two terms
        for j, k in BONDS:
            for i in near[j]:
                for l in near[k]:
                    if i in (k, l) or l == j:
                        continue
                    for term in range(1 + (i + l) % 2):
                        self.dihedrals.append((i, j, k, l, round(rnd.uniform(0.1, 2), 3), 1 + term + (i % 2),
                                               rnd.choice([0.0, 180.0])))
        self.impropers = [(*a, round(rnd.uniform(10, 90), 1), p) for a, p in zip(IMPROPERS, (0.0, 25.0))]
        # rough and unsymmetric: a transposed or shifted map changes the energy
        self.grid = [round(2 * math.sin(0.31 * i + 0.4) * math.cos(0.17 * j) + 0.5 * math.sin(0.26 * j) + rnd.uniform(-0.2, 0.2), 5)
                     for i in range(GRID) for j in range(GRID)]
        self.pairs = []
        for d in self.dihedrals:
            if (d[0], d[3]) not in self.pairs and (d[3], d[0]) not in self.pairs:
                self.pairs.append((d[0], d[3]))
        self.excluded = set()
        for a, b in BONDS:
            self.excluded.add((a, b))
        for a in self.angles:
            self.excluded.add((min(a[0], a[2]), max(a[0], a[2])))
        for a, b in self.pairs:
            self.excluded.add((min(a, b), max(a, b)))

    def lj(self, i, j, fourteen):
        """A and B of the pair of atom types, kcal/mol A^12 and A^6."""
        rmin, eps = (self.rmin14, self.eps14) if fourteen else (self.rmin, self.eps)
        r6, e = (rmin[i] + rmin[j]) ** 6, math.sqrt(eps[i] * eps[j])
        return e * r6 * r6, 2 * e * r6


def write_top(m, path):
    """Combination rule 1 (C6, C12) with every pair written out; 1-4 parameters on the [ pairs ] lines."""
    out = ["[ defaults ]", "1 1 no 1.0 1.0", "[ atomtypes ]"]
    for t in range(N_TYPES):
        a, b = m.lj(t, t, False)
        out.append(f"T{t} 12.0 0.0 A {b * KCAL * 1e-6!r} {a * KCAL * 1e-12!r}")
    out.append("[ nonbond_params ]")
    for t in range(N_TYPES):
        for u in range(t + 1, N_TYPES):
            a, b = m.lj(t, u, False)
            out.append(f"T{t} T{u} 1 {b * KCAL * 1e-6!r} {a * KCAL * 1e-12!r}")
    out += ["[ cmaptypes ]", f"T0 T1 T2 T0 T1 1 {GRID} {GRID}\\"]
    values = [f"{v * KCAL!r}" for v in m.grid]
    out += [" ".join(values[k:k + 8]) + ("\\" if k + 8 < len(values) else "") for k in range(0, len(values), 8)]
    out += ["[ moleculetype ]", "MOL 3", "[ atoms ]"]
    out += [f"{i + 1} T{TYPES[i]} 1 MOL {NAMES[i]} {i + 1} {m.charge[i]!r} {MASSES[i]!r}" for i in range(m.n)]
    out.append("[ bonds ]")
    out += [f"{a + 1} {b + 1} 1 {r / 10!r} {2 * k * KCAL * 100!r}" for a, b, k, r in m.bonds]
    out.append("[ pairs ]")
    for i, l in m.pairs:
        a, b = m.lj(TYPES[i], TYPES[l], True)
        out.append(f"{i + 1} {l + 1} 1 {b * KCAL * 1e-6!r} {a * KCAL * 1e-12!r}")
    out.append("[ angles ]")
    for q, (i, j, k, f, t) in enumerate(m.angles):
        ub = m.ub.get(q, (0.0, 0.0))
        out.append(f"{i + 1} {j + 1} {k + 1} 5 {t!r} {2 * f * KCAL!r} {ub[1] / 10!r} {2 * ub[0] * KCAL * 100!r}")
    out.append("[ dihedrals ]")
    out += [f"{i + 1} {j + 1} {k + 1} {l + 1} 9 {p!r} {f * KCAL!r} {n}" for i, j, k, l, f, n, p in m.dihedrals]
    out.append("[ dihedrals ]")
    out += [f"{i + 1} {j + 1} {k + 1} {l + 1} 2 {p!r} {2 * f * KCAL!r}" for i, j, k, l, f, p in m.impropers]
    out += ["[ cmap ]", "1 2 3 4 5 1", "[ system ]", "test", "[ molecules ]", "MOL 1"]
    open(path, "w").write("\n".join(out) + "\n")


def section(name, form, values):
    """One section; form is like ("10I8", 10, "%8d")."""
    code, per_line, spec = form
    lines = ["".join(spec % v for v in values[k:k + per_line]) for k in range(0, len(values), per_line)]
    return f"%FLAG {name}\n%FORMAT({code})\n" + "\n".join(lines or [""]) + "\n"


def write_prmtop(m, path, prefix="CHARMM_", extra=""):
    ints, reals, names = ("10I8", 10, "%8d"), ("3E24.16", 3, "%24.16E"), ("20a4", 20, "%-4.4s")
    index = {}
    for t in range(N_TYPES):
        for u in range(t + 1):
            index[t, u] = index[u, t] = t * (t + 1) // 2 + u + 1
    order = sorted({v: k for k, v in index.items()}.items())
    has_h = [NUMBERS[i] == 1 for i in range(m.n)]

    def split(terms, atoms):
        """Term numbers with and without hydrogen."""
        with_h = [q for q, t in enumerate(terms) if any(has_h[a] for a in t[:atoms])]
        return with_h, [q for q in range(len(terms)) if q not in with_h]

    def rows(which, terms, atoms):
        return [v for q in which for v in [3 * a for a in terms[q][:atoms]] + [q + 1]]

    def dihedral_rows(which):
        out = []
        for q in which:
            i, j, k, l = m.dihedrals[q][:4]
            first = not any(d[:4] in ((i, j, k, l), (l, k, j, i)) or {d[0], d[3]} == {i, l} for d in m.dihedrals[:q])
            if k == 0 or l == 0:  # atom 0 cannot carry a sign
                i, j, k, l = l, k, j, i
            out += [3 * i, 3 * j, 3 * k if first else -3 * k, 3 * l, q + 1]
        return out

    bh, b0 = split(m.bonds, 2)
    ah, a0 = split(m.angles, 3)
    dh, d0 = split(m.dihedrals, 4)
    excl = [[j for i, j in sorted(m.excluded) if i == a] for a in range(m.n)]
    flat = [v for e in excl for v in ([j + 1 for j in e] or [0])]
    pointers = [m.n, N_TYPES, len(bh), len(b0), len(ah), len(a0), len(dh), len(d0), 0, 0, len(flat), 1, len(b0), len(a0), len(d0),
                len(m.bonds), len(m.angles), len(m.dihedrals), N_TYPES] + [0] * 12
    ub = sorted(m.ub)
    text = "%VERSION  VERSION_STAMP = V0001.000  DATE = 01/01/26  00:00:00\n"
    text += section("CTITLE", ("a80", 1, "%s"), ["made by test_chamber.py"])
    text += section("POINTERS", ints, pointers)
    text += "%FLAG FORCE_FIELD_TYPE\n%FORMAT(i2,a78)\n 1 CHARMM  made up\n"
    text += section("ATOM_NAME", names, NAMES)
    text += section("CHARGE", reals, [q * CCELEC for q in m.charge]).replace(
        "%FORMAT", "%COMMENT  Atomic charge multiplied by sqrt(332.0716D0) (CCELEC)\n%FORMAT")
    text += section("ATOMIC_NUMBER", ints, NUMBERS)
    text += section("MASS", ("5E16.8", 5, "%16.8E"), MASSES)
    text += section("ATOM_TYPE_INDEX", ints, [t + 1 for t in TYPES])
    text += section("NUMBER_EXCLUDED_ATOMS", ints, [len(e) or 1 for e in excl])
    text += section("EXCLUDED_ATOMS_LIST", ints, flat)
    text += section("NONBONDED_PARM_INDEX", ints, [index[t, u] for t in range(N_TYPES) for u in range(N_TYPES)])
    text += section("RESIDUE_LABEL", names, ["MOL"]) + section("RESIDUE_POINTER", ints, [1])
    text += section("BOND_FORCE_CONSTANT", reals, [b[2] for b in m.bonds])
    text += section("BOND_EQUIL_VALUE", reals, [b[3] for b in m.bonds])
    text += section("ANGLE_FORCE_CONSTANT", reals, [a[3] for a in m.angles])
    text += section("ANGLE_EQUIL_VALUE", ("3E25.17", 3, "%25.17E"), [math.radians(a[4]) for a in m.angles])
    text += section("CHARMM_UREY_BRADLEY_COUNT", ("2I8", 2, "%8d"), [len(ub), len(ub)])
    text += section("CHARMM_UREY_BRADLEY", ints,
                    [v for t, q in enumerate(ub) for v in (m.angles[q][2] + 1, m.angles[q][0] + 1, t + 1)])
    text += section("CHARMM_UREY_BRADLEY_FORCE_CONSTANT", reals, [m.ub[q][0] for q in ub])
    text += section("CHARMM_UREY_BRADLEY_EQUIL_VALUE", reals, [m.ub[q][1] for q in ub])
    text += section("DIHEDRAL_FORCE_CONSTANT", reals, [d[4] for d in m.dihedrals])
    text += section("DIHEDRAL_PERIODICITY", reals, [d[5] for d in m.dihedrals])
    text += section("DIHEDRAL_PHASE", reals, [math.radians(d[6]) for d in m.dihedrals])
    text += section("SCEE_SCALE_FACTOR", reals, [1.0] * len(m.dihedrals))
    text += section("SCNB_SCALE_FACTOR", reals, [1.0] * len(m.dihedrals))
    text += section("CHARMM_NUM_IMPROPERS", ints, [len(m.impropers)])
    text += section("CHARMM_IMPROPERS", ints, [v for q, p in enumerate(m.impropers) for v in [a + 1 for a in p[:4]] + [q + 1]])
    text += section("CHARMM_NUM_IMPR_TYPES", ("1I8", 1, "%8d"), [len(m.impropers)])
    text += section("CHARMM_IMPROPER_FORCE_CONSTANT", reals, [p[4] for p in m.impropers])
    text += section("CHARMM_IMPROPER_PHASE", reals, [math.radians(p[5]) for p in m.impropers])
    for name, fourteen in (("", False), ("14_", True)):
        both = [m.lj(*pair, fourteen) for _, pair in order]
        text += section(f"LENNARD_JONES_{name}ACOEF", reals, [c[0] for c in both])
        text += section(f"LENNARD_JONES_{name}BCOEF", reals, [c[1] for c in both])
    text += section("BONDS_INC_HYDROGEN", ints, rows(bh, m.bonds, 2)) + section("BONDS_WITHOUT_HYDROGEN", ints, rows(b0, m.bonds, 2))
    text += section("ANGLES_INC_HYDROGEN", ints, rows(ah, m.angles, 3))
    text += section("ANGLES_WITHOUT_HYDROGEN", ints, rows(a0, m.angles, 3))
    text += section("DIHEDRALS_INC_HYDROGEN", ints, dihedral_rows(dh)) + section("DIHEDRALS_WITHOUT_HYDROGEN", ints, dihedral_rows(d0))
    text += section(prefix + "CMAP_COUNT", ("2I8", 2, "%8d"), [1, 1]) + section(prefix + "CMAP_RESOLUTION", ("20I4", 20, "%4d"), [GRID])
    text += section(prefix + "CMAP_PARAMETER_01", ("8(F9.5)", 8, "%9.5f"), m.grid)
    text += section(prefix + "CMAP_INDEX", ("6I8", 6, "%8d"), [1, 2, 3, 4, 5, 1])
    open(path, "w").write(text + extra)


def write_coordinates(m, gro, inpcrd):
    with open(gro, "w") as f:
        f.write(f"test\n{m.n}\n")
        for i, x in enumerate(m.x):
            f.write("%5d%-5s%5s%5d" % (1, "MOL", NAMES[i], i + 1) + "".join("%10.5f" % (c / 10) for c in x) + "\n")
        f.write("0 0 0\n")
    with open(inpcrd, "w") as f:
        f.write(f"test\n{m.n:5d}\n")
        flat = [c for x in m.x for c in x]
        f.write("".join("%12.7f" % c + ("\n" if k % 6 == 5 else "") for k, c in enumerate(flat)) + ("\n" if len(flat) % 6 else ""))


# ------------------------------------------------------------------------------------------- closed forms

def sub(a, b):
    return [p - q for p, q in zip(a, b)]


def dot(a, b):
    return sum(p * q for p, q in zip(a, b))


def cross(a, b):
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def dihedral(x, i, j, k, l):
    u, v, w = sub(x[j], x[i]), sub(x[k], x[j]), sub(x[l], x[k])
    a, b = cross(u, v), cross(v, w)
    return math.atan2(dot(cross(a, b), v) / math.sqrt(dot(v, v)), dot(a, b))


def closed_forms(m):
    """Energies that need no map, kJ/mol, from the molecule in its own units."""
    x = m.x
    r = lambda i, j: math.sqrt(dot(sub(x[i], x[j]), sub(x[i], x[j])))
    e = {"bond": sum(k * (r(a, b) - r0) ** 2 for a, b, k, r0 in m.bonds) * KCAL, "urey_bradley_angle": 0.0}
    for q, (i, j, k, f, t) in enumerate(m.angles):
        u, v = sub(x[i], x[j]), sub(x[k], x[j])
        theta = math.acos(dot(u, v) / math.sqrt(dot(u, u) * dot(v, v)))
        ub = m.ub.get(q, (0.0, 0.0))
        e["urey_bradley_angle"] += (f * (theta - math.radians(t)) ** 2 + ub[0] * (r(i, k) - ub[1]) ** 2) * KCAL
    e["proper"] = sum(f * (1 + math.cos(n * dihedral(x, i, j, k, l) - math.radians(p)))
                      for i, j, k, l, f, n, p in m.dihedrals) * KCAL
    turn = lambda a: (a + math.pi) % (2 * math.pi) - math.pi
    e["improper"] = sum(f * turn(dihedral(x, i, j, k, l) - math.radians(p)) ** 2 for i, j, k, l, f, p in m.impropers) * KCAL

    def lj(i, j, fourteen):
        a, b = m.lj(TYPES[i], TYPES[j], fourteen)
        return (a / r(i, j) ** 12 - b / r(i, j) ** 6) * KCAL

    coulomb = lambda i, j: COULOMB * m.charge[i] * m.charge[j] / (r(i, j) / 10)
    free = [(i, j) for i in range(m.n) for j in range(i + 1, m.n) if (i, j) not in m.excluded]
    e["lj14"] = sum(lj(i, j, True) for i, j in m.pairs)
    e["coul14"] = sum(coulomb(i, j) for i, j in m.pairs)
    e["lj_sr"] = sum(lj(i, j, False) for i, j in free)
    e["coul_sr"] = sum(coulomb(i, j) for i, j in free)
    return e


# ---------------------------------------------------------------------------------------------------- runs

def energy(directory, name, topology, coordinates):
    """Energies and forces of one input; exit code and message if it fails."""
    conf = os.path.join(directory, name + ".conf")
    open(conf, "w").write(f'''system = {{ topology = "{topology}"; coordinates = "{coordinates}"; box = "none"; }};
nonbonded = {{ cutoff = 0.0; lj_modifier = "none"; coulomb = "cutoff"; coulomb_modifier = "none"; tail_correction = false; }};
constraints = {{ kind = "none"; rigid_water = false; }};
backend = {{ kind = "ref"; }};
''')
    result, forces = os.path.join(directory, name + ".json"), os.path.join(directory, name + ".npy")
    run = subprocess.run([os.environ["MDSIM"], "energy", conf, "--json", result, "--forces", forces], capture_output=True, text=True)
    if run.returncode:
        return run.returncode, run.stderr
    return json.load(open(result))["energies"], read_npy(forces)


def read_npy(path):
    data = open(path, "rb").read()
    start = 10 + struct.unpack("<H", data[8:10])[0]
    return struct.unpack(f"<{(len(data) - start) // 8}d", data[start:])


def main():
    if not os.environ.get("MDSIM"):
        print("skipped: MDSIM is not set")
        return 77
    failures, checks = [], 0

    def near(what, got, want, scale):
        nonlocal checks
        checks += 1
        if not abs(got - want) <= TOLERANCE * scale:
            failures.append(f"{what}: {got!r} and {want!r} differ by {abs(got - want):.3g}, allowed {TOLERANCE * scale:.3g}")

    m = Molecule()
    with tempfile.TemporaryDirectory() as directory:
        here = lambda name: os.path.join(directory, name)
        write_top(m, here("topol.top"))
        write_prmtop(m, here("chamber.prmtop"))
        write_prmtop(m, here("ff19sb.prmtop"), prefix="")
        write_prmtop(m, here("unknown.prmtop"), extra=section("CHARMM_DRUDE_ALPHA", ("5E16.8", 5, "%16.8E"), [1.0]))
        write_coordinates(m, here("conf.gro"), here("conf.inpcrd"))
        top, f_top = energy(directory, "top", "topol.top", "conf.gro")
        if not isinstance(top, dict):
            print(f"mdsim energy of the .top failed with {top}: {f_top}")
            return 1
        f_scale = math.sqrt(sum(f * f for f in f_top) / m.n)
        want = closed_forms(m)
        for name, value in want.items():
            near(f".top {name} against its closed form", top[name], value, abs(value))
        if abs(top["cmap"]) < 0.1:
            failures.append(f"the CMAP energy {top['cmap']} is too small to show anything")
        for kind in ("chamber", "ff19sb"):
            got, f_got = energy(directory, kind, kind + ".prmtop", "conf.inpcrd")
            if not isinstance(got, dict):
                print(f"mdsim energy of {kind}.prmtop failed with {got}: {f_got}")
                return 1
            for name in sorted(set(top) | set(got)):
                near(f"{kind} {name}", got.get(name, 0.0), top.get(name, 0.0), max(abs(top.get(name, 0.0)), 1e-3))
            for k, (a, b) in enumerate(zip(f_got, f_top)):
                near(f"{kind} force {'xyz'[k % 3]} of atom {k // 3 + 1}", a, b, f_scale)
        code, message = energy(directory, "unknown", "unknown.prmtop", "conf.inpcrd")
        checks += 1
        if code != 65 or "CHARMM_DRUDE_ALPHA" not in str(message):
            failures.append(f"an unknown section gave {code}: {message}")
    for line in failures[:20]:
        print(line, file=sys.stderr)
    print(f"{checks} checks, {len(failures)} failures")
    return 1 if failures or not checks else 0


if __name__ == "__main__":
    sys.exit(main())
