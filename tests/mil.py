# SPDX-License-Identifier: Apache-2.0
"""MIL text and .npy files for the tests of the command in Python."""
import ast
import math
import struct

CODES = {"<f2": "e", "<f4": "f", "|u1": "B", "|i1": "b"}


def shape_text(shape):
    return "[" + ", ".join(str(length) for length in shape) + "]"


def tensor(kind, shape, values):
    """A constant; `values` in C order."""
    return f"tensor<{kind}, {shape_text(shape)}>([{', '.join(repr(value) for value in values)}])"


def integers(*values):
    return tensor("int32", [len(values)], values)


def program(inputs, lines, outputs, kind="fp16"):
    """`inputs` are (name, shape) pairs, `lines` the operations, `outputs` names."""
    ports = ", ".join(f"tensor<{kind}, {shape_text(shape)}> {name}" for name, shape in inputs)
    return f"program(1.3)\n{{\n    func main<ios18>({ports}) {{\n" + "".join(f"        {line}\n" for line in lines) + \
        f"    }} -> ({', '.join(outputs)});\n}}\n"


def write_npy(path, descr, shape, values):
    text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': ({''.join(f'{d}, ' for d in shape)}), }}\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode())
        file.write(struct.pack(f"<{len(values)}{CODES[descr]}", *values))


def read_npy(path):
    """Type, shape and values."""
    with open(path, "rb") as file:
        data = file.read()
    size = struct.unpack("<H", data[8:10])[0]
    head = ast.literal_eval(data[10:10 + size].decode())
    return head["descr"], head["shape"], struct.unpack(f"<{math.prod(head['shape'])}{CODES[head['descr']]}", data[10 + size:])
