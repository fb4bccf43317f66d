package meter

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hemera/words/errs"
)

// recorded returns a file of testdata.
func recorded(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestDCMI(t *testing.T) {
	for _, c := range []struct {
		text string
		want float64
		err  error
	}{
		{recorded(t, "dcmi.txt"), 214, nil},
		{recorded(t, "dcmi-off.txt"), 0, errs.Unavailable},
		{"", 0, errs.Unsupported},
		{"    Instantaneous power reading:    many Watts\n", 0, errs.Invalid},
		{"    Instantaneous power reading:    -1 Watts\n", 0, errs.Invalid},
		{"    Instantaneous power reading:    12 Volts\n", 0, errs.Invalid},
	} {
		if got, err := ParseDCMI(c.text); got != c.want && c.err == nil || !errors.Is(err, c.err) {
			t.Errorf("%q: %g W, %v; want %g W, %v", c.text, got, err, c.want, c.err)
		}
	}
}

func TestARecordingIsRead(t *testing.T) {
	got, err := ParseRecording(strings.NewReader(recorded(t, "meter.csv")), "meter.csv")
	if err != nil || got.Counter || !got.Cut || len(got.Points) != 4 {
		t.Fatalf("%+v, %v", got, err)
	}
	start := time.Date(2026, 11, 23, 20, 0, 0, 0, time.UTC)
	for i, want := range []Point{{start, 56.36}, {start.Add(1500 * time.Millisecond), 56.4}, {start.Add(2250 * time.Millisecond), 58.9}, {start.Add(3 * time.Second), 57}} {
		if p := got.Points[i]; !p.At.Equal(want.At) || p.Value != want.Value {
			t.Errorf("point %d is %v, not %v", i, p, want)
		}
	}
	for _, text := range []string{"a,b\n1,2\n", "1\n", "1,x\n", "-1,2\n", "1,NaN\n", "yesterday,2\n", "1e30,2\n"} {
		if _, err := ParseRecording(strings.NewReader(text), "x"); !errors.Is(err, errs.Invalid) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	var text strings.Builder
	want := []Point{{time.Unix(1795464000, 123456789), 0}, {time.Unix(1795464001, 1), math.Pi}, {time.Unix(1795464002, 0), 1e-300}}
	if err := WriteHead(&text, About{Name: "rapl", Covers: "a, b", Counter: true}); err != nil {
		t.Fatal(err)
	}
	for _, p := range want {
		if err := WritePoint(&text, p); err != nil {
			t.Fatal(err)
		}
	}
	got, err := ParseRecording(strings.NewReader(text.String()), "x")
	if err != nil || !got.Counter || got.Cut || len(got.Points) != len(want) {
		t.Fatalf("%+v, %v", got, err)
	}
	for i, p := range got.Points {
		if !p.At.Equal(want[i].At) || p.Value != want[i].Value {
			t.Errorf("point %d is %v, not %v", i, p, want[i])
		}
	}
}

func FuzzParseRecording(f *testing.F) {
	f.Add("time,watts\n1,2\n")
	f.Add("2026-11-23T20:00:00Z,56.36\n")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := ParseRecording(strings.NewReader(text), "x")
		for _, p := range got.Points {
			if err == nil && (math.IsNaN(p.Value) || math.IsInf(p.Value, 0)) {
				t.Errorf("%q has %v", text, p)
			}
		}
	})
}

func TestCountersWrap(t *testing.T) {
	for _, c := range []struct {
		name string
		span uint64
		read []uint64
		want float64
	}{
		{"nothing happens", 100, []uint64{7, 7}, 0},
		{"it grows", 100, []uint64{7, 9, 20}, 13},
		{"it wraps", 100, []uint64{98, 3}, 5},
		{"it wraps twice", 100, []uint64{98, 3, 99, 0}, 102},
		{"it has no span and was reset", 0, []uint64{98, 3}, 3},
		{"the first value is none of ours", 100, []uint64{98}, 0},
		{"a value beyond the range", 50, []uint64{98, 3}, 3},
	} {
		var k counter
		got := 0.0
		for _, v := range c.read {
			got = k.add(v, c.span)
		}
		if got != c.want {
			t.Errorf("%s: %g, not %g", c.name, got, c.want)
		}
	}
}

// TestARecordingOfAnotherClock: the shift is added to the times, of the last reading too, and said.
func TestARecordingOfAnotherClock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "power.csv")
	if err := os.WriteFile(path, []byte("2026-11-23T21:00:00Z,56.4\n2026-11-23T21:00:01Z,57\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	last := time.Date(2026, 11, 23, 21, 0, 1, 0, time.UTC)
	for _, shift := range []time.Duration{0, 3 * time.Second, -1500 * time.Millisecond} {
		m, err := Open("csv:"+path, Options{Shift: shift})
		if err != nil {
			t.Fatal(err)
		}
		points, err := m.(Recorded).Points()
		now, err2 := m.Read(t.Context())
		if err != nil || err2 != nil || len(points) != 2 || points[1] != now || !now.At.Equal(last.Add(shift)) || points[1].At.Sub(points[0].At) != time.Second {
			t.Errorf("%v: %v, %v, %v, %v", shift, points, now, err, err2)
		}
		if covers := m.About().Covers; strings.Contains(covers, "shifted") != (shift != 0) || shift != 0 && !strings.Contains(covers, shift.String()) {
			t.Errorf("%v: it covers %q", shift, covers)
		}
	}
}
