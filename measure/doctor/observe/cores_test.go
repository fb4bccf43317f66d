package observe

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"hemera/measure/doctor"
	"hemera/measure/host"
)

// Cores that stay slow while all of them work are named; those that a governor keeps fast are not, nor are those without a governor. The load is real, the
// tree of frequencies is made.
func TestCoresThatStaySlow(t *testing.T) {
	for name, c := range map[string]struct {
		governor, now string
		want          int
	}{
		"powersave, slow":   {"powersave", "1000000", 1},
		"powersave, fast":   {"powersave", "2500000", 0},
		"performance, slow": {"performance", "1000000", 0},
		"no governor":       {"", "", 0},
	} {
		root := t.TempDir()
		if c.governor != "" {
			dir := filepath.Join(root, "sys/devices/system/cpu/cpu0/cpufreq")
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			for file, text := range map[string]string{"scaling_governor": c.governor, "scaling_cur_freq": c.now, "cpuinfo_max_freq": "2600000"} {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text+"\n"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
		v := &observer{Options: Options{Root: root, For: 20 * time.Millisecond}, s: &doctor.Snapshot{Machine: host.Describe(root, "local")}}
		v.processor()
		v.cores(t.Context())
		r := doctor.Diagnose(v.s)
		if len(r.Findings) != c.want || c.want > 0 && (r.Findings[0].ID != "cpu-governor" || r.Findings[0].Fix == nil) {
			t.Errorf("%s: %+v", name, r.Findings)
		}
		if unseen := len(v.s.Unseen) > 0; unseen != (c.governor == "") {
			t.Errorf("%s: not visible %+v", name, v.s.Unseen)
		}
	}
}

// Real outputs of the programs that are asked, and those of hardware that is not here as their manuals have them.
func TestParsers(t *testing.T) {
	read := func(name string) []byte {
		b, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	if got := parseSmart(read("smartctl-ata.json")); got == nil || *got != (doctor.Smart{Passed: true, Reallocated: 16, Pending: 8, Hours: 31022}) {
		t.Errorf("ATA: %+v", got)
	}
	if got := parseSmart(read("smartctl-nvme.json")); got == nil || *got != (doctor.Smart{Passed: false, MediaErrors: 3, Used: 104, Hours: 20110}) {
		t.Errorf("NVMe: %+v", got)
	}
	if got := parseSmart(read("smartctl-none.json")); got != nil {
		t.Errorf("no assessment: %+v", got)
	}
	if got := parseCoalesce(string(read("ethtool-c.txt"))); got == nil || *got != (doctor.Delay{Adaptive: true, Receive: 8 * time.Microsecond, Frames: 128}) {
		t.Errorf("coalescing: %+v", got)
	}
	if got := parseCoalesce(string(read("ethtool-c-none.txt"))); got != nil {
		t.Errorf("no coalescing: %+v", got)
	}
}

// The outputs are of other machines: see testdata/README.md.
func TestParsersOnRealHardware(t *testing.T) {
	text, err := os.ReadFile("testdata/smartctl-machines.json")
	if err != nil {
		t.Fatal(err)
	}
	var disks map[string]json.RawMessage
	if err := json.Unmarshal(text, &disks); err != nil {
		t.Fatal(err)
	}
	want := map[string]*doctor.Smart{
		"toshiba-sas": {Passed: true, Hours: 12437}, "hitachi-sas": {Passed: true, Hours: 22364}, "sas-defects": {Passed: true, Reallocated: 240},
		"sas-ssd": {Passed: true, Used: 11, Hours: 26195}, "intel-nvme": {Passed: true, Hours: 22944}, "seagate-sata": {Passed: true, Hours: 100216},
		"hba-hides": nil, "no-device": nil,
	}
	for name, disk := range disks {
		w, known := want[name]
		if got := parseSmart(disk); !known || !reflect.DeepEqual(got, w) {
			t.Errorf("%s: %+v, want %+v", name, got, w)
		}
	}
	if len(disks) != len(want) {
		t.Errorf("%d disks, want %d", len(disks), len(want))
	}
	// No recorded SAS disk had lost something.
	lost := []byte(`{"smart_status": {"passed": true}, "scsi_error_counter_log": {"read": {"total_uncorrected_errors": 2}, "verify": {"total_uncorrected_errors": 1}}}`)
	if got := parseSmart(lost); got == nil || got.MediaErrors != 3 {
		t.Errorf("lost sectors: %+v", got)
	}
	for name, w := range map[string]doctor.Delay{
		"gigabit": {Receive: 3 * time.Microsecond}, "2011": {Adaptive: true, Receive: 16 * time.Microsecond, Frames: 88},
		"hns3": {Adaptive: true, Receive: 20 * time.Microsecond}, "ena": {},
	} {
		text, err := os.ReadFile("testdata/ethtool-c-" + name + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		if got := parseCoalesce(string(text)); got == nil || *got != w {
			t.Errorf("%s: %+v, want %+v", name, got, w)
		}
	}
}

func TestTheDateOfAnAnswer(t *testing.T) {
	began := time.Date(2026, 11, 23, 12, 0, 0, 400e6, time.UTC)
	ahead, by := skew(began.Truncate(time.Second), began, 200*time.Millisecond)
	if ahead != 0 || by != 600*time.Millisecond {
		t.Errorf("ahead %v ± %v", ahead, by)
	}
}

func TestExtentsJoin(t *testing.T) {
	got := join([]extent{{0, 100, 10}}, []extent{{10, 110, 10}, {20, 300, 5}, {30, 305, 5}})
	if len(got) != 3 || got[0] != (extent{0, 100, 20}) {
		t.Errorf("joined %v", got)
	}
	if at := chunks([]extent{{0, 4096, depth * block}}, 32<<20); len(at) != depth || at[1] != 4096+block {
		t.Errorf("chunks %v", at)
	}
	if at := chunks(nil, 32<<20); len(at) != 32 || at[1] != block {
		t.Errorf("without extents %v", at)
	}
}
