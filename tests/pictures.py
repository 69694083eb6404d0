# SPDX-License-Identifier: Apache-2.0
"""Tiny pictures for tests: PNG, and JPEG of flat blocks of 8 x 8 pixels. `rows` are lists of (red, green, blue)."""
import struct
import zlib


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(rows, size=None, alpha=None):
    """`size` is what the header states, when that is not the truth; `alpha` one value for all pixels."""
    width, height = size or (len(rows[0]), len(rows))
    extra = b"" if alpha is None else bytes([alpha])
    data = b"".join(b"\0" + b"".join(bytes(pixel) + extra for pixel in row) for row in rows)
    head = struct.pack(">IIBBBBB", width, height, 8, 2 if alpha is None else 6, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(data)) + chunk(b"IEND", b"")


def grey_png(rows):
    data = b"".join(b"\0" + bytes(row) for row in rows)
    head = struct.pack(">IIBBBBB", len(rows[0]), len(rows), 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(data)) + chunk(b"IEND", b"")


# A Huffman table of twelve codes of four bits: code n is category n of a DC difference. The one AC code, of one bit, ends a block.
CATEGORY_BITS, CATEGORIES = 4, 12


def segment(marker, data):
    return struct.pack(">BBH", 0xFF, marker, len(data) + 2) + data


def difference_bits(value):
    size = abs(value).bit_length()
    bits = format(size, f"0{CATEGORY_BITS}b")
    return bits + (format(value if value > 0 else value + (1 << size) - 1, f"0{size}b") if size else "")


def jpeg(blocks):
    """`blocks`: rows of (Y, Cb, Cr), each 0 to 255, one for every 8 x 8 pixels."""
    width, height = 8 * len(blocks[0]), 8 * len(blocks)
    file = b"\xff\xd8" + segment(0xDB, bytes([0] + [8] * 64))
    file += segment(0xC0, struct.pack(">BHHB", 8, height, width, 3) + bytes([1, 0x11, 0, 2, 0x11, 0, 3, 0x11, 0]))
    file += segment(0xC4, bytes([0x00] + [0, 0, 0, CATEGORIES] + [0] * 12 + list(range(CATEGORIES))))
    file += segment(0xC4, bytes([0x10] + [1] + [0] * 15 + [0]))
    file += segment(0xDA, bytes([3, 1, 0, 2, 0, 3, 0, 0, 63, 0]))
    bits, last = "", [0, 0, 0]
    for row in blocks:
        for block in row:
            for part in range(3):
                level = block[part] - 128  # a flat block has 8 times its level as DC, quantised by 8
                bits += difference_bits(level - last[part]) + "0"
                last[part] = level
    bits += "1" * (-len(bits) % 8)
    data = bytes(int(bits[at:at + 8], 2) for at in range(0, len(bits), 8))
    return file + data.replace(b"\xff", b"\xff\0") + b"\xff\xd9"
