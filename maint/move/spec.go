package move

import (
	"slices"

	"hemera/rules/layout"
	"hemera/words/hemera"
)

// Plan is a decision: have Add made from Sources, then record it in place of Drop.
type Plan struct {
	Entry   hemera.Entry    // as it was when the move was planned
	Path    string          // for the footer and for people
	Drop    []hemera.Piece  // leave the file when the new piece is recorded
	Add     hemera.Target   // the new piece, and where it goes
	Sources []hemera.Target // best first
}

// Spec says which piece is to be made, and around what the move is planned.
type Spec struct {
	Index   uint8                    // of the piece to make
	Drop    []hemera.Piece           // pieces it replaces
	Urgency Urgency                  // before which other copies it comes
	Avoid   []hemera.DiskID          // not to read from: known to be bad
	Allow   func(hemera.DiskID) bool // disks that may take it; nil for all
	Spread  bool                     // only if the file's pieces lie no worse then
	Writes  func(hemera.DiskID) int  // writes and copies under way to a disk
	Seed    uint64                   // of equal choices, so that they spread
	Watch   func(bytes int64)        // called with the bytes that are copied so far; may be nil

	// The Mover sets these when the copy's turn comes.
	full    []hemera.DiskID       // not to write to now, and to read from only if no other disk will do
	load    map[hemera.DiskID]int // copies under way from and to a disk, in the limiter's units
	traffic traffic               // of the copies under way
	leaving []hemera.DiskID       // still to remove this very piece: what a copy found there would go
}

// Urgency orders the copies that wait: the lower number goes first. The copies of files that are short of pieces are as
// urgent as the number of pieces that the file can still lose, and come before all others.
type Urgency int

// Copies of files that lack nothing.
const (
	UrgencyDrain Urgency = iota + hemera.PiecesMax
	UrgencyBalance
)

// The units of one copy at its destination and at each disk that it reads.
const (
	unitsSmall = 1
	unitsLarge = 4
	// smallPiece is the largest piece that counts as small: one window of a copy.
	smallPiece = 1 << 20
)

// copyKey names a copy under way: a piece and where it goes.
type copyKey struct {
	disk  hemera.DiskID
	piece hemera.PieceID
}

// key names the copy that the move makes.
func (m Plan) key() copyKey {
	return copyKey{m.Add.Disk, hemera.PieceID{File: m.Entry.ID, Gen: m.Entry.Gen, Index: m.Add.Index}}
}

// bytes returns the size of the piece that the copy makes.
func (m Plan) bytes() int64 {
	return layout.PieceSize(m.Entry.Layout, m.Entry.Size, m.Add.Index)
}

// units returns the cost of the copy at each of its disks.
func (m Plan) units() int {
	if m.bytes() <= smallPiece {
		return unitsSmall
	}
	return unitsLarge
}

// reads returns the pieces that the copy reads: the one with the same bytes, or as many as it is computed from.
func (m Plan) reads() []hemera.Target {
	need := 1
	if m.Entry.Layout.Coded() {
		// A drain copies the piece as it is; only a lost one is computed.
		if i := slices.IndexFunc(m.Sources, func(t hemera.Target) bool { return t.Index == m.Add.Index }); i >= 0 {
			return slices.Clone(m.Sources[i : i+1])
		}
		need = layout.Needed(m.Entry.Layout, m.Entry.Size)
	}
	return slices.Clone(m.Sources[:min(need, len(m.Sources))])
}
