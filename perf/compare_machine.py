# SPDX-License-Identifier: Apache-2.0
"""What perf/compare says about the machine and the versions of what takes part."""

import functools
import os
import platform
import re
import shutil
import socket
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


def raw_ucx(sizes, quick):
    """{"rows": [{"size", "GB/s"}], "reason"}: one way between two processes, by UCX's own ucx_perftest."""
    if shutil.which("ucx_perftest") is None:
        return {"rows": [], "reason": "ucx_perftest is not installed (Debian: ucx-utils)"}
    environment, rows = {**os.environ, "UCX_TLS": "self,posix,cma", "UCX_WARN_UNUSED_ENV_VARS": "n"}, []
    for size in sizes[:1] if quick else sizes:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = str(free.getsockname()[1])
        server = subprocess.Popen(["taskset", "-c", "0", "ucx_perftest", "-p", port], env=environment, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL)
        try:
            number = "10" if quick else str(max(20, min(20000, (1 << 31) // size)))
            client = ["taskset", "-c", "1" if len(os.sched_getaffinity(0)) > 1 else "0", "ucx_perftest", "127.0.0.1", "-p", port, "-t",
                      "tag_bw", "-s", str(size), "-n", number, "-w", "5"]
            for _ in range(20):
                answer = subprocess.run(client, env=environment, capture_output=True, text=True, check=False, timeout=60)
                if answer.returncode == 0:
                    break
            found = re.findall(r"^Final:\s+\d+\s+[\d.]+\s+[\d.]+\s+[\d.]+\s+[\d.]+\s+([\d.]+)", answer.stdout, re.M)
            if not found:
                said = " ".join((answer.stdout + answer.stderr).split())[-200:]
                return {"rows": rows, "reason": f"ucx_perftest gave no figure: {said}"}
            rows.append({"size": size, "GB/s": round(float(found[-1]) * (1 << 20) / 1e9, 2)})  # it prints MiB/s
        except subprocess.TimeoutExpired:
            return {"rows": rows, "reason": "ucx_perftest took longer than 60 s"}
        finally:
            server.terminate()
            server.wait()
    return {"rows": rows, "reason": None}
