#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""backend.precision = "double" of the GPU backend (emulated) against ref: reference systems at one point.

usage: test_double.py [name ...]

Every reference system of up to 3,000 atoms (or those named) in each of its cases, with the settings that test_references.py has for
them. Both split the same sums over the same mesh in double, so what differs is the order of sums, fixed point, and how the short-range
form is made. Forces within 1e-9 of their rms (found: 5e-12, and 5e-10 in the minimised villin, where a rms of 4 is what is left of some
1e3); each energy within 1e-12 of the sum of the magnitudes of all (terms are sums of some 1e6 numbers of either sign, 1e-16 each; found:
3e-13); virial within 1e-11 of its largest element (found: 2e-12). Mixed precision misses these by a factor of a thousand and more.
"""
import json, math, os, sys, tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import test_references as references  # skips without numpy and the systems
import numpy as np, subprocess

mdsim, emu = os.environ["MDSIM"], os.environ["MDSIM_EMU"]
failures = 0


def check(ok, what):
    global failures
    failures += not ok
    print(("ok      " if ok else "FAILED  ") + what, flush=True)


def point(backend, conf, work):
    out, npy = os.path.join(work, backend + ".json"), os.path.join(work, backend + ".npy")
    p = subprocess.run([emu if backend == "emu" else mdsim, "energy", conf, "--json", out, "--forces", npy, "--set", "backend.kind=" + backend,
                        "--set", "backend.precision=double"], capture_output=True, text=True)
    if p.returncode:
        sys.exit("FAILED %s ended with %d: %s" % (backend, p.returncode, (p.stdout + p.stderr)[-1500:]))
    return json.load(open(out)), np.load(npy)


def compare_point(name, conf, work):
    (want, f), (got, g) = point("ref", conf, work), point("emu", conf, work)
    scale = sum(abs(v) for t, v in want["energies"].items() if t not in ("coulomb", "potential"))
    energy = max(abs(got["energies"][t] - v) for t, v in want["energies"].items()) / max(scale, 1)
    force = np.abs(g - f).max() / max(math.sqrt((f ** 2).sum() / len(f)), 1e-3)
    virial = np.abs(np.array(got["virial"]) - np.array(want["virial"])).max() / max(np.abs(np.array(want["virial"])).max(), 1)
    check(got["energies"].keys() == want["energies"].keys() and energy < 1e-12 and force < 1e-9 and virial < 1e-11,
          "%-40s energies %.1e, forces %.1e, virial %.1e" % (name, energy, force, virial))


def main(wanted):
    n = 0
    with tempfile.TemporaryDirectory() as work:
        for root, dirs, files in os.walk(references.shared):
            dirs.sort()
            name = os.path.relpath(root, references.shared)
            if "reference.json" not in files or (wanted and name not in wanted):
                continue
            ref = json.load(open(os.path.join(root, "reference.json")))
            if not wanted and ref["n_atoms"] > references.SMALL:
                continue
            for case, reference in ref["references"].items():
                conf = os.path.join(work, "in.conf")
                with open(conf, "w") as f:
                    f.write(references.conf_text(root, ref, case, reference["settings"], reference, "ref"))
                compare_point(name + " " + case, conf, work)
                n += 1
    check(n > 0, "%d cases" % n)


main(sys.argv[1:])
sys.exit(1 if failures else 0)
