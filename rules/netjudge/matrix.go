package netjudge

import (
	"time"

	"hemera/words/hemera"
)

// Clients is the id under which a node reports all peers that are not nodes: the segments to them are a path like others.
// It is a member of every matrix and gets no verdict. Its round trips do not count, as clients may be far away. If files
// have one replica and nodes send each other little, it is the only path with traffic.
const Clients hemera.NodeID = 0

// Matrix has the last reports of all nodes, in any order. Of two with one id the first counts.
type Matrix struct{ Nodes []Node }

// Node is one node's report: its counts in an interval that ended at Taken.
type Node struct {
	ID hemera.NodeID
	// Taken distinguishes reports, by any clock: a report with the time of the one before is not counted again.
	Taken      time.Time
	Interfaces []Interface
	Paths      []Path
}

// Path has a node's counts of its connections to one peer: another node of the matrix, or [Clients]. Paths to other peers
// are ignored. Impossible numbers, such as more losses than segments, are brought into range.
type Path struct {
	Peer hemera.NodeID
	Sent int64 // segments with data, also those sent again
	Lost int64 // of them, those sent again because they were lost
	// Received and OutOfOrder are of the other direction, as this end sees it. Verdicts show them beside the losses that
	// the sender counts; segments out of order indicate a loss, but not its size.
	Received, OutOfOrder int64
	RTT                  time.Duration // smoothed; 0 if not measured
}

// Interface has a node's counts at one of its interfaces, and its state.
type Interface struct {
	Name string
	// Virtual interfaces (bridges, tunnels) are ignored if a node has others. Member: it is part of a bond.
	Virtual, Member bool
	Up, Carrier     bool
	Speed           int64 // bits per second; 0: unknown
	HalfDuplex      bool
	Rx, Tx          Packets
	CarrierChanges  int64
}

// Packets has the counts of one direction of an interface. Errors counts packets that arrived damaged, or could not be
// sent. Missed counts those without room in the interface's own buffers. Dropped may also count unwanted packets, so it
// matters only if paths lose as well.
type Packets struct{ Total, Errors, Missed, Dropped int64 }

// Standing is the judgement of a node.
type Standing uint8

// The standings.
const (
	Unknown   Standing = iota // too little traffic to judge
	Well                      // enough traffic, and no reason to suspect it
	Suspected                 // see Cause
)

// String returns the word for people.
func (s Standing) String() string {
	return [...]string{"unknown", "well", "suspected"}[min(s, Suspected)]
}

// Cause says why a node is suspected. If there are several, the verdict has the first in this order: it is the one to
// check first.
type Cause uint8

// The causes.
const (
	NoCause    Cause = iota
	LinkDown         // an interface that had a signal has none, or it comes and goes
	LinkSlow         // it is slower than it was or than those of the other nodes, or half duplex
	BadPackets       // it counts damaged packets, or more than it has room for
	Shared           // as Port, with other nodes that reach each other well: something that they share, such as a switch
	Port             // most of the node's paths lose: the host, its port, or the cable
	OnePath          // the paths to one peer lose
)

// String returns the word for people and programs.
func (c Cause) String() string {
	return [...]string{"none", "link down", "link slow", "bad packets", "shared", "port", "path"}[min(c, OnePath)]
}

// Direction is the set of directions in which packets are lost.
type Direction uint8

// The directions, as the suspected node sees them.
const (
	Out Direction = 1 << iota // segments that the node sends
	In                        // segments that it receives
)

// String returns the word for people and programs.
func (d Direction) String() string { return [...]string{"", "out", "in", "both"}[d&(Out|In)] }

// Loss is a number of segments and how many of them were lost. Counts fade, so they are not whole numbers.
type Loss struct{ Sent, Lost float64 }

// Share returns the share that was lost, in 0 to 1.
func (l Loss) Share() float64 {
	if l.Sent <= 0 {
		return 0
	}
	return min(1, l.Lost/l.Sent)
}

// Verdict is the judgement of one node, with the numbers on which it is based.
type Verdict struct {
	Node      hemera.NodeID
	Standing  Standing
	Cause     Cause     // NoCause if the node is not suspected
	Direction Direction // of Port, Shared, OnePath and BadPackets
	Peer      hemera.NodeID
	// With has the other nodes of Shared, by id. Peer is the peer of OnePath.
	With []hemera.NodeID
	// Since is the time when the node became suspected.
	Since time.Time
	// Weight in (0,1] is the share of its usual load that the node is to get of new pieces and of readers.
	Weight   float64
	Evidence Evidence
}

// Evidence has the numbers of a verdict. Those for paths leave out losses that another suspected node explains.
type Evidence struct {
	Out, In Loss
	// Paths counts the paths with traffic in the suspected directions, Losing those of them that lose more than Limit.
	Paths, Losing int
	// Usual is the loss of the other nodes. Limit is the loss above which a node is suspected.
	Usual, Limit float64
	// OutOfOrder is the share of the node's segments that their receivers saw out of order.
	OutOfOrder float64
	// RTT is the node's mean round trip, UsualRTT the median of all nodes.
	RTT, UsualRTT time.Duration
	// Link is the interface of LinkDown, LinkSlow and BadPackets. Speed is its speed, UsualSpeed the speed that it should
	// have.
	Link              string
	Speed, UsualSpeed int64
	HalfDuplex        bool
	CarrierChanges    float64
	// Packets and Bad are of the worse direction of the link: all packets, and those with errors or missed.
	Packets, Bad float64
}
