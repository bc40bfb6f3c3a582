#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cloud/templates/job.sh: a run whose machine goes goes on from the bucket on an empty disk, to the same bits.

rclone's local backend stands for the bucket; a small rclone of the test stands before it where one has to fail.
usage: test_bucket.py CASE
  moves    SIGTERM, then kill -9 after a save, each time on to an empty disk: bits, rows and frames of an undisturbed run
  broken   saves that fail in the middle, damaged and unreadable buckets, results that cannot be saved
  several  runs side by side and one after another; exit codes of a job
"""
import glob, os, shutil, signal, subprocess, sys, time
from launch import argon, check, edit, emit, main, mdsim, series, state, write

STEPS = 30000
if not shutil.which("rclone"):
    print("skipped: rclone is not installed")
    sys.exit(77)


def here(*names):
    return os.path.abspath(os.path.join(*names))


def prepared(job="job", bucket="bucket", steps=STEPS, *words, **profile):
    os.makedirs(bucket + "/input", exist_ok=True)
    argon(bucket + "/input/a.conf", steps)
    emit("skypilot", job, *words, conf=bucket + "/input/a.conf", image="example/mdsim:cpu", bucket=here(bucket), mdsim=mdsim, part_gb=0.001, **profile)
    edit(job + "/job.env", backend__threads=1)
    with open(job + "/job.env", "a") as f:
        f.write("watch=none\n")


def disk(name, job="job"):
    """A machine with an empty disk: nothing but the job's own files."""
    shutil.copytree(job, name, ignore=shutil.ignore_patterns("input", "*.pid", "mark"))
    return name


def start(where, **env):
    return subprocess.Popen(["bash", "job.sh"], cwd=where, env=dict(os.environ, **env), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)


def finish(p, seconds=200):
    said = p.communicate(timeout=seconds)[0]
    return p.returncode, said


def wait_for(test, seconds=180):
    end = time.time() + seconds
    while not test() and time.time() < end:
        time.sleep(0.05)
    return test()


def rows(where):
    try:
        return len(open(where + "/input/g.csv").read().split("\n")) - 2
    except OSError:
        return 0


def frames(paths):
    import h5py
    steps = []
    for path in sorted(paths, key=os.path.basename):
        with h5py.File(path, "r") as f:
            steps += list(f["particles/trajectory/position/step"][:])
    return steps


def moves():
    prepared(save_minutes=0.02)
    p = start(disk("one"))
    check(wait_for(lambda: rows("one") > STEPS / 20), "the first machine runs", rows("one"))
    p.send_signal(signal.SIGTERM)
    code, said = finish(p)
    check(code == 75 and "exit code 75" in said, "SIGTERM: checkpoint, save, 75", (code, said))
    manifest = open("bucket/g.manifest").read()
    check("  parts/g.part0001.h5md" in manifest and "/g.chk" in manifest, "the manifest names finished parts and the checkpoint", manifest)
    check(subprocess.run(["sha256sum", "--quiet", "-c", "g.manifest"], cwd="bucket").returncode == 0, "with their right sums")
    shutil.rmtree("one")

    p = start(disk("two"))
    saved = os.stat("bucket/g.manifest").st_mtime_ns
    first = rows("two")
    check(wait_for(lambda: rows("two") > first + 100 and os.stat("bucket/g.manifest").st_mtime_ns > saved), "the second machine goes on, and saves by the clock")
    at = rows("two")
    os.killpg(p.pid, signal.SIGKILL)
    code, said = finish(p)
    check("fetched g from" in said, "it began with what the bucket had", said)
    shutil.rmtree("two")

    code, said = finish(start(disk("three")))
    check(code == 0 and "fetched g from" in said, "the third ends the run", (code, said))
    os.makedirs("whole")
    argon("whole/a.conf", STEPS)
    whole = subprocess.run([mdsim, "run", "whole/a.conf", "--quiet", "--set", "backend.threads=1"], capture_output=True, text=True)
    check(whole.returncode == 0, "an undisturbed run", whole.stderr)
    check(state("whole/g.chk") == state("three/input/g.chk"), "x and v of both have the same bits")
    check(open("whole/g.csv").read() == open("three/input/g.csv").read(), "and run.csv is the same text")
    last = glob.glob("bucket/g/*/g.part*.h5md")
    check(len(glob.glob("bucket/g/*/g.chk")) == 1 and len(last) == 1 and len(glob.glob("bucket/parts/*")) > 2, "the bucket has finished parts and one generation", glob.glob("bucket/*/*"))
    try:
        got = frames(glob.glob("bucket/parts/*.h5md") + last) if os.path.basename(last[0]) not in os.listdir("bucket/parts") else []
        check(got == list(range(0, STEPS + 1, 100)), "every frame is in the bucket once, in order", (got[:5], len(got), at))
    except ImportError:
        print("notice: h5py is not installed, frames not counted")
    code, said = finish(start(disk("four")))
    check(code == 0 and "complete" in said, "once more: it is complete, and says so", (code, said))


