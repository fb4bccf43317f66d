package hemera

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// LayoutKind says by which rule a file's bytes become pieces. The numbers are stored, so they are below 16.
type LayoutKind uint8

// The layout kinds.
const (
	LayoutPlain   LayoutKind = 1 // one piece, no redundancy
	LayoutReplica LayoutKind = 2 // Pieces full copies
	LayoutRS      LayoutKind = 3 // Reed-Solomon: Data data pieces, the others parity; any Data of them are enough
	LayoutStripe  LayoutKind = 4 // Data pieces, no redundancy
	LayoutLocal   LayoutKind = 5 // a locally repairable code: Data data pieces, Local parities of groups, the others parity of all
)

// String returns the name `sys.forced.layout` takes.
func (k LayoutKind) String() string {
	switch k {
	case LayoutPlain:
		return "plain"
	case LayoutReplica:
		return "replica"
	case LayoutRS:
		return "rs"
	case LayoutStripe:
		return "stripe"
	case LayoutLocal:
		return "lrc"
	}
	return fmt.Sprintf("layout(%d)", uint8(k))
}

// Limits of coded layouts.
const (
	// CodedPiecesMax is the most pieces that a layout with several data pieces can have.
	CodedPiecesMax = 32
	// BlockSizeMin and BlockSizeMax bound the block size of a coded layout, in bytes.
	BlockSizeMin, BlockSizeMax = 64 << 10, 16 << 20
	// BlockSizeDefault is the block size of a coded layout that names none, in bytes.
	BlockSizeDefault = 1 << 20
	// localMax is the most local parities: they are stored in four bits.
	localMax = 15
)

// Layout is the rule from a file's bytes to its pieces. Data pieces hold the bytes; the others are copies or parity.
// A replica is the case Data = 1. BlockSize is the unit in which bytes are dealt to data pieces, in bytes; it is zero
// while Data is 1. Local is the number of local parities, zero but for [LayoutLocal].
type Layout struct {
	Kind      LayoutKind
	Data      uint8
	Pieces    uint8
	Local     uint8
	BlockSize uint32
}

// Plain returns the layout of one piece.
func Plain() Layout { return Layout{Kind: LayoutPlain, Data: 1, Pieces: 1} }

// Replica returns the layout of n full copies, 1 to [ReplicasMax].
func Replica(n int) Layout { return Layout{Kind: LayoutReplica, Data: 1, Pieces: uint8(n)} }

// ReedSolomon returns the layout of data pieces and parity pieces, which survives the loss of as many as there are parities.
// With one data piece that is the layout of copies. It has blocks of [BlockSizeDefault]. Validate says whether it can be.
func ReedSolomon(data, parity int) Layout {
	if data == 1 {
		return Replica(1 + parity)
	}
	return coded(LayoutRS, data, data+parity, 0)
}

// Stripe returns the layout of n data pieces without parity: the loss of one piece loses the file.
func Stripe(n int) Layout { return coded(LayoutStripe, n, n, 0) }

// Local returns the layout of a locally repairable code: local groups of the data pieces have a parity each, and the file has
// global parities. It survives each loss of global+1 pieces, and a lost data piece is rebuilt from its group alone.
func Local(data, local, global int) Layout {
	return coded(LayoutLocal, data, data+local+global, local)
}

// coded returns a layout with several data pieces. Numbers that do not fit make one that is not valid.
func coded(kind LayoutKind, data, pieces, local int) Layout {
	if data < 0 || pieces < data || local < 0 {
		return Layout{Kind: kind}
	}
	// Too many stay too many, so that Validate names the limit that was passed.
	fit := func(n int) uint8 { return uint8(min(n, math.MaxUint8)) }
	return Layout{Kind: kind, Data: fit(data), Pieces: fit(pieces), Local: fit(local), BlockSize: BlockSizeDefault}
}

// KindByte returns the kind and the number of local parities in one byte, as records and footers store them: the kind in the
// low four bits.
func (l Layout) KindByte() byte { return byte(l.Kind)&0xf | l.Local<<4 }

// SetKindByte sets what [Layout.KindByte] returned.
func (l *Layout) SetKindByte(b byte) { l.Kind, l.Local = LayoutKind(b&0xf), b>>4 }

// Coded reports whether the layout has several data pieces.
func (l Layout) Coded() bool { return l.Data > 1 }

// Parity returns the number of pieces that are not needed while no other is lost: copies beside the first, or parities.
func (l Layout) Parity() int { return int(l.Pieces) - int(l.Data) }

