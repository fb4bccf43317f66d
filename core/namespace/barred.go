package namespace

import (
	"context"
	"sync"
	"time"

	"hemera"
	"hemera/core/namespace/schema"
	"hemera/errs"
)

// A sealed piece that no file has may be of a write whose head has died, or only stands still: a process
// that is stopped, or a machine. Nobody can tell how long that lasts, so an audit removes the piece after a
// while, and bars the write: the head, should it go on, must not commit content of which pieces are gone.

const (
	// barTime is how long a write is barred: the manager takes no commit that comes later.
	barTime = hemera.CapabilityLifetime + hemera.CommitLifetime + time.Hour
	// barsMax bounds the writes that are barred at a time: pieces of more stay until a later audit. It also bounds the new
	// files that have another name than their opens gave them.
	barsMax = 1 << 18
	// liftRest is how often it is looked for bars whose time is over.
	liftRest = time.Hour
)

// bars is how many writes are barred, about, and when they are to be looked through again; at first they are
// counted by that. The same is kept of writes that were renamed. marks say which number was the next to be given out at some times, the oldest first.
type bars struct {
	mu     sync.Mutex
	count  int
	liftAt time.Time
	marks  []numberMark
}

type numberMark struct {
	at   time.Time
	next uint64
}

// due reports, to one, that bars are to be looked through. next is the next number to be given out.
func (b *bars) due(now time.Time, next uint64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if now.Before(b.liftAt) {
		return false
	}
	b.liftAt = now.Add(liftRest)
	b.mark(now, next)
	return true
}

func (b *bars) mark(now time.Time, next uint64) {
	b.marks = append(b.marks, numberMark{now.Round(0), next}) // by the clock that capabilities go by
	for len(b.marks) > 1 && now.Round(0).Sub(b.marks[1].at) >= barTime {
		b.marks = b.marks[1:]
	}
}

// over reports whether a write with the number began so long ago that no commit of it is taken.
func (b *bars) over(number hemera.FileID, now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.marks) > 0 && now.Round(0).Sub(b.marks[0].at) >= barTime && uint64(number) < b.marks[0].next
}

// counted sets the number; with again, they are to be looked through soon.
func (b *bars) counted(count int, again bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.count = count; again {
		b.liftAt = time.Time{}
	}
}

func (b *bars) add(by int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.count = max(0, b.count+by)
}

func (b *bars) full() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.count >= barsMax
}

// numberOf is that of the write which makes a piece; see [Commit.number]. A file's first generation is 1, and
// that number is no write's.
func numberOf(p hemera.PieceID) hemera.FileID {
	if p.Gen == 1 {
		return p.File
	}
	return hemera.FileID(p.Gen)
}

// ClaimOrphan implements Orphans.
func (n *Namespace) ClaimOrphan(ctx context.Context, disk hemera.DiskID, p hemera.PieceID) (condemned bool, err error) {
	if err := n.liftBars(ctx); err != nil {
		return false, err
	}
	needed := !n.bars.over(numberOf(p), n.clock())
	if needed && n.bars.full() {
		return false, refuse(errs.Overloaded, "ClaimOrphan", p.String(), "%d writes are barred", barsMax)
	}
	n.refused.Add(1) // before the record is made, so that no commit behind it leaves out the look
	barred := false
	err = n.update(ctx, func(t *tx) (err error) {
		condemned, barred, err = t.condemn(disk, p, needed)
		return err
	})
	if err == nil && barred {
		n.bars.add(1)
	}
	return condemned && err == nil, err
}

// condemn bars the write of a piece that no file has, if it could still be committed. A generation that is
// committed is not barred: the piece was left by a move. A write that began long ago need not be.
func (t *tx) condemn(disk hemera.DiskID, p hemera.PieceID, needed bool) (condemned, barred bool, err error) {
	now, err := t.byID(p.File)
	if err != nil {
		return false, false, err
	}
	if now != nil && now.Gen == p.Gen {
		for _, has := range now.Pieces {
			if has.Disk == disk && has.Index == p.Index {
				return false, false, nil
			}
		}
	}
	leaving, err := t.isUnlinked(disk, p)
	switch {
	case err != nil || leaving:
		return false, false, err
	case !needed, now != nil && now.Gen >= p.Gen, now == nil && p.Gen != 1:
		return true, false, nil // it is committed, or never will be
	}
	number := numberOf(p)
	if over, err := t.isBarred(number); err != nil || over {
		return err == nil, false, err
	}
	if t.isUnused(number) {
		t.remove(schema.IDKey(schema.TableLocation, number)) // so that it no longer is
	}
	t.set(schema.IDKey(schema.TableBarred, number), schema.Mark{}, schema.EncodeBarred(t.now.Add(barTime), p.File))
	return true, true, nil
}

// isBarred reports whether pieces of the write with the number were given up.
func (t *tx) isBarred(number hemera.FileID) (bool, error) {
	return t.recorded(schema.IDKey(schema.TableBarred, number))
}

// Barred implements PendingWrites.
func (n *Namespace) Barred(ctx context.Context, c Commit) (bool, error) {
	raw, err := n.store.GetMany(ctx, [][]byte{schema.IDKey(schema.TableBarred, c.number()), schema.IDKey(schema.TableTombstone, c.number())})
	if err != nil {
		return false, errs.Wrap(err, "namespace.Barred", c.Name)
	}
	return raw[0] != nil || raw[1] != nil, n.outside(ctx)
}

// liftBars forgets the bars whose time is over, now and then. No commit of such a write is taken any more.
func (n *Namespace) liftBars(ctx context.Context) error {
	return n.lift(ctx, schema.TableBarred, &n.bars)
}

// lift forgets the records of a table whose time is over, which they begin with, and counts the others.
func (n *Namespace) lift(ctx context.Context, table byte, b *bars) error {
	now := n.clock()
	if !b.due(now, n.nextID.Load()) {
		return nil
	}
	var old [][]byte
	count := 0
	err := n.store.Scan(ctx, schema.TableKey(table), schema.PrefixEnd(schema.TableKey(table)), func(k, raw []byte) bool {
		if count++; len(raw) >= 8 && !now.Before(schema.DecodeUntil(raw)) {
			old = append(old, append([]byte(nil), k...))
		}
		return true
	})
	lifted := min(len(old), forgetMax)
	if err == nil && lifted > 0 {
		err = n.update(ctx, func(t *tx) error {
			for _, k := range old[:lifted] {
				t.remove(k)
			}
			return nil
		})
	}
	b.counted(count-lifted, err != nil || lifted < len(old))
	return errs.Wrap(err, "namespace", "")
}

// barred looks for writes that were committed although their pieces were given up.
func (c *checker) barred() error {
	return c.keyed(schema.TableKey(schema.TableBarred), 10, func(k, raw []byte) error {
		file, err := schema.DecodeBarred(raw)
		if err != nil {
			c.problem("barred write %d: %v", schema.IDOf(k), err)
			return nil
		}
		var record schema.EntryHeader
		found, err := c.current(&record, file)
		if err == nil && found && numberOf(hemera.PieceID{File: file, Gen: record.Gen}) == schema.IDOf(k) {
			c.problem("fid %s: generation %d is committed, and its write is barred", file, record.Gen)
		}
		return err
	})
}
