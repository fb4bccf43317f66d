package bench

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hemera/measure/result"
	"hemera/words/errs"
)

// runWith writes a run with the level io and some measures, and returns its directory.
func runWith(t *testing.T, measures ...result.Measure) string {
	t.Helper()
	dir := t.TempDir()
	if err := result.Write(dir, &result.Run{ID: "x", Levels: []result.Level{{Name: "io", Measures: measures}}}); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestCompareNamesDifferencesAndNoise(t *testing.T) {
	speed := func(load string, samples ...float64) result.Measure {
		return result.Measure{Name: "throughput", Labels: result.Labels{"load": load}, Unit: "B/s", Better: result.Higher, Samples: samples}
	}
	base := runWith(t, speed("read", 1e8, 1.1e8, 1.2e8, 1.3e8), speed("write", 5e7, 6e7, 7e7, 8e7), speed("gone", 1, 2, 3))
	run := runWith(t, speed("read", 2e8, 2.1e8, 2.2e8, 2.3e8), speed("write", 5e7, 6e7, 7e7, 9e7), speed("made", 1))
	s, out := testSession(t)
	o := comparison{e: s.e, confidence: 95}
	if err := o.run([]string{base, run}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"115 MB/s", "215 MB/s", "1.870", "difference, better", "noise", "(95 %)", "only in " + base + ": io throughput load=gone", "only in " + run + ": io throughput load=made",
		run + " against " + base + ": of 2 measures 1 are better, 0 worse, 1 the same"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	out.Reset()
	o.different = true
	if err := o.run([]string{run, base}); err != nil || !strings.Contains(out.String(), "difference, worse") || strings.Contains(out.String(), " noise \n") {
		t.Errorf("%v\n%s", err, out)
	}
	if err := o.run([]string{base, t.TempDir()}); !errors.Is(err, errs.NotFound) {
		t.Errorf("a directory without a run: %v", err)
	}
	// The page has both runs, and is the only file.
	o.html = filepath.Join(t.TempDir(), "both.html")
	if err := o.run([]string{base, run}); err != nil {
		t.Fatal(err)
	}
	if page, err := os.ReadFile(o.html); err != nil || !strings.Contains(string(page), "× 1.87 difference, better") || !strings.Contains(string(page), "of 2 measures 1 are better, 0 worse") || strings.Contains(string(page), "plots/") {
		t.Errorf("%v\n%s", err, page)
	}
	o.confidence = 100
	if err := o.run([]string{base, run}); !errors.Is(err, errs.Invalid) {
		t.Errorf("certainty: %v", err)
	}
}
