#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A throw-away Slurm of one machine, on loopback, in a folder of its own: nothing outside it is touched, no cgroups are used.
#
#   slurm.sh up DIR      then: export SLURM_CONF=DIR/slurm.conf
#   slurm.sh down DIR    stops what was started there, by pid
#
# Exit code 77: Slurm or munge is not installed, or we are not root (slurmd must start tasks). Keep DIR short: its sockets'
# paths must stay below 108 characters.
set -eu
d=$2

down() {
    local name pid
    for name in slurmd slurmctld munged; do
        pid=$(cat "$d/run/$name.pid" 2>/dev/null) || continue
        kill "$pid" 2>/dev/null || continue
        for _ in $(seq 50); do kill -0 "$pid" 2>/dev/null || break; sleep 0.2; done
    done
}

up() {
    local host name
    for name in slurmctld slurmd munged; do
        [ -x "/usr/sbin/$name" ] || { echo "skipped: $name is not installed (apt-get install slurm-wlm munge)"; exit 77; }
    done
    [ "$(id -u)" = 0 ] || { echo "skipped: a throw-away Slurm needs root"; exit 77; }
    host=$(hostname -s)
    mkdir -p "$d"/{state,spool,log,run}
    chmod 755 "$d" "$d"/*
    (umask 077 && head -c 128 /dev/urandom >"$d/munge.key")
    # cred_expire: a requeued job is held that long. config_overrides: four CPUs whatever the machine has. No accounting.
    cat >"$d/slurm.conf" <<CONF
ClusterName=throwaway
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=${MDS_SLURM_PORT:-16817}
SlurmdPort=$((${MDS_SLURM_PORT:-16817} + 1))
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$d/run/munge.sock,cred_expire=5
CredType=cred/munge
StateSaveLocation=$d/state
SlurmdSpoolDir=$d/spool
SlurmctldPidFile=$d/run/slurmctld.pid
SlurmdPidFile=$d/run/slurmd.pid
SlurmctldLogFile=$d/log/slurmctld.log
SlurmdLogFile=$d/log/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_interval=2,bf_interval=2
MpiDefault=none
ReturnToService=2
KillWait=10
MinJobAge=600
JobRequeue=1
SlurmdParameters=config_overrides
NodeName=$host NodeAddr=127.0.0.1 CPUs=4 RealMemory=2000 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=60 State=UP
CONF
    munged --key-file="$d/munge.key" --socket="$d/run/munge.sock" --pid-file="$d/run/munged.pid" --log-file="$d/log/munged.log" \
        --seed-file="$d/state/munge.seed"
    export SLURM_CONF="$d/slurm.conf"
    slurmctld -c
    slurmd
    for _ in $(seq 120); do
        [ "$(sinfo -h -o %T 2>/dev/null)" = idle ] && exit 0
        sleep 0.5
    done
    echo "slurm did not come up" >&2
    tail -n 20 "$d"/log/*.log >&2
    down
    exit 1
}

case ${1:-} in
    up) up ;;
    down) down ;;
    *) sed -n '3,9p' "$0" >&2; exit 64 ;;
esac
