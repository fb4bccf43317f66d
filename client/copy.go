package client

import (
	"context"
	"errors"
	"fmt"
	"hash/adler32"
	"io"
	"sync"

	"golang.org/x/sync/errgroup"

	"hemera"
	"hemera/errs"
)

// Verify says whether the checksum made while copying is compared with those of the servers.
type Verify int

// The ways to verify. VerifyPossible passes over servers that have no checksums.
const (
	VerifyPossible Verify = iota
	VerifyAlways
	VerifyNever
)

// CopyOptions say how to copy.
type CopyOptions struct {
	Recursive bool
	Force     bool // replace files
	Continue  bool // go on with files that are there in part; pass over those of the same size
	Persist   bool // have servers remove unfinished files
	Parallel  int  // files at a time; 4
	Verify    Verify
	TPC       TPC
	// Progress is called several times a second, and once at the end.
	Progress func(Progress)
	// Report is called for each file when it is done or has failed, from several goroutines.
	Report func(from, to string, err error)
}

// Copy copies files and, with Recursive, directories between this machine and servers in any
// combination. It goes on after a failure; the error tells of the first one and their number.
// Local files get their name, and files at Hemera become visible, only when they are whole.
func (c *Client) Copy(ctx context.Context, sources []string, to string, o CopyOptions) (Progress, error) {
	if o.Parallel <= 0 {
		o.Parallel = 4
	}
	dst, err := ParsePlace(to)
	if err != nil {
		return Progress{}, err
	}
	x := &copier{c: c, o: o, track: newTracker(o.Progress), jobs: make(chan job, o.Parallel)}
	g, ctx := errgroup.WithContext(ctx)
	for range o.Parallel {
		g.Go(func() error {
			for j := range x.jobs {
				x.done(j, x.file(ctx, j))
			}
			return nil
		})
	}
	var listing error
	for _, s := range sources {
		switch err := x.enumerate(ctx, s, dst, len(sources)); {
		case err == nil:
		case ctx.Err() != nil:
			listing = err
		default: // of the source itself
			from, _ := ParsePlace(s)
			x.fault(job{from: from, to: dst}, err)
		}
	}
	close(x.jobs)
	_ = g.Wait()
	p := x.track.close()
	switch {
	case x.first != nil && p.Failed > 1:
		return p, errs.Wrap(x.first, fmt.Sprintf("copy (first of %d failures)", p.Failed), "")
	case x.first != nil:
		return p, x.first
	}
	return p, listing
}

// job is one file to copy.
type job struct {
	from, to Place
	size     int64
}

// copier is one Copy under way.
type copier struct {
	c     *Client
	o     CopyOptions
	track *tracker
	jobs  chan job

	mu    sync.Mutex
	first error
}

// store is where a place lives.
func (x *copier) store(p Place) store {
	if p.Remote {
		return servers{x.c}
	}
	return machine{x.c.opts.Chunk, x.o.Continue}
}

// enumerate makes jobs of one source.
func (x *copier) enumerate(ctx context.Context, source string, dst Place, sources int) error {
	src, err := ParsePlace(source)
	if err != nil {
		return err
	}
	from, err := x.store(src).stat(ctx, src)
	if err != nil {
		return err
	}
	to, err := x.store(dst).stat(ctx, dst)
	if err != nil {
		return err
	}
	if dst, err = aim(end{src, from}, end{dst, to}, x.o.Recursive, sources); err != nil {
		return err
	}
	if !from.dir {
		return x.submit(ctx, job{src, dst, from.size})
	}
	if err := x.store(dst).mkdir(ctx, dst); err != nil {
		return err
	}
	return x.store(src).walk(ctx, src, func(rel string, s state) error {
		j := job{src.Join(rel), dst.Join(rel), s.size}
		switch {
		case s.fault != nil:
			x.fault(j, s.fault)
		case s.dir:
			err := x.store(dst).mkdir(ctx, j.to)
			if err == nil || !ofEntry(err) {
				return err
			}
			x.fault(j, err)
		default:
			return x.submit(ctx, j)
		}
		return nil
	})
}

// fault tells of an entry that cannot be copied.
func (x *copier) fault(j job, err error) {
	x.track.add(func(p *Progress) { p.FilesTotal++ })
	x.done(j, err)
}

