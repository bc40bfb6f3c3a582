# SPDX-License-Identifier: Apache-2.0
"""Every planted fault is caught by the modes that must catch it, and no mode complains of the right twin.

usage: planted.py KIND PROGRAM, where KIND says how the program was built: plain, asan or tsan.
"""
import os
import subprocess
import sys

WRONG, FAULT, ASAN, RACE = 1, 96, 97, 98
# what each way of running must answer to the broken twin; a way that is not listed may pass it
PLAIN = ("forward", "reverse", "random")
EVERY = PLAIN + ("lazy", "protect", "asan", "tsan")


def all_of(code, ways=EVERY):
    return {way: (code,) for way in ways}


EXPECTED = {
    # the race detector reports at the end of the process, over the status of a wrong number
    "reverse": {**all_of(WRONG), "tsan": (RACE,)},
    "rounds": {**all_of(WRONG), "tsan": (RACE,)},
    "warp_box": {**all_of(WRONG), "tsan": (RACE,)},
    "shuffle_fence": {"tsan": (RACE,)},
    "unwritten": all_of(WRONG),
    "past_end": {"protect": (FAULT,), "asan": (ASAN,)},
    "past_shared": {"asan": (ASAN,)},
    "large_local": all_of(FAULT, PLAIN + ("lazy", "protect")),
    "cast": {"asan": (ASAN,), **all_of(WRONG, PLAIN + ("lazy", "protect", "tsan"))},
    "branches": all_of(FAULT),
    "half": all_of(FAULT),
    "early": all_of(FAULT),
    "source": all_of(FAULT),
    "two_barriers": all_of(FAULT),
    "barrier_after_return": all_of(FAULT),
    # in other orders the flag may be set before thread 0 begins to wait
    "spin": all_of(FAULT, ("forward", "lazy", "protect", "asan", "tsan")),
    "sum": {"tsan": (RACE,)},
    "blocks": {"tsan": (RACE,)},
    "last_block": {"tsan": (RACE,)},
    "early_read": {"lazy": (WRONG,)},
    "two_streams": {"lazy": (WRONG,)},
    "after_free": {"protect": (FAULT,), "asan": (ASAN,), "tsan": (RACE,)},
    "host_reads": {"protect": (FAULT,)},
    "large_block": all_of(WRONG),
    "graph": all_of(WRONG),
}
# messages that must name the place
TEXT = {
    "branches": ["planted.cu:", "k_branches", "missing"],
    "half": ["k_half", "ffffffff"],
    "early": ["k_early", "lane 9"],
    "source": ["lane 3 reads lane 20"],
    "two_barriers": ["k_two_barriers", "planted.cu:"],
    "barrier_after_return": ["k_barrier_after_return"],
    "spin": ["watchdog", "k_spin", "thread (0, 0, 0)"],
    "large_local": ["stack", "k_large_local"],
}
PROTECT_TEXT = {
    "past_end": ["past the end", "k_past_end", "thread (127, 0, 0)"],
    "after_free": ["after cudaFree", "k_fill"],
    "host_reads": ["the host touches device memory"],
}
WAYS = {
    "plain": [("forward", {}), ("reverse", {"EMU_ORDER": "reverse"}), ("random", {"EMU_ORDER": "random"}),
              ("lazy", {"EMU_LAZY": "1"}), ("protect", {"EMU_PROTECT": "1"})],
    "asan": [("asan", {})],
    "tsan": [("tsan", {})],
}


def main(kind, program):
    failures = 0
    names = subprocess.run([program], capture_output=True, text=True, check=True).stdout.split()
    if sorted(names) != sorted(EXPECTED):
        print("cases of the program and of this list differ:", sorted(set(names) ^ set(EXPECTED)))
        failures += 1
    seed = str(os.getpid())
    print("seed of the random order:", seed)
    for way, extra in WAYS[kind]:
        env = dict(os.environ, EMU_WATCHDOG="2", EMU_SEED=seed, ASAN_OPTIONS="exitcode=97:detect_leaks=0:handle_segv=1",
                   UBSAN_OPTIONS="halt_on_error=1:exitcode=97", TSAN_OPTIONS="exitcode=98:atexit_sleep_ms=0", **extra)
        for name in names:
            for twin in ("right", "broken"):
                run = subprocess.run([program, name, twin], capture_output=True, text=True, env=env, timeout=120)
                text = run.stdout + run.stderr
                if twin == "right":
                    good = run.returncode == 0
                else:
                    expected = EXPECTED.get(name, {}).get(way)
                    good = expected is None or run.returncode in expected
                    if expected and FAULT in expected:
                        good &= all(word in text for word in TEXT.get(name, []))
                    if way == "protect" and name in PROTECT_TEXT:
                        good &= all(word in text for word in PROTECT_TEXT[name])
                if not good:
                    failures += 1
                    print(f"{way}: {name} {twin}: status {run.returncode}\n{text[-1500:]}")
    print(f"{len(names)} cases, {len(WAYS[kind])} ways, {failures} failures")
    return failures != 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