def fake_rclone(fail):
    """An rclone that fails where `fail` (shell, on "$*") says so."""
    os.makedirs("bin", exist_ok=True)
    write("bin/rclone", '#!/bin/bash\nif %s; then echo "rclone: no" >&2; exit 5; fi\nexec %s "$@"\n' % (fail, shutil.which("rclone")))
    os.chmod("bin/rclone", 0o755)
    return {"PATH": here("bin") + ":" + os.environ["PATH"]}


def broken():
    prepared(save_minutes=10)
    p = start(disk("one"))
    wait_for(lambda: rows("one") > STEPS / 60)
    p.send_signal(signal.SIGUSR1)
    check(finish(p)[0] == 75, "a first save")
    good = open("bucket/g.manifest").read()
    # the second save ends before its manifest
    p = start("one", **fake_rclone('[[ "$*" == *copyto*manifest* ]]'))
    wait_for(lambda: rows("one") > STEPS / 30)
    p.send_signal(signal.SIGUSR1)
    code, said = finish(p)
    check(code == 75 and "could not be saved" in said and open("bucket/g.manifest").read() == good, "a save that ends before its manifest leaves the old one", (code, said))
    check(subprocess.run(["sha256sum", "--quiet", "-c", "g.manifest"], cwd="bucket").returncode == 0, "and all that it names, whole")
    p = start(disk("two"))
    wait_for(lambda: rows("two") > 0)
    p.send_signal(signal.SIGTERM)
    code, said = finish(p)
    check(code == 75 and "fetched g" in said, "so an empty disk goes on from there", (code, said))
    # nothing may be started from nothing
    chk = glob.glob("bucket/g/*/g.chk")[0]
    data = bytearray(open(chk, "rb").read())
    data[100] ^= 1
    open(chk, "wb").write(data)
    code, said = finish(start(disk("three")))
    check(code == 76 and not os.path.exists("three/input/g.csv"), "a damaged checkpoint in the bucket: 76, and no new start", (code, said))
    os.remove(chk)
    code, said = finish(start(disk("four")))
    check(code in (74, 76) and not os.path.exists("four/input/g.csv"), "one that is gone: no new start either", (code, said))
    code, said = finish(start(disk("five"), **fake_rclone('[ "$1" = lsf ]')))
    check(code == 74 and not os.path.exists("five/input/g.csv"), "a bucket that cannot be listed: 74, and no new start", (code, said))
    # a finished run whose results are only on a disk that goes is no success
    prepared("short", "other", steps=100)
    code, said = finish(start(disk("six", "short"), **fake_rclone('[[ "$*" == *copyto*manifest* ]]')))
    check(code == 74, "a completed run that cannot be saved: 74", (code, said))
    # a notice by file
    prepared("told", "third", steps=100 * STEPS)  # only the notice ends it
    with open("told/job.env", "a") as f:
        f.write("notice=going\n")
    p = start(disk("seven", "told"))
    wait_for(lambda: rows("seven") > 10)
    open("seven/going", "w").close()
    code, said = finish(p)
    check(code == 75 and "SIGUSR1" in said, "a notice in a file: checkpoint, save, 75", (code, said))