func (x *copier) submit(ctx context.Context, j job) error {
	x.track.add(func(p *Progress) { p.FilesTotal++; p.BytesTotal += j.size })
	select {
	case x.jobs <- j:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// done counts and reports one finished job.
func (x *copier) done(j job, err error) {
	x.track.add(func(p *Progress) {
		if err != nil {
			p.Failed++
		} else {
			p.Files++
		}
	})
	if err != nil {
		x.mu.Lock()
		if x.first == nil {
			x.first = err
		}
		x.mu.Unlock()
	}
	if x.o.Report != nil {
		x.o.Report(j.from.String(), j.to.String(), err)
	}
}

// fileTries is how often a file is begun when servers lose it in the middle.
const fileTries = 4

// file copies one file. One that is lost because the server it was written through stops is begun anew, as
// by the stock clients: another server will take it.
func (x *copier) file(ctx context.Context, j job) error {
	for try := 1; ; try++ {
		n, err := x.fileOnce(ctx, j)
		lost, ok := errors.AsType[unwritten](err)
		if !ok || !lost.again() || try == fileTries || ctx.Err() != nil {
			return err
		}
		x.track.bytes(-n)
	}
}

// fileOnce copies one file by the way that fits, and says how many bytes it has counted.
func (x *copier) fileOnce(ctx context.Context, j job) (int64, error) {
	if err := ctx.Err(); err != nil {
		return 0, errs.Wrap(err, "copy", j.from.String())
	}
	if !j.to.Remote {
		j.to.Path = behind(j.to.Path)
	}
	var there state // servers refuse by themselves to replace: no need to ask
	if x.o.Continue || !j.to.Remote {
		var err error
		if there, err = x.store(j.to).stat(ctx, j.to); err != nil {
			return 0, err
		}
	}
	act, err := choose(state{exists: true, size: j.size}, there, j.to.String(), x.o)
	if err != nil {
		return 0, err
	}
	switch act {
	case actSkip:
		x.track.add(func(p *Progress) { p.Bytes += j.size; p.Skipped++; p.SkippedBytes += j.size })
		return j.size, nil
	case actCopy:
		there.size = 0
		if j.from.Remote && j.to.Remote && x.o.TPC != TPCOff {
			err := x.thirdParty(ctx, j)
			if x.o.TPC == TPCOnly || !errors.Is(err, errs.Unsupported) {
				return 0, err
			}
		}
	case actResume:
		x.track.bytes(there.size)
	}
	n, err := x.stream(ctx, j, there.size)
	return there.size + n, err
}

// stream copies the bytes from off on through this process, and says how many it has counted.
func (x *copier) stream(ctx context.Context, j job, off int64) (n int64, err error) {
	sum, err := x.prefix(ctx, j, off)
	if err != nil {
		return 0, err
	}
	src, err := x.store(j.from).source(ctx, j.from, off)
	if err != nil {
		return 0, err
	}
	defer src.close()
	dst, err := x.store(j.to).target(ctx, j.to, targetOptions{
		off: off, size: j.size, replace: x.o.Force, persist: x.o.Persist, mode: 0o644,
	})
	if err != nil {
		return 0, err
	}
	n, err = x.pump(src, dst, sum)
	if err == nil && off+n != j.size {
		err = errs.New(errs.Conflict, "copy", j.from.String(), "it changed its size while it was copied")
	}
	if err != nil {
		dst.abandon(ctx, x.o.Continue)
		return n, err
	}
	if err := dst.commit(ctx); err != nil {
		return n, err
	}
	return n, x.verify(ctx, j, sum)
}

// pump moves everything from src to dst and into the sum.
func (x *copier) pump(src source, dst target, sum Hash32) (int64, error) {
	total := int64(0)
	for {
		p, err := src.next()
		if len(p) > 0 {
			if sum != nil {
				sum.Write(p)
			}
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

// prefix starts the checksum with the bytes that are not copied because they are there already.
// Nil when they are on no local end.
func (x *copier) prefix(ctx context.Context, j job, off int64) (Hash32, error) {
	if x.o.Verify == VerifyNever {
		return nil, nil
	}
	sum := x.newSum()
	if off == 0 {
		return sum, nil
	}
	local := j.from
	if j.from.Remote {
		if local = j.to; j.to.Remote {
			return nil, nil
		}
		if s, err := x.store(local).source(ctx, Place{Path: local.Path + partSuffix}, 0); err == nil {
			s.close()
			local.Path += partSuffix
		}
	}
	src, err := x.store(local).source(ctx, local, 0)
	if err != nil {
		return nil, err
	}
	defer src.close()
	for left := off; left > 0; {
		p, err := src.next()
		if len(p) == 0 {
			return nil, errs.As(err, errs.Conflict, "continue", local.String())
		}
		p = p[:min(left, int64(len(p)))]
		sum.Write(p)
		left -= int64(len(p))
	}
	return sum, nil
}

func (x *copier) newSum() Hash32 {
	if x.c.opts.NewAdler32 != nil {
		return x.c.opts.NewAdler32()
	}
	return adler32.New()
}

// verify compares the checksum of the bytes that went through with those that the servers tell.
// Without one (nothing went through here) it compares the servers' with each other.
func (x *copier) verify(ctx context.Context, j job, sum Hash32) error {
	if x.o.Verify == VerifyNever {
		return nil
	}
	want := ""
	if sum != nil {
		want = fmt.Sprintf("%s:%08x", hemera.Adler32, sum.Sum32())
	}
	for _, p := range []Place{j.from, j.to} {
		if !p.Remote {
			continue
		}
		got, err := x.c.Checksum(ctx, p.URL, hemera.Adler32)
		if errors.Is(err, errs.Unsupported) && x.o.Verify == VerifyPossible {
			continue
		}
		if err != nil {
			return err
		}
		if want == "" {
			want = got.String()
		}
		if got.String() != want {
			return errs.New(errs.Corrupt, "copy", p.String(), "checksum is "+got.String()+", the copy has "+want).
				WithRemedy("copy the file again with --force; if it fails again, one of the two servers or the network damages data")
		}
	}
	return nil
}
