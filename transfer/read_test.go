package transfer_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"hemera/platform/zerocopy"
	"hemera/rules/checksum"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// put writes a file on the hosts and returns its capability.
func (b *bench) put(file int, p []byte, on ...int) hemera.Capability {
	b.t.Helper()
	token, c := b.grant(file, len(on), on...)
	f := b.begin(on[0], token)
	if err := errors.Join(f.WritePages(p, nil, 0), f.End(ctx, hemera.EndClose)); err != nil {
		b.t.Fatal(err)
	}
	return c
}

// piecePath returns the path of the content's piece on a host's disk.
func (b *bench) piecePath(c hemera.Capability, id int) string {
	b.t.Helper()
	found, err := filepath.Glob(filepath.Join(b.hosts[id-1].disk.path, "*", fmt.Sprintf("%08x.%x.*", uint64(c.File), uint64(c.Gen))))
	if err != nil || len(found) != 1 {
		b.t.Fatalf("pieces of %s on disk %d: %v, %v", c.Path, id, found, err)
	}
	return found[0]
}

// flip changes the byte at off of a host's piece.
func (b *bench) flip(c hemera.Capability, id int, off int64) {
	b.t.Helper()
	f, err := os.OpenFile(b.piecePath(c, id), os.O_RDWR, 0)
	if err != nil {
		b.t.Fatal(err)
	}
	defer f.Close()
	var one [1]byte
	_, err = f.ReadAt(one[:], off)
	one[0] ^= 0x10
	_, err2 := f.WriteAt(one[:], off)
	if err := errors.Join(err, err2); err != nil {
		b.t.Fatal(err)
	}
}

func TestBadPageIsServedFromAnotherPieceAndRepaired(t *testing.T) {
	const size = 5*hemera.PageSize + 100
	for _, at := range []int64{0, 1, 4095, 4096, 3 * 4096, size - 1} {
		b := newBench(t, 3)
		p := content(size)
		c := b.put(30, p, 1, 2)
		b.flip(c, 1, at)
		token, _ := b.read(c)
		f := b.open(1, token, hemera.NodeOpen{})
		got, sums := make([]byte, size-10), make([]uint32, 6)
		if n, err := f.ReadPages(got, sums, 10); n != len(got) || err != nil {
			t.Fatalf("flip at %d: %d, %v", at, n, err)
		}
		if !bytes.Equal(got, p[10:]) {
			t.Fatalf("flip at %d: wrong bytes", at)
		}
		if bad := checksum.VerifyPages(got, 10, sums); bad >= 0 {
			t.Errorf("flip at %d: sum of fragment %d is wrong", at, bad)
		}
		_ = f.End(ctx, hemera.EndClose)
		h := b.hosts[0].host
		h.Wait()
		if n := h.Counters.Repairs.Load(); n != 1 {
			t.Errorf("flip at %d: %d repairs", at, n)
		}
		v, err := h.Jobs().Verify(t.Context(), b.hosts[0].disk, hemera.PieceID{File: c.File, Gen: c.Gen}, hemera.MD5)
		if err != nil || len(v.Bad) != 0 {
			t.Errorf("flip at %d: after the repair %v, %v", at, v.Bad, err)
		}
	}
}

func TestBadPageWithoutAnotherPiece(t *testing.T) {
	b := newBench(t, 2)
	p := content(3 * hemera.PageSize)
	for _, on := range [][]int{{1}, {1, 2}} {
		c := b.put(31, p, on...)
		for _, id := range on {
			b.flip(c, id, 5000)
		}
		token, _ := b.read(c)
		f := b.open(1, token, hemera.NodeOpen{})
		got := make([]byte, len(p))
		n, err := f.ReadPages(got, nil, 0)
		if n != hemera.PageSize || !isKind(err, errs.Corrupt) || !bytes.Equal(got[:n], p[:n]) {
			t.Errorf("on %v: %d, %v", on, n, err)
		}
		mustReadPlainly(t, err, c, "its bytes from 4096 to 8192 are damaged on disk ")
		if n, err := f.ReadPages(got[:hemera.PageSize], nil, 2*hemera.PageSize); n != hemera.PageSize || err != nil {
			t.Errorf("on %v: a good page after the bad one: %d, %v", on, n, err)
		}
		_ = f.End(ctx, hemera.EndClose)
	}
}