// Losses returns the number of pieces that a file with all pieces can lose, whichever they are, and still be read. Of a
// locally repairable code it is one more than its global parities, and some losses of more pieces are survived, too.
func (l Layout) Losses() int {
	if l.Kind == LayoutLocal {
		return l.Parity() - int(l.Local) + 1
	}
	return l.Parity()
}

// Enough returns the number of pieces from which a file of any size can be read, whichever they are.
func (l Layout) Enough() int { return int(l.Pieces) - l.Losses() }

// Role says what the piece with the index is, in a word: "copy", "data" or "parity"; "local" followed by the number of its
// group for the parity of a group.
func (l Layout) Role(index uint8) string {
	switch {
	case !l.Coded():
		return "copy"
	case index < l.Data:
		return "data"
	case l.Kind == LayoutLocal && index < l.Data+l.Local:
		return "local" + strconv.Itoa(int(index-l.Data))
	}
	return "parity"
}

// Validate names what is wrong with the layout, if anything.
func (l Layout) Validate() error {
	switch l.Kind {
	case LayoutPlain:
		if l.Data != 1 || l.Pieces != 1 {
			return fmt.Errorf("layout plain has one piece, not %d", l.Pieces)
		}
	case LayoutReplica:
		if l.Data != 1 || l.Pieces < 1 || int(l.Pieces) > ReplicasMax {
			return fmt.Errorf("layout replica takes 1 to %d replicas, not %d", ReplicasMax, l.Pieces)
		}
	case LayoutRS, LayoutStripe, LayoutLocal:
		return l.validateCoded()
	default:
		return fmt.Errorf("%s is not known", l.Kind)
	}
	if l.BlockSize != 0 || l.Local != 0 {
		return fmt.Errorf("layout %s has no blocks and no groups", l.Kind)
	}
	return nil
}

// validateCoded does what Validate does, for layouts with several data pieces.
func (l Layout) validateCoded() error {
	parity := l.Parity()
	switch {
	case int(l.Pieces) > CodedPiecesMax:
		return fmt.Errorf("layout %s has at most %d pieces in all, not %d", l.Kind, CodedPiecesMax, l.Pieces)
	case l.Data < 2 || parity < 0:
		return fmt.Errorf("layout %s takes at least 2 data pieces", l.Kind)
	case l.Kind == LayoutRS && parity < 1:
		return fmt.Errorf("layout rs takes at least 1 parity piece; stripe:%d has none", l.Data)
	case l.Kind == LayoutStripe && parity != 0:
		return fmt.Errorf("layout stripe has no parity, not %d pieces", parity)
	case l.Kind == LayoutLocal && (l.Local < 1 || l.Local > min(l.Data, localMax) || parity <= int(l.Local)):
		return fmt.Errorf("layout lrc takes at least 1 local parity, no more than data pieces or %d, and at least 1 global parity", localMax)
	case l.Kind != LayoutLocal && l.Local != 0:
		return fmt.Errorf("layout %s has no local parities", l.Kind)
	case l.BlockSize < BlockSizeMin || l.BlockSize > BlockSizeMax || l.BlockSize%PageSize != 0:
		return fmt.Errorf("a block has %d KiB to %d MiB, in whole pages of %d bytes, not %d bytes", BlockSizeMin>>10, BlockSizeMax>>20, PageSize, l.BlockSize)
	}
	return nil
}

// String returns the layout for people, and [ParseLayout] reads it: "plain", "replica:2", "rs:4+2", "stripe:4",
// "lrc:12+2+2". The block size is not part of it.
func (l Layout) String() string {
	switch l.Kind {
	case LayoutPlain:
		return "plain"
	case LayoutRS:
		return fmt.Sprintf("rs:%d+%d", l.Data, l.Parity())
	case LayoutLocal:
		return fmt.Sprintf("lrc:%d+%d+%d", l.Data, l.Local, l.Parity()-int(l.Local))
	}
	return fmt.Sprintf("%s:%d", l.Kind, l.Pieces)
}

