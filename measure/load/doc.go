// Package load measures the performance of clients over their interfaces: root:// servers, and directories of any mounted
// file system. It is the level "io" of `hemera bench`, and "interference".
//
// # Parts
//
//	Options   the numbers of clients, files and bytes, the loads, and the target
//	Target    the actions of one client: make, open, remove; servers.go has root://, directory.go a file system
//	group     the clients of one target, with the directory that they work in
//	phase     the work of all clients at the same time, with one clock
//	Peak      the theoretical peak of the hardware: per node the smaller of network and disks
//	copier    one copy of a client, by its own code or by a driver: a program such as xrdcp
//
// # Loads
//
//	sequential  write, then read by another client: a file per client, in synchronous transfers (IOR's pattern)
//	copies      put, get: every client copies all of its files at the same time, each as one stream (like many xrdcp)
//	random      reads of one block at random places
//	vector      readv requests of many blocks at random places
//	mixed       every client writes new files and reads others at the same time
//	small       create, open: small files made, then read whole
//	metadata    mdtest's phases: trees, directories and empty files made, looked at, opened, removed
//
// All clients begin a phase together. Its time ends when the last client has finished. Data cannot be compressed, and
// every byte read is compared with the byte written.
//
// # Files that it makes
//
// All files are in one new directory of the target, hemera-bench-ID. They are created exclusively, and their names are
// recorded; files with other names are never opened or removed. The files are removed also when the context has ended.
//
// # Order of a run
//
//  1. Run makes the directory of the run, and below it one for each layout.
//  2. For each number of clients the group joins: sessions and buffers.
//  3. In each iteration the phases run in the order of [Loads]. Files of sequential loads are read by random, vector and mixed.
//  4. At the end of an iteration its files are removed, outside of any time that is measured.
//  5. The group leaves; at the end the directories are removed.
//
// # Invariants
//
//   - A name is recorded before the file is made, so that an open that fails halfway leaves no file.
//   - No two files of a run have a page in common. A read that gets an older file, another place or another client's
//     data fails.
//   - The time of a phase is the wall clock from the start of all clients to the end of the last, as in IOR. It includes
//     opens and closes, and also making and comparing data, because a client of an experiment also computes.
//   - A phase that fails adds nothing. A load that the target does not support is skipped, and the result names it.
//
// # Interference
//
// [Interference] has a group for each target. A step is a phase of one group or of all, so that both are measured by the
// same code. Steps interleave: alone, together, after, so that a drift of the machines affects both sides of a ratio.
//
//   - The first group to finish sets over for all groups. Reads end after the present transfer,
//     writes after the present file, and a group's clock runs to the end of its own last client.
//   - Files to read are written once for each number of clients. Those of writes are new in each step, and removed
//     after it.
//   - Each iteration gives a ratio. The verdict needs all ratios, of at least three iterations.
//
// # Drivers
//
// A driver does the work of one client in a phase; clocks, names, verification and removal stay the same. Its processes
// are children of this one, so their processor time counts as time of the clients. A driver that is missing is skipped.
//
//   - ior and mdtest have tasks of their own, started by mpirun, so that they replace the phases of one number of clients
//     as a whole. Their output is parsed by pure functions and kept as raw output. The names of IOR's files are recorded;
//     mdtest's directory is new, and removed with everything in it.
//   - xrdcp copies from a pipe and to one. Its output goes to [contentWriter], which compares pages as they arrive.
//   - A process ends with the context of its phase: it is killed, and its pipes are closed within stopWait.
//
// # Peaks
//
// [Peak] is pure: nodes, a layout and a direction. It does not know the clients: if their network is the limit, give the
// nodes a smaller network.
//
// # Locks
//
// tree.mu guards names, and is not held during calls. A mutex of each phase guards its count.
//
// # Goroutines
//
// In a phase each client is a goroutine, and so is each further stream of copies and mixed. Each counts into memory of
// its own; the goroutine of Run adds the counts up when the phase has ended. Run blocks until all of them have ended.
package load
