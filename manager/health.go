package manager

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"hemera/cluster"
	"hemera/maint"
	"hemera/namespace"
	"hemera/rules/layout"
	"hemera/tape/tier"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// maintAdmin implements adminapi.MaintAdmin.
type maintAdmin struct {
	tree    namespace.Parts
	cluster *cluster.Cluster
	engine  *maint.Engine
	tier    *tier.Tier
	judge   *judge
	ops     *operations
}

// Jobs implements adminapi.MaintAdmin.
func (ma *maintAdmin) Jobs(ctx context.Context) ([]adminapi.JobStatus, error) {
	return ma.engine.Jobs(ctx)
}

// Fsck implements adminapi.MaintAdmin.
func (ma *maintAdmin) Fsck(ctx context.Context, repair bool) (adminapi.FsckReport, error) {
	report, err := ma.engine.Fsck(ctx, repair)
	report.WentBack = ma.tree.Stats().WentBack
	// The namespace counts its files with every commit, so nothing is walked for the total.
	report.Files, report.Recycled = ma.tree.Stats().Totals.Files, ma.tree.Stats().Recycled
	if err == nil {
		err = ma.addSilent(ctx, &report)
	}
	if err == nil {
		err = ma.nameFiles(ctx, report.Problems)
	}
	return report, err
}

// addSilent adds the files that are on tapes alone if none of these tapes can be read: no disk has anything of them.
func (ma *maintAdmin) addSilent(ctx context.Context, report *adminapi.FsckReport) error {
	p := adminapi.FsckProblem{Tag: "tape_unreadable"}
	err := ma.judge.silentOnTape(ctx, func(_ adminapi.TapeLoss, e hemera.Entry) error {
		if p.Count++; len(p.Files) < namesMax {
			p.Files = append(p.Files, e.ID)
		}
		return nil
	})
	if p.Count > 0 {
		report.Problems = append(report.Problems, p)
	}
	return err
}

// namesMax bounds the files of one report that are named with their paths.
const namesMax = 10_000

// nameFiles gives problems the paths that the namespace has; others stay as pieces remember them.
func (ma *maintAdmin) nameFiles(ctx context.Context, problems []adminapi.FsckProblem) error {
	left := namesMax
	for i := range problems {
		p := &problems[i]
		// One budget for all problems, so that the answer is bounded whatever the number of disks.
		for _, id := range p.Files[:min(left, len(p.Files))] {
			left--
			_, path, err := ma.tree.Resolve(ctx, id)
			switch {
			case errors.Is(err, errs.NotFound):
				continue
			case err != nil:
				return errs.Wrap(err, "manager.Fsck", id.Hex())
			case p.Paths == nil:
				p.Paths = map[hemera.FileID]string{}
			}
			p.Paths[id] = path
		}
	}
	return nil
}

// CheckNamespace implements adminapi.MaintAdmin.
func (ma *maintAdmin) CheckNamespace(ctx context.Context, progress func(adminapi.NamespaceCheck) error) (_ adminapi.NamespaceCheck, err error) {
	defer ma.ops.begin("CheckNamespace").end(&err)
	// The check takes no error from its progress function, so the error ends the context and comes back as its cause.
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	report, err := ma.tree.CheckWith(ctx, namespace.CheckOptions{Progress: func(c adminapi.NamespaceCheck) {
		if err := progress(c); err != nil {
			stop(err)
		}
	}})
	if ctx.Err() != nil {
		return report, context.Cause(ctx)
	}
	return report, err
}

// CheckFile implements adminapi.MaintAdmin.
func (ma *maintAdmin) CheckFile(ctx context.Context, ref string, repair bool) (checks []adminapi.PieceCheck, err error) {
	defer ma.ops.begin("CheckFile").end(&err)
	e, _, err := find(ctx, ma.tree, hemera.SystemIdentity(), ref)
	if err != nil {
		return nil, err
	}
	if e.IsDir() {
		return nil, errs.New(errs.IsDirectory, "manager.CheckFile", ref, "")
	}
	// Nothing of it is on disks that could be checked, and a tape is not read for it: what is known of its tapes is the answer.
	if e.Evicted() {
		return nil, ma.tier.Reports.CanRecall(ctx, &e)
	}
	if checks, err = ma.engine.Check(ctx, e, repair); err != nil || len(checks) == 0 {
		return checks, err
	}
	for _, index := range layout.Empty(e.Layout, e.Size) {
		checks = append(checks, adminapi.PieceCheck{Piece: hemera.Piece{Index: index}, OK: true, Empty: true})
	}
	slices.SortStableFunc(checks, func(a, b adminapi.PieceCheck) int { return cmp.Compare(a.Piece.Index, b.Piece.Index) })
	return checks, nil
}

