#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Multiple time steps (run.mesh_every) as users meet them.

usage: test_mts.py CASE, one of
  refused   what does not go with them: exit code, key, and what would do
  same      1 is what there was before, to the bit; 2 shows the same energies and pressure of the same positions; explain, log and bench say it
"""
import json, os

from program import check, conf, expect, main, run, series


def water(path="w.conf", **more):
    groups = {"system": {"generate": "water", "atoms": 648}, "run": {"steps": 20}, "nonbonded": {"cutoff": 0.6}, "output": {"energy_every": 4, "trajectory_every": 0},
              "backend": {"kind": "cpu", "threads": 1}}
    for group, keys in more.items():
        groups.setdefault(group, {}).update(keys)
    return conf(path, **groups)


def refused():
    path = water(run={"mesh_every": 2})
    expect(0, "a run would start", "check", path)
    for settings, code, texts in (
            (["run.mesh_every=5"], 65, ["run.mesh_every", "4"]),
            (["run.mesh_every=0"], 65, ["run.mesh_every"]),
            (["nonbonded.coulomb=reaction-field"], 65, ["run.mesh_every = 2", "nonbonded.coulomb"]),
            (["system.box=none"], 65, ["run.mesh_every", "no box"]),
            (["run.integrator=minimize"], 65, ["run.mesh_every = 2", "minimisation"]),
            (["barostat.kind=c-rescale"], 78, ["run.mesh_every = 2", "constant volume", "virial"]),
            (["output.energy_every=5"], 65, ["output.energy_every = 5", "run.mesh_every = 2", "6 would do"]),
            (["run.mesh_every=3", "run.couple_every=10", "output.energy_every=6"], 65, ["run.couple_every = 10", "run.mesh_every = 3", "12 would do"]),
            (["output.trajectory_every=5", "output.forces=true"], 65, ["output.trajectory_every = 5", "6 would do"]),
            (["output.trajectory_every=5", "output.velocities=true"], 65, ["output.trajectory_every = 5"])):
        expect(code, texts, "check", path, *[w for s in settings for w in ("--set", s)])
    expect(0, "", "check", path, "--set", "output.trajectory_every=5") # positions are whole in every step
    expect(0, "", "check", path, "--set", "run.mesh_every=3", "--set", "output.energy_every=6", "--set", "thermostat.kind=v-rescale") # a chosen run.couple_every is rounded up
    expect(0, ["run.mesh_every = 4", "8 fs between impulses", "1 warning"], "check", path, "--set", "run.mesh_every=4")
    check(sorted(os.listdir(".")) == ["w.conf"], "none of this wrote anything", os.listdir("."))


def same():
    plain, one, two = water(), water("one.conf", run={"mesh_every": 1}, output={"name": "one"}), water("two.conf", run={"mesh_every": 2}, output={"name": "two"})
    for path in (plain, one, two):
        expect(0, "", path, "--quiet")
    check(open("run.csv").read() == open("one.csv").read(), "run.mesh_every = 1 is the default, to the bit")
    rows, mts = open("run.csv").read().split("\n"), open("two.csv").read().split("\n")
    check(rows[1] == mts[1] and rows[1].startswith("0,"), "row 0 is the same to the last digit: potential, kinetic, pressure", (rows[1], mts[1]))
    check(rows[2] != mts[2], "and row 4 is another trajectory")
    a, b = (json.loads(expect(0, "", "energy", path, "--json", "-").stdout) for path in (plain, two))
    check(a["energies"] == b["energies"] and a["virial"] == b["virial"], "energies and virial of a point are the potential's", (a["energies"], b["energies"]))
    expect(0, ["the mesh acts every 2 steps (4 fs), 2 times as strongly", "run.mesh_every"], "explain", two)
    check("the mesh acts every 2 steps" in open("two.log").read() and "multiple time" not in open("run.log").read(), "the log says so where it is so")
    said = expect(0, "", "bench", plain, "--set", "run.mesh_every=2", "--set", "backend.tune=fixed", "--seconds", "1", "--json", "-").stdout
    check("every 2 steps" in said, "bench says so", said)
    # another trajectory's checkpoint is not gone on with
    expect(76, "two.chk", plain, "--set", "output.name=two")


main({"refused": refused, "same": same})
