# SPDX-License-Identifier: Apache-2.0
"""Function types of GROMACS topologies against GROMACS itself, in double precision, at test time.

Small molecules, one a case, stand in a row further apart than the cut-off, so that one run of gmx_d judges many
cases and the forces say which one is wrong. Skipped with a notice where gmx_d is not installed.

Tolerances: both programs are double. Coulomb's constant differs by 2.6e-9 (138.935458 here, CODATA there), so forces
agree to 1e-8 of the largest force of the molecule and the potential to 1e-7 of the sum of its parts' magnitudes. GROMACS
interpolates 1-4 pairs in a table (500 points/nm in double: some 1e-7), so molecules with pairs are held to 2e-6.
The cpu and the (emulated) GPU backend work with float pair forces: 2e-5 of the largest force.
"""
import random
import sys
import tempfile

from gmx_double import gromacs, mdsim, np

BACKENDS = [(name, {"ref": 1e-8, "cpu": 2e-5, "emu": 2e-5}[name]) for name in sys.argv[1:] or ("ref", "cpu")]
SPACING, WIDTH, CUTOFF = 6.0, 5.0, 2.0  # nm: molecules are smaller than 1 nm

ATOMTYPES_SIGMA = """
[ atomtypes ]
CA  CX  6  12.011  0.0  A  0.34  0.36
OA  OX  8  15.999  0.0  A  0.30  0.88
HA  HX  1   1.008  0.0  A  0.11  0.06
NA  NX  7  14.007  0.0  A  0.32  0.71
GG  GX  6  12.011  0.0  A -0.30  0.50
MW  MX  0   0.000  0.0  V  0.00  0.00
"""
ATOMTYPES_C6 = """
[ atomtypes ]
CA  CX  6  12.011  0.0  A  2.2e-3  3.4e-6
OA  OX  8  15.999  0.0  A  2.6e-3  1.9e-6
HA  HX  1   1.008  0.0  A  0.0     1.0e-9
NA  NX  7  14.007  0.0  A  3.0e-3  3.3e-6
MW  MX  0   0.000  0.0  V  0.0     0.0
"""
BONDED = """
#define gb_1 0.12 9.0e4
#define ga_1  108.0   520.0
[ bondtypes ]
CX OX 1 gb_1
HX CX 1 0.11 2.9e5
[ angletypes ]
CX OX NX 1 ga_1
[ dihedraltypes ]
X  CX OX X   9  10.0 4.0 2
X  CX OX NX  9  20.0 3.0 3
X  CX OX NX  9  50.0 1.5 1
HX CX OX NX  9 170.0 2.5 4
OX NX 1 33.0 2.0 2
OX HX 2 12.0 80.0
X  CX OX X   3  1.0 -2.0 3.0 -4.0 5.0 -6.0
X  X  NX OX  4 180.0 4.6 2
"""


def chain(*types):
    """[ atoms ] of a chain with charges that do not cancel."""
    charge = [0.31, -0.47, 0.22, -0.35, 0.41, -0.12, 0.2]
    mass = {"CA": 12.011, "OA": 15.999, "HA": 1.008, "NA": 14.007, "GG": 12.011, "MW": 0.0}
    return "[ atoms ]\n" + "".join(
        f"{k + 1} {t} 1 MOL {t[0]}{k + 1} 1 {charge[k]} {mass[t]}\n" for k, t in enumerate(types))


ABCD = ("HA", "CA", "OA", "NA")
SITE = ABCD + ("MW", "OA")  # the last atom sees the site, which sees none of its own
LINKS = "[ bonds ]\n1 2 5\n2 3 5\n3 4 5\n"


def site(section):
    return 3, SITE, LINKS + section + "[ exclusions ]\n5 1 2 3 4\n"


