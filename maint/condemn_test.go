package maint

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"hemera/maint/orders"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// auditedCluster has one disk, and remembers its survey.
type auditedCluster struct {
	viewOnly
	survey hemera.DiskSurvey
}

func (c *auditedCluster) Survey(hemera.DiskID) hemera.DiskSurvey { return c.survey }

func (c *auditedCluster) Whole(context.Context, hemera.DiskID) error { return nil }

func (c *auditedCluster) SetAudit(_ context.Context, _ hemera.DiskID, s hemera.DiskSurvey) error {
	c.survey = s
	return nil
}

func (*auditedCluster) Removed() []hemera.DiskID { return nil }

// TestAnAuditEndsWithItsSuspects: once the orphan is gone, the disk is not audited again for a week.
func TestAnAuditEndsWithItsSuspects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &auditedCluster{viewOnly: viewOnly{view: hemera.View{Disks: []hemera.Disk{{ID: 3, Node: 1, Active: true, Health: hemera.HealthOK}}}}}
		c.survey.AuditDue = time.Now().Add(2 * OrphanAge)
		e := New(Options{Files: &doomedFiles{condemned: true}, Removals: &doomedFiles{condemned: true}, Findings: &doomedFiles{condemned: true}, Cluster: c, Orders: orders.New()})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		there := []hemera.PieceStat{{ID: hemera.PieceID{File: 7, Gen: 1}, Sealed: time.Now()}}
		go node1(ctx, e, func(o hemera.Order) []hemera.PieceStat {
			if o.Kind == hemera.OrderRemove {
				there = nil
			} else if o.After.Gen == 0 || o.After.File == 0 {
				return there
			}
			return nil
		})
		audits := 0
		for range 60 {
			before := c.survey.LastAudit
			time.Sleep(5 * time.Minute)
			if _, err := e.auditor.Step(ctx); err != nil {
				t.Fatal(err)
			}
			if c.survey.LastAudit != before {
				audits++
			}
		}
		if len(there) > 0 || audits != 2 || time.Until(c.survey.AuditDue) < 6*24*time.Hour {
			t.Errorf("%d audits, %d orphans left, the next in %s", audits, len(there), time.Until(c.survey.AuditDue))
		}
	})
}

// TestWhatIsBusyIsJudgedLater: an audit that meets a file which is held, by the audit of another disk or by a repair,
// waits for it. One that is held for longer is named, and its disk is looked at again soon, whether the piece is an
// orphan or of a change that the namespace has forgotten.
func TestWhatIsBusyIsJudgedLater(t *testing.T) {
	for _, test := range []struct {
		forgotten bool
		held      time.Duration
		want      string
	}{
		{false, busyTime / 2, tagOrphan}, {false, 2 * busyTime, tagBusy},
		{true, busyTime / 2, tagNewer}, {true, 2 * busyTime, tagBusy},
	} {
		synctest.Test(t, func(t *testing.T) {
			files := &doomedFiles{forgotten: test.forgotten}
			piece, disk := hemera.PieceID{File: 7, Gen: 1}, hemera.Disk{ID: 3, Node: 1, Active: true, Health: hemera.HealthOK}
			c := &auditedCluster{viewOnly: viewOnly{view: hemera.View{Disks: []hemera.Disk{disk}}}}
			e := New(Options{Files: files, Removals: files, Findings: files, Cluster: c, Orders: orders.New()})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			old := []hemera.PieceStat{{ID: piece, Sealed: time.Now().Add(-2 * OrphanAge)}}
			go node1(ctx, e, func(o hemera.Order) []hemera.PieceStat {
				if o.After.File < piece.File || o.After.Gen < piece.Gen {
					return old
				}
				return nil
			})
			e.mover.LockFile(piece.File)
			time.AfterFunc(test.held, func() { e.mover.UnlockFile(piece.File) })
			before := time.Now()
			tally := &tally{repair: true, problems: map[problemKey]*adminapi.FsckProblem{}}
			if err := e.auditor.disk(ctx, disk, tally); err != nil {
				t.Fatal(err)
			}
			if len(tally.problems) != 1 || tally.problems[problemKey{test.want, 3}] == nil {
				t.Errorf("%+v: found %v", test, tally.problems)
			}
			again := e.auditor.suspects.next(disk.ID)
			if test.want == tagBusy && (again.IsZero() || again.After(before.Add(10*time.Minute))) {
				t.Errorf("%+v: the disk is looked at again at %s", test, again)
			}
		})
	}
}

// node1 plays node 1: it answers each order with the pieces that pieces returns for it.
func node1(ctx context.Context, e *Engine, pieces func(hemera.Order) []hemera.PieceStat) {
	var results []hemera.OrderResult
	for ctx.Err() == nil {
		list, _ := e.Orders.Exchange(ctx, 1, results)
		results = nil
		for _, o := range list {
			results = append(results, hemera.OrderResult{ID: o.ID, Pieces: pieces(o)})
		}
	}
}

// doubledFile has one file, on disk 1. Its other copy, on disk 3, is being removed, which ends when the test has read it.
type doubledFile struct {
	doomedFiles
	moves int
}

func (*doubledFile) Resolve(context.Context, hemera.FileID) (hemera.Entry, string, error) {
	return hemera.Entry{ID: 7, Gen: 1, Size: 5, Kind: hemera.KindFile, Layout: hemera.Layout{Kind: hemera.LayoutReplica, Pieces: 1}, Pieces: []hemera.Piece{{Disk: 1}}}, "/f", nil
}

