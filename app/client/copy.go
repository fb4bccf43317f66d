package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
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

// Links say what to do about symbolic links that are found in a tree. Sources themselves are followed.
type Links int

// The ways. With LinksFiles a link to a file is copied as that file, and others are failures. LinksGood follows the
// links that lead to a file or a directory, and passes over all others.
const (
	LinksFiles Links = iota
	LinksFollow
	LinksSkip
	LinksGood
)

// CopyOptions say how to copy.
type CopyOptions struct {
	Recursive bool
	Force     bool // replace files
	// Continue passes over files that are there with the same size and checksum, and goes on with parts
	// that an interrupted copy of the same source has left.
	Continue bool
	// Preserve keeps permission bits and times of files and directories, and the owner if root copies. Of
	// servers only Hemera can: Unsupported. Each directory is noted until the end, about 300 bytes.
	Preserve bool
	Links    Links
	Persist  bool // have servers remove unfinished files
	Parallel int  // files at a time; 4
	Verify   Verify
	TPC      TPC
	// PartMin is the size from which files are written as parts to servers that show no file before its
	// close; smaller ones are written under their names. 16 MiB.
	PartMin int64
	// Progress is called several times a second, and once at the end.
	Progress func(Progress)
	// Report is called for each file when it is done or has failed, from several goroutines.
	Report func(from, to string, err error)
}

// Copy copies files and, with Recursive, directories between this machine and servers in any
// combination. It goes on after a failure; the error tells of the first one and their number.
// A file gets its name only when it is whole, and, where it is written as a part, verified. A copy that
// is interrupted leaves the parts of large files, which one with Continue goes on with.
func (c *Client) Copy(ctx context.Context, sources []string, to string, o CopyOptions) (Progress, error) {
	if o.Parallel <= 0 {
		o.Parallel = 4
	}
	if o.PartMin <= 0 {
		o.PartMin = 16 << 20
	}
	dst, err := ParsePlace(to)
	if err != nil {
		return Progress{}, err
	}
	x := &copier{c: c, o: o, umask: umask(), track: newTracker(o.Progress), jobs: make(chan job, o.Parallel), atomic: map[Endpoint]bool{}}
	if err := x.canDress(ctx, dst); err != nil {
		return x.track.close(), err
	}
	whole := ctx
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
	x.track.add(func(p *Progress) { p.Listed = true })
	close(x.jobs)
	_ = g.Wait()
	if listing == nil {
		x.dressDirs(whole)
	}
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
	src      state
}

// copier is one Copy under way.
type copier struct {
	c     *Client
	o     CopyOptions
	umask uint32
	track *tracker
	jobs  chan job

	mu     sync.Mutex
	first  error
	atomic map[Endpoint]bool // servers that were asked whether they are

	dirs []job // to be dressed at the end; of the goroutine that lists
}

// store is where a place lives.
func (x *copier) store(p Place) store {
	if p.Remote {
		return servers{x.c}
	}
	return machine{x.c.opts.Chunk, x.o.Links}
}

// mode is what the copy of something gets: its permission bits less the umask, as with cp.
func (x *copier) mode(src state, unknown uint32) uint32 { return cmp.Or(src.mode, unknown) &^ x.umask }

// umask is the process's. It is read where that does not change it, as other goroutines make files.
func umask() uint32 {
	status, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(status)) {
		if v, ok := strings.CutPrefix(line, "Umask:"); ok {
			if n, err := strconv.ParseUint(strings.TrimSpace(v), 8, 32); err == nil {
				return uint32(n)
			}
		}
	}
	return 0o022
}

// publisher is how the target's server gives the file its name.
func (x *copier) publisher(ctx context.Context, j job) (publisher, error) {
	p := publisher{c: x.c, verify: x.o.Verify}
	if !j.to.Remote {
		return p, nil
	}
	x.mu.Lock()
	atomic, known := x.atomic[j.to.URL.Endpoint]
	x.mu.Unlock()
	if !known {
		var err error
		if atomic, err = x.c.Publishes(ctx, j.to.URL.Endpoint); err != nil {
			return p, err
		}
		x.mu.Lock()
		x.atomic[j.to.URL.Endpoint] = atomic
		x.mu.Unlock()
	}
	p.atomic = atomic
	p.whole = atomic && j.src.size < x.o.PartMin
	return p, nil
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
		return x.submit(ctx, job{src, dst, from})
	}
	if err := x.store(dst).mkdir(ctx, dst, x.mode(from, 0o755)); err != nil {
		return err
	}
	x.noteDir(job{src, dst, from})
	return x.store(src).walk(ctx, src, func(rel string, s state) error {
		j := job{src.Join(rel), dst.Join(rel), s}
		switch {
		case s.fault == nil && !s.dir && isPart(j.from.base()): // of a copy to there: no file yet
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
				return err
			}
			x.fault(j, err)
		default:
			return x.submit(ctx, j)
		}
		return nil
	})
}

func (x *copier) noteDir(j job) {
	if x.o.Preserve {
		x.dirs = append(x.dirs, j)
	}
}

