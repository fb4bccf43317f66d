package policy

import (
	"errors"
	"testing"

	"hemera/words/errs"
)

func TestModesOfNewEntries(t *testing.T) {
	for _, c := range []struct {
		attr      string
		wished    uint32
		ok        bool
		parent    uint32
		file, dir uint32
	}{
		{"", 0, false, 0o1777, 0o644, 0o755},
		{"", 0, false, 0o755, 0o644, 0o755},
		{"", 0, false, 0o775, 0o644, 0o755},
		{"", 0, false, 0o750, 0o640, 0o750},
		{"", 0, false, 0o700, 0o600, 0o700},
		{"", 0o640, true, 0o700, 0o640, 0o640},
		{"", 0o007, true, 0o755, 0o007, 0o007},
		{"775", 0, false, 0o700, 0o664, 0o775},
		{"775", 0o750, true, 0o755, 0o664, 0o775},
		{"0", 0o777, true, 0o755, 0o600, 0o700},
	} {
		sys := map[string][]byte{AttrMode: []byte(c.attr)}
		file, err1 := Mode(sys, c.wished, c.ok, c.parent, false)
		dir, err2 := Mode(sys, c.wished, c.ok, c.parent, true)
		if file != c.file || dir != c.dir || err1 != nil || err2 != nil {
			t.Errorf("%+v: %04o %04o, %v %v", c, file, dir, err1, err2)
		}
	}
	for _, bad := range []string{"rwx", "8", "1777", "-1"} {
		_, err := Mode(map[string][]byte{AttrMode: []byte(bad)}, 0, false, 0o755, false)
		if !errors.Is(err, errs.Invalid) || !errors.Is(CheckAttribute(AttrMode, bad), errs.Invalid) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if err := CheckAttribute(AttrMode, "770"); err != nil {
		t.Error(err)
	}
	if err := CheckAttribute("user.forced.mode", "770"); !errors.Is(err, errs.Invalid) {
		t.Error(err)
	}
}
