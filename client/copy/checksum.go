package copy

import (
	"context"
	"errors"
	"io"

	"hemera/rules/checksum"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// same reports whether source and target, which have the same size, have the same checksum. Their times do not count:
// many tools do not keep them.
func (x *copier) same(ctx context.Context, j job) (bool, error) {
	// This is cheap if servers keep checksums; a local file is read.
	from, err := x.checksum(ctx, j.from, j.src.size)
	if err != nil {
		return false, err
	}
	to, err := x.checksum(ctx, j.to, j.src.size)
	return err == nil && from == to, err
}

// checksum returns the checksum of a whole file: the server's, or else one made by reading the file.
func (x *copier) checksum(ctx context.Context, p Place, size int64) (hemera.Checksum, error) {
	if p.Remote {
		sum, err := x.c.Checksum(ctx, p.URL, hemera.Adler32)
		if !errors.Is(err, errs.Unsupported) {
			return sum, err
		}
	}
	sum, err := x.prefix(ctx, p, size)
	if err != nil {
		return hemera.Checksum{}, err
	}
	return sum.Sum(), nil
}

// resume returns the length of the part that an unfinished copy of the source left, and its checksum. For a part at a
// server it compares the part with the beginning of the source: if the server has no checksum of the part, the copy
// begins at 0. A part on this machine is compared at the end of the copy, because the source's server only has a checksum
// of the whole file.
func (x *copier) resume(ctx context.Context, j job) (int64, checksum.Hasher, error) {
	part := j.to.part()
	size, err := x.store(j.to).part(ctx, part, j.src)
	if err != nil || size == 0 { // no part, or certainly one of another source
		return 0, x.newHasher(), err
	}
	if !j.to.Remote { // the part has to be read anyway, for the running checksum
		sum, err := x.prefix(ctx, part, size)
		return size, sum, err
	}
	got, err := x.c.Checksum(ctx, part.URL, hemera.Adler32)
	if errors.Is(err, errs.Unsupported) {
		return 0, x.newHasher(), nil
	}
	if err != nil {
		return 0, nil, err
	}
	sum, err := x.prefix(ctx, j.from, size)
	if err != nil {
		return 0, nil, err
	}
	if sum.Sum() != got {
		return 0, x.newHasher(), nil
	}
	return size, sum, nil
}

// prefix returns the checksum of a file's first n bytes.
func (x *copier) prefix(ctx context.Context, p Place, n int64) (checksum.Hasher, error) {
	src, err := x.store(p).source(ctx, p, 0)
	if err != nil {
		return nil, err
	}
	defer src.close()
	sum := x.newHasher()
	for left := n; left > 0; {
		b, err := src.next()
		b = b[:min(left, int64(len(b)))] // sources read whole chunks
		_, _ = sum.Write(b)
		left -= int64(len(b))
		switch {
		case err == io.EOF && left > 0: // another process has truncated it
			return nil, errs.New(errs.Conflict, "copy.Copy", p.String(), "it became shorter while it was copied")
		case err != nil && err != io.EOF:
			return nil, err
		}
	}
	return sum, nil
}

// newHasher makes an Adler-32, which every XRootD server keeps.
func (x *copier) newHasher() checksum.Hasher {
	if x.o.NewHasher != nil {
		return x.o.NewHasher()
	}
	return checksum.NewAdler32()
}
