#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/compiler.md against the tree: every operator of the front end with its arguments, every file that the page names, and
the report and sizes of the network that the page follows. Prints TAP.

    test_compiler_page.py ANEMONE SOURCE_ROOT
"""
import json
import os
import re
import subprocess
import sys
import tempfile

import mil


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


def operators(source):
    """Name and arguments of each row of operations[] in mil/op.c."""
    rows = re.findall(r'\{"(\w+)",\s*CC_OP_\w+,\s*\w+,\s*\{([^}]*)\}\}', source)
    return {name: re.findall(r'"(\w+)"', arguments) for name, arguments in rows}


def documented(page):
    table = page[page.index("| operator |"):].split("\n\n")[0].splitlines()[2:]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table]
    return [(cells[0], cells[1].split(", ")) for cells in rows]


def block(page, language):
    return re.search(rf"```{language}\n(.*?)```", page, re.DOTALL).group(1)


def missing_files(root, page):
    """Sources named in back quotes: by their path below src/compiler or the root, or by their name alone."""
    names = {name for _, _, files in os.walk(os.path.join(root, "src")) for name in files}
    places = ("", "src", "src/compiler")
    missing = []
    for name in set(re.findall(r"`([\w/.-]+\.(?:[ch]|py|fbs))`", page)):
        found = any(os.path.exists(os.path.join(root, place, name)) for place in places)
        if not found and not ("/" not in name and name in names):
            missing.append(name)
    return sorted(missing)


def compiled(anemone, text):
    """The report, the sizes of main.e5 and weights.bin, and the M1 Max estimates of the report and of a run."""
    with tempfile.TemporaryDirectory() as folder:
        model, bundle = os.path.join(folder, "net.mil"), os.path.join(folder, "net.bundle")
        with open(model, "w", encoding="utf-8") as file:
            file.write(text)
        run = subprocess.run([anemone, "compile", model, "--report", "--output", bundle], capture_output=True, text=True,
                             env=dict(os.environ, XDG_CACHE_HOME=folder), check=True)
        sizes = {name: os.path.getsize(os.path.join(bundle, name)) for name in ("main.e5", "weights.bin")}
        mil.write_npy(os.path.join(folder, "x.npy"), "<f4", [1, 2, 4, 4], [1.0] * 32)
        once = subprocess.run([anemone, "run", model, "--input", f"x={folder}/x.npy", "--timing", "m1", "--json"], capture_output=True,
                              text=True, env=dict(os.environ, XDG_CACHE_HOME=folder, ANEMONE_SERVICE="none"), check=True)
        estimates = (re.search(r"^M1 Max .* = ([\d.]+) us", run.stdout, re.MULTILINE).group(1), json.loads(once.stdout)["m1_estimate_us"])
        return run.stdout, sizes, estimates


def main():
    anemone, root = sys.argv[1:]
    page = read(root, "docs", "compiler.md")
    known, listed = operators(read(root, "src", "compiler", "mil", "op.c")), documented(page)
    output, sizes, estimates = compiled(anemone, block(page, "mil"))
    results = [
        ("the reader of operations[] finds rows", len(known) > 50 and known.get("matmul", [])[:2] == ["x", "y"]),
        ("every operator is in the page", sorted(set(known) - {name for name, _ in listed}) == []),
        ("the page has no other operator, and none twice", sorted(name for name, _ in listed) == sorted([*known, "const"])),
        ("arguments are those of the front end", [row for row in listed if row[0] in known and row[1] != known[row[0]]] == []),
        ("every file that the page names exists", missing_files(root, page) == []),
        ("the report of the network", output.endswith("\n" + block(page, "report"))),
        ("the estimate is that of a run", float(estimates[0]) == estimates[1]),
        ("the sizes of its bundle", all(f"| {name} | {size} |" in page for name, size in sizes.items())),
    ]
    for number, (name, passed) in enumerate(results, 1):
        print(f"{'ok' if passed else 'not ok'} {number} - {name}")
    print(f"1..{len(results)}")
    return 0 if all(passed for _, passed in results) else 1


if __name__ == "__main__":
    sys.exit(main())
