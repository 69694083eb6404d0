#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`anemone compile --list` against the front ends' tables, and docs/operators.md and the manual page against it. Prints TAP.

    test_operators.py ANEMONE SOURCE_ROOT
"""
import json
import os
import re
import subprocess
import sys

import tap

FORMS = ("none", "decoded", "composed", "chosen", "host")


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


def mil_rows(root):
    """Name and arguments of each row of operations[] in mil/op.c."""
    rows = re.findall(r'\{"(\w+)",\s*CC_OP_\w+,\s*\w+,\s*\{([^}]*)\}\}', read(root, "src", "compiler", "mil", "op.c"))
    return {name: ", ".join(re.findall(r'"(\w+)"', arguments)) for name, arguments in rows}


def onnx_rows(root):
    """Names of the rows of onnx/op.c."""
    path = os.path.join(root, "src", "compiler", "onnx", "op.c")
    return re.findall(r'^    \{"(\w+)", cc_onnx_op_\w+,', read(path), re.MULTILINE) if os.path.exists(path) else []


def table_problems(rows, dialect):
    names = [row["operator"] for row in rows]
    problems = [f"{dialect}: {name} is there twice" for name in set(names) if names.count(name) > 1]
    for row in rows:
        if row["form"] not in FORMS:
            problems.append(f"{row['operator']}: form {row['form']}")
        if (row["form"] == "composed") != bool(row["composed_of"]):
            problems.append(f"{row['operator']}: {row['form']} of '{row['composed_of']}'")
        if row["limits"].endswith("."):
            problems.append(f"{row['operator']}: limits end with a full stop")
    return problems


def main():
    anemone, root = sys.argv[1:]
    listed = json.loads(subprocess.run([anemone, "compile", "--list", "--json"], check=True, stdout=subprocess.PIPE).stdout)
    text = subprocess.run([anemone, "compile", "--list"], check=True, stdout=subprocess.PIPE, text=True).stdout
    known = dict(mil_rows(root), const="val")
    mil = {row["operator"]: row["arguments"] for row in listed["mil"]}
    onnx = [row["operator"] for row in listed["onnx"]]
    page = subprocess.run([os.path.join(root, "scripts", "render-docs"), "--check", anemone], capture_output=True, text=True, check=False)
    manual = read(root, "man", "anemone.1").replace("\\-", "-")
    # A name of operators.def that no front end has would be shown nowhere.
    named = re.findall(r'CC_OPERATOR_NAMED\((\w+), "(\w+)"', read(root, "src", "compiler", "operators.def"))
    results = [
        ("the reader of operations[] finds rows", [] if len(known) > 50 and known.get("matmul", "").startswith("x, y") else [str(known)]),
        ("every MIL operator is listed with its arguments", [f"{name}: {mil.get(name)}" for name in known if mil.get(name) != known[name]]),
        ("no other MIL operator is listed", sorted(set(mil) - set(known))),
        ("every ONNX operator is listed, and no other", sorted(set(onnx) ^ set(onnx_rows(root)))),
        ("forms and what they are composed of", table_problems(listed["mil"], "MIL") + table_problems(listed["onnx"], "ONNX")),
        ("every name of operators.def is one of a front end",
         [name for dialect, name in named if (dialect == "MIL" and name not in mil) or (dialect == "ONNX" and onnx and name not in onnx)]),
        ("the text has every operator", [name for name in [*mil, *onnx] if f"\n  {name} " not in text]),
        ("no line of the text is too wide or ends with a space", [line for line in text.splitlines() if len(line) > 100 or line != line.rstrip()]),
        ("docs/operators.md is current", [page.stderr] if page.returncode else []),
        ("the manual page names --list", [] if "--list" in manual else ["it does not"]),
    ]
    return tap.report(results)


if __name__ == "__main__":
    sys.exit(main())
