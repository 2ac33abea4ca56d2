#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What libringcomm.so exports: symbols.py LIBRARY LIST HEADER.

C symbols are exactly those of LIST and those that HEADER declares; C++ symbols belong to public names only."""
import pathlib
import re
import subprocess
import sys

# Namespaces of public headers below ringcomm::v0; all others are rooms of src/.
PUBLIC = {"diag", "plan", "detail"}
OF_CLASS = r"(?:vtable for |typeinfo for |typeinfo name for |VTT for |guard variable for )?"


def names(library, *flags):
    listing = subprocess.run(["nm", "-D", "--defined-only", *flags, library], check=True, capture_output=True, text=True)
    return [line.split(" ", 2)[2] for line in listing.stdout.splitlines()]


def difference(left, right, text):
    return [f"{name}: {text}" for name in sorted(set(left) - set(right))]


def foreign(name):
    """A C++ symbol that users have no business with."""
    own = re.match(OF_CLASS + r"(?:[\w:<>*&, ]+ )?(ringcomm::v0::[^( ]*)", name)
    if not own:
        return "is not ringcomm's"
    inner = re.match(r"ringcomm::v0::([a-z]\w*)::", own.group(1))
    if inner and inner.group(1) not in PUBLIC:
        return f"belongs to the private namespace {inner.group(1)}"
    return None


def main():
    library, listed, header = sys.argv[1], *(pathlib.Path(name).read_text() for name in sys.argv[2:4])
    listed = [line for line in listed.split() if not line.startswith("#")]
    declared = re.findall(r"^RINGCOMM_API [\w ]+?\*? *(ringcomm\w+)\(", header, re.M)
    mangled = names(library)
    exported = [name for name in mangled if not name.startswith("_Z")]
    wrong = difference(exported, listed, "exported, but not in symbols.txt")
    wrong += difference(listed, exported, "in symbols.txt, but not exported")
    wrong += difference(declared, listed, "declared in ringcomm.h, but not in symbols.txt")
    wrong += difference(listed, declared, "in symbols.txt, but not declared in ringcomm.h")
    for name in names(library, "-C"):
        reason = foreign(name) if "ringcomm" not in name or "::" in name else None
        if reason:
            wrong.append(f"{name}: {reason}")
    print("\n".join(wrong) or f"{len(exported)} C symbols as listed, {len(mangled) - len(exported)} of public C++ names")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
