package transfer_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"hemera/rules/layout"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// refusedPiece fails unless a client is refused a piece of the write.
func (b *bench) refusedPiece(token string, node int, o hemera.PieceOpen) {
	b.t.Helper()
	if f, err := b.hosts[node-1].OpenPiece(ctx, hemera.ParsePermit(token), o); !errors.Is(err, errs.Denied) {
		b.t.Errorf("a client's open of piece %d at node %d: %v", o.Index, node, err)
		if err == nil {
			_ = f.End(ctx, hemera.EndAbort)
		}
	}
}

// TestAClientHasNoPieceOfItsHead: what a head writes no client opens, empties or removes with the same capability: of no
// layout, at no node, before the seal and after the commit. The content is the head's.
func TestAClientHasNoPieceOfItsHead(t *testing.T) {
	for name, l := range map[string]hemera.Layout{"replica": hemera.Replica(3), "coded": small64(hemera.ReedSolomon(2, 1))} {
		t.Run(name, func(t *testing.T) {
			b := newMemoryBench(t, 3)
			b.noSmall()
			token, c := b.provable(l)
			f := b.begin(1, token)
			data := content(400_000)
			if err := f.WritePages(data, nil, 0); err != nil {
				t.Fatal(err)
			}
			if err := f.Sync(ctx); err != nil {
				t.Fatal(err)
			}
			try := func() {
				for i := range 3 {
					b.refusedPiece(token, i+1, hemera.PieceOpen{Index: uint8(i)})
					b.refusedPiece(token, i+1, hemera.PieceOpen{Index: uint8(i), Truncate: true})
					b.refusedPiece(token, i+1, hemera.PieceOpen{Index: uint8(i), Head: "guessed"})
				}
			}
			try()
			if err := f.End(ctx, hemera.EndClose); err != nil {
				t.Fatal(err)
			}
			for i := range 3 {
				if _, err := b.hosts[i].OpenPiece(ctx, hemera.ParsePermit(token), hemera.PieceOpen{Index: uint8(i)}); err == nil {
					t.Errorf("a client opens the committed piece %d", i)
				}
			}
			b.mustRead(c, data)
			b.mustHave(c, 1, 2, 3)
		})
	}
}

// TestAClientThatComesFirstMakesWay: it has pieces open at all nodes, the head's own too, when the head makes them. Its handles
// are of no use then, and what it wrote is not in the file.
func TestAClientThatComesFirstMakesWay(t *testing.T) {
	b := newMemoryBench(t, 3)
	b.noSmall()
	token, c := b.provable(small64(hemera.ReedSolomon(2, 1)))
	f := b.begin(1, token)
	var mine []hemera.PieceHandle
	for i := range 3 {
		p := b.openPiece(i+1, token, hemera.PieceOpen{Index: uint8(i)})
		if err := p.WritePages([]byte("not the head's"), nil, 0); err != nil {
			t.Fatal(err)
		}
		mine = append(mine, p)
	}
	data := content(400_000)
	if err := f.WritePages(data, nil, 0); err != nil {
		t.Fatal(err)
	}
	if err := f.Sync(ctx); err != nil {
		t.Fatal(err)
	}
	useless := func(when string) {
		t.Helper()
		info := hemera.SealInfo{FileSize: int64(len(data))}
		for i, p := range mine {
			_, sealed := p.Seal(ctx, info)
			for what, err := range map[string]error{"write": p.WritePages([]byte("other"), nil, 0), "truncate": p.Truncate(0),
				"offer": p.(hemera.Offerer).Offer(ctx, info), "seal": sealed} {
				if err == nil {
					t.Errorf("%s: a client's %s of piece %d", when, what, i)
				}
			}
		}
	}
	useless("before the close")
	if err := f.End(ctx, hemera.EndClose); err != nil {
		t.Fatal(err)
	}
	useless("after the close")
	for _, p := range mine {
		_ = p.End(ctx, hemera.EndAbort)
	}
	b.mustRead(c, data)
	b.mustHave(c, 1, 2, 3)
}

