// Package tape measures whether disks keep tape drives busy: a cluster of this machine archives files to emulated drives
// at real time, and recalls them.
//
// # What runs
//
// Each directory is a disk of a cluster, with a node of its own. The cluster is the program itself, `hemera up`, in a
// process of its own, with its state in a temporary directory and an emulated library at time scale 1. Everything between
// the disks and the drives is as at a site: nodes verify the data that they read, contents are sent over XRootD, sessions
// compute checksums, and the drive takes 400 MB/s, stops when it gets no data and moves back for a new start. Only the
// magnetic part is missing.
//
// # Tests
//
//	stream   one buffered stream reads a file of each directory in requests of 128 KiB: what a copy by one thread would give the drive
//	large    large files go to one drive, to two, and back
//	small    many files of each size go to one drive and back, with containers and without
//
// Each drive has a pool, a class and a directory of its own, so that there are as many queues as drives. The files to
// archive are written while the library is disabled, and leaves the page cache before it is enabled.
//
// # What counts
//
// Figures are those that sessions report: the time from the positioning for the first file until the last flush, without
// mounts. The course of a session is the series of its samples.
//
// Files have pages of 4 KiB that repeat one byte, another one in each page. Emulated cartridges keep such pages as one
// byte; disks, network and checksums do not. So cartridges take no room, and the disks need that of the files.
//
// The single stream is one measure for each disk. Where it is far below the share of large files, it is the session that
// feeds the drive: it keeps several requests in flight for a file, and reads the files behind it ahead.
//
// A pass is: disable, write, drop from the cache, enable, wait for the sessions, evict, stage, wait for the sessions,
// remove. The numbers of their mounts distinguish sessions from earlier ones. A pass ends early if a session fails:
// figures of half a pass mean nothing.
//
// # Mounts
//
// A load takes 16 s, a move of the arm 10 s, an unload one to two minutes, a locate up to a minute: they are most of a
// short run. None of them is in a figure. A tape lingers in its drive for a minute, so that the recall of a pass needs no
// mount.
//
// # What is touched
//
// In each directory a new one, hemera-bench-tape-…, and a temporary directory. Both are removed at the end, also when the
// context ends.
//
// # Goroutines
//
// One runs the steps. Four write files. The cluster's output goes to raw/.
package tape
