# SPDX-License-Identifier: Apache-2.0
"""Task descriptors: words into registers, registers into named fields, and back."""
import struct

BLOCKS = {  # name: (address, words), in the order Apple's compiler writes them
    "KernelDMASrc": (0x1F800, 62),
    "Common": (0x00000, 16),
    "TileDMASrc": (0x13800, 28),
    "L2": (0x04800, 18),
    "PE": (0x08800, 4),
    "NE": (0x0C800, 5),
    "TileDMADst": (0x17800, 7),
}
PLAIN_WORDS = 157
HEADER_WORDS = 10

HEADER = {  # field: (word, low bit, width)
    "TID": (0, 0, 16), "NID": (0, 16, 8), "LNID": (0, 24, 1), "EON": (0, 25, 1),
    "NextSize": (1, 16, 9), "LogEvents": (2, 0, 24), "DebugLogEvents": (4, 0, 24),
    "DisallowAbort": (6, 8, 1), "SPL": (6, 11, 1), "TSR": (6, 12, 1), "SPC": (6, 13, 1), "DPC": (6, 14, 1), "TSE": (6, 15, 1),
    "TDE": (6, 24, 1), "SrcLoc": (6, 28, 1), "DstLoc": (6, 29, 1),
    "NextPointer": (7, 0, 32),
    "RBase0": (8, 0, 5), "RBE0": (8, 5, 1), "RBase1": (8, 6, 5), "RBE1": (8, 11, 1), "WBase": (8, 12, 5), "WBE": (8, 17, 1),
    "TBase": (8, 18, 5), "TBE": (8, 23, 1), "ENE": (8, 24, 3),
    "KBase0": (9, 0, 5), "KBE0": (9, 5, 1),
}

FIELDS = {  # field: (register address, low bit, width)
    "Win": (0x00, 0, 15), "Hin": (0x00, 16, 15), "Din": (0x04, 0, 16),
    "InFmt": (0x08, 0, 2), "Src2InFmt": (0x08, 2, 2), "OutFmt": (0x08, 4, 2),
    "Cin": (0x0C, 0, 17), "Cout": (0x10, 0, 17),
    "Wout": (0x14, 0, 15), "Hout": (0x14, 16, 15), "Dout": (0x18, 0, 16),
    "Kw": (0x1C, 0, 5), "Kh": (0x1C, 5, 5), "OCGSize": (0x1C, 10, 3), "Sx": (0x1C, 13, 2), "Sy": (0x1C, 15, 2),
    "Px": (0x1C, 17, 5), "Py": (0x1C, 22, 5), "Ox": (0x1C, 28, 2), "Oy": (0x1C, 30, 2),
    "Kd": (0x20, 0, 5), "Sz": (0x20, 6, 2), "Oz": (0x20, 13, 2),
    "NumGroups": (0x24, 0, 13), "UnicastEn": (0x24, 14, 1), "ElemMultMode": (0x24, 15, 1), "UnicastCin": (0x24, 16, 16),
    "TileHeight": (0x28, 0, 15), "PatchWidth": (0x2C, 0, 4), "PatchHeight": (0x2C, 4, 5),
    "Broadcast1": (0x30, 0, 4), "Broadcast2": (0x30, 4, 4), "Transpose1": (0x30, 8, 1), "Transpose2": (0x30, 9, 1),
    "TransposeOut": (0x30, 10, 1),
    "SourceBits": (0x34, 0, 2), "SmallSourceMode": (0x34, 2, 1), "TaskType": (0x34, 4, 4), "ShPref": (0x34, 8, 3),
    "ShMin": (0x34, 12, 3), "ShMax": (0x34, 16, 3), "ActiveNE": (0x34, 19, 3), "AccDoubleBufEn": (0x34, 26, 1),
    "NETranspose": (0x34, 28, 1),
    "TaskNID": (0x38, 20, 8),
    "SrcDMAConfig": (0x13800, 0, 32), "Src2DMAConfig": (0x13804, 0, 32),
    "SrcBase": (0x13808, 0, 32), "SrcRow": (0x1380C, 0, 32), "SrcPlane": (0x13810, 0, 32), "SrcDepth": (0x13814, 0, 32),
    "SrcGroup": (0x13818, 0, 32),
    "Src2Base": (0x1381C, 0, 32), "Src2Row": (0x13820, 0, 32), "Src2Plane": (0x13824, 0, 32), "Src2Depth": (0x13828, 0, 32),
    "Src2Group": (0x1382C, 0, 32),
    "SrcFmt": (0x13838, 0, 32), "SrcInterleave": (0x13838, 24, 4), "Src2Fmt": (0x1383C, 0, 32),
    "Src40": (0x13840, 0, 32),
    "InputReLU1": (0x4800, 0, 1), "PaddingMode": (0x4800, 2, 2), "InputReLU2": (0x4800, 4, 1),
    "SourceCfg": (0x4804, 0, 32), "SourceType": (0x4804, 0, 2), "Source2DMA": (0x4804, 24, 1),
    "L2Base": (0x4808, 4, 17), "L2Channel": (0x480C, 4, 17), "L2Row": (0x4810, 4, 17), "L2Depth": (0x4814, 4, 17),
    "L2Group": (0x4818, 4, 17),
    "L22Base": (0x481C, 4, 17), "L22Channel": (0x4820, 4, 17), "L22Row": (0x4824, 4, 17), "L22Depth": (0x4828, 4, 17),
    "L22Group": (0x482C, 4, 17),
    "ResultCfg": (0x4830, 0, 32), "ResultType": (0x4830, 0, 2),
    "L2RBase": (0x4834, 4, 17), "L2RChannel": (0x4838, 4, 17), "L2RRow": (0x483C, 4, 17), "L2RDepth": (0x4840, 4, 17),
    "L2RGroup": (0x4844, 4, 17),
    "PECfg": (0x8800, 0, 32), "Reduce": (0x8800, 0, 2), "Operation": (0x8800, 2, 3), "PEReLU": (0x8800, 5, 1), "Abs": (0x8800, 6, 1),
    "Function": (0x8800, 12, 2), "Negate1": (0x8800, 16, 1), "Second": (0x8800, 18, 2),
    "Bias": (0x8804, 0, 16), "Scale": (0x8804, 16, 16), "Epsilon": (0x8808, 0, 16), "PreScale": (0x8808, 16, 16),
    "FinalScale": (0x880C, 0, 32),
    "KernelCfg": (0xC800, 0, 32), "KernelFmt": (0xC800, 0, 2), "PalettizedEn": (0xC800, 2, 1), "PalettizedBits": (0xC800, 4, 4),
    "SparseFmt": (0xC800, 8, 1), "RuntimeKernel": (0xC800, 16, 1),
    "MACCfg": (0xC804, 0, 32), "OpMode": (0xC804, 0, 3), "KernelMode": (0xC804, 3, 1), "BiasMode": (0xC804, 4, 1),
    "NonlinearMode": (0xC804, 16, 2),
    "AccBias": (0xC80C, 0, 16), "PostScale": (0xC810, 0, 16),
    "DstDMAConfig": (0x17800, 0, 32), "DstBase": (0x17804, 0, 32), "DstRow": (0x17808, 0, 32), "DstPlane": (0x1780C, 0, 32),
    "DstDepth": (0x17810, 0, 32), "DstGroup": (0x17814, 0, 32),
    "DstFmt": (0x17818, 0, 32), "ZeroPad": (0x17818, 20, 2), "DstInterleave": (0x17818, 24, 4),
}


