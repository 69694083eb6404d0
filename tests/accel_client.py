# SPDX-License-Identifier: Apache-2.0
"""
A script for the engine's Linux driver, with nothing but Python's own modules: accel_client.py NETWORK WORDS COUNT.
It looks for the node, submits y = a + b, closes the descriptor and then reads the result.
"""
import fcntl
import mmap
import os
import stat
import struct
import sys

NODE = '/dev/accel/accel0'
PAGE = 0x4000
BO_INIT, BO_FREE, SUBMIT = 0xC0186441, 0xC0086442, 0xC0986443
ELEMENTS = 8 * 32


def buffer(node, size):
    call = bytearray(struct.pack('<IIQQ', 0, 0, size, 0))
    fcntl.ioctl(node, BO_INIT, call, True)
    handle, _, _, offset = struct.unpack('<IIQQ', call)
    return handle, mmap.mmap(node, size, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE, offset=offset)


def main():
    text = open(sys.argv[1], 'rb').read()
    words, count = int(sys.argv[2]), int(sys.argv[3])
    assert os.path.exists(NODE) and os.path.exists('/dev/dri/renderD129')
    assert stat.S_ISCHR(os.stat(NODE).st_mode) and os.access(NODE, os.R_OK | os.W_OK)
    node = os.open(NODE, os.O_RDWR)
    code, first, y, b, a = [buffer(node, PAGE) for _ in range(5)]
    code[1][:len(text)] = text
    head = struct.unpack_from('<I', text)[0] & 0xFF00FFFF | 0x40 << 16
    first[1][:4 * words] = struct.pack('<I', head) + text[4:4 * words]
    a[1][:2 * ELEMENTS] = struct.pack('<%de' % ELEMENTS, *range(ELEMENTS))
    b[1][:2 * ELEMENTS] = struct.pack('<%de' % ELEMENTS, *[0.5] * ELEMENTS)
    handles = [0] * 32
    handles[0], handles[4], handles[5], handles[6] = code[0], y[0], b[0], a[0]
    call = bytearray(struct.pack('<QII32III', len(text), count, 4 * words, *handles, first[0], 0))
    fcntl.ioctl(node, SUBMIT, call, True)
    fcntl.ioctl(node, BO_FREE, bytearray(struct.pack('<II', a[0], 0)), True)
    os.close(node)
    result = struct.unpack('<%de' % ELEMENTS, y[1][:2 * ELEMENTS])
    assert list(result) == [i + 0.5 for i in range(ELEMENTS)], result
    print('right')


main()
