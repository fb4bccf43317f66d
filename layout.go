package hemera

import "fmt"

// LayoutKind says by which rule a file's bytes become pieces. The numbers are stored.
type LayoutKind uint8

// The layout kinds. Erasure-coded kinds continue the list.
const (
	LayoutPlain   LayoutKind = 1 // one piece, no redundancy
	LayoutReplica LayoutKind = 2 // Pieces full copies
)

// String is the name `sys.forced.layout` takes.
func (k LayoutKind) String() string {
	switch k {
	case LayoutPlain:
		return "plain"
	case LayoutReplica:
		return "replica"
	}
	return fmt.Sprintf("layout(%d)", uint8(k))
}

// Layout is the rule from a file's bytes to its pieces: any Data of the Pieces pieces are enough to
// read the file. A replica is the case Data = 1. BlockSize is the unit in which bytes are dealt to
// data pieces, in bytes; it is zero while Data is 1.
type Layout struct {
	Kind      LayoutKind
	Data      uint8
	Pieces    uint8
	BlockSize uint32
}

// Plain is the layout of one piece.
func Plain() Layout { return Layout{Kind: LayoutPlain, Data: 1, Pieces: 1} }

// Replica is the layout of n full copies, 1 to [ReplicasMax].
func Replica(n int) Layout { return Layout{Kind: LayoutReplica, Data: 1, Pieces: uint8(n)} }

// Validate names what is wrong with the layout, if anything.
func (l Layout) Validate() error {
	switch {
	case l.Kind == LayoutPlain && (l.Data != 1 || l.Pieces != 1):
		return fmt.Errorf("layout plain has one piece, not %d", l.Pieces)
	case l.Kind == LayoutReplica && (l.Data != 1 || l.Pieces < 1 || int(l.Pieces) > ReplicasMax):
		return fmt.Errorf("layout replica takes 1 to %d replicas, not %d", ReplicasMax, l.Pieces)
	case l.Kind != LayoutPlain && l.Kind != LayoutReplica:
		return fmt.Errorf("%s is not known", l.Kind)
	}
	return nil
}

// String is for people: "plain", "replica:2".
func (l Layout) String() string {
	if l.Kind == LayoutPlain {
		return "plain"
	}
	return fmt.Sprintf("%s:%d", l.Kind, l.Pieces)
}

// Policy is how new files are stored: decided from the directory's attributes, then the space, then
// what the client may ask for.
type Policy struct {
	Space    string
	Layout   Layout
	Checksum ChecksumKind
	// PiecesMin is how many sealed pieces an acknowledged close needs; the rest is left to repair.
	PiecesMin uint8
	// Sync makes a node fdatasync a piece before it calls it sealed.
	Sync bool
}
