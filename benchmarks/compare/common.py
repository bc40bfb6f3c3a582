# SPDX-License-Identifier: Apache-2.0
"""What the comparisons with other programs share: rounds of timed runs, statistics, the machine in words.

A *round* runs every program once, one after the other, pinned to the same cores; a comparison is several rounds (A B A B).
Machines drift (clock, neighbours of a virtual machine), so speeds of one round are compared with each other only: the result is
the median over rounds of the ratio of times, with its range, and never a ratio of two averages taken at different times.

A round is a process of its own (this file run as a program), so that RUN_WRAP, a command given by the user, can be
put before it: something that waits for a quiet machine, or raises the priority, for as long as a round takes.

    common.py SPEC.json      runs the commands of the spec in turn and writes their wall times and exit codes beside it
"""
import datetime
import json
import os
import shlex
import statistics
import subprocess
import sys
import time


class Failed(Exception):
    """A program failed, or two programs disagree; the message says how to look closer."""


def run(command, folder, **more):
    """Standard output and error of a command; Failed with both where it fails."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, **more)
    if done.returncode:
        raise Failed(f"{shlex.join(command)}\nfailed in {folder} with {done.returncode}:\n{(done.stdout + done.stderr)[-3000:]}")
    return done.stdout, done.stderr


def find(kind, variable, names, required=True):
    """Programs of a kind (a class that takes a path) named by an environment variable, else `names`; colons between them."""
    out = []
    for name in os.environ.get(variable, names).split(":"):
        try:
            out.append(kind(name))
        except FileNotFoundError:
            if required:
                print(f"skipped: {name} is not installed; {variable} says which to use")
                sys.exit(77)
    return out


def cores(n):
    """The first n cores that this process may use."""
    allowed = sorted(os.sched_getaffinity(0))
    if n > len(allowed):
        raise Failed(f"{n} threads asked for, {len(allowed)} cores allowed")
    return allowed[:n]


def play_round(entries, folder):
    """Run [(name, command, folder, environment)] in turn, once each, under RUN_WRAP. Wall seconds by name."""
    spec = os.path.join(folder, "round.json")
    with open(spec, "w") as f:
        json.dump([dict(name=n, command=c, folder=d, environment=e) for n, c, d, e in entries], f)
    wrap = shlex.split(os.environ.get("RUN_WRAP", ""))
    subprocess.run(wrap + [sys.executable, os.path.abspath(__file__), spec], check=False)
    try:
        with open(spec + ".done") as f:
            done = json.load(f)
    except FileNotFoundError:
        raise Failed(f"the round was not finished: {' '.join(wrap)} stopped it") from None
    os.remove(spec + ".done")
    for entry in done:
        if entry["code"]:
            with open(entry["log"], errors="replace") as f:
                raise Failed(f"{entry['name']}: exit {entry['code']} in {entry['folder']}:\n{f.read()[-3000:]}")
    return {entry["name"]: entry["wall_s"] for entry in done}


def _child(spec):
    with open(spec) as f:
        entries = json.load(f)
    for entry in entries:
        entry["log"] = os.path.join(entry["folder"], "console.log")
        with open(entry["log"], "w") as log:
            began = time.monotonic()
            done = subprocess.run(entry["command"], cwd=entry["folder"], env=dict(os.environ, **entry["environment"]),
                                  stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, check=False)
            entry["wall_s"], entry["code"] = time.monotonic() - began, done.returncode
        if entry["code"]:
            break
    with open(spec + ".done.new", "w") as f:
        json.dump(entries, f)
    os.rename(spec + ".done.new", spec + ".done")


def summary(values):
    """Median and range of a list."""
    return {"median": statistics.median(values), "min": min(values), "max": max(values), "all": list(values)}


def ratios(rival, ours):
    """Time of the rival over ours, round by round: above 1 we are faster."""
    return summary([a / b for a, b in zip(rival, ours)])


def drift(time_ps, energy, n_atoms, blocks=10):
    """Slope of a conserved energy and its standard error, kJ/mol/ns/atom, by least squares.

    Neighbouring samples are not independent, so the error is taken from the scatter of block means about their own line."""
    import numpy as np
    t, e = np.asarray(time_ps), np.asarray(energy)
    if len(t) < 2 * blocks:
        raise Failed(f"{len(t)} samples of the energy are too few for a slope with {blocks} blocks")
    unit = 1000 / n_atoms
    parts = np.array_split(np.arange(len(t)), blocks)
    tm, em = (np.array([q[p].mean() for p in parts]) for q in (t, e))
    rest = em - np.polyval(np.polyfit(tm, em, 1), tm)
    error = np.sqrt((rest ** 2).sum() / (blocks - 2) / ((tm - tm.mean()) ** 2).sum())
    return {"slope": np.polyfit(t, e, 1)[0] * unit, "error": error * unit, "ps": float(t[-1] - t[0]), "samples": len(t)}


def rms_error(forces, reference):
    """Root of the mean over atoms of |f - reference|^2, kJ/mol/nm."""
    import numpy as np
    return float(np.sqrt(((np.asarray(forces) - reference) ** 2).sum(1).mean()))


def machine():
    """Processor, cores, widest vectors, load, date."""
    name, flags = "unknown processor", set()
    with open("/proc/cpuinfo") as f:
        for line in f:
            key, _, value = line.partition(":")
            if key.strip() == "model name":
                name = value.strip()
            elif key.strip() in ("flags", "Features"):
                flags = set(value.split())
    simd = next((label for flag, label in (("avx512f", "AVX-512"), ("avx2", "AVX2"), ("sse4_1", "SSE4.1"), ("asimd", "NEON"))
                 if flag in flags), "none known")
    return {"processor": name, "cores": len(os.sched_getaffinity(0)), "simd": simd, "load": os.getloadavg()[0],
            "kernel": os.uname().release, "date": datetime.datetime.now().strftime("%Y-%m-%d %H:%M")}


if __name__ == "__main__":
    _child(sys.argv[1])