// FileInfo implements adminapi.MaintAdmin.
func (ma *maintAdmin) FileInfo(ctx context.Context, who hemera.Identity, ref string) (r adminapi.FileReport, err error) {
	defer ma.ops.begin("FileInfo").end(&err)
	e, path, err := find(ctx, ma.tree, who, ref)
	// Disks are asked only where the namespace may not know everything: the question costs an order for each disk. What
	// only disks know has no owner who could ask, so it is for admins.
	if id, byID, _ := idOf(ref); byID && who.Admin && (errors.Is(err, errs.NotFound) || err == nil && !e.IsDir() && ma.tree.Restored()) {
		if r.Strays, err = ma.strays(ctx, id, err); err != nil {
			return r, err
		}
	}
	if err != nil {
		return r, err
	}
	ma.tier.Copies.Tell(ctx, &e)
	view := ma.cluster.View()
	// No such entry, but disks have pieces of that id: the first stray, of the newest generation, describes the file.
	if e.ID == 0 {
		first := r.Strays[0]
		r.Entry, r.Path = hemera.Entry{ID: first.Piece.ID.File}, first.Piece.Path
		r.Status = "not in the namespace; " + strayMeaning(first.Tag)
		return r, nil
	}
	r.Entry, r.Path, r.Status, r.Empty = e, path, ma.judge.status(ctx, view, e), layout.Empty(e.Layout, e.Size)
	for _, p := range e.Pieces {
		d, ok := view.Disk(p.Disk)
		n, _ := view.Node(d.Node)
		host := n.Host()
		if !ok {
			// The entry still names a disk that was removed: what is remembered of it helps to find it.
			d = hemera.Disk{ID: p.Disk, Health: hemera.HealthGone, Why: "the disk is not in the cluster"}
			if was, known := view.RemovedDisk(p.Disk); known {
				d.UUID, d.Path, d.Node, d.Space, d.Why = was.UUID, was.Path, was.Node, was.Space, "the disk was removed"
				host, _, _ = net.SplitHostPort(was.Addr)
			}
		}
		r.Pieces = append(r.Pieces, adminapi.PieceReport{Piece: p, Disk: d, Host: host})
	}
	return r, nil
}

// strayTime bounds the question to disks for pieces that the namespace does not have.
const strayTime = 10 * time.Second

// strays looks for pieces of an id that the namespace does not have. known is nil when it has the file;
// else it is the error of a file that neither the namespace nor a disk knows.
func (ma *maintAdmin) strays(ctx context.Context, id hemera.FileID, known error) ([]adminapi.Stray, error) {
	ctx, cancel := context.WithTimeout(ctx, strayTime)
	defer cancel()
	found, silent, err := ma.engine.Strays(ctx, id)
	switch {
	case err != nil && known == nil:
		return found, nil // the disks' part of the answer is missing, not the file
	case err == nil && len(found) == 0 && known != nil && silent > 0:
		return nil, errs.New(errs.NotFound, "manager.FileInfo", id.Hex(), fmt.Sprintf("neither the namespace nor a disk that answers has it; disks that do not answer: %d", silent)).
			WithRemedy("see `hemera fs ls -e`")
	case len(found) == 0:
		return nil, known
	}
	view := ma.cluster.View()
	for i := range found {
		d, _ := view.Disk(found[i].Disk)
		n, _ := view.Node(d.Node)
		found[i].Host = n.Host()
	}
	return found, nil
}

// strayMeaning says what becomes of a piece that the namespace does not have.
func strayMeaning(tag string) string {
	if tag == "orphan" {
		return "the piece is on its way out, or an audit removes it once it is old enough"
	}
	return "the piece is of a change made after the backup that was restored, and is kept"
}
