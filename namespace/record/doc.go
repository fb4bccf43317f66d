// Package record is a transactional record store over a kv engine, for one process. It gives many concurrent callers
// serializable changes at the cost of one fsync for a group of them, views that take no lock, and a cache of decoded
// records. It knows nothing of files: what keys mean, which are cached and how records are encoded comes with [Schema].
//
// # Changes
//
// Changes run one after the other, in memory, in one goroutine at a time: the leader. Any caller that finds no
// leader leads, in its own goroutine. A leader runs the changes that wait, which become one group and one batch;
// gives the batch to the engine; makes it visible; and wakes the callers, which wait for the disk by themselves.
//
//	caller    Update ─ queue.push ─┬─ lead ───────────────────────────────────────────────────┬─ wait for the fsync ─ answer
//	                               └─ await: another caller leads ────────────────────────────┘
//	leader    newGroup ─ fill: run, run, … ─ turn.Wait ─ seal ─ handOver ─ send ─ turn.Release
//	                                                               │           ├ cache.begin   stripes become odd
//	next leader                                                    └ newGroup ─┤ Enqueue       the engine has it
//	                                                                 fill …    └ show          the cache has it, stripes even
//
// So two groups may be under way, one being made and one being sent. The group that is being made reads the changes
// of the one before it from memory. Changes that come while the group before is being sent join the open group.
//
// A change that fails is rolled back within its group and the others stay. Its answer waits for what it saw, too.
//
// # Views
//
// A view runs without a lock and notes a version number before and after: the number is odd while a group becomes
// visible, and moves on with each. If it changed, the view runs again; after a few times it takes the turn. A view
// remembers the newest batch that it saw anything of, and its answer waits until that is durable.
//
// # Invariants
//
//   - What is visible to views is in the engine: batches are enqueued first, then published to the cache.
//   - A cached record is never older than the engine's, and its sequence number never smaller than that of the batch
//     that wrote it (see cache).
//   - The log has consecutive numbers, in the order of commits, in the same batches as the changes they are about.
//   - A number of [Numbers] is handed out when the store durably says that it is taken.
//   - After a failed wait or a refused batch the store is dead: every call fails until it is opened again.
//
// # Order of locks, and what blocks
//
// The turn comes first: not a mutex, because its holder may wait for the engine (a full log, or a read
// from the disk by a view that took its turn). Next is showing, held over memory only; then the lock of a cache shard.
// The locks of the queue and of sending are taken alone. A change must not call Update, Take or Exclusive: it would
// wait for itself. The cost of a leader that reads the disk is paid by all changes, so callers read ahead in a view
// what their change will need.
//
// The store starts no goroutine but one that reserves numbers ahead. A panic in a change ends the process, as the
// change may be half done.
package record
