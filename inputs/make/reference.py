#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reference numbers for inputs/: energies, virial and forces by GROMACS in double precision (gmx_d).

    reference.py [system ...]        writes tests/reference/SYSTEM.json

Two cases: `tight` (plain cut-offs, a nearly converged Ewald sum) and `shifted` (potential shift, tail correction, an
everyday mesh). GROMACS runs step 0 with no constraints and the water's [ settles ] left out, so that neither
forces nor virial hold constraint forces. The virial is Xi = -1/2 sum r (x) f. Needs gmx_d and numpy.
"""
import datetime
import json
import math
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

import numpy as np

from forcefield import HERE
from geometry import read_gro

INPUTS = os.path.normpath(os.path.join(HERE, ".."))
OUT = os.path.normpath(os.path.join(INPUTS, "..", "tests", "reference"))
SYSTEMS = ["argon", "water", "salt", "dipeptide", "peptide"]
TERMS = {"Bond": "bond", "Angle": "angle", "Proper Dih.": "proper", "Per. Imp. Dih.": "periodic_improper",
         "Improper Dih.": "periodic_improper", "LJ-14": "lj14", "Coulomb-14": "coul14", "LJ (SR)": "lj_sr",
         "Disper. corr.": "disp_corr", "Coulomb (SR)": "coul_sr", "Coul. recip.": "coul_recip", "Potential": "potential"}
MDP = """
integrator = md
nsteps = 0
nstcalcenergy = 1
nstenergy = 1
nstfout = 1
cutoff-scheme = Verlet
verlet-buffer-tolerance = -1
nstlist = 1
rlist = {cutoff}
rcoulomb = {cutoff}
rvdw = {cutoff}
vdw-modifier = {modifier}
coulomb-modifier = {modifier}
DispCorr = {tail}
constraints = none
continuation = yes
comm-mode = None
"""
PME = """
coulombtype = PME
ewald-rtol = {rtol}
pme-order = {order}
fourier-nx = {grid[0]}
fourier-ny = {grid[1]}
fourier-nz = {grid[2]}
"""


def beta_of(rtol, cutoff):
    """beta with erfc(beta cutoff) = rtol, by halving, 1/nm."""
    low, high = 0.0, 20.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if math.erfc(middle * cutoff) > rtol else (low, middle)
    return low


def grid_of(box, spacing):
    def smooth(n):
        for p in (2, 3, 5):
            while n % p == 0:
                n //= p
        return n == 1
    return [next(n for n in range(math.ceil(b / spacing), 10000) if smooth(n) and n % 2 == 0) for b in box]


def run(command, cwd, stdin=None):
    done = subprocess.run(command, cwd=cwd, input=stdin, text=True, capture_output=True,
                          env=dict(os.environ, GMX_MAXBACKUP="-1", OMP_NUM_THREADS="1"))
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} in {cwd}:\n{done.stderr[-3000:]}")
    return done.stdout


def read_forces(path):
    """Forces of the last frame of a double-precision .trr (XDR: magic 1993, then thirteen integers)."""
    data = open(path, "rb").read()
    at, forces = 0, None
    while at < len(data):
        length, = struct.unpack_from(">i", data, at + 8)
        at += 12 + (length + 3) // 4 * 4
        sizes = struct.unpack_from(">13i", data, at)
        at += 52 + 16  # the integers, then time and lambda in double
        for name, size in zip(("ir", "e", "box", "vir", "pres", "top", "sym", "x", "v", "f"), sizes[:10]):
            if name == "f" and size:
                assert size == sizes[10] * 3 * 8, "not double precision"
                forces = np.frombuffer(data, ">f8", size // 8, at).reshape(-1, 3).astype(float)
            at += size
    return forces


def one_case(work, name, settings, charged):
    mdp = MDP.format(**settings) + (PME.format(**settings) if charged else "coulombtype = Cut-off\n")
    with open(os.path.join(work, "ref.mdp"), "w") as out:
        out.write(mdp)
    run(["gmx_d", "grompp", "-f", "ref.mdp", "-c", f"{name}/{name}.gro", "-p", f"{name}/{name}.top", "-o", "ref.tpr",
         "-maxwarn", "20"], work)
    run(["gmx_d", "mdrun", "-s", "ref.tpr", "-deffnm", "ref", "-ntmpi", "1", "-ntomp", "1", "-pin", "off", "-reprod"], work)
    run(["gmx_d", "energy", "-f", "ref.edr", "-o", "ref.xvg", "-dp"], work, "\n".join(map(str, range(1, 60))) + "\n\n")
    labels, values = [], []
    for line in open(os.path.join(work, "ref.xvg")):
        found = re.match(r'@ s\d+ legend "(.*)"', line)
        if found:
            labels.append(found.group(1))
        elif line[0] not in "#@":
            values = [float(t) for t in line.split()[1:]]
    got = dict(zip(labels, values))
    energies = {}
    for label, term in TERMS.items():
        if label in got:
            energies[term] = energies.get(term, 0.0) + got[label]
    virial = [[got[f"Vir-{a}{b}"] for b in "XYZ"] for a in "XYZ"]
    return energies, virial, read_forces(os.path.join(work, "ref.trr"))


def make(name):
    work = tempfile.mkdtemp(prefix="mdsim-reference-")
    for folder in (name, "forcefield"):
        shutil.copytree(os.path.join(INPUTS, folder), os.path.join(work, folder))
    water = os.path.join(work, "forcefield", "tip3p.itp")
    text = re.sub(r"\[ settles \].*?\[ exclusions \]", "[ bonds ]\n[ exclusions ]", open(water).read(), flags=re.S)
    with open(water, "w") as out:
        out.write(text)
    x, _, box = read_gro(os.path.join(INPUTS, name, name + ".gro"))
    charged = name != "argon"
    version = re.search(r"GROMACS version:\s*(\S+)", run(["gmx_d", "--version"], work)).group(1)
    result = {"system": name, "n_atoms": len(x), "box": list(box), "program": f"gmx_d, GROMACS {version}, double precision",
              "command": "gmx_d grompp; gmx_d mdrun -ntmpi 1 -ntomp 1 -reprod; gmx_d energy -dp (inputs/make/reference.py)",
              "date": datetime.date.today().isoformat(), "units": "kJ/mol, nm, kJ/mol/nm; virial -1/2 sum r (x) f",
              "cases": {}}
    cutoff = 0.9 if charged else 0.85
    # some forces: the first 24 atoms and some 40 spread over the rest
    chosen = sorted(set(range(24)) | set(range(0, len(x), max(1, len(x) // 40))))
    for case, modifier, tail, rtol, order, spacing in (("tight", "None", "no", 1e-6, 8, 0.06),
                                                       ("shifted", "Potential-shift", "EnerPres", 1e-5, 4, 0.12)):
        settings = {"cutoff": cutoff, "modifier": modifier, "tail": tail}
        if charged:
            settings.update(rtol=rtol, beta=beta_of(rtol, cutoff), order=order, grid=grid_of(box, spacing))
        energies, virial, forces = one_case(work, name, settings, charged)
        result["cases"][case] = {
            "settings": settings, "energies": energies, "virial": virial,
            "force_rms": float(np.sqrt((forces ** 2).sum(1).mean())),
            "force_weighted_sum": [float(c) for c in (forces * np.cos(np.arange(len(x)))[:, None]).sum(0)],
            "forces": {str(i): [float(c) for c in forces[i]] for i in chosen}}
    shutil.rmtree(work)
    with open(os.path.join(OUT, name + ".json"), "w") as out:
        text = json.dumps(result, indent=1)
        out.write(re.sub(r"\[\s+([^\[\]{}]*?)\s+\]", lambda m: "[" + re.sub(r"\s+", " ", m.group(1)) + "]", text) + "\n")


if __name__ == "__main__":
    os.makedirs(OUT, exist_ok=True)
    for system in sys.argv[1:] or SYSTEMS:
        make(system)
        print(system, "done")
