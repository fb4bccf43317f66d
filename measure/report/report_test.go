package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"fmt"
	imagepng "image/png"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"hemera/measure/result"
)

// runOf makes a run with one figure of each kind. All its texts are what the caller says.
func runOf(name, text string, scale float64) *result.Run {
	l := result.Level{Name: "io", Settings: map[string]string{text: text}, Notes: []string{text}, Skipped: []result.Skipped{{What: text, Why: text, Remedy: text}}}
	for _, clients := range []string{"1", "2", "4"} {
		for _, layout := range []string{"plain", text} {
			l.Measures = append(l.Measures, result.Measure{Name: "throughput", Labels: result.Labels{"clients": clients, "layout": layout}, Unit: "B/s", Better: result.Higher,
				Samples: []float64{1e8 * scale, 1.1e8 * scale, 1.2e8 * scale}, Peak: 5e8, PeakFrom: text})
		}
		l.Measures = append(l.Measures, result.Measure{Name: "cpu", Labels: result.Labels{"core": text, "part": clients}, Unit: "1", Samples: []float64{0.3}})
	}
	l.Measures = append(l.Measures, result.Measure{Name: "power", Unit: "W", Series: []result.Point{{At: 0, Value: 40}, {At: 1, Value: 50}}, Estimate: true})
	l.Figures = []result.Figure{
		{ID: "a/" + text, Title: text, Caption: text, Kind: result.Lines, Names: []string{"throughput"}, X: "clients", Group: []string{"layout"}, Peak: true},
		{ID: "bars", Title: text, Kind: result.Bars, Names: []string{"throughput"}, X: "layout", Group: []string{"clients"}},
		{ID: "stack", Title: text, Kind: result.Stacked, Names: []string{"cpu"}, X: "core", Group: []string{"part"}},
		{ID: "power", Title: text, Kind: result.Course, Names: []string{"power"}},
		{ID: "none", Title: "no measure has this name", Kind: result.Bars, Names: []string{"absent"}},
	}
	return &result.Run{ID: name, Title: name + " " + text, Command: []string{text}, Machines: []result.Machine{{Name: text, CPU: text}}, Levels: []result.Level{l}}
}

