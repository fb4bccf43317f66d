package pebblekv

import (
	"errors"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// orderedMarkers is a filesystem that keeps Pebble's marker files in order with the files they name. Pebble
// makes a file, a marker that names it, removes the marker before it, and then syncs the directory
// once. POSIX lets a power cut keep any of these without the others: a marker whose file is not there,
// or no marker at all. So the directory is synced before each step that relies on one before it.
type orderedMarkers struct{ vfs.FS }

// Create implements [vfs.FS]. The name of the file that a new marker points to is durable before the marker exists.
func (m orderedMarkers) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if err := m.syncNames(name); err != nil {
		return nil, err
	}
	return m.FS.Create(name, c)
}

// Remove implements [vfs.FS]. The marker that takes the place of an old one is durable before the old one goes.
func (m orderedMarkers) Remove(name string) error {
	if err := m.syncNames(name); err != nil {
		return err
	}
	return m.FS.Remove(name)
}

// Unwrap implements [vfs.FS].
func (m orderedMarkers) Unwrap() vfs.FS { return m.FS }

// syncNames makes durable which files are in the marker's directory. Other names are left alone.
func (m orderedMarkers) syncNames(name string) error {
	if !strings.HasPrefix(m.PathBase(name), "marker.") {
		return nil
	}
	dir, err := m.OpenDir(m.PathDir(name))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
