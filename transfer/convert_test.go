package transfer_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"hemera/transfer/conversion"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// conversion signs the two capabilities of a conversion of what was committed under c, to the layout on the hosts.
func (b *bench) conversion(c hemera.Capability, l hemera.Layout, on ...int) (from, to *hemera.Permit, made hemera.Capability) {
	token, read := b.read(c)
	_, made = b.grant(int(c.File), len(on), on...)
	made.Layout, made.Convert, made.BaseGen, made.Size = l, true, c.Gen, read.Size
	made.Checksums = append([]hemera.ChecksumKind{hemera.SHA256}, made.Checksums...)
	return hemera.VerifiedPermit(read, token), hemera.VerifiedPermit(made, b.manager.sign(made)), made
}

// Contents of all sizes keep their bytes and checksums in any other layout, at any head.
func TestConvert(t *testing.T) {
	for _, size := range []int{0, 1, 4095, 4096, 65536, 65537, 1 << 20, 1<<20 + 1, 3<<20 + 4097} {
		b := newMemoryBench(t, 6)
		token, c := b.grant(1, 2, 1, 2)
		f := b.begin(1, token)
		data := content(size)
		must(t, f.WritePages(data, nil, 0))
		must(t, f.End(ctx, hemera.EndClose))
		for _, l := range []hemera.Layout{hemera.Plain(), hemera.ReedSolomon(4, 2), hemera.Replica(3), hemera.Stripe(2)} {
			var on []int
			for i := range l.Pieces {
				on = append(on, 6-int(i)) // the head is the last host, which has no piece of the first content
			}
			from, to, made := b.conversion(c, l, on...)
			copied := new(atomic.Int64)
			head := b.hosts[on[0]-1].pending
			if n, err := conversion.Run(ctx, head, from, to, nil, copied); n != int64(size) || err != nil || copied.Load() != int64(size) {
				t.Fatalf("%d bytes to %s: %d, %v; %d were counted", size, l, n, err, copied.Load())
			}
			was, is := b.manager.commit(t, c), b.manager.commit(t, made)
			for _, sum := range was.Checksums {
				if got, ok := hemera.FindChecksum(is.Checksums, sum.Kind); !ok || got != sum {
					t.Errorf("%d bytes to %s: %s became %s", size, l, sum, got)
				}
			}
			if is.Checksums[0].Kind != hemera.SHA256 {
				t.Errorf("checksums %v", is.Checksums)
			}
			b.mustRead(made, data)
			// An order whose answer was lost comes again, and finds its work done.
			commits := b.manager.commits
			if n, err := conversion.Run(ctx, head, from, to, nil, new(atomic.Int64)); n != int64(size) || err != nil || b.manager.commits != commits {
				t.Errorf("again: %d, %v, %d commits more", n, err, b.manager.commits-commits)
			}
			c = made
		}
	}
}

// A disk that fails in the write is replaced, as in any write.
func TestConvertMeetsFaults(t *testing.T) {
	b := newMemoryBench(t, 4)
	token, c := b.grant(1, 2, 1, 2)
	f := b.begin(1, token)
	data := content(2<<20 + 5)
	must(t, f.WritePages(data, nil, 0))
	must(t, f.End(ctx, hemera.EndClose))
	from, to, made := b.conversion(c, hemera.Replica(2), 1, 3)
	b.manager.spare = []int{4}
	b.peers.fail(3, &fault{step: "write", after: 1, err: errs.IO})
	if _, err := conversion.Run(ctx, b.hosts[0].pending, from, to, nil, new(atomic.Int64)); err != nil {
		t.Fatal(err)
	}
	b.mustRead(made, data)
	b.mustHave(made, 1, 4)
}

// What does not succeed leaves the file as it is, and nothing of the new content.
func TestConvertThatFails(t *testing.T) {
	b := newMemoryBench(t, 3)
	token, c := b.grant(1, 1, 1)
	f := b.begin(1, token)
	data := content(2 << 20)
	must(t, f.WritePages(data, nil, 0))
	must(t, f.End(ctx, hemera.EndClose))

	from, to, made := b.conversion(c, hemera.Replica(2), 2, 3)
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := conversion.Run(ended, b.hosts[1].pending, from, to, nil, new(atomic.Int64)); !errors.Is(err, errs.Cancelled) {
		t.Errorf("of a context that has ended: %v", err)
	}
	b.mustHave(made)

	from, to, made = b.conversion(c, hemera.Replica(2), 2, 3)
	b.manager.refuse = []error{errs.New(errs.Conflict, "commit", "/f1", "the file was rewritten meanwhile")}
	if _, err := conversion.Run(ctx, b.hosts[1].pending, from, to, nil, new(atomic.Int64)); !errors.Is(err, errs.Conflict) {
		t.Errorf("a commit that is refused: %v", err)
	}
	b.mustHave(made)

	_, other := b.grant(2, 1, 2)
	for name, change := range map[string]func(){
		"another file":       func() { to = hemera.VerifiedPermit(other, b.manager.sign(other)) },
		"no conversion":      func() { to.Capability.Convert = false },
		"another generation": func() { to.Capability.BaseGen++ },
		"another size":       func() { to.Capability.Size++ },
	} {
		from, to, _ = b.conversion(c, hemera.Replica(2), 2, 3)
		change()
		if _, err := conversion.Run(ctx, b.hosts[1].pending, from, to, nil, new(atomic.Int64)); !errors.Is(err, errs.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	b.mustRead(c, data)
}

// Holes stay holes: what is not there is neither read nor written.
func TestConvertKeepsHoles(t *testing.T) {
	b, costs := newSparseBench(t, 3)
	kinds := []hemera.ChecksumKind{hemera.Adler32, hemera.CRC64NVME}
	token, c := b.grantKinds(1, kinds, 1)
	f := b.begin(1, token)
	must(t, f.WritePages([]byte("data"), nil, 0))
	must(t, f.Truncate(sparseSize))
	must(t, f.WritePages([]byte{9}, nil, sparseSize-1))
	must(t, f.End(ctx, hemera.EndClose))
	read, permit := b.read(c)
	_, made := b.grantKinds(1, kinds, 2, 3)
	made.Convert, made.BaseGen, made.Size = true, c.Gen, sparseSize
	costs("a conversion", func() {
		if _, err := conversion.Run(ctx, b.hosts[1].pending, hemera.VerifiedPermit(permit, read), hemera.VerifiedPermit(made, b.manager.sign(made)), nil, new(atomic.Int64)); err != nil {
			t.Fatal(err)
		}
	})
	was, is := b.manager.commit(t, c), b.manager.commit(t, made)
	for i, sum := range was.Checksums {
		if is.Checksums[i] != sum || is.Size != sparseSize {
			t.Errorf("%s became %s, of %d bytes", sum, is.Checksums[i], is.Size)
		}
	}
}