func (*doubledFile) IsUnlinked(_ context.Context, disk hemera.DiskID, _ hemera.PieceID) (bool, error) {
	return disk == 3, nil
}

func (f *doubledFile) MovePieces(context.Context, hemera.FileID, hemera.Generation, []hemera.Piece, []hemera.Piece) error {
	f.moves++
	return nil
}

// TestAPieceOnItsWayOutWasNotMovedHere: the audits of two disks each find a copy of a file that a restored namespace has
// once. One takes the file's place, and the other one leaves; a late look at the one that leaves must not take it back.
func TestAPieceOnItsWayOutWasNotMovedHere(t *testing.T) {
	piece, disk := hemera.PieceID{File: 7, Gen: 1}, hemera.Disk{ID: 3, Node: 1, Active: true, Health: hemera.HealthOK}
	files := &doubledFile{doomedFiles: doomedFiles{forgotten: true}}
	e := New(Options{Files: files, Removals: files, Findings: files, Orders: orders.New(), Signer: anySigner{},
		Cluster: &viewOnly{view: hemera.View{Disks: []hemera.Disk{disk}, Nodes: []hemera.NodeInfo{{ID: 1, Status: hemera.NodeOnline, Enabled: true}}}}})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stat := hemera.PieceStat{ID: piece, FileSize: 5, Size: 5}
	go node1(ctx, e, func(hemera.Order) []hemera.PieceStat { return []hemera.PieceStat{stat} })
	if err := e.auditor.orphan(ctx, disk, finding{tag: tagOrphan, piece: piece, stat: stat}, &tally{repair: true, problems: map[problemKey]*adminapi.FsckProblem{}}); err != nil {
		t.Fatal(err)
	}
	if files.moves > 0 {
		t.Error("the piece that is being removed was recorded in place of the one that stays")
	}
}

// doomedFiles has no file, and says of each piece whether it may go.
type doomedFiles struct {
	Files
	Removals
	Findings
	condemned bool
	forgotten bool // every piece is of a change that a restored namespace does not know
	err       error
	asked     int
}

func (*doomedFiles) Resolve(context.Context, hemera.FileID) (hemera.Entry, string, error) {
	return hemera.Entry{}, "", errs.New(errs.NotFound, "resolve", "", "no such file")
}

func (f *doomedFiles) NewerThanRestore(hemera.PieceID, time.Time) bool { return f.forgotten }

func (*doomedFiles) IsUnlinked(context.Context, hemera.DiskID, hemera.PieceID) (bool, error) {
	return false, nil
}

func (*doomedFiles) DiskFiles(context.Context, hemera.DiskID, hemera.FileID, int) ([]hemera.Entry, error) {
	return nil, nil
}

func (*doomedFiles) Incomplete(context.Context, hemera.FileID, int) ([]hemera.Entry, error) {
	return nil, nil
}

func (f *doomedFiles) ClaimOrphan(context.Context, hemera.DiskID, hemera.PieceID) (bool, error) {
	f.asked++
	return f.condemned, f.err
}

// TestAnOrphanGoesOnlyWhenItsWriteIsBarred: the order comes after the namespace's word, and not without.
func TestAnOrphanGoesOnlyWhenItsWriteIsBarred(t *testing.T) {
	broken := errors.New("the store has failed")
	for name, c := range map[string]struct {
		files  doomedFiles
		orders int
		err    error
	}{
		"barred":              {doomedFiles{condemned: true}, 1, nil},
		"committed meanwhile": {doomedFiles{}, 0, nil},
		"too many":            {doomedFiles{err: errs.New(errs.Overloaded, "namespace.ClaimOrphan", "", "too many")}, 0, nil},
		"not durable":         {doomedFiles{condemned: true, err: broken}, 0, broken},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := c.files
				e := New(Options{Files: &f, Removals: &f, Findings: &f, Orders: orders.New()})
				piece := hemera.PieceID{File: 7, Gen: 1}
				stat := hemera.PieceStat{ID: piece, Sealed: time.Now()}
				time.Sleep(2 * OrphanAge)
				disk := hemera.Disk{ID: 3, Node: 1}
				e.auditor.suspects.proven(hemera.BadPiece{Disk: disk.ID, Piece: piece}, time.Now().Add(-OrphanAge))
				done := make(chan error, 1)
				go func() {
					done <- e.auditor.orphan(t.Context(), disk, finding{tag: tagOrphan, piece: piece, stat: stat}, &tally{repair: true, problems: map[problemKey]*adminapi.FsckProblem{}})
				}()
				removals := 0
				var results []hemera.OrderResult
				for range 3 {
					list := exchange(t, e.Orders, results...)
					results = nil
					for _, o := range list {
						r := hemera.OrderResult{ID: o.ID}
						if o.Kind == hemera.OrderInventory {
							r.Pieces = []hemera.PieceStat{stat}
						} else if removals++; f.asked != 1 {
							t.Errorf("order %+v before the bar", o)
						}
						results = append(results, r)
					}
				}
				if err := <-done; !errors.Is(err, c.err) || removals != c.orders || f.asked != 1 {
					t.Errorf("%d removals, asked %d times: %v", removals, f.asked, err)
				}
			})
		})
	}
}