# name: (nrexcl, atom types, sections)
CASES_RULE2 = {
    "bond 1, macro and types": (3, ABCD, "[ bonds ]\n1 2\n2 3 1\n3 4 1 gb_1\n"),
    "bond 2 (G96)": (3, ABCD, "[ bonds ]\n1 2 2 0.11 5.0e6\n2 3 2 0.14 7.0e6\n3 4 2 0.13 4e6\n"),
    "bond 3 (Morse)": (3, ABCD, "[ bonds ]\n1 2 3 0.11 400 18\n2 3 3 0.14 300 20\n3 4 3 0.13 350 25\n"),
    "bond 5 (exclusions only)": (2, ABCD, LINKS),
    "bond 6 (no exclusions)": (3, ABCD, "[ bonds ]\n1 2 6 0.2 4000\n1 3 6 0.3 2000\n"),
    "nrexcl 1": (1, ABCD, LINKS),
    "nrexcl 0": (0, ABCD, LINKS),
    "explicit exclusions": (0, ABCD, "[ exclusions ]\n1 2 3\n4 2\n"),
    "angle 1": (3, ABCD, LINKS + "[ angles ]\n1 2 3 1 104 300\n2 3 4\n"),
    "angle 2 (G96)": (3, ABCD, LINKS + "[ angles ]\n1 2 3 2 104 300\n2 3 4 2 120 500\n"),
    "angle 5 (Urey-Bradley)": (3, ABCD, LINKS + "[ angles ]\n1 2 3 5 104 300 0.22 9000\n2 3 4 5 110 400 0.23 0\n"),
    "dihedral 1": (3, ABCD, LINKS + "[ dihedrals ]\n1 2 3 4 1 33 7 3\n1 2 3 4 1 180 4 0\n"),
    "dihedral 9 from types": (3, ABCD, LINKS + "[ dihedrals ]\n1 2 3 4 9\n"),
    "dihedral 9, two lines of a type": (3, ("NA", "CA", "OA", "NA"), LINKS + "[ dihedrals ]\n1 2 3 4 9\n"),
    "dihedral 9, wildcards, backwards": (3, ("CA", "OA", "CA", "CA"), LINKS + "[ dihedrals ]\n1 2 3 4 9\n"),
    "dihedral 2 (improper)": (3, ABCD, LINKS + "[ dihedrals ]\n1 2 3 4 2 35 90\n2 1 3 4 2 -170 60\n"),
    "dihedral 2 from two types": (3, ("OA", "CA", "NA", "HA"), LINKS + "[ dihedrals ]\n1 2 3 4 2\n"),
    "dihedral 3 (RB)": (3, ABCD, LINKS + "[ dihedrals ]\n1 2 3 4 3\n1 2 3 4 3 1 2 3 -4 -5 6\n"),
    "dihedral 4": (3, ("HA", "CA", "NA", "OA"), LINKS + "[ dihedrals ]\n1 2 3 4 4\n"),
    "dihedral 5 (Fourier)": (3, ABCD, LINKS + "[ dihedrals ]\n1 2 3 4 5 3.1 -2.2 4.3 1.4\n"),
    "pairs 1, generated": (3, ABCD, LINKS + "[ pairs ]\n1 4\n1 3\n"),
    "pairs 1, own": (3, ABCD, LINKS + "[ pairs ]\n1 4 1 0.25 0.8\n"),
    "pairs 1, pairtypes and NBFIX": (3, ("CA", "CA", "OA", "OA"), LINKS + "[ pairs ]\n1 4 1\n1 3 1\n"),
    "pairs 2": (3, ABCD, LINKS + "[ pairs ]\n1 4 2 0.7 0.9 -0.4 0.28 0.6\n2 4 2 0.5 1 1 0.2 0.1\n"),
    "NBFIX between molecules": (0, ("CA", "OA", "OA", "CA"), ""),
    "negative sigma": (0, ("GG", "OA", "GG", "CA"), "[ exclusions ]\n1 2\n"),
    "position restraints": (3, ABCD, LINKS + "[ position_restraints ]\n1 1 1000 2000 500\n3 1 100 0 700\n"),
    "virtual_sites2 1": site("[ virtual_sites2 ]\n5 2 3 1 0.3\n"),
    "virtual_sites2 2 (2FD)": site("[ virtual_sites2 ]\n5 2 3 2 0.09\n"),
    "virtual_sites3 1": site("[ virtual_sites3 ]\n5 2 1 3 1 0.2 0.35\n"),
    "virtual_sites3 2 (3FD)": site("[ virtual_sites3 ]\n5 2 1 3 2 0.4 -0.105\n"),
    "virtual_sites3 3 (3FAD)": site("[ virtual_sites3 ]\n5 2 3 4 3 117 0.11\n"),
    "virtual_sites3 4 (3OUT)": site("[ virtual_sites3 ]\n5 2 1 3 4 -0.3 -0.25 5.5\n"),
    "virtual_sites3 4 (3OUT), negative": site("[ virtual_sites3 ]\n5 2 1 3 -4 -0.3 -0.25 5.5\n"),
    "virtual_sites4 2 (4FDN)": site("[ virtual_sites4 ]\n5 2 1 3 4 2 1.1 0.9 0.105\n"),
    "virtual_sitesn 1": site("[ virtual_sitesn ]\n5 1 1 2 4\n"),
    "virtual_sitesn 2": site("[ virtual_sitesn ]\n5 2 1 2 3\n"),
    "virtual_sitesn 3": site("[ virtual_sitesn ]\n5 3 1 0.4 2 1.2 4 0.9\n"),
}
CASES_PAIRS = {
    "generated pairs": (3, ABCD, LINKS + "[ pairs ]\n1 4\n2 4\n"),
    "NBFIX in generated pairs": (3, ("CA", "CA", "OA", "OA"), LINKS + "[ pairs ]\n1 4\n1 2\n"),
    "non-bonded": (0, ("CA", "OA", "NA", "CA"), "[ exclusions ]\n1 2\n"),
    "pairs 2": (3, ABCD, LINKS + "[ pairs ]\n1 4 2 0.7 0.9 -0.4 1e-3 1e-6\n"),
}
CASES_CONSTRAINTS = {
    "constraints 1": (2, ABCD, "[ constraints ]\n1 2 1 0.12\n2 3\n3 4 1 0.15\n"),
    "constraints 2 (no exclusions)": (2, ABCD, "[ constraints ]\n1 2 2 0.12\n3 4 1 0.15\n"),
    "settles or flexible": (2, ("OA", "HA", "HA"), "#ifdef FLEXIBLE\n[ bonds ]\n1 2 1 0.1 3e5\n1 3 1 0.1 3e5\n"
                          "[ angles ]\n2 1 3 1 109 400\n#else\n[ settles ]\n1 1 0.1 0.16\n#endif\n"),
}


