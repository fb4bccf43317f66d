package files

import (
	"strings"
	"testing"

	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/output"
)

// ls -l shows the names that this machine knows, and numbers for others; -n only numbers.
func TestOwnersAreShownByName(t *testing.T) {
	record := func(owner, group string) output.Record {
		return output.Record{{Key: "name", Value: "f"}, {Key: "type", Value: "file"}, {Key: "size", Value: int64(1)}, {Key: "mode", Value: "0644"},
			{Key: "owner", Value: owner}, {Key: "group", Value: group}, {Key: "mtime", Value: int64(0)}}
	}
	for _, test := range []struct {
		owner, group string
		numeric      bool
		want         string
	}{
		{"0", "0", false, "root root"}, {"0", "0", true, "0 0"}, {"3999999999", "3999999999", false, "3999999999 3999999999"},
		{"alice", "users", false, "alice users"}, // what servers other than Hemera send
	} {
		o := lsOptions{long: true, numeric: test.numeric, names: cli.Owners{}}
		if f := strings.Fields(o.line(record(test.owner, test.group))); strings.Join(f[1:3], " ") != test.want {
			t.Errorf("%+v: %q", test, f)
		}
	}
}
