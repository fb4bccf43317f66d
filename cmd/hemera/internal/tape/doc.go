// Package tape has the commands for tapes: drives, tapes, pools, storage classes and
// what belongs to them, queues, requests, and what is done with files that are on
// tape. All ask the admin API.
//
// The nouns and the columns are those of cta-admin, because the people who run tapes
// know them; -j has the keys of its JSON, in the result list of all commands.
// Commands that CTA does not have explain (why, status), watch (top) and order
// (label, repack, reclaim, verify, scan, undelete).
//
// # Where a command is
//
//	drive.go    drives, and putting them up and down
//	tapes.go    tapes of the catalogue, and what is on one
//	objects.go  pools, classes, routes, organisations, policies, rules, media types
//	queue.go    queues, sessions and single requests
//	files.go    stage, release, evict, archive
//	orders.go   label, repack, reclaim, verify; retry and forget
//	scan.go     scan, undelete
//	status.go   status, why, top
//	show.go     show of all nouns
//
// Objects of the configuration are shown and changed by one set of commands: the
// manager knows their fields and checks them, and this package shows what it is
// given.
//
// # Output
//
// Lists are tables for people, and records for programs: -j and -m have every field,
// tables those that fit. Sizes are bytes, ages and durations seconds, times seconds
// since 1970; what is not known is 0 or empty. Enumerations are upper case where
// CTA has them so.
//
// # What is durable
//
// A change that a command reports is durable. Drives that are put down are the
// exception: a manager that is started again takes them as their servers report
// them. Orders are durable once their files are queued, which is when they are
// answered; a label that was ordered is forgotten with the manager's process.
//
// # Scans
//
// A scan takes from minutes to days and goes on without the command, which orders it
// and then asks once a second how far it is. So does any other command: what is known
// of a scan is in the manager's memory, by tape. What was found is in the catalogue
// as soon as it is counted, so a scan that was cut off is ordered again. A manager that
// was started since knows nothing of it, and of no scan before.
//
// # One object
//
// show has all fields of one object, for people in lines and for programs with the
// keys of ls. It is made by one function for all nouns, from what ls loads.
//
//   - Names are matched whole: no patterns, so that a script gets one object or an
//     error.
//   - A queue is named by the tape that is read, or by the pool that is written. A tape
//     that is read and verified has two queues of one name, and both are shown.
//   - Units are those of the table; fields that the table has not get theirs by
//     the end of their name.
//   - The page of a drive, a tape or a queue is for people only. Programs ask why and
//     session ls, whose records have keys of their own.
//   - Lists are read whole to find one object: they fit into one answer of
//     the manager, and a person waits for one round trip.
//
// # Rights
//
// Users may stage, release and archive what they may read or own, from any machine.
// All else is for admins; the manager decides, not this package.
//
// # Sessions
//
// What a drive did between a mount and an unmount is a session, known by the
// number of its mount.
//
//   - session ls has a line for each: how much, how fast, and what was waited
//     for. It reads the picture that the other lists are made of.
//   - session show has the samples of one. They come by a call of their own,
//     because 200 sessions of 200 samples are no answer to a list.
//   - Sums of waits are told as they are; who wants the waits of a stretch of
//     time takes the difference of two samples.
//   - Times are seconds for programs, and rounded for eyes.
//   - The course is that of the transfer: mounts before it are in the sums of
//     robot and tape only. A session under way has none yet.
//   - disk and network are told apart by the tape server. An archive waits for
//     the network while the answer of a node is on its way, and for disks until
//     it begins.
//   - The rate of session ls has the positioning in it, so a short session
//     looks slow. The samples show the rate of the stretch that streamed.
//   - A session that failed says why in the last column, and its files are
//     queued again.
//   - What is not counted by a drive, such as back-hitches, is 0 and not left
//     out: programs need every key.
package tape
