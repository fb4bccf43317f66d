package client

import (
	"context"
	"encoding/binary"
	"errors"
	"hash/adler32"
	"io"

	"hemera"
	"hemera/errs"
)

// same reports whether source and target, which have the same size, have the same checksum.
func (x *copier) same(ctx context.Context, j job) (bool, error) {
	from, err := x.checksum(ctx, j.from, j.src.size)
	if err != nil {
		return false, err
	}
	to, err := x.checksum(ctx, j.to, j.src.size)
	return err == nil && from == to, err
}

// checksum is that of a whole file: the server's, or made by reading it where there is none.
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
	return sumOf(sum), nil
}

// begun is how much of the source an unfinished copy has left in a part, and the sum of that. What a
// server holds is compared with the beginning of the source: without the server's checksum of it there is
// nothing to go on with. What this machine holds is compared at the end, as the server has a checksum of
// all of its file only.
func (x *copier) begun(ctx context.Context, j job) (int64, Hash32, error) {
	part := j.to.part()
	size, err := x.store(j.to).part(ctx, part, j.src)
	if err != nil || size == 0 {
		return 0, x.newSum(), err
	}
	if !j.to.Remote {
		sum, err := x.prefix(ctx, part, size)
		return size, sum, err
	}
	got, err := x.c.Checksum(ctx, part.URL, hemera.Adler32)
	if errors.Is(err, errs.Unsupported) {
		return 0, x.newSum(), nil
	}
	if err != nil {
		return 0, nil, err
	}
	sum, err := x.prefix(ctx, j.from, size)
	if err != nil {
		return 0, nil, err
	}
	if sumOf(sum) != got {
		return 0, x.newSum(), nil
	}
	return size, sum, nil
}

// prefix is the sum of a file's first n bytes.
func (x *copier) prefix(ctx context.Context, p Place, n int64) (Hash32, error) {
	src, err := x.store(p).source(ctx, p, 0)
	if err != nil {
		return nil, err
	}
	defer src.close()
	sum := x.newSum()
	for left := n; left > 0; {
		b, err := src.next()
		b = b[:min(left, int64(len(b)))]
		sum.Write(b)
		left -= int64(len(b))
		switch {
		case err == io.EOF && left > 0:
			return nil, errs.New(errs.Conflict, "copy", p.String(), "it became shorter while it was copied")
		case err != nil && err != io.EOF:
			return nil, err
		}
	}
	return sum, nil
}

func (x *copier) newSum() Hash32 {
	if x.c.opts.NewAdler32 != nil {
		return x.c.opts.NewAdler32()
	}
	return adler32.New()
}

// sumOf is a running sum as a checksum.
func sumOf(sum Hash32) hemera.Checksum {
	c, _ := hemera.MakeChecksum(hemera.Adler32, binary.BigEndian.AppendUint32(nil, sum.Sum32()))
	return c
}
