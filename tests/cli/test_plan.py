#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""mdsim plan as its users meet it.

usage: test_plan.py CASE, one of
  request      words and units, limits, wrong words; the keys of the JSON; a conf; --atoms answers in time
  prices       our own layout, dates and ages, duplicates, what is refused and what --force takes; no row's notes matter
  skypilot     a SkyPilot catalogue as it is: zones, accelerators priced apart, shares of a GPU
  hostile      texts of a price file stay texts: table, JSON, SVG, page
  calibration  measured, between two sizes, scaled, design estimate: their intervals
"""
import csv, json, os, re, resource, shutil, subprocess
import xml.etree.ElementTree as ET

from program import check, conf, expect, main, mdsim, run, source, write

CLOUD = os.path.join(source, "cloud")
OPTION = ["rank", "provider", "region", "instance", "gpu", "gpus_used", "runs_per_gpu", "ranks", "ns_per_day", "ns_per_day_low", "ns_per_day_high", "basis",
          "price_kind", "usd_per_h", "usd_per_us", "hours", "usd_total", "wh_per_ns", "memory_gib", "meets"]
HEADER = "instance,on_demand_usd_h,region,gpu,gpus,gpu_memory_gib,vcpus,cores,memory_gib,spot_low_usd_h,spot_high_usd_h,gpu_part_on_demand_usd_h,gpu_part_spot_usd_h,as_of\n"
AWAY = {"XDG_CACHE_HOME": os.path.abspath("no-cache"), "MDSIM_CLOUD": ""}  # no calibration of whoever runs this


def plan(*words, **kw):
    p = run("plan", *words, "--json", "-", env=AWAY, **kw)
    if p.returncode:
        raise RuntimeError("mdsim plan %s: %d: %s" % (words, p.returncode, p.stderr))
    return json.loads(p.stdout)


def option(answer, instance, kind="on-demand", region=None):
    found = [o for o in answer["options"] if o["instance"] == instance and o["price_kind"] == kind and region in (None, o["region"])]
    return found[0] if found else None


def reasons(answer, instance):
    return [r["reason"] for r in answer["refused"] if r["instance"] == instance]


def near(a, b, tolerance=1e-6):
    return abs(a - b) <= tolerance * abs(b)  # the JSON has eight digits


def request():
    a = plan("--atoms", "92224", "--dt", "4fs", "--length", "1us", "--ns-per-day", "100", "--max-price", "5", "--spot", "--reserved", "0.3", "--as-of", "2026-11-30")
    check(a["prices_as_of"] == "2026-11-30" and a["options"] and a["refused"], "a plan has its date, options and refusals")
    missing = [(o["rank"], k) for o in a["options"] for k in OPTION if k not in o]
    check(not missing, "every option has the keys that other programs rely on", missing[:5])
    check(all(set(r) >= {"provider", "instance", "reason"} and r["reason"] for r in a["refused"]), "every refused row has its reason")
    check({o["basis"] for o in a["options"]} <= {"measured", "scaled", "modelled"} and {o["price_kind"] for o in a["options"]} == {"on-demand", "spot", "reserved"}, "words of basis and price")
    check(a["gpu_engine"] is (" cuda" in run("info").stdout) and all(o["basis"] == "modelled" and near(o["ns_per_day_high"] / o["ns_per_day"], 3) for o in a["options"] if o["gpus_used"]), "GPU speeds are design estimates with x/: 3")
    check(any(o["gpu"] is None and o["gpus_used"] == 0 for o in a["options"]) and any(o["gpu"] for o in a["options"]), "CPU and GPU machines stand together")
    for o in a["options"]:
        if o["price_kind"] == "on-demand" and not near(o["usd_total"], o["hours"] * o["usd_per_h"]) or not near(o["hours"], 24000 / o["ns_per_day"] * (a["answers"]["spot_time_factor"] if o["price_kind"] == "spot" else 1)):
            check(False, "hours and dollars of #%d follow from speed and price" % o["rank"], o)
    t4 = option(a, "g4dn.xlarge")
    check(near(t4["wh_per_ns"], 70 * 24 / t4["ns_per_day"]), "energy is the GPU at its power limit", t4)  # 70 W: gpus.csv
    check(option(a, "gpu_1x_gh200")["wh_per_ns"] is None, "no energy where the power limit was not read")
    check(near(option(a, "g4dn.xlarge", "reserved")["usd_per_h"], 0.7 * 0.526), "a reserved price has the discount that was given")
    check(near(a["answers"]["trajectory_gb"], (250e6 / 5000 + 1) * (12 * 92224 + 100) / 1e9), "trajectory data", a["answers"]["trajectory_gb"])  # 1 us of 4 fs, every 5000 steps
    check(any(s["provider"] == "aws" and s["class"] == "standard" and near(s["usd_per_month"], 0.023 * a["answers"]["trajectory_gb"]) for s in a["answers"]["storage"]), "a month of storage")
    said = run("plan", "--atoms", "92224", "--spot", "--length", "1us", env=AWAY).stdout
    for text in ("the speeds of all", "design estimate", "126 rows, 90 with GPUs and 36 of CPUs alone", "5 of them dated", "cheapest that meets", "fastest that meets", "compute need", "memory and data",
                 "security", "cost sensitivity", "output.checkpoint_minutes = ", "undated or older than 180 days", "refused:"):
        check(text in said, "the table says: " + text, said[:3000])
    check(not [o for o in plan("--atoms", "92224")["options"] if o["price_kind"] == "spot"], "no spot unless it is allowed")
    fewer = [o for o in plan("--atoms", "2k")["options"] if o["note"] and "would be slower" in o["note"]]
    check(any(o["gpus_used"] == 1 and o["gpus_in_machine"] == 8 for o in fewer) and any(o["gpu"] is None for o in fewer), "fewer GPUs and cores than there are, where more are slower")
    nve, nvt, npt = (option(plan("--atoms", "24k", "--ensemble", e), "g4dn.xlarge")["ns_per_day"] for e in ("nve", "nvt", "npt"))
    check(nve > nvt > npt > 0.9 * nve, "couplings cost a few per cent", (nve, nvt, npt))
    packed = plan("--atoms", "24k", "--replicas", "8", "--device", "gpu")["options"]
    check(any(o["runs_per_gpu"] > 1 and o["runs"] > o["gpus_used"] for o in packed), "several runs are packed on a GPU")
    check(all(o["provider"] == "aws" and o["region"].startswith("us-east") for o in plan("--atoms", "24k", "--provider", "aws", "--only-regions", "us-east-*")["options"]), "provider and regions are kept to")
    check(any(o["ranks"] > 1 for o in plan("--atoms", "5M")["options"]) and all(o["ranks"] == 1 for o in plan("--atoms", "5M", "--ranks", "1")["options"]), "--ranks limits the GPUs of one run")
    check(all(o["gpu"] is None for o in plan("--atoms", "24k", "--device", "cpu")["options"]), "--device cpu keeps to CPUs")
    check(all(o["provider"] != "lambda" for o in plan("--atoms", "24k", "--security", "private")["options"]), "--security private refuses what does not give it")
    big = plan("--atoms", "60M", "--only-regions", "us-east-1")
    check(any("GiB of GPU memory" in r for r in reasons(big, "g4dn.xlarge")), "too little memory is a reason", reasons(big, "g4dn.xlarge"))
    for words, text in ((["--atoms", "0"], "above 0"), (["--atoms", "many"], "no number"), (["--atoms", "5x"], "unknown unit; known are: k, K, M"), ([], "give an input file or --atoms"), (["a.conf", "--atoms", "5"], "not both"),
                        (["--atoms", "1k", "--budget", "5"], "--length"), (["--atoms", "1k", "--spto"], "option --spto"), (["--atoms", "1k", "--provider", "asw"], "no prices of a provider 'asw'"),
                        (["--atoms", "1k", "--as-of", "soon"], "--as-of: 'soon'"), (["--atoms", "1k", "--prices", "aws"], "PROVIDER=FILE"), (["--atoms", "1k", "--objective", "best"], "none of its words: cheapest, fastest"),
                        (["--atoms", "1k", "--replicas", "1.5"], "whole number"), (["--atoms"], "needs a value"), (["--atoms", "1k", "--reserved", "2"], "discount"),
                        (["--atoms", "1k", "--length", "1us", "--budget", "0"], "--budget: must be above 0"), (["--atoms", "1k", "--length", "0"], "above 0"), (["--atoms", "1k", "--reserved", "40%"], "'%' stands behind"),
                        (["--atoms", "1k", "--only-regions", "us-*,mars"], "no prices of a region 'mars'"), (["--atoms", "1k", "--plot", "x.png"], "FILE.html or FILE.svg")):
        expect(64, text, "plan", *words)
    expect(66, "nope.csv", "plan", "--atoms", "1k", "--prices", "aws=nope.csv")
    expect(66, "nope/gpus.csv", "plan", "--atoms", "1k", "--tables", "nope")
    expect(74, "/dev/full", "plan", "--atoms", "1k", "--json", "/dev/full")
    expect(0, ["--ns-per-day", "--max-price", "--spot", "--prices"], "plan", "--help")
    conf("a.conf", system={"generate": "water", "atoms": 3000}, run={"steps": 500000, "dt": 0.004}, output={"trajectory_every": 1000, "velocities": True})
    b = plan("a.conf")
    check(b["request"]["atoms"] == 3000 and b["request"]["dt_fs"] == 4 and near(b["request"]["length_ns"], 2) and b["request"]["mesh_order"] > 3 and b["request"]["mesh_points"] > 500 and b["request"]["force_error"] <= 0.5,
          "a conf says what is to be run", b["request"])
    check(near(b["answers"]["trajectory_gb"], 501 * (24 * 3000 + 100) / 1e9), "frames and velocities of the conf", b["answers"]["trajectory_gb"])
    check(plan("a.conf", "--set", "run.dt=0.002")["request"]["dt_fs"] == 2, "--set reaches the conf")
    best = min(timed() for _ in range(10))
    with open(mdsim, "rb") as f:
        slow = b"__asan_init" in f.read()  # sanitizers take ten times as long
    check(best < (0.5 if slow else 0.05), "--atoms answers within 50 ms", best)


def timed():
    """Processor seconds, of both starts of the program: on a busy machine the clock would time the neighbours."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([mdsim, "plan", "--atoms", "92k", "--ns-per-day", "100"], stdout=subprocess.DEVNULL, env=dict(os.environ, **AWAY))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def table(path, *rows):
    return write(path, HEADER + "".join(r + "\n" for r in rows))