def several():
    # a stand-in for mdsim that shows what it was started with
    stand_in = write("standin", '#!/bin/bash\necho "$$ $(taskset -cp $$ | sed "s/.*: //") [${CUDA_VISIBLE_DEVICES-}] $*" >>"$LIST"\ntouch "$LIST.now.$$"\nls "$LIST".now.* | wc -l >>"$LIST.count"\n'
                     'trap "exit 75" USR1\nfor k in $(seq 10); do sleep 0.1; done\nrm "$LIST.now.$$"\neval "$CODE"\n')
    os.chmod(stand_in, 0o755)
    prepared("job", "bucket", 100, "--replicas", "5")
    with open("job/job.env", "a") as f:
        f.write("mdsim=%s\nruns=2\nthreads=1\ngpus=2\nruns_per_gpu=1\nbucket=\n" % here("standin"))
    code, said = finish(start(disk("one"), LIST=here("list"), CODE="exit 0"))
    lines = open("list").read().strip().split("\n")
    counts = [int(x) for x in open("list.count").read().split()]
    check(code == 0 and len(lines) == 5 and max(counts) == 2, "five runs, two at a time", (code, said, lines, counts))
    places = [line.split()[1] for line in lines]
    check(sorted(places[:2]) == ["0", "1"] if (os.cpu_count() or 1) > 1 else True, "each on its own cores", lines)
    check(sorted(line.split()[2] for line in lines[:2]) == ["[0]", "[1]"], "and its own GPU", lines)
    check(len({line.split("run.seed=")[1] for line in lines}) == 5 and len({line.split("output.name=")[1].split()[0] for line in lines}) == 5, "with seeds and names of their own", lines)
    for codes, want in ((["0", "79"], 79), (["75", "79"], 75), (["79", "75"], 75), (["65", "75"], 65), (["75", "77"], 77), (["0", "0"], 0)):
        work = disk("codes-%s" % "-".join(codes))
        with open(work + "/job.env", "a") as f:
            f.write("replicas=2\n")
        code, said = finish(start(work, LIST=here("list-%s" % "-".join(codes)), CODE='case "$*" in *g-1*) exit %s;; *) exit %s;; esac' % tuple(codes)))
        check(code == want, "runs that end with %s: the job ends with %d" % (codes, want), (code, said))
    # where a launcher would start again what a guard has stopped, such a job is done; but not if its state could not be saved
    for failing, want in ((False, 0), (True, 79)):
        work = disk("guard-%d" % failing)
        os.makedirs(work + "/input", exist_ok=True)
        write(work + "/input/g.chk", "")
        with open(work + "/job.env", "a") as f:
            f.write("replicas=1\nguard_code=0\nbucket=%s\n" % here("bucket"))
        env = fake_rclone('[[ "$*" == *copyto*manifest* ]]') if failing else {}
        code, said = finish(start(work, LIST=here("list-guard"), CODE="exit 79", **env))
        check(code == want, "guard_code=0, the save %s: the job ends with %d" % ("fails" if failing else "works", want), (code, said))
    p = start(disk("stop"), LIST=here("stop-list"), CODE="exit 0")
    wait_for(lambda: os.path.exists("stop-list") and len(open("stop-list").read().split("\n")) == 3)
    time.sleep(0.2)
    p.send_signal(signal.SIGTERM)
    code, said = finish(p)
    check(code == 75 and len(open("stop-list").read().strip().split("\n")) == 2, "a signal stops those that run and starts no other: 75", (code, said))
    p = subprocess.run(["bash", "job.sh"], cwd=disk("bad"), env=dict(os.environ, MDSIM_REPLICA="1;touch x"), capture_output=True, text=True)
    check(p.returncode == 64 and not os.path.exists("bad/x"), "MDSIM_REPLICA is a number", p.stderr)


main({"moves": moves, "broken": broken, "several": several})
