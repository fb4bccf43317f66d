// Package tape measures whether disks keep tape drives busy: a cluster of this machine archives files to emulated drives
// at real time, and recalls them.
//
// # The cluster
//
// Each directory is a disk of a cluster, with a node of its own. The cluster is the program itself, `hemera up`, in a
// process of its own, with its state in a temporary directory and an emulated library at time scale 1. Between the disks
// and the drives all is as at a site: nodes verify the data that they read, contents are sent over XRootD, sessions
// compute checksums, and the drive takes 400 MB/s, stops when it gets no data and moves back for a new start. Only the
// magnetic part is missing.
//
// # Tests
//
//	stream   one buffered stream reads a file of each directory in requests of 128 KiB, like a copy by one thread
//	large    large files go to one drive, to two, and back
//	small    many files of each size go to one drive and back, with containers and without
//
// Each drive has a pool, a class and a directory of its own, so that there are as many queues as drives. The files to
// archive are written while the library is disabled, and are dropped from the page cache before it is enabled.
//
// # Figures
//
// The figures are those that sessions report. Their time begins with the positioning for the first file and ends with the
// last flush, without mounts. The course of a session is the series of its samples.
//
// Each page of 4 KiB of a file repeats one byte, which differs from page to page. Emulated cartridges store such a page
// as one byte; for disks, network and checksums it is an ordinary page. So cartridges take almost no room, and the disks
// need the room of the files.
//
// The single stream is one measure for each disk. If it is far below the rate of large files, the session makes the
// difference: it keeps several requests in flight for a file, and reads the next files ahead.
//
// A pass is: disable, write, drop from the cache, enable, wait for the sessions, evict, stage, wait for the sessions,
// remove. The numbers of their mounts distinguish sessions from earlier ones. A pass ends early if a session fails,
// because figures of half a pass mean nothing.
//
// # Mounts
//
// A load takes 16 s, a move of the arm 10 s, an unload one to two minutes, a locate up to a minute: these are most of a
// short run. The figures exclude them. A tape stays in its drive for a minute, so the recall of a pass needs no mount.
//
// # Files that it makes
//
// It makes a new directory, hemera-bench-tape-…, in each directory, and one temporary directory. It removes them at the
// end, also when the context ends.
//
// # Goroutines
//
// One goroutine runs the steps, four write files. The output of the cluster goes to raw/.
package tape
