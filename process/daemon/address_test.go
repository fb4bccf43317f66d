package daemon

import (
	"errors"
	"net"
	"net/netip"
	"testing"

	"hemera/words/errs"
)

type listenerAt struct {
	net.Listener
	addr string
}

func (l listenerAt) Addr() net.Addr { return net.TCPAddrFromAddrPort(netip.MustParseAddrPort(l.addr)) }

func TestAdvertised(t *testing.T) {
	for _, test := range []struct{ wish, listens, toward, want string }{
		{"", "10.1.0.2:1094", "", "10.1.0.2:1094"},
		{"", "127.0.0.1:1094", "10.1.0.1:1094", "127.0.0.1:1094"},
		{"storage1.example.org", "0.0.0.0:1095", "", "storage1.example.org:1095"},
		{"storage1.example.org:99", "[::]:1095", "", "storage1.example.org:99"},
		{"::1", "[::]:1095", "", "[::1]:1095"},
		{"", "0.0.0.0:1095", "127.0.0.1:1094", "127.0.0.1:1095"},
		{"", "[::]:1095", "127.0.0.7:1094", "127.0.0.1:1095"},
	} {
		if got := advertised(t.Context(), test.wish, listenerAt{addr: test.listens}, test.toward); got != test.want {
			t.Errorf("%+v: %s", test, got)
		}
	}
	own := advertised(t.Context(), "", listenerAt{addr: "[::]:1095"}, "")
	if a, err := netip.ParseAddrPort(own); err != nil || a.Addr().IsUnspecified() || a.Port() != 1095 {
		t.Errorf("nobody can connect to %q: %v", own, err)
	}
}

func TestReachableIsNoLoopbackOrLinkLocal(t *testing.T) {
	var addrs []net.Addr
	for _, s := range []string{"127.0.0.1/8", "::1/128", "fe80::1/64", "169.254.3.4/16", "10.1.0.2/24", "10.2.0.2/24"} {
		ip, network, _ := net.ParseCIDR(s)
		network.IP = ip
		addrs = append(addrs, network)
	}
	if got := reachable(addrs); got != "10.1.0.2" {
		t.Errorf("%s", got)
	}
	if got := reachable(addrs[:4]); got != "127.0.0.1" {
		t.Errorf("%s", got)
	}
}

func TestANodeOthersCannotReachIsRefused(t *testing.T) {
	for _, test := range []struct {
		addr, manager string
		refused       bool
	}{
		{"127.0.0.1:1095", "10.1.0.1:1094", true},
		{"[::1]:1095", "manager.example.org:1094", true},
		{"localhost:1095", "10.1.0.1:1094", true},
		{"127.0.0.1:1095", "127.0.0.1:1094", false},
		{"127.0.0.1:1095", "localhost:1094", false},
		{"127.0.0.1:1095", "", false},
		{"10.1.0.2:1095", "10.1.0.1:1094", false},
		{"node.example.org:1095", "10.1.0.1:1094", false},
	} {
		err := checkReach(test.addr, test.manager)
		if (err != nil) != test.refused || test.refused && errs.RemedyOf(err) == "" {
			t.Errorf("%+v: %v", test, err)
		}
	}
}

// Two processes with the same state directory would be the same node, or the same manager.
func TestAStateDirectoryHasOneProcess(t *testing.T) {
	dir, log := t.TempDir(), keptLog(t)
	open := func() (*Manager, error) {
		return OpenManager(t.Context(), ManagerOptions{Dir: dir, Listen: "127.0.0.1:0", Log: log})
	}
	m, err := open()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := open(); !errors.Is(err, errs.Unavailable) || errs.RemedyOf(err) == "" {
		t.Errorf("a second manager: %v", err)
	}
	if _, err := OpenNode(t.Context(), NodeOptions{Dir: dir, Listen: "127.0.0.1:0", Control: m.Control, Copies: m.Control, Tapes: m.TapeControl, Log: log}); !errors.Is(err, errs.Unavailable) {
		t.Errorf("a node in the directory of another process: %v", err)
	}
	m.close()
	if m, err = open(); err != nil {
		t.Fatalf("after the first has ended: %v", err)
	}
	m.close()
}
