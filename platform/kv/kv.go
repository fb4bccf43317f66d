// Package kv is the ordered, durable key-value store under the namespace, behind one narrow
// interface so that Pebble, PostgreSQL and TiKV can stand behind it. There is one writer at a time,
// fenced by its epoch; reads need no isolation because the writer owns the caches and the locks.
package kv

import "context"

// Store is an engine. Keys are up to 1 KiB, values up to 1 MiB. Slices handed in may be reused when
// the call returns; slices handed out are the caller's.
type Store interface {
	Reader
	// Acquire makes the caller the one writer: it bumps and persists the epoch, and every older
	// Writer fails with Fenced from then on.
	Acquire(ctx context.Context, owner string) (Writer, error)
	// Snapshot is a reader that stays on the picture of now: all that was enqueued before the call,
	// nothing enqueued after it. It holds up nobody, but keeps what was overwritten since from being
	// given back, and the store from closing: close it soon. Unavailable.
	Snapshot(ctx context.Context) (Snapshot, error)
	// Backup writes a consistent copy to an empty directory while the store is in use.
	// Unsupported where the engine has its own means.
	Backup(ctx context.Context, dir string) error
	// Stats counts what the engine holds.
	Stats() Stats
	Close() error
}

// Reader reads what is durable, or enqueued by this process.
type Reader interface {
	// Get fails with errs.NotFound.
	Get(ctx context.Context, key []byte) ([]byte, error)
	// GetMany answers in the order of keys, nil for the missing.
	GetMany(ctx context.Context, keys [][]byte) ([][]byte, error)
	// Scan calls visit for lo <= key < hi in order until visit returns false. Key and value are
	// valid during the call only. A nil hi means to the end.
	Scan(ctx context.Context, lo, hi []byte, visit func(key, value []byte) bool) error
}

// Snapshot is one picture of a store.
type Snapshot interface {
	Reader
	// Close ends it. Reads that are under way must have ended.
	Close() error
}

// Writer commits batches.
type Writer interface {
	Epoch() uint64
	// Enqueue orders the batch after all batches enqueued before and makes it readable at once. It does not wait for the device, but
	// blocks while the engine is behind with its tables. The batch and its slices are the caller's again when it returns. Fenced.
	Enqueue(b *Batch) (Ticket, error)
	// LastSeq is the sequence number of the last durable batch, from the engine.
	LastSeq(ctx context.Context) (uint64, error)
}

// Ticket is a batch on its way to stable storage.
type Ticket interface {
	Seq() uint64
	// Wait returns nil once the batch and all before it are durable. Any error means the writer is
	// dead: the outcome of this and later batches is unknown until the store is acquired again.
	Wait(ctx context.Context) error
}

// Batch is an atomic list of changes: at most 4,096 operations and 1 MiB.
type Batch struct{ Ops []Op }

// Op puts Value at Key, or deletes Key.
type Op struct {
	Key, Value []byte
	Delete     bool
}

// Put appends a put. The slices must not be changed before the batch was enqueued.
func (b *Batch) Put(key, value []byte) { b.Ops = append(b.Ops, Op{Key: key, Value: value}) }

// Delete appends a deletion; deleting a missing key is no error.
func (b *Batch) Delete(key []byte) { b.Ops = append(b.Ops, Op{Key: key, Delete: true}) }

// Stats is what the engine says of itself.
type Stats struct {
	Bytes int64 // on disk
	Syncs int64 // since it was opened
	// Memory that holds blocks of it and what waits to be written, and its bound.
	CacheBytes, CacheMax int64
}
