package manager

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"hemera/namespace"
	"hemera/rules/layout"
	"hemera/rules/place"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// maintAdmin implements hemera.MaintAdmin.
type maintAdmin struct{ *parts }

// Jobs implements hemera.MaintAdmin.
func (ma *maintAdmin) Jobs(ctx context.Context) ([]hemera.JobStatus, error) {
	return ma.engine.Jobs(ctx)
}

// Fsck implements hemera.MaintAdmin.
func (ma *maintAdmin) Fsck(ctx context.Context, repair bool) (hemera.FsckReport, error) {
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

// addSilent adds the files that are on tapes alone of which none can be read: no disk has anything of them.
func (ma *maintAdmin) addSilent(ctx context.Context, report *hemera.FsckReport) error {
	p := hemera.FsckProblem{Tag: "tape_unreadable"}
	err := ma.silentOnTape(ctx, func(_ hemera.TapeLoss, e hemera.Entry) error {
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
func (ma *maintAdmin) nameFiles(ctx context.Context, problems []hemera.FsckProblem) error {
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

// CheckNamespace implements hemera.MaintAdmin.
func (ma *maintAdmin) CheckNamespace(ctx context.Context, progress func(hemera.NamespaceCheck) error) (_ hemera.NamespaceCheck, err error) {
	defer ma.ops.begin("CheckNamespace").end(&err)
	// The check takes no error from its progress function, so the error ends the context and comes back as its cause.
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	report, err := ma.tree.CheckWith(ctx, namespace.CheckOptions{Progress: func(c hemera.NamespaceCheck) {
		if err := progress(c); err != nil {
			stop(err)
		}
	}})
	if ctx.Err() != nil {
		return report, context.Cause(ctx)
	}
	return report, err
}

// CheckFile implements hemera.MaintAdmin.
func (ma *maintAdmin) CheckFile(ctx context.Context, ref string, repair bool) (checks []hemera.PieceCheck, err error) {
	defer ma.ops.begin("CheckFile").end(&err)
	e, _, err := ma.find(ctx, hemera.SystemIdentity(), ref)
	if err != nil {
		return nil, err
	}
	if e.IsDir() {
		return nil, errs.New(errs.IsDirectory, "manager.CheckFile", ref, "")
	}
	// Nothing of it is on disks that could be checked, and a tape is not read for it: what is known of its tapes is the answer.
	if e.Evicted() {
		return nil, ma.tier.CanRecall(ctx, &e)
	}
	if checks, err = ma.engine.Check(ctx, e, repair); err != nil || len(checks) == 0 {
		return checks, err
	}
	for _, index := range layout.Empty(e.Layout, e.Size) {
		checks = append(checks, hemera.PieceCheck{Piece: hemera.Piece{Index: index}, OK: true, Empty: true})
	}
	slices.SortStableFunc(checks, func(a, b hemera.PieceCheck) int { return cmp.Compare(a.Piece.Index, b.Piece.Index) })
	return checks, nil
}

// FileInfo implements hemera.MaintAdmin.
func (ma *maintAdmin) FileInfo(ctx context.Context, who hemera.Identity, ref string) (r hemera.FileReport, err error) {
	defer ma.ops.begin("FileInfo").end(&err)
	e, path, err := ma.find(ctx, who, ref)
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
	ma.tier.Tell(ctx, &e)
	view := ma.cluster.View()
	// No such entry, but disks have pieces of that id: the first stray, of the newest generation, describes the file.
	if e.ID == 0 {
		first := r.Strays[0]
		r.Entry, r.Path = hemera.Entry{ID: first.Piece.ID.File}, first.Piece.Path
		r.Status = "not in the namespace; " + strayMeaning(first.Tag)
		return r, nil
	}
	r.Entry, r.Path, r.Status, r.Empty = e, path, ma.status(ctx, view, e), layout.Empty(e.Layout, e.Size)
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
		r.Pieces = append(r.Pieces, hemera.PieceReport{Piece: p, Disk: d, Host: host})
	}
	return r, nil
}

// strayTime is how long disks are asked for pieces that the namespace does not have.
const strayTime = 10 * time.Second

// strays looks for pieces of an id that the namespace does not have. known is nil when it has the file;
// else it is the error of a file that neither the namespace nor a disk knows.
func (ma *maintAdmin) strays(ctx context.Context, id hemera.FileID, known error) ([]hemera.Stray, error) {
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

// find resolves a path, or an id as [idOf] knows them, to an entry that who can reach by its path, with the attributes that who may see.
// An id tells no more than the path does: otherwise it would show names and owners below directories that are closed to the user. So
// it is NotFound with one text in all these cases.
func (p *parts) find(ctx context.Context, who hemera.Identity, ref string) (e hemera.Entry, path string, err error) {
	id, byID, err := idOf(ref)
	switch {
	case err != nil:
		return e, "", err
	case !byID:
		e, err = p.tree.Stat(ctx, who, ref)
		return e, hemera.PlainPath(ref), err
	}
	e, path, err = p.tree.Resolve(ctx, id)
	if err != nil && !errors.Is(err, errs.NotFound) || who.Admin {
		return e, path, err
	}
	if err == nil {
		e, err = p.tree.Stat(ctx, who, path)
	}
	unseen := []errs.Kind{errs.NotFound, errs.NotDirectory, errs.Denied, errs.Invalid}
	if err != nil && slices.Contains(unseen, errs.KindOf(err)) || err == nil && e.ID != id {
		return hemera.Entry{}, "", errs.New(errs.NotFound, "manager.Resolve", ref, "there is no such file, or it is below a directory that is not for you")
	}
	return e, path, err
}

// idOf is the id that "fid:<decimal>" or "fxid:<hexadecimal>" names. EOS's other words mean the same here,
// where files and directories share their ids.
func idOf(ref string) (_ hemera.FileID, byID bool, _ error) {
	for prefix, base := range map[string]int{"fid:": 10, "fxid:": 16, "pid:": 10, "pxid:": 16, "cid:": 10, "cxid:": 16, "inode:": 10} {
		digits, ok := strings.CutPrefix(ref, prefix)
		if !ok {
			continue
		}
		id, err := strconv.ParseUint(digits, base, 64)
		if err != nil {
			return 0, true, errs.New(errs.Invalid, "manager.FileInfo", ref, "this is no file id").
				WithRemedy("fid:, pid: and inode: take a decimal number, fxid: and pxid: a hexadecimal one")
		}
		return hemera.FileID(id), true, nil
	}
	return 0, false, nil
}

// lastSeen says where the pieces of a lost file were.
func lastSeen(v *hemera.View, e hemera.Entry) string {
	var parts []string
	for _, p := range e.Pieces {
		where := "disk " + p.Disk.String()
		if was, ok := v.RemovedDisk(p.Disk); ok {
			where += ", last seen at " + was.Where()
		} else if _, ok := v.Disk(p.Disk); !ok {
			where += ", which is not in the cluster"
		}
		parts = append(parts, where)
	}
	if len(parts) == 0 {
		return "it has no pieces"
	}
	return strings.Join(parts, "; ")
}

// status says in words how well the file is, worst first.
func (p *parts) status(ctx context.Context, v *hemera.View, e hemera.Entry) string {
	// Nothing of it is on disks, so nothing can be wrong there.
	if e.IsDir() || e.Size == 0 && len(e.Pieces) == 0 {
		return "healthy"
	}
	if e.Evicted() {
		return p.tier.Standing(ctx, &e)
	}
	broken := p.brokenSet()
	bad, found := 0, 0
	for _, piece := range e.Pieces {
		switch {
		case broken.has(e, piece):
			bad++
		case p.engine.FoundBad(e, piece):
			found++
		}
	}
	if s, _ := stand(v, e, broken); s == lostFile {
		seen := lastSeen(v, e)
		switch {
		case bad == len(e.Pieces):
			return "lost: every piece is known to be bad"
		case bad > 0:
			return fmt.Sprintf("lost: %d of %d pieces are known to be bad; %s", bad, len(e.Pieces), seen)
		}
		return "lost: " + seen
	}
	targets := place.Order(v, e.Pieces, "", nil, 0)
	readable := len(targets)
	all := layout.Count(e.Layout, e.Size)
	switch {
	case !layout.Readable(e.Layout, e.Size, layout.TargetIndexes(targets)):
		return "offline: " + place.Unreadable(v, e.Pieces, nil)
	case len(e.Pieces) < all:
		return fmt.Sprintf("incomplete: %d of %d pieces", len(e.Pieces), all)
	case bad > 0:
		return fmt.Sprintf("degraded: %d of %d pieces are known to be bad and cannot be repaired", bad, len(e.Pieces))
	case readable < len(e.Pieces):
		return fmt.Sprintf("degraded: %d of %d pieces can be read: %s", readable, len(e.Pieces), place.Unreadable(v, e.Pieces, nil))
	case found > 0:
		return fmt.Sprintf("found bad: %d of %d pieces, to be repaired from the others, or being", found, len(e.Pieces))
	}
	draining := slices.ContainsFunc(e.Pieces, func(p hemera.Piece) bool {
		d, _ := v.Disk(p.Disk)
		return d.Config == hemera.ConfigDrain
	})
	if draining {
		return "healthy, a piece is being moved"
	}
	return "healthy"
}
