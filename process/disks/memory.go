package disks

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"sync"

	"hemera/disk"
	"hemera/platform/contain"
	"hemera/platform/vfs"
	"hemera/process/config"
	"hemera/process/statedir"
	"hemera/words/errs"
)

const (
	// verifiedShare is the divisor of the machine's memory for the part that verified data may map.
	verifiedShare = 8
	// verifiedMax bounds it on large machines, in bytes. Every 2 MiB are a separate mapping. Linux allows 65,530 of them
	// in a process by default, and the Go runtime ends the process if it gets no more.
	verifiedMax = 32 << 30
	// idleShare is the divisor of the process's open files for the part that pieces without a reader may use.
	idleShare = 4
	// idleMax bounds them for each disk.
	idleMax = 1024
	// filesMax bounds the number of files that are divided, whatever the process may have open.
	filesMax = 1 << 20
)

// Memory has the resources that the disks of a process share: memory for verified data, and files that may stay open. It
// is safe for concurrent use.
type Memory struct {
	total int64 // bytes of verified data
	files int   // pieces without a reader

	mu    sync.Mutex // guards disks
	disks []*disk.Disk
}

// NewMemory sizes the shares by the machine's memory and the process's limits.
func NewMemory() *Memory {
	return &Memory{
		total: min(config.MachineMemory()/verifiedShare, verifiedMax),
		files: int(min(config.OpenFilesMax()/idleShare, filesMax)),
	}
}

// lockedDisk is a disk whose directory is locked. A second process would take the first one's pending pieces for the
// remains of a crash, and remove them.
type lockedDisk struct {
	*disk.Disk
	lock *os.File
}

// Close closes the disk, and then releases its lock.
func (d lockedDisk) Close() error {
	err := d.Disk.Close() // before the lock: no other process may open the disk while it is in use
	if unlock := d.lock.Close(); !errors.Is(unlock, fs.ErrClosed) {
		err = errors.Join(err, unlock)
	}
	return err
}

// OpenDisk opens the disk at a path. If fresh is set, a directory that is not a disk yet becomes one. The directory must
// exist in any case: a misspelt mount point must not become a folder that fills the system's own disk.
//
// It fails with NotFound if there is no directory, or if it is not a disk and fresh is not set, and with Unavailable
// while another process has the disk. It blocks during the disk's recovery.
func (m *Memory) OpenDisk(path string, fresh bool, log *slog.Logger, panics *contain.Panics) (_ disk.Store, err error) {
	fsys := vfs.OS{}
	_, err = disk.ReadLabel(fsys, path)
	unlabelled := fresh && errors.Is(err, errs.NotFound)
	if err != nil && !unlabelled {
		return nil, err
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, errs.New(errs.NotFound, "disks.OpenDisk", path, "there is no such directory on the node's machine").
			WithRemedy("mount the disk there, or make the directory")
	}
	lock, err := statedir.Lock(path, "a disk has one node: stop the other, or take the path from its --disk")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = lock.Close()
		}
	}()
	if unlabelled {
		if _, err := disk.Format(fsys, path); err != nil {
			return nil, err
		}
	}
	d, err := disk.Open(fsys, path, disk.Options{Log: log, Panics: panics, VerifiedBytes: m.total})
	if err != nil {
		return nil, err
	}
	m.add(d)
	return lockedDisk{d, lock}, nil
}

// add gives a new disk its share, and the others a smaller one. A disk that was opened before under the same UUID is
// closed by now and loses its share.
func (m *Memory) add(d *disk.Disk) {
	m.mu.Lock()
	defer m.mu.Unlock()
	others := m.disks[:0]
	for _, other := range m.disks {
		if other.UUID() != d.UUID() {
			others = append(others, other)
		}
	}
	m.disks = append(others, d)
	for _, each := range m.disks {
		each.SetVerified(m.total / int64(len(m.disks)))
		each.SetIdlePieces(min(m.files/len(m.disks), idleMax))
	}
}
