package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"hemera/measure/result"
	"hemera/words/errs"
)

// metered returns the level that measures energy during other levels. It has a recording of 50 W from one hour before now
// to one hour after, because test machines have no meter.
func metered(t *testing.T, s *session, inner ...level) *energyLevel {
	t.Helper()
	var text strings.Builder
	now := time.Now()
	for at := -time.Hour; at <= time.Hour; at += time.Second {
		fmt.Fprintf(&text, "%s,50\n", now.Add(at).Format(time.RFC3339Nano))
	}
	path := filepath.Join(t.TempDir(), "power.csv")
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	l := &energyLevel{s: s, inner: inner}
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	l.energyFlags.flags(f)
	if err := f.Parse([]string{"--meter", "csv:" + path, "--idle", "1ms", "--subtract", "10W", "--capacity", "8TB"}); err != nil {
		t.Fatal(err)
	}
	if err := l.check(nil, true); err != nil {
		t.Fatal(err)
	}
	return l
}

// works returns a level with two iterations.
func works(word string, err error) level {
	return part{word, func(_ context.Context, rec *result.Recorder) error {
		now := time.Now()
		adds(rec, 1)
		for i := range 2 {
			began := now.Add(time.Duration(i) * 2 * time.Second)
			rec.Worked(result.Iteration{Labels: result.Labels{"load": "read"}, Began: began, Ended: began.Add(2 * time.Second), Bytes: 160 << 20})
		}
		return err
	}}
}

