package result_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"hemera/measure/result"
	"hemera/words/errs"
)

func TestSamplesOfOneMeasureMeet(t *testing.T) {
	r := result.NewRecorder(t.TempDir(), "disk", nil)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for load, value := range map[string]float64{"read": 2, "write": 1} {
				r.Add(result.Measure{Name: "throughput", Labels: result.Labels{"load": load}, Unit: "B/s", Samples: []float64{value}})
			}
		})
	}
	group.Wait()
	if got := r.End().Measures; len(got) != 2 || len(got[0].Samples) != 4 || len(got[1].Samples) != 4 {
		t.Errorf("%d measures: %+v", len(got), got)
	}
	m, ok := r.Find("throughput", result.Labels{"load": "read"})
	if !ok || !reflect.DeepEqual(m.Samples, []float64{2, 2, 2, 2}) {
		t.Errorf("found %+v, %v", m, ok)
	}
	if _, ok := r.Find("throughput", result.Labels{"load": "read", "streams": "1"}); ok {
		t.Error("found a measure with other labels")
	}
}

func TestIterationsKeepTheirTimesAndWork(t *testing.T) {
	dir := t.TempDir()
	r := result.NewRecorder(dir, "io", nil)
	labels := result.Labels{"load": "read"}
	end := r.Iteration(labels)
	labels["load"] = "write" // the caller's map stays the caller's, from the end on
	end(4096, 1)
	labels["load"] = "gone"
	r.Iteration(result.Labels{"load": "failed"}) // never ended
	if err := result.Write(dir, &result.Run{Levels: []result.Level{r.End()}}); err != nil {
		t.Fatal(err)
	}
	got, err := result.Read(dir)
	if err != nil || len(got.Levels[0].Iterations) != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
	if i := got.Levels[0].Iterations[0]; i.Labels["load"] != "write" || i.Bytes != 4096 || i.Ops != 1 || i.Ended.Before(i.Began) || i.Began.IsZero() {
		t.Errorf("read %+v", i)
	}
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	dir := t.TempDir()
	r := result.NewRecorder(dir, "net", nil)
	r.Add(result.Measure{Name: "throughput", Unit: "B/s", Better: result.Higher, Samples: []float64{1.5}, Peak: 3, PeakFrom: "the link"})
	r.Figure(result.Figure{ID: "a", Title: "first", Kind: result.Bars})
	r.Figure(result.Figure{ID: "a", Title: "second", Kind: result.Bars})
	r.Skip("UDP", "no iperf3", "apt install iperf3")
	raw, err := r.Raw("iperf.json")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(raw, "{}"); err != nil || raw.Close() != nil {
		t.Fatal(err)
	}
	want := &result.Run{ID: "x", Levels: []result.Level{r.End()}}
	if err := result.Write(dir, want); err != nil {
		t.Fatal(err)
	}
	got, err := result.Read(dir)
	if err != nil || len(got.Levels) != 1 || got.Schema != result.Schema {
		t.Fatalf("%+v, %v", got, err)
	}
	if l := got.Levels[0]; !reflect.DeepEqual(l.Measures, want.Levels[0].Measures) || len(l.Figures) != 1 || l.Figures[0].Title != "second" || l.Skipped[0].Remedy == "" {
		t.Errorf("read %+v", l)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "raw", "net-iperf.json")); err != nil || string(text) != "{}" {
		t.Errorf("raw output %q, %v", text, err)
	}
}

func TestForeignFilesAreRefused(t *testing.T) {
	for _, text := range []string{"", "{", "[]", "{}", `{"schema": 0}`, `{"schema": 2}`, `{"schema": "1"}`} {
		if _, err := result.Decode(strings.NewReader(text), "x"); !errors.Is(err, errs.Invalid) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := result.Read(filepath.Join(t.TempDir(), "no")); !errors.Is(err, errs.NotFound) {
		t.Errorf("a missing file: %v", err)
	}
}
