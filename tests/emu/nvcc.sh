#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The same kernel texts are CUDA: nvcc compiles them without a warning, a spill or local memory where it is installed.
set -u
for nvcc in nvcc /usr/local/cuda/bin/nvcc; do
    command -v "$nvcc" >/dev/null && break
done
if ! command -v "$nvcc" >/dev/null; then
    echo "skipped: nvcc is not installed"
    exit 77
fi
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
known=$("$nvcc" --list-gpu-arch)
newest=$(echo "$known" | tail -1)
arch=()
for sm in 75 80 86 89 90 100 120; do
    grep -qx "compute_$sm" <<<"$known" && arch+=(-gencode "arch=compute_$sm,code=sm_$sm")
done
arch+=(-gencode "arch=$newest,code=$newest")
status=0
arch=(--threads 2 "${arch[@]}")
for file in "$MDS_SOURCE"/cuda/*.cu "$MDS_SOURCE"/tests/emu/*.cu; do
    [ -f "$file" ] || continue
    # kernels planted with a fault may use local memory: that is one of the faults
    strict="-Xptxas -warn-spills,-warn-lmem-usage"
    [ "$(basename "$file")" = planted.cu ] && strict=""
    # shellcheck disable=SC2086
    text=$("$nvcc" -std=c++17 -O2 "${arch[@]}" $strict -Werror all-warnings -I"$MDS_SOURCE/cuda" -I"$MDS_SOURCE/src" -c "$file" \
        -o "$out/object.o" 2>&1)
    if [ $? -ne 0 ] || [ -n "$text" ]; then
        echo "$file:"
        echo "$text" | head -40
        status=1
    fi
done
exit $status
