package copy

import (
	"context"
	"errors"

	"hemera/client/xrootd"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// publisher gives files of one server their final names.
type publisher struct {
	c *xrootd.Client
	// atomic servers show no file before its close, and rename it under conditions.
	atomic bool
	direct bool // the file is written under its final name, and visible at the close
	verify Verify
}

// written returns the place to which a file is written.
func (p publisher) written(to Place) Place {
	if p.direct {
		return to
	}
	return to.part()
}

// publish verifies a written and closed file, and gives a part its final name. It removes a file that does not match.
func (p publisher) publish(ctx context.Context, to Place, size int64, want hemera.Checksum, replace bool) error {
	part := p.written(to)
	// An atomic server compares in the same step as the move; others are asked before.
	if p.direct || !p.atomic {
		if err := p.check(ctx, part, want); err != nil {
			if !p.direct {
				_ = p.c.Remove(context.WithoutCancel(ctx), part.URL)
			}
			return err
		}
	}
	if p.direct {
		return nil
	}
	var err error
	if p.atomic {
		err = p.move(ctx, part, to, hemera.Publication{Size: size, Sum: want, Replace: replace})
	} else {
		err = p.replaceAt(ctx, part, to, replace)
	}
	// While it is not known whether the move happened, the part stays: a later copy can continue it.
	if err != nil && !errs.Undecided(err) {
		_ = p.c.Remove(context.WithoutCancel(ctx), part.URL)
	}
	return err
}

// move makes the server compare and move in one step.
func (p publisher) move(ctx context.Context, part, to Place, m hemera.Publication) error {
	m.From, m.To = part.URL.Path, to.URL.Path // of one server
	err := p.c.Publish(ctx, to.URL, m)
	if err != nil && errs.KindOf(err) == errs.Unavailable && p.moved(ctx, part, to, m.Size) {
		return nil // the answer was lost, not the move
	}
	if errors.Is(err, errs.Unsupported) && m.Sum.Kind != hemera.ChecksumNone { // not stored: the server has to compute it
		if err := p.check(ctx, part, m.Sum); err != nil {
			return err
		}
		m.Sum = hemera.Checksum{}
		err = p.c.Publish(ctx, to.URL, m)
	}
	switch errs.KindOf(err) {
	case errs.Conflict: // size or checksum differ: find out which, for the message
		if bad := p.check(ctx, part, m.Sum); errors.Is(bad, errs.Corrupt) {
			return bad
		}
	case errs.Exists:
		return errs.New(errs.Exists, "copy.Copy", to.String(), "it was made while this copy was under way").WithRemedy("use --force to replace it")
	}
	return err
}

// moved reports whether a part is gone and a file of its size has the final name.
func (p publisher) moved(ctx context.Context, part, to Place, size int64) bool {
	_, err := p.c.Stat(ctx, part.URL)
	if err == nil || errs.KindOf(err) != errs.NotFound { // the part still exists, or this is unknown
		return false
	}
	i, err := p.c.Stat(ctx, to.URL)
	return err == nil && i.Size == size && !i.IsDir()
}

// replaceAt moves a part at a server without conditions: between the stat and the move another client may make a file
// with that name, which the move of such servers refuses to replace.
func (p publisher) replaceAt(ctx context.Context, part, to Place, replace bool) error {
	there, err := servers{c: p.c}.stat(ctx, to)
	switch {
	case err != nil:
		return err
	case there.dir:
		return errs.New(errs.IsDirectory, "copy.Copy", to.String(), "a file cannot replace a directory")
	case there.exists && !replace:
		return errs.New(errs.Exists, "copy.Copy", to.String(), "it was made while this copy was under way").WithRemedy("use --force to replace it")
	case there.exists: // such servers do not replace by a move
		if err := p.c.Remove(ctx, to.URL); err != nil {
			return err
		}
	}
	return p.c.Rename(ctx, part.URL, to.URL.Path)
}

// check compares the checksum of a server's file; the zero checksum is not compared.
func (p publisher) check(ctx context.Context, at Place, want hemera.Checksum) error {
	if want.Kind == hemera.ChecksumNone { // VerifyNever
		return nil
	}
	got, err := p.c.Checksum(ctx, at.URL, want.Kind)
	if errors.Is(err, errs.Unsupported) && p.verify == VerifyPossible {
		return nil
	}
	if err == nil && got != want {
		return mismatch(at, got, want)
	}
	return err
}

// mismatch returns the error for a file whose checksum is not that of the copied bytes. The remedy is another copy: this
// process cannot know which of both is bad.
func mismatch(at Place, got, want hemera.Checksum) error {
	return errs.New(errs.Corrupt, "copy.Copy", at.String(), "checksum is "+got.String()+", the copy has "+want.String()).
		WithRemedy("copy the file again with --force; if it fails again, one of the two servers or the network damages data")
}
