// Package tier is the manager's part of the tape tier: it keeps the
// configuration, knows the libraries and their drives, decides what each
// drive does next, hands jobs to mounts, records what they did, and
// brings files to disk for those who ask.
//
// # Where things are
//
//	configuration, tapes, tape files, jobs   durable, in the namespace (tape/catalogue)
//	libraries, drives, mounts                in memory: tape servers tell them again
//	the last mount of each drive             durable too, in the namespace: whose results count (issued.go)
//	requests to stage, orders of admins      durable, in the namespace
//
// # What a restart of the manager keeps
//
//	jobs, requests, pins      as they were; what a mount had is given out again
//	repacks, verifications    go on where they were (the tape's record says how far)
//	labels that were ordered  in the tape's record until a drive has written the label
//	scans                     that had not ended begin again; how the others ended is known
//	drives that are down      in the configuration, until an admin puts them up
//	figures of sessions       begin again
//
// After a restart the manager knows of each drive the last mount, and not its
// jobs. A session that was under way may still report what it has made
// durable: the fSeq of its tape decides whether that is recorded. It gets no
// more jobs, so it ends, and its drive asks for work again. Results of any
// other mount are refused.
//
// # Who may do what with a tape
//
// A tape is in one library, and one server alone has the library. So a
// tape is in one drive, and two mounts of it cannot be. What a mount was
// given is given to no other one until it ends, its drive asks for
// something else, or its server has no lease any more.
//
// # The life of a mount
//
//	NextMount    the rules choose a tape and a queue; the drive has the mount
//	TapeJobs     jobs of the queue, users in turn; none: the session ends
//	TapeGrant    for each file, when its turn comes: where to read or write it
//	TapeDone     what is durable on tape is recorded, what failed is decided on
//	TapeDone     with Ended: what is left of its jobs is free for others
//	NextMount    the same tape for more work, another one, or unmount
//
// # The life of a file
//
//	commit      the namespace queues a job for each copy of the class
//	TapeDone    the copy is in the entry
//	NextMount   what the session wrote is read back (readback.go); when all copies were, the disk copies may go
//	Evict       by a release, an admin, or at once where the directory says so
//	Stage       a recall is queued at the tape with the best copy; also by an open
//	TapeGrant   a conversion's capability: the node's commit proves all checksums
//	commit      on disk again, under another generation, with its tape copies
//	removal     the rows of its tapes are dead, and can be undeleted until a reclaim
//	Undelete    a file on tape only, of dead rows
//	Scan        the same, of what a tape tells that the catalogue does not have
//
// # A file whose disks are lost
//
// Tape is another copy of a file, so a file that no disk can give is not
// lost: its disk copies go, and it is recalled (staging.go, Instead). The
// manager decides which files these are, as it knows disks and pieces
// (manager/fromtape.go). All tape copies have to be there, as for
// any eviction: the rule is in the transaction that removes the disk copies.
//
// # A new tape
//
// A tape that was never written gets its label by a mount of its own, with
// the queue in its record that it is for (mount.ahead). Until the label is
// written the drive counts as one that works for this queue: the next idle
// drive does not begin another new tape for the same few files.
//
// # Names of tapes
//
// A VID has one to six characters, which are the key of its records. A
// longer name has the key of the tape that it begins with, so the catalogue
// (tape/catalogue) refuses it before it looks.
//
// # State
//
// Each field has one owner, which has a lock of its own. What others need of it they get as a value.
//
//	settings     the configuration, an immutable value; one change at a time makes the next (settings.go)
//	libraries    what tape servers reported; a fleet is all of it, as of one moment (libraries.go, fleet.go)
//	mounts       mounts, drives, given jobs, sessions: a step machine without I/O (mounts.go, decide.go)
//	buffer       room on disks, and what of it each mount has: part of mounts, under their lock (buffer.go)
//	scans        scans that were ordered, and whether their records are written; each scan changes itself (scans.go)
//	issued       the record of each drive's last mount (issued.go)
//	stages       requests to stage that are remembered (stages.go)
//	diskCopies   tapes that came back, whose files may lose their disk copies (evict.go)
//
// # Parts
//
// Parts do one kind of work each, with the state that they name: configurer, servers, dispatcher, giver, recorder,
// scanner, stager, reporter, orderer and sweeper. They do the I/O around the steps. [Tier] is a struct of them, whose fields the
// manager and its doors call. [Control] is what tape servers call, behind their leases.
//
// One decision goes this way: the inventory reads the facts from the store, mounts decide and note what comes of it,
// and the dispatcher stores the mount before its drive hears of it. If that fails, it ends the mount.
//
// # Sessions
//
// A session reports its figures with each part that is durable, and once more
// at its end, then with its course: at most 200 samples. The last 200 sessions
// are kept in memory, and sums by drive and kind since the start.
//
//   - The list in a picture has no courses: they are asked for one by one.
//   - Sums have the session under way too, as the drive's server reported it
//     last. A session that has ended counts by its last report alone.
//   - Sums never fall while the manager runs, so they are counters of
//     Prometheus. A restart begins them again, which Prometheus expects.
//   - Mounts that moved no file and met no fault are not sessions: a tape that
//     is labelled, or mounted for a queue that was empty by then.
//
// # Locks
//
// Their order, from the first to the last:
//
//  1. the turn of settings. It is a turn and not a mutex, as its holder writes to the store: a change of the
//     configuration, the records of scans, and what was written with a key.
//  2. the mutex of mounts
//  3. the mutex of libraries, which mounts take to see what is reported now
//
// The mutexes of scans, issued, stages, diskCopies and the bell are held alone, with none below them. All mutexes guard
// memory only: none is held over a call to the namespace. A scan and its mount are in two places. The
// mount is made first, and a mount that ends loses its scan; so a scan that was cancelled meanwhile ends the mount, and
// a mount that ended meanwhile has the scan wait again.
//
// # Errors
//
// Jobs that fail are tried again later, and recalls from another copy.
// After some attempts they have failed: they stay where people see them,
// with the error, until somebody has them tried again.
package tier