def with_prices(path, *words):
    return plan("--atoms", "24k", "--length", "100ns", "--as-of", "2026-11-30", "--prices", "here=" + path, "--provider", "here", *words)


def prices():
    table("p.csv", "old,1,r,L40S,1,48,8,4,64,,,,,2026-01-01", "fresh,1,r,L40S,1,48,8,4,64,,,,,2026-11-01", "none,1,r,L40S,1,48,8,4,64,,,,,",
          "twice,2,r,L40S,1,48,8,4,64,,,,,2026-10-01", "twice,3,r,L40S,1,48,8,4,64,,,,,2026-11-20", "twice,1,r,L40S,1,48,8,4,64,,,,,", "later,1,r,L40S,1,48,8,4,64,,,,,2026-12-24",
          "cheap,0.5,r,L40S,1,48,8,4,64,,,,,2026-11-01", "edge,0.61,r,L40S,1,48,8,4,64,,,,,2026-11-01", "parts,2,r,L40S,1,48,8,4,64,1,1,0.8,0.9,2026-11-01", "rest,2,r,L40S,1,48,8,4,64,1.5,1.5,1.6,0.9,2026-11-01",
          "upside,1,r,L40S,1,48,8,4,64,1.1,1.2,,,2026-11-01", "twelve,12,r,L40S,12,48,96,48,640,,,,,2026-11-01", "third,0.5,r,L40S,0.333,16,8,4,64,,,,,2026-11-01", "free,0,r,L40S,1,48,8,4,64,,,,,2026-11-01",
          "odd,1,r,Voodoo,1,48,8,4,64,,,,,2026-11-01", "priceless,,r,L40S,1,48,8,4,64,,,,,2026-11-01", "band,2,r,L40S,1,48,8,4,64,0.6,1.4,,,2026-11-01")
    a = with_prices("p.csv", "--spot")
    check(option(plan("--atoms", "24k", "--prices", "HERE=p.csv", "--provider", "Here"), "fresh")["provider"] == "here", "case does not count in a provider's name")
    wanted = {"cheap": "below 0.6", "parts": "its GPU part costs less on demand than on spot", "rest": "the part without GPUs costs less", "upside": "the machine costs less", "twelve": "12 GPUs", "third": "0.333 of a GPU",
              "free": "a price of $0", "odd": "no hardware facts about a GPU 'Voodoo'", "priceless": "no price read", "later": "after the day of the plan"}
    for instance, text in wanted.items():
        check(any(text in r for r in reasons(a, instance)) and not option(a, instance), "%s is refused: %s" % (instance, text), reasons(a, instance))
    check(option(a, "edge") is not None, "0.61 of the median is believed")
    check(len([o for o in a["options"] if o["instance"] == "twice" and o["price_kind"] == "on-demand"]) == 1 and option(a, "twice")["usd_per_h"] == 3, "of duplicates the newest dated counts", option(a, "twice"))
    for instance, wide, word in (("old", 1.5, "older than 180 days"), ("none", 1.5, "undated"), ("fresh", 1.0, None)):
        o = option(a, instance)
        check(near(o["usd_per_h_high"], wide * o["usd_per_h"]) and near(o["usd_per_h_low"] * wide, o["usd_per_h"]) and o["price_warning"] == word, "%s: age warns and widens, and refuses nothing" % instance, o)
    check(option(with_prices("p.csv", "--prices-as-of", "2026-11-29"), "none")["price_warning"] is None, "--prices-as-of dates a file")
    check(option(with_prices("p.csv", "--as-of", "2026-12-25"), "later") is not None, "on a later day the later price is known")
    forced = with_prices("p.csv", "--force")
    for instance in ("cheap", "parts", "rest", "upside", "twelve", "third"):
        o = option(forced, instance)
        check(o is not None and o["note"].startswith("FORCED: "), "--force takes %s and says why not to" % instance, o)
    limited = with_prices("p.csv", "--spot", "--max-price", "1")
    o = option(limited, "band", "spot")
    check(o is not None and not o["meets"] and "up to $1.40" in o["reason"] and o["usd_per_h"] == 1.4, "the high end of a spot band decides", o)
    check(any("above $1.00" in r for r in reasons(limited, "twice")), "a price above the limit is refused")
    seeds = [r for r in plan("--atoms", "24k")["refused"] if r["instance"].startswith("seed-price")]
    check(sorted(r["provider"] for r in seeds) == ["alibaba", "aws", "gcp", "tencent"] and all("2023" in r["reason"] for r in seeds), "seed prices are listed and refused", seeds)
    check(any(o["provider"] == "tencent" and o["note"].startswith("FORCED") for o in plan("--atoms", "24k", "--force")["options"]), "seed prices can be forced")
    # the built-in tables without their notes: the same two rows, by themselves
    shutil.copytree(CLOUD, "tables")
    with open(os.path.join(CLOUD, "instances.csv"), newline="") as f:
        rows = list(csv.DictReader(f))
    with open("tables/instances.csv", "w", newline="") as f:
        out = csv.DictWriter(f, rows[0].keys())
        out.writeheader()
        out.writerows([dict(r, notes="", facts_source="") for r in rows])
    bare = plan("--atoms", "24k", "--tables", "tables")
    doubted = sorted((r["region"], r["instance"]) for r in bare["refused"] if "not believed" in r["reason"] and r["instance"] != "accelerator" and not r["instance"].startswith("seed"))
    check(doubted == [("us-central1", "a2-ultragpu-1g"), ("us-central1", "a3-highgpu-8g")], "the two wrong rows, without a look at the notes", doubted)
    check(all(r["source"] and r["as_of"] for r in rows) and len(rows) == 126, "every row of the table has a source and a date or 'undated'")
    for name in ("gpus", "cpus", "storage", "providers", "seeds", "published"):
        with open(os.path.join(CLOUD, name + ".csv"), newline="") as f:
            bad = [r for r in csv.DictReader(f) if not r["source"] or not (r.get("as_of") or r.get("year"))]
        check(not bad, "every row of %s.csv has a source and a date" % name, bad[:2])
    for text, says in (("instance\nx\n", "no column 'on_demand_usd_h'"), ("instance,on_demand_usd_h\nx,dear\n", "p.csv:2: on_demand_usd_h: 'dear'"), ("instance,on_demand_usd_h\n,1\n", "p.csv:2: the instance has no name"),
                       ("instance,on_demand_usd_h,as_of\nx,1,2026-13-01\n", "p.csv:2: as_of"), ("instance,on_demand_usd_h,provider\nx,1,gcp\n", "provider 'gcp' in a file for 'here'"), ("", "is empty")):
        write("p.csv", text)
        expect(65, says, "plan", "--atoms", "1k", "--prices", "here=p.csv")


