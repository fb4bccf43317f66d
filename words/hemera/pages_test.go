package hemera_test

import (
	"testing"

	"hemera/words/hemera"
)

// TestPageFragments cuts ranges fragment by fragment and counts them.
func TestPageFragments(t *testing.T) {
	const page = hemera.PageSize
	for _, off := range []int64{0, 1, page - 1, page, page + 1, 5*page - 3, 1 << 40} {
		for _, n := range []int{0, 1, 2, page - 1, page, page + 1, 3 * page, 3*page + 7} {
			count, at := 0, off
			for left := n; left > 0; count++ {
				f := hemera.PageFragment(at, left)
				if f <= 0 || f > left || at/page != (at+int64(f)-1)/page || f < left && (at+int64(f))%page != 0 {
					t.Fatalf("a fragment of %d bytes at %d, with %d left", f, at, left)
				}
				at, left = at+int64(f), left-f
			}
			if got := hemera.PageFragments(off, int64(n)); got != count {
				t.Errorf("%d bytes at %d have %d fragments, not %d", n, off, count, got)
			}
		}
	}
	if got := hemera.PageFragments(5, -1); got != 0 {
		t.Errorf("a negative length has %d fragments", got)
	}
}
