package config

import (
	"bytes"
	"flag"
	"fmt"
	"io"
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
	if err := writeTable(&table); err != nil {
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

// writeTable writes the settings as a Markdown table for the documentation. A test compares it with docs/operations.md.
func writeTable(w io.Writer) error {
	var b strings.Builder
	b.WriteString("| setting | default | live | flag | variable | meaning |\n|---|---|---|---|---|---|\n")
	for _, s := range settings() {
		text := s.byText
		if text != "" {
			text = "`" + text + "`"
		}
		live := ""
		if s.live {
			live = "yes"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | `--%s` | `%s` | %s |\n", s.key, text, live, s.flag(), s.env(), s.sentence())
	}
	_, err := io.WriteString(w, b.String())
	return err
}
