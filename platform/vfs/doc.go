// Package vfs is the seam between package disk and the operating system: the few calls that keeping pieces needs, so that
// a test can put a disk in memory, make it fail in chosen ways, and cut its power.
//
// # Problem
//
// What a storage system promises shows when things go wrong: a power cut between two calls, a sector that cannot be read, a
// sync that fails once, a full disk, a device that does not answer. None of that can be had from a real filesystem at the
// moment and as often as a test needs it.
//
// # Main types
//
//   - [FS] and [File] are the seam. [Mover], [Hinter], [Sparse], [Cloner], [CachedReader] and [Backed] are what a filesystem
//     may do besides; what is missing costs speed or room, never correctness.
//   - [OS] is the real thing: one system call for each call, as far as that goes.
//   - [Memory] keeps all in memory, and knows what was synced. Its Crash cuts the power: of what was not synced, any part
//     may be lost, in the order that a journaling filesystem keeps.
//   - [Faulty] wraps an FS, and makes calls fail, stall, lie, or flip bits, by rules.
//
// Package vfstest has the suite that all of them pass.
//
// # Contract
//
// Names are slash-separated paths. Errors are those of the operating system, inside *fs.PathError: errors.Is finds
// fs.ErrNotExist, fs.ErrExist, syscall.ENOSPC and so on. Nothing is retried here but calls that a signal interrupted. Content
// is durable when Sync of its file has returned, a name when SyncDir of its directory has; a rename is atomic, also across a
// crash. After a Sync that failed the file's content is not known any more, whatever a later Sync says.
//
// # What blocks, and locks
//
// Every call but those of CachedReader may block as long as the device does; see package disk/bounded. Memory has one
// mutex, which is held for moments. A rule of Faulty with Wait blocks its call, and holds no lock meanwhile. There are no
// goroutines.
package vfs
