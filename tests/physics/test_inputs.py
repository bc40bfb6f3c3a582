# SPDX-License-Identifier: Apache-2.0
"""inputs/ against numbers of another program, and against itself.

Each system of inputs/ is evaluated by `mdsim energy` with the settings of tests/reference/SYSTEM.json (GROMACS in
double precision; provenance in the file) on every backend given, and the two forms of the dipeptide against each
other. Standard library only: a user's clone can run it.

    test_inputs.py [ref] [cpu]      environment: MDSIM, MDS_SOURCE
"""
import json
import math
import os
import struct
import subprocess
import sys
import tempfile

MDSIM = os.environ.get("MDSIM", "mdsim")
SOURCE = os.environ.get("MDS_SOURCE", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
# system of the reference -> confs that must give its numbers
CONFS = {"argon": ["argon/argon.conf"], "water": ["water/water.conf"], "salt": ["salt/salt.conf"],
         "dipeptide": ["dipeptide/dipeptide.conf", "dipeptide/dipeptide_amber.conf"], "peptide": ["peptide/peptide.conf"]}

# `ref` is double: what is left is the digits of the files (a prmtop has 8), the reference's grid of erfc tables
# and rounding of long sums. `cpu` has float pair forces and a float mesh: 1e-4 of the rms force is some ten times
# what rounding the coordinates to float costs; 0.06 kJ/mol/nm is that for a relaxed solute.
TOLERANCE = {
    "ref": {"energy": 1e-6, "energy_floor": 1e-4, "sum": 1e-6, "force": 1e-5, "force_floor": 0.0, "virial": 1e-5,
            "virial_floor": 0.0},
    "cpu": {"energy": 1e-5, "energy_floor": 1e-3, "sum": 1e-5, "force": 1e-4, "force_floor": 0.06, "virial": 1e-4,
            "virial_floor": 0.03},
}
# GROMACS prints the shifted case with its own constant of the mesh; terms of coul_sr cancel, so only the sum counts
SUMS = {"coulomb", "potential"}
failures, checks = [], 0


def check(what, got, want, tolerance):
    global checks
    checks += 1
    if not abs(got - want) <= tolerance:
        failures.append(f"{what}: {got:.10g}, wanted {want:.10g} within {tolerance:.3g} (off by {got - want:.3g})")


def read_npy(path):
    """Rows of an [n][3] float64 .npy of version 1."""
    data = open(path, "rb").read()
    assert data[:6] == b"\x93NUMPY" and data[6] == 1, path
    start = 10 + struct.unpack_from("<H", data, 8)[0]
    header = data[10:start].decode()
    assert "'<f8'" in header and "'fortran_order': False" in header, header
    flat = struct.unpack(f"<{(len(data) - start) // 8}d", data[start:])
    return [flat[k:k + 3] for k in range(0, len(flat), 3)]


def energy(conf, backend, settings, folder):
    """Terms, virial and forces of one conf under the settings of a reference case."""
    shifted = settings["modifier"] != "None"
    changes = {"backend.kind": backend, "constraints.kind": "none", "nonbonded.cutoff": settings["cutoff"],
               "nonbonded.lj_modifier": "potential-shift" if shifted else "none",
               "nonbonded.tail_correction": "true" if shifted else "false"}
    if "beta" in settings:
        changes.update({"nonbonded.coulomb_modifier": "potential-shift" if shifted else "none", "pme.split": "gaussian",
                        "pme.beta": repr(settings["beta"]), "pme.order": settings["order"], "pme.grid": settings["grid"]})
    forces, result = os.path.join(folder, "forces.npy"), os.path.join(folder, "energy.json")
    command = [MDSIM, "energy", os.path.join(SOURCE, "inputs", conf), "--json", result, "--forces", forces]
    for key, value in changes.items():
        command += ["--set", f"{key}={value}"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        failures.append(f"{conf} on {backend}: exit {done.returncode}: {done.stderr.strip()[-500:]}")
        return None
    answer = json.load(open(result))
    answer["force_rows"] = read_npy(forces)
    return answer


def magnitude(terms, names):
    return sum(abs(terms.get(n, 0.0)) for n in names)


def judge_energies(label, got, want, tol):
    coulomb = ("coul_sr", "coul_recip")
    got = dict(got, coulomb=sum(got.get(n, 0.0) for n in coulomb))
    want = dict(want, coulomb=sum(want.get(n, 0.0) for n in coulomb))
    everything = [n for n in want if n not in SUMS]
    for name, value in want.items():
        if name in coulomb:
            continue  # judged together: where self energy and excluded pairs are counted is convention
        if name in SUMS:
            allowed = tol["sum"] * magnitude(want, coulomb if name == "coulomb" else everything)
        else:
            allowed = max(tol["energy_floor"], tol["energy"] * abs(value))
        check(f"{label} {name}", got.get(name, 0.0), value, allowed)


def judge(label, got, case, tol):
    judge_energies(label, got["energies"], case["energies"], tol)
    largest = max(abs(e) for row in case["virial"] for e in row)
    for a in range(3):
        for b in range(3):
            check(f"{label} virial {'xyz'[a]}{'xyz'[b]}", got["virial"][a][b], case["virial"][a][b],
                  max(tol["virial"] * largest, tol["virial_floor"]))
    rows, rms = got["force_rows"], case["force_rms"]
    allowed = max(tol["force"] * rms, tol["force_floor"])
    for i, want in case["forces"].items():
        for d in range(3):
            check(f"{label} force on atom {int(i) + 1} {'xyz'[d]}", rows[int(i)][d], want[d], 4 * allowed)  # 4 sigma
    check(f"{label} rms force", math.sqrt(sum(sum(c * c for c in f) for f in rows) / len(rows)), rms, allowed)
    for d in range(3):
        # every atom counts here: n random errors of `allowed` with weights cos(i) add up to allowed sqrt(n/2)
        total = sum(f[d] * math.cos(i) for i, f in enumerate(rows))
        check(f"{label} weighted force sum {'xyz'[d]}", total, case["force_weighted_sum"][d],
              4 * allowed * math.sqrt(len(rows) / 2))


def main():
    with tempfile.TemporaryDirectory() as folder:
        for backend in sys.argv[1:] or ["cpu"]:
            tol = TOLERANCE[backend]
            for system, confs in CONFS.items():
                reference = json.load(open(os.path.join(SOURCE, "tests", "reference", system + ".json")))
                for name, case in reference["cases"].items():
                    answers = {conf: energy(conf, backend, case["settings"], folder) for conf in confs}
                    for conf, got in answers.items():
                        if got:
                            check(f"{conf} atoms", got["n_atoms"], reference["n_atoms"], 0)
                            judge(f"{backend} {conf} {name}:", got, case, tol)
                    both = [a for a in answers.values() if a]
                    if len(both) == 2:
                        # the forms differ by the 8 digits of a prmtop (charges 1e-8, phases pi to 1e-8) and by where
                        # each rounds: same code, so a tenth of the tolerance against another program
                        tenth = {key: value / 10 for key, value in tol.items()}
                        judge_energies(f"{backend} GROMACS against AMBER form {name}:", both[0]["energies"],
                                       {k: both[1]["energies"].get(k, 0.0) for k in case["energies"]}, tenth)
    for failure in failures[:60]:
        print(failure)
    print(f"{checks} checks, {len(failures)} failures")
    return 1 if failures or not checks else 0


sys.exit(main())
