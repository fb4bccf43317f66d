package copy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"hemera/words/errs"
	"hemera/words/hemera"
)

// machine is the store of local paths. A file gets its name when it is complete.
type machine struct {
	chunk int // bytes of one read
	links Links
}

// stat implements store. It follows links.
func (machine) stat(_ context.Context, p Place) (state, error) {
	i, err := os.Stat(p.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return state{}, nil
	}
	if err != nil {
		return state{}, errs.Wrap(err, "copy.Stat", p.Path)
	}
	return stateOf(i), nil
}

// stateOf returns the system's description of a file as a state.
func stateOf(i os.FileInfo) state {
	s := state{exists: true, dir: i.IsDir(), special: special(i), size: i.Size(), mode: uint32(i.Mode().Perm()), mtime: i.ModTime()}
	s.version = versionOf(i)
	if sys, ok := i.Sys().(*syscall.Stat_t); ok {
		s.owner, s.group = strconv.Itoa(int(sys.Uid)), strconv.Itoa(int(sys.Gid))
	}
	return s
}

// versionOf returns a text that changes with each change of a regular file. The time of the last change of the inode is
// included, as programs can set the other one back.
func versionOf(i os.FileInfo) string {
	sys, ok := i.Sys().(*syscall.Stat_t)
	if !ok || !i.Mode().IsRegular() {
		return ""
	}
	return fmt.Sprint(sys.Dev, sys.Ino, sys.Size, sys.Mtim, sys.Ctim)
}

// versionNow returns [versionOf] an open file.
func versionNow(f *os.File) (string, error) {
	i, err := f.Stat()
	if err != nil {
		return "", errs.Wrap(err, "copy.Stat", f.Name())
	}
	return versionOf(i), nil
}

// walk implements store.
func (m machine) walk(ctx context.Context, p Place, visit func(rel string, s state) error) error {
	top, err := os.Stat(p.Path)
	if err != nil {
		return errs.Wrap(err, "copy.List", p.Path)
	}
	return m.walkBelow(ctx, p.Path, "", []os.FileInfo{top}, visit)
}

