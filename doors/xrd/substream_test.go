package xrd

import (
	"bytes"
	"runtime"
	"testing"

	"hemera/rules/wire"
	"hemera/words/hemera"
)

func bind(t *testing.T, addr string, id wire.SessionID) (*rawConn, uint8) {
	t.Helper()
	c := bare(t, addr)
	if err := c.hello(); err != nil {
		t.Fatal(err)
	}
	body := c.must(t, wire.Bind{Session: id}, "")
	if len(body) != 1 || body[0] == 0 {
		t.Fatalf("bind answers %x", body)
	}
	return c, body[0]
}

func TestBoundReads(t *testing.T) {
	p := newPair(t, nil)
	data := random(1 << 20)
	p.put("/f", string(data))
	c := dial(t, p.nodeAddr)
	fh := p.openOld(t, c, "/f", hemera.AccessRead)
	links := map[uint8]*rawConn{}
	for range 3 {
		l, id := bind(t, p.nodeAddr, c.id)
		if links[id] != nil {
			t.Fatal("a path id was used twice")
		}
		links[id] = l
	}
	const each = 100 // more than a queue holds
	go func() {
		for i := range each {
			for id := range uint8(3) {
				_, _ = c.send(wire.Read{Handle: fh, Offset: int64(i), Length: 5000 * int32(i)}, wire.AppendReadArgs(nil, id+1))
			}
		}
		_, _ = c.send(wire.Close{Handle: fh}, nil)
	}()
	for i := range each {
		for id := uint8(1); id <= 3; id++ {
			status, got, err := links[id].answer()
			if err != nil || status != wire.StatusOK || !bytes.Equal(got, data[i:i+5000*i]) {
				t.Fatalf("read %d on path %d: status %d, %d bytes, %v", i, id, status, len(got), err)
			}
		}
	}
	if status, _, err := c.answer(); status != wire.StatusOK || err != nil {
		t.Fatalf("close: %d %v", status, err)
	}
}

func TestBoundPgreadAndLostPath(t *testing.T) {
	p := newPair(t, nil)
	data := random(100000)
	p.put("/f", string(data))
	c := dial(t, p.nodeAddr)
	fh := p.openOld(t, c, "/f", hemera.AccessRead)
	l, id := bind(t, p.nodeAddr, c.id)
	if _, err := c.send(wire.Pgread{Handle: fh, Offset: 100, Length: 60000}, []byte{id, 0}); err != nil {
		t.Fatal(err)
	}
	h, body, err := l.frame()
	if err != nil || h.Status != wire.StatusStatus {
		t.Fatalf("%+v %v", h, err)
	}
	got, _, err := wire.CutPages(body[wire.StatusBodySize:], make([]uint32, 100), 100)
	if err != nil || !bytes.Equal(got, data[100:60100]) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	_ = l.Close()
	if got := c.must(t, wire.Read{Handle: fh, Length: 10}, ""); !bytes.Equal(got, data[:10]) {
		t.Error("the main path after a bound one was lost")
	}
	c.must(t, wire.Close{Handle: fh}, "")
}

func TestBindRefused(t *testing.T) {
	p := newPair(t, nil)
	c := dial(t, p.nodeAddr)
	stranger := bare(t, p.nodeAddr)
	if err := stranger.hello(); err != nil {
		t.Fatal(err)
	}
	stranger.refused(t, wire.Bind{Session: wire.SessionID{1, 2, 3}}, "", wire.NotFound)
	for range substreamsMax {
		bind(t, p.nodeAddr, c.id)
	}
	stranger.refused(t, wire.Bind{Session: c.id}, "", wire.NoMemory)
	_ = c.Close()
	m := bare(t, p.managerAddr)
	if err := m.hello(); err != nil {
		t.Fatal(err)
	}
	m.refused(t, wire.Bind{}, "", wire.Unsupported)
}

// sendHead sends only the header of a request; its data is sent elsewhere.
func (c *rawConn) sendHead(t *testing.T, r wire.Request, n int) {
	t.Helper()
	c.stream++
	id := wire.StreamID{byte(c.stream >> 8), byte(c.stream)}
	if _, err := c.Write(wire.AppendRequest(nil, id, r, n)); err != nil {
		t.Fatal(err)
	}
}

func (c *rawConn) sendData(t *testing.T, data []byte) {
	t.Helper()
	if _, err := c.Write(data); err != nil {
		t.Fatal(err)
	}
}

func (c *rawConn) expect(t *testing.T, want wire.Status) []byte {
	t.Helper()
	status, body, err := c.answer()
	if err != nil || status != want {
		t.Fatalf("answered %d %q %v, want status %d", status, body, err, want)
	}
	return body
}

// boundWriters runs a test with a file open for writing at a node, and at a manager that opens files itself.
func boundWriters(t *testing.T, run func(t *testing.T, p *pair, c *rawConn, addr string, fh wire.Handle)) {
	t.Run("node", func(t *testing.T) {
		p := newPair(t, nil)
		c := dial(t, p.nodeAddr)
		run(t, p, c, p.nodeAddr, p.openWrite(t, c, "/f", 0))
	})
	t.Run("manager", func(t *testing.T) {
		p, _ := newLocalPair(t, nil)
		c := dial(t, p.managerAddr)
		body := c.must(t, wire.Open{Options: wire.OpenNew | wire.OpenUpdate, Mode: 0o644}, "/f?oss.asize=100")
		run(t, p, c, p.managerAddr, wire.Handle(body[:4]))
	})
}

