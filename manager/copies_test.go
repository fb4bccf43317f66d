package manager

import (
	"net/netip"
	"testing"

	"hemera/rules/access"
	"hemera/words/errs"
	"hemera/words/hemera"
)

func TestWhereCopiesMayReadFrom(t *testing.T) {
	r := newRig(t, 2, 1)
	r.m.Change(Live{Sources: access.Sources{Allow: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}}})
	ask := func(node hemera.NodeID, name, addr string) error {
		return r.m.Control.MayFetch(r.as(node), hemera.CopySource{Name: name, Addr: addr})
	}
	for _, good := range [][2]string{{"storage:1094", "10.1.2.3:1094"}, {"node2:1095", "192.0.2.2:1095"}, {r.m.Control.addr, "192.0.2.1:1094"}} {
		if err := ask(1, good[0], good[1]); err != nil {
			t.Errorf("%v: %v", good, err)
		}
	}
	for _, bad := range [][2]string{{"db:5432", "192.0.2.2:5432"}, {"localhost:22", "127.0.0.1:22"}, {"node2:22", "192.0.2.2:22"}, {"x:1", "none"}} {
		err := ask(1, bad[0], bad[1])
		wantKind(t, err, errs.Denied)
		if errs.RemedyOf(err) == "" {
			t.Errorf("%v: no remedy", bad)
		}
	}
	if err := ask(99, "node2:1095", "192.0.2.2:1095"); err == nil {
		t.Error("a node that is none was answered")
	}
}
