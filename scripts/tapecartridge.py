"""Reads what is on a cartridge of the emulated library by its labels alone, for scripts that kill what writes it: tape-crash.py.

Nothing of Hemera is used here. BARCODE.index has 48 bytes for each object: kind (1 block, 2 filemark), flags, two zeros, length and stored bytes; the
place in BARCODE.data is at byte 32. A kill leaves an unfinished file behind the last one that counts: reading ends there, and `rest` says why.
"""
import json, pathlib, struct, zlib

CONTAINER, INDEX = 1 << 62, 1 << 63  # archive ids from here on are no single files

REPEATED = 8  # the flag of a block in which each page of 4 KiB repeats one byte: the file has one byte for each page


class Unfinished(Exception):
    """The rest of the tape is not a whole file."""


class Cartridge:
    """files has (fSeq, member) of all whole tape files: archive id, block id, content. Member is 0 outside of containers."""

    def __init__(self, stem):
        self.files, self.rest = {}, ""
        index = pathlib.Path(f"{stem}.index").read_bytes()
        # A tape server that writes just now adds data before records, so the records are read first.
        data = pathlib.Path(f"{stem}.data").read_bytes()
        self.objects = [self.object(index[at:at + 48], data) for at in range(0, len(index) - 47, 48)]
        try:
            self.label(0, "VOL1")
            at = 1
            while at < len(self.objects):
                at = self.file(at)
        except (Unfinished, IndexError) as e:
            self.rest = f"behind fSeq {len(self.files) and max(self.files)[0]}: {e}"

    @staticmethod
    def object(record, data):
        kind, flags, length, stored = struct.unpack_from("<BBxxII", record)
        (place,) = struct.unpack_from("<Q", record, 32)
        if kind == 2:
            return None
        # Bytes that the data file does not have, and blocks that cannot be read without a key, end the tape.
        block = data[place:place + stored] if place + stored <= len(data) else b""
        if flags == REPEATED:
            block = b"".join(bytes([b]) * 4096 for b in block)[:length]
        return block if flags in (0, REPEATED) and len(block) == length else b""

    def label(self, at, name):
        block = self.objects[at]
        if block is None or len(block) != 80 or block[:4] != name.encode():
            raise Unfinished(f"object {at} is not {name}")
        return block.decode("ascii")

    def mark(self, at):
        if self.objects[at] is not None:
            raise Unfinished(f"object {at} is not a filemark")

    def file(self, begin):
        """Takes the file that begins at an object, and returns where the next one does."""
        hdr1 = self.label(begin, "HDR1")
        if hdr1[4:21].rstrip() == "PRELABEL":
            self.mark(begin + 1)
            return len(self.objects)
        self.label(begin + 1, "HDR2")
        uhl1 = self.label(begin + 2, "UHL1")
        self.mark(begin + 3)
        at = begin + 4
        blocks = []
        while self.objects[at] is not None:
            blocks.append(self.objects[at])
            at += 1
        eof1 = self.label(at + 1, "EOF1")
        self.label(at + 2, "EOF2")
        utl1 = self.label(at + 3, "UTL1")
        self.mark(at + 4)
        if hdr1[4:54] != eof1[4:54] or uhl1[4:] != utl1[4:] or int(eof1[54:60]) != len(blocks) % 1000000 or b"" in blocks:
            raise Unfinished(f"header and trailer of object {begin} contradict each other")
        fseq, archive = int(uhl1[4:14]), int(hdr1[4:21], 16)
        content, block = b"".join(blocks), begin if begin > 1 else 0
        self.files[fseq, 0] = archive, block, content
        if CONTAINER <= archive < INDEX:
            self.members(fseq, block, content)
        return at + 5

    def members(self, fseq, block, content):
        """Takes the members of a container by its table, which is lines of JSON in front of their contents."""
        first, *lines = content.split(b"\n")
        begin = json.loads(first)["data"]
        for line in lines:
            record = json.loads(line)
            if record.get("end"):
                return
            at = begin + record.get("offset", 0)
            one = content[at:at + record["size"]]
            if f"adler32:{zlib.adler32(one):08x}" in record["checksums"]:
                self.files[fseq, record["member"]] = int(record["archiveId"]), block, one
