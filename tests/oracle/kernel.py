# SPDX-License-Identifier: Apache-2.0
"""Kernel data: which engine holds which output channel, and how its stream is laid out."""
import numpy as np

from . import table
from .arithmetic import F32, clean

GROUP_ALIGNMENT = 64
PALETTE_BYTES = 64


def planes(channels, lanes, engines):
    """(engine, first channel, lanes), in the order of each engine's stream.

    Every engine gets `lanes` channels a pass while they last; what is left is dealt out with half as many, and so on down to one.
    """
    result, at = [], 0
    while at < channels:
        while lanes > 1 and lanes * engines > channels - at:
            lanes //= 2
        for engine in range(engines):
            if at < channels:
                result.append((engine, at, lanes))
                at += lanes
    return result


def positions(height, width, sy, sx):
    """Kernel positions in the order of a stream: by stride phase, row by row inside a phase, over a kernel enlarged to whole strides."""
    rows, columns = -(-height // sy) * sy, -(-width // sx) * sx
    return [(y, x) for py in range(sy) for px in range(sx) for y in range(py, rows, sy) for x in range(px, columns, sx)]


class Cursor:
    """Reads one engine's chunk."""

    def __init__(self, data, start):
        self.data, self.start, self.at = data, start, start

    def bytes(self, count):
        piece = bytes(self.data[self.at:self.at + count])
        assert len(piece) == count, "a kernel stream ends after its buffer"
        self.at += count
        return piece

    def halves(self, count):
        return clean(np.frombuffer(self.bytes(2 * count), "<f2").astype(F32))

    def align(self):
        self.at += -(self.at - self.start) % GROUP_ALIGNMENT


class Kernel:
    """`weights` [groups, outputs, inputs of one output, rows, columns], `bias` [groups, outputs] or None, `table` or None.

    With Ox outputs a step the stored window is Ox - 1 columns wider and has a lane for each of them; the weights here are those of one output.
    """

    def __init__(self, task, memory):
        self.task = task
        self.table = self.bias = self.weights = None
        self.unicast = task.UnicastEn
        cursors = {}
        for engine in range(16):
            enabled, base, _ = task.coefficient(engine)
            if enabled:
                cursors[engine] = Cursor(memory, base)
        if task.NonlinearMode == 2:
            for cursor in cursors.values():
                self.table = table.Table(cursor.bytes(table.BYTES))
        if task.OpMode == 0 and task.KernelMode == 0:
            self._read(cursors)

    def _read(self, cursors):
        task = self.task
        inputs = task.UnicastCin if self.unicast else task.Cin
        shape = (task.NumGroups, task.Cout, inputs, task.Kh, task.Kw)
        self.weights = np.zeros(shape, F32)
        if task.BiasMode:
            self.bias = np.zeros(shape[:2], F32)
        if task.PalettizedEn:
            self._read_palettes(cursors)
        layout = planes(task.Cout, 1 << task.OCGSize, 1 << task.ActiveNE)
        for group in range(task.NumGroups):
            for engine, first, lanes in layout:
                self._read_plane(cursors[engine], group, first, lanes)
            # A group's planes follow each other; 768 channels in three planes of 0x820 bytes are published as chunks of 0x1880.
            if not self.unicast:
                for cursor in cursors.values():
                    cursor.align()

    def _read_palettes(self, cursors):
        """Only one sample is public: a 1-bit palette on a sparse stream, all indices 0 and not to be seen in the bytes."""
        assert self.task.PalettizedBits == 1 and self.task.SparseFmt, "palette form without a public sample"
        for cursor in cursors.values():
            self.palette = clean(np.frombuffer(cursor.bytes(PALETTE_BYTES), "<f2").astype(F32))

    def _read_plane(self, cursor, group, first, lanes):
        task, outputs = self.task, self.task.Ox
        columns = task.Kw + outputs - 1
        order = positions(task.Kh, columns, task.Sy, task.Sx)
        if self.bias is not None:
            self.bias[group, first:first + lanes] = cursor.halves(lanes * outputs)[::outputs]
        inputs = self.weights.shape[2]
        if task.SparseFmt:
            slots = self._sparse(cursor, inputs * len(order), lanes * outputs)
        elif task.KernelFmt == 1:
            slots = np.frombuffer(cursor.bytes(inputs * len(order) * lanes), np.int8).astype(F32)
        else:
            slots = cursor.halves(inputs * len(order) * lanes * outputs)
        slots = slots.reshape(inputs, len(order), -1)
        for index, (y, x) in enumerate(order):
            if y < task.Kh and x < task.Kw:
                for lane in range(lanes):
                    self.weights[group, first + lane, :, y, x] = slots[:, index, lane * outputs]

    def _sparse(self, cursor, steps, lanes):
        """A mask byte for eight slots, then what is not zero. There are more slots than lanes where lanes are few."""
        wide = max(lanes, 4 if self.task.SmallSourceMode else 2)
        count = int.from_bytes(cursor.bytes(2), "little")
        assert cursor.bytes(1) == b"\0"
        body = Cursor(cursor.bytes(count), 0)
        slots = np.zeros(-(-steps * wide // 8) * 8, F32)
        for at in range(0, len(slots), 8):
            mask = body.bytes(1)[0]
            for bit in range(8):
                if mask >> bit & 1:
                    slots[at + bit] = self.palette[0] if self.task.PalettizedEn else body.halves(1)[0]
        assert body.at == count, "a sparse record's count does not fit its masks"
        return slots[:steps * wide].reshape(steps, wide)[:, :lanes].reshape(-1)
