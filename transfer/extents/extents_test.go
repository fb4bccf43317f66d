package extents

import (
	"slices"
	"testing"
)

// FuzzSet compares a set with a bit for each offset: each two bytes of the input are an operation and a range.
func FuzzSet(f *testing.F) {
	f.Add([]byte{0x03, 0x05, 0x08, 0x02, 0x15, 0x10})
	f.Add([]byte{0x00, 0xff, 0x9f, 0x00, 0x40, 0x01, 0x41, 0x01})
	f.Fuzz(func(t *testing.T, input []byte) {
		var s Set
		var twin [512]bool
		for ; len(input) >= 2; input = input[2:] {
			from := int(input[0])
			to := from + int(input[1])&0x7f
			if input[1]&0x80 != 0 {
				s.Cut(int64(from))
				clear(twin[from:])
			} else {
				s.Add(int64(from), int64(to))
				for i := from; i < to; i++ {
					twin[i] = true
				}
			}
			part := twin[from:to]
			if got := s.Touches(int64(from), int64(to)); from < to && got != slices.Contains(part, true) {
				t.Fatalf("%v touches %d to %d: %v", s.list, from, to, got)
			}
			if got := s.Covers(int64(from), int64(to)); from < to && got == slices.Contains(part, false) {
				t.Fatalf("%v covers %d to %d: %v", s.list, from, to, got)
			}
			again := make([]bool, len(part))
			for _, x := range s.Within(int64(from), int64(to)) {
				for i := x.From; i < x.To; i++ {
					again[i-int64(from)] = true
				}
			}
			if !slices.Equal(again, part) {
				t.Fatalf("%v within %d to %d: %v", s.list, from, to, s.Within(int64(from), int64(to)))
			}
			for i := 1; i < len(s.list); i++ {
				if s.list[i-1].To >= s.list[i].From {
					t.Fatalf("%v: ranges touch", s.list)
				}
			}
		}
	})
}

// A set of too many ranges keeps all that was added, and the smallest gap with it.
func TestManyRangesCloseTheSmallestGap(t *testing.T) {
	var s Set
	for i := range int64(Max + 1) {
		at := 10 * i
		if i > 500 { // the gap before 501 is smaller than the others
			at--
		}
		s.Add(at, at+1)
	}
	if len(s.list) != Max || !s.Covers(5000, 5010) || s.Touches(4991, 5000) || s.Touches(5010, 5019) || s.Touches(10*Max, 1<<40) {
		t.Errorf("%d ranges are left: %v", len(s.list), s.list[499:503])
	}
}
