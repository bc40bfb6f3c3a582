# SPDX-License-Identifier: Apache-2.0
# Shared by the tests of this directory: running mdsim in a directory of its own, and small systems as text.
import json, os, shutil, struct, subprocess, sys, tempfile

mdsim = os.environ["MDSIM"]
source = os.environ["MDS_SOURCE"]
slow = float(os.environ.get("MDS_SLOW", 1)) # how many times as long this build may take (sanitizers)
failures = 0


def check(ok, what, detail=""):
    """Report one claim; what was seen comes along when it does not hold."""
    global failures
    if not ok:
        failures += 1
    print(("ok      " if ok else "FAILED  ") + what + ("" if ok else "\n        " + str(detail).replace("\n", "\n        ")), flush=True)


def run(*words, cwd=None, env=None, timeout=250, **kw):
    more = dict(os.environ, **(env or {}))
    return subprocess.run([mdsim] + [str(w) for w in words], capture_output=True, text=True, cwd=cwd, env=more, timeout=timeout * slow, **kw)


def expect(code, texts, *words, **kw):
    """mdsim with these words must end with `code` and say each of `texts` (standard output and error together)."""
    p = run(*words, **kw)
    said = p.stdout + p.stderr
    missing = [t for t in ([texts] if isinstance(texts, str) else texts) if t not in said]
    check(p.returncode == code and not missing, "%s: exit code %d%s" % (" ".join(str(w) for w in words) or "(no words)", code, ", says so" if texts else ""),
          "exit code %d, lacks %s:\n%s" % (p.returncode, missing, said[-1500:]))
    return p


def write(path, text):
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    with open(path, "w") as f:
        f.write(text)
    return path


def conf(path, more="", **groups):
    """A conf; groups as run={"steps": 10}: values are libconfig text or plain Python."""
    def text(v):
        if isinstance(v, bool):
            return "true" if v else "false"
        if isinstance(v, str):
            return '"%s"' % v
        if isinstance(v, (list, tuple)):
            return "[%s]" % ", ".join(text(x) for x in v)
        return repr(v)
    return write(path, "".join("%s = { %s };\n" % (g, " ".join("%s = %s;" % (k, text(v)) for k, v in keys.items())) for g, keys in groups.items()) + more)


ARGON = """[ defaults ]
1 2 no 1 1
[ atomtypes ]
AR 18 39.948 0.0 A 0.34 0.997
[ moleculetype ]
AR 1
[ atoms ]
1 AR 1 ARG AR 1 0.0 39.948
%s
[ system ]
argon
[ molecules ]
AR %d
"""


def argon_top(path, n, more=""):
    return write(path, ARGON % (more, n))


def gro(path, x, box, names=None, digits=3):
    """names: (residue number, residue, atom) of each atom; argon if not given."""
    lines = ["made", "%5d" % len(x)]
    for i, p in enumerate(x):
        number, residue, atom = names[i] if names else (i + 1, "ARG", "AR")
        lines.append("%5d%-5s%5s%5d" % (number % 100000, residue, atom, (i + 1) % 100000) + "".join("%*.*f" % (digits + 5, digits, c) if isinstance(c, float) else "%*s" % (digits + 5, c) for c in p))
    lines.append("".join("%10.5f" % b for b in box))
    return write(path, "\n".join(lines) + "\n")


def read_gro(path):
    """names, positions, box of a .gro."""
    lines = open(path).read().split("\n")
    n = int(lines[1])
    names, x = [], []
    first = lines[2]
    dot = first.index(".")
    width = first.index(".", dot + 1) - dot
    for line in lines[2:2 + n]:
        names.append((int(line[:5]), line[5:10].strip(), line[10:15].strip()))
        x.append([float(line[20 + k * width:20 + (k + 1) * width]) for k in range(3)])
    return names, x, [float(w) for w in lines[2 + n].split()]


def lattice(m, edge, jitter=0.0, seed=1):
    import random
    r = random.Random(seed)
    a = edge / m
    return [[(i + 0.5) * a + r.uniform(-jitter, jitter), (j + 0.5) * a + r.uniform(-jitter, jitter), (k + 0.5) * a + r.uniform(-jitter, jitter)]
            for i in range(m) for j in range(m) for k in range(m)]


def series(path):
    """Columns of run.csv by name, as numbers."""
    rows = [line.split(",") for line in open(path).read().strip().split("\n")]
    return {name: [float(r[k]) for r in rows[1:]] for k, name in enumerate(rows[0])}


def state(path):
    """x and v of a checkpoint: the last 2 * 24 N bytes before the checksum of 32."""
    data = open(path, "rb").read()
    n = struct.unpack("<i", data[24:28])[0]
    return struct.unpack("<%dd" % (6 * n), data[-32 - 48 * n:-32])


def energy(*words, **kw):
    p = run("energy", *words, "--json", "-", "--quiet", **kw)
    if p.returncode:
        raise RuntimeError("mdsim energy %s: %d: %s" % (words, p.returncode, p.stderr))
    return json.loads(p.stdout)


def main(cases):
    """Run the case named on the command line, in a directory of its own."""
    work = tempfile.mkdtemp(prefix="mds_cli_")
    old = os.getcwd()
    os.chdir(work)
    try:
        cases[sys.argv[1]]()
    finally:
        os.chdir(old)
        shutil.rmtree(work, ignore_errors=True)
    print("%d failed" % failures)
    sys.exit(1 if failures else 0)
