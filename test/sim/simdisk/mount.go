// Package simdisk is what simulated disks are made of: a file system that a process loses when it dies, and the slow twin of the codes
// of files.
//
// It is a package of its own: the slow twin must know nothing of what it is compared with.
package simdisk

import (
	"syscall"

	"hemera/platform/vfs"
)

// Mount is a file system as one process sees it. It exists because what is in memory outlives the process: a dead one's calls must not
// change it any more.
type Mount struct {
	vfs.FS
	Broken func() bool // calls must fail: the process is dead, or the drive is gone
}

// Open implements vfs.FS; so do the methods below. Each fails when the mount is broken.
func (m *Mount) Open(name string, flag int) (vfs.File, error) {
	if m.Broken() {
		return nil, syscall.EIO
	}
	return m.FS.Open(name, flag)
}

// Stat implements vfs.FS.
func (m *Mount) Stat(name string) (vfs.Info, error) {
	if m.Broken() {
		return vfs.Info{}, syscall.EIO
	}
	return m.FS.Stat(name)
}

// Rename implements vfs.FS.
func (m *Mount) Rename(from, to string) error {
	if m.Broken() {
		return syscall.EIO
	}
	return m.FS.Rename(from, to)
}

// Remove implements vfs.FS.
func (m *Mount) Remove(name string) error {
	if m.Broken() {
		return syscall.EIO
	}
	return m.FS.Remove(name)
}

// Mkdir implements vfs.FS.
func (m *Mount) Mkdir(name string) error {
	if m.Broken() {
		return syscall.EIO
	}
	return m.FS.Mkdir(name)
}

// ReadDir implements vfs.FS.
func (m *Mount) ReadDir(name string) ([]string, error) {
	if m.Broken() {
		return nil, syscall.EIO
	}
	return m.FS.ReadDir(name)
}

// SyncDir implements vfs.FS.
func (m *Mount) SyncDir(name string) error {
	if m.Broken() {
		return syscall.EIO
	}
	return m.FS.SyncDir(name)
}

// Space implements vfs.FS.
func (m *Mount) Space(name string) (vfs.Space, error) {
	if m.Broken() {
		return vfs.Space{}, syscall.EIO
	}
	return m.FS.Space(name)
}
