package kv

import "context"

// Loader is an optional interface of a [Writer]: a way to store very many pairs without the log. It blocks for the
// device. Conflict while another load is under way.
type Loader interface {
	// Load begins a load. It is invisible before its Commit. It fails with Fenced.
	Load(ctx context.Context) (Load, error)
}

// Load is a set of pairs that become visible together. They are added in runs. A run has its pairs in order of keys;
// several goroutines may fill different runs at the same time. Runs must not interleave: of two runs, all keys of one are
// before all keys of the other. Calls block for the device. Before Commit nothing of it is durable: the next start
// removes what a crash left.
type Load interface {
	// Run begins a run. It fails with Unavailable if the store is closed.
	Run() (Run, error)
	// Commit puts the pairs of all runs after all batches enqueued before. All runs must have been closed. When it
	// returns nil, all pairs are durable; a crash before that leaves all or none. An existing key gets the new value. It
	// fails with Fenced, and with Invalid if runs interleave.
	Commit(ctx context.Context) error
	// Abort removes a load that was not committed; after Commit it does nothing. The runs must not be used any more.
	// It fails if files cannot be removed; the next start removes them.
	Abort() error
}

// Run adds pairs in order of keys. Calls block for the device. IO or NoSpace when that fails; the load is aborted
// then. Nothing is durable before the Commit.
type Run interface {
	// Put appends a pair; its key must be greater than the one before. The caller may reuse the slices. Invalid if it
	// is not.
	Put(key, value []byte) error
	// Close ends the run.
	Close() error
}
