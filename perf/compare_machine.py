# SPDX-License-Identifier: Apache-2.0
"""What perf/compare says about the machine and the versions of what takes part."""

import functools
import os
import platform
import subprocess

import compare_run as run


@functools.lru_cache(maxsize=None)
def cpu_facts():
    """First processor's keys of /proc/cpuinfo."""
    facts = {}
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            for line in file:
                key, _, value = line.partition(":")
                facts.setdefault(key.strip(), value.strip())
    except OSError:
        pass
    return facts


def cpu_flags():
    return cpu_facts().get("flags", cpu_facts().get("Features", "")).split()


def first_line(*command):
    try:
        answer = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **run.ROOT_MAY_RUN}, check=False, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return next((" ".join(line.split()) for line in answer.stdout.splitlines() if line.strip()), None)


def facts(samples):
    """CPU, system, versions. The dispatch level is what the block kernel or ringcomm-perf answered with."""
    levels = sorted({str(sample["answer"]["level"]) for sample in samples if "level" in sample["answer"]})
    libraries = sorted({sample["answer"]["library"] for sample in samples if "library" in sample["answer"]})
    ucx = first_line("ucx_info", "-v")
    return {"cpu": cpu_facts().get("model name", platform.processor()), "cpus": len(os.sched_getaffinity(0)),
            "flags": [flag for flag in cpu_flags() if flag.startswith(("avx", "amx", "fma", "f16c"))], "system": platform.platform(),
            "dispatch": ", ".join(levels) or None, "libraries": libraries, "ucx": ucx,
            "open_mpi": first_line("mpirun", "--version"), "mpich": first_line("mpichversion") or first_line("mpiexec.mpich", "--version")}
