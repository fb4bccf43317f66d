// Package mounting decides what a tape drive does next: which tape it mounts and for which queue, whether it keeps the tape that is mounted, or unmounts
// it. Every decision has its reason in words, and so has every queue that waits. It is pure: the caller gives a [Picture] with its time.
//
// # Queues
//
// A queue is all jobs of one kind that can be done with one mount: those that write to a tape pool, or those that read from one tape. It is
// worth a mount when enough bytes or files wait, or when the oldest job is older than its mount policy says. Bytes and files are divided by the
// mounts that work on the queue already, so that a second drive comes only when there is enough for two. The age makes sure that
// few files do not wait for ever.
//
// # Order
//
// Of the queues that are worth a mount and can be served by a drive, the one with the highest priority goes first; of equal ones those that archive before
// those that recall, then repack, then verify; then the one with the oldest job. Priorities are strict: while work of a higher one waits for all drives, work of a lower
// one does not begin.
//
// A drive with a mounted tape does what waits for that tape without a look at bytes, files and age: the mount is paid. It leaves the tape for work
// of a higher priority, or of the same one after a turn ([Criteria]); queues of one tape take turns likewise. When nothing waits it lingers, because the next file often comes a moment later.
//
// # Invariants
//
//   - A tape is in one drive at most, and is not chosen for another one while it is.
//   - An organisation never has more drives than its limit, for reading and for writing each.
//   - What is disabled is not chosen: drives, libraries, tapes.
//   - A tape whose encryption key is missing is not read or added to, and no tape is begun for a pool whose key is missing ([Lock]).
//   - Reading for users needs room in the disk buffer; writing never does.
//   - A pool has as many tapes that are partly full, in each library, as it may have. Empty ones come from the pool, then from its supply pools.
//
// # Use
//
// [New] indexes a picture; [Board.Decide] answers for one drive, and [Board.Begin] notes that the drive does so. [Board.Continue] says whether a session
// that is running gets more jobs. [NextJobs] picks the jobs, fairly between users. [Board.Explain] and its like say why something waits.
package mounting