// TestOnlyPiecesThatAHeadAdoptsAreAClients: those of copies, of updates and of reads are not.
func TestOnlyPiecesThatAHeadAdoptsAreAClients(t *testing.T) {
	b := newMemoryBench(t, 2)
	token, c := b.grant(1, 2, 1, 2)
	b.refusedPiece(token, 2, hemera.PieceOpen{Index: 1})
	f := b.begin(1, token)
	if err := errors.Join(f.WritePages(content(5000), nil, 0), f.End(ctx, hemera.EndClose)); err != nil {
		t.Fatal(err)
	}
	update, _ := b.update(c, 2, 1, 2)
	b.refusedPiece(update, 2, hemera.PieceOpen{Index: 1})
}

// TestAClientsPieceIsWithinItsPromise: where a quota bounds the write, a piece has its part of what was announced and not more.
func TestAClientsPieceIsWithinItsPromise(t *testing.T) {
	b := newMemoryBench(t, 3)
	_, c := b.provable(small64(hemera.ReedSolomon(2, 1)))
	c.Size, c.SizeMax = 1_000_000, 2_000_000
	token := b.manager.sign(c)
	most := layout.PieceMax(c.Layout, c.Size)
	p := b.openPiece(2, token, hemera.PieceOpen{Index: 1})
	for what, err := range map[string]error{"write": p.WritePages([]byte("x"), nil, most), "truncate": p.Truncate(most + 1)} {
		if !errors.Is(err, errs.OverQuota) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := p.WritePages([]byte("x"), nil, most-1); err != nil {
		t.Error(err)
	}
}

// TestAClientsPieceEndsWithItsCapability: also if a handle holds it, and nothing is left of it. A later capability for
// the same write keeps it for longer.
func TestAClientsPieceEndsWithItsCapability(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newMemoryBench(t, 3)
		_, c := b.provable(small64(hemera.ReedSolomon(2, 1)))
		c.Expires = time.Now().Add(time.Hour)
		token := b.manager.sign(c)
		p := b.openPiece(2, token, hemera.PieceOpen{Index: 1})
		if err := p.WritePages([]byte("x"), nil, 0); err != nil {
			t.Fatal(err)
		}
		c.Expires = time.Now().Add(90 * time.Minute)
		renewed := b.openPiece(2, b.manager.sign(c), hemera.PieceOpen{Index: 1})
		if err := renewed.End(ctx, hemera.EndClose); err != nil {
			t.Fatal(err)
		}
		time.Sleep(80 * time.Minute)
		if err := p.WritePages([]byte("y"), nil, 1); err != nil {
			t.Errorf("before the end of the renewed one: %v", err)
		}
		time.Sleep(11 * time.Minute)
		synctest.Wait()
		if err := p.WritePages([]byte("z"), nil, 2); err == nil {
			t.Error("it takes writes after the end of its capability")
		}
		if n := b.hosts[1].pending.Len(); n != 0 {
			t.Errorf("%d works are left", n)
		}
		b.mustHave(c)
	})
}

// TestWhatClientsMadeOfAWriteThatIsOverIsRemoved: of that write alone, and nothing that its head made.
func TestWhatClientsMadeOfAWriteThatIsOverIsRemoved(t *testing.T) {
	b := newMemoryBench(t, 3)
	token, c := b.provable(small64(hemera.ReedSolomon(2, 1)))
	_, o := b.provable(small64(hemera.ReedSolomon(2, 1)))
	o.File++
	other := b.manager.sign(o)
	first, second := b.openPiece(2, token, hemera.PieceOpen{Index: 1}), b.openPiece(2, other, hemera.PieceOpen{Index: 1})
	if err := errors.Join(first.WritePages([]byte("x"), nil, 0), second.WritePages([]byte("x"), nil, 0)); err != nil {
		t.Fatal(err)
	}
	f, data := b.begin(1, token), content(400_000)
	if err := errors.Join(f.WritePages(data, nil, 0), f.Sync(ctx)); err != nil {
		t.Fatal(err)
	}
	// The head has taken piece 1 away from the client, which has piece 1 of the other write still.
	pending := b.hosts[1].pending.Len()
	over := hemera.WriteRef{File: c.File, Gen: c.Gen, Nonce: c.Nonce, Over: true}
	b.hosts[1].pending.RemoveClientPieces([]hemera.WriteRef{over})
	if n := b.hosts[1].pending.Len(); n != pending {
		t.Errorf("%d works of %d are left: the head's went", n, pending)
	}
	over.File, over.Gen, over.Nonce = o.File, o.Gen, o.Nonce
	b.hosts[1].pending.RemoveClientPieces([]hemera.WriteRef{over})
	if n := b.hosts[1].pending.Len(); n != pending-1 {
		t.Errorf("%d works of %d are left", n, pending)
	}
	if err := second.WritePages([]byte("y"), nil, 1); err == nil {
		t.Error("the piece takes writes after the end of its write")
	}
	if err := f.End(ctx, hemera.EndClose); err != nil {
		t.Fatal(err)
	}
	b.mustRead(c, data)
}

