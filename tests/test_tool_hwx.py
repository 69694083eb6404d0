#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`anemone compile --hwx`: the image of a network, run and compared bit by bit with the network itself. Prints TAP.

    test_tool_hwx.py ANEMONE
"""
import math
import os
import random
import subprocess
import sys
import tempfile

import mil
import tap


def constant(rng, name, shape, scale):
    values = [round(rng.uniform(-scale, scale), 3) for _ in range(math.prod(shape))]
    return f"tensor<fp16, {mil.shape_text(shape)}> {name} = const()[name = string(\"{name}\"), val = {mil.tensor('fp16', shape, values)}];"


def result(name, shape, call):
    return f"tensor<fp16, {mil.shape_text(shape)}> {name} = {call};"


def convolutions(rng):
    """Two convolutions with bias and ReLU, a pool between, a mean behind."""
    pair = mil.integers(2, 2)
    return mil.program([("x", [1, 3, 16, 16])], [
        constant(rng, "w1", [8, 3, 3, 3], 0.3), constant(rng, "b1", [8], 0.5), constant(rng, "w2", [12, 8, 3, 3], 0.2),
        result("c1", [1, 8, 16, 16], "conv(x = x, weight = w1, bias = b1, pad_type = string(\"same\"))"),
        result("r1", [1, 8, 16, 16], "relu(x = c1)"),
        result("p1", [1, 8, 8, 8], f"max_pool(x = r1, kernel_sizes = {pair}, strides = {pair}, pad_type = string(\"valid\"))"),
        result("c2", [1, 12, 8, 8], "conv(x = p1, weight = w2, pad_type = string(\"same\"))"),
        result("s", [1, 12, 8, 8], "sigmoid(x = c2)"),
        result("y", [1, 12, 1, 1], f"reduce_mean(x = s, axes = {mil.integers(2, 3)}, keep_dims = bool(true))"),
    ], ["y"])


def residual(rng):
    """A branch around a convolution; two outputs, one of them in the middle."""
    return mil.program([("x", [1, 8, 12, 20])], [
        constant(rng, "w1", [8, 8, 3, 3], 0.2), constant(rng, "w2", [16, 8, 1, 1], 0.4),
        result("c1", [1, 8, 12, 20], "conv(x = x, weight = w1, pad_type = string(\"same\"))"),
        result("a", [1, 8, 12, 20], "add(x = c1, y = x)"),
        result("r", [1, 8, 12, 20], "relu(x = a)"),
        result("y", [1, 16, 12, 20], "conv(x = r, weight = w2)"),
    ], ["r", "y"])


def classifier(rng):
    """A matrix and a softmax; ports of rank 2."""
    return mil.program([("x", [1, 40])], [
        constant(rng, "w", [10, 40], 0.5), constant(rng, "b", [10], 0.5),
        result("l", [1, 10], "linear(x = x, weight = w, bias = b)"),
        result("y", [1, 10], "softmax(x = l, axis = int32(-1))"),
    ], ["y"])


def two_inputs(rng):
    """Without constants of weights; no intermediate memory."""
    del rng
    return mil.program([("a", [1, 4, 6, 8]), ("b", [1, 4, 6, 8])], [result("y", [1, 4, 6, 8], "mul(x = a, y = b)")], ["y"])


def casts(rng):
    """fp32 at both ends: the image has the fp16 between them."""
    del rng
    return mil.program([("x", [2, 5])], [
        "tensor<fp16, [2, 5]> h = cast(dtype = string(\"fp16\"), x = x);",
        result("t", [2, 5], "tanh(x = h)"),
        "tensor<fp32, [2, 5]> y = cast(dtype = string(\"fp32\"), x = t);",
    ], ["y"], kind="fp32")


NETWORKS = {
    "convolutions": (convolutions, {"x": [1, 3, 16, 16]}, ["y"]),
    "residual": (residual, {"x": [1, 8, 12, 20]}, ["r", "y"]),
    "classifier": (classifier, {"x": [1, 40]}, ["y"]),
    "two_inputs": (two_inputs, {"a": [1, 4, 6, 8], "b": [1, 4, 6, 8]}, ["y"]),
    "casts": (casts, {"x": [2, 5]}, ["y"]),
}


def command(anemone, *words):
    return subprocess.run([anemone, *words], capture_output=True, text=True, check=False)


def run(anemone, folder, model, inputs, outputs):
    words = ["run", model]
    for name, path in inputs.items():
        words += ["--input", f"{name}={path}"]
    for name in outputs:
        words += ["--output", f"{name}={os.path.join(folder, name + '.npy')}"]
    done = command(anemone, *words)
    if done.returncode:
        return None, done.stderr
    return [mil.read_npy(os.path.join(folder, name + ".npy"))[2] for name in outputs], ""


def ports(anemone, image):
    """Shapes of an image's ports by name, as `anemone run` lists them when inputs are missing."""
    found = {}
    for line in command(anemone, "run", image).stderr.splitlines():
        if "no --input for " in line:
            name, rest = line.split("no --input for ", 1)[1].split(", ", 1)
            found[name] = [int(length) for length in rest[rest.index("[") + 1:rest.index("]")].split(",")]
    return found


