package maint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	gopath "path"
	"slices"
	"sync"
	"time"

	"hemera/rules/lifecycle"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// passRests returns the rests of a request before each further pass through its tree, for files that were in use or could not be
// converted. After the last one the request ends, and says how many are left.
func passRests() []time.Duration {
	return []time.Duration{stallRest, 15 * time.Second, time.Minute, 5 * time.Minute, 15 * time.Minute, 30 * time.Minute}
}

// checkpointFiles is after how many conversions a job waits for those under way and makes its cursor durable: so many
// files are looked at twice after a restart.
const checkpointFiles = 1024

// run goes through the tree of a request until nothing is left to do, or ctx ends.
func (v *converter) run(ctx context.Context, j *convertJob) {
	rests := passRests()
	for ctx.Err() == nil {
		// Before the first file moves, so that a long look for work does not show as waiting. A stalled one says what stalls it until
		// something moves.
		if state, _ := j.state(); state != adminapi.JobStalled {
			j.set(adminapi.JobRunning, "")
		}
		err := v.base.Panics.Do("maint.Convert", j.now().Path, func() error { return v.pass(ctx, j) })
		if ctx.Err() != nil {
			return
		}
		c := j.now()
		// A tree that is gone has nothing left to convert.
		again := err != nil || c.Failed > 0 || c.Skipped > 0
		if again && c.Pass < len(rests) && !errors.Is(err, errs.NotFound) {
			state, why := adminapi.JobWaiting, c.Why
			if err != nil {
				why = cmp.Or(c.Why, errs.Reason(err, c.Path))
			}
			if err != nil || c.Failed > 0 {
				state = adminapi.JobStalled
			}
			j.set(state, why)
			if !pause(ctx, rests[c.Pass]) || !v.next(ctx, j) {
				return
			}
			continue
		}
		state, why := adminapi.JobDone, c.Why
		if err != nil {
			why = errs.Reason(err, c.Path)
		}
		if again {
			state = adminapi.JobFailed
		}
		err = v.save(ctx, j, func(c *adminapi.Conversion) { j.ends(c, v.base.Now(), state, why) })
		if err != nil && ctx.Err() == nil {
			v.base.Log.Error("the end of a conversion is not stored", "path", c.Path, "error", err)
		}
		j.set(state, why)
		v.base.Log.Info("conversion ended", "path", c.Path, "form", c.Form.String(), "converted", c.Done, "skipped", c.Skipped, "failed", c.Failed)
		return
	}
}

// next begins another pass.
func (v *converter) next(ctx context.Context, j *convertJob) bool {
	j.again("")
	return v.save(ctx, j, func(c *adminapi.Conversion) {
		c.Pass++
		c.Cursor, c.Seen, c.SeenBytes, c.Skipped, c.Failed, c.Replaced, c.Why = "", 0, 0, 0, 0, 0, ""
	}) == nil
}

// pass goes through the tree once, from the cursor on.
func (v *converter) pass(ctx context.Context, j *convertJob) error {
	c := j.now()
	root, path, err := v.base.Files.Resolve(ctx, c.Root)
	if err != nil {
		return errs.Wrap(err, "maint.Convert", c.Path)
	}
	j.mu.Lock()
	j.total = hemera.TreeTotals{Files: 1, Bytes: root.Size}
	if root.IsDir() {
		j.total = root.Tree
	}
	j.mu.Unlock()
	p := &convertPass{converter: v, job: j, path: path, form: c.Form, sums: c}
	if p.above, err = v.base.begin(ctx, root); err != nil {
		return err
	}
	// The walk begins behind the cursor of a pass that a restart has ended.
	w := walker{
		tree: v.base.Conversions.Tree,
		visit: func(at string, e hemera.Entry) error {
			err := v.base.Panics.Do("maint.Convert", about(e.ID), func() error { return p.visit(ctx, at, e) })
			if err != nil && errs.KindOf(err) == errs.Internal {
				p.count(e, at, 0, err) // the walk continues behind it
				return nil
			}
			return err
		},
		enter: func(_ string, dir hemera.Entry) bool { p.above.enter(dir.ID); return true },
		leave: func() { p.above.leave() },
	}
	if root.IsDir() {
		err = w.walk(ctx, root, path, c.Cursor)
	} else {
		err = p.visit(ctx, "", root)
	}
	// The end of the walk is a checkpoint too.
	return errors.Join(err, p.checkpoint(ctx))
}

