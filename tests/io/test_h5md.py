#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""run.h5md is H5MD as its readers want it, and stays so whenever the run ends.

usage: test_h5md.py CASE
  rules     every rule of docs/decisions/002-h5md-layout.md, looked up with h5py in files of three runs: rigid water with
            velocities, forces, rounding and parts; a triclinic box; vacuum
  reader    the distribution's MDAnalysis opens the files as they are, with run.gro as topology and without: positions,
            velocities, forces, box and times are those of run.gro, of `mdsim energy` and of the file itself. Then one rule
            at a time is broken in a copy: a check must notice, or it proves nothing
  newest    the same with the newest MDAnalysis that pip can install, in a virtual environment under the build directory
            (made once; skipped with a notice where pip cannot)
  live      read frame by frame while the run goes on, then kill -9: every frame that was there is still there
"""
import glob, os, re, shutil, signal, subprocess, sys, tempfile, time

failures = checks = 0


def check(ok, what):
    global failures, checks
    checks += 1
    if not ok:
        failures += 1
    print(("ok      " if ok else "FAILED  ") + what, flush=True)


def end():
    print("%d checks, %d failures" % (checks, failures))
    sys.exit(1 if failures or not checks else 0)


# ------------------------------------------------------------------------------------------------ the runs

OUTPUT = "trajectory_every = 10L; energy_every = 10L; velocities = true; forces = true;"
WATER = """system = { generate = "water"; atoms = 300; };
run = { steps = 40L; };
nonbonded = { cutoff = 0.6; };
pme = { c = 9.0; order = 4; grid = [16, 16, 16]; };
backend = { threads = 1; };
output = { %s };
"""
ARGON = """system = { topology = "argon.top"; coordinates = "argon.gro"; velocities = "draw"; %s };
run = { steps = 40L; temperature = 90.0; dt = 0.004; };
nonbonded = { cutoff = %s; lj_modifier = "%s"; coulomb = "none"; };
backend = { threads = 1; };
output = { %s };
"""
TOP = """[ defaults ]
1 2
[ atomtypes ]
Ar 18 39.948 0 A 0.34 0.9977355
[ moleculetype ]
AR 1
[ atoms ]
1 Ar 1 AR AR 1 0 39.948
[ system ]
argon
[ molecules ]
AR 216
"""
BOX = ((2.3, 0, 0), (0.7, 2.3, 0), (-0.6, 0.8, 2.3))


def write(path, text):
    with open(path, "w") as f:
        f.write(text)


def argon(folder):
    write(folder + "/argon.top", TOP)
    rows = []
    for n in range(216):
        s = [(n // 36 + 0.5) / 6, (n // 6 % 6 + 0.5) / 6, (n % 6 + 0.5) / 6]
        x = [sum(s[k] * BOX[k][d] for k in range(3)) for d in range(3)]
        rows.append("%5d%-5s%5s%5d%8.3f%8.3f%8.3f\n" % (n + 1, "AR", "AR", n + 1, *x))
    h = BOX
    box = "%.5f %.5f %.5f 0 0 %.5f 0 %.5f %.5f\n" % (h[0][0], h[1][1], h[2][2], h[1][0], h[2][0], h[2][1])
    write(folder + "/argon.gro", "argon\n216\n" + "".join(rows) + box)


def mdsim(folder, *args):
    p = subprocess.run([os.environ["MDSIM"], *args], cwd=folder, capture_output=True, text=True)
    if p.returncode:
        print("FAILED  mdsim %s in %s: exit code %d: %s" % (" ".join(args), folder, p.returncode, p.stderr))
        sys.exit(1)
    return p.stdout


def make_runs(work):
    """water, rounded (the same with precision 0.001), parts, triclinic, vacuum: finished runs, and forces.npy of their starts."""
    confs = {"water": WATER % OUTPUT, "rounded": WATER % (OUTPUT + " precision = 0.001;"),
             "parts": (WATER % (OUTPUT.replace("10L", "1L", 1) + " part_gb = 0.001;")).replace("steps = 40L", "steps = 300L"),
             "triclinic": ARGON % ("", "0.85", "potential-shift", OUTPUT),
             "vacuum": ARGON % ('box = "none";', "0.0", "none", OUTPUT)}
    for name, conf in confs.items():
        folder = os.path.join(work, name)
        os.mkdir(folder)
        if "argon.top" in conf:
            argon(folder)
        write(folder + "/in.conf", conf)
        mdsim(folder, "in.conf", "--quiet")
        mdsim(folder, "energy", "in.conf", "--quiet", "--forces", "forces.npy")


# ------------------------------------------------------------------------------------------------ rules

def is_vl_text(group, name):
    import h5py
    kind = h5py.check_string_dtype(group.attrs.get_id(name).dtype)
    return kind is not None and kind.length is None and group.attrs.get_id(name).shape in ((), (3,))


def rules_of(folder, periodic, arrays, n_atoms, file="run.h5md"):
    import h5py
    import numpy as np
    path = os.path.join(folder, file)
    label = os.path.basename(folder) + ": "
    with h5py.File(path, "r") as f:
        check(list(f["h5md"].attrs["version"]) == [1, 1], label + "H5MD 1.1")
        check(f["h5md/author"].attrs["name"] == "N/A", label + "no author's name")
        check(f["h5md/creator"].attrs["name"] == "mdsim" and f["h5md/creator"].attrs["version"] == f["parameters/mdsim"].attrs["version"],
              label + "creator and version")
        check(list(f["h5md/modules/units"].attrs["version"]) == [1, 0] and f["h5md/modules/units"].attrs["system"] == "SI",
              label + "units module 1.0")
        check(list(f["particles"]) == ["trajectory"], label + "one particles group, called trajectory")
        p = f["particles/trajectory"]
        wanted = {"box", "position", "species", "mass", "charge"} | set(arrays)
        check(set(p) == wanted, label + "holds %s, wanted %s" % (sorted(p), sorted(wanted)))
        units = {"position": "nm", "velocity": "nm ps-1", "force": "kJ mol-1 nm-1"}
        step, times = p["position/step"], p["position/time"]
        n_frames = len(step)
        check(step.dtype == np.int64 and times.dtype == np.float64 and step.shape == times.shape == (n_frames,) and n_frames > 0,
              label + "explicit step and time")
        check(times.attrs["unit"] == "ps" and is_vl_text(times, "unit"), label + "time in ps, variable-length unit")
        for name in ["position"] + sorted(arrays):
            e = p[name]
            check(set(e) == {"step", "time", "value"}, label + name + " has step, time and value")
            check(e["value"].shape == (n_frames, n_atoms, 3) and e["value"].dtype == np.dtype("<f4"), label + name + " is f4 [T][N][3]")
            check(e["value"].maxshape[0] is None and e["value"].chunks == (1, n_atoms, 3), label + name + " is chunked by frames")
            check(e["value"].shuffle and e["value"].compression == "gzip" and e["value"].compression_opts == 1 and e["value"].fletcher32,
                  label + name + ": shuffle, deflate 1, fletcher32")
            check(e["value"].attrs["unit"] == units[name] and is_vl_text(e["value"], "unit"), label + name + " unit " + units[name])
            check(h5py.h5o.get_info(e["step"].id).addr == h5py.h5o.get_info(step.id).addr,
                  label + name + "/step is the position's own (hard link)")
            check(h5py.h5o.get_info(e["time"].id).addr == h5py.h5o.get_info(times.id).addr, label + name + "/time likewise")
        box = p["box"]
        state = "periodic" if periodic else "none"
        check(box.attrs["dimension"] == 3 and list(box.attrs["boundary"]) == [state] * 3 and is_vl_text(box, "boundary"),
              label + "box: dimension 3, boundary " + state)
        edges = box["edges/value"]
        check(edges.shape == (n_frames, 3, 3) and edges.dtype == np.float64 and edges.chunks == (64, 3, 3), label + "edges f8 [T][3][3]")
        check(edges.attrs["unit"] == "nm" and is_vl_text(edges, "unit"), label + "edges in nm")
        check(h5py.h5o.get_info(box["edges/step"].id).addr == h5py.h5o.get_info(step.id).addr and
              h5py.h5o.get_info(box["edges/time"].id).addr == h5py.h5o.get_info(times.id).addr, label + "edges' step and time hard-linked")
        check(step.chunks == (512,) and step.fletcher32 and times.chunks == (512,), label + "step and time in chunks of 512")
        check(np.all(np.diff(step[:]) > 0) and np.all(np.diff(times[:]) > 0), label + "steps and times ascend")
        check(p["mass"].shape == (n_atoms,) and p["mass"].attrs["unit"] == "u" and p["charge"].attrs["unit"] == "e" and
              p["charge"].attrs["type"] == "effective" and is_vl_text(p["mass"], "unit"), label + "mass and charge once, with units")
        check(p["species"].shape == (n_atoms,) and p["species"].dtype == np.int32, label + "species once")
        vmd = f["parameters/vmd_structure"]
        for name in ("name", "type", "resname"):
            kind = h5py.check_string_dtype(vmd[name].dtype)
            check(kind is not None and kind.length == 8, label + "vmd_structure/%s has fixed length" % name)
        n_species = len(vmd["name"])
        check(len(vmd["indexOfSpecies"]) == len(vmd["atomicnumber"]) == len(vmd["type"]) == n_species and
              set(p["species"][:]) == set(vmd["indexOfSpecies"][:]), label + "a row for each of %d species" % n_species)
        check(vmd["resid"].shape == (n_atoms,) and max(vmd["resid"][:]) == len(vmd["resname"]) - 1, label + "resid points into resname")
        names = [vmd["name"][s].decode() for s in p["species"][:]]
        gro = open(folder + "/run.gro").read().split("\n")[2:2 + n_atoms]
        check(names == [g[10:15].strip() for g in gro], label + "names of species are those of run.gro")
        if os.path.basename(folder) in ("triclinic", "vacuum"):
            check("connectivity" not in f, label + "no bonds, no connectivity")
        else:
            bonds = f["connectivity/bonds"]
            check(bonds.dtype == np.int64 and bonds.shape == (2 * (n_atoms // 3), 2), label + "two bonds a water")
            target = f[bonds.attrs["particles_group"]]
            check(target.name == "/particles/trajectory", label + "bonds refer to /particles/trajectory")
            same = np.array_equal(np.sort(bonds[:], axis=1), np.sort(np.stack([vmd["bond_from"][:], vmd["bond_to"][:]], axis=1), axis=1))
            check(same and all(b // 3 == c // 3 and min(b % 3, c % 3) == 0 for b, c in bonds[:]), label + "O-H bonds, the same for VMD")
        check(f["parameters/mdsim/input"][0].decode().strip() != "" and f["parameters/mdsim/seed"].dtype == np.uint64, label + "input and seed")
        texts = []
        f.visititems(lambda name, o: texts.extend(str(v) for v in o.attrs.values()))
        user = os.environ.get("USER") or "root"
        home = os.path.expanduser("~")
        check(not any(t == user or home + "/" in t for t in texts), label + "no user name, no home")
    with open(path, "rb") as f:
        head = f.read(9)
    check(head[:8] == b"\x89HDF\r\n\x1a\n" and head[8] in (0, 2), label + "file format of HDF5 1.8")
    return n_frames


def case_rules(work):
    import h5py
    import numpy as np
    make_runs(work)
    both = ("velocity", "force")
    for name, periodic, n in (("water", True, 300), ("rounded", True, 300), ("triclinic", True, 216), ("vacuum", False, 216)):
        check(rules_of(os.path.join(work, name), periodic, both, n) == 5, name + ": frames of steps 0 to 40")
    # rounding: multiples of a power of two, wrong by at most `precision`; velocities and forces as they were
    with h5py.File(work + "/water/run.h5md", "r") as a, h5py.File(work + "/rounded/run.h5md", "r") as b:
        x, y = (f["particles/trajectory/position/value"][:].astype(float) for f in (a, b))
        check(np.all(y * 512 == np.rint(y * 512)), "rounded: multiples of 2^-9 nm")
        check(0.0005 < np.abs(x - y).max() <= 0.001, "rounded: off by %.6f, at most 0.001 nm" % np.abs(x - y).max())
        check(np.any(x * 512 != np.rint(x * 512)), "water: not rounded")
        check(all(np.array_equal(a["particles/trajectory/%s/value" % e][:], b["particles/trajectory/%s/value" % e][:]) for e in both),
              "rounded: velocities and forces are untouched")
    with h5py.File(work + "/triclinic/run.h5md", "r") as f:
        check(np.allclose(f["particles/trajectory/box/edges/value"][:], BOX, atol=1e-9), "triclinic: rows are the box vectors")
    with h5py.File(work + "/vacuum/run.h5md", "r") as f:
        check(not f["particles/trajectory/box/edges/value"][:].any(), "vacuum: edges are zero")
    # parts: no frame lost, none twice, each part by itself a whole file
    names = sorted(n for n in os.listdir(work + "/parts") if n.endswith(".h5md"))
    check(len(names) > 1 and all(re.fullmatch(r"run\.part\d{4}\.h5md", n) for n in names), "parts: " + ", ".join(names))
    steps = []
    for n in names:
        with h5py.File(os.path.join(work, "parts", n), "r") as f:
            steps += list(f["particles/trajectory/position/step"][:])
    check(steps == list(range(301)), "parts: steps 0 to 300, each once")
    sizes = [os.path.getsize(os.path.join(work, "parts", n)) for n in names]
    check(all(1e6 <= n < 2e6 for n in sizes[:-1]), "parts: sizes %s, wanted 1 MB and the frames up to the next search" % sizes)
    rules_of(os.path.join(work, "parts"), True, both, 300, names[0])


# ------------------------------------------------------------------------------------------------ MDAnalysis

def lengths_and_angles(rows):
    import numpy as np
    a, b, c = (np.array(r, float) for r in rows)
    angle = lambda u, v: np.degrees(np.arccos(u @ v / np.linalg.norm(u) / np.linalg.norm(v)))
    return np.array([np.linalg.norm(a), np.linalg.norm(b), np.linalg.norm(c), angle(b, c), angle(a, c), angle(a, b)])


def read_gro(path):
    import numpy as np
    lines = open(path).read().split("\n")
    n = int(lines[1])
    rows = np.array([[float(g[20 + 12 * k:32 + 12 * k]) for k in range(6)] for g in lines[2:2 + n]])
    h = [float(w) for w in lines[2 + n].split()] + [0] * 6
    return rows[:, :3], rows[:, 3:], [[h[0], 0, 0], [h[5], h[1], 0], [h[7], h[8], h[2]]]


def wrong(folder, path, topology, precision):
    """What MDAnalysis reads wrongly from the file `path` of the run in `folder`: a list, empty if all is right."""
    import warnings
    import numpy as np
    import MDAnalysis as mda
    warnings.simplefilter("ignore")
    gro_x, gro_v, gro_box = read_gro(folder + "/run.gro")
    bad = []
    u = mda.Universe(folder + "/run.gro", path, convert_units=True) if topology else mda.Universe(path)
    if len(u.trajectory) != 5 or u.atoms.n_atoms != len(gro_x):
        return ["%d frames of %d atoms" % (len(u.trajectory), u.atoms.n_atoms)]
    if topology and (u.atoms.names[0] not in ("OW", "AR") or u.atoms.resids[-1] == u.atoms.resids[0]):
        bad += ["names"]
    dt = 0.002 if "water" in folder or "rounded" in folder else 0.004
    seen = []
    for ts in u.trajectory:
        seen += [(ts.time, ts.data.get("step"))]
        if ts.frame == 0:
            forces = np.load(folder + "/forces.npy")
            # single precision of numbers up to the largest force
            if not ts.has_forces or np.abs(ts.forces * 10 - forces).max() > 1e-6 * np.abs(forces).max():
                bad += ["forces"]
        vacuum = not np.any(gro_box)
        if vacuum:
            if ts.dimensions is not None and np.any(ts.dimensions[:3]):
                bad += ["box out of nothing"]
        elif ts.dimensions is None or np.abs(ts.dimensions - lengths_and_angles(np.array(gro_box) * 10)).max() > 2e-4:
            bad += ["box"]  # angles in single precision, lengths of seven decimals
    for k, (t, step) in enumerate(seen):
        if abs(t - 10 * k * dt) > 1e-9 or step != 10 * k:
            bad += ["time %r or step %r of frame %d" % (t, step, k)]
    u.trajectory[4]
    # angstrom in single precision, values below 40
    if np.abs(u.atoms.positions / 10 - gro_x).max() > precision + 4e-7:
        bad += ["positions off by %.2g nm" % np.abs(u.atoms.positions / 10 - gro_x).max()]
    if not u.trajectory.ts.has_velocities or np.abs(u.atoms.velocities / 10 - gro_v).max() > 1e-6:
        bad += ["velocities"]
    u.trajectory[1]
    first = u.atoms.positions.copy()
    u.trajectory[3], u.trajectory[1]
    if not np.array_equal(first, u.atoms.positions):
        bad += ["frames out of order"]
    u.trajectory.close()
    return bad


def fixed_unit(f, name):
    import numpy as np
    unit = f[name].attrs["unit"]
    del f[name].attrs["unit"]
    f[name].attrs["unit"] = np.bytes_(unit)


def replace(f, name, data, unit=None):
    del f[name]
    f[name] = data
    if unit:
        f[name].attrs["unit"] = unit


def breakages(version):
    """Rules broken in a copy, one at a time: (what, how, only without a topology)."""
    p = "particles/trajectory/"
    yield "units of fixed length", lambda f: [fixed_unit(f, p + n) for n in ("position/value", "position/time")], False
    yield "no unit", lambda f: f[p + "position/value"].attrs.__delitem__("unit"), False
    yield "unit Ang", lambda f: f[p + "position/value"].attrs.__setitem__("unit", "Ang"), False
    yield "unit nm/ps", lambda f: f[p + "velocity/value"].attrs.__setitem__("unit", "nm/ps"), False
    yield "unit pm for nm", lambda f: f[p + "position/value"].attrs.__setitem__("unit", "pm"), False
    yield "no box dimension", lambda f: f[p + "box"].attrs.__delitem__("dimension"), False
    yield "edges given once", lambda f: (f.__delitem__(p + "box/edges"), f.__setitem__(p + "box/edges", [[3.0, 0, 0], [0, 3, 0], [0, 0, 3]])), False
    yield "step by increment", lambda f: replace(f, p + "position/step", 10), False
    yield "no time", lambda f: f.__delitem__(p + "position/time"), False
    yield "fewer velocities than frames", lambda f: replace(f, p + "velocity/value", f[p + "velocity/value"][:2], "nm ps-1"), False
    yield "another name of the group", lambda f: f.move("particles/trajectory", "particles/system"), True
    yield "a second group before it", lambda f: f.copy("particles/trajectory", "particles/a") or f["particles/a/position/value"].__setitem__(
        slice(None), 0), False
    yield "positions of another frame", lambda f: f[p + "position/value"].__setitem__(4, f[p + "position/value"][3]), False
    yield "forces negated", lambda f: f[p + "force/value"].__setitem__(0, -f[p + "force/value"][0]), False
    yield "box transposed or scaled", lambda f: f[p + "box/edges/value"].__setitem__(slice(None), 1.01 * f[p + "box/edges/value"][:]), False
    if version < (2, 5):
        yield "edges [T][3]", lambda f: replace(f, p + "box/edges/value", [[r[0][0], r[1][1], r[2][2]] for r in f[p + "box/edges/value"]], "nm"), False


def case_read(work):
    """Run by the Python whose MDAnalysis is to be tried, on finished runs in `work`."""
    import h5py
    import MDAnalysis as mda
    print("MDAnalysis %s, h5py %s, HDF5 %s" % (mda.__version__, h5py.__version__, h5py.version.hdf5_version))
    for name in ("water", "rounded", "triclinic", "vacuum"):
        folder = os.path.join(work, name)
        for topology in (True, False):
            try:
                bad = wrong(folder, folder + "/run.h5md", topology, 0.001 if name == "rounded" else 0)
            except Exception as error:
                bad = [repr(error)]
            check(not bad, "%s, %s topology: %s" % (name, "with" if topology else "without", ", ".join(bad) or "all right"))
    folder = os.path.join(work, "triclinic")
    version = tuple(int(k) for k in re.findall(r"\d+", mda.__version__)[:2])
    for number, (what, how, without) in enumerate(breakages(version)):
        copy = os.path.join(work, "broken%d.h5md" % number)  # readers that failed may hold the one before open
        shutil.copy(folder + "/run.h5md", copy)
        with h5py.File(copy, "r+") as f:
            how(f)
        try:
            bad = wrong(folder, copy, not without, 0)
        except Exception as error:
            bad = [type(error).__name__]
        check(bad, "broken on purpose, %s: noticed (%s)" % (what, ", ".join(bad)[:60] or "NOT NOTICED"))
    end()


def case_reader(work, python=sys.executable):
    p = subprocess.run([python, "-c", "import MDAnalysis, h5py"], capture_output=True, text=True)
    if p.returncode:
        print("skipped: %s has no MDAnalysis with h5py (Debian, Ubuntu: apt-get install python3-mdanalysis)" % python)
        sys.exit(77)
    if not os.path.isdir(work + "/water"):
        make_runs(work)
    env = dict(os.environ, MPLCONFIGDIR=work, PYTHONDONTWRITEBYTECODE="1")
    sys.exit(subprocess.run([python, os.path.abspath(__file__), "read", work], env=env).returncode)


def case_newest(work):
    place = os.path.join(os.environ.get("MDS_BUILD") or os.path.join(os.path.dirname(os.environ["MDSIM"])), "venv-mdanalysis")
    python = os.path.join(place, "bin", "python")
    if not os.path.exists(place + "/complete"):
        try:
            shutil.rmtree(place, ignore_errors=True)
            subprocess.run([sys.executable, "-m", "venv", place], check=True, capture_output=True, timeout=120)
            subprocess.run([python, "-m", "pip", "install", "--quiet", "--only-binary", ":all:", "--retries", "1", "MDAnalysis", "h5py"],
                           check=True, capture_output=True, text=True, timeout=420)
            write(place + "/complete", "")
        except (subprocess.SubprocessError, OSError) as error:
            print("skipped: pip cannot install the newest MDAnalysis here: %s" % (getattr(error, "stderr", None) or error))
            sys.exit(77)
    case_reader(work, python)


# ------------------------------------------------------------------------------------------------ while it runs

def lengths(path):
    """Frames of each dataset; None while the file cannot be opened (a reader may meet a flush half done)."""
    import h5py
    try:
        with h5py.File(path, "r") as f:
            p = f["particles/trajectory"]
            last = len(p["position/step"]) - 1
            if last >= 0:
                p["position/value"][last], p["velocity/value"][last], p["force/value"][last], p["box/edges/value"][last]
            return [len(p[n]) for n in ("position/step", "position/time", "position/value", "velocity/value", "force/value", "box/edges/value")]
    except (OSError, KeyError):
        return None


def case_live(work):
    import h5py
    import numpy as np
    argon(work)
    conf = ARGON % ("", "0.85", "potential-shift", OUTPUT.replace("10L", "5L"))
    write(work + "/in.conf", conf.replace("steps = 40L", "steps = 10000000L"))
    p = subprocess.Popen([os.environ["MDSIM"], "in.conf", "--quiet"], cwd=work, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    path = work + "/run.h5md"
    try:
        counts, tries, began = [], 0, time.time()
        while len(counts) < 20 and time.time() - began < 60 and p.poll() is None:
            tries += 1
            now = lengths(path) if os.path.exists(path) else None
            if now and now[0] > (counts[-1] if counts else 0):
                counts.append(now[0])
            time.sleep(0.02)
        check(p.poll() is None, "still running (%s)" % (p.stderr.read() if p.poll() is not None else "yes"))
        check(len(counts) == 20, "read while it runs: %d times more frames than before, %d to %d (%d tries)"
              % (len(counts), counts[0] if counts else 0, counts[-1] if counts else 0, tries))
    finally:
        p.send_signal(signal.SIGKILL)
        p.wait()
    with h5py.File(path, "r") as f:
        g = f["particles/trajectory"]
        n = len(g["position/step"])
        check(n >= counts[-1], "after kill -9: %d frames, %d were seen before" % (n, counts[-1]))
        # the step is written last: no dataset may be shorter
        check(all(len(g[k]) >= n for k in ("position/value", "velocity/value", "force/value", "box/edges/value", "position/time")),
              "no dataset is shorter than step")
        check(np.array_equal(g["position/step"][:], 5 * np.arange(n)), "every frame once")
        x = g["position/value"][:n]
        check(np.isfinite(x).all() and np.abs(np.diff(x, axis=0)).max() < 0.1, "every frame can be read and follows from the one before")
    # and the run goes on from there
    out = subprocess.run([os.environ["MDSIM"], "in.conf", "--quiet", "--set", "run.steps=%dL" % (5 * n + 50)], cwd=work, capture_output=True, text=True)
    check(out.returncode == 0, "resumes: exit code %d %s" % (out.returncode, out.stderr[-200:]))
    # A kill within a flush (here most of the time is spent in one) can leave HDF5's index such that it reads well and cannot be added
    # to; then mdsim says so and goes on in a second file. Either way each frame is there once.
    parts = sorted(glob.glob(work + "/run.part*.h5md"))
    check(len(parts) == ("goes on in run.part0002.h5md" in out.stderr), "a second file only where the run says so: %s" % (parts or "none"))
    steps = []
    for name in [path] + parts:
        with h5py.File(name, "r") as f:
            steps += list(f["particles/trajectory/position/step"][:])
    check(np.array_equal(steps, 5 * np.arange(n + 11)), "all frames again, each once (%d)" % len(steps))


def main():
    cases = {"rules": case_rules, "reader": case_reader, "newest": case_newest, "live": case_live}
    if len(sys.argv) == 3 and sys.argv[1] == "read":
        case_read(sys.argv[2])
    if len(sys.argv) != 2 or sys.argv[1] not in cases:
        sys.exit(__doc__)
    if sys.argv[1] != "newest":
        try:
            import h5py, numpy
        except ImportError as error:
            print("skipped: %s (Debian, Ubuntu: apt-get install python3-mdanalysis python3-h5py)" % error)
            sys.exit(77)
    with tempfile.TemporaryDirectory(prefix="mds_h5md_") as work:
        cases[sys.argv[1]](work)
        end()


main()
