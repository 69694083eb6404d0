#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`anemone inspect` of models and bundles: ports, nodes, parameters and MACs against numbers worked out by hand, and against
published ones for the networks of scripts/make-networks. Prints TAP.

    test_tool_inspect.py ANEMONE SOURCE_ROOT
"""
import json
import os
import subprocess
import sys
import tempfile

import mil
import tap

# Parameters with the statistics of batch norms, and multiply-accumulates to three digits, from torchvision's pages of models.
PUBLISHED = {"mobilenet_v2": (3504872 + 2 * 17056, 0.30), "resnet50": (25557032 + 2 * 26560, 4.09), "squeezenet": (1235496, 0.35)}


class Rig:
    def __init__(self, anemone, folder):
        self.anemone, self.folder = anemone, folder
        self.environment = dict(os.environ, XDG_CACHE_HOME=folder, ANEMONE_SERVICE="none")

    def run(self, *words):
        return subprocess.run([self.anemone, *words], capture_output=True, text=True, check=False, env=self.environment)

    def inspect(self, path, *words):
        done = self.run("inspect", path, "--json", *words)
        return json.loads(done.stdout) if not done.returncode else {"error": done.stderr}

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path


def small(rig):
    """A 3x3 convolution of 2 to 4 channels in 2 groups, a matrix of 4 x 5 on 36 rows, a product of two inputs."""
    zeros = mil.tensor("fp16", [4, 1, 3, 3], [0] * 36)
    return rig.write("small.mil", mil.program([("x", [1, 2, 6, 6]), ("a", [3, 7])], [
        f"tensor<fp16, [1, 4, 6, 6]> c = conv(x = x, weight = {zeros}, pad_type = string(\"same\"), groups = int32(2));",
        "tensor<fp16, [1, 6, 6, 4]> t = transpose(x = c, perm = " + mil.integers(0, 2, 3, 1) + ");",
        f"tensor<fp16, [1, 6, 6, 5]> y = linear(x = t, weight = {mil.tensor('fp16', [5, 4], [0] * 20)}, bias = {mil.tensor('fp16', [5], [0] * 5)});",
        "tensor<fp16, [3, 3]> m = matmul(x = a, y = a, transpose_x = bool(false), transpose_y = bool(true));",
        "tensor<fp16, [3, 3]> z = relu(x = m);",
    ], ["y", "z"]))


def model(rig):
    found = rig.inspect(small(rig))
    ports = [(port["name"], port["direction"], port["type"], port["shape"], port["strides"]) for port in found.get("ports", [])]
    wanted = [("x", "input", "fp16", [1, 2, 6, 6], [144, 72, 12, 2]), ("a", "input", "fp16", [3, 7], [14, 2]),
              ("y", "output", "fp16", [1, 6, 6, 5], [360, 60, 10, 2]), ("z", "output", "fp16", [3, 3], [6, 2])]
    problems = [] if ports == wanted else [str(found)]
    nodes = {row["kind"]: row["count"] for row in found["nodes"]}
    if nodes != {"conv": 1, "transpose": 1, "linear": 1, "matmul": 1, "relu": 1}:
        problems.append(str(nodes))
    # 4 x 36 results of 9 products, 36 x 5 of 4, 9 of 7
    numbers = (found["parameters"], found["weights_bytes"], found["macs"], found["format"])
    return problems + ([] if numbers == (36 + 20 + 5, 122, 4 * 36 * 9 + 36 * 5 * 4 + 9 * 7, "mil") else [str(numbers)])


def text(rig):
    done = rig.run("inspect", small(rig))
    lines = ("input  x                    tensor<fp16, [1, 2, 6, 6]>", "     1  matmul", "parameters  61", "MACs        2079")
    return [f"no {line}" for line in lines if line not in done.stdout] + ([done.stderr] if done.stderr else [])


def bundle(rig):
    path = os.path.join(rig.folder, "small.bundle")
    compiled = json.loads(rig.run("compile", small(rig), "--output", path, "--json").stdout)
    found = rig.inspect(path)
    ports = {port["name"]: (port["direction"], port["type"], port["shape"], port["strides"][3]) for port in found.get("ports", [])}
    wanted = {"x": ("input", "fp16", [1, 2, 6, 6], 2), "a": ("input", "fp16", [3, 7], 2),
              "y": ("output", "fp16", [1, 6, 6, 5], 2), "z": ("output", "fp16", [3, 3], 2)}
    problems = [] if ports == wanted else [str(found)]
    if (found["key"], found["model"], found["signed"], found["format"]) != (compiled["key"], "small.mil", True, "bundle"):
        problems.append(str(found["key"]))
    if len(found["records"]) != compiled["descriptors"] or found["constant_bytes"] != compiled["weights_bytes"]:
        problems.append(f"{len(found['records'])} records")
    results = [record["result"].split("+")[0] for record in found["records"]]
    sources = [source.split("+")[0] for record in found["records"] for source in record["sources"]]
    if not {"y", "z"} <= set(results) or not {"x", "a"} <= set(sources) or "convolution" not in [record["kind"] for record in found["records"]]:
        problems.append(f"{results} {sources}")
    done = rig.run("inspect", path)
    if done.returncode or done.stdout.count(" -> [") != len(found["records"]) or "model         small.mil" not in done.stdout:
        problems.append(done.stdout + done.stderr)
    with open(os.path.join(path, "weights.bin"), "ab") as file:
        file.write(b"x")
    done = rig.run("inspect", path)
    return problems + ([] if done.returncode == 1 and "weights.bin" in done.stderr else [done.stderr])


def wrong(rig):
    broken = rig.write("broken.mil", "program(1.3)\n{ nothing")
    cases = (((broken,), 1, "broken.mil: "), ((os.path.join(rig.folder, "none.onnx"),), 1, "none.onnx"), ((small(rig), "--listing"), 2, "--listing"),
             ((os.path.join(rig.folder, "none.hwx"), "--shape", "x=1"), 2, "ONNX"),
             ((rig.write("text.onnx", "hello"),), 1, "text.onnx: "))
    problems = []
    for words, status, said in cases:
        done = rig.run("inspect", *words)
        if done.returncode != status or said not in done.stderr or done.stdout:
            problems.append(f"{words}: {done.returncode} {done.stderr}")
    return problems


def published(rig, root):
    done = subprocess.run([os.path.join(root, "scripts", "make-networks"), rig.folder, *PUBLISHED], capture_output=True, text=True, check=False)
    if done.returncode:
        return [done.stderr]
    problems = []
    for name, (parameters, billions) in PUBLISHED.items():
        found = rig.inspect(os.path.join(rig.folder, name + ".onnx"))
        if found.get("parameters") != parameters or round(found["macs"] / 1e9, 2) != billions or found["format"] != "onnx":
            problems.append(f"{name}: {found.get('parameters')} {found.get('macs')} {found.get('error')}")
        if found.get("ports", [{}])[0].get("shape") != [1, 3, 224, 224] or found["ports"][1]["shape"] != [1, 1000]:
            problems.append(f"{name}: {found.get('ports')}")
    subprocess.run([os.path.join(root, "scripts", "make-networks"), rig.folder, "squeezenet", "--symbolic"], capture_output=True, check=True)
    path = os.path.join(rig.folder, "squeezenet.onnx")
    if "error" not in rig.inspect(path):
        problems.append("an open shape is not refused")
    found = rig.inspect(path, "--shape", "x=2,3,224,224")
    if round(found.get("macs", 0) / 1e9, 1) != 0.7 or found["ports"][0]["shape"] != [2, 3, 224, 224]:
        problems.append(f"two pictures: {found}")
    return problems


def main():
    anemone, root = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        rig = Rig(anemone, folder)
        results = [(name, case(rig)) for name, case in (("a model", model), ("a model as text", text), ("a bundle", bundle), ("what cannot be read", wrong))]
        onnx = subprocess.run(["/usr/bin/python3", "-c", "import onnx"], capture_output=True, check=False)
        results.append(("networks of published kinds", published(rig, root)) if not onnx.returncode else
                       ("networks of published kinds # SKIP python3-onnx is not installed", []))
    return tap.report(results)


if __name__ == "__main__":
    sys.exit(main())
