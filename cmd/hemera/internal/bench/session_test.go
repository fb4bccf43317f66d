package bench

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"hemera/cmd/hemera/internal/cli"
	"hemera/measure/report"
	"hemera/measure/result"
	"hemera/words/errs"
)

// part is a level of a test.
type part struct {
	word string
	do   func(context.Context, *result.Recorder) error
}

func (p part) name() string                                        { return p.word }
func (part) flags(*pflag.FlagSet)                                  {}
func (part) check([]string, bool) error                            { return nil }
func (p part) run(ctx context.Context, rec *result.Recorder) error { return p.do(ctx, rec) }
func adds(rec *result.Recorder, value float64) {
	rec.Add(result.Measure{Name: "throughput", Unit: "B/s", Samples: []float64{value}, Peak: 10e9})
}

// testSession returns a session in a temporary directory, and the buffer of its text.
func testSession(t *testing.T) (*session, *bytes.Buffer) {
	t.Helper()
	var out bytes.Buffer
	e := &cli.Env{Console: cli.Console{Out: &out, Err: &out, Getenv: func(string) string { return "" }}, Now: time.Now}
	s := newSession(e)
	s.out = t.TempDir()
	return s, &out
}

func TestALevelThatFailsKeepsTheOthers(t *testing.T) {
	s, out := testSession(t)
	broken := errs.New(errs.IO, "test", "disk7", "it smokes")
	err := s.measure(t.Context(), []string{"hemera bench all"}, []level{
		part{"disk", func(_ context.Context, rec *result.Recorder) error { adds(rec, 1); return broken }},
		part{"net", func(_ context.Context, rec *result.Recorder) error {
			adds(rec, 6.1e9)
			rec.Skip("UDP", "there is no iperf3", "apt install iperf3")
			return nil
		}},
	})
	if !errors.Is(err, errs.IO) {
		t.Errorf("the command ends with %v", err)
	}
	got, err := result.Read(s.out)
	if err != nil || len(got.Levels) != 2 || len(got.Levels[0].Measures) != 1 || !strings.Contains(strings.Join(got.Levels[0].Notes, ""), "smokes") {
		t.Fatalf("%+v, %v", got, err)
	}
	for _, want := range []string{"6.10 GB/s", "61.0", "not measured: UDP", "apt install iperf3", s.out} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

// TestAQuickRunEndsWithItsSummary: the terminal and the top of the page say that the figures of a quick run are rough.
func TestAQuickRunEndsWithItsSummary(t *testing.T) {
	s, out := testSession(t)
	s.quick = true
	err := s.measure(t.Context(), []string{"hemera bench all"}, []level{part{"net", func(_ context.Context, rec *result.Recorder) error {
		for i := range rowsMax + 1 {
			rec.Add(result.Measure{Name: "throughput", Labels: result.Labels{"n": strconv.Itoa(i)}, Unit: "B/s", Better: result.Higher, Samples: []float64{1e9}})
		}
		return nil
	}}})
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(report.Path(s.out))
	if err != nil {
		t.Fatal(err)
	}
	for where, text := range map[string]string{"the terminal": out.String(), "the page": string(page)} {
		if !strings.Contains(text, "quick run: its figures are rough") || !strings.Contains(text, "no level has a peak") {
			t.Errorf("%s: %s", where, text[:min(len(text), 2000)])
		}
	}
}

func TestAnInterruptedRunKeepsWhatItHas(t *testing.T) {
	s, _ := testSession(t)
	ctx, cancel := context.WithCancel(t.Context())
	err := s.measure(ctx, []string{"hemera bench all"}, []level{
		part{"disk", func(ctx context.Context, rec *result.Recorder) error { adds(rec, 1); cancel(); return ctx.Err() }},
		part{"net", func(context.Context, *result.Recorder) error { t.Error("the next level began"); return nil }},
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("the command ends with %v", err)
	}
	if got, err := result.Read(s.out); err != nil || got.Stopped == "" || len(got.Levels) != 1 || len(got.Levels[0].Measures) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestARunNeverReplacesAnother(t *testing.T) {
	s, _ := testSession(t)
	nothing := part{"ns", func(context.Context, *result.Recorder) error { return nil }}
	if err := s.measure(t.Context(), []string{"hemera bench ns"}, []level{nothing}); err != nil {
		t.Fatal(err)
	}
	if err := s.measure(t.Context(), []string{"hemera bench ns"}, []level{nothing}); !errors.Is(err, errs.Exists) {
		t.Errorf("the second run: %v", err)
	}
}

// If the terminal is replaced by a file, the run prints the name of each level there, because no progress is drawn.
func TestARunIntoAFileSaysWhereItIs(t *testing.T) {
	s, out := testSession(t)
	now := time.Unix(0, 0)
	s.now = func() time.Time { now = now.Add(20 * time.Second); return now }
	var during string
	if err := s.measure(t.Context(), []string{"hemera bench all"}, []level{part{"disk", func(_ context.Context, rec *result.Recorder) error {
		during = out.String()
		adds(rec, 1)
		return nil
	}}}); err != nil {
		t.Fatal(err)
	}
	if during != "disk begins\n" || !strings.Contains(out.String(), "disk has ended after 20s\n") {
		t.Errorf("%q, then\n%s", during, out)
	}
}