func TestALevelGetsItsEnergy(t *testing.T) {
	s, out := testSession(t)
	l := metered(t, s, works("disk", errs.New(errs.IO, "test", "disk7", "it smokes")), works("io", nil))
	if err := s.measure(t.Context(), []string{"hemera bench energy"}, []level{l}); !errors.Is(err, errs.IO) {
		t.Errorf("the command ends with %v", err)
	}
	first, err := result.Read(s.out)
	if err != nil || len(first.Levels) != 3 || first.Levels[2].Name != "energy" {
		t.Fatalf("%+v, %v", first, err)
	}
	for _, want := range []string{"power_idle", "40.0 W", "200 GB/W", "80.0 J", "2.00 MiB/J"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	// The logs give the same figures, and other ones with another weight.
	for flags, same := range map[string]bool{"": true, "--delay-weight=2": false} {
		again, _ := testSession(t)
		r := &replayLevel{energyFlags: &energyFlags{}, s: again, from: s.out}
		f := pflag.NewFlagSet("", pflag.ContinueOnError)
		r.energyFlags.flags(f)
		if err := errors.Join(f.Parse(slices.DeleteFunc([]string{flags}, func(a string) bool { return a == "" })), r.check(nil, false)); err != nil {
			t.Fatal(err)
		}
		if err := again.measure(t.Context(), nil, []level{r}); err != nil {
			t.Fatal(err)
		}
		second, err := result.Read(again.out)
		if err != nil || len(second.Levels) != 3 || !reflect.DeepEqual(second.Levels[0].Measures, first.Levels[0].Measures) {
			t.Fatalf("%+v, %v", second, err)
		}
		if got := reflect.DeepEqual(second.Levels[2].Measures, first.Levels[2].Measures); got != same {
			t.Errorf("%q: the replay is equal: %v\n%+v\n%+v", flags, got, second.Levels[2].Measures, first.Levels[2].Measures)
		}
	}
}

func TestAnInterruptedLevelHasItsEnergy(t *testing.T) {
	s, _ := testSession(t)
	ctx, cancel := context.WithCancel(t.Context())
	l := metered(t, s, part{"io", func(ctx context.Context, rec *result.Recorder) error {
		rec.Worked(result.Iteration{Began: time.Now(), Ended: time.Now().Add(time.Second), Bytes: 1})
		cancel()
		return ctx.Err()
	}}, part{"ns", func(context.Context, *result.Recorder) error { t.Error("the next level began"); return nil }})
	if err := s.measure(ctx, nil, []level{l}); !errors.Is(err, context.Canceled) {
		t.Errorf("the command ends with %v", err)
	}
	got, err := result.Read(s.out)
	if err != nil || got.Stopped == "" || len(got.Levels) != 2 {
		t.Fatalf("%+v, %v", got, err)
	}
	if !slices.ContainsFunc(got.Levels[1].Measures, func(m result.Measure) bool { return m.Name == "energy" && m.Samples[0] > 0 }) {
		t.Errorf("no energy in %+v", got.Levels[1].Measures)
	}
}

func TestACommandIsALevel(t *testing.T) {
	for _, c := range []struct {
		args []string
		want error
	}{{[]string{"true"}, nil}, {[]string{"false"}, errs.IO}} {
		l := &commandLevel{}
		l.flags(pflag.NewFlagSet("", pflag.ContinueOnError))
		l.iterations, l.work = 2, "1GB"
		rec := result.NewRecorder(t.TempDir(), l.name(), nil)
		if err := errors.Join(l.check(c.args, false), l.run(t.Context(), rec)); !errors.Is(err, c.want) {
			t.Errorf("%q: %v", c.args, err)
		}
		if got := rec.End().Iterations; c.want == nil && (len(got) != 2 || got[0].Bytes != 1e9) || c.want != nil && len(got) != 0 {
			t.Errorf("%q: %+v", c.args, got)
		}
	}
}

func TestMistakesInEnergyFlags(t *testing.T) {
	for _, args := range []string{"--subtract=15,46W", "--subtract=-1", "--subtract=NaN", "--capacity=much", "--capacity=0", "--delay-weight=-1", "--price-kwh=-1", "--years=0", "--idle=-1s", "--meter-every=1ms", "--meter-every=-1s", "--csv-shift=3s"} {
		g := &energyFlags{}
		f := pflag.NewFlagSet("", pflag.ContinueOnError)
		g.flags(f)
		if err := errors.Join(f.Parse([]string{args}), g.check(false)); !errors.Is(err, errs.Invalid) {
			t.Errorf("%s: %v", args, err)
		}
	}
	for text, want := range map[string]float64{"15.46W": 15.46, "0": 0, "1.2kW": 1200, " 3 W": 3} {
		if got, err := parseWatts(text); err != nil || got != want {
			t.Errorf("%q is %g, %v", text, got, err)
		}
	}
}

// TestEnergyOfADiskAsksAsWell: a device is overwritten only after consent, with a meter too.
func TestEnergyOfADiskAsksAsWell(t *testing.T) {
	s, _ := testSession(t)
	c := Command(s.e)
	c.SetArgs([]string{"energy", "disk", "/dev/hemera-none", "--write-device", "/dev/hemera-none", "--meter", "model:idle=1,peak=2", "--out", filepath.Join(t.TempDir(), "run")})
	c.SilenceErrors, c.SilenceUsage = true, true
	err := c.ExecuteContext(t.Context())
	if err == nil || !strings.Contains(err.Error()+errs.RemedyOf(err), "--yes") {
		t.Errorf("it was not asked for: %v", err)
	}
}

// TestAMeterThatIsNotThereLeavesNothing: if the meter is missing, no files stay, so the next run may use the same --out.
func TestAMeterThatIsNotThereLeavesNothing(t *testing.T) {
	for _, args := range [][]string{
		{"--meter", "ipmi:127.0.0.1", "--", "true"},
		{"--meter", "csv:" + filepath.Join(t.TempDir(), "none"), "--", "true"},
		{"--replay", t.TempDir()},
	} {
		s, _ := testSession(t)
		out := filepath.Join(t.TempDir(), "run")
		c := Command(s.e)
		c.SetArgs(append([]string{"energy", "--out", out}, args...))
		c.SilenceErrors, c.SilenceUsage = true, true
		if err := c.ExecuteContext(t.Context()); err == nil {
			t.Errorf("%q works", args)
		}
		if _, err := os.Stat(out); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%q left a directory: %v", args, err)
		}
	}
}