SKY = """InstanceType,vCPUs,MemoryGiB,AcceleratorName,AcceleratorCount,GpuInfo,Region,AvailabilityZone,Price,SpotPrice
a2-highgpu-2g,24.0,170.0,,,,us-x,us-x-a,1.4,0.7
a2-highgpu-2g,24.0,170.0,,,,us-x,us-x-b,1.4,0.7
a2-highgpu-4g,48.0,340.0,,,,us-x,us-x-b,2.8,1.4
g2-standard-48,48.0,192.0,,,,us-x,us-x-b,1.76,0.7
n1-standard-8,8.0,30.0,,,,us-x,us-x-a,0.38,0.08
,,,A100,2.0,"{'Gpus': [{'Name': 'A100', 'Manufacturer': 'NVIDIA', 'Count': 2.0, 'MemoryInfo': {'SizeInMiB': 40960}}], 'TotalGpuMemoryInMiB': 40960}",us-x,us-x-a,5.8,2.8
,,,A100,2.0,"{'Gpus': [{'Name': 'A100', 'Manufacturer': 'NVIDIA', 'Count': 2.0, 'MemoryInfo': {'SizeInMiB': 40960}}], 'TotalGpuMemoryInMiB': 40960}",us-x,us-x-b,5.8,3.0
,,,L4,4.0,"{'Gpus': [{'Name': 'L4', 'MemoryInfo': {'SizeInMiB': 24576}}]}",us-x,us-x-b,2.24,0.9
,,,T4,1.0,,us-x,us-x-a,0.35,0.17
"""
FLAT = """InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,Price,Region,GpuInfo,SpotPrice,Arch
gpu_8x,V100,8.0,88.0,448.0,6.32,east,"{'Gpus': [{'Name': 'V100', 'Count': 8.0, 'MemoryInfo': {'SizeInMiB': 16384}}]}",,x86_64
g6e.xlarge,L40S,1.0,4.0,32.0,1.9,east,"{'Gpus': [{'Name': 'L40S', 'MemoryInfo': {'SizeInMiB': 45776}}]}",0.9,x86_64
g6e.xlarge,L40S,1.0,4.0,32.0,1.9,east,"{'Gpus': [{'Name': 'L40S', 'MemoryInfo': {'SizeInMiB': 45776}}]}",1.1,x86_64
slice,A10,0.167,6.0,55.0,0.45,east,,0.1,x86_64
arm,,,64.0,128.0,2.0,east,,0.9,arm64
plain,,,64.0,128.0,2.0,east,,0.9,x86_64
tpu,TPU-V5,4.0,64.0,128.0,2.0,east,,0.9,x86_64
"""