// convertPass is one way through the tree of a request.
type convertPass struct {
	*converter
	job   *convertJob
	path  string // of the tree, when the pass began
	form  hemera.Form
	group sync.WaitGroup // conversions under way
	begun int            // since the last checkpoint
	at    string         // the last file that was visited
	above trail          // the directories that the walk is in

	mu      sync.Mutex
	sums    adminapi.Conversion // counts so far
	noSpace int                 // in a row
}

// errNoRoom ends a pass when many files in a row found no room.
var errNoRoom = errs.New(errs.NoSpace, "maint.Convert", "", "no disk of the space can take the files")

// visit converts a file if that is to be done. It blocks while as many are under way as may be.
func (p *convertPass) visit(ctx context.Context, at string, e hemera.Entry) error {
	p.at = at
	if _, due := lifecycle.Wanted(e, p.form); !due {
		// An older order may be just making another form of it.
		if p.converts(e.ID) {
			p.count(e, at, 0, errs.New(errs.Locked, "maint.Convert", "fxid:"+e.ID.Hex(), "another work on the file is under way"))
			return nil
		}
		p.seen(e)
		return nil
	}
	if p.hopeless() {
		return errNoRoom
	}
	if p.begun >= checkpointFiles {
		if err := p.checkpoint(ctx); err != nil {
			return err
		}
	}
	// All jobs share the slots, so that several requests are not more load than one.
	select {
	case p.slots <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	p.begun++
	id, above := p.sums.ID, slices.Clone(p.above)
	p.base.Panics.Go(&p.group, "maint.Convert", about(e.ID), func() {
		defer func() { <-p.slots }()
		part := p.job.begin(e.Size)
		bytes, err := p.convert(ctx, e, func() (hemera.Form, error) { return p.decides(ctx, e, above, p.form, id) }, part.to)
		counted := part.end()
		if err == nil {
			// Each part of a file counts once in the rate: on the way, or now.
			p.job.moved(bytes, counted)
		}
		p.count(e, at, bytes, err)
	})
	return nil
}

// seen counts a file that was looked at.
func (p *convertPass) seen(e hemera.Entry) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sums.Seen++
	p.sums.SeenBytes += e.Size
	p.job.live(p.sums)
}

// count counts a file that was tried, with its path below the root.
func (p *convertPass) count(e hemera.Entry, at string, bytes int64, err error) {
	newer, isReplaced := errors.AsType[replaced](err)
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case err == nil:
		p.sums.Done++
		p.sums.Bytes += bytes
		p.noSpace = 0
	case isReplaced:
		p.sums.Replaced++
		if p.sums.Failed+p.sums.Skipped == 0 {
			p.sums.Why = fmt.Sprintf("%d files were %s", p.sums.Replaced, newer.Error())
		}
	case inUse(err): // no failure: an admin need not look
		p.sums.Skipped++
		p.sums.Why = p.reason(at, err)
	default:
		p.sums.Failed++
		p.sums.Why = p.reason(at, err)
		p.job.fails(p.sums.Why)
		if errors.Is(err, errs.NoSpace) {
			p.noSpace++
		}
	}
	// The others are looked at once more.
	if err == nil || isReplaced {
		p.sums.Seen++
		p.sums.SeenBytes += e.Size
	}
	p.job.live(p.sums)
}

// reason says why a file was left as it is, with its path once.
func (p *convertPass) reason(at string, err error) string {
	path := p.path
	if at != "" {
		path = gopath.Join(p.path, at)
	}
	return path + ": " + errs.Reason(err, path)
}

// hopeless reports that no file finds room at present.
func (p *convertPass) hopeless() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.noSpace >= noSpaceMax
}

// checkpoint waits for the conversions under way, and makes durable how far the pass is.
func (p *convertPass) checkpoint(ctx context.Context) error {
	// All that was begun before the cursor has ended, so a restart may begin there.
	p.group.Wait()
	p.begun = 0
	p.mu.Lock()
	sums := p.sums
	p.mu.Unlock()
	// One sync for a thousand files.
	return p.save(ctx, p.job, func(c *adminapi.Conversion) {
		c.Cursor, c.Seen, c.SeenBytes = p.at, sums.Seen, sums.SeenBytes
		c.Done, c.Bytes, c.Skipped, c.Failed, c.Replaced, c.Why = sums.Done, sums.Bytes, sums.Skipped, sums.Failed, sums.Replaced, sums.Why
	})
}