func TestBoundWrites(t *testing.T) {
	boundWriters(t, func(t *testing.T, p *pair, c *rawConn, addr string, fh wire.Handle) {
		a, pathA := bind(t, addr, c.id)
		b, pathB := bind(t, addr, c.id)
		data := random(1 << 20)
		half := len(data) / 2
		// The requests precede their data, and are answered where the data arrives.
		c.sendHead(t, wire.Write{Handle: fh, Path: pathA}, half)
		c.sendHead(t, wire.Write{Handle: fh, Offset: int64(half), Path: pathB}, half)
		c.must(t, wire.Ping{}, "")
		b.sendData(t, data[half:])
		b.expect(t, wire.StatusOK)
		a.sendData(t, data[:half])
		a.expect(t, wire.StatusOK)
		// The data comes first, of two writes together.
		a.sendData(t, []byte("abcdef"))
		c.sendHead(t, wire.Write{Handle: fh, Path: pathA}, 2)
		a.expect(t, wire.StatusOK)
		c.sendHead(t, wire.Write{Handle: fh, Offset: 2, Path: pathA}, 4)
		a.expect(t, wire.StatusOK)
		copy(data, "abcdef")
		// A close waits for announced writes.
		c.sendHead(t, wire.Write{Handle: fh, Offset: 6, Path: pathB}, 3)
		c.sendHead(t, wire.Close{Handle: fh}, 0)
		b.sendData(t, []byte("ghi"))
		b.expect(t, wire.StatusOK)
		c.expect(t, wire.StatusOK)
		copy(data[6:], "ghi")
		if got := p.stored("/f"); got != string(data) {
			t.Errorf("%d bytes are not what was written", len(got))
		}
	})
}

func TestBoundPgwrites(t *testing.T) {
	boundWriters(t, func(t *testing.T, p *pair, c *rawConn, addr string, fh wire.Handle) {
		l, path := bind(t, addr, c.id)
		data := random(3 * 4096)
		spoilt := pages(data, 0, 1)
		c.sendHead(t, wire.Pgwrite{Handle: fh, Path: path}, len(spoilt))
		l.sendData(t, spoilt)
		h, body, err := l.frame()
		if err != nil || h.Status != wire.StatusStatus {
			t.Fatalf("%+v %v", h, err)
		}
		list, err := wire.ParsePageErrors(body[wire.StatusBodySize:])
		if err != nil || len(list.Offsets) != 1 || list.Offsets[0] != 4096 {
			t.Fatalf("%+v %v", list, err)
		}
		again := pages(data[4096:8192], 4096)
		c.sendHead(t, wire.Pgwrite{Handle: fh, Offset: 4096, Path: path, Flags: wire.PageRetry}, len(again))
		l.sendData(t, again)
		if h, _, err := l.frame(); err != nil || h.Status != wire.StatusStatus {
			t.Fatalf("%+v %v", h, err)
		}
		c.must(t, wire.Close{Handle: fh}, "")
		if p.stored("/f") != string(data) {
			t.Error("not what was written")
		}
	})
}

// A refused write drops its data where it arrives, and both connections stay usable.
func TestBoundWriteRefused(t *testing.T) {
	boundWriters(t, func(t *testing.T, p *pair, c *rawConn, addr string, fh wire.Handle) {
		l, path := bind(t, addr, c.id)
		data := random(300_000)
		for _, r := range []wire.Request{
			wire.Write{Handle: wire.Handle{9, 9, 9, 9}, Path: path},
			wire.Write{Handle: fh, Offset: -1, Path: path},
			wire.Pgwrite{Handle: wire.Handle{9, 9, 9, 9}, Path: path},
			wire.Pgwrite{Handle: fh, Path: path, Flags: wire.PageRetry},
		} {
			c.sendHead(t, r, len(data))
			l.sendData(t, data)
			l.expect(t, wire.StatusError)
		}
		c.sendHead(t, wire.Write{Handle: fh, Path: path}, 5)
		l.sendData(t, []byte("hello"))
		l.expect(t, wire.StatusOK)
		c.must(t, wire.Close{Handle: fh}, "")
		if got := p.stored("/f"); got != "hello" {
			t.Errorf("the file holds %d bytes", len(got))
		}
	})
}

func TestUnknownPath(t *testing.T) {
	boundWriters(t, func(t *testing.T, p *pair, c *rawConn, addr string, fh wire.Handle) {
		l, path := bind(t, addr, c.id)
		c.refused(t, wire.Write{Handle: fh, Path: 9}, "", wire.ArgInvalid) // no data
		// A client that has not detected the loss of the connection wrote its data there.
		_ = l.Close()
		door := p.node
		if addr == p.managerAddr {
			door = p.manager
		}
		for door.clients.session(c.id).streams.get(path) != nil {
			runtime.Gosched()
		}
		c.sendHead(t, wire.Write{Handle: fh, Path: path}, 100)
		c.expect(t, wire.StatusError)
		c.must(t, wire.Write{Handle: fh}, "hello")
		// Data for a path that was never bound may be anywhere: no later bytes may be taken for a request.
		c.sendHead(t, wire.Write{Handle: fh, Path: 9}, 24)
		c.expect(t, wire.StatusError)
		if status, _, err := c.answer(); err == nil {
			t.Errorf("the connection goes on, with %d", status)
		}
	})
}

// A session ends while a write was announced whose data never comes.
func TestBoundWriteWithoutData(t *testing.T) {
	boundWriters(t, func(t *testing.T, p *pair, c *rawConn, addr string, fh wire.Handle) {
		l, path := bind(t, addr, c.id)
		c.sendHead(t, wire.Write{Handle: fh, Path: path}, 100)
		c.sendHead(t, wire.Close{Handle: fh}, 0)
		_ = c.Close()
		if _, _, err := l.frame(); err == nil {
			t.Error("the bound connection outlives its session")
		}
	})
}
