package kv

import "context"

// Loader is what a [Writer] may be besides: a way for very many pairs that goes past the log.
type Loader interface {
	// Load begins a load. Nobody sees anything of it before its Commit. Fenced.
	Load(ctx context.Context) (Load, error)
}

// Load is pairs that become visible together. They are given in runs, each in order of keys, which
// several goroutines may fill at the same time. Keys of different runs must not interleave: of two
// runs, all keys of one are before all keys of the other.
type Load interface {
	// Run begins a run.
	Run() (Run, error)
	// Commit puts the pairs of all runs, which must have been closed, after all batches enqueued
	// before: when it returns nil all of them are durable, and a crash before that leaves all or
	// none. A key that is there gets the new value. Fenced, Invalid for runs that interleave.
	Commit(ctx context.Context) error
	// Abort removes what was not committed; after Commit it does nothing. The runs must not be
	// used any more.
	Abort() error
}

// Run is pairs in order of keys.
type Run interface {
	// Put appends a pair; its key must be greater than the one before. The slices may be reused.
	Put(key, value []byte) error
	// Close ends the run.
	Close() error
}
