# SPDX-License-Identifier: Apache-2.0
"""Hydrogen mass repartitioning written into a topology, so that both programs read the same masses (GROMACS 2022 has no key for it).

Every hydrogen that is not in a rigid water gets HYDROGEN Da, taken from the atom that it is bonded to (feenstra1999): 4 fs instead of 2.
Works on a topology without includes, as `gmx grompp -pp` writes it.
"""
HYDROGEN = 3.024  # three times the mass, the usual factor


def _sections(lines):
    """(section, words, line) of every line; words is empty outside of data."""
    section = ""
    for line in lines:
        words = line.split(";")[0].split()
        if words and words[0] == "[":
            section, words = words[1], []
        yield section, words if not line.startswith(("#", "*")) else [], line


def repartition(text):
    """The text with new masses in the [ atoms ] of every molecule that has no [ settles ], and the number of atoms changed."""
    lines = text.split("\n")
    type_mass, molecules = {}, []
    for k, (section, words, _) in enumerate(_sections(lines)):
        if section == "atomtypes" and words:
            kind = next(i for i in range(3, len(words)) if words[i] in "ADSV" and len(words[i]) == 1)  # mass, charge, kind
            type_mass[words[0]] = float(words[kind - 2])
        elif section == "moleculetype" and words:
            molecules.append({"rows": {}, "bonds": [], "rigid": False})
        elif section == "atoms" and words:
            molecules[-1]["rows"][int(words[0])] = k
        elif section == "bonds" and words:
            molecules[-1]["bonds"].append((int(words[0]), int(words[1])))
        elif section == "settles" and words:
            molecules[-1]["rigid"] = True
    changed = 0
    for molecule in molecules:
        if molecule["rigid"]:
            continue
        words = {a: lines[k].split(";")[0].split() for a, k in molecule["rows"].items()}
        mass = {a: float(w[7]) if len(w) > 7 else type_mass[w[1]] for a, w in words.items()}
        old, done = dict(mass), set()
        for pair in molecule["bonds"]:
            for hydrogen, heavy in (pair, pair[::-1]):
                if old[hydrogen] < 2 <= old[heavy] and hydrogen not in done:
                    mass[heavy] -= HYDROGEN - old[hydrogen]
                    mass[hydrogen] = HYDROGEN
                    done.add(hydrogen)
        for a, w in words.items():
            lines[molecule["rows"][a]] = "  ".join(w[:7] + [f"{mass[a]:.6f}"])
        changed += len(done)
    return "\n".join(lines), changed
