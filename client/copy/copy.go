package copy

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"hemera/client/direct"
	"hemera/client/xrootd"
	"hemera/words/errs"
)

// Run copies files and, with Options.Recursive, directories between this machine and servers in any combination. It
// continues after a failure; the error is the first one, with the number of failures.
//
// A file gets its name only when it is complete and, if it is written as a part, verified. An interrupted copy leaves the
// parts of large files; one with Options.Continue continues them.
func Run(ctx context.Context, c *xrootd.Client, sources []string, to string, o Options) (Progress, error) {
	dst, err := ParsePlace(to)
	if err != nil {
		return Progress{}, err
	}
	x := newCopier(c, o, newTracker(o.Progress))
	x.nodes = direct.New(c, o.Direct)
	defer x.nodes.Close()
	if err := x.canPreserve(ctx, dst); err != nil {
		return x.track.close(), err
	}
	outer := ctx // the group's own ends with it
	g, ctx := errgroup.WithContext(ctx)
	for range x.o.Parallel {
		g.Go(func() error {
			for j := range x.jobs {
				x.done(j, x.file(ctx, j))
			}
			return nil
		})
	}
	var listing error // an interruption
	for _, s := range sources {
		err := x.enumerate(ctx, s, dst, len(sources))
		if err == nil {
			continue
		}
		if ctx.Err() != nil {
			listing = err
			continue
		}
		from, _ := ParsePlace(s)
		x.fault(job{from: from, to: dst}, err)
	}
	x.track.add(func(p *Progress) { p.Listed = true })
	close(x.jobs)
	_ = g.Wait() // workers return no errors: failures are counted
	if listing == nil {
		x.finishDirs(outer)
	}
	p := x.track.close()
	switch {
	case x.first != nil && p.Failed > 1:
		return p, &errs.Error{Kind: errs.KindOf(x.first), Op: "copy.Copy", Subject: fmt.Sprintf("(first of %d failures)", p.Failed), Cause: x.first}
	case x.first != nil:
		return p, x.first
	}
	return p, listing
}

// job is one file to copy.
type job struct {
	from, to Place // of the file itself, not of the tree
	src      state // when it was listed
}

// copier is one [Run] under way.
type copier struct {
	c     *xrootd.Client
	nodes *direct.Client // for sources
	o     Options
	umask uint32   // of this process
	track *tracker // counts for Progress
	jobs  chan job // from enumerate to the workers

	mu     sync.Mutex               // guards first and atomic
	first  error                    // failure
	atomic map[xrootd.Endpoint]bool // whether a server shows no file before its close

	dirs []job // directories that get their attributes at the end; only the goroutine that lists uses it
}

// newCopier makes a copier whose workers do not run yet.
func newCopier(c *xrootd.Client, o Options, track *tracker) *copier {
	o = o.withDefaults()
	return &copier{c: c, o: o, umask: umask(), track: track, jobs: make(chan job, o.Parallel), atomic: map[xrootd.Endpoint]bool{}}
}

// store returns the store of a place.
func (x *copier) store(p Place) store {
	if p.Remote {
		return servers{x.c, x.nodes}
	}
	return machine{x.c.Options().Chunk, x.o.Links}
}

// mode returns the mode of a copy: the permission bits of the source less the umask, as with cp.
func (x *copier) mode(src state, unknown uint32) uint32 { return cmp.Or(src.mode, unknown) &^ x.umask }

// umask returns the process's umask. It reads it in a way that does not change it, as other goroutines make files. If the
// file cannot be read, it returns 022, the usual value.
func umask() uint32 {
	status, _ := os.ReadFile("/proc/self/status") // umask(2) would change it to report it
	for line := range strings.Lines(string(status)) {
		if v, ok := strings.CutPrefix(line, "Umask:"); ok {
			if n, err := strconv.ParseUint(strings.TrimSpace(v), 8, 32); err == nil {
				return uint32(n)
			}
		}
	}
	return 0o022
}

// publisher returns the way in which the target's server gives the file its name.
func (x *copier) publisher(ctx context.Context, j job) (publisher, error) {
	p := publisher{c: x.c, verify: x.o.Verify}
	if !j.to.Remote {
		return p, nil
	}
	x.mu.Lock()
	atomic, known := x.atomic[j.to.URL.Endpoint]
	x.mu.Unlock()
	if !known { // two workers may ask at once; the answer is the same
		var err error
		if atomic, err = x.c.Publishes(ctx, j.to.URL.Endpoint); err != nil {
			return p, err
		}
		x.mu.Lock()
		x.atomic[j.to.URL.Endpoint] = atomic
		x.mu.Unlock()
	}
	p.atomic = atomic
	p.direct = atomic && j.src.size < x.o.PartMin
	return p, nil
}

// enumerate makes jobs of one source. It makes directories itself, before their content. It blocks while all workers are
// busy.
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
	dst, err = resolveTarget(end{src, from}, end{dst, to}, x.o.Recursive, sources)
	if err != nil {
		return err
	}
	if !from.dir {
		return x.submit(ctx, job{src, dst, from})
	}
	// The top directory first, because everything else is below it.
	if err := x.store(dst).mkdir(ctx, dst, x.mode(from, 0o755)); err != nil {
		return err
	}
	x.noteDir(job{src, dst, from})
	return x.store(src).walk(ctx, src, func(rel string, s state) error {
		j := job{src.Join(rel), dst.Join(rel), s}
		switch {
		case s.fault == nil && !s.dir && isPart(j.from.base()): // the part of an unfinished copy to the source
			x.track.add(func(p *Progress) { p.Passed++ })
		case s.link:
			x.track.add(func(p *Progress) { p.Links++ })
		case s.fault != nil:
			x.fault(j, s.fault)
		case s.dir:
			err := x.store(dst).mkdir(ctx, j.to, x.mode(s, 0o755))
			if err == nil {
				x.noteDir(j)
				return nil
			}
			if !ofEntry(err) {
				return err // of the server, so all entries would fail
			}
			x.fault(j, err)
		default:
			return x.submit(ctx, j)
		}
		return nil
	})
}

// noteDir records a directory that gets its attributes at the end.
func (x *copier) noteDir(j job) {
	if x.o.Preserve {
		x.dirs = append(x.dirs, j)
	}
}

// fault counts and reports an entry that cannot be copied.
func (x *copier) fault(j job, err error) {
	x.track.add(func(p *Progress) { p.FilesTotal++ })
	x.done(j, err)
}

// submit counts a file and passes it to a worker.
func (x *copier) submit(ctx context.Context, j job) error {
	x.track.add(func(p *Progress) { p.FilesTotal++; p.BytesTotal += j.src.size })
	select {
	case x.jobs <- j:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// done counts and reports one finished job. All workers call it. It keeps only the first error; Report gets each.
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
