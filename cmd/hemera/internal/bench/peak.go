package bench

import (
	"fmt"
	"net/netip"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"hemera/client/xrootd"
	"hemera/cmd/hemera/internal/cli"
	"hemera/measure/load"
	"hemera/measure/result"
	"hemera/words/errs"
)

// peakFlags say what the servers can do in theory.
type peakFlags struct {
	net, disk string // rates of one server, as written
	from      string // the directory of a run that measured them
	count     int    // servers
}

// flags adds the flags. Rates are of one server; servers that are alike are counted.
func (p *peakFlags) flags(f *pflag.FlagSet) {
	// Text, because a rate has a unit.
	f.StringVar(&p.net, "peak-net", "", "bytes a second of the network of one server: `rate` such as 125MB")
	f.StringVar(&p.disk, "peak-disk", "", "bytes a second of all disks of one server: one `rate`, or READ,WRITE")
	f.IntVar(&p.count, "peak-nodes", 1, "servers that are like this")
	f.StringVar(&p.from, "peak-from", "", "take both from the run in this `directory`, which measured disk and net on a server")
}

// nodes are the servers, or none if nothing was said of them.
// A rate that was given replaces the one of the run. Invalid for a rate that is none.
func (p *peakFlags) nodes() ([]load.Node, error) {
	var n load.Node
	// The levels disk and net of an earlier run, on a server of this cluster.
	if p.from != "" {
		run, err := result.Read(p.from)
		if err != nil {
			return nil, err
		}
		n = load.NodeOf(run)
		if n == (load.Node{}) {
			return nil, errs.New(errs.Invalid, "hemera.Bench", "--peak-from", "the run has neither disk nor net").WithRemedy("hemera bench disk and hemera bench net measure them")
		}
	}
	// What is said here counts more than what was measured.
	read, write, two := strings.Cut(p.disk, ",")
	if !two {
		write = read
	}
	for _, r := range []struct {
		flag, text string
		to         *load.Rate
	}{{"--peak-net", p.net, &n.Net}, {"--peak-disk", read, &n.DiskRead}, {"--peak-disk", write, &n.DiskWrite}} {
		if err := parseRate(r.flag, r.text, &r.to.Mean); err != nil {
			return nil, err
		}
		if r.text != "" {
			r.to.SD = 0 // of what was measured
		}
	}
	// Nothing was said: there is no peak, and no share of it.
	if n == (load.Node{}) {
		return nil, nil
	}
	// A number that nobody has is a mistake, not memory.
	if p.count < 1 || p.count > 1<<20 {
		return nil, errs.New(errs.Invalid, "hemera.Bench", "--peak-nodes", "it takes 1 or more")
	}
	// All are alike here. load.Peak also takes servers that differ.
	nodes := make([]load.Node, p.count)
	for i := range nodes {
		nodes[i] = n
	}
	return nodes, nil
}

// parseRate reads the rate of a flag in B/s, if one was given. Invalid.
func parseRate(flag, text string, to *float64) error {
	if text == "" {
		return nil
	}
	// People write 125MB and 125MB/s.
	v, ok := cli.ParseSize(strings.TrimSuffix(text, "/s"), 1<<50)
	if !ok || v == 0 {
		return errs.New(errs.Invalid, "hemera.Bench", flag, fmt.Sprintf("%q is no rate", text)).WithRemedy("rates are bytes a second: 125MB, 3.125GB")
	}
	*to = float64(v)
	return nil
}

// follow implements follower: without a peak from the user it is what this machine reached, if the servers are here.
func (l *ioLevel) follow(run *result.Run) {
	n := load.NodeOf(run)
	if len(l.o.Nodes) > 0 || n == (load.Node{}) || len(l.o.Targets) != 1 || !isHere(l.o.Targets[0]) {
		return
	}
	l.o.Nodes, l.follows = []load.Node{n}, true
}

// isHere reports whether a target is a server of this machine. Of a directory nobody knows: it may be of another disk than the level disk
// measured, or of a network file system.
func isHere(target string) bool {
	u, err := xrootd.ParseURL(target)
	if err != nil || !xrootd.IsRemote(target) {
		return false
	}
	if address, err := netip.ParseAddr(u.Host); err == nil {
		return address.IsLoopback()
	}
	name, err := os.Hostname()
	return u.Host == "localhost" || err == nil && u.Host == name
}
