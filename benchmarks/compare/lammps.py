# SPDX-License-Identifier: Apache-2.0
"""mdsim against LAMMPS: the Lennard-Jones liquid of its own benchmark, same start, same cores, in turn.

Reduced density 0.8442, cut-off 2.5 sigma without shift or tail, NVE, 0.005 tau; started on the fcc lattice at T* = 1.44, melted by LAMMPS,
and both programs go on from that one state. mdsim gets argon's units: sigma 0.34 nm, epsilon/k 120 K, 39.948 Da (rahman1964), which
change no reduced number. Each keeps its own list: LAMMPS the benchmark's (skin 0.3 sigma, rebuilt every 20 steps, unchecked), mdsim
its defaults. Before timing, energies per atom of the start must agree; after it, the drift of the total energy of both is shown.

Environment: LMP the lmp to compare with (default lmp), its accelerated styles by `-sf opt`; MDSIM (default build/mdsim); MPIRUN for more than
one core of LAMMPS (default mpirun); RUN_WRAP a command put before every round of timed runs.
"""
import argparse
import json
import math
import os
import re
import shutil
import sys

import common
import report
import systems
from common import Failed, run
from mdsim import Mdsim, conf

SIGMA, EPSILON, MASS = 0.34, 0.9977355, 39.948  # nm, kJ/mol, Da
TAU = SIGMA * math.sqrt(MASS / EPSILON)         # ps: 1 kJ/mol is 1 Da (nm/ps)^2
DENSITY, TEMPERATURE, CUTOFF, STEP = 0.8442, 1.44, 2.5, 0.005
MELT = 500
PHYSICS = {"dt": STEP * TAU, "cutoff": CUTOFF * SIGMA, "temperature": 120 * TEMPERATURE, "charges": False, "lj": "none", "tail": False}
# Start energies, of the energy per atom (about -5 epsilon): LAMMPS computes in double precision, mdsim pair energies in single (6e-8
# each), and the 7 decimals of the .gro round positions by 3e-8 nm, 1e-7 sigma: together below 1e-6. A shift or a tail left on would be 1e-2.
ENERGY_TOLERANCE = 1e-5

SETTINGS = """units lj
atom_style atomic
{start}
pair_style lj/cut {cutoff}
pair_coeff 1 1 1.0 1.0 {cutoff}
neighbor 0.3 bin
neigh_modify delay 0 every 20 check no
fix 1 all nve
timestep {step}
thermo_style custom step pe ke etotal
thermo_modify format float %.12g norm yes
thermo {thermo}
"""
LATTICE = """lattice fcc {density}
region box block 0 {m} 0 {m} 0 {m}
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create {temperature} 87287 loop geom"""


class Lammps:
    """One lmp binary."""

    def __init__(self, binary):
        self.binary = shutil.which(binary)
        if not self.binary:
            raise FileNotFoundError(binary)
        text = run([self.binary, "-h"], ".")[0]
        self.version = re.search(r"Simulator - (.+)", text).group(1).strip()
        self.compiler = (re.search(r"Compiler: (.+)", text) or [None, "?"])[1]
        self.mpi = shutil.which(os.environ.get("MPIRUN", "mpirun"))
        self.name = f"LAMMPS {self.version}"

    def command(self, script, log, threads):
        """`threads` single-threaded ranks, one a core; the same cores as the rival."""
        base = [self.binary, "-sf", "opt", "-in", script, "-log", log, "-screen", "none"]
        places = ",".join(map(str, common.cores(threads)))
        if threads == 1:
            return ["taskset", "-c", places] + base
        if not self.mpi:
            raise Failed("more than one core of LAMMPS needs mpirun (MPIRUN)")
        root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
        return [self.mpi, *root, "-np", str(threads), "--cpu-set", places, "--bind-to", "core"] + base


def thermo(path):
    """Rows (step, pe, ke, total) per atom in epsilon, and ms/step, from a LAMMPS log."""
    with open(path) as f:
        text = f.read()
    loop = re.search(r"^Loop time of ([\d.eE+-]+) on \d+ procs for (\d+) steps", text, flags=re.M)
    if not loop:
        raise Failed(f"no loop time in {path}")
    rows = [[float(w) for w in line.split()] for line in text.split("\n") if re.fullmatch(r"\s*\d+(\s+-?[\d.eE+-]+){3}\s*", line)]
    return rows, 1000 * float(loop.group(1)) / max(1, int(loop.group(2)))


