# SPDX-License-Identifier: Apache-2.0
"""GROMACS as a rival: inputs, runs, and its numbers.

Settings that are not written into the .mdp are its defaults, first of all verlet-buffer-tolerance (0.005 kJ/mol/ps/atom), from which
it chooses the list radius, and nstlist, which mdrun raises by itself. `-pin on` binds its threads.
"""
import os
import re
import shutil
import struct
import subprocess

from common import Failed, run

# Names that `gmx energy` prints, and ours. "Coulomb (SR)" and ours both hold excluded pairs and self energy.
TERMS = {"Bond": "bond", "Angle": "angle", "U-B": "urey_bradley_angle", "Proper-Dih.": "proper", "Ryckaert-Bell.": "rb",
         "Improper-Dih.": "improper", "Per.-Imp.-Dih.": "periodic_improper", "CMAP-Dih.": "cmap", "LJ-14": "lj14",
         "Coulomb-14": "coul14", "LJ-(SR)": "lj_sr", "Disper.-corr.": "disp_corr", "Coulomb-(SR)": "coul_sr",
         "Coul.-recip.": "coul_recip", "Potential": "potential"}
ORDER, SPACING, RTOL = 4, 0.1125, 1e-5


def mdp(physics, steps, kind, every=100):
    """Text of an .mdp: kind is "nvt", "nve", "point" (one evaluation at the defaults) or "tight" (converged Ewald)."""
    lines = {"integrator": "md", "nsteps": steps, "dt": physics["dt"], "cutoff-scheme": "Verlet", "rcoulomb": physics["cutoff"],
             "rvdw": physics["cutoff"], "vdw-modifier": "Potential-shift", "DispCorr": "EnerPres", "constraints": "h-bonds",
             "nstcalcenergy": every, "nstenergy": every, "nstlog": 0, "comm-mode": "Linear", "gen-vel": "no"}
    if physics["charges"]:
        lines.update({"coulombtype": "PME", "coulomb-modifier": "Potential-shift", "pme-order": ORDER, "fourierspacing": SPACING,
                      "ewald-rtol": RTOL})
    if kind == "nvt":
        lines.update({"tcoupl": "v-rescale", "tc-grps": "System", "tau-t": 0.5, "ref-t": physics["temperature"], "ld-seed": 1})
    if kind in ("point", "tight"):
        lines.update({"continuation": "yes", "nstfout": 1, "nstcalcenergy": 1, "nstenergy": 1, "nstlist": 1,
                      "verlet-buffer-tolerance": -1, "rlist": physics["cutoff"], "comm-mode": "None"})
    if kind == "tight" and physics["charges"]:
        lines.update({"coulomb-modifier": "None", "pme-order": 8, "fourierspacing": 0.06, "ewald-rtol": 1e-6})
    return "".join(f"{key} = {value}\n" for key, value in lines.items())


os.environ["GMX_MAXBACKUP"] = "-1"  # for all that are started: gmx refuses to write after 99 old files of a name


