// Package tapetier is the manager's part of the tape tier: it keeps the configuration, knows the
// libraries and their drives, decides what each drive does next, hands jobs to mounts, records what
// they did, and brings files to disk for those who ask.
//
// # Where things are
//
//	configuration, tapes, tape files, jobs   durable, in the namespace (core/namespace/tapes)
//	libraries, drives, mounts                in memory: tape servers tell them again
//	requests to stage                        durable, in the namespace
//
// After a restart the manager knows no mount. A session that was under way may still report what it
// has made durable: the fSeq of its tape decides whether that is recorded. It gets no more jobs, so
// it ends, and its drive asks for work again.
//
// # Who may do what with a tape
//
// A tape is in one library, and one server alone has the library. So a tape is in one drive, and
// two mounts of it cannot be. What a mount was given is given to no other one until it ends, its
// drive asks for something else, or its server has no lease any more.
//
// # Errors
//
// Jobs that fail are tried again later, and recalls from another copy. After some attempts they
// have failed: they stay where people see them, with the error, until somebody has them tried
// again.
package tapetier
