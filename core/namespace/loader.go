package namespace

import (
	"bytes"
	"context"
	"runtime"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"hemera"
	"hemera/core/namespace/schema"
	"hemera/errs"
	"hemera/platform/kv"
)

// LoadOptions say what [Load] makes, and where.
type LoadOptions struct {
	Options
	Path  string // of the tree's top: its parent must be there, the name must be free
	Shape Shape
	// Progress, if not nil, is called now and then, by several goroutines, with how many of the
	// tree's files are written, in proportion to all records.
	Progress func(files int64)
}

// Load makes a tree of very many files in a store that nobody else uses: every record that so many
// commits would have made, but for one event in all. Nothing is visible before its end, and a crash
// leaves all of it or nothing, because the engine takes all records at once (see [kv.Loader]); what
// an interrupted load wrote is removed when the store is opened next. The disks of the shape get no
// pieces: their files can be seen, not read.
//
// It fails with Exists or NotFound for a path that is taken or has no parent, and with Unsupported
// when the engine has no bulk load.
func Load(ctx context.Context, store kv.Store, o LoadOptions) (hemera.TreeTotals, error) {
	shape, err := o.Shape.defaults()
	if err != nil {
		return hemera.TreeTotals{}, err
	}
	n, err := Open(ctx, store, o.Options)
	if err != nil {
		return hemera.TreeTotals{}, err
	}
	defer func() { _ = n.Close() }() // nothing is under way in it
	engine, ok := n.writer.(kv.Loader)
	if !ok {
		return hemera.TreeTotals{}, refuse(errs.Unsupported, "Load", o.Path, "the store's engine has no bulk load")
	}
	l := &loader{n: n, path: o.Path, progress: o.Progress}
	if err := l.find(ctx, shape); err != nil {
		return hemera.TreeTotals{}, err
	}
	if l.load, err = engine.Load(ctx); err != nil {
		return hemera.TreeTotals{}, errs.Wrap(err, "namespace.Load", o.Path)
	}
	err = l.fill(ctx)
	if err == nil {
		err = l.load.Commit(ctx)
	}
	if err != nil {
		_ = l.load.Abort() // what it leaves is removed at the next start
		return hemera.TreeTotals{}, errs.Wrap(err, "namespace.Load", o.Path)
	}
	return l.tree, nil
}

type loader struct {
	n        *Namespace
	path     string
	shape    *shaped
	above    []*hemera.Entry // the directories the tree is below, from the root
	tree     hemera.TreeTotals
	load     kv.Load
	progress func(int64)
	records  atomic.Int64
}

// find looks where the tree goes.
func (l *loader) find(ctx context.Context, s Shape) error {
	return l.n.view(ctx, func(t *tx) error {
		f, err := t.walk("Load", hemera.Identity{Name: "load", Admin: true}, l.path)
		if err != nil {
			return err
		}
		if f.entry != nil {
			return refuse(errs.Exists, "Load", l.path, "the name is taken")
		}
		if err := t.unmetered(f.dirs, l.path); err != nil {
			return err
		}
		l.above = f.dirs
		l.shape = s.lay(hemera.FileID(l.n.nextID.Load()), f.parent().ID, f.name, l.n.clock().UTC())
		return nil
	})
}

// part is a range of one of the tree's tables, of which one goroutine makes a run.
type part struct {
	lo, hi int64
	make   func(put func(k, v []byte) error, lo, hi int64) error
}

// partMax is how many entries or files a part goes over; a table of the engine takes about as many.
const partMax = 1 << 20

func (l *loader) parts() (parts []part) {
	s := l.shape
	cut := func(lo, hi int64, f func(func(k, v []byte) error, int64, int64) error) {
		for ; lo < hi; lo += partMax {
			parts = append(parts, part{lo, min(lo+partMax, hi), f})
		}
	}
	cut(0, 1, s.putEntries) // the top is far from the others
	cut(1, s.entries(), s.putEntries)
	cut(0, s.entries(), s.putPlaces)
	if s.Size > 0 {
		for d := range s.Disks {
			cut(0, s.Files, s.putPieces(d))
		}
	}
	cut(0, s.dirs, s.putStates)
	return parts
}

// fill makes all runs.
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

// tick is how many records are between two calls of Progress.
const tick = 1 << 14

func (l *loader) count(records int64) {
	done := l.records.Add(records)
	if l.progress == nil || done%tick != 0 {
		return
	}
	s := l.shape
	total := 2*s.entries() + s.dirs
	if s.Size > 0 {
		total += s.Files * int64(s.Replicas)
	}
	l.progress(int64(float64(s.Files) * float64(done) / float64(total)))
}

// around makes the records that were there before, as they are with the tree: totals above it,
// usage of disks, ids and the event log.
func (l *loader) around(ctx context.Context) error {
	s, n := l.shape, l.n
	t := &tx{n: n, ctx: ctx, now: s.now, all: newChanges(n.cache.seed)}
	l.tree = s.totals(0)
	with := l.tree.Add(hemera.TreeTotals{Dirs: 1})
	if err := t.adjust(l.above, with); err != nil {
		return err
	}
	if err := t.deepen(l.above, s.deep(0)); err != nil {
		return err
	}
	if err := t.listed(s.parent); err != nil {
		return err
	}
	for disk, u := range s.usages() {
		if err := t.use(disk, u); err != nil {
			return err
		}
	}
	t.set(schema.MetaKey(schema.MetaIDs), schema.Mark{}, schema.EncodePair(uint64(s.base)+uint64(s.entries()), 0))
	t.set(schema.MetaKey(schema.MetaEvents), schema.Mark{}, schema.EncodePair(n.first, n.next+1))
	e := hemera.Event{Seq: n.next, Time: s.now, Kind: hemera.EventMkdir, File: s.base, Path: l.path, Who: "load"}
	t.set(schema.EventKey(n.next), &e, schema.EncodeEvent(&e))
	// A run may hold one table's records only: those of the tree lie between.
	for ops := t.all.batch().Ops; len(ops) > 0; {
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

func (s *shaped) putEntries(put func(k, v []byte) error, lo, hi int64) error {
	var e hemera.Entry
	for i := lo; i < hi; i++ {
		s.entry(i, &e)
		if err := put(schema.EntryKey(e.Parent, e.Name), schema.EncodeEntry(&e)); err != nil {
			return err
		}
	}
	return nil
}

func (s *shaped) putPlaces(put func(k, v []byte) error, lo, hi int64) error {
	var e hemera.Entry
	for i := lo; i < hi; i++ {
		s.entry(i, &e)
		if err := put(schema.IDKey(schema.TableLocation, e.ID), schema.EncodeLocation(&schema.Location{Parent: e.Parent, Name: e.Name})); err != nil {
			return err
		}
	}
	return nil
}

// putPieces makes the list of one disk.
func (s *shaped) putPieces(disk int) func(func(k, v []byte) error, int64, int64) error {
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

func (s *shaped) putStates(put func(k, v []byte) error, lo, hi int64) error {
	for i := lo; i < hi; i++ {
		st := schema.Directory{Mtime: s.now, Ctime: s.now, Tree: s.totals(i), Depth: s.deep(i)}
		if err := put(schema.IDKey(schema.TableDirectory, s.base+hemera.FileID(i)), schema.EncodeDirectory(&st)); err != nil {
			return err
		}
	}
	return nil
}

// usages is what the tree has on each disk.
func (s *shaped) usages() map[hemera.DiskID]schema.Usage {
	sums := make([]schema.Usage, len(s.Disks))
	for i := int64(0); i < s.Files && s.Size > 0; i++ {
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