// mustReadPlainly wants an error that says to a user what it means, and what to do. What the disk said is for the log.
func mustReadPlainly(t *testing.T, err error, c hemera.Capability, want string) {
	t.Helper()
	id := hemera.PieceID{File: c.File, Gen: c.Gen}
	if text := err.Error(); !strings.Contains(text, want) || strings.Contains(text, id.String()) || strings.Contains(text, "checksum") || strings.HasSuffix(text, ": ") {
		t.Errorf("the error is %q, want %q and nothing of %s", text, want, id)
	}
	if remedy := errs.RemedyOf(err); !strings.Contains(remedy, "hemera why "+c.Path) {
		t.Errorf("the remedy is %q", remedy)
	}
}

// TestNoPieceIsSaidPlainly: also by an open, whatever is wrong with the pieces.
func TestNoPieceIsSaidPlainly(t *testing.T) {
	b := newBench(t, 2)
	c := b.put(33, content(100_000), 1, 2)
	for _, id := range []int{1, 2} {
		if err := os.Truncate(b.piecePath(c, id), 100); err != nil {
			t.Fatal(err)
		}
	}
	token, _ := b.read(c)
	_, err := b.hosts[0].Open(ctx, hemera.ParsePermit(token), hemera.NodeOpen{})
	if !isKind(err, errs.NoReplicas) {
		t.Fatal(err)
	}
	mustReadPlainly(t, err, c, "none of its pieces can be read now")
}

// TestReadFailover: a piece that cannot be read, for whatever reason, is no reason not to read.
func TestReadFailover(t *testing.T) {
	io1 := errs.New(errs.IO, "disk", "", "dead")
	for _, c := range []struct {
		name  string
		spoil func(b *bench, c hemera.Capability)
	}{
		{"disk not there", func(b *bench, _ hemera.Capability) { b.hosts[0].disk.gone = true }},
		{"disk does not open", func(b *bench, _ hemera.Capability) { b.hosts[0].disk.fault = &fault{step: "open", err: io1} }},
		{"disk does not read", func(b *bench, _ hemera.Capability) { b.hosts[0].disk.fault = &fault{step: "read", err: io1} }},
		{"disk dies in a read", func(b *bench, _ hemera.Capability) { b.hosts[0].disk.fault = &fault{step: "cut", err: io1} }},
		{"piece not there", func(b *bench, c hemera.Capability) {
			_ = b.hosts[0].disk.Remove(hemera.PieceID{File: c.File, Gen: c.Gen})
		}},
		{"piece cut", func(b *bench, c hemera.Capability) { _ = os.Truncate(b.piecePath(c, 1), 8192) }},
		{"own disk and a peer", func(b *bench, _ hemera.Capability) {
			b.hosts[0].disk.gone = true
			b.peers.fail(2, &fault{step: "open", err: errGone})
		}},
		{"own disk and a peer while reading", func(b *bench, _ hemera.Capability) {
			b.hosts[0].disk.gone = true
			b.peers.fail(2, &fault{step: "read", err: errGone})
		}},
		{"own disk, and bad pages at a peer", func(b *bench, c hemera.Capability) {
			b.hosts[0].disk.gone = true
			b.flip(c, 2, 100_000)
			b.flip(c, 2, 200_000)
		}},
		{"a different page bad at every piece", func(b *bench, c hemera.Capability) {
			b.flip(c, 1, 0)
			b.flip(c, 2, 4096)
			b.flip(c, 3, 8192)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, 4)
			p := content(250_000)
			capability := b.put(32, p, 1, 2, 3)
			token, _ := b.read(capability)
			c.spoil(b, capability)
			for _, at := range []int{1, 4} {
				f := b.open(at, token, hemera.NodeOpen{})
				got, sums := make([]byte, 1<<20), make([]uint32, 256)
				n, err := f.ReadPages(got, sums, 0)
				if !errors.Is(err, io.EOF) || !bytes.Equal(got[:n], p) {
					t.Errorf("at %d: %d bytes, %v", at, n, err)
				}
				if bad := checksum.VerifyPages(got[:n], 0, sums); bad >= 0 {
					t.Errorf("at %d: sum of page %d is wrong", at, bad)
				}
				_ = f.End(ctx, hemera.EndClose)
			}
		})
	}
}

