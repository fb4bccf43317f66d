// Package tape has the commands for tapes: drives, tapes, pools, storage classes and
// other objects of the configuration, queues, requests, and actions on files that are
// on tape. All ask the admin API.
//
// The nouns and the columns are those of cta-admin, because operators of tape systems
// know them; -j has the keys of its JSON, in the result list of all commands.
// Commands that CTA does not have explain (why, status), watch (top) and order
// (label, repack, reclaim, verify, scan, undelete).
//
// # Files of this package
//
//	drive.go    drives, and putting them up and down
//	tapes.go    tapes of the catalogue, and the files on one
//	objects.go  pools, classes, routes, organisations, policies, rules, media types
//	queue.go    queues, sessions and single requests
//	files.go    stage, release, evict, archive
//	orders.go   label, repack, reclaim, verify; retry and forget
//	scan.go     scan, undelete
//	status.go   status, why, top
//	show.go     show of all nouns
//
// One set of commands shows and changes all objects of the configuration. The
// manager knows their fields and checks them; this package shows the fields that it
// gets.
//
// # Lists
//
// Lists are tables for people, and records for programs: -j and -m have every field,
// tables only those that fit. Sizes are in bytes, ages and durations in seconds, times
// in seconds since 1970; an unknown value is 0 or empty. Enumerations are in upper case
// where CTA writes them so.
//
// # Durability
//
// A change is durable when the command reports it, except for drives that are put
// down: a restarted manager takes their state from the reports of their servers. An
// order is durable once its files are queued; the manager answers after that. A label
// that was ordered is forgotten if the manager restarts.
//
// # Scans
//
// A scan takes from minutes to days and does not depend on the command, which orders it
// and then asks once a second for its progress. Other commands do the same: the manager
// keeps the state of scans in memory, by tape. A file is in the catalogue as soon as it
// is counted, so an interrupted scan can be ordered again. A restarted manager has
// forgotten all scans.
//
// # One object
//
// show prints all fields of one object: lines for people, the keys of ls for programs.
// One function does this for all nouns, with the list that ls loads.
//
//   - Names are matched whole, without patterns, so that a script gets one object or an
//     error.
//   - A queue is named by the tape to read, or by the pool to write. A tape that is read
//     and verified has two queues of one name, and show prints both.
//   - Units are those of the table; for other fields the end of the name decides.
//   - The page of a drive, a tape or a queue is for people only. Programs use why and
//     session ls, whose records have keys of their own.
//   - show reads the whole list to find one object: it fits into one answer of the
//     manager, and costs one round trip.
//
// # Rights
//
// Users may stage and release the files that they may read, and archive those that they
// own, from any machine. All else is for admins. The manager decides this, not this
// package.
//
// # Sessions
//
// A session is the work of a drive between a mount and an unmount, and has the number
// of the mount.
//
//   - session ls has a line for each session: its data, its rate and its waits. It reads
//     the picture that the other lists are made of.
//   - session show has the samples of one session. They come by a call of their own,
//     because 200 sessions of 200 samples are too much for a list.
//   - Waits are sums since the start of the session; the wait in an interval is the
//     difference of two samples.
//   - Times are seconds for programs, and rounded for people.
//   - Samples cover the transfer only: mounts before it are in the sums of robot and tape.
//     A running session has no samples yet.
//   - The tape server tells disk and network apart. An archive waits for the network
//     while the answer of a node is on its way, and for disks until the answer begins.
//   - The rate of session ls includes the positioning, so a short session looks slow. The
//     samples show the rate of the streaming.
//   - A failed session says why in the last column. Its files are queued again.
//   - A value that the drive does not count, such as back-hitches, is 0 and not left
//     out, because programs need every key.
package tape
