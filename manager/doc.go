// Package manager is the service that holds the namespace, knows the cluster and decides where files are. It answers
// clients (Names, Directories, Attributes, Files), nodes (Control, CopyRules) and admins (the Admin interfaces, Observer).
// Protocols are the doors' business.
//
// # Parts
//
// [Manager] is a struct of named services, one for each interface. [New] makes what they share, and hands each the parts that it
// needs (build.go):
//
//   - Names, Directories and Attributes are the namespace itself behind one type each: changes wait until the store is known
//     to be current (names.go), every call is timed (operations.go);
//   - Files opens (open.go): access by the namespace, policy by rules/policy, disks by rules/place (place.go), quotas, and
//     then the lock of the name. reader (read.go) grants reads. locator finds pieces and checksums. ownWrites (own.go, move.go)
//     is how a process finds and renames what it is writing itself;
//   - Control (control.go, trust.go) is what nodes ask: registration, heartbeats, orders, commits;
//   - netwatch keeps what nodes count of their networks; watchNetwork (network.go) has it judged every 10 s and puts the
//     weights into the cluster's views;
//   - Admin, Maint, Quotas, Writes, Status, Observer, Rebuild, Conversions and Recycle are what admins and users ask. judge
//     (judge.go) and the standings of files (standing.go) are what several of them answer from;
//   - the tape tier serves its own interfaces. grants (convert.go, tape.go) permits it, and the maintenance, to read and write files.
//
// # What is durable
//
// The namespace and the cluster's records are durable. An open is not: it lives in the table of pending writes, which dies
// with the process, and in its signed capability, which can still be committed after a restart. Between two writers of one
// name the generation that a commit must replace decides, so a lost table loses locks but no data. Heads announce their writes
// to the next process, which gives them their locks again (announce.go).
//
// # An open and its commit
//
// An open for writing reads the directory and its quotas (Prepare), decides and places, then takes the lock of the name and
// books its claim on the quotas in one step (pending.begin). What it read may be outdated by then: errOutdated makes it try
// again, a bounded number of times. The node that gathers the write commits with the capability. The commit counts the
// quotas again in its transaction, without the claim of this write, which it names by id, and frees the lock when the outcome is
// known. Capabilities are signed when another process has to see them, not before.
//
// # Conversions
//
// The manager permits conversions to itself (convert.go): a write of the content that a file has, in another form, which a
// node makes by an order. It is in no table, holds no lock and claims no room, so that it is in nobody's way. Its commit is
// told from others by its capability, and differs in three things (converting.go, namespace): it is refused while
// somebody writes the file; it has to have the content of the file by all checksums, and changes nothing else of the entry;
// and while it is made, opens to write the file wait, since they would begin from a generation that is gone. It is counted
// against quotas as a whole, as it claimed nothing before.
//
// # Lifecycle rules
//
// Attributes of directories make rules (rules/lifecycle); the engine follows them. The manager keeps the list of those
// directories up to date when attributes change (lifecycle.go), removes what expires unless somebody writes it, and notes the
// days on which files are read where a rule asks for them (readnotes.go): an open only puts an id into a bounded set, which
// another goroutine writes to the namespace once a minute.
//
// # States of a write
//
//	begin -> granted --- its head reports it ---> open <-> detached
//	            |                                  |          |
//	            +----------------------------------+----------+---> over
//
// A write of an earlier life of the manager begins as open or detached, when its head announces it (resume).
//
// A write is over after Commit, Abort or Discard, when an admin frees it (FreeWrite), when its time ends (look), when its
// head says that it does not have it (hear), or when another writer may take its lock (taker). Then pending.drop gives back
// the lock, the claim on quotas, the place among the writes of its user and session, and its count at the disks. What the
// head holds is not touched: it may still try to commit, and the generation decides.
//
// # Which error a client gets
//
//   - Unavailable: it may work within seconds. Nodes are returning (returning.go), room is being made, the store is not
//     known to be current, or the head of a writer that seems to be gone has to answer first. Clients wait and ask again. For
//     the first and the third the error is a [hemera.NotYet], by which a door waits for them.
//   - NoReplicas, NoSpace: as the cluster is, it does not work. A client that has tried nodes is sent elsewhere first.
//   - Locked, or Exists for an exclusive create: another writer has the name.
//   - Conflict: what the client continues is gone, so it has to begin again: a content that was replaced, a write that was
//     barred, a commit that lost to another.
//   - OverQuota, Overloaded: a limit of users, or a bound of the process. Both name the setting or the command to change it.
//
// # Invariants
//
//   - A piece is never recorded on a disk that left the cluster: a change carries the version of the set of disks that it was
//     decided on, and the namespace compares it in the transaction. A disk that leaves begins a new version first (removal.go).
//   - A node acts only on writes whose head it is, and learns only of files that it has a piece of (trust.go).
//   - A change of the namespace is refused while the store may be older than the cluster (cluster.Marks.AwaitCurrent).
//   - Nothing is forgotten of a write while its outcome is undecided.
//
// # Locks
//
// In this order: a stripe of the pending table (only lockBoth holds two, in the order of their numbers); below a stripe the locks
// of holders, processes, settled and the claims of quotas (package accounts), which take no other. Every lock guards memory only.
//
// # Goroutines and blocking
//
// [Manager.Run] has one for each: the cluster, the engine, the sweep of pending writes, the judgement on networks, the counting of new
// quota nodes, the notes of accesses, the bounds of recycle bins, the sweeper of the tape tier.
// Checksums that are not stored are computed in goroutines of their own, bounded for all and for each user (sums). Stat,
// List and opens for reading wait for nothing but the namespace's cache. Changes wait for the store's sync. OpenFiles,
// CheckFile, Fsck and Checksum wait for nodes, within bounds.
package manager
