# SPDX-License-Identifier: Apache-2.0
"""Programs: a descriptor stream with its constants and buffers; read from .anec, .hwx and raw streams, written as .anec."""
import struct

from . import descriptor

PAGE = 0x4000
ANEC_HEADER = 0x1000
ANEC_SURFACES = 32
FIRST_SURFACE = 4
INTERMEDIATE = 3
MOVED = (1, 2)  # SourceType and ResultType of what comes from memory or goes there
BYTES, SIGNED, HALVES = TYPES = ("|u1", "|i1", "<f2")  # by the codes of ChCfg


def round_up(value, unit):
    return (value + unit - 1) // unit * unit


class Program:
    """`surfaces` maps a buffer number to (output?, bytes); buffer 3 has `scratch` bytes."""

    def __init__(self, text, constants, first_words, surfaces, scratch=0):
        self.text, self.constants, self.first_words = text, constants, first_words
        self.surfaces, self.scratch = surfaces, scratch

    @property
    def tasks(self):
        return descriptor.read_stream(self.text, self.first_words)

    def inputs(self):
        return sorted(bar for bar, (output, _) in self.surfaces.items() if not output)

    def outputs(self):
        return sorted(bar for bar, (output, _) in self.surfaces.items() if output)

    def types(self):
        """What each surface holds, as numpy names it: the format of the tasks that move it."""
        found = {bar: HALVES for bar in self.surfaces}
        for task in self.tasks:
            if task.RBE0 and task.SourceType in MOVED:
                found[task.RBase0] = TYPES[task.InFmt]
            if task.RBE1 and task.Source2DMA:
                found[task.RBase1] = TYPES[task.Src2InFmt]
            if task.WBE and task.ResultType in MOVED:
                found[task.WBase] = TYPES[task.OutFmt]
        return found

    def buffers(self, inputs):
        """What the engine's buffer registers point to, with `inputs` as {number: bytes}."""
        bars = {0: bytearray(self.text), 1: bytearray(self.constants), INTERMEDIATE: bytearray(self.scratch)}
        for bar, (output, size) in self.surfaces.items():
            bars[bar] = bytearray(size)
            if not output:
                bars[bar][:len(inputs[bar])] = inputs[bar]
        return bars