// ParseLayout reads a layout's name, with its numbers or without: a name without numbers takes pieces as the number of
// all pieces, which is how `sys.forced.nstripes` counts. With pieces = 0 the name must have its numbers, but plain.
// Besides the names of [Layout.String] it knows those of EOS: raid5 (1 parity piece), raid6 and raiddp (2), archive (3)
// and qrain (4). The result is valid; an error says what the name takes.
func ParseLayout(text string, pieces int) (Layout, error) {
	name, numbers, given := strings.Cut(text, ":")
	n, err := layoutNumbers(numbers, given)
	if err != nil {
		return Layout{}, err
	}
	if !given && pieces > 0 {
		n = []int{pieces}
	}
	parities := map[string]int{"raid5": 1, "raid6": 2, "raiddp": 2, "archive": 3, "qrain": 4}
	var l Layout
	switch {
	case name == "plain" && !given:
		l = Plain()
	case name == "replica" && len(n) == 1:
		l = Replica(n[0])
	case name == "stripe" && len(n) == 1:
		l = Stripe(n[0])
	case name == "rs" && len(n) == 2:
		l = ReedSolomon(n[0], n[1])
	case name == "lrc" && len(n) == 3:
		l = Local(n[0], n[1], n[2])
	case parities[name] > 0 && len(n) == 1 && n[0] > parities[name]:
		l = ReedSolomon(n[0]-parities[name], parities[name])
	case parities[name] > 0 && len(n) == 1:
		return Layout{}, fmt.Errorf("%s has %d parity pieces, so it takes at least %d pieces in all, not %d", name, parities[name], parities[name]+1, n[0])
	default:
		return Layout{}, fmt.Errorf("it takes plain, replica:COPIES, rs:DATA+PARITY, stripe:PIECES, lrc:DATA+LOCAL+GLOBAL, " +
			"or raid5, raid6, raiddp, archive or qrain with a number of all pieces")
	}
	return l, l.Validate()
}

// ParseBlockSize reads a block size as EOS and people write it: 64k, 1M, 512KiB, 4MiB or bytes. k and M are powers of
// two. An error says what it takes.
func ParseBlockSize(text string) (uint32, error) {
	number := strings.TrimSuffix(strings.ToLower(text), "ib")
	unit := 0
	if n, ok := strings.CutSuffix(number, "k"); ok {
		number, unit = n, 10
	} else if n, ok := strings.CutSuffix(number, "m"); ok {
		number, unit = n, 20
	}
	n, err := strconv.ParseUint(number, 10, 32)
	size := n << unit
	if err != nil || size < BlockSizeMin || size > BlockSizeMax || size%PageSize != 0 || unit == 0 && len(number) != len(text) {
		return 0, fmt.Errorf("it takes a size from 64k to 16M, such as 1M, 512k or 4194304 bytes, in whole pages of %d bytes", PageSize)
	}
	return uint32(size), nil
}

// FormatBlockSize returns the shortest text that [ParseBlockSize] reads as the size: 64k, 1M, or bytes. It is empty for 0.
func FormatBlockSize(size uint32) string {
	switch {
	case size == 0:
		return ""
	case size%(1<<20) == 0:
		return strconv.Itoa(int(size>>20)) + "M"
	case size%(1<<10) == 0:
		return strconv.Itoa(int(size>>10)) + "k"
	}
	return strconv.Itoa(int(size))
}

// WithBlockSize returns the layout with blocks of this size, in bytes; 0 stands for the size it has. Layouts of one data piece
// have no blocks and stay as they are.
func (l Layout) WithBlockSize(size uint32) Layout {
	if l.Coded() && size != 0 {
		l.BlockSize = size
	}
	return l
}

// layoutNumbers reads "4+2".
func layoutNumbers(text string, given bool) (n []int, err error) {
	if !given {
		return nil, nil
	}
	for part := range strings.SplitSeq(text, "+") {
		i, err := strconv.Atoi(part)
		if err != nil || i < 1 {
			return nil, fmt.Errorf("%q is no number of pieces", part)
		}
		if i > PiecesMax { // beyond what a layout can hold, so that nothing wraps around
			return nil, fmt.Errorf("a layout has at most %d pieces in all, not %d", CodedPiecesMax, i)
		}
		n = append(n, i)
	}
	return n, nil
}

// Policy decides how new files are stored: decided from the directory's attributes, then the space, then what the client
// may ask for.
type Policy struct {
	Space  SpaceName
	Layout Layout
	// BlockSize is that of coded files that name none, in bytes, whatever the layout of the policy is; 0 for
	// [BlockSizeDefault].
	BlockSize uint32
	Checksum  ChecksumKind
	// PiecesMin is the number of sealed pieces that an acknowledged close needs; the rest is left to repair.
	PiecesMin uint8
	// Sync makes a node fdatasync a piece before it calls it sealed.
	Sync bool
}
