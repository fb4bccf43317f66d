package observe_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hemera/measure/doctor"
	"hemera/measure/doctor/observe"
	"hemera/measure/doctor/settings"
	"hemera/test/fixture/tools"
	"hemera/test/slowdevice"
)

// run runs a program and returns what it printed.
func run(t *testing.T, name string, args ...string) (string, error) {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// disk makes a file system on a loop device, and returns where it is mounted and the name of the device. Requests of the device go to the
// disk below without its page cache; with a timing they take as long as that says.
func disk(t *testing.T, timing slowdevice.Timing, options ...string) (dir, name string) {
	t.Helper()
	tools.Need(t, "losetup", "mkfs.ext4")
	if os.Geteuid() != 0 {
		t.Skip("loop devices need root")
	}
	base := t.TempDir()
	file := filepath.Join(base, "disk")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(file, 400<<20); err != nil {
		t.Fatal(err)
	}
	// Made while the file is fast, and whole: else the kernel would complete it behind the measurement, and the disk would be busy.
	whole := []string{"-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0"}
	if out, err := run(t, "mkfs.ext4", append(append(whole, options...), file)...); err != nil {
		t.Fatal(out)
	}
	if timing != (slowdevice.Timing{}) {
		at := filepath.Join(base, "slow")
		if err := os.Mkdir(at, 0o755); err != nil {
			t.Fatal(err)
		}
		slow, unmount, err := slowdevice.Mount(at, file, timing)
		if err != nil {
			t.Skipf("no slow device here: %v", err)
		}
		t.Cleanup(func() {
			if err := unmount(); err != nil {
				t.Error(err)
			}
		})
		file = slow
	}
	device, err := run(t, "losetup", "--find", "--show", "--direct-io=on", file)
	if err != nil {
		t.Skipf("loop devices cannot be made here: %s", device)
	}
	t.Cleanup(func() { _, _ = run(t, "losetup", "--detach", device) })
	dir = filepath.Join(base, "mounted")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := run(t, "mount", device, dir); err != nil {
		t.Skipf("it cannot be mounted here: %s", out)
	}
	t.Cleanup(func() {
		if out, err := run(t, "umount", dir); err != nil {
			t.Error(out)
		}
	})
	return dir, filepath.Base(device)
}

// shortly is the initial duration of each measurement of a disk.
const shortly = 300 * time.Millisecond

// await examines a directory until a finding is there. A machine with other work may hide a fault: its disk has requests of others, which
// excuse what it does not give, or is measured in pauses. Then it is measured longer. Another finding fails at once, unless it is
// one of also.
func await(t *testing.T, want, dir, disk string, also ...string) *doctor.Snapshot {
	t.Helper()
	for d := shortly; ; d *= 2 {
		s, found := examine(t, d, dir, disk)
		unwanted := slices.DeleteFunc(slices.Clone(found), func(id string) bool { return id == want || slices.Contains(also, id) })
		if len(unwanted) == 0 && slices.Contains(found, want) {
			return s
		}
		if len(unwanted) > 0 || d > 10*time.Second {
			t.Fatalf("found %v in %s, want %s: %+v, %+v", found, d, want, s.Disks, s.Filesystems[0].Test)
		}
	}
}

// examine measures a directory, d for each figure, and returns the snapshot and the ids that were found, without those of the machine itself.
func examine(t *testing.T, d time.Duration, dir string, subjects ...string) (*doctor.Snapshot, []string) {
	t.Helper()
	s, err := observe.Take(t.Context(), observe.Options{Root: "/", Dirs: []string{dir}, Size: 32 << 20, For: d})
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, f := range doctor.Diagnose(s).Findings {
		if f.Subject == dir || slices.Contains(subjects, f.Subject) {
			found = append(found, f.ID)
		}
	}
	return s, found
}

func TestAHealthyDiskHasNoFinding(t *testing.T) {
	dir, name := disk(t, slowdevice.Timing{})
	setReadAhead(t, name, "8192")
	if s, found := examine(t, shortly, dir, name); slices.Contains(found, "disk-readahead") || s.Filesystems[0].Test == nil {
		t.Errorf("found %v: %+v, %+v", found, s.Disks, s.Filesystems[0].Test)
	}
}

// setReadAhead sets the read-ahead of a device, in KiB.
func setReadAhead(t *testing.T, name, kib string) {
	t.Helper()
	if err := os.WriteFile("/sys/block/"+name+"/queue/read_ahead_kb", []byte(kib), 0); err != nil {
		t.Skipf("the read-ahead cannot be set here: %v", err)
	}
}

// A disk with a tenth of the rate of any other. Its read-ahead is large: with a small one, a reader that waits for the processor is slower
// than the disk, and rightly named.
func TestAThrottledDiskIsNamed(t *testing.T) {
	dir, name := disk(t, slowdevice.Timing{Rate: 20e6})
	setReadAhead(t, name, "8192")
	s := await(t, "disk-slow", dir, name)
	if n := doctor.Diagnose(s).Narrow; n.Rate > 40e6 {
		t.Errorf("narrowest %+v", n)
	}
}

// A tiny read-ahead is named with its cost, fixed, and put back.
func TestATinyReadAheadIsNamedAndFixed(t *testing.T) {
	dir, name := disk(t, slowdevice.Timing{Latency: 10 * time.Millisecond, Rate: 150e6})
	file := "/sys/block/" + name + "/queue/read_ahead_kb"
	setReadAhead(t, name, "128")
	// Requests that wait for the processor make the disk slow too.
	s := await(t, "disk-readahead", dir, name, "disk-slow", "fs-slow")
	plan, err := settings.Plan("/", doctor.Diagnose(s).Findings)
	if err != nil || len(plan) != 1 || plan[0].Before != "128" {
		t.Fatalf("%v, %v", plan, err)
	}
	undo := filepath.Join(t.TempDir(), "undo.json")
	if _, err := settings.Apply("/", undo, plan); err != nil {
		t.Fatal(err)
	}
	if s, found := examine(t, shortly, dir, name); slices.Contains(found, "disk-readahead") || s.Disks[0].ReadAhead != 32<<20 {
		t.Errorf("after the fix: %v, %+v, %+v", found, s.Disks[0], s.Filesystems[0].Test)
	}
	if back, left, err := settings.Undo("/", undo); err != nil || len(back) != 1 || len(left) > 0 {
		t.Errorf("back %v, left %v, %v", back, left, err)
	}
	if text, err := os.ReadFile(file); err != nil || strings.TrimSpace(string(text)) != "128" {
		t.Errorf("the read-ahead is %q, %v", text, err)
	}
}

func TestAFullInodeTableIsNamed(t *testing.T) {
	dir, name := disk(t, slowdevice.Timing{}, "-N", "64")
	for i := 0; ; i++ {
		f, err := os.Create(filepath.Join(dir, fmt.Sprint(i)))
		if err != nil {
			break
		}
		_ = f.Close()
	}
	s, found := examine(t, shortly, dir, name)
	if !slices.Equal(found, []string{"fs-inodes"}) || s.Filesystems[0].MakeFailed == "" {
		t.Errorf("found %v: %+v", found, s.Filesystems[0])
	}
}

// A server whose clock is ahead: the date of its answers is what a client has.
func TestASkewedClockIsNamed(t *testing.T) {
	for ahead, want := range map[time.Duration][]string{0: nil, -time.Hour: {"clock-skew"}, 5 * time.Second: {"clock-skew"}} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Date", time.Now().Add(ahead).UTC().Format(http.TimeFormat))
		}))
		address := strings.TrimPrefix(server.URL, "http://")
		if found := path(t, address, 100*time.Millisecond); !slices.Equal(found, want) {
			t.Errorf("%v: found %v", ahead, found)
		}
		server.Close()
	}
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	if found := path(t, strings.TrimPrefix(gone.URL, "http://"), 100*time.Millisecond); !slices.Equal(found, []string{"cluster-unreachable"}) {
		t.Errorf("a server that is gone: found %v", found)
	}
}