def positions(n, rng):
    """A bent chain with links of 0.12 to 0.16 nm, near the origin; not planar, nothing special."""
    x = [np.array([0.5, 2.0, 2.0])]
    step = np.array([1.0, 0.2, 0.1])
    for _ in range(n - 1):
        for _ in range(1000):
            turn = np.array([rng.gauss(0, 1) for _ in range(3)])
            step = step + turn / np.linalg.norm(turn)
            step = step / np.linalg.norm(step) * rng.uniform(0.12, 0.16)
            if all(np.linalg.norm(x[-1] + step - y) > 0.11 for y in x):
                break
        x.append(x[-1] + step)
    return np.round(np.array(x), 6)


def write_gro(path, x, names, box):
    with open(path, "w") as f:
        f.write(f"terms\n{len(x)}\n")
        for k, (r, (residue, name)) in enumerate(zip(x, names)):
            f.write("%5d%-5s%5s%5d" % (residue, "MOL", name, (k + 1) % 100000) + "".join("%11.6f" % c for c in r) + "\n")
        f.write("%.6f %.6f %.6f\n" % tuple(box))


def write_system(folder, head, cases, seed):
    """topol.top, conf.gro and ref.gro with one molecule of each case; the atom ranges of the cases."""
    rng = random.Random(seed)
    x, names, ranges = [], [], []
    with open(f"{folder}/topol.top", "w") as f:
        f.write(head)
        for k, (nrexcl, types, sections) in enumerate(cases.values()):
            f.write(f"[ moleculetype ]\nM{k} {nrexcl}\n{chain(*types)}{sections}\n")
            at = positions(len(types), rng)
            at[:, 0] += SPACING * k
            ranges.append((len(x), len(x) + len(types)))
            x += list(at)
            names += [(k + 1, f"{t[0]}{m + 1}") for m, t in enumerate(types)]
        f.write("[ system ]\nterms\n[ molecules ]\n" + "".join(f"M{k} 1\n" for k in range(len(cases))))
    box = [SPACING * len(cases), WIDTH, WIDTH]
    write_gro(f"{folder}/conf.gro", x, names, box)
    moved = [r + np.round([rng.uniform(-0.05, 0.05) for _ in range(3)], 6) for r in x]
    write_gro(f"{folder}/ref.gro", moved, names, box)
    return ranges


