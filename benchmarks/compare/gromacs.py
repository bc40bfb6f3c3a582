# SPDX-License-Identifier: Apache-2.0
"""mdsim against GROMACS: same input, same physics, same cores, in turn. What it does and why: docs/performance.md.

For each system: (1) both evaluate one point with the same Gaussian split, order and grid, and every energy term must agree;
(2) both evaluate it as they would run it, and the rms error of each one's forces against converged Ewald is taken; (3) both run, A B A B,
at constant temperature; (4) both run at constant energy, for the drift. Results: a .json with every raw number, and tables.

Environment: GMX the gmx to compare with, or several, separated by colons (default gmx); GMX_DOUBLE a double-precision one for the
converged forces (default gmx_d; where there is none mdsim's own reference backend serves); MDSIM (default build/mdsim); RUN_WRAP
a command put before every round of timed runs; MDS_SHARED where DHFR is.
"""
import argparse
import json
import math
import os
import sys

import common
import heavy
import report
import systems
from common import Failed
from gmx import Gromacs, ORDER, RTOL, mdp, read_forces
from mdsim import Mdsim, conf

# Allowed difference, of the size of the term (for the Coulomb sum: of its parts). mdsim's cpu backend has pair energies in single
# precision, 1e-7 of a sum that cancels to a tenth. A term that one program reads differently (a missing 1-4 factor, a wrong
# combination rule) is off by 1e-3 or more.
TOLERANCE = 1e-5
# GROMACS in mixed precision also adds its energies in single precision. Adding n terms of one sign loses up to n x 3e-8, and a third
# of that is allowed; its Coulomb energy was found off from its own double precision by 7e-6 (3,000 atoms), 7e-5 (24,000), 5e-4 (95,000).
MIXED, MIXED_PER_ATOM = 5e-5, 1e-8
# A term that is nearly zero: rounding of the terms it is the difference of. kJ/mol per atom; kT is 2.5.
TERM_FLOOR = 1e-6


def ewald_beta(rc, rtol):
    """The beta with erfc(beta rc) = rtol, as GROMACS takes it from ewald-rtol; 1/nm."""
    low, high = 0.0, 10.0 / rc
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if math.erfc(middle * rc) > rtol else (low, middle)
    return low


def judge_terms(rival, ours, n_atoms, precision):
    """Rows (term, theirs, ours, difference, allowed) and whether all agree. A term that only one has counts as 0 in the other."""
    rows, fine = [], True
    tolerance = TOLERANCE if precision == "double" else MIXED + MIXED_PER_ATOM * n_atoms
    for term in sorted((set(rival) | set(ours)) - {"coulomb", "position_restraint"}):
        a, b = rival.get(term, 0.0), ours.get(term, 0.0)
        if a == 0 and b == 0:
            continue
        size = abs(a)
        if term in ("coul_sr", "coul_recip"):
            size = abs(rival["coul_sr"]) + abs(rival["coul_recip"])
        elif term == "potential":
            size = sum(abs(v) for t, v in rival.items() if t != "potential")
        allowed = tolerance * size + TERM_FLOOR * n_atoms
        fine = fine and abs(a - b) <= allowed
        rows.append((term, a, b, b - a, allowed))
    return rows, fine and bool(rows)


def check_energies(folder, physics, n_atoms, rivals, mdsim):
    """One point, the same split in all programs: term by term. Failed where they differ."""
    with open(os.path.join(folder, "point.conf"), "w") as f:
        f.write(conf(physics, physics["topology"], "conf.gro", 0, "nve"))
    out = {}
    for gromacs in rivals:
        grid = gromacs.grompp(folder, "point", mdp(physics, 0, "point"), physics["topology"], "conf.gro")
        gromacs.mdrun(folder, "point")
        settings = {}
        if physics["charges"]:
            settings = {"pme.split": "gaussian", "pme.beta": repr(ewald_beta(physics["cutoff"], RTOL)), "pme.order": ORDER,
                        "pme.grid": "[" + ",".join(map(str, grid)) + "]"}
        rows, fine = judge_terms(gromacs.energies(folder, "point"), mdsim.energy(folder, "point", settings)[0], n_atoms, gromacs.precision)
        print(f"    energies, kJ/mol: {gromacs.name} ({gromacs.precision} precision), mdsim, difference")
        for term, a, b, difference, allowed in rows:
            print(f"    {term:20s} {a:18.4f} {b:18.4f} {difference:12.5f}  allowed {allowed:.4f}")
        if not fine:
            raise Failed(f"{gromacs.name} and mdsim do not agree on the energy of {folder}/conf.gro: they do not simulate the same thing")
        out[f"{gromacs.name}, {gromacs.precision}"] = {"grid": grid, "terms": rows}
    return out


