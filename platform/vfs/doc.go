// Package vfs is the interface between package disk and the operating system: the few calls that pieces need. A test can
// put a disk into memory, make it fail in chosen ways, and cut its power.
//
// # Problem
//
// A storage system has to keep its contract when things fail: a power cut between two calls, an unreadable sector, a sync
// that fails once, a full disk, a device that does not answer. A real filesystem does not fail at the moment and as often
// as a test needs.
//
// # Main types
//
//   - [FS] and [File] are the interface. [Mover], [Hinter], [Sparse], [Cloner], [CachedReader] and [Backed] are
//     optional; without them a disk is slower or uses more room, but is correct.
//   - [OS] is the operating system: nearly always one system call for each call.
//   - [Memory] keeps all in memory, and tracks what was synced. Its Crash cuts the power: changes that were not synced
//     may be lost in any part, in the order that a journaling filesystem keeps.
//   - [Faulty] wraps an FS, and makes calls fail, stall, lie, or flip bits, by rules.
//
// Package vfstest has the suite that all of them pass.
//
// # Contract
//
// Names are slash-separated paths. Errors are those of the operating system, inside *fs.PathError: errors.Is finds
// fs.ErrNotExist, fs.ErrExist, syscall.ENOSPC and so on. Only calls that a signal interrupted are retried. Content is
// durable when Sync of its file has returned, a name when SyncDir of its directory has; a rename is atomic, also across a
// crash. After a failed Sync the file's content is unknown, whatever a later Sync returns.
//
// # Blocking and locks
//
// Every call except those of CachedReader may block as long as the device does; see package disk/bounded. Memory has one
// mutex, which is held for moments. A rule of Faulty with Wait blocks its call without a lock. There are no goroutines.
package vfs
