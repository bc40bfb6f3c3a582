#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What quickstart.sh asks apt for, and what it says where it cannot: the real script with recorded stand-ins for apt, dpkg, sudo and cmake.

usage: test_quickstart.py CASE
  releases   Debian 12, Ubuntu 22.04 and 24.04 as root: the packages asked for, once; what a release lacks is named and does not stop
  root       sudo where there is one; without root and sudo, and with MDS_NO_INSTALL, the command to type
  missing    component universe not enabled; no network; apt failing: exit code 78 and what to do
"""
import os, re, shutil, subprocess, sys, tempfile

from program import check, source
import program

NEEDED = "build-essential cmake ninja-build pkg-config libconfig-dev libhdf5-dev libfftw3-dev libnetcdf-dev".split()
FOR_TESTS = "python3 python3-numpy python3-h5py python3-mdanalysis python3-yaml gromacs shellcheck rclone slurm-wlm munge".split()
# Components as packages.ubuntu.com has them (2026-11): python3-mdanalysis is in jammy and not in noble.
MAIN_OF_UBUNTU = {"build-essential", "cmake", "pkg-config", "libfftw3-dev", "python3", "python3-numpy", "python3-yaml"}
EVERYTHING = set(NEEDED + FOR_TESTS)
RELEASES = {"Debian 12": EVERYTHING, "Ubuntu 22.04": EVERYTHING, "Ubuntu 24.04": EVERYTHING - {"python3-mdanalysis"}}

STANDINS = {
    "dpkg-query": 'for p; do :; done; [ -e "$FAKE/installed/$p" ] && printf installed',
    "apt-cache": '[ -z "$(grep -x "$2" "$FAKE/lists")" ] && echo "  Candidate: (none)" || echo "  Candidate: 1.0-1"',
    "apt-get": '''echo "apt-get as ${FAKE_BECAME:-$FAKE_USER}: $*" >>"$FAKE/log"
        case " $* " in
            *" update "*) [ -z "${FAKE_OFFLINE:-}" ] && cp "$FAKE/archive" "$FAKE/lists" ;;
            *" install "*)
                [ -z "${FAKE_BROKEN:-}" ] || { echo "E: the disk is full" >&2; exit 100; }
                [ "${FAKE_BECAME:-$FAKE_USER}" = root ] || { echo "E: are you root?" >&2; exit 100; }
                for p; do case $p in -* | install | *=*) ;; *) touch "$FAKE/installed/$p" ;; esac; done ;;
        esac''',
    "id": '[ "$FAKE_USER" = root ] && echo 0 || echo 1000',
    "sudo": '[ -n "${FAKE_SUDO:-}" ] || exit 1; [ "$1" = -n ] && shift; FAKE_BECAME=root exec "$@"',
    "cmake": '''echo "cmake $*" >>"$FAKE/log"
        mkdir -p build; touch build/build.ninja; printf '#!/bin/sh\\necho ran "$@"\\n' >build/mdsim; chmod +x build/mdsim''',
    "ctest": 'echo "100% tests passed, 0 tests failed out of 1"',
}


class Machine:
    """A folder with quickstart.sh, the stand-ins and what this machine has."""

    def __init__(self, place, archive, user="root", **env):
        self.place, self.home = place, os.path.join(place, "mdsim")
        for folder in ("bin", "installed", "mdsim/inputs/peptide"):
            os.makedirs(os.path.join(place, folder))
        shutil.copy(os.path.join(source, "quickstart.sh"), self.home)
        open(os.path.join(self.home, "inputs/peptide/peptide.conf"), "w").close()
        for name, text in dict(archive="\n".join(sorted(archive)) + "\n", lists="", log="").items():
            program.write(os.path.join(place, name), text)
        for name, text in STANDINS.items():
            if name != "sudo" or "FAKE_SUDO" in env:
                os.chmod(program.write(os.path.join(place, "bin", name), "#!/bin/bash\n" + text + "\n"), 0o755)
        for tool in ("bash", "dirname", "readlink", "nproc", "mkdir", "tail", "grep", "sed", "env", "cat", "cp", "touch", "chmod", "true"):
            os.symlink(shutil.which(tool), os.path.join(place, "bin", tool)) # nothing else of this machine is on the path
        self.env = dict(PATH=os.path.join(place, "bin"), FAKE=place, FAKE_USER=user, **{k: v for k, v in env.items() if v})

    def quickstart(self, *words, **env):
        done = subprocess.run(["./quickstart.sh"] + list(words), cwd=self.home, env=dict(self.env, **env), capture_output=True, text=True, stdin=subprocess.DEVNULL)
        return done.returncode, done.stdout + done.stderr

    def log(self):
        return open(os.path.join(self.place, "log")).read()

    def asked(self):
        """The installs: a list of lists of packages; and under which name."""
        lines = re.findall(r"^apt-get as (\w+): .*? install (.*)$", self.log(), re.M)
        return [[w for w in words.split() if not w.startswith("-")] for _, words in lines], {user for user, _ in lines}


def on(archive, user="root", **env):
    return Machine(tempfile.mkdtemp(dir=work), archive, user, **env)


def releases():
    for name, archive in RELEASES.items():
        m = on(archive)
        code, said = m.quickstart()
        check(code == 0 and "ran run inputs/peptide/peptide.conf" in said, name + ": ./quickstart.sh ends with a run", said)
        check(m.asked() == ([NEEDED], {"root"}), name + ": asks for what the build needs, in one install, as root", m.log())
        asked = len(m.asked()[0])
        code, said = m.quickstart()
        check(code == 0 and len(m.asked()[0]) == asked and m.log().count("cmake -S") == 1, name + ": the second time nothing is installed or configured", m.log())
        code, said = m.quickstart("test")
        lacks = [p for p in FOR_TESTS if p not in archive]
        check(code == 0 and m.asked()[0][1:] == [[p] for p in FOR_TESTS if p in archive], name + ": test installs what tests compare with, one by one", m.log())
        check(("not to be had here: " + " ".join(lacks) in said) == bool(lacks), name + ": what the release lacks (%s) is named" % (" ".join(lacks) or "nothing"), said)
        installs = m.log().count("apt-get")
        code, said = m.quickstart("test")
        check(code == 0 and m.log().count("apt-get") == installs, name + ": asked once only", m.log())


def root():
    m = on(EVERYTHING, "me", FAKE_SUDO="1")
    code, said = m.quickstart()
    check(code == 0 and m.asked() == ([NEEDED], {"root"}), "a user with sudo: the same packages, by sudo", m.log() + said)
    for what, env in (("no sudo on the machine", {}), ("a sudo that asks for a password, and no terminal", {"FAKE_SUDO": ""})):
        m = on(EVERYTHING, "me", **env)
        code, said = m.quickstart()
        check(code == 78 and "As root: apt-get update && apt-get install -y " + " ".join(NEEDED) in said and "apt-get" not in m.log(),
              what + ": exit code 78 and the command to type", said + m.log())
    m = on(EVERYTHING)
    code, said = m.quickstart("test", MDS_NO_INSTALL="1")
    check(code == 78 and "apt-get" not in m.log(), "MDS_NO_INSTALL: nothing is installed, as root either", said + m.log())
    for p in NEEDED:
        open(os.path.join(m.place, "installed", p), "w").close()
    code, said = m.quickstart("test", MDS_NO_INSTALL="1")
    check(code == 0 and "tests that need them are skipped: " + " ".join(FOR_TESTS) in said and "apt-get" not in m.log(),
          "MDS_NO_INSTALL where the build can be made: goes on, and says which packages tests lack", said + m.log())


def missing():
    m = on(MAIN_OF_UBUNTU)
    code, said = m.quickstart()
    lacks = [p for p in NEEDED if p not in MAIN_OF_UBUNTU]
    check(code == 78 and "no package " + " ".join(lacks) in said and "add-apt-repository universe" in said and not m.asked()[0],
          "Ubuntu without universe: exit code 78, the packages, what to do; nothing half installed", said + m.log())
    m = on(EVERYTHING, FAKE_OFFLINE="1")
    code, said = m.quickstart()
    check(code == 78 and "apt-get update failed: is there a network?" in said, "no network and no lists: exit code 78, says so", said)
    program.write(os.path.join(m.place, "lists"), "\n".join(EVERYTHING) + "\n")
    code, said = m.quickstart()
    check(code == 0 and "going on with the lists that are there" in said, "no network and lists of before: goes on", said)
    m = on(EVERYTHING, FAKE_BROKEN="1")
    code, said = m.quickstart()
    check(code == 78 and "E: the disk is full" in said and "apt-get could not install: " + " ".join(NEEDED) in said, "apt failing: its last lines and what it was asked for", said)


with tempfile.TemporaryDirectory() as work:
    {"releases": releases, "root": root, "missing": missing}[sys.argv[1]]()
sys.exit(1 if program.failures else 0)
