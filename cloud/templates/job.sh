#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs of mdsim on a machine that may be taken away: fetch what a bucket holds, run, save, and end as mdsim ended.
#
#   bash job.sh          reads job.env beside it, which `mdsim plan --emit` wrote; $MDSIM_REPLICA (a number) picks one of
#                        several independent runs: seed and names of its own
#
# Its process is in job.pid. Signals: SIGUSR1, SIGTERM and SIGINT stop every run with a checkpoint (exit code 75), SIGUSR2 makes a checkpoint. Exit code:
# that of mdsim; of several runs the first that failed, else 75, else 79 (guard_code of job.env, if set), else 0.
#
# The bucket (rclone; a plain folder will do), all below one prefix:
#   input/...              the user's: conf, topology, coordinates
#   parts/NAME.partK.h5md  finished parts of the trajectory: they never change, so they are sent once
#   g/STAMP/NAME.*         one generation of what changes: checkpoint, series, log, the part being written
#   NAME.manifest          SHA-256 and path of all files of the newest whole generation
# Order of a save: parts, then the generation with its checkpoint, then the manifest. A machine that goes in the middle leaves
# the old manifest and the old generation, whole. A fetch takes a generation only if every sum is right; anything else is an
# error, never a silent start from nothing. Checkpoints refer to finished parts by number, so those stay in the bucket.
set -u
here=$(cd "$(dirname "$0")" && pwd)
cd "$here" || exit 74
echo $$ >job.pid || exit 74
trap 'rm -f job.pid' EXIT

# Set by job.env; these are the defaults.
conf='' settings=() launch=() name=run replicas=1 runs=1 threads=0 gpus=0 runs_per_gpu=1 bucket='' save_seconds=300 watch=none notice='' mdsim=mdsim guard_code=79
# shellcheck disable=SC1091 # written beside this file
. ./job.env || exit 66
work=$(dirname "$conf")

say() { printf 'job: %s\n' "$*" >&2; }

# ---------------------------------------------------------------------------------------------------- bucket

# Exit code 0: fetched, or there is nothing to fetch; else the bucket cannot be read or is damaged.
# shellcheck disable=SC2317 # called through patient
fetch() { # NAME
    local list there rc=0 tmp
    [ ! -e "$work/$1.chk" ] || return 0 # the disk has its own: it is never older than the bucket
    list=$(rclone lsf --files-only --include "/$1.manifest" "$bucket") || rc=$?
    case $rc in
        0) ;;
        3) return 0 ;; # no such folder
        *) say "cannot list $bucket (rclone: $rc)"; return 74 ;;
    esac
    [ -n "$list" ] || return 0
    tmp=$(mktemp -d "$work/.fetch.XXXXXX") || return 74
    if rclone copyto "$bucket/$1.manifest" "$tmp/manifest" && sed -n 's/^[0-9a-f]\{64\}  \(g\/.*\)$/\1/p' "$tmp/manifest" >"$tmp/list" &&
        rclone copy --files-from "$tmp/list" "$bucket" "$tmp"; then
        grep '  g/' "$tmp/manifest" >"$tmp/sums"
        if (cd "$tmp" && sha256sum --quiet --strict -c sums >&2); then
            while read -r there; do mv -n "$tmp/$there" "$work/"; done <"$tmp/list"
            say "fetched $1 from $bucket: $(head -n 1 "$tmp/list" | cut -d / -f 2)"
        else
            say "$bucket: a file is not what $1.manifest says; nothing was taken from there"
            rc=76
        fi
    else
        say "cannot read $bucket"
        rc=74
    fi
    rm -rf "$tmp"
    return "$rc"
}

# Copy of a file that mdsim may be writing: taken only if it did not change meanwhile. mdsim flushes frame by frame, so what
# stands still is whole.
still_copy() { # FROM TO
    local before k
    for k in 1 2 3 4 5; do
        before=$(stat -c '%Y.%y %s' "$1") || return 1
        cp -p "$1" "$2" && [ "$(stat -c '%Y.%y %s' "$1")" = "$before" ] && return 0
        sleep "0.$k"
    done
    return 1
}

newest_part() { find "$work" -maxdepth 1 \( -name "$1.h5md" -o -name "$1.part[0-9]*.h5md" \) | sort | tail -n 1; }

