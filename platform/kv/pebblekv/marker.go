package pebblekv

import (
	"errors"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// markers is a filesystem that keeps Pebble's marker files in order with the files they name. Pebble
// makes a file, a marker that names it, removes the marker before it, and then syncs the directory
// once. POSIX lets a power cut keep any of these without the others: a marker whose file is not there,
// or no marker at all. So the directory is synced before each step that relies on one before it.
type markers struct{ vfs.FS }

func (m markers) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if err := m.settle(name); err != nil {
		return nil, err
	}
	return m.FS.Create(name, c)
}

func (m markers) Remove(name string) error {
	if err := m.settle(name); err != nil {
		return err
	}
	return m.FS.Remove(name)
}

func (m markers) Unwrap() vfs.FS { return m.FS }

// settle makes durable which files are in the marker's directory. Other names are left alone.
func (m markers) settle(name string) error {
	if !strings.HasPrefix(m.PathBase(name), "marker.") {
		return nil
	}
	dir, err := m.OpenDir(m.PathDir(name))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
