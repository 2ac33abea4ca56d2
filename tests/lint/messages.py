#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Finds every Status message of the library: messages.py prints code, file and message, values written as an ellipsis.

docs/errors.md must explain each (lint.py errors)."""
import pathlib
import re

ROOT = pathlib.Path(__file__).parents[2]
START = re.compile(r"Status::([a-z_]+)\(\s*(concat\()?|Status\(StatusCode::([a-z_]+),\s*(concat\()?")


def arguments(text, first, depth):
    """The text from `first` to the parenthesis that closes `depth` open ones."""
    inside = False
    for at in range(first, len(text)):
        character = text[at]
        if inside:
            inside = not (character == '"' and text[at - 1] != "\\")
        elif character == '"':
            inside = True
        elif character in "()":
            depth += 1 if character == "(" else -1
            if depth == 0:
                return text[first:at]
    return ""


def skeleton(body):
    """Literals joined, each run of values between them as one ellipsis."""
    pieces = []
    for literal, value in re.findall(r'"((?:[^"\\]|\\.)*)"|([^",]+)', body):
        if literal:
            pieces.append(literal.replace('\\"', '"'))
        elif value.strip(" \n,():?") and (not pieces or pieces[-1] != "…"):
            pieces.append("…")
    return " ".join("".join(pieces).split())


def messages(root=ROOT):
    found = set()
    for path in sorted((root / "src").rglob("*.[ch]pp")):
        text = path.read_text()
        for match in START.finditer(text):
            depth = 1 + bool(match.group(2) or match.group(4))
            message = skeleton(arguments(text, match.end(), depth))
            if re.search(r"[a-z]{3}", message):
                found.add((match.group(1) or match.group(3), str(path.relative_to(root)), message))
    return sorted(found)


if __name__ == "__main__":
    for row in messages():
        print("\t".join(row))