def skypilot():
    write("gcp.csv", SKY)
    write("aws.csv", FLAT)
    a = plan("--atoms", "24k", "--prices", "gcp=gcp.csv", "--provider", "gcp", "--spot")
    o = option(a, "a2-highgpu-2g")
    check(o and o["gpu"] == "A100-SXM4-40GB" and o["gpus_in_machine"] == 2 and near(o["usd_per_h"], 7.2), "a machine and its accelerators are priced together", o)
    s = option(a, "a2-highgpu-2g", "spot")
    check(s and near(s["usd_per_h"], 3.7) and near(s["usd_per_h_low"] * 1.5, 3.5), "zones make a spot band of both parts", s)
    check(option(a, "g2-standard-48")["gpu"] == "L4" and near(option(a, "g2-standard-48")["usd_per_h"], 4.0), "machines numbered by vCPUs have their GPUs")
    check(any("no price read" in r for r in reasons(a, "a2-highgpu-4g")) and not option(a, "a2-highgpu-4g"), "a machine without the price of its GPUs has no price", reasons(a, "a2-highgpu-4g"))
    check(option(a, "n1-standard-8")["gpu"] is None and any("GPU alone" in r for r in reasons(a, "accelerator")), "an accelerator alone is refused", reasons(a, "accelerator"))
    check(len(a["options"]) + 0 == 6 and not [o for o in a["options"] if o["region"] != "us-x"], "the file stands in place of the built-in rows", [(o["instance"], o["price_kind"]) for o in a["options"]])
    b = plan("--atoms", "24k", "--prices", "aws=aws.csv", "--provider", "aws", "--spot")
    check(option(b, "gpu_8x")["gpus_in_machine"] == 8 and option(b, "gpu_8x")["gpu"] == "V100-SXM2" and not option(b, "gpu_8x", "spot"), "GPUs and memory are read; no spot price is none")
    check(option(b, "g6e.xlarge", "spot")["usd_per_h"] == 1.1, "the highest zone decides", option(b, "g6e.xlarge", "spot"))
    check(any("0.167 of a GPU" in r for r in reasons(b, "slice")) and any("no hardware facts" in r for r in reasons(b, "tpu")), "shares and unknown accelerators are refused")
    check(option(b, "arm")["threads"] <= 64 and option(b, "plain")["threads"] <= 32, "two threads a core but on Arm", (option(b, "arm")["threads"], option(b, "plain")["threads"]))
    check("CPU not named" in option(b, "plain")["note"], "a CPU that is not named is said to be taken as a plain one")


