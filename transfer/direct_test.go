package transfer_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"

	"hemera/disk"
	"hemera/rules/checksum"
	"hemera/transfer"
	"hemera/transfer/piece"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// directClient is a host without disks: it writes as the head of a write does, and has the real head commit.
type directClient struct {
	bench *bench
	head  hemera.File
	table *transfer.Pending
	token string
	// changed, if not nil, changes what the client tells the head.
	changed func(s *hemera.SealInfo, pieces *[]hemera.Piece)
	leaves  bool // before the close
}

// direct begins a direct write at host 1.
func (b *bench) direct(token string) *directClient {
	d := &directClient{bench: b, head: b.begin(1, token), token: token}
	host := &transfer.Host{
		Node: piece.Node{
			Self:  func() hemera.NodeID { return 0 },
			Disk:  func(hemera.DiskID) (disk.Store, bool) { return nil, false },
			Peers: b.peers, Log: slog.New(slog.DiscardHandler),
		},
		Born: func() hemera.Epoch { return 0 },
		// One attempt: there is nothing lost between this head and its client.
		Writes: transfer.Writes{Control: d, Patience: 1},
	}
	d.table = transfer.NewPending(host)
	b.t.Cleanup(host.Wait)
	return d
}

// Commit implements transfer.Committer.
func (d *directClient) Commit(ctx context.Context, r hemera.CommitRequest) error {
	s, pieces := hemera.SealInfo{FileSize: r.Size, Checksums: r.Checksums}, r.Pieces
	if d.changed != nil {
		d.changed(&s, &pieces)
	}
	if err := d.head.(hemera.DirectFile).Adopt(ctx, s, pieces); err != nil {
		return err
	}
	if d.leaves {
		return nil
	}
	return d.head.End(ctx, hemera.EndClose)
}

// Abort implements transfer.Committer.
func (d *directClient) Abort(ctx context.Context, _ *hemera.Permit) error {
	return d.head.End(ctx, hemera.EndAbort)
}

// Keep implements transfer.Committer.
func (d *directClient) Keep(context.Context, *hemera.Permit, int64) error { return nil }

// Replace implements transfer.Committer.
func (d *directClient) Replace(ctx context.Context, _ *hemera.Permit, failed []hemera.DiskID) (hemera.Grant, error) {
	token, err := d.head.(hemera.DirectFile).Replacement(ctx, failed)
	if err != nil {
		return hemera.Grant{}, err
	}
	c, err := d.bench.manager.verify(token)
	return hemera.Grant{Permit: hemera.VerifiedPermit(c, token)}, err
}

// write sends the content and closes.
func (d *directClient) write(data []byte) error {
	c, err := d.bench.manager.verify(d.token)
	if err != nil {
		return err
	}
	f, err := d.table.Open(context.Background(), hemera.VerifiedPermit(c, d.token), hemera.NodeOpen{Truncate: true})
	if err != nil {
		return err
	}
	for off := 0; off < len(data); off += 300_000 {
		if err := f.WritePages(data[off:min(off+300_000, len(data))], nil, int64(off)); err != nil {
			return errors.Join(err, f.End(context.Background(), hemera.EndAbort))
		}
	}
	return f.End(context.Background(), hemera.EndClose)
}

// provable signs a capability for a layout, whose checksums can be proved.
func (b *bench) provable(l hemera.Layout) (string, hemera.Capability) {
	b.layout = l
	_, c := b.grant(1, int(l.Pieces), first(int(l.Pieces))...)
	c.Checksums = []hemera.ChecksumKind{hemera.Adler32}
	return b.manager.sign(c), c
}

func TestDirectWritesAreCommitted(t *testing.T) {
	for _, l := range []hemera.Layout{hemera.ReedSolomon(2, 1), hemera.ReedSolomon(4, 2), hemera.Local(4, 2, 1), hemera.Stripe(3)} {
		l.BlockSize = hemera.BlockSizeMin
		for _, size := range []int{1, 70_000, 64 << 10, 3_000_001} {
			t.Run(fmt.Sprintf("%s/%d", l, size), func(t *testing.T) {
				b := newMemoryBench(t, int(l.Pieces))
				token, c := b.provable(l)
				data := content(size)
				if err := b.direct(token).write(data); err != nil {
					t.Fatal(err)
				}
				b.mustRead(c, data)
				if got := b.hosts[0].host.Counters.Commits.Load(); got != 1 {
					t.Errorf("the head committed %d times", got)
				}
			})
		}
	}
}

// TestALostTargetOfADirectWriteIsReplaced has the client ask its head for another disk.
func TestALostTargetOfADirectWriteIsReplaced(t *testing.T) {
	b := newMemoryBench(t, 4)
	token, c := b.provable(small64(hemera.ReedSolomon(2, 1)))
	b.manager.spare = []int{4}
	b.peers.fail(2, &fault{step: "write", after: 100_000, err: errGone})
	data := content(2_000_000)
	if err := b.direct(token).write(data); err != nil {
		t.Fatal(err)
	}
	b.peers.fail(2, nil)
	c.Targets[1] = target(4, 1)
	b.mustRead(c, data)
	b.mustHave(c, 1, 3, 4)
}

