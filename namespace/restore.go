package namespace

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"hemera/namespace/schema"
	"hemera/platform/kv"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// A backup is older than the cluster it is restored into: disks hold pieces of changes that the backup does not
// have, clients hold capabilities with numbers that it never handed out, and followers have read events that it
// does not know. The restored namespace therefore goes on with ids, generations and events far above all of those,
// and remembers the gap: see Boundary.

// Summary describes the tree in a picture of a store.
type Summary struct {
	Totals   hemera.TreeTotals
	Sequence uint64    // of the last event
	Changed  time.Time // when that was; zero if the log has none
	Pairs    int64     // about how many keys the store has
}

// Describe reads the summary of a picture of a store, without opening it. Corrupt, and NotFound where there is no
// tree.
func Describe(ctx context.Context, r kv.Reader) (Summary, error) {
	raw, err := r.GetMany(ctx, [][]byte{schema.MetaKey(schema.MetaEvents), schema.IDKey(schema.TableDirectory, hemera.RootID)})
	if err != nil {
		return Summary{}, errs.Wrap(err, "namespace.Describe", "")
	}
	if raw[0] == nil || raw[1] == nil {
		return Summary{}, errs.New(errs.NotFound, "namespace.Describe", "", "the store holds no tree").
			WithRemedy("take the latest backup; without one, `hemera ns rebuild prepare` begins to make the namespace again from its disks and tapes")
	}
	root, err := schema.DecodeDirectory(nil, raw[1])
	if err != nil || len(raw[0]) != 16 {
		return Summary{}, schema.Damaged(schema.MetaKey(schema.MetaEvents), schema.ErrRecord)
	}
	// Neither number is estimated: the log says what its newest event is, and the root's totals count everything.
	first, next := schema.Uint64At(raw[0], 0), schema.Uint64At(raw[0], 8)
	s := Summary{Totals: root.Tree, Sequence: next - 1}
	if raw, err := r.Get(ctx, schema.EventKey(s.Sequence)); err == nil {
		e, err := schema.DecodeEvent(schema.EventKey(s.Sequence), raw)
		if err != nil {
			return Summary{}, schema.Damaged(schema.EventKey(s.Sequence), err)
		}
		s.Changed = e.Time
	} else if !errors.Is(err, errs.NotFound) {
		return Summary{}, errs.Wrap(err, "namespace.Describe", "")
	}
	// A file has an entry and a location, a directory totals as well; then events, and lists by disk.
	s.Pairs = 2*s.Totals.Files + 3*s.Totals.Dirs + int64(next-first)
	err = r.Scan(ctx, schema.TableKey(schema.TableUsage), schema.PrefixEnd(schema.TableKey(schema.TableUsage)), func(k, raw []byte) bool {
		if u, bad := schema.DecodeUsage(k, raw); bad == nil {
			s.Pairs += u.Pieces + u.Unlinked + u.Held
		}
		return true
	})
	return s, errs.Wrap(err, "namespace.Describe", "")
}

// idsPerSecond is the number of ids that the clock allows for: a restored namespace goes on at its time in seconds
// since 1970 times this. No manager hands out as many for long, so all ids from before that time, in this life of
// the namespace or in any other, are below.
const idsPerSecond = 1 << 20

// Restorable reports whether a record of a backup is to be restored. Records of the event log are not: a follower
// has seen others under the same numbers. Nor are pieces to remove: they were removed since, and some came back to
// the same disk; what is left of them is found as orphans.
func Restorable(k []byte) bool {
	for _, table := range []byte{schema.TableEvent, schema.TableUnlinked, schema.TableHeld, schema.TableDue} {
		if bytes.HasPrefix(k, schema.TableKey(table)) {
			return false
		}
	}
	return true
}

