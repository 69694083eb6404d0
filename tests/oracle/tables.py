# SPDX-License-Identifier: Apache-2.0
"""Activation tables of our own, made from the functions themselves in the published form (64 halfwords)."""
import numpy as np

INF = np.inf


def pack(low, high, below, above, knots, tails, exponent, code):
    words = np.zeros(64, np.uint16)
    values = np.array([low, high, below, above, *knots, *tails], np.float64).astype(np.float16)
    words[:41] = values.view(np.uint16)
    words[41], words[42] = exponent & 0xFFFF, code
    return words.astype("<u2").tobytes()


def sampled(function, first, exponent):
    return [function((first + i) * 2.0 ** -exponent) for i in range(33)]


def step_table(at_zero, negative, positive, below, above, low=-(2.0 ** -24), high=2.0 ** -24):
    return pack(low, high, below, above, [at_zero] * 33, [0, negative, 0, positive], 0x40, 1)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


TABLES = {
    "sigmoid": pack(-10, 8.3, 0, 1, sampled(sigmoid, -16, 1), [0.0002, 0.002, 0.0015, 0.987], 1, 0x01),
    "silu": pack(-10.25, INF, 0, INF, sampled(lambda x: x * sigmoid(x), -16, 1), [-0.001, -0.01, 1, -0.004], 1, 0x01),
    "selu": pack(-8, INF, -1.758, INF, sampled(lambda x: 1.758 * (np.exp(x) - 1), -32, 2), [0, -1.758, 1.05, 0], 2, 0x02),
    "tanh": pack(0, 4, 0, 1, sampled(np.tanh, 0, 3), [0, 0, 0, 1], 3, 0x60),
    "wide": pack(2, 2000, 0, 0.46, sampled(lambda x: 0.45 - 1 / (x + 2), 0, -1), [0, 0, 0.00001, 0.43], -1, 0x60),
    "exp2": pack(-25, 16, 0, INF, sampled(np.exp2, 0, 5), [0] * 4, 5, 0x0A),
    "log2": pack(0, INF, -INF, 0, sampled(np.log2, 32, 6), [0] * 4, 6, 0xC9),
    "recip": pack(0, INF, INF, 0, sampled(lambda x: 1 / x, 32, 6), [0] * 4, 6, 0x67),
    "sqrt": pack(0, INF, 0, INF, [0] * 8 + sampled(np.sqrt, 0, 4)[8:], [0] * 4, 4, 0xC5),
    "rsqrt": pack(0, INF, INF, 0, [0] * 8 + [1 / np.sqrt(i / 16) for i in range(8, 33)], [0] * 4, 4, 0xC6),
    "frac": pack(-INF, INF, 0, 0, [0] * 33, [0] * 4, 0, 0x63),
    "trunc": pack(-INF, INF, -INF, INF, [0] * 33, [0] * 4, 5, 0x64),
    "leaky": pack(-INF, INF, -INF, INF, [0] * 33, [0.01, 0, 1, 0], 0x40, 0x01),
    "clamp": pack(-1, 6, -1, 6, [0] * 33, [1, 0, 1, 0], 0x40, 0x01),
    "sign": pack(0, 1, 0, 1, [0] * 33, [0, 0, 0, 1], 0x40, 0x60),
    "is_zero": step_table(1, 0, 0, 0, 0),
    "not_zero": step_table(0, 1, 1, 1, 1),
    "negative": step_table(0, 1, 0, 1, 0),
}