// path examines the way to a cluster, and returns the ids that were found about it.
func path(t *testing.T, address string, d time.Duration) (found []string) {
	t.Helper()
	c := &observe.Cluster{Address: address, Version: noVersion, For: d}
	s, err := observe.Take(t.Context(), observe.Options{Root: "/", Dirs: []string{t.TempDir()}, Size: 16 << 20, For: 50 * time.Millisecond, Cluster: c})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range doctor.Diagnose(s).Findings {
		if f.Subject == address {
			found = append(found, f.ID)
		}
	}
	return found
}

// Nodes that answer have their version and no finding; one that is gone is named.
func TestTheWaysToNodes(t *testing.T) {
	node := func() *httptest.Server {
		return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "ok\nversion 0.2.0\nrole node\n") }))
	}
	here, gone := node(), node()
	defer here.Close()
	gone.Close()
	addresses := []string{strings.TrimPrefix(here.URL, "http://"), strings.TrimPrefix(gone.URL, "http://")}
	s, err := observe.Nodes(t.Context(), observe.Options{Root: "/", Version: "0.2.0", For: 50 * time.Millisecond}, addresses)
	if err != nil || len(s.Nodes) != 2 || s.Nodes[0].Version != "0.2.0" || s.Nodes[0].Trip <= 0 || s.Nodes[0].Packets == 0 {
		t.Fatalf("%+v, %v", s, err)
	}
	var found []string
	for _, f := range doctor.Diagnose(s).Findings {
		if slices.Contains(addresses, f.Subject) {
			found = append(found, f.ID+" "+f.Subject)
		}
	}
	if want := []string{"cluster-unreachable " + addresses[1]}; !slices.Equal(found, want) {
		t.Errorf("found %v, want %v", found, want)
	}
}
