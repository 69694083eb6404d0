#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks every #include in src and include/anemone against src/include-matrix. Prints TAP.

    test_include_matrix.py SOURCE_ROOT

Before it judges the tree it judges a made-up one, where it must find exactly the violations put there.
"""
import os
import re
import sys
import tempfile

import tap
import tree

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include\b[ \t]*(?:"([^"\n]+)"|<([^>\n]+)>|(\S+))', re.MULTILINE)
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
SOURCES = (".c", ".h", ".def", ".inc", ".S")
UNINCLUDED = ("machine", "tool")
PUBLIC = "public"


def read_matrix(path):
    matrix = {}
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            line = line.split("#")[0].strip()
            if not line:
                continue
            room, colon, entries = line.partition(":")
            if not colon or not re.fullmatch(r"[a-z0-9]+(/[a-z0-9]+)?", room):
                raise ValueError(f"{path}:{number}: expected `room: entry ...`")
            if room in matrix:
                raise ValueError(f"{path}:{number}: a second line for {room}")
            matrix[room] = entries.split()
    for room, entries in matrix.items():
        for entry in entries:
            target = entry.split("/")[0]
            if target in UNINCLUDED:
                raise ValueError(f"{path}: {room} may not include {target}: nobody may")
            if not entry.startswith("<") and target not in matrix and target != "anemone":
                raise ValueError(f"{path}: {room} names {entry}, but no line describes {target}")
    return matrix


def resolve(root, path, quoted, angled):
    """What an include means: ('room', 'soc/bus.h'), ('public', 'anemone/machine.h') or ('system', 'math.h')."""
    name = quoted or angled
    candidates = [os.path.join(root, "src", name), os.path.join(root, "include", name)]
    if quoted:
        candidates.insert(0, os.path.join(os.path.dirname(path), name))
    for candidate in candidates:
        if not os.path.isfile(candidate):
            continue
        inside = os.path.relpath(os.path.realpath(candidate), os.path.realpath(root)).split(os.sep)
        if inside[0] == "src":
            return "room", "/".join(inside[1:])
        if inside[0] == "include":
            return "public", "/".join(inside[1:])
        return "outside", name
    if name.startswith("anemone/"):
        return "public", name
    if os.path.isdir(os.path.join(root, "src", name.split("/")[0])) and "/" in name:
        return "room", name
    return ("missing" if quoted else "system"), name


def room_of(path, matrix):
    """The room a header or source below src belongs to: its folder, when that has a line, or else the room around it."""
    parts = path.split("/")
    inner = "/".join(parts[:2])
    return inner if len(parts) > 2 and inner in matrix else parts[0]


def granted_by(room, entries, kind, name, matrix):
    """The entry that allows an include; True when none is needed; None when it is not allowed."""
    if kind == "room":
        target = room_of(name, matrix)
        if room in (target, target.split("/")[0]):
            return True
        choices = [name, target, target.split("/")[0]]
        return next((choice for choice in choices if choice in entries), None)
    if kind == "public":
        return True if room == PUBLIC else next((entry for entry in ("anemone/*", name) if entry in entries), None)
    if kind == "system":
        named = [entry for entry in entries if entry.startswith("<")]
        return True if not named or "<*>" in named else next((e for e in named if e == f"<{name}>"), None)
    return None


def check_files(root, paths, room, entries, matrix, used):
    problems = []
    for path in paths:
        with open(path, encoding="utf-8", errors="replace") as file:
            # comments go, their line breaks stay
            text = COMMENT.sub(lambda match: "\n" * match[0].count("\n"), file.read())
        for match in INCLUDE.finditer(text):
            where = f"{os.path.relpath(path, root)}:{text.count(chr(10), 0, match.start()) + 1}"
            quoted, angled, computed = match.groups()
            if computed:
                problems.append(f"{where}: includes {computed}, which this test cannot follow")
                continue
            kind, name = resolve(root, path, quoted, angled)
            if kind == "missing":
                problems.append(f"{where}: includes {name}, which is not in the tree")
                continue
            grant = granted_by(room, entries, kind, name, matrix)
            if grant is None:
                problems.append(f"{where}: {room} may not include {name}")
            used.add((room, grant))
    return problems


def check_tree(root):
    """A list of (what was checked, its problems)."""
    matrix = read_matrix(os.path.join(root, "src", "include-matrix"))
    results, used, rooms = [], set(), {}
    for path in tree.source_files(os.path.join(root, "src"), SOURCES):
        inside = os.path.relpath(path, os.path.join(root, "src")).replace(os.sep, "/")
        if "/" in inside:
            rooms.setdefault(room_of(inside, matrix), []).append(path)
    for room, paths in sorted(rooms.items()):
        if room in matrix and room != PUBLIC:
            results.append((f"room {room}", check_files(root, paths, room, matrix[room], matrix, used)))
        else:
            results.append((f"room {room}", [f"src/{room}: has no line in src/include-matrix"]))
    public = tree.source_files(os.path.join(root, "include", "anemone"), SOURCES)
    results.append(("public headers", check_files(root, public, PUBLIC, matrix.get(PUBLIC, []), matrix, used)))
    results.append(("every entry is used", [f"src/include-matrix: {room} names {entry}, which it does not include"
                                            for room, entries in matrix.items() for entry in entries
                                            if not entry.startswith("<") and (room, entry) not in used]))
    return results


MADE_UP_MATRIX = """\
# a comment
base:
soc: base <stdint.h>
dart: base soc
driver: base soc/bus.h anemone/iokit.h
driver/low: base
machine: base soc dart driver anemone/*
public: <stdint.h>
"""

# path, text, what must be found in it
MADE_UP_FILES = [
    ("src/base/a.h", "#include <stdio.h>\n", []),
    ("src/base/b.c", '#include "base/a.h"\n#include "a.h"\n', []),
    ("src/base/up.c", '#include "../soc/bus.h"\n', ["src/base/up.c:1: base may not include soc/bus.h"]),
    ("src/soc/bus.h", "#include <stdint.h>\n", []),
    ("src/soc/clock.h", "#include <stdint.h>\n", []),
    ("src/soc/io.c", '#include <math.h>\n#include "base/a.h"\n', ["src/soc/io.c:1: soc may not include math.h"]),
    ("src/dart/table.h", '/* #include "driver/x.h" */\n#include "soc/clock.h"\n', []),
    ("src/dart/walk.c", '/*\n*/\n#include "dart/table.h"\n  #  include "driver/x.h"\n#include <driver/x.h>\n',
     ["src/dart/walk.c:4: dart may not include driver/x.h", "src/dart/walk.c:5: dart may not include driver/x.h"]),
    ("src/dart/gone.c", '#include "nowhere.h"\n', ["src/dart/gone.c:1: includes nowhere.h, which is not in the tree"]),
    ("src/dart/macro.c", "#include TABLE\n", ["src/dart/macro.c:1: includes TABLE, which this test cannot follow"]),
    ("src/driver/x.h", '#include "soc/bus.h"\n#include <anemone/iokit.h>\n', []),
    ("src/driver/y.c", '#include "soc/clock.h"\n#include <anemone/machine.h>\n',
     ["src/driver/y.c:1: driver may not include soc/clock.h",
      "src/driver/y.c:2: driver may not include anemone/machine.h"]),
    ("src/machine/m.h", '#include "driver/x.h"\n#include <anemone/machine.h>\n', []),
    ("src/driver/z.c", '#include "machine/m.h"\n', ["src/driver/z.c:1: driver may not include machine/m.h"]),
    ("src/driver/low/a.h", '#include "base/a.h"\n', []),
    ("src/driver/low/b.c", '#include "low/a.h"\n#include "driver/low/a.h"\n#include "driver/x.h"\n',
     ["src/driver/low/b.c:1: includes low/a.h, which is not in the tree",
      "src/driver/low/b.c:3: driver/low may not include driver/x.h"]),
    ("src/driver/up.c", '#include "driver/low/a.h"\n', []),
    ("src/include-matrix", None,
     ["src/include-matrix: dart names base, which it does not include",
      "src/include-matrix: driver names base, which it does not include",
      "src/include-matrix: machine names base, which it does not include",
      "src/include-matrix: machine names dart, which it does not include",
      "src/include-matrix: machine names soc, which it does not include"]),
    ("src/stray/s.c", "", ["src/stray: has no line in src/include-matrix"]),
    ("include/anemone/iokit.h", "#include <anemone/machine.h>\n", []),
    ("include/anemone/machine.h", '#include <stdint.h>\n#include "soc/bus.h"\n#include <pthread.h>\n',
     ["include/anemone/machine.h:2: public may not include soc/bus.h",
      "include/anemone/machine.h:3: public may not include pthread.h"]),
]

BAD_MATRICES = ["base\n", "base:\nbase:\n", "base: soc\n", "base:\nmachine:\nsoc: machine\n", "tool:\nbase: tool/x.h\n"]


def check_made_up_tree():
    files = {path: text for path, text, _ in MADE_UP_FILES if text is not None}
    results = tree.made_up({"src/include-matrix": MADE_UP_MATRIX, **files}, check_tree)
    return tree.differences([problem for _, _, problems in MADE_UP_FILES for problem in problems],
                            [problem for _, problems in results for problem in problems])


def check_bad_matrices():
    problems = []
    with tempfile.TemporaryDirectory() as root:
        for text in BAD_MATRICES:
            tree.write(root, "matrix", text)
            try:
                read_matrix(os.path.join(root, "matrix"))
                problems.append(f"accepted: {text!r}")
            except ValueError:
                pass
    return problems


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    results = [("finds the violations of a made-up tree", check_made_up_tree()),
               ("refuses a bad matrix", check_bad_matrices())]
    try:
        results += check_tree(root)
    except ValueError as problem:
        results.append(("the matrix", [str(problem)]))
    return tap.report(results)


if __name__ == "__main__":
    sys.exit(main())
