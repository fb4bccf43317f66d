// Package transfertest is the proof that an implementation keeps the contracts of [hemera.File], [hemera.PieceHandle]
// and [piece.Peers]. The tests of every implementation call it, those of fakes too: a fake that behaves otherwise
// proves nothing about its users.
//
// A test gives a suite a fixture, which makes a new file or piece for each case:
//
//	transfertest.RunFile(t, func(t *testing.T) transfertest.FileFixture {
//		token := grant(t) // of a new file
//		return transfertest.FileFixture{
//			Write: func() (hemera.File, error) { return node.Open(ctx, token, ...) },
//			Read:  func() (hemera.File, error) { return node.Open(ctx, readToken(t), ...) },
//		}
//	})
//
// The suites prove what the interfaces promise and no more: kinds of errors, limits and what happens when parts fail
// are for the tests of each implementation. They use no time and no network of their own, so they run in a bubble of
// synctest as well.
//
// [LocalPeers] is an implementation that tests of several nodes and the simulation share; it passes the suite itself.
package transfertest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"
	"testing"

	"hemera/rules/checksum"
	"hemera/words/hemera"
)

// A fixture gives the suite what an implementation has no common interface for: how a file is opened, by its writer
// and by readers. The suite calls the functions one at a time.
//
// FileFixture opens one file of the implementation, which does not exist at first.
type FileFixture struct {
	// Write opens the write that makes the file: a new one the first time, emptied, and later the same one again.
	Write func() (hemera.File, error)
	// Read opens what was committed. It fails if nothing was.
	Read func() (hemera.File, error)
}

// RunFile proves an implementation of [hemera.File]. Each call of fixture is for a new file.
func RunFile(t *testing.T, fixture func(t *testing.T) FileFixture) {
	for _, c := range []struct {
		name string
		test func(t *testing.T, x FileFixture)
	}{
		{"a new file is empty", newFileIsEmpty},
		{"a pending write reads what was written", readsItsWrites},
		{"holes and extensions are zeros", holesAreZeros},
		{"the caller may reuse its buffers", buffersAreReused},
		{"a close commits, and readers see all of it", closeCommits},
		{"a file that is read refuses changes", readersRefuseChanges},
		{"a detached write goes on", detachedWriteGoesOn},
		{"an aborted write leaves nothing", abortLeavesNothing},
		{"calls may be concurrent", callsAreConcurrent},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, fixture(t)) })
	}
}

// The cases of all suites share the functions that follow.

// open calls one of the functions of a fixture.
func open(t *testing.T, f func() (hemera.File, error)) hemera.File {
	t.Helper()
	h, err := f()
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	return h
}

// must ends the case at an error.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// pattern returns n bytes. No two of their pages are the same.
func pattern(n int) []byte {
	p := make([]byte, n)
	for i := range p {
		p[i] = byte(i*7 ^ i>>8 ^ i>>13)
	}
	return p
}

// Checksums are computed here by other code than that under test wherever an implementation takes them itself.

// sumsOf returns the sums of p's page fragments at off.
func sumsOf(p []byte, off int64) []uint32 {
	sums := make([]uint32, checksum.Fragments(off, len(p)))
	checksum.PageSums(p, off, sums)
	return sums
}

