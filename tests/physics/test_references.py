#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every reference system, at one point, against energies, forces and virials of an independent program.

usage: test_references.py ref|cpu|emu [name ...]

Each case of each reference.json is run with the Gaussian split, grid and beta written there, and judged by the reference
set's own compare.py. Tolerances, and why:
  ref   energies 1e-6 (relative; 1e-6 kJ/mol floor), forces 1e-5 of the rms, virial 1e-5 of the largest element: both sides
        are double precision and sum the same terms; what differs is the order of sums and the constants' last digits.
  cpu   each term max(1e-3 kJ/mol, 1e-5 of it), forces max(1e-4 of the rms, 0.06 kJ/mol/nm), virial max(1e-4, 0.03 kJ/mol):
        pair and mesh forces are float; rounding coordinates to float alone moves forces by 0.04 kJ/mol/nm in the minimised
        villin. coulomb and potential within 1e-5 of the sum of the magnitudes of their parts, since they are small
        differences of large ones.
  emu   (the GPU backend on the host's emulation) forces max(2e-5 of the rms, 0.006 kJ/mol/nm), virial max(3e-5, 0.01 kJ/mol), three
        times what float pairs, mesh and bonded terms left when this was written; the rest as cpu. Only small systems and
        one large one, unless named: it is slow.
Per system, looser with its reason: see ALLOWANCES.
"""
import json, os, subprocess, sys, tempfile

try:
    import numpy as np
except ImportError:
    print("skipped: numpy is not installed"); sys.exit(77)

shared = os.path.abspath(os.path.join(os.environ.get("MDS_SHARED", "../shared"), "systems"))
mdsim = os.environ["MDSIM"]
if not os.path.isdir(shared):
    print("skipped: the reference systems are not beside this source tree"); sys.exit(77)

# (system, case, quantity): (backend or None for both, tolerance, reason)
ALLOWANCES = {
    ("villin", "tight", "frtol"): ("ref", 1e-4, "minimised: the rms of 4.2 is what is left of charged terms of some 1e3 kJ/mol/nm; "
                                   "1e-4 of it is 4e-7 of them, the accuracy of the reference's tabulated erfc"),
    ("villin", "production", "frtol"): ("ref", 1e-4, "as tight"),
    ("villin", "tight", "vrtol"): ("ref", 1e-4, "as its forces: the largest element is 18 kJ/mol after cancellation"),
    ("villin", "production", "vrtol"): ("ref", 1e-4, "as its forces"),
}
# systems under emulation: up to so many atoms, and this one
SMALL, EMULATED_TOO = 3000, "dhfr"
KERNELS = ("lane", "octet", "tile") # pair kernels of the GPU: cases take turns
turn = 0


def background_virial(ref, reference, volume):
    """What the reference's virial lacks of the neutralising background, kJ/mol on each diagonal element.

    The background's energy is E = -f pi Q^2/(2 V beta^2), so its pressure is E/V and its virial -E/2 on the diagonal. GROMACS
    2022 adds -E/V there instead (a volume is missing): found here as a difference of exactly these two on every charged
    system. Our value is the derivative of the energy: tests/stage/test_gradient.c strains charged boxes.
    """
    q = ref["total_charge_e"]
    beta = reference["settings"].get("ewald_beta_per_nm")
    if not q or not beta or "pme_grid" not in reference:
        return 0.0
    energy = -138.935458 * np.pi * q * q / (2 * volume * beta * beta)
    return -0.5 * energy + energy / volume


def conf_text(folder, ref, case, settings, reference, backend):
    names = {"gro": None, "top": None, "prmtop": None, "inpcrd": None}
    for f in ref["inputs"]:
        names[f.rsplit(".", 1)[1]] = os.path.join(folder, f)
    top, crd = names["top"] or names["prmtop"], names["gro"] or names["inpcrd"]
    s, lines = settings, []
    box = '; box = "none"' if case == "nocutoff" else ""
    lines.append('system = { topology = "%s"; coordinates = "%s"%s; };' % (top, crd, box))
    modifier = {"None": "none", "Potential-shift": "potential-shift", "Force-switch": "force-switch"}
    pme = s["coulombtype"] == "PME"
    cut_lj, cut_q = float(s["rvdw"]), float(s["rcoulomb"])
    if case == "nocutoff":
        cut_lj = cut_q = 0.0
    lines.append('nonbonded = { cutoff = %r; lj_cutoff = %r; coulomb_cutoff = %r; lj_modifier = "%s"; coulomb = "%s"; coulomb_modifier = "%s"; tail_correction = %s;%s };'
                 % (max(cut_lj, cut_q), cut_lj, cut_q, modifier[s["vdw-modifier"]], "pme" if pme else "cutoff",
                    modifier[s["coulomb-modifier"]], "true" if s["DispCorr"] == "EnerPres" else "false",
                    " lj_switch = %r;" % float(s["rvdw-switch"]) if s.get("rvdw-switch") else ""))
    if pme:
        lines.append('pme = { split = "gaussian"; beta = %.16g; order = %d; grid = [%d, %d, %d]; };'
                     % ((s["ewald_beta_per_nm"], s["pme-order"]) + tuple(reference["pme_grid"])))
    lines.append('constraints = { kind = "none"; };')
    lines.append('backend = { kind = "%s"; isa = "%s"; };' % (backend, KERNELS[turn % 3] if backend == "emu" else "auto"))
    return "\n".join(lines) + "\n"


def compare(folder, case, result, tolerances, extra):
    with tempfile.NamedTemporaryFile("w", suffix=".json", delete=False) as f:
        json.dump(result, f)
    args = [sys.executable, os.path.join(shared, "compare.py"), os.path.join(folder, "reference.json"), f.name, "--case", case]
    for k, v in tolerances.items():
        args += ["--" + k, repr(v)]
    run = subprocess.run(args + (["--add-extra"] if extra else []), capture_output=True, text=True)
    os.unlink(f.name)
    return run.returncode, run.stdout + run.stderr


def judge(name, folder, ref, case, backend, work):
    reference = ref["references"][case]
    conf, out, npy = (os.path.join(work, x) for x in ("in.conf", "out.json", "f.npy"))
    with open(conf, "w") as f:
        f.write(conf_text(folder, ref, case, reference["settings"], reference, backend))
    run = subprocess.run([mdsim, "energy", conf, "--json", out, "--forces", npy], capture_output=True, text=True)
    if run.returncode:
        print("FAILED %s %s: mdsim energy gave %d\n%s" % (name, case, run.returncode, run.stderr)); return 1
    res = json.load(open(out))
    e = res["energies"]
    missing = [t for t in reference["energies_kJ_mol"] if t not in e]
    if missing:
        print("FAILED %s %s: terms not printed: %s" % (name, case, missing)); return 1
    extra = "extra_r4_term" in reference
    virial = np.array(reference["virial_kJ_mol"])
    background = background_virial(ref, reference, float(np.linalg.det(np.array(res["box"])))) if reference.get("pme_grid") else 0.0
    rms = max(reference["force_rms"], 1e-300)
    if backend == "ref":
        tol = {"rtol": 1e-6, "atol": 1e-6, "frtol": 1e-5, "vrtol": 1e-5}
        # sums of some 1e5 terms of either sign: coulomb and potential cannot be closer than their parts
        sum_tol = 1e-7
    else:
        largest = max(abs(virial).max(), 1e-300)
        force, force_floor, vir, vir_floor = (2e-5, 0.006, 3e-5, 0.01) if backend == "emu" else (1e-4, 0.06, 1e-4, 0.03)
        tol = {"rtol": 1e-5, "atol": 1e-3, "frtol": max(force, force_floor / rms), "vrtol": max(vir, vir_floor / largest)}
        sum_tol = 1e-5
    for quantity in list(tol):
        a = ALLOWANCES.get((name, case, quantity))
        if a and a[0] in (None, backend):
            print("  allowance: %s %s %s %g: %s" % (name, case, quantity, a[1], a[2])); tol[quantity] = a[1]
    sums = {"coulomb": [e["coul_sr"], e["coul_recip"]], "potential": [e[t] for t in e if t not in ("coulomb", "potential")]}
    single = dict(res, energies={t: v for t, v in e.items() if t not in ("coulomb", "potential", "coul_sr", "coul_recip", "position_restraint")},
                  forces=npy, virial=(np.array(res["virial"]) - background * np.eye(3)).tolist())
    if extra:
        single.pop("virial")  # the r^-4 part of the reference has no virial; see virial_by_strain
    if case == "nocutoff":
        single["energies"]["coul_sr"] = e["coul_sr"]
    code, text = compare(folder, case, single, tol, extra)
    bad = code != 0
    out_text = text
    for total, parts in sums.items():
        if total == "coulomb" and "coul_recip" not in reference["energies_kJ_mol"]:
            continue
        one = {"energies": {total: e[total]}}
        code, text = compare(folder, case, one, {"rtol": tol["rtol"] if backend == "ref" else 1e-12,
                                                  "atol": max(sum_tol * sum(abs(p) for p in parts), 1e-6)}, extra and total == "potential")
        bad |= code != 0
        out_text += text
    if extra:
        error, limit = virial_by_strain(conf, np.array(res["virial"]), backend, work)
        out_text += "  trace of the virial by strain: off by %.2e (limit %.0e)\n" % (error, limit)
        bad |= not error <= limit
    worst = [l for l in out_text.splitlines() if "BAD" in l or "rms diff" in l or "virial" in l or "strain" in l]
    print(("FAILED " if bad else "ok     ") + "%s %s\n%s" % (name, case, out_text if bad else "\n".join(worst)))
    return int(bad)


def virial_by_strain(conf, virial, backend, work):
    """Relative error of the trace of the virial against dE/d(ln scale) of ref, coordinates and box scaled together.

    The strain is so small that no pair of the unshifted r^-4 term crosses the cut-off (2 % would at 1e-4); ref's energies
    carry 1e-9 kJ/mol, so the slope is good to 1e-3 of some 1e5. The others are judged by the same slope.
    """
    text = open(conf).read().replace('kind = "%s"' % backend, 'kind = "ref"')
    crd = text.split('coordinates = "')[1].split('"')[0]
    h = 1e-6
    energies = [strained_energy(text, crd, scale, work) for scale in (1 - h, 1 + h)]
    slope = (energies[1] - energies[0]) / (2 * h)  # dE/d ln scale = -sum r.f = 2 tr Xi
    return abs(slope - 2 * np.trace(virial)) / abs(2 * np.trace(virial)), {"ref": 1e-5}.get(backend, 1e-4)


def strained_energy(text, crd, scale, work):
    """mdsim energy of the inpcrd scaled about the origin, written as a .gro with all digits."""
    lines = open(crd).read().splitlines()
    n = int(lines[1].split()[0])
    rows = (n + 1) // 2
    x = []
    for l in lines[2:2 + rows]:
        x += [float(l[k:k + 12]) for k in range(0, len(l.rstrip("\n")), 12) if l[k:k + 12].strip()]
    x = 0.1 * np.array(x[:3 * n]).reshape(-1, 3) * scale
    last = [float(lines[-1][k:k + 12]) for k in range(0, 36, 12)]
    box = 0.1 * np.array(last) * scale
    gro = os.path.join(work, "strained.gro")
    with open(gro, "w") as f:
        f.write("scaled\n%d\n" % n)
        for i in range(n):
            f.write("%5d%-5s%5s%5d%16.11f%16.11f%16.11f\n" % (1, "X", "X", (i + 1) % 100000, *x[i]))
        f.write("%.12f %.12f %.12f\n" % tuple(box))
    conf, out = os.path.join(work, "strained.conf"), os.path.join(work, "strained.json")
    # Same cut-offs and mesh: only coordinates and box are strained. Shifted potentials have the same forces and no jump
    # when a pair crosses the cut-off, so the difference of energies is smooth.
    with open(conf, "w") as f:
        f.write(text.replace(crd, gro).replace('modifier = "none"', 'modifier = "potential-shift"'))
    run = subprocess.run([mdsim, "energy", conf, "--json", out], capture_output=True, text=True)
    if run.returncode:
        raise SystemExit("strained point failed: " + run.stderr)
    return json.load(open(out))["energies"]["potential"]


def main():
    global turn
    backend, wanted = sys.argv[1], sys.argv[2:]
    folders = []
    for root, dirs, files in os.walk(shared):
        dirs.sort()
        if "reference.json" in files:
            folders.append(root)
    failures = cases = 0
    with tempfile.TemporaryDirectory() as work:
        for folder in sorted(folders):
            name = os.path.relpath(folder, shared)
            if wanted and name not in wanted:
                continue
            ref = json.load(open(os.path.join(folder, "reference.json")))
            if backend == "emu" and not wanted and ref["n_atoms"] > SMALL and name != EMULATED_TOO:
                continue
            for case in ref["references"]:
                failures += judge(name, folder, ref, case, backend, work)
                cases += 1
                turn += 1
    print("%d cases, %d failures" % (cases, failures))
    return 1 if failures or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
