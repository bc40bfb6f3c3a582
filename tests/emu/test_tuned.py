#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The start-up tuner's one question to a GPU, with a GPU whose times the test chooses (fake_gpu.cpp): what it takes, where that is kept, and when it
does not ask.

usage: test_tuned.py    (MDSIM_FAKE: the program with that GPU)"""
import os, re, signal, subprocess, sys, tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from waiting import rows, wait_for_rows

program = os.environ["MDSIM_FAKE"]
failures = 0
# the smallest box: opening three emulated devices must leave most of the tuner's 3 s
os.chdir(tempfile.mkdtemp(prefix="mds_tuned_"))


def ask(name, **more):
    """go, again where others kept the machine so busy that the tuner's 3 s were over: real time is in its rules, and not what is tested."""
    kept = more.get("cache", "cache") + "/mdsim/tune.conf"
    before = open(kept).read() if os.path.exists(kept) else None
    for _ in range(12):
        log, calls = go(name, **more)
        if ("too busy" in log) == bool(more.get("noise")) and "no time for all" not in log and ("cannot be told apart" in log) == bool(more.get("mesh_noise")):
            break
        if before is not None:
            open(kept, "w").write(before)
        elif os.path.exists(kept):
            os.remove(kept)
        for file in os.listdir("."):
            if file.startswith(name + ".") and file != name + ".conf":
                os.remove(file)
    else:
        print("skipped: the machine is too busy to open devices and time them within the tuner's 3 s")
        sys.exit(1 if failures else 77)
    return log, calls


def check(ok, what, more=""):
    global failures
    failures += not ok
    print(("ok      " if ok else "FAILED  ") + what + ("" if ok else "\n%s" % (more,)), flush=True)


def conf(name, steps=1000000000, **backend):
    with open(name + ".conf", "w") as f:
        f.write('system = { generate = "water"; atoms = 99L; velocities = "draw"; };\nrun = { steps = %dL; list_interval = 10L; };\nnonbonded = { cutoff = 0.4; };\n'
                'pme = { order = 7; grid = [12, 12, 12]; };\noutput = { name = "%s"; trajectory_every = 0; energy_every = 1; };\nbackend = { kind = "cuda"; threads = 1; %s };\n'
                % (steps, name, " ".join('%s = "%s";' % item for item in backend.items())))


def lines(name):
    return open(name + ".csv").read().split("\n")[:-1]


