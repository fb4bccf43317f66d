package adminapi

import (
	"time"

	"hemera/words/hemera"
)

// NetworkStanding is the manager's judgement on a node's network.
type NetworkStanding string

// The standings.
const (
	NetworkUnknown   NetworkStanding = "unknown"   // too little traffic to say
	NetworkWell      NetworkStanding = "well"      // enough traffic, and no reason to suspect it
	NetworkSuspected NetworkStanding = "suspected" // see Cause
)

// NodeNetwork has the figures of one node's network. Nodes of one host have one network, and the same figures.
type NodeNetwork struct {
	Node     hemera.NodeID
	Addr     string
	Standing NetworkStanding
	// Cause is the reason for the suspicion: port, as most of its paths lose; else "". Direction is the way of the lost
	// packets, as the node sees it: out, in, both; "" if it is not suspected.
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

// Share returns the share that was lost, 0 to 1.
func (l NetworkLoss) Share() float64 {
	if !(l.Segments > 0) {
		return 0
	}
	return min(1, l.Lost/l.Segments)
}

// NetworkWorst is one direction of a path of a node.
type NetworkWorst struct {
	Peer      hemera.NodeID // 0: clients
	Addr      string        // of the peer; "" for clients
	Direction string        // out or in, as the node sees it
	Loss      NetworkLoss
}

// NetworkReport is the manager's judgement on all nodes' networks.
type NetworkReport struct {
	Judged time.Time // by the manager's clock; zero: not yet
	Nodes  []NodeNetwork
}
