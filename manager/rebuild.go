package manager

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"hemera/cluster"
	"hemera/maint"
	"hemera/maint/orders"
	"hemera/namespace"
	"hemera/namespace/rebuild"
	"hemera/platform/contain"
	"hemera/platform/turn"
	"hemera/tape/tapeconfig"
	"hemera/tape/tier"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// rebuilder implements adminapi.Rebuilder. While the cluster is being rebuilt (cluster.Rebuilding), clients change nothing,
// what they do not find is Unavailable and not NotFound, and the engine rests.
type rebuilder struct {
	tree    namespace.Parts
	cluster *cluster.Cluster
	engine  *maint.Engine // rests meanwhile
	tier    *tier.Tier
	orders  *orders.Dispatcher
	nodes   *broadcast
	pieces  *recorder
	panics  *contain.Panics
	ops     *operations
	now     func() time.Time
	log     *slog.Logger
	running turn.Turn // held while a rebuild is under way
}

// unreadMode is the mode of files whose pieces do not know theirs, unless an admin says otherwise: it is not known who
// might read them.
const unreadMode = 0o600

// Rebuild implements adminapi.Rebuilder. The disks are read as the view has them at the start; files are made through the
// recorder, like those of every other change.
func (b *rebuilder) Rebuild(ctx context.Context, o adminapi.RebuildOptions, tell func(adminapi.RebuildReport) error) (report adminapi.RebuildReport, err error) {
	const op = "manager.Rebuild"
	defer b.ops.begin("Rebuild").end(&err)
	// Without the boundary that a preparation or a restore sets, new files would get the ids of lost ones.
	if !b.tree.Restored() {
		return report, errs.New(errs.Denied, op, "", "this manager was not prepared for it: new files would get the ids of lost ones").
			WithRemedy("stop it, run `hemera ns rebuild prepare EMPTYDIR`, and start a manager with that directory")
	}
	// A rebuild that was cut off has left files, so only one that was finished needs the word of an admin.
	stats := b.tree.Stats()
	if stats.Totals.Files > 0 && !o.Merge && !o.DryRun && b.cluster.Rebuilding().IsZero() {
		return report, errs.New(errs.NotEmpty, op, "", "the namespace has files").
			WithRemedy("look with --dry-run what would be added, then repeat with --merge")
	}
	// Two at once would do the same work twice, and each tell half of it.
	if !b.running.TryAcquire() {
		return report, errs.New(errs.Locked, op, "", "a rebuild is under way").WithRemedy("wait for it, or end it with Ctrl-C where it was started")
	}
	defer b.running.Release()
	// For pieces that earlier versions made.
	if o.Mode == 0 {
		o.Mode = unreadMode
	}
	kept, silent := b.kept(ctx)
	run := rebuild.Options{
		RebuildOptions: o, List: b.listWithout(kept), Names: adopter{b.tree, b.tree, b.tree, b.pieces}, Next: stats.NextID, Now: b.now, Tell: tell,
		Panics: b.panics,
	}
	// Disks that come while it runs are for the next run.
	run.Disks, run.Unread = toRead(b.cluster.View().Disks, silent)
	b.log.Info("rebuild begins", "disks", len(run.Disks), "unread", len(run.Unread), "dry", o.DryRun)
	report, err = rebuild.Run(ctx, run)
	b.log.Info("rebuild ended", "pieces", report.Pieces, "made", report.Made, "lost", report.Lost, "grown", report.Grown, "unread", len(report.Unread), "error", err)
	// A disk that could not be read may have what nothing else has.
	if err == nil && !o.DryRun && len(report.Unread) == 0 && report.Problems[adminapi.RebuildFailed] == 0 {
		err = b.tree.Merged(ctx)
	}
	b.engine.Wake() // files that are incomplete are repaired
	return report, err
}

// FinishRebuild implements adminapi.Rebuilder. It does not look whether anything was rebuilt: an admin may know that the rest
// will not come.
func (b *rebuilder) FinishRebuild(ctx context.Context) error {
	// It is durable before the first write: a restart does not go back.
	err := b.cluster.Admin.EndRebuild(ctx)
	b.engine.Wake()
	return err
}

