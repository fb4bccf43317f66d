package access

import (
	"net/netip"
	"testing"
)

func TestSourcesOfCopies(t *testing.T) {
	doors := []string{"10.1.0.1:1094", "10.1.0.5:1095", "disk7.example.org:1095", "127.0.0.1:2001", "[fd00::7]:1095"}
	rule := Sources{
		Allow: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("127.9.0.0/16")},
		Never: []string{"10.1.0.1:8094", "127.0.0.1:8095", "0.0.0.0:8096"},
	}
	few := Sources{Allow: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}}
	for _, c := range []struct {
		rule             Sources
		name, addr, from string
		want             bool
	}{
		{few, "10.1.3.3:1094", "10.1.3.3:1094", "10.1.0.5:1095", true},
		{few, "192.0.2.7:1094", "192.0.2.7:1094", "10.1.0.5:1095", false},
		{few, "metadata:80", "169.254.169.254:80", "10.1.0.5:1095", false},
		{rule, "metadata:80", "169.254.169.254:80", "10.1.0.5:1095", false},
		{rule, "[fe80::1]:1094", "[fe80::1%eth0]:1094", "10.1.0.5:1095", false},
		{rule, "0.0.0.0:1094", "0.0.0.0:1094", "10.1.0.5:1095", false},
		{rule, "224.0.0.1:1094", "224.0.0.1:1094", "10.1.0.5:1095", false},
		{rule, "localhost:22", "127.0.0.1:22", "10.1.0.5:1095", false},
		{rule, "localhost:22", "[::ffff:127.0.0.1]:22", "10.1.0.5:1095", false},
		{rule, "localhost:22", "[::1]:22", "10.1.0.5:1095", false},
		{rule, "evil.example.org:22", "127.0.0.1:22", "10.1.0.5:1095", false},
		// The port of a door, at the machine of the node that connects, is that door.
		{few, "localhost:1095", "127.0.0.1:1095", "10.1.0.5:1095", true},
		{few, "localhost:1094", "127.0.0.1:1094", "10.1.0.1:1096", true},
		{few, "localhost:1094", "127.0.0.1:1094", "10.1.0.5:1095", false},
		{few, "localhost:2001", "127.0.0.1:2001", "127.0.0.1:2002", true},
		{few, "disk7.example.org:1095", "192.0.2.9:1095", "10.1.0.5:1095", true},
		{few, "DISK7.example.org:1095", "192.0.2.9:1095", "10.1.0.5:1095", true},
		{few, "disk7.example.org:22", "192.0.2.9:22", "10.1.0.5:1095", false},
		{few, "x:1095", "[fd00::7]:1095", "10.1.0.5:1095", true},
		// Loopback by name of its own network.
		{rule, "127.9.0.1:1094", "127.9.0.1:1094", "10.1.0.5:1095", true},
		// Ports for admins are not sources, whatever their network.
		{rule, "10.1.0.1:8094", "10.1.0.1:8094", "10.1.0.5:1095", false},
		{rule, "127.9.0.1:8096", "127.9.0.1:8096", "10.1.0.5:1095", false},
		{rule, "x:0", "10.1.0.3:0", "10.1.0.5:1095", false},
		{rule, "x", "", "10.1.0.5:1095", false},
	} {
		addr, _ := netip.ParseAddrPort(c.addr)
		if d := c.rule.Decide(Source{Name: c.name, Addr: addr, From: c.from}, doors); d.Allowed != c.want || d.Rule == "" {
			t.Errorf("%s at %s, from %s: %+v, want %v", c.name, c.addr, c.from, d, c.want)
		}
	}
}
