#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What can be said of the GPU kernels without a GPU: registers, local memory, shared memory, occupancy, instructions of the inner loops.
# usage: benchmarks/gpu_static.sh [--check] [--arch 75,90] [--json FILE] [KERNEL_FILE.cu ... | --objects OBJECT ...]
#   --check     compare with the budgets of benchmarks/gpu/budgets.csv; exit status 1 where one is exceeded
#   --objects   what a build has compiled already (build/cuda/CMakeFiles/mds_cuda.dir/*.o), for all its chips
# Needs nvcc (else it says so and ends with 77); instructions also need cuobjdump (on the PATH, beside nvcc, or CUOBJDUMP=/where/it/is) and
# its nvdisasm, else they are left out and it says so.
set -u
here=$(cd "$(dirname "$0")" && pwd)
for nvcc in nvcc /usr/local/cuda/bin/nvcc; do
    command -v "$nvcc" >/dev/null && break
done
if ! command -v "$nvcc" >/dev/null; then
    echo "skipped: nvcc is not installed"
    exit 77
fi
NVCC=$nvcc exec python3 "$here/gpu/static.py" "$@"
