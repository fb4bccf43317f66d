package nsload

import (
	"bytes"
	"context"
	"runtime"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"hemera/namespace"
	"hemera/namespace/schema"
	"hemera/platform/kv"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// Options has the shape and the place of a tree for [Load].
type Options struct {
	namespace.Options
	Path  string // of the tree's top: its parent must exist, and the name must be free
	Shape Shape
	// Progress, if not nil, is called at intervals, from several goroutines, with the number of files written, in
	// proportion to all records.
	Progress func(files int64)
}

// Load makes a tree of very many files in a store that is not used otherwise: every record that so many commits would
// have made, but with only one event. Nothing is visible before its end, and after a crash there is all of it or nothing,
// because the engine takes all records at once (see [kv.Loader]); the records of an interrupted load are removed when the
// store is opened next. The disks of the shape get no pieces: the files can be seen, but not read.
//
// It fails with Exists or NotFound for a path that exists or has no parent, and with Unsupported when the engine has no
// bulk load.
func Load(ctx context.Context, store kv.Store, o Options) (hemera.TreeTotals, error) {
	shape, err := o.Shape.defaults()
	if err != nil {
		return hemera.TreeTotals{}, err
	}
	n, err := namespace.Open(ctx, store, o.Options)
	if err != nil {
		return hemera.TreeTotals{}, err
	}
	defer func() { _ = n.Close() }() // no calls are in progress
	engine, ok := n.Writer().(kv.Loader)
	if !ok {
		return hemera.TreeTotals{}, errs.New(errs.Unsupported, "namespace.Load", o.Path, "the store's engine has no bulk load")
	}
	at, err := n.Graft(ctx, o.Path)
	if err != nil {
		return hemera.TreeTotals{}, err
	}
	l := &loader{graft: at, shape: shape.lay(at), progress: o.Progress}
	if l.load, err = engine.Load(ctx); err != nil {
		return hemera.TreeTotals{}, errs.Wrap(err, "namespace.Load", o.Path)
	}
	err = l.fill(ctx)
	if err == nil {
		err = l.load.Commit(ctx)
	}
	if err != nil {
		_ = l.load.Abort() // the next start removes what remains
		return hemera.TreeTotals{}, errs.Wrap(err, "namespace.Load", o.Path)
	}
	return l.tree, nil
}

// loader is one load in progress. Goroutines share it: they read the shape, and each makes its own runs.
type loader struct {
	graft    *namespace.Graft  // the place of the tree
	shape    *laidOut          // the shape
	tree     hemera.TreeTotals // below the top; set by around
	load     kv.Load           // the engine's load: takes runs, then all at once
	progress func(int64)       // may be nil
	records  atomic.Int64      // written so far, of all runs
}

// part is a range of one of the tree's tables; one goroutine makes a run of it.
type part struct {
	lo, hi int64
	make   func(put func(k, v []byte) error, lo, hi int64) error
}

// partMax is the number of entries or files that a part covers; a table file of the engine takes about as many.
const partMax = 1 << 20

// parts divides the tables of the tree into ranges. They do not overlap, because the engine takes each as a sorted run.
func (l *loader) parts() (parts []part) {
	s := l.shape
	cut := func(lo, hi int64, f func(func(k, v []byte) error, int64, int64) error) {
		for ; lo < hi; lo += partMax {
			parts = append(parts, part{lo, min(lo+partMax, hi), f})
		}
	}
	cut(0, 1, s.putEntries) // the key of the top is far from the others
	cut(1, s.entries(), s.putEntries)
	cut(0, s.entries(), s.putPlaces)
	if s.Size > 0 {
		for d := range s.Disks {
			cut(0, s.pieced(), s.putPieces(d))
		}
	}
	cut(0, s.dirs, s.putStates)
	s.tapeParts(cut)
	return parts
}

// fill makes all runs, as many at a time as there are processors. It stops at the first error.
func (l *loader) fill(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for _, p := range l.parts() {
		group.Go(func() error {
			return l.run(func(put func(k, v []byte) error) error {
				return p.make(func(k, v []byte) error {
					l.count(1)
					if err := ctx.Err(); err != nil {
						return err
					}
					return put(k, v)
				}, p.lo, p.hi)
			})
		})
	}
	group.Go(func() error { return l.around(ctx) })
	return group.Wait()
}

// run makes one sorted run of the records that make puts, in the order of keys.
func (l *loader) run(make func(put func(k, v []byte) error) error) error {
	r, err := l.load.Run()
	if err != nil {
		return err
	}
	err = make(r.Put)
	if closeErr := r.Close(); err == nil {
		err = closeErr
	}
	return err
}

// tick is the number of records between two calls of Progress.
const tick = 1 << 14

// count counts written records, and reports progress at intervals.
func (l *loader) count(records int64) {
	done := l.records.Add(records)
	if l.progress == nil || done%tick != 0 {
		return
	}
	s := l.shape
	total := 2*s.entries() + s.dirs + s.tapeRecords()
	if s.Size > 0 {
		total += s.pieced() * int64(s.Replicas)
	}
	l.progress(int64(float64(s.Files) * float64(done) / float64(total)))
}

// around makes the new versions of records that existed before.
func (l *loader) around(ctx context.Context) error {
	s := l.shape
	l.tree = s.totals(0)
	ops, err := l.graft.Surroundings(ctx, namespace.GraftSize{Tree: l.tree, Depth: s.depth(0), IDs: s.entries(), Disks: s.usages()})
	if err != nil {
		return err
	}
	// A run may have the records of one table only: those of the tree lie between.
	for len(ops) > 0 {
		table := ops[0].Key[:2]
		err := l.run(func(put func(k, v []byte) error) error {
			for len(ops) > 0 && bytes.HasPrefix(ops[0].Key, table) {
				if err := put(ops[0].Key, ops[0].Value); err != nil {
					return err
				}
				ops = ops[1:]
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// putEntries makes the entries of a range, directories before files.
func (s *laidOut) putEntries(put func(k, v []byte) error, lo, hi int64) error {
	var e hemera.Entry
	for i := lo; i < hi; i++ {
		s.entry(i, &e)
		if err := put(schema.EntryKey(e.Parent, e.Name), schema.EncodeEntry(&e)); err != nil {
			return err
		}
	}
	return nil
}

// putPlaces makes the locations of a range of ids.
func (s *laidOut) putPlaces(put func(k, v []byte) error, lo, hi int64) error {
	var e hemera.Entry
	for i := lo; i < hi; i++ {
		s.entry(i, &e)
		if err := put(schema.IDKey(schema.TableLocation, e.ID), schema.EncodeLocation(&schema.Location{Parent: e.Parent, Name: e.Name})); err != nil {
			return err
		}
	}
	return nil
}

// putPieces makes the list of pieces of one disk, for a range of files.
func (s *laidOut) putPieces(disk int) func(func(k, v []byte) error, int64, int64) error {
	return func(put func(k, v []byte) error, lo, hi int64) error {
		for i := lo; i < hi; i++ {
			for p := range s.Replicas {
				if s.disk(i, p) != s.Disks[disk] {
					continue
				}
				if err := put(schema.PieceKey(s.Disks[disk], s.base+hemera.FileID(s.dirs+i), uint8(p)), nil); err != nil {
					return err
				}
			}
		}
		return nil
	}
}

// putStates makes the times and totals of a range of directories.
func (s *laidOut) putStates(put func(k, v []byte) error, lo, hi int64) error {
	for i := lo; i < hi; i++ {
		st := schema.Directory{Mtime: s.now, Ctime: s.now, Tree: s.totals(i), Depth: s.depth(i)}
		if err := put(schema.IDKey(schema.TableDirectory, s.base+hemera.FileID(i)), schema.EncodeDirectory(&st)); err != nil {
			return err
		}
	}
	return nil
}

// usages counts the pieces of the tree on each disk.
func (s *laidOut) usages() map[hemera.DiskID]schema.Usage {
	sums := make([]schema.Usage, len(s.Disks))
	for i := int64(0); i < s.pieced() && s.Size > 0; i++ {
		size := s.size(i)
		for p := range s.Replicas {
			u := &sums[(i+int64(p))%int64(len(s.Disks))]
			u.Pieces++
			u.Bytes += size
		}
	}
	out := make(map[hemera.DiskID]schema.Usage)
	for d, u := range sums {
		if u.Pieces > 0 {
			out[s.Disks[d]] = u
		}
	}
	return out
}
