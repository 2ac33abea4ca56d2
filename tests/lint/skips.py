#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the tests that ctest logs show as skipped with tests/expected_skips.txt: skips.py LOG...

Each line of that file is: <test name or prefix*> | <condition, an expression over the names below> | <reason>.
A test may be skipped only if its line's condition holds here, and must be skipped if it holds."""
import fnmatch
import pathlib
import platform
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).parents[2]


def may_mount():
    """A private mount namespace with a file system of its own, as a test of a small /dev/shm makes it."""
    command = ["unshare", "--mount", "mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", "/dev/shm"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def may_cable():
    """A network namespace with a pair of joined interfaces, as a test of two hosts makes them."""
    command = ["unshare", "--net", "ip", "link", "add", "rca", "type", "veth", "peer", "name", "rcb"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def may_filter():
    """A seccomp filter that traps, as a test that counts system calls installs it."""
    actions = pathlib.Path("/proc/sys/kernel/seccomp/actions_avail")
    return actions.exists() and "trap" in actions.read_text().split()


def facts():
    cpu = pathlib.Path("/proc/cpuinfo").read_text()
    return {
        "avx2": all(re.search(rf"\b{flag}\b", cpu) for flag in ("avx2", "fma", "f16c")),
        "avx512_bf16": "avx512_bf16" in cpu,
        "shared_data": (ROOT / "../shared/data").is_dir(),
        "mount_namespaces": may_mount(),
        "mpirun": shutil.which("mpirun") is not None,
        "objdump": shutil.which("objdump") is not None,
        "gpu": pathlib.Path("/dev/nvidia0").exists(),
        "numpy": subprocess.run(["sh", "-c", "/usr/bin/python3 -c 'import numpy'"], capture_output=True, check=False).returncode == 0,
        "network_namespaces": may_cable(),
        "seccomp": platform.machine() == "x86_64" and may_filter(),
        "cores": len(re.findall(r"^processor\s*:", cpu, re.M)),
    }


def outcome(log):
    """(all tests, the skipped ones), from ctest's lines, where "  # GetParam() = ..." may follow a name, and GoogleTest's."""
    skipped = re.findall(r"Test +#\d+: (\S+) .*\*\*\*Skipped|^\[  SKIPPED \] (\S+) \(", log, re.M)
    ran = re.findall(r"Test +#\d+: (\S+)|^\[ RUN      \] (\S+)", log, re.M)
    return {a or b for a, b in ran}, {a or b for a, b in skipped}


def main():
    ran, skipped = outcome("\n".join(pathlib.Path(log).read_text(errors="replace") for log in sys.argv[1:]))
    names = facts()
    wrong, allowed = [], set()
    for line in (ROOT / "tests/expected_skips.txt").read_text().splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        pattern, condition, _ = (part.strip() for part in line.split("|"))
        matching = set(fnmatch.filter(ran, pattern))
        if eval(condition, {"__builtins__": {}}, names):  # the file is ours
            allowed |= matching
        else:
            wrong += [f"{name}: skipped though its condition ({condition}) does not hold" for name in matching & skipped]
    wrong += [f"{name}: skipped, but not in tests/expected_skips.txt" for name in sorted(skipped - allowed)]
    wrong += [f"{name}: expected to be skipped here, but it ran" for name in sorted(allowed - skipped)]
    print("\n".join(wrong) or f"{len(skipped)} skipped tests, as expected")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
