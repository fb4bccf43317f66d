package namespace

import (
	"context"
	"time"

	"hemera/namespace/record"
	"hemera/namespace/schema"
	"hemera/platform/kv"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// Graft is a free name where a tree is put whose records are written past commits: by a bulk load, in a store that
// nobody else uses. The load writes the records of the tree; [Graft.Surroundings] says what else changes.
type Graft struct {
	engine *engine
	path   string          // of the tree's top
	above  []*hemera.Entry // the directories from the root to the one that the tree is in

	Parent hemera.FileID // the directory that the tree is in
	Name   string        // of the tree's top
	Base   hemera.FileID // the first id of the tree; all ids from here on are free
	Now    time.Time
}

// Graft finds where a tree may go. Exists or NotFound for a path that is taken or has no parent, Unsupported below a
// quota node.
func (n *Namespace) Graft(ctx context.Context, path string) (*Graft, error) {
	g := &Graft{engine: n.engine, path: path, Now: n.engine.clock().UTC()}
	err := n.engine.view(ctx, func(t tx) error {
		f, err := t.walk("Load", hemera.Identity{Name: "load", Admin: true}, path)
		if err != nil {
			return err
		}
		if f.entry != nil {
			return refuse(errs.Exists, "Load", path, "the name is taken")
		}
		// The load charges no accounts: that would take a change for each user and group of the tree.
		if err := t.ledger().RefuseUnderQuota(f.dirs, path); err != nil {
			return err
		}
		g.above, g.Parent, g.Name, g.Base = f.dirs, f.parent().ID, f.name, hemera.FileID(n.engine.numbers.Next())
		return nil
	})
	return g, err
}

// GraftSize has the counts of what a load has written.
type GraftSize struct {
	Tree  hemera.TreeTotals // below the top
	Depth int64             // number of directories above one another below the top
	IDs   int64             // from Base on
	Disks map[hemera.DiskID]schema.Usage
}

// Surroundings returns the records around a tree as they are with it, in the order of keys: totals above it, usage of
// disks, the end of the ids, and one event of the event log. Nothing is written.
func (g *Graft) Surroundings(ctx context.Context, size GraftSize) ([]kv.Op, error) {
	return g.engine.records.Draft(ctx, func(rt *record.Txn) error {
		t := g.engine.tx(rt)
		if err := t.Relist(g.above, size.Tree.Add(hemera.TreeTotals{Dirs: 1})); err != nil {
			return err
		}
		if err := t.Deepen(g.above, size.Depth); err != nil {
			return err
		}
		for disk, u := range size.Disks {
			if err := t.pieces().count(disk, u); err != nil {
				return err
			}
		}
		t.Set(schema.MetaKey(schema.MetaIDs), record.Opaque{}, schema.EncodePair(uint64(g.Base)+uint64(size.IDs), 0))
		t.Event(hemera.Event{Kind: hemera.EventMkdir, File: g.Base, Path: g.path, Who: "load"})
		return nil
	})
}