def write_script(folder, name, start, steps, after="", every=None):
    with open(os.path.join(folder, name + ".in"), "w") as f:
        f.write(SETTINGS.format(start=start, cutoff=CUTOFF, step=STEP, thermo=every or max(1, steps)) + f"run {steps}\n{after}")


def melt(folder, cells, lammps, threads, steps):
    """Melted start of both programs: start.data (LAMMPS), start.gro and topol.top (mdsim). The number of atoms."""
    import numpy as np
    n = 4 * cells ** 3
    if not os.path.exists(os.path.join(folder, "start.gro")):
        lattice = LATTICE.format(density=DENSITY, m=cells, temperature=TEMPERATURE)
        write_script(folder, "melt", lattice, steps,
                     "write_dump all custom melt.dump id x y z vx vy vz modify sort id format float %.15g\n")
        run(lammps.command("melt.in", "melt.log", threads), folder)
        edge = (n / DENSITY) ** (1 / 3)
        rows = np.loadtxt(os.path.join(folder, "melt.dump"), skiprows=9)
        # one set of digits for both: what the .gro holds
        x = np.round(rows[:, 1:4] % edge * SIGMA, 7)
        v = np.round(rows[:, 4:7] * SIGMA / TAU, 8)
        box = round(edge * SIGMA, 7)
        with open(os.path.join(folder, "start.data"), "w") as f:
            f.write(f"melted\n\n{n} atoms\n1 atom types\n" + "".join(f"0 {box / SIGMA:.15g} {c}lo {c}hi\n" for c in "xyz")
                    + "\nMasses\n\n1 1.0\n\nAtoms # atomic\n\n")
            f.writelines(f"{k + 1} 1 {p[0]:.15g} {p[1]:.15g} {p[2]:.15g}\n" for k, p in enumerate(x / SIGMA))
            f.write("\nVelocities\n\n")
            f.writelines(f"{k + 1} {w[0]:.15g} {w[1]:.15g} {w[2]:.15g}\n" for k, w in enumerate(v * TAU / SIGMA))
        with open(os.path.join(folder, "topol.top"), "w") as f:
            f.write(systems.ARGON_TOP.format(n=n))
        with open(os.path.join(folder, "start.gro.new"), "w") as f:
            f.write(f"melted\n{n}\n")
            f.writelines(f"{(k + 1) % 100000:5d}{'AR':5s}{'AR':>5s}{(k + 1) % 100000:5d}" + "".join(f"{c:12.7f}" for c in x[k])
                         + "".join(f"{c:12.8f}" for c in v[k]) + "\n" for k in range(n))
            f.write(f"{box:12.7f}{box:12.7f}{box:12.7f}\n")
        os.rename(os.path.join(folder, "start.gro.new"), os.path.join(folder, "start.gro"))
    return n


def check_energy(folder, n, lammps, mdsim):
    """Potential energy per atom of the start in epsilon, by both; Failed where they differ."""
    write_script(folder, "point", "read_data start.data", 0)
    run(lammps.command("point.in", "point.log", 1), folder)
    rows = thermo(os.path.join(folder, "point.log"))[0]
    with open(os.path.join(folder, "point.conf"), "w") as f:
        f.write(conf(PHYSICS, "topol.top", "start.gro", 0, "nve"))
    ours = mdsim.energy(folder, "point")[0]["potential"] / EPSILON / n
    theirs = rows[0][1]
    print(f"    potential energy per atom: LAMMPS {theirs:.8f}, mdsim {ours:.8f} epsilon, allowed {ENERGY_TOLERANCE * abs(theirs):.1e}")
    if abs(ours - theirs) > ENERGY_TOLERANCE * abs(theirs):
        raise Failed("LAMMPS and mdsim do not agree on the energy of the start: they do not simulate the same thing")
    return {"lammps": theirs, "mdsim": ours}


def measure(folder, n, threads, args, lammps, mdsim):
    """The timed rounds at one number of threads. Energies are written at the start and end only, as the benchmark does."""
    write_script(folder, "time", "read_data start.data", args.steps)
    with open(os.path.join(folder, "time.conf"), "w") as f:
        f.write(conf(PHYSICS, "topol.top", "start.gro", args.steps, "nve", args.steps))
    round_ = [(lammps.name, lammps.command("time.in", "lammps.log", threads), folder, {}),
              (mdsim.name, *mdsim.entry("time", threads, folder))]
    times, chosen = {lammps.name: [], mdsim.name: []}, ""
    for pair in range(args.pairs):
        common.play_round(round_, folder)
        rows, theirs = thermo(os.path.join(folder, "lammps.log"))
        ours, chosen = mdsim.performance(folder, "time")
        times[lammps.name].append(theirs)
        times[mdsim.name].append(ours)
        print(f"    {threads} core(s), round {pair + 1}: LAMMPS {theirs:.2f}, mdsim {ours:.2f} ms/step", flush=True)
    total = [row[3] for row in rows]
    energy = [e / EPSILON / n for e in mdsim.series(folder, "time")[1]]
    return {"threads": threads, "steps": args.steps, "chosen": chosen, "ms_per_step": {k: common.summary(t) for k, t in times.items()},
            "ratio": common.ratios(times[lammps.name], times[mdsim.name]),
            "energy_change": {lammps.name: total[-1] - total[0], mdsim.name: energy[-1] - energy[0]}}


