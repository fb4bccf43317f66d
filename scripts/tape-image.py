#!/usr/bin/env python3
"""Makes an image in SIMH's format of a cartridge of the emulated library, for tape-labels.py.

usage: tape-image.py LIBRARY/cartridges/BARCODE IMAGE

BARCODE.index has 48 bytes for each object: kind (1 block, 2 filemark), flags, two zeros, length and stored bytes; the place in BARCODE.data is at byte 32.
"""
import struct
import sys

REPEATED = 8  # the flag of a block in which each page of 4 KiB repeats one byte: the file has one byte for each page

if len(sys.argv) != 3:
    sys.exit(__doc__)
with open(sys.argv[1] + ".index", "rb") as f:
    index = f.read()
with open(sys.argv[1] + ".data", "rb") as data, open(sys.argv[2], "wb") as image:
    for at in range(0, len(index) - 47, 48):
        kind, flags, length, stored = struct.unpack_from("<BBxxII", index, at)
        (place,) = struct.unpack_from("<Q", index, at + 32)
        if flags not in (0, REPEATED):
            sys.exit(f"object {at // 48} is encrypted, or was not stored")
        if kind == 2:
            image.write(struct.pack("<I", 0))
            continue
        data.seek(place)
        size, block = struct.pack("<I", length), data.read(stored)
        if flags == REPEATED:
            block = b"".join(bytes([b]) * 4096 for b in block)[:length]
        image.write(size + block + b"\0" * (length % 2) + size)
