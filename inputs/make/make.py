#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Make every file of inputs/ anew: topologies, coordinates, AMBER files.

    make.py [argon] [water] [salt] [dipeptide] [peptide]      (default: all)

Starts are lattices and ideal internal coordinates from a fixed seed; GROMACS then minimises them and runs a short
NVT and NPT at 1 bar (relax.py). Needs numpy and gmx. Topologies are the same bytes each time;
coordinates come out of an MD run and are the same on the same machine and build only.
"""
import argparse
import os

import numpy as np

import relax
from forcefield import HERE, Molecule, Parameters
from geometry import fcc, peptide, solvate, write_gro
from topology import Prmtop, write_inpcrd, write_top

INPUTS = os.path.normpath(os.path.join(HERE, ".."))
ARGON_TOP = """\
; Liquid argon: sigma 0.34 nm, epsilon/k = 120 K (Rahman 1964).

[ defaults ]
; kind (1: Lennard-Jones)  combination rule (2: Lorentz-Berthelot)
1  2

[ atomtypes ]
; name  element  mass  charge  kind  sigma  epsilon
Ar  18  39.948  0  A  0.34  0.9977355

[ moleculetype ]
AR  1

[ atoms ]
1  Ar  1  AR  AR  1  0  39.948

[ system ]
argon

[ molecules ]
AR  {n}
"""


def finish(folder, name, title, rows, x, v, box, molecules):
    """Write the .gro: 3 decimals, whole molecules, each centred in the box."""
    shift = np.zeros_like(x)
    for first, last in molecules:
        shift[first:last] = np.floor(x[first:last].mean(0) / box) * box
    x = np.round(x - shift, 3)
    write_gro(os.path.join(INPUTS, folder, name + ".gro"), title, rows, x, v, box)
    return x


def make_argon():
    m, density, mass = 8, 1374.0, 39.948
    n = 4 * m ** 3
    edge = (n * mass * 1.66053906660 / density) ** (1 / 3)
    with open(os.path.join(INPUTS, "argon", "argon.top"), "w") as out:
        out.write(ARGON_TOP.format(n=n))
    rows = [(k + 1, "AR", "AR") for k in range(n)]
    x, v, box = relax.relax("argon", rows, fcc(m, edge), [edge] * 3, os.path.join(INPUTS, "argon", "argon.top"),
                            temperature=94.4, nvt_ps=20, npt_ps=0)
    finish("argon", "argon", "liquid argon, 94.4 K, 1374 kg/m3 (Rahman 1964)", rows, x, v, box, [(k, k + 1) for k in range(n)])


def make_solution(folder, title, molecule, solute, edge, n_waters, n_pairs, nvt_ps, npt_ps, head):
    """A solute (or none) in water and ions. Returns x, box, topology counts."""
    waters, sodium, chloride = solvate(solute, edge, n_waters, n_pairs, seed=1)
    x = np.concatenate([solute.reshape(-1, 3), waters.reshape(-1, 3), sodium.reshape(-1, 3), chloride.reshape(-1, 3)])
    counts = ([(molecule.name, 1)] if molecule else []) + [("SOL", n_waters)]
    counts += [("NA", n_pairs), ("CL", n_pairs)] if n_pairs else []
    rows, molecules, residue = [], [], 0
    if molecule:
        rows = [(r + 1, res, name) for r, res, name, _, _ in molecule.atoms]
        molecules, residue = [(0, len(rows))], len(molecule.sequence)
    for k in range(n_waters):
        molecules.append((len(rows), len(rows) + 3))
        rows += [(residue + k + 1, "SOL", a) for a in ("OW", "HW1", "HW2")]
    for name in ["NA"] * n_pairs + ["CL"] * n_pairs:
        molecules.append((len(rows), len(rows) + 1))
        rows.append((rows[-1][0] + 1, name, name))
    top = os.path.join(INPUTS, folder, folder + ".top")
    write_top(top, title, molecule, counts, head)
    x, v, box = relax.relax(folder, rows, x, [edge] * 3, top, temperature=300, nvt_ps=nvt_ps, npt_ps=npt_ps,
                            n_solute=len(solute))
    return finish(folder, folder, title, rows, x, v, box, molecules), box


def make_water():
    make_solution("water", "TIP3P water", None, np.zeros((0, 3)), 3.13, 1000, 0, 20, 50,
                  ["Rigid TIP3P water."])


def make_salt():
    make_solution("salt", "0.15 mol/l sodium chloride", None, np.zeros((0, 3)), 3.58, 1462, 4, 20, 50,
                  ["Sodium chloride, 0.15 mol/l, in rigid TIP3P water."])


def make_dipeptide():
    m = Molecule("dipeptide", ["ACE", "ALA", "NME"])
    edge, n_waters = 2.85, 740
    x = peptide(m, -75, 145)
    x += edge / 2 - x.mean(0)
    x, box = make_solution("dipeptide", "alanine dipeptide in water", m, x, edge, n_waters, 0, 20, 50,
                           ["Alanine dipeptide, ACE-ALA-NME, in TIP3P water: AMBER ff99SB in GROMACS' form.",
                            "dipeptide.prmtop and dipeptide.inpcrd are the same system in AMBER's form."])
    box = np.round(box, 5)
    folder = os.path.join(INPUTS, "dipeptide")
    Prmtop(m, Parameters(), n_waters).write(os.path.join(folder, "dipeptide.prmtop"), "alanine dipeptide in water", box)
    write_inpcrd(os.path.join(folder, "dipeptide.inpcrd"), "alanine dipeptide in water", x, box)


def make_peptide():
    m = Molecule("peptide", ["ACE"] + ["ALA", "ALA", "GLN", "ALA", "ALA"] * 3 + ["NH2"])
    edge, n_waters, n_pairs = 4.66, 3268, 9
    x = peptide(m, -60, -45)
    axes = np.linalg.svd(x - x.mean(0))[2]  # long axis along x
    axes[2] = np.cross(axes[0], axes[1])    # a rotation, never a mirror image
    x = (x - x.mean(0)) @ axes.T + edge / 2
    make_solution("peptide", "Ace-(AAQAA)3-NH2 helix in 0.15 mol/l NaCl", m, x, edge, n_waters, n_pairs, 10, 40,
                  ["Ace-(AAQAA)3-NH2, a helix of 15 residues, in TIP3P water and 0.15 mol/l NaCl: AMBER ff99SB."])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("systems", nargs="*")
    args = parser.parse_args()
    makers = {"argon": make_argon, "water": make_water, "salt": make_salt, "dipeptide": make_dipeptide,
              "peptide": make_peptide}
    for name in args.systems or makers:
        os.makedirs(os.path.join(INPUTS, name), exist_ok=True)
        makers[name]()
        print(name, "made")


if __name__ == "__main__":
    main()
