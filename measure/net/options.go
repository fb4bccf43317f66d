package net

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"hemera/words/errs"
)

// The protocols.
const (
	TCP = "tcp"
	UDP = "udp"
)

// Protocols returns all protocols.
func Protocols() []string { return []string{TCP, UDP} }

// The directions, seen from this machine.
const (
	Send    = "send"
	Receive = "receive"
	Both    = "both" // at the same time
)

// Directions returns all directions.
func Directions() []string { return []string{Send, Receive, Both} }

// Loopback is the path of a run without a far end.
const Loopback = "loopback"

// Options of a run.
type Options struct {
	Hosts      []string // far ends, measured one after another; none is loopback
	Port       int      // of iperf3 at the far ends; readings are at the next one
	Protocols  []string
	Streams    []int // of each direction
	Packets    []int // sizes of UDP packets in bytes, with the headers of IP and UDP
	Directions []string
	Cores      []int         // cores of iperf3: here, and at the far end; none leaves the choice to the kernel
	For        time.Duration // of a step, in whole seconds
	Iterations int
}

const (
	streamsMax = 128         // iperf3's own limit
	coreMax    = 1023        // the last core that iperf3 can name
	packetMin  = 60          // bytes; iperf3 needs 12 of them
	packetMax  = 65000       // bytes
	headersV4  = 20 + 8      // bytes of IP and UDP
	headersV6  = 40 + 8      // bytes of IP and UDP
	longest    = 86400       // seconds of a step, iperf3's own limit
	slack      = time.Minute // time of a step besides its traffic
	attempts   = 10          // at a busy far end
	busyWait   = time.Second // between two of them
)

// Check fails with Invalid if an option is not usable, and names the first.
func (o *Options) Check() error {
	bad := func(subject, text string) error { return errs.New(errs.Invalid, "net.Check", subject, text) }
	for _, list := range []struct {
		flag        string
		given, have []string
	}{{"--protocols", o.Protocols, Protocols()}, {"--directions", o.Directions, Directions()}} {
		for _, word := range list.given {
			if !slices.Contains(list.have, word) {
				return bad(list.flag, fmt.Sprintf("%q is none of %s", word, strings.Join(list.have, ", ")))
			}
		}
		if len(list.given) == 0 {
			return bad(list.flag, "it takes one at least")
		}
	}
	// Beyond it iperf3 fails with its own message.
	for _, n := range o.Streams {
		if n < 1 || n > streamsMax {
			return bad("--streams", fmt.Sprintf("it takes 1 to %d", streamsMax))
		}
	}
	// Packets above the MTU are fragmented, which is allowed and rarely useful.
	for _, n := range o.Packets {
		if n < packetMin || n > packetMax {
			return bad("--packets", fmt.Sprintf("it takes %d to %d bytes", packetMin, packetMax))
		}
	}
	// iperf3 would take a host with a leading dash as a flag.
	for _, h := range o.Hosts {
		if h == "" || strings.HasPrefix(h, "-") {
			return bad(h, "it is no host")
		}
	}
	// The rest are numbers.
	switch {
	case len(o.Streams) == 0:
		return bad("--streams", "it takes one at least")
	case slices.Contains(o.Protocols, UDP) && len(o.Packets) == 0:
		return bad("--packets", "UDP needs one at least")
	case len(o.Cores) > 2 || slices.ContainsFunc(o.Cores, func(n int) bool { return n < 0 || n > coreMax }):
		return bad("--cores", "it takes a core here, or one here and one at the far end, counted from 0")
	case o.Port < 1 || o.Port > 65534:
		return bad("--port", "it takes 1 to 65534, and the next one is for readings")
	case o.Iterations < 1 || o.Iterations > 1000:
		return bad("--iterations", "it takes 1 to 1000")
	case o.For < time.Second || o.For > longest*time.Second || o.For%time.Second != 0:
		return bad("--for", "it takes whole seconds, 1s to 24h")
	}
	return nil
}

// payload returns the size of the data in a packet to an address.
func payload(packet int, to netip.Addr) int {
	if to.Is4() || to.Is4In6() {
		return packet - headersV4
	}
	return packet - headersV6
}
