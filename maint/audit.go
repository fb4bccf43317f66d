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

	"hemera/platform/turn"
	"hemera/rules/layout"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

const (
	// auditsAtOnce bounds the disks compared at a time.
	// Each has one page of a disk and one of the namespace in memory, and one order waiting at a node.
	auditsAtOnce = 16
	// auditRest is the interval at which the worker looks for audits that are due. auditRetry is the time until a failed
	// one is due again.
	auditRest  = 10 * time.Second
	auditRetry = 10 * time.Minute
	// awayAfter is the time after a manager's start from which a disk without a report counts as away: before, its node
	// may be about to register.
	awayAfter = 2 * time.Minute
	// orphanTime bounds the wait for the removal of one orphan.
	orphanTime = 10 * time.Second
	// busyTime bounds the wait of one audit, in all and once it has seen the rest, for files that are being relocated or
	// that the audit of another disk has, and busyMax how many pieces of such files it remembers.
	busyTime = 10 * time.Second
	busyMax  = 4096
)

// auditor compares disks with the namespace: each every [AuditInterval], and once what was being
// written is old enough to judge after the disk came back, or after its node or the manager did not end
// in good order. Every finding is confirmed before it counts, since
// files change meanwhile. A missing piece is made again, one that is bad only when its copy is sealed; an
// orphan is removed.
type auditor struct {
	base    *base
	broken  *broken
	checker *checker       // reads a piece that may have been moved
	piecer  *pieceRepairer // repairs what is found
	// seen is since when a disk that is away may be said to be; used by Step alone.
	seen map[hemera.DiskID]time.Time

	suspects suspects // orphans that are not old enough to judge

	mu    sync.Mutex
	turns map[hemera.DiskID]turn.Turn // held by the one audit of a disk that is under way
}

// newAuditor makes an auditor that has audited nothing.
func newAuditor(ck *checker) *auditor {
	return &auditor{
		base: ck.base, broken: ck.broken, checker: ck, piecer: ck.piecer,
		seen: map[hemera.DiskID]time.Time{}, suspects: suspects{after: min(ck.base.OrphanAge, suspectTime)},
	}
}

func (a *auditor) Name() string { return "audit" }

// Step audits the disks that are due, all at once, and sleeps until the next is.
func (a *auditor) Step(ctx context.Context) (time.Duration, error) {
	now := a.base.Now()
	var disks []hemera.Disk
	for _, d := range a.base.Cluster.View().Disks {
		old := a.base.Cluster.Survey(d.ID)
		s, due := a.schedule(d, old, now)
		if s != old {
			if err := a.base.Cluster.SetAudit(ctx, d.ID, s); err != nil {
				return auditRest, err
			}
		}
		// Suspects bring their disk back before its interval is over, so that the piece of a cancelled write does not stay for days.
		if again := d.Readable() && a.suspects.due(d.ID, now); due || again {
			disks = append(disks, d)
		}
	}
	if len(disks) == 0 {
		return auditRest, nil
	}
	// A suspect that two intervals did not judge is gone by another way: its file was removed, or its disk left.
	a.suspects.prune(now.Add(-2 * AuditInterval))
	report, err := a.run(ctx, disks, true)
	for _, p := range report.Problems {
		a.base.Log.Warn("audit found a problem", "tag", p.Tag, "disk", p.Disk, "count", p.Count)
	}
	return auditRest, err
}

// schedule returns when the disk is audited next, and whether it is due now. The result is stored. So a manager that is often
// restarted still audits, and a manager that finds a disk again knows that the disk was away when it stopped.
func (a *auditor) schedule(d hemera.Disk, s hemera.DiskSurvey, now time.Time) (_ hemera.DiskSurvey, due bool) {
	// An earlier audit would find the pieces of writes that were under way, and set all of them aside as too young.
	soon := now.Add(a.base.OrphanAge + time.Minute)
	if !d.Readable() {
		// The first look after a start proves nothing: the node may be about to register.
		first, known := a.seen[d.ID]
		if !known {
			a.seen[d.ID] = now
		} else if now.Sub(first) >= awayAfter {
			s.Away = true
		}
		return s, false
	}
	a.seen[d.ID] = now.Add(-awayAfter) // from now on it is away at once
	if s.Away || s.AuditDue.IsZero() {
		s.Away = false
		// An audit that is due earlier stays due: a disk that comes and goes must not put its audit off each time.
		if s.AuditDue.IsZero() || s.AuditDue.After(soon) {
			s.AuditDue = soon
		}
	}
	if again := now.Add(auditRetry); s.Older && s.AuditDue.After(again) { // an audit that began before knew nothing of it
		s.AuditDue = again
	}
	if latest := now.Add(AuditInterval); s.AuditDue.After(latest) { // by a clock that was wrong
		s.AuditDue = latest
	}
	return s, !now.Before(s.AuditDue)
}

