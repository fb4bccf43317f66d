package transfer

import (
	"math/rand/v2"
	"slices"
	"testing"

	"hemera/words/hemera"
)

// Blocks that begin with any content have, after any changes, what a slow twin has that begins with zeros.
func TestChangesAgainstZeros(t *testing.T) {
	const size = 8 * hemera.PageSize
	for seed := range uint64(200) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		twin, block := make([]byte, size), make([]byte, size)
		for i := range block {
			block[i] = byte(rnd.Uint32())
		}
		row := parityRow{Blocks: [][]byte{nil, block}}
		changed := map[int64]bool{}
		for range 6 {
			from := rnd.Int64N(size)
			to := from + 1 + rnd.Int64N(size-from)
			isNew, value := row.IsNew(from, to), byte(rnd.Uint32())
			if before := anyOf(changed, from, to); isNew && before {
				t.Fatalf("seed %d: %d to %d is said to be new, and was changed", seed, from, to)
			}
			// A range that is new may be changed as any other.
			written := isNew && rnd.IntN(2) == 0
			row.Touch(from, to, written)
			for i := from; i < to; i++ {
				twin[i] ^= value
				changed[i] = true
				if written {
					block[i] = value
				} else {
					block[i] ^= value
				}
			}
			if row.From%hemera.PageSize != 0 {
				t.Fatalf("seed %d: changes begin at %d, within a page", seed, row.From)
			}
			for i := range int64(size) {
				inside := i >= row.From && i < row.To
				if changed[i] && !inside || inside && block[i] != twin[i] {
					t.Fatalf("seed %d: byte %d is %d instead of %d, changes are %d to %d", seed, i, block[i], twin[i], row.From, row.To)
				}
			}
		}
	}
}

// The pieces have what a row that was sent had: it is neither new nor cleared.
func TestARowThatWasSentIsLeft(t *testing.T) {
	block := []byte{1, 2, 3, 4}
	row := parityRow{Blocks: [][]byte{block}, Sent: true}
	if row.IsNew(1, 3) {
		t.Error("a row that was sent is new")
	}
	row.Touch(1, 3, false)
	if string(block) != "\x01\x02\x03\x04" || row.From != 0 || row.To != 3 {
		t.Errorf("%v, changes %d to %d", block, row.From, row.To)
	}
}

// Of a row that was sent whole pages are read, each once, and what lies between two changes.
func TestWhatIsReadBack(t *testing.T) {
	const page = hemera.PageSize
	row := parityRow{Sent: true}
	for _, test := range []struct {
		from, to int64
		want     [][2]int64
	}{
		{2*page + 5, 2*page + 6, [][2]int64{{2 * page, 3 * page}}},
		{2 * page, 3 * page, nil},
		{4*page + 1, 5*page - 1, [][2]int64{{3 * page, 5 * page}}},
		{1, 6*page + 1, [][2]int64{{0, 2 * page}, {5 * page, 6*page + 100}}},
	} {
		got := row.Lacks(test.from, test.to, 6*page+100)
		if again := row.Lacks(test.from, test.to, 6*page+100); !slices.Equal(got, test.want) || !slices.Equal(again, got) {
			t.Errorf("%d to %d: %v, again %v, instead of %v", test.from, test.to, got, again, test.want)
		}
		for _, part := range got {
			row.HasRead(part)
		}
	}
	if got := new(parityRow).Lacks(1, 2, page); got != nil {
		t.Errorf("a row that was not sent lacks %v", got)
	}
}

func anyOf(changed map[int64]bool, from, to int64) bool {
	for i := from; i < to; i++ {
		if changed[i] {
			return true
		}
	}
	return false
}
