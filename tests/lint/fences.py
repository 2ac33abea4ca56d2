#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs every command of a document's console fences, as a reader would, from the repository's root: fences.py FILE [BIN].
With BIN, that folder's programs run instead of build/release/bin's. mpirun is allowed to run as root."""
import os
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).parents[2]


def commands(text):
    for block in re.findall(r"^```console\n(.*?)^```", text, re.M | re.S):
        for line in block.splitlines():
            if line.strip() and not line.startswith("#"):
                yield line.strip()


def main():
    document = pathlib.Path(sys.argv[1])
    found = list(commands(document.read_text()))
    if not found:
        sys.exit(f"{document}: no console fence (is the document's format still the expected one?)")
    root_may_run_mpi = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    for command in found:
        if len(sys.argv) > 2:
            command = command.replace("build/release/bin", sys.argv[2])
        started = time.monotonic()
        print(f"$ {command}", flush=True)
        result = subprocess.run(["bash", "-c", command], cwd=ROOT, stdin=subprocess.DEVNULL, check=False,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ, **root_may_run_mpi})
        if result.returncode != 0:
            sys.exit(f"{result.stdout}\n{document}: '{command}' ended with {result.returncode}")
        print(f"  ok, {time.monotonic() - started:.0f} s", flush=True)
    print(f"{document}: {len(found)} commands run")


if __name__ == "__main__":
    main()
