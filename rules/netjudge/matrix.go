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
	// Taken tells reports apart, by any clock: a report with the time of the one before is not counted again.
	Taken time.Time
	Paths []Path
}

// Path has a node's counts of its connections to one peer: another node of the matrix, or [Clients]. Paths to other peers
// are ignored. Impossible numbers, such as more losses than segments, are brought into range.
type Path struct {
	Peer hemera.NodeID
	Sent int64         // segments with data, also those sent again
	Lost int64         // of them, sent again because they were lost
	RTT  time.Duration // smoothed; 0: not measured
}

// Standing is the state of knowledge about a node.
type Standing uint8

// The standings.
const (
	Unknown   Standing = iota // too little traffic to judge
	Well                      // enough traffic, and no reason to suspect it
	Suspected                 // it loses on its paths, whatever the other node is
)

// String returns the word for people.
func (s Standing) String() string {
	return [...]string{"unknown", "well", "suspected"}[min(s, Suspected)]
}

// Direction is which way packets are lost, as a set.
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
	Direction Direction // which way a suspected node loses; 0 of others
	// Since is the time at which the node became suspected.
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
	// RTT is the node's mean round trip, UsualRTT the median of all nodes.
	RTT, UsualRTT time.Duration
}
