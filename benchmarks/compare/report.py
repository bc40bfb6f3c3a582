# SPDX-License-Identifier: Apache-2.0
"""Markdown of a comparison's results: what ran where, speeds and ratios, accuracy, settings that the programs chose."""

import json
import os
import subprocess

RANK = {"SSE2": 1, "SSE4.1": 2, "SSE4-1": 2, "AVX-128-FMA": 3, "AVX-256": 3, "AVX2-128": 3, "AVX2-256": 4, "AVX-512": 5, "AVX-512-KNL": 5}
MACHINE = {"SSE4.1": 2, "AVX2": 4, "AVX-512": 5}


def warning(simd, machine):
    """A sentence where a rival was built for narrower vectors than the machine has, else an empty text."""
    have, could = RANK.get(simd.replace("_", "-")), MACHINE.get(machine)
    if have is None or could is None or have >= could:
        return ""
    return (f"**WARNING: this gmx was built for {simd}; the machine has {machine}. It is not GROMACS at its best: "
            f"a build with -DGMX_SIMD for this machine is the real rival (GMX=...).**")


def described(program):
    """What is worth keeping of a program: all but where it lies."""
    return {key: value for key, value in vars(program).items() if key not in ("binary", "mpi")}


def commit():
    """The source tree's commit, or None outside of git: which mdsim was measured, if it was built from it."""
    done = subprocess.run(["git", "-C", os.path.dirname(os.path.abspath(__file__)), "rev-parse", "--short", "HEAD"], capture_output=True,
                          text=True, check=False)
    return done.stdout.strip() or None


def head(data):
    m = data["machine"]
    lines = [f"Measured {m['date']} on {m['cores']} cores of {m['processor']} ({m['simd']}), load {m['load']:.2f} at the start. "
             f"{data['mdsim']['version']}; kernels: {data['mdsim']['simd']}"
             + (f"; source at commit {data['commit']}." if data.get("commit") else ".")]
    if data["wrapper"]:
        lines[0] += " Every round ran under a wrapper (RUN_WRAP)."
    for g in data["gromacs"]:
        lines += [f"{g['name']} ({g['precision']}, {g['fft']}).", warning(g["simd"], m["simd"])]
    return "\n\n".join(line for line in lines if line)


def _number(x):
    return f"{x:.3g}" if x < 100 else f"{x:.0f}"


def speeds(data):
    """ns/day from the median ms/step; ratio: median of the rounds' own ratios, and their range."""
    ours = data["mdsim"]["name"]
    out = ["| system | atoms | threads | program | ns/day | ms/step: median (range) | speed of mdsim over it: median (range) |",
           "|---|---|---|---|---|---|---|"]
    for s in data["systems"]:
        for run in s["speed"]:
            for name in [g["name"] for g in data["gromacs"]] + [ours]:
                t = run["ms_per_step"][name]
                r = run["ratio"].get(name)
                label = name + (f", {run['ranks'][name]} ranks" if run["ranks"].get(name) else "")
                out.append(f"| {s['name']} | {s['n_atoms']} | {run['threads']} | {label} | "
                           f"{86400 * s['physics']['dt'] / t['median']:.2f} | {t['median']:.3f} ({t['min']:.3f}-{t['max']:.3f}) | "
                           + (f"**{r['median']:.2f}** ({r['min']:.2f}-{r['max']:.2f}, {len(r['all'])} rounds)" if r else "") + " |")
    return "\n".join(out)


def accuracy(data):
    out = ["| system | program | rms force error, kJ/mol/nm | of an rms force of | energy drift at constant energy, kJ/mol/ns/atom | over |",
           "|---|---|---|---|---|---|"]
    for s in data["systems"]:
        for name in [g["name"] for g in data["gromacs"]] + [data["mdsim"]["name"]]:
            d, f = s.get("drift", {}).get(name), s["forces"]
            note = f" (pme.force_error = {f['force_error']:.3g}; {f['error_at_default']:.4f} at the default)" if name == data["mdsim"]["name"] and f["force_error"] else ""
            out.append(f"| {s['name']} | {name} | {f['error'][name]:.4f}{note} | {_number(s['forces']['rms_force'])} | "
                       + (f"{d['slope']:.1e} +- {d['error']:.0e} | {d['ps']:g} ps |" if d else "not measured | |"))
    return "\n".join(out)


def choices(data):
    out = []
    for s in data["systems"]:
        for run in s["speed"]:
            out += [f"- {s['name']}, {run['threads']} thread(s), {run['steps']} steps, {name}: {words or 'nothing printed'}"
                    for name, words in run["chosen"].items()]
    return "\n".join(out)


def merged(paths):
    """The results of several files of the same programs as one: systems of one name get each other's speeds and drifts."""
    data = None
    for path in paths:
        with open(path, encoding="utf-8") as f:
            more = json.load(f)
        if data is None:
            data = more
            continue
        if [data["mdsim"]["name"]] + [g["name"] for g in data["gromacs"]] != [more["mdsim"]["name"]] + [g["name"] for g in more["gromacs"]]:
            raise SystemExit(f"{path}: other programs than in {paths[0]}")
        for system in more["systems"]:
            same = next((s for s in data["systems"] if s["name"] == system["name"]), None)
            if same is None:
                data["systems"].append(system)
            else:
                same["speed"] += system["speed"]
                same.setdefault("drift", {}).update(system.get("drift", {}))
    return data


def tables(data):
    longer = ["Steps of 4 fs with heavy hydrogens (3.024 Da) in both programs: other physics than the comparison at 2 fs, never to be mixed with it."]
    return "\n\n".join((longer if data["arguments"].get("heavy") else []) + [head(data), speeds(data), accuracy(data), "What each program chose by itself:", choices(data)])
