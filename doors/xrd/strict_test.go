package xrd

import (
	"testing"

	"hemera/rules/wire"
	"hemera/words/hemera"
)

// Both doors refuse unknown options of an open, and retstatx alone returns a stat.
func TestOpenOptions2(t *testing.T) {
	p := newPair(t, nil)
	p.put("/f", "content")
	m, n := dial(t, p.managerAddr), dial(t, p.nodeAddr)
	g, err := p.grantOpen(hemera.OpenRequest{Path: "/f", Access: hemera.AccessRead})
	if err != nil {
		t.Fatal(err)
	}
	granted := "/f?hem.cap=" + tokenOf(g)
	for _, bits := range []uint16{wire.OpenDup, wire.OpenSameFS, 0x10, 0x8000, wire.OpenRetStatX | 0x20} {
		m.refused(t, wire.Open{Options: wire.OpenRead, Options2: bits}, "/f", wire.Unsupported)
		n.refused(t, wire.Open{Options: wire.OpenRead, Options2: bits}, granted, wire.Unsupported)
	}
	reply, err := wire.ParseOpenReply(n.must(t, wire.Open{Options: wire.OpenRead, Options2: wire.OpenRetStatX | wire.OpenDirectIO}, granted))
	if err != nil || reply.Stat == nil || reply.Stat.Size != 7 {
		t.Errorf("%+v %v", reply, err)
	}
}

func TestSetMonitor(t *testing.T) {
	p := newPair(t, nil)
	c := dial(t, p.managerAddr)
	if id := c.must(t, wire.Set{}, "monitor info my application"); len(id) != 4 {
		t.Errorf("the id has %d bytes", len(id))
	}
	c.must(t, wire.Set{}, "monitor on")
	c.must(t, wire.Set{}, "monitor off app")
	c.refused(t, wire.Set{}, "monitor", wire.ArgMissing)
	c.refused(t, wire.Set{}, "monitor sideways", wire.ArgInvalid)
}

func TestPingBeforeLogin(t *testing.T) {
	p := newPair(t, nil)
	c := bare(t, p.nodeAddr)
	if err := c.hello(); err != nil {
		t.Fatal(err)
	}
	c.refused(t, wire.Ping{}, "", wire.InvalidRequest)
}