def compare(anemone, folder, name):
    make, inputs, outputs = NETWORKS[name]
    rng = random.Random(f"hwx {name}")
    model = os.path.join(folder, name + ".mil")
    with open(model, "w", encoding="utf-8") as file:
        file.write(make(rng))
    return compare_model(anemone, folder, model, rng, inputs, outputs)


def compare_model(anemone, folder, model, rng, inputs, outputs):
    name, image = os.path.basename(model), os.path.splitext(model)[0] + ".hwx"
    done = command(anemone, "compile", model, "--hwx", image)
    if done.returncode:
        return [done.stderr]
    shapes, given, flat = ports(anemone, image), {}, {}
    if sorted(shapes) != sorted(inputs):
        return [f"the image has the inputs {sorted(shapes)}"]
    for port, shape in inputs.items():
        values = [rng.uniform(-2, 2) for _ in range(math.prod(shape))]
        given[port], flat[port] = os.path.join(folder, port + ".npy"), os.path.join(folder, port + ".flat.npy")
        mil.write_npy(given[port], "<f2", shape, values)
        mil.write_npy(flat[port], "<f2", shapes[port], values)
    wanted, why = run(anemone, folder, model, given, outputs)
    found, why_not = run(anemone, folder, image, flat, outputs)
    if wanted is None or found is None:
        return [why, why_not]
    if not any(any(value not in (0.0, wanted[i][0]) for value in row) for i, row in enumerate(wanted)):
        return ["the outputs are all alike, so nothing is compared"]
    # by their text, which distinguishes -0 from 0
    return [] if repr(wanted) == repr(found) else [f"{name}: the image gives other bits"]


def compare_published(anemone, folder):
    """Whole networks, small; two of scripts/make-networks."""
    script = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "scripts", "make-networks")
    kinds = ("mobilenet_v2", "squeezenet")
    made = subprocess.run([script, folder, *kinds, "--width", "0.125", "--size", "32", "--classes", "10"], capture_output=True, text=True, check=False)
    if made.returncode:
        return [made.stderr]
    return [problem for kind in kinds for problem in
            compare_model(anemone, folder, os.path.join(folder, kind + ".onnx"), random.Random(kind), {"x": [1, 3, 32, 32]}, ["y"])]


def main():
    anemone = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        os.environ.update(XDG_CACHE_HOME=folder, ANEMONE_SERVICE="none")
        results = [(f"the image of {name} gives the bits of the network", compare(anemone, folder, name)) for name in NETWORKS]
        onnx = subprocess.run(["/usr/bin/python3", "-c", "import onnx"], capture_output=True, check=False)
        results.append(("images of ONNX networks give their bits" + (" # SKIP python3-onnx is not installed" if onnx.returncode else ""),
                        [] if onnx.returncode else compare_published(anemone, folder)))
        image = os.path.join(folder, "convolutions.hwx")
        done = command(anemone, "inspect", image, "--json")
        results.append(("inspect reads an image", [done.stderr] if done.returncode or '"hwx"' not in done.stdout else []))
        done = command(anemone, "check", image)
        results.append(("check finds nothing wrong with an image", [done.stdout, done.stderr] if done.returncode else []))
        model = os.path.join(folder, "convolutions.mil")
        done = command(anemone, "compile", model, "--hwx", os.path.join(folder, "no", "such.hwx"))
        results.append(("a file that cannot be made is a failure", [] if done.returncode == 1 and "such.hwx" in done.stderr else [done.stderr]))
        done = command(anemone, "compile", image, "--hwx", os.path.join(folder, "again.hwx"))
        results.append(("an image is not compiled again", [] if done.returncode == 1 and "compiled program" in done.stderr else [done.stderr]))
        done = command(anemone, "compile", model, "--hwx", "-")
        results.append(("stdout is refused", [] if done.returncode == 2 and "name of a file" in done.stderr else [done.stderr]))
    return tap.report(results)


if __name__ == "__main__":
    sys.exit(main())
