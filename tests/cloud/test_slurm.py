#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The emitted batch script on a real Slurm, a throw-away one of this machine.

usage: test_slurm.py run
  - requeued in the middle it resumes by itself and ends with the bits of an undisturbed run
  - near its time limit it makes a checkpoint and goes back into the queue
  - an array is independent runs with seeds and names of their own
  - a guard ends a job for good
"""
import os, re, shutil, subprocess, sys, tempfile, time
from launch import argon, check, edit, emit, main, mdsim, series, source, state

script = os.path.join(source, "tests", "cloud", "slurm.sh")
place = tempfile.mkdtemp(prefix="mds_sl_")


def slurm(*words):
    return subprocess.run(words, capture_output=True, text=True)


def submit(folder, *words):
    name = [f for f in os.listdir(folder) if f.endswith(".sbatch")][0]
    p = subprocess.run(["sbatch", "--parsable"] + list(words) + [name], cwd=folder, capture_output=True, text=True)
    check(p.returncode == 0, "Slurm takes the script (%s)" % " ".join(words), p.stdout + p.stderr)
    return p.stdout.strip()


def facts(job):
    """State, exit code and restarts of a job."""
    text = slurm("scontrol", "show", "job", job).stdout
    return {k: v for k, v in re.findall(r"(JobState|ExitCode|Restarts)=(\S+)", text)}


def wait_for(job, states, seconds=120):
    end = time.time() + seconds
    while time.time() < end:
        now = facts(job)
        if now.get("JobState") in states:
            return now
        time.sleep(0.3)
    return facts(job)


def wait_until(test, seconds=60):
    end = time.time() + seconds
    while not test() and time.time() < end:
        time.sleep(0.1)
    return test()


def output(folder):
    return "".join(open(os.path.join(folder, f)).read() for f in sorted(os.listdir(folder)) if f.endswith(".out"))


def prepared(folder, steps, *words, **settings):
    os.makedirs(folder)
    argon(os.path.join(folder, "a.conf"), steps)
    emit("slurm", os.path.join(folder, "job"), *words, conf=os.path.join(folder, "a.conf"), mdsim=mdsim)
    # the machine that was picked is larger than this one
    edit(os.path.join(folder, "job", "job.env"), backend__threads=1, **settings)
    return os.path.join(folder, "job")


SMALL = ["--cpus-per-task=1", "--time=20"]


def requeue():
    steps = 40000
    job_folder = prepared("cut", steps)
    job = submit(job_folder, *SMALL)
    check(wait_until(lambda: os.path.exists("cut/g.csv") and len(series("cut/g.csv")["step"]) > 20), "it runs", (facts(job), output(job_folder)))
    check(slurm("scontrol", "requeue", job).returncode == 0, "scontrol requeue")
    wait_for(job, ["PENDING", "COMPLETED"], 30)
    middle = len(series("cut/g.csv")["step"])
    end = wait_for(job, ["COMPLETED", "FAILED", "TIMEOUT"])
    said = output(job_folder)
    check(end["JobState"] == "COMPLETED" and end["Restarts"] == "1", "it was started twice and completed", (end, said))
    check("start 2 of job" in said and said.count("ended with exit code 75") == 2, "the first start ended with 75, the second resumed by itself", said)
    check(middle < steps / 10, "it was cut in the middle (at row %d of %d)" % (middle, steps / 10 + 1), said)
    argon("whole.conf", steps)
    os.makedirs("whole")
    os.rename("whole.conf", "whole/a.conf")
    p = subprocess.run([mdsim, "run", "whole/a.conf", "--quiet", "--set", "backend.threads=1"], capture_output=True, text=True)
    check(p.returncode == 0, "an undisturbed run", p.stderr)
    check(state("whole/g.chk") == state("cut/g.chk"), "x and v of both have the same bits")
    check(open("whole/g.csv").read() == open("cut/g.csv").read(), "run.csv is the same text")


def limit():
    job_folder = prepared("limit", 100000000)
    job = submit(job_folder, "--cpus-per-task=1", "--time=2", "--signal=B:USR1@90")  # Slurm signals up to a minute early
    check(wait_until(lambda: "requeued" in output(job_folder) or facts(job).get("Restarts") == "1", 150), "signalled before its time limit", (facts(job), output(job_folder)))
    said = output(job_folder)
    check("mdsim ended with exit code 75" in said and "TIME LIMIT" not in said, "mdsim made its checkpoint before the limit", said)
    check(wait_until(lambda: "start 2 of job" in output(job_folder), 60), "and the job went back into the queue", (facts(job), output(job_folder)))
    slurm("scancel", job)
    wait_for(job, ["CANCELLED", "COMPLETED", "FAILED"], 40)


def array():
    job_folder = prepared("array", 300, "--replicas", "3")
    job = submit(job_folder, *SMALL)
    wait_until(lambda: not slurm("squeue", "-h", "-j", job).stdout.strip(), 120)
    said = output(job_folder)
    check(all(os.path.exists("array/g-%d.gro" % k) for k in (1, 2, 3)), "an array of three: three runs, each with names of its own", (os.listdir("array"), said))
    last = {tuple(state("array/g-%d.chk" % k)[:30]) for k in (1, 2, 3)}
    check(len(last) == 3, "and each its own trajectory")


def guard():
    job_folder = prepared("guard", 100000000, cost__price_per_hour=3600, cost__max_cost=2)
    job = submit(job_folder, *SMALL)
    end = wait_for(job, ["COMPLETED", "FAILED", "TIMEOUT"])
    check(end["JobState"] == "FAILED" and end["ExitCode"] == "79:0" and end["Restarts"] == "0", "a guard's 79 is final: not requeued", (end, output(job_folder)))
    check("cost.max_cost" in open("guard/g.stop.json").read(), "and named")


def cases():
    up = subprocess.run(["bash", script, "up", place], capture_output=True, text=True)
    if up.returncode:
        print(up.stdout + up.stderr)
        shutil.rmtree(place)
        sys.exit(up.returncode)
    os.environ["SLURM_CONF"] = place + "/slurm.conf"
    try:
        for case in (requeue, limit, array, guard):
            print("-- " + case.__name__, flush=True)
            case()
    finally:
        slurm("scancel", "--user=root")
        subprocess.run(["bash", script, "down", place])
        shutil.rmtree(place, ignore_errors=True)


main({"run": cases})
