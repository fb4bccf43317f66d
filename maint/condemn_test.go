package maint

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"hemera"
	"hemera/errs"
)

// doomedFiles has no file, and says of each piece whether it may go.
type doomedFiles struct {
	Files
	condemned bool
	err       error
	asked     int
}

func (*doomedFiles) Resolve(context.Context, hemera.FileID) (hemera.Entry, string, error) {
	return hemera.Entry{}, "", errs.New(errs.NotFound, "resolve", "", "no such file")
}

func (*doomedFiles) Forgotten(hemera.PieceID, time.Time) bool { return false }

func (*doomedFiles) Leaving(context.Context, hemera.DiskID, hemera.PieceID) (bool, error) {
	return false, nil
}

func (f *doomedFiles) Condemn(context.Context, hemera.DiskID, hemera.PieceID) (bool, error) {
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
		"too many":            {doomedFiles{err: errs.New(errs.Overloaded, "namespace.Condemn", "", "too many")}, 0, nil},
		"not durable":         {doomedFiles{condemned: true, err: broken}, 0, broken},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := c.files
				e := New(Options{Files: &f, Orders: NewOrders()})
				piece := hemera.PieceID{File: 7, Gen: 1}
				stat := hemera.PieceStat{ID: piece, Sealed: time.Now()}
				time.Sleep(2 * OrphanAge)
				disk := hemera.Disk{ID: 3, Node: 1}
				e.auditor.suspects.proven(copyKey{disk.ID, piece}, time.Now().Add(-OrphanAge))
				done := make(chan error, 1)
				go func() {
					done <- e.auditor.orphan(t.Context(), disk, finding{tag: tagOrphan, piece: piece, stat: stat}, &tally{repair: true, problems: map[problemKey]*hemera.FsckProblem{}})
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
