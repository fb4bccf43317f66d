package client

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"hemera/errs"
)

// machine is the store of local paths. A file gets its name when it is complete.
type machine struct {
	chunk int
	parts bool // unfinished parts count as what is there
}

// stat of a file that is not there tells of its unfinished part, if parts count.
func (m machine) stat(_ context.Context, p Place) (state, error) {
	i, err := os.Stat(p.Path)
	if errors.Is(err, fs.ErrNotExist) && m.parts {
		i, err = os.Stat(p.Path + partSuffix)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return state{}, nil
	}
	if err != nil {
		return state{}, errs.Wrap(err, "stat", p.Path)
	}
	return state{exists: true, dir: i.IsDir(), special: special(i), size: i.Size()}, nil
}

func (machine) walk(ctx context.Context, p Place, visit func(rel string, s state) error) error {
	return filepath.WalkDir(p.Path, func(path string, d fs.DirEntry, err error) error {
		rel, relErr := filepath.Rel(p.Path, path)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case rel == "." || relErr != nil:
			return errs.Wrap(cmp.Or(err, relErr), "list", path)
		case err != nil:
			return visit(filepath.ToSlash(rel), state{fault: errs.Wrap(err, "list", path)})
		}
		return visit(filepath.ToSlash(rel), found(path, d))
	})
}

// found is what a walk has come upon; a file may be behind a link.
func found(path string, d fs.DirEntry) state {
	if d.IsDir() {
		return state{exists: true, dir: true}
	}
	i, err := os.Stat(path)
	link := d.Type()&fs.ModeSymlink != 0
	switch {
	case errors.Is(err, fs.ErrNotExist) && link:
		return state{fault: errs.New(errs.NotFound, "copy", path, "the link leads to nothing")}
	case err != nil:
		return state{fault: errs.Wrap(err, "stat", path)}
	case i.IsDir():
		return state{fault: errs.New(errs.Unsupported, "copy", path, "links to directories are not followed").
			WithRemedy("copy the directory that it leads to by its own name")}
	case !i.Mode().IsRegular():
		return state{fault: errs.New(errs.Unsupported, "copy", path, "it is neither a file nor a directory")}
	}
	return state{exists: true, size: i.Size()}
}

func (machine) mkdir(_ context.Context, p Place) error {
	return errs.Wrap(os.MkdirAll(p.Path, 0o755), "make directory", p.Path)
}

// localSource reads a local file.
type localSource struct {
	file *os.File
	buf  []byte
}

func (m machine) source(_ context.Context, p Place, off int64) (source, error) {
	f, err := os.Open(p.Path)
	if err != nil {
		return nil, errs.Wrap(err, "open", p.Path)
	}
	if _, err := f.Seek(off, io.SeekStart); err != nil {
		f.Close()
		return nil, errs.Wrap(err, "open", p.Path)
	}
	return &localSource{f, make([]byte, m.chunk)}, nil
}

func (s *localSource) next() ([]byte, error) {
	n, err := readFull(s.file, s.buf)
	if err != nil && err != io.EOF {
		return nil, errs.Wrap(err, "read", s.file.Name())
	}
	return s.buf[:n], err
}

func (s *localSource) close() { s.file.Close() }

// localTarget writes beside the final name and renames at the end.
type localTarget struct {
	file    *os.File
	name    string
	replace bool
}

func (machine) target(_ context.Context, p Place, t targetOptions) (target, error) {
	if i, err := os.Stat(p.Path); err == nil && special(i) {
		f, err := os.OpenFile(p.Path, os.O_WRONLY, 0)
		return deviceTarget{f}, errs.Wrap(err, "open", p.Path)
	}
	if err := os.MkdirAll(filepath.Dir(p.Path), 0o755); err != nil {
		return nil, errs.Wrap(err, "make directory", filepath.Dir(p.Path))
	}
	f, err := openPart(p.Path, t.off)
	if err != nil {
		return nil, err
	}
	return &localTarget{f, p.Path, t.replace}, nil
}

// part is its name until it is whole; the file may have been opened by another.
func (t *localTarget) part() string { return t.name + partSuffix }

func (t *localTarget) write(p []byte) error {
	_, err := t.file.Write(p)
	return errs.Wrap(err, "write", t.file.Name())
}

// commit closes the file last: until then nobody else's part has its name.
func (t *localTarget) commit(context.Context) error {
	err := t.file.Sync()
	if err == nil {
		err = publish(t.part(), t.name, t.replace)
	}
	if err != nil {
		os.Remove(t.part())
	}
	if closeErr := t.file.Close(); err == nil {
		err = closeErr
	}
	return errs.Wrap(err, "finish", t.name)
}

func (t *localTarget) abandon(_ context.Context, keep bool) {
	if !keep {
		os.Remove(t.part())
	}
	t.file.Close()
}

// deviceTarget writes to a device or a pipe, such as /dev/null.
type deviceTarget struct{ file *os.File }

func (t deviceTarget) write(p []byte) error {
	_, err := t.file.Write(p)
	return errs.Wrap(err, "write", t.file.Name())
}

func (t deviceTarget) commit(context.Context) error {
	return errs.Wrap(t.file.Close(), "write", t.file.Name())
}

func (t deviceTarget) abandon(context.Context, bool) { t.file.Close() }
