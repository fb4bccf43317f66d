package cli

import (
	"testing"
)

func TestProgressBars(t *testing.T) {
	for _, test := range []struct{ got, want string }{
		{Bar(0, 4), "[....] 0.0%"},
		{Bar(50, 4), "[##..] 50.0%"},
		{Bar(100, 4), "[####] 100.0%"},
		{Bar(120, 4), "[####] 120.0%"}, // a file grew during the copy: odd, but no reason to crash
		{Cut("abc", 2), "ab"}, {Cut("äbc", 3), "äbc"},
	} {
		if test.got != test.want {
			t.Errorf("%s\nnot\n%s", test.got, test.want)
		}
	}
}
