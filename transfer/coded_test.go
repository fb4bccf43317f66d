package transfer_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"hemera/platform/vfs"
	"hemera/rules/layout"
	"hemera/transfer/piece"
	"hemera/transfer/transfertest"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// small gives a layout blocks of one page, so that short contents have many rows.
func small(l hemera.Layout) hemera.Layout {
	l.BlockSize = hemera.PageSize
	return l
}

// first returns the numbers of the hosts from 1.
func first(n int) (on []int) {
	for i := range n {
		on = append(on, i+1)
	}
	return on
}

func TestCodedFilesConform(t *testing.T) {
	for _, l := range []hemera.Layout{hemera.ReedSolomon(2, 1), hemera.ReedSolomon(4, 2), hemera.Stripe(3), hemera.Local(4, 2, 1)} {
		for _, inline := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/inline=%v", l, inline), func(t *testing.T) {
				b := newMemoryBench(t, int(l.Pieces))
				b.layout = small(l)
				if !inline {
					b.noSmall()
				}
				file := 0
				transfertest.RunFile(t, func(*testing.T) transfertest.FileFixture {
					file++
					return b.fixture(file, first(int(l.Pieces))...)
				})
			})
		}
	}
}

// TestCodedAgainstBytes runs random histories of one coded write against a byte slice: writes anywhere, truncations,
// reads, lost links, nodes that die; on new files and on updates. At the end as many more pieces are removed as the code
// survives, and the file is read at every host.
func TestCodedAgainstBytes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		l := small(rapid.SampledFrom([]hemera.Layout{hemera.ReedSolomon(2, 1), hemera.ReedSolomon(3, 2), hemera.Local(4, 2, 1)}).Draw(rt, "layout"))
		pieces := int(l.Pieces)
		part := &scope{TB: t, check: rt}
		defer part.end()
		b := newMemoryBench(part, pieces+2)
		b.layout = l
		if rapid.Bool().Draw(rt, "no memory for small files") {
			b.noSmall()
		}
		b.manager.spare = []int{pieces + 1, pieces + 2}
		b.kinds = rapid.SampledFrom([][]hemera.ChecksumKind{nil, {hemera.Adler32}}).Draw(rt, "checksums")
		h := &history{bench: b}
		on := first(pieces)
		token, c := b.grant(60, int(l.Data), on...)
		if rapid.Bool().Draw(rt, "update") {
			h.want = content(rapid.IntRange(1, historyMost).Draw(rt, "base"))
			base := b.put(60, h.want, on...)
			b.someOld(rt)
			if rapid.Bool().Draw(rt, "a target without the base") {
				on[rapid.IntRange(1, pieces-1).Draw(rt, "which")] = pieces + 2
				b.manager.spare = b.manager.spare[:1]
			}
			token, c = b.update(base, int(l.Data), on...)
			if rapid.Bool().Draw(rt, "a piece of the base is lost") {
				token, c = b.lose(rt, c)
			}
		}
		h.token = token
		h.begin(c)
		died := 0
		steps := h.steps()
		steps["node dies"] = func(rt *rapid.T) {
			if died == 0 {
				died = rapid.IntRange(2, pieces).Draw(rt, "node")
				b.peers.fail(died, &fault{step: "write", err: errGone})
			}
		}
		rt.Repeat(steps)
		if err := h.file.End(ctx, hemera.EndClose); err != nil {
			rt.Fatal(err)
		}
		if died != 0 {
			b.peers.fail(died, nil)
		} else if c.Base == nil {
			b.mustKeepAll()
		}
		if _, ok := b.manager.committed[hemera.PieceID{File: c.File, Gen: c.Gen}]; !ok {
			return // an update that changed nothing
		}
		r := b.manager.commit(part, c)
		checkSums(part, r, h.want)
		if got := layout.Count(l, int64(len(h.want))); len(r.Pieces) > got {
			rt.Fatalf("%d pieces of %d bytes, want at most %d", len(r.Pieces), len(h.want), got)
		}
		b.mustRead(c, h.want)
		b.loseMost(rt, c, r, l)
		b.mustRead(c, h.want)
	})
}

