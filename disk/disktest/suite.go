// Package disktest is what every [disk.Store] must do, as a test suite. The disk itself passes it, and so does each store
// that wraps one: the bounded one, the one of a process, those of the simulator and of tests. A store that adds faults
// passes it while it adds none.
//
// # What it holds
//
//   - What was sealed is what was written, for sizes around pages and blocks of the table, whatever the order of writes.
//   - A piece is pending, then sealed, then gone; each call fails with the kind that callers go by when it comes too early
//     or too late.
//   - A second Writer of a piece takes it from the first, and a sealed piece is replaced only by one that may do so.
//   - Checksums of callers are kept, and those that come back match the bytes.
//   - Status names the disk, and counts what is open.
//   - Everything may be done side by side.
//
// # What it does not
//
// It cuts no power, makes no device fail and lets none stall: tests of the packages that know how do that. It asks for no
// optional method, but Put, which a store without one does in steps, and Clone, which a writer may refuse. Times are real; the suite does not wait.
//
// # Use
//
// A test gives Run a function that makes an empty store. Stores are opened for each part of the suite, and closed twice at
// its end, since the end of a process may come to a disk that was released before. With the race detector the last parts
// are worth most.
package disktest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"
	"time"

	"hemera/disk"
	"hemera/rules/checksum"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// Run tests the stores that open returns. Each is empty, belongs to the suite, and is closed by it.
func Run(t *testing.T, open func(t *testing.T) disk.Store) {
	for _, c := range []struct {
		name string
		test func(t *testing.T, s *suite)
	}{
		{"a sealed piece is what was written", sealed},
		{"pages in any order, and again", anyOrder},
		{"a pending piece reads back", readBack},
		{"truncate cuts and extends", truncate},
		{"what is not sealed is not there", pending},
		{"a sealed piece stays unless it is replaced", replace},
		{"put", put},
		{"a footer says whether its piece is kept", mark},
		{"a note of the node", note},
		{"a piece that begins as a copy", clone},
		{"a copy is refused", cloneRefused},
		{"scan lists in order", scan},
		{"remove", remove},
		{"expire", expire},
		{"repair", repair},
		{"checksums of the caller", sums},
		{"errors", refusals},
		{"side by side", sideBySide},
		{"status", status},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &suite{T: t, Store: open(t)}
			// A second Close succeeds, so that an owner may close on each of its paths.
			defer func() {
				if err := s.Close(); err != nil {
					t.Errorf("close: %v", err)
				}
				if err := s.Close(); err != nil {
					t.Errorf("close again: %v", err)
				}
			}()
			c.test(t, s)
		})
	}
}

// suite is a store under test, with the steps that tests have in common.
type suite struct {
	*testing.T
	disk.Store
}

// id names a piece; nothing else is in its place.
// Tests that need a second content of a piece use Replace, not a second generation.
func id(n int) hemera.PieceID { return hemera.PieceID{File: hemera.FileID(n), Gen: 1} }

// content returns bytes that differ from piece to piece and from page to page. A copy that lands on the wrong page or
// piece is then found.
func content(n, size int) []byte {
	p := make([]byte, size)
	for i := range p {
		p[i] = byte(i>>12 ^ i*7 ^ n*31)
	}
	return p
}

// create begins a pending piece of one whole file.
func (s *suite) create(n int, o disk.CreateOptions) disk.Writer {
	s.Helper()
	// Plain: the suite tests one disk, and layouts are the business of callers.
	o.Layout = hemera.Plain()
	w, err := s.Create(id(n), o)
	if err != nil {
		s.Fatalf("create: %v", err)
	}
	return w
}

// write writes content whose checksums the store computes.
func (s *suite) write(w disk.Writer, p []byte, off int64) {
	s.Helper()
	if err := w.WritePages(p, nil, off); err != nil {
		s.Fatalf("write %d at %d: %v", len(p), off, err)
	}
}

// seal seals a piece and makes it durable.
// Sync asks for durability at return, the costlier of the two ways.
func (s *suite) seal(w disk.Writer, size int64) hemera.PieceStat {
	s.Helper()
	stat, err := w.Seal(hemera.SealInfo{FileSize: size, Sync: true})
	if err != nil {
		s.Fatalf("seal: %v", err)
	}
	return stat
}

// store makes a sealed piece.
func (s *suite) store(n int, p []byte) {
	s.Helper()
	w := s.create(n, disk.CreateOptions{Path: "/file", SizeHint: int64(len(p))})
	s.write(w, p, 0)
	s.seal(w, int64(len(p)))
}

