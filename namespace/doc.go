// Package namespace is the tree of a cluster: directories, files, their attributes, the pieces that each disk holds,
// exact totals of every directory, quotas, and the log of events. It lives in one kv store and is its only writer.
// Every answer is durable before it is given.
//
// # Rooms
//
//	record    the engine: transactions, group commit, cache, views without locks; knows nothing of files
//	schema    keys and records, byte by byte
//	tables    typed access to records within a transaction, totals of directories
//	accounts  quotas: who uses how much, and whose limit says no
//	nscheck   works out again what is stored twice, and compares
//	namespace the rules of the tree: names, permissions, opens and commits, removal, pieces
//
// # Main types
//
// [Namespace] is a struct of parts. Each owns the state that only it changes:
//
//	Tree        names, directories, attributes
//	Writes      opens, commits, and writes that end without one; which writes are over or barred
//	Pieces      what disks hold and are to remove; how long removed content is held
//	Quotas      limits and usage; the counter
//	Bins        what was removed or replaced, and is kept; the rules of spaces
//	Lifecycle   what rules of directories change
//	Past        what restores and rebuilds have forgotten
//	Recovery    files that were lost, and are adopted
//	Inspection  figures, events and checks
//	Tapes       copies on tape, and the jobs that wait for one
//	Claims      what writes under way take of limits: opens add to it, changes read it
//
// A part names the others that it needs. All run their transactions on one engine. State of a part that a transaction
// must see is in memory (memory.go). Consumers take the small interfaces that they need, from [Namespace.Parts].
//
// Within a transaction the unexported type tx and its kinds (commitTx, openTx, pieceTx, writeTx, binTx, versionTx, adoptTx) hold the rules. A public method is a transaction:
// view for reads, update for changes, changes.run for changes that may need a directory made. A function of an update
// may run several times, in any caller's goroutine, and must not wait for another change.
//
// # Invariants
//
//   - A change and everything that follows from it are one batch: entry, location, totals of all directories above,
//     pieces and usage of disks, the incomplete index, quota accounts, and an event. nscheck computes them again.
//   - An id is never used twice. A generation is a number from the same sequence, larger than all the file had.
//   - Every entry is below the root or below the directory of bins, which count apart. No path leads into a bin.
//   - A piece is in a file's entry and its disk's list, or to be removed, or neither; never two of these.
//   - A write that was refused, or whose file was removed, stays refused while its commit may come again: a tombstone
//     under its number says so. A write that lost pieces to an audit is barred.
//   - The depth of directories is bounded, and so is the number of records that a change touches.
//
// # States of a write, as the namespace knows them
//
//	prepared   an id or a generation was handed out; nothing is stored. Most writes go from here to committed.
//	renamed    its file gets another name with the commit: a record by the write's number
//	barred     an audit removed a piece of it: a record by its number refuses the commit
//	committed  visible and durable
//	ended      refused, discarded, or removed soon after the commit: a tombstone by its number, for an hour
//
// The number of a write is the id of the new file, or the generation of the new content. A commit of a write that is
// neither renamed, barred nor ended, and whose id the cache knows to be new, reads nothing but its directory.
//
// # What is removed or replaced
//
//	for good      its pieces become unlinked, its records go
//	recycled      the entry moves to a bin: a directory of a tree beside that of the root (recycle.go, bins.go)
//	a version     a replaced file moves to a directory beside its name (versions.go)
//	in place      a write of a part, or of a file that nothing keeps, gives the file another generation
//
// [Tree.Remove], renames onto a file and commits decide between them, by attributes of the directories above and the rules of
// spaces. What is kept stays an entry with its id and its pieces. A commit that replaces a kept file is therefore one of a
// new file, which takes the old one's place (replacing.go). Directories that this needs are made by changes of their own
// (changes.go), and steps in the background hold the bounds of bins (binbounds.go).
//
// # What a reader sees, and when it gets an answer
//
// A view is one picture: all of a change or nothing of it. The answer waits until everything it saw is durable, so
// nothing visible can be lost. Listings and counts by disk read the store itself, page by page; each page is one
// picture, and is given when it is durable.
//
// After a failed wait for the disk the namespace is dead, because nobody knows what the store holds: every call
// fails with Unavailable, [Namespace.Failed] is closed, and only opening the store again helps.
//
// # Locks, goroutines and what blocks
//
// The package has no lock of its own but those of small tables in memory (dueTimes, expiring); no other lock is
// taken while one is held, and none is held over a call that waits. The order of changes is the engine's: see package
// record. Two goroutines run in the background: the quota counter, in the goroutine that calls [QuotaAdmin.RunQuotas],
// and, now and then, the reservation of a range of ids.
//
// Changes block for one or two fsyncs of the store. Reads of what is cached block only for what they saw that is not
// durable yet. Reads of what is not cached also read the disk.
//
// DESIGN.md has the reasons.
package namespace
