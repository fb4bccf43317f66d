// Package session is what happens between a mount and an unmount: an archive session writes files from disk to a tape, a recall session reads
// files from a tape to disk or verifies them. Jobs, files, results and time come through interfaces; the tape is a volume.
//
// # Promises
//
//   - The journal hears of a tape file after the flush that made it durable, and of a recall after its commit. Jobs that no report names
//     are as they were, and their giver gives them out again.
//   - A file whose checksum or size is not that of the catalogue is never reported as written, and never committed.
//   - One file that cannot be read from disk, or from tape, fails alone. An error of the tape while writing ends the session.
//   - Memory is bounded: Limits.Buffers buffers of Limits.Chunk bytes, and the jobs of two batches.
//
// # Archive
//
//	planner ---> unit: reads ahead, sums ---> tape goroutine ---> flush, then journal
//	 jobs        a window of reads each       in the order of the jobs
//
// The planner takes jobs in order and makes units of them: a file, or many small files that become one container. Each unit gets its
// buffers before it starts, in order, and keeps them until it is on tape. So the unit that the tape waits for always has what it needs, and
// those behind it read ahead with the rest. Within a file several reads are outstanding; checksums are computed beside the tape goroutine.
//
// A file that fails before its first byte takes no place on tape. One that fails later is ended as a dead file, because numbers on tape
// have no gaps. At the early warning of the end of the tape the file under way is ended as dead unless little of it is left; what is
// complete is flushed and reported, and all other jobs are given back.
//
// # Recall
//
//	tape goroutine ---> a writer for each file: sums, writes, verifies, commits ---> journal
//	 in the order of the jobs
//
// The tape goroutine fills buffers and hands them to the writer of the file. It waits for disks only if all buffers are full. A writer
// whose disk fails tells the tape goroutine, which goes on with the next file.
//
// # Cancelling
//
// A context that ends stops an archive session between two buffers: the file under way becomes dead, what is complete is flushed and
// reported, and Archive returns the context's error. A recall aborts the files under way.
package session
