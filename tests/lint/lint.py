#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the house rules over the tree: lint.py <check>... [--root DIR]; prints offenders, exits 1 if there are any."""
import argparse
import pathlib
import re
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import messages  # noqa: E402
import rules  # noqa: E402

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)
ALL = ("src", "include", "tools", "perf", "tests", "examples")
FUNCTION_START = re.compile(
    r"^(\s*)(?!\s|namespace|class|struct|enum|union|if|for|while|switch|else|do\b|return|extern|#|//|case|\}|try)"
    r"[^;]*\)[^;()]*\{$")


def sources(root, *folders, suffixes=(".hpp", ".cpp", ".cu", ".cuh", ".h", ".c")):
    for folder in folders:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in suffixes and path.is_file():
                yield path.relative_to(root)


def includes(root, path):
    return INCLUDE.findall((root / path).read_text())


def room_of(path):
    parts = path.parts
    if parts[0] == "src":
        return parts[1]
    return parts[2] if parts[:2] == ("include", "ringcomm") and len(parts) > 3 else None


def included_room(name):
    parts = name.split("/")
    if parts[0] == "ringcomm":
        parts = parts[1:]
    return parts[0] if len(parts) > 1 and parts[0] in rules.LEVELS else None


def layer_offence(room, path, name):
    target = included_room(name)
    if name == "ringcomm/ringcomm.hpp":
        return "the umbrella header inside the library"
    if target is None or target == room or (str(path), name) in rules.LAYER_EXCEPTIONS:
        return None
    if rules.LEVELS[target] >= rules.LEVELS[room]:
        return f"room {target} is not below {room}"
    if target in rules.FORBIDDEN.get(room, ()):
        return f"room {room} must not know {target}"
    if target == "transport" and room != "comm" and name != "ringcomm/transport/transport.hpp":
        return "only transport's public interface"
    return None


def check_layers(root):
    for path in sources(root, "src", "include"):
        room = room_of(path)
        if room in (None, "capi", "interop"):
            continue
        if room not in rules.LEVELS:
            yield f"{path}: room '{room}' is not in tests/lint/rules.py"
            continue
        for _, name in includes(root, path):
            offence = layer_offence(room, path, name)
            if offence:
                yield f"{path}: includes {name} ({offence})"
    for path in sources(root, "perf", "examples"):
        for quote, name in includes(root, path):
            if quote == '"' and not name.startswith("ringcomm/") and included_room(name):
                yield f"{path}: includes {name} (programs see public headers only)"


def check_vendor(root):
    for path in sources(root, *ALL):
        for _, name in includes(root, path):
            for header, allowed in rules.VENDOR_HEADERS.items():
                if name.startswith(header) and not any(str(path).startswith(prefix) for prefix in allowed):
                    yield f"{path}: includes vendor header {name} (only {', '.join(allowed)} may)"


def check_size(root):
    lengths = {path: len((root / path).read_text().splitlines()) for path in sources(root, *ALL)}
    for path, count in lengths.items():
        if count > rules.FILE_LINES_MAX and str(path) not in rules.SIZE_EXCEPTIONS:
            yield f"{path}: {count} lines (at most {rules.FILE_LINES_MAX})"
    library = [count for path, count in lengths.items() if path.parts[0] in ("src", "include")]
    print(f"size: {len(library)} library files, median {statistics.median(library):.0f} lines, longest {max(library)}")
    for path, count in sorted(lengths.items(), key=lambda item: -item[1]):
        if count > rules.FILE_LINES_LOOK_AGAIN:
            print(f"size: look again at {path} ({count} lines)")


def functions_of(text):
    """(first line, number of lines, first line's text) of each outermost function, found by indentation."""
    start = None
    for number, line in enumerate(text.splitlines(), 1):
        opens = FUNCTION_START.match(line)
        if start is None and opens:
            start = (number, opens.group(1), line.strip())
        elif start and line.rstrip() in (start[1] + "}", start[1] + "};"):
            yield start[0], number - start[0] + 1, start[2]
            start = None


def check_functions(root):
    for path in sources(root, "src", "include", "tools", "perf", "examples"):
        for first, count, name in functions_of((root / path).read_text()):
            if count > rules.FUNCTION_LINES_MAX and f"{path}: {name}" not in rules.FUNCTION_EXCEPTIONS:
                yield f"{path}:{first}: {count} lines in one function (at most {rules.FUNCTION_LINES_MAX}): {name}"


def check_mirror(root):
    tested = {path.stem for path in sources(root, "tests")}
    for path in sources(root, "src", suffixes=(".cpp", ".cu")):
        stem = path.stem
        names = (f"{stem}_test", f"{path.parts[-2]}_{stem}_test", f"{stem}_mp_test", f"{stem}_gpu_test")
        if not any(name in tested for name in names) and str(path) not in rules.MIRROR_EXCEPTIONS:
            yield f"{path}: no tests/**/{stem}_test.cpp (or which tests cover it, in tests/lint/rules.py)"
    for name in rules.MIRROR_EXCEPTIONS:
        if not (root / name).exists() and root == pathlib.Path(__file__).parents[2]:
            yield f"tests/lint/rules.py: an exception for {name}, which does not exist"


def check_dead_files(root):
    lists = [path for path in root.glob("**/CMakeLists.txt") if path.relative_to(root).parts[0] != "build"]
    listed = "\n".join(path.read_text() for path in lists)
    for path in sources(root, "src", "tools", "perf", "tests", "examples", suffixes=(".cpp", ".cu")):
        if path.name not in listed:
            yield f"{path}: in no CMakeLists.txt"
    included = {name.split("/")[-1] for path in sources(root, *ALL) for _, name in includes(root, path)}
    for path in sources(root, "src", "tools", "perf", "tests", suffixes=(".hpp", ".cuh")):
        if path.name not in included:
            yield f"{path}: included by nobody"


def check_spdx(root):
    for path in sources(root, *ALL):
        if not (root / path).read_text().startswith("// SPDX-License-Identifier: Apache-2.0\n"):
            yield f"{path}: the first line is not the SPDX line"


def check_banned(root):
    for path in sources(root, "src", "include", "tools", "perf", "examples"):
        for number, line in enumerate((root / path).read_text().splitlines(), 1):
            for pattern, instead in rules.BANNED:
                excepted = any(word in pattern and str(path) == file for word, file in rules.BANNED_EXCEPTIONS)
                code = line if "TODO" in pattern else line.split("//")[0]
                if re.search(pattern, code) and not excepted:
                    yield f"{path}:{number}: banned ({instead}): {line.strip()}"


def check_errors(root):
    document = root / "docs/errors.md"
    text = " ".join(document.read_text().split()) if document.exists() else ""
    for code, path, message in messages.messages(root):
        if str(path).startswith("src/diag/evidence/"):
            continue  # why a file of a user is not read; printed beside its name, returned by no call
        if message.replace("|", "\\|") not in text:
            yield f"{path}: docs/errors.md does not explain this {code}: {message}"


CHECKS = {name[len("check_"):]: function for name, function in list(globals().items()) if name.startswith("check_")}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checks", nargs="+", choices=[*CHECKS, "all"])
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).parents[2])
    arguments = parser.parse_args()
    names = list(CHECKS) if "all" in arguments.checks else arguments.checks
    offenders = [f"{name}: {text}" for name in names for text in CHECKS[name](arguments.root)]
    print("\n".join(offenders) if offenders else f"{', '.join(names)}: nothing to object to")
    return 1 if offenders else 0


if __name__ == "__main__":
    sys.exit(main())
