package settings_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hemera/measure/doctor"
	"hemera/measure/doctor/settings"
	"hemera/words/errs"
)

// machine makes a tree with three settings.
func machine(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for file, text := range map[string]string{
		"sys/block/sda/queue/read_ahead_kb":                       "128\n",
		"sys/block/sda/queue/scheduler":                           "[none] mq-deadline\n",
		"proc/sys/net/ipv4/tcp_rmem":                              "4096\t131072\t65536\n",
		"sys/devices/system/cpu/cpu0/cpufreq/scaling_governor":    "powersave\n",
		"sys/devices/system/cpu/cpu1/cpufreq/scaling_governor":    "powersave\n",
		"sys/devices/system/cpu/cpufreq/policy0/scaling_governor": "powersave\n",
		"etc/passwd": "root\n",
	} {
		put(t, filepath.Join(root, file), text)
	}
	return root
}

func put(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func text(t *testing.T, root, file string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(b))
}

func fix(id, file, value string) doctor.Finding {
	return doctor.Finding{ID: id, Fix: &doctor.Fix{File: file, Value: value}}
}

func TestChangesArePutBack(t *testing.T) {
	root, undo := machine(t), filepath.Join(t.TempDir(), "state", "undo.json")
	list, err := settings.Plan(root, []doctor.Finding{
		fix("disk-readahead", "sys/block/sda/queue/read_ahead_kb", "32768"),
		fix("disk-scheduler", "sys/block/sda/queue/scheduler", "mq-deadline"),
		fix("net-buffers", "proc/sys/net/ipv4/tcp_rmem", "4096 131072 33554432"),
		fix("cpu-governor", "sys/devices/system/cpu/cpu*/cpufreq/scaling_governor", "performance"),
		{ID: "fs-nearly-full"},
	})
	if err != nil || len(list) != 5 {
		t.Fatalf("%d changes: %v, %v", len(list), list, err)
	}
	if list[1].Before != "none" || list[2].Before != "4096 131072 65536" {
		t.Errorf("before: %+v", list)
	}
	made, err := settings.Apply(root, undo, list)
	if err != nil || len(made) != 5 {
		t.Fatalf("%d made: %v", len(made), err)
	}
	if got := text(t, root, "sys/block/sda/queue/read_ahead_kb"); got != "32768" {
		t.Errorf("read-ahead %q", got)
	}
	// Changed once more: the first value is what is put back.
	again, err := settings.Plan(root, []doctor.Finding{fix("disk-readahead", "sys/block/sda/queue/read_ahead_kb", "8192"), fix("cpu-governor", "sys/devices/system/cpu/cpu*/cpufreq/scaling_governor", "performance")})
	if err != nil || len(again) != 1 {
		t.Fatalf("%v, %v", again, err)
	}
	if _, err := settings.Apply(root, undo, again); err != nil {
		t.Fatal(err)
	}
	// Somebody else chose a governor meanwhile.
	put(t, filepath.Join(root, "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor"), "ondemand\n")
	back, left, err := settings.Undo(root, undo)
	if err != nil || len(back) != 4 || len(left) != 1 || left[0].Before != "powersave" {
		t.Fatalf("back %v, left %v, %v", back, left, err)
	}
	for file, want := range map[string]string{
		"sys/block/sda/queue/read_ahead_kb":                    "128",
		"sys/block/sda/queue/scheduler":                        "none",
		"proc/sys/net/ipv4/tcp_rmem":                           "4096 131072 65536",
		"sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "powersave",
		"sys/devices/system/cpu/cpu1/cpufreq/scaling_governor": "ondemand",
	} {
		if got := text(t, root, file); got != want {
			t.Errorf("%s is %q, want %q", file, got, want)
		}
	}
	// The setting that was left stays in the file, and is removed when it has its old value, as after a restart.
	put(t, filepath.Join(root, "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor"), "powersave\n")
	if back, left, err := settings.Undo(root, undo); err != nil || len(back)+len(left) != 0 {
		t.Errorf("back %v, left %v, %v", back, left, err)
	}
	if _, _, err := settings.Undo(root, undo); !errors.Is(err, errs.NotFound) {
		t.Errorf("a second time: %v", err)
	}
}

func TestOnlySettingsAreWritten(t *testing.T) {
	root := machine(t)
	for _, file := range []string{"etc/passwd", "/etc/passwd", "sys/../etc/passwd", "proc/1/oom_score_adj"} {
		if _, err := settings.Plan(root, []doctor.Finding{fix("x", file, "1")}); !errors.Is(err, errs.Denied) {
			t.Errorf("%s: %v", file, err)
		}
	}
	undo := filepath.Join(t.TempDir(), "undo.json")
	put(t, undo, `[{"file": "etc/passwd", "before": "evil", "after": "root"}]`)
	if _, _, err := settings.Undo(root, undo); !errors.Is(err, errs.Denied) || text(t, root, "etc/passwd") != "root" {
		t.Errorf("%v", err)
	}
	put(t, undo, "{")
	if _, _, err := settings.Undo(root, undo); !errors.Is(err, errs.Invalid) {
		t.Errorf("%v", err)
	}
	if _, err := settings.Plan(root, []doctor.Finding{fix("x", "sys/block/sdb/queue/scheduler", "none")}); !errors.Is(err, errs.NotFound) {
		t.Errorf("no such disk: %v", err)
	}
}
