package files

import (
	"testing"
)

func TestModeChange(t *testing.T) {
	for _, test := range []struct {
		change string
		mode   uint32
		dir    bool
		want   uint32
	}{
		{"0750", 0o777, false, 0o750},
		{"1777", 0o755, true, 0o1777},
		{"u+x", 0o644, false, 0o744},
		{"+x", 0o644, false, 0o755},
		{"a-w", 0o666, false, 0o444},
		{"go=", 0o777, false, 0o700},
		{"u+rw,go-w", 0o466, false, 0o644},
		{"g=rx,o=r", 0o700, false, 0o754},
		{"a+X", 0o644, false, 0o644},
		{"a+X", 0o644, true, 0o755},
		{"a+X", 0o744, false, 0o755},
		{"ug+w", 0o1555, true, 0o1775},
	} {
		change, err := parseModeChange(test.change)
		if err != nil {
			t.Errorf("%s: %v", test.change, err)
			continue
		}
		if got := change(test.mode, test.dir); got != test.want {
			t.Errorf("%s of %04o: %04o, not %04o", test.change, test.mode, got, test.want)
		}
	}
	for _, bad := range []string{"", "u", "9", "77777", "z+r", "u+s", "u*r", "u+r,", "rwx", "u+r-w"} {
		if _, err := parseModeChange(bad); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}
