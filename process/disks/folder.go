package disks

import (
	"path/filepath"

	"golang.org/x/sys/unix"
)

// IsFolder reports whether a directory is on the same filesystem as the directory above it: then it is a folder, or a
// mount point on which nothing is mounted. Pieces written there fill the system's own disk.
func IsFolder(path string) bool {
	var here, above unix.Stat_t
	return unix.Stat(path, &here) == nil && unix.Stat(filepath.Dir(path), &above) == nil && here.Dev == above.Dev
}