// expect compares n bytes at off, and their checksums, with what is wanted there. The content ends with want.
func expect(t *testing.T, h hemera.Handle, want []byte) {
	t.Helper()
	// Info first: doors answer a stat of an open file with it.
	if size := h.Info().Size; size != int64(len(want)) {
		t.Fatalf("Info says %d bytes, want %d", size, len(want))
	}
	got := make([]byte, len(want)+1)
	sums := make([]uint32, checksum.Fragments(0, len(got)))
	// One byte more than there is: the answer is short, with io.EOF, and the sums are of what was read.
	n, err := h.ReadPages(got, sums, 0)
	if !errors.Is(err, io.EOF) || !bytes.Equal(got[:n], want) {
		t.Fatalf("the whole reads as %d bytes of %d, %v", n, len(want), err)
	}
	// The last fragment is short unless the size is a multiple of pages.
	for i, sum := range sumsOf(want, 0) {
		if sums[i] != sum {
			t.Fatalf("the checksum of page %d is %08x, want %08x", i, sums[i], sum)
		}
	}
	if len(want) < 10 {
		return
	}
	// From the middle of a page to the middle of another: the first and the last fragment are short.
	off, part := int64(len(want)/3), got[:len(want)/2]
	sums = make([]uint32, checksum.Fragments(off, len(part)))
	if n, err := h.ReadPages(part, sums, off); n != len(part) || err != nil || !bytes.Equal(part, want[off:off+int64(n)]) {
		t.Fatalf("a part reads as %d bytes of %d, %v", n, len(part), err)
	}
	for i, sum := range sumsOf(part, off) {
		if sums[i] != sum {
			t.Fatalf("the checksum of fragment %d at %d is %08x, want %08x", i, off, sums[i], sum)
		}
	}
	if n, err := h.ReadPages(part, nil, int64(len(want))); n != 0 || !errors.Is(err, io.EOF) {
		t.Fatalf("behind the end it reads %d bytes, %v", n, err)
	}
}

// newFileIsEmpty: an open for writing makes a file without bytes, and its close a committed one without pieces. Stock
// clients make empty files so (touch), and copies of empty sources end so.
func newFileIsEmpty(t *testing.T, x FileFixture) {
	f := open(t, x.Write)
	if i := f.Info(); i.Size != 0 || !i.Writable {
		t.Errorf("it is %+v", i)
	}
	expect(t, f, nil)
	must(t, f.End(t.Context(), hemera.EndClose))
	r := open(t, x.Read)
	expect(t, r, nil)
	must(t, r.End(t.Context(), hemera.EndClose))
}

// readsItsWrites: a handle sees its own writes at once, in whatever order and with or without checksums they came,
// before and behind a sync. The gap in the middle is filled last, as several streams of one copy do.
func readsItsWrites(t *testing.T, x FileFixture) {
	f := open(t, x.Write)
	p := pattern(200_000)
	// Small enough at first for what an implementation may keep in memory, and too large for that in the end.
	for _, step := range []struct{ off, n int }{{0, 10_000}, {10_000, 60_000}, {150_000, 50_000}, {70_000, 80_000}} {
		part := p[step.off : step.off+step.n]
		must(t, f.WritePages(part, sumsOf(part, int64(step.off)), int64(step.off)))
	}
	expect(t, f, p)
	// Inside of a page, without a checksum: the implementation has to compute that of the whole page.
	copy(p[5000:], "written over")
	must(t, f.WritePages(p[5000:5012], nil, 5000))
	must(t, f.Sync(t.Context()))
	expect(t, f, p)
	must(t, f.End(t.Context(), hemera.EndAbort))
}

// holesAreZeros: what was never written, and what a truncation adds, reads as zeros; a shorter file forgets what was
// behind its end, also when it grows again.
func holesAreZeros(t *testing.T, x FileFixture) {
	f := open(t, x.Write)
	want := make([]byte, 30_000)
	copy(want[20_000:], pattern(5000))
	must(t, f.WritePages(want[20_000:25_000], nil, 20_000))
	must(t, f.Truncate(30_000))
	expect(t, f, want)
	// Bytes that were cut off must not come back.
	must(t, f.Truncate(21_000))
	must(t, f.Truncate(22_000))
	clear(want[21_000:])
	expect(t, f, want[:22_000])
	must(t, f.End(t.Context(), hemera.EndAbort))
}

// buffersAreReused: when WritePages returns without an error the buffers are the caller's again, although the bytes
// may be on their way to disks and other nodes.
func buffersAreReused(t *testing.T, x FileFixture) {
	f := open(t, x.Write)
	want := pattern(50_000)
	p := bytes.Clone(want)
	sums := sumsOf(p, 0)
	must(t, f.WritePages(p, sums, 0))
	clear(p)
	clear(sums)
	expect(t, f, want)
	must(t, f.End(t.Context(), hemera.EndAbort))
}

