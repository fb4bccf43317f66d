package pebblekv

import (
	"context"
	"errors"
	"strings"

	"github.com/cockroachdb/pebble/v2"

	"hemera/words/errs"
)

// Get implements kv.Reader. It sees batches as soon as they are enqueued, durable or not. It blocks on the disk alone.
func (s *Store) Get(_ context.Context, key []byte) ([]byte, error) {
	if err := s.beginRead("kv.Get"); err != nil {
		return nil, err
	}
	defer s.endRead()
	return get(s.db, key)
}

// get returns a copy of a value: Pebble's bytes are in its cache, and valid only until the closer is closed. NotFound is
// returned as it is, without a subject: lookups of what is missing are frequent.
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

// getMany looks the keys up one after the other. A caller that gives sorted keys finds neighbours in the same block.
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

// Scan implements kv.Reader over one consistent picture, which lasts as long as the scan. visit may call the store.
func (s *Store) Scan(ctx context.Context, lo, hi []byte, visit func(key, value []byte) bool) error {
	if err := s.beginRead("kv.Scan"); err != nil {
		return err
	}
	defer s.endRead()
	return scan(ctx, s.db, lo, hi, visit)
}

// scan skips the engine's own keys: they are below userLo. It looks at ctx before each key, so a long scan can be
// cancelled.
func scan(ctx context.Context, r pebble.Reader, lo, hi []byte, visit func(key, value []byte) bool) error {
	if string(lo) < userLo {
		lo = []byte(userLo)
	}
	it, err := r.NewIterWithContext(ctx, &pebble.IterOptions{LowerBound: lo, UpperBound: hi})
	if err != nil {
		return readError(err, "kv.Scan", "")
	}
	defer func() { _ = it.Close() }() // its errors are those of it.Error
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

// tableRemedy is for a table that is damaged or gone: the log has only what came after it, so no part of the store can go on.
const tableRemedy = "put the file back if there is a copy; else restore the latest backup with `hemera ns restore FILE NEWDIR`, and run `hemera ns rebuild --merge`; " +
	"without a backup see `hemera ns rebuild prepare --help`"

// readError is the error of a read of tables. The text of a damaged one is for people who do not know the engine.
func readError(err error, op, subject string) error {
	if !pebble.IsCorruptionError(err) {
		return errs.As(err, readKind(err), op, subject)
	}
	text, _, _ := strings.Cut(err.Error(), "\n")
	e := errs.New(errs.Corrupt, op, subject, "a table of the manager's store is damaged: "+text).WithRemedy(tableRemedy)
	e.Cause = errs.Unsaid(err)
	return e
}

// readKind tells a corrupt store from a failing device. Pebble marks its errors in a way that errors.Is
// does not see.
func readKind(err error) errs.Kind {
	if pebble.IsCorruptionError(err) {
		return errs.Corrupt
	}
	if k := errs.KindOf(err); k != errs.Internal {
		return k
	}
	return errs.IO
}
