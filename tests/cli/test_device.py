#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/device.sh, on the cpu backend: it is clean shell, keeps its promises about files, clock and exit codes, and its checks can fail.

usage: test_device.py    (MDS_BUILD: the build whose minimal/ is used, see test_minimal.py)"""
import json, os, shutil, subprocess, sys, tempfile

from program import check, source

SCRIPT = os.path.join(source, "tests", "device.sh")
INPUTS = os.path.join(source, "inputs")


def device(*words, script=SCRIPT, seconds=75, **env):
    env = dict(os.environ, MDS_DEVICE_KIND="cpu", MDS_DEVICE_SECONDS=str(seconds), MDS_DEVICE_BUILD=os.path.join(os.environ["MDS_BUILD"], "minimal"), **env)
    return subprocess.run(["bash", script] + list(words), capture_output=True, text=True, env=env)


def main():
    work = tempfile.mkdtemp(prefix="mds_device_")
    if shutil.which("shellcheck"):
        lint = subprocess.run(["shellcheck", SCRIPT, os.path.join(source, "tests", "gpu.sh")], capture_output=True, text=True)
        check(lint.returncode == 0, "shellcheck", lint.stdout)
    check(device().returncode == 64, "no words: 64")
    check(device(work, "a.top", "a.gro").returncode == 66, "files that are not there: 66")

    out = os.path.join(work, "out")
    one = os.path.join(INPUTS, "dipeptide", "dipeptide.")
    emulated = os.environ.get("MDS_EMU_MESH", "")
    have_mesh = os.path.exists(emulated)
    done = device(out, one + "top", one + "gro", **({"MDS_DEVICE_MESH": emulated} if have_mesh else {}))
    said = done.stdout
    check(done.returncode == 0, "ends well", said + done.stderr)
    check(sorted(os.listdir(out)) == ["bench.json", "build.log", "report.txt", "tests.log"], "four files", os.listdir(out))
    check(open(os.path.join(out, "report.txt"), encoding="utf-8").read() == said, "the report is what was printed")
    check("ok: water against ref: 17 energies" in said, "water is checked against ref", said)
    named = [line[10:].split("; ") for line in said.split("\n") if line.startswith("left out: ")]
    cases = json.load(open(os.path.join(out, "bench.json"), encoding="utf-8"))
    # every timing is in the JSON or named as left out, however slow the machine
    for name, dt in (("water-1500", 2), ("water-3k", 2), ("water-1500", 4), ("peptide", 2), ("peptide", 4), ("dipeptide", 2), ("dipeptide", 4)):
        timed = [c for c in cases if c["case"] == name and abs(c["dt_fs"] - dt) < 1e-9 and c["ms_per_step"] > 0]
        check(bool(timed) != ("%s, %d fs" % (name, dt) in named[0]), "%s at %d fs is timed or named" % (name, dt), (cases, named))
    check(len(named) == 1 and cases, "something was timed", said)

    # the pair kernels are timed by name where a backend has several, each way to transform the mesh where there is a GPU or its emulation
    names = [line.split()[:3:2] for line in said.split("\nmesh: ")[0].split("case  ")[-1].split("\n") if line.startswith("mesh-")]
    check(not have_mesh or any("ways to transform" in n for n in named[0]) or sorted(names) == [[m, w] for m in ("mesh-12", "mesh-8") for w in ("block", "cufft", "gemm")],
          "the table has the mesh in three ways", said)

    # with no time at all nothing is timed, and it says so
    done = device(out, seconds=1)
    check("left out: dipeptide against ref; argon against ref; stage tests; water-1500, 2 fs" in done.stdout and done.returncode == 0, "no time", done.stdout)

    # its checks can fail: a program whose forces are of another cut-off on the backend under test
    fake = os.path.join(work, "fake")
    os.makedirs(fake)
    with open(os.path.join(fake, "mdsim"), "w", encoding="utf-8") as file:
        file.write("#!/bin/bash\ncase \"$*\" in *kind=cpu*) more=(--set nonbonded.cutoff=0.89);; esac\n"
                   "exec %s \"$@\" \"${more[@]}\"\n" % os.path.join(os.environ["MDS_BUILD"], "minimal", "mdsim"))
    os.chmod(os.path.join(fake, "mdsim"), 0o755)
    wrong = os.path.join(source, "tests", "device.sh")
    with open(wrong, encoding="utf-8") as file:
        text = file.read().replace("mdsim=$build/mdsim", "mdsim=%s/mdsim" % fake).replace('$(dirname "$0")/..', source)
    wrong = os.path.join(work, "device.sh")
    with open(wrong, "w", encoding="utf-8") as file:
        file.write(text)
    done = device(out, script=wrong, seconds=1)
    check(done.returncode == 1 and "FAILED: water" in done.stdout, "wrong forces are found", done.stdout)
    shutil.rmtree(work)
    import program
    return 1 if program.failures else 0


if __name__ == "__main__":
    sys.exit(main())
