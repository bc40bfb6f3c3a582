# SPDX-License-Identifier: Apache-2.0
"""One point of a system in double-precision GROMACS and in mdsim: potential and forces, plain cut-offs.

Used by tests that make their references at test time; they skip where gmx_d or numpy is missing.
"""
import json
import os
import shutil
import struct
import subprocess
import sys

try:
    import numpy as np
except ImportError:
    print("skipped: python3-numpy is not installed")
    sys.exit(77)

GMX = shutil.which("gmx_d")
MDSIM = os.environ.get("MDSIM", "mdsim")

if not GMX:
    print("skipped: gmx_d (package gromacs) is not installed")
    sys.exit(77)


def run(command, folder, **more):
    env = dict(os.environ, GMX_MAXBACKUP="-1")
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, **more)
    if done.returncode:
        print(" ".join(command), "failed:\n", done.stdout[-2000:], done.stderr[-3000:])
        sys.exit(1)
    return done.stdout


def read_trr_forces(path):
    """Forces of the first frame of a double-precision .trr (XDR; layout: GROMACS file format trr)."""
    with open(path, "rb") as f:
        data = f.read()
    at = 4 + 4 + 4 + ((struct.unpack(">i", data[8:12])[0] + 3) // 4) * 4  # magic, length, string
    sizes = struct.unpack(">10i", data[at:at + 40])  # ir e box vir pres top sym x v f
    n = struct.unpack(">i", data[at + 40:at + 44])[0]
    at += 40 + 4 + 4 + 4 + 16  # sizes, natoms, step, nre, t, lambda in double
    assert sizes[9] == 24 * n, "the trajectory is not double or has no forces"
    at += sum(sizes[:9])
    return np.frombuffer(data[at:at + 24 * n], dtype=">f8").reshape(n, 3).astype(float)


MDP = """integrator = md
nsteps = 0
nstlist = 1
nstfout = 1
nstenergy = 1
nstcalcenergy = 1
cutoff-scheme = Verlet
verlet-buffer-tolerance = -1
rlist = {cut}
rcoulomb = {cut}
rvdw = {cut}
coulombtype = Cut-off
coulomb-modifier = None
vdwtype = Cut-off
vdw-modifier = None
DispCorr = no
constraints = none
continuation = {continuation}
gen-vel = no
comm-mode = None
{extra}
"""


def gromacs(folder, cutoff, continuation="no", defines=()):
    """Potential (kJ/mol) and forces of topol.top, conf.gro, ref.gro (position restraints) in the folder."""
    with open(f"{folder}/run.mdp", "w") as f:
        f.write(MDP.format(cut=cutoff, continuation=continuation, extra="define = " + " ".join("-D" + d for d in defines)))
    run([GMX, "grompp", "-f", "run.mdp", "-c", "conf.gro", "-r", "ref.gro", "-p", "topol.top", "-o", "run.tpr",
         "-maxwarn", "50"], folder)
    run([GMX, "mdrun", "-s", "run.tpr", "-deffnm", "run", "-ntmpi", "1", "-ntomp", "1", "-pin", "off", "-reprod"], folder)
    run([GMX, "energy", "-f", "run.edr", "-o", "run.xvg", "-dp"], folder, input="Potential\n\n")
    with open(f"{folder}/run.xvg") as f:
        potential = float([line for line in f if line[0] not in "#@"][0].split()[1])
    return potential, read_trr_forces(f"{folder}/run.trr")


def mdsim(folder, cutoff, backend, defines=()):
    """Energies by name and forces of the same files."""
    with open(f"{folder}/run.conf", "w") as f:
        f.write(f'''system = {{ topology = "topol.top"; coordinates = "conf.gro"; restraint_reference = "ref.gro";
                     defines = [{", ".join(f'"{d}"' for d in defines)}]; }};
nonbonded = {{ cutoff = {cutoff}; lj_modifier = "none"; tail_correction = false; coulomb = "cutoff"; coulomb_modifier = "none"; }};
constraints = {{ kind = "none"; }};
backend = {{ kind = "{backend}"; }};
''')
    run([MDSIM, "energy", "run.conf", "--json", "run.json", "--forces", "run.npy"], folder)
    with open(f"{folder}/run.json") as f:
        return json.load(f)["energies"], np.load(f"{folder}/run.npy")
