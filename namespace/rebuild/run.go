package rebuild

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"path"
	"slices"
	"sync"
	"time"

	"hemera/namespace"
	"hemera/platform/contain"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

const (
	// adopters is the number of files that are made at a time: they share the syncs of the store.
	adopters = 64
	// tellEvery is the interval at which the caller hears of the progress, findingsMax bounds the findings that wait for
	// that.
	tellEvery   = 250 * time.Millisecond
	findingsMax = 1000
)

// Inventory lists the pieces that a disk has after a piece, in the order of ids, at most limit; none is the end.
type Inventory func(ctx context.Context, disk hemera.DiskID, after hemera.PieceID, limit int) ([]hemera.PieceStat, error)

// Names has the calls of a rebuild to the namespace; namespace.Parts implements it.
type Names interface {
	// Lost reports whether the namespace lost the content of a piece that was sealed at a time, or may have.
	Lost(p hemera.PieceID, sealed time.Time) bool
	// Adopt makes a file of a content, or completes it.
	Adopt(ctx context.Context, a namespace.Adoption) (namespace.Adopted, error)
	// Resolve returns the entry with the id and its path; NotFound.
	Resolve(ctx context.Context, id hemera.FileID) (hemera.Entry, string, error)
}

// Options has the parts and settings of a rebuild. All but Unread are required.
type Options struct {
	adminapi.RebuildOptions
	Disks  []hemera.Disk // to read
	Unread []hemera.DiskID
	List   Inventory
	Names  Names
	Next   hemera.FileID // the next id that the namespace hands out: all that were lost are smaller
	Now    func() time.Time
	Tell   func(adminapi.RebuildReport) error
	Panics *contain.Panics // of the work on one file, which is a finding then; may be nil
}

// Run rebuilds what the disks have, and returns the last report. It calls Tell from the goroutine of the caller. A disk
// that stops answering is left out and named in the report; a file that cannot be made is a finding. It fails when ctx
// ends, when Tell fails, and when the namespace does.
func Run(ctx context.Context, o Options) (adminapi.RebuildReport, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	r := &run{Options: o, began: o.Now(), spaces: map[hemera.DiskID]hemera.SpaceName{}, room: make(chan struct{}, findingsMax),
		report: adminapi.RebuildReport{Disks: len(o.Disks), Unread: slices.Clone(o.Unread), Problems: map[string]int64{}}}
	// The space of a file is that of its disks: footers do not name it.
	for _, d := range o.Disks {
		r.spaces[d.ID] = d.Space
		r.report.PiecesTotal += d.Pieces
	}
	// The work has a goroutine of its own, so that the caller hears of it also while disks do not answer.
	done := make(chan error, 1)
	go func() { done <- o.Panics.Do("rebuild.Run", "", func() error { return r.all(ctx) }) }()
	ticker := time.NewTicker(tellEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			if err := o.Tell(r.look(false)); err != nil {
				stop(err)
				err = cmp.Or(err, <-done) // the work has ended; Tell's error is why
				return r.look(false), err
			}
		case err := <-done:
			if ctx.Err() != nil {
				err = errs.Wrap(context.Cause(ctx), "rebuild.Run", "")
			}
			return r.look(err == nil), err
		}
	}
}

// run is a rebuild under way.
type run struct {
	Options
	began  time.Time
	spaces map[hemera.DiskID]hemera.SpaceName
	// room has one for each finding that nobody has heard of: work waits while there are too many.
	room chan struct{}

	mu     sync.Mutex // guards all below
	report adminapi.RebuildReport
	failed error // of the namespace: nothing else can be made
}

// all reads the disks and makes the files.
func (r *run) all(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	// The readers end with this context, also when the namespace fails in the middle.
	ids := make([]hemera.DiskID, len(r.Disks))
	for i, d := range r.Disks {
		ids[i] = d.ID
	}
	m := newMerge(ctx, ids, r.list, merge{ended: r.ended, skip: func(p found) bool { return r.skip(ctx, p) }})
	groups := make(chan []found)
	var work sync.WaitGroup
	for range adopters {
		work.Go(func() {
			for pieces := range groups {
				if err := r.contained(ctx, pieces); err != nil {
					r.fail(err)
					stop()
				}
			}
		})
	}
	// Files come in the order of ids, but are made side by side: the namespace does not need the order.
	for ctx.Err() == nil {
		pieces := m.group()
		if len(pieces) == 0 {
			break
		}
		groups <- pieces // an adopter that was stopped still takes what comes
	}
	close(groups)
	work.Wait()
	m.drain()
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed
}

