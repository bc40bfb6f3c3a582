#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The GPU backend on a real GPU: build, correctness, memory and race checks, speed. For a machine with a GPU, nvcc, CMake and a C/C++
# compiler; no library, no network, no git, no Python.
#
# usage: tests/device.sh DIR [TOP GRO]      TOP GRO: GROMACS files of one more system to time
#
# Leaves report.txt (what is printed), bench.json (every timing, docs/benchmarking.md), tests.log and build.log in DIR. Watches the clock
# (MDS_DEVICE_SECONDS, 350): what no longer fits is left out and named. The most telling things come first.
# Exit code: 0 good; 1 something failed; 77 no GPU answers (the build is still tried), or no nvcc.
#
# MDS_DEVICE_BUILD: a build directory to use and keep, instead of one that is thrown away. MDS_DEVICE_KIND=cpu: the same on the cpu
# backend and smaller boxes, which tests this script where no GPU is (MDS_DEVICE_MESH: then the emulated mesh's test, for its timings).
set -u

if [ $# -ne 1 ] && [ $# -ne 3 ]; then
    sed -n '6,8p' "$0" | sed 's/^# //'
    exit 64
fi
source=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$1" && dir=$(cd "$1" && pwd) || exit 74
top=${2:-} gro=${3:-}
for file in ${top:+"$top" "$gro"}; do
    [ -r "$file" ] || { echo "$file: cannot be read"; exit 66; }
done
kind=${MDS_DEVICE_KIND:-cuda}
seconds=${MDS_DEVICE_SECONDS:-350}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
build=${MDS_DEVICE_BUILD:-$work/build}
report=$dir/report.txt
failed=0
left_out="" comma=""
: >"$report"
: >"$dir/build.log"
: >"$dir/tests.log"
: >"$work/table"
: >"$work/cases"

say() { printf '[%3d s] %s\n' "$SECONDS" "$*" | tee -a "$report"; }
fault() { failed=1; say "FAILED: $*"; }
left() { echo $((seconds - SECONDS)); }
leave() { left_out="${left_out:+$left_out; }$1"; }
skip() { leave "$1"; say "left out, no time: $1"; }

# ---------------------------------------------------------------------------------------------------- machine

nvcc=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null)
if [ "$kind" = cuda ] && [ -z "$nvcc" ]; then
    say "skipped: nvcc is neither on the PATH nor in /usr/local/cuda/bin"
    exit 77
fi

# Compute capability of GPU 0 without the point, nothing where none answers. nvidia-smi is not in every container: the runtime knows, too.
native() {
    local capability
    capability=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -1 | tr -dc 0-9)
    if [ -z "$capability" ]; then
        cat >"$work/native.cu" <<'END'
#include <stdio.h>
int main(void)
{
    cudaDeviceProp p;
    if (cudaGetDeviceProperties(&p, 0) != cudaSuccess) return 1;
    printf("%d%d", p.major, p.minor);
    return 0;
}
END
        "$nvcc" -o "$work/native" "$work/native.cu" >/dev/null 2>&1 && capability=$("$work/native" 2>/dev/null)
    fi
    echo "$capability"
}

say "mdsim on $(uname -srm), $(nproc) cores, $(date -u +%Y-%m-%dT%H:%MZ), backend $kind"
arch=""
if [ "$kind" = cuda ]; then
    say "nvcc: $("$nvcc" --version | grep release)"
    arch=$(native)
    if [ -n "$arch" ]; then
        say "GPU: $(nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.max.sm,power.limit --format=csv,noheader 2>/dev/null | head -1)" \
            "compute capability $arch"
    else
        say "no GPU answers: the build is tried for sm_80"
    fi
fi

# ------------------------------------------------------------------------------------------------------ build

configure=(-DMDS_MINIMAL=ON -DCMAKE_BUILD_TYPE=Release -DMDS_ISA_LEVELS=generic)
if [ "$kind" = cuda ]; then
    configure+=(-DMDS_CUDA=ON "-DCMAKE_CUDA_COMPILER=$nvcc" "-DCMAKE_CUDA_ARCHITECTURES=${arch:-80}")
    targets=(mdsim gpu_tests)
    chosen='\.cuda$'
else
    configure+=(-DMDS_CUDA=OFF)
    targets=(mdsim test_stage_vsite)
    chosen='stage\.vsite\.cpu$'
