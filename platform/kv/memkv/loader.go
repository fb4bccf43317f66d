package memkv

import (
	"bytes"
	"context"
	"slices"
	"sync"

	"hemera/platform/kv"
	"hemera/words/errs"
)

// bulk is a load: the pairs of its runs. The store has nothing of it before Commit.
type bulk struct {
	w    *writer
	mu   sync.Mutex // guards runs and done; taken before the store's
	runs []*run     // in the order in which they were begun; Commit sorts them
	done bool       // committed or aborted
}

// run has pairs in order of keys. It belongs to one goroutine until it is closed.
type run struct{ pairs []pair }

var _ kv.Loader = (*writer)(nil)

// Load implements kv.Loader.
func (w *writer) Load(context.Context) (kv.Load, error) {
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	if err := w.current("kv.Load"); err != nil {
		return nil, err
	}
	return &bulk{w: w}, nil
}

// Run implements kv.Load. Several runs may be filled at the same time.
func (b *bulk) Run() (kv.Run, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := &run{}
	b.runs = append(b.runs, r)
	return r, nil
}

// Put implements kv.Run. The pair is copied.
func (r *run) Put(key, value []byte) error {
	if err := kv.CheckPair(key, value); err != nil {
		return err
	}
	if n := len(r.pairs); n > 0 && bytes.Compare(r.pairs[n-1].key, key) >= 0 {
		return errs.New(errs.Invalid, "kv.Load", "", "a run's keys must grow")
	}
	r.pairs = append(r.pairs, pair{bytes.Clone(key), bytes.Clone(value)})
	return nil
}

// Close implements kv.Run. It releases nothing: the pairs belong to the load.
func (r *run) Close() error { return nil }

// Commit implements kv.Load. It sorts the runs by their first keys, and refuses runs that interleave. A second call
// changes nothing.
func (b *bulk) Commit(context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	// Empty runs have no first key to sort by.
	runs := slices.DeleteFunc(b.runs, func(r *run) bool { return len(r.pairs) == 0 })
	slices.SortFunc(runs, func(x, y *run) int { return bytes.Compare(x.pairs[0].key, y.pairs[0].key) })
	var all []pair
	for _, r := range runs {
		// Each run is sorted, so the runs are disjoint if each begins after the end of the one before.
		if n := len(all); n > 0 && bytes.Compare(all[n-1].key, r.pairs[0].key) >= 0 {
			return errs.New(errs.Invalid, "kv.Load", "", "runs interleave")
		}
		all = append(all, r.pairs...)
	}
	s := b.w.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := b.w.current("kv.Load"); err != nil {
		return err
	}
	// A second Commit, or one after Abort, succeeds without a change.
	if !b.done {
		s.merge(all)
	}
	b.done = true
	return nil
}

// Abort implements kv.Load.
func (b *bulk) Abort() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.done, b.runs = true, nil
	return nil
}

// merge merges sorted pairs into those of the store, in one pass over both. An existing key gets its new value. The
// caller holds mu.
func (s *Store) merge(more []pair) {
	out := make([]pair, 0, len(s.pairs)+len(more))
	rest := s.pairs
	for _, p := range more {
		i, found := slices.BinarySearchFunc(rest, p.key, func(o pair, key []byte) int { return bytes.Compare(o.key, key) })
		out = append(append(out, rest[:i]...), p)
		// Keys of more ascend, so the next search begins where this one ended.
		rest = rest[i:]
		s.bytes += int64(len(p.key) + len(p.value))
		if found {
			s.bytes -= int64(len(rest[0].key) + len(rest[0].value))
			rest = rest[1:]
		}
	}
	s.pairs = append(out, rest...)
}
