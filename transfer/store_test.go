package transfer_test

import (
	"testing"
	"time"

	"hemera/disk"
	"hemera/disk/disktest"
	"hemera/platform/vfs"
)

// TestStore holds the disks of these tests, while they add no faults, to what every disk must do.
func TestStore(t *testing.T) {
	disktest.Run(t, func(t *testing.T) disk.Store {
		memory := vfs.NewMemory(0, time.Now)
		if err := memory.Mkdir("/disk"); err != nil {
			t.Fatal(err)
		}
		return newDisk(t, func() (vfs.FS, string) { return memory, "/disk" })
	})
}
