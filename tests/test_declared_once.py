#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A table of the wire that only the printer reads is not a table of the wire. Prints TAP.

    test_declared_once.py SOURCE_ROOT

Every macro that src/protocol and src/program define must be used by code outside src/tool: in a .c or .S file of
another room, in a header there, or by a macro or a .c file of these two rooms that is itself used. What nothing
does yet belongs to the printer, in src/tool/spec/facts.h. Before it judges the tree it judges a made-up one.
"""
import os
import re
import sys

import tap
import tree

TABLES = ("protocol", "program")
PRINTER = "tool"
SOURCES = (".c", ".h", ".def", ".S")
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
CONTINUED = re.compile(r"\\\n")
DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(PR_[A-Z0-9_]+)\b(.*)$", re.MULTILINE)
WORD = re.compile(r"\bPR_[A-Z0-9_]+\b")


def read(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return CONTINUED.sub(" ", COMMENT.sub("", file.read()))


def printed_only(root):
    """Macros of the tables that nothing but the printer uses, as `NAME (header)`."""
    bodies, home, used, printed = {}, {}, set(), set()
    source = os.path.join(root, "src")
    for path in tree.source_files(source, SOURCES):
        room = os.path.relpath(path, source).split(os.sep)[0]
        text = read(path)
        if room in TABLES and path.endswith(".h"):
            for match in DEFINE.finditer(text):
                bodies.setdefault(match[1], set()).update(WORD.findall(match[2]))
                home.setdefault(match[1], os.path.relpath(path, root))
            text = DEFINE.sub("", text)
        (printed if room == PRINTER else used).update(WORD.findall(text))
    waiting = [name for name in used if name in bodies]
    while waiting:
        for name in bodies.get(waiting.pop(), ()):
            if name not in used:
                used.add(name)
                waiting.append(name)
    return sorted(f"{name} ({home[name]})" for name in bodies if name not in used and name in printed)


MADE_UP = {
    "src/protocol/a.h": "#define PR_LIMIT 3\n#define PR_TABLE(X) \\\n    X(PR_INNER)\n#define PR_INNER 1\n"
                        "#define PR_SHOWN 4 /* used by PR_LIMIT? */\n#define PR_UNUSED 5\nint f[PR_WIDTH];\n"
                        "#define PR_WIDTH 2\n",
    "src/engine/b.c": "int a = PR_LIMIT; PR_TABLE(X)\n",
    "src/tool/c.c": "int a = PR_SHOWN, b = PR_LIMIT, c = PR_INNER, d = PR_WIDTH;\n",
}


def check_made_up_tree():
    found = tree.made_up(MADE_UP, printed_only)
    return [] if found == ["PR_SHOWN (src/protocol/a.h)"] else [f"found {found}"]


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    results = [("finds what is printed only in a made-up tree", check_made_up_tree()),
               ("no table of the wire is read by the printer alone", printed_only(root))]
    return tap.report(results)


if __name__ == "__main__":
    sys.exit(main())
