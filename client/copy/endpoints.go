package copy

import (
	"context"
	"errors"
	"io"
	"time"

	"hemera/client/direct"
	"hemera/client/xrootd"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// store is the place of one end of a copy: this machine, or servers.
type store interface {
	// stat returns the zero state if nothing exists there.
	stat(ctx context.Context, p Place) (state, error)
	// walk visits everything below a directory, directories before their content, by relative path. An entry with a fault
	// has no other data; the walk continues.
	walk(ctx context.Context, p Place, visit func(rel string, s state) error) error
	mkdir(ctx context.Context, p Place, mode uint32) error
	// part returns the number of bytes of a source at the place of a part, 0 if they cannot be used.
	part(ctx context.Context, p Place, src state) (int64, error)
	source(ctx context.Context, p Place, off int64) (source, error)
	target(ctx context.Context, p Place, t targetOptions) (target, error)
}

// source returns a file's bytes in order, until io.EOF; they are valid until the next call.
type source interface {
	next() ([]byte, error)
	// version returns a value that changes with each change of the file's bytes, as far as that can be detected. It
	// returns "" if they cannot change while they are read.
	version() (string, error)
	close()
}

// target takes a file's bytes in order. The caller ends it with either commit or abandon.
type target interface {
	write(p []byte) error
	// commit makes the file visible under its name, if the written bytes have the checksum; the zero checksum is not
	// compared.
	commit(ctx context.Context, want hemera.Checksum) error
	// abandon removes the written bytes. With keep it leaves them as a part if possible, and returns true.
	abandon(ctx context.Context, keep bool) (kept bool)
}

// targetOptions says how to begin a target. With a positive offset it continues the existing part.
type targetOptions struct {
	off     int64
	src     state
	replace bool
	persist bool
	// preserve makes a local target keep the mode, time and owner of the source.
	preserve bool
	mode     uint32
	at       publisher // how a server's part gets its name
	through  bool      // a server's file goes through its head
}

// servers is the store of remote places. Only sources and targets need direct.
type servers struct {
	c      *xrootd.Client
	direct *direct.Client
}

// stat implements store.
func (s servers) stat(ctx context.Context, p Place) (state, error) {
	i, err := s.c.Stat(ctx, p.URL)
	if err != nil {
		if errs.KindOf(err) == errs.NotFound {
			return state{}, nil
		}
		return state{}, err
	}
	return stateOfInfo(i), nil
}

// stateOfInfo returns a server's description of an entry as a state. Its time has no fractions of seconds.
func stateOfInfo(i xrootd.Info) state {
	return state{exists: true, dir: i.IsDir(), size: i.Size, mode: i.Mode, mtime: time.Unix(i.Mtime, 0), owner: i.Owner, group: i.Group}
}

// walk implements store.
func (s servers) walk(ctx context.Context, p Place, visit func(rel string, s state) error) error {
	return s.walkBelow(ctx, p.URL, "", visit)
}

// walkBelow visits a directory, and then the directories in it, because a listing needs a session, and recursion would
// need one for each level.
func (s servers) walkBelow(ctx context.Context, top xrootd.URL, rel string, visit func(rel string, s state) error) error {
	var dirs []string // visited after the listing, when its session is free
	var refused error // an error of the visitor
	// With attributes: a stat for each entry would need a round trip each.
	err := s.c.List(ctx, top.Join(rel), func(i xrootd.Info) error {
		name := i.Name
		if rel != "" {
			name = rel + "/" + i.Name
		}
		if i.IsDir() {
			dirs = append(dirs, name)
		}
		refused = visit(name, stateOfInfo(i))
		return refused
	})
	// If a directory below cannot be listed, that is one failure; for the top one the source fails.
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

// mkdir implements store. The owner may always write into the directory; finishDirs sets the final mode.
func (s servers) mkdir(ctx context.Context, p Place, mode uint32) error {
	return s.c.Mkdir(ctx, p.URL, mode|0o700, true)
}

// part implements store. resume checks whether the part is of this source.
func (s servers) part(ctx context.Context, p Place, src state) (int64, error) {
	st, err := s.stat(ctx, p)
	if err != nil || st.dir || st.size > src.size { // longer than the source, so of another content
		return 0, err
	}
	return st.size, nil
}

// remoteSource reads a file of a server ahead of its user.
type remoteSource struct {
	ctx    context.Context
	file   *direct.File
	reader *direct.Reader
}

// source implements store.
func (s servers) source(ctx context.Context, p Place, off int64) (source, error) {
	f, err := s.direct.Open(ctx, p.URL)
	if err != nil {
		return nil, err
	}
	return &remoteSource{ctx, f, f.NewReader(ctx, off, hemera.FileSizeMax)}, nil
}

// next implements source.
func (s *remoteSource) next() ([]byte, error) { return s.reader.Next() }

// version implements source. If servers have a checksum, it is compared as well.
func (s *remoteSource) version() (string, error) { return s.file.Version(s.ctx) }

// close implements source. It closes the file at the server also after an interruption.
func (s *remoteSource) close() {
	s.reader.Close()
	s.file.Close(context.WithoutCancel(s.ctx))
}

// remoteTarget writes a file of a server, asynchronously.
type remoteTarget struct {
	place  Place
	writer *direct.Writer
	ctx    context.Context    // of writing; ends interruptGrace after the copy's
	stop   context.CancelFunc // of ctx
	targetOptions
}

// target implements store. A new part is created exclusively, so that two copies never write the same one.
func (s servers) target(ctx context.Context, p Place, t targetOptions) (target, error) {
	o := xrootd.OpenOptions{Write: true, Parents: true, Persist: t.persist, Mode: t.mode, Size: t.src.size}
	u := t.at.written(p).URL
	o.Create, o.Exclusive = t.off == 0, t.at.direct && !t.replace || t.off == 0 && !t.at.atomic
	writing, stop := outlast(ctx, interruptGrace)
	w, err := s.open(writing, u, o, t)
	if o.Create && !t.at.atomic && errors.Is(err, errs.Exists) {
		// If it were only emptied, the stock server would take it for the same file, because it remembers checksums by
		// file and second of the change.
		if err = s.c.Remove(ctx, u); err == nil {
			w, err = s.open(writing, u, o, t)
		}
	}
	if err != nil {
		stop()
		return nil, err
	}
	return &remoteTarget{p, w, writing, stop, t}, nil
}

// open opens the place to write to. It uses the context of writing, for a write that outlasts the copy's.
func (s servers) open(ctx context.Context, u xrootd.URL, o xrootd.OpenOptions, t targetOptions) (*direct.Writer, error) {
	switch {
	case t.off > 0:
		return s.direct.Continue(ctx, u, o, t.off)
	case t.through:
		return s.direct.Through(ctx, u, o)
	}
	return s.direct.Create(ctx, u, o)
}

// interruptGrace is the time that an interrupted copy may take to leave its bytes as a part.
const interruptGrace = 5 * time.Second

// outlast returns a context like ctx that ends grace after ctx does.
func outlast(ctx context.Context, grace time.Duration) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		select {
		case <-time.After(grace):
			cancel()
		case <-longer.Done():
		}
	})
	return longer, func() { stop(); cancel() }
}

