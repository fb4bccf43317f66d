package hemera

import (
	"strings"
	"testing"
)

func TestNamesThatEveryDoorRefuses(t *testing.T) {
	long := strings.Repeat("n", NameMax)
	for _, name := range []string{"", ".", "..", "a/b", "/", "a\nb", "\x1b[31m", "a\x00", "\x7f", "\t", "a\u0085b", "a\u009b31m", "a?b", long + "n"} {
		if CheckName(name) == nil {
			t.Errorf("%q is taken", name)
		}
	}
	for _, name := range []string{"a", "...", ".hidden", "a b", "ä\xff", "\xc2", "\u00a0", long} {
		if err := CheckName(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
}