// lose removes a piece of an update's base, which may be one that the manager takes to be there.
func (b *bench) lose(rt *rapid.T, c hemera.Capability) (string, hemera.Capability) {
	base := *c.Base
	i := rapid.IntRange(0, len(base.Pieces)-1).Draw(rt, "the lost piece")
	at := base.Pieces[i]
	if err := b.hosts[at.Disk-1].disk.Remove(hemera.PieceID{File: c.File, Gen: base.Gen, Index: at.Index}); err != nil {
		rt.Fatal(err)
	}
	if rapid.Bool().Draw(rt, "the manager knows") {
		base.Pieces = slices.Delete(slices.Clone(base.Pieces), i, i+1)
	}
	c.Base = &base
	return b.manager.sign(c), c
}

// loseMost removes pieces at random, as many as the file can be read without.
func (b *bench) loseMost(rt *rapid.T, c hemera.Capability, r hemera.CommitRequest, l hemera.Layout) {
	have := layout.Indexes(r.Pieces)
	for _, p := range rapid.Permutation(r.Pieces).Draw(rt, "lost") {
		if layout.Readable(l, r.Size, have.Without(int(p.Index))) {
			have = have.Without(int(p.Index))
			if err := b.hosts[p.Disk-1].disk.Remove(hemera.PieceID{File: c.File, Gen: c.Gen, Index: p.Index}); err != nil {
				rt.Fatal(err)
			}
		}
	}
}

// TestASlowPieceIsHedged: a disk that does not answer delays one read by a second, and none after it. When it answers, it
// is read again.
func TestASlowPieceIsHedged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, faulty := hangingBench(t, 3)
		b.layout = small(hemera.ReedSolomon(2, 1))
		b.noSmall()
		synctest.Wait()
		want := content(100_000)
		c, other := b.put(70, want, 1, 2, 3), b.put(71, want, 1, 2, 3)
		release := make(chan struct{})
		faulty.Inject(vfs.Fault{Ops: []vfs.Op{vfs.OpRead}, Wait: release})
		token, _ := b.read(c)
		f := b.open(2, token, hemera.NodeOpen{})
		began := time.Now()
		for round := range 2 {
			got := make([]byte, len(want))
			n, err := f.ReadPages(got, nil, 0)
			if hemera.KeepsBuffers(err) && round == 0 { // as doors do
				got = make([]byte, len(want))
				n, err = f.ReadPages(got, nil, 0)
			}
			if err != nil || !bytes.Equal(got[:n], want) {
				t.Fatalf("round %d: %d bytes, %v", round, n, err)
			}
		}
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("two reads beside a disk that hangs took %v", took)
		}
		if n := b.hosts[1].host.Counters.Hedged.Load(); n != 1 {
			t.Errorf("%d reads were hedged, want 1", n)
		}
		// A reader of another file does not find out again that the disk is slow.
		again, _ := b.read(other)
		g, opened := b.open(2, again, hemera.NodeOpen{}), time.Now()
		got := make([]byte, len(want))
		if n, err := g.ReadPages(got, nil, 0); err != nil || !bytes.Equal(got[:n], want) || time.Since(opened) > 0 || b.hosts[1].host.Counters.Hedged.Load() != 1 {
			t.Errorf("another file: %d bytes, %v, after %v, %d reads hedged", n, err, time.Since(opened), b.hosts[1].host.Counters.Hedged.Load())
		}
		if err := g.End(ctx, hemera.EndClose); err != nil {
			t.Error(err)
		}
		// The end of the reader does not wait for the disk.
		if err := f.End(ctx, hemera.EndClose); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("it was closed after %v", took)
		}
		faulty.Heal()
		close(release)
		synctest.Wait()
		b.mustRead(c, want)
	})
}

// delayed are peers whose reads of a piece return after a time.
type delayed struct {
	piece.Peers
	by map[uint8]time.Duration // by the piece's index
}

// Open implements piece.Peers.
func (p delayed) Open(ctx context.Context, at piece.Remote, token string) (piece.Reader, error) {
	r, err := p.Peers.Open(ctx, at, token)
	return delayedReader{r, p.by[at.Index]}, err
}

