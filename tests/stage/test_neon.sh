#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The generic level on another architecture: the layers up to the backends are compiled for aarch64, where its vectors
# are NEON's, and stage tests run under qemu against the oracle. The libraries of readers and writers are not needed. FFTW, which
# only the oracle's mesh uses, is replaced by src/minimal/fourier.c, so that nothing must be installed for arm64 but
# the compiler: gcc-aarch64-linux-gnu and qemu-user in Debian.
set -eu
cc=${MDS_AARCH64_CC:-aarch64-linux-gnu-gcc}
qemu=${MDS_AARCH64_RUN:-qemu-aarch64}
for tool in "$cc" "$qemu"; do
    command -v "$tool" >/dev/null || { echo "skipped: no $tool"; exit 77; }
done
source=$MDS_SOURCE
out=$MDS_BUILD/neon
mkdir -p "$out"
flags="-std=gnu17 -O2 -fopenmp -Wall -Wextra -Wno-psabi -Werror -ffp-contract=fast -fno-math-errno -fno-trapping-math
       -D_GNU_SOURCE -DMDS_VERSION=\"aarch64\" -DMDS_ISA_LEVEL=generic -I$source/src -I$source/tests -I$source/src/minimal/include"

compile() { # one source file; nothing to do where the object is newer than every source
    object=$out/$(echo "${1#"$source"/}" | tr / _).o
    if [ -f "$object" ] && [ -z "$(find "$source/src" "$source/tests" -name '*.[ch]' -newer "$object" -print -quit)" ]; then
        return
    fi
    "$cc" $flags -c "$1" -o "$object"
}
export -f compile
export cc flags source out

sources=$(ls "$source"/src/{base,num,model,backend,cpu,ref}/*.c "$source"/src/minimal/fourier.c "$source"/tests/stage/{stage,poke_cpu,poke_ref}.c)
tests="unit/test_fft stage/test_vsite stage/test_constrain stage/test_mesh"
{ echo "$sources"; for t in $tests; do echo "$source/tests/$t.c"; done; } | xargs -P "$(nproc)" -I{} bash -c 'compile {} || exit 255'

objects=$(for s in $sources; do echo "$out/$(echo "${s#"$source"/}" | tr / _).o"; done)
failed=0
for t in $tests; do
    program=$out/$(basename "$t")
    # static, so that no loader of the other architecture is needed; the linker warns about libgomp's dlopen
    "$cc" -static -fopenmp "$out/tests_$(echo "$t" | tr / _).c.o" $objects -lm -o "$program" 2>"$out/link.log" ||
        { cat "$out/link.log"; exit 1; }
    echo "$t"
    # waiting threads must not spin: under emulation that is dear
    OMP_WAIT_POLICY=passive "$qemu" "$program" cpu || { echo "FAILED: $t"; failed=1; }
done
exit $failed