def check_forces(folder, physics, gromacs_all, double, mdsim):
    """rms force error of each program as it runs, against converged Ewald, kJ/mol/nm. mdsim runs at its default `pme.force_error`; where
    that leaves it with a larger error than the best of the rivals it gets a smaller one, until it has not."""
    import numpy as np
    if double:
        double.grompp(folder, "tight", mdp(physics, 0, "tight"), physics["topology"], "conf.gro")
        double.mdrun(folder, "tight")
        reference, source = read_forces(os.path.join(folder, "tight.trr")), f"GROMACS {double.version}, double precision, order 8"
    else:
        tight = {"nonbonded.coulomb_modifier": "none", "pme.split": "gaussian", "pme.order": 8, "pme.spacing": 0.06,
                 "pme.beta": repr(ewald_beta(physics["cutoff"], 1e-6))} if physics["charges"] else {}
        reference, source = mdsim.energy(folder, "point", tight, backend="ref")[1], "mdsim, ref backend, order 8"
    out = {"reference": source, "rms_force": float(np.sqrt((reference ** 2).sum(1).mean())), "error": {}}
    for k, gromacs in enumerate(gromacs_all):
        gromacs.grompp(folder, f"point{k}", mdp(physics, 0, "point"), physics["topology"], "conf.gro")
        gromacs.mdrun(folder, f"point{k}")
        out["error"][gromacs.name] = common.rms_error(read_forces(os.path.join(folder, f"point{k}.trr")), reference)
    goal, target = min(out["error"].values()), 0.5
    for attempt in range(6):
        settings = {"pme.force_error": f"{target:.4g}"} if attempt else {}
        _, forces, used = mdsim.energy(folder, "point", settings)
        error = common.rms_error(forces, reference)
        if attempt == 0:
            out["error_at_default"] = error
        if error <= goal or not physics["charges"]:
            break
        target *= 0.95 * goal / error
    else:
        raise Failed(f"mdsim's force error is {error:.4f} with pme.force_error = {target:.4f}, above {goal:.4f} of the rival")
    out["error"][mdsim.name], out["mdsim_settings"] = error, used.get("chosen")
    out["force_error"] = float(settings["pme.force_error"]) if settings else None
    return out


def write_runs(folder, name, physics, steps, kind, gromacs_all, every=100):
    """NAME.conf for mdsim and NAMEk.tpr for each gmx, of the same start and length."""
    with open(os.path.join(folder, name + ".conf"), "w") as f:
        f.write(conf(physics, physics["topology"], "start.gro", steps, kind, every))
    for k, gromacs in enumerate(gromacs_all):
        gromacs.grompp(folder, f"{name}{k}", mdp(physics, steps, kind, every), physics["topology"], "start.gro")


def entries(folder, name, threads, ranks, gromacs_all, mdsim):
    """What a round runs. Threads of GROMACS are OpenMP threads of `ranks` ranks."""
    out = [(g.name, g.command(f"{name}{k}", threads, ranks.get(g.name, 1)), folder, {}) for k, g in enumerate(gromacs_all)]
    return out + [(mdsim.name, *mdsim.entry(name, threads, folder))]


def read_speeds(folder, name, dt, gromacs_all, mdsim):
    """{program: (ms/step, what it chose)} of the round just played."""
    out = {g.name: g.performance(folder, f"{name}{k}", dt) for k, g in enumerate(gromacs_all)}
    out[mdsim.name] = mdsim.performance(folder, name)
    return out


