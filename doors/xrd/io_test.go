package xrd

import (
	"bytes"
	"context"
	"encoding/binary"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"hemera/doors/xrd/undo"
	"hemera/platform/zerocopy"
	"hemera/rules/checksum"
	"hemera/rules/wire"
	"hemera/words/errs"
	"hemera/words/hemera"
)

func random(n int) []byte {
	r := rand.New(rand.NewPCG(1, uint64(n)))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// pages encodes data for pgwrite; the pages with numbers in spoil get a wrong checksum.
func pages(data []byte, off int64, spoil ...int) []byte {
	sums := wire.SumPages(make([]uint32, wire.Fragments(off, int64(len(data)))), data, off)
	for _, i := range spoil {
		sums[i] ^= 1
	}
	return wire.AppendPages(nil, data, sums, off)
}

// pgread reads pages and verifies them.
func (c *rawConn) pgread(t *testing.T, fh wire.Handle, off int64, n int32) []byte {
	t.Helper()
	id, err := c.send(wire.Pgread{Handle: fh, Offset: off, Length: n}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var all []byte
	for {
		h, body, err := c.frame()
		if err != nil || h.Status != wire.StatusStatus || h.Stream != id {
			t.Fatalf("pgread: %+v %q %v", h, body, err)
		}
		s, err := wire.ParseStatusFrame(body)
		if err != nil || s.Offset != off+int64(len(all)) {
			t.Fatalf("frame %+v, %v; want offset %d", s, err, off+int64(len(all)))
		}
		p, sums, err := wire.CutPages(body[wire.StatusBodySize:], make([]uint32, 1<<12), s.Offset)
		if err != nil {
			t.Fatal(err)
		}
		for i, sum := range wire.SumPages(make([]uint32, len(sums)), p, s.Offset) {
			if sum != sums[i] {
				t.Fatalf("page %d does not match its checksum", i)
			}
		}
		all = append(all, p...)
		if !s.Partial {
			return all
		}
	}
}

func TestReads(t *testing.T) {
	p := newPair(t, nil)
	data := random(1<<20 + 77)
	p.put("/f", string(data))
	c := dial(t, p.nodeAddr)
	fh := p.openOld(t, c, "/f", hemera.AccessRead)
	size := int64(len(data))
	for _, r := range []struct {
		off int64
		n   int32
	}{{0, 1}, {0, 4096}, {1, 32 << 10}, {100, 64 << 10}, {4095, 256<<10 + 2}, {0, 1 << 21}, {size - 1, 10}, {size, 10}, {size + 5, 1 << 20}, {3, int32(size) - 3}} {
		want := data[min(r.off, size):min(r.off+int64(r.n), size)]
		if got := c.must(t, wire.Read{Handle: fh, Offset: r.off, Length: r.n}, ""); !bytes.Equal(got, want) {
			t.Errorf("read %d@%d: %d bytes, want %d", r.n, r.off, len(got), len(want))
		}
		if got := c.pgread(t, fh, r.off, r.n); !bytes.Equal(got, want) {
			t.Errorf("pgread %d@%d: %d bytes, want %d", r.n, r.off, len(got), len(want))
		}
	}
	if got := c.must(t, wire.Read{Handle: fh}, ""); len(got) != 0 {
		t.Errorf("empty read answers %q", got)
	}
	c.must(t, wire.Read{Handle: fh, Length: 3}, string(make([]byte, 8+16)))
	c.refused(t, wire.Read{Handle: fh, Offset: -1, Length: 1}, "", wire.ArgInvalid)
	c.refused(t, wire.Read{Handle: fh, Length: -1}, "", wire.ArgInvalid)
	c.refused(t, wire.Read{Handle: fh, Length: 1}, "123", wire.ArgInvalid)
	c.refused(t, wire.Read{Handle: fh, Length: 1}, "\x05\x00\x00\x00\x00\x00\x00\x00", wire.ArgInvalid)
	c.refused(t, wire.Read{Handle: wire.Handle{9}, Length: 1}, "", wire.FileNotOpen)
	c.refused(t, wire.Pgread{Handle: fh, Length: 0}, "", wire.ArgInvalid)
	c.refused(t, wire.Write{Handle: fh}, "no", wire.NotAuthorized)
	c.refused(t, wire.Truncate{Handle: fh}, "", wire.NotAuthorized)
	s, err := wire.ParseStat(c.must(t, wire.Stat{Handle: fh}, ""))
	if err != nil || s.Size != size {
		t.Errorf("stat of a handle %+v, %v", s, err)
	}
	c.must(t, wire.Close{Handle: fh}, "")
	c.refused(t, wire.Close{Handle: fh}, "", wire.FileNotOpen)
}

func TestReadErrorIsAnswered(t *testing.T) {
	p := newPair(t, nil)
	p.put("/f", string(random(1<<20)))
	c := dial(t, p.nodeAddr)
	fh := p.openOld(t, c, "/f", hemera.AccessRead)
	p.mu.Lock()
	p.fail = func(op string) error { return errs.New(errs.IO, op, "", "the disk is gone") }
	p.mu.Unlock()
	for _, n := range []int32{10, 1 << 20} {
		c.refused(t, wire.Read{Handle: fh, Length: n}, "", wire.IOError)
		c.refused(t, wire.Pgread{Handle: fh, Length: n}, "", wire.IOError)
	}
	c.refused(t, wire.Readv{}, string(wire.Segment{Handle: fh, Length: 5}.Append(nil)), wire.IOError)
}

func TestPipelinedReadsKeepOrder(t *testing.T) {
	p := newPair(t, nil)
	data := random(1 << 20)
	p.put("/f", string(data))
	c := dial(t, p.nodeAddr)
	fh := p.openOld(t, c, "/f", hemera.AccessRead)
	var all []byte
	const count = 200
	at := func(i int) (int64, int32) { return int64(i*7919) % 900000, int32(1 + i*2741%60000) }
	for i := range count {
		off, n := at(i)
		all = wire.AppendRequest(all, wire.StreamID{9, byte(i)}, wire.Read{Handle: fh, Offset: off, Length: n}, 0)
	}
	go func() { _, _ = c.Write(all) }()
	for i := range count {
		off, n := at(i)
		status, got, err := c.answer()
		if err != nil || status != wire.StatusOK || !bytes.Equal(got, data[off:off+int64(n)]) {
			t.Fatalf("read %d: status %d, %d bytes, %v", i, status, len(got), err)
		}
	}
}

func TestReadv(t *testing.T) {
	p := newPair(t, nil)
	a, b := random(3<<20), random(5000)
	p.put("/a", string(a))
	p.put("/b", string(b))
	c := dial(t, p.nodeAddr)
	fa, fb := p.openOld(t, c, "/a", hemera.AccessRead), p.openOld(t, c, "/b", hemera.AccessRead)
	content := map[wire.Handle][]byte{fa: a, fb: b}
	vector := []wire.Segment{{Handle: fa, Length: 10}, {Handle: fb, Length: 5000}, {Handle: fa, Length: wire.ReadvElementMax, Offset: 3},
		{Handle: fa}, {Handle: fa, Length: 200 << 10, Offset: 1 << 20}, {Handle: fa, Length: 100 << 10}, {Handle: fa, Length: 100 << 10}}
	encode := func(v ...wire.Segment) (s string) {
		for _, e := range v {
			s += string(e.Append(nil))
		}
		return s
	}
	got := c.must(t, wire.Readv{}, encode(vector...))
	for _, want := range vector {
		s := wire.ParseSegment(got)
		d := got[wire.SegmentSize : wire.SegmentSize+int(want.Length)]
		if s != want || !bytes.Equal(d, content[s.Handle][s.Offset:s.Offset+int64(s.Length)]) {
			t.Fatalf("element %+v, want %+v, or its data differs", s, want)
		}
		got = got[wire.SegmentSize+int(want.Length):]
	}
	if len(got) != 0 {
		t.Errorf("%d bytes are left over", len(got))
	}
	many := make([]wire.Segment, wire.VectorMax+1)
	for i := range many {
		many[i] = wire.Segment{Handle: fb, Length: 1, Offset: int64(i)}
	}
	c.must(t, wire.Readv{}, encode(many[1:]...))
	c.refused(t, wire.Readv{}, encode(many...), wire.ArgTooLong)
	c.refused(t, wire.Readv{}, "", wire.ArgInvalid)
	c.refused(t, wire.Readv{}, "17 bytes of stuff", wire.ArgInvalid)
	c.refused(t, wire.Readv{}, encode(wire.Segment{Handle: fb, Length: 10, Offset: 4995}), wire.FSError)
	c.refused(t, wire.Readv{}, encode(wire.Segment{Handle: fa, Length: wire.ReadvElementMax + 1}), wire.NoMemory)
	c.refused(t, wire.Readv{}, encode(wire.Segment{Handle: wire.Handle{5}, Length: 1}), wire.FileNotOpen)
}

func TestWrites(t *testing.T) {
	p := newPair(t, nil)
	c := dial(t, p.nodeAddr)
	fh := p.openWrite(t, c, "/f", 0)
	want := make([]byte, 1<<20+100)
	for _, w := range []struct{ off, n int }{{0, 0}, {0, 1}, {100, 5000}, {4095, 300 << 10}, {1 << 20, 100}} {
		d := random(w.n)
		copy(want[w.off:], d)
		c.must(t, wire.Write{Handle: fh, Offset: int64(w.off)}, string(d))
	}
	for _, w := range []struct{ off, n int }{{0, 4096}, {1, 1}, {100, 9000}, {4095, 2}, {8191, 600 << 10}} {
		d := random(w.n)
		copy(want[w.off:], d)
		body := c.must(t, wire.Pgwrite{Handle: fh, Offset: int64(w.off)}, string(pages(d, int64(w.off))))
		if s, err := wire.ParseStatusFrame(body); err != nil || s.Offset != int64(w.off) || s.DataLength != 0 || s.Request != wire.ReqPgwrite {
			t.Errorf("pgwrite answer %+v, %v", s, err)
		}
	}
	vector := wire.Segment{Handle: fh, Length: 3, Offset: 7}.Append(nil)
	vector = wire.Segment{Handle: fh, Length: 4, Offset: 100000}.Append(vector)
	if _, err := c.send(wire.Writev{Options: wire.WritevSync}, vector); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Write([]byte("abcdefg")); err != nil {
		t.Fatal(err)
	}
	if status, body, err := c.answer(); status != wire.StatusOK || err != nil {
		t.Fatalf("writev: %d %q %v", status, body, err)
	}
	copy(want[7:], "abc")
	copy(want[100000:], "defg")
	c.must(t, wire.Sync{Handle: fh}, "")
	c.must(t, wire.Truncate{Handle: fh, Size: 1 << 20}, "")
	if _, err := p.Stat(t.Context(), hemera.Identity{}, "/f"); err == nil {
		t.Error("the file is visible before it is closed")
	}
	c.must(t, wire.Close{Handle: fh}, "")
	if p.stored("/f") != string(want[:1<<20]) {
		t.Error("the content differs")
	}
}

func TestRefusedWritesAreDrained(t *testing.T) {
	p := newPair(t, nil)
	c := dial(t, p.nodeAddr)
	fh := p.openWrite(t, c, "/f", 0)
	data := string(random(1500000))
	p.mu.Lock()
	full := false
	p.fail = func(op string) error {
		if op == "write" && full {
			return errs.New(errs.NoSpace, op, "", "the disk is full")
		}
		return nil
	}
	p.mu.Unlock()
	c.refused(t, wire.Write{Handle: wire.Handle{0x11}}, data, wire.FileNotOpen)
	c.refused(t, wire.Write{Handle: fh, Offset: -1}, data, wire.ArgInvalid)
	c.refused(t, wire.Write{Handle: fh, Offset: hemera.FileSizeMax}, data, wire.ArgTooLong)
	c.refused(t, wire.Pgwrite{Handle: wire.Handle{0x11}}, data, wire.FileNotOpen)
	for _, layout := range []string{"\x00", "\x00\x00\x00\x00", string(make([]byte, 4100+4))} {
		c.refused(t, wire.Pgwrite{Handle: fh}, layout, wire.ArgInvalid)
	}
	p.mu.Lock()
	full = true
	p.mu.Unlock()
	c.refused(t, wire.Write{Handle: fh}, data, wire.NoSpace)
	c.refused(t, wire.Pgwrite{Handle: fh}, string(pages([]byte(data), 0)), wire.NoSpace)
	vector := wire.Segment{Handle: fh, Length: 3}.Append(nil)
	vector = wire.Segment{Handle: wire.Handle{0x44}, Length: 2}.Append(vector)
	if _, err := c.send(wire.Writev{}, append(vector, "abcde"...)[:32]); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Write([]byte("abcde")); err != nil {
		t.Fatal(err)
	}
	if status, _, err := c.answer(); status != wire.StatusError || err != nil {
		t.Fatalf("writev: %d %v", status, err)
	}
	c.must(t, wire.Ping{}, "")
}

func TestBadPages(t *testing.T) {
	p := newPair(t, nil)
	c := dial(t, p.nodeAddr)
	data := random(10000)
	fh := p.openWrite(t, c, "/f", 0)
	bad := func(off int64, d []byte, flags uint8, spoil ...int) wire.PageErrors {
		t.Helper()
		body := c.must(t, wire.Pgwrite{Handle: fh, Offset: off, Flags: flags}, string(pages(d, off, spoil...)))
		e, err := wire.ParsePageErrors(body[wire.StatusBodySize:])
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	e := bad(100, data, 0, 0, 2)
	if len(e.Offsets) != 2 || e.Offsets[0] != 100 || e.Offsets[1] != 8192 || e.FirstLength != 3996 || e.LastLength != 1908 {
		t.Fatalf("bad pages %+v", e)
	}
	c.refused(t, wire.Pgwrite{Handle: fh, Offset: 4096, Flags: wire.PageRetry}, string(pages(data[:4096], 4096)), wire.ArgInvalid)
	c.refused(t, wire.Pgwrite{Handle: fh, Offset: 100, Flags: wire.PageRetry}, string(pages(data, 100)), wire.ArgInvalid)
	if e := bad(100, data[:3996], wire.PageRetry, 0); len(e.Offsets) != 1 {
		t.Errorf("a page that is bad again: %+v", e)
	}
	if e := bad(100, data[:3996], wire.PageRetry); len(e.Offsets) != 0 {
		t.Errorf("a page that is good now: %+v", e)
	}
	bad(8192, data[8092:], wire.PageRetry)
	c.must(t, wire.Close{Handle: fh}, "")
	if p.stored("/f")[100:] != string(data) {
		t.Error("the content differs")
	}

	fh = p.openWrite(t, c, "/g", 0)
	bad(0, data, 0, 1)
	c.refused(t, wire.Close{Handle: fh}, "", wire.ChkSumErr)
	if _, err := p.Stat(t.Context(), hemera.Identity{}, "/g"); err == nil {
		t.Error("a file with bad pages became visible")
	}

	fh = p.openWrite(t, c, "/h", 0)
	spoil := make([]int, wire.PageErrorsMax+1)
	for i := range spoil {
		spoil[i] = i
	}
	huge := random(hemera.PageSize * (wire.PageErrorsMax + 1))
	if e := bad(0, huge[hemera.PageSize:], 0, spoil[:wire.PageErrorsMax]...); len(e.Offsets) != wire.PageErrorsMax {
		t.Errorf("%d bad pages", len(e.Offsets))
	}
	c.refused(t, wire.Pgwrite{Handle: fh}, string(pages(huge, 0, spoil...)), wire.TooManyErrs)
	c.must(t, wire.Ping{}, "")
}

func TestPieceHandle(t *testing.T) {
	p := newPair(t, nil)
	c := dial(t, p.nodeAddr)
	open := func(path string) wire.Handle {
		g, err := p.grantOpen(hemera.OpenRequest{Path: path, Access: hemera.AccessCreate})
		if err != nil {
			t.Fatal(err)
		}
		return p.openToken(t, c, path, tokenOf(g)+"&hem.piece=1", wire.OpenDelete)
	}
	fh := open("/f")
	piece := p.pendingOf("/f")
	c.must(t, wire.Pgwrite{Handle: fh}, string(pages([]byte("piece"), 0)))
	q := wire.Query{Kind: wire.QueryOpaquf, Handle: fh}
	c.refused(t, q, "hem.seal&size=x", wire.ArgInvalid)
	c.must(t, q, wire.EncodeSealInfo(hemera.SealInfo{FileSize: 5, Sync: true}))
	c.refused(t, q, wire.EncodeSealInfo(hemera.SealInfo{FileSize: 5}), wire.FileNotOpen)
	c.refused(t, wire.Read{Handle: fh, Length: 1}, "", wire.FileNotOpen)
	c.must(t, wire.Close{Handle: fh}, "")
	if e, err := p.Stat(t.Context(), hemera.Identity{}, "/f"); err != nil || e.Size != 5 {
		t.Errorf("the sealed piece: %+v, %v", e, err)
	}
	if piece.detached != 1 {
		t.Errorf("the node was told %d times that nobody holds the sealed piece", piece.detached)
	}
	fh = open("/g")
	f := p.pendingOf("/g")
	q.Handle = fh
	c.must(t, wire.Pgwrite{Handle: fh, Offset: 12288}, string(pages([]byte("data"), 12288)))
	if got := string(c.must(t, q, wire.AskData(8192))); got != "12288\x00" {
		t.Errorf("data after 8192: %q", got)
	}
	c.refused(t, q, wire.OpaqueAllocated, wire.Unsupported)
	for _, wrong := range []string{wire.OpaqueData, "hem.data&off=-1", "hem.data&off=x"} {
		c.refused(t, q, wrong, wire.ArgInvalid)
	}
	c.must(t, wire.Query{Kind: wire.QueryOpaquf, Handle: fh}, wire.OpaqueAbort)
	if !f.aborted {
		t.Error("the piece was not given up")
	}
}

// TestPieceBeginsAsACopy checks the query by which the head of an update copies a piece of the base; if it is refused the
// piece stays usable.
func TestPieceBeginsAsACopy(t *testing.T) {
	p := newPair(t, nil)
	p.put("/f", "what was there")
	c := dial(t, p.nodeAddr)
	open := func(r hemera.OpenRequest, more string) wire.Handle {
		g, err := p.grantOpen(r)
		if err != nil {
			t.Fatal(err)
		}
		return p.openToken(t, c, r.Path, tokenOf(g)+more, wire.OpenUpdate)
	}
	q := wire.Query{Kind: wire.QueryOpaquf, Handle: open(hemera.OpenRequest{Path: "/f", Access: hemera.AccessUpdate}, "&hem.piece=1")}
	for _, wrong := range []string{wire.OpaqueClone, "hem.clone&size=-1", "hem.clone&size=x"} {
		c.refused(t, q, wrong, wire.ArgInvalid)
	}
	c.must(t, q, wire.EncodeClone(4))
	if got := string(c.must(t, wire.Read{Handle: q.Handle, Length: 100}, "")); got != "what" {
		t.Errorf("it begins with %q", got)
	}
	c.must(t, q, wire.OpaqueAbort)
	c.refused(t, q, wire.EncodeClone(4), wire.FileNotOpen)
	q.Handle = open(hemera.OpenRequest{Path: "/g", Access: hemera.AccessCreate}, "&hem.piece=1")
	c.refused(t, q, wire.EncodeClone(4), wire.NotFound)
	c.must(t, wire.Pgwrite{Handle: q.Handle}, string(pages([]byte("piece"), 0)))
	// A file is not a piece.
	q.Handle = open(hemera.OpenRequest{Path: "/h", Access: hemera.AccessCreate}, "")
	c.refused(t, q, wire.EncodeClone(4), wire.Unsupported)
}

// TestSealsDoNotWaitForEachOther delays the seal of one piece while another on the same connection is sealed and closed.
func TestSealsDoNotWaitForEachOther(t *testing.T) {
	p := newPair(t, nil)
	c := dial(t, p.nodeAddr)
	var handles [2]wire.Handle
	for i := range handles {
		path := "/f" + strconv.Itoa(i)
		g, err := p.grantOpen(hemera.OpenRequest{Path: path, Access: hemera.AccessCreate})
		if err != nil {
			t.Fatal(err)
		}
		handles[i] = p.openToken(t, c, path, tokenOf(g)+"&hem.piece=1", wire.OpenDelete)
	}
	held, free := make(chan struct{}), make(chan struct{})
	var seals atomic.Int32
	p.mu.Lock()
	p.fail = func(op string) error {
		if op == "seal" && seals.Add(1) == 1 {
			close(held)
			<-free
		}
		return nil
	}
	p.mu.Unlock()
	seal := func(fh wire.Handle) wire.Request { return wire.Query{Kind: wire.QueryOpaquf, Handle: fh} }
	first, err := c.send(seal(handles[0]), []byte(wire.EncodeSealInfo(hemera.SealInfo{})))
	if err != nil {
		t.Fatal(err)
	}
	<-held
	c.must(t, seal(handles[1]), wire.EncodeSealInfo(hemera.SealInfo{}))
	c.must(t, wire.Close{Handle: handles[1]}, "")
	close(free)
	if h, body, err := c.frame(); err != nil || h.Stream != first || h.Status != wire.StatusOK {
		t.Errorf("the seal that was held: %+v %q %v", h, body, err)
	}
}

func TestCheckpoint(t *testing.T) {
	p := newPair(t, nil)
	p.put("/f", "original")
	c := dial(t, p.nodeAddr)
	fh := p.openOld(t, c, "/f", hemera.AccessUpdate)
	op := func(o uint8) wire.Chkpoint { return wire.Chkpoint{Handle: fh, Operation: o} }
	xeq := func(r wire.Request, data string) {
		t.Helper()
		inner := wire.AppendRequest(nil, wire.StreamID{}, r, len(data))
		id, err := c.send(op(wire.CkpXeq), inner)
		if err == nil {
			_, err = c.Write([]byte(data))
		}
		h, body, err2 := c.frame()
		if err != nil || err2 != nil || h.Stream != id || h.Status != wire.StatusOK && h.Status != wire.StatusStatus {
			t.Fatalf("xeq %s: %+v %q %v %v", r.ID(), h, body, err, err2)
		}
	}
	content := func() string { return string(c.must(t, wire.Read{Handle: fh, Length: 100}, "")) }
	c.refused(t, op(wire.CkpCommit), "", wire.NotFound)
	c.must(t, op(wire.CkpBegin), "")
	c.refused(t, op(wire.CkpBegin), "", wire.ItExists)
	xeq(wire.Write{Handle: fh, Offset: 6}, "AL and longer")
	xeq(wire.Pgwrite{Handle: fh}, string(pages([]byte("OR"), 0)))
	xeq(wire.Truncate{Handle: fh, Size: 4}, "")
	if got := content(); got != "ORig" {
		t.Errorf("changed to %q", got)
	}
	if b := c.must(t, op(wire.CkpQuery), ""); binary.BigEndian.Uint32(b) != undo.BytesMax || binary.BigEndian.Uint32(b[4:]) == 0 {
		t.Errorf("query %x", b)
	}
	c.must(t, op(wire.CkpRollback), "")
	if got := content(); got != "original" {
		t.Errorf("rolled back to %q", got)
	}
	c.must(t, op(wire.CkpBegin), "")
	xeq(wire.Write{Handle: fh}, "ORIG")
	c.must(t, op(wire.CkpCommit), "")
	c.must(t, op(wire.CkpBegin), "")
	xeq(wire.Write{Handle: fh}, "lost")
	c.must(t, wire.Close{Handle: fh}, "")
	if got := p.stored("/f"); got != "ORIGinal" {
		t.Errorf("committed %q", got)
	}
}

// TestCheckpointIsOfOneFile checks that a checkpoint refuses changes of another file, because it could not undo them.
func TestCheckpointIsOfOneFile(t *testing.T) {
	p := newPair(t, nil)
	p.put("/f", "original")
	p.put("/g", "another")
	c := dial(t, p.nodeAddr)
	fh, other := p.openOld(t, c, "/f", hemera.AccessUpdate), p.openOld(t, c, "/g", hemera.AccessUpdate)
	c.must(t, wire.Chkpoint{Handle: fh, Operation: wire.CkpBegin}, "")
	vector := wire.Segment{Handle: fh, Length: 1}.Append(nil)
	vector = wire.Segment{Handle: other, Length: 2}.Append(vector)
	for _, r := range []struct {
		wire.Request
		vector, data string
	}{
		{wire.Write{Handle: other}, "", "xyz"},
		{wire.Pgwrite{Handle: other}, "", string(pages([]byte("xyz"), 0))},
		{wire.Truncate{Handle: other}, "", ""},
		{wire.Writev{}, string(vector), "xyz"},
	} {
		length := len(r.data)
		if r.vector != "" {
			length = len(r.vector)
		}
		inner := wire.AppendRequest(nil, wire.StreamID{}, r.Request, length)
		if _, err := c.send(wire.Chkpoint{Handle: fh, Operation: wire.CkpXeq}, inner); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Write([]byte(r.vector + r.data)); err != nil {
			t.Fatal(err)
		}
		if h, body, err := c.frame(); err != nil || h.Status != wire.StatusError || wire.ParseError(body).Code != wire.ArgInvalid {
			t.Errorf("%s of another file: %+v %q %v", r.ID(), h, body, err)
		}
	}
	for fh, want := range map[wire.Handle]string{fh: "original", other: "another"} {
		if got := string(c.must(t, wire.Read{Handle: fh, Length: 100}, "")); got != want {
			t.Errorf("changed to %q", got)
		}
	}
}

// onDisk is a file whose upper half can be sent from a pipe or by sendfile.
type onDisk struct {
	hemera.File
	f               *os.File
	mapped          []byte
	piped, sendfile *atomic.Int64
}

func (o onDisk) Verified(off, n int64) (*os.File, bool) {
	if off < o.Info().Size/2 {
		return nil, false
	}
	o.sendfile.Add(1)
	return o.f, true
}

func (o onDisk) Splice(pipe *zerocopy.Pipe, off, n int64) int64 {
	if off < o.Info().Size/2 {
		return 0
	}
	o.piped.Add(1)
	put, _ := pipe.Put(o.mapped[off : off+n])
	return int64(put)
}

type diskNode struct {
	*memory
	onDisk
}

func (n diskNode) Open(ctx context.Context, p *hemera.Permit, o hemera.NodeOpen) (hemera.File, error) {
	f, err := n.memory.Open(ctx, p, o)
	n.onDisk.File = f
	return n.onDisk, err
}

func TestReadsThatAreNotCopied(t *testing.T) {
	needsLoop(t, "every read is copied")
	data := random(6 << 20)
	name := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	mapped, err := unix.Mmap(int(f.Fd()), 0, len(data), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Munmap(mapped) }()
	for _, pipes := range []bool{true, false} {
		var piped, sendfile atomic.Int64
		p := newPair(t, node(func(o *NodeOptions) { o.Node = diskNode{o.Node.(*memory), onDisk{nil, f, mapped, &piped, &sendfile}} }))
		if !pipes {
			p.node.pool.Close()
		}
		p.put("/f", string(data))
		c := dial(t, p.nodeAddr)
		fh := p.openOld(t, c, "/f", hemera.AccessRead)
		for _, r := range []struct {
			off int64
			n   int32
		}{{0, 8 << 20}, {3<<20 + 5, 20000}, {3 << 20, 8 << 20}, {2<<20 + 9, 2 << 20}, {4<<20 + 1, 1 << 20}, {6<<20 - 1, 1 << 20}} {
			want := data[r.off:min(r.off+int64(r.n), int64(len(data)))]
			if got := c.must(t, wire.Read{Handle: fh, Offset: r.off, Length: r.n}, ""); !bytes.Equal(got, want) {
				t.Errorf("read %d@%d: %d bytes, want %d", r.n, r.off, len(got), len(want))
			}
		}
		if used := piped.Load() > 0; used != pipes || !pipes && sendfile.Load() == 0 {
			t.Errorf("with pipes %v: %d frames by pipe, %d by sendfile", pipes, piped.Load(), sendfile.Load())
		}
	}
}

// lending is a file with some ranges in memory.
type lending struct {
	hemera.File
	data      []byte
	lent, out *atomic.Int64
}

// Lend lends up to 70,000 bytes, except at the begin of every fourth range of that length.
func (l lending) Lend(off, n int64) hemera.Loan {
	const step = 70_000
	if off >= int64(len(l.data)) || off/step%4 == 3 {
		return hemera.Loan{}
	}
	p := l.data[off:min(off+n, off/step*step+step, int64(len(l.data)))]
	sums := make([]uint32, checksum.Fragments(off, len(p)))
	checksum.PageSums(p, off, sums)
	l.lent.Add(int64(len(p)))
	l.out.Add(1)
	return hemera.Loan{Data: p, Sums: sums, Return: func() { l.out.Add(-1) }}
}

type lendingNode struct {
	*memory
	lending
}

func (n lendingNode) Open(ctx context.Context, p *hemera.Permit, o hemera.NodeOpen) (hemera.File, error) {
	f, err := n.memory.Open(ctx, p, o)
	n.lending.File = f
	return n.lending, err
}

// TestReadsOfLentMemory checks that lent ranges are sent in order with other ranges, and are returned.
func TestReadsOfLentMemory(t *testing.T) {
	data := random(2_000_001)
	var lent, out atomic.Int64
	p := newPair(t, node(func(o *NodeOptions) { o.Node = lendingNode{o.Node.(*memory), lending{nil, data, &lent, &out}} }))
	p.put("/f", string(data))
	c := dial(t, p.nodeAddr)
	fh := p.openOld(t, c, "/f", hemera.AccessRead)
	for _, r := range []struct {
		off int64
		n   int32
	}{{0, 3 << 20}, {4096, 20_000}, {5, 100}, {69_999, 300_000}, {139_264, 1 << 20}, {1_999_000, 5000}, {2_000_001, 10}} {
		want := data[r.off:min(r.off+int64(r.n), int64(len(data)))]
		if got := c.must(t, wire.Read{Handle: fh, Offset: r.off, Length: r.n}, ""); !bytes.Equal(got, want) {
			t.Errorf("read %d@%d: %d bytes, want %d", r.n, r.off, len(got), len(want))
		}
		if got := c.pgread(t, fh, r.off, r.n); !bytes.Equal(got, want) {
			t.Errorf("pgread %d@%d: %d bytes, want %d", r.n, r.off, len(got), len(want))
		}
	}
	if lent.Load() < 1_000_000 || out.Load() != 0 {
		t.Errorf("%d bytes were lent, %d loans were not returned", lent.Load(), out.Load())
	}
}

// fading is verified, but cannot be read beyond some offset any more.
type fading struct {
	hemera.File
	f    *os.File
	good int64
}

func (f fading) Verified(int64, int64) (*os.File, bool) { return f.f, true }

func (f fading) Splice(*zerocopy.Pipe, int64, int64) int64 { return 0 }

func (f fading) ReadPages(p []byte, sums []uint32, off int64) (int, error) {
	if off >= f.good {
		return 0, errs.New(errs.Corrupt, "disk.Read", "", "gone")
	}
	return f.File.ReadPages(p, sums, off)
}

// A long frame that cannot be finished ends the connection; otherwise its client would take the next bytes for data.
func TestAFrameThatCannotBeFinishedEndsTheConnection(t *testing.T) {
	needsLoop(t, "frames are read before they are sent")
	for good, frames := range map[int64]bool{0: false, 2 << 20: true} {
		p := newPair(t, node(func(o *NodeOptions) { o.Node = fadingNode{o.Node.(*memory), good} }))
		p.put("/f", string(random(6<<20)))
		c := dial(t, p.nodeAddr)
		fh := p.openOld(t, c, "/f", hemera.AccessRead)
		_, _, err := c.call(wire.Read{Handle: fh, Length: 6 << 20}, nil)
		_, _, after := c.call(wire.Ping{}, nil)
		if frames != (after != nil) {
			t.Errorf("bad from %d: read answers %v, then ping %v", good, err, after)
		}
	}
}

type fadingNode struct {
	*memory
	good int64
}

func (n fadingNode) Open(ctx context.Context, p *hemera.Permit, o hemera.NodeOpen) (hemera.File, error) {
	f, err := n.memory.Open(ctx, p, o)
	return fading{File: f, good: n.good}, err
}

// taped is a fading file that is also on tape.
type taped struct{ fading }

func (f taped) Info() hemera.FileInfo {
	i := f.fading.Info()
	i.OnTape = true
	return i
}

type tapedNode struct{ *memory }

func (n tapedNode) Open(ctx context.Context, p *hemera.Permit, o hemera.NodeOpen) (hemera.File, error) {
	f, err := n.memory.Open(ctx, p, o)
	return taped{fading{File: f, good: 3 << 20}}, err
}

// TestAReaderIsSentToTheManager checks that reads of all kinds are redirected to the manager if no piece is good and the
// file is on tape; the client opens it again there. A client that comes from there gets the error, and so does the
// destination of a third-party copy, which has no rights there.
func TestAReaderIsSentToTheManager(t *testing.T) {
	p := newPair(t, node(func(o *NodeOptions) { o.Node = tapedNode{o.Node.(*memory)} }))
	p.put("/f", string(random(6<<20)))
	for extra, want := range map[string]wire.Status{"": wire.StatusRedirect, "&" + wire.OpaqueNoPiece + "=1": wire.StatusError} {
		g, err := p.grantOpen(hemera.OpenRequest{Path: "/f", Access: hemera.AccessRead})
		if err != nil {
			t.Fatal(err)
		}
		for name, read := range map[string]func(fh wire.Handle) (wire.Request, []byte){
			"read": func(fh wire.Handle) (wire.Request, []byte) {
				return wire.Read{Handle: fh, Length: 10, Offset: 4 << 20}, nil
			},
			"pgread": func(fh wire.Handle) (wire.Request, []byte) {
				return wire.Pgread{Handle: fh, Length: 10, Offset: 4 << 20}, nil
			},
			"readv": func(fh wire.Handle) (wire.Request, []byte) {
				return wire.Readv{}, wire.Segment{Handle: fh, Length: 10, Offset: 4 << 20}.Append(wire.Segment{Handle: fh, Length: 10}.Append(nil))
			},
		} {
			c := dial(t, p.nodeAddr)
			fh := p.openToken(t, c, "/f", tokenOf(g)+extra, wire.OpenRead)
			request, payload := read(fh)
			status, body, err := c.call(request, payload)
			if err != nil || status != want {
				t.Errorf("%s%s: %d, %v", name, extra, status, err)
				continue
			}
			if to, _ := wire.ParseRedirect(body); want == wire.StatusRedirect &&
				(net.JoinHostPort(to.Host, strconv.Itoa(int(to.Port))) != p.managerAddr || !to.Opaque.Has(wire.OpaqueNoPiece)) {
				t.Errorf("%s: sent to %+v", name, to)
			}
		}
	}
}
