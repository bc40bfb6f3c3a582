# SPDX-License-Identifier: Apache-2.0
"""Registers, local memory, shared memory, occupancy and inner loops of the GPU kernels, from object files and their machine code.

The objects are those of a build (--objects), or made here. What the loop of a kernel is, and how instructions are counted, says sass.py. loops.csv holds the inner
loops of pairs, spread and gather on every chip, with what one turn of them is about. Nothing here is a time."""
import argparse
import csv
import fnmatch
import json
import os
import shutil
import subprocess
import sys
import tempfile

import cubin
import sass

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
HELD = ("all", "fma", "special", "shuffle", "lds", "ldg", "atomic")  # columns of loops.csv

def run(command, **more):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)


def compile_file(name, architectures, out):
    command = [os.environ["NVCC"], "-std=c++17", "-O2", "--threads", "2", "-I" + ROOT + "/cuda", "-I" + ROOT + "/src", "-c",
               os.path.join(ROOT, "cuda", name), "-o", out]
    for sm in architectures:
        command += ["-gencode", "arch=compute_%d,code=sm_%d" % (sm, sm)]
    p = run(command)
    if p.returncode:
        sys.exit("%s does not compile:\n%s" % (name, p.stdout))


def plain(names):
    """{mangled: k_pair<1,2,3>}"""
    names = list(names)
    p = subprocess.run(["c++filt"], input="\n".join(names), stdout=subprocess.PIPE, text=True, check=True)
    return dict(zip(names, (sass.short(line) for line in p.stdout.splitlines())))


def resources(path):
    """{(kernel, sm): {registers, shared, stack, doubles}} of an object."""
    found = {}
    for kind, sm, elf in cubin.images(path):
        if kind == cubin.ELF and elf is None:
            sys.exit(path + ": the machine code is compressed, which this cannot read: give nvcc --no-compress")
        if kind == cubin.ELF:
            kernels = cubin.kernels(elf)
            names = plain(kernels)
            found.update({(names[k], sm): row for k, row in kernels.items()})
    return found


def disassembler():
    """$CUOBJDUMP, on the PATH, or where nvcc is; None"""
    beside = os.path.join(os.path.dirname(os.path.realpath(shutil.which(os.environ["NVCC"]))), "cuobjdump")
    for tool in (os.environ.get("CUOBJDUMP"), "cuobjdump", beside):
        if tool and shutil.which(tool):
            return shutil.which(tool)
    return None


def machine_code(tool, out):
    """{(kernel, sm): sass.describe}"""
    text = subprocess.run(["c++filt"], input=run([tool, "-sass", out]).stdout, stdout=subprocess.PIPE, text=True).stdout
    return {key: sass.describe(code) for key, code in sass.read(text).items()}


def occupancy(rows):
    """blocks and percent for lists of (sm, threads, registers, shared), by the toolkit's header."""
    home = os.path.dirname(os.path.dirname(os.path.realpath(shutil.which(os.environ["NVCC"]))))
    with tempfile.TemporaryDirectory() as place:
        p = run(["g++", "-std=c++17", "-w", "-I", home + "/include", os.path.join(HERE, "occupancy.cpp"), "-o", place + "/occupancy"])
        if p.returncode:
            print("occupancy left out: cuda_occupancy.h is not there", file=sys.stderr)
            return [(0, 0)] * len(rows)
        p = subprocess.run([place + "/occupancy"], input="\n".join("%d %d %d %d" % r for r in rows), stdout=subprocess.PIPE, text=True)
    return [tuple(int(w) for w in line.split()) for line in p.stdout.splitlines()]


def read_budgets():
    with open(os.path.join(HERE, "budgets.csv"), newline="") as f:
        return [row for row in csv.DictReader(line for line in f if not line.startswith("#"))]


def budget_of(kernel, budgets):
    """The first line whose pattern fits."""
    return next((b for b in budgets if fnmatch.fnmatchcase(kernel, b["kernel"])), None)


def read_loops():
    """{(kernel, sm): row} of loops.csv, counts as numbers"""
    with open(os.path.join(HERE, "loops.csv"), newline="") as f:
        rows = list(csv.DictReader(line for line in f if not line.startswith("#")))
    return {(row["kernel"], int(row["sm"])): dict(row, turn=int(row["turn"]), **{k: int(row[k]) for k in HELD}) for row in rows}


def say_loop(key, row, loop):
    """A line: an inner loop by what it does."""
    each = lambda k: loop.get(k, 0) / row["turn"]
    return "%-20s sm_%-3d %4d in a turn of %d %s: %.1f each (%s)" % (key[0], key[1], loop.get("all", 0), row["turn"], row["of"], each("all"),
                                                                    ", ".join("%s %.2g" % (k, each(k)) for k in HELD[1:] if loop.get(k)))


def beyond_loops(table, held):
    """Complaints: more of any class than is held; a kernel that is held and not there. Compilers differ a little: 5 %, and two."""
    chips = {sm for _, sm in table}
    wrong = ["%s, sm_%d: in loops.csv and not in the sources" % key for key in held if key[1] in chips and key not in table]
    for key, row in sorted(held.items()):
        loop = table.get(key, {"loop": {}})["loop"]
        for k in HELD:
            if loop and loop.get(k, 0) > 1.05 * row[k] + 2:
                wrong.append("%s, sm_%d: %d of %s in the inner loop, loops.csv has %d" % (key[0], key[1], loop.get(k, 0), k, row[k]))
    return wrong


