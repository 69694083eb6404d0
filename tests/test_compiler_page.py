#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/compiler.md against the tree: every file that the page names, the passes in their order, figures that headers declare, and the report,
places and sizes of the network that the page follows. Prints TAP.

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


def passes(root, page):
    """What the two tables of passes do not have, or have and is not there."""
    order = re.findall(r'\{"(\w+)", cc_pass_', read(root, "src", "compiler", "pass", "passes.c"))
    rows = re.search(r"### 2\. .*?\n\|---\|---\|\n(.*?)\n\n", page, re.DOTALL).group(1)
    lowering = re.findall(r"^int (cc_pass_\w+)", read(root, "src", "compiler", "lower", "pass.h"), re.MULTILINE)
    return ([] if re.findall(r"^\| (\w+) \|", rows, re.MULTILINE) == list(dict.fromkeys(order)) else order) + \
        ([] if re.findall(r"^\| `(cc_pass_\w+)`", page, re.MULTILINE) == lowering else lowering)


def declared(root, name, *path):
    return int(re.search(rf"#define {name}\s+(\w+?)u\b", read(root, *path)).group(1), 0)


def wrong_figures(root, page):
    staging = declared(root, "PR_E5_L2_STAGING", "src", "program", "e5.h")
    expected = [f"L2 has {declared(root, 'PR_L2_BYTES', 'src', 'program', 'task.h') >> 20} MiB. The first {staging:#x} bytes",
                f"at most {declared(root, 'PR_E5_PORTS_MAX', 'src', 'program', 'e5.h')} ports"]
    return [text for text in expected if text not in page]


def compiled(anemone, text):
    """The report, the sizes of main.e5 and weights.bin, the M1 Max estimates of the report and of a run, and the records."""
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
        inside = subprocess.run([anemone, "inspect", bundle, "--json"], capture_output=True, text=True, check=True)
        return run.stdout, sizes, estimates, json.loads(inside.stdout)["records"]


def places(page, row):
    """The columns of a row of the table of records, as `anemone inspect` writes a place."""
    cells = re.search(rf"^\| {row} \| (.*?) \| (.*?) \|$", page, re.MULTILINE).groups()
    found = [re.match(r"port \d \((\w+)\)|L2, address (0x[0-9a-f]+)", cell).groups() for cell in cells]
    return [f"{port}+0" if port else f"L2+{int(address, 16)}" for port, address in found]


def main():
    anemone, root = sys.argv[1:]
    page = read(root, "docs", "compiler.md")
    output, sizes, estimates, records = compiled(anemone, block(page, "mil"))
    results = [
        ("every file that the page names exists", missing_files(root, page) == []),
        ("every pass in its order", passes(root, page) == []),
        ("limits and sizes that headers declare", wrong_figures(root, page) == []),
        ("where the records read and write", places(page, "source 1") == [record["sources"][0] for record in records] and
         places(page, "destination") == [record["result"] for record in records]),
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
