#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# From a bare Debian 12 or 13 or Ubuntu 22.04/24.04 to a running simulation, or to a tested build.
#
#   ./quickstart.sh        install what is missing, build, run inputs/peptide/peptide.conf
#   ./quickstart.sh test   install what is missing, build, run the whole test suite
#   ./quickstart.sh build  install what is missing, build: what container images do (cloud/)
#
# Either may be run again at any time: nothing is installed or built twice, and a completed run is left alone.
# Packages come from the distribution (apt) and only if they are missing. Without root and without sudo it says what
# to install. Variables:
#   MDS_BUILD        build directory                          build
#   MDS_CMAKE_ARGS   further arguments for cmake's set-up      none
#   MDS_JOBS         compile jobs                             number of cores
#   MDS_TEST_JOBS    tests at a time                          2
#   MDS_CONF         what to run instead of the peptide       inputs/peptide/peptide.conf
#   MDS_NO_INSTALL   anything: install nothing, only say      -
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")"

build=${MDS_BUILD:-build}
conf=${MDS_CONF:-inputs/peptide/peptide.conf}
jobs=${MDS_JOBS:-$(nproc)}

# Needed to build and run.
needed=(build-essential cmake ninja-build pkg-config libconfig-dev libhdf5-dev libfftw3-dev libnetcdf-dev)
# The suite compares with these; a test whose program is not there is skipped and says so.
for_tests=(python3 python3-numpy python3-h5py python3-mdanalysis python3-yaml gromacs shellcheck rclone slurm-wlm munge)

say() { printf '== %s\n' "$*"; }
die() { printf 'quickstart: %s\n' "$*" >&2; exit 78; }

# Those of the given packages that are not installed.
missing() {
    local p
    for p in "$@"; do
        [ "$(dpkg-query -W -f='${db:Status-Status}' "$p" 2>/dev/null)" = installed ] || printf '%s ' "$p"
    done
}

# Those of the given packages that this distribution lacks.
not_installable() {
    local p
    for p in "$@"; do
        apt-cache policy "$p" 2>/dev/null | grep 'Candidate: [^(]' >/dev/null || printf '%s ' "$p"
    done
}

# apt-get as root, its chatter in a file that is shown when something goes wrong.
apt_get() {
    mkdir -p "$build"
    as_root apt-get -o DPkg::Lock::Timeout=300 "$@" >"$build/apt.log" 2>&1 || {
        tail -n 20 "$build/apt.log" >&2
        return 1
    }
}

# How to become root: nothing if we are, sudo if that works, else fail.
as_root() {
    if [ "$(id -u)" = 0 ]; then
        env DEBIAN_FRONTEND=noninteractive "$@"
    elif [ -t 0 ]; then
        sudo env DEBIAN_FRONTEND=noninteractive "$@"
    else
        sudo -n env DEBIAN_FRONTEND=noninteractive "$@"
    fi
}

may_install() {
    [ -z "${MDS_NO_INSTALL:-}" ] || return 1
    [ "$(id -u)" = 0 ] || { command -v sudo >/dev/null && { [ -t 0 ] || sudo -n true 2>/dev/null; }; }
}