// fault tells of an entry that cannot be copied.
func (x *copier) fault(j job, err error) {
	x.track.add(func(p *Progress) { p.FilesTotal++ })
	x.done(j, err)
}

func (x *copier) submit(ctx context.Context, j job) error {
	x.track.add(func(p *Progress) { p.FilesTotal++; p.BytesTotal += j.src.size })
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
// by the stock clients: another server will take it. So is one that went on with a part of another source.
func (x *copier) file(ctx context.Context, j job) error {
	fresh := false
	for try := 1; ; try++ {
		n, err := x.fileOnce(ctx, j, fresh)
		lost, again := errors.AsType[unwritten](err)
		again = again && lost.again()
		if stale, ok := errors.AsType[staleError](err); ok {
			x.c.opts.Log.Info("the part was of another file", "file", j.to.String(), "because", stale.error)
			again, fresh = true, true
		}
		if !again || try == fileTries || ctx.Err() != nil {
			return err
		}
		x.track.bytes(-n)
	}
}

// staleError is the failure of a file that was gone on with, when its part was not of this source.
type staleError struct{ error }

func (s staleError) Unwrap() error { return s.error }

// fileOnce copies one file by the way that fits, and says how many bytes it has counted.
func (x *copier) fileOnce(ctx context.Context, j job, fresh bool) (int64, error) {
	if err := ctx.Err(); err != nil {
		return 0, errs.Wrap(err, "copy", j.from.String())
	}
	if !j.to.Remote {
		j.to.Path = behind(j.to.Path)
	}
	at, err := x.publisher(ctx, j)
	if err != nil {
		return 0, err
	}
	var there state
	if x.o.Continue || !at.whole { // else the server refuses by itself to replace: no need to ask
		if there, err = x.store(j.to).stat(ctx, j.to); err != nil {
			return 0, err
		}
	}
	act, err := choose(j.src, there, j.to.String(), x.o)
	if err != nil {
		return 0, err
	}
	if act == actCompare {
		same, err := x.same(ctx, j)
		switch {
		case err != nil:
			return 0, err
		case same:
			if x.o.Preserve && !dressOf(j.src, 0o644).dressed(there) {
				err = x.dress(ctx, j.to, j.src, 0o644)
			}
			if err != nil {
				return 0, err
			}
			x.track.add(func(p *Progress) { p.Bytes += j.src.size; p.Skipped++; p.SkippedBytes += j.src.size })
			return j.src.size, nil
		case !x.o.Force:
			return 0, errs.New(errs.Exists, "copy", j.to.String(), "another file of that name is there, with the same size and another checksum").
				WithRemedy("use --force to replace it")
		}
	}
	if j.from.Remote && j.to.Remote && x.o.TPC != TPCOff {
		err := x.thirdParty(ctx, j, at)
		if err == nil && x.o.Preserve {
			err = x.dress(ctx, j.to, j.src, 0o644)
		}
		if x.o.TPC == TPCOnly || !errors.Is(err, errs.Unsupported) {
			return 0, err
		}
	}
	off, sum := int64(0), x.newSum()
	if x.o.Continue && !fresh && !at.whole && !there.special {
		if off, sum, err = x.begun(ctx, j); err != nil {
			return 0, err
		}
	}
	x.track.bytes(off)
	n, err := x.stream(ctx, j, at, off, sum)
	if off > 0 && err != nil && (errors.Is(err, errs.Corrupt) || errors.Is(err, errs.Unsupported)) {
		err = staleError{err}
	}
	return off + n, err
}

// stream copies the bytes from off on through this process, and says how many it has counted. The sum is
// of the bytes before off.
func (x *copier) stream(ctx context.Context, j job, at publisher, off int64, sum Hash32) (n int64, err error) {
	src, err := x.store(j.from).source(ctx, j.from, off)
	if err != nil {
		return 0, err
	}
	defer src.close()
	dst, err := x.store(j.to).target(ctx, j.to, targetOptions{
		off: off, src: j.src, replace: x.o.Force, persist: x.o.Persist, preserve: x.o.Preserve, mode: x.mode(j.src, 0o644), at: at,
	})
	if err != nil {
		return 0, err
	}
	n, err = x.pump(src, dst, sum)
	if err == nil && off+n != j.src.size {
		err = errs.New(errs.Conflict, "copy", j.from.String(), "it changed its size while it was copied")
	}
	var want hemera.Checksum
	if err == nil && x.o.Verify != VerifyNever || off > 0 {
		want = sumOf(sum)
	}
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
	if err == nil && x.o.Preserve && j.to.Remote {
		err = x.dress(ctx, j.to, j.src, 0o644)
	}
	return n, err
}

// worthKeeping reports whether what was copied before a failure is right as far as it goes.
func worthKeeping(err error) bool {
	switch errs.KindOf(err) {
	case errs.Conflict, errs.Corrupt, errs.Unsupported:
		return false
	}
	_, unwritten := errors.AsType[unwritten](err)
	return !unwritten
}

// pump moves everything from src to dst and into the sum.
func (x *copier) pump(src source, dst target, sum Hash32) (int64, error) {
	total := int64(0)
	for {
		p, err := src.next()
		if len(p) > 0 {
			sum.Write(p)
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
