package host_test

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"hemera/measure/host"
	"hemera/measure/result"
	"hemera/words/errs"
)

// tree makes a recorded tree below a new directory.
func tree(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name+".tree"))
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	for _, part := range strings.Split("\n"+string(text), "\n== ")[1:] {
		head, body, _ := strings.Cut(part, "\n")
		path, target, link := strings.Cut(head, " -> ")
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if link {
			err = os.Symlink(target, path)
		} else {
			err = os.WriteFile(path, []byte(body), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestDescribe(t *testing.T) {
	for name, want := range map[string]result.Machine{
		"x86": {
			Name: "node1", Role: "node", Arch: "amd64", CPU: "AMD EPYC", Cores: 2, Memory: 24684084 << 10, Kernel: "6.18.44-fc-v669",
			System: "Debian GNU/Linux 12 (bookworm)", Virtual: "unknown hypervisor",
			Disks: []result.Device{{Name: "vda", Size: 256 << 30, Rotating: true, Scheduler: "mq-deadline", ReadAhead: 8 << 20}},
			Links: []result.Link{{Name: "eth0", MTU: 1400}},
		},
		"aarch64": {
			Name: "hc4-03", Role: "node", Arch: "arm64", CPU: "Hardkernel ODROID-HC4, ARM Cortex-A55", Cores: 4, Memory: 3792544 << 10,
			Kernel: "6.1.77-meson64", System: "Armbian 24.2 bookworm",
			Disks: []result.Device{
				{Name: "mmcblk0", Size: 62333952 * 512, Scheduler: "none", ReadAhead: 128 << 10},
				{Name: "sda", Model: "ATA ST16000NM001G-2K", Size: 31251759104 * 512, Rotating: true, Scheduler: "bfq", ReadAhead: 128 << 10},
			},
			Links: []result.Link{{Name: "eth0", Speed: 125e6, MTU: 1500}},
		},
	} {
		if got := host.Describe(tree(t, name), "node"); !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n got %+v\nwant %+v", name, got, want)
		}
	}
	if got := host.Describe(t.TempDir(), "client"); got.Arch == "" || got.Cores != 0 {
		t.Errorf("an empty tree: %+v", got)
	}
}

func TestThisMachine(t *testing.T) {
	if m := host.Describe("/", "local"); m.Name == "" || m.Cores == 0 || m.Memory == 0 || m.Kernel == "" {
		t.Errorf("%+v", m)
	}
	p, err := host.ReadProcess("/", os.Getpid())
	if err != nil || p.Resident <= 0 || p.Peak < p.Resident || p.Threads < 1 {
		t.Errorf("%+v, %v", p, err)
	}
	if _, err := host.ReadProcess("/", 1<<30); !errors.Is(err, errs.NotFound) {
		t.Errorf("no process: %v", err)
	}
	if _, err := host.DiskOf("/proc"); !errors.Is(err, errs.NotFound) {
		t.Errorf("/proc is on a disk: %v", err)
	}
	if _, err := host.ReadBlocks("/"); err != nil {
		t.Error(err)
	}
}

func TestSharesOfCores(t *testing.T) {
	parse := func(text string) host.CPU {
		c, err := host.ParseCPU(text)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	before := parse("cpu  100 10 50 1000 20 5 5 10 0 0\ncpu0 100 10 50 1000 20 5 5 10 0 0\ncpu2 0 0 0 0\n")
	after := parse("cpu  130 20 70 1015 15 10 15 20 0 0\ncpu1 9 9 9 9\ncpu0 130 20 70 1015 25 10 15 20 0 0\nintr 1\n")
	load := after.Since(before)
	// usr 30+10, sys 20, idle 15 and iowait -5, irq 5, soft 10, steal 10
	want := host.Share{Usr: 40. / 95, Sys: 20. / 95, IRQ: 5. / 95, Soft: 10. / 95, Steal: 10. / 95, Idle: 10. / 95}
	if load.All != want || load.Busy != 0.85 {
		t.Errorf("all %+v, busy %v s", load.All, load.Busy)
	}
	if len(load.Cores) != 1 || load.Cores[0].ID != 0 || load.Cores[0].Idle != 20./105 {
		t.Errorf("cores %+v", load.Cores)
	}
	sum := 0.0
	for _, r := range load.All.Roles() {
		sum += r.Share
	}
	if math.Abs(sum-1) > 1e-9 {
		t.Errorf("the sum is %v", sum)
	}
	if got := after.Since(after); got.All != (host.Share{}) {
		t.Errorf("no time passed: %+v", got.All)
	}
	for _, text := range []string{"", "cpu0 1 2 3 4\n", "cpu  1 2 3\n", "cpu  1 2 3 x\n", "cpux 1 2 3 4\n", "cpu  -1 2 3 4\n"} {
		if _, err := host.ParseCPU(text); !errors.Is(err, errs.Invalid) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestRatesOfBlocks(t *testing.T) {
	before, err := host.ParseBlocks("8 0 sda 100 0 1000 500 10 0 100 50 0 1000 2000\n")
	if err != nil {
		t.Fatal(err)
	}
	after, err := host.ParseBlocks("8 0 sda 300 5 103400 2500 10 0 100 50 4 2500 6000 1 2 3 4\n")
	if err != nil {
		t.Fatal(err)
	}
	got := after["sda"].Since(before["sda"], 2*time.Second)
	want := host.BlockRate{Reads: 100, ReadRate: 102400 * 512 / 2, ReadSize: 512 * 512, ReadWait: 0.01, Queue: 2, Utilisation: 0.75}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	for _, text := range []string{"8 0 sda\n", "8 0 sda 1 2 3 4 5 6 7 8 9 10 x\n", "8 0 sda 1 2 3 4 5 6 7 8 9 10 99999999999999999999\n"} {
		if _, err := host.ParseBlocks(text); !errors.Is(err, errs.Invalid) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestDiskOfAPartition(t *testing.T) {
	root := tree(t, "aarch64")
	for _, minor := range []uint32{0, 1} {
		if got, err := host.DiskNumbered(root, 8, minor); got != "sda" || err != nil {
			t.Errorf("8:%d is of %q, %v", minor, got, err)
		}
	}
	if _, err := host.DiskNumbered(root, 0, 45); !errors.Is(err, errs.NotFound) {
		t.Errorf("no device: %v", err)
	}
}

func TestMountSource(t *testing.T) {
	const text = `22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
23 22 0:20 / /data rw shared:2 - btrfs /dev/sdb1 rw
24 23 0:21 / /data/with\040space rw - nfs host:/x rw
broken
25 22 0:22 / /data rw - btrfs /dev/sdc1 rw
`
	for path, want := range map[string]string{
		"/": "/dev/vda", "/datax": "/dev/vda", "/data": "/dev/sdc1", "/data/a": "/dev/sdc1", "/data/with space/a": "host:/x",
	} {
		if got, _ := host.Holding(host.ParseMounts(text), path); got.Source != want {
			t.Errorf("%s is on %q, want %q", path, got.Source, want)
		}
	}
}

func TestSetReadAhead(t *testing.T) {
	root := tree(t, "aarch64")
	if err := host.SetReadAhead(root, "sda", 32<<20); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "sys/block/sda/queue/read_ahead_kb"))
	if err != nil || !strings.HasPrefix(string(text), "32768") {
		t.Errorf("the file has %q, %v", text, err)
	}
	if err := host.SetReadAhead(root, "sdx", 1<<20); !errors.Is(err, errs.NotFound) {
		t.Errorf("no disk: %v", err)
	}
}

func TestMemory(t *testing.T) {
	got, err := host.ReadMemory(tree(t, "aarch64"))
	if want := (host.Memory{Total: 3792544 << 10, Available: 3401220 << 10, Cached: 3010024 << 10, Dirty: 40960 << 10}); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := host.ReadMemory(t.TempDir()); err == nil {
		t.Error("a machine without /proc has memory")
	}
}

// FuzzParse holds that no text stops a parser, and that what it accepts has shares that are shares.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 1 2 3 4\n", "8 0 sda 1 2 3 4 5 6 7 8 9 10 11\n",
		"24 23 0:21 / /a\\040b rw - nfs host:/x rw\n", "CPU implementer : 0x41\nCPU part: 0xd05\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if c, err := host.ParseCPU(text); err == nil {
			sum := 0.0
			for _, r := range c.Since(host.CPU{}).All.Roles() {
				sum += r.Share
			}
			if sum != 0 && math.Abs(sum-1) > 1e-6 {
				t.Errorf("%q: the shares are %v together", text, sum)
			}
		}
		if list, err := host.ParseBlocks(text); err == nil {
			for name, b := range list {
				if r := b.Since(host.Block{}, time.Second); r.Utilisation < 0 || r.Utilisation > 1 || r.Reads < 0 || r.Queue < 0 || r.ReadWait < 0 {
					t.Errorf("%s: %+v", name, r)
				}
			}
		}
		host.Holding(host.ParseMounts(text), "/a")
		host.ParseCPUInfo(text)
	})
}
