package disk

import (
	"bytes"
	"syscall"
	"testing"

	"hemera/platform/vfs"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// flipped seals a piece and flips a bit of its data on the device.
func (m *memoryDisk) flipped(t *testing.T, id hemera.PieceID, data []byte, at int64) {
	t.Helper()
	if _, err := putPiece(m.Disk, id, data, true); err != nil {
		t.Fatal(err)
	}
	m.flip(t, m.sealedPath(id), at)
	m.Reopen(id)
}

// flip flips a bit of a file.
func (m *memoryDisk) flip(t *testing.T, name string, at int64) {
	t.Helper()
	f, err := m.memory.Open(name, 2)
	if err != nil {
		t.Fatal(err)
	}
	var b [1]byte
	_, err = f.ReadAt(b[:], at)
	if err == nil {
		b[0] ^= 4
		_, err = f.WriteAt(b[:], at)
	}
	if err != nil {
		t.Fatal(err)
	}
	_ = f.Close()
}

// copied begins a piece as a copy of another.
func (m *memoryDisk) copied(t *testing.T, id, base hemera.PieceID, size int64) *writer {
	t.Helper()
	w, err := m.Create(id, CreateOptions{Path: "/x", Sparse: true})
	if err == nil {
		err = Clone(w, base, size)
	}
	if err != nil {
		t.Fatal(err)
	}
	return w.(*writer)
}

// TestABadPageStaysBad: a page of the base that does not match its checksum does not match in the copy either, whatever is
// written around it. Only a write over all of it makes it good; one over a part, a cut, and growth of it fail.
func TestABadPageStaysBad(t *testing.T) {
	data := randomBytes(1, 3*hemera.PageSize+100)
	const second, last = hemera.PageSize + 17, 3*hemera.PageSize + 17
	for _, c := range []struct {
		name   string
		bad    int64 // byte of the base
		change func(w Writer) error
		fails  bool
		good   bool
		size   int64
	}{
		{"nothing", second, func(Writer) error { return nil }, false, false, 3*hemera.PageSize + 100},
		{"the page before", second, func(w Writer) error { return w.WritePages(data[:hemera.PageSize], nil, 0) }, false, false, 3*hemera.PageSize + 100},
		{"the whole page", second, func(w Writer) error {
			return w.WritePages(data[hemera.PageSize:2*hemera.PageSize], nil, hemera.PageSize)
		}, false, true, 3*hemera.PageSize + 100},
		{"its begin", second, func(w Writer) error { return w.WritePages(data[:2], nil, hemera.PageSize) }, true, false, 0},
		{"its end", second, func(w Writer) error { return w.WritePages(data[:5000], nil, 2*hemera.PageSize-5) }, true, false, 0},
		{"the end of a range", second, func(w Writer) error { return w.WritePages(data[:hemera.PageSize+9], nil, 0) }, true, false, 0},
		{"a cut in it", second, func(w Writer) error { return w.Truncate(hemera.PageSize + 50) }, true, false, 0},
		{"a cut before it", second, func(w Writer) error { return w.Truncate(hemera.PageSize) }, false, true, hemera.PageSize},
		{"more behind the last", last, func(w Writer) error { return w.WritePages(data[:50], nil, 3*hemera.PageSize+100) }, true, false, 0},
		{"more beyond the last", last, func(w Writer) error { return w.WritePages(data[:50], nil, 5*hemera.PageSize) }, true, false, 0},
		{"all of the last and more", last, func(w Writer) error { return w.WritePages(data[:500], nil, 3*hemera.PageSize) }, false, true, 3*hemera.PageSize + 500},
		{"growth", last, func(w Writer) error { return w.Truncate(9 * hemera.PageSize) }, true, false, 0},
		{"a write behind the last, beside it", second, func(w Writer) error { return w.WritePages(data[:50], nil, 5*hemera.PageSize) }, false, false, 5*hemera.PageSize + 50},
		{"growth, beside it", second, func(w Writer) error { return w.Truncate(9 * hemera.PageSize) }, false, false, 9 * hemera.PageSize},
	} {
		m := newMemoryDisk(t, 0, Options{})
		m.flipped(t, pieceID(1), data, c.bad)
		w := m.copied(t, pieceID(2), pieceID(1), int64(len(data)))
		if err := c.change(w); (err != nil) != c.fails {
			t.Errorf("%s: %v", c.name, err)
		} else if c.fails {
			wantKind(t, c.name, err, errs.Corrupt)
			_, err = w.Seal(hemera.SealInfo{})
			wantKind(t, c.name+", then sealed", err, errs.Corrupt)
			continue
		}
		if _, err := w.Seal(hemera.SealInfo{FileSize: c.size, Sync: true}); err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		r, err := m.Open(pieceID(2))
		if err != nil {
			t.Fatal(err)
		}
		if bad, err := r.Verify(); err != nil || (len(bad) == 0) != c.good || r.Stat().Size != c.size {
			t.Errorf("%s: of %d bytes pages %v are bad, %v", c.name, r.Stat().Size, bad, err)
		}
		_ = r.Close()
	}
}

// TestACopyIsVerifiedAtItsEdges: a copy that is cut within a page that is bad is refused.
func TestACopyIsVerifiedAtItsEdges(t *testing.T) {
	data := randomBytes(1, 9000)
	m := newMemoryDisk(t, 0, Options{})
	m.flipped(t, pieceID(1), data, 5000)
	w, err := m.Create(pieceID(2), CreateOptions{Sparse: true})
	if err != nil {
		t.Fatal(err)
	}
	wantKind(t, "a cut in a bad page", Clone(w, pieceID(1), 6000), errs.Corrupt)
	// A table that is bad is found before anything is taken over.
	m.flipped(t, pieceID(3), data, 5000)
	m.flip(t, m.sealedPath(pieceID(3)), tableOff(9000)+5)
	m.Reopen(pieceID(3))
	if w, err = m.Create(pieceID(4), CreateOptions{Sparse: true}); err != nil {
		t.Fatal(err)
	}
	wantKind(t, "a bad table", Clone(w, pieceID(3), 9000), errs.Corrupt)
	if err := w.WritePages(data, nil, 0); err != nil {
		t.Error(err)
	}
}

// TestACopyWithoutSharedBlocks: where the filesystem cannot share blocks the bytes are copied, and any call of that may fail.
func TestACopyWithoutSharedBlocks(t *testing.T) {
	data := randomBytes(1, 5<<20+77)
	clear(data[1<<20 : 3<<20])
	for _, fault := range []*vfs.Fault{nil, {Ops: []vfs.Op{vfs.OpWrite}, Skip: 1, Err: syscall.ENOSPC}, {Ops: []vfs.Op{vfs.OpRead}, Skip: 5, Err: syscall.EIO},
		{Ops: []vfs.Op{vfs.OpTruncate}, Err: syscall.EIO}} {
		m := newMemoryDisk(t, 0, Options{})
		if _, err := putPiece(m.Disk, pieceID(1), data, true); err != nil {
			t.Fatal(err)
		}
		m.faulty.Inject(vfs.Fault{Ops: []vfs.Op{vfs.OpClone}, Err: syscall.EOPNOTSUPP})
		if fault != nil {
			m.faulty.Inject(*fault)
		}
		w, err := m.Create(pieceID(2), CreateOptions{Sparse: true})
		if err != nil {
			t.Fatal(err)
		}
		writes := m.faulty.Calls(vfs.OpWrite)
		err = Clone(w, pieceID(1), int64(len(data)))
		if fault != nil {
			if err == nil {
				t.Errorf("%v had no effect", fault.Ops)
			}
			if _, err := w.Seal(hemera.SealInfo{}); err == nil {
				t.Errorf("a copy that failed at %v was sealed", fault.Ops)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if n := m.faulty.Calls(vfs.OpWrite) - writes; n != 4 {
			t.Errorf("%d writes for what is not a hole, want 4", n)
		}
		if _, err := w.Seal(hemera.SealInfo{FileSize: int64(len(data))}); err != nil {
			t.Fatal(err)
		}
		r, err := m.Open(pieceID(2))
		if err != nil {
			t.Fatal(err)
		}
		checkRead(t, r, data, 0, len(data))
		_ = r.Close()
	}
}

// TestACopyOfALargeTable: blocks of the base's table that do not change are read where they are, and those that do not fit in
// memory go to the side file.
func TestACopyOfALargeTable(t *testing.T) {
	data := make([]byte, 20<<20+5)
	for at := 0; at < len(data); at += 1 << 20 {
		copy(data[at:], randomBytes(uint64(at), 5000))
	}
	m := newMemoryDisk(t, 0, Options{PendingBlocks: 1})
	if _, err := putPiece(m.Disk, pieceID(1), data, true); err != nil {
		t.Fatal(err)
	}
	w := m.copied(t, pieceID(2), pieceID(1), int64(len(data)))
	for _, at := range []int{15 << 20, 3 << 20, 15<<20 + 3, 9 << 20} {
		copy(data[at:], "changed")
		if err := w.WritePages([]byte("changed"), nil, int64(at)); err != nil {
			t.Fatal(err)
		}
	}
	got := make([]byte, len(data))
	if _, err := w.ReadPages(got, nil, 0); err != nil || !bytes.Equal(got, data) {
		t.Fatalf("it reads back otherwise: %v", err)
	}
	if w.table.inherits(0) || !w.table.inherits(1) || w.table.inherits(2) {
		t.Error("the wrong blocks of the table were taken into memory")
	}
	if _, err := w.Seal(hemera.SealInfo{FileSize: int64(len(data))}); err != nil {
		t.Fatal(err)
	}
	r, err := m.Open(pieceID(2))
	if err != nil {
		t.Fatal(err)
	}
	checkRead(t, r, data, 0, len(data))
	_ = r.Close()
}
