// Package layout computes the geometry of files: which bytes of a file are in which of its pieces, and how large the
// pieces are. No other package has these formulas; placement, quotas, accounting and the data path call this one.
//
// # Columns, blocks and rows
//
// A [hemera.Layout] has k = Data columns and Pieces pieces. Any k pieces are enough to read the file.
//
// With k = 1 there is one column, the file itself, and every piece is a copy of it: plain and replica.
//
// With k > 1 the file is cut into blocks of BlockSize bytes, which go to the columns in turn. Pieces 0 to k-1 are the
// columns. The other pieces are parity: block r of each is computed from the k blocks of row r. For k = 2, Pieces = 3 and
// a file of 5 blocks. The last one is short:
//
//	          piece 0    piece 1    piece 2 (parity)
//	row 0     block 0    block 1    p0 of blocks 0 and 1
//	row 1     block 2    block 3    p1 of blocks 2 and 3
//	row 2     block 4½   -          p2 of block 4½ and zeros
//
// Zeros that fill the last row are implied by the size of the file and are not stored: a data piece ends with the last
// byte of its column, and a parity piece is as long as the longest column, which is the first. So no piece is longer than
// piece 0, and parity of a copy (k = 1) would be the copy itself.
//
// BlockSize is a multiple of [hemera.PageSize] in every valid layout. Offsets in a file and in its pieces then agree
// modulo the page size, so the page checksums of a request are those of the pieces.
//
// All functions are pure and total. A layout without Data counts as k = 1. A layout with k > 1 and without a BlockSize is
// not valid; it counts as one of pages, so that a damaged record causes no panic.
package layout

import (
	"slices"

	"hemera/rules/erasure"
	"hemera/words/hemera"
)

// Set is a set of the pieces of one file, by their indexes.
type Set = erasure.Set

// Stored reports whether the piece with the index has bytes if the file has size bytes. Pieces without bytes are not
// stored: a small file of a coded layout has fewer data pieces than its layout, and an empty file has none.
func Stored(l hemera.Layout, size int64, index uint8) bool {
	return index < l.Pieces && PieceSize(l, size, index) > 0
}

// Empty returns the pieces of a coded layout that have no bytes in a file of size bytes, above zero. They are neither
// stored nor missing.
func Empty(l hemera.Layout, size int64) (pieces []uint8) {
	for i := range l.Pieces {
		if l.Coded() && size > 0 && !Stored(l, size, i) {
			pieces = append(pieces, i)
		}
	}
	return pieces
}

// Count returns the number of stored pieces of a file of size bytes.
func Count(l hemera.Layout, size int64) int {
	if size <= 0 {
		return 0
	}
	n := 0
	for i := range l.Pieces {
		if Stored(l, size, i) {
			n++
		}
	}
	return n
}

// absent returns the number of data pieces that have no bytes in a file of size bytes, above zero.
func absent(l hemera.Layout, size int64) int {
	if !l.Coded() {
		return 0
	}
	return int(max(int64(l.Data)-blocks(l, size), 0))
}

// blocks returns the number of blocks of a file of size bytes in all columns.
func blocks(l hemera.Layout, size int64) int64 { return (size + blockSize(l) - 1) / blockSize(l) }

// Missing returns the indexes of the pieces that a file of size bytes should have and does not have.
func Missing(l hemera.Layout, size int64, pieces []hemera.Piece) (indexes []uint8) {
	for i := range l.Pieces {
		if Stored(l, size, i) && !slices.ContainsFunc(pieces, func(p hemera.Piece) bool { return p.Index == i }) {
			indexes = append(indexes, i)
		}
	}
	return indexes
}

// Needed returns the number of stored pieces that are enough to read a file. At least that many must exist: 1 or more for
// a file with bytes, 0 for an empty one. For a locally repairable code not every choice of that many is enough: see
// [Readable].
func Needed(l hemera.Layout, size int64) int {
	if size <= 0 {
		return 0
	}
	return max(int(l.Data), 1) - absent(l, size)
}

// Readable reports whether a file of size bytes can be read from the pieces with these indexes. The same index twice
// counts once.
func Readable(l hemera.Layout, size int64, indexes Set) bool {
	have := indexes & erasure.Range(0, int(l.Pieces))
	switch {
	case size <= 0:
		return true
	case !l.Coded():
		return have != 0
	}
	// Pieces without bytes are zeros, which are always available.
	for i := range l.Pieces {
		if !Stored(l, size, i) {
			have = have.With(int(i))
		}
	}
	if data := erasure.Range(0, int(l.Data)); l.Kind != hemera.LayoutLocal || have&data == data {
		return have.Len() >= int(l.Data)
	}
	code, err := Code(l)
	return err == nil && code.Readable(have)
}

// Indexes returns the set of the pieces' indexes.
func Indexes(pieces []hemera.Piece) (s Set) {
	for _, p := range pieces {
		s = s.With(int(p.Index))
	}
	return s
}

// TargetIndexes returns the set of the indexes of the pieces at these targets.
func TargetIndexes(at []hemera.Target) (s Set) {
	for _, t := range at {
		s = s.With(int(t.Index))
	}
	return s
}

