# SPDX-License-Identifier: Apache-2.0
"""Makes programs for the oracle's test: tensors placed at random, descriptors written around them, kernels packed into streams."""
import numpy as np

from . import program
from .descriptor import Writer

OUTPUT, FIRST_INPUT = 4, 5
HALF_ONE = 0x3C00
SINGLE_ONE = 0x3F800000


def half_bits(value):
    return int(np.array(value, np.float16).view(np.uint16))


def single_bits(value):
    return int(np.array(value, np.float32).view(np.uint32))


class Place:
    """A tensor somewhere: `where` is a buffer number, "l2" or "handed"."""

    def __init__(self, where, dims, base=0, strides=(0, 0, 0, 0), transposed=False, interleave=1, element=2):
        self.where, self.dims, self.base, self.strides = where, dims, base, strides
        self.transposed, self.interleave, self.element = transposed, interleave, element

    @property
    def dma(self):
        return isinstance(self.where, int)


class Bench:
    """One program in the making."""

    def __init__(self, rng):
        self.rng, self.writer, self.constants = rng, Writer(), bytearray()
        self.ends, self.inputs, self.next_input, self.l2_end = {}, {}, FIRST_INPUT, 0

    # Tensors

    def _strides(self, dims, unit, transposed, interleave, element):
        """Random nesting of the dimensions with random gaps; returns strides (group, channel, depth, row) and the bytes taken."""
        g, c, d, h, w = dims
        outer = {"channel": -(-(w if transposed else c) // interleave), "row": h, "depth": d, "group": g}
        size = program.round_up(element * interleave * (c if transposed else w), unit)
        strides = {}
        order = ["row", "channel", "depth", "group"]
        if self.rng.random() < 0.4:
            self.rng.shuffle(order)
        for name in order:
            size += unit * int(self.rng.integers(0, 3)) if self.rng.random() < 0.3 else 0
            strides[name] = size
            size *= outer[name]
        return (strides["group"], strides["channel"], strides["depth"], strides["row"]), size

    def dram(self, bar, dims, transposed=False, interleave=1, element=2):
        strides, size = self._strides(dims, 64, transposed, interleave, element)
        base = self.ends.get(bar, 0) + 64 * int(self.rng.integers(0, 3))
        self.ends[bar] = base + size
        return Place(bar, dims, base, strides, transposed, interleave, element)

    def l2(self, dims, transposed=False, element=2):
        strides, size = self._strides(dims, 16, transposed, 1, element)
        base = self.l2_end + 16 * int(self.rng.integers(0, 3))
        self.l2_end = base + size
        assert self.l2_end <= 0x200000
        return Place("l2", dims, base, strides, transposed, 1, element)

    def input(self, dims, **how):
        place = self.dram(self.next_input, dims, **how)
        self.inputs[self.next_input] = None
        self.next_input += 1
        return place

    def output(self, dims, **how):
        return self.dram(OUTPUT, dims, **how)

    def scratch(self, dims, **how):
        return self.dram(program.INTERMEDIATE, dims, **how)

    def constant(self, data):
        """Its offset among the constants."""
        at = program.round_up(len(self.constants), 64)
        self.constants += b"\0" * (at - len(self.constants)) + bytes(data)
        self.constants += b"\0" * (-len(self.constants) % 64)
        return at

    # Descriptors

    def _source(self, fields, place, second, kept=None):
        g, c, d, r = place.strides
        prefix, l2 = ("Src2", "L22") if second else ("Src", "L2")
        config, fmt = prefix + "DMAConfig", prefix + "Fmt"
        fields.update({config: 0x8880, fmt: 0 if second else 0x01000000})
        if not second:
            fields["SourceCfg"] = {"l2": 0x120, "handed": 0x103}.get(place.where, 0x500172)
        if place.dma:
            fields.update({"RBase1" if second else "RBase0": place.where, "RBE1" if second else "RBE0": 1})
            fields.update({prefix + "Base": place.base, prefix + "Row": r, prefix + "Plane": c, prefix + "Depth": d, prefix + "Group": g})
            fields.update({config: 0x33880 if second else 0x33881, fmt: 0x2030 if second else 0x01002031})
            fields["SrcLoc"] = 1
            if second:
                fields["SourceCfg"] |= 1 << 24
            elif place.element == 1:
                fields[fmt] = 0x01000000
                fields["SourceCfg"] = 0x500132
            if place.interleave != 1:
                fields["SrcFmt"] = fields["SrcFmt"] & 0xFFFFFF | place.interleave << 24
                fields["SourceCfg"] = fields["SourceCfg"] & ~0xF00 | place.interleave << 8
            if kept is not None:
                fields["SourceCfg"] = fields["SourceCfg"] & ~3 | 1
                place = kept
                g, c, d, r = place.strides
        if place.where == "l2":
            fields.update({l2 + "Base": place.base // 16, l2 + "Channel": c // 16, l2 + "Row": r // 16, l2 + "Depth": d // 16, l2 + "Group": g // 16})
        elif place.where == "handed":
            fields.update({l2 + "Channel": 2, l2 + "Row": 2, l2 + "Depth": 2, l2 + "Group": 2})

    def _result(self, fields, place, kept=None):
        g, c, d, r = place.strides
        fields.update(DstDMAConfig=0xC0, DstFmt=0x01000000, ResultCfg={"l2": 0x170, "handed": 0x173}.get(place.where, 0x50017A))
        if place.dma:
            pad = 0x300000 if self.rng.random() < 0.7 else 0
            fields.update(WBase=place.where, WBE=1, DstLoc=1, DstDMAConfig=0x040000C1, DstBase=place.base, DstRow=r, DstPlane=c, DstDepth=d,
                          DstGroup=g, DstFmt=0x2031 | pad | place.interleave << 24)
            if place.interleave != 1:
                fields["ResultCfg"] = 0x50007A | place.interleave << 8
            if kept is not None:
                fields["ResultCfg"] = 0x41 | place.interleave << 8
                place = kept
                g, c, d, r = place.strides
        if place.where == "l2":
            fields.update(L2RBase=place.base // 16, L2RChannel=c // 16, L2RRow=r // 16, L2RDepth=d // 16, L2RGroup=g // 16)
        elif place.where == "handed":
            fields.update(L2RChannel=2, L2RRow=2, L2RDepth=2, L2RGroup=2)

    def _task(self, in_dims, out_dims):
        g, c, d, h, w = in_dims
        _, co, do, ho, wo = out_dims
        fields = {"Win": w, "Hin": h, "Din": d, "InFmt": 2, "OutFmt": 2, "Cin": c, "Cout": co, "Wout": wo, "Hout": ho, "Dout": do, "Kw": 1, "Kh": 1,
                  "Sx": 1, "Sy": 1, "Ox": 1, "Oy": 1, "Kd": 1, "Sz": 1, "Oz": 1, "NumGroups": g, "UnicastCin": 1, "TileHeight": max(h, 1),
                  "LogEvents": 0x422, "DebugLogEvents": 0xFFF86A}
        for i in range(16):
            fields[0x1F808 + 4 * i] = 0x80
            fields[0x1F888 + 4 * i] = 0x40
        for i in range(4):
            fields[0x1F8C8 + 4 * i] = 0x80
        return fields

    def planar(self, task_type, a, out, b=None, dims=None, kept=None, kept_result=None, blocks=None, **fields):
        """A task of the planar engine. `dims` is the size it loops over when it is not the result's."""
        dims = dims or out.dims
        all_fields = self._task(dims, dims)
        all_fields.update(TaskType=task_type, SourceBits=1, Scale=HALF_ONE, PreScale=HALF_ONE, FinalScale=SINGLE_ONE, PatchWidth=4, PatchHeight=4)
        self._source(all_fields, a, False, kept)
        if a.element == 1:
            all_fields["InFmt"] = 0
        if b is not None:
            self._source(all_fields, b, True)
            all_fields.update(Src2InFmt=2, Second=2, SourceBits=3 if a.dma and b.dma else 2 if b.dma else 1)
        self._result(all_fields, out, kept_result)
        all_fields.update(Transpose1=int(a.transposed), Transpose2=int(b is not None and b.transposed), TransposeOut=int(out.transposed))
        all_fields.update(fields)
        self.writer.add(all_fields, blocks)

    def neural(self, a, out, out_dims=None, kernel=None, kept=None, kept_result=None, blocks=None, active=0, **fields):
        """A task of the neural engine: a bypass unless told. `kernel` is {engine: (offset, bytes)} among the constants, or in `KBase0`."""
        all_fields = self._task(a.dims, out_dims or out.dims)
        all_fields.update(ENE=active + 1, ActiveNE=active, ShPref=1, ShMin=1, ShMax=1, AccDoubleBufEn=1, SourceBits=1, TaskNID=1, KernelCfg=0x80,
                          KernelFmt=2, MACCfg=0x101C00, OpMode=4, KernelMode=1, UnicastEn=1, PostScale=HALF_ONE, Src40=0x100)
        self._source(all_fields, a, False, kept)
        if a.dma and kept is None:
            all_fields["L2Channel"] = min(program.round_up(2 * a.dims[4], 16), 0x100) // 16
        if a.element == 1:
            all_fields["InFmt"] = 0
        self._result(all_fields, out, kept_result)
        all_fields["NETranspose"] = int(out.transposed)
        all_fields.update(fields)
        if kernel:
            all_fields[0x1F800] = 0x60 if all_fields.get("SparseFmt") else 0x40
            all_fields.setdefault("KBase0", 1)
            all_fields["KBE0"] = 1
            for engine, (offset, size) in kernel.items():
                all_fields[0x1F808 + 4 * engine] = 0x81
                all_fields[0x1F848 + 4 * engine] = offset
                all_fields[0x1F888 + 4 * engine] = program.round_up(size, 64)
        self.writer.add(all_fields, blocks)

    def program(self):
        """Header bits that tell first from last, buffer sizes, the stream."""
        descriptors = self.writer.descriptors
        descriptors[0][0][6] |= 1 << 11
        descriptors[-1][0][6] |= 1 << 12 | 1 << 15
        text, first_words = self.writer.stream()
        surfaces = {bar: (bar == OUTPUT, program.round_up(end, 0x4000)) for bar, end in self.ends.items() if bar >= OUTPUT}
        scratch = program.round_up(self.ends.get(program.INTERMEDIATE, 0), 0x4000)
        return program.Program(text, bytes(self.constants), first_words, surfaces, scratch)


def deal(channels, lanes, engines):
    """Output channels by engine and plane: {engine: [[channels of a plane]]}, lanes halved for what does not fill every engine."""
    result, left = {}, list(range(channels))
    while left:
        while lanes > 1 and len(left) < lanes * engines:
            lanes >>= 1
        for engine in range(engines):
            if left:
                result.setdefault(engine, []).append(left[:lanes])
                left = left[lanes:]
    return result


def walk(rows, columns, sy, sx):
    """Positions of an enlarged kernel, phase after phase."""
    high, wide = program.round_up(rows, sy), program.round_up(columns, sx)
    grid = np.arange(high * wide).reshape(high, wide)
    order = [grid[py::sy, px::sx].ravel() for py in range(sy) for px in range(sx)]
    return [divmod(int(i), wide) for i in np.concatenate(order)]


def window_weight(weights, lane, y, x, outputs):
    """What a lane of a step's window holds: tap x of its first output, tap x - 1 of the second; 0 outside."""
    o = lane % outputs
    rows, columns = weights.shape[-2:]
    return weights[..., y, x - o] if y < rows and 0 <= x - o < columns else np.zeros(weights.shape[:-2])


def pack_record(weights, bias, sy, sx, outputs, form, small):
    """One plane: `weights` [lanes, inputs, rows, columns] of a plane's channels, `form` "half", "int8", "sparse" or "palette"."""
    lanes = weights.shape[0] * outputs
    steps = []
    for i in range(weights.shape[1]):
        for y, x in walk(weights.shape[2], weights.shape[3] + outputs - 1, sy, sx):
            steps.append([float(window_weight(weights[lane // outputs, i], lane, y, x, outputs)) for lane in range(lanes)])
    data = b"" if bias is None else np.repeat(bias, outputs).astype("<f2").tobytes()
    if form == "int8":
        return data + np.array(steps, np.int8).tobytes()
    if form == "half":
        return data + np.array(steps, "<f2").tobytes()
    wide = max(lanes, 4 if small else 2)
    slots = [value for step in steps for value in step + [0.0] * (wide - lanes)]
    slots += [0.0] * (-len(slots) % 8)
    body = b""
    for at in range(0, len(slots), 8):
        eight = slots[at:at + 8]
        body += bytes([sum(1 << bit for bit, value in enumerate(eight) if value)])
        if form == "sparse":
            body += np.array([value for value in eight if value], "<f2").tobytes()
    return data + len(body).to_bytes(2, "little") + b"\0" + body


def pack_kernel(bench, weights, active, lanes, bias=None, sy=1, sx=1, outputs=1, form="half", unicast=False, table=None, palette=None, small=False):
    """`weights` [groups, outputs, inputs, rows, columns], `bias` [groups, outputs]: {engine: (offset, bytes)} for Bench.neural."""
    result = {}
    for engine, engine_planes in deal(weights.shape[1], lanes, 1 << active).items():
        chunk = bytearray(table or b"") + bytearray(palette or b"")
        for group in range(weights.shape[0]):
            for channels in engine_planes:
                row = None if bias is None else bias[group, channels]
                chunk += pack_record(weights[group, channels], row, sy, sx, outputs, form, small)
            if not unicast:
                chunk += b"\0" * (-len(chunk) % 64)
        result[engine] = (bench.constant(chunk), len(chunk))
    return result
