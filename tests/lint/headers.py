#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every header compiles alone as C17; those of base, model, num and backend as C++17 too (CUDA sources include them).

usage: headers.py C-COMPILER C++-COMPILER"""
import glob
import json
import os
import shlex
import subprocess
import sys

ROOT = os.environ.get("MDS_SOURCE") or os.path.join(os.path.dirname(__file__), "..", "..")
BODIES = {"cpu/isa_rows.h"}  # included several times between macros: no header but a piece of its source file
BILINGUAL = ("base", "model", "num", "backend")
FLAGS = ["-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-D_GNU_SOURCE", '-DMDS_VERSION="0"', "-I" + os.path.join(ROOT, "src")]


def outside_includes():
    """Where the build found the headers of outside libraries."""
    found = []
    with open(os.path.join(os.environ.get("MDS_BUILD", "build"), "compile_commands.json"), encoding="utf-8") as file:
        for entry in json.load(file):
            words = shlex.split(entry["command"])
            for k, word in enumerate(words):
                if word == "-isystem" and words[k + 1] not in found:
                    found += [words[k + 1]]
                elif word.startswith("-I") and word[2:] not in found:
                    found += [word[2:]]
    return [flag for directory in found for flag in ("-isystem", directory)]


def compile_alone(command, language, header):
    # Included twice: the guard is there too.
    text = f'#include "{header}"\n#include "{header}"\n'
    run = subprocess.run(command + FLAGS + ["-x", language, "-"], input=text, capture_output=True, text=True)
    if run.returncode:
        print(f"error: {header} does not compile alone as {language}:\n{run.stderr}")
    return run.returncode != 0


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    cc, cxx = sys.argv[1:]
    headers = [os.path.relpath(h, os.path.join(ROOT, "src")) for h in sorted(glob.glob(ROOT + "/src/*/*.h"))]
    bad = tried = 0
    FLAGS.extend(outside_includes())
    for header in headers:
        if header in BODIES:
            continue
        bad += compile_alone([cc, "-std=gnu17"], "c", header)
        tried += 1
        if header.split("/")[0] in BILINGUAL:
            bad += compile_alone([cxx, "-std=gnu++17"], "c++", header)
            tried += 1
    print(f"{len(headers)} headers, {tried} compilations, {bad} failed")
    return 1 if bad or not any(h.startswith("base/") for h in headers) else 0


if __name__ == "__main__":
    sys.exit(main())
