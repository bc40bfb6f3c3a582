# SPDX-License-Identifier: Apache-2.0
"""Modelled time of a plain step on each GPU of cloud/gpus.csv: an estimate from counted work, not a measurement.

usage: model.py [--check FILE.md]
  --check  the lines between <!-- model.py --> and <!-- end --> of the file must be what is printed; else exit code 1

What a step does is in step.csv: kernels, threads an atom, instructions, streams. Tests hold it to the emulated step (emu.run_launches: kernels,
launches and threads) and to the machine code (emu.static: lengths), and the tables to it (emu.model), so that none can change alone.

Lane instructions run at multiprocessors x lanes x boost clock, at a share of it that is said; kernels that move more bytes than that takes
are bound by memory. A launch in a graph costs 1.5 us. A mesh of up to 32,768 points is transformed by one block on one multiprocessor, in instructions
of 2.5 N log2 N flop a direction and 50 a point for the waves; larger ones by cuFFT, three kernels a direction at a tenth of the peak, and two kernels of ours.

Three streams go side by side from the pass that moves the atoms to the next: prune and pair, the mesh, the terms. That takes as long as the
longest of them, and at least as long as all their instructions together."""
import csv
import math
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
LAUNCH_US, ISSUE, BANDWIDTH, FLOP = 1.5, 0.6, 0.7, 1.4  # of a node of a graph; shares of the peaks that kernels of this kind reach; flop an instruction (judgement)
SIZES = (("water", 3000), ("DHFR", 23558), ("ApoA1", 92224), ("STMV", 1066628))
MESH_POINTS = 3.1  # an atom: water of 24,000 atoms at the default accuracy, rc 0.9, has order 4 and 42^3
ONE_BLOCK = 32768  # points, fft.cu
CUFFT_KERNELS = 6  # both directions (judgement)


def steps():
    with open(os.path.join(HERE, "step.csv"), newline="") as f:
        return [row for row in csv.DictReader(line for line in f if not line.startswith("#"))]


def gpus():
    with open(ROOT + "/cloud/gpus.csv", newline="") as f:
        return list(csv.DictReader(f))


def transform_us(gpu, points):
    """(launches, us of busy time, whether the whole chip is busy with it)"""
    lanes = float(gpu["lanes_per_sm"]) * float(gpu["boost_mhz"]) * ISSUE
    flop = 2 * 2.5 * points * math.log2(points)
    if points <= ONE_BLOCK:
        return 1, (flop + 50 * points) / FLOP / lanes, False
    ours = (8 + 20) * points / (float(gpu["bandwidth_gb_s"]) * 1e3 * BANDWIDTH)  # convert and solve: bytes a point
    return CUFFT_KERNELS + 2, flop / (float(gpu["fp32_tflops"]) * 1e6 * 0.1) + ours, True


def step_us(gpu, kernels, atoms):
    """(us a step, the stream that everything waits for)"""
    rate = float(gpu["sm"]) * float(gpu["lanes_per_sm"]) * float(gpu["boost_mhz"]) * ISSUE  # lane instructions a us
    bandwidth = float(gpu["bandwidth_gb_s"]) * 1e3 * BANDWIDTH                              # bytes a us
    alone = together = 0.0
    path = {"pair": 0.0, "mesh": 0.0, "terms": 0.0}
    for row in kernels:
        busy = max(float(row["threads"]) * float(row["code"]) * float(row["share"]) * atoms / rate, float(row["bytes"]) * atoms / bandwidth)
        launches = float(row["launches"])
        if row["kernel"] == "k_fft":
            launches, busy, whole = transform_us(gpu, MESH_POINTS * atoms)
            together -= 0 if whole else busy
        if row["stream"]:
            path[row["stream"]] += launches * LAUNCH_US + busy
            together += busy
        else:
            alone += launches * LAUNCH_US + busy
    longest = max(path, key=path.get)
    return alone + max(path[longest], together + LAUNCH_US), longest if path[longest] >= together + LAUNCH_US else "all"


def table():
    out = ["| GPU, us a step (ns/day at 2 fs), **modelled** | " + " | ".join("%s %s" % (name, format(n, ",")) for name, n in SIZES) + " |",
           "|---|" + "---|" * len(SIZES)]
    for gpu in gpus():
        needed = [gpu.get(k) for k in ("sm", "lanes_per_sm", "boost_mhz", "fp32_tflops", "bandwidth_gb_s")]
        if not all(needed) or float(gpu["compute_capability"] or 0) < 7.5:
            continue
        cells = [step_us(gpu, steps(), n) for _, n in SIZES]
        out.append("| %s | " % gpu["gpu"] + " | ".join("%.0f (%.0f) %s" % (us, 172.8e3 / us, longest) for us, longest in cells) + " |")
    return out


def main():
    made = table()
    if len(sys.argv) < 3:
        print("\n".join(made))
        return 0
    with open(sys.argv[2], encoding="utf-8") as f:
        held = f.read().split("<!-- model.py -->\n")[-1].split("\n<!-- end -->")[0].split("\n")
    for a, b in zip(held, made):
        if a != b:
            print("%s has\n  %s\nand the model says\n  %s" % (sys.argv[2], a, b))
    if held != made:
        print("put what benchmarks/gpu/model.py prints into " + sys.argv[2])
    return held != made


if __name__ == "__main__":
    sys.exit(main())
