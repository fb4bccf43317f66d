package meter

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"hemera/words/errs"
)

// tree unpacks a recorded tree, and returns its root.
func tree(t *testing.T, name string) string {
	t.Helper()
	a, err := txtar.ParseFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	for _, f := range a.Files {
		put(t, root, f.Name, string(f.Data))
	}
	return root
}

// put writes a file of a tree.
func put(t *testing.T, root, name, text string) {
	t.Helper()
	path := filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// near reports whether two values are equal but for rounding.
func near(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 }

func TestRAPLCountsEachJouleOnce(t *testing.T) {
	const dir = "sys/class/powercap/"
	for _, c := range []struct {
		file, spec string
		next       map[string]string // counters at the second reading
		want       float64           // J
		covers     string
	}{
		// Package 0 wraps: 328,850 µJ to the end of the range and one step to 0, then 671,149 more: 1 J. And 2, 3 and 4 J.
		{"rapl-intel-dram.txtar", "rapl", map[string]string{"intel-rapl:0": "671149", "intel-rapl:0:0": "3000000", "intel-rapl:1": "8000000", "intel-rapl:1:0": "6000000"},
			10, "package-0, dram-0, package-1, dram-1"},
		{"rapl-amd.txtar", "rapl", map[string]string{"intel-rapl:0": "15000000", "intel-rapl:0:0": "8000000"}, 5, "package-0 "},
		{"rapl-psys.txtar", "rapl", map[string]string{"intel-rapl:0": "9000000", "intel-rapl:0:0": "4000000", "intel-rapl:1": "29000000", "intel-rapl-mmio:0": "9000000"}, 2, "package-0 "},
		{"rapl-psys.txtar", "rapl:psys", map[string]string{"intel-rapl:0": "9000000", "intel-rapl:1": "29000000"}, 9, "platform"},
	} {
		root := tree(t, c.file)
		m, err := Open(c.spec, Options{Root: root})
		if err != nil {
			t.Errorf("%s: %v", c.file, err)
			continue
		}
		first, err := m.Read(t.Context())
		if err != nil || first.Value != 0 {
			t.Errorf("%s: the first reading is %v, %v", c.file, first, err)
		}
		for zone, text := range c.next {
			put(t, root, dir+zone+"/energy_uj", text+"\n")
		}
		second, err := m.Read(t.Context())
		if err != nil || !near(second.Value, c.want) {
			t.Errorf("%s %s: %g J, %v; want %g J", c.file, c.spec, second.Value, err, c.want)
		}
		if a := m.About(); !a.Counter || a.Estimate || !strings.Contains(a.Covers+" ", c.covers) {
			t.Errorf("%s: %+v", c.file, a)
		}
	}
	if _, err := Open("rapl:psys", Options{Root: tree(t, "rapl-amd.txtar")}); !errors.Is(err, errs.NotFound) {
		t.Errorf("psys of a machine without one: %v", err)
	}
	if _, err := Open("rapl", Options{Root: t.TempDir()}); !errors.Is(err, errs.NotFound) {
		t.Errorf("a machine without counters: %v", err)
	}
}

func TestWhatAMachineHasIsFound(t *testing.T) {
	none := func(context.Context, []string, string, ...string) (string, error) {
		return "", errs.New(errs.NotFound, "meter.Run", "ipmitool", "it is not installed")
	}
	works := map[string][]string{}
	for file, root := range map[string]string{"psys": tree(t, "rapl-psys.txtar"), "amd": tree(t, "rapl-amd.txtar"), "server": tree(t, "hwmon-server.txtar"), "guest": t.TempDir()} {
		for _, f := range Find(t.Context(), Options{Root: root, Run: none}) {
			if f.Err == nil {
				works[file] = append(works[file], f.Spec)
			} else if errs.RemedyOf(f.Err) == "" {
				t.Errorf("%s, %s: no remedy for %v", file, f.Spec, f.Err)
			}
		}
	}
	if want := map[string][]string{"psys": {"rapl:psys", "rapl"}, "amd": {"rapl"}, "server": {"hwmon"}}; !reflect.DeepEqual(works, want) {
		t.Errorf("found %v, not %v", works, want)
	}
}

func TestHwmonTakesTheWholeMachine(t *testing.T) {
	server, board := tree(t, "hwmon-server.txtar"), tree(t, "hwmon-board.txtar")
	supplies := tree(t, "hwmon-server.txtar")
	if err := os.RemoveAll(filepath.Join(supplies, "sys/class/hwmon/hwmon1")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		root, spec string
		want       float64
		err        error
		every      time.Duration
		estimate   bool
	}{
		{server, "hwmon", 213, nil, time.Second, false},
		{server, "hwmon:pmbus/power2", 100, nil, 100 * time.Millisecond, false},
		{server, "hwmon:pmbus-2/power1", 105.5, nil, 100 * time.Millisecond, false},
		{server, "hwmon:pmbus/in1*curr1", 0, errs.NotFound, 0, false}, // the chip has a power
		{supplies, "hwmon", 215.5, nil, 100 * time.Millisecond, false},
		{board, "hwmon", 0, errs.Invalid, 0, false}, // two sensors, and neither is known to be all
		{board, "hwmon:ina3221/in1*curr1", 18, nil, 100 * time.Millisecond, true},
		{t.TempDir(), "hwmon", 0, errs.NotFound, 0, false},
	} {
		m, err := Open(c.spec, Options{Root: c.root})
		if !errors.Is(err, c.err) {
			t.Errorf("%s: %v, not %v", c.spec, err, c.err)
		}
		if err != nil {
			continue
		}
		p, err := m.Read(t.Context())
		if a := m.About(); err != nil || !near(p.Value, c.want) || a.Every != c.every || a.Estimate != c.estimate {
			t.Errorf("%s: %g W, %v, %+v; want %g W", c.spec, p.Value, err, a, c.want)
		}
	}
	m, err := Open("hwmon:amd_energy/energy1", Options{Root: board})
	if err != nil || !m.About().Counter {
		t.Fatalf("an energy counter: %v", err)
	}
	_, _ = m.Read(t.Context())
	put(t, board, "sys/class/hwmon/hwmon0/energy1_input", "12500000\n")
	if p, err := m.Read(t.Context()); err != nil || !near(p.Value, 3.5) {
		t.Errorf("%g J, %v", p.Value, err)
	}
}

func TestTheModelFollowsTheProcessors(t *testing.T) {
	root, now := t.TempDir(), time.Unix(1000, 0)
	// Of 100 ticks 30 usr, 15 sys, 5 soft: half busy. 10 were another guest's.
	put(t, root, "proc/stat", "cpu  0 0 0 0 0 0 0 0 0 0\n")
	m, err := Open("model:idle=40,peak=58", Options{Root: root, Now: func() time.Time { return now }})
	if err != nil || !m.About().Estimate {
		t.Fatalf("%+v, %v", m, err)
	}
	if p, err := m.Read(t.Context()); err != nil || p.Value != 0 {
		t.Errorf("the first reading is %v, %v", p, err)
	}
	now = now.Add(2 * time.Second)
	put(t, root, "proc/stat", "cpu  30 0 15 40 0 0 5 10 0 0\n")
	if p, err := m.Read(t.Context()); err != nil || !near(p.Value, 2*(40+18*0.5)) {
		t.Errorf("%g J, %v", p.Value, err)
	}
	for _, bad := range []string{"model", "model:idle=40", "model:idle=40,peak=30", "model:idle=x,peak=2", "model:idle=1,peak=2,more=3", "model:idle=-1,peak=2"} {
		if _, err := Open(bad, Options{}); !errors.Is(err, errs.Invalid) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
