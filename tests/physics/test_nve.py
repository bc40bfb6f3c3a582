#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Energy conservation of rigid water at the defaults: prolate split, 2 fs, about 3000 atoms.

usage: test_nve.py [picoseconds] [limit] [run.mesh_every]
The least-squares slope of `conserved`, sampled every 0.1 ps, over 100 ps must be below 2e-3 kJ/mol/ns/atom. The noise of that
slope is about 5e-4 (block averages over ten pieces, printed): the limit is four of them. GROMACS at its defaults: 0.19 on
such a box. docs/validation.md has the long run. With sanitizers (MDS_SLOW above 1) 4 ps: the noise grows as the length to the power -3/2, to 0.06, and
the limit is four of it again; that is a run for the sanitizers' sake.

One thread, with multiple time steps two: beside another test, on two cores, a single thread is done sooner than two that wait for each other.
"""
import csv, os, subprocess, sys, tempfile

try:
    import numpy as np
except ImportError:
    print("skipped: numpy is not installed"); sys.exit(77)

slow = float(os.environ.get("MDS_SLOW", 1)) > 1
length, limit = (float(sys.argv[1]) if len(sys.argv) > 1 else 4.0 if slow else 100.0), (float(sys.argv[2]) if len(sys.argv) > 2 else 0.25 if slow else 2e-3)
mesh_every = int(sys.argv[3]) if len(sys.argv) > 3 else 1
if slow and mesh_every > 1:
    length, limit = 4.0, 0.25
with tempfile.TemporaryDirectory() as work:
    conf = os.path.join(work, "nve.conf")
    with open(conf, "w") as f:
        f.write('system = { generate = "water"; atoms = 3000; };\nrun = { steps = %dL; dt = 0.002; mesh_every = %d; };\n'
                'backend = { threads = %d; };\n'
                'output = { energy_every = 50L; trajectory_every = 0L; };\n' % (round(length / 0.002), mesh_every, 1 if mesh_every == 1 else 2))
    run = subprocess.run([os.environ["MDSIM"], conf, "--quiet"], capture_output=True, text=True)
    print(run.stdout + run.stderr)
    if run.returncode:
        sys.exit(1)
    rows = list(csv.DictReader(open(os.path.join(work, "run.csv"))))
    log = open(os.path.join(work, "run.log")).read()
t = np.array([float(r["time_ps"]) for r in rows])
e = np.array([float(r["conserved_kj_mol"]) for r in rows])
n_atoms = 3000


def slope(t, e):
    return np.polyfit(t, e, 1)[0] * 1000 / n_atoms


# The error of a slope over the whole from the scatter of ten blocks about the line: fluctuations of block means
blocks = np.array_split(np.arange(len(t)), 10)
means = np.array([e[b].mean() for b in blocks])
middle = np.array([t[b].mean() for b in blocks])
fit = np.polyfit(middle, means, 1)
scatter = np.sqrt(((means - np.polyval(fit, middle)) ** 2).sum() / (len(blocks) - 2))
error = scatter / np.sqrt(((middle - middle.mean()) ** 2).sum()) * 1000 / n_atoms
print("slope %.2e +- %.1e kJ/mol/ns/atom over %g ps (%d samples), limit %.1e" % (slope(t, e), error, t[-1], len(t), limit))
print("mean temperature %.1f K" % np.mean([float(r["temperature_k"]) for r in rows]))
print("\n".join(l for l in log.splitlines() if l.startswith(("mesh", "list", "performance"))))
ok = len(t) == round(length / 0.1) + 1 and abs(slope(t, e)) <= limit
sys.exit(0 if ok else 1)