def flat_shape(size, kind):
    """A whole buffer as one tensor of 64-byte rows, so that a file of it holds every byte, row tails included."""
    return (1, 1, size // 64, 32 if kind == HALVES else 64)


def write_anec(program):
    """The container of public converters: a packed header of 0x6a8 bytes, zeros to 0x1000, descriptors, constants at the next 16."""
    tasks = len(program.tasks)
    kernel_at = round_up(len(program.text), 16)
    content = program.text.ljust(kernel_at, b"\0") + program.constants if program.constants else program.text
    tiles, shapes = [0] * ANEC_SURFACES, [[0] * 6 for _ in range(ANEC_SURFACES)]
    tiles[0] = round_up(len(content), PAGE) // PAGE
    tiles[INTERMEDIATE] = round_up(program.scratch, PAGE) // PAGE
    kinds = program.types()
    for bar, (_, size) in program.surfaces.items():
        tiles[bar] = round_up(size, PAGE) // PAGE
        shapes[bar] = list(flat_shape(size, kinds[bar])) + [size, 64]
    header = struct.pack("<QIIQQII", len(content), 4 * program.first_words, tasks, len(program.text), len(program.constants),
                         len(program.inputs()), len(program.outputs()))
    header += struct.pack("<32I", *tiles) + b"".join(struct.pack("<6Q", *shape) for shape in shapes)
    assert len(header) == 0x6A8
    return header.ljust(ANEC_HEADER, b"\0") + content


def read_anec(data):
    size, td_size, _, tsk_size, krn_size, _, _ = struct.unpack_from("<QIIQQII", data)
    tiles = struct.unpack_from("<32I", data, 0x28)
    at = ANEC_HEADER if len(data) >= ANEC_HEADER + size else 0x800
    content = data[at:at + size]
    text = content[:tsk_size]
    program = Program(text, content[round_up(tsk_size, 16):][:krn_size], td_size // 4, {}, tiles[INTERMEDIATE] * PAGE)
    written = {task.WBase for task in program.tasks if task.WBE}
    for bar in range(FIRST_SURFACE, ANEC_SURFACES):
        if tiles[bar]:
            program.surfaces[bar] = (bar in written, tiles[bar] * PAGE)
    return program


def read_hwx(data):
    """Text and constants by section name, buffers by the program descriptor's table of addresses."""
    magic, _, subtype, _, commands = struct.unpack_from("<5I", data)
    assert magic == 0xBEEFFACE and subtype == 4, "not an H13 program image"
    at, sections, bars, first_words = 32, {}, {}, 0
    for _ in range(commands):
        command, size = struct.unpack_from("<II", data, at)
        if command == 0x19:
            for i in range(struct.unpack_from("<I", data, at + 64)[0]):
                s = at + 72 + 80 * i
                name = (data[s + 16:s + 32].rstrip(b"\0") + b"," + data[s:s + 16].rstrip(b"\0")).decode()
                address, length, offset = struct.unpack_from("<QQI", data, s + 32)
                sections[address] = (name, length, offset)
        elif command == 4 and struct.unpack_from("<I", data, at + 8)[0] == 1:
            table = struct.unpack_from("<256Q", data, at + 0x10)
            bars = {i: address for i, address in enumerate(table[:32]) if address}
            first_words = struct.unpack_from("<I", data, at + 0x818)[0] + 1
        at += size
    text = constants = b""
    for name, length, offset in sections.values():
        if name == "__TEXT,__text":
            text = data[offset:offset + length]
        elif name == "__TEXT,__const":
            constants = data[offset:offset + length]
    program = Program(text, constants, first_words, {})
    written = {task.WBase for task in program.tasks if task.WBE}
    for bar, address in bars.items():
        length = sections.get(address, ("", 0, 0))[1]
        if bar == INTERMEDIATE:
            program.scratch = length
        elif bar >= FIRST_SURFACE:
            program.surfaces[bar] = (bar in written, length)
    return program


def _extent(base, sizes, strides, element):
    """Bytes from a buffer's start to the end of the last row, rounded as a DMA moves rows."""
    return round_up(base + sum((n - 1) * s for n, s in zip(sizes, strides)) + element, 64)


def _touch(sizes, bar, end):
    sizes[bar] = max(sizes.get(bar, 0), end)


def read_raw(data):
    """A stream with its constants behind it and no container: sizes come from what the descriptors reach."""
    words = descriptor.guess_first_words(data)
    tasks = descriptor.read_stream(data, words)
    end = 0
    offset, size = 0, words
    for task in tasks:
        end = max(end, offset + 4 * size)
        offset, size = task.NextPointer, task.NextSize + 1
    constants = data[round_up(end, 16):]
    sizes, written = {}, set()
    for task in tasks:
        groups = task.NumGroups
        dims = (groups, task.Cin, task.Din, task.Hin)
        if task.RBE0 and task.SourceType in (1, 2):
            strides = (task.SrcGroup, task.SrcPlane, task.SrcDepth, task.SrcRow)
            _touch(sizes, task.RBase0, _extent(task.SrcBase, dims, strides, 2 * task.Win))
        if task.RBE1 and task.Source2DMA:
            strides = (task.Src2Group, task.Src2Plane, task.Src2Depth, task.Src2Row)
            _touch(sizes, task.RBase1, _extent(task.Src2Base, dims, strides, 2 * task.Win))
        if task.WBE:
            strides = (task.DstGroup, task.DstPlane, task.DstDepth, task.DstRow)
            dims = (groups, task.Cout, task.Dout, task.Hout)
            _touch(sizes, task.WBase, _extent(task.DstBase, dims, strides, 2 * task.Wout))
            written.add(task.WBase)
    surfaces = {bar: (bar in written, round_up(size, PAGE)) for bar, size in sizes.items() if bar >= FIRST_SURFACE}
    return Program(data[:end], constants, words, surfaces, round_up(sizes.get(INTERMEDIATE, 0), PAGE))


def read(path):
    with open(path, "rb") as file:
        data = file.read()
    if path.endswith(".hwx"):
        return read_hwx(data)
    return read_anec(data) if path.endswith(".anec") else read_raw(data)
