#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Cases in which other engines gave wrong numbers without a word, run through the whole program.

usage: test_numbers.py CASE [BACKEND]: on cpu, some beside it on ref; or on the backend named (emu: smaller and shorter). CASE is one of
  tail        the tail correction once, and the same in dynamics, minimisation and a single point
  rounded     a start with three decimals is put on its constraints, and said how far
  wrapped     position restraints do not depend on how molecules are wrapped
  collinear   a torsion without a plane
  barostat    216 waters pressed from 0.7 kg/l: rebuilt rightly down to the liquid, or stopped when images come too near
  overlap     atoms on top of each other: dynamics names them, minimisation parts them, no checkpoint holds a NaN
  unstable    a time step too long: atom, residue, step, force, cause; the last checkpoint is good
  minimize    FIRE on a lattice, strained water and a peptide: down to run.force_tolerance or said not to be; stopped and resumed
"""
import math, os, random, sys

import program
from program import argon_top, check, energy, expect, gro, lattice, main, read_gro, run, series, source, state, write

BACKEND = sys.argv[2] if len(sys.argv) > 2 else "cpu"
EMULATED = BACKEND == "emu"
BACKENDS = (BACKEND,) if EMULATED else ("cpu", "ref")
FORCEFIELD = os.path.join(source, "inputs", "forcefield")
COLD = {"cutoff": 0.8, "coulomb": "none"}


def conf(path, **groups):
    groups["backend"] = dict({"kind": BACKEND} if EMULATED else {}, **groups.get("backend", {}))
    return program.conf(path, **{name: keys for name, keys in groups.items() if keys})


def water_top(path, n):
    return write(path, '#include "%s/ff99sb.itp"\n#include "%s/tip3p.itp"\n[ system ]\nwater\n[ molecules ]\nSOL %d\n' % (FORCEFIELD, FORCEFIELD, n))


def made_water(n):
    """n waters at 0.985 kg/l as w.gro, w.top (velocities left out)."""
    conf("make.conf", system={"generate": "water", "atoms": 3 * n}, run={"steps": 0}, nonbonded={"cutoff": 0.6}, output={"name": "made"})
    p = run("make.conf", "--quiet")
    if p.returncode:
        raise RuntimeError(p.stderr)
    _, x, box = read_gro("made.gro")
    names = [(1 + i // 3, "SOL", ("OW", "HW1", "HW2")[i % 3]) for i in range(3 * n)]
    water_top("w.top", n)
    return names, x, box


def tail():
    # rho 1000/3.6^3, eps 0.997, sigma 0.34, cut-off 0.9, dispersion only: E = -8/3 pi N rho eps sigma^6/rc^3, p = 2 E/V
    rho = 1000 / 3.6 ** 3
    e_tail = -8 / 3 * math.pi * 1000 * rho * 0.997 * 0.34 ** 6 / 0.9 ** 3
    p_tail = 2 * e_tail / 3.6 ** 3 * 16.6053906717
    check(abs(e_tail + 379.3606) < 1e-3 and abs(p_tail + 270.0375) < 1e-3, "the published values", (e_tail, p_tail))
    gro("a.gro", lattice(10, 3.6, 0.02), [3.6] * 3, digits=6)
    argon_top("a.top", 1000)
    got = {}
    for on in (True, False):
        for integrator in ("verlet", "minimize"):
            name = "%s_%s" % (integrator, on)
            path = conf(name + ".conf", system={"topology": "a.top", "coordinates": "a.gro"}, run={"integrator": integrator, "steps": 2, "temperature": 94.4},
                        nonbonded={"cutoff": 0.9, "coulomb": "none", "lj_modifier": "none", "tail_correction": on}, output={"name": name, "energy_every": 1}, backend={"threads": 1})
            expect(0, "", path)
            rows = series(name + ".csv")
            got[integrator, on] = (rows["potential_kj_mol"][0], rows["pressure_bar"][0], rows["disp_corr_kj_mol"][0])
            if on:
                # 1e-4: the columns' and the values' own digits; one part in 4 million of what is compared
                check(all(abs(d - e_tail) < 1e-3 for d in rows["disp_corr_kj_mol"]), "%s: the same in every row" % integrator, rows["disp_corr_kj_mol"])
        answer = energy(path)
        got["point", on] = (answer["energies"]["potential"], answer["pressure_bar"], answer["energies"]["disp_corr"])
    for kind in ("verlet", "minimize", "point"):
        on, off = got[kind, True], got[kind, False]
        check(abs(on[2] - e_tail) < 1e-3 and abs(on[0] - off[0] - e_tail) < 1e-3 and off[2] == 0, "%s: energy once" % kind, (on, off))
        check(abs(on[1] - off[1] - p_tail) < 1e-3, "%s: pressure once" % kind, (on[1] - off[1], p_tail))


def rounded():
    names, x, box = made_water(216)
    gro("w.gro", x, box, names, digits=3)
    conf("w.conf", system={"topology": "w.top", "coordinates": "w.gro"}, run={"steps": 20 if EMULATED else 50}, nonbonded={"cutoff": 0.8}, output={"energy_every": 10})
    p = expect(0, ["start put on its constraints: largest shift", "SOL"], "w.conf")
    shift = float(p.stderr.split("largest shift ")[1].split()[0])
    # rounding moves an atom by at most 0.0005 sqrt(3) nm, three of them share the correction
    check(1e-4 < shift < 2e-3, "which is of the size of the rounding", shift)
    rows = series("run.csv")
    check(abs(rows["temperature_k"][0] - 300) < 1e-3, "the temperature is that asked for, on the constraints", rows["temperature_k"][0])
    # 648 atoms at 2 fs: 0.1 kJ/mol of noise was seen; a broken projection costs hundreds
    check(max(rows["conserved_kj_mol"]) - min(rows["conserved_kj_mol"]) < 3, "and the energy is conserved from there", rows["conserved_kj_mol"])


def wrapped():
    edge, r = 2.4, random.Random(3)
    reference = lattice(6, edge)
    moved = [[c + r.uniform(-0.03, 0.03) for c in p] for p in reference]
    restraints = "[ position_restraints ]\n1 1 1000 500 250\n"
    argon_top("a.top", 216, restraints)
    gro("ref.gro", reference, [edge] * 3, digits=6)
    answers = []
    for name, shift in (("in", lambda: 0), ("any", lambda: edge * r.choice((-2, -1, 0, 1, 3)))):
        gro(name + ".gro", [[c + shift() for c in p] for p in moved], [edge] * 3, digits=6)
        path = conf(name + ".conf", system={"topology": "a.top", "coordinates": name + ".gro", "restraint_reference": "ref.gro"}, nonbonded=COLD, backend={"kind": BACKENDS[-1]})
        answers.append(energy(path)["energies"])
    k = (1000, 500, 250)
    right = sum(0.5 * k[d] * (a[d] - b[d]) ** 2 for a, b in zip(moved, reference) for d in range(3))
    for e, what in zip(answers, ("in the box", "wrapped anyhow")):
        # six decimals of the file: 216 x 3 x 1000 x 0.03 x 5e-7 / sqrt(648)
        check(abs(e["position_restraint"] - right) < 2e-3, "restraint energy %s" % what, (e["position_restraint"], right))
    # ref is double, and files carry 6 decimals of other numbers; the GPU backend's pairs are single precision
    check(abs(answers[0]["potential"] - answers[1]["potential"]) < (1e-5 if EMULATED else 1e-6) * abs(answers[0]["potential"]), "all else too", answers)


def collinear():
    import numpy
    for angle, what in ((0.0, "straight"), (1e-5, "nearly straight"), (0.3, "bent")):
        x = [[1 + 0.1 * k, 1 + 0.1 * angle * (k * k - 3 * k), 1.0 + (0.05 * angle if k == 3 else 0)] for k in range(4)]
        gro("c.gro", x, [0.0] * 3, [(1, "MOL", "C%d" % k) for k in range(4)], digits=9)
        write("c.top", """[ defaults ]
