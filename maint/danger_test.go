package maint

import (
	"context"
	"testing"
	"testing/synctest"

	"hemera/maint/move"
	"hemera/words/hemera"
)

func TestDangerCountsWhatCanStillBeLost(t *testing.T) {
	m := newMiniature(t)
	for range 8 {
		m.node("", 1<<30)
	}
	m.view.Disks[6].Active = false
	m.view.Disks[7].Health = hemera.HealthFailing
	for _, c := range []struct {
		name string
		file hemera.FileID
		want move.Urgency
	}{
		{"two copies", m.file(hemera.Replica(2), 10, 1, 2), 1},
		{"one of two copies", m.file(hemera.Replica(2), 10, 1, 0), 0},
		{"one of two is on a disk that is gone", m.file(hemera.Replica(2), 10, 1, 7), 0},
		{"one of two is on a disk that fails", m.file(hemera.Replica(2), 10, 8, 1), 0},
		{"4+2, whole", m.file(hemera.ReedSolomon(4, 2), 64<<20, 1, 2, 3, 4, 5, 6), 2},
		{"4+2, one is missing", m.file(hemera.ReedSolomon(4, 2), 64<<20, 1, 2, 3, 4, 0, 6), 1},
		{"4+2, one is missing and one out of reach", m.file(hemera.ReedSolomon(4, 2), 64<<20, 1, 2, 3, 7, 0, 6), 0},
		{"4+2, three are missing", m.file(hemera.ReedSolomon(4, 2), 64<<20, 1, 2, 3), urgencyLast},
		{"no copy in reach", m.file(hemera.Replica(2), 10, 7, 0), urgencyLast},
	} {
		if got := danger(m.View(), m.files[c.file]); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

// TestTheMostEndangeredFilesAreRepairedFirst: wherever they are in the list, they come before others, and copies that are
// idle are not kept for them.
func TestTheMostEndangeredFilesAreRepairedFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMiniature(t)
		for range 8 {
			m.node("", 1<<40)
		}
		const each = 300
		rs := hemera.ReedSolomon(4, 2)
		for range each {
			m.file(rs, 8<<20, 1, 2, 3, 4, 5) // can lose one more
		}
		for range each {
			m.file(hemera.Replica(3), 8<<20, 1, 2) // the same
		}
		first := hemera.FileID(2*each + 1)
		for range each {
			m.file(rs, 8<<20, 1, 2, 3, 4) // none
		}
		e := m.engine()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		for i := range 8 {
			go m.serve(ctx, e.Orders, hemera.NodeID(i+1))
		}
		r := newRepairer(e.base)
		if _, err := r.Step(ctx); err != nil {
			t.Fatal(err)
		}
		// What was begun before the list had been read to its end, and what waited in line then.
		early := 8*move.CopiesPerDisk + move.CopiesTotal - idleSlots
		last, at := 0, map[hemera.FileID]int{}
		for i, o := range m.copies {
			if _, again := at[o.Piece.File]; !again {
				at[o.Piece.File] = i
				if o.Piece.File >= first {
					last = i
				}
			}
		}
		if len(at) != 3*each {
			t.Errorf("%d of %d files were repaired", len(at), 3*each)
		}
		if last > each+early {
			t.Errorf("the last of %d endangered files was copy %d of %d", each, last, len(m.copies))
		}
		if s, _, _ := r.status(ctx); s.BytesDone == 0 {
			t.Errorf("%+v", s)
		}
		cancel()
		synctest.Wait()
	})
}
