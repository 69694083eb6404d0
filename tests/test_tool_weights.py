#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`anemone compile --weights` and `anemone run --weights`: the errors that are reported, and what the network then gives. Prints TAP.

    test_tool_weights.py ANEMONE
"""
import json
import math
import os
import random
import subprocess
import sys
import tempfile

import mil
import tap

SIZE = 64  # SIZE * SIZE weights, more than the threshold


def command(anemone, *words):
    return subprocess.run([anemone, *words], capture_output=True, text=True, check=False)


def write_model(path, weights):
    shape = [SIZE, SIZE]
    with open(path, "w", encoding="utf-8") as file:
        file.write(mil.program([("x", [1, SIZE])], [
            f"tensor<fp16, {mil.shape_text(shape)}> w = const()[val = {mil.tensor('fp16', shape, weights)}];",
            f'tensor<fp16, [1, {SIZE}]> y = linear(x = x, weight = w)[name = string("layer")];',
        ], ["y"]))


def compile_json(anemone, model, form):
    done = command(anemone, "compile", model, "--weights", form, "--json")
    if done.returncode:
        raise AssertionError(done.stderr)
    return json.loads(done.stdout)


def run(anemone, folder, model, form):
    out = os.path.join(folder, "y.npy")
    done = command(anemone, "run", model, "--weights", form, "--input", f"x={folder}/x.npy", "--output", f"y={out}")
    if done.returncode:
        raise AssertionError(done.stderr)
    return mil.read_npy(out)[2]


def main():
    anemone = sys.argv[1]
    results = []

    def ok(name, good):
        results.append((name, [] if good else ["it is not so"]))

    rng = random.Random("weights")
    weights = [round(rng.uniform(-1, 1), 3) for _ in range(SIZE * SIZE)]
    inputs = [round(rng.uniform(-1, 1), 2) for _ in range(SIZE)]
    os.environ["ANEMONE_SERVICE"] = "none"
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = folder
        model = os.path.join(folder, "net.mil")
        write_model(model, weights)
        mil.write_npy(os.path.join(folder, "x.npy"), "<f2", [1, SIZE], inputs)

        reports = {form: compile_json(anemone, model, form) for form in ("fp16", "int8", "palette4")}
        ok("each form is a program of its own", len({report["key"] for report in reports.values()}) == 3)
        ok("fp16 has no error to report", "weights" not in reports["fp16"])
        # a weight is at most half a step from a multiple of the step, which is 1/127 of at most 1 in fp16
        step = 1 / 127 * (1 + 2 ** -11)
        int8 = reports["int8"]["weights"]
        ok("int8: at most half a step, and the roundings to fp16", 0 < int8["largest"] <= step / 2 + 2 ** -11)
        ok("int8: one node, and its sum", [row["node"] for row in int8["nodes"]] == ["layer"] and
            int8["nodes"][0]["rms"] == int8["rms"] and int8["stored"] == "folded")
        # sixteen values over 2: equal steps of 1/8 would be at most 1/16 off, and 1/8 / sqrt(12) on average
        palette = reports["palette4"]["weights"]
        ok("palette4: near equal steps, for equally spread weights", palette["rms"] < 1.1 / 8 / math.sqrt(12))
        ok("a second time it is in the cache", compile_json(anemone, model, "int8")["cache"] == "hit")

        plain = run(anemone, folder, model, "fp16")
        for form in ("int8", "palette4"):
            # the sum of the inputs' magnitudes times the largest error of a weight, and fp16 of the result
            bound = sum(abs(x) for x in inputs) * reports[form]["weights"]["largest"] + max(abs(y) for y in plain) * 2 ** -9
            off = max(abs(a - b) for a, b in zip(plain, run(anemone, folder, model, form)))
            ok(f"{form}: results within what the weights' error allows", 0 < off <= bound)

        # nine weights of ten are zero: their bytes are not in the program, and the results are the same bits
        thin = os.path.join(folder, "thin.mil")
        write_model(thin, [weight if i % 10 == 0 else 0.0 for i, weight in enumerate(weights)])
        dense, sparse = (compile_json(anemone, thin, form) for form in ("fp16", "sparse"))
        ok("sparse: fewer bytes", sparse["weights_bytes"] < dense["weights_bytes"] / 2 and sparse["key"] != dense["key"])
        ok("sparse: the zeros are counted", sparse["weights"]["zeros"] >= SIZE * SIZE * 9 // 10 and sparse["weights"]["stored"] == "streamed")
        ok("sparse: the same results", run(anemone, folder, thin, "sparse") == run(anemone, folder, thin, "fp16"))
        image = os.path.join(folder, "thin.hwx")
        done = command(anemone, "compile", thin, "--weights", "sparse", "--hwx", image)
        ok("sparse: its image is a valid program", done.returncode == 0 and command(anemone, "check", image).returncode == 0)

        done = command(anemone, "compile", model, "--weights", "int4")
        ok("a form that does not exist is refused", done.returncode == 2 and "fp16, int8, palette4 or sparse, not int4" in done.stderr)
        done = command(anemone, "compile", reports["int8"]["bundle"], "--weights", "int8")
        ok("a bundle keeps its weights", "its weights stay as they are" in done.stderr)
    return tap.report(results)


if __name__ == "__main__":
    sys.exit(main())
