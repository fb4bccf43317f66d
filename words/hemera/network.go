package hemera

import (
	"net/netip"
	"time"
)

// The bounds of what is known of the network. What is beyond them is not reported, but for the counts of paths: those of
// the least busy ones are reported together.
const (
	// NetworkInterval is the interval at which a node samples its network, and at which the manager judges the counts.
	NetworkInterval = 10 * time.Second
	// NetworkPathsMax, NetworkInterfacesMax and NetworkAddressesMax bound one sample. A sample of as many paths takes 8 KB with IPv4
	// addresses, and 11 KB with IPv6.
	NetworkPathsMax      = 256
	NetworkInterfacesMax = 16
	NetworkAddressesMax  = 16
)

// NetworkSample has a node's counts of its network since the sample before: its interfaces, and the TCP connections of
// its process, summed by the address of the other end. Keys on the wire are numbers, as samples are the largest part of
// heartbeats. Numbers are only added.
type NetworkSample struct {
	// Taken is the node's clock. It tells samples apart, and is compared with nothing else.
	Taken time.Time `cbor:"1,keyasint"`
	// Interval is the time of the counts; 0 for a first sample, which has none.
	Interval time.Duration `cbor:"2,keyasint,omitempty"`
	// Addresses are the machine's own, by which the samples of other nodes name it. Without loopback.
	Addresses  []netip.Addr       `cbor:"3,keyasint,omitempty"`
	Interfaces []NetworkInterface `cbor:"4,keyasint,omitempty"`
	// Paths have traffic, and lead to other machines.
	Paths []NetworkPath `cbor:"5,keyasint,omitempty"`
}

// NetworkLink is the interface that carries most of a machine's traffic, in bits per second; 0 is not known.
type NetworkLink struct {
	Speed int64
	Out   int64 // what was sent a second, of late
}

// Link returns the fastest interface that is up and has a signal.
func (s *NetworkSample) Link() (l NetworkLink) {
	for _, i := range s.Interfaces {
		if i.Member || !i.Up || !i.Carrier || i.Speed <= l.Speed {
			continue
		}
		l = NetworkLink{Speed: i.Speed}
		if s.Interval > 0 {
			l.Out = int64(float64(8*i.Out.Bytes) / s.Interval.Seconds())
		}
	}
	return l
}

// NetworkPath has the counts of the connections to one address. Segments are packets with data, as TCP counts them.
type NetworkPath struct {
	Peer       netip.Addr    `cbor:"1,keyasint"`           // the zero address: all that have no path of their own
	Sent       int64         `cbor:"2,keyasint,omitempty"` // segments, also those sent again
	Lost       int64         `cbor:"3,keyasint,omitempty"` // of them, sent again because they were lost
	Received   int64         `cbor:"4,keyasint,omitempty"` // segments
	OutOfOrder int64         `cbor:"5,keyasint,omitempty"` // of them, those that came before an earlier one
	RTT        time.Duration `cbor:"6,keyasint,omitempty"` // smoothed, in whole microseconds; 0: not measured
}

// NetworkInterface is the state of an interface, and what it counted.
type NetworkInterface struct {
	Name string `cbor:"1,keyasint"`
	// Virtual interfaces are bridges, tunnels and the like. Member: part of a bond.
	Virtual        bool           `cbor:"2,keyasint,omitempty"`
	Member         bool           `cbor:"3,keyasint,omitempty"`
	Up             bool           `cbor:"4,keyasint,omitempty"` // an admin switched it on
	Carrier        bool           `cbor:"5,keyasint,omitempty"` // there is a signal
	HalfDuplex     bool           `cbor:"6,keyasint,omitempty"`
	Speed          int64          `cbor:"7,keyasint,omitempty"` // bits per second; 0: unknown
	In             NetworkTraffic `cbor:"8,keyasint"`
	Out            NetworkTraffic `cbor:"9,keyasint"`
	CarrierChanges int64          `cbor:"10,keyasint,omitempty"`
}

// NetworkTraffic has the counts of an interface in one direction. Errors are packets that arrived damaged or could not be
// sent, Missed found no room in the interface's own buffers, Dropped may also be packets that nobody wanted.
type NetworkTraffic struct {
	Bytes   int64 `cbor:"1,keyasint,omitempty"`
	Packets int64 `cbor:"2,keyasint,omitempty"`
	Errors  int64 `cbor:"3,keyasint,omitempty"`
	Missed  int64 `cbor:"4,keyasint,omitempty"`
	Dropped int64 `cbor:"5,keyasint,omitempty"`
}
