package record

import (
	"bytes"
	"context"
	"slices"

	"hemera/words/errs"
)

// CheckCache compares every cached record with the stored one, as both are now. A record that differs at first is
// compared again while nothing is sent. differs gets the key of each record that is wrong.
func (s *Store) CheckCache(ctx context.Context, differs func(k string)) error {
	for i := range s.cache.shards {
		for _, k := range s.cache.shards[i].keys() {
			ok, err := s.right(ctx, i, k)
			if err == nil && !ok {
				ok, err = s.rightInTurn(ctx, i, k)
			}
			if err != nil {
				return err
			}
			if !ok {
				differs(k)
			}
		}
	}
	return nil
}

// keys returns the keys in the shard, in order.
func (s *shard) keys() []string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	keys := make([]string, 0, len(s.items))
	for k := range s.items {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// rightInTurn does what right does, while nothing is sent.
func (s *Store) rightInTurn(ctx context.Context, shard int, k string) (bool, error) {
	if err := s.turn.Acquire(ctx); err != nil {
		return false, errs.Wrap(err, "record.CheckCache", "")
	}
	defer s.turn.Release()
	return s.right(ctx, shard, k)
}

// right reports whether a cached record is the stored one; one that was evicted meanwhile is.
func (s *Store) right(ctx context.Context, shard int, k string) (bool, error) {
	value, ok := s.cache.shards[shard].value(k)
	if !ok {
		return true, nil
	}
	raw, err := s.engine.GetMany(ctx, [][]byte{[]byte(k)})
	return err == nil && bytes.Equal(raw[0], s.options.Schema.Append(nil, value)), err
}

// value returns the shard's record at a key, and does not mark it as used.
func (s *shard) value(k string) (any, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	it := s.items[k]
	if it == nil {
		return nil, false
	}
	return it.value, true
}
