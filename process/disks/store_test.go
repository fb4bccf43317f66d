package disks_test

import (
	"log/slog"
	"testing"

	"hemera/disk"
	"hemera/disk/disktest"
	"hemera/process/disks"
)

// TestStore runs the tests of every disk on the disks of a process.
func TestStore(t *testing.T) {
	m := disks.NewMemory()
	disktest.Run(t, func(t *testing.T) disk.Store {
		s, err := m.OpenDisk(t.TempDir(), true, slog.New(slog.DiscardHandler), nil)
		if err != nil {
			t.Fatal(err)
		}
		return s
	})
}
