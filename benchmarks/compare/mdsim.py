# SPDX-License-Identifier: Apache-2.0
"""mdsim in a comparison: the same physics as a conf, runs, and its numbers. What is not written is its default."""
import csv
import json
import os
import re
import shutil

from common import Failed, cores, run


def conf(physics, topology, coordinates, steps, kind, every=100, extra=""):
    """Text of a conf: kind is "nvt" or "nve"; `every`: steps between energies, as often as the rival computes them."""
    thermostat = f'thermostat = {{ kind = "v-rescale"; tau = 0.5; temperature = {physics["temperature"]}; }};\n' if kind == "nvt" else ""
    coulomb = "pme" if physics["charges"] else "none"
    if physics.get("force_error"):
        extra += f'pme = {{ force_error = {physics["force_error"]:.4g}; }};\n'
    return (f'system = {{ topology = "{topology}"; coordinates = "{coordinates}"; }};\n'
            f'run = {{ steps = {steps}L; dt = {physics["dt"]}; temperature = {physics["temperature"]}; }};\n'
            f'nonbonded = {{ cutoff = {physics["cutoff"]}; lj_modifier = "{physics.get("lj", "potential-shift")}"; '
            f'tail_correction = {str(physics.get("tail", True)).lower()}; coulomb = "{coulomb}"; }};\n'
            f'constraints = {{ kind = "h-bonds"; }};\n{thermostat}'
            f'output = {{ trajectory_every = 0L; energy_every = {every}L; checkpoint_minutes = 0.0; }};\n{extra}')


class Mdsim:
    """One mdsim binary."""

    def __init__(self, binary):
        self.binary = shutil.which(binary)
        if not self.binary:
            raise FileNotFoundError(binary)
        self.binary = os.path.abspath(self.binary)
        info = run([self.binary, "info"], ".")[0].splitlines()
        self.version = info[0]
        levels = next((line.split(":")[1].split() for line in info if line.startswith("backend cpu")), ["?"])
        self.simd = levels[0]
        self.name = f"{self.version.split(',')[0]}, {self.simd}"

    def entry(self, name, threads, folder):
        """The timed run of NAME.conf, bound to the same cores as the rival, one thread a core: command, folder, environment.

        Threads wait actively, as libgomp's default has it for the rival: mdsim alone would let them sleep early, for shared machines."""
        places = cores(threads)
        return (["taskset", "-c", ",".join(map(str, places)), self.binary, name + ".conf", "--restart=never", "--quiet",
                 "--set", f"output.name={name}", "--set", f"backend.threads={threads}"], folder,
                {"OMP_WAIT_POLICY": "active", "OMP_PROC_BIND": "true", "OMP_PLACES": ",".join(f"{{{c}}}" for c in places)})

    def run(self, folder, name, threads=None):
        run([self.binary, name + ".conf", "--restart=never", "--quiet", "--set", f"output.name={name}"]
            + (["--set", f"backend.threads={threads}"] if threads else []), folder)

    def performance(self, folder, name):
        """ms/step of a finished run by its own clock, and the settings that it chose for itself, from NAME.log."""
        with open(os.path.join(folder, name + ".log")) as f:
            text = f.read()
        found = re.search(r"^performance:.*?([\d.]+) ms/step", text, flags=re.M)
        if not found:
            raise Failed(f"no performance in {folder}/{name}.log")
        chosen = re.findall(r"^(?:mesh|list|tuned|tuner|lists?)\b.*", text, flags=re.M) + re.findall(r"^\d+ lists,.*", text, flags=re.M)
        return float(found.group(1)), "; ".join(dict.fromkeys(chosen))

    def energy(self, folder, name, settings=None, backend="cpu"):
        """Terms, forces [n][3] and settings of the start of NAME.conf."""
        import numpy as np
        command = [self.binary, "energy", name + ".conf", "--json", name + ".json", "--forces", name + ".npy", "--set",
                   f"backend.kind={backend}"]
        for key, value in (settings or {}).items():
            command += ["--set", f"{key}={value}"]
        run(command, folder)
        with open(os.path.join(folder, name + ".json")) as f:
            answer = json.load(f)
        return answer["energies"], np.load(os.path.join(folder, name + ".npy")), answer["settings"]

    def series(self, folder, name):
        """time_ps and conserved_kj_mol of NAME.csv."""
        with open(os.path.join(folder, name + ".csv")) as f:
            rows = list(csv.DictReader(f))
        return [float(r["time_ps"]) for r in rows], [float(r["conserved_kj_mol"]) for r in rows]
