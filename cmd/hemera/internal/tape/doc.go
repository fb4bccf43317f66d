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
// # Rights
//
// Users may stage, release and archive what they may read or own, from any machine.
// All else is for admins; the manager decides, not this package.
package tape
