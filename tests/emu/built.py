#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The kernel texts are CUDA: nvcc compiles all of them for every chip aimed at, without a warning, a spill or local memory.

The build has done so where nvcc was found; this looks at what it left: the commands, and in the objects the machine code of
each chip and the stack of each kernel. That these commands refuse a warning and local memory is tried on small kernels with one fault
each, and what is read from objects is compared with what ptxas says. What the build has not compiled for every chip
(MDS_CUDA=OFF, CMAKE_CUDA_ARCHITECTURES) is compiled here.

usage: built.py    (MDS_SOURCE, MDS_BUILD; skips where nvcc is not installed)"""
import glob, json, os, re, shlex, shutil, subprocess, sys, tempfile

source, build = os.environ["MDS_SOURCE"], os.environ["MDS_BUILD"]
sys.path.insert(0, os.path.join(source, "benchmarks", "gpu"))
import cubin

CHIPS = (75, 80, 86, 89, 90, 100, 120)
STRICT = {"-Xptxas=-warn-spills,-warn-lmem-usage", "--Werror=all-warnings"}
failures = 0

# one fault each, and none
FAULTS = {
    "an array in local memory": "__global__ void k(float *x, int i) { float a[64]; for (int j = 0; j < 64; j++) a[(int)x[j] & 63] = x[j + 64]; x[0] = a[i & 63]; }\n",
    "a warning": "__global__ void k(float *x) { int unused; x[0] = 0; }\n",
}
SOUND = "__global__ void k(float *x, int i) { __shared__ float a[96]; a[threadIdx.x] = x[threadIdx.x]; __syncthreads(); x[0] = a[i]; }\n"


def check(ok, what, more=""):
    global failures
    failures += not ok
    print(("ok      " if ok else "FAILED  ") + what + ("" if ok else ": " + str(more)), flush=True)


def run(words):
    return subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def compile_command(nvcc, chips, strict=True):
    words = [nvcc, "-std=c++17", "-O2", "--threads", "2", "-I" + source + "/cuda", "-I" + source + "/src", "--Werror=all-warnings"]
    words += sorted(STRICT) if strict else []
    for sm in chips:
        words += ["-gencode", "arch=compute_%d,code=sm_%d" % (sm, sm)]
    return words + ["-gencode", "arch=compute_%d,code=compute_%d" % (chips[-1], chips[-1])]


def commands():
    """{source: (words without source and output, object)} of the GPU backend in this build."""
    found = {}
    try:
        with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as f:
            entries = json.load(f)
    except OSError:
        return found
    for e in entries:
        if "mds_cuda.dir" not in e["command"] or not e["file"].endswith(".cu"):
            continue
        words = shlex.split(e["command"])
        words = words[1:] if os.path.basename(words[0]) == "ccache" else words
        out = words[words.index("-o") + 1]
        drop = {"-c", "-o", out, e["file"], "-x", "cu"}
        found[os.path.realpath(e["file"])] = ([w for w in words if w not in drop], os.path.join(e["directory"], out))
    return found


def complaint(path, chips):
    """What is wrong with an object, or nothing."""
    found = cubin.images(path)
    if not found:
        return "no code for any chip"
    lacking = set(chips) - {sm for kind, sm, _ in found if kind == cubin.ELF}
    if lacking:
        return "no code for sm_%s" % ", ".join(map(str, sorted(lacking)))
    if chips[-1] not in [sm for kind, sm, _ in found if kind == cubin.PTX]:
        return "no PTX of compute_%d for chips to come" % chips[-1]
    local = ["%s, sm_%d: %d bytes" % (name, sm, row["stack"]) for kind, sm, elf in found if kind == cubin.ELF
             for name, row in cubin.kernels(elf).items() if row["stack"]]
    return "local memory: " + "; ".join(local) if local else ""


def kernel_of(path):
    return [r for _, _, elf in cubin.images(path) for r in cubin.kernels(elf).values()][0]


def refuses(words, work):
    """The flags of the build stop a compilation with a fault; and the reader of objects says what ptxas says."""
    one = [w for w in words if "generate-code" not in w and "gencode" not in w and not w.startswith("arch=")]
    for sm in (CHIPS[0], CHIPS[-2]):
        chip = ["-gencode", "arch=compute_%d,code=sm_%d" % (sm, sm)]
        for name, text in list(FAULTS.items()) + [("", SOUND)]:
            path = os.path.join(work, "k.cu")
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
            p = run(one + chip + ["-Xptxas", "-v", "-c", path, "-o", path + ".o"])
            check((p.returncode != 0) == bool(name), "sm_%d: %s" % (sm, name + " is refused" if name else "a sound kernel is not refused"), p.stdout)
        said = re.search(r"Used (\d+) registers.* (\d+) bytes smem", p.stdout)
        row = kernel_of(path + ".o")
        check(said and (row["registers"], row["shared"]) == tuple(int(w) for w in said.groups()), "sm_%d: registers and shared memory as ptxas says" % sm, (row, p.stdout))
        for kind in ("float", "double"):
            with open(path, "w", encoding="utf-8") as f:
                f.write("__global__ void k(%s *x) { x[0] = x[1] * x[2]; x[3] = x[4] + x[5]; x[6] = x[7] < x[8] ? x[9] * x[10] + x[11] : 1; }\n" % kind)
            p = run(one + chip + ["-c", path, "-o", path + ".o"])
            seen = kernel_of(path + ".o")["doubles"]
            check(p.returncode == 0 and (seen >= 4 if kind == "double" else seen == 0), "sm_%d: %s arithmetic is told from the other" % (sm, kind), (seen, p.stdout))


def reads_local(nvcc, chips, work):
    """planted.cu has a kernel with an array of 100 kB in local memory, for the emulation to catch: it must be seen here too."""
    out = os.path.join(work, "planted.o")
    p = run(compile_command(nvcc, chips, strict=False) + ["-c", os.path.join(source, "tests", "emu", "planted.cu"), "-o", out])
    check(p.returncode == 0 and not p.stdout, "planted.cu compiles", p.stdout[-2000:])
    said = complaint(out, chips)
    check(said.count("k_large_local") == len(chips), "its local memory is seen for %d chips" % len(chips), said)
    check("no code for sm_70" in complaint(out, (70,) + chips), "a chip that is not there is missed")


def main():
    nvcc = next((shutil.which(n) for n in ("nvcc", "/usr/local/cuda/bin/nvcc") if shutil.which(n)), None)
    built = commands()
    if built:
        nvcc = next(iter(built.values()))[0][0]
    if not nvcc:
        print("skipped: nvcc is not installed")
        sys.exit(77)
    known = run([nvcc, "--list-gpu-arch"]).stdout.split()
    chips = tuple(sm for sm in CHIPS if "compute_%d" % sm in known)
    check(len(chips) > 1, "chips: %s" % (chips,))
    files = sorted(glob.glob(os.path.join(source, "cuda", "*.cu")))
    check(len(files) > 10, "%d files" % len(files))
    with tempfile.TemporaryDirectory() as work:
        for path in files:
            name = os.path.basename(path)
            words, out = built.get(os.path.realpath(path), (None, None))
            text = " ".join(words or [])
            if words and all("sm_%d" % sm in text for sm in chips):
                check(STRICT <= set(words), "%s: the build's command has %s" % (name, " ".join(sorted(STRICT))), text)
                if not os.path.exists(out) or os.path.getmtime(out) < os.path.getmtime(path):
                    check(False, name, "its object is older than the text: build first")
                    continue
            else:
                out = os.path.join(work, "object.o")
                p = run(compile_command(nvcc, chips) + ["-c", path, "-o", out])
                check(p.returncode == 0 and not p.stdout, name + " compiles here", p.stdout[-4000:])
                if p.returncode:
                    continue
            wrong = complaint(out, chips)
            check(not wrong, name + ": code for every chip, no local memory", wrong)
        words = next(iter(built.values()))[0] if built else compile_command(nvcc, chips)
        refuses(words, work)
        reads_local(nvcc, chips, work)
        p = run(compile_command(nvcc, chips) + ["-c", os.path.join(source, "tests", "emu", "test_emu.cu"), "-o", os.path.join(work, "emu.o")])
        check(p.returncode == 0 and not p.stdout, "test_emu.cu compiles", p.stdout[-2000:])
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
