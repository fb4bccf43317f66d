package observe_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"hemera/measure/doctor"
	"hemera/measure/doctor/observe"
)

// tree makes a recorded tree below a new directory. Lines "== path" begin files, "== path -> target" are links.
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

// Everything that the kernel of an aarch64 server tells is in the snapshot, and nothing of this machine.
func TestRecordedServer(t *testing.T) {
	s, err := observe.Take(t.Context(), observe.Options{Root: tree(t, "server")})
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Disks) != 1 || len(s.Filesystems) != 2 || len(s.Links) != 1 {
		t.Fatalf("%d disks, %d file systems, %d links: %+v", len(s.Disks), len(s.Filesystems), len(s.Links), s)
	}
	d := s.Disks[0]
	if d.Name != "sda" || d.MaxRequest != 128<<10 || d.MaxRequestOfHW != 16383<<10 || d.NUMANode != 1 || d.Stacked || d.Direct != 0 {
		t.Errorf("disk %+v", d)
	}
	f := s.Filesystems[1]
	if f.Path != "/data 01" || f.Type != "ext4" || f.Disk != "sda" || f.Errors != 2 || !strings.Contains(strings.Join(f.Options, " "), "data=journal") || f.Test != nil {
		t.Errorf("file system %+v", f)
	}
	l := s.Links[0]
	want := doctor.Link{
		Name: "enp1s0", Speed: 3125e6, MTU: 9000, NUMANode: 0, Queues: 2, Interrupts: []uint64{1000005, 20},
		Since: doctor.Packets{Received: 1000, Sent: 900, BadReceived: 7, Missed: 5, BadSent: 3},
	}
	if !reflect.DeepEqual(l, want) {
		t.Errorf("link\n%+v, want\n%+v", l, want)
	}
	if want := []doctor.Clocking{{ID: 0, Governor: "powersave", Driver: "cppc_cpufreq", Max: 2.6e9}}; !reflect.DeepEqual(s.Processor.Cores, want) {
		t.Errorf("cores %+v", s.Processor.Cores)
	}
	if strings.Join(s.Processor.Flags, " ") != "aes asimd crc32 pmull fpu" || s.Processor.Nodes != 2 {
		t.Errorf("processor %+v", s.Processor)
	}
	if n := s.Network; n.ReceiveMax != 6291456 || n.SendMax != 4194304 || n.NoScaling {
		t.Errorf("network %+v", n)
	}
	if n := s.Limits; n.MemoryMax != 4<<30 || n.MemoryUsed != 1<<30 || n.Killed != 2 || s.Memory.SwapUsed != 1<<30 {
		t.Errorf("limits %+v, memory %+v", n, s.Memory)
	}
}

// A measurement of this machine has a rate for each level, leaves nothing in the directory, and invents no fault.
func TestThisMachine(t *testing.T) {
	dir := t.TempDir()
	s, err := observe.Take(t.Context(), observe.Options{Root: "/", Dirs: []string{dir}, Size: 16 << 20, For: 50 * time.Millisecond})
	if err != nil || len(s.Filesystems) != 1 {
		t.Fatalf("%+v, %v", s, err)
	}
	f := s.Filesystems[0].Test
	if f == nil {
		t.Fatalf("not measured: %+v", s.Unseen)
	}
	// A slow disk is given fewer bytes.
	if f.Bytes <= 0 || f.Bytes > 16<<20 || f.Write <= 0 || f.Direct <= 0 || f.Stream <= 0 || f.Many <= 0 || f.Cached <= 0 {
		t.Errorf("file %+v", f)
	}
	if s.Memory.Copy <= 0 || s.Processor.Checksum <= 0 || s.Network.Local <= 0 || s.Network.LocalMany <= 0 || s.Limits.Files <= 0 {
		t.Errorf("%+v", s)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
	if n := doctor.Diagnose(s).Narrow; n.Level == "" {
		t.Error("no level is the narrowest")
	}
}

func TestAnInterruptionEndsIt(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := observe.Take(ctx, observe.Options{Root: "/", Dirs: []string{t.TempDir()}, Size: 16 << 20, For: time.Minute}); !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
}

func TestADirectoryThatIsNotThere(t *testing.T) {
	s, err := observe.Take(t.Context(), observe.Options{Root: tree(t, "server"), Dirs: []string{"/no/such/directory"}})
	if err != nil || len(s.Filesystems) != 0 || s.Unseen[0].What != "/no/such/directory" || s.Unseen[0].Remedy == "" {
		t.Errorf("%+v, %v", s, err)
	}
}

// TestWithoutProc: a value that cannot be read is reported as unknown, not as a fault.
func TestWithoutProc(t *testing.T) {
	s, err := observe.Take(t.Context(), observe.Options{Root: t.TempDir() + "/"})
	if err != nil || s.Unseen[0].What != "file systems" || s.Unseen[1].What != "processor, memory, limits and interfaces" || s.Unseen[1].Remedy == "" {
		t.Fatalf("%+v, %v", s.Unseen, err)
	}
	if r := doctor.Diagnose(s); len(r.Findings) != 0 {
		t.Errorf("findings of nothing: %+v", r.Findings)
	}
}