fi
command -v ninja >/dev/null && [ ! -f "$build/CMakeCache.txt" ] && configure+=(-G Ninja)
began=$SECONDS
if ! { cmake -S "$source" -B "$build" "${configure[@]}" && timeout 300 cmake --build "$build" --parallel "$(nproc)" --target "${targets[@]}"; } \
    >>"$dir/build.log" 2>&1; then
    fault "the build, after $((SECONDS - began)) s; the end of build.log:"
    tail -20 "$dir/build.log" | tee -a "$report"
    exit 1
fi
say "built in $((SECONDS - began)) s (${arch:+sm_$arch, }minimal build, Release)"
spills=$(grep -oE "(spilled to local memory|Local memory used).*'[^']*'" "$dir/build.log" | sed "s/.*'\(.*\)'/\1/" | sort -u | tr '\n' ' ')
[ -n "$spills" ] && say "slower than need be, local memory in: $spills"
mdsim=$build/mdsim
"$mdsim" info >"$work/info" 2>&1
sed 's/^/        /' "$work/info" | tee -a "$report"
if [ "$kind" = cuda ] && grep -q '^GPUs: none' "$work/info"; then
    say "skipped: no GPU answers: $(sed -n 's/^GPUs: none //p' "$work/info")"
    exit 77
fi

# ------------------------------------------------------------------------------------------------ correctness

# Numbers of a small system against `ref`: energies to 1e-5 of the largest, forces to 1e-4 of their rms (single precision in pairs and mesh).
number() { sed -n "s/.*\"$2\": *\([-0-9.e+]*\).*/\1/p" "$1" | head -1; }
against_ref() { # name of a folder in inputs/
    local place=$source/inputs/$1/$1 base=(energy - --quiet) backend out
    base+=(--set "system.topology=$place.top" --set "system.coordinates=$place.gro" --set nonbonded.cutoff=0.9)
    if [ "$1" = argon ]; then base+=(--set nonbonded.coulomb=none); else base+=(--set pme.spacing=0.13); fi # one mesh for both backends
    for backend in ref "$kind" again; do
        out=$work/$backend
        [ "$backend" = again ] && backend=$kind
        if ! timeout 60 "$mdsim" "${base[@]}" --set "backend.kind=$backend" --json "$out.json" --forces "$out.npy" >"$work/said" 2>&1; then
            fault "energy of $1 on $backend: $(tail -1 "$work/said")"
            return
        fi
    done
    if ! cmp -s "$work/$kind.npy" "$work/again.npy"; then
        fault "$1: the same forces twice differ in their bits"
        return
    fi
    # both files hold the same names in the same order
    if ! paste <(sed -n '/"energies"/,/}/s/.*"\([a-z_0-9]*\)": *\([-0-9.e+]*\),*$/\1 \2/p' "$work/ref.json") \
        <(sed -n '/"energies"/,/}/s/.*"\([a-z_0-9]*\)": *\([-0-9.e+]*\),*$/\1 \2/p' "$work/$kind.json") |
        awk '{ n++; a = $2 < 0 ? -$2 : $2; d = $2 - $4; if (d < 0) d = -d; if (a > size) size = a; if (d > worst) { worst = d; name = $1 }
               if ($1 != $3) bad = 1 }
             END { printf "%d energies, largest difference %.1e of the largest (%s)", n, (size > 0 ? worst / size : 0), name
                   exit !(n > 8 && !bad && size > 0 && worst <= 1e-5 * size) }' >"$work/verdict"; then
        fault "$1: $(cat "$work/verdict")"
        return
    fi
    local header=$((10 + $(od -An -t u2 -j 8 -N 2 "$work/ref.npy")))
    if paste <(od -An -v -t f8 -w8 -j $header "$work/ref.npy") <(od -An -v -t f8 -w8 -j $header "$work/$kind.npy") |
        awk '{ n++; s += $1 * $1; e += ($1 - $2) ^ 2; if (NF != 2) bad = 1 }
             END { printf "; forces of %d atoms, rms difference %.1e of their rms", n / 3, (s > 0 ? sqrt(e / s) : 0)
                   exit !(n > 3000 && !bad && s > 0 && e <= 1e-8 * s) }' >>"$work/verdict"; then
        say "ok: $1 against ref: $(cat "$work/verdict"); the same bits twice"
    else
        fault "$1 against ref: $(cat "$work/verdict")"
    fi
}
for system in water dipeptide argon; do
    if [ "$(left)" -gt $((seconds / 6)) ] || [ "$system" = water ]; then against_ref $system; else skip "$system against ref"; fi