def take(word, low, width):
    return word >> low & (1 << width) - 1


class Task:
    """One descriptor as the engine sees it: its header, and all registers after its writes."""

    def __init__(self, header, registers):
        self.header, self.registers = header, registers

    def __getattr__(self, name):
        if name in HEADER:
            word, low, width = HEADER[name]
            return take(self.header[word], low, width)
        if name in FIELDS:
            address, low, width = FIELDS[name]
            return take(self.registers.get(address, 0), low, width)
        raise AttributeError(name)

    def coefficient(self, engine):
        """(enabled, base, bytes) of an engine's kernel channel."""
        r = self.registers
        return (r.get(0x1F808 + 4 * engine, 0) & 1, r.get(0x1F848 + 4 * engine, 0) & ~63, r.get(0x1F888 + 4 * engine, 0) & ~63)

    @property
    def planar(self):
        return self.ENE == 0


def read_stream(data, first_words):
    """The chain that begins at 0: registers that a descriptor does not write keep their values."""
    registers, tasks, offset, words = {}, [], 0, first_words
    while True:
        td = struct.unpack_from("<%dI" % words, data, offset)
        at = HEADER_WORDS + take(td[6], 24, 1)
        header = td[:at]
        while at < words:
            count, address = (td[at] >> 26) + 1, td[at] & 0x3FFFFFF
            for i in range(count):
                registers[address + 4 * i] = td[at + 1 + i]
            at += 1 + count
        tasks.append(Task(header, dict(registers)))
        if header[7] == 0:
            return tasks
        offset, words = header[7], take(header[1], 16, 9) + 1


def guess_first_words(data):
    """The first descriptor's size, where no container tells it: its first record is either form of the kernel block."""
    extended = struct.unpack_from("<I", data, 24)[0] >> 24 & 1
    first = struct.unpack_from("<I", data, 4 * (HEADER_WORDS + extended))[0]
    return (PLAIN_WORDS if first >> 26 == 61 else 126) + extended


class Writer:
    """Builds a stream. A descriptor is a dictionary of field values and, by number, whole registers."""

    def __init__(self):
        self.descriptors = []

    def add(self, fields, blocks=None):
        """`blocks` names the register blocks this descriptor writes (all when None): the others keep what they held."""
        header, registers = [0] * HEADER_WORDS, {}
        for name, value in fields.items():
            if name in HEADER:
                word, low, width = HEADER[name]
                assert 0 <= value < 1 << width, (name, value)
                header[word] |= value << low
                continue
            address, low, width = FIELDS[name] if name in FIELDS else (name, 0, 32)
            assert 0 <= value < 1 << width, (name, value)
            registers[address] = registers.get(address, 0) & ~((1 << width) - 1 << low) | value << low
        self.descriptors.append((header, registers, list(BLOCKS) if blocks is None else blocks))

    def stream(self):
        parts, offset, last = [], 0, len(self.descriptors) - 1
        sizes = [HEADER_WORDS + (h[6] >> 24 & 1) + sum(1 + BLOCKS[b][1] for b in blocks) for h, _, blocks in self.descriptors]
        for i, (header, registers, blocks) in enumerate(self.descriptors):
            header = list(header) + [0] * (header[6] >> 24 & 1)
            header[0] |= (i > 0) << 24 | (i == last) << 25
            if i < last:
                offset += (4 * sizes[i] + 0xFF) // 0x100 * 0x100
                header[1] |= sizes[i + 1] - 1 << 16
                header[7] = offset
                header[8] |= 1 << 23
            words = header
            for name in blocks:
                address, count = BLOCKS[name]
                words.append(count - 1 << 26 | address)
                words += [registers.get(address + 4 * k, 0) for k in range(count)]
            data = struct.pack("<%dI" % len(words), *words)
            parts.append(data if i == last else data.ljust((len(data) + 0xFF) // 0x100 * 0x100, b"\0"))
        return b"".join(parts), sizes[0]
