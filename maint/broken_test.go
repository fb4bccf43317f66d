package maint

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"hemera/maint/orders"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// oneFile is a namespace with one file, of one piece, that stores what is broken.
type oneFile struct {
	Files
	Removals
	Findings
	entry  hemera.Entry
	broken map[hemera.BadPiece]bool
}

func (f *oneFile) Resolve(context.Context, hemera.FileID) (hemera.Entry, string, error) {
	return f.entry, "/f", nil
}

func (f *oneFile) MarkBroken(_ context.Context, b hemera.BadPiece, is bool) error {
	f.broken[b] = is
	return nil
}

func (f *oneFile) BrokenPieces(context.Context, int) (list []hemera.BadPiece, err error) {
	for b, is := range f.broken {
		if is {
			list = append(list, b)
		}
	}
	return list, nil
}

// TestOnlyABadPieceIsBroken: a piece is remembered as bad when its node says so, not when the node, or room for
// another, is wanting; and it is forgotten when a later look finds it good.
func TestOnlyABadPieceIsBroken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		entry := hemera.Entry{ID: 7, Gen: 1, Kind: hemera.KindFile, Size: 10, Space: "default", Layout: hemera.Plain(), Pieces: []hemera.Piece{{Disk: 3}}}
		f := &oneFile{entry: entry, broken: map[hemera.BadPiece]bool{}}
		view := hemera.View{
			Nodes: []hemera.NodeInfo{{ID: 1, Status: hemera.NodeOnline, Enabled: true, Addr: "n1:1"}}, Spaces: []hemera.Space{{Name: "default"}},
			Disks: []hemera.Disk{{ID: 3, Node: 1, Space: "default", Config: hemera.ConfigRW, Health: hemera.HealthOK, Active: true}},
		}
		e := New(Options{Files: f, Removals: f, Findings: f, Cluster: &viewOnly{view: view}, Orders: orders.New(), Signer: anySigner{}})
		b := pieceOn(entry, entry.Pieces[0])
		heal := func(kind errs.Kind) {
			t.Helper()
			done := make(chan error, 1)
			go func() { done <- e.piecer.repair(t.Context(), b) }()
			list := exchange(t, e.Orders)
			if len(list) != 1 || list[0].Kind != hemera.OrderRepair {
				t.Fatalf("orders %+v", list)
			}
			exchange(t, e.Orders, hemera.OrderResult{ID: list[0].ID, Failed: kind != 0, ErrKind: uint8(kind), ErrText: "so"})
			<-done
		}
		for _, c := range []struct {
			kind   errs.Kind
			broken bool
		}{{errs.Unavailable, false}, {errs.NotFound, false}, {errs.IO, false}, {errs.NoReplicas, true}, {errs.Unavailable, true}, {0, false}, {errs.Corrupt, true}} {
			time.Sleep(setbackMost)
			heal(c.kind)
			if e.IsBroken(b) != c.broken || f.broken[b] != c.broken {
				t.Errorf("after %v it is broken: %t, stored %t", c.kind, e.IsBroken(b), f.broken[b])
			}
		}
		// A read finds it again, and nothing has changed.
		if err := e.piecer.repair(t.Context(), b); err != nil || len(e.Orders.Busy()) > 0 {
			t.Errorf("tried again at once: %v, %v", err, e.Orders.Busy())
		}
		tally := &tally{problems: map[problemKey]*adminapi.FsckProblem{}}
		for range 2 {
			if err := e.auditor.ruined(t.Context(), tally); err != nil {
				t.Fatal(err)
			}
		}
		if p := tally.problems[problemKey{tagLost, 3}]; p == nil || p.Count != 1 {
			t.Errorf("problems %+v", tally.problems)
		}
		if e.Bad() != 0 {
			t.Errorf("%d pieces are to be repaired", e.Bad())
		}
		next := New(e.Options)
		if err := next.Load(t.Context()); err != nil || !next.IsBroken(b) {
			t.Errorf("forgotten by the next manager: %v", err)
		}
		if early := next.broken.due(&view, next.Now()); len(early) != 0 {
			t.Errorf("tried again at once, with the nodes that register: %v", early)
		}
		time.Sleep(brokenRest)
		if again := next.broken.due(&view, next.Now()); len(again) != 1 {
			t.Errorf("tried again after an hour: %v", again)
		}
		view.Disks[0].Active = false
		if early := next.broken.due(&view, next.Now()); len(early) != 0 {
			t.Errorf("tried again without the disk: %v", early)
		}
		view.Disks[0].Active = true
		if again := next.broken.due(&view, next.Now()); len(again) != 1 {
			t.Errorf("tried again when the disk is back: %v", again)
		}
	})
}