// sumsOf computes checksums of a content.
func sumsOf(t *testing.T, p []byte, kinds ...hemera.ChecksumKind) (list []hemera.Checksum) {
	t.Helper()
	for _, k := range kinds {
		sum, err := checksum.Of(k, p)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, sum)
	}
	return list
}

// small64 gives a layout the smallest blocks.
func small64(l hemera.Layout) hemera.Layout {
	l.BlockSize = hemera.BlockSizeMin
	return l
}

// TestWrongDirectWritesAreRefused: whatever a client claims that is not so, nothing is committed and no piece is left.
func TestWrongDirectWritesAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		changed func(*hemera.SealInfo, *[]hemera.Piece)
		want    error
	}{
		"another checksum":    {func(s *hemera.SealInfo, _ *[]hemera.Piece) { s.Checksums[0].Value[0] ^= 1 }, errs.Corrupt},
		"no checksum":         {func(s *hemera.SealInfo, _ *[]hemera.Piece) { s.Checksums = nil }, errs.Invalid},
		"a shorter file":      {func(s *hemera.SealInfo, _ *[]hemera.Piece) { s.FileSize-- }, errs.Corrupt},
		"a piece is missing":  {func(_ *hemera.SealInfo, p *[]hemera.Piece) { *p = (*p)[:2] }, errs.Invalid},
		"data is missing":     {func(_ *hemera.SealInfo, p *[]hemera.Piece) { *p = (*p)[1:] }, errs.Invalid},
		"a piece twice":       {func(_ *hemera.SealInfo, p *[]hemera.Piece) { *p = append(*p, (*p)[0]) }, errs.Invalid},
		"a disk of its own":   {func(_ *hemera.SealInfo, p *[]hemera.Piece) { (*p)[2].Disk = 9 }, errs.Invalid},
		"a file without data": {func(s *hemera.SealInfo, _ *[]hemera.Piece) { s.FileSize = 0 }, errs.Invalid},
	} {
		t.Run(name, func(t *testing.T) {
			b := newMemoryBench(t, 3)
			token, capability := b.provable(small64(hemera.ReedSolomon(2, 1)))
			d := b.direct(token)
			d.changed = func(s *hemera.SealInfo, p *[]hemera.Piece) {
				s.Checksums, *p = append([]hemera.Checksum(nil), s.Checksums...), append([]hemera.Piece(nil), *p...)
				c.changed(s, p)
			}
			if err := d.write(content(500_000)); !errors.Is(err, c.want) {
				t.Errorf("%v, want %v", err, c.want)
			}
			if b.manager.commits > 0 {
				t.Error("it was committed")
			}
			b.mustHave(capability)
		})
	}
}

// TestPiecesThatDisagreeAreNotCommitted: a client that codes wrongly, with checksums of pages that are those of what it sends,
// is found out.
func TestPiecesThatDisagreeAreNotCommitted(t *testing.T) {
	for wrong := range 3 {
		b := newMemoryBench(t, 3)
		token, c := b.provable(small64(hemera.ReedSolomon(2, 1)))
		head := b.begin(1, token)
		data := content(256 << 10)
		block := hemera.BlockSizeMin
		pieces := make([][]byte, 3)
		for row := 0; row < len(data); row += 2 * block {
			pieces[0] = append(pieces[0], data[row:row+block]...)
			pieces[1] = append(pieces[1], data[row+block:row+2*block]...)
		}
		for i := range pieces[0] {
			pieces[2] = append(pieces[2], pieces[0][i]^pieces[1][i])
		}
		pieces[wrong][77_777] ^= 4
		sent := data
		if wrong < 2 { // the checksums are those of the data that is there, and parity is of the other
			sent = bytes.Clone(data)
			at := 77_777/block*2*block + wrong*block + 77_777%block
			sent[at] ^= 4
		}
		info := hemera.SealInfo{FileSize: int64(len(data)), Checksums: sumsOf(t, sent, hemera.Adler32, hemera.CRC32C)}
		var list []hemera.Piece
		for i := range pieces {
			p := b.openPiece(i+1, token, hemera.PieceOpen{Index: uint8(i)})
			if err := p.WritePages(pieces[i], nil, 0); err != nil {
				t.Fatal(err)
			}
			if _, err := p.Seal(t.Context(), info); !errors.Is(err, errs.Denied) {
				t.Errorf("a client seals a piece: %v", err)
			}
			if err := p.(hemera.Offerer).Offer(t.Context(), info); err != nil {
				t.Fatal(err)
			}
			list = append(list, hemera.Piece{Index: uint8(i), Disk: hemera.DiskID(i + 1)})
		}
		if err := head.(hemera.DirectFile).Adopt(t.Context(), info, list); !errors.Is(err, errs.Corrupt) {
			t.Errorf("piece %d is wrong: %v", wrong, err)
		}
		if err := head.End(t.Context(), hemera.EndClose); err == nil || b.manager.commits > 0 {
			t.Errorf("piece %d is wrong, and the file was committed: %v", wrong, err)
		}
		b.mustHave(c)
	}
}