// audited remembers how the audit of a disk went. One that failed is tried again soon, and one with pieces
// that may be orphans when they are old enough to judge: what is known of them is in memory only. An older copy of a disk is like others
// once it lacks no piece that can be made again.
func (a *auditor) audited(ctx context.Context, d hemera.Disk, t *tally, err error) {
	// The manager ends, so a failure says nothing about the disk.
	if ctx.Err() != nil {
		return
	}
	now := a.base.Now()
	s := a.base.Cluster.Survey(d.ID)
	lacks := d.Health == hemera.HealthOlder && t.lacks(d.ID)
	switch again := a.suspects.next(d.ID); {
	case err != nil, lacks:
		s.AuditDue = now.Add(auditRetry)
	case d.Health == hemera.HealthOlder && again.IsZero(): // it was audited at once: what was too young to judge is not then
		s.LastAudit, s.AuditDue = now, now.Add(a.base.OrphanAge+time.Minute)
	case !again.IsZero():
		s.LastAudit, s.AuditDue = now, again
	default:
		s.LastAudit, s.AuditDue = now, now.Add(AuditInterval)
	}
	if err := a.base.Cluster.SetAudit(ctx, d.ID, s); err != nil {
		a.base.Log.Error("that a disk was audited is not stored", "disk", d.ID, "error", err)
	}
	if d.Health != hemera.HealthOlder || err != nil || lacks {
		return
	}
	if err := a.base.Cluster.Whole(ctx, d.ID); err != nil {
		a.base.Log.Error("that an older copy of a disk has all of its pieces is not stored", "disk", d.ID, "error", err)
	}
}

// run compares the disks with the namespace and returns what does not agree. With repair it acts on what it finds.
func (a *auditor) run(ctx context.Context, disks []hemera.Disk, repair bool) (adminapi.FsckReport, error) {
	t := &tally{repair: repair, problems: map[problemKey]*adminapi.FsckProblem{}}
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(auditsAtOnce)
	for _, d := range disks {
		g.Go(a.base.Panics.Func("maint.Audit", "disk "+d.ID.String(), func() error {
			if !d.Readable() {
				return a.offline(gctx, d, t)
			}
			err := a.base.Panics.Do("maint.Audit", "disk "+d.ID.String(), func() error { return a.inTurn(gctx, d, t) })
			// Without repair nothing is remembered: a look by an admin does not put off the audit that acts.
			if repair {
				a.audited(gctx, d, t, err)
			}
			if err != nil && gctx.Err() == nil {
				a.base.Log.Warn("disk could not be audited", "disk", d.ID, "error", err)
				// Its files are counted as offline rather than left out: a report that is silent about a disk reads as good.
				err = a.offline(gctx, d, t)
			}
			return errs.Wrap(err, "maint.Fsck", "disk "+d.ID.String())
		}))
	}
	err := g.Wait()
	if err == nil {
		// These three need no node, so they come last and see what the disks' comparison has recorded.
		err = a.short(ctx, t)
	}
	if err == nil {
		err = a.removed(ctx, t)
	}
	if err == nil {
		err = a.ruined(ctx, t)
	}
	if repair {
		a.base.Wake()
	}
	report := adminapi.FsckReport{Taken: a.base.Now(), Pieces: t.pieces, Leaving: t.leaving, Young: t.young, YoungAge: a.base.OrphanAge}
	for _, p := range t.problems {
		report.Problems = append(report.Problems, *p)
	}
	slices.SortFunc(report.Problems, func(x, y adminapi.FsckProblem) int {
		return cmp.Or(cmp.Compare(x.Tag, y.Tag), cmp.Compare(x.Disk, y.Disk))
	})
	return report, err
}

// offline counts the files of a disk that cannot be asked.
func (a *auditor) offline(ctx context.Context, d hemera.Disk, t *tally) error {
	return a.pages(ctx, func(after hemera.FileID) ([]hemera.Entry, error) {
		return a.base.Files.DiskFiles(ctx, d.ID, after, auditPage)
	}, func(e hemera.Entry) { t.add(tagOffline, d.ID, e.ID) })
}

// short counts incomplete files.
func (a *auditor) short(ctx context.Context, t *tally) error {
	return a.pages(ctx, func(after hemera.FileID) ([]hemera.Entry, error) {
		return a.base.Files.Incomplete(ctx, after, auditPage)
	}, func(e hemera.Entry) { t.add(tagShort, 0, e.ID) })
}

