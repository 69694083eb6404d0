#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`anemone compare` against errors that are computed here, element by element, from the rounding of fp16. Prints TAP.

    test_tool_compare.py ANEMONE
"""
import json
import math
import os
import random
import struct
import subprocess
import sys
import tempfile

import mil
import tap

SHAPE = [1, 4, 2, 8]
COUNT = math.prod(SHAPE)
POLICIES = ["m1", "m1-exact"]
HALF_MAX = 65504


def half(value):
    """Rounded to fp16, to even; infinite beyond it."""
    try:
        return struct.unpack("<e", struct.pack("<e", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)


def result(name, call):
    return f"tensor<fp16, {mil.shape_text(SHAPE)}> {name} = {call};"


def scaled(*factors):
    """x times one factor after the other: v0, v1, ..."""
    lines = [result(f"v{i}", f"mul(x = {f'v{i - 1}' if i else 'x'}, y = fp16({factor!r}))") for i, factor in enumerate(factors)]
    return mil.program([("x", SHAPE)], lines, [f"v{len(factors) - 1}"])


class Bench:
    def __init__(self, anemone, folder):
        self.anemone, self.folder = anemone, folder

    def path(self, name):
        return os.path.join(self.folder, name)

    def command(self, *words):
        return subprocess.run([self.anemone, *words], capture_output=True, text=True, check=False)

    def model(self, text):
        with open(self.path("net.mil"), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path("net.mil")

    def compare(self, text, values, *words):
        """The JSON of a comparison with this input, and its nodes by name."""
        mil.write_npy(self.path("x.npy"), "<f2", SHAPE, values)
        run = self.command("compare", self.model(text), "--input", f"x={self.path('x.npy')}", "--json", *words)
        assert run.returncode == 0, run.stderr
        data = json.loads(run.stdout)
        assert data["policies"] == POLICIES
        return data, {node["name"]: node for node in data["nodes"] if "where" not in node}


def close(found, wanted, slack=1e-7):
    assert found is not None and abs(found - wanted) <= slack * abs(wanted), (found, wanted)


def norm(values):
    return math.sqrt(sum(value * value for value in values))


def exact_networks_have_no_error(bench):
    rng = random.Random(1)
    data, nodes = bench.compare(scaled(2.0, 0.5, 4.0), [float(rng.randrange(-64, 64)) for _ in range(COUNT)])
    for policy in range(2):
        output = data["outputs"][0]["errors"][policy]
        assert output["relative_l2"] == 0 and output["cosine"] == 1 and output["top1"]
        for name in ("v0", "v1", "v2"):
            error = nodes[name]["errors"][policy]
            assert [error[key] for key in error if key != "policy"] == [0] * 7, error


def one_rounding_is_found(bench):
    """The product is rounded once; the factor 4 after it is exact, so the error arrives four times as large."""
    rng = random.Random(2)
    factor = half(0.7231)
    x = [half(rng.uniform(-3, 3)) for _ in range(COUNT)]
    true = [value * factor for value in x]
    wrong = [half(value) - value for value in true]
    data, nodes = bench.compare(scaled(factor, 4.0), x)
    for policy in range(2):
        first, second = nodes["v0"]["errors"][policy], nodes["v1"]["errors"][policy]
        close(first["added_max"], max(map(abs, wrong)))
        close(first["added_l2"], norm(wrong) / norm(true))
        close(first["output_max"], 4 * max(map(abs, wrong)))
        close(first["output_l2"], norm(wrong) / norm(true))
        assert second["added_max"] == 0 and second["output_max"] == 0
        close(data["outputs"][0]["errors"][policy]["max_abs"], 4 * max(map(abs, wrong)))
        close(data["outputs"][0]["errors"][policy]["relative_l2"], norm(wrong) / norm(true))


def lost_elements_are_counted(bench):
    """3 of the elements are beyond fp16 after the first factor, and 5 below half of its smallest number after the second."""
    x = [1.0] * (COUNT - 8) + [100.0] * 3 + [2.0 ** -9] * 5
    data, nodes = bench.compare(scaled(1024.0), x)
    assert data["outputs"][0]["errors"][0]["relative_l2"] is None
    for policy in range(2):
        error = nodes["v0"]["errors"][policy]
        assert (error["overflowed"], error["flushed"]) == (3, 0), error
    _, nodes = bench.compare(scaled(2.0 ** -14, 2.0 ** -3), x)
    for policy in range(2):
        error = nodes["v1"]["errors"][policy]
        assert (error["overflowed"], error["saturated"]) == (0, 0), error
        assert nodes["v0"]["errors"][policy]["flushed"] in (0, 5)
        assert error["flushed"] + nodes["v0"]["errors"][policy]["flushed"] >= 5, error


def nodes_are_chosen(bench):
    text = mil.program([("x", SHAPE)], [
        'tensor<fp16, [4, 4, 1, 1]> w = const()[name = string("w"), val = '
        + mil.tensor("fp16", [4, 4, 1, 1], [0.25] * 16) + "];",
        result("a", "mul(x = x, y = fp16(0.7))"), result("c", "conv(x = a, weight = w)"), result("y", "tanh(x = c)")], ["y"])
    for words, measured in ((["--nodes", "1"], ["c"]), (["--nodes", "0"], []), ([], ["a", "c", "y"])):
        _, nodes = bench.compare(text, [0.5] * COUNT, *words)
        assert sorted(name for name in nodes if "errors" in nodes[name]) == measured, (words, nodes.keys())


def random_inputs_are_said(bench):
    model = bench.model(scaled(0.7))
    first, again, other = (bench.command("compare", model, "--seed", seed).stdout for seed in ("5", "5", "6"))
    assert "x random (normal, seed 5)" in first and first == again and first != other.replace("seed 6", "seed 5")


def what_is_wrong_is_said(bench):
    model = bench.model(scaled(0.7))
    for words, status, text in ((["--input", "z=none.npy"], 1, "the model has no input z"), (["--input", "x=none.npy"], 1, "none.npy"),
                                (["--nodes", "many"], 2, "--nodes"), (["--html", bench.path("no/such.html")], 1, "such.html"),
                                (["--input", "x"], 2, "NAME=VALUE")):
        run = bench.command("compare", model, *words)
        assert run.returncode == status and text in run.stderr, (words, run.returncode, run.stderr)
    run = bench.command("compare", bench.path("missing.mil"))
    assert run.returncode == 1 and "missing.mil" in run.stderr, run.stderr


def problems_of(check, bench):
    try:
        check(bench)
    except (AssertionError, KeyError, ValueError) as problem:
        return [f"{type(problem).__name__}: {problem!s:.600}"]
    return []


CHECKS = (exact_networks_have_no_error, one_rounding_is_found, lost_elements_are_counted, nodes_are_chosen, random_inputs_are_said,
          what_is_wrong_is_said)


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.environ.update(XDG_CACHE_HOME=folder, ANEMONE_SERVICE="none")
        bench = Bench(sys.argv[1], folder)
        return tap.report([(check.__name__.replace("_", " "), problems_of(check, bench)) for check in CHECKS])


if __name__ == "__main__":
    sys.exit(main())