// Restored makes a namespace of the restorable records of a backup, which are in the store: ids, generations and
// events go on where none were before, whatever was done since the backup. It must run before Open. Invalid when
// now cannot be right.
func Restored(ctx context.Context, store kv.Store, w kv.Writer, taken, now time.Time) (Boundary, error) {
	end, _, err := readPair(ctx, store, schema.MetaIDs)
	var last uint64
	if err == nil {
		last, err = lastNumber(ctx, store)
	}
	if err != nil {
		return Boundary{}, errs.Wrap(err, "namespace.Restored", "")
	}
	// The end of the reserved numbers says nothing: the life that was lost went on with those of its range.
	b := Boundary{From: last + 1, To: uint64(now.Unix()) * idsPerSecond, Taken: taken, Restored: now}
	if !now.After(taken) || b.To <= max(b.From, end) {
		return b, errs.New(errs.Invalid, "namespace.Restored", now.UTC().Format(time.RFC3339),
			fmt.Sprintf("the clock says it is earlier than the backup of %s", taken.UTC().Format(time.RFC3339))).
			WithRemedy("set this machine's clock right: new ids are taken from it, and must be above all that were ever used")
	}
	var batch kv.Batch
	batch.Put(schema.MetaKey(schema.MetaIDs), schema.EncodePair(b.To, 0))
	batch.Put(schema.MetaKey(schema.MetaEvents), schema.EncodePair(b.To, b.To))
	if b, err = joined(ctx, store, b); err != nil {
		return b, errs.Wrap(err, "namespace.Restored", "")
	}
	batch.Put(schema.BoundaryKey(b.From), schema.EncodeBoundary(b))
	batch.Put(schema.MetaKey(schema.MetaLife), binary.BigEndian.AppendUint64(nil, b.To))
	err = store.Scan(ctx, schema.TableKey(schema.TableUsage), schema.PrefixEnd(schema.TableKey(schema.TableUsage)), func(k, raw []byte) bool {
		u, bad := schema.DecodeUsage(k, raw)
		if bad != nil {
			err = schema.Damaged(k, bad)
			return false
		}
		u.Unlinked, u.Held, u.HeldBytes = 0, 0, 0 // their records were left out
		batch.Put(bytes.Clone(k), schema.EncodeUsage(u))
		return true
	})
	if err != nil {
		return b, errs.Wrap(err, "namespace.Restored", "")
	}
	ticket, err := w.Enqueue(&batch)
	if err == nil {
		err = ticket.Wait(ctx)
	}
	return b, errs.Wrap(err, "namespace.Restored", "")
}

// lastNumber returns the largest id or generation of any entry: that of the newest write that the records have.
func lastNumber(ctx context.Context, r kv.Reader) (last uint64, err error) {
	var failed error
	prefix := schema.TableKey(schema.TableEntry)
	err = r.Scan(ctx, prefix, schema.PrefixEnd(prefix), func(k, raw []byte) bool {
		e, bad := schema.DecodeEntry(k, raw)
		if bad != nil {
			failed = schema.Damaged(k, bad)
			return false
		}
		last = max(last, uint64(e.ID), uint64(e.Gen))
		return true
	})
	return last, cmp.Or(err, failed)
}

// joined returns the boundary with what one before that begins at the same number says: it was restored from, without a
// change between.
func joined(ctx context.Context, r kv.Reader, b Boundary) (Boundary, error) {
	k := schema.BoundaryKey(b.From)
	raw, err := r.Get(ctx, k)
	if errors.Is(err, errs.NotFound) {
		return b, nil
	}
	if err != nil {
		return b, err
	}
	before, err := schema.DecodeBoundary(k, raw)
	if before.Taken.Before(b.Taken) {
		b.Taken = before.Taken
	}
	return b, err
}

// TapesIn lists the VIDs that the catalogue of tapes in a store has.
func TapesIn(ctx context.Context, r kv.Reader) (vids []hemera.VID, err error) {
	prefix := schema.TableKey(schema.TableTape)
	var bad error
	err = r.Scan(ctx, prefix, schema.PrefixEnd(prefix), func(k, raw []byte) bool {
		t, err := schema.DecodeTape(k, raw)
		if err != nil {
			bad = schema.Damaged(bytes.Clone(k), err)
			return false
		}
		vids = append(vids, t.VID)
		return true
	})
	return vids, errs.Wrap(errors.Join(err, bad), "namespace.TapesIn", "")
}

// readPair reads a variable of two numbers.
func readPair(ctx context.Context, r kv.Reader, which byte) (a, b uint64, err error) {
	k := schema.MetaKey(which)
	raw, err := r.Get(ctx, k)
	if err != nil {
		return 0, 0, err
	}
	return schema.DecodePair(k, raw)
}
