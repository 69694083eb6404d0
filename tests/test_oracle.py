#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random programs through the command and through the oracle: every byte of every output must be the same. Prints TAP.

    test_oracle.py ANEMONE [FAMILY [SEED]]

tests/oracle is a second executor, written from the public facts and not from our code. Programs are drawn by family from fixed seeds; a failure
prints family and seed, and with both on the command line that one program is run again and its first differences are shown.
"""
import os
import subprocess
import sys
import tempfile
import zlib

PROGRAMS = 6  # of each family

# The command's defaults, whatever the caller prefers.
PLAIN = {name: value for name, value in os.environ.items() if name not in ("ANEMONE_NUMERICS", "ANEMONE_THREADS", "ANEMONE_TRACE")}

try:
    import numpy as np
except ImportError:
    print("1..0 # SKIP needs numpy (Debian: python3-numpy)")
    sys.exit(0)

from oracle import chains, execute, mixtures, program  # noqa: E402  (numpy first)
from oracle.build import Bench  # noqa: E402
from oracle.families import FAMILIES  # noqa: E402

assert chains and mixtures  # their families stand in FAMILIES


class Refused(Exception):
    """The command ended with an error; its message."""


def random_bytes(rng, size, spread):
    """`size` bytes of halves: around 0 with a few zeros and denormals, or any bits at all."""
    if spread == "bytes":
        bits = rng.integers(0, 0x10000, size // 2).astype("<u2")
        special = rng.choice(np.array([0x0000, 0x8000, 0x7C00, 0xFC00, 0x7E00, 0x0001, 0x7BFF], "<u2"), size // 2)
        return np.where(rng.random(size // 2) < 0.2, special, bits).astype("<u2").tobytes()
    values = (rng.normal(size=size // 2) * spread).astype("<f2")
    special = rng.choice(np.array([0.0, -0.0, 1.0, -0.5, 2.0 ** -20], "<f2"), size // 2)
    return np.where(rng.random(size // 2) < 0.05, special, values).astype("<f2").tobytes()


def command_outputs(anemone, folder, made, inputs):
    """Runs a program with the command: {buffer: bytes}."""
    path = os.path.join(folder, "program.anec")
    with open(path, "wb") as file:
        file.write(program.write_anec(made))
    words, kinds = [anemone, "run", path], made.types()
    for i, bar in enumerate(made.inputs()):
        name = os.path.join(folder, "x%d.npy" % i)
        np.save(name, np.frombuffer(inputs[bar], kinds[bar]).reshape(program.flat_shape(len(inputs[bar]), kinds[bar])))
        words += ["--input", "x%d=%s" % (i, name)]
    names = {bar: os.path.join(folder, "y%d.npy" % i) for i, bar in enumerate(made.outputs())}
    for i, bar in enumerate(made.outputs()):
        words += ["--output", "y%d=%s" % (i, names[bar])]
    result = subprocess.run(words, capture_output=True, text=True, check=False, env=PLAIN)
    if result.returncode:
        raise Refused(result.stderr.strip())
    return {bar: np.load(name).tobytes() for bar, name in names.items()}


def oracle_outputs(made, inputs):
    buffers = made.buffers(inputs)
    execute.Machine(buffers).run(made.tasks)
    return {bar: bytes(buffers[bar]) for bar in made.outputs()}


def differences(found, expected, limit=8):
    """Lines that say where two outputs differ."""
    lines = []
    for bar in expected:
        a, b = np.frombuffer(found[bar], "<u2"), np.frombuffer(expected[bar], "<u2")
        for at in np.nonzero(a != b)[0][:limit]:
            lines.append("buffer %d byte %#x: the engine has %#06x (%g), the oracle %#06x (%g)" % (
                bar, 2 * at, a[at], a[at:at + 1].view("<f2")[0], b[at], b[at:at + 1].view("<f2")[0]))
        if (a != b).any():
            lines.append("buffer %d: %d of %d halves differ" % (bar, (a != b).sum(), np.count_nonzero(a | b)))
    return lines


def make(name, seed):
    """Program `seed` of a family, and its inputs."""
    function, spread = FAMILIES[name]
    rng = np.random.default_rng([zlib.crc32(name.encode()), seed])
    bench = Bench(rng)
    function(bench, rng)
    made = bench.program()
    return made, {bar: random_bytes(rng, made.surfaces[bar][1], spread) for bar in made.inputs()}


def check(anemone, folder, name, seed):
    """(lines that say what is wrong, whether there was anything but zeros to compare)."""
    made, inputs = make(name, seed)
    expected = oracle_outputs(made, inputs)
    try:
        lines = differences(command_outputs(anemone, folder, made, inputs), expected)
    except Refused as message:
        lines = ["refused: %s" % message]
    return lines, any(any(data) for data in expected.values())


def check_family(anemone, folder, name, seeds):
    """(passed, lines) of a family."""
    lines, something = [], False
    for seed in seeds:
        found, full = check(anemone, folder, name, seed)
        lines += ["seed %d: %s" % (seed, line) for line in found]
        something |= full
    if not something:
        lines.append("every output is zeros alone, which tests nothing")
    return not lines, lines


def main():
    anemone = os.path.abspath(sys.argv[1])
    names = sys.argv[2:3] or sorted(FAMILIES)
    seeds = [int(sys.argv[3])] if len(sys.argv) > 3 else range(PROGRAMS)
    failed = 0
    print("1..%d" % len(names))
    with tempfile.TemporaryDirectory() as folder:
        for number, name in enumerate(names, 1):
            passed, lines = check_family(anemone, folder, name, seeds)
            failed += not passed
            print("%s %d - %s" % ("ok" if passed else "not ok", number, name))
            for line in lines[:20]:
                print("# " + line)
            sys.stdout.flush()
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
