# SPDX-License-Identifier: Apache-2.0
"""From a lattice start to a liquid: minimise, NVT, NPT with the solute held, then free."""
import os
import shutil
import subprocess
import tempfile

import numpy as np

from geometry import read_gro, write_gro

COMMON = """
cutoff-scheme = Verlet
rcoulomb = 0.9
rvdw = 0.9
coulombtype = PME
DispCorr = EnerPres
"""
MINIMISE = COMMON + "integrator = steep\nnsteps = 500\nemtol = 200\n"
MD = COMMON + """
integrator = md
dt = {dt}
nsteps = {steps}
nstcalcenergy = 100
nstenergy = 1000
constraints = h-bonds
tcoupl = v-rescale
tc-grps = System
tau-t = 0.2
ref-t = {temperature}
ld-seed = 1
gen-vel = {draw}
gen-temp = {temperature}
gen-seed = 1
{barostat}
{define}
"""
BAROSTAT = "pcoupl = C-rescale\ntau-p = 1.0\nref-p = 1.0\ncompressibility = 4.5e-5\nrefcoord-scaling = com"
POSRES = "define = -DPOSRES"


def relax(name, rows, x, box, top, temperature, nvt_ps, npt_ps, n_solute=0):
    """x, v [n][3] and box [3] after the protocol, run by GROMACS of the distribution (gmx)."""
    work = tempfile.mkdtemp(prefix="mdsim-make-")
    current = os.path.join(work, "start.gro")
    write_gro(current, name, rows, np.asarray(x), None, box, decimals=6)
    hold = POSRES if n_solute else ""
    stages = [("minimise", MINIMISE), ("nvt", MD.format(dt=0.002, steps=int(nvt_ps * 500), temperature=temperature,
                                                         draw="yes", barostat="", define=hold))]
    if npt_ps:
        stages.append(("npt", MD.format(dt=0.002, steps=int(npt_ps * 500), temperature=temperature, draw="no",
                                        barostat=BAROSTAT, define=hold)))
        if n_solute:
            stages.append(("free", MD.format(dt=0.002, steps=int(npt_ps * 200), temperature=temperature, draw="no",
                                             barostat=BAROSTAT, define="")))
    for stage, mdp in stages:
        current = _gmx(work, stage, mdp, current, top)
    result = read_gro(current)
    shutil.rmtree(work)
    return result


def _gmx(work, stage, mdp, gro, top):
    with open(os.path.join(work, stage + ".mdp"), "w") as out:
        out.write(mdp)
    for command in (["grompp", "-f", stage + ".mdp", "-c", gro, "-r", gro, "-p", top, "-o", stage + ".tpr", "-maxwarn", "5"],
                    ["mdrun", "-deffnm", stage, "-ntmpi", "1", "-ntomp", "1", "-pin", "off", "-reprod"]):
        done = subprocess.run(["gmx", "-quiet"] + command, cwd=work, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"gmx {command[0]} failed in {work}:\n{done.stderr[-3000:]}")
    return os.path.join(work, stage + ".gro")
