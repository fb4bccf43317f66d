#!/usr/bin/env python3
"""Keep the memory of a virtual machine with it while something is measured.

Where the host takes free memory back (free page reporting, /sys/module/page_reporting), each page that a program takes again faults in
the host, and the guest counts that as its own CPU: up to four times the figure of a write to memory. Only free blocks of 2 MiB are
taken back. So this touches most of the memory, and keeps one page of each 512 KiB until it is ended: no such block is ever free.

usage: scripts/hold-memory.py GIB &     # less than what is free; "held" is printed when it is ready
"""
import mmap
import signal
import sys

PAGE, STEP = 4096, 512 << 10
DONTNEED, NOHUGEPAGE = 4, 15  # of madvise(2)

if len(sys.argv) != 2 or not sys.argv[1].isdigit():
    sys.exit(__doc__)
size = int(sys.argv[1]) << 30
memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
memory.madvise(NOHUGEPAGE)
for at in range(0, size, PAGE):
    memory[at] = 1
for at in range(0, size, STEP):
    memory.madvise(DONTNEED, at + PAGE, STEP - PAGE)
print("held", flush=True)
signal.pause()
