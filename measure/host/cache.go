package host

import (
	"os"

	"golang.org/x/sys/unix"

	"hemera/errs"
)

// DropCaches drops the page cache of this machine. Changed pages are written first: only clean pages are dropped. Denied without
// root's rights.
func DropCaches() error {
	unix.Sync()
	return errs.Wrap(os.WriteFile("/proc/sys/vm/drop_caches", []byte("1\n"), 0), "host.DropCaches", "/proc/sys/vm/drop_caches") // #nosec G306 -- a file of the kernel
}
