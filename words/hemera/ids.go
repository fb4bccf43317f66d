package hemera

import (
	"fmt"
	"strconv"
	"strings"
)

// FileID names one entry of the namespace, file or directory, for ever: ids are never reused.
// Zero is no entry. Ids come from durably reserved ranges, so they may have gaps.
type FileID uint64

// RootID is the directory "/".
const RootID FileID = 1

// String returns the decimal form that `fid:` arguments take.
func (id FileID) String() string { return strconv.FormatUint(uint64(id), 10) }

// Hex returns the 8-digit (or longer) hexadecimal form used in piece names and as `fxid:`.
func (id FileID) Hex() string { return fmt.Sprintf("%08x", uint64(id)) }

// Generation counts the contents a file has had: each rewrite or update that commits is a new one.
// Zero is no content. A piece belongs to exactly one generation.
type Generation uint64

// DiskID names one disk (EOS: fsid) for ever. Zero is no disk.
type DiskID uint32

// String returns the decimal form that `fs` commands take.
func (id DiskID) String() string { return strconv.FormatUint(uint64(id), 10) }

// NodeID names one storage node for ever. Zero is no node.
type NodeID uint32

// String returns the decimal form.
func (id NodeID) String() string { return strconv.FormatUint(uint64(id), 10) }

// Epoch numbers the leases of a node: it only grows. Zero is before the first.
type Epoch uint64

// PieceID names what one disk holds of one generation of one file. Index is the piece's number
// within the layout, from 0: a replica's number, or a stripe's.
type PieceID struct {
	File  FileID
	Gen   Generation
	Index uint8
}

// String returns the piece's file name on a disk: <FileID>.<Generation>.<piece>, hexadecimal.
func (p PieceID) String() string {
	var b [8 + 16 + 1 + 16 + 1 + 2]byte
	file := strconv.AppendUint(b[8:8], uint64(p.File), 16)
	zeros := max(0, 8-len(file))
	copy(b[8-zeros:8], "00000000")
	name := b[8-zeros : 8+len(file)]
	name = strconv.AppendUint(append(name, '.'), uint64(p.Gen), 16)
	name = strconv.AppendUint(append(name, '.'), uint64(p.Index), 16)
	return string(name)
}

// ParsePieceID reads what [PieceID.String] wrote.
func ParsePieceID(s string) (PieceID, error) {
	parts := strings.Split(s, ".")
	if len(parts) != 3 {
		return PieceID{}, fmt.Errorf("piece name %q: want <file>.<generation>.<piece>", s)
	}
	file, err1 := strconv.ParseUint(parts[0], 16, 64)
	gen, err2 := strconv.ParseUint(parts[1], 16, 64)
	index, err3 := strconv.ParseUint(parts[2], 16, 8)
	p := PieceID{File: FileID(file), Gen: Generation(gen), Index: uint8(index)}
	if err1 != nil || err2 != nil || err3 != nil || p.String() != s {
		return PieceID{}, fmt.Errorf("piece name %q: not in canonical hexadecimal form", s)
	}
	return p, nil
}
