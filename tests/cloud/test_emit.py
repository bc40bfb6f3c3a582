#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""mdsim plan --emit: what it writes, what it refuses, and that nothing from a conf, a price table or a profile becomes code.

usage: test_emit.py CASE
  fields      every target: parsed, every field known to its launcher, what the issue of each field is
  shell       shellcheck on all that is shell
  safe        private addresses, encrypted disks, a policy for one prefix, no secrets, watcher
  inject      $(..), quotes, newlines, tags, YAML in names, prices, profiles and paths
  all         every option of many requests, for every target: launched as planned, or refused with a reason
  refused     wrong words, missing things, files that are there
  audit       one line per --emit, with hashes of what was read and written
"""
import csv, glob, hashlib, json, math, os, random, re, shutil, subprocess, sys
from launch import check, conf, emit, expect, main, run, source, write
import fields

try:
    import yaml
except ImportError:
    print("skipped: python3-yaml is not installed")
    sys.exit(77)


def argon(path="a.conf"):
    """A small system of coordinates in files: read sooner than a made one."""
    files = os.path.join(source, "inputs", "argon", "argon.")
    return conf(path, system={"topology": files + "top", "coordinates": files + "gro"}, run={"steps": 2000, "dt": 0.002}, nonbonded={"cutoff": 0.85, "coulomb": "none"}, output={"name": "g"})


IMAGE = "registry.example/mdsim:cpu"
S3 = dict(image=IMAGE, bucket="s3:lab-bucket/runs/argon", role="mdsim-runner", vpc="lab-vpc")


def load(pattern):
    found = glob.glob(pattern)
    return list(yaml.load_all(open(found[0]), getattr(yaml, "CSafeLoader", yaml.SafeLoader))) if found else [None]


def known(value, allowed, what):
    bad = fields.problems(value, allowed)
    check(not bad, "%s: every field is known" % what, bad)


def all_fields():
    argon()
    emit("skypilot", "sky", "--spot", pick="1", bucket_region="us-east-1", **S3)
    task, config = load("sky/*.sky-task.yaml")[0], load("sky/.sky.yaml")[0]
    known(task, fields.SKYPILOT, "SkyPilot task")
    known(config, fields.SKY_CONFIG, ".sky.yaml")
    r = task["resources"]
    check(r["job_recovery"]["recover_on_exit_codes"] == [75] and r["job_recovery"]["max_restarts_on_errors"] == 0, "recovers on 75 and on nothing else", r)
    check(r["autostop"]["down"] is True and r["use_spot"] in (True, False) and task["num_nodes"] == 1, "goes down when idle; one node", r)
    hook = task["config"]["hooks"][0]
    check(hook["events"] == ["preemption"] and "kill -USR1" in hook["run"], "preemption becomes SIGUSR1", hook)

    emit("kubernetes", "kube", image=IMAGE, bucket="gcs:lab-bucket/runs/argon", queue="lab", service_account="mdsim", pick="c7a.48xlarge")
    config_map, network, job = load("kube/*.mpijob.yaml")
    known(config_map, fields.CONFIG_MAP, "ConfigMap")
    known(network, fields.NETWORK_POLICY, "NetworkPolicy")
    known(job, fields.MPIJOB, "MPIJob")
    pod = job["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]
    check(job["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "lab" and job["spec"]["runPolicy"]["backoffLimit"] == 20, "Kueue's label, a backoff limit")
    check(config_map["data"]["job.env"] == open("kube/job.env").read(), "the pod gets the job.env that was written")
    check(pod["serviceAccountName"] == "mdsim" and "gpu" not in str(pod["containers"][0]["resources"]), "its identity; no GPU where none was picked", pod)
    check("watch=none" in open("kube/job.env").read(), "SIGTERM only: no watcher on Kubernetes")
    emit("kubernetes", "kube2", image=IMAGE, claim="scratch", pick="g6e.xlarge")
    pod = load("kube2/*.mpijob.yaml")[2]["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]
    check(pod["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] == 1 and pod["volumes"][0]["persistentVolumeClaim"]["claimName"] == "scratch",
          "a GPU where one was picked; a claim in the place of a bucket", pod)

    emit("dstack", "ds", "--deadline", "2d", pick="g6e.xlarge", **S3)
    task = load("ds/*.dstack.yml")[0]
    known(task, fields.DSTACK, "dstack task")
    check(set(task["retry"]["on_events"]) == {"no-capacity", "interruption"} and task["max_duration"] == "48h" and task["instance_types"] == ["g6e.xlarge"],
          "retry on events, a duration from the deadline, the instance", task)
    loop = task["commands"][1]
    os.makedirs("loop")
    write("loop/job.sh", 'echo x >>count; [ "$(wc -l <count)" -lt 3 ] && exit 75; exit 79\n')
    p = subprocess.run(["bash", "-c", loop], cwd="loop")
    check(p.returncode == 79 and len(open("loop/count").read()) == 6, "its wrapper starts again after 75 and passes a guard's 79 on", p)

    emit("slurm", "sl", "--replicas", "4", pick="g6e.xlarge", partition="gpu", account="lab")
    script = open(glob.glob("sl/*.sbatch")[0]).read()
    options = re.findall(r"^#SBATCH --([a-z-]+)", script, re.M)
    check(set(options) == fields.SBATCH, "sbatch: all our options, and no others", sorted(fields.SBATCH ^ set(options)))
    check("srun --ntasks=1" in open("sl/job.env").read() and "--gpu-bind=closest" in open("sl/job.env").read() and "-ge 20" in script,
          "srun, one task, GPU binding, at most 20 requeues")

    env = open("ds/job.env").read()
    check("cost.price_per_hour=" in env and "stop_if_below" not in env and 'predicted_basis="modelled"' in env,
          "the price is known to the run; an estimate sets no speed guard", env)
    check('backend.kind="cuda"' in env, "a job for GPUs ends where there are none", env)
    emit("slurm", "budget", "--budget", "7.5", "--replicas", "3", "--device", "cpu", pick="1")
    check("backend.kind" not in open("budget/job.env").read(), "one for processors does not ask for a GPU")
    check("cost.max_cost=2.5" in open("budget/job.env").read(), "a budget for three runs is a third for each", open("budget/job.env").read())
    p = subprocess.run(["bash", "-c", "set -eu; . budget/job.env; printf '%s\\n' \"${settings[@]}\""], capture_output=True, text=True)
    settings = [w for w in p.stdout.split("\n") if "=" in w]
    words = [w for s in settings for w in ("--set", s)]
    expect(0, "would start", "check", "a.conf", *words, "--set", "backend.threads=1")


def shell():
    if not shutil.which("shellcheck"):
        print("skipped: shellcheck is not installed")
        sys.exit(77)
    argon()
    files = [os.path.join(source, f) for f in ("cloud/watch", "cloud/templates/job.sh", "quickstart.sh", "tests/cloud/slurm.sh")]
    for target, more in (("slurm", {}), ("skypilot", S3), ("kubernetes", S3), ("dstack", S3)):
        emit(target, target, "--replicas", "2", **more)
        files += glob.glob(target + "/*.sbatch") + [target + "/job.sh", target + "/watch"]
    # what YAML carries is shell too
    sky = load("skypilot/*.sky-task.yaml")[0]
    files.append(write("hook.sh", "#!/bin/bash\n" + sky["config"]["hooks"][0]["run"]))
    files.append(write("run.sh", "#!/bin/bash\n" + sky["run"]))
    files.append(write("dstack.sh", "#!/bin/bash\n" + load("dstack/*.dstack.yml")[0]["commands"][1] + "\n"))
    files.append(write("pod.sh", "#!/bin/bash\n" + load("kubernetes/*.mpijob.yaml")[2]["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0]["command"][2] + "\n"))
    for f in files:
        p = subprocess.run(["shellcheck", "-S", "warning", "-s", "bash", f], capture_output=True, text=True)
        check(p.returncode == 0, "shellcheck %s" % os.path.relpath(f, source if f.startswith(source) else "."), p.stdout)
    env = write("env.sh", "#!/bin/bash\n" + open("skypilot/job.env").read())
    p = subprocess.run(["shellcheck", "-S", "warning", "-e", "SC2034", env], capture_output=True, text=True)  # used by job.sh
    check(p.returncode == 0, "shellcheck job.env", p.stdout)


def safe():
    argon()
    for target in ("skypilot", "dstack", "kubernetes"):
        emit(target, target, pick="aws/us-east-1/g6e.xlarge", **S3)
    config = load("skypilot/.sky.yaml")[0]
    check(config["aws"]["use_internal_ips"] is True and config["aws"]["disk_encrypted"] is True and config["allowed_clouds"] == ["aws"], "AWS: private addresses, encrypted disks, no other cloud", config)
    check(config["aws"]["remote_identity"] == "mdsim-runner" and config["aws"]["vpc_names"] == "lab-vpc", "the role and network of the profile", config)
    check("ports" not in load("skypilot/*.sky-task.yaml")[0]["resources"] and "ports" not in load("dstack/*.dstack.yml")[0], "no port is opened")
    _, network, job = load("kubernetes/*.mpijob.yaml")
    pod = job["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]
    inner = pod["containers"][0]["securityContext"]
    check(network["spec"]["policyTypes"] == ["Ingress"] and "ingress" not in network["spec"], "no traffic to the pod")
    check(pod["securityContext"]["runAsNonRoot"] and not inner["allowPrivilegeEscalation"] and inner["readOnlyRootFilesystem"] and inner["capabilities"]["drop"] == ["ALL"]
          and pod["automountServiceAccountToken"] is False, "an ordinary user, nothing to gain, no token")
    policy = json.load(open("skypilot/bucket-policy.json"))
    allowed = {a: s["Resource"] for s in policy["Statement"] if s["Effect"] == "Allow" for a in ([s["Action"]] if isinstance(s["Action"], str) else s["Action"])}
    prefix = "arn:aws:s3:::lab-bucket/runs/argon/"
    check(all(r.startswith(prefix) for a, r in allowed.items() if a != "s3:ListBucket") and allowed["s3:DeleteObject"] == prefix + "g/*" and not any("*" in a for a in allowed),
          "the policy reaches one prefix, deletes old generations only, names every action", allowed)
    for target, env in (("skypilot", "watch=aws"), ("dstack", "watch=aws")):
        text = open(target + "/job.env").read()
        check(env in text and "SERVER_SIDE_ENCRYPTION=AES256" in text and "ENV_AUTH=true" in text, "%s: the watcher, encryption at rest, credentials of the role" % target, text)
    secret = re.compile(r"(?i)(access_key|secret_key|password|account_key|sas_url|token|credential)[a-z_]*\s*[=:]")
    written = [f for f in glob.glob("*/*") if not f.endswith("/watch")]  # which has AWS's word for its own five-minute pass
    for f in written + glob.glob("skypilot/.sky.yaml") + glob.glob(source + "/cloud/profiles/*"):
        found = [line for line in open(f).read().split("\n") if secret.search(line) and not re.match(r"\s*(#|automount)", line)]
        check(not found, "%s: no place for a secret" % os.path.relpath(f), found)
    for cloud, bucket in (("gcp", "gcs:lab-bucket/runs/x"), ("azure", "azureblob:labaccount/container/runs/x")):
        p = run("plan", "a.conf", "--provider", cloud, "--pick", "1", "--emit", "skypilot", "--out", cloud, "--profile",
                write(cloud + ".profile", 'image = "%s"; bucket = "%s";' % (IMAGE, bucket)))
        check(p.returncode == 0, cloud, p.stderr)
        config, policy = load(cloud + "/.sky.yaml")[0], open(cloud + "/bucket-policy.json").read()
        check(cloud != "azure" or "USE_MSI=true" in open("azure/job.env").read(), "the machine's identity, as an rclone of Debian 12 knows it too")
        check(config[cloud]["use_internal_ips"] is True and "runs/x" in policy and json.loads(policy) and "watch=" + cloud in open(cloud + "/job.env").read(),
              "%s: private addresses, a policy for the prefix, its watcher" % cloud, (config, policy))


EVIL = ["$(touch pwned)", "`touch pwned`", "'; touch pwned; '", '"; touch pwned; "', "a\nrun: touch pwned", "a\n#SBATCH --uid=0", "</title><script>alert(1)</script>", "{{x}}", "a: b", "- a", "&a *a",
        "!!python/object/apply:os.system [touch pwned]", "@sh:NAME@", "#@if X", "é\u2028run: x", "--wrap=x", "..", "%n$x"]


# Keys of a profile by the target that writes them down.
USES = {"slurm": "partition account mdsim", "skypilot": "image bucket role vpc security_group", "kubernetes": "image claim queue kube_namespace service_account", "dstack": "image bucket"}


def prices(instance="c9x.large", region="us-east-1"):
    quoted = ['"%s"' % x.replace('"', '""') for x in (region, instance)]
    return write("prices.csv", "provider,region,instance,kind,vcpus,cores,memory_gib,cpu,isa,gpu,gpus,on_demand_usd_h,source,as_of\n"
                 "aws,%s,%s,machine,8,4,16,AMD EPYC 9R14 (Genoa),avx512,,0,0.4,test,2026-11-29\n" % tuple(quoted))


def inject():
    """Each evil text is either refused or comes out as itself, wherever it goes in; and nothing is ever executed."""
    for k, evil in enumerate(EVIL):
        for target in ("slurm", "skypilot", "kubernetes", "dstack"):
            argon()
            # names of the price file: provider, region and instance are identifiers or nothing
            out = "p%d-%s" % (k, target)
            p = run("plan", "a.conf", "--prices", "AWS=" + prices(instance=evil), "--provider", "aws", "--pick", "1", "--emit", target, "--out", out, "--profile",
                    write("p.profile", 'image = "%s"; bucket = "/b";' % IMAGE))
            harmless(p, out, evil, "instance %r, %s" % (evil, target))
            # a profile
            quoted = evil.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
            for key in USES[target].split():
                out = "q%d-%s-%s" % (k, target, key)
                text = {"image": IMAGE, "bucket": "s3:b/p"}
                text[key] = quoted
                p = run("plan", "a.conf", "--pick", "c7a.48xlarge", "--emit", target, "--out", out, "--profile", write("q.profile", "".join('%s = "%s";\n' % kv for kv in text.items())))
                harmless(p, out, evil, "%s = %r, %s" % (key, evil, target))
        # a conf's own name, and what it calls its outputs
        folder = "f%d" % k
        os.makedirs(folder)
        name = evil.replace("/", "_") + ".conf"
        argon(os.path.join(folder, name))
        p = run("plan", os.path.join(folder, name), "--pick", "c7a.48xlarge", "--emit", "slurm", "--out", folder + "/job")
        if p.returncode == 0:
            got = subprocess.run(["bash", "-c", '. "$1"; printf %s "$conf"', "x", folder + "/job/job.env"], capture_output=True, text=True).stdout
            check(got == os.path.abspath(os.path.join(folder, name)), "a conf named %r comes out of job.env as it is" % name, got)
        harmless(p, folder + "/job", name, "conf named %r" % name)
        p = run("plan", "a.conf", "--set", 'output.name="%s"' % evil.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n"), "--pick", "c7a.48xlarge", "--emit", "slurm", "--out", "o%d" % k)
        check(p.returncode == 65, "output.name = %r: refused" % evil, (p.returncode, p.stderr)) if not re.fullmatch(r"[A-Za-z0-9._][A-Za-z0-9._-]*", evil) else None
    check(not glob.glob("**/pwned", recursive=True), "nothing was executed")


def harmless(p, out, evil, what):
    """Refused with a message, or every file still parses, has only known fields, and sources without effect."""
    if p.returncode:
        fine = p.returncode in (64, 65, 78) and not os.path.exists(out + "/job.env")
        check(fine, what + ": refused", (p.returncode, p.stderr)) if not fine else None
        return
    bad = []
    try:
        for pattern, allowed in (("*.sky-task.yaml", [fields.SKYPILOT]), (".sky.yaml", [fields.SKY_CONFIG]), ("*.dstack.yml", [fields.DSTACK]),
                                 ("*.mpijob.yaml", [fields.CONFIG_MAP, fields.NETWORK_POLICY, fields.MPIJOB])):
            for f in glob.glob(os.path.join(glob.escape(out), pattern)):
                documents = list(yaml.safe_load_all(open(f)))
                if len(documents) != len(allowed):
                    bad.append("%s: %d documents" % (f, len(documents)))
                for value, names in zip(documents, allowed):
                    bad += fields.problems(value, names)
        for f in glob.glob(os.path.join(glob.escape(out), "*.sbatch")):
            bad += ["sbatch option " + x for x in re.findall(r"^#SBATCH --([a-z-]+)", open(f).read(), re.M) if x not in fields.SBATCH]
            bad += ["bash -n: " + f] if subprocess.run(["bash", "-n", f]).returncode else []
        p = subprocess.run(["bash", "-c", 'set -eu; . "$1"', "x", os.path.join(out, "job.env")], capture_output=True, text=True, cwd=".")
        bad += [p.stderr] if p.returncode or p.stdout or p.stderr else []
        json.loads(open(os.path.join(out, "audit.jsonl")).read())
    except (yaml.YAMLError, ValueError) as e:
        bad.append(str(e))
    bad += ["pwned"] if os.path.exists("pwned") else []
    check(not bad, what, bad) if bad else None
    shutil.rmtree(out)


MACHINES = {(r["provider"], r["region"], r["instance"]): r for r in csv.DictReader(open(os.path.join(source, "cloud", "instances.csv"), newline=""))}


def number(row, column):
    return float(row[column]) if row[column] else math.inf


def settings(path):
    """job.env as bash reads it: its variables, and what goes to --set."""
    p = subprocess.run(["bash", "-c", 'set -eu; . "$1"; printf "%s\\0" "$threads" "${runs-1}" "${gpus-0}" "${replicas-1}" "${guard_code-79}" "$conf" "${settings[@]}"', "x", path],
                       capture_output=True, text=True)
    words = p.stdout.split("\0")[:-1] if p.returncode == 0 and not p.stderr else None
    return words and (dict(zip(("threads", "runs", "gpus", "replicas", "guard_code", "conf"), words)), dict(w.split("=", 1) for w in words[6:] if w != "--set"))


def wrong(o, target, out, request):
    """What a launch folder says that the plan does not, or does not fit its machine."""
    m, bad = MACHINES[o["provider"], o["region"], o["instance"]], []

    def hold(truth, *what):
        if not truth:
            bad.append(what)
    env, sets = settings(out + "/job.env") or ({}, {})
    hold(env, "job.env cannot be read")
    if not env:
        return bad
    replicas, batches = request["replicas"], math.ceil(request["replicas"] / o["runs"])
    hold(int(env["threads"]) == o["threads"] and int(env["threads"]) * o["runs"] <= max(o["runs"], number(m, "vcpus")), "threads", env)
    if target != "slurm":
        hold(int(env["runs"]) == o["runs"] and int(env["replicas"]) == replicas and int(env["gpus"]) == o["gpus_used"] <= o["gpus_in_machine"], "runs, replicas, GPUs", env)
    # all runs together pay what the machine costs, a last batch that does not fill it included; six decimals are written
    hold(abs(float(sets["cost.price_per_hour"]) * replicas - o["usd_per_h"] * batches) <= 1e-6 * replicas, "price", sets)
    hold(("cost.stop_if_below" in sets) == (o["basis"] == "measured"), "a speed guard is for measured speeds only", sets)
    hold(sets["cost.predicted_basis"] == '"%s"' % o["basis"] and abs(float(sets["cost.predicted_ns_per_day"]) - o["ns_per_day"]) <= 1e-6 * (1 + o["ns_per_day"]), "prediction", sets)
    if request["budget"] is None:
        hold("cost.max_cost" not in sets, "a guard that nobody asked for", sets)
    else:
        hold(0 < float(sets["cost.max_cost"]) and abs(float(sets["cost.max_cost"]) * replicas - request["budget"]) <= 1e-6 * replicas, "the budget is shared", sets)
    hold(float(sets["run.steps"].rstrip("L")) == round(1e6 * request["length_ns"] / request["dt_fs"]), "length", sets)
    spot = o["price_kind"] == "spot"
    if target == "skypilot":
        task, config = load(out + "/*.sky-task.yaml")[0], load(out + "/.sky.yaml")[0]
        bad.extend(fields.problems(task, fields.SKYPILOT) + fields.problems(config, fields.SKY_CONFIG))
        r = task["resources"]
        hold(r["instance_type"] == o["instance"] and r["infra"] == o["provider"] + "/" + o["region"] and r["use_spot"] is spot and config["allowed_clouds"] == [o["provider"]], "machine", r)
    elif target == "dstack":
        task = load(out + "/*.dstack.yml")[0]
        bad.extend(fields.problems(task, fields.DSTACK))
        r = task["resources"]
        hold(task["instance_types"] == [o["instance"]] and task["regions"] == [o["region"]] and task["backends"] == [o["provider"]] and task["spot_policy"] == ("spot" if spot else "on-demand"), "machine", task)
        hold(task["max_price"] >= o["usd_per_h"] or task["max_price"] == request["max_price"], "price limit", task)
        hold(int(re.sub(r"arm:|\.\.", "", r["cpu"])) <= number(m, "vcpus") and r["cpu"].startswith("arm:") == (m["isa"] == "neon"), "processors", r)
        hold(float(r["memory"][:-4]) <= number(m, "memory_gib"), "memory", r)
        hold(r.get("gpu") == ("nvidia:%d" % o["gpus_in_machine"] if o["gpus_used"] else None), "GPUs", r)
    elif target == "kubernetes":
        _, _, job = load(out + "/*.mpijob.yaml")
        bad.extend(fields.problems(job, fields.MPIJOB))
        pod = job["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]
        r = pod["containers"][0]["resources"]
        hold(pod["nodeSelector"] == {"node.kubernetes.io/instance-type": o["instance"]} and re.fullmatch(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?", o["instance"]), "node", pod)
        # a node keeps a share for itself: a pod that asks for all of it is never placed
        hold(r["requests"]["cpu"] == 1 or r["requests"]["cpu"] <= 0.9 * number(m, "vcpus"), "processors", r)
        hold(request["host_gib"] * o["runs"] <= float(r["limits"]["memory"][:-2]) <= max(0.9 * number(m, "memory_gib"), math.ceil(request["host_gib"] * o["runs"])), "memory", r)
        hold(r["limits"].get("nvidia.com/gpu", 0) == o["gpus_used"], "GPUs", r)
    else:
        script = open(glob.glob(out + "/*.sbatch")[0]).read()
        hold(("--array=1-%d" % replicas in script) == (replicas > 1), "an array of all replicas", script)
        hold(("--gpus-per-task=1" in script) == (o["gpus_used"] > 0) and "--cpus-per-task=%d\n" % o["threads"] in script, "tasks", script)
    hold((sets.get("backend.kind") == '"cuda"') == (o["gpus_used"] > 0), "backend", sets)
    hold(int(env["guard_code"]) == (0 if target == "kubernetes" else 79), "guards", env)
    return bad


def everything():
    """Requests at random, their options as --json has them, every one emitted: as planned, or refused with a reason."""
    random.seed(5)
    argon()
    profile = write("lab.profile", 'image = "%s"; bucket = "s3:b/p"; bucket_region = "us-east-1";' % IMAGE)
    targets = ("skypilot", "slurm", "kubernetes", "dstack")
    emitted, refusals, kinds, unwanted = dict.fromkeys(targets, 0), [], set(), []
    for k in range(20):
        words = ["a.conf", "--length", random.choice(["1ns", "100ns", "1us"])]
        words += random.choice([[], ["--spot"], ["--reserved", "0.3"], ["--spot", "--reserved", "0.6"]]) + random.choice([[], ["--force"]])
        words += random.choice([[], ["--replicas", str(random.choice([2, 3, 5, 7, 8, 40]))]]) + random.choice([[], ["--budget", random.choice(["7.77", "1000", "0.0000001"])]])
        words += random.choice([[], ["--deadline", random.choice(["20m", "3d"])]]) + random.choice([[], ["--max-price", random.choice(["1", "12.5"])]])
        words += random.choice([[], ["--ns-per-day", "900"]]) + random.choice([[], ["--device", random.choice(["cpu", "gpu"])], ["--ranks", "1"]]) + random.choice([[], ["--objective", "fastest"]])
        p = run("plan", *words, "--json", "-")
        check(p.returncode == 0, " ".join(words), p.stderr) if p.returncode else None
        answer = json.loads(p.stdout)
        asked = dict(answer["request"], host_gib=answer["answers"]["host_memory_gib"])
        unwanted += [o for o in answer["options"] if o["price_kind"] == "spot" and "--spot" not in words]
        for o in random.sample(answer["options"], min(8, len(answer["options"]))):
            for target in targets:
                p = run("plan", *words, "--pick", str(o["rank"]), "--emit", target, "--out", "x", "--profile", profile)
                what = "#%d %s of '%s' for %s" % (o["rank"], o["instance"], " ".join(words), target)
                if p.returncode == 0:
                    bad = wrong(o, target, "x", asked)
                    check(not bad, what, bad) if bad else None
                    emitted[target] += 1
                    kinds.add((target, o["price_kind"], o["gpus_used"] > 0))
                    shutil.rmtree("x")
                    continue
                why = "price without a machine" if o["instance"].startswith("seed-") or o["instance"] == "accelerator" else \
                    "cannot be the instance type of a Kubernetes node" if target == "kubernetes" and "$" in o["instance"] else "no reason"
                check(why in p.stderr and p.returncode in (65, 78) and not os.path.exists("x"), what + ": refused", (p.returncode, p.stderr)) if why not in p.stderr else None
                refusals.append(why)
    check(not unwanted, "spot is never chosen where it is not allowed", unwanted[:1])
    check(min(emitted.values()) > 60 and len(kinds) == 24, "launched as planned (%s), at every kind of price, with GPUs and without" % emitted, sorted(kinds))
    check(len(set(refusals)) == 2, "or refused with a reason: %d, each kind of it once at least" % len(refusals), set(refusals))


def refused():
    argon()
    expect(64, "--pick", "plan", "a.conf", "--emit", "slurm", "--out", "x")
    expect(64, "--emit", "plan", "a.conf", "--pick", "1", "--out", "x")
    emit("nomad", "x", code=64, says="skypilot, slurm, kubernetes or dstack")
    emit("slurm", "x", code=64, says="no option", pick="c99.enormous")
    expect(64, "--atoms", "plan", "--atoms", "92k", "--pick", "1", "--emit", "slurm", "--out", "x")
    emit("skypilot", "x", code=65, says="image")
    emit("skypilot", "x", code=65, says="bucket", image=IMAGE)
    emit("dstack", "x", code=65, says="bucket", image=IMAGE)
    emit("kubernetes", "x", code=65, says="claim", image=IMAGE)
    for bucket in ("lab-bucket/x", "s3:lab-bucket", "s3:lab-bucket/", "s3:lab/../other", "s3:lab-bucket/a b", "ftp:lab/x", "azureblob:account/container"):
        emit("skypilot", "x", code=65, says="bucket '", image=IMAGE, bucket=bucket)
    emit("slurm", "x", code=65, says="buckett", buckett="s3:b/x")
    emit("skypilot", "x", code=65, says="bucket_region", pick="g2-standard-8", **S3)
    emit("skypilot", "far", pick="g2-standard-8", bucket_region="eu-west-1", **S3)
    check("STORE_REGION='eu-west-1'" in open("far/job.env").read(), "a bucket of AWS lies where the profile says, not where the machine is")
    emit("slurm", "x", "--force", code=78, says="a price without a machine", pick="seed-price-A100")
    emit("slurm", "x", code=65, says="hours", hours=0)
    emit("slurm", "x", code=65, says="image", image=3)
    expect(66, "absent.profile", "plan", "a.conf", "--pick", "1", "--emit", "slurm", "--out", "x", "--profile", "absent.profile")
    # slow GPUs with fast links: more of them are faster
    os.makedirs("tables/calibration")
    for f in glob.glob(os.path.join(source, "cloud", "*.csv")):
        shutil.copy(f, "tables")
    with open("tables/gpus.csv", newline="") as f:
        rows = [dict(r, fp32_tflops="0.001", bandwidth_gb_s="1") for r in csv.DictReader(f)]
    with open("tables/gpus.csv", "w", newline="") as f:
        out = csv.DictWriter(f, rows[0].keys())
        out.writeheader()
        out.writerows(rows)
    emit("slurm", "x", "--tables", "tables", "--device", "gpu", "--ranks", "2", code=78, says="uses 2 GPUs for one run", pick="p4d.24xlarge")
    check(not os.path.exists("x"), "and nothing was written")
    os.makedirs("tables/templates")
    for name in ("job.env", "job.sh", "slurm.sbatch"):
        write("tables/templates/" + name, "touch pwned\n")
    emit("slurm", "own", "--tables", "tables", pick="c7a.48xlarge")
    check(open("own/job.sh").read() == open(os.path.join(source, "cloud/templates/job.sh")).read(), "tables of others bring no templates of theirs")
    emit("slurm", "sl")
    before = {f: open(f, "rb").read() for f in glob.glob("sl/*")}
    emit("slurm", "sl", code=74, says="nothing is overwritten")
    emit("skypilot", "sl", code=74, says="nothing is overwritten", **S3)
    check(before == {f: open(f, "rb").read() for f in glob.glob("sl/*")}, "what was there is untouched")
    write("plain", "")
    emit("slurm", "plain", code=74)
    emit("slurm", "no/such/place", code=74)


def audit():
    argon()
    emit("slurm", "job", pick="c7a.48xlarge")
    os.rename("job/mdsim-g.sbatch", "job/old.sbatch")
    for f in ("job.env", "job.sh", "watch"):
        os.remove("job/" + f)
    emit("slurm", "job", pick="c7a.48xlarge")
    lines = [json.loads(line) for line in open("job/audit.jsonl")]
    check(len(lines) == 2, "a line for each --emit", lines)
    a = lines[1]
    files = {f: hashlib.sha256(open("job/" + f, "rb").read()).hexdigest() for f in ("job.env", "job.sh", "watch", "mdsim-g.sbatch")}
    check(a["files"] == files, "with the sums of the files", (a, files))
    check(a["conf_sha256"] == hashlib.sha256(open("a.conf", "rb").read()).hexdigest() and re.fullmatch("[0-9a-f]{64}", a["prices_sha256"]), "and of conf and prices", a)
    check(a["target"] == "slurm" and a["instance"] == "c7a.48xlarge" and a["price_kind"] == "on-demand" and re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", a["time"]), "what and when", a)
    emit("slurm", "other", "--prices", "AWS=" + prices(), pick="c9x.large")
    check(json.loads(open("other/audit.jsonl").read())["prices_sha256"] != a["prices_sha256"], "other prices, another sum")


main({"fields": all_fields, "shell": shell, "safe": safe, "inject": inject, "all": everything, "refused": refused, "audit": audit})