def hostile():
    nasty = ["x" + "\u20ac" * 45, "$(touch owned)", "`touch owned`", "a\nb: c", "</svg><script>alert(1)</script>", "\"'; rm -rf x; '", "<!--", "]]>", "&amp;&#0;", "\x1b]0;owned\x07", "\u202etxt.exe", "%s%n%n", "a,b", "\\", "{{x}}", "=1+1", "\u00e9" * 45]
    with open("p.csv", "w", newline="", encoding="utf-8") as f:
        out = csv.writer(f)
        out.writerow(["instance", "on_demand_usd_h", "region", "gpu", "gpus", "gpu_memory_gib", "vcpus", "memory_gib", "source", "gpu_link"])
        for k, text in enumerate(nasty):
            out.writerow([text, 1 + 0.01 * k, text, "L40S", 1, 48, 8, 64, text, text])
            out.writerow([text + "2", 1, text, text, 1, 48, 8, 64, text, text])
    words = ["plan", "--atoms", "24k", "--prices", "here=p.csv", "--provider", "here", "--top", "99"]
    p = run(*words, "--plot", "p.svg", "--json", "p.json", env=AWAY)
    q = run(*words, "--plot", "p.html", env=AWAY)
    check(p.returncode == 0 and q.returncode == 0 and not os.path.exists("owned"), "a hostile price file is read", p.stderr + q.stderr)
    bad = [c for c in p.stdout if (ord(c) < 32 and c != "\n") or ord(c) == 127 or c == "\u202e"]
    check(not bad and p.stdout.count("\n") < 60, "no control character reaches the terminal", bad)
    a = json.load(open("p.json", encoding="utf-8"))
    seen = {o["instance"] for o in a["options"]}
    clean = {re.sub("[\x00-\x1f\x7f]", "?", t).replace("\u202e", "???") for t in nasty}
    check(clean <= seen, "the JSON gives the texts back as they are but for control characters", clean - seen)
    check(all("no hardware facts" in r["reason"] for r in a["refused"] if r["provider"] == "here"), "unknown GPUs of any name are refused", a["refused"][:3])
    tree = ET.parse("p.svg").getroot()
    tags = {e.tag.split("}")[1] for e in tree.iter()}
    check(tags <= {"svg", "style", "rect", "text", "path", "circle", "title"} and not [e for e in tree.iter() if any(k.startswith("on") or "href" in k for k in e.attrib)], "the SVG has marks and texts only", tags)
    titles = " ".join(e.text or "" for e in tree.iter() if e.tag.endswith("title"))
    check("</svg><script>alert(1)</script>" in titles, "and shows the text as text")
    page = open("p.html", encoding="utf-8").read()
    check("<script" not in page and "default-src 'none'" in page and "http" not in page.replace("http://www.w3.org/2000/svg", "").replace("http-equiv", ""), "the page has no script and asks nobody for anything")
    # noise never crashes
    import random
    r = random.Random(5)
    good = (HEADER + "x,1,r,L40S,1,48,8,4,64,0.1,0.2,,,2026-11-01\n") .encode() + SKY.encode()
    worst = 0
    for _ in range(60):
        noise = bytearray(good if r.random() < 0.5 else SKY.encode())
        for _ in range(r.randrange(1, 12)):
            noise[r.randrange(len(noise))] = r.randrange(256)
        open("n.csv", "wb").write(noise)
        code = run("plan", "--atoms", "24k", "--prices", "here=n.csv", env=AWAY).returncode
        worst = code if code not in (0, 65) else worst
    check(worst == 0, "a damaged price file is read or refused with 65", worst)


