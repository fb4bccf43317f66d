package transfer_test

import (
	"bytes"
	"context"
	"testing"

	"hemera/rules/checksum"
	"hemera/words/hemera"
)

// TestACodedFileIsLentInOrder: a door that reads in order gets the blocks of other nodes in the memory that they were read into.
func TestACodedFileIsLentInOrder(t *testing.T) {
	b := newMemoryBench(t, 4)
	b.layout = small(hemera.ReedSolomon(2, 1))
	b.noSmall()
	want := content(500_001)
	c := b.put(71, want, 1, 2, 3)
	for _, lost := range []int{0, 1} {
		if lost > 0 {
			if err := b.hosts[lost-1].disk.Remove(hemera.PieceID{File: c.File, Gen: c.Gen, Index: 0}); err != nil {
				t.Fatal(err)
			}
		}
		token, _ := b.read(c)
		f := b.open(4, token, hemera.NodeOpen{}) // a node without pieces
		lender, lent := f.(hemera.Lender), 0
		const step = 3000 // less than a row: what is as long uses all disks by itself
		p := make([]byte, step)
		for off := 0; off < len(want); {
			n := min(step, len(want)-off)
			loan := lender.Lend(int64(off), int64(n))
			got := loan.Data
			if len(got) == 0 {
				if _, err := f.ReadPages(p[:n], nil, int64(off)); err != nil {
					t.Fatal(err)
				}
				got = p[:n]
			} else if checksum.VerifyPages(got, int64(off), loan.Sums) >= 0 {
				t.Fatalf("the sums of %d bytes at %d differ", len(got), off)
			}
			if !bytes.Equal(got, want[off:off+len(got)]) {
				t.Fatalf("%d bytes at %d differ", len(got), off)
			}
			off += len(got)
			if loan.Return != nil {
				lent += len(loan.Data)
				loan.Return()
			}
		}
		if lent < len(want)*9/10 {
			t.Errorf("with %d pieces lost, %d of %d bytes were lent", lost, lent, len(want))
		}
		if err := f.End(context.Background(), hemera.EndClose); err != nil {
			t.Fatal(err)
		}
		if loan := lender.Lend(0, 1); len(loan.Data) > 0 {
			t.Error("a closed handle lends")
		}
	}
}
