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

// partSuffix ends the name of a local file that a resumable copy has not finished.
const partSuffix = ".hemera-part"

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
	return state{exists: true, dir: i.IsDir(), size: i.Size()}, nil
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
	file *os.File
	name string
}

func (machine) target(_ context.Context, p Place, t targetOptions) (target, error) {
	if err := os.MkdirAll(filepath.Dir(p.Path), 0o755); err != nil {
		return nil, errs.Wrap(err, "make directory", filepath.Dir(p.Path))
	}
	part := p.Path + partSuffix
	flags := os.O_RDWR | os.O_CREATE
	if t.off == 0 {
		flags |= os.O_TRUNC
	} else if _, err := os.Stat(part); errors.Is(err, fs.ErrNotExist) {
		if err := os.Rename(p.Path, part); err != nil {
			return nil, errs.Wrap(err, "continue", p.Path)
		}
	}
	f, err := os.OpenFile(part, flags, 0o644)
	if err == nil {
		_, err = f.Seek(t.off, io.SeekStart)
	}
	return &localTarget{f, p.Path}, errs.Wrap(err, "create", part)
}

func (t *localTarget) write(p []byte) error {
	_, err := t.file.Write(p)
	return errs.Wrap(err, "write", t.file.Name())
}

func (t *localTarget) commit(context.Context) error {
	err := t.file.Sync()
	if closeErr := t.file.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(t.file.Name(), t.name)
	}
	if err != nil {
		os.Remove(t.file.Name())
	}
	return errs.Wrap(err, "finish", t.name)
}

func (t *localTarget) abandon(_ context.Context, keep bool) {
	t.file.Close()
	if !keep {
		os.Remove(t.file.Name())
	}
}