// unwritten is the failure of a write, or of a flush: nothing can have become visible.
type unwritten struct{ error }

// Unwrap returns the failure itself.
func (u unwritten) Unwrap() error { return u.error }

// retryable reports whether the same write may succeed at another server: this one stopped, or its disks fail. Internal
// is the answer of a restarted node to a write that it does not know (kXR_ServerError).
func (u unwritten) retryable() bool {
	switch errs.KindOf(u.error) {
	case errs.Unavailable, errs.Conflict, errs.BadHandle, errs.IO, errs.Internal:
		return true
	}
	return false
}

// write implements target. It returns before the server has the bytes.
func (t *remoteTarget) write(p []byte) error {
	if _, err := t.writer.Write(p); err != nil {
		return unwritten{err}
	}
	return nil
}

// commit implements target. An interruption does not end it: otherwise the server could carry out a request after the
// next copy has looked at the target.
func (t *remoteTarget) commit(_ context.Context, want hemera.Checksum) error {
	defer t.stop()
	ctx := t.ctx
	if err := t.writer.Flush(); err != nil {
		_ = t.writer.Abandon(ctx)
		return unwritten{err}
	}
	if err := t.writer.Commit(ctx); err != nil { // the content is durable after this, not before
		if lost, ok := errors.AsType[direct.Unwritten](err); ok {
			err = unwritten{lost}
		}
		return err
	}
	return t.at.publish(ctx, t.place, t.src.size, want, t.replace)
}

// abandon implements target. It leaves a part only if the server has accepted every byte up to its end.
func (t *remoteTarget) abandon(_ context.Context, keep bool) bool {
	defer t.stop()
	if keep && !t.at.direct && t.writer.Keep(t.ctx) {
		return true
	}
	_ = t.writer.Abandon(t.ctx)
	return false
}

// readFull reads local files in whole chunks, so that requests are as large.
func readFull(r io.Reader, p []byte) (int, error) {
	n, err := io.ReadFull(r, p)
	if err == io.ErrUnexpectedEOF {
		err = nil
	}
	return n, err
}
