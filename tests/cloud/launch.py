# SPDX-License-Identifier: Apache-2.0
# Shared by the tests of this directory: the helpers of tests/cli, and launch files of a small system.
import os, sys

sys.path.insert(0, os.path.join(os.environ["MDS_SOURCE"], "tests", "cli"))
from program import check, conf, expect, main, mdsim, run, series, source, state, write  # noqa: E402,F401


def argon(path="a.conf", steps=2000, **output):
    """1000 atoms; a checkpoint and a row every so many steps, so that a stop in the middle shows."""
    return conf(path, system={"generate": "argon", "atoms": 1000}, run={"steps": steps, "dt": 0.002, "temperature": 94.4}, nonbonded={"cutoff": 0.9},
                output=dict({"name": "g", "energy_every": 10, "trajectory_every": 100, "checkpoint_every": 500}, **output))


def emit(target, out, *words, code=0, says="", conf="a.conf", pick="c7a.48xlarge", **profile):
    """mdsim plan --emit; profile keys as libconfig text in a file of its own."""
    words = [conf] + (["--pick", pick] if pick else []) + ["--emit", target, "--out", out] + list(words)
    if profile:
        words += ["--profile", write(out + ".profile", "".join('%s = %s;\n' % (k, v if isinstance(v, (int, float)) else '"%s"' % v) for k, v in profile.items()))]
    return expect(code, says, "plan", *words)


def edit(path, **settings):
    """Change --set lines of a job.env, as a user would."""
    lines = open(path).read().split("\n")
    for key, value in settings.items():
        key = key.replace("__", ".")
        old = [k for k, line in enumerate(lines) if ("--set %s=" % key) in line]
        if old:
            lines[old[0]] = "    --set %s=%s" % (key, value)
        else:
            lines.insert(lines.index("settings=(") + 1, "    --set %s=%s" % (key, value))
    write(path, "\n".join(lines))
