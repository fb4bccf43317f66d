package copy

import (
	"context"
	"errors"
	"io"

	"hemera/client/direct"
	"hemera/rules/checksum"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// fileTries is the number of attempts to copy a file when servers lose it.
const fileTries = 4

// file copies one file. If the server of the target stops, the copy restarts, as with the stock clients, and another
// server will take it. It also restarts if it continued a part of another source.
func (x *copier) file(ctx context.Context, j job) error {
	var a attempt
	for try := 1; ; try++ {
		n, err := x.fileOnce(ctx, j, a)
		lost, again := errors.AsType[unwritten](err)
		again = again && lost.retryable()
		if stale, ok := errors.AsType[staleError](err); ok {
			x.c.Options().Log.Info("the part was of another file", "file", j.to.String(), "error", stale.error)
			again, a.fresh = true, true
		}
		if _, ok := errors.AsType[direct.Unwritten](err); ok { // its head reaches the nodes in another way
			a.through = true
		}
		if !again || try == fileTries || ctx.Err() != nil {
			return err
		}
		x.track.bytes(-n)
	}
}

// attempt says how to copy a file, after earlier attempts failed.
type attempt struct {
	fresh   bool // do not continue a part
	through bool // to a server's file through its head
}

// staleError is the failure of a continued file whose part was not of this source.
type staleError struct{ error }

// Unwrap returns the failure itself.
func (s staleError) Unwrap() error { return s.error }

// fileOnce copies one file in the way that fits, and returns the number of bytes that it has counted.
func (x *copier) fileOnce(ctx context.Context, j job, a attempt) (int64, error) {
	// The job may have waited in the channel while the copy was interrupted.
	if err := ctx.Err(); err != nil {
		return 0, errs.Wrap(err, "copy.Copy", j.from.String())
	}
	if !j.to.Remote {
		j.to.Path = followLink(j.to.Path)
	}
	at, err := x.publisher(ctx, j) // asks each server once
	if err != nil {
		return 0, err
	}
	var there state                 // zero: nothing exists, or the server itself refuses to replace it
	if x.o.Continue || !at.direct { // otherwise the server refuses to replace, so there is no need to ask
		if there, err = x.store(j.to).stat(ctx, j.to); err != nil {
			return 0, err
		}
	}
	act, err := choose(j.src, there, j.to.String(), x.o)
	if err != nil {
		return 0, err
	}
	if act == actCompare { // reads both ends if a server has no checksum
		same, err := x.same(ctx, j)
		switch {
		case err != nil:
			return 0, err
		case same:
			if x.o.Preserve && !equalAttributes(attributesOf(j.src, 0o644), there) {
				err = x.preserve(ctx, j.to, j.src, 0o644)
			}
			if err != nil {
				return 0, err
			}
			x.track.add(func(p *Progress) { p.Bytes += j.src.size; p.Skipped++; p.SkippedBytes += j.src.size })
			return j.src.size, nil
		case !x.o.Force: // Continue alone replaces nothing
			return 0, errs.New(errs.Exists, "copy.Copy", j.to.String(), "another file of that name is there, with the same size and another checksum").
				WithRemedy("use --force to replace it")
		}
	}
	// From server to server without this process, if both support it.
	if j.from.Remote && j.to.Remote && x.o.TPC != TPCOff {
		err := x.thirdParty(ctx, j, at)
		if err == nil && x.o.Preserve {
			err = x.preserve(ctx, j.to, j.src, 0o644)
		}
		// Unsupported is returned before anything was written: the bytes can go through this process instead.
		if x.o.TPC == TPCOnly || !errors.Is(err, errs.Unsupported) {
			return 0, err
		}
	}
	off, sum := int64(0), x.newHasher() // the sum covers the whole file, from its beginning
	if x.o.Continue && !a.fresh && !at.direct && !there.special {
		if off, sum, err = x.resume(ctx, j); err != nil {
			return 0, err
		}
	}
	x.track.bytes(off) // the bytes of the part count as done
	n, err := x.stream(ctx, j, at, off, sum, a.through)
	// A wrong part is only noticed at the end, by a checksum that does not match; then all is copied again.
	if off > 0 && err != nil && (errors.Is(err, errs.Corrupt) || errors.Is(err, errs.Unsupported)) {
		err = staleError{err}
	}
	return off + n, err
}

// stream copies the bytes from off on through this process, and returns the number of bytes that it has counted. sum has
// the checksum of the bytes before off.
func (x *copier) stream(ctx context.Context, j job, at publisher, off int64, sum checksum.Hasher, through bool) (n int64, err error) {
	// The source first: without it no target is needed.
	src, err := x.store(j.from).source(ctx, j.from, off)
	if err != nil {
		return 0, err
	}
	defer src.close()
	dst, err := x.store(j.to).target(ctx, j.to, targetOptions{
		off: off, src: j.src, replace: x.o.Force, persist: x.o.Persist, preserve: x.o.Preserve, mode: x.mode(j.src, 0o644), at: at, through: through,
	})
	if err != nil {
		return 0, err
	}
	since := "" // the checksum of the bytes before off was made after the source was listed
	if off > 0 {
		since = j.src.version
	}
	n, err = x.pumpUnchanged(src, dst, sum, since)
	// If a source grew or shrank while it was read, the copy has a content that it never had.
	if err == nil && off+n != j.src.size {
		err = errs.New(errs.Conflict, "copy.Copy", j.from.String(), "it changed its size while it was copied")
	}
	var want hemera.Checksum
	if err == nil && x.o.Verify != VerifyNever || off > 0 {
		want = sum.Sum()
	}
	// Compare the source's own checksum before the target gets its name.
	if err == nil && j.from.Remote {
		from := publisher{c: x.c, verify: x.o.Verify}
		if off > 0 && !j.to.Remote {
			from.verify = VerifyAlways // it proves that the part was of this source
		}
		err = from.check(ctx, j.from, want)
	}
	if err != nil {
		if dst.abandon(ctx, worthKeeping(err)) {
			x.track.add(func(p *Progress) { p.Kept++ })
		}
		return n, err
	}
	err = dst.commit(ctx, want)
	// A local target has its attributes already, set before its name.
	if err == nil && x.o.Preserve && j.to.Remote {
		err = x.preserve(ctx, j.to, j.src, 0o644)
	}
	return n, err
}

// worthKeeping reports whether the bytes copied before a failure are correct.
func worthKeeping(err error) bool {
	switch errs.KindOf(err) {
	case errs.Conflict, errs.Corrupt, errs.Unsupported: // the bytes are not the source's, or that cannot be proved
		return false
	}
	_, unwritten := errors.AsType[unwritten](err)
	return !unwritten
}

// pumpUnchanged moves the bytes of a source that must not change meanwhile, nor since it had the version since, if that
// is not empty. It fails with Conflict if the source was changed, whatever its size.
func (x *copier) pumpUnchanged(src source, dst target, sum checksum.Hasher, since string) (int64, error) {
	before, err := src.version()
	if err != nil {
		return 0, err
	}
	n, err := x.pump(src, dst, sum)
	if err != nil {
		return n, err
	}
	after, err := src.version()
	if err == nil && (after != before || since != "" && after != since) {
		err = errs.New(errs.Conflict, "copy.Copy", "", "the source was changed while it was copied").WithRemedy("copy it again when nothing writes to it")
	}
	return n, err
}

// pump moves everything from src to dst and into the sum.
func (x *copier) pump(src source, dst target, sum checksum.Hasher) (int64, error) {
	total := int64(0)
	for {
		p, err := src.next() // the last bytes may come with io.EOF
		if len(p) > 0 {
			_, _ = sum.Write(p)
			if err := dst.write(p); err != nil {
				return total, err
			}
			total += int64(len(p))
			x.track.bytes(int64(len(p)))
		}
		if err == io.EOF {
			return total, nil
		}
		if err != nil {
			return total, err
		}
	}
}
