package disk_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hemera/measure/disk"
	"hemera/measure/host"
	"hemera/measure/result"
	"hemera/test/fixture/tools"
	"hemera/words/errs"
)

// small returns the options of a run of some seconds.
func small(targets ...string) disk.Options {
	return disk.Options{Targets: targets, Loads: disk.Loads(), Streams: []int{1, 2}, Iterations: 2, Size: 8 << 20, For: 50 * time.Millisecond}
}

// empty fails the test if a directory has anything.
func empty(t *testing.T, dir string) {
	t.Helper()
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left in %s: %v, %v", dir, left, err)
	}
}

func TestDirectoriesAreMeasuredAndLeftAsTheyWere(t *testing.T) {
	tools.Need(t, "fio")
	a, b, out := t.TempDir(), t.TempDir(), t.TempDir()
	rec := result.NewRecorder(out, "disk", nil)
	// Users name directories as they see them.
	t.Chdir(filepath.Dir(a))
	relative, err := filepath.Rel(filepath.Dir(a), b)
	if err != nil {
		t.Fatal(err)
	}
	o := small(filepath.Base(a), relative)
	o.Streams, o.Iterations = []int{2}, 1
	if err := disk.Run(t.Context(), o, rec); err != nil {
		t.Fatal(err)
	}
	level := rec.End()
	loads, scaled := map[string]bool{}, map[string]bool{}
	for _, m := range level.Measures {
		if len(m.Samples) != o.Iterations {
			t.Errorf("%s %v has %d samples", m.Name, m.Labels, len(m.Samples))
		}
		if m.Name == "throughput" || m.Name == "rate" {
			loads[m.Labels["load"]] = true
			for _, v := range m.Samples {
				if v <= 0 {
					t.Errorf("%s %v: %v", m.Name, m.Labels, m.Samples)
				}
			}
		}
		scaled[m.Labels["disks"]] = true
	}
	if len(loads) != len(disk.Loads()) || len(level.Iterations) == 0 || len(level.Figures) == 0 || len(level.Tools) != 1 {
		t.Errorf("loads %v, %d iterations, %d figures, tools %v", loads, len(level.Iterations), len(level.Figures), level.Tools)
	}
	if probe, err := host.DiskOf(a); err == nil && !scaled["2"] {
		t.Errorf("two directories of %s were not measured at once", probe)
	}
	if raw, err := os.ReadFile(filepath.Join(out, "raw", "disk-fio.json")); err != nil || strings.Count(string(raw), `"fio version"`) != len(level.Iterations) {
		t.Errorf("raw output of %d bytes for %d steps, %v", len(raw), len(level.Iterations), err)
	}
	empty(t, a)
	empty(t, b)
}

func TestAnInterruptedRunLeavesNothing(t *testing.T) {
	tools.Need(t, "fio")
	dir := t.TempDir()
	before, sweeps := readAheadOf(dir)
	ctx, cancel := context.WithCancel(t.Context())
	o := small(dir)
	o.Loads, o.For = []string{disk.Read}, time.Minute
	if sweeps {
		o.ReadAheads = []int64{before + 128<<10}
	}
	// The run has begun a step when it tells of one, and the first step would last a minute.
	rec := result.NewRecorder(t.TempDir(), "disk", func(_ string, _, _ int, doing string) {
		if strings.Contains(doing, "streams") {
			time.AfterFunc(100*time.Millisecond, cancel)
		}
	})
	if err := disk.Run(ctx, o, rec); !errors.Is(err, context.Canceled) {
		t.Errorf("the run ends with %v", err)
	}
	empty(t, dir)
	if after, _ := readAheadOf(dir); after != before {
		t.Errorf("the read-ahead was %d and is %d", before, after)
	}
}

// readAheadOf returns the read-ahead of the disk of a directory, and whether it can be set.
func readAheadOf(dir string) (bytes int64, ok bool) {
	name, err := host.DiskOf(dir)
	if err != nil {
		return 0, false
	}
	bytes = host.ReadDevice("/", name).ReadAhead
	return bytes, host.SetReadAhead("/", name, bytes) == nil
}

// A loop device is a disk whose file has no other user.
func TestADeviceIsWrittenOnlyIfNamed(t *testing.T) {
	tools.Need(t, "fio", "losetup")
	device := loopDevice(t, 16<<20)
	file := backing(t, device)
	name := filepath.Base(device)
	before := host.ReadDevice("/", name).ReadAhead

	o := small(device)
	o.ReadAheads = []int64{128 << 10, 4 << 20}
	rec := result.NewRecorder(t.TempDir(), "disk", nil)
	if err := disk.Run(t.Context(), o, rec); err != nil {
		t.Fatal(err)
	}
	if zeros(t, file) != 16<<20 {
		t.Error("a device that was to be read was written")
	}
	if after := host.ReadDevice("/", name).ReadAhead; after != before {
		t.Errorf("the read-ahead was %d and is %d", before, after)
	}
	swept := result.Labels{"test": "read-ahead", "load": disk.Read, "mode": "buffered", "streams": "1", "disk": name, "at": "device", "read_ahead_kib": "4096"}
	if m, ok := rec.Find("throughput", swept); !ok || len(m.Samples) != o.Iterations {
		t.Errorf("the sweep has %+v", m)
	}

	o.WriteDevice, o.ReadAheads, o.Loads = device, nil, []string{disk.Write}
	rec = result.NewRecorder(t.TempDir(), "disk", nil)
	if err := disk.Run(t.Context(), o, rec); err != nil {
		t.Fatal(err)
	}
	// How much is written depends on the disk: one request at least, whose bytes are random.
	if n := zeros(t, file); n > 16<<20-1<<19 {
		t.Errorf("%d bytes are still zero after writes", n)
	}
}

// backing returns the file of a loop device.
func backing(t *testing.T, device string) string {
	t.Helper()
	name, err := os.ReadFile(filepath.Join("/sys/block", filepath.Base(device), "loop/backing_file"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(name))
}

// zeros counts the bytes of a file that are zero.
func zeros(t *testing.T, file string) (n int) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range text {
		if b == 0 {
			n++
		}
	}
	return n
}

func TestWithoutFioDisksAreSkipped(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	rec := result.NewRecorder(t.TempDir(), "disk", nil)
	if err := disk.Run(t.Context(), small(t.TempDir()), rec); err != nil {
		t.Fatal(err)
	}
	if l := rec.End(); len(l.Skipped) != 1 || l.Skipped[0].Remedy != "apt install fio" || len(l.Measures) != 0 {
		t.Errorf("%+v", l)
	}
}

func TestFilesThatDoNotFitAreRefused(t *testing.T) {
	tools.Need(t, "fio")
	dir := t.TempDir()
	o := small(dir)
	o.Size = 1 << 50
	rec := result.NewRecorder(t.TempDir(), "disk", nil)
	if err := disk.Run(t.Context(), o, rec); !errors.Is(err, errs.NoSpace) || errs.RemedyOf(err) == "" {
		t.Errorf("a petabyte: %v", err)
	}
	empty(t, dir)
}