// pages visits all entries of a list, a page at a time.
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

// inTurn compares one disk when no other audit does: two would take each other's look at an orphan for
// work on its file, and leave it out.
func (a *auditor) inTurn(ctx context.Context, d hemera.Disk, t *tally) error {
	a.mu.Lock()
	if a.turns == nil {
		a.turns = map[hemera.DiskID]turn.Turn{}
	}
	mine, ok := a.turns[d.ID]
	if !ok {
		mine = turn.New()
		a.turns[d.ID] = mine
	}
	a.mu.Unlock()
	if err := mine.Acquire(ctx); err != nil { // as long as a disk takes to list
		return err
	}
	defer mine.Release()
	return a.disk(ctx, d, t)
}

// disk compares one disk, window by window. A finding that cannot be judged by a defect fails the audit of the disk when the rest is compared.
func (a *auditor) disk(ctx context.Context, d hemera.Disk, t *tally) error {
	var lo hemera.FileID
	var busy []finding
	var failed error
	for {
		// The last possible piece of the file lo: the page begins with the file after it.
		after := hemera.PieceID{File: lo, Gen: math.MaxUint64, Index: math.MaxUint8}
		stats, err := a.base.inventory(ctx, d, after, auditPage)
		if err != nil {
			return err
		}
		// The disk is listed before the namespace. A piece that is recorded in between is then missing and not an orphan, and
		// confirm finds it on the disk.
		entries, err := a.base.Files.DiskFiles(ctx, d.ID, lo, auditPage)
		if err != nil {
			return err
		}
		w := align(lo, entries, stats, auditPage)
		t.mu.Lock()
		t.pieces += int64(len(w.stats))
		t.mu.Unlock()
		for _, f := range compare(d.ID, w) {
			err := a.contained(ctx, d, f, t)
			if errors.Is(err, errBusy) {
				if len(busy) < busyMax {
					busy = append(busy, f)
				} else {
					a.unjudged(d, f, t)
				}
				continue
			}
			if err != nil && errs.KindOf(err) != errs.Internal {
				return err
			}
			failed = cmp.Or(failed, err)
		}
		if w.last {
			return cmp.Or(a.confirmBusy(ctx, d, busy, t), failed)
		}
		lo = w.hi
	}
}

// confirmBusy looks at the findings of files that were busy. It waits for the files: audits go through their disks in the
// same order, so those of two disks with pieces of one file would meet there each time.
func (a *auditor) confirmBusy(ctx context.Context, d hemera.Disk, busy []finding, t *tally) (failed error) {
	patience, cancel := context.WithTimeout(ctx, busyTime)
	defer cancel()
	for _, f := range busy {
		err := errBusy
		for errors.Is(err, errBusy) && a.base.mover.AwaitFile(patience, f.piece.File) == nil {
			err = a.contained(ctx, d, f, t)
		}
		if errors.Is(err, errBusy) {
			a.unjudged(d, f, t)
			continue
		}
		if err != nil && errs.KindOf(err) != errs.Internal {
			return err
		}
		failed = cmp.Or(failed, err)
	}
	return cmp.Or(ctx.Err(), failed)
}

// contained calls confirm and returns a panic as an error of the finding.
func (a *auditor) contained(ctx context.Context, d hemera.Disk, f finding, t *tally) error {
	return a.base.Panics.Do("maint.Audit", f.piece.String()+" on disk "+d.ID.String(), func() error { return a.confirm(ctx, d, f, t) })
}

// unjudged counts a finding of a file that stayed busy, and has its disk looked at again soon.
func (a *auditor) unjudged(d hemera.Disk, f finding, t *tally) {
	t.addPiece(tagBusy, d.ID, f.stat)
	t.lack(d.ID)
	a.suspects.busy(hemera.BadPiece{Disk: d.ID, Piece: f.piece}, a.base.Now())
}

// errBusy says that a finding cannot be judged while a relocation, or the audit of another disk, has its file.
var errBusy = errors.New("maint: the file is being worked on")

