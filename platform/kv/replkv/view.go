package replkv

import (
	"context"
	"errors"

	"hemera/platform/kv"
	"hemera/words/errs"
)

// Get implements kv.Reader. The overlay is looked at first: a batch leaves it after the local engine has it.
func (s *Store) Get(ctx context.Context, key []byte) ([]byte, error) {
	return get(ctx, s.overlay.Load(), s.local, key)
}

// GetMany implements kv.Reader.
func (s *Store) GetMany(ctx context.Context, keys [][]byte) ([][]byte, error) {
	return getMany(ctx, s.overlay.Load(), s.local, keys)
}

// Scan implements kv.Reader over one consistent picture.
func (s *Store) Scan(ctx context.Context, lo, hi []byte, visit func(key, value []byte) bool) error {
	if over := s.overlay.Load(); len(over.batches) == 0 {
		return s.local.Scan(ctx, lo, hi, visit)
	}
	v, err := s.view(ctx)
	if err != nil {
		return err
	}
	return errors.Join(v.Scan(ctx, lo, hi, visit), v.Close())
}

// Snapshot implements kv.Store.
func (s *Store) Snapshot(ctx context.Context) (kv.Snapshot, error) { return s.view(ctx) }

// view is the state of a store at one moment: a snapshot of the local engine, and the batches that it did not have.
type view struct {
	over  *overlay
	local kv.Snapshot
}

// view returns the state of the store. The overlay is taken first, so that no batch is missed. Then the local engine may have a batch that is newer than the
// overlay, and an older operation of the overlay would hide it: view tries again. That takes a whole commit within two calls.
func (s *Store) view(ctx context.Context) (*view, error) {
	for {
		over := s.overlay.Load()
		local, err := s.local.Snapshot(ctx)
		if err != nil {
			return nil, err
		}
		if len(over.batches) == 0 || s.begun.Load() <= over.last {
			return &view{over, local}, nil
		}
		if err := local.Close(); err != nil {
			return nil, err
		}
		if err := ctx.Err(); err != nil {
			return nil, errs.Wrap(err, "replkv.Snapshot", "")
		}
	}
}

// Get implements kv.Reader.
func (v *view) Get(ctx context.Context, key []byte) ([]byte, error) {
	return get(ctx, v.over, v.local, key)
}

// GetMany implements kv.Reader.
func (v *view) GetMany(ctx context.Context, keys [][]byte) ([][]byte, error) {
	return getMany(ctx, v.over, v.local, keys)
}

// Scan implements kv.Reader.
func (v *view) Scan(ctx context.Context, lo, hi []byte, visit func(key, value []byte) bool) error {
	ops := v.over.between(lo, hi)
	if len(ops) == 0 {
		return v.local.Scan(ctx, lo, hi, visit)
	}
	pair, rest := merge(ops, visit)
	if err := v.local.Scan(ctx, lo, hi, pair); err != nil {
		return err
	}
	rest()
	return nil
}

// Close implements kv.Snapshot.
func (v *view) Close() error { return v.local.Close() }

// get returns the value of a key in an overlay above a reader.
func get(ctx context.Context, over *overlay, below kv.Reader, key []byte) ([]byte, error) {
	op, ok := over.get(key)
	switch {
	case !ok:
		return below.Get(ctx, key)
	case op.Delete:
		return nil, errs.NotFound
	}
	return append([]byte{}, op.Value...), nil
}

// getMany does the same for several keys. It asks the reader once, for those that the overlay does not have.
func getMany(ctx context.Context, over *overlay, below kv.Reader, keys [][]byte) ([][]byte, error) {
	if len(over.batches) == 0 {
		return below.GetMany(ctx, keys)
	}
	out := make([][]byte, len(keys))
	var missing [][]byte
	var where []int
	for i, key := range keys {
		op, ok := over.get(key)
		if !ok {
			missing, where = append(missing, key), append(where, i)
		} else if !op.Delete {
			out[i] = append([]byte{}, op.Value...)
		}
	}
	if len(missing) == 0 {
		return out, nil
	}
	found, err := below.GetMany(ctx, missing)
	if err != nil {
		return nil, err
	}
	for i, value := range found {
		out[where[i]] = value
	}
	return out, nil
}
