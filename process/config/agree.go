package config

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"hemera/words/errs"
	"hemera/words/hemera"
)

// agree checks what a single value cannot show: that values fit together, and the form of some texts. It runs after fit
// and after the default of the cache is set, so an error concerns a value that a person chose.
func (l *Loaded) agree() error {
	// All errors at once: an admin fixes them in one go.
	var wrong []error
	check := func(ok bool, key, text, remedy string) {
		if !ok {
			v := l.value(key)
			wrong = append(wrong, errs.New(errs.Invalid, "config.Load", key, fmt.Sprintf("%q (from %s) %s", v.Value, v.Source, text)).WithRemedy(remedy))
		}
	}
	c := &l.Config
	check(c.Data != "", "data", "is not a directory", "name a directory that this process may write")
	_, err := netip.ParseAddr(c.Listen)
	check(err == nil, "listen", "must be an IP address", "write 127.0.0.1 for this machine only, 0.0.0.0 or :: for all networks; the port is set by port")
	check(c.Advertise == "" || plausibleHost(c.Advertise), "advertise", "must be host or host:port", "write the name or address under which other machines reach this one")
	if c.HTTP.Listen != "" {
		_, _, err := net.SplitHostPort(c.HTTP.Listen)
		check(err == nil, "http.listen", "must be host:port", "write an address like 127.0.0.1:8094, or leave it empty")
	}
	layout, err := c.Space.layout()
	if err != nil {
		check(false, "space.layout", "is not a layout: "+err.Error(), "write replica, rs:4+2 or another of these names")
	}
	if layout.Kind == hemera.LayoutReplica {
		check(c.Space.ReplicasMin <= int(layout.Pieces), "space.replicas_min",
			fmt.Sprintf("is more than space.replicas, %d", layout.Pieces), "lower space.replicas_min, or raise space.replicas")
	}
	_, err = hemera.ParseBlockSize(c.Space.BlockSize)
	check(err == nil, "space.block_size", "is not a block size", "write a size from 64k to 16M, such as 1M")
	check(c.Up.Disks >= c.Up.Nodes, "up.disks", fmt.Sprintf("is less than up.nodes, %d: a node needs a disk", c.Up.Nodes), "raise up.disks, or lower up.nodes")
	// The default has replaced zero already.
	check(c.Cache.Namespace >= CacheLeast, "cache.namespace", "must be at least 256MiB", "write 256MiB or more, or 0 for a quarter of the machine's memory")
	for _, d := range c.Node.Disks {
		check(strings.HasPrefix(d, "/"), "node.disks", "must be absolute paths", "write /path, or /path=space")
	}
	// Bits beyond the mask are probably a typing error, and the wrong part is unknown.
	networks := func(key string, list []netip.Prefix) {
		for _, n := range list {
			check(n == n.Masked(), key, fmt.Sprintf("has %s, which has bits beyond its mask", n), "did you mean "+n.Masked().String()+"?")
		}
	}
	var trusted []netip.Prefix
	for _, n := range c.Auth.TrustedNetworks {
		trusted = append(trusted, n.Prefix)
	}
	networks("auth.trusted_networks", trusted)
	networks("http.metrics_networks", c.HTTP.MetricsNetworks)
	networks("tpc.allow", c.TPC.Allow)
	return errors.Join(wrong...)
}

// fit lets the default number of nodes, or of disks, follow the other one if only that was chosen. So `hemera up --disks
// 2` starts, with two nodes. If both were chosen, agree reports a conflict.
func (l *Loaded) fit() {
	if l.Up.Disks >= l.Up.Nodes {
		return
	}
	switch "default" {
	case l.value("up.nodes").Source:
		l.Up.Nodes = l.Up.Disks
	case l.value("up.disks").Source:
		l.Up.Disks = l.Up.Nodes
	}
}

// plausibleHost reports whether a text may be a host or host:port. It does not look up names: they may not exist yet.
// Port 0 is not plausible: clients cannot connect to it.
func plausibleHost(s string) bool {
	if host, port, err := net.SplitHostPort(s); err == nil {
		n, err := strconv.ParseUint(port, 10, 16)
		return host != "" && err == nil && n > 0
	}
	_, err := netip.ParseAddr(s)
	return err == nil || !strings.ContainsAny(s, ": /")
}

// value returns the value of a key, with its source. An unknown key gives a zero Value: keys here are constants of this
// package.
func (l *Loaded) value(key string) Value {
	for _, v := range l.values {
		if v.Key == key {
			return v
		}
	}
	return Value{}
}