// TestAClientBeginsNoPieceOfAWriteThatHasEnded: nor one that the file has not stored. The node of the head knows.
func TestAClientBeginsNoPieceOfAWriteThatHasEnded(t *testing.T) {
	for name, end := range map[string]hemera.Ending{"committed": hemera.EndClose, "aborted": hemera.EndAbort} {
		t.Run(name, func(t *testing.T) {
			b := newMemoryBench(t, 3)
			_, c := b.provable(small64(hemera.ReedSolomon(2, 1)))
			c.Targets[1].Node, c.Targets[1].Disk = 1, 1 // of one byte the second data piece is not stored
			token := b.manager.sign(c)
			f := b.begin(1, token)
			if err := f.WritePages([]byte("x"), nil, 0); err != nil {
				t.Fatal(err)
			}
			if err := f.End(ctx, end); err != nil {
				t.Fatal(err)
			}
			b.refusedPiece(token, 1, hemera.PieceOpen{Index: 1})
			if n := b.hosts[0].pending.Len(); n != 0 {
				t.Errorf("%d works are left", n)
			}
		})
	}
}

// TestWhatAClientOffersIsNotSealed: a rebuild of the namespace, which reads footers, finds nothing of a write that its head did
// not take; and an abort of that write removes what its client made.
func TestWhatAClientOffersIsNotSealed(t *testing.T) {
	b := newMemoryBench(t, 3)
	token, c := b.provable(small64(hemera.ReedSolomon(2, 1)))
	head := b.begin(1, token)
	info := hemera.SealInfo{FileSize: 3, Checksums: sumsOf(t, []byte("abc"), hemera.Adler32, hemera.CRC32C)}
	p := b.openPiece(1, token, hemera.PieceOpen{Index: 0})
	if err := errors.Join(p.WritePages([]byte("abc"), nil, 0), p.(hemera.Offerer).Offer(ctx, info), p.(hemera.Offerer).Offer(ctx, info)); err != nil {
		t.Fatal(err)
	}
	if err := p.WritePages([]byte("x"), nil, 0); !errors.Is(err, errs.Denied) {
		t.Errorf("a write behind the offer: %v", err)
	}
	b.mustHave(c)
	if err := head.End(ctx, hemera.EndAbort); err != nil {
		t.Fatal(err)
	}
	b.hosts[0].host.Wait()
	if n := b.hosts[0].pending.Len(); n != 0 {
		t.Errorf("%d works are left after the abort", n)
	}
	if err := p.End(ctx, hemera.EndAbort); err == nil {
		t.Error("the client still has the piece")
	}
}

// TestASealComparesWhatIsThere: a disk that keeps another byte than its head sent, under the right checksum of that, does not
// seal its piece, coded or not, local or not, data or parity, in whatever order the bytes came.
func TestASealComparesWhatIsThere(t *testing.T) {
	const size = 400_000
	for name, l := range map[string]hemera.Layout{"replica": hemera.Replica(2), "coded": small64(hemera.ReedSolomon(2, 1))} {
		for order, ends := range map[string][][2]int{"in order": {{0, size}}, "out of order": {{300_000, size}, {0, 100_000}, {200_000, 300_000}, {100_000, 200_000}}} {
			for at := range int(l.Pieces) {
				b := newMemoryBench(t, int(l.Pieces))
				b.noSmall()
				token, c := b.provable(l)
				b.hosts[at].disk.wrong = true
				f := b.begin(1, token)
				for _, e := range ends {
					if err := f.WritePages(content(size)[e[0]:e[1]], nil, int64(e[0])); err != nil {
						t.Fatal(err)
					}
				}
				if err := f.End(ctx, hemera.EndClose); !errors.Is(err, errs.Corrupt) {
					t.Errorf("%s, %s, piece %d: %v", name, order, at, err)
				}
				b.mustHave(c)
			}
		}
	}
}
