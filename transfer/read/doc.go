// Package read reads committed files at a node: every page is verified, and a piece that is bad, slow or away is replaced by others.
//
//   - [Reader] is one file. It reads one replica and changes to another when that fails.
//   - Of a coded file it reads the columns that have the bytes (columns.go), and computes what cannot be read (stripes.go, degraded.go,
//     package rowcache).
//   - A piece that is slow is read once more without a limit when the others are not enough (hedge.go, pace.go).
//   - The pieces of the file, which of them are open, and which are bad (replicas.go) are below all of these.
//   - [Shared] is what all readers of one node share.
//
// No byte is returned that does not match the CRC of its page, or that was computed from such bytes. A file is open at its node
// until Close; reads that were hedged may end later, in the background.
//
// A read in progress ends at the latest when its pieces have answered or were left out: disks and peers have deadlines of their own. After a
// stalled call its buffers are the device's (see [hemera.KeepsBuffers]), so such a read fails, and the next one goes elsewhere.
//
// The pieces count the calls in progress (calls.go), which keep them open, and have a mutex over their states. One
// call opens a replica; others that need it wait on a channel, and all that can read another open one do. All locks are leaves; none is
// held over a disk or another node.
package read