func TestWriteMakesThePageAndFourFilesOfEachFigure(t *testing.T) {
	dir := t.TempDir()
	if err := Write(dir, []*result.Run{runOf("first", "rs:4+2", 1), runOf("second", "rs:4+2", 2)}); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(filepath.Join(dir, "plots"))
	if err != nil || len(entries) != 4*4+1 {
		t.Fatalf("%d files, %v", len(entries), err)
	}
	for _, e := range entries {
		if e.Name() == madeName {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, "plots", e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		checkFile(t, e.Name(), data)
	}
}

// checkFile reads a file as programs do.
func checkFile(t *testing.T, name string, data []byte) {
	t.Helper()
	var err error
	switch filepath.Ext(name) {
	case ".svg":
		err = parseXML(data)
	case ".png":
		_, err = imagepng.Decode(bytes.NewReader(data))
	case ".json":
		var c chart
		if err = json.Unmarshal(data, &c); err == nil && (len(c.Series) == 0 || len(c.Series[0].Points) == 0) {
			err = fmt.Errorf("no values")
		}
	case ".csv":
		rows, cause := csv.NewReader(bytes.NewReader(data)).ReadAll()
		if err = cause; err == nil && len(rows) < 2 {
			err = fmt.Errorf("no values")
		}
	default:
		err = fmt.Errorf("what is it?")
	}
	if err != nil {
		t.Errorf("%s: %v", name, err)
	}
}

// parseXML reads all of a document.
func parseXML(data []byte) error {
	d := xml.NewDecoder(bytes.NewReader(data))
	for {
		if _, err := d.Token(); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// references finds what a browser would fetch.
var references = regexp.MustCompile(`(?i)\b(src|srcset|action|poster|data|xlink:href)\s*=|@import|url\(|<(link|img|iframe|object|embed|base)\b|\bfetch\(|XMLHttpRequest|\bimport\(`)

// pageOf renders the page of some runs.
func pageOf(t testing.TB, runs ...*result.Run) string {
	t.Helper()
	r, err := newRuler()
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := newPage(runs, r, usualConfidence).render(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestThePageNeedsNothingElse(t *testing.T) {
	page := pageOf(t, runOf("first", "plain text", 1), runOf("second", "plain text", 2))
	if found := references.FindString(page); found != "" {
		t.Errorf("the page refers to something: %s", found)
	}
	for _, want := range []string{"default-src 'none'", "What limits", "× 2 difference", "22.0 %", "plain text", "theoretical peak", "(estimate)", "prefers-color-scheme:dark", "@media print"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in the page", want)
		}
	}
}

func FuzzHostileTextsAreEscaped(f *testing.F) {
	for _, s := range []string{`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `' onmouseover='x`, `]]>`, "\x00\x01\xff", `</style><b>`, `../../../etc/passwd`, `{{.}}`, `=cmd()`, "javascript:alert(1)", strings.Repeat("long ", 100), ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		marked := text + `<x onload="1">`
		page := pageOf(t, runOf("first", marked, 1), runOf("second", "plain", 1))
		if strings.Contains(page, "<x onload") || strings.Count(page, "<script>") != 1 || strings.Count(page, "</style>") != 1 {
			t.Errorf("%q is not escaped", text)
		}
		r, err := newRuler()
		if err != nil {
			t.Fatal(err)
		}
		run := runOf("first", marked, 1)
		for _, f := range run.Levels[0].Figures {
			c, ok := newChart(f, "io", []*result.Run{run})
			if !ok {
				continue
			}
			svg := []byte(standalone(lay(c, false, true, plotWidth, r)))
			if bytes.Contains(svg, []byte("<x onload")) {
				t.Errorf("%q is not escaped in %s", text, f.ID)
			}
			checkFile(t, "x.svg", svg)
			rows, err := table(c)
			if err != nil {
				t.Fatal(err)
			}
			checkFile(t, "x.csv", rows)
		}
	})
}

func TestHostileTextsDoNotLeaveTheDirectory(t *testing.T) {
	dir := t.TempDir()
	if err := Write(dir, []*result.Run{runOf("first", `../../../up"><script>`, 1)}); err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(filepath.Join(dir, "plots")); err != nil || len(entries) != 16+1 {
		t.Errorf("%d files, %v", len(entries), err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
		t.Errorf("%v, %v", entries, err)
	}
}

func TestFilesHaveSafeNames(t *testing.T) {
	n := namer{}
	for _, c := range []struct{ id, want string }{
		{"io-read", "io-read"}, {"IO-Read", "IO-Read-2"}, {"../../etc/passwd", "etc-passwd"}, {"", "figure"}, {"/", "figure-2"}, {"a b", "a-b"}, {strings.Repeat("x", 200), strings.Repeat("x", 80)},
	} {
		if got := n.name(c.id); got != c.want {
			t.Errorf("%q is %q, not %q", c.id, got, c.want)
		}
	}
}

func TestSharesAboveThePeakAreQuestioned(t *testing.T) {
	const warning = "More than the theoretical peak is not possible"
	if page := pageOf(t, runOf("first", "x", 1)); strings.Contains(page, warning) {
		t.Error("22 % of the peak is questioned")
	}
	if page := pageOf(t, runOf("first", "x", 5)); !strings.Contains(page, warning) {
		t.Error("110 % of the peak is believed")
	}
}

// A peak that was measured has a deviation, and so has the share of it.
func TestSharesOfAMeasuredPeakHaveADeviation(t *testing.T) {
	m := result.Measure{Name: "throughput", Unit: "B/s", Samples: []float64{90, 110}, Peak: 400}
	if got := shareOf(m); got != "25.0 %" {
		t.Errorf("of a peak that is said: %s", got)
	}
	m.PeakSD = 80
	if got := shareOf(m); got != "25.0 ± 6.12 %" { // 0.25 of the root of 0.1414² and 0.2²
		t.Errorf("of a peak that was measured: %s", got)
	}
}
