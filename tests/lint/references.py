#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What is pointed to is there: documents named in sources and documents, relative links of documents, and the keys of
docs/references.bib that file heads cite as [key] or in a sentence (name and year: essmann1995)."""
import os
import re
import sys

from files import ROOT, own_files

TEXT = (".c", ".h", ".cu", ".cuh", ".py", ".sh", ".md", ".conf", ".top", ".itp")
KEY = r"(?<![\w.-])([a-z]{4,}(?:19|20)\d\d[a-z]?)(?![\w.-])"


def main():
    with open(os.path.join(ROOT, "docs/references.bib"), encoding="utf-8") as file:
        found = re.findall(r"^@\w+\{([^,\s]+),", file.read(), flags=re.M)
    errors = [f"docs/references.bib: {key} stands there twice" for key in sorted(set(found)) if found.count(key) > 1]
    known, cited = set(found), set()
    for name in own_files()[0]:
        if not name.endswith(TEXT) or name.endswith("lint/references.py"):
            continue
        with open(os.path.join(ROOT, name), encoding="utf-8", errors="replace") as file:
            text = file.read()
        for number, line in enumerate(text.split("\n"), 1):
            for document in re.findall(r"(?<![\w/.])docs/[\w/.-]+\.(?:md|bib)\b", line):
                if not os.path.exists(os.path.join(ROOT, document)):
                    errors.append(f"{name}:{number}: {document} is not there")
            for key in re.findall(KEY, line):
                cited.add(key)
                if key not in known:
                    errors.append(f"{name}:{number}: {key} is not in docs/references.bib")
            if name.endswith(".md"):
                for link in re.findall(r"\]\(([^)#\s]+)[^)]*\)", line):
                    if "://" not in link and not os.path.exists(os.path.join(ROOT, os.path.dirname(name), link)):
                        errors.append(f"{name}:{number}: the link {link} leads nowhere")
    for line in errors:
        print("error:", line)
    print(f"{len(known)} sources, {len(cited)} of them cited; {len(errors)} errors")
    return 1 if errors or not cited else 0


if __name__ == "__main__":
    sys.exit(main())
