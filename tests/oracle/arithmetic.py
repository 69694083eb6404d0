# SPDX-License-Identifier: Apache-2.0
"""The number rules of policy m1: what is read, how a chain is summed, what is stored.

Halves are numpy float16, everything between load and store is float32.
"""
import numpy as np

F32 = np.float32
CEILING = F32(32768)
SMALLEST_NORMAL_HALF = F32(2.0 ** -14)
PLANAR_INFINITY = F32(65536)


def half(bits):
    """A scalar of a register as float32."""
    return clean(np.array(bits, np.uint16).view(np.float16).astype(F32))


def single(bits):
    return np.array(bits, np.uint32).view(F32)


def clean(values):
    """No NaN enters the engine: it is +inf there."""
    return np.where(np.isnan(values), F32(np.inf), values).astype(F32)


def planar_load(values):
    """The planar engine computes with +-65536 where it reads an infinity."""
    values = clean(values)
    return np.where(np.isinf(values), np.copysign(PLANAR_INFINITY, values), values).astype(F32)


def flush(values):
    """Operands of a multiply-accumulate: denormal halves are 0."""
    return np.where(np.abs(values) < SMALLEST_NORMAL_HALF, F32(0), values).astype(F32)


def fma(a, b, c):
    """float32(a * b + c) rounded once, for a and b that are halves or smaller integers.

    a * b has at most 22 significant bits and is exact in float64. The sum with c may not be: two-sum tells what was lost, and the float64 sum is
    then made odd in its last bit (round to odd), which keeps the second rounding, to float32, from seeing a false tie.
    """
    product = a.astype(np.float64) * b.astype(np.float64)
    addend = c.astype(np.float64)
    product, addend = np.broadcast_arrays(product, addend)
    total = product + addend
    part = total - product
    lost = (product - (total - part)) + (addend - part)
    finite = np.isfinite(total)
    even = (total.view(np.int64) & 1) == 0
    moved = np.nextafter(total, np.copysign(np.inf, lost))
    return np.where(finite & (lost != 0) & even, moved, total).astype(F32)


def ceil_partial(values):
    """A partial sum of 2^15 or more is infinite."""
    return np.where(np.abs(values) >= CEILING, np.copysign(F32(np.inf), values), values).astype(F32)


def ceil_result(values):
    """A finished sum that would be stored as 2^15 or more is infinite, also when it goes to a table instead."""
    return np.where(np.abs(values.astype(np.float16)) >= CEILING, np.copysign(F32(np.inf), values), values).astype(F32)


def store(values):
    """One rounding to half, to nearest even. What is indeterminate is +0, and so is -0."""
    halves = values.astype(np.float16)
    halves[np.isnan(halves) | (halves == 0)] = 0
    return halves


def store_mac(values, ceiling):
    """The same for the result of a multiply-accumulate: no denormals, and nothing finite from 2^15 on where there is a ceiling."""
    halves = store(ceil_result(values) if ceiling else values)
    halves[np.abs(halves) < np.float16(2.0 ** -14)] = 0
    return halves


def store_bytes(values, signed):
    """8-bit results: nearest even, saturated. Chosen; no public sample separates it."""
    low, high = (-128, 127) if signed else (0, 255)
    rounded = np.clip(np.rint(np.where(np.isnan(values), 0, values)), low, high)
    return rounded.astype(np.int8).view(np.uint8) if signed else rounded.astype(np.uint8)


LANES = 16


def reduce_lanes(values, maximum):
    """Over the last three axes (D, H, W): lane w mod 16 takes its elements in order, then lanes are joined 8, 4, 2, 1 apart.

    The order is chosen (docs/provenance.md); any fixed one would do.
    """
    *outer, depth, height, width = values.shape
    lanes = np.full(outer + [LANES], -np.inf if maximum else 0, F32)
    join = np.fmax if maximum else np.add
    for d in range(depth):
        for h in range(height):
            for w in range(0, width, LANES):
                piece = values[..., d, h, w:w + LANES]
                lanes[..., :piece.shape[-1]] = join(lanes[..., :piece.shape[-1]], piece)
    apart = LANES // 2
    while apart:
        lanes = join(lanes[..., :apart], lanes[..., apart:2 * apart])
        apart //= 2
    return lanes[..., 0]