done

run_tests() {
    local limit=$(($(left) - seconds / 3)) # speed wants its share
    [ $limit -gt 100 ] && limit=100
    if [ $limit -lt 15 ]; then
        skip "stage tests"
        return
    fi
    (cd "$build" && timeout "$limit" ctest -R "$chosen" -j 4 --timeout 60 --output-on-failure --no-tests=error) >>"$dir/tests.log" 2>&1
    local code=$?
    grep -E '^ *[0-9]+/[0-9]+ Test|tests passed' "$dir/tests.log" | sed 's/^ */        /' | tee -a "$report"
    case $code in
    0) say "ok: stage tests" ;;
    124) leave "some stage tests"; say "stage tests cut off after $limit s" ;;
    *) fault "stage tests: see tests.log" ;;
    esac
    if grep -q '\*\*\*Skipped' "$dir/tests.log"; then fault "stage tests were skipped although a GPU answers"; fi
}
run_tests

# ------------------------------------------------------------------------------------------------ sanitizer

step=(bench - --quiet --set system.generate=water --set system.atoms=1500 --set system.velocities=draw --set run.steps=1000 --set run.list_interval=4
       --set nonbonded.cutoff=0.6 --set backend.tune=fixed --set "backend.kind=$kind" --set output.trajectory_every=0 --steps 4 --repeats 1 --seconds 0.01)
sanitize() {
    local tool=$1 summary checker
    checker=$(command -v compute-sanitizer || ls "$(dirname "${nvcc:-/}")/compute-sanitizer" 2>/dev/null)
    if [ -z "$checker" ]; then
        say "$tool: compute-sanitizer is not installed"
        return
    fi
    if [ "$(left)" -lt $((seconds * 2 / 5)) ]; then
        skip "$tool"
        return
    fi
    { echo "== $tool"; timeout 40 "$checker" --tool "$tool" "$mdsim" "${step[@]}"; } >"$work/check" 2>&1
    cat "$work/check" >>"$dir/tests.log"
    summary=$(grep -E 'ERROR SUMMARY|RACECHECK SUMMARY' "$work/check" | tail -1 | sed 's/^=* *//')
    case $summary in
    *": 0 "*) say "ok: $tool, 16 steps of 1500 atoms: $summary" ;;
    "") say "$tool: no verdict (it cannot open the device here, or was too slow): $(grep -v '^$' "$work/check" | tail -1)" ;;
    *) fault "$tool: $summary; see tests.log" ;;
    esac
}
if [ "$kind" = cuda ]; then
    sanitize memcheck
    sanitize racecheck
fi

# ---------------------------------------------------------------------------------------------------- speed

