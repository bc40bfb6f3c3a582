# SPDX-License-Identifier: Apache-2.0
"""The project's own files, for the lint tests."""
import os
import re
import subprocess

ROOT = os.environ.get("MDS_SOURCE") or os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


def own_files():
    """Names relative to ROOT, and whether git gave them; else (no git, no repository) all but builds and outputs."""
    try:
        out = subprocess.run(["git", "-C", ROOT, "ls-files", "-co", "--exclude-standard"], capture_output=True, text=True)
        if out.returncode == 0 and out.stdout:
            return sorted(n for n in out.stdout.split("\n") if n and os.path.isfile(os.path.join(ROOT, n))), True
    except FileNotFoundError:
        pass
    names = []
    for directory, below, files in os.walk(ROOT):
        below[:] = [b for b in below if not re.match(r"build|\.git$|__pycache__", b)]
        names += [os.path.relpath(os.path.join(directory, f), ROOT) for f in files]
    return sorted(names), False
