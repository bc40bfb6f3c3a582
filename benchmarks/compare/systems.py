# SPDX-License-Identifier: Apache-2.0
"""The systems of a comparison, as one .top and one .gro that both programs read. Made on the fly, kept in the work folder.

Each system is a folder with `topol.top`, `conf.gro` (forces and energies are compared on it) and `start.gro` (with velocities; the
timed runs and the drift start from it). Water and argon are mdsim's own made boxes (system.generate), the membrane is made by
membrane.py; all but argon are relaxed by GROMACS, the first of the binaries given, so that no program starts from a state of its
own liking. DHFR comes from the folder MDS_SHARED, else from ../shared beside the project, and is left out where it is in neither.
"""
import os
import shutil

import membrane
from common import Failed

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
WATER = {"dt": 0.002, "cutoff": 0.9, "temperature": 300.0, "charges": True}
ARGON = {"dt": 0.005, "cutoff": 0.9, "temperature": 94.4, "charges": False}

# name: (what it is, physics, ps of relaxation before the runs)
SYSTEMS = {
    "dhfr": ("DHFR in TIP3P", WATER, 5),
    "water3k": ("TIP3P water", WATER, 5),
    "water24k": ("TIP3P water", WATER, 5),
    "water96k": ("TIP3P water", WATER, 2),
    "argon48k": ("Lennard-Jones argon", ARGON, 5),
    "membrane": ("amphiphile bilayer in TIP3P", WATER, 10),
}
TOP = '#include "../forcefield/ff99sb.itp"\n#include "../forcefield/tip3p.itp"\n\n[ system ]\nwater\n\n[ molecules ]\nSOL {n}\n'
ARGON_TOP = ("[ defaults ]\n1 2\n\n[ atomtypes ]\nAr 18 39.948 0 A 0.34 0.9977355\n\n[ moleculetype ]\nAR 1\n\n[ atoms ]\n"
             "1 Ar 1 AR AR 1 0 39.948\n\n[ system ]\nargon\n\n[ molecules ]\nAR {n}\n")


def shared(name):
    """Folder of a reference system, or None."""
    for base in (os.environ.get("MDS_SHARED"), os.path.join(ROOT, "..", "shared")):
        if base and os.path.isdir(os.path.join(base, "systems", name)):
            return os.path.join(base, "systems", name)
    return None


def available(name):
    return name != "dhfr" or shared("dhfr") is not None


def prepare(name, work, gromacs, mdsim, threads, relax_ps=None, files=None):
    """Folder and number of atoms of a system, made unless the work folder has it. `files`: a .top and .gro of the user."""
    folder = os.path.join(work, name)
    physics, length = (WATER, 5) if files else SYSTEMS[name][1:]
    length = length if relax_ps is None else relax_ps
    start = os.path.join(folder, "start.gro")
    if not os.path.exists(start):
        os.makedirs(folder, exist_ok=True)
        shutil.copytree(os.path.join(ROOT, "inputs", "forcefield"), os.path.join(work, "forcefield"), dirs_exist_ok=True)
        first = _raw(name, folder, mdsim, files)
        shutil.copy(_relaxed(name, folder, first, physics, length, gromacs, threads, minimise=name != "dhfr"), start + ".new")
        if name != "dhfr" and not files:
            shutil.copy(start + ".new", os.path.join(folder, "conf.gro"))
        os.rename(start + ".new", start)
    with open(start) as f:
        next(f)
        return folder, int(next(f))


def _raw(name, folder, mdsim, files):
    """Put topol.top and a first structure into the folder; the structure's name."""
    if files or name == "dhfr":
        source = files or [os.path.join(shared("dhfr"), part) for part in ("topol.top", "conf.gro")]
        for path, part in zip(source, ("topol.top", "conf.gro")):
            shutil.copy(path, os.path.join(folder, part))
        return "conf.gro"
    if name == "membrane":
        membrane.make(folder)
        return "lattice.gro"
    kind, count = ("argon", 48000) if name == "argon48k" else ("water", 1000 * int(name[5:-1]))
    with open(os.path.join(folder, "made.conf"), "w") as f:
        f.write(f'system = {{ generate = "{kind}"; atoms = {count}; }};\nrun = {{ steps = 0L; }};\n'
                'output = { trajectory_every = 0L; energy_every = 0L; };\n')
    mdsim.run(folder, "made")
    with open(os.path.join(folder, "made.gro")) as f:
        next(f)
        n = int(next(f))
    with open(os.path.join(folder, "topol.top"), "w") as f:
        f.write(ARGON_TOP.format(n=n) if kind == "argon" else TOP.format(n=n // 3))
    return "made.gro"


def _relaxed(name, folder, structure, physics, length, gromacs, threads, minimise):
    """GROMACS: minimise, then constant volume; the membrane first at 1 bar, box height and area apart. The path of the last .gro."""
    common = {"cutoff-scheme": "Verlet", "rcoulomb": physics["cutoff"], "rvdw": physics["cutoff"], "DispCorr": "EnerPres",
              "coulombtype": "PME" if physics["charges"] else "Cut-off"}
    motion = {**common, "integrator": "md", "dt": physics["dt"], "constraints": "h-bonds", "nstenergy": 1000, "nstlog": 0,
              "tcoupl": "v-rescale", "tc-grps": "System", "tau-t": 0.2, "ref-t": physics["temperature"], "ld-seed": 1}
    draw = {"gen-vel": "yes", "gen-temp": physics["temperature"], "gen-seed": 1}
    press = {"pcoupl": "C-rescale", "pcoupltype": "semiisotropic", "tau-p": 1.0, "ref-p": "1.0 1.0", "compressibility": "4.5e-5 4.5e-5"}
    steps = round(length / physics["dt"])
    stages = [("minimise", {**common, "integrator": "steep", "nsteps": 500, "emtol": 200})] if minimise else []
    if name == "membrane":
        stages += [("soft", {**motion, "dt": 0.001, "nsteps": 2000, **draw}), ("press", {**motion, **press, "nsteps": steps})]
        draw, steps = {}, 1000
    stages.append(("relax", {**motion, **draw, "nsteps": steps}))
    for stage, lines in stages:
        text = "".join(f"{key} = {value}\n" for key, value in lines.items())
        gromacs.grompp(folder, stage, text, "topol.top", structure)
        gromacs.mdrun(folder, stage, threads, extra=["-c", stage + ".gro"])
        structure = stage + ".gro"
    if not os.path.exists(os.path.join(folder, structure)):
        raise Failed(f"GROMACS left no {structure} in {folder}")
    return os.path.join(folder, structure)
