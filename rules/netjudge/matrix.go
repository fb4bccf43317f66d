package netjudge

import (
	"time"

	"hemera/words/hemera"
)

// Clients is the id under which a node reports all that are not nodes together: what it sent to them is a path like others.
// It is a member of every matrix, gets no verdict, and its round trips do not count, as clients may be far away. Where files
// have one replica and nodes send each other little, it is the only path with traffic.
const Clients hemera.NodeID = 0

// Matrix is what the nodes last reported. The order of nodes does not matter; of two with one id the first counts.
type Matrix struct{ Nodes []Node }

// Node is one node's report: what it counted in an interval that ended when it was taken.
type Node struct {
	ID hemera.NodeID
	// Taken tells reports apart, by any clock: a report with the time of the one before is not counted again.
	Taken      time.Time
	Interfaces []Interface
	Paths      []Path
}

// Path is what a node counted of its connections to one peer: another node of the matrix, or [Clients]. Others are ignored.
// Numbers that cannot be, such as more losses than segments, are brought within what can.
type Path struct {
	Peer hemera.NodeID
	Sent int64 // segments with data, also those sent again
	Lost int64 // of them, sent again because they were lost
	// Received and OutOfOrder are of the other direction, as this end sees it. They are shown beside the losses that the
	// sender counts; what is out of order shows a loss, and not its size.
	Received, OutOfOrder int64
	RTT                  time.Duration // smoothed; 0: not measured
}

// Interface is what a node counted at one of its interfaces, and its state.
type Interface struct {
	Name string
	// Virtual interfaces (bridges, tunnels) are passed over where a node has others. Member: part of a bond.
	Virtual, Member bool
	Up, Carrier     bool
	Speed           int64 // bits per second; 0: unknown
	HalfDuplex      bool
	Rx, Tx          Packets
	CarrierChanges  int64
}

// Packets are the counts of one direction of an interface. Errors are packets that arrived damaged, or could not be sent.
// Missed found no room in the interface's own buffers. Dropped may also be packets that nobody wanted, so they count only
// where paths lose as well.
type Packets struct{ Total, Errors, Missed, Dropped int64 }

// Standing is what is known of a node.
type Standing uint8

// The standings.
const (
	Unknown   Standing = iota // too little traffic to say
	Well                      // enough traffic, and no reason to suspect it
	Suspected                 // see Cause
)

// String returns the word for people.
func (s Standing) String() string {
	return [...]string{"unknown", "well", "suspected"}[min(s, Suspected)]
}

// Cause is why a node is suspected. Of several, the first in this order is given: it is the one to look at first.
type Cause uint8

// The causes.
const (
	NoCause    Cause = iota
	LinkDown         // an interface that had a signal has none, or it comes and goes
	LinkSlow         // it is slower than it was or than those of the other nodes, or half duplex
	BadPackets       // it counts damaged packets, or more than it has room for
	Shared           // as Port, with other nodes that reach each other well: what they share, such as a switch
	Port             // most of the node's paths lose: the host, its port, or the cable
	OnePath          // the paths to one peer lose
)

// String returns the word for people and programs.
func (c Cause) String() string {
	return [...]string{"none", "link down", "link slow", "bad packets", "shared", "port", "path"}[min(c, OnePath)]
}

// Direction is which way packets are lost, as a set.
type Direction uint8

// The directions, as the suspected node sees them.
const (
	Out Direction = 1 << iota // what the node sends
	In                        // what it receives
)

// String returns the word for people and programs.
func (d Direction) String() string { return [...]string{"", "out", "in", "both"}[d&(Out|In)] }

// Loss is a number of segments and how many of them were lost. Older ones have faded, so they are not whole numbers.
type Loss struct{ Sent, Lost float64 }

// Share is the share that was lost, in 0 to 1.
func (l Loss) Share() float64 {
	if l.Sent <= 0 {
		return 0
	}
	return min(1, l.Lost/l.Sent)
}

// Verdict is what is known of one node, with the numbers that it rests on.
type Verdict struct {
	Node      hemera.NodeID
	Standing  Standing
	Cause     Cause     // NoCause if the node is not suspected
	Direction Direction // of Port, Shared, OnePath and BadPackets
	Peer      hemera.NodeID
	// With are the other nodes of Shared, by id; Peer is the one of OnePath.
	With []hemera.NodeID
	// Since is when the node became suspected.
	Since time.Time
	// Weight in (0,1] is the share of its usual part that the node is to get of new pieces and of readers.
	Weight   float64
	Evidence Evidence
}

// Evidence is the numbers of a verdict. Those about paths leave out what another suspected node explains.
type Evidence struct {
	Out, In Loss
	// Paths is how many paths have traffic in the suspected directions, Losing how many of them lose more than Limit.
	Paths, Losing int
	// Usual is the loss of the other nodes, Limit the loss from which a node is suspected among them.
	Usual, Limit float64
	// OutOfOrder is the share of segments that the receivers of what the node sends saw out of order.
	OutOfOrder float64
	// RTT is the node's mean round trip, UsualRTT the median of all nodes.
	RTT, UsualRTT time.Duration
	// Link is the interface of LinkDown, LinkSlow and BadPackets. Speed is the one it has, UsualSpeed what it should have.
	Link              string
	Speed, UsualSpeed int64
	HalfDuplex        bool
	CarrierChanges    float64
	// Packets and Bad are of the direction of the link that is worse: all, and those with errors or missed.
	Packets, Bad float64
}
