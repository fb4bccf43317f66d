package copy

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"hemera/platform/vfs"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// The part of a file has the bytes of an unfinished copy. It is beside the file, named .NAME.hemera-part, on this machine
// and on servers. A file has at most one part. A copy continues or replaces the part, and renames it to the file's name
// when it is complete and verified.
const (
	partMark   = hemera.PartPrefix
	partSuffix = hemera.PartSuffix
	nameMax    = 255 // bytes, of most filesystems and of Hemera
)

// partName returns the name of a file's part. A name that would be too long is shortened, and has a checksum of the whole
// name.
func partName(name string) string {
	part := partMark + name + partSuffix
	if len(part) <= nameMax {
		return part
	}
	sum := sha256.Sum256([]byte(name))
	mark := "~" + hex.EncodeToString(sum[:8])
	keep := nameMax - len(partMark) - len(mark) - len(partSuffix)
	for keep > 0 && !utf8.RuneStart(name[keep]) { // not in the middle of a character
		keep--
	}
	return partMark + name[:keep] + mark + partSuffix
}

// isPart reports whether a name is that of a part.
func isPart(name string) bool {
	return strings.HasPrefix(name, partMark) && strings.HasSuffix(name, partSuffix) && len(name) > len(partMark)+len(partSuffix)
}

// part returns the place of a file's part.
func (p Place) part() Place {
	if p.Remote {
		p.URL.Path = p.URL.Path[:len(p.URL.Path)-len(p.base())] + partName(p.base())
	} else {
		p.Path = filepath.Join(filepath.Dir(p.Path), partName(p.base()))
	}
	return p
}

// sourceAttribute is the attribute of a local part that names its source. It only saves work: a continued download is
// compared with the source's checksum before it gets its name.
const sourceAttribute = "user.hemera.source"

// signature returns a text that distinguishes contents of a source without reading them.
func (s state) signature() string { return fmt.Sprintf("%d %d", s.size, s.mtime.Unix()) }

// openPart makes the part of a file, or with an offset opens the existing one, at that offset. It locks the part until it
// is closed: two copies at once would mix their contents. It fails with Locked if another copy has it, and with Conflict
// if its length is not off any more. A new part gets the permission bits, less the umask.
func openPart(part string, off int64, mode uint32) (*os.File, error) {
	f, err := openLocked(part, off == 0, mode)
	if err != nil {
		return nil, err
	}
	if err := goTo(f, off); err != nil {
		f.Close()
		return nil, errs.Wrap(err, "copy.Continue", part)
	}
	return f, nil
}

// goTo empties a part, or goes to its end, which must be at off.
func goTo(f *os.File, off int64) error {
	if off == 0 { // an earlier content is of another copy
		return f.Truncate(0)
	}
	end, err := f.Seek(0, io.SeekEnd)
	if err == nil && end != off {
		return errs.New(errs.Conflict, "copy.Copy", f.Name(), "another copy has changed it meanwhile").WithRemedy("try again")
	}
	return err
}

// openLocked opens a file that no other process has opened with this function, or makes it. On filesystems without locks
// there is no lock. An existing file must belong to this user: in a directory to which others may write, another user
// could have put something there under a predictable name.
func openLocked(name string, create bool, mode uint32) (*os.File, error) {
	for {
		f, err := os.OpenFile(name, os.O_RDWR|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
		if create && errors.Is(err, fs.ErrNotExist) {
			f, err = os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL|unix.O_NOFOLLOW, fs.FileMode(mode&0o777|0o600))
			if errors.Is(err, fs.ErrExist) {
				continue // another copy made it at this moment
			}
		}
		switch {
		case errors.Is(err, unix.ELOOP): // a link, which O_NOFOLLOW refuses
			return nil, foreign(name)
		case err != nil:
			return nil, errs.Wrap(err, "copy.Create", name)
		}
		opened, err := f.Stat()
		if err != nil || !own(opened) {
			f.Close()
			return nil, foreign(name)
		}
		if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err == unix.EWOULDBLOCK {
			f.Close()
			return nil, errs.New(errs.Locked, "copy.Copy", name, "another copy is writing it").
				WithRemedy("wait for the other copy, or give this one another target")
		}
		now, err := os.Lstat(name)
		if err == nil && os.SameFile(now, opened) {
			return f, nil
		}
		f.Close() // between open and lock another copy finished or removed it: look again
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, errs.Wrap(err, "copy.Create", name)
		}
	}
}

// own reports whether a file belongs to this user, and has no second name through which others may reach it. The
// effective user counts, because the copy has that user's rights.
func own(i os.FileInfo) bool {
	s, ok := i.Sys().(*syscall.Stat_t)
	return ok && i.Mode().IsRegular() && int(s.Uid) == os.Geteuid() && s.Nlink == 1
}

// foreign returns the error for a part's name that is taken by something else.
func foreign(name string) error {
	return errs.New(errs.Denied, "copy.Create", name, "there is something of that name that is no file of yours").
		WithRemedy("remove it, or give the copy another target")
}

// publish gives a part its final name. Unless it may replace a file, it fails with Exists if one was made there
// meanwhile.
func publish(part, name string, replace bool) error {
	if replace { // atomic: readers see the old file or the new one
		return os.Rename(part, name)
	}
	err := vfs.OS{}.Move(part, name)
	if errors.Is(err, fs.ErrExist) {
		return errs.New(errs.Exists, "copy.Copy", name, "it was made while this copy was under way").WithRemedy("use --force to replace it")
	}
	return err
}

// followLink returns the file to which a local name leads through links, so that a copy writes through a link and does
// not replace it.
func followLink(name string) string {
	if i, err := os.Lstat(name); err != nil || i.Mode()&fs.ModeSymlink == 0 {
		return name
	}
	if real, err := filepath.EvalSymlinks(name); err == nil {
		return real
	}
	return name
}

// special reports whether an entry is neither a file nor a directory: a device or a pipe, to which a copy writes
// directly.
func special(i os.FileInfo) bool { return i != nil && !i.IsDir() && !i.Mode().IsRegular() }