def go(name, until=3, cache="cache", gpu="Model A", times="octet=3 lane=2 tile=1", noise="", mesh_noise=""):
    """Runs until there are that many rows; (log, what was timed: "kernel-way")"""
    if os.path.exists("calls"):
        os.remove("calls")
    env = dict(os.environ, XDG_CACHE_HOME=os.path.join(os.getcwd(), cache), FAKE_GPU=gpu, FAKE_TIMES=times, FAKE_NOISE=noise, FAKE_CALLS="calls")
    if mesh_noise:
        env["FAKE_MESH_NOISE"] = mesh_noise
    p = subprocess.Popen([program, name + ".conf", "--quiet"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)
    wait_for_rows(p, name + ".csv", until)
    if p.poll() is None:
        p.send_signal(signal.SIGTERM)
    said = p.communicate(timeout=100)[1]
    if p.returncode not in (0, 75):
        print("FAILED  %s ended with %d: %s" % (name, p.returncode, said))
        sys.exit(1)
    return open(name + ".log").read() + said, open("calls").read().split() if os.path.exists("calls") else []


WAYS = ["%s-%s" % (k, w) for k in ("octet", "lane", "tile") for w in ("cufft", "block", "gemm")]


def kernel(name):
    """In use, by the last checkpoint, with the way to transform the mesh if it was chosen."""
    data = open(name + ".chk", "rb").read(4000)
    return [k for k in ["octet", "lane", "tile"] + WAYS if k.encode() + b"\0" in data]


def kernels(calls):
    return {c.split("-")[0] for c in calls}


conf("a")
log, calls = ask("a")
check(kernels(calls) == {"octet", "lane", "tile"} and min(calls.count(k + "-block") for k in kernels(calls)) >= 5, "a long run times all three kernels, five rounds or more", calls)
check(min(calls.count("tile-" + way) for way in ("cufft", "block", "gemm")) >= 5, "and then, with the one that was taken, all three ways to transform the mesh", calls)
check(re.search(r"tuning, pair kernel: lane 2.000 ms, octet 3.000 ms, tile 1.000 ms \(taken\)|tuning, pair kernel:.*tile 1.000 ms \(taken\)", log),
      "the log has their times and what was taken", log[:3000])
check('these bits again elsewhere: backend.tune = "fixed", backend.isa = "tile"' in log, "and how to have these bits elsewhere", log[:3000])
check(kernel("a") == ["tile"], "the checkpoint has the kernel", kernel("a"))
kept = open("cache/mdsim/tune.conf").read()
check("Model A" in kept and 'isa = "tile"' in kept, "the answer is kept by the GPU's model", kept)

conf("b")
log, calls = go("b")
check(not calls and "tuned earlier" in log and kernel("b") == ["tile"], "the next run on this model takes it without timing", (calls, log[:2000]))
conf("c")
log, calls = ask("c", gpu="Model B", times="octet=1 lane=2 tile=3")
check("octet" in kernels(calls) and kernel("c") == ["octet"], "another model is asked anew", (calls, kernel("c")))
log, calls = go("a", until=rows("a.csv") + 3, times="octet=1 lane=2 tile=3", cache="empty")
check(not calls and kernel("a") == ["tile"], "a resume keeps what its checkpoint has, whatever the times and the cache", (calls, kernel("a")))

conf("d")
log, calls = ask("d", cache="d", times="octet=1.96 lane=2 tile=2.5")
check(calls and kernel("d") == ["lane"] and "the defaults are kept" in log, "what is 2 % faster does not win: margin", (kernel("d"), log[:2000]))
conf("e")
log, calls = ask("e", cache="e", noise="0.6")
check(calls and "too busy" in log and kernel("e") == ["lane"] and not os.path.exists("e/mdsim/tune.conf"), "where times scatter nothing is chosen or kept", log[:2000])

# the ways to transform the mesh: a winner, its way into log, cache and checkpoint; and where none can be told
fast = {"block": "block=1 cufft=2 gemm=3", "cufft": "block=2 cufft=1 gemm=3", "gemm": "block=2 cufft=3 gemm=1"}
for way, times in fast.items():
    conf("m_" + way)
    log, calls = ask("m_" + way, cache="m_" + way, times="octet=3 lane=1 tile=2 " + times)
    held = ["lane"] if way == "block" else ["lane-" + way]
    check(re.search(r"tuning, mesh transform: block \d.000 ms( \(taken\))?, cufft \d.000 ms( \(taken\))?, gemm", log) and way + " 1.000 ms (taken)" in log,
          way + " is the fastest: the log has the times of all three and what was taken", log[:3000])
    check(kernel("m_" + way) == held, "the checkpoint has %s" % held[0], kernel("m_" + way))
    check('isa = "%s"' % (held[0] if way != "block" else "") in open("m_%s/mdsim/tune.conf" % way).read(), "and the cache")
    other = fast["gemm" if way != "gemm" else "cufft"]
    log, calls = go("m_" + way, until=rows("m_" + way + ".csv") + 3, cache="empty", times="octet=1 lane=2 tile=3 " + other)
    check(not calls and kernel("m_" + way) == held, "a resume keeps it whatever the times", (calls, kernel("m_" + way)))
conf("m_again", isa="lane-gemm")
log, calls = go("m_again", cache="m_again")
check(not calls and kernel("m_again") == ["lane-gemm"], "the log's words give it without timing", (calls, kernel("m_again")))
same = lines("m_gemm")[:4] == lines("m_again")[:4]
check(same and lines("m_block")[:4] != lines("m_again")[:4], "and the same numbers to the last digit, which another way does not")
conf("n")
log, calls = ask("n", cache="n", mesh_noise="1", times="octet=3 lane=2 tile=1 " + fast["gemm"])
check(kernel("n") == ["tile"] and "mesh transform: the times cannot be told apart; block is kept" in log, "where the mesh's times scatter its default is kept, and the kernel that was found",
      log[:3000])

for name, more, what in (("f", {"tune": "fixed"}, 'tune = "fixed"'), ("g", {"isa": "octet"}, "a kernel that is given")):
    conf(name, **more)
    log, calls = go(name, cache=name)
    check(not calls and kernel(name) == [more.get("isa", "lane")] and (name == "g" or not os.path.exists(name)), what + " is never timed", (calls, kernel(name)))
conf("h", steps=3)
log, calls = go("h", cache="h", until=1000)
check(not calls and "not for runs of fewer" in log, "nor a short run", (calls, log[:2000]))
sys.exit(1 if failures else 0)
