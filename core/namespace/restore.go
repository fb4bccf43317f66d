package namespace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"hemera"
	"hemera/core/namespace/schema"
	"hemera/errs"
	"hemera/platform/kv"
)

// A backup is older than the cluster it is restored into: disks hold pieces of changes that the backup does not
// have, clients hold capabilities with numbers that it never handed out, and followers have read events that it
// does not know. The restored namespace therefore goes on with ids, generations and events far above all of those,
// and remembers the gap: see Boundary.

// Summary is what a picture of a store says of the tree in it.
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
		return Summary{}, errs.New(errs.NotFound, "namespace.Describe", "", "the store holds no tree")
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

// clockSlack is how far clocks of the cluster may be apart; capabilities need the same.
const clockSlack = time.Hour

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
	if err != nil {
		return Boundary{}, errs.Wrap(err, "namespace.Restored", "")
	}
	// All numbers from the end of the backup's to here may have been used by the life that was lost.
	b := Boundary{From: end, To: uint64(now.Unix()) * idsPerSecond, Taken: taken, Restored: now}
	if !now.After(taken) || b.To <= b.From {
		return b, errs.New(errs.Invalid, "namespace.Restored", now.UTC().Format(time.RFC3339),
			fmt.Sprintf("the clock says it is earlier than the backup of %s", taken.UTC().Format(time.RFC3339))).
			WithRemedy("set this machine's clock right: new ids are taken from it, and must be above all that were ever used")
	}
	var batch kv.Batch
	batch.Put(schema.MetaKey(schema.MetaIDs), schema.EncodePair(b.To, 0))
	batch.Put(schema.MetaKey(schema.MetaEvents), schema.EncodePair(b.To, b.To))
	batch.Put(schema.BoundaryKey(b.From), schema.EncodeBoundary(b))
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

// loadBoundaries reads what the namespace knows of its restores.
func (n *Namespace) loadBoundaries(ctx context.Context) error {
	var failed error
	var list []Boundary
	prefix := schema.MetaKey(schema.MetaBoundary)
	err := n.records.Engine().Scan(ctx, prefix, schema.PrefixEnd(prefix), func(k, raw []byte) bool {
		b, bad := schema.DecodeBoundary(k, raw)
		if bad != nil {
			failed = schema.Damaged(k, bad)
			return false
		}
		list = append(list, b)
		return true
	})
	if err == nil {
		err = failed
	}
	n.boundaries.Store(&list)
	return err
}

// lostRanges are the boundaries of now.
func (n *Namespace) lostRanges() []Boundary {
	if list := n.boundaries.Load(); list != nil {
		return *list
	}
	return nil
}

// Restored reports whether the namespace was ever restored or rebuilt: disks may hold what it forgot.
func (n *Namespace) Restored() bool { return len(n.lostRanges()) > 0 }

// ForgetLost ends what the namespace remembers of its restores: from then on a piece that it does not have is an orphan,
// also one of a change that was lost. Durable at its return. NotFound if it remembers none.
func (n *Namespace) ForgetLost(ctx context.Context) error {
	list := n.lostRanges()
	if len(list) == 0 {
		return refuse(errs.NotFound, "ForgetLost", "", "the namespace was not restored or rebuilt, or this was done before")
	}
	err := n.update(ctx, func(t tx) error {
		for _, b := range list {
			t.Remove(schema.BoundaryKey(b.From))
		}
		return nil
	})
	// Only what is durable counts: after a restart audits must judge as they did before.
	if err == nil {
		n.boundaries.Store(nil)
	}
	return err
}

// NewerThanRestore reports whether a piece that was sealed at a time may belong to a change that this namespace
// does not know, because it was restored from an older backup: its id or generation was not handed out by this
// store, or it was made between the backup and the restore. Such a piece is not an orphan.
func (n *Namespace) NewerThanRestore(p hemera.PieceID, sealed time.Time) bool {
	// A number beyond the end was never handed out by this store: a copy of it that went on is ahead.
	file, gen, next := uint64(p.File), uint64(p.Gen), n.numbers.Next()
	if file >= next || gen >= next {
		return true
	}
	for _, b := range n.lostRanges() {
		if b.From <= file && file < b.To || b.From <= gen && gen < b.To ||
			!sealed.Before(b.Taken.Add(-clockSlack)) && !sealed.After(b.Restored.Add(clockSlack)) {
			return true
		}
	}
	return false
}

// Boundary is what a restored namespace knows of the changes that it has forgotten.
type Boundary = schema.Boundary
