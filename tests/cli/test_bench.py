#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""mdsim bench: what it prints, writes and refuses.

usage: test_bench.py CASE
  schema      JSON of cases that are really run: the contract's names and types, numbers that follow from each other, stages
              that add up to a step; --json - leaves standard output to the JSON
  work        a block has the steps asked for, and they take the time that is reported; NVE long enough has a drift
  input       an input file as a case; nothing beside the files asked for is written
  refused     wrong words: 64, with what is wrong; inputs without a speed: 65
  compare     against an earlier result: faster, slower, another size is no match; damaged files are refused with their byte
  page        HTML: no scripts, well-formed charts with every case, names cannot break out
  calibrate   the planner's file predicts the cases that it was made from
  queued      a backend whose stages are only queued (the emulated GPU): blocks are timed, what the host cannot know is null
"""
import html.parser, json, os, re, time, xml.etree.ElementTree as xml
from program import *

FIXED = ["--set", "backend.tune=fixed"]
FAST = FIXED + ["--seconds", "0.2", "--repeats", "3"]

# contract.md, bench --json: name -> types; None: null is allowed
CONTRACT = {"case": (str,), "n_atoms": (int,), "backend": (str,), "device": (str,), "threads": (int,), "ranks": (int,), "dt_fs": (int, float),
            "ms_per_step": (int, float), "ns_per_day": (int, float), "core_ns_per_atom_step": (int, float), "force_error": (int, float, type(None)),
            "drift_kj_mol_ns_atom": (int, float, type(None)), "stages": (dict,), "energy_wh_per_ns": (int, float, type(None)), "version": (str,), "date": (str,)}


def bench(*words, **kw):
    p = run("bench", *words, "--json", "-", "--quiet", **kw)
    if p.returncode:
        raise RuntimeError("mdsim bench %s: %d: %s" % (words, p.returncode, p.stderr))
    return json.loads(p.stdout)


def near(a, b, relative):
    return abs(a - b) <= relative * abs(b)


def case_schema():
    cases = bench("--sizes", "3000,1500", "--stages", *FAST)
    check([c["n_atoms"] for c in cases] == [1500, 3000], "sizes in ascending order", cases)
    for c in cases:
        wrong = [k for k, t in CONTRACT.items() if k not in c or type(c[k]) not in t]
        check(not wrong, "%s: names and types of the contract" % c["case"], wrong)
        check(c["backend"] == "cpu" and c["ranks"] == 1 and c["dt_fs"] == 2 and c["threads"] >= 1 and c["version"] and re.fullmatch(r"\d{4}-\d\d-\d\d", c["date"]),
              "%s: facts" % c["case"], c)
        # eight digits are written
        check(near(c["ns_per_day"], 86.4 * c["dt_fs"] / c["ms_per_step"], 1e-6), "ns/day follows from ms/step", c)
        check(near(c["core_ns_per_atom_step"], 1e6 * c["ms_per_step"] * c["threads"] / c["n_atoms"], 1e-6), "core-ns follow", c)
        total = sum(v for k, v in c["stages"].items() if k != "prune")  # pruning happens inside pair
        # what is between the stages is a loop and two clock readings each; the median is not the mean: a third on a crowded machine
        check(0.67 * c["ms_per_step"] < total < 1.05 * c["ms_per_step"], "stages add up to a step", (total, c))
        check(set(c["stages"]) >= {"pair", "search", "mesh spread", "mesh fft", "mesh gather", "move"} and min(c["stages"].values()) > 0, "every stage is timed", c["stages"])
        check(0 < c["force_error"] <= 0.5 and c["force_error_basis"] == "estimated", "the estimated error meets the default target", c)
        check(c["drift_kj_mol_ns_atom"] is None, "no drift from a fraction of a picosecond", c)
        check((c["energy_wh_per_ns"] is None) == (not readable_power()), "energy only where it is counted", c)
        check(c["ms_per_step_best"] <= c["ms_per_step"] and c["spread"] >= 0 and c["peak_memory_bytes"] > 1e6 and c["setup_s"] > 0 and c["first_step_s"] > 0, "further numbers", c)
        k = c["kernels"]
        # water at 0.9 nm has 0.5 * 4/3 pi 0.9^3 * 100 = 153 pairs an atom, 2 of them excluded; a slot may hold one pair or none
        check(100 < k["slots_per_atom"] < 1000 and 140 < k["slots_per_atom"] * k["efficiency"] < 165, "pairs counted are those of water", k)
        check(k["cycles_per_useful_pair"] * k["efficiency"] > 0 and near(k["cycles_per_useful_pair"] * k["efficiency"], k["cycles_per_slot"], 1e-6), "cycles a pair and a slot", k)
    p = run("bench", "--sizes", "1500", "--json", "out.json", *FAST)
    check(p.returncode == 0 and "water-1500" in p.stdout and "ns/day" in p.stdout and json.load(open("out.json"))[0]["case"] == "water-1500", "table on standard output beside a JSON file", p.stdout + p.stderr)
    p = run("bench", "--sizes", "1500", "--stages", *FAST)
    check(p.returncode == 0 and all(w in p.stdout for w in ("mesh fft", "a useful pair", "constraints and update", "search, amortised", "core cycles")), "--stages prints kernel figures", p.stdout + p.stderr)


def readable_power():
    root = "/sys/class/powercap"
    return any(re.fullmatch(r"intel-rapl:\d+", z) and os.access(os.path.join(root, z, "energy_uj"), os.R_OK) for z in (os.listdir(root) if os.path.isdir(root) else []))


def case_work():
    began = time.time()
    c = bench("--system", "argon", "--sizes", "500", "--steps", "1100", "--repeats", "5", "--set", "output.energy_every=50", *FIXED)[0]
    took = time.time() - began
    check(c["steps"] == 1100 and c["repeats"] == 5 and c["n_atoms"] == 500 and c["dt_fs"] == 4, "the steps asked for", c)
    check(took > 5 * 1100 * c["ms_per_step_best"] / 1000, "take the time that is reported (%.2f s)" % took, c)
    # 22 ps of NVE. The slope of a fluctuating energy is not exactly 0, and a simulation that gains 10 kJ/mol/ns an atom (40 times its
    # heat in a ns) is broken
    check(c["drift_kj_mol_ns_atom"] is not None and 0 < abs(c["drift_kj_mol_ns_atom"]) < 10, "NVE long enough has a drift", c)
    check(c["force_error"] is None and "mesh fft" not in c["stages"], "no mesh, no mesh error", c)
    c = bench("--system", "argon", "--sizes", "500", "--steps", "1100", "--repeats", "5", "--set", "output.energy_every=50", "--set", "thermostat.kind=v-rescale", *FIXED)[0]
    check(c["drift_kj_mol_ns_atom"] is None, "with a thermostat there is none", c)


def case_input():
    n = 500
    argon_top("in/a.top", n)
    gro("in/a.gro", lattice(8, 3.0)[:n], [3.0, 3.0, 3.0])
    conf("in/a.conf", system={"topology": "a.top", "coordinates": "a.gro"}, run={"steps": 10}, nonbonded={"cutoff": 0.8, "coulomb": "none"})
    before = sorted(os.listdir("in"))
    c = bench("in/a.conf", *FAST)
    check(len(c) == 1 and c[0]["case"] == "a" and c[0]["n_atoms"] == n, "an input is a case of its name", c)
    c = bench("--system", "in/a.conf", "--set", "run.dt=0.001", *FAST)
    check(c[0]["dt_fs"] == 1, "--system takes an input too, and --set reaches it", c)
    check(sorted(os.listdir("in")) == before and os.listdir(".") == ["in"], "nothing is written", os.listdir("in") + os.listdir("."))


def case_refused():
    expect(64, "abc", "bench", "--sizes", "abc")
    expect(64, "comma", "bench", "--sizes", "3k,")
    expect(64, "not a number of atoms", "bench", "--sizes", "-5")
    expect(64, "not a number of atoms", "bench", "--sizes", "1e30")
    expect(64, "--nonsense", "bench", "--nonsense")
    expect(64, "needs a value", "bench", "--json")
    expect(64, "own size", "bench", "x.conf", "--sizes", "3k")
    expect(64, "one word too many", "bench", "x.conf", "y.conf")
    expect(64, "--calibrate", "bench", "x.conf", "--calibrate")
    expect(64, "two sizes", "bench", "--calibrate", "--sizes", "3k")
    expect(64, "--instance", "bench", "--instance", "$(id)")
    expect(64, "--seconds", "bench", "--seconds", "fast")
    expect(66, "x.conf", "bench", "x.conf")
    expect(65, ["vodka", "water"], "bench", "--system", "vodka", "--sizes", "3k")
    expect(65, "water", "bench", "--system", '";x', "--sizes", "3k")
    expect(65, "minimis", "bench", "--sizes", "1500", "--set", "run.integrator=minimize")
    expect(65, "nonbonded.cutof", "bench", "--sizes", "1500", "--set", "nonbonded.cutof=1")
    expect(74, "cannot write", "bench", "--sizes", "500", "--json", "/nowhere/x.json", "--set", "nonbonded.cutoff=0.6", "--set", "pme.force_error=20", *FAST)


def case_compare():
    words = ["--system", "argon", "--sizes", "500,1000"] + FAST
    old = bench(*words)
    for c in old:
        c["ms_per_step"] *= 100  # whatever the machine does meanwhile: two threads that share a core with others have taken ten times as long
        c["spread"] = 0.01
    old[1]["n_atoms"] += 4
    old.append(dict(old[0], case="something else", extra={"deep": [1, {"x": "]}"}, None, True]}))
    write("old.json", json.dumps(old))
    p = run("bench", *words, "--compare", "old.json")
    lines = [l for l in p.stdout.split("against old.json")[-1].split("\n") if l.startswith("argon-")]
    check(p.returncode == 0 and len(lines) == 1 and lines[0].startswith("argon-500") and "faster" in lines[0] and float(lines[0].split()[5]) > 2, "a hundred times faster; another size is no match", p.stdout + p.stderr)
    old[0]["ms_per_step"] /= 1e4
    write("old.json", json.dumps(old, indent=1))
    for _ in range(5):  # blocks of so small a case can spread by more than their median while others use the machine: no verdict then
        p = run("bench", *words, "--compare", "old.json")
        if p.returncode or "within the spread" not in p.stdout:
            break
    check(p.returncode == 0 and "slower" in p.stdout, "a thousand times slower", p.stdout + p.stderr)
    good = json.dumps(old)
    for text, what in (("", "empty"), (good[:-10], "cut"), ("{}", "no array"), ("[1]", "no cases"), ('[{"case": 5}]', "a name that is a number"), ("[" * 5000, "deep"),
                       ('[{"a":' + "[" * 5000, "deep inside"), (good + "x", "something after it"), ('[{"case": "a"}]', "without time"), ('[{"case": "a\n"}]', "a raw newline")):
        write("bad.json", text)
        p = run("bench", *words, "--compare", "bad.json")
        check(p.returncode == 65 and "bad.json: byte" in p.stderr, "%s: refused with its byte" % what, (p.returncode, p.stderr[-300:]))
    expect(66, "none.json", "bench", *words, "--compare", "none.json")


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.text = [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text.append(data)


def case_page():
    name = "a<script>alert(1)<!-- &\"'.conf"
    argon_top("a.top", 500)
    gro("a.gro", lattice(8, 3.0)[:500], [3.0, 3.0, 3.0])
    conf(name, system={"topology": "a.top", "coordinates": "a.gro"}, run={"steps": 10}, nonbonded={"cutoff": 0.8, "coulomb": "none"})
    p = run("bench", name, "--html", "hostile.html", "--price-per-hour", "1.5", *FAST)
    text = open("hostile.html").read()
    page = Page()
    page.feed(text)
    check(p.returncode == 0 and not [t for t in page.tags if t[0] == "script"] and "<!--" not in text, "a hostile name stays text", text[:500])
    check(name[:-5] in "".join(page.text), "and is shown as it is", "".join(page.text)[:800])
    p = run("bench", "--sizes", "1500,3000", "--html", "p.html", "--price-per-hour", "2.4", "--json", "p.json", *FAST)
    text = open("p.html").read()
    page = Page()
    page.feed(text)
    check(p.returncode == 0 and not [t for t in page.tags if t[0] in ("script", "link", "iframe", "img") or any(k.startswith("on") or k in ("src", "href") for k in t[1])],
          "no scripts, no outside files", page.tags)
    charts = [xml.fromstring(s) for s in re.findall(r"<svg.*?</svg>", text, re.S)]
    check([c.get("aria-label") for c in charts] == ["Speed", "Time of a core for an atom and step", "Cost of a nanosecond", "stages"], "charts", [c.get("aria-label") for c in charts])
    for chart in charts[:3]:
        points = chart.findall("circle")
        check(len(points) == 2 and float(points[0].get("cx")) < float(points[1].get("cx")), "a point a case, by size", text)
        box = [float(v) for v in chart.get("viewBox").split()]
        check(all(0 < float(c.get("cx")) < box[2] and 0 < float(c.get("cy")) < box[3] for c in points), "inside of the chart", text)
    speeds = [c["ns_per_day"] for c in json.load(open("p.json"))]
    check(all("%.3f" % s in text and "%.4g" % (24 * 2.4 / s) in text for s in speeds), "the numbers of the JSON, and their cost", speeds)
    p = run("bench", "--sizes", "1500", "--html", "q.html", *FAST)
    check("USD" not in open("q.html").read(), "no price, no cost", "")


def group(text, name):
    return re.search(name + r"\s*=\s*\{(.*?)\};", text, re.S).group(1)


def numbers(text):
    return {k: float(v) for k, v in re.findall(r"(\w+) = ([-+.\de]+);", text)}


def case_calibrate():
    p = run("bench", "--calibrate", "--calibration", "c.conf", "--sizes", "1500,3000,6000", "--instance", "c7a.large", *FAST)
    check(p.returncode == 0 and "c.conf" in p.stderr, "written", p.stderr)
    text = open("c.conf").read()
    machine = numbers(group(text, "machine"))
    check(machine["threads"] >= 1 and 0.3 < machine["clock_ghz"] < 8 and 'instance = "c7a.large"' in text, "machine", group(text, "machine"))
    cases = [dict(numbers(c.split("stages")[0]), stages=numbers(c.split("stages")[1])) for c in re.search(r"cases = \((.*?)\n\);", text, re.S).group(1).split("{ system")[1:]]
    costs = [(re.search(r'stage = "(\w+)"', c).group(1), re.search(r'work = "(\w+)"', c).group(1), numbers(c)) for c in re.search(r"costs = \((.*?)\n\);", text, re.S).group(1).split("\n") if "stage" in c]
    check([c["atoms"] for c in cases] == [1500, 3000, 6000] and {"pair", "search", "spread", "fft", "gather", "move", "other"} <= {s for s, _, _ in costs}, "cases and costs", text)
    for stage, work, cost in costs:
        for c in cases:
            told = 1e-3 * cost["fixed_us"] + 1e-6 * cost["ns"] * c[work]
            # `error` is the largest deviation of a case, written to 17 digits
            check(cost["ns"] > 0 and cost["fixed_us"] >= 0 and abs(told / c["stages"][stage] - 1) <= cost["error"] + 1e-9, "%s of %d atoms within its stated error" % (stage, c["atoms"]), (told, c, cost))
    for c in cases:
        # stages are the parts of a step
        check(near(sum(c["stages"].values()), c["ms_per_step"], 1e-6), "stages of a case add up to its step", c)
    p = run("bench", "--calibrate", "--sizes", "1500,3000", *FAST, env={"XDG_CACHE_HOME": os.getcwd() + "/cache"})
    check(p.returncode == 0 and os.path.exists("cache/mdsim/calibration.conf"), "the cache directory is its usual place", p.stderr)


def case_queued():
    import program

    program.mdsim = os.path.join(os.environ["MDS_BUILD"], "tests", "emu", "mdsim_emu")
    if not os.path.exists(program.mdsim):
        print("skipped: no emulated GPU backend in this build")
        sys.exit(77)
    words = ["bench", "--system", "argon", "--sizes", "500", "--set", "backend.kind=emu", "--set", "run.list_interval=4", "--steps", "8", "--repeats", "2",
             "--seconds", "0.01", *FIXED]
    began = time.time()
    p = run(*words, "--json", "-")
    wall = time.time() - began
    c = json.loads(p.stdout)[0] if p.returncode == 0 else {}
    check(p.returncode == 0 and c["backend"] == "emu" and "emulation" in c["device"], "the device is the one that computed", (p.stdout, p.stderr))
    # 16 timed steps take all but set-up and some steps before; a clock that does not wait would find next to nothing
    check(0 < 16e-3 * c["ms_per_step"] < wall and c["ms_per_step"] > 0.1, "the blocks are waited for", (c, wall))
    null = [c["core_ns_per_atom_step"], c["clock_ghz"], c["kernels"]["whole_step"], c["kernels"]["peak_gflops"], c["kernels"]["roofline"]]
    check(c["stages"] == {} and null == [None] * len(null), "no stage, no core time, no clock", c)
    check(c["kernels"]["slots_per_atom"] > 0 and c["ns_per_day"] > 0, "what is known is told", c)
    p = run(*words, "--stages", "--html", "page.html")
    check(p.returncode == 0 and "not timed" in p.stdout and "cycles" not in p.stdout and "nan" not in p.stdout, "the table says so", p.stdout + p.stderr)
    page = open("page.html").read()
    check("nan" not in page and "Stages of" not in page and "core clock" not in page, "nor does the page show any", page)
    p = run("bench", "--calibrate", "--sizes", "500,600", "--set", "backend.kind=emu", "--set", "nonbonded.coulomb=none", "--set", "nonbonded.cutoff=0.5",
            "--steps", "2", "--repeats", "1", "--seconds", "0.01", *FIXED)
    check(p.returncode == 78 and "time of each stage" in p.stderr, "a calibration is refused", p.stderr)


main({k[5:]: f for k, f in globals().items() if k.startswith("case_")})