def measure(folder, physics, threads, args, gromacs_all, mdsim):
    """The timed rounds of a system at one number of threads."""
    trial = 50 if args.quick else 200
    write_runs(folder, "time", physics, trial, "nvt", gromacs_all)
    ranks = {}
    common.play_round(entries(folder, "time", threads, ranks, gromacs_all, mdsim), folder)
    speeds = read_speeds(folder, "time", physics["dt"], gromacs_all, mdsim)
    if threads > 1:  # GROMACS may be faster as ranks of one thread: it gets the better of the two
        each = {g.name: threads for g in gromacs_all}
        common.play_round(entries(folder, "time", threads, each, gromacs_all, mdsim)[:-1], folder)
        for k, g in enumerate(gromacs_all):
            if g.performance(folder, f"time{k}", physics["dt"])[0] < 0.98 * speeds[g.name][0]:  # short trials scatter by 1 %
                ranks[g.name] = threads
    slowest = max(speed for speed, _ in speeds.values())
    steps = args.steps or max(trial, int(round(args.seconds * 1000 / slowest, -2)))
    write_runs(folder, "time", physics, steps, "nvt", gromacs_all)
    times, walls, chosen = {}, {}, {}
    for pair in range(args.pairs):
        wall = common.play_round(entries(folder, "time", threads, ranks, gromacs_all, mdsim), folder)
        for name, (ms, words) in read_speeds(folder, "time", physics["dt"], gromacs_all, mdsim).items():
            times.setdefault(name, []).append(ms)
            walls.setdefault(name, []).append(wall[name])
            chosen[name] = words
        print(f"    {threads} thread(s), round {pair + 1}: " + ", ".join(f"{n} {t[-1]:.3f} ms/step" for n, t in times.items()), flush=True)
    return {"threads": threads, "steps": steps, "ranks": ranks, "ms_per_step": {n: common.summary(t) for n, t in times.items()},
            "wall_s": walls, "chosen": chosen,
            "ratio": {g.name: common.ratios(times[g.name], times[mdsim.name]) for g in gromacs_all}}


