package hemera

import (
	"net/netip"
	"time"
)

// The bounds of what is known of the network. What is beyond them is not reported, but for the counts of paths: those of
// the least busy ones are reported together.
const (
	// NetworkInterval is how often a node samples its network, and how often the manager judges what they counted.
	NetworkInterval = 10 * time.Second
	// NetworkPathsMax, NetworkInterfacesMax and NetworkAddressesMax bound one sample. A sample of as many paths takes 8 KB with IPv4
	// addresses, and 11 KB with IPv6.
	NetworkPathsMax      = 256
	NetworkInterfacesMax = 16
	NetworkAddressesMax  = 16
)

// NetworkSample is what a node counted of its network since the sample before: its interfaces, and the TCP connections of
// its process, summed by the address of the other end. Keys on the wire are numbers, as samples are the largest part of
// heartbeats. Numbers are only added.
type NetworkSample struct {
	// Taken is the node's clock. It tells samples apart, and is compared with nothing else.
	Taken time.Time `cbor:"1,keyasint"`
	// Interval is what the counts are of; 0 for a first sample, which has none.
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

// Link is the fastest interface that is up and has a signal.
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

// NetworkPath is what the connections to one address did. Segments are packets with data, as TCP counts them.
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

// NetworkTraffic is what an interface counted in one direction. Errors are packets that arrived damaged or could not be
// sent, Missed found no room in the interface's own buffers, Dropped may also be packets that nobody wanted.
type NetworkTraffic struct {
	Bytes   int64 `cbor:"1,keyasint,omitempty"`
	Packets int64 `cbor:"2,keyasint,omitempty"`
	Errors  int64 `cbor:"3,keyasint,omitempty"`
	Missed  int64 `cbor:"4,keyasint,omitempty"`
	Dropped int64 `cbor:"5,keyasint,omitempty"`
}

// NetworkStanding is what the manager knows of a node's network.
type NetworkStanding string

// The standings.
const (
	NetworkUnknown   NetworkStanding = "unknown"   // too little traffic to say
	NetworkWell      NetworkStanding = "well"      // enough traffic, and no reason to suspect it
	NetworkSuspected NetworkStanding = "suspected" // see Cause
)

// NodeNetwork is what is known of one node's network. Nodes of one host have one network, and the same figures.
type NodeNetwork struct {
	Node     NodeID
	Addr     string
	Standing NetworkStanding
	// Cause is why it is suspected: port, as most of its paths lose; else "". Direction is which way packets are lost, as the
	// node sees it: out, in, both; "" if it is not suspected.
	Cause     string
	Direction string
	Since     time.Time // when it became suspected
	// Weight in (0,1] is the share of its usual part that the node gets of new pieces and of readers.
	Weight  float64
	Sampled time.Time // the manager's clock when the last sample came; zero: there was none
	// InRate and OutRate are of the interfaces, bytes per second over the last sample.
	InRate, OutRate float64
	// In and Out are segments of TCP in the last minutes; older ones have faded.
	In, Out NetworkLoss
	// RTT is the mean round trip to other nodes, UsualRTT the median of all nodes; 0: not measured.
	RTT, UsualRTT time.Duration
	// Worst is the path with the greatest loss, if any of them lost something.
	Worst *NetworkWorst
	// Where says in a sentence what is wrong with a suspected node, Text all that is known, Remedy what to look at first.
	Where  string
	Text   []string
	Remedy string
}

// NetworkLoss is a number of segments and how many of them were lost.
type NetworkLoss struct{ Segments, Lost float64 }

// Share is the share that was lost, 0 to 1.
func (l NetworkLoss) Share() float64 {
	if !(l.Segments > 0) {
		return 0
	}
	return min(1, l.Lost/l.Segments)
}

// NetworkWorst is one direction of a path of a node.
type NetworkWorst struct {
	Peer      NodeID // 0: clients
	Addr      string // of the peer; "" for clients
	Direction string // out or in, as the node sees it
	Loss      NetworkLoss
}

// NetworkReport is what the manager knows of all nodes' networks.
type NetworkReport struct {
	Judged time.Time // by the manager's clock; zero: not yet
	Nodes  []NodeNetwork
}
