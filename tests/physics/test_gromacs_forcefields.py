# SPDX-License-Identifier: Apache-2.0
"""Force fields of the GROMACS distribution, read from their own files, against gmx_d: a 16-residue peptide each.

pdb2gmx writes a topology without parameters; everything comes from share/gromacs/top through includes, macros and
look-ups by type: wildcards and several lines a dihedral (AMBER), CMAP and Urey-Bradley (CHARMM), opls_ names with bonded
types (OPLS), macros, G96 bonds and angles and united atoms (GROMOS). Peptide: ../shared/systems/villin, skipped without.

Tolerances: both programs are double and differ by 2.6e-9 in Coulomb's constant; GROMACS interpolates 1-4 pairs in a table
(some 1e-7). Potential to 1e-7 of its parts, forces to 1e-6 of the largest. cpu and emu: float pair forces, 2e-5.
"""
import os
import shutil
import sys
import tempfile

from gmx_double import GMX, gromacs, mdsim, np, run

CUTOFF = 4.4  # nm: more than the peptide is long, less than half the box
FIELDS = ["amber03", "amber94", "amber99sb-ildn", "amberGS", "charmm27", "oplsaa", "gromos43a1", "gromos53a6", "gromos54a7"]
BACKENDS = [(name, {"ref": 1e-6, "cpu": 2e-5, "emu": 2e-5}[name]) for name in sys.argv[1:] or ("ref", "cpu")]


def main():
    source = os.path.join(os.environ.get("MDS_SHARED", ""), "systems/villin/conf.gro")
    share = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(GMX))), "share/gromacs/top")
    fields = [f for f in FIELDS if os.path.isdir(f"{share}/{f}.ff")]
    if not os.path.exists(source) or not fields:
        print(f"skipped: no {source}" if fields else f"skipped: no force fields in {share}")
        return 77
    bad = 0
    for field in fields:
        with tempfile.TemporaryDirectory() as folder:
            run([GMX, "pdb2gmx", "-f", source, "-ff", field, "-water", "none", "-ignh", "-o", "made.gro", "-p", "topol.top"],
                folder)
            run([GMX, "editconf", "-f", "made.gro", "-o", "conf.gro", "-box", "9", "9", "9"], folder)
            shutil.copy(f"{folder}/conf.gro", f"{folder}/ref.gro")
            want, want_f = gromacs(folder, CUTOFF)
            for backend, tolerance in BACKENDS:
                got, f = mdsim(folder, CUTOFF, backend)
                parts = sum(abs(v) for k, v in got.items() if k not in ("potential", "coulomb"))
                off = abs(got["potential"] - want) / parts
                off_f = np.abs(f - want_f).max() / np.abs(want_f).max()
                good = off < max(1e-7, tolerance / 10) and off_f < tolerance
                bad += not good
                print(f"{'ok ' if good else 'BAD'} {field}, {backend}: {len(f)} atoms, potential {got['potential']:.8g}, "
                      f"GROMACS {want:.8g}, off by {off:.1e} of the parts; forces off by {off_f:.1e}")
    return 1 if bad else 0


sys.exit(main())
