package disks

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"hemera/words/errs"
)

// CheckOwner fails with Denied if another user could plant or change pieces in a disk's directory: if all users may write
// there, if it belongs to another user, or if its folder of pending pieces is a link. A missing directory passes: the
// disk is not mounted, and OpenDisk reports that.
func CheckOwner(path string) error {
	for _, at := range []string{path, filepath.Join(path, pendingDir)} {
		var stat unix.Stat_t
		err := unix.Lstat(at, &stat)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if at == path && stat.Mode&unix.S_IFMT == unix.S_IFLNK {
			err = unix.Stat(at, &stat) // an admin may name a disk by a link
		}
		if err != nil {
			return errs.Wrap(err, "disks.CheckOwner", at)
		}
		refuse := func(text, remedy string) error {
			return errs.New(errs.Denied, "disks.CheckOwner", at, text).WithRemedy(remedy)
		}
		switch mode := os.FileMode(stat.Mode & 0o777); {
		case stat.Mode&unix.S_IFMT != unix.S_IFDIR:
			return refuse("it is not a directory", "remove it, if nobody knows who made it; the node makes the folder it needs")
		case stat.Uid != 0 && int(stat.Uid) != os.Geteuid():
			return refuse("it belongs to another user, who could change what is stored", "chown it to the user that the node runs as")
		case mode&0o002 != 0:
			return refuse("everybody may write there", "chmod o-w "+at)
		}
	}
	return nil
}

// pendingDir has the pieces that are being written, below a disk's directory; see docs/formats/piece.md.
const pendingDir = "pending"
