package files

import (
	"testing"
)

func TestParseBound(t *testing.T) {
	for s, want := range map[string]int64{"+1G": 1e9, "-10k": 10e3, "+0": 0, "-7": 7} {
		more, n, err := parseBound(s)
		if err != nil || n != want || more != (s[0] == '+') {
			t.Errorf("%s: %t %d %v", s, more, n, err)
		}
	}
	for _, s := range []string{"", "+", "5", "+G", "-x", "+99999999P", "--1"} {
		if _, n, err := parseBound(s); err == nil {
			t.Errorf("%q was read as %d", s, n)
		}
	}
}
