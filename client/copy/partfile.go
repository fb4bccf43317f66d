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

// A file that a copy has not finished is its part: beside it, named .NAME.hemera-part, on this machine
// and on servers. There is at most one part of a file. A copy goes on with the part or replaces it, and
// moves it to the file's name when it is whole and verified.
const (
	partMark   = hemera.PartPrefix
	partSuffix = hemera.PartSuffix
	nameMax    = 255 // bytes, of most filesystems and of Hemera
)

// partName is the name of a file's part. A name that would be too long is shortened, and tells by a
// checksum of the whole name whose it is.
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

// part is the place of a file's part.
func (p Place) part() Place {
	if p.Remote {
		p.URL.Path = p.URL.Path[:len(p.URL.Path)-len(p.base())] + partName(p.base())
	} else {
		p.Path = filepath.Join(filepath.Dir(p.Path), partName(p.base()))
	}
	return p
}

// sourceAttribute of a local part names its source. It saves work only: a download that went on
// with a part is compared with the source's checksum before it gets its name.
const sourceAttribute = "user.hemera.source"

// signature is what tells one content of a source from another without reading it.
func (s state) signature() string { return fmt.Sprintf("%d %d", s.size, s.mtime.Unix()) }

// openPart makes the part of a file, or with an offset opens the one that is there, at that offset. Until
// it is closed no other copy gets it: two at once would mix their contents. Locked if another has it,
// Conflict if it is not as long as off any more. A new part gets the permission bits, less the umask.
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
	if off == 0 { // whatever was there is of another copy
		return f.Truncate(0)
	}
	end, err := f.Seek(0, io.SeekEnd)
	if err == nil && end != off {
		return errs.New(errs.Conflict, "copy.Copy", f.Name(), "another copy has changed it meanwhile").WithRemedy("try again")
	}
	return err
}

// openLocked opens a file that nobody else has open by this function, or makes it. Filesystems without
// locks do without. What is there must be a file of this user: in a directory that others may write to,
// anything may have been put there under a name that can be guessed.
func openLocked(name string, create bool, mode uint32) (*os.File, error) {
	for {
		f, err := os.OpenFile(name, os.O_RDWR|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
		if create && errors.Is(err, fs.ErrNotExist) {
			f, err = os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL|unix.O_NOFOLLOW, fs.FileMode(mode&0o777|0o600))
			if errors.Is(err, fs.ErrExist) {
				continue // another copy made it just now
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
		f.Close() // between open and lock its copy finished or removed it: look again
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, errs.Wrap(err, "copy.Create", name)
		}
	}
}

// own reports whether a file is this user's, and has no second name through which others may reach it.
// The effective user counts, as that is whose rights the copy has.
func own(i os.FileInfo) bool {
	s, ok := i.Sys().(*syscall.Stat_t)
	return ok && i.Mode().IsRegular() && int(s.Uid) == os.Geteuid() && s.Nlink == 1
}

// foreign is the error of a part's name that is taken by something else.
func foreign(name string) error {
	return errs.New(errs.Denied, "copy.Create", name, "there is something of that name that is no file of yours").
		WithRemedy("remove it, or give the copy another target")
}

// publish gives a part its final name. Unless it is to replace a file, Exists when one was made there
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

// followLink returns the file that a local name leads to through links, so that a copy writes through a link and
// does not replace it.
func followLink(name string) string {
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
