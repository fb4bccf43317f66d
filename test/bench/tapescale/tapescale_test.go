package tapescale

import (
	"bytes"
	"strings"
	"testing"
)

// TestRun measures two small catalogues: every operation finds what it needs, and the tables have all of them.
func TestRun(t *testing.T) {
	var progress, text, markdown bytes.Buffer
	r, err := Run(t.Context(), Options{Dir: t.TempDir(), Small: 10_000, Large: 20_000, Calls: 2, Progress: &progress})
	if err != nil {
		t.Fatalf("%v after %s", err, &progress)
	}
	if err := Text(&text, r); err != nil {
		t.Fatal(err)
	}
	if err := Markdown(&markdown, r); err != nil {
		t.Fatal(err)
	}
	for i, op := range operations() {
		if row := r.Rows[i]; row.Small.Calls != 2 || row.Small.Calls != row.Large.Calls || row.Large.P99 < row.Large.Median {
			t.Errorf("%+v", row)
		}
		if !strings.Contains(text.String(), op.name) || !strings.Contains(markdown.String(), op.name) {
			t.Errorf("%s is not in a table", op.name)
		}
	}
}
