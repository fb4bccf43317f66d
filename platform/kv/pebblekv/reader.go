package pebblekv

import (
	"context"
	"errors"
	"strings"

	"github.com/cockroachdb/pebble/v2"

	"hemera/words/errs"
)

// Get implements kv.Reader. It sees batches as soon as they are enqueued, durable or not. It blocks only on the disk.
func (s *Store) Get(_ context.Context, key []byte) ([]byte, error) {
	if err := s.beginRead("kv.Get"); err != nil {
		return nil, err
	}
	defer s.endRead()
	return get(s.db, key)
}

// get returns a copy of a value: Pebble's bytes are in its cache, and valid only until the closer is closed. It returns
// NotFound without a subject, because lookups of missing keys are frequent.
func get(r pebble.Reader, key []byte) ([]byte, error) {
	raw, closer, err := r.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, errs.NotFound
	}
	if err != nil {
		return nil, readError(err, "kv.Get", "")
	}
	out := append(make([]byte, 0, len(raw)), raw...)
	return out, closer.Close()
}

// GetMany implements kv.Reader.
func (s *Store) GetMany(_ context.Context, keys [][]byte) ([][]byte, error) {
	if err := s.beginRead("kv.GetMany"); err != nil {
		return nil, err
	}
	defer s.endRead()
	return getMany(s.db, keys)
}

// getMany looks up the keys one after the other. Sorted keys find neighbours in the same block.
func getMany(r pebble.Reader, keys [][]byte) ([][]byte, error) {
	out := make([][]byte, len(keys))
	for i, key := range keys {
		value, err := get(r, key)
		if errors.Is(err, errs.NotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out[i] = value
	}
	return out, nil
}

// Scan implements kv.Reader over one consistent snapshot, which lasts as long as the scan. visit may call the store.
func (s *Store) Scan(ctx context.Context, lo, hi []byte, visit func(key, value []byte) bool) error {
	if err := s.beginRead("kv.Scan"); err != nil {
		return err
	}
	defer s.endRead()
	return scan(ctx, s.db, lo, hi, visit)
}

// scan skips the engine's own keys: they are below userLo. It checks ctx before each key, so a long scan can be
// cancelled.
func scan(ctx context.Context, r pebble.Reader, lo, hi []byte, visit func(key, value []byte) bool) error {
	if string(lo) < userLo {
		lo = []byte(userLo)
	}
	it, err := r.NewIterWithContext(ctx, &pebble.IterOptions{LowerBound: lo, UpperBound: hi})
	if err != nil {
		return readError(err, "kv.Scan", "")
	}
	defer func() { _ = it.Close() }() // it.Error has its errors
	for ok := it.First(); ok; ok = it.Next() {
		if err := ctx.Err(); err != nil {
			return errs.Wrap(err, "kv.Scan", "")
		}
		value, err := it.ValueAndErr()
		if err != nil {
			return readError(err, "kv.Scan", "")
		}
		if !visit(it.Key(), value) {
			return nil
		}
	}
	if err := it.Error(); err != nil {
		return readError(err, "kv.Scan", "")
	}
	return nil
}

// tableRemedy is for a damaged or lost table: the log has only later batches, so the rest of the store is not usable
// alone.
const tableRemedy = "put the file back if there is a copy; else restore the latest backup with `hemera ns restore FILE NEWDIR`, and run `hemera ns rebuild --merge`; " +
	"without a backup see `hemera ns rebuild prepare --help`"

// readError returns the error of a read of tables. For a damaged table its text is for people who do not know the engine.
func readError(err error, op, subject string) error {
	if !pebble.IsCorruptionError(err) {
		return errs.As(err, readKind(err), op, subject)
	}
	text, _, _ := strings.Cut(err.Error(), "\n")
	e := errs.New(errs.Corrupt, op, subject, "a table of the manager's store is damaged: "+text).WithRemedy(tableRemedy)
	e.Cause = errs.Unsaid(err)
	return e
}

// readKind returns the kind of an error: a corrupt store or a failing device. errors.Is does not find Pebble's marks of
// its errors.
func readKind(err error) errs.Kind {
	if pebble.IsCorruptionError(err) {
		return errs.Corrupt
	}
	if k := errs.KindOf(err); k != errs.Internal {
		return k
	}
	return errs.IO
}
