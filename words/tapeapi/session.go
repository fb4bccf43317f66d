package tapeapi

import (
	"hemera/words/hemera"
	"time"
)

// Session says how a session of a drive went, or goes. Durations are sums of what the drive waited for.
type Session struct {
	Mount       MountID
	Kind        JobKind
	VID         hemera.VID
	Drive       string
	Begun       time.Time
	Ended       time.Time `json:",omitzero"`
	Files       int64
	Bytes       int64
	Failed      int64
	Elapsed     time.Duration // of data transfer, without mounting
	Streaming   float64       // share of it in which the tape moved at its speed, 0 to 1
	BackHitches int64
	Disk        time.Duration // waited for nodes: their disks had not given the data, or not taken it
	Network     time.Duration // waited while data was on its way between a node and the tape server
	Robot       time.Duration
	Tape        time.Duration // positioning, loading and flushing
	Flushes     int64
	Error       string `json:",omitempty"`
	// Course is the course of the session over time, when it has ended; at most 200 samples. Lists of sessions leave it
	// out.
	Course []Sample `json:",omitempty"`
}

// Sample has the counts of a session at a moment of it. All but Buffered only grow.
type Sample struct {
	At       time.Duration // since the transfer began
	Bytes    int64         // that the drive took or gave
	Buffered int64         // bytes in the memory of the session: of an archive they wait for the drive, of a recall for disks
	// As in the figures of the session.
	Disk, Network, Tape time.Duration
	BackHitches         int64
}
