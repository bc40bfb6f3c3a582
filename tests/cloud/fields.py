# SPDX-License-Identifier: Apache-2.0
"""The fields of other programs' files that our launch files may use, each list with where it was read.

A checker of names and of the few values that are words: it cannot say that a launcher will take a file, only that no name in
it is one that the launcher has never heard of. `...` stands for anything, a type for a value of it, a set for one of its words.
"""

# SkyPilot, task YAML: docs/source/reference/yaml-spec.rst and schemas of skypilot-org/skypilot (stored version a36180e4);
# job_recovery: docs/source/examples/managed-jobs.rst; config.hooks: docs/source/reference/lifecycle-hooks.rst (2fc7e6ed).
SKYPILOT = {
    "name": str, "workdir": str, "num_nodes": int, "run": str, "setup": str, "envs": {str: str}, "secrets": {str: str}, "file_mounts": ...,
    "resources": {
        "infra": str, "accelerators": str, "cpus": ..., "memory": ..., "instance_type": str, "use_spot": bool, "disk_size": int, "disk_tier": str,
        "network_tier": str, "image_id": str, "ports": ..., "labels": {str: str}, "any_of": ..., "ordered": ...,
        "autostop": {"idle_minutes": int, "down": bool, "wait_for": str, "hook": str, "hook_timeout": int},
        "job_recovery": {"strategy": {"FAILOVER", "EAGER_NEXT_REGION"}, "max_restarts_on_errors": int, "recover_on_exit_codes": [int]},
    },
    "config": {"docker": {"run_options": [str]}, "hooks": [{"run": str, "events": [{"stop", "preemption", "down"}], "timeout": int}]},
}

# SkyPilot, .sky.yaml: docs/source/reference/config.rst of skypilot-org/skypilot (stored version 014467c7).
SKY_CONFIG = {
    "allowed_clouds": [str],
    "aws": {"use_internal_ips": bool, "use_ssm": bool, "disk_encrypted": bool, "vpc_names": ..., "security_group_name": str, "remote_identity": str,
            "ssh_proxy_command": str, "labels": {str: str}, "subnet_names": [str], "ssh_user": str, "prioritize_reservations": bool},
    "gcp": {"use_internal_ips": bool, "vpc_name": str, "remote_identity": str, "subnet_names": [str], "labels": {str: str}},
    "azure": {"use_internal_ips": bool, "vpc_name": str, "remote_identity": str, "resource_group_vm": str, "storage_account": str},
    "nebius": {"use_internal_ips": bool, "security_group_name": str},
}

# Kubeflow MPI Operator v2beta1: pkg/apis/kubeflow/v2beta1/types.go and validation/validation.go of kubeflow/mpi-operator (013fa15b,
# 11a4e478); inner pod: Kubernetes API reference v1 (general knowledge of it, not read again).
POD = {
    "terminationGracePeriodSeconds": int, "automountServiceAccountToken": bool, "serviceAccountName": str, "nodeSelector": {str: str}, "restartPolicy": str,
    "securityContext": {"runAsNonRoot": bool, "runAsUser": int, "runAsGroup": int, "fsGroup": int, "seccompProfile": {"type": {"RuntimeDefault"}}},
    "containers": [{
        "name": str, "image": str, "command": [str], "args": [str], "workingDir": str, "env": ...,
        "securityContext": {"allowPrivilegeEscalation": bool, "readOnlyRootFilesystem": bool, "capabilities": {"drop": [{"ALL"}]}},
        "resources": {"requests": {str: ...}, "limits": {str: ...}},
        "volumeMounts": [{"name": str, "mountPath": str, "readOnly": bool}],
    }],
    "volumes": [{"name": str, "persistentVolumeClaim": {"claimName": str}, "emptyDir": {"sizeLimit": str}, "configMap": {"name": str}}],
}
METADATA = {"name": str, "namespace": str, "labels": {str: str}, "annotations": {str: str}}
MPIJOB = {
    "apiVersion": {"kubeflow.org/v2beta1"}, "kind": {"MPIJob"}, "metadata": METADATA,
    "spec": {
        "slotsPerWorker": int, "sshAuthMountPath": str, "mpiImplementation": {"OpenMPI", "Intel"},
        "runPolicy": {"cleanPodPolicy": {"All", "Running", "None"}, "ttlSecondsAfterFinished": int, "activeDeadlineSeconds": int, "backoffLimit": int, "suspend": bool},
        "mpiReplicaSpecs": {"Launcher": {"replicas": int, "restartPolicy": {"Never", "OnFailure"}, "template": {"metadata": METADATA, "spec": POD}}},
    },
}
CONFIG_MAP = {"apiVersion": {"v1"}, "kind": {"ConfigMap"}, "metadata": METADATA, "data": {str: str}}
NETWORK_POLICY = {"apiVersion": {"networking.k8s.io/v1"}, "kind": {"NetworkPolicy"}, "metadata": METADATA,
                  "spec": {"podSelector": {"matchLabels": {str: str}}, "policyTypes": [{"Ingress", "Egress"}]}}

# dstack task: concepts/tasks.md of its documentation (0219c0bb) and src/dstack/_internal/core/models/profiles.py (033382e8) of dstackai/dstack.
DSTACK = {
    "type": {"task"}, "name": str, "nodes": int, "image": str, "shell": str, "files": [str], "env": [str], "commands": [str], "working_dir": str, "ports": ...,
    "resources": {"gpu": str, "cpu": ..., "memory": str, "disk": str, "shm_size": str},
    "backends": [str], "regions": [str], "availability_zones": [str], "instance_types": [str], "reservation": str,
    "spot_policy": {"spot", "on-demand", "auto"}, "max_price": float, "max_duration": ..., "stop_duration": ..., "idle_duration": ...,
    "retry": {"on_events": [{"no-capacity", "interruption", "error"}], "duration": str},
    "creation_policy": {"reuse", "reuse-or-create"}, "utilization_policy": {"min_gpu_utilization": int, "time_window": ...},
}

# sbatch: man page of Slurm 22.05, and each is taken by a real one in test_slurm.py (gpus-per-task is not: no GPU there).
SBATCH = {"job-name", "ntasks", "cpus-per-task", "gpus-per-task", "time", "requeue", "open-mode", "signal", "array", "output", "partition", "account"}


def problems(value, allowed, where=""):
    """Names and words of `value` that `allowed` does not know."""
    if allowed is ...:
        return []
    if isinstance(allowed, set):
        return [] if value in allowed else ["%s: %r is none of %s" % (where, value, sorted(allowed))]
    if isinstance(allowed, type):
        fine = isinstance(value, (int, float)) and not isinstance(value, bool) if allowed is float else type(value) is allowed
        return [] if fine else ["%s: %r is no %s" % (where, value, allowed.__name__)]
    if isinstance(allowed, list):
        return sum((problems(v, allowed[0], "%s[%d]" % (where, k)) for k, v in enumerate(value)), []) if isinstance(value, list) else ["%s: no list" % where]
    if not isinstance(value, dict):
        return ["%s: no mapping" % where]
    found = []
    for key, inner in value.items():
        if key in allowed:
            found += problems(inner, allowed[key], where + "." + str(key))
        elif str in allowed and isinstance(key, str):
            found += problems(inner, allowed[str], where + "." + key)
        else:
            found.append("%s.%s: not a field" % (where, key))
    return found
