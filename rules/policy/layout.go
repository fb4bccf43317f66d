package policy

import (
	"fmt"
	"strconv"
	"strings"

	"hemera/words/hemera"
)

// The strengths of the sources of a setting, in [value]: the directory's forced attributes, the client's wish, the
// directory's defaults, and none, which leaves it to the space.
const (
	nobody = iota
	directory
	client
	forced
)

// layout combines a kind, a number of pieces and a block size, which may come from different sources:
//
//   - A kind with its numbers, such as rs:4+2 or plain, decides alone. Only a number of a stronger source changes it.
//   - A kind without numbers, such as raid6, takes the number of any source. Without one it keeps the space's, if the
//     space has files of that kind, or has its usual number: see [usualPieces].
//   - A number without a kind changes the space's layout, see [Resized].
//   - The block size is that of the strongest source, or the space's. It has no effect on copies.
func (s sources) layout(space hemera.Policy, wish hemera.Wish) (hemera.Layout, error) {
	kind := s.first(AttrLayout, wish.Layout)
	wished := ""
	if wish.Pieces != 0 {
		wished = strconv.Itoa(wish.Pieces)
	}
	count := s.first(AttrStripes, wished)
	pieces, err := count.pieces()
	if err != nil {
		return space.Layout, err
	}
	l := space.Layout
	if kind.text != "" {
		if l, err = Named(kind.text, pieces, space.Layout); err != nil {
			if _, alone := Named(kind.text, 0, space.Layout); alone == nil { // the number does not fit
				err = fmt.Errorf("with %s=%s: %w", count.from, count.text, err)
			}
			return space.Layout, kind.invalid(err)
		}
	}
	// A kind without numbers has used the number already.
	if pieces != 0 && count.strength > kind.strength {
		if l, err = Resized(l, pieces); err != nil {
			return space.Layout, count.invalid(err)
		}
	}
	return s.blocks(l, space, wish)
}

// blocks gives a layout its block size. A malformed size is an error for copies, too: it is checked when it is set, for
// any layout.
func (s sources) blocks(l hemera.Layout, space hemera.Policy, wish hemera.Wish) (hemera.Layout, error) {
	size := space.BlockSize
	if v := s.first(AttrBlockSize, wish.BlockSize); v.text != "" {
		var err error
		if size, err = hemera.ParseBlockSize(v.text); err != nil {
			return l, v.invalid(err)
		}
	}
	return l.WithBlockSize(size), nil
}

// pieces reads a number of pieces; 0 if the text is empty.
func (v value) pieces() (int, error) {
	if v.text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(v.text)
	if err != nil || n < 1 || n > hemera.CodedPiecesMax {
		return 0, v.invalid(fmt.Errorf("it takes a number from 1 to %d", hemera.CodedPiecesMax))
	}
	return n, nil
}

// Named returns the layout of a name, with numbers or without. For a name without numbers, pieces is the number of all
// pieces. If that is 0, Named keeps the layout of the space if it has this name, or uses the usual number of the kind.
// The error says which forms a name has.
func Named(name string, pieces int, space hemera.Layout) (hemera.Layout, error) {
	if pieces > 0 {
		return hemera.ParseLayout(name, pieces)
	}
	// raid5 of two pieces would be two copies, which would surprise users.
	if l, err := hemera.ParseLayout(name, int(space.Pieces)); err == nil && l.WithBlockSize(space.BlockSize) == space && (l.Coded() || name == "replica") {
		return space, nil
	}
	return hemera.ParseLayout(name, usualPieces(name))
}

// usualPieces returns the number of pieces of a kind that is named without a number, so that the order in which
// attributes are set does not matter. The numbers are those of EOS's `attr set default=`. It returns 0 for a kind without
// such a number: the names of rs and lrc include theirs.
func usualPieces(kind string) int {
	switch kind {
	case "replica":
		return 2
	case "stripe":
		return 4
	case "raid5":
		return 5
	case "raid6", "raiddp":
		return 6
	case "archive":
		return 8
	case "qrain":
		return 12
	}
	return 0
}

// Resized returns the layout with another number of pieces. The number of parities stays, so it survives the same losses.
// Copies and plain become that many copies, and plain with one piece stays plain. The error says which numbers the layout
// can have.
func Resized(l hemera.Layout, pieces int) (hemera.Layout, error) {
	parity := l.Parity()
	out := hemera.Replica(pieces)
	switch {
	case l.Kind == hemera.LayoutPlain && pieces == 1:
		return l, nil
	case !l.Coded():
	case pieces <= parity:
		return l, fmt.Errorf("layout %s has %d parities, so it takes more than %d pieces", l, parity, parity)
	case l.Kind == hemera.LayoutStripe:
		out = hemera.Stripe(pieces)
	case l.Kind == hemera.LayoutLocal:
		out = hemera.Local(pieces-parity, int(l.Local), parity-int(l.Local))
	default:
		out = hemera.ReedSolomon(pieces-parity, parity)
	}
	return out.WithBlockSize(l.BlockSize), out.Validate()
}

// MinimumOf returns the least number of sealed pieces that a close of a file with this layout needs in a space with this
// policy; 0 leaves it to the rule for all files. The policy's own number is for the policy's own layout. For others it
// determines how many pieces may be lost right after the close: the same number as in the space's layout, as far as the
// other layout can lose them. Otherwise a file with fewer pieces than the number could never be closed, and one with more
// data pieces could lose none.
func MinimumOf(space hemera.Policy, l hemera.Layout) uint8 {
	if space.PiecesMin == 0 {
		return 0
	}
	spare := int(space.PiecesMin) - space.Layout.Enough()
	return uint8(l.Enough() + max(min(spare, l.Losses()), 0))
}

// remedy says where to change a value that makes no sense.
func (v value) remedy() string {
	key := strings.TrimPrefix(strings.TrimPrefix(v.from, "sys.forced."), "user.forced.")
	switch {
	case v.strength == client:
		return "ask for something else: hem.layout=rs:4+2, hem.blocksize=1M and hem.replicas=2 are examples"
	case key == "layout":
		return "set a layout, such as " + v.from + "=rs:4+2 or " + v.from + "=replica:2"
	case key == "nstripes":
		return "set another number, or " + strings.TrimSuffix(v.from, key) + "layout with its numbers beside it, such as replica:2 or rs:4+2"
	case key == "blocksize":
		return "set a size, such as " + v.from + "=1M"
	}
	return ""
}
