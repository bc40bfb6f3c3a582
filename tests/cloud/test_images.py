#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The container files: steps of quickstart.sh, an ordinary user, no secrets, the libraries that mdsim is linked with.

usage: test_images.py CASE
  files    what can be said by reading them; hadolint besides, where it is installed
  install  cmake --install into a folder: mdsim there finds its tables, and plans and emits from them
"""
import os, re, shutil, subprocess, sys, tempfile
from launch import argon, check, main, mdsim, source

cloud = os.path.join(source, "cloud")


def read(name):
    return open(os.path.join(cloud, name)).read()


def instructions(text):
    """Instructions of a Dockerfile, continued lines joined, comments away."""
    lines = [line for line in text.split("\n") if not line.lstrip().startswith("#")]
    return [line.strip() for line in re.sub(r"\\\n", " ", "\n".join(lines)).split("\n") if line.strip()]


def packages(text):
    return set(re.search(r"--no-install-recommends\s+(?:\\\n)?\s*([a-z0-9 .+-]+)", text).group(1).split())


def files():
    cpu, cuda, apptainer = read("Dockerfile.cpu"), read("Dockerfile.cuda"), read("mdsim.def")
    steps = ["./quickstart.sh build", "cmake --install /build --prefix /opt/mdsim --strip", "/opt/mdsim/bin/mdsim check inputs/argon/argon.conf"]
    for name, text in (("Dockerfile.cpu", cpu), ("Dockerfile.cuda", cuda), ("mdsim.def", apptainer)):
        check(all(s in text for s in steps), "%s: built by quickstart.sh, installed, tried" % name, steps)
        check("apt-get install" not in text.split("%post")[1] if name == "mdsim.def" else "apt-get" not in text.split("\nFROM")[1], "%s: its build stage installs nothing of its own" % name)
        check(not re.search(r"(?i)(secret_key|password|token=|BEGIN .*PRIVATE KEY|AKIA[0-9A-Z]{16})|^\s*ARG ", text, re.M), "%s: no secrets, no arguments that could be" % name)
        check("rm -rf /var/lib/apt/lists" in text and "--no-install-recommends" in text, "%s: no package lists left" % name)
    for name, text in (("Dockerfile.cpu", cpu), ("Dockerfile.cuda", cuda)):
        lines = instructions(text)
        froms = [line for line in lines if line.startswith("FROM ")]
        check(len(froms) == 2 and froms[0].endswith(" AS build") and all(re.search(r":[0-9]", f) and "latest" not in f for f in froms), "%s: two stages, pinned bases" % name, froms)
        last = lines[lines.index(froms[1]):]
        check([line for line in last if line.startswith("USER ")] == ["USER 10001:10001"], "%s: an ordinary user by number" % name, last)
        check([line for line in last if line.startswith("COPY ")] == ["COPY --from=build /opt/mdsim /opt/mdsim"], "%s: only what was installed goes into the image" % name, last)
        check(not [line for line in lines if line.startswith(("ADD ", "EXPOSE ")) or "curl" in line or "sudo" in line], "%s: no ADD, no port, no download" % name)
        if shutil.which("hadolint"):
            # DL3008: versions of packages are those of the pinned release
            p = subprocess.run(["hadolint", "--ignore", "DL3008", os.path.join(cloud, name)], capture_output=True, text=True)
            check(p.returncode == 0, "hadolint %s" % name, p.stdout)
    check(packages(cpu) == packages(apptainer), "Docker and Apptainer install the same", (packages(cpu), packages(apptainer)))
    check({re.sub("t64$", "", p) for p in packages(cuda)} == packages(cpu), "and the CUDA image the same of its own release", (packages(cpu), packages(cuda)))
    same = [line for line in instructions(cpu)[1:] if line not in instructions(cuda)]
    check(all(line.startswith(("FROM ", "ENV PATH")) or "apt-get" in line for line in same), "Dockerfile.cuda differs in bases, package names and environment only", same)
    for words in ("test", "build"):
        check(re.search(r"^    %s\)" % words, open(os.path.join(source, "quickstart.sh")).read(), re.M) is not None, "quickstart.sh knows '%s'" % words)
    # what mdsim is linked with here, by the packages of this distribution
    if shutil.which("dpkg") and "VERSION_ID=\"12\"" in open("/etc/os-release").read() and "ID=debian" in open("/etc/os-release").read():
        libraries = re.findall(r"=> (/\S+)", subprocess.run(["ldd", mdsim], capture_output=True, text=True).stdout)
        owners = set()
        for lib in libraries:
            for path in (lib, os.path.realpath(lib), os.path.realpath(lib).replace("/usr/lib", "/lib", 1)):
                p = subprocess.run(["dpkg", "-S", path], capture_output=True, text=True)
                if p.returncode == 0:
                    owners.add(p.stdout.split(":")[0])
                    break
            else:
                owners.add(lib)
        asan = {o for o in owners if "san" in o}
        needed = {"libconfig9", "libfftw3-double3", "libfftw3-single3", "libgomp1", "libhdf5-103-1", "libnetcdf19"}
        closure = set(subprocess.run(["apt-cache", "depends", "--recurse", "--installed", "--no-recommends", "--no-suggests", "--no-conflicts", "--no-breaks", "--no-replaces", "--no-enhances"]
                                     + sorted(needed), capture_output=True, text=True).stdout.replace("|", " ").split())
        check(needed <= packages(cpu) and owners - asan <= closure | {"libc6"}, "every library that mdsim loads comes with the listed packages", sorted(owners - closure))


def install():
    build = os.environ.get("MDS_BUILD")
    if not build or not shutil.which("cmake"):
        print("skipped: no build folder")
        sys.exit(77)
    place = os.path.abspath("opt")
    p = subprocess.run(["cmake", "--install", build, "--prefix", place], capture_output=True, text=True)
    check(p.returncode == 0, "cmake --install", p.stdout + p.stderr)
    argon()
    env = {k: v for k, v in os.environ.items() if k != "MDSIM_CLOUD"}
    p = subprocess.run([place + "/bin/mdsim", "plan", "a.conf", "--pick", "c7a.48xlarge", "--emit", "slurm", "--out", "job"], env=env, capture_output=True, text=True)
    check(p.returncode == 0 and open("job/job.sh").read() == open(place + "/share/mdsim/cloud/templates/job.sh").read(), "the installed mdsim plans and emits", p.stderr)
    check(os.access(place + "/share/mdsim/cloud/watch", os.X_OK), "watch is installed as a program")


main({"files": files, "install": install})
