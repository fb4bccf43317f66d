package host

import (
	"path/filepath"

	"github.com/prometheus/procfs"

	"hemera/words/errs"
)

// Memory is a reading of /proc/meminfo, in bytes.
type Memory struct {
	Total     int64
	Available int64 // available to programs without swapping
	Cached    int64 // the page cache
	Dirty     int64 // of it, not yet on disks
}

// ReadMemory reads /proc/meminfo below root. Invalid if it does not say MemTotal.
func ReadMemory(root string) (Memory, error) {
	const op = "host.ReadMemory"
	fs, err := procfs.NewFS(filepath.Join(root, "proc"))
	var m procfs.Meminfo
	if err == nil {
		m, err = fs.Meminfo()
	}
	if err != nil {
		return Memory{}, errs.Wrap(err, op, root)
	}
	if m.MemTotalBytes == nil {
		return Memory{}, errs.New(errs.Invalid, op, root, "/proc/meminfo has no MemTotal")
	}
	// Old kernels lack MemAvailable; 0 then.
	bytes := func(n *uint64) int64 {
		if n == nil {
			return 0
		}
		return int64(*n) // #nosec G115 -- of memory
	}
	return Memory{bytes(m.MemTotalBytes), bytes(m.MemAvailableBytes), bytes(m.CachedBytes), bytes(m.DirtyBytes)}, nil
}
