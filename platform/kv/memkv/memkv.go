// Package memkv is the kv engine that keeps everything in memory, in one sorted slice. Tests use it, and clusters that
// may lose their data. A ticket is done at once: nothing is more durable than the process.
//
// A get costs a binary search. A put of a new key moves half of the slice on average, so it is not for millions of keys.
//
// One lock guards a store. Calls block on nothing else. Visitors of a scan run without it: they see the pairs as they
// were when the scan began, and may call the store.
package memkv

import (
	"bytes"
	"context"
	"slices"
	"sync"

	"hemera/platform/kv"
	"hemera/words/errs"
)

// Store is the engine. The zero value is not usable; see [New].
type Store struct {
	mu     sync.RWMutex // guards all of it
	pairs  []pair       // in order of keys
	bytes  int64        // of keys and values
	epoch  uint64       // of the last writer
	seq    uint64       // number of the last batch
	closed bool         // every call fails with Unavailable
}

// pair is a key and its value. The slices are the store's own and never change; a new value is a new slice.
type pair struct{ key, value []byte }

// New returns an empty store.
func New() *Store { return &Store{} }

var _ kv.Store = (*Store)(nil)

// Get implements kv.Reader.
func (s *Store) Get(_ context.Context, key []byte) ([]byte, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return nil, closed("kv.Get")
	}
	i, ok := s.find(key)
	if !ok {
		return nil, errs.NotFound
	}
	return bytes.Clone(s.pairs[i].value), nil
}

// GetMany implements kv.Reader.
func (s *Store) GetMany(_ context.Context, keys [][]byte) ([][]byte, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return nil, closed("kv.GetMany")
	}
	out := make([][]byte, len(keys))
	for n, key := range keys {
		if i, ok := s.find(key); ok {
			// An empty value must differ from a missing one, which is nil; bytes.Clone of an empty slice could return
			// nil.
			out[n] = append([]byte{}, s.pairs[i].value...)
		}
	}
	return out, nil
}

// Scan implements kv.Reader over the pairs as they were when it was called. It holds no lock while it visits. It passes
// the stored slices to visit.
func (s *Store) Scan(ctx context.Context, lo, hi []byte, visit func(key, value []byte) bool) error {
	s.mu.RLock()
	if s.closed {
		s.mu.RUnlock()
		return closed("kv.Scan")
	}
	from, _ := s.find(lo)
	to := len(s.pairs)
	if hi != nil {
		to, _ = s.find(hi)
	}
	var picture []pair
	if from < to {
		// If hi is below lo the range is empty; this is not an error.
		picture = slices.Clone(s.pairs[from:to])
	}
	s.mu.RUnlock()
	for _, p := range picture {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !visit(p.key, p.value) {
			return nil
		}
	}
	return nil
}

// Acquire implements kv.Store. The owner's name is for engines that several processes share; this one ignores it.
func (s *Store) Acquire(context.Context, string) (kv.Writer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, closed("kv.Acquire")
	}
	// The older writer is fenced from here on; its next call fails.
	s.epoch++
	return &writer{s: s, epoch: s.epoch}, nil
}

// Snapshot implements kv.Store. It copies references: stored values are replaced, never changed. Close frees the copy and
// leaves the original as it is.
func (s *Store) Snapshot(context.Context) (kv.Snapshot, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return nil, closed("kv.Snapshot")
	}
	return &Store{pairs: slices.Clone(s.pairs), bytes: s.bytes}, nil
}

// Backup implements kv.Store: there is no directory to copy.
func (s *Store) Backup(context.Context, string) error {
	return errs.New(errs.Unsupported, "kv.Backup", "", "the memory engine has nothing on disk")
}

// Stats implements kv.Store. The other fields stay zero: there are no syncs and no cache.
func (s *Store) Stats() kv.Stats {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return kv.Stats{Bytes: s.bytes}
}

// Close implements kv.Store. The content is lost.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed, s.pairs = true, nil
	return nil
}

// find returns the index of a key, or the index at which to insert it. The caller holds mu.
func (s *Store) find(key []byte) (int, bool) {
	return slices.BinarySearchFunc(s.pairs, key, func(p pair, key []byte) int { return bytes.Compare(p.key, key) })
}

// apply makes one change, with copies of its key and value. The caller holds mu.
func (s *Store) apply(op kv.Op) {
	i, ok := s.find(op.Key)
	switch {
	case ok && op.Delete:
		s.bytes -= int64(len(op.Key) + len(s.pairs[i].value))
		s.pairs = slices.Delete(s.pairs, i, i+1)
	case ok:
		s.bytes += int64(len(op.Value) - len(s.pairs[i].value))
		// A new slice: a reader may hold the old one.
		s.pairs[i].value = bytes.Clone(op.Value)
	case !op.Delete:
		s.bytes += int64(len(op.Key) + len(op.Value))
		s.pairs = slices.Insert(s.pairs, i, pair{bytes.Clone(op.Key), bytes.Clone(op.Value)})
	}
}

// closed returns the error of every call on a closed store.
func closed(op string) error { return errs.New(errs.Unavailable, op, "", "the store is closed") }

// writer has the right to change a store, until a later writer is made.
type writer struct {
	s     *Store
	epoch uint64 // if it differs from the store's, the writer is fenced
}

// Epoch implements kv.Writer.
func (w *writer) Epoch() uint64 { return w.epoch }

// Enqueue implements kv.Writer. It applies the whole batch before it returns.
func (w *writer) Enqueue(b *kv.Batch) (kv.Ticket, error) {
	// Check the limits before the first change, so that a refused batch changes nothing.
	if err := kv.Check(b); err != nil {
		return nil, err
	}
	s := w.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := w.current("kv.Enqueue"); err != nil {
		return nil, err
	}
	for _, op := range b.Ops {
		s.apply(op)
	}
	s.seq++
	return ticket(s.seq), nil
}

// current fails with Unavailable for a closed store, and with Fenced if a later writer was made. The caller holds mu.
func (w *writer) current(op string) error {
	if w.s.closed {
		return closed(op)
	}
	if w.s.epoch != w.epoch {
		return errs.New(errs.Fenced, op, "", "a newer writer has the store")
	}
	return nil
}

// LastSeq implements kv.Writer. Every batch is durable at once.
func (w *writer) LastSeq(context.Context) (uint64, error) {
	w.s.mu.RLock()
	defer w.s.mu.RUnlock()
	return w.s.seq, nil
}

// ticket is the number of a batch that is done.
type ticket uint64

// Seq implements kv.Ticket.
func (t ticket) Seq() uint64 { return uint64(t) }

// Wait implements kv.Ticket; there is nothing to wait for.
func (t ticket) Wait(context.Context) error { return nil }