func TestReadRefusesOtherContent(t *testing.T) {
	b := newBench(t, 1)
	c := b.put(33, content(10_000), 1)
	token, read := b.read(c)
	for name, change := range map[string]func(*hemera.Capability){
		"size":     func(c *hemera.Capability) { c.Size++ },
		"checksum": func(c *hemera.Capability) { c.Sums = append([]hemera.Checksum(nil), c.Sums...); c.Sums[0].Value[0]++ },
		"gen":      func(c *hemera.Capability) { c.Gen++ },
	} {
		other := read
		change(&other)
		if _, err := b.hosts[0].Open(ctx, hemera.ParsePermit(b.manager.sign(other)), hemera.NodeOpen{}); !isKind(err, errs.NoReplicas) {
			t.Errorf("other %s: %v", name, err)
		}
	}
	f := b.open(1, token, hemera.NodeOpen{})
	if err := f.WritePages([]byte("x"), nil, 0); !isKind(err, errs.Denied) {
		t.Errorf("write: %v", err)
	}
	if _, ok := f.(zerocopy.Source); !ok {
		t.Error("a read handle offers nothing for sendfile")
	}
	if err := f.End(ctx, hemera.EndClose); err != nil {
		t.Error(err)
	}
	if _, err := f.ReadPages(make([]byte, 1), nil, 0); !isKind(err, errs.BadHandle) {
		t.Errorf("read after close: %v", err)
	}
}

// TestReadsReportBadPieces: whatever a read finds wrong with a piece, it is reported, and the content is served
// from the other.
func TestReadsReportBadPieces(t *testing.T) {
	const size = 200_000
	table := int64((size+hemera.PageSize-1)/hemera.PageSize) * hemera.PageSize
	for name, spoil := range map[string]func(b *bench, c hemera.Capability, path string) error{
		"table":  func(b *bench, c hemera.Capability, _ string) error { b.flip(c, 1, table+1); return nil },
		"footer": func(b *bench, c hemera.Capability, _ string) error { b.flip(c, 1, table+4*50); return nil },
		"cut":    func(_ *bench, _ hemera.Capability, path string) error { return os.Truncate(path, 1000) },
		"gone":   func(_ *bench, _ hemera.Capability, path string) error { return os.Remove(path) },
	} {
		for _, reader := range []int{1, 2, 3} { // the node that has the bad piece, the good one, none
			t.Run(fmt.Sprint(name, " read at ", reader), func(t *testing.T) {
				b := newBench(t, 3)
				p := content(size)
				c := b.put(75, p, 1, 2)
				if err := spoil(b, c, b.piecePath(c, 1)); err != nil {
					t.Fatal(err)
				}
				h := b.hosts[reader-1].host
				found := map[hemera.BadPiece]bool{}
				var mu sync.Mutex
				h.Bad = func(bad hemera.BadPiece) {
					mu.Lock()
					defer mu.Unlock()
					found[bad] = true
				}
				token, read := b.read(c)
				r, err := h.OpenReader(hemera.VerifiedPermit(read, token))
				if err != nil {
					t.Fatal(err)
				}
				defer r.Close()
				got := make([]byte, size)
				if n, err := r.ReadPages(got, nil, 0); n != size || err != nil && err != io.EOF || !bytes.Equal(got, p) {
					t.Errorf("%d bytes, %v", n, err)
				}
				h.Wait()
				mu.Lock()
				defer mu.Unlock()
				want := hemera.BadPiece{Disk: 1, Piece: hemera.PieceID{File: c.File, Gen: c.Gen, Index: 0}}
				if reader == 2 && len(found) == 0 {
					return // it looked at its own piece only
				}
				if len(found) != 1 || !found[want] {
					t.Errorf("reported %v, want %v", found, want)
				}
			})
		}
	}
}