// remove removes a piece.
func (s *suite) remove(n int) {
	s.Helper()
	if err := s.Remove(id(n)); err != nil {
		s.Errorf("remove: %v", err)
	}
}

// wants reads a sealed piece.
// It reads one byte more than there are, so that a piece that is too long is found too, and then verifies every
// page.
func (s *suite) wants(n int, p []byte) {
	s.Helper()
	r, err := s.Open(id(n))
	// Errorf, not Fatalf: goroutines of the tests call it.
	if err != nil {
		s.Errorf("open: %v", err)
		return
	}
	defer func() { _ = r.Close() }()
	if size := r.Stat().Size; size != int64(len(p)) { // of the piece, not of its footer
		s.Errorf("the piece has %d bytes, want %d", size, len(p))
	}
	got := make([]byte, len(p)+1) // one more than there is
	if n, err := r.ReadPages(got, nil, 0); err != io.EOF || !bytes.Equal(got[:n], p) {
		s.Errorf("read %d bytes of %d, or others: %v", n, len(p), err)
	}
	if bad, err := r.Verify(); len(bad) > 0 || err != nil { // a bad page is listed, not an error
		s.Errorf("verify: bad %v, %v", bad, err)
	}
}

// kind tests the kind of an error.
func (s *suite) kind(what string, err error, want errs.Kind) {
	s.Helper()
	if !errors.Is(err, want) {
		s.Errorf("%s: %v, want %v", what, err, want)
	}
}

