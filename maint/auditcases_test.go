package maint

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hemera/words/hemera"
)

// audited is a miniature whose node lists what is on its disks.
type audited struct {
	*miniature
	there map[hemera.DiskID][]hemera.PieceStat
	newer bool // pieces may be of changes that a restore has lost
	moved []hemera.Piece
	gone  []hemera.PieceID // removed by order
}

func (a *audited) NewerThanRestore(hemera.PieceID, time.Time) bool { return a.newer }

func (a *audited) ClaimOrphan(context.Context, hemera.DiskID, hemera.PieceID) (bool, error) {
	return true, nil
}

func (a *audited) MarkBroken(context.Context, hemera.BadPiece, bool) error { return nil }

func (a *audited) MovePieces(_ context.Context, _ hemera.FileID, _ hemera.Generation, _, add []hemera.Piece) error {
	a.moved = append(a.moved, add...)
	return nil
}

// serve answers orders to list and to remove pieces.
func (a *audited) serve(ctx context.Context, e *Engine) {
	var results []hemera.OrderResult
	for ctx.Err() == nil {
		list, err := e.Orders.Exchange(ctx, 1, results)
		if err != nil {
			return
		}
		results = nil
		for _, o := range list {
			r := hemera.OrderResult{ID: o.ID}
			switch o.Kind {
			case hemera.OrderInventory:
				for _, s := range a.there[o.Disk] {
					if comparePieces(s.ID, o.After) > 0 {
						r.Pieces = append(r.Pieces, s)
					}
				}
				slices.SortFunc(r.Pieces, func(x, y hemera.PieceStat) int { return comparePieces(x.ID, y.ID) })
			case hemera.OrderRemove:
				a.gone = append(a.gone, o.Piece)
			}
			results = append(results, r)
		}
	}
}

// auditCase has the pieces of disks 1 and 2 beside file 1, which is of generation 1 and on disk 1, and what an audit without repair says.
type auditCase struct {
	name     string
	on1, on2 []hemera.PieceStat
	prepare  func(a *audited)
	want     string // tag and disk of each problem
	young    int64
	leaving  int64
}

// auditCases returns the cases with pieces of two ages.
func auditCases(old, young time.Time) []auditCase {
	const size = 100
	piece := func(file hemera.FileID, gen hemera.Generation, bytes int64, sealed time.Time) []hemera.PieceStat {
		return []hemera.PieceStat{{ID: hemera.PieceID{File: file, Gen: gen}, Size: bytes, FileSize: bytes, Sealed: sealed}}
	}
	good := piece(1, 1, size, old)
	kept := piece(1, 1, size, old)
	kept[0].Kept = true
	newer := func(a *audited) { a.newer = true }
	return []auditCase{
		{name: "all is as it should be", on1: good},
		{name: "a smaller piece", on1: piece(1, 1, size-1, old), want: "size_mismatch 1"},
		{name: "a larger piece", on1: piece(1, 1, size+1, old), want: "size_mismatch 1"},
		{name: "a piece that is kept for a person", on1: kept, want: "kept 1"},
		{name: "the only piece is gone", want: "lost 1, missing 1"},
		{name: "one of two is gone", on2: []hemera.PieceStat{{ID: hemera.PieceID{File: 1, Gen: 1, Index: 1}, Size: size, FileSize: size, Sealed: old}}, prepare: func(a *audited) {
			e := a.files[1]
			e.Layout, e.Pieces = hemera.Replica(2), append(e.Pieces, hemera.Piece{Index: 1, Disk: 2})
			a.files[1] = e
		}, want: "missing 1"},
		{name: "an old piece of no file", on1: append(piece(9, 1, 5, old), good...), want: "orphan 1"},
		{name: "a young piece of no file", on1: append(piece(9, 1, 5, young), good...), young: 1},
		{name: "an old piece of another generation", on1: append(piece(1, 2, 5, old), good...), want: "orphan 1"},
		{name: "a young piece of another generation", on1: append(piece(1, 2, 5, young), good...), young: 1},
		{name: "the file's piece, moved to another disk lately", on2: piece(1, 1, size, young), want: "lost 1, missing 1, moved 2"},
		{name: "another copy of the file's piece", on1: good, on2: piece(1, 1, size, old), want: "orphan 2"},
		{name: "another copy of the file's piece, made lately", on1: good, on2: piece(1, 1, size, young), young: 1},
		{name: "a piece of another size in the place of the file's", on2: piece(1, 1, size-1, old), want: "lost 1, missing 1, orphan 2"},
		{name: "the same where the file's piece cannot be asked for", on2: piece(1, 1, size, old), prepare: func(a *audited) { a.view.Disks[0].Active = false }, want: "offline 1, orphan 2"},
		{name: "a piece that waits for its removal", on1: append(piece(9, 1, 5, old), good...), prepare: func(a *audited) {
			a.unlinked[1] = map[hemera.PieceID]int64{{File: 9, Gen: 1}: 5}
		}, leaving: 1},
		{name: "a content newer than the restored namespace", on1: append(piece(1, 2, 5, old), good...), prepare: newer, want: "newer 1"},
		{name: "a file newer than the restored namespace", on1: append(piece(9, 2, 5, old), good...), prepare: newer, want: "newer 1"},
		{name: "a piece of another size, of the same generation, after a restore", on2: piece(1, 1, size-1, old), prepare: newer, want: "lost 1, missing 1, newer 2"},
		{name: "a piece that was moved after the backup", on2: piece(1, 1, size, old), prepare: newer, want: "lost 1, missing 1, moved 2"},
	}
}

// TestAnAuditJudgesWhatItFinds: by the footer, the age, the other places of the file, and what a restore may have lost. A look that does not repair
// changes nothing.
func TestAnAuditJudgesWhatItFinds(t *testing.T) {
	t.Parallel()
	for i := range auditCases(time.Time{}, time.Time{}) {
		synctest.Test(t, func(t *testing.T) {
			now := time.Now()
			c := auditCases(now.Add(-2*OrphanAge), now.Add(-time.Minute))[i]
			a := &audited{miniature: newMiniature(t), there: map[hemera.DiskID][]hemera.PieceStat{1: c.on1, 2: c.on2}}
			a.node("", 1<<20, 1<<20)
			a.file(hemera.Replica(1), 100, 1)
			if c.prepare != nil {
				c.prepare(a)
			}
			o := a.options()
			o.Files, o.Removals, o.Findings, o.Cluster = a, a, a, a
			e := New(o)
			ctx, end := context.WithCancel(t.Context())
			go a.serve(ctx, e)
			report, err := e.Fsck(ctx, false)
			end()
			var got []string
			for _, p := range report.Problems {
				if p.Tag != tagShort {
					got = append(got, fmt.Sprint(p.Tag, " ", p.Disk))
				}
			}
			slices.SortFunc(got, func(a, b string) int { return cmp.Compare(a, b) })
			if err != nil || strings.Join(got, ", ") != c.want || report.Young != c.young || report.Leaving != c.leaving || len(a.moved)+len(a.gone) > 0 {
				t.Errorf("%s: %q, %d young, %d leaving, moved %v, removed %v, %v; want %q", c.name, got, report.Young, report.Leaving, a.moved, a.gone, err, c.want)
			}
		})
	}
}
