package daemon

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"sync"

	"hemera/app/config"
	"hemera/core/disk"
	"hemera/errs"
	"hemera/platform/vfs"
)

const (
	// verifiedShare is the part of the machine's memory in which verified data may stay mapped.
	verifiedShare = 8
	// verifiedMost bounds it on large machines: every 2 MiB are a mapping of their own, of which a process
	// can have 65,530 by default, and without any left the Go runtime gives up.
	verifiedMost = 32 << 30
	// idleShare is the part of the files this process may have open that are pieces nobody reads now;
	// idleMost bounds them for each disk.
	idleShare = 4
	idleMost  = 1024
)

// Memory is what the disks of a process share: they get equal parts of the memory for verified data,
// and of the files that may stay open.
type Memory struct {
	total int64
	files int

	mu    sync.Mutex
	disks []*disk.Disk
}

// NewMemory takes its share of what this process may use.
func NewMemory() *Memory {
	m := &Memory{total: min(config.MachineMemory()/verifiedShare, verifiedMost), files: int(min(files()/idleShare, 1<<20))}
	return m
}

// heldDisk is a disk whose directory no other process can open as one: each would take the other's
// writes for what a crash left.
type heldDisk struct {
	*disk.Disk
	held *os.File
}

func (d heldDisk) Close() error { return errors.Join(d.Disk.Close(), d.held.Close()) }

// openDisk opens the disk at a path. A fresh directory is labelled if it is no disk yet; it must be
// there, so that a misspelt mount point does not become a folder that fills the system's own disk.
// Unavailable while another process has it.
func (m *Memory) openDisk(path string, fresh bool, log *slog.Logger) (_ disk.Store, err error) {
	const op = "open disk"
	fsys := vfs.OS{}
	_, err = disk.ReadLabel(fsys, path)
	unlabelled := fresh && errors.Is(err, errs.NotFound)
	if err != nil && !unlabelled {
		return nil, err
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, errs.New(errs.NotFound, op, path, "there is no such directory on the node's machine").
			WithRemedy("mount the disk there, or make the directory")
	}
	held, err := lock(path, op, "a disk has one node: stop the other, or take the path from its --disk")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = held.Close()
		}
	}()
	if unlabelled {
		if _, err := disk.Format(fsys, path); err != nil {
			return nil, err
		}
	}
	d, err := disk.Open(fsys, path, disk.Options{Log: log, VerifiedBytes: m.total})
	if err != nil {
		return nil, err
	}
	m.share(d)
	return heldDisk{d, held}, nil
}

// share deals the memory anew among the disks, with one more. One that was opened at the path before
// is closed by now.
func (m *Memory) share(d *disk.Disk) {
	m.mu.Lock()
	defer m.mu.Unlock()
	kept := m.disks[:0]
	for _, other := range m.disks {
		if other.UUID() != d.UUID() {
			kept = append(kept, other)
		}
	}
	m.disks = append(kept, d)
	for _, each := range m.disks {
		each.SetVerified(m.total / int64(len(m.disks)))
		each.SetIdlePieces(min(m.files/len(m.disks), idleMost))
	}
}
