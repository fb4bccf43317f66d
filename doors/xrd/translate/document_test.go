package translate

import (
	"os"
	"regexp"
	"strconv"
	"testing"

	"hemera/words/errs"
)

// TestCodesAreDocumented checks that docs/protocol.md has the code and the words of each kind of error.
func TestCodesAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../../../docs/protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile("(?m)^\\| (\\d+) ([^|]+) \\| (\\d+) `kXR_\\w+` \\| ([^|]+) \\|").FindAllStringSubmatch(string(text), -1)
	if len(rows) != len(codes) {
		t.Errorf("%d kinds are documented of %d", len(rows), len(codes))
	}
	for _, row := range rows {
		kind, _ := strconv.Atoi(row[1])
		if k := errs.Kind(kind); k.String() != row[2] || strconv.Itoa(int(CodeOf(k))) != row[3] || errs.Posix(k)[0] != row[4] {
			t.Errorf("documented: %s; is: %s with %d, %q", row[0], k, CodeOf(k), errs.Posix(k))
		}
	}
}
