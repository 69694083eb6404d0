# SPDX-License-Identifier: Apache-2.0
"""Activation tables: 64 halfwords, 33 knots between two clamps and two straight tails."""
import numpy as np

from .arithmetic import F32, clean

BYTES = 128
KNOTS = 33
PLAIN, PLAIN_BELOW, FRACTION, TRUNCATE, SQRT, RSQRT, RECIPROCAL, LOG2, EXP2 = 1, 2, 3, 4, 5, 6, 7, 9, 10
ODD, POSITIVE = 0x60, 0xC0


class Table:
    def __init__(self, data):
        words = np.frombuffer(bytes(data[:BYTES]), "<u2")
        values = clean(words.view(np.float16).astype(F32))
        self.low, self.high, self.below, self.above = values[:4]
        self.knots = values[4:4 + KNOTS]
        self.low_slope, self.low_intercept, self.high_slope, self.high_intercept = values[37:41]
        self.exponent = int(words[41:42].view(np.int16)[0])
        self.function, self.symmetry = int(words[42]) & 15, int(words[42]) & 0xF0

    def __call__(self, x):
        """Values of float32 `x`; a NaN stays one, for the store."""
        if self.symmetry == POSITIVE:
            return np.where(x < 0, F32(0), self._clamped(x)).astype(F32)
        if self.symmetry == ODD:
            y = self._clamped(np.abs(x))
            return np.where(x < 0, -y, y).astype(F32)
        return self._clamped(x)

    def _clamped(self, x):
        inside = np.clip(x, np.nextafter(self.low, F32(np.inf)), np.nextafter(self.high, F32(-np.inf)))
        y = self._inner(np.where(np.isfinite(inside), inside, F32(0)).astype(F32))
        y = np.where(x >= self.high, self.above, y)
        y = np.where(x <= self.low, self.below, y)
        return np.where(np.isnan(x), F32(np.nan), y).astype(F32)

    def _inner(self, x):
        function = self.function
        if function in (0, PLAIN, PLAIN_BELOW):
            return self._piecewise(x, {0: 0, PLAIN: -16, PLAIN_BELOW: -32}[function])
        if function == TRUNCATE:
            return np.trunc(x).astype(F32)
        if function == FRACTION:
            return (x - np.trunc(x)).astype(F32)
        if function == EXP2:
            whole = np.floor(x)
            return np.ldexp(self._piecewise((x - whole).astype(F32), 0), whole.astype(np.int32)).astype(F32)
        mantissa, exponent = np.frexp(x)
        mantissa = mantissa.astype(F32)
        if function == RECIPROCAL:
            return np.ldexp(self._piecewise(mantissa, 32), -exponent).astype(F32)
        if function == LOG2:
            return (self._piecewise(mantissa, 32) + exponent.astype(F32)).astype(F32)
        if function in (SQRT, RSQRT):
            odd = exponent & 1
            root = self._piecewise(np.ldexp(mantissa, odd).astype(F32), 0)
            power = (exponent - odd) // 2
            return np.ldexp(root, power if function == SQRT else -power).astype(F32)
        raise NotImplementedError("table code %#x" % (self.symmetry | function))

    def _piecewise(self, x, first):
        """Knot i stands at (first + i) * 2^-exponent. float32 throughout, each operation rounded: the precision inside is chosen."""
        steps = np.ldexp(x, self.exponent).astype(F32)
        index = np.clip(np.floor(steps) - first, 0, KNOTS - 2).astype(int)
        fraction = (steps - (index + first).astype(F32)).astype(F32)
        left, right = self.knots[index], self.knots[index + 1]
        y = (left + fraction * (right - left)).astype(F32)
        y = np.where(steps < first, self.low_slope * x + self.low_intercept, y)
        return np.where(steps > first + KNOTS - 1, self.high_slope * x + self.high_intercept, y).astype(F32)
