package maint

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"hemera/maint/orders"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// unlinkedFiles has one piece to remove on every disk, until it is forgotten.
type unlinkedFiles struct {
	Files
	Removals
	Findings
	forgotten chan hemera.DiskID
}

func (unlinkedFiles) Unlinked(_ context.Context, disk hemera.DiskID, _ int) ([]hemera.PieceID, error) {
	return []hemera.PieceID{{File: hemera.FileID(disk), Gen: 1}}, nil
}

func (unlinkedFiles) DiskHeld(context.Context, hemera.DiskID) (pieces, bytes int64, err error) {
	return 0, 0, nil
}

func (f unlinkedFiles) ConfirmRemoved(_ context.Context, disk hemera.DiskID, _ []hemera.PieceID) error {
	f.forgotten <- disk
	return nil
}

type viewOnly struct {
	Cluster
	view hemera.View
}

func (c *viewOnly) View() *hemera.View { return &c.view }

// A disk that removes nothing is asked again after a pause, however often the remover is woken by
// others; one that is read-only is not asked at all.
func TestRemoverLeavesDisksAloneThatCannotRemove(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &viewOnly{view: hemera.View{Disks: []hemera.Disk{
			{ID: 1, Node: 1, Active: true, Health: hemera.HealthOK},
			{ID: 2, Node: 1, Active: true, Health: hemera.HealthReadOnly},
		}}}
		files := unlinkedFiles{forgotten: make(chan hemera.DiskID, 1)}
		e := New(Options{Files: files, Removals: files, Findings: files, Cluster: c, Orders: orders.New()})
		r := newRemover(e.base, e.room)
		step := func() {
			if _, err := r.Step(t.Context()); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		answer := func(failed bool) {
			t.Helper()
			list := exchange(t, e.Orders)
			if len(list) != 1 || list[0].Disk != 1 {
				t.Fatalf("orders %+v", list)
			}
			exchange(t, e.Orders, hemera.OrderResult{ID: list[0].ID, Failed: failed, ErrKind: uint8(errs.IO), ErrText: "input/output error"})
			synctest.Wait()
		}
		step()
		answer(true) // the exchange of the result waits ExchangeWait for more
		step()
		if list := exchange(t, e.Orders); len(list) != 0 {
			t.Fatalf("asked again at once: %+v", list)
		}
		time.Sleep(removePause)
		step()
		answer(false)
		if got := <-files.forgotten; got != 1 {
			t.Errorf("disk %d was asked", got)
		}
		step() // no pause after success
		answer(false)
		<-files.forgotten
	})
}
