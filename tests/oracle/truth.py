# SPDX-License-Identifier: Apache-2.0
"""What public example programs compute, in numpy's words: a check of the oracle itself, by name of the program.

Programs are raw streams over rows of 1600 elements. `TRUTH` has (function of the inputs, relative, absolute tolerance); tolerances are those of
33-knot tables. Only results that are finite, and inputs that a half can invert, are compared.
"""
import numpy as np

ROW = 1600


def _softmax(x):
    powers = np.exp(x - x.max(1, keepdims=True))
    return powers / powers.sum(1, keepdims=True)


def _sigmoid(x):
    return 1 / (1 + np.exp(-x))


TRUTH = {
    "abs": (np.abs, 0, 0), "add": (np.add, 1e-3, 0), "sub": (np.subtract, 1e-3, 0), "mul": (np.multiply, 1e-3, 1e-6),
    "ave": (lambda a, b: (a + b) / 2, 1e-3, 1e-6), "max": (np.maximum, 0, 0), "min": (np.minimum, 0, 0), "div": (np.divide, 3e-3, 1e-6),
    "square": (np.square, 1e-3, 1e-6), "cube": (lambda x: x ** 3, 2e-3, 1e-6), "relu": (lambda x: np.maximum(x, 0), 0, 0),
    "relu6": (lambda x: np.clip(x, 0, 6), 0, 0), "hardtanh": (lambda x: np.clip(x, -1, 1), 0, 0), "sign": (np.sign, 0, 0), "ceil": (np.ceil, 0, 0),
    "exp": (np.exp, 5e-3, 1e-6), "exp2": (np.exp2, 2e-3, 1e-6), "log": (np.log, 1e-3, 1e-2), "log2": (np.log2, 1e-3, 1e-2),
    "log10": (np.log10, 1e-3, 1e-2), "sqrt": (np.sqrt, 2e-3, 1e-6), "tanh": (np.tanh, 0, 3e-3), "sigmoid": (_sigmoid, 0, 3e-3),
    "silu": (lambda x: x * _sigmoid(x), 2e-3, 1e-2), "atan": (np.arctan, 0, 5e-2), "softmax": (_softmax, 5e-3, 1e-5),
    "softmin": (lambda x: _softmax(-x), 5e-3, 1e-5), "norm": (lambda x: x / np.sqrt((x * x).sum(1, keepdims=True)), 3e-3, 1e-5),
}


def check(name, inputs, output):
    """Lines that say what is wrong with the oracle's own output; None when the program is not known by name."""
    if name not in TRUTH:
        return None
    function, relative, absolute = TRUTH[name]
    values = [np.frombuffer(data, "<f2")[:2560 * ROW].astype(np.float64).reshape(-1, ROW) for data in inputs]
    found = np.frombuffer(output, "<f2")[:2560 * ROW].astype(np.float64).reshape(-1, ROW)
    with np.errstate(all="ignore"):
        wanted = function(*values)
        compared = np.isfinite(wanted) & (np.abs(wanted) < 32000)
        if name in ("div", "log", "log2", "log10", "sqrt"):
            compared &= np.abs(values[-1]) > 1e-3
        worst = np.max(np.where(compared, np.abs(found - wanted) - relative * np.abs(wanted) - absolute, 0))
    return [] if worst <= 0 else ["the oracle is %g further from %s than its table explains" % (worst, name)]
