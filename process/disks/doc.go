// Package disks opens the disks of a process and divides shared resources among them.
//
// A disk is a directory, normally the mount point of a filesystem. Before a node uses one, [CheckOwner] refuses a
// directory in which another user could plant or change pieces, [IsFolder] distinguishes a mount point from a folder that
// fills the system's own disk, and [Memory.OpenDisk] locks it: only one process uses a disk.
//
// The disks of a process share two resources. Verified data stays mapped in memory, so that it is sent without being read
// and checked again; and pieces stay open for the next reader. [Memory] gives each disk an equal part of both, and
// divides again when a disk is added. Its mutex guards the list of disks only; no call under it does I/O.
package disks
