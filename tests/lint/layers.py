#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which directory may include what, and the house rules that a machine can check.

The table is docs/architecture.md's: an arrow upwards is a mistake even if it compiles. Besides: memory, output and exit
only where they belong, no notes to self, no machine's paths, the licence line, file and function lengths, no large files.
Warnings are printed and do not fail."""
import os
import re
import sys

from files import ROOT, own_files

# directory: directories whose headers it may include (its own always)
LAYERS = {
    "src/base": "",
    "src/minimal": "base",
    "src/model": "base",
    "src/num": "base",
    "src/backend": "base model",
    "src/par": "base model",
    "src/read": "base model",
    "src/io": "base model",
    "src/ref": "base model backend",
    "src/cpu": "base model num backend",
    "cuda": "base model num backend",
    "src/engine": "base model num backend par io read",
    "src/plan": "base model read io",
    "src/cli": "base model backend engine plan io read",
    "src": "base cli engine plan io",
}
# Only the public header of a directory may be included from outside.
PRIVATE_TO = {"io/config.h": "src/io"}
# Inline arithmetic that whoever may include the directory may include.
INLINE = r"base/(vec|units|rng|inline)\.h|num/\w+\.h"
# outside library: files that may include it
LIBRARIES = {
    "libconfig.h": r"src/io/(config|value|schema|calibration|tuned|profile)\.c|src/minimal/settings\.c",
    "hdf5.h": r"src/io/(h5\w*\.[ch]|checkpoint\.c)",
    "netcdf.h": r"src/read/ncrst\.c",
    "fftw3.h": r"src/ref/\w+\.c|src/minimal/fourier\.c",
    "omp.h": r"src/cpu/\w+\.[ch]|src/engine/cores\.c",
    "mpi.h": r"src/par/comm\.c",
    "nvtx3/nvToolsExt.h": r"cuda/annotate\.h|tests/emu/range_log\.c",
}
CALLS = {
    r"(malloc|calloc|realloc|aligned_alloc|free|strdup|strndup)": r"src/base/mem\.c",
    r"(printf|puts|putchar|perror|vprintf)": r"src/base/log\.c|src/main\.c",
    r"(v?fprintf\s*\(\s*std(?:out|err)|f(?:puts|putc|write)\s*\([^;]*,\s*std(?:out|err))": r"src/base/(log|text)\.c|src/main\.c",
    r"(exit|_exit|_Exit|abort|quick_exit)": r"src/base/(log|error)\.c|src/main\.c",
}
CODE = (".c", ".h", ".cu", ".cuh")
LICENSED = CODE + (".py", ".sh")
FILE_WARN, FILE_FAIL, FUNCTION_WARN = 600, 800, 80
LARGE = 2 << 20

errors, warnings = [], []


def layer_of(name):
    for directory in sorted(LAYERS, key=len, reverse=True):
        if name.startswith(directory + "/"):
            return directory
    return None


def strip(text):
    """Code without comments and string contents, line numbers kept."""
    def blank(match):
        s = match.group(0)
        if s.startswith("/"):
            return "\n" * s.count("\n") + " "
        return s[0] + s[0]
    return re.sub(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', blank, text, flags=re.S)


def check_includes(name, text):
    layer = layer_of(name)
    if layer is None:
        return
    for number, line in enumerate(text.split("\n"), 1):
        match = re.match(r'\s*#\s*include\s+[<"]([^>"]+)[>"]', line)
        if not match:
            continue
        header = match.group(1)
        where = f"{name}:{number}"
        if header in LIBRARIES and not re.fullmatch(LIBRARIES[header], name):
            errors.append(f"{where}: {header} belongs in {LIBRARIES[header]} only")
        if "/" not in header or header.startswith(("sys/", "cuda/")) or header in LIBRARIES:
            continue
        target = header.split("/")[0]
        own = layer.split("/")[-1]
        if os.path.isdir(os.path.join(ROOT, "src", target)) and target != own and target not in LAYERS[layer].split():
            errors.append(f"{where}: {layer} may not include {header} (may: {LAYERS[layer] or 'nothing'})")
        if PRIVATE_TO.get(header, layer) != layer:
            errors.append(f"{where}: {header} is private to {PRIVATE_TO[header]}")
        if target != own and re.match(r"\w+/\w+\.h$", header):
            if not re.fullmatch(INLINE, header) and header != f"{target}/{target}.h":
                errors.append(f"{where}: only {target}/{target}.h is for other directories, not {header}")


def check_calls(name, code):
    if not name.startswith(("src/", "cuda/")):
        return
    for number, line in enumerate(code.split("\n"), 1):
        for call, where in CALLS.items():
            match = re.search(rf"(?<![\w.>]){call}" + (r"\b" if "std" in call else r"\s*\("), line)
            if match and not re.fullmatch(where, name):
                errors.append(f"{name}:{number}: {match.group(1)} belongs in {where} only")


def check_functions(name, code):
    limit = 150 if re.search(r"src/cpu/pair|src/ref/pair|^cuda/", name) else FUNCTION_WARN
    start, title = None, ""
    for number, line in enumerate(code.split("\n"), 1):
        if line == "{" and start is None:
            start = number
        elif line.startswith("}") and start is not None:
            if number - start > limit:
                warnings.append(f"{name}:{start}: a function of {number - start} lines ({title.strip()[:50]})")
            start = None
        elif start is None and line and not line[0].isspace():
            title = line


def check_words(name, text):
    for number, line in enumerate(text.split("\n"), 1):
        if name.endswith("tests/lint/layers.py"):
            break  # it has the words themselves
        if re.search(r"\b(TODO|FIXME)\b", line):
            errors.append(f"{name}:{number}: a note to self; open an issue instead")
        if re.search(r"/(home|root|Users|srv|mnt)/\w", line):
            errors.append(f"{name}:{number}: a path of one machine")


def main():
    names, from_git = own_files()
    seen = 0
    for name in names:
        path = os.path.join(ROOT, name)
        if from_git and os.path.getsize(path) > LARGE:
            errors.append(f"{name}: {os.path.getsize(path) >> 20} MB; large files do not belong here")
            continue
        try:
            text = open(path, encoding="utf-8").read()
        except UnicodeDecodeError:
            continue
        if text.startswith("<<<<<<<") or "\n<<<<<<< " in text or "\n>>>>>>> " in text:
            errors.append(f"{name}: an unfinished merge")
        check_words(name, text)
        if name.endswith(".py") and os.path.basename(name)[:-3] in getattr(sys, "stdlib_module_names", ()):
            errors.append(f"{name}: a module of Python's has this name, and scripts beside it would import this one")
        if name.endswith(LICENSED) and "SPDX-License-Identifier: Apache-2.0" not in "\n".join(text.split("\n")[:3]):
            errors.append(f"{name}:1: no SPDX-License-Identifier line")
        if not name.endswith(CODE):
            continue
        seen += 1
        n = text.count("\n")
        if n > FILE_FAIL:
            errors.append(f"{name}: {n} lines; split it along an idea (at most {FILE_FAIL})")
        elif n > FILE_WARN:
            warnings.append(f"{name}: {n} lines (more than {FILE_WARN})")
        code = strip(text)
        check_includes(name, text)
        check_calls(name, code)
        if name.startswith(("src/", "cuda/")):
            check_functions(name, code)
    for line in warnings:
        print("warning:", line)
    for line in errors:
        print("error:", line)
    print(f"{seen} source files, {len(warnings)} warnings, {len(errors)} errors")
    return 1 if errors or seen < 50 else 0


if __name__ == "__main__":
    sys.exit(main())
