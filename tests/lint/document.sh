#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# docs/config.md is what the schema says.
cd "$MDS_SOURCE" || exit 1
new=$("$MDSIM" document) || { echo "cannot make the document"; exit 1; }
[ -n "$new" ] || exit 1
if diff -u docs/config.md <(printf '%s\n' "$new"); then
    echo "docs/config.md is up to date"
else
    echo "docs/config.md is out of date: build/mdsim document > docs/config.md"
    exit 1
fi
