#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Proves each lint check on a made tree: the clean tree passes, a planted offence is found."""
import pathlib
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import skips  # noqa: E402  (beside this file)

HERE = pathlib.Path(__file__).parent
SPDX = "// SPDX-License-Identifier: Apache-2.0\n"
CLEAN = {
    "include/ringcomm/core/a.hpp": SPDX + "#pragma once\n",
    "src/core/a.cpp": SPDX + '#include "ringcomm/core/a.hpp"\n',
    "src/core/CMakeLists.txt": "target_sources(ringcomm PRIVATE a.cpp)\n",
    "tests/core/a_test.cpp": SPDX + "// oracle\n",
    "tests/core/CMakeLists.txt": "ringcomm_test(core_tests SOURCES a_test.cpp)\n",
    "tools/CMakeLists.txt": "", "perf/CMakeLists.txt": "", "examples/CMakeLists.txt": "",
}
PLANTED = {
    "layers": ("src/core/a.cpp", SPDX + '#include "ringcomm/comm/communicator.hpp"\n'),
    "vendor": ("src/core/a.cpp", SPDX + "#include <hwloc.h>\n"),
    "size": ("src/core/a.cpp", SPDX + "// line\n" * 600),
    "functions": ("src/core/a.cpp", SPDX + "int long_one(int x) {\n" + "  ++x;\n" * 80 + "}\n"),
    "mirror": ("src/core/b.cpp", SPDX),
    "dead_files": ("src/core/b.cpp", SPDX),
    "spdx": ("src/core/a.cpp", "int x;\n"),
    "errors": ("src/core/a.cpp", SPDX + 'Status f(int n) { return Status::timeout(concat("rank ", n, " is late")); }\n'),
    "banned": ("src/core/a.cpp", SPDX + "void f() { std::atomic_thread_fence(std::memory_order_seq_cst); }\n"),
}


def run(check, files):
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = pathlib.Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        result = subprocess.run([sys.executable, HERE / "lint.py", check, "--root", folder],
                                capture_output=True, text=True, check=False)
        return result.returncode, result.stdout + result.stderr


SKIP_LOG = """1/3 Test #1: X.Y ....................................***Skipped   0.07 sec
2/3 Test #2: All/C.D/avx512_float32_64  # GetParam() = 16-byte object <01-00> ...***Skipped   0.08 sec
3/3 Test #3: All/C.D/scalar  # GetParam() = 0 ........   Passed    0.09 sec
[ RUN      ] E.F
[  SKIPPED ] E.F (0 ms)
[ RUN      ] E.G
[       OK ] E.G (0 ms)
"""


def main():
    failures = []
    got = skips.outcome(SKIP_LOG)
    skipped = {"X.Y", "All/C.D/avx512_float32_64", "E.F"}
    if got != (skipped | {"All/C.D/scalar", "E.G"}, skipped):
        failures.append(f"skips: a log of five tests, three of them skipped, reads as {got}")
    for check, (name, text) in PLANTED.items():
        code, output = run(check, CLEAN)
        if code != 0:
            failures.append(f"{check}: the clean tree fails: {output}")
        code, output = run(check, {**CLEAN, name: text})
        if code == 0 or name.split("/")[-1] not in output:
            failures.append(f"{check}: the planted offence in {name} was not found: {output}")
    print("\n".join(failures) or f"{len(PLANTED)} checks catch what was planted")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