// ForgetLost implements adminapi.Rebuilder.
func (b *rebuilder) ForgetLost(ctx context.Context, o adminapi.ForgetOptions) error {
	// In the middle of a rebuild nearly everything is lost.
	if !b.cluster.Rebuilding().IsZero() {
		return errs.New(errs.Conflict, "manager.ForgetLost", "", "the namespace is being rebuilt").
			WithRemedy("finish that first: `hemera ns rebuild finish`")
	}
	if b.tree.Stats().WentBack.Unmerged() && !o.Unmerged {
		return errs.New(errs.Conflict, "manager.ForgetLost", "", "no rebuild has read all disks since the namespace went back").
			WithRemedy("run `hemera ns rebuild --merge` with all disks there; to lose what only pieces know, repeat with --unmerged")
	}
	// A scan after it cannot tell what was lost from what was removed: it makes no file of what it finds, and copies of files that are there count for nothing.
	vids, command, err := b.tier.Reports.Unscanned(ctx)
	if err != nil {
		return err
	}
	if len(vids) > 0 && !o.Unmerged {
		return errs.New(errs.Conflict, "manager.ForgetLost", "", "tapes were not scanned since the namespace went back: "+tapeconfig.Names(vids)).
			WithRemedy("run `" + command + "`; to leave it to `hemera tape undelete` to bring their files back, repeat with --unmerged")
	}
	err = b.tree.ForgetLost(ctx)
	b.log.Warn("what was lost is forgotten", "error", err)
	return err
}

// list implements rebuild.Inventory: the node of the disk lists its pieces.
func (b *rebuilder) list(ctx context.Context, id hemera.DiskID, after hemera.PieceID, limit int) ([]hemera.PieceStat, error) {
	// Looked up for each page: a disk may have moved to another node.
	d, ok := b.cluster.View().Disk(id)
	if !ok || !d.Readable() {
		return nil, errs.New(errs.Unavailable, "manager.Rebuild", "disk "+id.String(), "it cannot be read now")
	}
	r, err := b.orders.Do(ctx, d.Node, hemera.Order{Kind: hemera.OrderInventory, Disk: id, After: after, Limit: limit})
	return r.Pieces, err
}

// fileGen is one generation of a file.
type fileGen struct {
	file hemera.FileID
	gen  hemera.Generation
}

// toRead divides disks in those that a rebuild reads and those that it does not. The kept writes of a node that does not answer are not known: its
// pieces are not taken for those of files, and the rebuild has not read everything, so that nothing is forgotten after it.
func toRead(disks []hemera.Disk, silent []hemera.NodeID) (read []hemera.Disk, unread []hemera.DiskID) {
	for _, d := range disks {
		if d.Readable() && !slices.Contains(silent, d.Node) {
			read = append(read, d)
		} else {
			unread = append(unread, d.ID)
		}
	}
	return read, unread
}

// kept returns the contents that nodes keep for a person: their pieces are sealed, and the client did not close the file. silent are the nodes that
// did not answer.
func (b *rebuilder) kept(ctx context.Context) (kept map[fileGen]bool, silent []hemera.NodeID) {
	kept = map[fileGen]bool{}
	silent = b.nodes.ask(ctx, hemera.Order{Kind: hemera.OrderLeft, Limit: usesLimit}, func(_ hemera.NodeInfo, r hemera.OrderResult) {
		for _, w := range r.Left[:min(len(r.Left), usesLimit)] {
			if w.Then == hemera.ThenRemove {
				kept[fileGen{w.File, w.Gen}] = true
			}
		}
	})
	if len(kept) > 0 || len(silent) > 0 {
		b.log.Warn("what nodes keep for a person is not made a file", "contents", len(kept), "nodes that did not answer", len(silent))
	}
	return kept, silent
}

// listWithout lists the pieces of all but some contents. It returns an empty list only at the end.
func (b *rebuilder) listWithout(contents map[fileGen]bool) rebuild.Inventory {
	return func(ctx context.Context, id hemera.DiskID, after hemera.PieceID, limit int) ([]hemera.PieceStat, error) {
		for {
			pieces, err := b.list(ctx, id, after, limit)
			if err != nil || len(pieces) == 0 {
				return nil, err
			}
			after = pieces[len(pieces)-1].ID
			pieces = slices.DeleteFunc(pieces, func(p hemera.PieceStat) bool { return contents[fileGen{p.ID.File, p.ID.Gen}] })
			if len(pieces) > 0 {
				return pieces, nil
			}
		}
	}
}

// adopter is the namespace as a rebuild may change it: no piece is recorded on a disk that left the cluster.
type adopter struct {
	namespace.History
	namespace.Inspector
	namespace.Adopter
	pieces *recorder
}

// Adopt implements rebuild.Names.
func (a adopter) Adopt(ctx context.Context, f namespace.Adoption) (out namespace.Adopted, err error) {
	// A disk that is removed in the middle leaves the file out: the next run makes it of the others.
	err = a.pieces.record(ctx, f.Pieces, func(set uint64, remaining []hemera.Piece) error {
		if len(remaining) < len(f.Pieces) {
			return errs.New(errs.Conflict, "manager.Rebuild", "fxid:"+f.ID.Hex(), "a disk was removed from the cluster meanwhile")
		}
		f.DiskSet = set
		out, err = a.Adopter.Adopt(ctx, f)
		return err
	})
	return out, err
}
