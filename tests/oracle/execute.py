# SPDX-License-Identifier: Apache-2.0
"""Runs a chain of tasks over buffers and L2. Tensors are [group, channel, depth, row, column]; whole tensors, never tiles."""
import numpy as np

from . import arithmetic as ar
from .arithmetic import F32
from .kernel import Kernel

L2_BYTES = 0x200000
U8, I8, F16 = 0, 1, 2
TYPE_RESIDENT, TYPE_KEPT, TYPE_DMA, TYPE_HANDED = 0, 1, 2, 3
ONE_SOURCE, TWO_SOURCES, TWO_ROWS, REDUCE, REDUCE_TWO = 2, 3, 4, 5, 6
ADD, MUL, MAX, MIN, SQUARE = 0, 1, 2, 3, 4
OP_MAC, OP_PRODUCT, OP_MAX, OP_BYPASS = 0, 2, 3, 4


def element_bytes(fmt):
    return 2 if fmt == F16 else 1


class Layout:
    """Where the elements of a tensor lie: base and the strides of group, channel, depth, row; columns are contiguous.

    Transposed: channels are contiguous and columns use the channel stride. Interleave k: k channels stand together, or k columns when
    transposed.
    """

    def __init__(self, base, group, channel, depth, row, fmt, transposed=False, interleave=1):
        self.base, self.strides, self.fmt = base, (group, channel, depth, row), fmt
        self.transposed, self.interleave = transposed, max(1, interleave)

    def addresses(self, dims, broadcast=0):
        """Byte addresses of every element; `broadcast` has bits W, H, D, C."""
        size = element_bytes(self.fmt)
        bits = (0, broadcast >> 3 & 1, broadcast >> 2 & 1, broadcast >> 1 & 1, broadcast & 1)
        g, c, d, h, w = (np.zeros(n, np.int64) if bit else np.arange(n) for n, bit in zip(dims, bits))
        group, channel, depth, row = self.strides
        k = self.interleave
        if self.transposed:
            across, along = c * (k * size), w // k * channel + w % k * size
        else:
            across, along = c // k * channel + c % k * size, w * (k * size)
        total = self.base + (g * group)[:, None, None, None, None] + across[:, None, None, None]
        return total + (d * depth)[:, None, None] + (h * row)[:, None] + along

    def row_bytes(self, dims):
        """Of a row that is not transposed."""
        return element_bytes(self.fmt) * self.interleave * dims[4]


def gather(memory, addresses, fmt):
    """Elements as the memory has them: halves, or bytes."""
    view = np.frombuffer(memory, np.uint8)
    assert addresses.min() >= 0 and addresses.max() + element_bytes(fmt) <= len(view), "a source ends after its buffer"
    if fmt == F16:
        bits = view[addresses].astype(np.uint16) | view[addresses + 1].astype(np.uint16) << 8
        return bits.view(np.float16)
    return view[addresses].view(np.int8) if fmt == I8 else view[addresses]


def scatter(memory, addresses, elements):
    view = np.frombuffer(memory, np.uint8)
    size = elements.dtype.itemsize
    assert addresses.min() >= 0 and addresses.max() + size <= len(view), "a result ends after its buffer"
    if size == 2:
        bits = elements.view(np.uint16)
        view[addresses] = (bits & 0xFF).astype(np.uint8)
        view[addresses + 1] = (bits >> 8).astype(np.uint8)
    else:
        view[addresses] = elements.view(np.uint8)


class Machine:
    def __init__(self, buffers):
        self.buffers, self.l2, self.handed = buffers, bytearray(L2_BYTES), None

    def run(self, tasks):
        with np.errstate(all="ignore"):
            for task in tasks:
                if task.planar:
                    Planar(self, task).run()
                else:
                    Neural(self, task).run()


