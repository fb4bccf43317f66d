package client

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"hemera/errs"
	"hemera/vfs"
)

// partSuffix ends the name of a local file that a copy has not finished.
const partSuffix = ".hemera-part"

// openPart makes the unfinished part of a file, or with an offset opens the one that is there, at that
// offset. Until it is closed no other copy gets it: two at once would mix their contents. Locked if
// another has it, Conflict if it is not as long as off any more.
func openPart(name string, off int64) (*os.File, error) {
	part := name + partSuffix
	f, err := openLocked(part, off == 0)
	if off > 0 && errors.Is(err, fs.ErrNotExist) {
		f, err = adopt(name, part)
	}
	if err != nil {
		return nil, err
	}
	if err := goTo(f, off); err != nil {
		f.Close()
		return nil, errs.Wrap(err, "continue", name)
	}
	return f, nil
}

// goTo empties a part, or goes to its end, which must be at off.
func goTo(f *os.File, off int64) error {
	if off == 0 {
		return f.Truncate(0)
	}
	end, err := f.Seek(0, io.SeekEnd)
	if err == nil && end != off {
		return errs.New(errs.Conflict, "copy", f.Name(), "another copy has changed it meanwhile").WithRemedy("try again")
	}
	return err
}

// adopt makes the part of a file that was left unfinished under its final name. It holds the name of
// the part before it gives it away, so that nobody else's part is replaced.
func adopt(name, part string) (*os.File, error) {
	claim, err := openLocked(part, true)
	if err != nil {
		return nil, err
	}
	defer claim.Close()
	f, err := openLocked(name, false)
	if err == nil {
		if err = os.Rename(name, part); err == nil {
			return f, nil
		}
		f.Close()
	}
	os.Remove(part)
	return nil, errs.Wrap(err, "continue", name)
}

// openLocked opens a file that nobody else has open by this function, or makes it. Filesystems without
// locks do without.
func openLocked(name string, create bool) (*os.File, error) {
	flags := os.O_RDWR
	if create {
		flags |= os.O_CREATE
	}
	for {
		f, err := os.OpenFile(name, flags, 0o644)
		if err != nil {
			return nil, errs.Wrap(err, "create", name)
		}
		if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err == unix.EWOULDBLOCK {
			f.Close()
			return nil, errs.New(errs.Locked, "copy", strings.TrimSuffix(name, partSuffix), "another copy is writing it").
				WithRemedy("wait for the other copy, or give this one another target")
		}
		now, err := os.Stat(name)
		if opened, statErr := f.Stat(); err == nil && statErr == nil && os.SameFile(now, opened) {
			return f, nil
		}
		f.Close() // between open and lock it was finished, or given up: look again
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, errs.Wrap(err, "create", name)
		}
	}
}

// publish gives a part its final name. Unless it is to replace a file, Exists when one was made there
// meanwhile.
func publish(part, name string, replace bool) error {
	if replace {
		return os.Rename(part, name)
	}
	err := vfs.OS{}.Move(part, name)
	if errors.Is(err, fs.ErrExist) {
		return errs.New(errs.Exists, "copy", name, "it was made while this copy was under way").WithRemedy("use --force to replace it")
	}
	return err
}

// behind is the file that a local name leads to through links, so that a link is written through and
// not replaced.
func behind(name string) string {
	if i, err := os.Lstat(name); err != nil || i.Mode()&fs.ModeSymlink == 0 {
		return name
	}
	if real, err := filepath.EvalSymlinks(name); err == nil {
		return real
	}
	return name
}

// special reports whether something is neither a file nor a directory: a device or a pipe, which is
// written to as it is.
func special(i os.FileInfo) bool { return i != nil && !i.IsDir() && !i.Mode().IsRegular() }
