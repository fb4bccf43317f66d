// Package kv defines the ordered, durable key-value store of the namespace. Its interface is narrow, so that Pebble,
// PostgreSQL or TiKV can implement it. There is one writer at a time, fenced by its epoch. Reads need no isolation
// because the writer owns the caches and the locks.
package kv

import "context"

// Store is an engine. Keys have up to 1 KiB, values up to 1 MiB. The caller may reuse argument slices when a call
// returns; returned slices belong to the caller. Calls but Stats block for the device. All fail with Unavailable once
// the store is closed or its log has failed.
type Store interface {
	Reader
	// Acquire makes the caller the only writer: it increases and persists the epoch. From then on every older Writer
	// fails with Fenced.
	Acquire(ctx context.Context, owner string) (Writer, error)
	// Snapshot returns a reader of the store at this moment: with all batches enqueued before the call and none enqueued
	// after it. It blocks no other call, but prevents the engine from freeing values that were overwritten since, and the
	// store from closing: close it soon. It fails with Unavailable if the store is closed.
	Snapshot(ctx context.Context) (Snapshot, error)
	// Backup writes a consistent copy to an empty directory while the store is in use. It fails with Unsupported if the
	// engine has its own backup.
	Backup(ctx context.Context, dir string) error
	// Stats returns the engine's counters.
	Stats() Stats
	// Close makes durable what was enqueued, and waits for reads and snapshots. It fails if that cannot be written. A
	// second call returns at once.
	Close() error
}

// Reader reads batches that are durable, or that this process enqueued. Calls block for the device, but for what is
// in its caches. Unavailable if the store is closed.
type Reader interface {
	// Get fails with errs.NotFound if there is no such key.
	Get(ctx context.Context, key []byte) ([]byte, error)
	// GetMany returns the values in the order of keys, nil for missing ones.
	GetMany(ctx context.Context, keys [][]byte) ([][]byte, error)
	// Scan calls visit for lo <= key < hi in order until visit returns false. Key and value are valid during the call
	// only. A nil hi means no upper bound.
	Scan(ctx context.Context, lo, hi []byte, visit func(key, value []byte) bool) error
}

// Snapshot is the state of a store at one moment.
type Snapshot interface {
	Reader
	// Close releases it. All its reads must have returned before. It returns at once, and fails only if the engine
	// does.
	Close() error
}

// Writer commits batches.
type Writer interface {
	Epoch() uint64
	// Enqueue orders the batch after all batches enqueued before and makes it readable at once. It does not wait for the
	// device, but blocks while the engine is behind with its tables. When it returns, the caller may reuse the batch and
	// its slices. It fails with Fenced. The batch is durable when its ticket says so.
	Enqueue(b *Batch) (Ticket, error)
	// LastSeq returns the sequence number of the last durable batch, from the engine. It answers from memory, or asks
	// the engine: Unavailable if that cannot be reached.
	LastSeq(ctx context.Context) (uint64, error)
}

// Ticket is a batch on its way to stable storage.
type Ticket interface {
	Seq() uint64
	// Wait returns nil once the batch and all before it are durable. After any error the writer is unusable: the outcome
	// of this and later batches is unknown until the store is acquired again.
	Wait(ctx context.Context) error
}

// Batch is an atomic list of changes: at most 4,096 operations and 1 MiB.
type Batch struct{ Ops []Op }

// Op puts Value at Key, or deletes Key.
type Op struct {
	Key, Value []byte
	Delete     bool
}

// Put appends a put. The caller must not change the slices before the batch is enqueued.
func (b *Batch) Put(key, value []byte) { b.Ops = append(b.Ops, Op{Key: key, Value: value}) }

// Delete appends a deletion. It is not an error if the key is missing.
func (b *Batch) Delete(key []byte) { b.Ops = append(b.Ops, Op{Key: key, Delete: true}) }

// Stats has the engine's counters.
type Stats struct {
	Bytes int64 // on disk
	Syncs int64 // since it was opened
	// CacheBytes is the memory for cached blocks and for data that waits to be written, CacheMax its bound.
	CacheBytes, CacheMax int64
}
