// Package cluster knows the nodes, disks and spaces: what an admin decided about them, which is durable in the manager's
// kv store, and what nodes last reported, which is not. From both it makes an immutable [hemera.View], on which every
// decision of the manager is made.
//
// # Leases
//
// Each registration gives a node a new epoch, its lease. The lease ends with the next registration or after
// [hemera.HeartbeatTimeout] of silence by the monotonic clock. Calls under an ended lease are Fenced, and the node
// registers again. Epochs are durable, so they never repeat.
//
// # Parts
//
// [Cluster] is a struct of named services: [Leases] (registration, heartbeats), [Admin] (what admins set), [Keys] (that sign
// capabilities), [Surveys] (audits, scrubs, backups), [Marks] (whether the store is as new as the cluster) and [Tokens] (join
// tokens). Each kind of record has one table in memory, and a service gets the tables that it reads or changes:
//
//	roster        nodes, disks, spaces, wishes for disks, removals, the next ids: Leases and Admin change them together
//	keyTable      Keys
//	surveyTable   Surveys
//	historyTable  Marks
//	tokens        in the store alone: Tokens
//
// The journal makes changes of records durable and then true in the tables; it has the turn and the mutex that order access. The
// viewer makes views of the roster, the surveys and the reports of nodes.
//
// # How a change is made
//
// A change takes the turn (platform/turn), which one change has at a time. It decides with the mutex held, stores its records
// without it, and applies them to memory with it again. So:
//
//   - the mutex guards memory only. A store that syncs slowly holds up other changes, but no heartbeat, no view and no
//     end of a lease;
//   - nothing else changes records between a decision and its application, as only the owner of the turn does;
//   - reports and leases may change meanwhile. A decision that used them is as good as one made a moment earlier;
//   - if the store fails, memory has what is known to be durable, and the caller gets the error.
//
// Take the turn before the mutex; never wait while holding the mutex.
//
// # Views
//
// Each change of a record makes a new view at once. Reports of nodes do so too, but in a cluster of more than a thousand
// disks at most ten times a second: a view costs about a microsecond a disk. A view is never changed after it was
// published; readers take a pointer and no lock.
//
// # Goroutines and blocking
//
// [Cluster.Run] has two: one ends leases and publishes late reports twice a second, the other makes the changes that time
// brings (keys, scrubs, old removals) and may wait for the store. [Cluster.View], [Leases.Member], [Marks.Current]
// and [Marks.Deciding] never block. [Leases.Heartbeat] and [Leases.Check] take the mutex only. Everything that changes a record waits for
// the store's sync.
//
// # Keys in the store
//
// All begin with [Prefix]; values are JSON, and unknown fields are ignored.
//
//	node/<8 hex id>   nodeRecord
//	disk/<8 hex id>   diskRecord
//	space/<name>      spaceRecord
//	attach/<8 hex node>/<path>  attachRecord: a disk an admin added that its node has not taken yet
//	token/<hex sha256 of the token>  auth.TokenRecord
//	key/<8 hex id>    keyRecord: a capability key
//	authority         authorityRecord: which certificate authority the cluster has
//	next              the next node and disk ids; ids are never reused
package cluster
