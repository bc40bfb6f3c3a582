# SPDX-License-Identifier: Apache-2.0
"""Modelled time of a plain step on each GPU of cloud/gpus.csv: an estimate from counted work, not a measurement.

usage: model.py STATIC.json COUNTS.csv COUNTS_SHORT.csv STEPS ATOMS PAIR
  STATIC.json         of gpu_static.sh --json: instructions of every kernel and of its inner loop
  COUNTS*.csv         of two emulated runs (EMU_COUNTS) that differ by STEPS plain steps of ATOMS atoms: launches, threads, warp operations
  PAIR                lane instructions of the pair kernel an atom and step: what its list has (turns, items; steps, octets, chunks) times what
                      the machine code needs for each, as the results file of the day says

Lane instructions: threads times the length of the kernel's code, which counts both sides of its branches; the pair kernel's
are given; k_move has the code of five kinds of group, of which a thread runs one. They run at multiprocessors x lanes
x boost clock, at a share of it that is said; kernels that move more bytes than that takes are bound by memory. A node of a graph costs 1.5 us.
The mesh's transforms are taken as 2.5 N log2 N flop at a tenth of the peak.

Three streams go side by side from the pass that moves the atoms to the next: prune and pair, the mesh, the terms. That takes as long as the
longest of them, and at least as long as all their instructions together."""
import csv
import json
import math
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NODE_US, ISSUE, BANDWIDTH = 1.5, 0.6, 0.7  # a node of a graph; shares of the peaks that kernels of this kind reach (judgement)
SIZES = (("DHFR", 23558), ("ApoA1", 92224), ("STMV", 1066628))
# bytes an atom that a kernel moves at least: what its head counts
BYTES = {"k_move": 300, "k_refresh": 92, "k_forces": 76, "k_spread": 32, "k_gather": 56, "k_excluded": 80, "k_pair": 120}
MESH_POINTS = 0.9  # an atom: order 5 at the default accuracy
AT_ONCE = ("k_prune", "k_prune_rows", "k_ask", "k_collect")  # end at once in nearly every step: a launch and nothing else
CODES = {"k_move": 5}  # alternatives in a kernel's code, of which a thread runs one
SIDE = {name: side for side, names in {"pair": ("k_ways", "k_prune", "k_prune_rows", "k_pair"),
                                       "mesh": ("k_spread", "k_convert", "k_solve", "k_gather", "k_fft"),
                                       "terms": ("k_bonded", "k_excluded", "k_ask")}.items() for name in names} # others: alone


def counts(path):
    with open(path, newline="") as f:
        return {row["kernel"]: {k: float(v) for k, v in row.items() if k != "kernel"} for row in csv.DictReader(f)}


def work(static, more, fewer, steps, atoms, pair):
    """[(name, launches a step, lane instructions an atom and step, its stream)]"""
    code = {row["name"]: row["kernel"].get("all", 0) for row in static if row["sm"] == 90}
    found = []
    for name, row in more.items():
        d = {k: (v - fewer.get(name, {}).get(k, 0)) / steps for k, v in row.items()}
        if d["launches"] < 0.5:
            continue
        lanes = 0 if name in AT_ONCE else d["threads"] * code.get(name, 0) / CODES.get(name, 1)
        if name == "kernel": # the pair kernel is launched through a variable of this name
            name, lanes = "k_pair", pair * atoms
        found.append((name, d["launches"], lanes / atoms, SIDE.get(name.split("<")[0])))
    return found


def step_us(gpu, kernels, atoms):
    rate = float(gpu["sm"]) * float(gpu["lanes_per_sm"]) * float(gpu["boost_mhz"]) * ISSUE  # lane instructions a us
    bandwidth = float(gpu["bandwidth_gb_s"]) * 1e3 * BANDWIDTH                              # bytes a us
    alone = work = 0.0
    path = {"pair": 0.0, "mesh": 0.0, "terms": 0.0}
    for name, launches, lanes, side in kernels:
        busy = max(lanes * atoms / rate, BYTES.get(name.split("<")[0], 0) * atoms / bandwidth)
        if side:
            path[side] += launches * NODE_US + busy
            work += busy if name != "k_fft" else 0 # one block leaves the other multiprocessors alone
        else:
            alone += launches * NODE_US + busy
    points = MESH_POINTS * atoms
    path["mesh"] += 2 * 2.5 * points * math.log2(points) / (float(gpu["fp32_tflops"]) * 1e6 * 0.1) + 2 * NODE_US
    return alone + max(*path.values(), work + NODE_US)


def main():
    static_file, more, fewer = sys.argv[1:4]
    with open(static_file) as f:
        kernels = work(json.load(f), counts(more), counts(fewer), *(float(a) for a in sys.argv[4:7]))
    print("modelled, not measured. Kernels of a plain step (launches, lane instructions an atom):")
    for name, launches, lanes, _ in sorted(kernels):
        print("  %-28s %4.1f %8.0f" % (name, launches, lanes))
    print("%-22s" % "GPU" + "".join("%24s" % ("%s %d" % s) for s in SIZES) + "   us a step (ns/day at 2 fs)")
    with open(ROOT + "/cloud/gpus.csv", newline="") as f:
        for gpu in csv.DictReader(f):
            needed = [gpu.get(k) for k in ("sm", "lanes_per_sm", "boost_mhz", "fp32_tflops", "bandwidth_gb_s")]
            if not all(needed) or float(gpu["compute_capability"] or 0) < 7.5:
                continue
            cells = [step_us(gpu, kernels, n) for _, n in SIZES]
            print("%-22s" % gpu["gpu"] + "".join("%24s" % ("%.0f (%.0f)" % (us, 172.8e3 / us)) for us in cells))


main()