def measure_drift(folder, physics, n_atoms, ps, threads, gromacs_all, mdsim):
    """Slope of the conserved energy of runs at constant energy, kJ/mol/ns/atom."""
    steps, out = round(ps / physics["dt"]), {}
    write_runs(folder, "nve", physics, steps, "nve", gromacs_all, every=max(1, min(50, steps // 100)))
    for k, gromacs in enumerate(gromacs_all):
        gromacs.mdrun(folder, f"nve{k}", threads)
        series = gromacs.series(folder, f"nve{k}", ["Total-Energy"])
        out[gromacs.name] = common.drift(series["time"], series["Total-Energy"], n_atoms)
    mdsim.run(folder, "nve", threads)
    out[mdsim.name] = common.drift(*mdsim.series(folder, "nve"), n_atoms)
    for name, d in out.items():
        print(f"    drift {name}: {d['slope']:.2e} +- {d['error']:.1e} kJ/mol/ns/atom over {d['ps']:g} ps")
    return out


def make_heavy(folder, physics, gromacs):
    """Write heavy.top with masses for steps of 4 fs; the physics that goes with it."""
    gromacs.grompp(folder, "flat", mdp(physics, 0, "nve"), "topol.top", "start.gro", ["-pp", "flat.top"])
    with open(os.path.join(folder, "flat.top")) as f:
        text, changed = heavy.repartition(f.read())
    if not changed:
        raise Failed("no hydrogen outside of waters: nothing to make heavier")
    with open(os.path.join(folder, "heavy.top"), "w") as f:
        f.write(text)
    return dict(physics, dt=0.004, topology="heavy.top")


def compare(name, args, gromacs_all, double, mdsim):
    """All of one system."""
    files = (os.path.abspath(args.topology), os.path.abspath(args.coordinates)) if args.topology else None
    title, physics, _ = (name, systems.WATER, 0) if files else systems.SYSTEMS[name]
    physics = dict(physics, topology="topol.top")
    print(f"{name}: {title}", flush=True)
    folder, n_atoms = systems.prepare(name, args.work, gromacs_all[0], mdsim, max(args.threads), 0.1 if args.quick else args.relax, files)
    if args.prepare:
        return None
    if args.heavy:
        physics, name = make_heavy(folder, physics, gromacs_all[0]), name + ", 4 fs"
    result = {"name": name, "title": title, "n_atoms": n_atoms, "physics": physics}
    result["energy"] = check_energies(folder, physics, n_atoms, gromacs_all + ([double] if double else []), mdsim)
    result["forces"] = check_forces(folder, physics, gromacs_all, double, mdsim)
    physics["force_error"] = result["forces"]["force_error"]
    print("    rms force error: " + ", ".join(f"{n} {e:.4f}" for n, e in result["forces"]["error"].items()), flush=True)
    result["speed"] = [measure(folder, physics, threads, args, gromacs_all, mdsim) for threads in args.threads if args.pairs]
    if args.drift > 0:
        result["drift"] = measure_drift(folder, physics, n_atoms, args.drift, max(args.threads), gromacs_all, mdsim)
    return result


def arguments():
    p = argparse.ArgumentParser(prog="compare_gromacs.sh", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--systems", default="dhfr,water24k,water96k,argon48k,membrane", help="of " + ", ".join(systems.SYSTEMS))
    p.add_argument("--topology", help="a .top of your own, with --coordinates, instead of --systems")
    p.add_argument("--coordinates", help="its .gro")
    p.add_argument("--threads", default="1,2", help="numbers of threads, default 1,2")
    p.add_argument("--pairs", type=int, default=5, help="rounds, default 5; 0: accuracy only")
    p.add_argument("--seconds", type=float, default=15, help="length of a run of the slowest program, default 15 s")
    p.add_argument("--steps", type=int, help="length of the runs in steps instead")
    p.add_argument("--drift", type=float, default=20, help="ps of the runs at constant energy, 0: none; default 20")
    p.add_argument("--relax", type=float, help="ps of relaxation before, default by system")
    p.add_argument("--work", default="compare-work", help="folder for inputs and runs, kept; default compare-work")
    p.add_argument("--out", default="compare-gromacs", help="results go to OUT.json and OUT.md; default compare-gromacs")
    p.add_argument("--quick", action="store_true", help="one small system, one round, few steps: does it work at all?")
    p.add_argument("--heavy", action="store_true", help="4 fs with hydrogen masses of 3.024 Da outside of water, in both programs: a table of its own")
    p.add_argument("--prepare", action="store_true", help="make the inputs in the work folder and stop")
    p.add_argument("--table", metavar="FILE.json", nargs="+", help="print the tables of earlier runs, measure nothing; what several have "
                   "measured of a system goes together")
    args = p.parse_args()
    if bool(args.topology) != bool(args.coordinates):
        p.error("--topology and --coordinates go together")
    if args.quick:
        args.systems, args.threads, args.pairs, args.steps, args.drift = "water3k", "1", 1, 100, 0.4
    args.threads = [int(t) for t in args.threads.split(",")]
    args.systems = ["own"] if args.topology else args.systems.split(",")
    unknown = [s for s in args.systems if s not in systems.SYSTEMS and not args.topology]
    if unknown or args.pairs < 0 or min(args.threads) < 1:
        p.error(f"unknown system {unknown[0]}" if unknown else "--pairs starts at 0 and --threads at 1")
    return args


def main():
    args = arguments()
    if args.table:
        print(report.tables(report.merged(args.table)))
        return 0
    mdsim = common.find(Mdsim, "MDSIM", os.path.join(systems.ROOT, "build", "mdsim"))[0]
    gromacs_all = common.find(Gromacs, "GMX", "gmx")
    double = ([g for g in common.find(Gromacs, "GMX_DOUBLE", "gmx_d", required=False) if g.precision == "double"] or [None])[0]
    data = {"machine": common.machine(), "mdsim": report.described(mdsim), "gromacs": [report.described(g) for g in gromacs_all],
            "commit": report.commit(), "wrapper": bool(os.environ.get("RUN_WRAP")),
            "arguments": {k: v for k, v in vars(args).items() if k not in ("work", "out", "topology", "coordinates")}, "systems": []}
    print(report.head(data), flush=True)
    os.makedirs(args.work, exist_ok=True)
    args.work = os.path.abspath(args.work)
    failed = 0
    for name in args.systems:
        if not args.topology and not systems.available(name):
            print(f"{name}: left out, its files are not here (MDS_SHARED)")
            continue
        try:
            result = compare(name, args, gromacs_all, double, mdsim)
            data["systems"] += [result] if result else []
        except Failed as e:
            print(f"error: {name}: {e}", file=sys.stderr)
            failed += 1
        if args.prepare:
            continue
        with open(args.out + ".json", "w") as f:
            json.dump(data, f, indent=1)
        with open(args.out + ".md", "w") as f:
            f.write(report.tables(data) + "\n")
    if not args.prepare:
        print(report.tables(data))
    return 1 if failed or not (data["systems"] or args.prepare) else 0


if __name__ == "__main__":
    sys.exit(main())
