# SPDX-License-Identifier: Apache-2.0
"""Machine code as NVIDIA's disassembler prints it: instructions by class, loops, and what the innermost long loop of a kernel costs.

A loop is a stretch that a backward branch closes: [target, branch], but not the branch to itself that ends a kernel. The one that counts is the
longest that holds no other of an eighth of its length or more: shorter ones are what a compiler makes of rare atomics. Both sides of branches inside
it count.

usage: sass.py --test    compares what is found in sample.sass with what was counted by hand there"""
import collections
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
CLASSES = {
    "double": r"D(ADD|MUL|FMA|SETP|MNMX)\b|F2F\.F64|I2F\.F64|F2I.*F64",
    "local": r"(LDL|STL)\b",
    "convert": r"(F2I|I2F|F2F|I2I)\b",
    "special": r"MUFU\b",
    "shuffle": r"SHFL\b",
    "vote": r"(VOTE|MATCH)\b",
    "atomic": r"(ATOM|ATOMS|ATOMG|RED|REDG|REDS)\b",
    "load": r"(LDG|LDS|LD)\b",
    "store": r"(STG|STS|ST)\b",
    "barrier": r"BAR\b",
    "float": r"F(ADD|MUL|FMA|SETP|SEL|MNMX|CHK)\b",
    # parts of those above
    "fma": r"FFMA\b",
    "lds": r"LDS\b",
    "ldg": r"LDG\b",
}


def short(name):
    """k_pair<1, 2, 3>(pair_args) -> k_pair<1,2,3>"""
    return re.sub(r"\s|^void ", "", re.sub(r"\(.*\)$", "", re.sub(r"^void ", "", name.replace("(int)", ""))))


def count(instructions):
    counts = collections.Counter(all=len(instructions))
    for text in instructions:
        for name, pattern in CLASSES.items():
            if re.match(pattern, text):
                counts[name] += 1
    return dict(counts)


def loops(code):
    """Stretches [target, branch] of backward branches, without the branch to itself that ends a kernel, and without those that begin inside another and end
    behind it: ways back from rare code that stands behind the loops."""
    found = []
    for address, text in code:
        m = re.match(r"BRA(?:\.\w+)*\s+(?:[!U]*P\w+,\s*)*(?:`\(\.\S+\)|0x([0-9a-f]+))", text)
        if m and m.group(1) and int(m.group(1), 16) < address:
            found.append((int(m.group(1), 16), address))
    return [l for l in found if not any(o[0] < l[0] <= o[1] < l[1] for o in found)]


def inner_loop(code):
    """The one that counts, or None."""
    every = loops(code)
    inner = [l for l in every if not any(o != l and l[0] <= o[0] and o[1] <= l[1] and 8 * (o[1] - o[0] + 16) > l[1] - l[0] + 16 for o in every)]
    return max(inner, key=lambda l: l[1] - l[0], default=None)


def describe(code):
    """{"kernel": counts, "loop": counts of the innermost long loop, "loops": counts of all that is in a loop}"""
    every, inner = loops(code), inner_loop(code)
    return {"kernel": count([t for _, t in code]), "loop": count([t for a, t in code if inner and inner[0] <= a <= inner[1]]),
            "loops": count([t for a, t in code if any(l[0] <= a <= l[1] for l in every)])}


def read(text):
    """{(kernel, sm): [(address, instruction)]} of cuobjdump -sass, names made readable"""
    found, code, sm = {}, None, 0
    for line in text.splitlines():
        m = re.match(r"arch = sm_(\d+)", line)
        if m:
            sm, code = int(m.group(1)), None
        m = re.match(r"\s+Function : (.*)", line)
        if m:
            code = found.setdefault((short(m.group(1).strip()), sm), [])
        m = re.match(r"\s+/\*([0-9a-f]{4,})\*/\s+(?:@[!U]*P\w+\s+)?([^;]+);", line)
        if m and code is not None:
            code.append((int(m.group(1), 16), m.group(2).strip()))
    return found


def test():
    """What sample.sass has, counted by hand."""
    with open(os.path.join(HERE, "sample.sass"), encoding="utf-8") as f:
        text = f.read()
    found = {key: describe(code) for key, code in read(text).items()}
    want = {
        # 38 instructions for the four points of a column, 0x680 to 0x8d0
        ("k_spread<4>", 90): {"all": 38, "float": 6, "convert": 4, "atomic": 4, "load": 6, "lds": 6},
        # a loop in a loop, a short one before, a way back into the inner one from behind, the branch to itself at the end
        ("planted", 75): {"all": 6, "float": 2, "fma": 2, "special": 1, "load": 1, "ldg": 1},
    }
    wrong = ["%s: %s, and not %s" % (key, found.get(key, {}).get("loop"), counts) for key, counts in want.items() if found.get(key, {}).get("loop") != counts]
    if sorted(found) != sorted(want):
        wrong.append("kernels %s" % sorted(found))
    if found.get(("planted", 75), {}).get("loops", {}).get("all") != 13:
        wrong.append("instructions in any loop of `planted`: %s, and not 13" % found.get(("planted", 75), {}).get("loops"))
    for line in wrong:
        print("FAILED  " + line)
    print("%d kernels, %d wrong" % (len(found), len(wrong)))
    return 1 if wrong else 0


if __name__ == "__main__":
    if sys.argv[1:] != ["--test"]:
        sys.exit(__doc__)
    sys.exit(test())