// confirm looks again at one finding, and counts it, or acts, when it still holds. It fails with errBusy while the file is locked.
func (a *auditor) confirm(ctx context.Context, d hemera.Disk, f finding, t *tally) error {
	now, _, err := a.base.Files.Resolve(ctx, f.piece.File)
	if err != nil && !errors.Is(err, errs.NotFound) {
		return err
	}
	theirs := err == nil && has(now, f.piece, d.ID)
	switch {
	// Findings that do not hold any more fall through all cases: the file was changed between the two lists.
	case f.tag == tagOrphan && !theirs:
		return a.orphan(ctx, d, f, t)
	case (f.tag == tagSize || f.tag == tagKept) && theirs:
		t.add(f.tag, d.ID, f.piece.File)
		if t.repair {
			a.piecer.repairSoon(hemera.BadPiece{Disk: d.ID, Piece: f.piece})
		}
	case f.tag == tagMissing && theirs:
		there, err := a.base.onDisk(ctx, d, f.piece)
		// It was sealed or moved here since the disk was listed.
		if err != nil || there {
			return err
		}
		t.add(tagMissing, d.ID, f.piece.File)
		// The missing piece is one of those that it cannot do without.
		if !layout.Readable(now.Layout, now.Size, layout.Indexes(now.Pieces).Without(int(f.piece.Index))) {
			t.addLost(d.ID, f.piece.File)
		}
		if !t.repair {
			return nil
		}
		bad := hemera.BadPiece{Disk: d.ID, Piece: f.piece}
		if !a.broken.IsBroken(bad) {
			t.lack(d.ID)
		}
		a.piecer.repairSoon(bad)
	}
	return nil
}

// orphan removes a piece that no file has and that is not on its way out. The write it belongs to may still be
// under way, at a head that stood still for all that time: from the moment of the removal on it cannot be
// committed. A piece of changes that a restored namespace has forgotten is kept (see forgotten). The file is
// locked, so that no relocation finds the piece where it wants to make it, and takes it for made.
func (a *auditor) orphan(ctx context.Context, d hemera.Disk, f finding, t *tally) error {
	e := a.base
	if e.Findings.NewerThanRestore(f.piece, f.stat.Sealed) {
		return a.forgotten(ctx, d, f, t)
	}
	// The namespace knows of it: the remover has it removed, or holds it for readers.
	leaving, err := e.Removals.IsUnlinked(ctx, d.ID, f.piece)
	if err != nil || leaving {
		if leaving {
			t.count(&t.leaving)
		}
		return err
	}
	key, young := hemera.BadPiece{Disk: d.ID, Piece: f.piece}, e.Now().Sub(f.stat.Sealed) < e.OrphanAge
	if !e.mover.LockFile(f.piece.File) { // perhaps by the audit of another disk, with another piece of the same write
		if young {
			t.count(&t.young) // what a move makes is found like this
			return nil
		}
		return errBusy
	}
	defer e.mover.UnlockFile(f.piece.File)
	now, _, err := e.Files.Resolve(ctx, f.piece.File)
	if err == nil && has(now, f.piece, d.ID) || err != nil && !errors.Is(err, errs.NotFound) {
		return errs.Wrap(err, "maint.Audit", "disk "+d.ID.String())
	}
	// A piece of the content that the file has is not left by a write, so its age does not matter here.
	current := err == nil && now.Gen == f.piece.Gen
	if young && !current {
		t.count(&t.young)
		return nil
	}
	// Its file was changed meanwhile: it is on its way out now.
	leaving, err = e.Removals.IsUnlinked(ctx, d.ID, f.piece)
	if err != nil || leaving {
		if leaving {
			t.count(&t.leaving)
		}
		return err
	}
	// The list may be minutes old, and the order below must not be for a piece that is gone.
	there, err := a.base.onDisk(ctx, d, f.piece)
	if err != nil || !there {
		return err
	}
	if current {
		if done, err := a.strayed(ctx, d, f, now, t); done || err != nil {
			return err
		}
	}
	if young {
		t.count(&t.young)
		return nil
	}
	t.addPiece(tagOrphan, d.ID, f.stat)
	// The node's clock says that it is old. The manager's own clock has to agree before anything is removed.
	if !t.repair || !a.suspects.proven(key, e.Now()) {
		return nil
	}
	// From here on no commit can name the piece: the claim and commits are serialized by the namespace, and durable.
	condemned, err := e.Findings.ClaimOrphan(ctx, d.ID, f.piece)
	switch {
	case errors.Is(err, errs.Overloaded): // its turn comes later
		return nil
	case err != nil:
		return errs.Wrap(err, "maint.Audit", "disk "+d.ID.String())
	}
	a.suspects.drop(key)
	// A file has it after all: a commit was faster.
	if !condemned {
		return nil
	}
	// The caller of the audit may go away, the order does not: the file is held until it is done.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), orphanTime)
	defer cancel()
	_, err = e.Orders.Do(ctx, d.Node, hemera.Order{Kind: hemera.OrderRemove, Disk: d.ID, Piece: f.piece})
	return err
}