CALIBRATION = """format = 1; program = "0.1.0"; date = "2026-11-30";
machine = { instance = "%s"; cpu = "AMD EPYC 9R14"; device = "%s"; backend = "cpu"; isa = "avx512"; cores = %d; threads = %d; clock_ghz = 3.5; memory_gib = 60.0; };
memory = { fixed_mib = 60.0; bytes_per_atom = 1500.0; };
cases = ( %s );
costs = ( { stage = "pair"; work = "pairs"; fixed_us = 3.0; ns = 1.6; error = 0.04; } );
"""


def case(atoms, ms):
    return '{ system = "water"; atoms = %d; pairs = 0.0; points = %.1f; order = 5; cutoff = 0.9; force_error = 0.45; dt_fs = 2.0; ms_per_step = %.6f; spread = 0.02; stages = { pair = %.6f; }; }' % (atoms, atoms * 0.8, ms, 0.7 * ms)


def calibration():
    write("c.conf", CALIBRATION % ("c7a.8xlarge", "", 32, 32, ", ".join([case(24000, 2.0), case(96000, 7.0)])))

    def speed(atoms, instance="c7a.8xlarge"):
        return option(plan("--atoms", str(atoms), "--calibration", "c.conf", "--device", "cpu"), instance)

    def speed_of(path, instance):
        return option(plan("--atoms", "24k", "--calibration", path, "--device", "cpu"), instance)

    def width(o):
        return o["ns_per_day_low"] / o["ns_per_day"], o["ns_per_day_high"] / o["ns_per_day"]

    for atoms, basis, low, high in ((24000, "measured", 0.9, 1.1), (28000, "measured", 0.9, 1.1), (20500, "measured", 0.9, 1.1), (48000, "measured", 0.75, 1.25), (300000, "scaled", 1 / 1.6, 1.6), (3000, "scaled", 1 / 1.6, 1.6)):
        o = speed(atoms)
        check(o["basis"] == basis and near(width(o)[0], low) and near(width(o)[1], high), "%d atoms on the measured type: %s, %.3g to %.3g" % (atoms, basis, low, high), o)
    # Water of the measured size has no bonded terms and --atoms assumes some, 3 % of a step; so 10 %, not exact.
    check(abs(speed(24000)["ns_per_day"] / (86.4 * 2 / 2.0) - 1) < 0.1, "the measured speed comes back", speed(24000))
    o = speed(24000, "c7a.24xlarge")
    check(o["basis"] == "scaled" and near(width(o)[1], 1.6), "another CPU machine within four times the threads: scaled, x/: 1.6", o)
    write("small.conf", CALIBRATION % ("", "", 2, 2, case(24000, 9.0)))
    o = option(plan("--atoms", "24k", "--calibration", "small.conf", "--device", "cpu"), "c7a.48xlarge")
    check(o["basis"] == "modelled" and near(width(o)[1], 3) and "design estimate" in o["basis_text"], "two threads say nothing about many: design estimate, x/: 3", o)
    fast = write("fast.conf", CALIBRATION % ("", "", 2, 2, case(24000, 4.5)))
    write("two.conf", CALIBRATION % ("c7i.24xlarge", "", 96, 96, case(24000, 2.0)))
    check(speed_of("two.conf", "c7i.24xlarge")["basis"] == "measured", "threads of a machine with two a core count as its cores")
    p = option(plan("--atoms", "24k", "--calibration", fast, "--device", "cpu"), "c7a.48xlarge")
    check(near(p["ns_per_day"], 2 * o["ns_per_day"], 1e-4), "a machine measured twice as fast doubles the estimate of others", (o["ns_per_day"], p["ns_per_day"]))
    write("gpu.conf", CALIBRATION % ("g6e.xlarge", "L40S", 2, 2, case(96000, 0.3)))
    a = plan("--atoms", "96k", "--calibration", "gpu.conf")
    for instance, basis in (("g6e.xlarge", "measured"), ("gpu-l40s-a_1gpu-8vcpu-32gb", "scaled"), ("g4dn.xlarge", "scaled"), ("c7a.8xlarge", "modelled")):
        check(option(a, instance)["basis"] == basis, "a calibrated GPU machine: %s is %s" % (instance, basis), option(a, instance))
    shutil.copytree(CLOUD, "tables")
    shutil.rmtree("tables/calibration")
    os.makedirs("tables/calibration")
    shutil.copy(fast, "tables/calibration/z.conf")
    os.makedirs("slow/mdsim")
    write("slow/mdsim/calibration.conf", open(fast).read().replace("avx512", "avx2").replace("EPYC 9R14", "EPYC 7R13").replace("4.500000", "90.000000"))
    both = json.loads(run("plan", "--atoms", "24k", "--tables", "tables", "--json", "-", env=dict(AWAY, XDG_CACHE_HOME=os.path.abspath("slow"))).stdout)
    check(near(option(both, "c7a.48xlarge")["ns_per_day"], p["ns_per_day"]), "the calibration of the nearer kind of CPU counts", (option(both, "c7a.48xlarge")["ns_per_day"], p["ns_per_day"]))
    check(option(both, "hpc6a.48xlarge")["ns_per_day"] < 0.2 * option(both, "c7a.48xlarge")["ns_per_day"], "and that of the other kind for machines of that kind")
    shipped = plan("--atoms", "24k", "--device", "cpu", "--only-regions", "af-*")
    check(near(width(option(shipped, "VM.Standard.E5.Flex$_32_128"))[1], 3), "what is shipped was measured on two threads, and says nothing sure about sixteen")
    expect(66, "nope.conf", "plan", "--atoms", "1k", "--calibration", "nope.conf")
    write("bad.conf", "format = 99;\n")
    expect(65, "bad.conf", "plan", "--atoms", "1k", "--calibration", "bad.conf")
    os.makedirs("cache/mdsim")
    shutil.copy("c.conf", "cache/mdsim/calibration.conf")
    q = run("plan", "--atoms", "24k", "--json", "-", env=dict(AWAY, XDG_CACHE_HOME=os.path.abspath("cache")))
    check(option(json.loads(q.stdout), "c7a.8xlarge")["basis"] == "measured", "the calibration in the cache directory is found by itself")


if __name__ == "__main__":
    main({"request": request, "prices": prices, "skypilot": skypilot, "hostile": hostile, "calibration": calibration})
