package client

import (
	"context"
	"io"

	"hemera"
	"hemera/errs"
)

// store is where an end of a copy lives: this machine, or servers.
type store interface {
	// stat never fails because nothing is there.
	stat(ctx context.Context, p Place) (state, error)
	// walk visits everything below a directory, directories before what is in them, by relative path. An
	// entry with a fault is all that is told of it; the walk goes on.
	walk(ctx context.Context, p Place, visit func(rel string, s state) error) error
	mkdir(ctx context.Context, p Place) error
	source(ctx context.Context, p Place, off int64) (source, error)
	target(ctx context.Context, p Place, t targetOptions) (target, error)
}

// source gives a file's bytes in order, until io.EOF; they are valid until the next call.
type source interface {
	next() ([]byte, error)
	close()
}

// target takes a file's bytes in order. Exactly one of commit and abandon ends it.
type target interface {
	write(p []byte) error
	// commit makes the file visible.
	commit(ctx context.Context) error
	// abandon leaves nothing behind, or, if asked to keep, what a later copy can go on with.
	abandon(ctx context.Context, keep bool)
}

// targetOptions say how to begin a target: with a positive offset what is there is continued.
type targetOptions struct {
	off, size int64
	replace   bool
	persist   bool
	mode      uint32
}

// servers is the store of remote places.
type servers struct{ c *Client }

func (s servers) stat(ctx context.Context, p Place) (state, error) {
	i, err := s.c.Stat(ctx, p.URL)
	if err != nil {
		if errs.KindOf(err) == errs.NotFound {
			return state{}, nil
		}
		return state{}, err
	}
	return state{exists: true, dir: i.IsDir(), size: i.Size}, nil
}

func (s servers) walk(ctx context.Context, p Place, visit func(rel string, s state) error) error {
	return s.walkBelow(ctx, p.URL, "", visit)
}

func (s servers) walkBelow(ctx context.Context, top URL, rel string, visit func(rel string, s state) error) error {
	var dirs []string
	var refused error // by the visitor
	err := s.c.List(ctx, top.Join(rel), func(i Info) error {
		name := i.Name
		if rel != "" {
			name = rel + "/" + i.Name
		}
		if i.IsDir() {
			dirs = append(dirs, name)
		}
		refused = visit(name, state{exists: true, dir: i.IsDir(), size: i.Size})
		return refused
	})
	if err != nil && refused == nil && rel != "" && ofEntry(err) {
		err = visit(rel, state{fault: err})
	}
	for _, dir := range dirs {
		if err == nil {
			err = s.walkBelow(ctx, top, dir, visit)
		}
	}
	return err
}

func (s servers) mkdir(ctx context.Context, p Place) error {
	return s.c.Mkdir(ctx, p.URL, 0o755, true)
}

// remoteSource reads a file of a server ahead of its user.
type remoteSource struct {
	ctx    context.Context
	file   *File
	reader *Reader
}

func (s servers) source(ctx context.Context, p Place, off int64) (source, error) {
	f, err := s.c.Open(ctx, p.URL, OpenOptions{})
	if err != nil {
		return nil, err
	}
	return &remoteSource{ctx, f, f.NewReader(ctx, off, hemera.FileSizeMax)}, nil
}

func (s *remoteSource) next() ([]byte, error) { return s.reader.Next() }

func (s *remoteSource) close() {
	s.reader.Close()
	s.file.Close(context.WithoutCancel(s.ctx))
}

// remoteTarget writes a file of a server behind its user.
type remoteTarget struct {
	file   *File
	writer *Writer
}

func (s servers) target(ctx context.Context, p Place, t targetOptions) (target, error) {
	o := OpenOptions{Write: true, Parents: true, Persist: t.persist, Mode: t.mode, Size: t.size}
	o.Create, o.Exclusive = t.off == 0, !t.replace
	f, err := s.c.Open(ctx, p.URL, o)
	if err != nil {
		return nil, err
	}
	return &remoteTarget{f, f.NewWriter(ctx, t.off)}, nil
}

// unwritten is the failure of a write, or of sending what was left of it: nothing can have become
// visible.
type unwritten struct{ error }

func (u unwritten) Unwrap() error { return u.error }

// again reports whether the same write may succeed at another server: this one stopped, or its disks fail.
// Internal is what a node started since says of a write that it does not know (kXR_ServerError).
func (u unwritten) again() bool {
	switch errs.KindOf(u.error) {
	case errs.Unavailable, errs.Conflict, errs.BadHandle, errs.IO, errs.Internal:
		return true
	}
	return false
}

func (t *remoteTarget) write(p []byte) error {
	if _, err := t.writer.Write(p); err != nil {
		return unwritten{err}
	}
	return nil
}

func (t *remoteTarget) commit(ctx context.Context) error {
	if err := t.writer.Flush(); err != nil {
		t.abandon(ctx, false)
		return unwritten{err}
	}
	return t.file.Close(ctx)
}

func (t *remoteTarget) abandon(ctx context.Context, keep bool) {
	ctx = context.WithoutCancel(ctx)
	if keep {
		t.file.Close(ctx)
		return
	}
	t.file.Abandon(ctx)
}

// readFull is how local files are read: whole chunks, so that their requests are.
func readFull(r io.Reader, p []byte) (int, error) {
	n, err := io.ReadFull(r, p)
	if err == io.ErrUnexpectedEOF {
		err = nil
	}
	return n, err
}
