package xrd

import (
	"bytes"
	"testing"

	"hemera"
	"hemera/wire"
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
	links[1].refused(t, wire.Stat{}, "/", wire.InvalidRequest)
	links[1].must(t, wire.Ping{}, "")
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
	for range maxSubstreams {
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
