// Package accounts keeps what users, groups and projects use of a tree, and says whose limit refuses more.
//
// # Quota nodes, realms and accounts
//
// A directory with limits is a quota node, and its entry says so: a change that meets no such directory on its way
// from the root costs nothing for quotas.
//
// A file counts for its user and its group at the nearest active node above it; the files that count at one node are
// its realm. What they use is kept in a set of accounts, each changed in the same batch as the files, so that usage
// is exact at any time. Limits of a project need no accounts: the directory's tree totals are its usage.
//
// # States of a node
//
// The usage of a new node has to be counted, while changes go on. [Counter] does that, one node after the other:
//
//	waiting → counting → merging → exact       a node with limits
//	counting → ending → waiting                counting was cut off
//	exact → ending → no node                   the last limit was removed
//
// Counting begins with a snapshot of one instant. From that instant on, changes below count in the node's new set;
// what the snapshot has is added up in a side set, which then moves into the node's set and out of the one above.
// Sums may be negative until both are put together. Each step is one change or several, and can be cut off anywhere:
// what is under way is in the node's record, and no account is ever added twice. Limits of users and groups hold when
// the node is exact; those of projects always.
//
// An example: user 7 has 30 files below /exp, and gets a limit there. Set 100 becomes the node's and set 101 the side
// set. While the snapshot with 30 files is counted, the user removes two: set 100 says -2. The count writes 30 to
// set 101. Then that account moves: set 100 says 28 and set 101 is empty. If a node is above /exp, its set still
// has the 30 files of that instant, and loses them in the same change.
//
// # Invariants
//
//   - The sum of all sets is what all files below quota nodes use, at any instant, whatever is being counted.
//   - A file is in at most one realm. A node in a realm begins a realm of its own; its files leave the one above.
//   - At most one node is being counted, merged or ended. The next one begins when it is exact or gone.
//   - An account that comes to nothing has no record.
//   - A directory with files does not leave its realm: what its users have in it is not known without counting.
//
// # Where limits are enforced
//
// At the open, with [Ledger.Standing] and [Claims.Take]: a write claims what it announces, and claims of writes under way count beside
// the usage. All other changes gather what they charge in a [Judge]: a commit, a rename, a restore, a change of owner, with everything
// that moves along. When such a change is complete, before it is stored, [Ledger.Decide] judges it as a whole: it may take no more of a
// limit than is left beside the claims. What a commit's own open claimed there is promised to it. Repairs, recalls and removals are
// charged and never refused. The rule itself is package quota, which is pure.
//
// # Parts
//
//	Ledger   accounts and limits within a transaction: charges, the decision
//	Judge    what one change charges, until it is complete
//	Claims   what writes under way take of limits, and changes that are not visible yet; in memory
//	Node     the limits of one directory, for a change of them
//	Counter  the background work that makes usage exact
//	List     rows for an admin, out of one picture of the store
//	Check    counts every realm again, and compares
//
// Usage is signed and exact, limits are never negative; an amount of a limit that is zero limits nothing. All three
// amounts, files, bytes and physical bytes, are charged together.
//
// [Ledger] is a view of a transaction and belongs to its goroutine. [Claims] has one lock, below those of the manager and of the
// records, which is held over memory only. Counter may be called from any goroutine; its token
// is held while nodes are counted, which takes minutes for large trees, and nothing waits for it but other counts.
package accounts
