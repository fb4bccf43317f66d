package simtape

import (
	"context"
	"errors"
	"io"

	"hemera/platform/turn"
	"hemera/tape/session"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// Handle is an open file at a node. One goroutine uses it at a time. Its calls fail when the process is dead.
type Handle interface {
	// Again makes a call that may be made twice, and comes back when the node was lost.
	Again(ctx context.Context, do func(context.Context, hemera.File) error) error
	// Close commits what was written.
	Close(ctx context.Context) error
	// GiveUp drops it.
	GiveUp(ctx context.Context)
}

// source is a file that is archived: a session.Content. The turn is no mutex, as time goes by in it.
type source struct {
	Handle
	turn turn.Turn
}

// NewSource returns an open file to archive.
func NewSource(h Handle) session.Content { return &source{h, turn.New()} }

// ReadAt implements session.Content.
func (s *source) ReadAt(ctx context.Context, p []byte, off int64) error {
	if err := s.turn.Acquire(ctx); err != nil {
		return err
	}
	defer s.turn.Release()
	for len(p) > 0 {
		n := 0
		// A node may read into its memory after the call has failed (see hemera.File). What comes over a network is a copy.
		there := make([]byte, len(p))
		err := s.Again(ctx, func(_ context.Context, f hemera.File) (err error) {
			n, err = f.ReadPages(there, nil, off)
			return err
		})
		copy(p, there[:n])
		if err != nil && (n < len(p) || !errors.Is(err, io.EOF)) {
			return errs.As(err, errs.Corrupt, "simtape.Read", "")
		}
		// Nodes may answer with less than was asked for.
		p, off = p[n:], off+int64(n)
	}
	return nil
}

// Close implements session.Content.
func (s *source) Close() error {
	s.turn.Wait()
	defer s.turn.Release()
	// There is nothing to commit of what was only read.
	s.GiveUp(context.Background())
	return nil
}

// target is a file that is recalled: a session.Target.
type target struct {
	h         Handle
	off, size int64
}

// NewTarget returns a file that is recalled, for a content of a size.
func NewTarget(h Handle, size int64) session.Target { return &target{h: h, size: size} }

// Write implements session.Target.
func (t *target) Write(ctx context.Context, p []byte) error {
	err := t.h.Again(ctx, func(_ context.Context, f hemera.File) error { return f.WritePages(p, nil, t.off) })
	// In order and without gaps: the session has one writer for a file.
	t.off += int64(len(p))
	return err
}

// Commit implements session.Target. A content that is not whole is dropped, as package nodeio does.
func (t *target) Commit(ctx context.Context) error {
	// The node would refuse it too, by the checksums; a real server does not ask it.
	if t.off != t.size {
		t.h.GiveUp(ctx)
		return errs.New(errs.Corrupt, "simtape.Commit", "", "the content is not whole")
	}
	return t.h.Close(ctx)
}

// Abort implements session.Target.
func (t *target) Abort(ctx context.Context) { t.h.GiveUp(ctx) }