type delayedReader struct {
	piece.Reader
	by time.Duration
}

// ReadPages implements piece.Reader.
func (r delayedReader) ReadPages(p []byte, sums []uint32, off int64) (int, error) {
	time.Sleep(r.by) // by the clock of the bubble
	return r.Reader.ReadPages(p, sums, off)
}

// TestAPieceIsHedgedWhenAnotherHasReturned: while one piece is slow, another that hangs is waited for, as the rest is not
// enough. It is not waited for any more when the slow one has returned.
func TestAPieceIsHedgedWhenAnotherHasReturned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := hangingBench(t, 3)
		b.layout = hemera.ReedSolomon(2, 1)
		synctest.Wait()
		want := content(2 << 20)
		c := b.put(70, want, 1, 2, 3)
		const slow, hangs = 2500 * time.Millisecond, time.Hour
		h := b.hosts[2].host
		h.Peers = delayed{h.Peers, map[uint8]time.Duration{0: hangs, 1: slow}}
		token, _ := b.read(c)
		f := b.open(3, token, hemera.NodeOpen{})
		read := func(off int64) {
			for range 3 { // as doors do
				p := make([]byte, 1<<20)
				n, err := f.ReadPages(p, nil, off)
				if hemera.KeepsBuffers(err) {
					continue
				}
				if err != nil || !bytes.Equal(p[:n], want[off:off+1<<20]) {
					t.Errorf("%d bytes at %d, %v", n, off, err)
				}
				return
			}
		}
		began := time.Now()
		var reads sync.WaitGroup
		reads.Go(func() { read(1 << 20) })
		time.Sleep(500 * time.Millisecond)
		reads.Go(func() { read(0) })
		reads.Wait()
		if took := time.Since(began); took > time.Minute {
			t.Errorf("the reads took %v", took)
		}
		if err := f.End(ctx, hemera.EndClose); err != nil {
			t.Error(err)
		}
	})
}

// refusing are peers that refuse a range for one bad page in it, as those of other nodes do.
type refusing struct {
	piece.Peers
	asked *atomic.Int64 // reads
}

// Open implements piece.Peers.
func (p refusing) Open(ctx context.Context, at piece.Remote, token string) (piece.Reader, error) {
	r, err := p.Peers.Open(ctx, at, token)
	return refusingReader{r, p.asked}, err
}

type refusingReader struct {
	piece.Reader
	asked *atomic.Int64
}

// ReadPages implements piece.Reader.
func (r refusingReader) ReadPages(p []byte, sums []uint32, off int64) (int, error) {
	r.asked.Add(1)
	n, err := r.Reader.ReadPages(p, sums, off)
	if errs.KindOf(err) == errs.Corrupt && err != nil {
		n = 0
	}
	return n, err
}

// TestABadPageOfAPeerIsOneError: a peer does not say which page of a range is bad. The reader computes all of the range
// from others, and does not ask for each page before the bad one.
func TestABadPageOfAPeerIsOneError(t *testing.T) {
	b := newBench(t, 3)
	b.layout = hemera.ReedSolomon(2, 1)
	p := content(2 << 20)
	c := b.put(70, p, 1, 2, 3)
	b.flip(c, 2, 1<<20-1) // its last page
	var asked atomic.Int64
	h := b.hosts[0].host
	h.Peers = refusing{h.Peers, &asked}
	token, _ := b.read(c)
	f := b.open(1, token, hemera.NodeOpen{})
	got := make([]byte, len(p))
	if n, err := f.ReadPages(got, nil, 0); err != nil || !bytes.Equal(got[:n], p) {
		t.Fatalf("%d bytes, %v", n, err)
	}
	// One for the bad piece, and one a step for the parity.
	if errors, reads := h.Counters.ChecksumErrors.Load(), asked.Load(); errors != 1 || reads > 1+4 {
		t.Errorf("%d checksum errors in %d reads of peers", errors, reads)
	}
	if err := f.End(t.Context(), hemera.EndClose); err != nil {
		t.Error(err)
	}
}