// Code returns the code of a coded layout, or nil for a layout without parity: plain, replica, stripe. It fails for a
// layout that is not valid. It takes some microseconds, so an open file keeps the code.
func Code(l hemera.Layout) (*erasure.Code, error) {
	switch l.Kind {
	case hemera.LayoutRS:
		return erasure.ReedSolomon(int(l.Data), l.Parity())
	case hemera.LayoutLocal:
		return erasure.Local(int(l.Data), int(l.Local), l.Parity()-int(l.Local))
	}
	return nil, l.Validate()
}

// Required returns the number of pieces that a commit of a file of size bytes needs, if its capability or policy asks for
// minimum of all pieces: never fewer than it takes to read the file. Pieces without bytes count as present.
func Required(l hemera.Layout, size int64, minimum uint8) int {
	if size <= 0 {
		return 0
	}
	return max(int(minimum)-int(l.Pieces)+Count(l, size), Needed(l, size))
}

// Minimum returns the number of sealed pieces that an acknowledged close needs. policy is the policy's number. If it is
// zero, this rule decides: all pieces if a spare disk exists, as it can replace one that fails during the write.
// Otherwise one fewer than there are disks, so that a small cluster can take files when a disk breaks; repair makes the
// missing piece later. The result is never less than it takes to read the file, for any choice of pieces, and never more
// than all pieces. eligible is the number of disks that could take a piece.
func Minimum(l hemera.Layout, policy uint8, eligible int) uint8 {
	pieces := int(l.Pieces)
	least := int(policy)
	if policy == 0 {
		least = eligible - 1
	}
	return uint8(max(l.Enough(), min(pieces, least)))
}

// Column returns the column whose bytes the piece with the index has; ok is false for parity.
func Column(l hemera.Layout, index uint8) (column uint8, ok bool) {
	switch {
	case l.Data <= 1:
		return 0, true
	case index < l.Data:
		return index, true
	}
	return 0, false
}

// PieceSize returns the number of data bytes of the piece with the index if the file has size bytes.
func PieceSize(l hemera.Layout, size int64, index uint8) int64 {
	if l.Data <= 1 || size <= 0 {
		return max(size, 0)
	}
	column, data := Column(l, index)
	if !data {
		column = longest(l, index) // parity is as long as the longest column from which it is computed
	}
	block := blockSize(l)
	row := block * int64(l.Data)
	rest := size%row - int64(column)*block // of the last row, the bytes of this column and those after it
	return size/row*block + min(max(rest, 0), block)
}

// longest returns the longest of the columns from which a parity is computed. It is the first of them: column 0, or the
// first of the group of a local parity. The groups are those of [erasure.Local].
func longest(l hemera.Layout, index uint8) (column uint8) {
	group := index - l.Data
	if l.Kind != hemera.LayoutLocal || group >= l.Local {
		return 0
	}
	return group*(l.Data/l.Local) + min(group, l.Data%l.Local)
}

// PieceMax returns the size of the largest piece of a file. A disk must have that much room before it is known which
// piece it gets.
func PieceMax(l hemera.Layout, size int64) int64 { return PieceSize(l, size, 0) }

// Physical returns the number of bytes of all pieces of a file together.
func Physical(l hemera.Layout, size int64) int64 {
	var sum int64
	for i := range l.Pieces {
		sum += PieceSize(l, size, i)
	}
	return sum
}

// SizeWithin returns the size of the largest file whose pieces together have at most physical bytes, and at most
// [hemera.FileSizeMax]. Small coded files use more bytes for each of their own than large ones: a row with one byte has
// one byte in each parity too.
func SizeWithin(l hemera.Layout, physical int64) int64 {
	if physical <= 0 {
		return 0
	}
	// Physical grows with the size, so a binary search finds the largest size that fits.
	low, high := int64(0), min(physical, hemera.FileSizeMax) // a file has at least one physical byte for each of its own
	for low < high {
		middle := low + (high-low+1)/2
		if Physical(l, middle) <= physical {
			low = middle
		} else {
			high = middle - 1
		}
	}
	return low
}

// Used returns the number of bytes of the existing pieces of a file together.
func Used(l hemera.Layout, size int64, pieces []hemera.Piece) int64 {
	if l.Data <= 1 {
		return size * int64(len(pieces))
	}
	var sum int64
	for _, p := range pieces {
		sum += PieceSize(l, size, p.Index)
	}
	return sum
}

// Span is a range of a file that is contiguous in one column.
type Span struct {
	Column uint8
	Off    int64 // in the column, which is the offset in its pieces
	At     int   // in the request: the first byte is at the request's offset + At
	Len    int   // above zero
}

// Split cuts the n bytes of a file at off into spans, in the order of the file. With k = 1 that is one span.
// off and n are not negative.
func Split(l hemera.Layout, off int64, n int) []Span {
	if n <= 0 {
		return nil
	}
	if l.Data <= 1 {
		return []Span{{Off: off, Len: n}}
	}
	block, k := blockSize(l), int64(l.Data)
	spans := make([]Span, 0, (off%block+int64(n)+block-1)/block)
	for at := 0; at < n; {
		number, in := (off+int64(at))/block, (off+int64(at))%block
		length := int(min(block-in, int64(n-at)))
		spans = append(spans, Span{Column: uint8(number % k), Off: number/k*block + in, At: at, Len: length})
		at += length
	}
	return spans
}

// blockSize returns the unit in which bytes are distributed to the columns of a layout with k > 1.
func blockSize(l hemera.Layout) int64 {
	if l.BlockSize == 0 {
		return hemera.PageSize
	}
	return int64(l.BlockSize)
}