# time_case NEED NAME DT KERNEL words...: one timing, if NEED seconds are left. KERNEL "": the backend's own choice.
time_case() {
    local need=$1 name=$2 dt=$3 kernel=$4 words=()
    shift 4
    local label="$name, $dt fs${kernel:+, kernel $kernel}"
    if [ "$(left)" -lt "$need" ]; then
        skip "$label"
        return
    fi
    words=("$@" --set "backend.kind=$kind" --set "run.dt=0.00$dt" --seconds 2 --repeats 5 --json "$work/one.json")
    [ "$dt" = 4 ] && words+=(--set constraints.hydrogen_mass=3.0)
    [ -n "$kernel" ] && words+=(--set "backend.isa=$kernel")
    timeout $(($(left) > 5 ? $(left) : 5)) "$mdsim" bench "${words[@]}" >"$work/said" 2>&1
    case $? in
    0) ;;
    124)
        leave "$label"
        say "cut off, no time: $label"
        return
        ;;
    *)
        fault "$label: $(grep -v '^case ' "$work/said" | tail -1)"
        return
        ;;
    esac
    local ms ns spread drift
    ms=$(number "$work/one.json" ms_per_step) ns=$(number "$work/one.json" ns_per_day) spread=$(number "$work/one.json" spread)
    drift=$(number "$work/one.json" drift_kj_mol_ns_atom) # NVE of 20 ps or more
    awk -v name="$name" -v atoms="$(number "$work/one.json" n_atoms)" -v dt="$dt" -v kernel="${kernel:-$(sed -n 's/.*"isa": "\([^"]*\)".*/\1/p' "$work/one.json")}" \
        -v ms="$ms" -v ns="$ns" -v spread="$spread" -v drift="${drift:--}" \
        'BEGIN { printf "%-16s %8d %3d  %-10s %9.4f %6.1f %10.2f %8.2f %9s\n", name, atoms, dt, kernel, ms, 100 * spread, ns, 1e6 * ms / atoms, drift }' >>"$work/table"
    [ -n "$comma" ] && echo "$comma" >>"$work/cases"
    comma=,
    sed '1d;$d' "$work/one.json" >>"$work/cases"
    say "$label: $ms ms/step, $ns ns/day"
}

water=(--system water --set backend.tune=fixed)
given() { # NEED NAME DT KERNEL TOP GRO
    time_case "$1" "$2" "$3" "$4" - --set "system.topology=$5" --set "system.coordinates=$6" --set output.trajectory_every=0 \
        --set run.steps=1000000000L --set nonbonded.cutoff=0.9 --set thermostat.kind=v-rescale --set backend.tune=fixed
}
peptide=$source/inputs/peptide/peptide
own=$(basename "${top%.*}" 2>/dev/null)

small=24k large=96k huge=1M
[ "$kind" = cpu ] && small=1500 large=3k huge=6k

# The mesh alone, a line for each way to transform it.
meshes() {
    local tool=$build/tests/stage/test_stage_mesh_cuda on=cuda sizes=(24 28 32 36 42 64 100)
    if [ "$kind" = cpu ]; then tool=${MDS_DEVICE_MESH:-none} on=emu sizes=(8 12); fi
    if [ ! -x "$tool" ]; then
        [ "$kind" = cuda ] && fault "$tool is not there"
        return
    fi
    if [ "$(left)" -lt 25 ]; then
        skip "ways to transform the mesh"
        return
    fi
    if ! timeout 20 "$tool" "$on" time "${sizes[@]}" >"$work/meshes" 2>&1; then
        if grep -q ' transform ' "$work/meshes"; then leave "some ways to transform the mesh"; else fault "ways to transform the mesh: $(tail -1 "$work/meshes")"; fi
    fi
    grep ' transform ' "$work/meshes" | tee -a "$work/table" | sed 's/^/        /' | tee -a "$report"
}
meshes
time_case 12 water-$small 2 "" "${water[@]}" --sizes $small
given 12 peptide 2 "" "$peptide.top" "$peptide.gro"
[ -n "$top" ] && given 20 "$own" 2 "" "$top" "$gro"
time_case 15 water-$large 2 "" "${water[@]}" --sizes $large
time_case 12 water-$small 4 "" "${water[@]}" --sizes $small
given 12 peptide 4 "" "$peptide.top" "$peptide.gro"
[ -n "$top" ] && given 20 "$own" 4 "" "$top" "$gro"
kernels=$(sed -n "s/^backend $kind: //p" "$work/info")
if [ "$(echo "$kernels" | wc -w)" -gt 1 ]; then
    for kernel in $kernels; do
        time_case 12 water-$small 2 "$kernel" "${water[@]}" --sizes $small
        time_case 15 water-$large 2 "$kernel" "${water[@]}" --sizes $large
    done
else
    say "kernel alternatives: none, \"$kernels\" alone"
fi
time_case 60 water-$huge 2 "" "${water[@]}" --sizes $huge
time_case 15 water-$large 4 "" "${water[@]}" --sizes $large
time_case 15 tuned-$small 2 "" --system water --sizes $small
time_case 60 water-$huge 4 "" "${water[@]}" --sizes $huge
{ echo "["; cat "$work/cases"; echo "]"; } >"$dir/bench.json"

# ---------------------------------------------------------------------------------------------------- table

{
    echo
    printf '%-16s %8s %3s  %-10s %9s %6s %10s %8s %9s\n' case atoms fs kernel ms/step spr.% ns/day ns/atom drift
    cat "$work/table"
    echo "spr.: slowest less fastest block over the median. drift: of the total energy at constant energy, kJ/mol/ns/atom, where a case ran 20 ps."
    echo "mesh: spread, charges to potential, gather, us each by the device's clock in a graph; of the ways (kernel) cufft, block, gemm a run takes block where it fits, a long one what it has timed."
    echo "left out: ${left_out:-nothing}"
} | tee -a "$report"
if [ $failed -eq 0 ]; then say "all good, $SECONDS s"; else say "something FAILED (above), $SECONDS s"; fi
exit $failed
