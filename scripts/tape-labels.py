#!/usr/bin/env python3
"""Lists and extracts the files of a tape image, knowing its labels only.

usage: tape-labels.py IMAGE [-x DIRECTORY]

IMAGE has the objects of a tape in SIMH's format: before and behind each block its length as four bytes, low byte first, blocks padded to an
even length; a length of 0 is a filemark. Files are extracted as DIRECTORY/<fSeq>. Nothing of Hemera is used here: the tests compare what
this program reads with what Hemera wrote. docs/tape/format.md has the table of labels.
"""
import json
import os
import struct
import sys
import zlib


def objects(image):
    """Yields blocks, and None for filemarks."""
    with open(image, "rb") as f:
        while length := f.read(4):
            (n,) = struct.unpack("<I", length)
            if n == 0:
                yield None
                continue
            block = f.read(n)
            f.read(n % 2)
            if f.read(4) != length:
                sys.exit("the image is damaged: two lengths differ")
            yield block


def label(block, name):
    if block is None or len(block) != 80 or block[:4].decode("ascii") != name:
        sys.exit(f"{name} expected, not {block!r}")
    return block.decode("ascii")


def main():
    if len(sys.argv) not in (2, 4) or len(sys.argv) == 4 and sys.argv[2] != "-x":
        sys.exit(__doc__)
    directory = sys.argv[3] if len(sys.argv) == 4 else None
    tape = list(objects(sys.argv[1]))
    vol1 = label(tape[0], "VOL1")
    vid = vol1[4:10]
    if vol1[79] != "3" or vol1[10:37].strip() or vol1[51:77].strip():
        sys.exit("VOL1 is not that of the format")
    at, files = 1, []
    while at < len(tape):
        begin = at
        hdr1 = label(tape[at], "HDR1")
        if hdr1[4:21].rstrip() == "PRELABEL":
            break
        label(tape[at + 1], "HDR2")
        uhl1 = label(tape[at + 2], "UHL1")
        if tape[at + 3] is not None:
            sys.exit(f"no filemark behind the header at block {begin}")
        at += 4
        blocks, size, adler = 0, 0, 1
        out = open(os.path.join(directory, str(int(uhl1[4:14]))), "wb") if directory else None
        while tape[at] is not None:
            if not 0 < len(tape[at]) <= int(uhl1[14:24]):
                sys.exit(f"block {at} has {len(tape[at])} bytes")
            blocks, size, adler = blocks + 1, size + len(tape[at]), zlib.adler32(tape[at], adler)
            if out:
                out.write(tape[at])
            at += 1
        eof1 = label(tape[at + 1], "EOF1")
        label(tape[at + 2], "EOF2")
        utl1 = label(tape[at + 3], "UTL1")
        if tape[at + 4] is not None:
            sys.exit(f"no filemark behind the trailer at block {at}")
        same = hdr1[4:54] == eof1[4:54] and uhl1[4:] == utl1[4:] and hdr1[21:27] == vid
        if not same or int(eof1[54:60]) != blocks % 1000000 or int(hdr1[31:35]) != int(uhl1[4:14]) % 10000:
            sys.exit(f"the labels of the file at block {begin} contradict each other")
        files.append({"vid": vid, "fSeq": int(uhl1[4:14]), "blockId": begin if begin > 1 else 0, "archiveId": str(int(hdr1[4:21], 16)),
                      "blocks": blocks, "size": size, "adler32": f"{adler:08x}"})
        if out:
            out.close()
        at += 5
    print(json.dumps(files))


main()
