// Package load measures the performance of clients over their interfaces: root:// servers, and directories of any mounted
// file system. It is the level "io" of `hemera bench`, and "interference".
//
// # Parts
//
//	Options   how many clients, files and bytes, which loads, and where
//	Target    what one client does: make, open, remove; servers.go has root://, directory.go a file system
//	group     the clients of one target, with the directory that they work in
//	phase     what all clients do at the same time, with one clock
//	Peak      what the hardware allows in theory: per node the smaller of network and disks
//	copier    one copy of a client, by its own code or by a driver: a program such as xrdcp
//
// # Loads
//
//	sequential  write, then read by another client: a file per client, in synchronous transfers (IOR's pattern)
//	copies      put, get: every client copies all of its files at the same time, each as one stream (what many xrdcp do)
//	random      reads of one block at random places
//	vector      readv requests of many blocks at random places
//	mixed       every client writes new files and reads others at the same time
//	small       create, open: small files made, then read whole
//	metadata    mdtest's phases: trees, directories and empty files made, looked at, opened, removed
//
// All clients begin a phase together. Its time ends when the last client has. Data cannot be compressed, and every byte
// that is read is compared with what was written.
//
// # What it makes
//
// Everything is in one new directory of the target, hemera-bench-ID. Files are made exclusively, and their names are
// kept; what has other names is never opened and never removed. Removal also happens when the context has ended.
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
//   - A name is noted before the file is made, so that an open that failed halfway leaves nothing.
//   - No two files of a run have a page in common. A read that gets an older file, another place or another client's
//     data fails.
//   - What is measured is the wall clock from the start of all clients to the end of the last, as IOR does it. Opens
//     and closes are within; making data and comparing it are, too, because a client of an experiment also computes.
//   - A phase that fails adds nothing. A load that the target does not have is skipped, and named.
//
// # Interference
//
// [Interference] has a group for each target. A step is a phase of one group or of all, so that both are measured by the
// same code. Iterations interleave: alone, together, after; a drift of the machines is in both sides of a ratio.
//
//   - The first group whose last client is done sets over for all groups. Reads end after the present transfer, writes
//     after the present file, and a group's clock runs to the end of its own last client.
//   - Files to read are written once for each number of clients. Those of writes are new in each step, and removed
//     after it.
//   - A ratio is of one iteration. The verdict is of all ratios, and needs three iterations at least.
//
// # Drivers
//
// A driver replaces what one client does in a phase; clocks, names, verification and removal stay. Its processes are
// children of this one, so that their processor time counts as the clients'. A driver that is missing is skipped.
//
//   - ior and mdtest have tasks of their own, started by mpirun, so that they replace the phases of one number of
//     clients as a whole. Their output is parsed by pure functions and kept as raw output. IOR's files are noted by their
//     names; mdtest's directory is new, and removed with everything in it.
//   - xrdcp copies from a pipe and to one. What it writes goes to [contentWriter], which compares pages as they come.
//   - A process ends with the context of its phase: it is killed, and its pipes are closed within stopWait.
//
// # Peaks
//
// [Peak] is pure: nodes, a layout and a direction. It knows nothing of clients: if their network is the limit, say so
// with a smaller network of the nodes.
//
// # Locks
//
// tree.mu guards names, and is held over no call. The count of a phase is added up under a mutex of that phase.
//
// # Goroutines
//
// Each client is a goroutine in a phase, the streams of copies and mixed are more. Each counts into memory of its own;
// the goroutine of Run adds up when the phase has ended. Run blocks until everything has ended.
package load
