#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""backend.kind = "auto", the default, with a GPU that answers and with none: the emulation under the name "cuda" (fake_gpu.cpp), whose numbers differ
from the CPU's in the last digits, so that it can be told where a run was.

usage: test_auto.py    (MDSIM_FAKE: the program with that GPU)"""
import json, os, subprocess, sys, tempfile

program = os.environ["MDSIM_FAKE"]
failures = 0
os.chdir(tempfile.mkdtemp(prefix="mds_auto_"))


def check(ok, what, more=""):
    global failures
    failures += not ok
    print(("ok      " if ok else "FAILED  ") + what + ("" if ok else "\n%s" % (more,)), flush=True)


def conf(name, steps):
    with open(name + ".conf", "w") as f:
        f.write('system = { generate = "water"; atoms = 99L; velocities = "draw"; };\nrun = { steps = %dL; list_interval = 2L; };\n'
                'nonbonded = { cutoff = 0.4; };\npme = { order = 7; grid = [12, 12, 12]; };\noutput = { name = "%s"; trajectory_every = 0; energy_every = 2; };\n'
                'backend = { threads = 1; };\n' % (steps, name))


def go(name, gpu, *words):
    """Run; (what was said and logged, rows of numbers)"""
    env = dict(os.environ, FAKE_GPU="Model A") if gpu else {k: v for k, v in os.environ.items() if k != "FAKE_GPU"}
    p = subprocess.run([program, name + ".conf", "--quiet", *words], capture_output=True, text=True, env=env)
    if p.returncode:
        print("FAILED  %s ended with %d: %s" % (name, p.returncode, p.stderr))
        sys.exit(1)
    return p.stderr + open(name + ".log").read(), open(name + ".csv").read().split("\n")[:-1]


def kept(name):
    """The backend that the checkpoint names."""
    data = open(name + ".chk", "rb").read(4000)
    return [k for k in ("cuda", "cpu", "emu", "ref") if k.encode() + b"\0" in data]


said, made = {}, {}
for name, gpu, words in (("auto_gpu", True, ()), ("gpu", True, ("--set", "backend.kind=cuda")), ("auto_host", False, ()), ("host", True, ("--set", "backend.kind=cpu"))):
    conf(name, 4)
    said[name], made[name] = go(name, gpu, *words)
check("(a GPU answers)" in said["auto_gpu"] and kept("auto_gpu") == ["cuda"], "a GPU that answers is taken, and the log says why", said["auto_gpu"][:2000])
check(made["auto_gpu"] == made["gpu"] and kept("gpu") == ["cuda"], "the numbers are the GPU's to the last digit", (made["auto_gpu"], made["gpu"]))
check("no GPU answers: no model" in said["auto_host"] and kept("auto_host") == ["cpu"], "without one the CPU is taken, and the log has the driver's reason", said["auto_host"][:2000])
check(made["auto_host"] == made["host"] and made["host"] != made["gpu"], "the numbers are the CPU's, and those differ from the GPU's", (made["auto_host"], made["host"]))
check("asked for" in said["host"] and kept("host") == ["cpu"], "who asks for the CPU gets it beside a GPU", said["host"][:2000])

conf("mts", 4)
text, _ = go("mts", True, "--set", "run.mesh_every=2")
check("(a GPU answers)" in text and kept("mts") == ["cuda"], "with multiple time steps too", text[:2000])
conf("auto_gpu", 8)
text, rows = go("auto_gpu", False)
# from the checkpoint of a list: the rows before it stay the GPU's
check(rows[:3] == made["gpu"][:3] and len(rows) == len(made["gpu"]) + 2 and kept("auto_gpu") == ["cpu"], "a run that has lost its GPU goes on on the CPU", (kept("auto_gpu"), rows, made["gpu"]))

for gpu, words, code, answer in ((False, ("--set", "backend.kind=cuda"), 78, "no GPU answers (no model)"), (True, ("--set", "backend.precision=double"), 0, ""),
                                 (False, ("--set", "backend.precision=double"), 0, "the ref backend")):
    env = dict(os.environ, FAKE_GPU="Model A") if gpu else {k: v for k, v in os.environ.items() if k != "FAKE_GPU"}
    conf("check", 4)
    p = subprocess.run([program, "check", "check.conf", *words], capture_output=True, text=True, env=env)
    check(p.returncode == code and answer in p.stderr, "%s, %s: exit code %d, says %s" % (words[1], "a GPU" if gpu else "none", code, answer or "nothing"), (p.returncode, p.stderr))
for gpu, want in ((True, ["Model A"]), (False, [])):
    env = dict(os.environ, FAKE_GPU="Model A") if gpu else {k: v for k, v in os.environ.items() if k != "FAKE_GPU"}
    p = subprocess.run([program, "info", "--json", "-"], capture_output=True, text=True, env=env)
    check(json.loads(p.stdout)["gpus"] == want, "info lists %s" % (want or "none"), p.stdout)
sys.exit(1 if failures else 0)
