package rpc_test

import (
	"os"
	"regexp"
	"strconv"
	"testing"

	"hemera/platform/rpc"
	"hemera/words/errs"
)

// TestCodesAreDocumented: docs/protocol.md has the Connect code of each kind of failure.
func TestCodesAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile("(?m)^\\| (\\d+) [^|]+ \\| \\d+ `kXR_\\w+` \\| [^|]+ \\| (\\w+) \\|$").FindAllStringSubmatch(string(text), -1)
	if len(rows) != int(errs.Overloaded)+1 {
		t.Errorf("%d kinds are documented", len(rows))
	}
	for _, row := range rows {
		kind, _ := strconv.Atoi(row[1])
		if code := rpc.CodeOf(errs.Kind(kind)); code.String() != row[2] {
			t.Errorf("documented: %s; is: %s", row[0], code)
		}
	}
}
