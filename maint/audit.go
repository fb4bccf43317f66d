package maint

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"hemera"
	"hemera/errs"
)

const (
	// auditsAtOnce bounds the disks compared at a time.
	auditsAtOnce = 16
	// orphanTime is how long the removal of one orphan is waited for.
	orphanTime = 10 * time.Second
)

// auditor compares disks with the namespace: each every [AuditInterval], and one that came back once
// whatever it was writing is old enough to judge. Every finding is confirmed before it counts, since
// files change meanwhile. A missing piece is made anew, one that is bad only when its copy is sealed; an
// orphan is removed.
type auditor struct {
	engine *Engine
	due    map[hemera.DiskID]time.Time // of step alone; zero while the disk is away

	suspects suspects
}

func (a *auditor) name() string { return "audit" }

func (a *auditor) step(ctx context.Context) (time.Duration, error) {
	now := a.engine.Now()
	var disks []hemera.Disk
	for _, d := range a.engine.Cluster.View().Disks {
		if a.schedule(d, now) {
			disks = append(disks, d)
		}
	}
	if len(disks) == 0 {
		return 10 * time.Second, nil
	}
	a.suspects.prune(now.Add(-2 * AuditInterval))
	report, err := a.run(ctx, disks, true)
	for _, p := range report.Problems {
		a.engine.Log.Warn("audit found a problem", "tag", p.Tag, "disk", p.Disk, "count", p.Count)
	}
	return 10 * time.Second, err
}

// schedule reports whether the disk is due, and when it is, sets its next time.
func (a *auditor) schedule(d hemera.Disk, now time.Time) bool {
	at, known := a.due[d.ID]
	switch {
	case !d.Readable() && known:
		a.due[d.ID] = time.Time{}
	case !d.Readable():
	case !known:
		a.due[d.ID] = now.Add(AuditInterval)
	case at.IsZero():
		a.due[d.ID] = now.Add(a.engine.OrphanAge + time.Minute)
	case !now.Before(at):
		a.due[d.ID] = now.Add(AuditInterval)
		return true
	case a.suspects.due(d.ID, now):
		return true
	}
	return false
}

// tally gathers what many disks have.
type tally struct {
	repair bool // what was found is to be put right

	mu       sync.Mutex
	pieces   int64
	problems map[problemKey]*hemera.FsckProblem
}

type problemKey struct {
	tag  string
	disk hemera.DiskID
}

func (t *tally) add(tag string, disk hemera.DiskID, file hemera.FileID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := problemKey{tag, disk}
	p := t.problems[key]
	if p == nil {
		p = &hemera.FsckProblem{Tag: tag, Disk: disk}
		t.problems[key] = p
	}
	p.Count++
	if len(p.Files) < problemsMax {
		p.Files = append(p.Files, file)
	}
}

// Fsck compares every disk with the namespace now, and puts right what can be only if it is asked to.
// Disks that cannot be read count as offline.
func (e *Engine) Fsck(ctx context.Context, repair bool) (hemera.FsckReport, error) {
	return e.auditor.run(ctx, e.Cluster.View().Disks, repair)
}

func (a *auditor) run(ctx context.Context, disks []hemera.Disk, repair bool) (hemera.FsckReport, error) {
	t := &tally{repair: repair, problems: map[problemKey]*hemera.FsckProblem{}}
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(auditsAtOnce)
	for _, d := range disks {
		g.Go(func() error {
			if !d.Readable() {
				return a.offline(gctx, d, t)
			}
			err := a.disk(gctx, d, t)
			if err != nil && gctx.Err() == nil {
				a.engine.Log.Warn("disk could not be audited", "disk", d.ID, "error", err)
				err = a.offline(gctx, d, t)
			}
			return errs.Wrap(err, "fsck", "disk "+d.ID.String())
		})
	}
	err := g.Wait()
	if err == nil {
		err = a.short(ctx, t)
	}
	if err == nil {
		err = a.removed(ctx, t)
	}
	if repair {
		a.engine.Wake()
	}
	report := hemera.FsckReport{Taken: a.engine.Now(), Pieces: t.pieces}
	for _, p := range t.problems {
		report.Problems = append(report.Problems, *p)
	}
	slices.SortFunc(report.Problems, func(x, y hemera.FsckProblem) int {
		return cmp.Or(cmp.Compare(x.Tag, y.Tag), cmp.Compare(x.Disk, y.Disk))
	})
	return report, err
}

// offline counts the files of a disk that cannot be asked.
func (a *auditor) offline(ctx context.Context, d hemera.Disk, t *tally) error {
	return a.pages(ctx, func(after hemera.FileID) ([]hemera.Entry, error) {
		return a.engine.Files.DiskFiles(ctx, d.ID, after, auditPage)
	}, func(e hemera.Entry) { t.add(tagOffline, d.ID, e.ID) })
}

// short counts incomplete files.
func (a *auditor) short(ctx context.Context, t *tally) error {
	return a.pages(ctx, func(after hemera.FileID) ([]hemera.Entry, error) {
		return a.engine.Files.Incomplete(ctx, after, auditPage)
	}, func(e hemera.Entry) { t.add(tagShort, 0, e.ID) })
}

