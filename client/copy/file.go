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

// fileTries is how often a file is begun when servers lose it in the middle.
const fileTries = 4

// file copies one file. If the server it was written through stops, the copy restarts, as with the stock
// clients: another server will take it. So does a copy that went on with a part of another source.
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
		if _, ok := errors.AsType[direct.Unwritten](err); ok { // its head reaches the nodes by another way
			a.through = true
		}
		if !again || try == fileTries || ctx.Err() != nil {
			return err
		}
		x.track.bytes(-n)
	}
}

// attempt is how a file is copied, after what came of the attempts before.
type attempt struct {
	fresh   bool // not going on with a part
	through bool // to a server's file through its head
}

// staleError is the failure of a file that was gone on with, when its part was not of this source.
type staleError struct{ error }

// Unwrap returns the failure itself.
func (s staleError) Unwrap() error { return s.error }

// fileOnce copies one file by the way that fits, and says how many bytes it has counted.
func (x *copier) fileOnce(ctx context.Context, j job, a attempt) (int64, error) {
	// A job that waited in the channel while the copy was interrupted.
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
	var there state                 // zero: nothing is there, or the server refuses to replace it
	if x.o.Continue || !at.direct { // else the server refuses by itself to replace: no need to ask
		if there, err = x.store(j.to).stat(ctx, j.to); err != nil {
			return 0, err
		}
	}
	act, err := choose(j.src, there, j.to.String(), x.o)
	if err != nil {
		return 0, err
	}
	if act == actCompare { // reads both ends where a server has no checksum
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
	// From server to server without this process, if both can.
	if j.from.Remote && j.to.Remote && x.o.TPC != TPCOff {
		err := x.thirdParty(ctx, j, at)
		if err == nil && x.o.Preserve {
			err = x.preserve(ctx, j.to, j.src, 0o644)
		}
		// Unsupported comes before anything was written: the bytes can go through this process instead.
		if x.o.TPC == TPCOnly || !errors.Is(err, errs.Unsupported) {
			return 0, err
		}
	}
	off, sum := int64(0), x.newHasher() // the sum runs over all of the file, from its beginning
	if x.o.Continue && !a.fresh && !at.direct && !there.special {
		if off, sum, err = x.resume(ctx, j); err != nil {
			return 0, err
		}
	}
	x.track.bytes(off) // what the part has counts as done
	n, err := x.stream(ctx, j, at, off, sum, a.through)
	// A wrong part shows at the end only, as a checksum that does not match; then all is copied again.
	if off > 0 && err != nil && (errors.Is(err, errs.Corrupt) || errors.Is(err, errs.Unsupported)) {
		err = staleError{err}
	}
	return off + n, err
}

// stream copies the bytes from off on through this process, and says how many it has counted. The sum is
// of the bytes before off.
func (x *copier) stream(ctx context.Context, j job, at publisher, off int64, sum checksum.Hasher, through bool) (n int64, err error) {
	// The source first: without it there is nothing to make a target for.
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
	since := "" // the sum of the bytes before off was made after the source was listed
	if off > 0 {
		since = j.src.version
	}
	n, err = x.pumpUnchanged(src, dst, sum, since)
	// A source that grew or shrank while it was read is in no state that it ever had.
	if err == nil && off+n != j.src.size {
		err = errs.New(errs.Conflict, "copy.Copy", j.from.String(), "it changed its size while it was copied")
	}
	var want hemera.Checksum
	if err == nil && x.o.Verify != VerifyNever || off > 0 {
		want = sum.Sum()
	}
	// The source's own checksum is compared before the target gets its name.
	if err == nil && j.from.Remote {
		from := publisher{c: x.c, verify: x.o.Verify}
		if off > 0 && !j.to.Remote {
			from.verify = VerifyAlways // it is the proof that the part was of this source
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
	// A local target has its attributes already, given before its name.
	if err == nil && x.o.Preserve && j.to.Remote {
		err = x.preserve(ctx, j.to, j.src, 0o644)
	}
	return n, err
}

// worthKeeping reports whether what was copied before a failure is right as far as it goes.
func worthKeeping(err error) bool {
	switch errs.KindOf(err) {
	case errs.Conflict, errs.Corrupt, errs.Unsupported: // the bytes are not those of the source, or cannot be proved to be
		return false
	}
	_, unwritten := errors.AsType[unwritten](err)
	return !unwritten
}

// pumpUnchanged is pump for a source that must stay as it is meanwhile, and since it had a version if one is given: Conflict if
// it was changed, whatever its size is.
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
		p, err := src.next() // a last piece may come with io.EOF
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