// list calls List, and contains its panics.
func (r *run) list(ctx context.Context, disk hemera.DiskID, after hemera.PieceID, limit int) (page []hemera.PieceStat, err error) {
	err = r.Panics.Do("rebuild.List", "disk "+disk.String(), func() (err error) {
		page, err = r.List(ctx, disk, after, limit)
		return err
	})
	return page, err
}

// ended notes that a disk was read to its end, or not.
func (r *run) ended(c *cursor) {
	r.mu.Lock()
	defer r.mu.Unlock()
	// What it had said until then counts; the next run reads it from the start.
	if c.err != nil {
		r.report.Unread = append(r.report.Unread, c.disk)
		return
	}
	r.report.DisksRead++
}

// skip counts a piece, and reports whether it is none that was lost.
func (r *run) skip(ctx context.Context, p found) bool {
	r.mu.Lock()
	r.report.Pieces++
	r.mu.Unlock()
	if r.Names.Lost(p.ID, p.Sealed) {
		return false
	}
	// An id above those that were handed out can only come from a life of the namespace that was further.
	if p.ID.File >= r.Next || hemera.FileID(p.ID.Gen) >= r.Next {
		r.find(ctx, finding(adminapi.RebuildBeyond, p.PieceStat, 1, "this namespace will hand out its id"))
	}
	return true
}

// contained calls file, and makes a panic a finding.
func (r *run) contained(ctx context.Context, pieces []found) (err error) {
	defect := r.Panics.Do("rebuild.File", pieces[0].ID.String(), func() error {
		err = r.file(ctx, pieces)
		return nil
	})
	if defect != nil {
		r.find(ctx, finding(adminapi.RebuildFailed, pieces[0].PieceStat, len(pieces), errs.Reason(defect, "")))
	}
	return err
}

// file does what there is to do about one file. Its error is of the namespace.
func (r *run) file(ctx context.Context, pieces []found) error {
	chosen, findings, ok := choose(pieces)
	// Findings come before the file, so that an admin who follows sees why a content was taken.
	for _, f := range findings {
		r.find(ctx, f)
	}
	if !ok {
		return nil
	}
	a, part := r.adoption(&chosen)
	about := finding("", chosen.about(), len(chosen.pieces), "")
	about.Path = a.Path
	if part {
		about.Tag = adminapi.RebuildPart
		r.find(ctx, about)
	}
	var out namespace.Adopted
	var err error
	if r.DryRun {
		out, err = r.foresee(ctx, &chosen, a)
	} else {
		out, err = r.Names.Adopt(ctx, a)
	}
	switch {
	case err == nil:
		r.adopted(ctx, &chosen, a, out, about)
	case ctx.Err() != nil: // the caller that ended it knows why
	case errs.Undecided(err) || errors.Is(err, errs.Unavailable):
		return err // the store does not work any more
	default:
		about.Tag, about.Why = adminapi.RebuildFailed, errs.Reason(err, a.Path)
		r.find(ctx, about)
	}
	return nil
}

// adoption returns the file that is made of a content. part says that its name is that of an unfinished copy.
func (r *run) adoption(c *content) (a namespace.Adoption, part bool) {
	s := c.about()
	a = namespace.Adoption{
		ID: s.ID.File, Gen: s.ID.Gen, Path: c.path(), Mode: r.Mode, Size: s.FileSize, Layout: s.Layout, Space: r.spaces[c.pieces[0].disk],
		Sums: s.Checksums, Mtime: c.written().Sealed,
	}
	if owner := c.owner(); owner != nil {
		a.UID, a.GID, a.Mode = owner.UID, owner.GID, owner.Mode&0o7777&^r.Umask
	}
	for _, p := range c.pieces {
		a.Pieces = append(a.Pieces, hemera.Piece{Index: p.ID.Index, Disk: p.disk})
	}
	// hemera cp writes under the name of a part, and gives the file its name when it is whole. Footers know the first only.
	dir, name := path.Split(a.Path)
	whole, part := hemera.WholeName(name)
	if part && r.Parts {
		a.Path = dir + whole
	}
	return a, part
}

