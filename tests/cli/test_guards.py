#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Guards of cost, time and speed keep their counts over launches: a requeue does not reset them.

usage: test_guards.py CASE
  cost    cost.max_cost over stopped and killed launches and over a change of price; what log and NAME.stop.json say
  speed   cost.stop_if_below over launches that are each too short to be judged; only a measured prediction stops a run
"""
import json, os, resource, signal, subprocess, time
from program import check, conf, expect, main, mdsim


def argon(**cost):
    conf("a.conf", system={"generate": "argon", "atoms": 1000}, run={"steps": 100000000, "dt": 0.002}, output={"name": "g", "checkpoint_every": 1000},
         nonbonded={"cutoff": 0.9}, backend={"threads": 1}, cost=cost)


def written_since(name, when):
    try:  # between two renames of a new checkpoint there is none of that name
        return os.path.getmtime(name) >= when
    except FileNotFoundError:
        return False


def launch(seconds, how, *words):
    """A launch that is sent a signal `seconds` after its log has appeared; exit code and seconds."""
    began = time.time()
    p = subprocess.Popen([mdsim, "a.conf", "--quiet"] + list(words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while p.poll() is None and not written_since("g.chk", began) and time.time() < began + 60:
        time.sleep(0.01)
    try:
        p.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        p.send_signal(how)
    said = p.communicate(timeout=60)[1]
    return p.returncode, time.time() - began, said


def idle(action):
    """Result of an action and the seconds that its processes (one thread) were kept from running: load, or a stopped machine."""
    def cpu():
        r = resource.getrusage(resource.RUSAGE_CHILDREN)
        return r.ru_utime + r.ru_stime
    began, before = time.time(), cpu()
    result = action()
    return result, max(0.0, time.time() - began - (cpu() - before))


def cost_lines():
    return [line for line in open("g.log").read().split("\n") if line.startswith("cost: ")]


def cost():
    argon(price_per_hour=3600.0, max_cost=5.0)  # a dollar a second
    (code, first, said), kept_waiting = idle(lambda: launch(1.2, signal.SIGTERM))
    check(code == 75 or first > 4, "a launch at a dollar a second, ended by SIGTERM before five", (code, said))
    line = cost_lines()[-1]
    check(all(w in line for w in ("USD spent", "by this launch", "USD/ns", "USD projected for all 100000000 steps", "not counted", "boot", "storage", "egress")),
          "the log says what was spent, per ns, in all, and what is not counted", line)
    spent = float(line.split()[1])
    # it can be no more than the process took; of that, loading and closing are not paid, both far below a second here
    check(first - 1 - kept_waiting < spent < first, "it has spent what it took: %.2f USD in %.2f s" % (spent, first), line)

    code, _, said = launch(0.9, signal.SIGKILL)
    check(code in (-signal.SIGKILL, 79), "the same command again, killed", (code, said))
    before = float(cost_lines()[-1].split()[1])
    _, kept_waiting = idle(lambda: expect(79, "cost.max_cost", "a.conf", timeout=120))
    stop = json.load(open("g.stop.json"))
    check(stop["guard"] == "cost.max_cost" and stop["unit"] == "USD" and stop["limit"] == 5, "NAME.stop.json names guard and limit", stop)
    # the guard looks between batches of steps, milliseconds apart, and leaves room for the last checkpoint
    check(4.5 < stop["value"] <= max(5.1, before + 1) + kept_waiting, "launched again it stops when all launches together have spent five: at %.3f USD" % stop["value"], (stop, kept_waiting))
    check("cost.max_cost" in open("g.log").read().strip().split("\n")[-1], "the last line of the log names it")

    expect(79, "cost.max_cost", "a.conf", timeout=60)
    again = json.load(open("g.stop.json"))
    check(again["step"] <= stop["step"] and again["spent_usd"] >= stop["spent_usd"], "once more: it stops before a step is made", (stop, again))

    argon(price_per_hour=3.6, max_cost=4.5)
    expect(79, "cost.max_cost", "a.conf", timeout=60)  # money spent at the old price stays spent
    argon(price_per_hour=3.6, max_cost=1e6)
    code, _, said = launch(1.0, signal.SIGUSR1)
    now = float(cost_lines()[-1].split()[1])
    # some seconds at a tenth of a cent each; the log has four digits
    check(code == 75 and 0.999 * again["value"] <= now < again["value"] + 1, "a higher limit and a lower price: on it goes, %.3f USD" % now, (code, said, again, cost_lines()[-4:]))
    steps = []
    for k in range(6):  # a launch that is kept from running for all of its time makes no step: give it twice as long
        hours = 0.0005 * 2 ** k
        expect(79, "run.max_wall", "a.conf", "--set", "run.max_wall=%g" % hours, timeout=250)
        stop = json.load(open("g.stop.json"))
        check(stop["unit"] == "h" and stop["limit"] == hours <= stop["value"], "run.max_wall is of this launch alone, in hours", stop)
        steps.append(stop["step"])
        if steps[-1] > steps[0]:
            break
    check(steps[-1] > steps[0], "each launch has its own: on it goes", steps)


def speed():
    argon(stop_if_below=0.9, predicted_ns_per_day=1e7)
    for k in range(2):  # 30 s of stepping are judged; each launch is shorter
        code, took, said = launch(13, signal.SIGTERM)
        check(code == 75 or took > 29, "launch %d is too short to be judged" % (k + 1), (code, took, said))
    for basis in ("modelled", "scaled"):
        code, took, said = launch(6, signal.SIGTERM, "--set", 'cost.predicted_basis="%s"' % basis)
        check(code == 75 and "not a measured one" in said, "a %s prediction stops nothing, and it says so" % basis, (code, took, said))
    began = time.time()
    _, kept_waiting = idle(lambda: expect(79, "cost.stop_if_below", "a.conf", timeout=120))
    took = time.time() - began - kept_waiting
    stop = json.load(open("g.stop.json"))
    check( stop["unit"] == "ns/day" and stop["value"] < stop["limit"] == 9e6 and took < 10,
          "the launch that makes it 30 s in all is stopped at once: after %.1f s" % took, (kept_waiting, stop))
    code, took, said = launch(3, signal.SIGTERM)
    check(code == 75, "launched by hand after that, it gets a new trial", (code, took, said))


main({"cost": cost, "speed": speed})
