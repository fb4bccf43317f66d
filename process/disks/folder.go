package disks

import (
	"path/filepath"

	"golang.org/x/sys/unix"
)

// IsFolder is true if a directory is on the same file system as the directory above it: it is a folder, or a mount
// point on which nothing is mounted. Pieces written there fill the system's own disk.
func IsFolder(path string) bool {
	var here, above unix.Stat_t
	return unix.Stat(path, &here) == nil && unix.Stat(filepath.Dir(path), &above) == nil && here.Dev == above.Dev
}
