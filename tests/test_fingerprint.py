#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The fingerprint in the cache's keys: the same for the same sources, another for any other. Prints TAP.

    test_fingerprint.py SOURCE_ROOT
"""
import os
import subprocess
import sys
import tempfile


def fingerprint(root, folder, place):
    output, depfile = os.path.join(place, "out.c"), os.path.join(place, "out.d")
    subprocess.run([sys.executable, os.path.join(root, "scripts", "fingerprint"), output, depfile, folder], check=True)
    with open(output, encoding="utf-8") as file:
        text = file.read()
    with open(depfile, encoding="utf-8") as file:
        return text, file.read()


def write(folder, name, text):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
        file.write(text)


def main():
    root, results = sys.argv[1], []
    with tempfile.TemporaryDirectory() as place, tempfile.TemporaryDirectory() as folder:
        write(folder, "a.c", "one")
        write(folder, "b.h", "two")
        first, depends = fingerprint(root, folder, place)
        results.append(("the same twice", fingerprint(root, folder, place)[0] == first))
        results.append(("every source is depended on", all(os.path.join(folder, name) in depends for name in ("a.c", "b.h"))))
        write(folder, "notes.txt", "nothing")
        results.append(("what is no source does not count", fingerprint(root, folder, place)[0] == first))
        write(folder, "a.c", "onf")
        second = fingerprint(root, folder, place)[0]
        results.append(("a changed source", second != first))
        write(folder, "c.c", "")
        third = fingerprint(root, folder, place)[0]
        results.append(("a new source", third not in (first, second)))
        write(folder, "a.c", "onft")
        write(folder, "b.h", "wo")
        results.append(("a byte that moved to a neighbour", fingerprint(root, folder, place)[0] not in (first, second, third)))
    print(f"1..{len(results)}")
    for number, (what, good) in enumerate(results, 1):
        print(f"{'ok' if good else 'not ok'} {number} - {what}")
    return 0 if all(good for _, good in results) else 1


if __name__ == "__main__":
    sys.exit(main())
