#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No source file of the program and its tests gives a warning: each is parsed again with its own flags and -Werror.

usage: warned.py    (MDS_BUILD holds compile_commands.json)
The `dev` preset builds with -Werror and so sees what only the optimiser notices as well."""
import concurrent.futures
import json
import os
import shlex
import subprocess
import sys

BUILD = os.environ.get("MDS_BUILD", "build")


def parse(entry):
    words = [w for w in shlex.split(entry["command"])]
    if "-o" in words:
        at = words.index("-o")
        del words[at:at + 2]
    words = [w for w in words if not w.startswith("-fsanitize")]
    run = subprocess.run(words + ["-fsyntax-only", "-Werror"], cwd=entry["directory"], capture_output=True, text=True)
    return run.stderr if run.returncode else ""


def main():
    with open(os.path.join(BUILD, "compile_commands.json"), encoding="utf-8") as file:
        entries = [e for e in json.load(file) if "/src/" in e["file"] or "/tests/" in e["file"]]
    entries = [e for e in entries if "nvcc" not in e["command"].split(" -")[0]] # its build has warnings as errors
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        complaints = [c for c in pool.map(parse, entries) if c]
    print("\n".join(complaints))
    print(f"{len(entries)} files parsed, {len(complaints)} with warnings")
    return 1 if complaints or not entries else 0


if __name__ == "__main__":
    sys.exit(main())
