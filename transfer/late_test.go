package transfer_test

import (
	"bytes"
	"testing"

	"hemera/words/hemera"
)

// TestALateDiskIsNotTakenForAnEmptyOne: a piece cannot be created and no other disk is to be had, so its bytes go past it. When
// another piece is lost, the manager is asked again and gives disks for both. What the first one lacks is made from the others.
func TestALateDiskIsNotTakenForAnEmptyOne(t *testing.T) {
	const page = hemera.PageSize
	for name, lost := range map[string]int{"data": 2, "parity": 4} {
		t.Run(name, func(t *testing.T) {
			b := newMemoryBench(t, 6)
			b.layout = small(hemera.ReedSolomon(2, 2))
			b.noSmall()
			token, c := b.grant(61, 2, 1, 2, 3, 4)
			f := b.begin(1, token)
			b.peers.fail(lost, &fault{step: "create", err: errGone})
			want := content(8 * page)
			step := func(err error) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
			}
			// With the first page of the second piece or with the first sync one of them is lost.
			step(f.WritePages(want[:100], nil, 0))
			if lost == 2 {
				step(f.WritePages(want[page:page+100], nil, page))
				b.peers.fail(3, &fault{step: "create", err: errGone})
			} else {
				step(f.Sync(ctx))
				b.peers.fail(2, &fault{step: "create", err: errGone})
			}
			b.manager.spare = []int{5, 6}
			step(f.WritePages(want[page+100:], nil, page+100))
			step(f.WritePages(want[100:page+100], nil, 100))
			got := make([]byte, len(want))
			if _, err := f.ReadPages(got, nil, 0); err != nil || !bytes.Equal(got, want) {
				t.Errorf("what is read back is not what was written: %v", err)
			}
			step(f.End(ctx, hemera.EndClose))
			b.mustRead(c, want)
			// Only the piece that was late and one other are left.
			for _, p := range b.manager.commit(t, c).Pieces {
				if late := int(p.Index) == lost-1; !late && p.Index != 1 && (lost != 2 || p.Index != 2) {
					step(b.hosts[p.Disk-1].disk.Remove(hemera.PieceID{File: c.File, Gen: c.Gen, Index: p.Index}))
				}
			}
			b.mustRead(c, want)
		})
	}
}

// TestABadPageOfAStripeIsNotMadeUp: nothing but the piece has it. A read fails, at whichever node, and the page is not repaired
// with anything.
func TestABadPageOfAStripeIsNotMadeUp(t *testing.T) {
	b := newBench(t, 2)
	b.layout = small(hemera.Stripe(2))
	want := content(6 * hemera.PageSize)
	c := b.put(62, want, 1, 2)
	b.flip(c, 1, hemera.PageSize+5)
	token, _ := b.read(c)
	for round := range 2 {
		for id := range b.hosts {
			f := b.open(id+1, token, hemera.NodeOpen{})
			got := make([]byte, len(want))
			if n, err := f.ReadPages(got, nil, 0); err == nil || bytes.Equal(got, want) {
				t.Errorf("round %d, node %d: %d bytes, %v", round, id+1, n, err)
			}
			_ = f.End(ctx, hemera.EndClose)
			b.hosts[id].host.Wait()
		}
	}
	v, err := b.hosts[0].host.Jobs().Verify(t.Context(), b.hosts[0].disk, hemera.PieceID{File: c.File, Gen: c.Gen}, hemera.ChecksumNone)
	if err != nil || len(v.Bad) != 1 {
		t.Errorf("the bad pages are %v, %v", v.Bad, err)
	}
}