func (a *auditor) pages(ctx context.Context, list func(hemera.FileID) ([]hemera.Entry, error), visit func(hemera.Entry)) error {
	var after hemera.FileID
	for ctx.Err() == nil {
		entries, err := list(after)
		if err != nil || len(entries) == 0 {
			return err
		}
		for _, e := range entries {
			visit(e)
			after = e.ID
		}
	}
	return ctx.Err()
}

// disk compares one disk, window by window.
func (a *auditor) disk(ctx context.Context, d hemera.Disk, t *tally) error {
	var lo hemera.FileID
	for {
		after := hemera.PieceID{File: lo, Gen: math.MaxUint64, Index: math.MaxUint8}
		stats, err := a.inventory(ctx, d, after, auditPage)
		if err != nil {
			return err
		}
		entries, err := a.engine.Files.DiskFiles(ctx, d.ID, lo, auditPage)
		if err != nil {
			return err
		}
		w := align(lo, entries, stats, auditPage)
		t.mu.Lock()
		t.pieces += int64(len(w.stats))
		t.mu.Unlock()
		for _, f := range compare(d.ID, w) {
			if err := a.confirm(ctx, d, f, t); err != nil {
				return err
			}
		}
		if w.last {
			return nil
		}
		lo = w.hi
	}
}

func (a *auditor) inventory(ctx context.Context, d hemera.Disk, after hemera.PieceID, limit int) ([]hemera.PieceStat, error) {
	r, err := a.engine.Orders.Do(ctx, d.Node, hemera.Order{Kind: hemera.OrderInventory, Disk: d.ID, After: after, Limit: limit})
	return r.Pieces, err
}

// onDisk reports whether the disk has the piece now.
func (a *auditor) onDisk(ctx context.Context, d hemera.Disk, p hemera.PieceID) (bool, error) {
	stats, err := a.inventory(ctx, d, before(p), 1)
	return len(stats) > 0 && stats[0].ID == p, err
}

// confirm looks again at one finding, and counts it, or acts, when it still holds.
func (a *auditor) confirm(ctx context.Context, d hemera.Disk, f finding, t *tally) error {
	now, _, err := a.engine.Files.Resolve(ctx, f.piece.File)
	if err != nil && !errors.Is(err, errs.NotFound) {
		return err
	}
	theirs := err == nil && has(now, f.piece, d.ID)
	switch {
	case f.tag == tagOrphan && !theirs:
		return a.orphan(ctx, d, f, t)
	case f.tag == tagSize && theirs:
		t.add(tagSize, d.ID, f.piece.File)
		if t.repair {
			a.engine.Heal(hemera.BadPiece{Disk: d.ID, Piece: f.piece})
		}
	case f.tag == tagMissing && theirs:
		there, err := a.onDisk(ctx, d, f.piece)
		if err != nil || there {
			return err
		}
		t.add(tagMissing, d.ID, f.piece.File)
		if len(now.Pieces) <= int(max(now.Layout.Data, 1)) {
			t.add(tagLost, d.ID, f.piece.File)
		}
		if !t.repair {
			return nil
		}
		a.engine.Heal(hemera.BadPiece{Disk: d.ID, Piece: f.piece})
	}
	return nil
}

// orphan removes a piece that no file has, is not about to have, and that is not on its way out. One
// of changes that a restored namespace has forgotten is kept (see forgotten). It holds the file, lest a relocation find the piece where it wants to make it, and take it for made.
func (a *auditor) orphan(ctx context.Context, d hemera.Disk, f finding, t *tally) error {
	e := a.engine
	if e.Files.Forgotten(f.piece, f.stat.Sealed) {
		return a.forgotten(ctx, d, f, t)
	}
	if e.Now().Sub(f.stat.Sealed) < e.OrphanAge || !e.gate.hold(f.piece.File) {
		return nil
	}
	defer e.gate.release(f.piece.File)
	now, _, err := e.Files.Resolve(ctx, f.piece.File)
	if err == nil && has(now, f.piece, d.ID) || err != nil && !errors.Is(err, errs.NotFound) {
		return errs.Wrap(err, "maint.audit", "disk "+d.ID.String())
	}
	leaving, err := e.Files.Leaving(ctx, d.ID, f.piece)
	if err != nil || leaving {
		return err
	}
	there, err := a.onDisk(ctx, d, f.piece)
	if err != nil || !there {
		return err
	}
	t.add(tagOrphan, d.ID, f.piece.File)
	key := copyKey{d.ID, f.piece}
	if !t.repair || !a.suspects.proven(key, e.Now()) {
		return nil
	}
	a.suspects.drop(key)
	// Whoever asked for the audit may go away, the order does not: the file is held until it is done.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), orphanTime)
	defer cancel()
	_, err = e.Orders.Do(ctx, d.Node, hemera.Order{Kind: hemera.OrderRemove, Disk: d.ID, Piece: f.piece})
	return err
}