1 2 no 1 1
[ atomtypes ]
C 6 12.0 0.0 A 0.3 0.3
[ moleculetype ]
MOL 3
[ atoms ]
%s
[ dihedrals ]
1 2 3 4 1 180 5.0 1
[ system ]
c
[ molecules ]
MOL 1
""" % "\n".join("%d C 1 MOL C%d %d 0 12.0" % (k + 1, k, k + 1) for k in range(4)) + "")
        conf("c.conf", system={"topology": "c.top", "coordinates": "c.gro"}, nonbonded={"cutoff": 0.0, "coulomb": "none"})
        for backend in BACKENDS:
            e = energy("c.conf", "--forces", "f.npy", "--set", "backend.kind=" + backend)["energies"]
            f = numpy.load("f.npy")
            # sums of forces of up to 5/(0.1 angle) kJ/mol/nm, in single precision for some backends
            check(numpy.isfinite(f).all() and all(map(math.isfinite, e.values())) and numpy.abs(f.sum(0)).max() <= 1e-5 * max(1, numpy.abs(f).max()),
                  "%s, %s: finite, forces sum to nothing" % (what, backend), (e, f))


def barostat():
    if EMULATED:
        return pressed()
    names, x, box = made_water(216)
    grow = (0.985 / 0.7) ** (1 / 3)
    spread = []
    for m in range(216):
        centre = [sum(x[3 * m + s][k] for s in range(3)) / 3 for k in range(3)]
        spread += [[x[3 * m + s][k] + (grow - 1) * centre[k] for k in range(3)] for s in range(3)]
    gro("w.gro", spread, [b * grow for b in box], names, digits=6)
    settings = dict(system={"topology": "w.top", "coordinates": "w.gro"}, run={"steps": 6000, "dt": 0.002}, pme={"c": 9.0, "order": 4, "grid": [20, 20, 20]},
                    thermostat={"kind": "v-rescale", "tau": 0.1}, barostat={"kind": "c-rescale", "tau": 0.5, "pressure": 1.0}, output={"energy_every": 100})
    conf("w.conf", nonbonded={"cutoff": 0.85}, **settings)
    expect(0, "", "w.conf", timeout=500)
    rows = series("run.csv")
    # the mean of the last 4 ps of 216 molecules: sigma of the density about 3 %
    late = rows["density_kg_m3"][-20:]
    check(abs(rows["density_kg_m3"][0] - 700) < 2, "starts at 0.7 kg/l", rows["density_kg_m3"][0])
    check(920 < sum(late) / len(late) < 1060, "ends as a liquid", late)
    # what the run has been using for 12 ps, lists, cells and mesh of a box that was 12 % wider, against a fresh set-up in double
    e = energy("w.conf", "--set", "system.coordinates=run.gro", "--set", "backend.kind=ref")["energies"]
    for term, column, allowed in (("lj_sr", "lj_sr_kj_mol", 0.05), ("potential", "potential_kj_mol", 0.5)):
        # single-precision pairs (1e-6 of 5000) and, in the whole, the mesh (0.5 kJ/mol/nm of force, about 0.1 kJ/mol); a pair lost at the cut-off costs 0.01, at contact 2
        check(abs(e[term] - rows[column][-1]) < allowed, "%s of the last step is that of a fresh set-up" % term, (e[term], rows[column][-1]))
    conf("near.conf", nonbonded={"cutoff": 1.0}, **dict(settings, output={"name": "near", "energy_every": 100}))
    p = expect(77, ["step ", "nm apart", "twice the cut-off of 1.000 nm"], "near.conf", timeout=500)
    length = float(p.stderr.split("images are ")[1].split()[0])
    check(1.95 < length < 2.0, "the length is named, just below twice the cut-off", length)
    check(all(map(math.isfinite, state("near.chk"))) and "twice the cut-off" in open("near.log").read(), "the checkpoint is good, the log has the reason")


def pressed():
    """As `barostat`, in the few steps that emulation can do: pressed hard and fast instead."""
    names, x, box = made_water(125)
    gro("w.gro", x, box, names, digits=6)
    settings = dict(system={"topology": "w.top", "coordinates": "w.gro"}, run={"steps": 150, "dt": 0.002}, pme={"c": 9.0, "order": 4, "grid": [16, 16, 16]},
                    thermostat={"kind": "v-rescale", "tau": 0.1}, barostat={"kind": "c-rescale", "tau": 0.05, "pressure": 5000.0})
    conf("w.conf", nonbonded={"cutoff": 0.6}, output={"energy_every": 50}, **settings)
    expect(0, "", "w.conf")
    rows = series("run.csv")
    check(rows["density_kg_m3"][-1] > 1.04 * rows["density_kg_m3"][0], "pressed by more than 4 % in 0.3 ps", rows["density_kg_m3"])
    e = energy("w.conf", "--set", "system.coordinates=run.gro", "--set", "backend.kind=ref")["energies"]
    for term, column, allowed in (("lj_sr", "lj_sr_kj_mol", 0.05), ("potential", "potential_kj_mol", 0.5)): # as in `barostat`
        check(abs(e[term] - rows[column][-1]) < allowed, "%s of the last step is that of a fresh set-up" % term, (e[term], rows[column][-1]))
    cut = round(box[0] / 2 - 0.01, 3)
    conf("near.conf", nonbonded={"cutoff": cut}, output={"name": "near", "energy_every": 50}, **settings)
    p = expect(77, ["step ", "nm apart", "twice the cut-off of %.3f nm" % cut], "near.conf")
    length = float(p.stderr.split("images are ")[1].split()[0])
    check(2 * cut - 0.05 < length < 2 * cut, "the length is named, just below twice the cut-off", length)
    check(all(map(math.isfinite, state("near.chk"))) and "twice the cut-off" in open("near.log").read(), "the checkpoint is good, the log has the reason")


def overlap():
    x = lattice(6, 2.4)
    argon_top("a.top", len(x))
    for distance, what in ((0.0, "at one point"), (1e-4, "0.1 pm apart"), (0.05, "0.05 nm apart"))[:2 if EMULATED else 3]:
        x[100] = [x[50][0] + distance, x[50][1], x[50][2]]
        gro("a.gro", x, [2.4] * 3, digits=6)
        for backend in BACKENDS:
            name = "%s_%g" % (backend, distance)
            path = conf("a.conf", system={"topology": "a.top", "coordinates": "a.gro"}, run={"steps": 400, "temperature": 94.4, "dt": 0.002}, nonbonded=COLD,
                        output={"name": "md_" + name, "energy_every": 10}, backend={"kind": backend, "threads": 1})
            p = run(path)
            told = [w for w in ("step ", "ARG", "AR", "largest force", "likely cause", "overlap", "minimize") if w not in p.stderr]
            # at one point no force tells which two atoms: their energy does
            named = "51" in p.stderr or "101" in p.stderr
            check(p.returncode == 77 and not told and named, "%s, %s: dynamics stops and names the atom" % (what, backend), (p.returncode, told, p.stderr[-700:]))
            for end in (".chk", ".chk.prev"):
                check(not os.path.exists("md_" + name + end) or all(map(math.isfinite, state("md_" + name + end))), "no NaN in a checkpoint")
            p = expect(0, "minimised from", path, "--set", "run.integrator=minimize", "--set", "output.name=min_" + name)
            rows = series("min_%s.csv" % name)
            final = energy(path, "--set", "system.coordinates=min_%s.gro" % name)["energies"]["potential"]
            # about -5 kJ/mol an atom in the lattice
            check(math.isfinite(final) and -1500 < final < -900, "%s, %s: minimisation parts them" % (what, backend), (final, rows["potential_kj_mol"][:3], p.stderr))
            check(all(math.isfinite(v) for v in state("min_%s.chk" % name)), "and its checkpoint is finite")


def unstable():
    edge, n = 2.4, 64
    pairs = "[ bonds ]\n1 2 1 0.1 1000000\n"
    write("d.top", """[ defaults ]
