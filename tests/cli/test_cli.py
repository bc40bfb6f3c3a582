#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The program as its users meet it: words in, exit codes and messages out, files beside the conf.

usage: test_cli.py CASE, one of
  words      commands, options, help, version, info; standard output that cannot be written
  conf       wrong confs: every error at once, with file, line and the nearest key; --set; includes; origins in explain
  files      input files that are missing, swapped, empty, binary, directories; names with blanks and UTF-8
  energy     energy --json, --forces: the keys and shapes that other programs rely on; no atom moves
  outputs    run.csv, run.log, run.gro, run.h5md; complete runs; --restart=FILE; --quiet; moved-aside outputs
  places     output directories that are missing or cannot be written; two runs at once
  terminal   progress: plain lines into a file, one line overwritten on a terminal
  signals    stop, checkpoint, stop during set-up
  guards     max_wall, max_cost, stop_if_below
"""
import json, os, pty, resource, select, signal, subprocess, time

from program import ARGON, argon_top, check, conf, energy, expect, gro, lattice, main, mdsim, read_gro, run, series, source, write

MADE = {"generate": "argon", "atoms": 400}
COLD = {"cutoff": 0.8, "coulomb": "none"}
FIRST = ["step", "time_ps", "potential_kj_mol", "kinetic_kj_mol", "total_kj_mol", "conserved_kj_mol", "temperature_k", "pressure_bar", "volume_nm3", "density_kg_m3"]


def argon(path="a.conf", steps=40, more="", **output):
    return conf(path, more, system=MADE, run={"steps": steps, "dt": 0.002, "temperature": 94.4, "list_interval": 20}, nonbonded=COLD,
                output=dict({"energy_every": 10, "trajectory_every": 20}, **output), backend={"threads": 1})


def words():
    argon()
    expect(64, "no input file given")
    expect(64, ["no command 'rnu'", "did you mean 'run'"], "rnu", "a.conf")
    expect(64, "no command or input file 'nonsense'", "nonsense")
    expect(64, "option --foo", "a.conf", "--foo")
    expect(64, "option --restart", "check", "a.conf", "--restart=never")
    expect(64, "option --json", "a.conf", "--json", "-")
    expect(64, "one word too many", "a.conf", "b.conf")
    expect(64, "no input file given", "check")
    expect(64, "--set needs a value", "a.conf", "--set")
    expect(64, "--restart needs a value", "a.conf", "--restart=")
    expect(64, "--set foo", "a.conf", "--set", "foo")
    expect(66, "nope.conf", "nope.conf")
    for line in (["--help"], ["-h"], ["help"], ["check", "--help"], ["a.conf", "--help"]):
        p = expect(0, ["  run ", "  check ", "  explain ", "  energy ", "  info ", "--set", "--restart", "--json", "--forces", "--quiet", "--verbose", "--version"], *line)
        codes = [c for c in "64 65 66 70 74 75 76 77 78 79".split() if c not in p.stdout]
        check(not codes, "help names every exit code", codes)
    version = expect(0, "mdsim ", "--version").stdout.split()[1]
    for line in (["info", "--json"], ["info", "--json", "-"]):
        info = json.loads(expect(0, "", *line).stdout)
        check(info["program"] == "mdsim " + version, "info names the version", info)
        check(info["cpu_levels"][-1] == "generic" and info["threads"] == len(os.sched_getaffinity(0)), "info names the levels and the cores", info)
    # each level that info names is taken, and one that it does not name is refused
    for level in ("generic", "avx2", "avx512"):
        expect(0 if level in info["cpu_levels"] else 78, "" if level in info["cpu_levels"] else level, "check", "a.conf", "--set", "backend.isa=" + level)
    check(all(name in run("info").stdout for name in info["cpu_levels"]), "info prints the levels")
    for line in (["info"], ["energy", "a.conf"], ["explain", "a.conf"], ["energy", "a.conf", "--json", "-"], ["--help"]):
        with open("/dev/full", "w") as full:
            p = subprocess.run([mdsim] + line, stdout=full, stderr=subprocess.PIPE, text=True)
        check(p.returncode == 74 and "No space left" in p.stderr, "%s > /dev/full: 74" % " ".join(line), (p.returncode, p.stderr))
    expect(74, "/dev/full", "energy", "a.conf", "--json", "/dev/full")
    expect(74, "no/such/f.npy", "energy", "a.conf", "--forces", "no/such/f.npy")
    expect(78, ["2 ranks", "without the launcher"], "a.conf", env={"OMPI_COMM_WORLD_SIZE": "2"})
    if not info["gpus"]: # not compiled in, or no GPU answers
        expect(78, ["backend.kind", "\"cuda\"", "\"auto\""], "a.conf", "--set", "backend.kind=cuda")
    check("GPU" in run("explain", "a.conf").stdout, "explain says why auto chose what it did")
    check(not [f for f in os.listdir(".") if f != "a.conf"], "none of this wrote anything", os.listdir("."))


def confs():
    write("bad.conf", """system = { generate = "argon"; atoms = 400; };
