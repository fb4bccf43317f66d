package bench

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hemera/measure/report"
	"hemera/measure/result"
	"hemera/words/errs"
)

func TestARunEndsWithItsReport(t *testing.T) {
	s, _ := testSession(t)
	s.reference = []string{"odroid-orangefs"}
	io := part{"io", func(_ context.Context, rec *result.Recorder) error {
		rec.Add(result.Measure{Name: "throughput", Labels: result.Labels{"load": "read"}, Unit: "B/s", Better: result.Higher, Samples: []float64{1e8, 1.1e8, 1.2e8}, Peak: 10e9})
		return nil
	}}
	if err := s.measure(t.Context(), []string{"hemera bench io"}, []level{io}); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(report.Path(s.out))
	if err != nil {
		t.Fatal(err)
	}
	// The run has no level energy, so the page leaves out Odroid's figures of energy.
	if text := string(page); !strings.Contains(text, "Odroid OrangeFS") || !strings.Contains(text, "110 ± 10.0 MB/s") || strings.Contains(text, "capacity_per_watt") {
		t.Errorf("the page:\n%s", text)
	}
	if _, err := os.Stat(filepath.Join(s.out, "plots", "io-best-throughput.png")); err != nil {
		t.Error(err)
	}
}

func TestAWrongNameOfPublishedFiguresLeavesNothing(t *testing.T) {
	s, _ := testSession(t)
	s.out, s.reference = filepath.Join(s.out, "run"), []string{"none"}
	err := s.measure(t.Context(), nil, []level{part{"io", func(context.Context, *result.Recorder) error { t.Error("it measures"); return nil }}})
	if _, cause := os.Stat(s.out); !errors.Is(err, errs.NotFound) || cause == nil {
		t.Errorf("%v, %v", err, cause)
	}
}

func TestReportsAreMadeAgain(t *testing.T) {
	dir := runWith(t, result.Measure{Name: "throughput", Labels: result.Labels{"load": "read"}, Unit: "B/s", Samples: []float64{1, 2, 3}})
	s, out := testSession(t)
	for _, path := range []string{dir, result.Path(dir)} {
		o := reporting{e: s.e}
		if err := o.run([]string{path}); err != nil || !strings.Contains(out.String(), report.Path(dir)) {
			t.Errorf("%s: %v\n%s", path, err, out)
		}
	}
	both := reporting{e: s.e, out: t.TempDir(), reference: []string{"odroid"}}
	if err := both.run([]string{dir, dir}); err != nil {
		t.Fatal(err)
	}
	if page, err := os.ReadFile(report.Path(both.out)); err != nil || !strings.Contains(string(page), "Odroid CephFS") {
		t.Errorf("%v\n%s", err, page)
	}
	out.Reset()
	if err := (&reporting{e: s.e, reference: []string{"list"}}).run(nil); err != nil || !strings.Contains(out.String(), "eos-arm") || !strings.Contains(out.String(), "ENERGY 2022") {
		t.Errorf("%v\n%s", err, out)
	}
	if err := (&reporting{e: s.e}).run(nil); !errors.Is(err, errs.Invalid) {
		t.Errorf("no run: %v", err)
	}
}
