package config

import (
	"bytes"
	"flag"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the table of settings into the documentation")

// TestDocumentedTable holds the table in docs/operations.md against the settings. After a change of
// Config, `go test ./process/config -run DocumentedTable -update` writes it again.
func TestDocumentedTable(t *testing.T) {
	const (
		file  = "../../docs/operations.md"
		begin = "<!-- settings -->\n"
		end   = "<!-- end of settings -->"
	)
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(data), begin)
	committed, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("%s lacks the lines %q and %q", file, begin, end)
	}
	var table bytes.Buffer
	if err := Table(&table); err != nil {
		t.Fatal(err)
	}
	if committed == table.String() {
		return
	}
	if !*update {
		t.Fatalf("the table of settings in %s is not current: go test ./process/config -run DocumentedTable -update", file)
	}
	if err := os.WriteFile(file, []byte(before+begin+table.String()+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}