// sealed: sizes around pages and blocks of the table come back as they were written, byte by byte and as a whole. A reader
// says what the footer says, ends at the end, offers nothing behind it, and closes more than once.
func sealed(t *testing.T, s *suite) {
	// Around the size of a page, and one whose table has a block of its own.
	for n, size := range []int{0, 1, 4095, 4096, 4097, 70_000, 1 << 20} {
		p := content(n, size)
		s.store(n+1, p)
		s.wants(n+1, p)
	}
	// The same piece, in detail.
	r, err := s.Open(id(6))
	if err != nil {
		t.Fatal(err)
	}
	stat := r.Stat()
	if stat.ID != id(6) || stat.FileSize != 70_000 || stat.Path != "/file" || stat.Sealed.IsZero() {
		t.Errorf("the footer says %+v", stat)
	}
	if n, err := r.Allocated(); n < 0 || err != nil {
		t.Errorf("it takes %d bytes: %v", n, err)
	}
	if next, err := r.NextData(0); next != 0 || err != nil {
		t.Errorf("data begins at %d: %v", next, err)
	}
	want := content(5, 70_000)
	for _, at := range []int64{0, 1, 4096, 69_999} { // parts of pages
		p := make([]byte, 1)
		if n, err := r.ReadPages(p, nil, at); n != 1 || err != nil && err != io.EOF || p[0] != want[at] {
			t.Errorf("byte %d: %d, %v", at, p[0], err)
		}
	}
	if _, err := r.ReadPages(make([]byte, 1), nil, 70_000); err != io.EOF { // nothing lies behind the end
		t.Errorf("behind the end: %v", err)
	}
	// A mapping handed out beyond the end would send what no checksum covers.
	if f, ok := r.Verified(0, 70_001); ok || f != nil { // the offer is all or nothing
		t.Error("more than the piece was offered")
	}
	for range 2 {
		if err := r.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
	if _, err := r.ReadPages(make([]byte, 1), nil, 0); !errors.Is(err, errs.BadHandle) { // a reader that was closed answers with an error of its own
		t.Errorf("a closed reader: %v", err)
	}
}

// anyOrder: the end may be written before the beginning, ranges may overlap, and parts of pages may be written over. The
// last write counts.
func anyOrder(_ *testing.T, s *suite) {
	p := content(1, 50_000)
	w := s.create(1, disk.CreateOptions{})
	// From and to of each write; the last one is a single byte in the middle of a page.
	// Every overlap is a read-modify-write of a page checksum.
	for _, c := range [][2]int{{30_000, 50_000}, {0, 10_000}, {9_000, 20_000}, {20_000, 30_000}, {12_345, 12_346}} { // overlaps: 9,000 to 10,000, and 12,345
		s.write(w, p[c[0]:c[1]], int64(c[0]))
	}
	if w.Size() != 50_000 {
		s.Errorf("size %d", w.Size())
	}
	s.seal(w, 50_000)
	// wants also verifies: each page's checksum must be that of its last content.
	s.wants(1, p)
}

// readBack: a Writer reads what it wrote, with checksums that match, before anything is durable. A sync in between changes
// nothing.
func readBack(t *testing.T, s *suite) {
	p := content(1, 20_000)
	w := s.create(1, disk.CreateOptions{})
	s.write(w, p, 0)
	// Reads of a pending piece serve clients that write and read the same open file.
	got, sums := make([]byte, 20_000), make([]uint32, checksum.Fragments(0, 20_000))
	if n, err := w.ReadPages(got, sums, 0); err != nil && err != io.EOF || !bytes.Equal(got[:n], p) { // io.EOF is allowed with the last byte
		t.Errorf("read back %d bytes: %v", n, err)
	}
	if bad := checksum.VerifyPages(got, 0, sums); bad >= 0 {
		t.Errorf("the checksum of page %d is wrong", bad)
	}
	if err := w.Sync(); err != nil {
		t.Error(err)
	}
	if next, err := w.NextData(0); next != 0 || err != nil {
		t.Errorf("data begins at %d: %v", next, err)
	}
	s.seal(w, 20_000)
	s.wants(1, p)
}

// truncate: what was cut does not come back when the piece grows again; it is zeros.
// First within a page, whose checksum changes, then beyond the old end.
func truncate(t *testing.T, s *suite) {
	p := content(1, 20_000)
	w := s.create(1, disk.CreateOptions{})
	s.write(w, p, 0)
	for _, size := range []int64{5_000, 30_000} {
		if err := w.Truncate(size); err != nil || w.Size() != size {
			t.Fatalf("truncate to %d: %d, %v", size, w.Size(), err)
		}
	}
	s.seal(w, 30_000)
	// The capacity is cut, so that append does not write over p.
	s.wants(1, append(p[:5_000:5_000], make([]byte, 25_000)...))
}

// pending: a piece that is not sealed cannot be opened, and its Writer has an end. A second Create of it takes it from the
// first Writer, which then neither writes to it nor removes it.
func pending(t *testing.T, s *suite) {
	w := s.create(1, disk.CreateOptions{})
	s.write(w, content(1, 5_000), 0)
	_, err := s.Open(id(1))
	s.kind("open of a pending piece", err, errs.NotFound)
	if err := w.Abort(); err != nil {
		t.Errorf("abort: %v", err)
	}
	s.kind("write after the abort", w.WritePages([]byte("x"), nil, 0), errs.BadHandle)
	again := s.create(1, disk.CreateOptions{})
	over := s.create(1, disk.CreateOptions{}) // an unsealed piece is started over
	s.kind("a piece that was started over", again.WritePages([]byte("x"), nil, 0), errs.Conflict)
	// The loser's Abort must not remove the winner's piece.
	_ = again.Abort()
	s.write(over, []byte("over"), 0)
	s.seal(over, 4)
	s.wants(1, []byte("over"))
}

// replace: a sealed piece is not begun again, unless it is to be replaced; then it stays until the new one is sealed.
func replace(_ *testing.T, s *suite) {
	s.store(1, []byte("old"))
	_, err := s.Create(id(1), disk.CreateOptions{}) // without Replace
	s.kind("create over a sealed piece", err, errs.Exists)
	w := s.create(1, disk.CreateOptions{Replace: true})
	s.write(w, []byte("newer"), 0)
	// Readers see the old piece until the seal, never a mix.
	s.wants(1, []byte("old")) // not yet: the new piece is pending
	s.seal(w, 5)
	s.wants(1, []byte("newer"))
}

// put: a piece that is made at once is like one that was made in steps, and takes no place that is taken.
func put(_ *testing.T, s *suite) {
	p := content(1, 10_000)
	c := disk.Content{Data: p, Sums: make([]uint32, checksum.Fragments(0, len(p)))}
	checksum.PageSums(p, 0, c.Sums)
	stat, err := disk.Put(s.Store, id(1), disk.CreateOptions{Path: "/put"}, c, hemera.SealInfo{FileSize: 10_000, Sync: true})
	if err != nil || stat.Size != 10_000 || stat.Path != "/put" {
		s.Fatalf("put: %+v, %v", stat, err)
	}
	s.wants(1, p)
	// Without Replace a taken place stays as it is.
	_, err = disk.Put(s.Store, id(1), disk.CreateOptions{}, c, hemera.SealInfo{FileSize: 10_000})
	s.kind("put over a sealed piece", err, errs.Exists)
}

// mark: a footer says of its piece what it was told last, to those who open it then and to those who list it.
func mark(_ *testing.T, s *suite) {
	says := func(want bool) {
		s.Helper()
		r, err := s.Open(id(1))
		if err != nil {
			s.Fatal(err)
		}
		list, err := s.Scan(hemera.PieceID{}, 10)
		if err != nil || len(list) != 1 || list[0].Kept != want || r.Stat().Kept != want {
			s.Errorf("it says %v, and in the list: %+v, %v", r.Stat().Kept, list, err)
		}
		if err := r.Close(); err != nil {
			s.Error(err)
		}
		s.wants(1, []byte("bytes"))
	}
	w := s.create(1, disk.CreateOptions{})
	s.write(w, []byte("bytes"), 0)
	if _, err := w.Seal(hemera.SealInfo{FileSize: 5, Sync: true, Kept: true}); err != nil {
		s.Fatal(err)
	}
	says(true)
	for _, kept := range []bool{false, false, true, true, false} {
		err := disk.Mark(s.Store, id(1), kept)
		if errors.Is(err, errs.Unsupported) {
			return
		}
		if err != nil {
			s.Fatal(err)
		}
		says(kept)
	}
	s.kind("mark of what is not there", disk.Mark(s.Store, id(2), true), errs.NotFound)
}

// note: the note is there as it was written last, and no piece of the disk.
func note(_ *testing.T, s *suite) {
	for i, text := range []string{"", "first", "other"} {
		if i > 0 {
			if err := disk.Note(s.Store, []byte(text)); errors.Is(err, errs.Unsupported) {
				return
			} else if err != nil {
				s.Fatal(err)
			}
		}
		if got, err := disk.Noted(s.Store); err != nil || string(got) != text {
			s.Errorf("%q, %v; want %q", got, err, text)
		}
	}
	if list, err := s.Scan(hemera.PieceID{}, 10); err != nil || len(list) > 0 {
		s.Errorf("%+v, %v", list, err)
	}
}

// scan: pages of a list, each after the last piece of the one before, have every piece once and in order of id, across
// directories too.
func scan(t *testing.T, s *suite) {
	// Files of numbers far apart are in different directories of the disk.
	for _, n := range []int{5, 1, 123_456, 3} {
		s.store(n, content(n, 100))
	}
	var got []hemera.FileID
	after := hemera.PieceID{}
	for {
		// A limit below the number of pieces makes the test cross a page.
		list, err := s.Scan(after, 3) // fewer than there are, so that the list has several pages
		if err != nil {
			t.Fatal(err)
		}
		if len(list) == 0 {
			break
		}
		for _, stat := range list {
			got = append(got, stat.ID.File)
		}
		after = list[len(list)-1].ID
	}
	if fmt.Sprint(got) != fmt.Sprint([]hemera.FileID{1, 3, 5, 123_456}) {
		t.Errorf("pieces of files %v", got)
	}
}

// remove: a removed piece is gone for those that open it, stays for those that have it open, and may be removed again. A
// pending piece is taken from its Writer.
func remove(t *testing.T, s *suite) {
	s.store(1, []byte("one"))
	r, err := s.Open(id(1))
	if err != nil {
		t.Fatal(err)
	}
	// Removal is idempotent: orders to nodes are repeated when an answer was lost.
	for range 2 { // twice: removing is idempotent
		if err := s.Remove(id(1)); err != nil {
			t.Errorf("remove: %v", err)
		}
	}
	_, err = s.Open(id(1))
	s.kind("open of a removed piece", err, errs.NotFound)
	p := make([]byte, 3)
	if _, err := r.ReadPages(p, nil, 0); err != nil || string(p) != "one" {
		t.Errorf("a reader that had it open: %q, %v", p, err)
	}
	_ = r.Close()
	w := s.create(2, disk.CreateOptions{})
	if err := s.Remove(id(2)); err != nil {
		t.Errorf("remove of a pending piece: %v", err)
	}
	s.kind("its writer", w.WritePages([]byte("x"), nil, 0), errs.Conflict) // the piece was taken from it
	_ = w.Abort()
}

// expire: neither a piece that a Writer has nor a sealed one expires, however old.
func expire(t *testing.T, s *suite) {
	w := s.create(1, disk.CreateOptions{})
	s.write(w, []byte("x"), 0)
	// A negative age is older than any file is.
	if n, err := s.Expire(-time.Hour); n != 0 || err != nil {
		t.Errorf("expired %d pieces that a writer has: %v", n, err)
	}
	s.seal(w, 1)
	if n, err := s.Expire(time.Hour); n != 0 || err != nil {
		t.Errorf("expired %d pieces, %v", n, err)
	}
	s.wants(1, []byte("x"))
}

// repair: only whole pages are written, and only content that matches the checksums in the piece.
// A repair with wrong content would be worse than the damage: the page would be wrong and its checksum too.
func repair(t *testing.T, s *suite) {
	p := content(1, 10_000)
	s.store(1, p)
	if err := s.RepairPages(id(1), p[4096:8192], 4096); err != nil {
		t.Errorf("repair: %v", err)
	}
	s.kind("repair with other content", s.RepairPages(id(1), make([]byte, 4096), 4096), errs.Corrupt) // the size is right, the content is not
	s.kind("repair of half a page", s.RepairPages(id(1), p[:100], 0), errs.Invalid)                   // a repair writes whole pages
	s.kind("repair of no piece", s.RepairPages(id(2), p[:4096], 0), errs.NotFound)
	s.wants(1, p)
}

// sums: checksums of the caller are kept as they are, also of a range that begins within a page, and come back with the
// same range. Too few of them are refused.
func sums(t *testing.T, s *suite) {
	const off = 100
	p := content(1, 9_000)
	own := make([]uint32, checksum.Fragments(off, len(p)))
	checksum.PageSums(p, off, own)
	w := s.create(1, disk.CreateOptions{})
	if err := w.WritePages(p, own, off); err != nil {
		t.Fatal(err)
	}
	// The store must not guess checksums the client sent for a purpose.
	s.kind("fewer checksums than fragments", w.WritePages(p, own[:1], off), errs.Invalid) // a range needs one for each page it touches
	s.seal(w, off+9_000)
	r, err := s.Open(id(1))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	// The same range has the same fragments.
	got, read := make([]byte, len(p)), make([]uint32, len(own))
	if n, err := r.ReadPages(got, read, off); n != len(p) || err != nil && err != io.EOF {
		t.Fatalf("read %d: %v", n, err)
	}
	if fmt.Sprint(read) != fmt.Sprint(own) || !bytes.Equal(got, p) {
		t.Error("other bytes or checksums than were written")
	}
}

// refusals: errors have the kinds that callers go by.
func refusals(_ *testing.T, s *suite) {
	_, err := s.Open(id(1))
	s.kind("open", err, errs.NotFound)
	_, err = s.Create(id(1), disk.CreateOptions{SizeHint: -1})
	s.kind("create with a negative size", err, errs.Invalid)
	w := s.create(1, disk.CreateOptions{})
	// An offset below zero is as far out of range as one beyond the largest piece.
	s.kind("write at a negative offset", w.WritePages([]byte("x"), nil, -1), errs.TooLarge)
	s.kind("truncate below zero", w.Truncate(-1), errs.TooLarge)
	if err := w.Abort(); err != nil {
		s.Error(err)
	}
	// A Writer ends once, by Seal or by Abort.
	s.kind("abort again", w.Abort(), errs.BadHandle)
	_, err = w.Seal(hemera.SealInfo{})
	s.kind("seal after the abort", err, errs.BadHandle)
}

// sideBySide: pieces are written side by side, and so are the parts of one piece. It is of use with the race detector.
func sideBySide(t *testing.T, s *suite) {
	var group sync.WaitGroup
	for n := range 8 {
		group.Go(func() {
			p := content(n, 30_000)
			w, err := s.Create(id(n+1), disk.CreateOptions{Layout: hemera.Plain()})
			if err != nil {
				t.Error(err)
				return
			}
			// Eight parts of 8 KiB for 30,000 bytes: whole pages, so no two goroutines share one.
			var parts sync.WaitGroup
			for off := 0; off < len(p); off += 8192 {
				parts.Go(func() {
					if err := w.WritePages(p[off:min(off+8192, len(p))], nil, int64(off)); err != nil {
						t.Error(err)
					}
				})
			}
			parts.Wait()
			if _, err := w.Seal(hemera.SealInfo{FileSize: 30_000, Sync: true}); err != nil {
				t.Error(err)
				return
			}
			s.wants(n+1, p)
		})
	}
	group.Wait()
}

// status: a disk names itself, is well, has room, and counts what is open. A handle that was closed counts no more.
// A count that leaks shows a disk busy for as long as the process lives.
func status(t *testing.T, s *suite) {
	before := s.Status()
	if before.UUID == "" || before.Path == "" || before.Health != hemera.HealthOK || before.Capacity <= 0 {
		t.Errorf("%+v", before)
	}
	w := s.create(1, disk.CreateOptions{})
	s.store(2, []byte("x"))
	r, err := s.Open(id(2))
	if err != nil {
		t.Fatal(err)
	}
	if st := s.Status(); st.Load.WriteOpens != 1 || st.Load.ReadOpens != 1 || st.UUID != before.UUID {
		t.Errorf("with a writer and a reader open: %+v", st)
	}
	_ = r.Close()
	_ = w.Abort()
	if st := s.Status(); st.Load.WriteOpens != 0 || st.Load.ReadOpens != 0 {
		t.Errorf("with none open: %+v", st)
	}
}