class Unit:
    """What both engines share: sources, results, the tensor's size."""

    def __init__(self, machine, task):
        self.machine, self.task, self.kept = machine, task, None
        self.in_dims = (task.NumGroups, task.Cin, task.Din, task.Hin, task.Win)

    def source(self, dims, broadcast=0, transposed=False):
        task, machine = self.task, self.machine
        inside = Layout(task.L2Base * 16, task.L2Group * 16, task.L2Channel * 16, task.L2Depth * 16, task.L2Row * 16, task.InFmt, transposed)
        if task.SourceType == TYPE_HANDED:
            assert machine.handed is not None, "nothing was handed on"
            everything = np.broadcast_to(machine.handed, [max(a, b) for a, b in zip(machine.handed.shape, dims)])
            return everything.reshape(dims)
        if task.SourceType == TYPE_RESIDENT:
            return gather(machine.l2, inside.addresses(dims, broadcast), task.InFmt)
        outside = Layout(task.SrcBase, task.SrcGroup, task.SrcPlane, task.SrcDepth, task.SrcRow, task.InFmt, transposed, task.SrcInterleave)
        values = gather(machine.buffers[task.RBase0], outside.addresses(dims, broadcast), task.InFmt)
        if task.SourceType == TYPE_KEPT:
            inside.transposed = False
            self.kept = inside.addresses(dims, broadcast), values
        return values

    def source2(self, dims, broadcast, transposed):
        task, machine = self.task, self.machine
        if task.Source2DMA:
            layout = Layout(task.Src2Base, task.Src2Group, task.Src2Plane, task.Src2Depth, task.Src2Row, task.Src2InFmt, transposed,
                            task.SrcInterleave)  # there is one for both sources
            return gather(machine.buffers[task.RBase1], layout.addresses(dims, broadcast), task.Src2InFmt)
        layout = Layout(task.L22Base * 16, task.L22Group * 16, task.L22Channel * 16, task.L22Depth * 16, task.L22Row * 16, task.Src2InFmt,
                        transposed)
        return gather(machine.l2, layout.addresses(dims, broadcast), task.Src2InFmt)

    def result(self, elements, transposed):
        """`elements` are halves or bytes, in the tensor's true size."""
        task, machine, dims = self.task, self.machine, elements.shape
        if self.kept:
            scatter(machine.l2, *self.kept)
        if task.ResultType == TYPE_HANDED:
            machine.handed = elements
        if task.ResultType in (TYPE_RESIDENT, TYPE_KEPT):
            inside = Layout(task.L2RBase * 16, task.L2RGroup * 16, task.L2RChannel * 16, task.L2RDepth * 16, task.L2RRow * 16, task.OutFmt,
                            transposed)
            scatter(machine.l2, inside.addresses(dims), elements)
        if task.ResultType in (TYPE_KEPT, TYPE_DMA):
            outside = Layout(task.DstBase, task.DstGroup, task.DstPlane, task.DstDepth, task.DstRow, task.OutFmt, transposed, task.DstInterleave)
            memory = machine.buffers[task.WBase]
            if task.ZeroPad:
                self._zero_tails(memory, outside, dims)
            scatter(memory, outside.addresses(dims), elements)

    def _zero_tails(self, memory, layout, dims):
        """From the end of each row to the next 64 bytes; a transposed result has none, which is chosen."""
        if layout.transposed:
            return
        size = layout.row_bytes(dims)
        tail = np.arange(size, -(-size // 64) * 64)
        starts = layout.addresses((dims[0], dims[1], dims[2], dims[3], 1))[:, ::layout.interleave]
        if len(tail):
            scatter(memory, starts.reshape(-1, 1) + tail, np.zeros((starts.size, len(tail)), np.uint8))

    def finished(self, values, halves):
        """Result elements: `halves` is the store rule of fp16 results."""
        if self.task.OutFmt == F16:
            return halves(values)
        return ar.store_bytes(values, self.task.OutFmt == I8)


class Planar(Unit):
    def run(self):
        task = self.task
        reducing = task.TaskType in (REDUCE, REDUCE_TWO)
        dims = self.in_dims if reducing else (task.NumGroups, task.Cout, task.Dout, task.Hout, task.Wout)
        values = self.elementwise(dims)
        if reducing:
            values = self.reduced(values)
        self.result(self.finished(values, ar.store), task.TransposeOut)

    def elementwise(self, dims):
        task = self.task
        a = self.loaded(self.source(dims, task.Broadcast1, task.Transpose1), task.InputReLU1)
        a = (ar.half(task.PreScale) * a).astype(F32)
        if task.Negate1:
            a = -a
        if task.TaskType in (ONE_SOURCE, REDUCE):
            v = (a * a).astype(F32) if task.Operation == SQUARE else a
        elif task.TaskType == TWO_ROWS:
            row0, row1 = self.two_rows(dims)
            v = ((a - row0 if task.Second == 3 else a + row0).astype(F32) * row1).astype(F32)
        else:
            b = self.loaded(self.source2(dims, task.Broadcast2, task.Transpose2), task.InputReLU2)
            v = self.combined(a, -b if task.Second == 3 else b)
        if task.Abs:
            v = np.abs(v)
        if task.TaskType in (REDUCE, REDUCE_TWO):
            return v
        v = (ar.half(task.Scale) * v).astype(F32)
        v = (v + ar.half(task.Bias)).astype(F32)
        if task.PEReLU:
            v = np.fmax(v, F32(0))
        return (ar.single(task.FinalScale) * v).astype(F32)

    def loaded(self, elements, relu):
        values = ar.planar_load(elements.astype(F32))
        return np.fmax(values, F32(0)) if relu else values

    def two_rows(self, dims):
        """Addends and factors of channels: rows 0 and 1 of source 2, the same for every row and column of source 1."""
        task = self.task
        rows = self.source2((dims[0], dims[1], 1, 2, 1), task.Broadcast2 & 8, task.Transpose2)
        rows = self.loaded(rows, task.InputReLU2)
        return rows[:, :, :, 0:1], rows[:, :, :, 1:2]

    def combined(self, a, b):
        operation = self.task.Operation
        if operation == MUL:
            return (a * b).astype(F32)
        if operation == MAX:
            return np.fmax(a, b)
        if operation == MIN:
            return np.fmin(a, b)
        total = (a + b).astype(F32)
        return (total * total).astype(F32) if operation == SQUARE else total

    def reduced(self, values):
        task = self.task
        v = ar.reduce_lanes(values, task.Reduce == 2)
        v = (ar.single(task.FinalScale) * v).astype(F32)
        v = (v + ar.half(task.Epsilon)).astype(F32)
        if task.Function == 1:
            v = (F32(1) / v).astype(F32)
        elif task.Function == 2:
            v = (F32(1) / np.sqrt(v).astype(F32)).astype(F32)
        return v[:, :, None, None, None]


class Neural(Unit):
    def run(self):
        task = self.task
        kernel = Kernel(task, self.machine.buffers.get(task.KBase0, b"") if task.KBE0 else b"")
        x = ar.clean(self.source(self.in_dims).astype(F32))
        if task.InputReLU1:
            x = np.fmax(x, F32(0))
        ceiling = task.OpMode == OP_MAC and self.inputs() * task.Kh * task.Kw > 1
        if task.OpMode == OP_BYPASS:
            v = x
        elif task.OpMode == OP_MAC:
            v = self.accumulated(ar.flush(x), kernel, ceiling)
        else:
            v = self.joined(x)
        v = self.scaled(v)
        if task.NonlinearMode == 2:
            # What is in the table's way is the accumulator's range, not its smallest values: an epsilon of 1e-6 is a denormal half.
            v, store = kernel.table(ar.ceil_result(v) if ceiling else v), ar.store
        elif task.OpMode == OP_MAC:
            store = lambda values: ar.store_mac(values, ceiling)
        else:
            store = ar.store
        self.result(self.finished(v, store), task.NETranspose)

    def inputs(self):
        return self.task.UnicastCin if self.task.UnicastEn else self.task.Cin

    def taps(self, x):
        """(input number, kernel row, kernel column, values [G, C or 1, D, H, W], inside [H, W]) in the chain's order."""
        task = self.task
        y = np.arange(task.Hout) * task.Sy - task.Py
        step = np.arange(task.Wout * task.Ox)
        column = step // task.Ox * task.Sx + step % task.Ox - task.Px
        for i in range(self.inputs()):
            channels = x[:, i::self.inputs()][:, :task.Cout] if task.UnicastEn else x[:, i:i + 1]
            for ky in range(task.Kh):
                for kx in range(task.Kw):
                    rows, columns = y + ky, column + kx
                    inside = ((rows >= 0) & (rows < task.Hin))[:, None] & ((columns >= 0) & (columns < task.Win))
                    rows, columns = np.clip(rows, 0, task.Hin - 1), np.clip(columns, 0, task.Win - 1)
                    yield i, ky, kx, channels[..., rows[:, None], columns], inside

    def out_dims(self):
        task = self.task
        return (task.NumGroups, task.Cout, task.Dout, task.Hout, task.Wout * task.Ox)

    def accumulated(self, x, kernel, ceiling):
        total = np.zeros(self.out_dims(), F32)
        for i, ky, kx, values, inside in self.taps(x):
            if kernel.weights is None:
                weight = np.ones((1, 1, 1, 1, 1), F32)
            else:
                weight = ar.flush(kernel.weights[:, :, i, ky, kx])[:, :, None, None, None]
            total = np.where(inside, ar.fma(values, weight, total), total)
            if ceiling:
                total = ar.ceil_partial(total)
        if kernel.bias is not None:
            total = (total + ar.flush(kernel.bias)[:, :, None, None, None]).astype(F32)
        return total

    def joined(self, x):
        """The product, or the largest, of the inputs and taps of each output."""
        task = self.task
        largest = task.OpMode == OP_MAX
        assert largest or task.OpMode == OP_PRODUCT, "OpMode %d is not decoded" % task.OpMode
        total = np.full(self.out_dims(), -np.inf if largest else 1, F32)
        for _, _, _, values, inside in self.taps(x):
            if largest:
                outside = F32(-np.inf) if task.PaddingMode == 1 else F32(0)
                total = np.fmax(total, np.where(inside, values, outside))
            else:
                total = np.where(inside, (total * values).astype(F32), total)
        return total

    def scaled(self, v):
        task = self.task
        if task.OpMode != OP_BYPASS:
            v = (v + ar.half(task.AccBias)).astype(F32)
        v = (v * ar.half(task.PostScale)).astype(F32)
        return np.fmax(v, F32(0)) if task.NonlinearMode == 1 else v
