package namespace

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"hemera/namespace/record"
	"hemera/namespace/schema"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// A restored namespace lacks what was done after its backup. A boundary says which numbers and times that concerns, so that
// pieces of those changes are no orphans; see restore.go.

// Past is the knowledge of a namespace about its own past: the changes that it has forgotten, because it was restored
// from a backup or rebuilt.
type Past struct {
	engine *engine
	// life is 0 for a store that was never restored or rebuilt, and higher after each time. ForgetLost leaves it.
	life uint64
	// boundaries are those of restores and rebuilds; ForgetLost empties the list, which is not changed in place.
	boundaries atomic.Pointer[[]Boundary]
}

// loadBoundaries reads what the namespace knows of its restores.
func (n *Past) loadBoundaries(ctx context.Context) error {
	var failed error
	var list []Boundary
	prefix := schema.MetaKey(schema.MetaBoundary)
	err := n.engine.records.Engine().Scan(ctx, prefix, schema.PrefixEnd(prefix), func(k, raw []byte) bool {
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

// loadLife reads the number of the store's life.
func (n *Past) loadLife(ctx context.Context) error {
	raw, err := n.engine.records.Engine().Get(ctx, schema.MetaKey(schema.MetaLife))
	if errors.Is(err, errs.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if len(raw) != 8 {
		return schema.Damaged(schema.MetaKey(schema.MetaLife), schema.ErrRecord)
	}
	n.life = binary.BigEndian.Uint64(raw)
	return nil
}

// lostRanges returns the boundaries of now.
func (n *Past) lostRanges() []Boundary {
	if list := n.boundaries.Load(); list != nil {
		return *list
	}
	return nil
}

// WentBack says how far the namespace went back, over all its restores together.
func (n *Past) WentBack() (w hemera.WentBack) {
	for i, b := range n.lostRanges() {
		if i == 0 {
			w = hemera.WentBack{Taken: b.Taken, Restored: b.Restored, Merged: b.Merged}
			continue
		}
		if b.Taken.Before(w.Taken) {
			w.Taken = b.Taken
		}
		if b.Restored.After(w.Restored) {
			w.Restored = b.Restored
		}
		if b.Merged.Before(w.Merged) {
			w.Merged = b.Merged
		}
	}
	return w
}

// Merged notes that all pieces of all disks were looked at: what was lost and can be found has been made again. Durable at
// its return.
func (n *Past) Merged(ctx context.Context) error {
	list := slices.Clone(n.lostRanges())
	err := n.engine.update(ctx, func(t tx) error {
		for i := range list {
			list[i].Merged = t.Now()
			t.Set(schema.BoundaryKey(list[i].From), record.Opaque{}, schema.EncodeBoundary(list[i]))
		}
		return nil
	})
	if err == nil {
		n.boundaries.Store(&list)
	}
	return err
}

// Restored reports whether the namespace was ever restored or rebuilt: disks may hold what it forgot.
func (n *Past) Restored() bool { return len(n.lostRanges()) > 0 }

// ForgetLost ends what the namespace remembers of its restores: from then on a piece that it does not have is an orphan,
// also one of a change that was lost. Durable at its return. NotFound if it remembers none.
func (n *Past) ForgetLost(ctx context.Context) error {
	list := n.lostRanges()
	if len(list) == 0 {
		return refuse(errs.NotFound, "ForgetLost", "", "the namespace was not restored or rebuilt, or this was done before")
	}
	err := n.engine.update(ctx, func(t tx) error {
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
func (n *Past) NewerThanRestore(p hemera.PieceID, sealed time.Time) bool {
	// A number beyond the end was never handed out by this store: a copy of it that went on is ahead.
	file, gen, next := uint64(p.File), uint64(p.Gen), n.engine.numbers.Next()
	return file >= next || gen >= next || n.Lost(p, sealed)
}

// Lost reports whether a piece that was sealed at a time may be of a content that the namespace lost: the backup does not
// have its number, or it was sealed after the backup, as that of a write that was open then. Others are of writes under
// way, or were removed.
func (n *Past) Lost(p hemera.PieceID, sealed time.Time) bool {
	return slices.ContainsFunc(n.lostRanges(), func(b Boundary) bool { return lostIn(b, p, sealed) })
}

// lostIn does what [Past.Lost] does, for one boundary. Numbers from To on are those of the restored namespace itself,
// whatever clocks say.
func lostIn(b Boundary, p hemera.PieceID, sealed time.Time) bool {
	number := uint64(schema.WriteNumber(p))
	return number < b.To &&
		(number >= b.From || !sealed.Before(b.Taken.Add(-clockSlack)) && !sealed.After(b.Restored.Add(clockSlack)))
}

// Boundary describes the changes that a restored namespace has forgotten.
type Boundary = schema.Boundary

// clockSlack bounds the difference of clocks in the cluster; capabilities need the same.
const clockSlack = time.Hour
