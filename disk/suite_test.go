package disk_test

import (
	"testing"
	"time"

	"hemera/disk"
	"hemera/disk/disktest"
	"hemera/platform/vfs"
)

func TestSuite(t *testing.T) {
	t.Run("in memory", func(t *testing.T) {
		disktest.Run(t, func(t *testing.T) disk.Store {
			memory := vfs.NewMemory(0, time.Now)
			if err := memory.Mkdir("/disk"); err != nil {
				t.Fatal(err)
			}
			return open(t, memory, "/disk")
		})
	})
	t.Run("files", func(t *testing.T) {
		disktest.Run(t, func(t *testing.T) disk.Store { return open(t, vfs.OS{}, t.TempDir()) })
	})
}

func open(t *testing.T, fsys vfs.FS, path string) disk.Store {
	t.Helper()
	if _, err := disk.Format(fsys, path); err != nil {
		t.Fatal(err)
	}
	d, err := disk.Open(fsys, path, disk.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return d
}