class Gromacs:
    """One gmx binary; files of a run live in a folder and are named after it."""

    def __init__(self, binary):
        self.binary = shutil.which(binary)
        if not self.binary:
            raise FileNotFoundError(binary)
        text = run([self.binary, "-quiet", "--version"], ".")[0]

        def line(key):
            found = re.search(rf"^{key}:\s*(.+)$", text, flags=re.M)
            return found.group(1).strip() if found else "?"
        self.version, self.simd, self.precision = line("GROMACS version"), line("SIMD instructions"), line("Precision")
        self.compiler, self.fft = line("C compiler"), line("CPU FFT library")
        self.name = f"GROMACS {self.version.split('-Debian')[0]}, {self.simd.replace('_', '-')}"

    def _call(self, arguments, folder, **more):
        return run([self.binary, "-quiet"] + arguments, folder, **more)

    def grompp(self, folder, name, text, topology, coordinates, extra=()):
        """Write NAME.tpr; the PME grid that was chosen, or None."""
        with open(os.path.join(folder, name + ".mdp"), "w") as f:
            f.write(text)
        out, err = self._call(["grompp", "-f", name + ".mdp", "-c", coordinates, "-r", coordinates, "-p", topology, "-o", name + ".tpr",
                               "-po", name + ".out.mdp", "-maxwarn", "5", *extra], folder)
        grid = re.search(r"fourier grid of (\d+)x(\d+)x(\d+)", out + err)
        return [int(g) for g in grid.groups()] if grid else None

    def command(self, name, threads, ranks=1):
        """The timed run of NAME.tpr, without final files."""
        return [self.binary, "-quiet", "mdrun", "-s", name + ".tpr", "-deffnm", name, "-ntmpi", str(ranks), "-ntomp",
                str(threads // ranks), "-pin", "on", "-nb", "cpu", "-noconfout", "-cpt", "-1"]

    def mdrun(self, folder, name, threads=1, extra=()):
        self._call(["mdrun", "-s", name + ".tpr", "-deffnm", name, "-ntmpi", "1", "-ntomp", str(threads), "-pin", "off", *extra], folder)

    def performance(self, folder, name, dt_ps):
        """ms/step of a finished run by its own clock, and the settings that it chose for itself, from NAME.log."""
        with open(os.path.join(folder, name + ".log")) as f:
            text = f.read()
        found = re.search(r"^Performance:\s+([\d.]+)", text, flags=re.M)
        if not found:
            raise Failed(f"no performance in {folder}/{name}.log")
        chosen = re.findall(r"(?:Changing nstlist.*|Set rlist.*|Using a dual.*|  (?:outer|inner) list:.*|NOTE:.*DD.*)", text)
        return 86400 * dt_ps / float(found.group(1)), " ".join(" ".join(c.split()) for c in chosen)

    def series(self, folder, name, wanted):
        """Columns [time, term, ...] of NAME.edr as lists; terms named as `gmx energy` prints them, without blanks."""
        listing = subprocess.run([self.binary, "-quiet", "energy", "-f", name + ".edr", "-o", name + ".xvg"], cwd=folder, input="0\n",
                                 capture_output=True, text=True, check=False)
        number = {term: n for n, term in re.findall(r"\b(\d+)\s\s?([^\s\d]\S*)", listing.stdout + listing.stderr)}
        found = [term for term in wanted if term in number]
        self._call(["energy", "-f", name + ".edr", "-o", name + ".xvg", "-dp"], folder,
                   input="\n".join(number[t] for t in found) + "\n0\n")
        with open(os.path.join(folder, name + ".xvg")) as f:
            rows = [[float(w) for w in line.split()] for line in f if line[0] not in "#@"]
        # gmx energy sorts its columns by number, whatever the order asked for
        found.sort(key=lambda term: int(number[term]))
        return {key: [row[k] for row in rows] for k, key in enumerate(["time"] + found)}

    def energies(self, folder, name):
        """Terms of the first frame under our names, kJ/mol."""
        return {TERMS[term]: values[0] for term, values in self.series(folder, name, TERMS).items() if term != "time"}


def read_forces(path):
    """[n][3] forces of the first frame of a .trr of either precision, kJ/mol/nm (XDR; layout: the GROMACS manual)."""
    import numpy as np
    with open(path, "rb") as f:
        data = f.read()
    at = 12 + (struct.unpack(">i", data[8:12])[0] + 3) // 4 * 4  # magic, two lengths, version padded to words
    *sizes, n, _, _ = struct.unpack(">13i", data[at:at + 52])    # ir e box vir pres top sym x v f; atoms, step, nre
    width = sizes[9] // (3 * n) if n else 0
    if width not in (4, 8):
        raise Failed(f"{path}: no forces in the first frame")
    at += 52 + 2 * width + sum(sizes[:9])                        # time and lambda
    return np.frombuffer(data[at:at + sizes[9]], dtype=f">f{width}").reshape(n, 3).astype(float)