// TestAnAdoptedPieceIsTheHeads: the client that made it can neither remove it nor make another one in its place.
func TestAnAdoptedPieceIsTheHeads(t *testing.T) {
	b := newMemoryBench(t, 3)
	token, c := b.provable(small64(hemera.ReedSolomon(2, 1)))
	d := b.direct(token)
	mine := b.openPiece(2, token, hemera.PieceOpen{Index: 1}) // a second handle, from the beginning
	data := content(400_000)
	if err := d.write(data); err != nil {
		t.Fatal(err)
	}
	if err := mine.End(t.Context(), hemera.EndAbort); !errors.Is(err, errs.Denied) {
		t.Errorf("an abort of the client's: %v", err)
	}
	if _, err := b.hosts[1].OpenPiece(t.Context(), hemera.ParsePermit(token), hemera.PieceOpen{Index: 1}); err == nil {
		t.Error("a client opens the committed piece")
	}
	b.mustRead(c, data)
	b.mustHave(c, 1, 2, 3)
}

// TestOnlyNewContentsAreAdopted: what has bytes at its head, an update, copies, and checksums that pieces do not prove.
func TestOnlyNewContentsAreAdopted(t *testing.T) {
	b := newMemoryBench(t, 3)
	info, list := hemera.SealInfo{FileSize: 5, Checksums: sumsOf(t, content(5), hemera.Adler32, hemera.CRC32C)}, []hemera.Piece{{Disk: 1}}
	refused := func(name, token string, before func(hemera.File)) {
		t.Helper()
		f := b.begin(1, token)
		before(f)
		if err := f.(hemera.DirectFile).Adopt(t.Context(), info, list); !errors.Is(err, errs.Unsupported) {
			t.Errorf("%s: %v", name, err)
		}
		_ = f.End(t.Context(), hemera.EndAbort)
	}
	nothing := func(hemera.File) {}
	token, _ := b.provable(small64(hemera.ReedSolomon(2, 1)))
	refused("bytes at the head", token, func(f hemera.File) { _ = f.WritePages([]byte("five5"), nil, 0) })
	token, _ = b.grant(2, 3, 1, 2, 3) // with MD5
	refused("a checksum of another kind", token, nothing)
	token, _ = b.provable(hemera.Replica(3))
	refused("copies", token, nothing)
}

// TestAdoptCanBeAskedAgain: a client whose connection broke asks once more, and gets the same answer.
func TestAdoptCanBeAskedAgain(t *testing.T) {
	b := newMemoryBench(t, 3)
	token, c := b.provable(small64(hemera.ReedSolomon(2, 1)))
	d := b.direct(token)
	d.changed = func(s *hemera.SealInfo, p *[]hemera.Piece) {
		if err := d.head.(hemera.DirectFile).Adopt(t.Context(), *s, *p); err != nil {
			t.Error(err)
		}
		if err := d.head.(hemera.DirectFile).Adopt(t.Context(), *s, (*p)[:2]); !errors.Is(err, errs.Conflict) {
			t.Errorf("other pieces: %v", err)
		}
	}
	data := content(100_000)
	if err := d.write(data); err != nil {
		t.Fatal(err)
	}
	b.mustRead(c, data)
}

// TestAClientThatGoesAwayBeforeTheCloseCommitsNothing: its pieces are proved, and go with the write.
func TestAClientThatGoesAwayBeforeTheCloseCommitsNothing(t *testing.T) {
	b := newMemoryBench(t, 3)
	token, c := b.provable(small64(hemera.ReedSolomon(2, 1)))
	d := b.direct(token)
	d.leaves = true
	if err := d.write(content(100_000)); err != nil {
		t.Fatal(err)
	}
	if err := d.head.WritePages([]byte("more"), nil, 0); err == nil {
		t.Error("a content that was adopted takes writes")
	}
	if err := d.head.End(t.Context(), hemera.EndDetach); err != nil {
		t.Fatal(err)
	}
	b.hosts[0].pending.Settle(t.Context()) // as after the time for which it is held
	if b.manager.commits > 0 || b.manager.aborted != 1 {
		t.Errorf("%d commits, %d aborts", b.manager.commits, b.manager.aborted)
	}
	b.mustHave(c)
}

// TestANodeThatCannotProve fails the write: nothing is believed.
func TestANodeThatCannotProve(t *testing.T) {
	b := newMemoryBench(t, 3)
	token, c := b.provable(small64(hemera.ReedSolomon(2, 1)))
	d := b.direct(token)
	b.peers.fail(3, &fault{step: "prove", err: errGone})
	if err := d.write(content(100_000)); !errors.Is(err, errs.Unavailable) {
		t.Error(err)
	}
	b.mustHave(c)
	if b.manager.aborted == 0 {
		t.Error("the lock of the name was kept")
	}
}