// walkBelow visits the content of a directory. above has the directories on the path to it, including itself: a link to
// one of them would lead to an endless walk.
func (m machine) walkBelow(ctx context.Context, top, rel string, above []os.FileInfo, visit func(rel string, s state) error) error {
	dir := filepath.Join(top, filepath.FromSlash(rel))
	entries, err := os.ReadDir(dir) // sorted by name, all of one directory in memory
	if err != nil && rel == "" {
		return errs.Wrap(err, "copy.List", dir)
	}
	if err != nil { // a directory that cannot be read is one failure, not the end
		return visit(rel, state{fault: errs.Wrap(err, "copy.List", dir)})
	}
	for _, d := range entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		name := path.Join(rel, d.Name())
		s, i := m.found(filepath.Join(dir, d.Name()), d, above)
		err := visit(name, s)
		if err == nil && s.dir {
			err = m.walkBelow(ctx, top, name, append(above[:len(above):len(above)], i), visit)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// found returns the state of an entry of a walk. If it is a link, the state is that of the link's target.
func (m machine) found(path string, d fs.DirEntry, above []os.FileInfo) (state, os.FileInfo) {
	link := d.Type()&fs.ModeSymlink != 0 // from the listing: no stat for skipped entries
	if link && m.links == LinksSkip {
		return state{link: true}, nil
	}
	fault := func(err error) (state, os.FileInfo) { return state{fault: err}, nil }
	i, err := os.Stat(path)
	if link && m.links == LinksGood && nowhere(i, err, above) {
		return state{link: true}, nil
	}
	switch {
	case errors.Is(err, fs.ErrNotExist) && link:
		return fault(errs.New(errs.NotFound, "copy.Copy", path, "the link leads to nothing").WithRemedy("--skip-links passes over links"))
	case err != nil:
		return fault(errs.Wrap(err, "copy.Stat", path))
	case i.IsDir() && link && m.links != LinksFollow && m.links != LinksGood:
		return fault(errs.New(errs.Unsupported, "copy.Copy", path, "links to directories are not followed").
			WithRemedy("-L follows them, --skip-links passes over links"))
	case i.IsDir() && among(above, i): // following it would never end
		return fault(errs.New(errs.Invalid, "copy.Copy", path, "the link leads to a directory that it is in").WithRemedy("--skip-links passes over links"))
	case special(i):
		return fault(errs.New(errs.Unsupported, "copy.Copy", path, "it is neither a file nor a directory"))
	}
	return stateOf(i), i
}

// nowhere reports whether a link leads to nothing that can be copied: to nothing at all, to a directory that has the
// link, or to a device.
func nowhere(i os.FileInfo, err error, above []os.FileInfo) bool {
	if err != nil {
		return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ELOOP)
	}
	return special(i) || i.IsDir() && among(above, i)
}

// among reports whether a file is in a list, by device and inode.
func among(list []os.FileInfo, i os.FileInfo) bool {
	return slices.ContainsFunc(list, func(a os.FileInfo) bool { return os.SameFile(a, i) })
}

// mkdir implements store. The user may write into the directory.
func (machine) mkdir(_ context.Context, p Place, mode uint32) error {
	return errs.Wrap(os.MkdirAll(p.Path, fs.FileMode(mode|0o700)), "copy.MakeDirectory", p.Path)
}

// part implements store. It returns the size of a part whose source has the same signature.
func (machine) part(_ context.Context, p Place, src state) (int64, error) {
	i, err := os.Lstat(p.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return 0, nil
	case err != nil:
		return 0, errs.Wrap(err, "copy.Stat", p.Path)
	case !own(i) || i.Size() > src.size: // of another user, or of another content
		return 0, nil
	}
	var b [64]byte
	n, err := unix.Lgetxattr(p.Path, sourceAttribute, b[:])
	// Without attributes in the filesystem there is no signature; then the checksum at the end decides.
	if err == nil && string(b[:n]) != src.signature() {
		return 0, nil
	}
	return i.Size(), nil
}

// localSource reads a local file.
type localSource struct {
	ctx  context.Context // of the copy: there is no other way to interrupt reading
	file *os.File
	buf  []byte // used for each chunk
}

// source implements store.
func (m machine) source(ctx context.Context, p Place, off int64) (source, error) {
	f, err := os.Open(p.Path)
	if err != nil {
		return nil, errs.Wrap(err, "copy.Open", p.Path)
	}
	if off > 0 {
		if _, err := f.Seek(off, io.SeekStart); err != nil {
			f.Close()
			return nil, errs.Wrap(err, "copy.Open", p.Path)
		}
	}
	return &localSource{ctx, f, make([]byte, m.chunk)}, nil
}

// next implements source.
func (s *localSource) next() ([]byte, error) {
	if err := s.ctx.Err(); err != nil {
		return nil, errs.Wrap(err, "copy.Read", s.file.Name())
	}
	n, err := readFull(s.file, s.buf)
	if err != nil && err != io.EOF {
		return nil, errs.Wrap(err, "copy.Read", s.file.Name())
	}
	return s.buf[:n], err
}

// version implements source.
func (s *localSource) version() (string, error) { return versionNow(s.file) }

// close implements source.
func (s *localSource) close() { s.file.Close() }

// localTarget writes a part, which gets the final name at the end.
type localTarget struct {
	file *os.File
	name string
	targetOptions
}

// target implements store. It writes to a device or pipe directly; a file gets a part.
func (machine) target(_ context.Context, p Place, t targetOptions) (target, error) {
	if i, err := os.Stat(p.Path); err == nil && special(i) {
		f, err := os.OpenFile(p.Path, os.O_WRONLY, 0)
		return deviceTarget{f}, errs.Wrap(err, "copy.Open", p.Path)
	}
	// Make the directories above, as servers do with OpenOptions.Parents.
	if err := os.MkdirAll(filepath.Dir(p.Path), 0o755); err != nil {
		return nil, errs.Wrap(err, "copy.MakeDirectory", filepath.Dir(p.Path))
	}
	f, err := openPart(p.part().Path, t.off, t.mode)
	if err != nil {
		return nil, err
	}
	if t.off == 0 {
		_ = unix.Fsetxattr(int(f.Fd()), sourceAttribute, []byte(t.src.signature()), 0) // some filesystems do not support it
	}
	return &localTarget{f, p.Path, t}, nil
}

// write implements target.
func (t *localTarget) write(p []byte) error {
	_, err := t.file.Write(p)
	return errs.Wrap(err, "copy.Write", t.file.Name())
}

// commit implements target. It closes the file last: until then its lock keeps other copies from using its name.
func (t *localTarget) commit(context.Context, hemera.Checksum) error {
	err := t.finishAttributes()
	if err == nil {
		err = t.file.Sync() // before the name: a file that exists after a power cut is complete
	}
	if err == nil {
		err = publish(t.file.Name(), t.name, t.replace)
	}
	if err != nil {
		os.Remove(t.file.Name())
	}
	if closeErr := t.file.Close(); err == nil {
		err = closeErr
	}
	return errs.Wrap(err, "copy.Finish", t.name)
}

// finishAttributes removes the attributes of an unfinished file: the note of its source, and the owner's permission to
// write if the source has none.
func (t *localTarget) finishAttributes() error {
	_ = unix.Fremovexattr(int(t.file.Fd()), sourceAttribute)
	i, err := t.file.Stat()
	if err != nil {
		return err
	}
	if t.preserve {
		return setAttributes(t.file, attributesOf(t.src, 0o644))
	}
	if now := i.Mode().Perm(); now&^fs.FileMode(t.mode) != 0 {
		return t.file.Chmod(now & fs.FileMode(t.mode))
	}
	return nil
}

// abandon implements target. It does not keep an empty part.
func (t *localTarget) abandon(_ context.Context, keep bool) bool {
	// A kept part needs no sync: resume checks it.
	if i, err := t.file.Stat(); !keep || err != nil || i.Size() == 0 {
		keep = false
		os.Remove(t.file.Name())
	}
	t.file.Close()
	return keep
}

// deviceTarget writes to a device or a pipe, such as /dev/null.
type deviceTarget struct{ file *os.File }

// write implements target.
func (t deviceTarget) write(p []byte) error {
	_, err := t.file.Write(p)
	return errs.Wrap(err, "copy.Write", t.file.Name())
}

// commit implements target. There is nothing to rename or to compare.
func (t deviceTarget) commit(context.Context, hemera.Checksum) error {
	return errs.Wrap(t.file.Close(), "copy.Write", t.file.Name())
}

// abandon implements target. Written bytes cannot be removed.
func (t deviceTarget) abandon(context.Context, bool) bool {
	t.file.Close()
	return false
}
