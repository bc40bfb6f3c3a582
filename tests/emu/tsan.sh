#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Run a command whose program is watched for races: usage: tsan.sh PROGRAM command...
# Kernels that scatter addresses widely upset the detector of older compilers; it then says so at once. Without that scattering
# it works; where a container forbids switching it off, the test is skipped.
program=$1
shift
if "$program" --help 2>&1 | grep -q "unexpected memory mapping"; then
    if setarch -R true 2>/dev/null; then
        exec setarch -R "$@"
    fi
    echo "skipped: the thread sanitizer cannot place its memory here"
    exit 77
fi
exec "$@"