# Finished parts: all but the newest, which mdsim may still be writing. Their sums travel with every later generation.
save_parts() { # NAME
    local part newest file sums="$work/$1.parts.sha256"
    newest=$(newest_part "$1")
    for part in "$work/$1".part[0-9]*.h5md; do
        file=${part##*/}
        if [ ! -e "$part" ] || [ "$part" = "$newest" ] || grep -qF "  parts/$file" "$sums" 2>/dev/null; then continue; fi
        rclone copyto --immutable "$part" "$bucket/parts/$file" || return 1
        (cd "$work" && sha256sum "$file") | sed 's|  |  parts/|' >>"$sums"
    done
}

save() { # NAME
    local tmp stamp file rc=1
    [ -e "$work/$1.chk" ] || return 0
    stamp=$(date -u +%Y%m%dT%H%M%SZ)-$$
    tmp=$(mktemp -d "$work/.save.XXXXXX") || return 1
    mkdir -p "$tmp/g/$stamp"
    # the checkpoint before what it counts: a resume cuts the rest back to it
    if save_parts "$1" && cp -p "$work/$1.chk" "$tmp/g/$stamp/"; then
        rc=0
        for file in "$work/$1".{csv,log,gro,stop.json,html,parts.sha256} "$(newest_part "$1")"; do
            [ ! -f "$file" ] || still_copy "$file" "$tmp/g/$stamp/" || rc=1
        done
    fi
    if [ "$rc" = 0 ]; then
        (cd "$tmp" && sha256sum "g/$stamp"/* && cat "g/$stamp/$1.parts.sha256" 2>/dev/null) >"$tmp/manifest"
        rclone copy "$tmp/g" "$bucket/g" && rclone copyto "$tmp/manifest" "$bucket/$1.manifest" || rc=1
    fi
    # what no manifest names any more; a key that may not delete just leaves it
    [ "$rc" != 0 ] || rclone delete --filter "- /$stamp/**" --filter "+ /*/$1.*" --filter '- **' "$bucket/g" 2>/dev/null || true
    rm -rf "$tmp"
    [ "$rc" = 0 ] || say "$1 could not be saved to $bucket this time"
    return "$rc"
}

# Ended by SIGTERM: at once while it sleeps, else when the copy under way is done, so that no late copy overtakes the last save.
save_now_and_then() {
    trap 'kill $! 2>/dev/null; exit 0' TERM
    while sleep "$save_seconds" & wait $!; do
        for k in "${names[@]}"; do save "$k"; done
    done
}

# ------------------------------------------------------------------------------------------------------ runs

names=() pids=() codes=() next=0 stopping='' interrupted='' code=0
forward() { # SIGNAL
    interrupted=yes
    [ "$1" != USR1 ] || stopping=yes
    [ ${#pids[@]} = 0 ] || kill -"$1" "${pids[@]}" 2>/dev/null
}
trap 'forward USR1' USR1 TERM INT
trap 'forward USR2' USR2

# The exit code of a child in $code. A signal ends bash's wait early: wait again; one that came after it: keep what is known.
await() { # PID
    local got
    code=127
    while :; do
        interrupted=''
        wait "$1"
        got=$?
        [ "$got" = 127 ] || code=$got
        [ -n "$interrupted" ] || return 0
    done
}

# A trap runs only between commands; during this one it runs at once.
patient() { # COMMAND...
    "$@" &
    await $!
    return "$code"
}

start_one() { # NUMBER, or nothing for a run alone
    local words=("$mdsim" run "$conf" ${settings[@]+"${settings[@]}"}) own=$name place
    if [ -n "$1" ]; then
        own=$name-$1
        words+=(--set "output.name=\"$own\"" --set "run.seed=$1")
    fi
    # several runs share the machine: each its own cores and its GPU, in order
    if [ -n "$1" ] && [ -z "${MDSIM_REPLICA:-}" ]; then
        place=$((($1 - 1) % runs))
        [ "$runs" = 1 ] || [ "$threads" = 0 ] || words=(taskset -c "$((place * threads))-$(((place + 1) * threads - 1))" "${words[@]}")
        [ "$gpus" = 0 ] || words=(env CUDA_VISIBLE_DEVICES="$((place / runs_per_gpu))" "${words[@]}")
    fi
    "${launch[@]+"${launch[@]}"}" "${words[@]}" &
    pids+=($!)
}

numbers=('')
if [ -n "${MDSIM_REPLICA:-}" ]; then
    [[ $MDSIM_REPLICA =~ ^[1-9][0-9]{0,5}$ ]] || { say "MDSIM_REPLICA must be a number from 1"; exit 64; }
    numbers=("$MDSIM_REPLICA")
elif [ "$replicas" -gt 1 ]; then
    mapfile -t numbers < <(seq "$replicas")
fi
for k in "${numbers[@]}"; do names+=("$name${k:+-$k}"); done

if [ -n "$bucket" ]; then
    command -v rclone >/dev/null || { say "rclone is not installed, but the job has a bucket"; exit 78; }
    patient rclone copy "$bucket/input" input || say "no input/ in the bucket: going on with what is here"
    for k in "${names[@]}"; do
        patient fetch "$k" || exit $?
    done
fi

bash ./watch ${notice:+-f "$notice"} "$watch" $$ &
helpers=($!)
if [ -n "$bucket" ]; then
    save_now_and_then &
    helpers+=($!)
fi

# as many at a time as the machine was chosen for; one that is complete says so and ends at once
while [ $next -lt ${#numbers[@]} ] && [ -z "$stopping" ]; do
    pids=()
    for ((k = next; k < ${#numbers[@]} && k < next + runs; k++)); do start_one "${numbers[k]}"; done
    [ -z "$stopping" ] || forward USR1
    for ((k = 0; k < ${#pids[@]}; k++)); do
        await "${pids[k]}"
        # the signal came before mdsim was there to take it: nothing was lost
        if [ -n "$stopping" ] && [ "$code" = 138 ]; then code=75; fi
        codes+=("$code")
        say "${names[next + k]} ended with exit code $code"
    done
    next=$((next + ${#pids[@]}))
done
kill "${helpers[@]}" 2>/dev/null
wait "${helpers[@]}" 2>/dev/null
rm -rf "$work"/.save.??????

rc=0
[ $next = ${#numbers[@]} ] || rc=75
for k in "${codes[@]}"; do
    case $rc,$k in
        0,* | 79,75) rc=$k ;;
        75,0 | 79,0 | 75,79 | 75,75 | 79,79) ;;
        75,* | 79,*) rc=$k ;;
    esac
done
if [ -n "$bucket" ]; then
    for k in "${names[@]}"; do
        patient save "$k" && continue
        [ "$rc" != 0 ] || rc=74 # done, but the result would die with the machine
        guard_code=79           # and so would the state that a guard has stopped
    done
fi
[ "$rc" != 79 ] || rc=$guard_code
exit "$rc"
