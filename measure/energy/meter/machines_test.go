package meter

import (
	"errors"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"hemera/words/errs"
)

// parts returns the sections of a file of testdata/machines by their names.
func parts(t *testing.T, name string) map[string]string {
	t.Helper()
	a, err := txtar.ParseFile("testdata/machines/" + name)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, f := range a.Files {
		all[f.Name] = string(f.Data)
	}
	return all
}

// reading is the expected result of a parser for the output of a machine.
type reading struct {
	watts float64
	err   error
}

// check compares a parser's answers with those that are wanted. Each section of the file needs one.
func check(t *testing.T, file string, want map[string]reading, parse func(name, text string) (float64, error)) {
	t.Helper()
	all := parts(t, file)
	if len(all) != len(want) {
		t.Errorf("%s has %d machines, and %d are wanted", file, len(all), len(want))
	}
	for name, text := range all {
		w, known := want[name]
		got, err := parse(name, text)
		if !known || !errors.Is(err, w.err) || err == nil && got != w.watts {
			t.Errorf("%s, %s: %g W, %v; want %g W, %v", file, name, got, err, w.watts, w.err)
		}
	}
}

func TestPowersOfRealControllers(t *testing.T) {
	check(t, "dcmi.txtar", map[string]reading{
		"supermicro": {109, nil}, "long": {197, nil}, "old": {215, nil}, "openbmc": {319, nil},
		"openbmc-none": {0, errs.Unavailable}, "refused": {0, errs.Unsupported},
	}, func(_, text string) (float64, error) { return ParseDCMI(text) })
}

// TestEnergiesOfRealProcessors: what the owners' tools said that a machine took in a second.
func TestEnergiesOfRealProcessors(t *testing.T) {
	const dir = "sys/class/powercap/"
	for _, c := range []struct {
		file, spec string
		next       map[string]string // counters one second later
		want       float64           // J
		covers     string
	}{
		// 24 and 2 J. The cores' 20 and the graphics' 1 are parts of the 24.
		{"rapl-haswell.txtar", "rapl", map[string]string{"intel-rapl:0": "24000000", "intel-rapl:0:0": "20000000", "intel-rapl:0:1": "1000000", "intel-rapl:0:2": "2471474853"}, 26, "package-0, dram-0 of"},
		// The published energies of sockets and memory.
		{"rapl-two-sockets.txtar", "rapl", map[string]string{"intel-rapl:0": "15061086", "intel-rapl:0:0": "1214757", "intel-rapl:1": "8743361", "intel-rapl:1:0": "888699"},
			15.061086 + 1.214757 + 8.743361 + 0.888699, "package-0, dram-0, package-1, dram-1 of"},
		{"rapl-notebook.txtar", "rapl", map[string]string{"intel-rapl:0": "5000000", "intel-rapl:0:0": "3000000", "intel-rapl:1": "9000000"}, 5, "package-0 of"},
		{"rapl-notebook.txtar", "rapl:psys", map[string]string{"intel-rapl:0": "5000000", "intel-rapl:1": "9000000"}, 9, "the platform of"},
		{"rapl-lunar.txtar", "rapl", map[string]string{"intel-rapl:0": "26968529117", "intel-rapl:0:0": "7983278886"}, 5, "package-0 of"},
		// Both dies show the socket: 68 J, not 136.
		{"rapl-threadripper.txtar", "rapl", map[string]string{"intel-rapl:0": "10428237493", "intel-rapl:1": "10427908363"}, 68, "package-0-die-0 of"},
	} {
		root := tree(t, "machines/"+c.file)
		m, err := Open(c.spec, Options{Root: root})
		if err != nil {
			t.Errorf("%s: %v", c.file, err)
			continue
		}
		if p, err := m.Read(t.Context()); err != nil || p.Value != 0 {
			t.Errorf("%s: the first reading is %v, %v", c.file, p, err)
		}
		for zone, text := range c.next {
			put(t, root, dir+zone+"/energy_uj", text+"\n")
		}
		p, err := m.Read(t.Context())
		if covers := m.About().Covers; err != nil || !near(p.Value, c.want) || !strings.HasPrefix(covers, c.covers) {
			t.Errorf("%s %s: %g J of %s, %v; want %g J of %s", c.file, c.spec, p.Value, covers, err, c.want, c.covers)
		}
	}
	// Dies of Intel have counters of their own.
	root := tree(t, "machines/rapl-threadripper.txtar")
	put(t, root, "proc/cpuinfo", "vendor_id\t: GenuineIntel\n")
	if m, err := Open("rapl", Options{Root: root}); err != nil || !strings.HasPrefix(m.About().Covers, "package-0-die-0, package-0-die-1 of") {
		t.Errorf("two dies of Intel: %+v, %v", m, err)
	}
}

func TestSensorsOfRealMachines(t *testing.T) {
	acpi, corsair := tree(t, "machines/hwmon-acpi.txtar"), tree(t, "machines/hwmon-corsair.txtar")
	m, err := Open("hwmon", Options{Root: acpi})
	if err != nil || m.About().Every != time.Second {
		t.Fatalf("%+v, %v", m, err)
	}
	if p, err := m.Read(t.Context()); err != nil || p.Value != 262 {
		t.Errorf("%g W, %v", p.Value, err)
	}
	// sensors(1) shows this as 4.29 MW.
	put(t, acpi, "sys/class/hwmon/hwmon1/power1_average", "4294967295000\n")
	if p, err := m.Read(t.Context()); !errors.Is(err, errs.Unavailable) || errs.RemedyOf(err) == "" {
		t.Errorf("an unknown power: %g W, %v", p.Value, err)
	}
	// Three of the four are parts of the first, which a program cannot find out.
	if _, err := Open("hwmon", Options{Root: corsair}); !errors.Is(err, errs.Invalid) || !strings.Contains(errs.RemedyOf(err), "hwmon:corsairpsu/power1") {
		t.Errorf("a supply with four powers: %v", err)
	}
	m, err = Open("hwmon:corsairpsu/power1", Options{Root: corsair})
	if err != nil {
		t.Fatal(err)
	}
	if p, err := m.Read(t.Context()); err != nil || p.Value != 174 || !strings.Contains(m.About().Covers, "power total") {
		t.Errorf("%g W of %s, %v", p.Value, m.About().Covers, err)
	}
}
