#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/make-networks: the networks have the published numbers of weights, are the same every time, and keep their values
inside fp16. Skips where python3-onnx or numpy is missing. Prints TAP.

    test_make_networks.py SOURCE_ROOT
"""
import os
import subprocess
import sys
import tempfile

import tap

try:
    import numpy as np
    import onnx
    from onnx import numpy_helper
except ImportError as missing:
    print(f"1..0 # SKIP python3-{missing.name} is not installed")
    sys.exit(0)

# Trainable weights of the networks with 1000 classes, as torchvision's pages give them; of U-Net with 2 maps, by its layers.
PUBLISHED = {"mobilenet_v2": 3504872, "resnet50": 25557032, "squeezenet": 1235496}
STATISTICS = 2  # of a batch norm's four vectors are not trained


def script(root, folder, *words):
    return subprocess.run([os.path.join(root, "scripts", "make-networks"), folder, *words], capture_output=True, text=True, check=False)


def trained(model):
    sizes = {tensor.name: int(np.prod(tensor.dims)) for tensor in model.graph.initializer if tensor.data_type == onnx.TensorProto.FLOAT}
    for node in model.graph.node:
        if node.op_type == "BatchNormalization":
            for name in node.input[5 - STATISTICS:]:
                del sizes[name]
        elif node.op_type == "Clip":
            for name in node.input[1:]:
                sizes.pop(name, None)
    return sum(sizes.values())


def windows(x, kernel, stride, pads, fill, ceil=False):
    """[N, C, H, W, kernel, kernel]"""
    extra = [0, 0]
    if ceil:
        extra = [-(x.shape[2 + i] + pads[i] + pads[i + 2] - kernel) % stride for i in range(2)]
    x = np.pad(x, ((0, 0), (0, 0), (pads[0], pads[2] + extra[0]), (pads[1], pads[3] + extra[1])), constant_values=fill)
    return np.lib.stride_tricks.sliding_window_view(x, (kernel, kernel), (2, 3))[:, :, ::stride, ::stride]


def conv(a, x, w, b=None):
    groups, seen = a["group"], windows(x, w.shape[2], a["strides"][0], a["pads"], 0)
    seen = seen.reshape(x.shape[0], groups, -1, *seen.shape[2:])
    w = w.reshape(groups, -1, *w.shape[1:])
    y = np.einsum("ngchwij,gocij->ngohw", seen, w).reshape(x.shape[0], -1, *seen.shape[3:5])
    return y if b is None else y + b[:, None, None]


def norm(a, x, scale, shift, mean, variance):
    factor = scale / np.sqrt(variance + a["epsilon"])
    return x * factor[:, None, None] + (shift - mean * factor)[:, None, None]


def doubled(a, x, w, b):
    del a
    y = np.einsum("nchw,coij->nohiwj", x, w)
    return y.reshape(*y.shape[:2], y.shape[2] * 2, y.shape[4] * 2) + b[:, None, None]


def softmax(a, x):
    e = np.exp(x - x.max(a["axis"], keepdims=True))
    return e / e.sum(a["axis"], keepdims=True)


MEANING = {
    "Add": lambda a, x, y: x + y,
    "BatchNormalization": norm,
    "Clip": lambda a, x, low, high: np.clip(x, low, high),
    "Concat": lambda a, *values: np.concatenate(values, a["axis"]),
    "Conv": conv,
    "ConvTranspose": doubled,
    "Div": lambda a, x, y: x / y,
    "Dropout": lambda a, x: x,
    "Flatten": lambda a, x: x.reshape(x.shape[0], -1),
    "Gather": lambda a, x, index: np.take(x, index, a["axis"]),
    "Gemm": lambda a, x, w, b: x @ w.T + b,
    "GlobalAveragePool": lambda a, x: x.mean((2, 3), keepdims=True),
    "MaxPool": lambda a, x: windows(x, a["kernel_shape"][0], a["strides"][0], a["pads"], -np.inf, a["ceil_mode"]).max((4, 5)),
    "Mul": lambda a, x, y: x * y,
    "Pow": lambda a, x, y: x ** y,
    "ReduceMean": lambda a, x: x.mean(tuple(a["axes"]), keepdims=True),
    "Relu": lambda a, x: np.maximum(x, 0),
    "Reshape": lambda a, x, shape: x.reshape(shape),
    "Shape": lambda a, x: np.array(x.shape),
    "Sigmoid": lambda a, x: 1 / (1 + np.exp(-x)),
    "Softmax": softmax,
    "Sqrt": lambda a, x: np.sqrt(x),
    "Sub": lambda a, x, y: x - y,
    "Unsqueeze": lambda a, x, axes: np.expand_dims(x, tuple(axes)),
}


def largest(model, image):
    """The output, and the largest magnitude of any value in between."""
    values = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    values = {name: array.astype(np.float64) if array.dtype == np.float32 else array for name, array in values.items()}
    values["x"], most = image, 0.0
    for node in model.graph.node:
        attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
        y = MEANING[node.op_type](attributes, *(values[name] for name in node.input))
        values[node.output[0]], most = y, max(most, float(np.abs(y).max()))
    return values["y"], most


def range_problems(model, kind):
    image = np.random.default_rng(7).uniform(0, 1, [d.dim_value for d in model.graph.input[0].type.tensor_type.shape.dim])
    y, most = largest(model, image)
    shape = tuple(d.dim_value for d in model.graph.output[0].type.tensor_type.shape.dim)
    problems = [] if y.shape == shape else [f"{kind}: the output is {y.shape}, stated is {shape}"]
    if not most < 2048:  # a 32nd of the largest fp16, for images of other kinds
        problems.append(f"{kind}: a value reaches {most}")
    if not y.std() > 1e-3:
        problems.append(f"{kind}: the outputs are all alike, {y.std()}")
    return problems


def main():
    root = sys.argv[1]
    results = []
    with tempfile.TemporaryDirectory() as folder:
        done = script(root, folder, "mobilenet_v2", "resnet50", "squeezenet")
        counts = {} if done.returncode else {kind: trained(onnx.load(os.path.join(folder, kind + ".onnx"))) for kind in PUBLISHED}
        results.append(("numbers of weights as published", [] if counts == PUBLISHED else [done.stderr, str(counts)]))
        small, again = os.path.join(folder, "small"), os.path.join(folder, "again")
        words = ("--width", "0.125", "--size", "64", "--classes", "10")
        done = [script(root, place, *words) for place in (small, again)]
        names = sorted(os.listdir(small))
        results.append(("all five are written", [] if len(names) == 5 and not done[0].returncode else [done[0].stderr, str(names)]))
        same = [name for name in names if open(os.path.join(small, name), "rb").read() != open(os.path.join(again, name), "rb").read()]
        results.append(("the same seed gives the same bytes", same))
        for name in names:
            results.append((f"{name}: values inside fp16", range_problems(onnx.load(os.path.join(small, name)), name)))
        done = script(root, again, "squeezenet", "--external", "--symbolic", *words)
        model = onnx.load(os.path.join(again, "squeezenet.onnx"))
        named = model.graph.input[0].type.tensor_type.shape.dim[0].dim_param
        results.append(("weights outside, a batch with a name",
                        [] if named == "N" and os.path.getsize(os.path.join(again, "squeezenet.weights")) else [done.stderr]))
        for wrong in (("nothing",), ("--size", "33"), ("--width", "0"), ("--classes", "0")):
            done = script(root, again, *wrong)
            results.append((f"{' '.join(wrong)} is refused", [] if done.returncode == 2 and wrong[0] in done.stderr else [done.stderr]))
    return tap.report(results)


if __name__ == "__main__":
    sys.exit(main())
