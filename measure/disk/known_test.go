package disk_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hemera/measure/disk"
	"hemera/measure/result"
	"hemera/test/fixture/tools"
)

// The kernel limits the rate here, so what must come out is known: from fio, and from the statistics of the device.
func TestALimitedDeviceGivesItsRate(t *testing.T) {
	tools.Need(t, "fio", "losetup")
	device := loopDevice(t, 64<<20)
	const limit = 20e6 // B/s
	throttled(t, device, limit)
	o := small(device)
	o.Loads, o.Streams, o.Iterations, o.For, o.Size = []string{disk.Read}, []int{1}, 1, time.Second, 64<<20
	o.ReadAheads = []int64{128 << 10, 4 << 20}
	rec := result.NewRecorder(t.TempDir(), "disk", nil)
	if err := disk.Run(t.Context(), o, rec); err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, m := range rec.End().Measures {
		if m.Name != "throughput" && m.Name != "device_throughput" {
			continue
		}
		seen++
		// A read-ahead of 4 MiB is a fifth of what passes in the second.
		if v := m.Samples[0]; v < 0.6*limit || v > 1.3*limit {
			t.Errorf("%s %v is %.1f MB/s, and the limit %.1f", m.Name, m.Labels, v/1e6, limit/1e6)
		}
	}
	if seen != 3+2 { // of three steps, and of the device in two of them
		t.Errorf("%d rates", seen)
	}
}

// loopDevice makes a device of a file, which ends with the test.
func loopDevice(t *testing.T, size int) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("loop devices need root")
	}
	file := filepath.Join(t.TempDir(), "disk")
	if err := os.WriteFile(file, make([]byte, size), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("losetup", "--find", "--show", file).CombinedOutput()
	if err != nil {
		t.Skipf("loop devices cannot be made here: %s", out)
	}
	device := strings.TrimSpace(string(out))
	t.Cleanup(func() { _ = exec.Command("losetup", "--detach", device).Run() })
	return device
}

// throttled has fio read a device with at most a rate: it runs in a control group of its own.
func throttled(t *testing.T, device string, rate float64) {
	t.Helper()
	const groups = "/sys/fs/cgroup/blkio"
	number, err := os.ReadFile(filepath.Join("/sys/block", filepath.Base(device), "dev"))
	if err != nil {
		t.Fatal(err)
	}
	group, err := os.MkdirTemp(groups, "hemera-test-")
	if err != nil {
		t.Skipf("rates of devices cannot be limited here: %v", err)
	}
	t.Cleanup(func() { _ = os.Remove(group) })
	if err := os.WriteFile(filepath.Join(group, "blkio.throttle.read_bps_device"), fmt.Appendf(nil, "%s %.0f", strings.TrimSpace(string(number)), rate), 0o600); err != nil {
		t.Skipf("rates of devices cannot be limited here: %v", err)
	}
	fio, err := exec.LookPath("fio")
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	script := fmt.Sprintf("#!/bin/sh\necho $$ >%s/cgroup.procs && exec %s \"$@\"\n", group, fio)
	if err := os.WriteFile(filepath.Join(bin, "fio"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
}