def tables(data):
    m = data["machine"]
    out = [f"Measured {m['date']} on {m['cores']} cores of {m['processor']} ({m['simd']}), load {m['load']:.2f} at the start. "
           f"{data['mdsim']['version']}; kernels: {data['mdsim']['simd']}, source at commit {data.get('commit')}. {data['lammps']['name']} ({data['lammps']['compiler']}), -sf opt.", "",
           "| atoms | cores | program | million atom-steps/s | ms/step: median (range) | change of the total energy per atom, epsilon | "
           "speed of mdsim over it: median (range) |", "|---|---|---|---|---|---|---|"]
    for r in data["runs"]:
        for name, t in r["ms_per_step"].items():
            q = r["ratio"]
            ratio = f"**{q['median']:.2f}** ({q['min']:.2f}-{q['max']:.2f}, {len(q['all'])} rounds)" if name == data["lammps"]["name"] else ""
            out.append(f"| {data['n_atoms']} | {r['threads']} | {name} | {data['n_atoms'] / t['median'] / 1000:.2f} | "
                       f"{t['median']:.2f} ({t['min']:.2f}-{t['max']:.2f}) | {r['energy_change'][name]:.1e} in {r['steps']} steps | {ratio} |")
    out += ["", f"Energy per atom of the start: LAMMPS {data['energy']['lammps']:.8f}, mdsim {data['energy']['mdsim']:.8f} epsilon.", ""]
    return "\n".join(out + [f"- {r['threads']} core(s), mdsim: {r['chosen']}" for r in data["runs"]])


def main():
    p = argparse.ArgumentParser(prog="compare_lammps.sh", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--cells", type=int, default=40, help="fcc cells along the edge: 4 cells^3 atoms; default 40, 256,000 atoms")
    p.add_argument("--threads", default="1,2", help="numbers of cores, default 1,2")
    p.add_argument("--pairs", type=int, default=5, help="rounds, default 5")
    p.add_argument("--steps", type=int, default=200, help="length of a run, default 200")
    p.add_argument("--work", default="compare-work", help="folder for inputs and runs, kept; default compare-work")
    p.add_argument("--out", default="compare-lammps", help="results go to OUT.json and OUT.md; default compare-lammps")
    p.add_argument("--quick", action="store_true", help="4,000 atoms, one round: does it work at all?")
    p.add_argument("--table", metavar="FILE.json", help="print the tables of an earlier run, measure nothing")
    args = p.parse_args()
    if args.table:
        with open(args.table) as f:
            print(tables(json.load(f)))
        return 0
    if args.quick:
        args.cells, args.threads, args.pairs, args.steps = 10, "1", 1, 40
    threads = [int(t) for t in args.threads.split(",")]
    mdsim = common.find(Mdsim, "MDSIM", os.path.join(systems.ROOT, "build", "mdsim"))[0]
    lammps = common.find(Lammps, "LMP", "lmp")[0]
    folder = os.path.join(os.path.abspath(args.work), f"lj{4 * args.cells ** 3}")
    os.makedirs(folder, exist_ok=True)
    data = {"machine": common.machine(), "mdsim": report.described(mdsim), "lammps": report.described(lammps),
            "commit": report.commit(), "wrapper": bool(os.environ.get("RUN_WRAP"))}
    try:
        data["n_atoms"] = n = melt(folder, args.cells, lammps, max(threads), 100 if args.quick else MELT)
        data["energy"] = check_energy(folder, n, lammps, mdsim)
        data["runs"] = [measure(folder, n, t, args, lammps, mdsim) for t in threads]
    except Failed as e:
        print(f"error: {e}", file=sys.stderr)
        return 1
    with open(args.out + ".json", "w") as f:
        json.dump(data, f, indent=1)
    with open(args.out + ".md", "w") as f:
        f.write(tables(data) + "\n")
    print(tables(data))
    return 0


if __name__ == "__main__":
    sys.exit(main())
