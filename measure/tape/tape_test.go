package tape

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"hemera/measure/result"
	"hemera/words/errs"
	"hemera/words/tapeapi"
)

// TestContentIsThatOfTheFile: whatever is written at a time, pages repeat one byte each, and neither neighbours nor files are equal.
func TestContentIsThatOfTheFile(t *testing.T) {
	whole := make([]byte, 9*pageSize+100)
	fill(whole, 3, 0)
	for offset := 0; offset < len(whole); offset += 2 * pageSize {
		part := make([]byte, min(2*pageSize, len(whole)-offset))
		if fill(part, 3, int64(offset)); !bytes.Equal(part, whole[offset:offset+len(part)]) {
			t.Errorf("the content at %d is another one", offset)
		}
	}
	for page := range 9 {
		b := whole[page*pageSize : (page+1)*pageSize]
		if bytes.Count(b, b[:1]) != pageSize || b[0] == whole[(page+1)*pageSize] {
			t.Errorf("page %d", page)
		}
	}
	other := make([]byte, len(whole))
	if fill(other, 4, 0); bytes.Equal(other, whole) {
		t.Error("two files are equal")
	}
}

// TestStream: it reads all of its file, removes it, and ends with its context.
func TestStream(t *testing.T) {
	dir := t.TempDir()
	if rate, err := stream(t.Context(), dir, 3<<20); err != nil || rate <= 0 {
		t.Error(rate, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := stream(ctx, dir, 3<<20); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Error("files are left", left, err)
	}
}

// TestSessionsOfADriveAreOne: a drive's sessions are added up without the positioning before the first byte, and each drive has its own figures.
func TestSessionsOfADriveAreOne(t *testing.T) {
	r := &run{o: &Options{}, rec: result.NewRecorder(t.TempDir(), "tape", nil)}
	course := []tapeapi.Sample{{At: 30 * time.Second}, {At: 31 * time.Second, Bytes: 4e8, Disk: 250 * time.Millisecond}, {At: 32 * time.Second, Bytes: 8e8, Disk: 250 * time.Millisecond, BackHitches: 1}}
	sessions := []tapeapi.Session{
		{VID: "V00002", Files: 1, Bytes: 2e8, Elapsed: time.Second},
		{VID: "V00001", Files: 2, Bytes: 8e8, Elapsed: 32 * time.Second, Tape: 30 * time.Second, Course: course},
		{VID: "V00001", Files: 1, Bytes: 4e8, Elapsed: time.Second, Network: time.Second},
	}
	labels := result.Labels{"test": "large", "drives": "2"}
	r.add(pass{labels: labels, drives: 2, course: true, small: true}, "archive", sessions)
	want := func(drive, name string, value float64) {
		m, ok := r.rec.Find(name, result.Labels{"test": "large", "drives": "2", "load": "archive", "drive": drive})
		if !ok || len(m.Samples) != 1 || m.Samples[0] != value {
			t.Errorf("drive %s, %s: %v, want %g", drive, name, m.Samples, value)
		}
	}
	want("1", "throughput", 4e8)
	want("1", "share", 1)
	want("1", "rate", 1)
	want("1", "wait_network", 1)
	want("2", "throughput", 2e8)
	want("2", "share", 0.5)
	m, _ := r.rec.Find("session_wait_disk", result.Labels{"test": "large", "drives": "2", "load": "archive", "drive": "1"})
	if len(m.Series) != 2 || m.Series[0] != (result.Point{At: 31, Value: 0.25}) || m.Series[1].Value != 0 {
		t.Errorf("waits over time: %+v", m.Series)
	}
	if len(labels) != 2 {
		t.Error("the labels of the pass were changed", labels)
	}
}

// TestOptions: what cannot be measured is refused before anything is made.
func TestOptions(t *testing.T) {
	good := func() Options {
		return Options{Directories: []string{t.TempDir()}, Drives: []int{1, 2}, Size: 1 << 30, FileSize: 1 << 28, Small: []int64{1}, SmallFiles: 10, Iterations: 1}
	}
	o := good()
	if err := o.Check(); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(*Options){
		"no directory": func(o *Options) { o.Directories = nil },
		"a file": func(o *Options) {
			o.Directories = []string{filepath.Join(o.Directories[0], "f")}
			_ = os.WriteFile(o.Directories[0], nil, 0o600)
		},
		"a large file":        func(o *Options) { o.FileSize = o.Size + 1 },
		"no drive":            func(o *Options) { o.Drives = []int{0} },
		"an empty small file": func(o *Options) { o.Small = []int64{0} },
		"no iteration":        func(o *Options) { o.Iterations = 0 },
	} {
		o := good()
		spoil(&o)
		if err := o.Check(); !errors.Is(err, errs.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	o.Directories = []string{filepath.Join(o.Directories[0], "missing")}
	if err := o.Check(); !errors.Is(err, errs.NotFound) {
		t.Error(err)
	}
}

// TestEveryFigureHasValues: each figure names measures that a run makes.
func TestEveryFigureHasValues(t *testing.T) {
	o := &Options{Drives: []int{1, 2}, Small: []int64{1000}}
	made := map[string]bool{"throughput": true, "rate": true, "session_rate": true, "session_buffered": true, "session_back_hitches": true,
		"session_wait_disk": true, "session_wait_network": true, "session_wait_tape": true}
	ids := map[string]bool{}
	for _, f := range figures(o) {
		if ids[f.ID] {
			t.Errorf("two figures %s", f.ID)
		}
		ids[f.ID] = true
		for _, n := range f.Names {
			if !made[n] {
				t.Errorf("%s shows %s, which nothing measures", f.ID, n)
			}
		}
	}
}
