package hemera

import (
	"strings"
	"testing"
)

func TestNamesThatEveryDoorRefuses(t *testing.T) {
	long := strings.Repeat("n", NameMax)
	for _, name := range []string{"", ".", "..", "a/b", "/", "a\nb", "\x1b[31m", "a\x00", "\x7f", "\t", long + "n"} {
		if CheckName(name) == nil {
			t.Errorf("%q is taken", name)
		}
	}
	for _, name := range []string{"a", "...", ".hidden", "a b", "a?b", "ä\xff", long} {
		if err := CheckName(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
}
