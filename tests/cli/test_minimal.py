#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The minimal build: configured where no library can be found, it compiles, gives the numbers of the whole program, and
refuses what it does not have.

usage: test_minimal.py    (MDSIM: the whole program, MDS_BUILD: its build, beside which this one is made)"""
import array, json, os, re, subprocess, sys

import program
from program import check, source

# plain flags and one kernel level: it is a build of the sources, not of their speed
FLAGS = ["-DMDS_MINIMAL=ON", "-DMDS_CUDA=OFF", "-DMDS_WERROR=ON", "-DMDS_ISA_LEVELS=generic", "-DCMAKE_BUILD_TYPE=Release",
         "-DCMAKE_C_FLAGS_RELEASE=-O1", "-DCMAKE_DISABLE_FIND_PACKAGE_PkgConfig=ON", "-DCMAKE_DISABLE_FIND_PACKAGE_HDF5=ON"]
READERS = ["test_unit_config", "test_unit_config_noise", "test_unit_tuned", "test_unit_calibration"]
# Energies and virial, of the largest one; forces, of their rms. ref: the same operations in double, but for the Fourier transforms,
# which differ by some 1e-15 an operation, 1e-12 in sums of 1e5 terms that cancel. cpu: where a compiler contracts products and sums
# is up to it, and pairs are in single precision.
TOLERANCE = {"ref": (1e-9, 1e-9), "cpu": (1e-5, 1e-4)}


def from_cache(name):
    with open(os.path.join(os.environ["MDS_BUILD"], "CMakeCache.txt"), encoding="utf-8") as file:
        found = re.search(r"^%s:\w+=(.+)$" % name, file.read(), re.M)
    return found.group(1) if found else None


def build(where):
    flags = list(FLAGS)
    for name in ("CMAKE_C_COMPILER", "CMAKE_CXX_COMPILER", "CMAKE_C_COMPILER_LAUNCHER"):
        if from_cache(name):
            flags.append("-D%s=%s" % (name, from_cache(name)))
    env = dict(os.environ, PKG_CONFIG="/nonexistent", PKG_CONFIG_LIBDIR="/nonexistent")
    for words in (["cmake", "-S", source, "-B", where, "-G", from_cache("CMAKE_GENERATOR")] + flags,
                  ["cmake", "--build", where, "--parallel", str(len(os.sched_getaffinity(0))), "--target", "mdsim"] + READERS):
        done = subprocess.run(words, capture_output=True, text=True, env=env)
        check(done.returncode == 0, " ".join(words[:3]), (done.stdout + done.stderr)[-3000:])
        if done.returncode:
            sys.exit(1)


def needs(path):
    return subprocess.run(["ldd", path], capture_output=True, text=True).stdout


def forces(path):
    raw = open(path, "rb").read()
    values = array.array("d")
    values.frombytes(raw[10 + int.from_bytes(raw[8:10], "little"):]) # .npy, version 1.0
    return values


def same_numbers(minimal, where, kind):
    """Energies, virial and forces of a file pair, by the whole program from its conf's words and by the minimal one from --set alone."""
    place = os.path.join(source, "inputs", "dipeptide", "dipeptide.")
    words = ["energy", "-", "--quiet", "--set", "system.topology=%stop" % place, "--set", "system.coordinates=%sgro" % place, "--set",
             "backend.kind=" + kind, "--set", "nonbonded.cutoff=0.9", "--set", "backend.threads=2"]
    if kind == "cpu":
        words += ["--set", "backend.isa=generic"]
    found = []
    for name, binary in (("whole", program.mdsim), ("minimal", minimal)):
        out = os.path.join(where, name + ".")
        done = subprocess.run([binary] + words + ["--json", out + "json", "--forces", out + "npy"], capture_output=True, text=True)
        check(done.returncode == 0, "%s program, backend %s, ends well" % (name, kind), done.stdout + done.stderr)
        if done.returncode:
            return
        found.append((json.load(open(out + "json", encoding="utf-8")), forces(out + "npy")))
    (whole, f), (small, g) = found
    for_sums, for_forces = TOLERANCE[kind]
    terms = whole["energies"]
    size = max(abs(v) for v in terms.values())
    off = {k: small["energies"].get(k) for k, v in terms.items() if not abs(small["energies"].get(k, float("nan")) - v) <= for_sums * size}
    check(len(terms) > 8 and not off and set(terms) == set(small["energies"]), "%d energies agree on %s" % (len(terms), kind), (terms, off))
    virials = [sum(one["virial"], []) for one in (whole, small)]
    worst = max(abs(a - b) for a, b in zip(*virials))
    check(len(virials[0]) == 9 and worst <= for_sums * max(map(abs, virials[0])), "virials agree on %s" % kind, virials)
    rms = (sum(x * x for x in f) / len(f)) ** 0.5
    worst = max((abs(a - b) for a, b in zip(f, g)), default=float("nan"))
    check(len(f) == len(g) == 3 * whole["n_atoms"] and worst <= for_forces * rms, "forces agree on %s" % kind, (len(f), len(g), worst, rms))


def main():
    where = os.path.join(os.environ["MDS_BUILD"], "minimal")
    build(where)
    minimal = os.path.join(where, "mdsim")
    libraries = needs(minimal)
    check("libm" in libraries and not re.search("hdf5|netcdf|config|fftw|mpi", libraries), "no library beyond the compiler's", libraries)
    for reader in READERS:
        done = subprocess.run([os.path.join(where, "tests", "unit", reader)], capture_output=True, text=True)
        check(done.returncode == 0, reader + " passes on the minimal reader", (done.stdout + done.stderr)[-2000:])
    same_numbers(minimal, where, "ref")
    same_numbers(minimal, where, "cpu")
    program.mdsim = minimal
    for words in (["run", "x.conf"], ["x.conf"], ["check", "x.conf"], ["explain", "-"], ["plan", "x.conf"], ["document"]):
        program.expect(78, "minimal build", *words)
    program.expect(0, ["minimal build", "backend cpu", "backend ref"], "info")
    done = program.run("bench", "--sizes", "3k", "--steps", "20", "--repeats", "2", "--json", "-", "--set", "backend.tune=fixed")
    cases = json.loads(done.stdout or "[]")
    check(done.returncode == 0 and len(cases) == 1 and cases[0]["ms_per_step"] > 0 and cases[0]["n_atoms"] == 3000, "bench", done.stdout + done.stderr)
    netcdf = program.write(os.path.join(where, "fake.ncrst"), "CDF\x01")
    place = os.path.join(source, "inputs", "dipeptide", "dipeptide.")
    program.expect(78, ["fake.ncrst", "minimal build"], "energy", "-", "--set", "system.topology=%stop" % place, "--set", "system.coordinates=" + netcdf)
    return 1 if program.failures else 0


if __name__ == "__main__":
    sys.exit(main())
