#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Run a test that needs a GPU, or skip it and say why: usage: gpu.sh MDSIM PROGRAM arguments...
mdsim=$1
shift
none=$("$mdsim" info | grep '^GPUs: none')
if [ -n "$none" ]; then
    echo "skipped: no GPU answers: ${none#GPUs: none }"
    exit 77
fi
exec "$@"
