package pebblekv

import (
	"errors"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// orderedMarkers is a filesystem that orders Pebble's marker files after the files that they name. Pebble makes a file
// and a marker that names it, removes the old marker, and then syncs the directory once. In POSIX any of these changes
// may survive a power cut without the others: a marker without its file, or no marker at all. So this filesystem syncs
// the directory before each step that relies on an earlier one.
type orderedMarkers struct{ vfs.FS }

// Create implements [vfs.FS]. The name of the file is durable before a marker that names it exists.
func (m orderedMarkers) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if err := m.syncNames(name); err != nil {
		return nil, err
	}
	return m.FS.Create(name, c)
}

// Remove implements [vfs.FS]. The new marker is durable before the old one is removed.
func (m orderedMarkers) Remove(name string) error {
	if err := m.syncNames(name); err != nil {
		return err
	}
	return m.FS.Remove(name)
}

// Unwrap implements [vfs.FS].
func (m orderedMarkers) Unwrap() vfs.FS { return m.FS }

// syncNames syncs the directory of a marker. It does nothing for other names.
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
