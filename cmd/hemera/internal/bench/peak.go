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

// peakFlags has the theoretical rates of the servers.
type peakFlags struct {
	net, disk string // rates of one server, as written
	from      string // the directory of a run that measured them
	count     int    // servers
}

// flags adds the flags. Rates are those of one server, and the number of equal servers is a flag.
func (p *peakFlags) flags(f *pflag.FlagSet) {
	// Text, because a rate has a unit.
	f.StringVar(&p.net, "peak-net", "", "bytes a second of the network of one server: `rate` such as 125MB")
	f.StringVar(&p.disk, "peak-disk", "", "bytes a second of all disks of one server: one `rate`, or READ,WRITE")
	f.IntVar(&p.count, "peak-nodes", 1, "servers that are like this")
	f.StringVar(&p.from, "peak-from", "", "take both from the run in this `directory`, which measured disk and net on a server")
}

// nodes returns the servers, or nil without information. A given rate replaces that of the run. It fails with Invalid if
// a rate is malformed.
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
	// Flags precede measurements.
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
			r.to.SD = 0 // of the measurement
		}
	}
	// No information: no peak, and no fraction of it.
	if n == (load.Node{}) {
		return nil, nil
	}
	// An absurd number is a mistake.
	if p.count < 1 || p.count > 1<<20 {
		return nil, errs.New(errs.Invalid, "hemera.Bench", "--peak-nodes", "it takes 1 or more")
	}
	// All are equal here; load.Peak also accepts different servers.
	nodes := make([]load.Node, p.count)
	for i := range nodes {
		nodes[i] = n
	}
	return nodes, nil
}

// parseRate parses the rate of a flag in B/s, if it was given. It fails with Invalid.
func parseRate(flag, text string, to *float64) error {
	if text == "" {
		return nil
	}
	// Users write 125MB and 125MB/s.
	v, ok := cli.ParseSize(strings.TrimSuffix(text, "/s"), 1<<50)
	if !ok || v == 0 {
		return errs.New(errs.Invalid, "hemera.Bench", flag, fmt.Sprintf("%q is no rate", text)).WithRemedy("rates are bytes a second: 125MB, 3.125GB")
	}
	*to = float64(v)
	return nil
}

// follow implements follower: without a peak from the user, it is the rate that this machine reached, if the servers are
// here.
func (l *ioLevel) follow(run *result.Run) {
	n := load.NodeOf(run)
	if len(l.o.Nodes) > 0 || n == (load.Node{}) || len(l.o.Targets) != 1 || !isHere(l.o.Targets[0]) {
		return
	}
	l.o.Nodes, l.follows = []load.Node{n}, true
}

// isHere reports whether a target is a server on this machine. It returns false for a directory, which may be on another
// disk than the one that the level disk measured, or on a network file system.
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
