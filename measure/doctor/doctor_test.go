package doctor_test

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"hemera/measure/doctor"
	"hemera/words/errs"
)

// load reads a recorded snapshot.
func load(t *testing.T, name string) *doctor.Snapshot {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s, err := doctor.Decode(f, name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// ids returns the findings of a report, as "id subject".
func ids(r doctor.Report) (list []string) {
	for _, f := range r.Findings {
		list = append(list, strings.TrimSpace(f.ID+" "+f.Subject))
	}
	return list
}

// Healthy machines have no findings: a virtual machine that shows neither governor nor SMART, and an aarch64 server that shows both.
func TestHealthyMachinesHaveNoFindings(t *testing.T) {
	for _, name := range []string{"vm", "arm-server"} {
		if r := doctor.Diagnose(load(t, name)); len(r.Findings) > 0 || r.Narrow.Level == "" {
			t.Errorf("%s: %v, narrowest %q", name, ids(r), r.Narrow.Level)
		}
	}
}

// faults returns changes of a healthy server, each with the only finding that must result.
func faults() []struct {
	want     string
	severity doctor.Severity
	plant    func(s *doctor.Snapshot)
} {
	type S = doctor.Snapshot
	return []struct {
		want     string
		severity doctor.Severity
		plant    func(s *doctor.Snapshot)
	}{
		{"smart-failing sda", doctor.Problem, func(s *S) { s.Disks[0].Smart.Passed = false }},
		{"smart-failing sda", doctor.Problem, func(s *S) { s.Disks[0].Smart.Pending = 8 }},
		{"smart-failing sdb", doctor.Risk, func(s *S) { s.Disks[1].Smart.Reallocated = 1200 }},
		{"disk-readahead sdb", doctor.Problem, func(s *S) { s.Disks[1].ReadAhead, s.Filesystems[1].Test.Stream = 128<<10, 180e6 }},
		{"disk-max-sectors sda", doctor.Hint, func(s *S) { s.Disks[0].MaxRequest = 128 << 10 }},
		{"disk-scheduler sda", doctor.Problem, func(s *S) { s.Disks[0].Scheduler, s.Filesystems[0].Test.Many = "none", 60e6 }},
		{"disk-slow sdb", doctor.Problem, func(s *S) {
			s.Disks[1].Direct, s.Filesystems[1].Test.Direct, s.Filesystems[1].Test.Stream, s.Filesystems[1].Test.Many = 90e6, 89e6, 88e6, 87e6
		}},
		{"disk-slow sda", doctor.Problem, func(s *S) {
			s.Disks, s.Filesystems, s.Together = s.Disks[:1], s.Filesystems[:1], 0
			s.Disks[0].Direct, s.Filesystems[0].Test = 20e6, nil
		}},
		{"fs-errors /data02", doctor.Problem, func(s *S) { s.Filesystems[1].Errors = 3 }},
		{"fs-read-only /data02", doctor.Problem, func(s *S) { s.Filesystems[1].Errors, s.Filesystems[1].Options = 3, []string{"ro", "relatime"} }},
		{"fs-mount-options /data01", doctor.Risk, func(s *S) { s.Filesystems[0].Options = append(s.Filesystems[0].Options, "nobarrier") }},
		{"fs-mount-options /data01", doctor.Hint, func(s *S) { s.Filesystems[0].Options = []string{"rw"} }},
		{"fs-nearly-full /data01", doctor.Risk, func(s *S) { s.Filesystems[0].Free = s.Filesystems[0].Total / 50 }},
		{"fs-nearly-full /data01", doctor.Problem, func(s *S) { s.Filesystems[0].Free = 0 }},
		{"fs-inodes /data01", doctor.Risk, func(s *S) { s.Filesystems[0].Files, s.Filesystems[0].FilesLeft = 1000, 30 }},
		{"fs-inodes /data01", doctor.Problem, func(s *S) { s.Filesystems[0].Files, s.Filesystems[0].FilesLeft = 1000, 0 }},
		{"fs-fragmented /data01", doctor.Hint, func(s *S) { s.Filesystems[0].Test.Extents = 9000 }},
		{"fs-slow /data01", doctor.Problem, func(s *S) { s.Filesystems[0].Test.Direct, s.Filesystems[0].Test.Stream = 100e6, 99e6 }},
		{"cpu-governor 64 of 64 cores", doctor.Problem, func(s *S) {
			for i := range s.Processor.Cores {
				s.Processor.Cores[i].Governor, s.Processor.Cores[i].Now = "powersave", 1e9
			}
		}},
		{"cpu-no-crc32", doctor.Hint, func(s *S) { s.Processor.Flags = []string{"asimd", "crc32", "fpu"} }},
		{"cpu-no-simd", doctor.Hint, func(s *S) { s.Processor.Flags = []string{"crc32", "pmull", "fpu"} }},
		{"numa-remote eth0", doctor.Hint, func(s *S) { s.Links[0].NUMANode = 1 }},
		{"bus-shared", doctor.Problem, func(s *S) { s.Together = 300e6 }},
		{"net-errors eth0", doctor.Problem, func(s *S) { s.Links[0].During.Missed = 12 }},
		{"net-errors eth0", doctor.Risk, func(s *S) { s.Links[0].Since.BadReceived = s.Links[0].Since.Received / 100 }},
		{"net-duplex eth0", doctor.Problem, func(s *S) { s.Links[0].Half = true }},
		{"net-irq-one-core eth0", doctor.Hint, func(s *S) { s.Links[0].Interrupts = []uint64{0, 9_000_000, 100, 0} }},
		{"net-coalescing eth0", doctor.Hint, func(s *S) { s.Links[0].Coalesce = &doctor.Delay{} }},
		{"net-buffers", doctor.Problem, func(s *S) { s.Network.ReceiveMax = 64 << 10 }},
		{"net-buffers", doctor.Risk, func(s *S) { s.Network.NoScaling = true }},
		{"net-mtu manager:1094", doctor.Hint, func(s *S) { s.Links[0].MTU = 9000 }},
		{"net-loss manager:1094", doctor.Problem, func(s *S) { s.Cluster.Lost = 40 }},
		{"clock-skew manager:1094", doctor.Problem, func(s *S) { s.Cluster.Skew = -90 * time.Second }},
		{"limit-files", doctor.Risk, func(s *S) { s.Limits.Files = 1024 }},
		{"limit-files process 77", doctor.Problem, func(s *S) { s.Limits.Processes = []doctor.Process{{PID: 77, Open: 1000, FilesMax: 1024}} }},
		{"limit-memory", doctor.Problem, func(s *S) { s.Limits.Killed = 1 }},
		{"limit-memory", doctor.Risk, func(s *S) { s.Memory.Available = s.Memory.Total / 100 }},
		{"cluster-unreachable manager:1094", doctor.Problem, func(s *S) { s.Cluster.Failed = "connection refused" }},
		{"net-loss node3:1095", doctor.Problem, func(s *S) {
			s.Nodes = []doctor.Cluster{{Address: "node2:1095", Version: "0.2.0", Packets: 9000}, {Address: "node3:1095", Packets: 9000, Lost: 90}}
		}},
		{"cluster-unreachable node3:1095", doctor.Problem, func(s *S) { s.Nodes = []doctor.Cluster{{Address: "node3:1095", Failed: "connection refused"}} }},
		{"cluster-version manager:1094", doctor.Risk, func(s *S) { s.Cluster.Version = "0.1.0" }},
	}
}

func TestEachFaultIsNamedAlone(t *testing.T) {
	planted := map[string]bool{}
	for _, c := range faults() {
		s := load(t, "arm-server")
		c.plant(s)
		r := doctor.Diagnose(s)
		if got := ids(r); len(got) != 1 || got[0] != c.want {
			t.Errorf("want %q, got %q", c.want, got)
			continue
		}
		f := r.Findings[0]
		planted[f.ID] = true
		if f.Severity != c.severity || f.Level == "" || f.Remedy == "" || !strings.ContainsAny(f.Evidence, "0123456789:") && f.ID != "smart-failing" && f.ID != "cluster-unreachable" && !strings.HasPrefix(f.ID, "cpu-") {
			t.Errorf("%s: %+v", c.want, f)
		}
	}
	for _, k := range doctor.Catalogue() {
		if !planted[k.ID] {
			t.Errorf("no fault shows %s", k.ID)
		}
	}
}

// docs/doctor.md has one section for each id, and no other, with the title of the catalogue.
func TestEachIDHasASection(t *testing.T) {
	text, err := os.ReadFile("../../docs/doctor.md")
	if err != nil {
		t.Fatal(err)
	}
	var sections, want []string
	for _, m := range regexp.MustCompile(`(?m)^### ([a-z0-9-]+)\n\n(.*)$`).FindAllStringSubmatch(string(text), -1) {
		sections = append(sections, m[1])
		if i := slices.IndexFunc(doctor.Catalogue(), func(k doctor.Kind) bool { return k.ID == m[1] }); i >= 0 && !strings.HasPrefix(m[2], doctor.Catalogue()[i].Title+".") {
			t.Errorf("the section %s begins %q, the catalogue says %q", m[1], m[2], doctor.Catalogue()[i].Title)
		}
	}
	for _, k := range doctor.Catalogue() {
		want = append(want, k.ID)
	}
	if !slices.Equal(sections, want) {
		t.Errorf("docs/doctor.md has\n%q, the catalogue\n%q", sections, want)
	}
}

func TestNarrowestLevel(t *testing.T) {
	for name, c := range map[string]struct {
		change func(s *doctor.Snapshot)
		want   string
	}{
		"disks":  {func(*doctor.Snapshot) {}, doctor.LevelDevice},
		"card":   {func(s *doctor.Snapshot) { s.Links[0].Speed = 125e6 }, doctor.LevelNIC},
		"memory": {func(s *doctor.Snapshot) { s.Memory.Copy = 100e6 }, doctor.LevelMemory},
		"bus":    {func(s *doctor.Snapshot) { s.Together = 400e6; many(s, 130e6) }, doctor.LevelBus},
		"fs": {func(s *doctor.Snapshot) {
			for i := range s.Filesystems {
				s.Filesystems[i].Test.Direct = 131e6
			}
			many(s, 130e6)
		}, doctor.LevelFilesystem},
		"streams": {func(s *doctor.Snapshot) { many(s, 130e6) }, doctor.LevelMany},
	} {
		s := load(t, "arm-server")
		c.change(s)
		if got := doctor.Diagnose(s).Narrow; got.Level != c.want || got.Why == "" || got.Rate <= 0 {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got := doctor.Diagnose(&doctor.Snapshot{}).Narrow; got.Level != "" {
		t.Errorf("nothing was measured, and %q is the narrowest", got.Level)
	}
}

// many sets what many streams reach on each file system.
func many(s *doctor.Snapshot, rate float64) {
	for i := range s.Filesystems {
		s.Filesystems[i].Test.Many = rate
	}
}

func TestForeignSnapshotsAreRefused(t *testing.T) {
	for _, text := range []string{"", "[]", "{}", `{"schema": 2}`} {
		if _, err := doctor.Decode(strings.NewReader(text), "x"); !errors.Is(err, errs.Invalid) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