def read_steps():
    """What model.py computes a step from: (kernel, instructions on sm_90)"""
    with open(os.path.join(HERE, "step.csv"), newline="") as f:
        return [(row["kernel"], int(row["code"])) for row in csv.DictReader(line for line in f if not line.startswith("#"))]


def outdated(table):
    """Kernels whose code on sm_90 is not as long, within a tenth, as the modelled times say; or that are not there."""
    if not any(sm == 90 for _, sm in table):
        return []
    wrong = ["%s: in step.csv and not in the sources" % k for k, _ in read_steps() if (k.split()[0], 90) not in table]
    for kernel, code in read_steps():
        length = table.get((kernel, 90), {"code": 0})["code"]
        if code and length and not 0.9 < length / code < 1.1:
            wrong.append("%s: %d instructions on sm_90, step.csv has %d: put in this, and model.py's new tables where it says" % (kernel, length, code))
    return wrong


def check(table, budgets, have_code):
    """Complaints: a budget without a kernel, or a figure beyond its budget. Everywhere: no spills, no local memory."""
    wrong = []
    met = set()
    for (kernel, sm), row in sorted(table.items()):
        name = "%s, sm_%d: " % (kernel, sm)
        if row["stack"] or row["kernel"].get("local"):
            wrong.append(name + "spills or local memory")
        b = budget_of(kernel, budgets)
        if not b:
            continue
        met.add(b["kernel"])
        if row["registers"] > int(b["registers"]):
            wrong.append(name + "%d registers, budget %s" % (row["registers"], b["registers"]))
        if row["percent"] and row["percent"] < int(b["occupancy"]):
            wrong.append(name + "occupancy %d %%, budget %s" % (row["percent"], b["occupancy"]))
        if have_code and b["loop"] and row["loop"].get("all", 0) > int(b["loop"]):
            wrong.append(name + "%d instructions in the inner loop, budget %s" % (row["loop"]["all"], b["loop"]))
        if b["double"] == "none" and (row["doubles"] or row["kernel"].get("double")):
            wrong.append(name + "double precision")
        if have_code and b["double"] == "outside" and row["loops"].get("double"):
            wrong.append(name + "double precision in a loop")
        if have_code and not row["kernel"]:
            wrong.append(name + "no machine code was found")
    return wrong + [b["kernel"] + ": in the budgets and not in the sources" for b in budgets if b["kernel"] not in met]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--arch", default="75,80,89,90,100", help="chips to compile for")
    parser.add_argument("--json")
    parser.add_argument("--objects", action="store_true", help="the files are objects of a build, for all its chips")
    parser.add_argument("files", nargs="*")
    options = parser.parse_args()
    budgets = read_budgets()
    architectures = [int(a) for a in options.arch.split(",")]
    known = run([os.environ["NVCC"], "--list-gpu-arch"]).stdout
    architectures = [a for a in architectures if "compute_%d\n" % a in known + "\n"]
    table = {}
    tool = disassembler()
    with tempfile.TemporaryDirectory() as place:
        for name in options.files or sorted(n for n in os.listdir(ROOT + "/cuda") if n.endswith(".cu")):
            out = name
            if not options.objects:
                out = place + "/object.o"
                compile_file(name, architectures, out)
            found = resources(out)
            wanted = not options.check or any((budget_of(k, budgets) or {"double": ""})["double"] for k, _ in found)
            code = machine_code(tool, out) if tool and found and wanted else {}
            for key, row in found.items():
                table[key] = dict(row, file=os.path.basename(name), **code.get(key, {"kernel": {}, "loop": {}, "loops": {}}))
    rows = sorted(table)
    threads = {k: int((budget_of(k, budgets) or {"threads": 128})["threads"]) for k, _ in rows}
    for key, (blocks, percent) in zip(rows, occupancy([(k[1], threads[k[0]], table[k]["registers"], table[k]["shared"]) for k in rows])):
        table[key]["blocks"], table[key]["percent"] = blocks, percent
    if not tool:
        print("no disassembler (cuobjdump on the PATH or in $CUOBJDUMP): instructions are not counted, double precision in loops is not looked for")
    print("%-34s %4s %4s %5s %6s %5s  %s" % ("kernel", "sm", "regs", "smem", "occup%", "loop", "in the loop"))
    for kernel, sm in rows:
        row = table[kernel, sm]
        if options.check and not budget_of(kernel, budgets):
            continue
        words = " ".join("%s %d" % (k, v) for k, v in sorted(row["loop"].items()) if k != "all")
        print("%-34s %4d %4d %5d %6d %5d  %s" % (kernel, sm, row["registers"], row["shared"], row["percent"], row["loop"].get("all", 0), words))
    if options.json:
        with open(options.json, "w") as f:
            json.dump([dict(table[k], name=k[0], sm=k[1]) for k in rows], f, indent=1)
    held = read_loops()
    if tool:
        print("inner loops:")
    for key in sorted(k for k in held if table.get(k, {}).get("loop")):
        print(say_loop(key, held[key], table[key]["loop"]))
    wrong = check(table, budgets, bool(tool)) + outdated(table) + beyond_loops(table, held) if options.check else []
    for line in wrong:
        print("beyond what is held: " + line)
    sys.exit(1 if wrong else 0)


main()