1 2 no 1 1
[ atomtypes ]
X 6 1.0 0.0 A 0.3 0.3
[ moleculetype ]
DIM 1
[ atoms ]
1 X 1 DIM XA 1 0 1.0
2 X 1 DIM XB 2 0 1.0
[ bonds ]
1 2 1 0.1 1000000
[ system ]
dimers
[ molecules ]
DIM %d
""" % n)
    x = [p for q in lattice(4, edge) for p in (q, [q[0] + 0.101, q[1], q[2]])]
    gro("d.gro", x, [edge] * 3, [(1 + i // 2, "DIM", "XAB"[0] + "AB"[i % 2]) for i in range(2 * n)], digits=6)
    # the bond's frequency is sqrt(2 k/m) = 1414/ps; leap-frog is stable below 2/1414 ps = 1.4 fs
    path = conf("d.conf", system={"topology": "d.top", "coordinates": "d.gro"}, run={"steps": 20000, "dt": 0.0005}, nonbonded=COLD, constraints={"kind": "none"},
                output={"energy_every": 100}, backend={"threads": 1})
    expect(0, "", path, "--set", "run.steps=%d" % (50 if EMULATED else 500), "--set", "output.name=good")
    for backend in BACKENDS:
        p = run(path, "--set", "run.dt=0.00146", "--set", "output.name=" + backend, "--set", "backend.kind=" + backend)
        told = [w for w in ("step ", "DIM", "XA" if "XA" in p.stderr else "XB", "largest force", "likely cause", "checkpoint") if w not in p.stderr]
        check(p.returncode == 77 and not told, "%s: 77 with atom, residue, step, force, cause" % backend, (p.returncode, told, p.stderr[-700:]))
        check(all(math.isfinite(v) for v in state(backend + ".chk")), "the last checkpoint is good")
        check("likely cause" in open(backend + ".log").read(), "the log has the reason")


def lowest(path, name, *words):
    """Minimise; energy of the start and of what came out, both anew, and what was said."""
    p = expect(0, "minimised from", path, "--set", "output.name=" + name, *words, timeout=500)
    e0 = energy(path)["energies"]["potential"]
    e1 = energy(path, "--set", "system.coordinates=%s.gro" % name)["energies"]["potential"]
    return e0, e1, p.stderr


def largest_force(said):
    return float(said.split("largest force ")[-1].split()[0])


def minimize():
    # an fcc crystal with displaced atoms goes back to a minimum to any tolerance
    m, a = 4, 0.535
    x = [[(i + s[0]) * a, (j + s[1]) * a, (k + s[2]) * a] for i in range(m) for j in range(m) for k in range(m) for s in ((0, 0, 0), (.5, .5, 0), (.5, 0, .5), (0, .5, .5))]
    r = random.Random(5)
    gro("a.gro", [[c + r.uniform(-0.03, 0.03) for c in p] for p in x], [m * a] * 3, digits=6)
    argon_top("a.top", len(x))
    path = conf("a.conf", system={"topology": "a.top", "coordinates": "a.gro"}, run={"integrator": "minimize", "steps": 2000, "force_tolerance": 1.0, "dt": 0.005}, nonbonded=COLD,
                output={"energy_every": 10}, backend={"threads": 1})
    e0, e1, said = lowest(path, "crystal")
    gro("x.gro", x, [m * a] * 3, digits=6)
    perfect = energy(path, "--set", "system.coordinates=x.gro")["energies"]["potential"]
    check("within run.force_tolerance" in said and largest_force(said) <= 1.0, "crystal: converged to the tolerance", said)
    # a residual force of 1 kJ/mol/nm against a stiffness of about 1000 kJ/mol/nm^2: F^2/2k an atom = 0.0005 kJ/mol
    check(e1 < e0 and 0 <= e1 - perfect + 1e-3 < 0.2, "crystal: to the energy of the lattice", (e0, e1, perfect))
    rows = series("crystal.csv")
    check(rows["step"] == [10.0 * k for k in range(len(rows["step"]))] and all(math.isfinite(v) for c in rows.values() for v in c), "a row each energy_every steps, all finite", rows["step"])
    check(not any(rows["kinetic_kj_mol"]) and not any(rows["temperature_k"]) and rows["conserved_kj_mol"] == rows["potential_kj_mol"] and any(rows["pressure_bar"]),
          "FIRE's motion is not counted as heat", (rows["kinetic_kj_mol"][:3], rows["pressure_bar"][:3]))
    # too few steps: says so, and whatever the number of steps the end is not above the start
    for steps in (0, 7, 33) if EMULATED else (0, 1, 3, 7, 20, 33):
        e0, e1, said = lowest(path, "few%d" % steps, "--set", "run.steps=%d" % steps, "--set", "run.force_tolerance=0.001")
        check(e1 <= e0 + 1e-6 * abs(e0) and "NOT within" in said, "%d steps: not converged, which it says, and not above the start" % steps, (e0, e1, said))
    # stopped and resumed: the same minimum by the same way
    expect(0, "", path, "--set", "output.name=whole", "--set", "run.force_tolerance=1e-3")
    for limit in (40, 80, 2000):
        expect(0, "", path, "--set", "output.name=parts", "--set", "run.force_tolerance=1e-3", "--set", "run.steps=%d" % limit)
    check(open("whole.csv").read() == open("parts.csv").read() and state("whole.chk") == state("parts.chk"), "in pieces: the same bits")
    expect(0, "complete", path, "--set", "output.name=whole", "--set", "run.force_tolerance=1e-3")
    if EMULATED:
        return
    # strained rigid water
    names, x, box = made_water(216)
    squeezed = []
    for i in range(216):
        c = [x[3 * i][k] * 0.93 for k in range(3)]
        squeezed += [[c[k] + x[3 * i + s][k] - x[3 * i][k] for k in range(3)] for s in range(3)]
    gro("w.gro", squeezed, [b * 0.93 for b in box], names, digits=6)
    path = conf("w.conf", system={"topology": "w.top", "coordinates": "w.gro"}, run={"integrator": "minimize", "steps": 800, "force_tolerance": 100.0, "dt": 0.002},
                nonbonded={"cutoff": 0.8}, output={"energy_every": 50})
    e0, e1, said = lowest(path, "water")
    check("within run.force_tolerance" in said and e1 < e0 - 1000, "strained rigid water: converged, far below the start", (e0, e1, said))
    _, y, _ = read_gro("water.gro")
    off = max(abs(math.dist(y[3 * i], y[3 * i + s]) - 0.09572) for i in range(216) for s in (1, 2))
    check(off < 1e-6, "and every water has its shape", off) # 7 decimals of the file
    # a peptide in water, with and without constraints
    dipeptide = os.path.join(source, "inputs", "dipeptide")
    for kind in ("h-bonds", "none"):
        path = conf("p_%s.conf" % kind, system={"topology": dipeptide + "/dipeptide.top", "coordinates": dipeptide + "/dipeptide.gro"},
                    run={"integrator": "minimize", "steps": 300, "force_tolerance": 200.0, "dt": 0.002 if kind == "h-bonds" else 0.0005}, nonbonded={"cutoff": 0.9},
                    constraints={"kind": kind}, output={"energy_every": 100})
        e0, e1, said = lowest(path, "peptide_" + kind)
        check(e1 < e0 - 1000 and ("NOT within" not in said) == (largest_force(said) <= 200.0), "peptide, %s: goes down, and says how far it came" % kind, (e0, e1, said))


main({"tail": tail, "rounded": rounded, "wrapped": wrapped, "collinear": collinear, "barostat": barostat, "overlap": overlap, "unstable": unstable, "minimize": minimize})