# Not a Debian family: check for the programs and libraries themselves.
check_by_hand() {
    local tool lib lacking=()
    for tool in cc c++ cmake ninja pkg-config; do command -v "$tool" >/dev/null || lacking+=("$tool"); done
    for lib in libconfig fftw3 fftw3f netcdf; do
        pkg-config --exists "$lib" 2>/dev/null || lacking+=("$lib (with headers)")
    done
    [ ${#lacking[@]} = 0 ] || die "this is not Debian or Ubuntu; install these, then run me again: $(printf '%s; ' "${lacking[@]}")HDF5 with headers"
}

# Packages for `run` or `test`. What a release lacks is remembered in the build directory, so that apt is asked once.
install_packages() {
    local must optional=() absent p lists="" seen="$build/quickstart.absent"
    if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
        check_by_hand
        return
    fi
    must=$(missing "${needed[@]}")
    [ "$1" != test ] || read -ra optional <<<"$(missing "${for_tests[@]}")"
    if [ -z "$must" ]; then
        [ ${#optional[@]} != 0 ] || return 0
        if [ -f "$seen" ] && [ "$(cat "$seen")" = "${optional[*]}" ]; then
            say "not to be had here: ${optional[*]}; tests that need them are skipped"
            return 0
        fi
    fi
    if ! may_install; then
        [ -z "$must" ] || die "packages are missing and I may not install them. As root: apt-get update && apt-get install -y ${must% }"
        say "not installed, so tests that need them are skipped: ${optional[*]}"
        return 0
    fi
    say "installing from the distribution: $must${optional[*]}"
    apt_get update -qq || {
        say "apt-get update failed; going on with the lists that are there"
        lists=" (and apt-get update failed: is there a network?)"
    }
    if [ -n "$must" ]; then
        # shellcheck disable=SC2086 # a list of words
        absent=$(not_installable $must)
        [ -z "$absent" ] || die "apt's lists have no package ${absent% }$lists. Ubuntu keeps such packages in its component universe: \
add-apt-repository universe (of software-properties-common) as root; Debian all of them in main. Then run me again"
        # shellcheck disable=SC2086 # a list of words
        apt_get install -y -qq --no-install-recommends $must ||
            die "apt-get could not install: ${must% }"
    fi
    # One by one: a package that this release lacks must not keep the others away.
    for p in ${optional[@]+"${optional[@]}"}; do
        [ -n "$(not_installable "$p")" ] ||
            apt_get install -y -qq --no-install-recommends "$p" || true
    done
    absent=$(missing ${optional[@]+"${optional[@]}"})
    if [ -n "$absent" ]; then
        say "not to be had here: ${absent% }; tests that need them are skipped"
        mkdir -p "$build"
        printf '%s\n' "${absent% }" >"$seen"
    fi
    hash -r
}

# build TARGET...: configure when there is no build yet, or when other arguments are asked for.
build_targets() {
    local args=()
    read -ra args <<<"${MDS_CMAKE_ARGS:-}"
    if [ ! -f "$build/build.ninja" ] || [ ${#args[@]} != 0 ]; then
        say "configuring in $build"
        cmake -S . -B "$build" -G Ninja ${args[@]+"${args[@]}"}
    fi
    say "building with $jobs jobs"
    cmake --build "$build" -j "$jobs" ${1:+--target "$1"}
}

# The suite. Lines pass through as they come; before ctest's own closing lines stands how many tests were skipped,
# because ctest counts those as passed.
run_tests() {
    local line name rc=70 skipped=()
    exec 3< <(ctest --test-dir "$build" --output-on-failure --no-tests=error --no-label-summary \
                  -j "${MDS_TEST_JOBS:-2}" 2>&1 && echo 'exit 0' || echo "exit $?")
    while IFS= read -r line <&3; do
        case $line in
            *'***Skipped'*) name=${line#*: }; skipped+=("${name%% *}") ;;
            *'tests passed, '*' tests failed out of '*)
                printf '%d tests skipped%s\n' ${#skipped[@]} "${skipped[*]:+: ${skipped[*]}}" ;;
            'exit '[0-9]*) rc=${line#exit }; continue ;;
        esac
        printf '%s\n' "$line"
    done
    return "$rc"
}

run_main_job() {
    local rc=0
    [ -f "$conf" ] || die "$conf is not there"
    say "running: $build/mdsim run $conf"
    "$build/mdsim" run "$conf" || rc=$?
    case $rc in
        0) say "done; the files are in $(dirname "$conf"). Next: $build/mdsim --help, docs/config.md" ;;
        75) say "stopped early with a good checkpoint: the same command goes on from there" ;;
    esac
    return $rc
}

case ${1:-run} in
    run)
        install_packages run
        build_targets mdsim
        run_main_job
        ;;
    test)
        install_packages test
        build_targets
        run_tests
        ;;
    build)
        install_packages run
        build_targets mdsim
        ;;
    -h | --help) sed -n '3,19s/^# \{0,1\}//p' "$0" ;;
    *) printf 'quickstart: unknown word "%s"; say ./quickstart.sh, ./quickstart.sh test or ./quickstart.sh build\n' "$1" >&2; exit 64 ;;
esac
