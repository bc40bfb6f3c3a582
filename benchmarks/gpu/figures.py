# SPDX-License-Identifier: Apache-2.0
"""Figures in docs/gpu.md that come from somewhere else: each must be what it says there, and each must be found.

usage: figures.py [--document FILE]
From model.py and step.csv (which tests hold to the emulated step and to the machine code) and from the sources' constants. A sentence that is
reworded so that its figure is not found any more fails too: change its pattern here."""
import csv
import os
import re
import sys

import model

WORDS = "no one two three four five six seven eight nine ten eleven twelve".split()


def spell(n):
    return WORDS[n] if n < len(WORDS) else str(n)


def constant(path, pattern):
    """What the pattern finds in a source."""
    with open(os.path.join(model.ROOT, path), encoding="utf-8") as f:
        found = re.findall(pattern, f.read())
    if len(found) != 1:
        sys.exit("%s: %d places with %s" % (path, len(found), pattern))
    return found[0]


def launches(stream=None):
    return int(sum(float(row["launches"]) for row in model.steps() if stream is None or row["stream"] == stream))


def modelled(gpu, atoms):
    """us of a plain step"""
    return model.step_us(next(row for row in model.gpus() if row["gpu"] == gpu), model.steps(), atoms)[0]


def of_pairs():
    """Fewest and most instructions a pair of the inner loops in loops.csv, over kernels and chips"""
    with open(os.path.join(model.HERE, "loops.csv"), newline="") as f:
        rows = [row for row in csv.DictReader(line for line in f if not line.startswith("#")) if row["of"] == "pairs"]
    each = [float(row["all"]) / float(row["turn"]) for row in rows]
    return ["%.0f" % min(each), "%.0f" % max(each)]


def turn_of_lane():
    """Instructions a pair that step.csv computes with: of eight pairs, without rare faults and sums in float"""
    return "%.0f" % next(float(row["code"]) / 8 for row in model.steps() if row["kernel"] == "k_row<0,0,0,7> turn")


def figures():
    """[(pattern with groups, what the groups must be)]"""
    size = dict(model.SIZES)
    arch = constant("CMakeLists.txt", r"foreach\(sm ([0-9 ]+)\)").split()
    return [
        (r"is (\w+) launches in one graph", [spell(launches())]),
        (r"is (\w+) launches of pairs, or (\w+) of the mesh", [spell(launches("pair")), spell(launches("mesh"))]),
        (r"on (\w+) streams: prune", [spell(len({row["stream"] for row in model.steps() if row["stream"]}))]),
        (r"on an H100 SXM (\d+) us for water of DHFR's ([\d,]+) atoms, ([\d.]+) ms for STMV's ([\d,]+)",
         ["%.0f" % modelled("H100-SXM5", size["DHFR"]), format(size["DHFR"], ","), "%.1f" % (modelled("H100-SXM5", size["STMV"]) / 1000), format(size["STMV"], ",")]),
        (r"meshes up to (\d+) points wide", [constant("cuda/mesh.h", r"MESH_GEMM_MOST = (\d+)")]),
        (r"the host looks every (\d+) steps", [constant("src/engine/step.c", r"BATCH = (\d+)")]),
        (r"with both sides of all branches it is (\d+) to (\d+), on the way that a turn of `lane` takes (\d+)\)", of_pairs() + [turn_of_lane()]),
        (r"octet \((\w+) atoms close together\)", [spell(int(constant("cuda/device.h", r"GPU_OCTET = (\d+)")))]),
        (r"Chips: sm_(\d+) to sm_(\d+);", [arch[0], arch[-1]]),
        (r"for the chips sm_(\d+) to sm_(\d+) and", [arch[0], arch[-1]]),
    ]


def compare(text):
    """Complaints."""
    wrong = []
    text = " ".join(text.split())  # lines are broken anywhere
    for pattern, want in figures():
        found = re.findall(pattern, text)
        if len(found) != 1:
            wrong.append("'%s' is there %d times, and should be once" % (pattern, len(found)))
            continue
        have = list(found[0]) if isinstance(found[0], tuple) else [found[0]]
        if have != want:
            wrong.append("'%s' has %s, and should have %s" % (pattern, ", ".join(have), ", ".join(want)))
    return wrong


def main():
    path = sys.argv[2] if len(sys.argv) > 2 else os.path.join(model.ROOT, "docs", "gpu.md")
    with open(path, encoding="utf-8") as f:
        text = f.read()
    wrong = compare(text)
    for line in wrong:
        print("%s: %s" % (path, line))
    # and a figure that is off by one is found
    off = re.sub(r"H100 SXM (\d+) us", lambda m: "H100 SXM %d us" % (int(m.group(1)) + 1), text)
    if not wrong and compare(off) == []:
        wrong.append("this check finds nothing")
        print(wrong[-1])
    print("%d figures compared" % sum(len(want) for _, want in figures()))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
