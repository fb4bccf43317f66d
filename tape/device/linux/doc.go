// Package linux drives real tape hardware: drives by the st driver of the kernel, changers by the SCSI generic driver.
// It implements the interfaces of package tape. Package scsi makes the commands; this one carries them.
//
// # Which way a command goes
//
// Blocks are read and written by read and write on /dev/nstN, and filemarks by its MTIOCTOP: the driver handles buffers,
// direct I/O and the early warning. Everything else goes by SG_IO on the same descriptor, because only so the sense data
// is seen. The driver lets one process open a drive.
//
// # What st remembers
//
// The driver does not see positions change behind its back. It would write a filemark when it is closed after a write,
// and answer reads from memory after the end of data. Before each command that moves the tape, settle sends a SPACE over
// zero blocks through the driver: it flushes its buffer and forgets both. That is an invariant of this package:
// the descriptor is never moved or closed without it.
//
// A read of 0 bytes is a filemark or the end of data, and EIO is the end of data or a bad block. The Tape counts objects,
// and asks the drive where it stands: only a filemark moves it.
//
// # Concurrency
//
// One command runs on a device at a time; callers wait for a token, not for a lock, and stop waiting when their context
// ends. Status does not wait: it returns what was known last while a command runs.
//
// # Retries
//
// A unit attention is retried at once, a few times, unless it says that the drive was reset or its cartridge changed under
// a loaded Tape: the position is lost then, and each later call fails until the next Load. A device that becomes ready is
// asked again each second, for a bounded time.
//
// # State of proof
//
// This package has not touched a real drive. Its tests run it over a kernel in memory that answers as the sources of st
// and the standards say; docs/tape/hardware.md says what that proves.
package linux
