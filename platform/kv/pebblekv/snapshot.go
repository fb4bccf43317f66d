package pebblekv

import (
	"context"

	"github.com/cockroachdb/pebble/v2"

	"hemera/platform/kv"
	"hemera/words/errs"
)

// snapshot counts as one read under way, so that Close of the store waits until it is closed.
type snapshot struct {
	s    *Store
	view *pebble.Snapshot
}

// Snapshot implements kv.Store. Compactions keep its versions of values.
func (s *Store) Snapshot(context.Context) (kv.Snapshot, error) {
	if err := s.beginRead("kv.Snapshot"); err != nil {
		return nil, err
	}
	// Batches are applied under mu, so the snapshot has all enqueued batches and no part of another one.
	s.mu.Lock()
	defer s.mu.Unlock()
	return &snapshot{s, s.db.NewSnapshot()}, nil
}

// Get implements kv.Reader. The reads of a snapshot are not counted: the snapshot is.
func (p *snapshot) Get(_ context.Context, key []byte) ([]byte, error) { return get(p.view, key) }

// GetMany implements kv.Reader.
func (p *snapshot) GetMany(_ context.Context, keys [][]byte) ([][]byte, error) {
	return getMany(p.view, keys)
}

// Scan implements kv.Reader.
func (p *snapshot) Scan(ctx context.Context, lo, hi []byte, visit func(key, value []byte) bool) error {
	return scan(ctx, p.view, lo, hi, visit)
}

// Close implements kv.Snapshot. It must be called once: it ends the count of the snapshot.
func (p *snapshot) Close() error {
	defer p.s.endRead()
	return errs.Wrap(p.view.Close(), "kv.Snapshot", "")
}