def compare(title, head, cases, seed, continuation="no", defines=()):
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        ranges = write_system(folder, head, cases, seed)
        want, want_f = gromacs(folder, CUTOFF, continuation, defines)
        for backend, tolerance in BACKENDS:
            got, f = mdsim(folder, CUTOFF, backend, defines)
            parts = sum(abs(v) for k, v in got.items() if k not in ("potential", "coulomb")) + 1
            off = abs(got["potential"] - want) / parts
            print(f"{title}, {backend}: potential {got['potential']:.9g}, GROMACS {want:.9g}, off by {off:.1e} of the parts")
            bad += not off < max(tolerance, 1e-7)
            for (name, _), (first, last) in zip(cases.items(), ranges):
                scale = np.abs(want_f[first:last]).max()
                off = np.abs(f[first:last] - want_f[first:last]).max() / scale
                good = off < max(tolerance, 2e-6 if "pairs" in name else 0) and scale > 1
                bad += not good
                print(f"  {'ok ' if good else 'BAD'} {name}: forces up to {scale:.4g}, off by {off:.1e} of that")
    return bad


def main():
    nbfix = "[ nonbond_params ]\nCA OA 1 0.31 1.4\n"
    bad = compare("rule 2", "[ defaults ]\n1 2 yes 0.5 0.8333\n" + ATOMTYPES_SIGMA + nbfix +
                  "[ pairtypes ]\nCA CA 1 0.3 0.2\n" + BONDED, CASES_RULE2, 1)
    bad += compare("rule 3", "[ defaults ]\n1 3 yes 0.5 0.5\n" + ATOMTYPES_SIGMA + nbfix + BONDED,
                   {k: CASES_RULE2[k] for k in ("pairs 1, generated", "negative sigma", "pairs 1, own", "pairs 2",
                                                "NBFIX between molecules", "pairs 1, pairtypes and NBFIX")}, 2)
    bad += compare("rule 1", "[ defaults ]\n1 1 yes 0.25 0.7\n" + ATOMTYPES_C6 + "[ nonbond_params ]\nCA OA 1 5e-3 4e-6\n" +
                   BONDED, CASES_PAIRS, 3)
    every = "".join(f"{a} {b} 1 {1e-3 + 1e-4 * k:g} {1e-6 + 2e-7 * k:g}\n" for k, (a, b) in enumerate(
        [("HA", "NA"), ("CA", "NA"), ("CA", "OA"), ("CA", "CA"), ("HA", "CA")]))
    bad += compare("no gen-pairs", "[ defaults ]\n1 1 no 1 1\n" + ATOMTYPES_C6 + "[ pairtypes ]\n" + every + BONDED,
                   CASES_PAIRS, 4)
    bad += compare("constraints", "[ defaults ]\n1 2 yes 0.5 0.8333\n" + ATOMTYPES_SIGMA +
                   "[ constrainttypes ]\nCX OX 1 0.14\n", CASES_CONSTRAINTS, 5, continuation="yes")
    bad += compare("flexible", "[ defaults ]\n1 2 yes 0.5 0.8333\n" + ATOMTYPES_SIGMA,
                   {"settles or flexible": CASES_CONSTRAINTS["settles or flexible"]}, 6, defines=["FLEXIBLE"])
    print("all as GROMACS has them" if not bad else f"{bad} differences")
    return 1 if bad else 0


sys.exit(main())
