# SPDX-License-Identifier: Apache-2.0
"""Waiting for a run by what it has written, never by the clock: a busy machine takes longer and sees the same."""
import os, time

PATIENCE = 600 # seconds without a new row: it hangs. Tuning and a set-up under sanitizers on a crowded machine take a tenth of that


def rows(path):
    """Whole rows of run.csv, its head included."""
    return open(path).read().count("\n") if os.path.exists(path) else 0


def wait_for_rows(process, path, until):
    """Until there are so many, or the process has ended, or it hangs; how many there are. A row may follow between this and whatever is done next."""
    before, since = rows(path), time.time()
    while process.poll() is None and before < until and time.time() - since < PATIENCE:
        time.sleep(0.005)
        now = rows(path)
        if now != before:
            before, since = now, time.time()
    return rows(path)


def wait_for_change(process, path):
    """Until a run that may go on from a checkpoint is at work: it cuts run.csv back to it, or appends; how many rows there are."""
    def size():
        return os.path.getsize(path) if os.path.exists(path) else 0
    before, since = size(), time.time()
    while process.poll() is None and size() == before and time.time() - since < PATIENCE:
        time.sleep(0.005)
    return rows(path)
