package scale

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestOutputOfResults: a table in both forms and a chart with every curve.
func TestOutputOfResults(t *testing.T) {
	var results []Result
	for _, n := range []int64{1, 10, 100} {
		results = append(results, Result{Files: n * 1e6, LoadFiles: n * 1e6, LoadTime: time.Duration(n) * time.Second, StoreBytes: n * 43e6,
			Check: time.Second, CheckedOK: n < 100, StatHot: [2]Rate{{PerSecond: 5}, {PerSecond: 7, Failed: 3}}})
	}
	var text, page bytes.Buffer
	if err := Text(&text, results); err != nil {
		t.Fatal(err)
	}
	if err := Markdown(&page, results); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"1000000 files/s, 0.0 µs", "43.0 B", "7/s, 0.0 µs (3 failed)", "1.0 s, CPU 0.0 s NOT HEALTHY"} {
		if !strings.Contains(text.String(), want) || !strings.Contains(page.String(), want) {
			t.Errorf("%q is missing in\n%s\n%s", want, &text, &page)
		}
	}
	if lines := strings.Split(page.String(), "\n"); lines[0] != "| files | 1 M | 10 M | 100 M |" || len(lines) != len(rows())+3 {
		t.Errorf("%d lines, the first %q", len(lines), lines[0])
	}
	chart := filepath.Join(t.TempDir(), "x.svg")
	if err := Draw(chart, results); err != nil {
		t.Fatal(err)
	}
	if svg, err := os.ReadFile(chart); err != nil || !strings.Contains(string(svg), "after kill -9") {
		t.Errorf("the chart has %d bytes, %v", len(svg), err)
	}
}

// TestChild measures a small store, in this process.
func TestChild(t *testing.T) {
	dir := t.TempDir()
	tree := treeOf(0, 2000)
	if err := load(t.Context(), dir, tree); err != nil {
		t.Fatal(err)
	}
	spec := `{"Dir":"` + dir + `","Trees":[{"Path":"/load0","Shape":{"Files":2000,"FilesPerDir":2000,"Size":104857600,"Disks":[1,3,5,2,4,6]}}],"CacheBytes":16777216,"Time":20000000}`
	var out bytes.Buffer
	if err := Child(t.Context(), strings.NewReader(spec), &out); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), `"CheckedOK":true`) || !strings.Contains(out.String(), `"Listed":20`) {
		t.Errorf("result %s", &out)
	}
}
