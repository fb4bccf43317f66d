package disks

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"hemera/disk"
	"hemera/process/config"
	"hemera/words/errs"
)

func TestDisksShareMemory(t *testing.T) {
	m := NewMemory()
	if m.total < 16<<20 || m.total > config.MachineMemory()/verifiedShare {
		t.Errorf("%d bytes for verified data", m.total)
	}
	dir := t.TempDir()
	var last disk.Store
	for i := range 3 {
		path := filepath.Join(dir, string(rune('a'+i)))
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		d, err := m.OpenDisk(path, true, slog.New(slog.DiscardHandler), nil)
		if err != nil {
			t.Fatal(err)
		}
		last = d
		t.Cleanup(func() { _ = d.Close() })
	}
	if len(m.disks) != 3 {
		t.Errorf("%d disks", len(m.disks))
	}
	// A disk that comes back does not get a second share.
	_ = last.Close()
	again, err := m.OpenDisk(filepath.Join(dir, "c"), false, slog.New(slog.DiscardHandler), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = again.Close() })
	if len(m.disks) != 3 {
		t.Errorf("%d disks after one came back", len(m.disks))
	}
	if _, err := m.OpenDisk(filepath.Join(dir, "not mounted"), false, slog.New(slog.DiscardHandler), nil); err == nil {
		t.Error("a known disk that is not there was made again")
	}
}

// A misspelt mount point must not become a folder that fills the system's own disk.
func TestADiskThatIsNotThereIsNotMade(t *testing.T) {
	path := filepath.Join(t.TempDir(), "disk1")
	m, log := NewMemory(), slog.New(slog.DiscardHandler)
	if _, err := m.OpenDisk(path, true, log, nil); !errors.Is(err, errs.NotFound) || errs.RemedyOf(err) == "" {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the directory was made: %v", err)
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	d, err := m.OpenDisk(path, true, log, nil)
	if err != nil {
		t.Fatal(err)
	}
	// Opening a disk removes unfinished writes: two processes would remove each other's.
	if _, err := m.OpenDisk(path, false, log, nil); !errors.Is(err, errs.Unavailable) || errs.RemedyOf(err) == "" {
		t.Errorf("a second one has the disk: %v", err)
	}
	_ = d.Close()
	again, err := m.OpenDisk(path, false, log, nil)
	if err != nil {
		t.Fatalf("after the first was closed: %v", err)
	}
	_ = again.Close()
}