// foresee returns the result that an adoption would have, as far as that follows from the file alone: which of two files
// gets a path that both claim shows when they are made.
func (r *run) foresee(ctx context.Context, c *content, a namespace.Adoption) (out namespace.Adopted, err error) {
	out = namespace.Adopted{Outcome: namespace.AdoptedHere, Path: a.Path}
	now, at, err := r.Names.Resolve(ctx, a.ID)
	switch {
	case errors.Is(err, errs.NotFound):
		if !c.readable || !namespace.Adoptable(a.Path) {
			out = namespace.Adopted{Outcome: namespace.AdoptedLost, Path: namespace.LostDir + "/" + a.ID.Hex(), Why: "its pieces name no good path"}
		}
		return out, nil
	case err != nil:
		return out, err
	case now.Gen == a.Gen && len(now.Pieces) >= len(a.Pieces):
		out.Outcome, out.Path = namespace.AdoptedBefore, at
	case now.Gen == a.Gen:
		out.Outcome, out.Path = namespace.AdoptedPieces, at
	case now.Gen < a.Gen && c.readable:
		out.Outcome, out.Path = namespace.AdoptedContent, at
	default:
		out.Outcome, out.Path = namespace.AdoptedNot, at
	}
	return out, nil
}

// adopted counts what became of a file, and finds what an admin should know of it.
func (r *run) adopted(ctx context.Context, c *content, a namespace.Adoption, out namespace.Adopted, about adminapi.RebuildFinding) {
	about.At, about.Why = out.Path, out.Why
	// Every outcome but AdoptedNot has a counter.
	r.mu.Lock()
	switch out.Outcome {
	case namespace.AdoptedHere:
		r.report.Made++
	case namespace.AdoptedLost:
		r.report.Lost++
	case namespace.AdoptedPieces:
		r.report.Grown++
	case namespace.AdoptedContent:
		r.report.Renewed++
	case namespace.AdoptedMove:
		r.report.Moved++
	case namespace.AdoptedBefore:
		r.report.Before++
	}
	if out.Outcome == namespace.AdoptedHere || out.Outcome == namespace.AdoptedLost {
		r.report.Bytes += a.Size
		if c.owner() == nil {
			r.report.Ownerless++
		}
	}
	r.mu.Unlock()
	// One finding for a file at most: the first reason is the one to act on.
	switch {
	case !c.readable:
		about.Tag, about.Why = adminapi.RebuildUnreadable, shortage(*c)
	case out.Outcome == namespace.AdoptedNot:
		about.Tag, about.At = adminapi.RebuildOlder, ""
	// Only these are in LostDir without a path that another file has.
	case out.Why != "" && (a.Path == "" || !namespace.Adoptable(a.Path)):
		about.Tag = adminapi.RebuildNameless
	case out.Why != "":
		about.Tag = adminapi.RebuildConflict
	}
	if about.Tag != "" && about.Tag != adminapi.RebuildPart {
		r.find(ctx, about)
	}
	if out.Displaced != 0 {
		r.find(ctx, adminapi.RebuildFinding{Tag: adminapi.RebuildConflict, File: out.Displaced, Path: out.Path, At: out.DisplacedTo,
			Why: "file fxid:" + a.ID.Hex() + " has its path, and is newer"})
	}
}

// find adds a finding to the next report. It waits while the caller is behind.
func (r *run) find(ctx context.Context, f adminapi.RebuildFinding) {
	select {
	case r.room <- struct{}{}:
	case <-ctx.Done():
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.report.Problems[f.Tag]++
	r.report.Findings = append(r.report.Findings, f)
}

// fail remembers the first failure of the namespace.
func (r *run) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed == nil {
		r.failed = err
	}
}

// look returns the report now; the next one has later findings only.
func (r *run) look(done bool) adminapi.RebuildReport {
	r.mu.Lock()
	defer r.mu.Unlock()
	// The caller keeps what it gets, so maps and lists are copies.
	now := r.report
	now.Problems, now.Unread = maps.Clone(r.report.Problems), slices.Clone(r.report.Unread)
	now.Took, now.Done = r.Now().Sub(r.began), done
	for range r.report.Findings {
		<-r.room
	}
	r.report.Findings = nil
	return now
}
