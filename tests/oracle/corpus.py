#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Real programs through the command and through the oracle, with random inputs: outputs must be the same. Prints TAP.

    ANEMONE_CORPUS=FOLDER corpus.py ANEMONE [WORD]

Takes every .hwx, .anec and .bin (a raw stream with its constants behind it) in the folder and below; with WORD only those whose path contains it.
Public examples that are known by name are also held against numpy's own functions, as a check of the oracle. Without the folder the test is skipped:
the programs are not ours to keep here.
"""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

try:
    import numpy as np
except ImportError:
    print("1..0 # SKIP needs numpy (Debian: python3-numpy)")
    sys.exit(0)

import test_oracle  # noqa: E402  (numpy first)
from oracle import program, truth  # noqa: E402

KINDS = (".hwx", ".anec", ".bin")


def found_programs(folder, word):
    paths = [os.path.join(at, name) for at, _, names in os.walk(folder) for name in names if name.endswith(KINDS)]
    return sorted(path for path in paths if word in path)


def image_ports(anemone, path):
    """Ports of an image as the command names them: [{name, direction, shape, strides, buffer}]."""
    result = subprocess.run([anemone, "inspect", path, "--json"], capture_output=True, text=True, check=False, env=test_oracle.PLAIN)
    if result.returncode:
        raise test_oracle.Refused(result.stderr.strip())
    return json.loads(result.stdout)["ports"]


def elements(port, size):
    """Indices of a port's elements among the halves of its buffer."""
    index = np.zeros(port["shape"], np.int64)
    for axis, (extent, stride) in enumerate(zip(port["shape"], port["strides"])):
        index += (np.arange(extent) * (stride // 2)).reshape([-1 if i == axis else 1 for i in range(index.ndim)])
    assert 2 * index.max() + 2 <= size
    return index


def check_image(anemone, folder, path, made, rng):
    """An image has ports of its own shapes: what is compared is every element of every output."""
    inputs, words, outputs = {}, [anemone, "run", path], []
    for number, port in enumerate(image_ports(anemone, path)):
        bar, name = port["bar"], os.path.join(folder, "p%d.npy" % number)
        size = made.surfaces[bar][1]
        index = elements(port, size)
        if port["direction"] == "input":
            values = rng.normal(size=index.shape).astype("<f2")
            whole = np.zeros(size // 2, "<f2")
            whole[index] = values
            inputs[bar] = whole.tobytes()
            np.save(name, values)
            words += ["--input", "%s=%s" % (port["name"], name)]
        else:
            outputs.append((bar, index, name))
            words += ["--output", "%s=%s" % (port["name"], name)]
    result = subprocess.run(words, capture_output=True, text=True, check=False, env=test_oracle.PLAIN)
    if result.returncode:
        raise test_oracle.Refused(result.stderr.strip())
    expected = test_oracle.oracle_outputs(made, inputs)
    lines = []
    for bar, index, name in outputs:
        wanted = np.frombuffer(expected[bar], "<f2")[index]
        lines += test_oracle.differences({bar: np.load(name).tobytes()}, {bar: wanted.tobytes()})
    return lines


def check(anemone, folder, path):
    rng = np.random.default_rng(len(path))
    made = program.read(path)
    if path.endswith(".hwx"):
        return check_image(anemone, folder, path, made, rng)
    inputs = {bar: test_oracle.random_bytes(rng, made.surfaces[bar][1], 2.0) for bar in made.inputs()}
    expected = test_oracle.oracle_outputs(made, inputs)
    if path.endswith(".bin"):
        name = os.path.splitext(os.path.basename(path))[0]
        lines = truth.check(name, [inputs[bar] for bar in made.inputs()], expected[made.outputs()[0]])
        if lines:
            return lines
    return test_oracle.differences(test_oracle.command_outputs(anemone, folder, made, inputs), expected)


def main():
    corpus, word = os.environ.get("ANEMONE_CORPUS", ""), "".join(sys.argv[2:3])
    if not os.path.isdir(corpus):
        print("1..0 # SKIP ANEMONE_CORPUS names no folder of real programs")
        return 0
    anemone, failed = os.path.abspath(sys.argv[1]), 0
    paths = found_programs(corpus, word)
    print("1..%d" % len(paths))
    with tempfile.TemporaryDirectory() as folder:
        for number, path in enumerate(paths, 1):
            try:
                lines = check(anemone, folder, path)
            except test_oracle.Refused as message:
                lines = ["refused: %s" % message]
            except (AssertionError, NotImplementedError) as message:
                lines = ["the oracle cannot: %s" % message]
            failed += bool(lines)
            print("%s %d - %s" % ("not ok" if lines else "ok", number, os.path.relpath(path, corpus)))
            for line in lines:
                print("# " + line)
            sys.stdout.flush()
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
