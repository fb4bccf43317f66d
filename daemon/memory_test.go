package daemon

import (
	"log/slog"
	"path/filepath"
	"testing"

	"hemera/config"
	"hemera/disk"
)

func TestDisksShareMemory(t *testing.T) {
	m := NewMemory()
	if m.total < 16<<20 || m.total > config.MachineMemory()/verifiedShare {
		t.Errorf("%d bytes for verified data", m.total)
	}
	dir := t.TempDir()
	var last disk.Store
	for i := range 3 {
		d, err := m.openDisk(filepath.Join(dir, string(rune('a'+i))), true, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		last = d
		t.Cleanup(func() { _ = d.Close() })
	}
	if len(m.disks) != 3 {
		t.Errorf("%d disks", len(m.disks))
	}
	// A disk that was away and comes back does not take a second share.
	_ = last.Close()
	again, err := m.openDisk(filepath.Join(dir, "c"), false, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = again.Close() })
	if len(m.disks) != 3 {
		t.Errorf("%d disks after one came back", len(m.disks))
	}
	if _, err := m.openDisk(filepath.Join(dir, "not mounted"), false, slog.New(slog.DiscardHandler)); err == nil {
		t.Error("a known disk that is not there was made anew")
	}
}