run = { stepz = 100;
  dt = "fast"; steps = 3000000000; };
nonbonded = { cutof = 0.8; coulomb = "nonee"; };
pmee = { order = 4; };
""")
    for command in ("check", "run", "explain", "energy"):
        expect(65, ["bad.conf:2", "did you mean 'run.steps'", "bad.conf:3", "3000000000L", "bad.conf:4", "'nonbonded.cutoff'", "did you mean \"none\"", "bad.conf:5", "pme"],
               command, "bad.conf")
    write("type.conf", 'system = { generate = 7; atoms = "many"; };\nrun = { steps = 1.5; dt = "fast"; };\nnonbonded = { tail_correction = 3; };\n')
    expect(65, ["type.conf:1: system.generate", "type.conf:1: system.atoms", "type.conf:2: run.steps", "type.conf:2: run.dt", "type.conf:3: nonbonded.tail_correction"], "check", "type.conf")
    write("part/run.conf", "run = { dt = 0.002;\n seedd = 3; };\n")
    write("inc.conf", 'system = { generate = "argon"; atoms = 400; };\n@include "part/run.conf"\n')
    expect(65, ["part/run.conf:2", "did you mean 'run.seed'"], "check", "inc.conf")
    write("gone.conf", '@include "part/gone.conf"\n')
    p = expect(66, ["gone.conf:1", "part/gone.conf"], "check", "gone.conf")
    check("nothing to simulate" not in p.stderr, "a missing include brings no second message", p.stderr)
    write("open.conf", "run = { dt = 0.002\n steps = 3; ")
    expect(65, "open.conf:2", "check", "open.conf")
    write("empty.conf", "")
    expect(65, "nothing to simulate", "check", "empty.conf")
    with open("binary.conf", "wb") as f:
        f.write(bytes(range(256)) * 20)
    expect(65, "binary.conf: is not a text file", "check", "binary.conf")
    os.mkdir("folder.conf")
    expect(65, "folder.conf", "check", "folder.conf")
    argon()
    expect(65, ["--set run.stepz=4", "run.steps"], "a.conf", "--set", "run.stepz=4")
    expect(65, ["run.steps", "integer"], "a.conf", "--set", "run.steps=1.5")
    expect(65, ["--set: nonbonded.cutoff", "half the shortest distance", "2.6829"], "a.conf", "--set", "nonbonded.cutoff=1.4")
    expect(0, "a run would start", "check", "a.conf")
    expect(0, "", "energy", "a.conf", "--set", "nonbonded.cutoff=0.7")
    text = expect(0, ["a.conf:2", "--set", "follows from run.temperature", "list: outer radius"], "explain", "a.conf", "--set", "run.seed=5").stdout
    rows = {line.split("=")[0].strip(): line.split("=", 1)[1] for line in text.split("\n") if " = " in line and "#" in line}
    check("5 " in rows["run.seed"] and "--set" in rows["run.seed"], "explain: --set as origin", rows["run.seed"])
    check("0.002" in rows["run.dt"] and "ps" in rows["run.dt"] and "a.conf:2" in rows["run.dt"], "explain: value, unit and line", rows["run.dt"])
    check("94.4" in rows["thermostat.temperature"], "explain: the temperature that the thermostat would use", rows["thermostat.temperature"])
    check("default" in rows["pme.force_error"], "explain: defaults named", rows["pme.force_error"])
    document = open(os.path.join(source, "docs", "config.md")).read()
    group, keys = "", []
    for line in document.split("\n"):
        group = line[3:] if line.startswith("## ") else group
        if line.startswith("| `"):
            keys.append("%s.%s" % (group, line.split("`")[1]))
    check(len(keys) > 40 and not [k for k in keys if k not in rows], "explain prints every documented key", [k for k in keys if k not in rows])
    water = os.path.join(source, "inputs", "water", "water.conf")
    expect(0, ["mesh:", "grid", "estimated force error", "order"], "explain", water)


def files():
    x = lattice(6, 2.4)
    place = "a place für alles"
    gro(place + "/ar gon.gro", x, [2.4] * 3)
    argon_top(place + "/ar gon.top", len(x))
    path = conf(place + "/in put.conf", system={"topology": "ar gon.top", "coordinates": "ar gon.gro"}, run={"steps": 3, "temperature": 94.4},
                nonbonded=COLD, output={"name": "läuft", "energy_every": 1, "trajectory_every": 1}, backend={"threads": 1})
    expect(0, "läuft.gro", path)
    check(all(os.path.exists("%s/läuft.%s" % (place, end)) for end in ("csv", "log", "gro", "h5md", "chk")), "outputs lie beside the conf", os.listdir(place))
    check(os.listdir(".") == [place], "and nowhere else", os.listdir("."))
    write("empty", "")
    with open("binary", "wb") as f:
        f.write(bytes(range(256)) * 20)
    os.mkdir("folder")
    up = "../"
    expect(65, ["ar gon.gro", "topology"], "check", path, "--set", "system.topology=ar gon.gro")
    expect(65, ["ar gon.top:2", ".gro"], "check", path, "--set", "system.coordinates=ar gon.top")
    for name in ("empty", "binary", "folder"):
        expect(65, name, "check", path, "--set", "system.topology=" + up + name)
        expect(65, name, "check", path, "--set", "system.coordinates=" + up + name)
    for key in ("topology", "coordinates"):
        expect(66, "none.such", "check", path, "--set", "system.%s=none.such" % key)
    there = sorted(os.listdir(place) + ["inc.top", "less.top", "bad.gro", "bad.inpcrd"])
    argon_top(place + "/inc.top", len(x), '#include "gone.itp"')
    expect(66, ["inc.top:", "gone.itp"], "check", path, "--set", "system.topology=inc.top")
    argon_top(place + "/less.top", len(x) - 1)
    expect(65, ["ar gon.gro", str(len(x)), str(len(x) - 1)], "check", path, "--set", "system.topology=less.top")
    # positions that are no positions: refused with atom, residue and line (line = 2 + place of the atom)
    for bad in ("nan", "inf", "1e8", "***"):
        x2 = [list(p) for p in x]
        x2[99][1] = bad
        gro(place + "/bad.gro", x2, [2.4] * 3)
        expect(65, ["bad.gro:102"] + ([] if bad == "***" else ["AR", "ARG"]), "check", path, "--set", "system.coordinates=bad.gro")
    # the same for an inpcrd
    flat = [10 * c for p in x for c in p]
    for bad in ("         nan", " 100000000.0"):
        numbers = ["%12.7f" % c for c in flat]
        numbers[3 * 99 + 1] = bad
        write(place + "/bad.inpcrd", "made\n%5d\n" % len(x) + "".join("".join(numbers[k:k + 6]) + "\n" for k in range(0, len(numbers), 6)) + "  24.0000000  24.0000000  24.0000000  90.0000000  90.0000000  90.0000000\n")
        expect(65, ["bad.inpcrd", "AR", "ARG"] + (["bad.inpcrd:52"] if "nan" in bad else []), "check", path, "--set", "system.coordinates=bad.inpcrd")
    check(sorted(os.listdir(place)) == there, "refused inputs wrote nothing", os.listdir(place))


def energies():
    import numpy
    gro("a.gro", lattice(6, 2.4, 0.03), [2.4] * 3, digits=6)
    argon_top("a.top", 216)
    path = write("a.conf", 'system = { topology = "a.top"; coordinates = "a.gro"; };\nrun = { seed = 5000000000L; };\nnonbonded = { cutoff = 0.8; coulomb = "none"; };\noutput = { name = "q\\"uote"; };\n')
    p = expect(0, "", "energy", path, "--json", "-", "--forces", "f.npy")
    answer = json.loads(p.stdout)
    keys = {"program", "backend", "n_atoms", "box", "energies", "virial", "pressure_bar", "forces", "settings"}
    check(keys <= set(answer), "the JSON has the keys of the contract", keys - set(answer))
    check(answer["n_atoms"] == 216 and answer["box"] == [[2.4, 0, 0], [0, 2.4, 0], [0, 0, 2.4]] and answer["backend"] == "cpu" and answer["forces"] == "f.npy", "atoms, box, backend, forces", answer)
    terms = {"bond", "angle", "urey_bradley_angle", "proper", "rb", "improper", "periodic_improper", "cmap", "lj14", "coul14", "lj_sr", "disp_corr", "coul_sr", "coul_recip", "coulomb", "potential"}
    e = answer["energies"]
    check(set(e) <= terms | {"position_restraint"} and {"lj_sr", "disp_corr", "coulomb", "potential"} <= set(e), "energies are named as in the contract", set(e) ^ terms)
    total = sum(v for k, v in e.items() if k not in ("potential", "coulomb"))
    check(abs(total - e["potential"]) < 1e-9 * abs(total), "the potential is the sum of the terms", (total, e["potential"])) # sums of doubles in another order
    check(abs(answer["pressure_bar"] + 2 * sum(answer["virial"][k][k] for k in range(3)) / (3 * 2.4 ** 3) * 16.6053906717) < 1e-6 * abs(answer["pressure_bar"]), "pressure = -2 tr(virial)/(3V)",
          answer["pressure_bar"]) # the unit's own digits
    check(answer["settings"]["run.seed"] == 5000000000 and answer["settings"]["output.name"] == 'q"uote' and answer["settings"]["nonbonded.cutoff"] == 0.8, "settings have their types", answer["settings"])
    f = numpy.load("f.npy")
    check(f.shape == (216, 3) and f.dtype == numpy.float64 and numpy.isfinite(f).all(), "forces: N x 3 float64", (f.shape, f.dtype))
    # forces of pairs cancel; the cpu's are sums of single-precision ones: 216 x 60 neighbours x 1e-7 of about 100 kJ/mol/nm
    check(numpy.abs(f.sum(0)).max() < 0.02, "forces sum to nothing", f.sum(0))
    ref = energy(path, "--set", "backend.kind=ref")
    check(abs(ref["energies"]["lj_sr"] - e["lj_sr"]) < 1e-5 * abs(e["lj_sr"]), "cpu and ref agree", (ref["energies"]["lj_sr"], e["lj_sr"])) # single-precision pairs
    os.mkdir("out")
    expect(0, "", "energy", path, "--json", "out/e.json", "--forces", "out/f.npy", "--quiet")
    check(json.load(open("out/e.json"))["forces"] == "f.npy", "forces beside the JSON are named without their directory")
    text = expect(0, ["potential", "kJ/mol"], "energy", path).stdout
    check("%.6f" % e["potential"] in text, "the same number in words", text)
    # no atom is moved: a bond that is to be a constraint keeps its stretched length, so that bond and box say so
    water = os.path.join(source, "inputs", "forcefield")
    write("w.top", '#include "%s/ff99sb.itp"\n#include "%s/tip3p.itp"\n[ system ]\nw\n[ molecules ]\nSOL 1\n' % (water, water))
    names = [(1, "SOL", "OW"), (1, "SOL", "HW1"), (1, "SOL", "HW2")]
    for shift in (0.0, 0.01):
        gro("w.gro", [[1.0, 1.0, 1.0], [1.0957 + shift, 1.0, 1.0], [0.976, 1.0927, 1.0]], [0.0] * 3, names, digits=6)
        conf("w.conf", system={"topology": "w.top", "coordinates": "w.gro"}, nonbonded={"coulomb": "cutoff"})
        # in vacuum a rigid water has no energy at all: nothing to see; with its exclusions off it would be large
        check(abs(energy("w.conf")["energies"]["potential"]) < 1e-9, "a single rigid water has no energy", shift)
    gro("w2.gro", [[1.0, 1.0, 1.0], [1.1057, 1.0, 1.0], [0.976, 1.0927, 1.0], [1.4, 1.0, 1.0], [1.4957, 1.0, 1.0], [1.376, 1.0927, 1.0]], [0.0] * 3,
        names + [(2, n[1], n[2]) for n in names], digits=6)
    write("w2.top", open("w.top").read().replace("SOL 1", "SOL 2"))
    conf("w2.conf", system={"topology": "w2.top", "coordinates": "w2.gro"}, nonbonded={"coulomb": "cutoff", "cutoff": 0.0}, backend={"kind": "ref"})
    _, x, _ = read_gro("w2.gro")
    q = [-0.834, 0.417, 0.417]
    coulomb = sum(138.935458 * q[i] * q[j] / sum((x[i][k] - x[3 + j][k]) ** 2 for k in range(3)) ** 0.5 for i in range(3) for j in range(3))
    got = energy("w2.conf")["energies"]["coul_sr"]
    check(abs(got - coulomb) < 1e-6 * abs(coulomb), "energies are those of the stretched water: no constraint was applied", (got, coulomb)) # ke has 9 digits


def outputs():
    argon(steps=40)
    before = sorted(os.listdir("."))
    p = expect(0, ["40 steps", "ns/day", "wrote"], "a.conf")
    check(sorted(os.listdir(".")) == sorted(before + ["run.csv", "run.log", "run.gro", "run.h5md", "run.chk", "run.chk.prev"]), "the files of a run", os.listdir("."))
    header = open("run.csv").readline().strip().split(",")
    check(header[:10] == FIRST and len(set(header)) == len(header), "run.csv begins with the columns of the contract", header)
    rows = series("run.csv")
    check(rows["step"] == [0, 10, 20, 30, 40] and all(abs(t - 0.002 * s) < 1e-9 for t, s in zip(rows["time_ps"], rows["step"])), "a row each energy_every steps", rows["step"])
    check(all(abs(p + k - t) < 2e-8 * abs(p) for p, k, t in zip(rows["potential_kj_mol"], rows["kinetic_kj_mol"], rows["total_kj_mol"])), "total = potential + kinetic") # 8 decimals
    check(all(abs(c - rows["conserved_kj_mol"][0]) < 0.05 for c in rows["conserved_kj_mol"]), "conserved is conserved", rows["conserved_kj_mol"]) # 400 atoms at 2 fs: 0.002 seen
    check(abs(rows["temperature_k"][0] - 94.4) < 1e-4 and abs(rows["density_kg_m3"][0] - 1374) < 0.01, "temperature drawn and density made as asked", (rows["temperature_k"][0], rows["density_kg_m3"][0]))
    names, x, box = read_gro("run.gro")
    check(len(x) == 400 and set(n[1:] for n in names) == {("AR", "AR")} and abs(box[0] ** 3 - rows["volume_nm3"][-1]) < 1e-4, "run.gro: names, atoms and box", (len(x), names[0], box))
    log = open("run.log").read()
    for what in ("mdsim ", "a.conf", "400 atoms", "backend cpu", "nonbonded.cutoff", "timings", "pair", "search", "ms/step", "ns/day", "Matom-steps/s", "energy drift"):
        check(what in log, "run.log has " + what, log)
    shares = [float(line.split("%")[0].split()[-1]) for line in log.split("\n") if "%" in line and "ms/step" in line or " rest " in line]
    check(len(shares) > 6 and all(s >= -0.1 for s in shares) and abs(sum(shares) - 100) < 1 + [float(l.split("%")[0].split()[-1]) for l in log.split("\n") if " prune " in l][0],
          "the timings are shares of the whole", shares) # rounded to 0.1 each; pruning is part of pair and stands beside it
    stamp = {f: os.stat(f).st_mtime_ns for f in os.listdir(".")}
    expect(0, "complete", "a.conf")
    check(stamp == {f: os.stat(f).st_mtime_ns for f in os.listdir(".")}, "a complete run is left untouched")
    expect(0, "resuming at step 40 ", "a.conf", "--set", "run.steps=60")
    check(series("run.csv")["step"] == [0, 10, 20, 30, 40, 50, 60], "more steps extend it")
    # from the same checkpoint under another name: the checkpoint holds step 60 (a scheduled search, every 20)
    expect(0, "resuming at step 60", "a.conf", "--set", "output.name=other", "--restart=run.chk", "--set", "run.steps=80")
    check(os.path.exists("other.gro") and series("other.csv")["step"][-1] == 80, "--restart=FILE with another name writes under that name", series("other.csv")["step"])
    expect(0, "resuming at step 60", "a.conf", "--set", "run.steps=80")
    check(series("run.csv")["potential_kj_mol"][-1] == series("other.csv")["potential_kj_mol"][-1], "and gives the same numbers")
    # a run that was stopped beyond the steps that are asked for now is not cut back, nor called complete at that number
    p = subprocess.Popen([mdsim, "a.conf", "--quiet", "--set", "output.name=past", "--set", "run.steps=100000000"], stdout=subprocess.PIPE, text=True)
    wait_for_rows("past.csv", 8, p)
    p.terminate()
    p.communicate(timeout=60)
    check(p.returncode == 75, "a run that is stopped beyond step 40", p.returncode)
    past = {f: open(f, "rb").read() for f in os.listdir(".") if f.startswith("past.")}
    expect(0, "the run is past step 20", "a.conf", "--set", "output.name=past", "--set", "run.steps=20")
    check(past == {f: open(f, "rb").read() for f in os.listdir(".") if f.startswith("past.")}, "fewer steps than a checkpoint has: said so, and nothing touched")
    expect(65, "raise run.steps", "a.conf", "--restart=past.chk", "--set", "output.name=new", "--set", "run.steps=20")
    expect(0, "past.part0001.h5md", "a.conf", "--set", "output.name=past", "--set", "output.part_gb=0.001", "--set", "run.steps=40", "--restart=never")
    expect(0, "older outputs moved to run.1", "a.conf", "--restart=never")
    check(all(os.path.exists("run.1." + e) for e in ("csv", "log", "gro", "h5md", "chk")), "--restart=never moves old outputs aside", os.listdir("."))
    expect(0, "run.2", "a.conf", "--restart=never")
    expect(66, "gone.chk", "a.conf", "--restart=gone.chk")
    expect(76, "a.conf", "a.conf", "--restart=a.conf")
    p = expect(0, "40 steps", "a.conf", "--restart=never", "--quiet")
    check(p.stderr == "", "--quiet: no messages", p.stderr)
    expect(0, "", "a.conf", "--set", "output.trajectory_every=0", "--set", "output.name=bare")
    check(not os.path.exists("bare.h5md") and os.path.exists("bare.gro"), "without trajectory_every no trajectory")
    expect(0, "", "a.conf", "--set", "run.steps=0", "--set", "output.name=none")
    check(series("none.csv")["step"] == [0] and os.path.exists("none.gro"), "no steps: the start, and no more")


def places():
    argon()
    write("file", "x")
    for command in ("run", "check"):
        expect(74, ["no/such", "make the directory"], command, "a.conf", "--set", "output.name=no/such/run")
        expect(74, "file", command, "a.conf", "--set", "output.name=file/run")
    if os.getuid():  # root may write anywhere
        os.mkdir("closed", 0o555)
        expect(74, "closed", "a.conf", "--set", "output.name=closed/run")
    expect(74, "/proc", "a.conf", "--set", "output.name=/proc/run")
    check(sorted(os.listdir(".")) in (["a.conf", "file"], ["a.conf", "closed", "file"]), "nothing was written", os.listdir("."))
    argon("long.conf", steps=100000000)
    p = subprocess.Popen([mdsim, "long.conf", "--quiet"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_for("run.chk", p)
    size = os.path.getsize("run.log")
    for words in ([], ["--restart=never"]):
        expect(74, ["run.log", "another mdsim"], "long.conf", *words)
    check(os.path.getsize("run.log") >= size and not [f for f in os.listdir(".") if f.startswith("run.1")], "the second run touched nothing", os.listdir("."))
    expect(0, "", "a.conf", "--set", "output.name=beside")
    p.send_signal(signal.SIGTERM)
    p.communicate(timeout=60)
    check(p.returncode == 75, "the first goes on undisturbed and stops when told", p.returncode)
    expect(0, "", "long.conf", "--set", "run.steps=1")


def wait_for(path, process, seconds=120):
    end = time.time() + seconds
    while not os.path.exists(path) and process.poll() is None and time.time() < end:
        time.sleep(0.02)
    if not os.path.exists(path):
        raise RuntimeError("%s never came: %s" % (path, process.communicate()))


def count_rows(path):
    return open(path).read().count("\n") if os.path.exists(path) else 0


def wait_for_rows(path, rows, process, seconds=120):
    """Until the run is at work: a resume first cuts run.csv back by at most an interval of lists, two rows here."""
    end = time.time() + seconds
    while count_rows(path) < rows and process.poll() is None and time.time() < end:
        time.sleep(0.02)
    if count_rows(path) < rows:
        raise RuntimeError("%s did not grow: %s" % (path, process.communicate()))


def terminal():
    argon(steps=3000)
    try:
        master, slave = pty.openpty()
    except OSError as e:  # a chroot or container without /dev/pts
        print("skipped: no pseudo-terminal here: %s" % e)
        raise SystemExit(77)
    p = subprocess.Popen([mdsim, "a.conf"], stdout=subprocess.DEVNULL, stderr=slave)
    os.close(slave)
    seen = b""
    while True:
        ready, _, _ = select.select([master], [], [], 120)
        try:
            part = os.read(master, 65536) if ready else b""
        except OSError:  # the other end is closed
            part = b""
        if not part:
            break
        seen += part
    os.close(master)
    text = seen.decode()
    check(p.wait() == 0 and text.count("\r\x1b[Kstep ") >= 1, "on a terminal the line is overwritten", repr(text))
    check("step 3000 of 3000 (100 %)" in text and text.endswith("\n"), "and ended by a new line", repr(text[-300:]))
    p = run("a.conf", "--restart=never")
    lines = [l for l in p.stderr.split("\n") if l.startswith("step ")]
    check(lines and "\r" not in p.stderr and "\x1b" not in p.stderr, "into a file they are plain lines", repr(p.stderr))
    check(len(lines) <= 10 and lines[-1].startswith("step 3000 of 3000 (100 %), 6.000 ps"), "few of them, the last of the end", lines)
    check(not [l for l in run("a.conf", "--restart=never", "--quiet").stderr.split("\n") if l], "--quiet: none")


def signals():
    argon(steps=100000000)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1):
        rows = count_rows("run.csv")
        p = subprocess.Popen([mdsim, "a.conf"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        wait_for_rows("run.csv", rows + 2, p)
        began = time.time()
        p.send_signal(number)
        p.send_signal(number)  # an impatient user
        _, said = p.communicate(timeout=60)
        # a step of 400 atoms takes milliseconds; 15 s allow for a machine with much else to do
        check(p.returncode == 75 and time.time() - began < 15, "%s: 75 at once" % number.name, (p.returncode, time.time() - began, said))
        check("checkpoint of step" in said and "same command again" in said, "says what to do", said)
        check("stopped by a signal" in open("run.log").read().strip().split("\n")[-1], "and the log too", open("run.log").read()[-300:])
    p = subprocess.Popen([mdsim, "a.conf", "--quiet"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_for_rows("run.csv", count_rows("run.csv") + 2, p)
    old = os.stat("run.chk").st_mtime_ns
    p.send_signal(signal.SIGUSR2)
    end = time.time() + 30
    while os.stat("run.chk").st_mtime_ns == old and time.time() < end and p.poll() is None:
        time.sleep(0.05)
    time.sleep(0.2)
    check(os.stat("run.chk").st_mtime_ns != old and p.poll() is None, "SIGUSR2: a checkpoint, and on it goes", p.poll())
    p.send_signal(signal.SIGTERM)
    p.communicate(timeout=60)
    check(p.returncode == 75, "then SIGTERM")
    steps = series("run.csv")["step"]
    check(steps == [10 * k for k in range(len(steps))], "run.csv has every row once over all pieces", steps[:20])
    # set-up of a large box takes seconds
    for f in os.listdir("."):
        os.remove(f)
    argon("big.conf")
    for command in ("run", "energy"):
        p = subprocess.Popen([mdsim, command, "big.conf", "--set", "system.atoms=3000000"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        time.sleep(0.5)
        early = p.poll()
        began = time.time()
        p.send_signal(signal.SIGINT)
        _, said = p.communicate(timeout=60)
        want = 75 if command == "run" else -signal.SIGINT
        check(early is None and p.returncode == want and time.time() - began < 5, "%s: SIGINT during set-up ends it at once" % command, (early, p.returncode, time.time() - began, said))
        check(os.listdir(".") == ["big.conf"], "and nothing is written", os.listdir("."))
        check(command != "run" or "nothing was written" in said, "which it says", said)


def guards():
    argon(steps=100000000)
    slow = float(os.environ.get("MDS_SLOW", 1))  # sanitizers make the set-up longer
    for guard, settings in (("run.max_wall", ["run.max_wall=%g" % (0.001 * slow)]), ("cost.max_cost", ["cost.max_cost=%g" % (4 * slow), "cost.price_per_hour=3600"]),
                            ("cost.stop_if_below", ["cost.stop_if_below=0.9", "cost.predicted_ns_per_day=1e7"])):
        began = time.time()
        p = expect(79, guard, "a.conf", *[w for s in settings for w in ("--set", s)], "--set", "output.name=g")
        # 3.6 s, 4 s, 30 s (speed is judged only after that): long enough for set-up on a busy machine
        check(1 < time.time() - began < 90 * slow, "%s: in its time" % guard, time.time() - began)
        stop = json.load(open("g.stop.json"))
        check(stop["guard"] == guard and stop["step"] > 0 and stop["steps"] == 100000000, "NAME.stop.json names it", stop)
        check(guard in open("g.log").read().strip().split("\n")[-1], "so does the last line of the log", open("g.log").read()[-300:])
        check(os.path.exists("g.chk"), "the checkpoint is there")
        step = stop["step"]
    expect(0, "resuming", "a.conf", "--set", "output.name=g", "--set", "run.steps=%d" % (step + 10))
    check(not os.path.exists("g.stop.json"), "the same command goes on, and the note of the stop goes")
    expect(65, "cost.max_cost", "check", "a.conf", "--set", "cost.max_cost=1")


main({"words": words, "conf": confs, "files": files, "energy": energies, "outputs": outputs, "places": places, "terminal": terminal,
      "signals": signals, "guards": guards})
