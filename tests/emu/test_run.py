#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whole runs on the emulated GPU backend.

usage: test_run.py CASE
  follow     50 steps of 3,000 atoms of water stay with the cpu backend within the growth of rounding, and of 648 with multiple time steps
  schedules  any order of threads and blocks, streams that run late, guarded memory: the same bits, with every coupling
  restart    a run that was stopped and made longer has the bits of one long run
  handover   cpu to GPU and back to cpu: within rounding of cpu alone
  replay     recorded steps and steps one by one: the same bits, also where the list trips again and again
  launches   a plain step is as few launches as docs/gpu.md says
  frames     a trajectory written beside the run has the frames of its steps, on late streams and on a slow disk, whose waits are logged; a
             file that cannot grow ends the run with the right status, and the same command finishes it
  ranges     a profiler sees the stages under their names, in the order of a step, every range closed
  double     backend.precision = "double": stays with ref far closer than mixed precision does; schedules, restarts, recorded steps keep the bits
  power      power, energy and clock of the board as the driver's library tells them: in the log, in a benchmark, in `info`; nothing without it
  unordered  backend.deterministic = "no": forces are right in any order of threads, and differ by rounding; "yes" keeps its bits
"""
import csv, json, math, os, re, struct, subprocess, sys, tempfile

mdsim, emu = os.environ["MDSIM"], os.environ["MDSIM_EMU"]
failures = 0


def check(ok, what):
    global failures
    if not ok:
        failures += 1
    print(("ok      " if ok else "FAILED  ") + what, flush=True)


def write_conf(place, atoms, steps, **more):
    keys = {"system.generate": '"water"', "system.atoms": atoms, "run.steps": steps, "run.dt": 0.002, "output.energy_every": 10,
            "output.trajectory_every": 0, "nonbonded.cutoff": 0.6 if atoms < 1000 else 0.9, "backend.threads": 1}
    keys.update({k.replace("__", "."): v for k, v in more.items()})
    groups = {}
    for key, value in keys.items():
        group, name = key.split(".")
        groups.setdefault(group, []).append("%s = %s;" % (name, str(value)))
    path = os.path.join(place, "in.conf")
    with open(path, "w") as f:
        for group, lines in groups.items():
            f.write("%s = { %s };\n" % (group, " ".join(lines)))
    return path


def run(backend, path, *more, **environment):
    program = emu if backend == "emu" else mdsim
    p = subprocess.run([program, path, "--quiet", "--set", "backend.kind=" + backend] + list(more), capture_output=True, text=True,
                       env=dict(os.environ, **environment))
    if p.returncode:
        check(False, "%s ended with %d: %s" % (backend, p.returncode, (p.stdout + p.stderr)[-1500:]))
        sys.exit(1)


def state(place):
    """x and v of the final checkpoint: the last 2 * 24 N bytes before the checksum of 32."""
    data = open(place + "/run.chk", "rb").read()
    n, step = struct.unpack("<i12xq", data[24:48])
    if step == 0:
        sys.exit("FAILED  the checkpoint in %s is of the start: what is kept is the state of the last search" % place)
    return data[-32 - 48 * n:-32]


def numbers(place):
    return struct.unpack("<%dd" % (len(state(place)) // 8), state(place))


def rms(a, b):
    return math.sqrt(sum((x - y) ** 2 for x, y in zip(a, b)) / len(a))


def rows(place):
    with open(place + "/run.csv") as f:
        return [[float(v) for v in row] for row in list(csv.reader(line for line in f if not line.startswith("#")))[1:]]


def compare(a, b, label, x_limit, v_limit):
    """rms of the differences of positions (nm) and velocities (nm/ps) of two final states."""
    p, q = numbers(a), numbers(b)
    half = len(p) // 2
    dx, dv = rms(p[:half], q[:half]), rms(p[half:], q[half:])
    check(0 < dx < x_limit and dv < v_limit, "%s: rms difference of x %.2g nm (limit %g), of v %.2g nm/ps (limit %g)" % (label, dx, x_limit, dv, v_limit))


def case_follow():
    impulses = {"run__mesh_every": 2, "pme__grid": "[18, 18, 18]"} # multiple time steps; the grid: each would choose another
    with tempfile.TemporaryDirectory() as a, tempfile.TemporaryDirectory() as b, tempfile.TemporaryDirectory() as c:
        for backend, place in (("cpu", a), ("emu", b)):
            run(backend, write_conf(place, 648, 50, **impulses))
        compare(a, b, "648 atoms, the mesh every second step, 50 steps", 3e-5, 1e-3) # as below
        run("cpu", write_conf(c, 648, 50, **dict(impulses, run__mesh_every=1)))
        p, q = numbers(a), numbers(c)
        check(rms(p[:648 * 3], q[:648 * 3]) > 3e-5, "which is another trajectory than with the mesh in every step: %.2g nm from it" % rms(p[:648 * 3], q[:648 * 3]))
    with tempfile.TemporaryDirectory() as a, tempfile.TemporaryDirectory() as b:
        for backend, place in (("cpu", a), ("emu", b)):
            run(backend, write_conf(place, 3000, 50, pme__grid="[21, 21, 24]"))
        # forces of both agree to some 1e-5 of their rms (single precision); 100 fs let a difference grow about tenfold beyond the
        # 1/2 a t^2 of a constant error, 1e-5 * 50 nm/ps^2 * 0.005 ps^2
        compare(a, b, "3,000 atoms, 50 steps", 3e-5, 1e-3)
        worst = max(abs(x - y) / (1 + abs(x)) for p, q in zip(rows(a), rows(b)) for x, y in zip(p, q))
        # pressure is a difference of large sums; energies agree to 1e-6
        check(len(rows(a)) == len(rows(b)) == 6 and worst < 2e-2, "run.csv agrees: largest relative difference %.2g" % worst)
        with tempfile.TemporaryDirectory() as c: # the order of threads, blocks and streams is no part of the physics
            run("emu", write_conf(c, 3000, 50, pme__grid="[21, 21, 24]"), EMU_ORDER="random", EMU_LAZY="1", EMU_PROTECT="1")
            check(state(b) == state(c) and open(b + "/run.csv").read() == open(c + "/run.csv").read(), "3,000 atoms, 50 steps: the same bits in random order")


# Cases that compare bits: twelve blocks of atoms, several of every kernel, in a box twice the list's radius wide
SMALL = 375
ENSEMBLES = {
    "verlet, v-rescale, c-rescale": {"thermostat__kind": '"v-rescale"', "barostat__kind": '"c-rescale"', "barostat__tau": 0.5},
    "langevin, tiles": {"run__integrator": '"langevin"', "backend__isa": '"tile"'}, # the other pair kernels
    "leap-frog, octets": {"run__integrator": '"leapfrog"', "backend__isa": '"octet"'},
    "the mesh every second step": {"run__mesh_every": 2, "thermostat__kind": '"v-rescale"'},
}


def case_schedules():
    for name, more in ENSEMBLES.items():
        with tempfile.TemporaryDirectory() as a:
            more = dict(more, run__list_interval=15) # the state that is kept is that of a search
            run("emu", write_conf(a, SMALL, 30, **more))
            for label, environment in (("reverse", {"EMU_ORDER": "reverse"}),
                                       ("random, lazy streams, guarded memory", {"EMU_ORDER": "random", "EMU_LAZY": "1", "EMU_PROTECT": "1"})):
                with tempfile.TemporaryDirectory() as b:
                    run("emu", write_conf(b, SMALL, 30, **more), **environment)
                    check(state(a) == state(b) and open(a + "/run.csv").read() == open(b + "/run.csv").read(), "%s: the same bits with %s" % (name, label))


def case_restart():
    for name, more in ENSEMBLES.items():
        with tempfile.TemporaryDirectory() as a, tempfile.TemporaryDirectory() as b:
            run("emu", write_conf(a, SMALL, 60, run__list_interval=10, **more))
            for steps in (15, 40, 60):
                run("emu", write_conf(b, SMALL, steps, run__list_interval=10, **more))
            check(state(a) == state(b), name + ": x and v are the same bits in three pieces")
            check(open(a + "/run.csv").read() == open(b + "/run.csv").read(), name + ": run.csv is the same text")


def case_handover():
    with tempfile.TemporaryDirectory() as a, tempfile.TemporaryDirectory() as b:
        run("cpu", write_conf(a, 648, 60, run__list_interval=10))
        for backend, steps in (("cpu", 20), ("emu", 40), ("cpu", 60)):
            run(backend, write_conf(b, 648, steps, run__list_interval=10))
        compare(a, b, "cpu, GPU, cpu", 3e-5, 1e-3) # as in `follow`


def case_replay():
    for name, more in ENSEMBLES.items():
        with tempfile.TemporaryDirectory() as a, tempfile.TemporaryDirectory() as b:
            more = dict(more, run__list_interval=20) # the state that is kept is that of a search
            run("emu", write_conf(a, SMALL, 40, output__energy_every=more.get("run__mesh_every", 1), **more)) # too much is due: no step is recorded
            run("emu", write_conf(b, SMALL, 40, output__energy_every=40, **more))
            check(state(a) == state(b), name + ": recorded steps have the bits of single ones")
    # a buffer that the fastest atoms cross every few steps: the guard is asked in most steps, and ends a dozen lists or so
    narrow = {"run__list_interval": 1000, "nonbonded__list_buffer": 0.02}
    with tempfile.TemporaryDirectory() as a, tempfile.TemporaryDirectory() as b:
        run("emu", write_conf(a, 648, 60, output__energy_every=1, **narrow))
        run("emu", write_conf(b, 648, 60, output__energy_every=60, **narrow))
        check(rows(a)[-1] == rows(b)[-1] and rows(a)[-1][0] == 60, "a narrow buffer: recorded steps have the energies of single ones")
        trips = [int(re.search(r"(\d+) of them because an atom had moved too far", open(place + "/run.log").read()).group(1)) for place in (a, b)]
        check(trips[0] == trips[1] >= 5, "and as many lists came to their end before their time: %d, %d (at least 5)" % tuple(trips))


def case_launches():
    counts, threads, dear = [], [], []
    for steps in (12, 20): # in one list; a batch of 16 ends between them
        with tempfile.TemporaryDirectory() as a:
            run("emu", write_conf(a, 648, steps, output__energy_every=1000, run__list_interval=100, nonbonded__list_buffer=0.2, pme__order=4,
                                   pme__grid="[24, 24, 24]"), EMU_COUNTS=a + "/counts")
            with open(a + "/counts") as f:
                rows = list(csv.DictReader(f))
                counts.append({row["kernel"]: int(row["launches"]) for row in rows})
                threads.append({row["kernel"]: int(row["threads"]) for row in rows})
                dear.append({row["kernel"]: (int(row["warp_operations"]), int(row["atomics"])) for row in rows})
    a_step = {k: (v - counts[0].get(k, 0)) / 8 for k, v in counts[1].items() if v != counts[0].get(k, 0)}
    a_step_threads = {k: (threads[1][k] - threads[0].get(k, 0)) / 8 for k in a_step}
    total = sum(a_step.values())
    check(6 <= total <= 8, "a plain step of rigid water is %g launches (budget 8): %s" % (total, ", ".join("%s %g" % k for k in sorted(a_step.items()))))
    check(a_step.get("k_move") == 1, "one of them moves the atoms")
    # what modelled times are computed from: the kernels of this step, and as many threads an atom, within what filling the last block adds
    with open(os.path.join(os.environ["MDS_SOURCE"], "benchmarks", "gpu", "step.csv")) as f:
        held = {row["kernel"].split()[0]: row for row in csv.DictReader(line for line in f if not line.startswith("#")) if row["launches"] != "0"}
    names = {"kernel" if k.startswith("k_row<") else k: k for k in held} # the pair kernel is launched through a variable of this name
    check(sorted(names) == sorted(a_step) and all(float(held[names[k]]["launches"]) == n for k, n in a_step.items()),
          "benchmarks/gpu/step.csv has the launches of a plain step: %s" % ", ".join(sorted(names)))
    for k in names:
        if k not in ("kernel", "k_fft", "k_ask"):
            per_atom, said = a_step_threads[k] / 648, float(held[k]["threads"])
            check(0.8 * said < per_atom < 1.25 * said, "and threads an atom of %s: %.3f here, %.3f there" % (k, per_atom, said))
        # warp operations (of warps) and atomics (of lanes) an atom: budgets of this case
        for what, column in enumerate(("warp_operations", "atomics")):
            spent, most = (dear[1][k][what] - dear[0].get(k, (0, 0))[what]) / 8 / 648, float(held[names[k]][column])
            check(spent <= most, "%s an atom of %s: %.3f (budget %g)" % (column, k, spent, most))


def case_mesh():
    """A mesh that nobody gave is one that a GPU's one block can transform, as accurate; a given one stays; a checkpoint's too."""
    def mesh(backend, *more):
        with tempfile.TemporaryDirectory() as a:
            text = subprocess.run([emu if backend == "emu" else mdsim, "explain", write_conf(a, 600, 4), "--set", "backend.kind=" + backend] + list(more),
                                  capture_output=True, text=True).stdout
        n = re.search(r"order (\d+), grid (\d+) x (\d+) x (\d+), .*estimated force error ([0-9.]+)", text)
        return [int(k) for k in n.groups()[1:4]], float(n.group(5)), "is transformed faster" in text

    host, host_error, host_says = mesh("cpu")
    chip, chip_error, chip_says = mesh("emu")
    check(host == [15, 15, 15] and not host_says, "the host takes what is cheapest: %s" % host)
    check(chip == [15, 15, 16] and chip_says and chip_error <= host_error, "a GPU the next one with pairs along z, and says so: %s, error %g, not above %g"
          % (chip, chip_error, host_error))
    for words in (("--set", "pme.grid=[15, 15, 15]"), ("--set", "pme.spacing=0.125"), ("--set", "backend.precision=double")):
        given, _, says = mesh("emu", *words)
        check(given == [15, 15, 15] and not says, "left as it is with %s: %s" % (words[1], given))
    with tempfile.TemporaryDirectory() as a:
        run("emu", write_conf(a, 600, 2), EMU_COUNTS=a + "/counts")
        with open(a + "/counts") as f:
            names = {row["kernel"] for row in csv.DictReader(f)}
        check("k_fft" in names and "k_solve<false>" not in names, "and one block transforms it")
        run("emu", write_conf(a, 600, 4))
        check("15 x 15 x 16" in open(a + "/run.log").read(), "a restart has the mesh of its checkpoint")
    with tempfile.TemporaryDirectory() as a:
        run("cpu", write_conf(a, 600, 2))
        run("emu", write_conf(a, 600, 4))
        check(re.search("choices of the checkpoint.*15 x 15 x 15", open(a + "/run.log").read()), "a run begun on the host keeps the host's on a GPU")


def trajectory(place):
    """Every array of the file, as bytes, by name; and steps."""
    import h5py
    out = {}
    with h5py.File(place + "/run.h5md", "r") as f:
        f["particles/trajectory"].visititems(lambda name, item: out.update({name: item[()].tobytes()}) if hasattr(item, "shape") else None)
        return out, [int(k) for k in f["particles/trajectory/position/step"][()]], f["particles/trajectory/position/value"][()]


def said(place, text):
    return [line for line in open(place + "/run.log") if text in line]


def case_frames():
    try:
        import h5py, numpy, resource  # noqa: F401
    except ImportError:
        print("skipped: h5py is not installed")
        sys.exit(77)
    more = {"run__list_interval": 10, "output__trajectory_every": 5, "output__energy_every": 5, "output__velocities": "true",
            "output__forces": "true", "run__integrator": '"langevin"'}
    with tempfile.TemporaryDirectory() as a, tempfile.TemporaryDirectory() as b, tempfile.TemporaryDirectory() as c:
        run("emu", write_conf(a, 648, 40, **more))
        arrays, steps, x = trajectory(a)
        check(steps == list(range(0, 41, 5)), "frames of steps %s" % steps)
        check(len(said(a, "8 frames written beside the run")) == 1, "the log says who wrote them")
        for last in (20, 40):  # and x of a frame is that of the checkpoint of its step
            run("emu", write_conf(b, 648, last, **more), EMU_LAZY="1", EMU_PROTECT="1")
            of_step = numpy.array(numbers(b)[:3 * 648]).reshape(-1, 3)
            frame = x[steps.index(last)]
            check(frame.dtype == numpy.float32 and numpy.array_equal(frame, of_step.astype(numpy.float32)), "the frame of step %d is of that step" % last)
        check(trajectory(b)[0] == arrays and state(a) == state(b), "late streams, in two pieces: the same frames, velocities and forces")
        run("emu", write_conf(c, 648, 40, **more), LD_PRELOAD=os.environ["SLOW_DISK"])
        check(trajectory(c)[0] == arrays and state(a) == state(c), "on a slow disk: the same frames")
        check(open(a + "/run.csv").read() == open(b + "/run.csv").read() == open(c + "/run.csv").read(), "run.csv is the same text")
        line = said(c, "both buffers were full")
        # five or more of eight frames find both buffers full: the disk takes one only when the run stands still
        check(len(line) == 1 and int(line[0].split("full ")[1].split()[0]) >= 5, "the log tells of waiting: %s" % line)
    more["output__trajectory_every"] = 1
    with tempfile.TemporaryDirectory() as a, tempfile.TemporaryDirectory() as b:
        path = write_conf(a, 648, 80, **more)
        p = subprocess.run([emu, path, "--quiet", "--set", "backend.kind=emu"], capture_output=True, text=True,
                           preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (2000000, resource.RLIM_INFINITY)))
        check(p.returncode == 74 and "cannot write" in p.stderr and "run.h5md" in p.stderr, "a file that cannot grow: %d %s" % (p.returncode, p.stderr.strip()))
        done = trajectory(a)[1]
        check(5 < len(done) < 80 and done == list(range(len(done))), "what was flushed can be read: %d frames" % len(done))
        run("emu", path)
        run("emu", write_conf(b, 648, 80, **more))
        check(trajectory(a)[0] == trajectory(b)[0] and state(a) == state(b), "the same command finishes it with the same frames")


def case_ranges():
    if not os.environ.get("RANGE_LOG"):
        print("skipped: nvtx3 of a CUDA toolkit was not found when this was built")
        sys.exit(77)
    def ranges(steps, **more):
        with tempfile.TemporaryDirectory() as a:
            path = write_conf(a, 648, steps, run__list_interval=steps, output__trajectory_every=0, **more)
            run("emu", path, NVTX_INJECTION64_PATH=os.environ["RANGE_LOG"], RANGE_LOG_FILE=a + "/ranges")
            return open(a + "/ranges").read().split()

    lines = ranges(20)
    depth = deepest = 0
    for line in lines:
        depth += 1 if line[0] == "+" else -1
        deepest = max(deepest, depth)
        if depth < 0:
            break
    check(depth == 0 and deepest == 2, "every range is closed; the deepest is %d: a stage that is recorded" % deepest)
    stages = [line[1:] for line in lines if line[0] == "+"]
    plain = ["move", "begin", "pair", "bonded", "mesh", "finish", "move", "couple"]
    after = stages[stages.index("replay") + 1:]
    check(after[:16] == 2 * plain, "the first step after a search and the one recorded after it: %s" % after[:16])
    # a recording is the last time that the host says what a step is
    lines = ranges(24, run__mesh_every=2, output__energy_every=24, nonbonded__list_buffer=0.2)
    replayed = lines[lines.index("+replay"):]
    check(replayed.count("+replay") == 23 and (replayed.count("+begin"), replayed.count("+mesh")) == (5, 3),
          "the mesh every second step: two kinds of step, each run once and recorded once, and the last as it is looked at")
    check({"upload", "search", "poll", "observe", "collect"} <= set(stages), "the others: %s" % sorted(set(stages)))


def case_double():
    fine = {"backend__precision": '"double"'}
    distance = {}
    with tempfile.TemporaryDirectory() as a:
        run("ref", write_conf(a, 648, 50))
        for name, more in (("double", fine), ("mixed", {})):
            with tempfile.TemporaryDirectory() as b:
                run("emu", write_conf(b, 648, 50, **more))
                p, q = numbers(a), numbers(b)
                distance[name] = rms(p[:len(p) // 2], q[:len(q) // 2])
                if more:
                    energies = max(abs(x - y) / (1 + abs(x)) for u, v in zip(rows(a), rows(b)) for x, y in zip(u, v))
                    check(energies < 1e-6, "run.csv agrees with ref's: largest relative difference %.2g" % energies)
    # single-point forces agree to 1e-12 of their rms; 1/2 a t^2 of that is 1e-12 nm, and 100 fs let a difference grow tenfold
    check(0 < distance["double"] < 1e-11 and distance["mixed"] > 1e-8,
          "648 atoms, 50 steps: rms difference of x from ref %.2g nm, %.2g nm in mixed precision" % (distance["double"], distance["mixed"]))
    more = dict(fine, thermostat__kind='"v-rescale"', barostat__kind='"c-rescale"', barostat__tau=0.5, run__list_interval=5)
    with tempfile.TemporaryDirectory() as a, tempfile.TemporaryDirectory() as b, tempfile.TemporaryDirectory() as c:
        run("emu", write_conf(a, 648, 20, **more))
        run("emu", write_conf(b, 648, 20, **more), EMU_ORDER="random", EMU_LAZY="1", EMU_PROTECT="1")
        check(state(a) == state(b) and open(a + "/run.csv").read() == open(b + "/run.csv").read(), "the same bits with random order, lazy streams, guarded memory")
        run("emu", write_conf(c, 648, 8, **more))
        del more["backend__precision"] # the checkpoint has it
        run("emu", write_conf(c, 648, 20, **more))
        check(state(a) == state(c), "a run in two pieces has the same bits: the second goes on in double precision")
    with tempfile.TemporaryDirectory() as a, tempfile.TemporaryDirectory() as b:
        fine["run__list_interval"] = 12 # the state that is kept is that of a search
        run("emu", write_conf(a, 648, 24, output__energy_every=1, **fine))
        run("emu", write_conf(b, 648, 24, output__energy_every=24, **fine))
        check(state(a) == state(b), "recorded steps have the bits of single ones")


def number_after(place, text):
    lines = said(place, text)
    return float(lines[-1].split(text)[1].split()[0]) if lines else None


def case_power():
    library = os.environ["FAKE_NVML"]
    # the stand-in reads 200 W and 1500 MHz, and its counter runs at 300 W
    for label, watt, environment in (("counter", 300, {"LD_LIBRARY_PATH": library}), ("readings", 200, {"LD_LIBRARY_PATH": library, "FAKE_NVML_MODE": "no-energy"}),
                                     ("no such GPU", None, {"LD_LIBRARY_PATH": library, "FAKE_NVML_MODE": "other-bus"}), ("no library", None, {"LD_LIBRARY_PATH": ""})):
        with tempfile.TemporaryDirectory() as a:
            run("emu", write_conf(a, 648, 40), **environment)
            power, energy, clock = (number_after(a, text) for text in ("whole board: ", "energy of the GPU: ", "SM clock of the GPU: "))
            speed = number_after(a, "performance: ")
            if watt is None:
                check((power, energy, clock) == (None, None, None), label + ": nothing is said of power")
            else:
                # a counter of mJ over seconds; the log has four digits
                check(power and abs(power / watt - 1) < 0.01 and clock == 1500, "%s: %s W, %s MHz" % (label, power, clock))
                check(energy and abs(energy * speed / (24 * watt) - 1) < 0.02, "%s: %s Wh/ns at %s ns/day" % (label, energy, speed))
        p = subprocess.run([emu, "bench", "--system", "argon", "--sizes", "500", "--set", "backend.kind=emu", "--set", "backend.tune=fixed", "--steps", "20", "--repeats", "2", "--seconds", "0.1",
                            "--json", "-"], capture_output=True, text=True, env=dict(os.environ, **environment))
        c = json.loads(p.stdout)[0] if p.returncode == 0 else {}
        if watt is None:
            check(p.returncode == 0 and [c[k] for k in ("energy_wh_per_ns", "power_w", "sm_clock_mhz")] == 3 * [None], label + ": null in a benchmark")
        else:
            # blocks of some 0.1 s; time between them is in the power, not in the speed, so only both together are told apart
            check(p.returncode == 0 and abs(c["power_w"] / watt - 1) < 0.05 and c["sm_clock_mhz"] == 1500 and c["energy_wh_per_ns"] > 0, "%s: a benchmark tells %s %s" % (label, c.get("power_w"), p.stderr))
        about = subprocess.run([emu, "info"], capture_output=True, text=True, env=dict(os.environ, **environment)).stdout
        check(("driver 987.65, power limit 350 W" in about) == (watt is not None) and "GPU 0: emulation" in about, label + ": info")


def forces(backend, place, *more, **environment):
    import numpy
    conf = os.path.join(os.environ["MDS_SOURCE"], "inputs/dipeptide/dipeptide.conf")
    run(backend, "energy", conf, "--forces", place + "/f.npy", "--json", place + "/e.json", *more, **environment)
    return numpy.load(place + "/f.npy"), json.load(open(place + "/e.json"))["energies"]["potential"]


def case_unordered():
    try:
        import numpy
    except ImportError:
        print("skipped: numpy is not installed")
        sys.exit(77)
    loose = ("--set", "backend.deterministic=no")
    with tempfile.TemporaryDirectory() as a:
        exact, energy = forces("ref", a)
        size = numpy.sqrt((exact ** 2).mean())
        found = {}
        for label, more, environment in (("fixed point", (), {}), ("fixed point, random", (), {"EMU_ORDER": "random"}), ("float", loose, {}),
                                         ("float, random", loose, {"EMU_ORDER": "random", "EMU_LAZY": "1", "EMU_PROTECT": "1"})):
            f, e = forces("emu", a, *more, **environment)
            found[label] = f
            # single precision of the pairs: 1e-5; a float sum of some hundred terms adds less than 1e-6 of the largest of them
            gap = numpy.sqrt(((f - exact) ** 2).mean()) / size
            check(gap < 1e-4 and abs(e / energy - 1) < 1e-5, "2,242 atoms, %s: forces within %.2g of their rms of ref's, energy within %.2g" % (label, gap, abs(e / energy - 1)))
        same = numpy.array_equal
        check(same(found["fixed point"], found["fixed point, random"]), "fixed point: the same bits in any order")
        check(not same(found["float"], found["float, random"]) and not same(found["float"], found["fixed point"]), "float: the order of threads shows")
    with tempfile.TemporaryDirectory() as a, tempfile.TemporaryDirectory() as b:
        run("emu", write_conf(a, 648, 30, run__list_interval=15)) # the state that is kept is that of a search
        run("emu", write_conf(b, 648, 30, run__list_interval=15, backend__deterministic='"no"'), EMU_ORDER="random")
        compare(a, b, "30 steps, fixed point and float", 3e-5, 1e-3) # as in `follow`
        check(said(b, "summed in float") and not said(a, "summed in float"), "the log says which")


globals()["case_" + sys.argv[1]]()
sys.exit(1 if failures else 0)