// closeCommits: no reader sees a file before its close, and every reader sees all of it afterwards. Readers may end in
// any way; it is the same for the file.
func closeCommits(t *testing.T, x FileFixture) {
	f := open(t, x.Write)
	p := pattern(123_456)
	must(t, f.WritePages(p, sumsOf(p, 0), 0))
	// Others see nothing of a pending write, not even its size.
	if _, err := x.Read(); err == nil {
		t.Error("it can be read before its close")
	}
	if f.Shared() {
		t.Error("one handle is shared")
	}
	must(t, f.End(t.Context(), hemera.EndClose))
	// The endings mean the same for a handle that only reads.
	for _, how := range []hemera.Ending{hemera.EndClose, hemera.EndDetach, hemera.EndAbort} {
		// Every open is a handle of its own.
		r := open(t, x.Read)
		if r.Info().Writable || r.Shared() {
			t.Errorf("read again it is %+v", r.Info())
		}
		expect(t, r, p)
		must(t, r.End(t.Context(), how))
	}
}

// readersRefuseChanges: a handle for reading fails for every change, and can still read.
func readersRefuseChanges(t *testing.T, x FileFixture) {
	f := open(t, x.Write)
	must(t, f.WritePages([]byte("content"), nil, 0))
	must(t, f.End(t.Context(), hemera.EndClose))
	r := open(t, x.Read)
	if r.WritePages([]byte("x"), nil, 0) == nil || r.Truncate(1) == nil {
		t.Error("a file that is read was changed")
	}
	expect(t, r, []byte("content"))
	must(t, r.End(t.Context(), hemera.EndClose))
}

// detachedWriteGoesOn: a client that lost its connection opens the write again, finds what was acknowledged, and
// continues. Meanwhile nothing is visible.
func detachedWriteGoesOn(t *testing.T, x FileFixture) {
	p := pattern(100_000)
	f := open(t, x.Write)
	must(t, f.WritePages(p[:60_000], nil, 0))
	// The connection is gone; the door does not know whether its client comes back.
	must(t, f.End(t.Context(), hemera.EndDetach))
	if _, err := x.Read(); err == nil {
		t.Error("a detached write is visible")
	}
	f = open(t, x.Write)
	expect(t, f, p[:60_000])
	must(t, f.WritePages(p[60_000:], nil, 60_000))
	must(t, f.End(t.Context(), hemera.EndClose))
	r := open(t, x.Read)
	expect(t, r, p)
	must(t, r.End(t.Context(), hemera.EndClose))
}

// abortLeavesNothing: the file is as if it had never been written.
func abortLeavesNothing(t *testing.T, x FileFixture) {
	f := open(t, x.Write)
	must(t, f.WritePages(pattern(100_000), nil, 0))
	must(t, f.End(t.Context(), hemera.EndAbort))
	if _, err := x.Read(); err == nil {
		t.Error("an aborted write is visible")
	}
}

// callsAreConcurrent: doors serve several streams of one client at the same time, so calls overlap; those on
// different ranges do not disturb each other. It is of most use under the race detector.
func callsAreConcurrent(t *testing.T, x FileFixture) {
	f := open(t, x.Write)
	p := pattern(160_000)
	// Writes of ten pages and a part each, all at once, with reads between them that may see any of them or none.
	var wg sync.WaitGroup
	failures := make(chan error, 100)
	for off := 0; off < len(p); off += 10_000 {
		wg.Go(func() { failures <- f.WritePages(p[off:off+10_000], nil, int64(off)) })
		wg.Go(func() {
			_ = f.Info()
			if _, err := f.ReadPages(make([]byte, 5000), nil, int64(off)); !errors.Is(err, io.EOF) {
				failures <- err
			}
		})
	}
	wg.Wait()
	close(failures)
	for err := range failures {
		must(t, err)
	}
	expect(t, f, p)
	must(t, f.End(context.WithoutCancel(t.Context()), hemera.EndClose))
}
