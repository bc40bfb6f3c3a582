#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The start-up tuner: it changes which settings a run has, and nothing else.

usage: test_tune.py CASE
  measured    a run that tunes has the bits of a fixed run with the same values given by hand, and keeps its answer; or it gives up
              because the machine is busy, and has the bits of the defaults
  cache       an entry is followed (and has the bits of the same values by hand); a damaged file is as good as none; without a
              writable directory all goes on
  resume      a resume keeps the choices of its checkpoint whatever the cache says by then
  keys        what the user gives is never tuned; "fixed" and short runs neither measure nor look
  explain     says what would be tuned, or what was
"""
import os, re, shutil, signal, subprocess, sys
from program import *

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from waiting import rows, wait_for_rows

LONG = 1000000000  # never ended: runs are stopped when they have shown what they do


def water(path, steps=LONG, more="", **backend):
    return write(path, """
system = { generate = "water"; atoms = 300L; velocities = "draw"; };
run = { steps = %dL; };
nonbonded = { cutoff = 0.6; };
pme = { force_error = 5.0; %s };
output = { name = "%s"; trajectory_every = 0; energy_every = 20; };
backend = { %s };
""" % (steps, more, os.path.splitext(os.path.basename(path))[0], " ".join("%s = %s;" % (k, '"%s"' % v if isinstance(v, str) else v) for k, v in backend.items())))


def home(name):
    return {"XDG_CACHE_HOME": os.path.join(os.getcwd(), name)}


def table(path):
    return path[:-5] + ".csv"


def lines(path):
    return open(path).read().split("\n")[:-1]


def go(path, *words, cache="cache", until=20, env=None):
    """Run until run.csv has that many rows, or to the end; the log. Tuning takes a few seconds, more on a crowded machine."""
    p = subprocess.Popen([mdsim, path, "--quiet"] + list(words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(os.environ, **(env or home(cache))))
    wait_for_rows(p, table(path), until)
    if p.poll() is None:
        p.send_signal(signal.SIGTERM)
    said = p.communicate(timeout=250)[1]
    if p.returncode not in (0, 75) or rows(table(path)) < (until if p.returncode else 1):
        raise RuntimeError("%s: %d, %d rows, %s" % (path, p.returncode, rows(table(path)), said))
    return open(path[:-5] + ".log").read() + said


def by_hand(log):
    """The settings that the log says give these bits without tuning, as --set words."""
    told = re.search(r'these bits again elsewhere: backend.tune = "fixed"(.*)', log)
    words = ["--set", "backend.tune=fixed"]
    for key, value in re.findall(r', ([\w.]+) = "?(\w+)"?', told.group(1) if told else ""):
        words += ["--set", "%s=%s" % (key, value)]
    return words


def same(a, b, what):
    """The first rows of run.csv, digit by digit: after 400 steps of a liquid the last bit of a position has become visible in them."""
    x, y = (lines(table(n + ".conf")) for n in (a, b))
    n = min(len(x), len(y))
    check(n >= 20 and x[:n] == y[:n], what, (n, [p for p in zip(x, y) if p[0] != p[1]][:1]))


def differ(a, b, what):
    x, y = (lines(table(n + ".conf")) for n in (a, b))
    check(x[:20] != y[:20], what, x[:20])


def key_of(path):
    p = run("explain", path, "--verbose", env=home("nothing"))
    return re.search(r"tuning key: (.*)", p.stderr).group(1)


def entry(path, cache="cache", order=0, list_interval=0, threads=0, isa=""):
    """A cache with one answer for the conf."""
    write("%s/mdsim/tune.conf" % cache, 'format = 1; entries = ( { key = "%s"; order = %d; list_interval = %d; threads = %d; isa = "%s"; } );' % (key_of(path), order, list_interval, threads, isa))


def case_measured():
    water("a.conf", threads=1)
    log = go("a.conf")
    tuned, gave_up = "tuning took" in log, "machine is too busy" in log
    print("notice: " + ("the machine was too busy to tune" if gave_up else re.search("tuning took.*", log).group(0) if tuned else log))
    check(tuned != gave_up, "the log says what the tuner did", log[:3000])
    check(("mesh order" in log) or gave_up, "mesh orders were timed", log[:3000])
    check(os.path.exists("cache/mdsim/tune.conf") == tuned, "an answer is kept, and no answer is not", log[:3000])
    water("b.conf", threads=1)
    go("b.conf", *by_hand(log))
    same("a", "b", "the bits of a fixed run with the same values")
    if tuned:
        water("c.conf", threads=1)
        again = go("c.conf")
        check("tuned earlier" in again and "tuning took" not in again, "the next run takes the kept answer", again[:3000])
        same("a", "c", "and has the same bits")


def case_cache():
    water("a.conf", threads=1)
    entry("a.conf", order=6)
    log = go("a.conf")
    check("tuned earlier" in log and "order 6" in log, "an entry is followed", log[:3000])
    water("b.conf", threads=1)
    log = go("b.conf", "--set", "pme.order=6", "--set", "backend.tune=fixed")
    same("a", "b", "with the bits of the same value given by hand")
    shutil.copy("cache/mdsim/tune.conf", "good")
    # another system has another key
    water("c.conf", threads=1)
    p = run("explain", "c.conf", "--set", "nonbonded.cutoff=0.65", env=home("cache"))
    check(p.returncode == 0 and "tuned earlier" not in p.stdout, "an entry of another cut-off is not followed", p.stdout)
    for text in ("garbage {{{", 'format = 1; entries = ( { key = "%s"; order = 77; } );' % key_of("a.conf")):
        write("cache/mdsim/tune.conf", text)
        p = run("explain", "a.conf", env=home("cache"))
        check(p.returncode == 0 and "tuned earlier" not in p.stdout and "tune.conf" in p.stderr, "damage is noted and not followed: %.20s" % text, p.stdout + p.stderr)
    write("file", "")  # a file where the directory should be: nothing can be written below
    water("d.conf", threads=1)
    log = go("d.conf", cache="file")
    check("could not be kept" in log or "too busy" in log, "without a writable directory the run goes on, and says so", log[:3000])
    water("e.conf", threads=1)
    log = go("e.conf", env={"XDG_CACHE_HOME": "", "HOME": ""})
    check("tuning" in log, "without any directory too", log[:3000])


def case_resume():
    water("a.conf", threads=1)
    entry("a.conf", order=6)
    go("a.conf")
    entry("a.conf", order=4)
    log = go("a.conf", until=40)
    check(re.search(r"choices of the checkpoint.*order 6", log), "a resume keeps order 6", log[-3000:])
    water("b.conf", threads=1)
    go("b.conf", "--set", "pme.order=6", "--set", "backend.tune=fixed", until=40)
    same("a", "b", "and has the bits of one undisturbed run")
    water("c.conf", threads=1)
    go("c.conf", "--set", "pme.order=4", "--set", "backend.tune=fixed")
    differ("b", "c", "while another order has others: the comparison can fail")
    log = go("a.conf", "--set", "run.list_interval=7", until=60)
    check("run.list_interval is not used" in log, "a key that would change bits is said not to be used", log[-2000:])
    # the instruction set is in the checkpoint by its name
    data = open("a.chk", "rb").read(2000)
    check(any(level in data for level in (b"avx512\0", b"avx2\0", b"generic\0")), "the instruction set in use is recorded, not \"auto\"", data[:400])


def case_keys():
    water("a.conf", more="order = 5;", threads=1, isa="generic")
    log = go("a.conf", "--set", "run.list_interval=10")
    check("tuning, " not in log and "order 5" in log, "nothing that is given is timed", log[:3000])
    water("b.conf", tune="fixed", threads=1)
    shutil.rmtree("cache", ignore_errors=True)
    go("b.conf")
    check(not os.path.exists("cache"), "fixed: no cache is made", os.listdir("."))
    water("twin.conf", threads=1)
    entry("twin.conf", order=6)
    check("tuned earlier" in run("explain", "twin.conf", env=home("cache")).stdout, "there is an entry for it", "")
    water("c.conf", tune="fixed", threads=1)
    log = go("c.conf")
    check("tun" not in log.split("settings:")[0], "fixed: no cache is read", log[:2000])
    same("b", "c", "fixed: the same bits twice")
    water("d.conf", steps=100, threads=1)
    entry("d.conf", order=6)
    log = go("d.conf", until=1000)
    check("not for runs of fewer" in log and "tuned earlier" not in log, "short runs neither measure nor look", log[:2000])


def case_explain():
    water("a.conf", threads=1)
    p = run("explain", "a.conf", env=home("cache"))
    check(p.returncode == 0 and "would first time" in p.stdout and not os.path.exists("cache"), "says what a run would do, and measures and writes nothing", p.stdout)
    entry("a.conf", order=6)
    p = run("explain", "a.conf", env=home("cache"))
    check("tuned earlier" in p.stdout and "order 6" in p.stdout and "pme.order = 6" in p.stdout, "says what was found, and how to have it elsewhere", p.stdout)
    p = run("explain", "a.conf", "--set", "backend.tune=fixed", env=home("cache"))
    check("tuned earlier" not in p.stdout and "would first time" not in p.stdout, "fixed: nothing of it", p.stdout)


main({k[5:]: f for k, f in globals().items() if k.startswith("case_")})
